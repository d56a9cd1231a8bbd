"""What selftest.py does once Python and the packages are there."""

import argparse
import io
import os
import shlex
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from labkit.diagnose import diagnose
from labkit.lab import ROOT, CannotRun, Lab, find_labs, find_place, find_target, has_todo, load_lab, shown
from labkit.record import JSONObject, check_record, import_record, run_record, todo_left, write_record
from labkit.run import Runner
from labkit.words import LANGUAGES, choose_language, say

if TYPE_CHECKING:
    from labkit.screen import Screen

ALL_GREEN, NOT_ALL, COULD_NOT_RUN, STOPPED = 0, 1, 2, 130


def main(arguments: list[str]) -> int:
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="replace")
    options = _parse(arguments)
    language = choose_language(options.lang)
    try:
        folder = _find_lab(options.lab)
        lab = load_lab(folder)
        only = _numbers(options.only, lab)
        target = find_target(options.target, folder, lab)
        if options.json is not None and not options.json.parent.is_dir():
            raise CannotRun(f"the record cannot be written: there is no folder {options.json.parent}")
    except CannotRun as error:
        print(f"selftest: {error}", file=sys.stderr)
        return COULD_NOT_RUN
    try:
        return _run(options, folder, lab, target, only, language)
    except OSError as error:
        print(f"selftest: {say('no worker', language, error=error)}", file=sys.stderr)
        return COULD_NOT_RUN
    except KeyboardInterrupt:
        print(f"\n{say('stopped', language)}", file=sys.stderr)
        return STOPPED


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser("selftest.py", description="run the checks of a lab against one folder")
    parser.add_argument("target", nargs="?", default=os.environ.get("TARGET") or "starter", metavar="TARGET")
    parser.add_argument("--only", metavar="3,5", help="run these checks only")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the record of the run")
    parser.add_argument("--lang", choices=LANGUAGES, help="the language of the messages (default: the locale's)")
    parser.add_argument("--lab", metavar="NAME", help="the folder under labs/ (default: the last)")
    return parser.parse_args(arguments)


def _find_lab(name: str | None) -> Path:
    labs = find_labs()
    if name is None and labs:
        return labs[-1]
    for folder in labs:
        if folder.name == name:
            return folder
    there = ", ".join(folder.name for folder in labs) or "none"
    raise CannotRun(f"there is no lab {name!r} in {shown(ROOT / 'labs')}; there is: {there}")


def _numbers(only: str | None, lab: Lab) -> set[int]:
    all_numbers = {check.number for check in lab.checks}
    if only is None:
        return all_numbers
    words = [word.strip() for word in only.split(",")]
    wrong = [word for word in words if not (word.isascii() and word.isdigit() and int(word) in all_numbers)]
    if wrong:
        raise CannotRun(f"--only takes numbers of checks, like 3,5; {wrong[0]!r} is none")
    return {int(word) for word in words}


def _run(options: argparse.Namespace, folder: Path, lab: Lab, target: Path, only: set[int], language: str) -> int:
    start = time.monotonic()
    runner = Runner(lab, folder, target)
    try:
        runner.start(only)
        # The checks are on their way: time for what only the report needs.
        from rich.console import Console

        from labkit.screen import Screen

        screen = Screen(Console(highlight=False), language)
        screen.heading(folder.name, shown(target))
        results = []
        for result in runner.results():
            results.append(result)
            if runner.import_error is None:
                screen.line(check_record(result, lab, target, language))
    finally:
        runner.stop()
    checks = [check_record(result, lab, target, language) for result in diagnose(results, lab)]
    error = import_record(runner.import_error, target, language) if runner.import_error else None
    record = run_record(folder, target, checks, time.monotonic() - start, error)
    if options.json is not None:
        write_record(record, options.json)
    if error is not None:
        screen.import_error(error)
        screen.last("next import", where=error["where"] or shown(target))
        return COULD_NOT_RUN
    return _report(screen, record, lab, target, options.target)


def _report(screen: "Screen", record: JSONObject, lab: Lab, target: Path, name: str) -> int:
    red = [check for check in record["checks"] if check["status"] not in ("pass", "not_run")]
    for check in red:
        screen.panel(check)
    screen.summary(record)
    if not red:
        if record["passed"] < record["total"]:
            screen.last("no more")
        else:
            left = {check.todo: check for check in lab.checks if check.todo is not None and has_todo(target, check)}
            for todo, check in left.items():
                screen.note("comment left", todo=todo, where=find_place(target, check))
            screen.last("all green", target="" if name == "starter" else f" TARGET={shlex.quote(name)}")
        return ALL_GREEN
    with_todo = [check for check in red if check["todo"] is not None and todo_left(check, lab, target)]
    first = min(with_todo, key=lambda check: check["todo"]) if with_todo else red[0]
    key = "next todo" if with_todo else "next check"
    screen.last(key, todo=first["todo"], number=first["number"], where=first["where"])
    return NOT_ALL

"""What the tests of the kit share: where things are, folders of students, and one way to run the self-test."""

import difflib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
LAB = ROOT / "labs" / "day-05-agent-mcp-client"
STARTER, SOLUTION = LAB / "starter", LAB / "solution"
FILES = ("protocol.py", "stdio_client.py", "discover_and_translate.py", "registry.py", "agent_loop.py")
ALL = frozenset(range(1, 10))
CHECKS_OF_TODO = {1: {2}, 2: {3}, 3: {5, 6}, 4: {8}}

Hunk = tuple[str, int, int, int, int]  # file, the lines [i1:i2] of the starter, [j1:j2] of the solution


def hunks() -> list[Hunk]:
    """The places in which the starter and the solution differ, as TODO 1, 2, 3, 4."""
    found = []
    for file in FILES:
        a, b = (_lines(folder / file) for folder in (STARTER, SOLUTION))
        matcher = difflib.SequenceMatcher(None, a, b, autojunk=False)
        found += [(file, *ends) for tag, *ends in matcher.get_opcodes() if tag != "equal"]
    return sorted(found, key=lambda hunk: _todo(hunk))


def _todo(hunk: Hunk) -> int:
    file, i1, i2, _, _ = hunk
    text = "".join(_lines(STARTER / file)[i1:i2])
    return next(number for number in CHECKS_OF_TODO if f"TODO {number}" in text)


def student(folder: Path, done: Iterable[int]) -> Path:
    """A copy of the starter in which these TODOs are done as in the solution."""
    folder.mkdir(parents=True)
    for file in FILES:
        shutil.copy(STARTER / file, folder / file)
    for file, i1, i2, j1, j2 in reversed([hunk for hunk in hunks() if _todo(hunk) in set(done)]):
        lines = _lines(folder / file)
        start = _find(lines, _lines(STARTER / file)[i1:i2])
        lines[start : start + i2 - i1] = _lines(SOLUTION / file)[j1:j2]
        (folder / file).write_text("".join(lines), encoding="utf-8")
    return folder


def wrong(folder: Path, file: str, old: str, new: str) -> Path:
    """A copy of the solution in which `old`, which stands there once, is replaced by `new`."""
    shutil.copytree(SOLUTION, folder, ignore=shutil.ignore_patterns("__pycache__"))
    text = (folder / file).read_text(encoding="utf-8")
    assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in {file}"
    (folder / file).write_text(text.replace(old, new), encoding="utf-8")
    return folder


def selftest(
    *arguments: str | Path, environ: dict[str, str] | None = None, timeout: float = 60, cwd: Path = ROOT
) -> subprocess.CompletedProcess[str]:
    """Run `python selftest.py ...` as a person would, with its output piped."""
    command = [sys.executable, str(ROOT / "selftest.py"), *map(str, arguments)]
    env = {**os.environ, "LAB_LANG": "en", **(environ or {})}
    env.pop("TARGET", None)
    return subprocess.run(command, capture_output=True, encoding="utf-8", timeout=timeout, env=env, cwd=cwd)


def judged(folder: Path, *arguments: str) -> dict[str, Any]:
    """The record of a self-test of this folder, with the exit code as "exit"."""
    file = folder.parent / f"{folder.name}.json"
    done = selftest(folder, "--json", file, *arguments)
    assert done.stderr == "", done.stderr
    record: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return {**record, "exit": done.returncode, "screen": done.stdout}


def green(record: dict[str, Any]) -> set[int]:
    return {check["number"] for check in record["checks"] if check["status"] == "pass"}


def _lines(file: Path) -> list[str]:
    return file.read_text(encoding="utf-8").splitlines(keepends=True)


def _find(lines: list[str], part: list[str]) -> int:
    return next(i for i in range(len(lines)) if lines[i : i + len(part)] == part)

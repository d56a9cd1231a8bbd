"""The record of a run: one JSON object, the only source of every report (the screen included)."""

import json
import re
from pathlib import Path
from typing import Any

from labkit.lab import Lab, Raised, Text, find_place, has_todo, shown
from labkit.run import Result
from labkit.words import say

JSONObject = dict[str, Any]


def check_record(result: Result, lab: Lab, target: Path, language: str) -> JSONObject:
    """One check: its `message`, `expected`, `actual`, `where` and `wire` are empty unless it is red."""
    check, verdict = result.check, result.verdict
    record: JSONObject = {
        "number": check.number,
        "id": check.id,
        "title": check.title.say(language),
        "todo": check.todo,
        "status": result.status,
        "seconds": round(result.seconds, 3),
        "misconception": verdict.misconception,
        "message": "",
        "expected": _in(language, verdict.expected),
        "actual": _in(language, verdict.actual),
        "where": "",
        "spec": "",
        "explained_by": result.explained_by,
        "wire": list(verdict.wire),
        "done": check.done.say(language),
        "printed": result.evidence.printed if result.evidence else "",
    }
    if result.status not in ("pass", "not_run"):
        known = lab.misconceptions[verdict.misconception] if verdict.misconception else None
        record["message"] = _message(result, lab, language)
        record["where"] = find_place(target, check, known.place if known else None)
        record["spec"] = lab.specification + known.page if known and known.page else ""
        _add_trace(record, result, target)
        if verdict.frames:
            record["where"] = _where(list(verdict.frames), target)
    return record


def run_record(
    folder: Path, target: Path, checks: list[JSONObject], seconds: float, import_error: JSONObject | None
) -> JSONObject:
    return {
        "lab": folder.name,
        "target": shown(target),
        "passed": sum(check["status"] == "pass" for check in checks),
        "total": len(checks),
        "seconds": round(seconds, 3),
        "checks": checks,
        "import_error": import_error,
    }


def import_record(error: Raised, target: Path, language: str) -> JSONObject:
    """What a file that cannot be imported gives in place of nine checks."""
    return {
        "message": say("import error", language, type=error.type, text=error.text),
        "where": _where(error.frames, target),
        "frames": error.frames,
    }


def write_record(record: JSONObject, file: Path) -> None:
    file.write_text(json.dumps(record, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")


def todo_left(record: JSONObject, lab: Lab, target: Path) -> bool:
    """Whether the TODO comment of this red check still stands in the student's file."""
    return has_todo(target, lab.checks[record["number"] - 1])


def _in(language: str, words: str | Text) -> str:
    return words.choose(language) if isinstance(words, Text) else words


def _message(result: Result, lab: Lab, language: str) -> str:
    verdict, evidence = result.verdict, result.evidence
    if evidence is not None and evidence.trespass is not None:
        return say("trespass", language, what=evidence.trespass.text)
    if verdict.misconception is not None:
        text = lab.misconceptions[verdict.misconception].text.say(language, **verdict.values)
        if result.explained_by is None:
            return text
        text = say("explained", language, number=result.explained_by, text=_first_sentence(text))
        return f"{_raised(result, language)} {text}".strip()
    if evidence is not None and evidence.raised is not None:
        return _raised(result, language)
    if result.status == "timeout":
        return say("timeout", language, seconds=result.check.seconds)
    if result.status == "error" and evidence is not None:
        return say("died", language, code=evidence.exit_code)
    return say("unknown", language)


def _first_sentence(text: str) -> str:
    """Enough to know it again: the whole stands where the cause was seen."""
    return re.split(r"(?<=[.?]) |(?<=[。？])", text, maxsplit=1)[0]


def _raised(result: Result, language: str) -> str:
    """The exception that came out of the student's code, or ""."""
    raised = result.evidence.raised if result.evidence else None
    return say("raised", language, type=raised.type, text=raised.text) if raised else ""


def _add_trace(record: JSONObject, result: Result, target: Path) -> None:
    """The frames of an exception, or of a program that did not end, stand for what was got."""
    evidence = result.evidence
    if evidence is not None and evidence.trespass and evidence.trespass.frames:
        record["where"] = _where(evidence.trespass.frames, target)
    if evidence is None or record["actual"]:
        return
    frames = evidence.raised.frames[-3:] if evidence.raised else []
    if result.status == "timeout":
        seen = re.findall(r'File "(.*)[/\\](.*)", line (\d+) in (\S+)', evidence.stack)
        own = [f"{name}:{line} in {function}" for folder, name, line, function in seen if folder == str(target)]
        frames = own[2::-1]  # faulthandler puts the innermost first
    if frames:
        record["actual"] = "\n".join(frames)
        record["where"] = _where(frames, target)


def _where(frames: list[str], target: Path) -> str:
    """`file:line` of the innermost frame."""
    if not frames:
        return ""
    file, _, rest = frames[-1].partition(":")
    return f"{shown(target / file)}:{rest.split(' ', 1)[0].rstrip(':')}"

"""Which misconception a red check names: its own, the one whose pattern fits best, or none at all."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from kit import LAB, judged, selftest, wrong

from labkit.diagnose import diagnose
from labkit.lab import Check, Lab, Misconception, Text, Verdict, load_lab
from labkit.programs import load_programs, write
from labkit.run import Result

WORDS = Text("words", "话")


async def nothing(bench: object) -> None:
    pass


CHECKS = tuple(
    Check(n, f"c{n}", WORDS, WORDS, None, ("a.py", "f"), nothing, lambda evidence: Verdict(True)) for n in range(1, 6)
)
TABLE = {
    "narrow": Misconception((1, 2), "page", WORDS),
    "wide": Misconception((2, 3, 4), "page", WORDS),
    "sign": Misconception((2,), "page", WORDS, symptom=True),
}
TOY = Lab(("a.py",), CHECKS, TABLE)


def named(**said: str) -> dict[int, tuple[str | None, int | None]]:
    """check -> what it names in the end, and which check explains it; `said`: c1="narrow" is red, c1="-" not run."""
    results = []
    for check in CHECKS:
        word = said.get(check.id, "pass")
        status = {"pass": "pass", "-": "not_run"}.get(word, "fail")
        name = word if word in TABLE else None
        results.append(Result(check, status, 0.0, Verdict(status == "pass", name, {"from": check.number})))
    return {
        result.check.number: (result.verdict.misconception, result.explained_by)
        for result in diagnose(results, TOY)
        if result.status == "fail"
    }


@pytest.mark.parametrize(
    "said, expected",
    [
        ({"c1": "narrow", "c2": "?"}, {1: ("narrow", None), 2: ("narrow", 1)}),
        ({"c1": "narrow", "c2": "sign"}, {1: ("narrow", None), 2: ("narrow", 1)}),
        ({"c1": "narrow", "c2": "wide"}, {1: ("narrow", None), 2: ("wide", None)}),
        ({"c2": "sign"}, {2: ("sign", None)}),
        ({"c1": "narrow", "c5": "?"}, {1: ("narrow", None), 5: (None, None)}),
        ({"c5": "?"}, {5: (None, None)}),
        # Two causes could explain check 2: the one whose whole pattern is nearer to what is red.
        (
            {"c1": "narrow", "c2": "?", "c3": "wide", "c4": "wide"},
            {1: ("narrow", None), 2: ("wide", 3), 3: ("wide", None), 4: ("wide", None)},
        ),
        ({"c1": "narrow", "c2": "?", "c3": "wide"}, {1: ("narrow", None), 2: ("narrow", 1), 3: ("wide", None)}),
        # What did not run speaks neither for nor against.
        ({"c1": "-", "c2": "?", "c3": "wide", "c4": "-"}, {2: ("wide", 3), 3: ("wide", None)}),
        # A symptom explains nothing.
        ({"c2": "sign", "c3": "?"}, {2: ("sign", None), 3: (None, None)}),
    ],
    ids=lambda row: " ".join(f"{key}={value}" for key, value in row.items()),
)
def test_the_cause_whose_pattern_fits_best_explains_a_symptom(
    said: dict[str, str], expected: dict[int, tuple[str | None, int | None]]
) -> None:
    assert named(**said) == expected


def red(name: str, folder: Path, only: str) -> dict[int, Any]:
    """The red checks of a wrong program of the catalogue, by number, and "screen"."""
    program = next(program for program in load_programs(LAB)[0] if program.name == name)
    record = judged(write(program, LAB, load_lab(LAB), folder / "student"), "--only", only)
    return {check["number"]: {**check, "screen": record["screen"]} for check in record["checks"] if check["message"]}


def test_a_check_that_saw_a_symptom_says_where_the_cause_can_be_seen(tmp_path: Path) -> None:
    checks = red("pages-overwritten", tmp_path, "3,5")

    assert checks[3]["explained_by"] is None and checks[5]["explained_by"] == 3
    sentence = "Only the tools of the last page are there: each page replaced the ones before."
    assert checks[3]["message"].startswith(f"{sentence} Add ")
    assert checks[5]["message"] == f"The cause can be seen in check 3: {sentence}"
    assert checks[5]["misconception"] == checks[3]["misconception"] == "pages_overwritten"


def test_the_same_words_are_said_once(tmp_path: Path) -> None:
    checks = red("meta-only-if-no-params", tmp_path, "1,3,9")

    assert checks[1]["message"].startswith("Requests without parameters of their own carried `_meta`, those with some")
    for number in (3, 9):
        assert checks[number]["explained_by"] == 1 and len(checks[number]["message"]) < len(checks[1]["message"])


def test_an_exception_that_a_call_raised_shows_the_line_that_raised(tmp_path: Path) -> None:
    check = red("empty-page-is-an-error", tmp_path, "3")[3]

    file = tmp_path / "student" / "discover_and_translate.py"
    assert check["where"].endswith(_line_of(file, 'raise InvalidMessage(f"this'))


def test_a_line_end_that_is_none_for_json_is_written_out(tmp_path: Path) -> None:
    check = red("splitlines-of-text", tmp_path, "1")[1]

    assert "\\u2028" in "".join(check["wire"]) and "\u2028" not in "".join([*check["wire"], check["expected"]])


def test_two_cursors_that_differ_in_a_line_end_can_be_told_apart(tmp_path: Path) -> None:
    check = red("cursor-stripped", tmp_path, "3")[3]

    assert check["expected"].endswith('=\\n"') and check["actual"].endswith('="')


def test_an_error_that_is_raised_by_the_reader_says_where_it_came_out(tmp_path: Path) -> None:
    raised = ('waiter.fail(RpcError.from_wire(message["error"]))', 'raise RpcError.from_wire(message["error"])')
    folder = wrong(tmp_path / "student", "stdio_client.py", *raised)
    check = judged(folder, "--only", "2")["checks"][1]

    assert check["expected"].startswith("RpcError with code -32601")
    assert check["actual"].endswith("but not in `request`: it ended the task that reads")


def test_no_english_prose_is_in_a_chinese_record(tmp_path: Path) -> None:
    """What is data is not translated: names, JSON, the words of an exception, which stand behind a colon."""
    file = tmp_path / "record.json"
    selftest("starter", "--lang", "zh", "--json", file)
    checks = json.loads(file.read_text(encoding="utf-8"))["checks"]

    for check in checks:
        for key in ("message", "expected", "actual", "done"):
            prose = re.sub(r'"[^"]*"|`[^`]*`|：[^：]*$', "", check[key])
            assert not re.search(r"[a-z]+ (?:[a-z]+ )+[a-z]+", prose), (check["number"], key, check[key])
    assert "错误码 -32601" in checks[1]["expected"] and "秒后" in checks[1]["actual"]


def test_an_exception_and_its_cause_are_both_told(tmp_path: Path) -> None:
    checks = red("result-before-error", tmp_path, "2,7")

    assert checks[7]["message"].startswith("Your code raised KeyError: 'result' The cause can be seen in check 2: ")
    assert "in _on_line" in checks[7]["actual"]


def test_the_place_and_the_page_are_those_of_the_misconception(tmp_path: Path) -> None:
    check = red("model-name-on-the-wire", tmp_path, "5")[5]

    assert check["where"].endswith(_line_of(tmp_path / "student" / "registry.py", "async def call"))
    assert check["spec"] == "https://modelcontextprotocol.io/specification/2026-07-28/server/tools"
    assert f"  spec  {check['spec']}\n" in check["screen"]


def test_what_no_judge_knows_is_shown_and_not_guessed(tmp_path: Path) -> None:
    plain = '    plain = f"mcp__{alias}__{tool_name}"\n'
    folder = wrong(tmp_path / "student", "discover_and_translate.py", plain, f"    return 7\n{plain}")
    check = judged(folder, "--only", "6")["checks"][5]

    assert (check["status"], check["misconception"], check["spec"]) == ("fail", None, "")
    assert check["message"].startswith("What was seen is not what the check demands. None of the known")
    assert (check["expected"], check["actual"][:4]) == ("text", "[7, ")


def test_the_words_are_chinese_on_request(tmp_path: Path) -> None:
    done = selftest(LAB / "starter", "--lang", "zh", "--only", "8")

    assert "规范  https://" in done.stdout and "应当逐个服务端捕获失败" in done.stdout


def _line_of(file: Path, part: str) -> str:
    lines = file.read_text(encoding="utf-8").splitlines()
    return f":{next(number for number, line in enumerate(lines, 1) if part in line)}"

"""The self-test as a command: what it shows, its exit codes, and what it does with input that is wrong."""

import os
import re
import runpy
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from kit import FILES, LAB, ROOT, green, judged, selftest, student, wrong

NAME = '    plain = f"mcp__{alias}__{tool_name}"\n'  # the first line of the solution's model_tool_name
LOOP = "while True: __import__('time').sleep(0.01)"  # without end, and cheap for the other tests
FIELDS = {"number", "id", "title", "todo", "status", "seconds", "misconception", "message", "expected", "actual"}


def left_running(folder: Path) -> list[str]:
    """The command lines of processes that were started for this folder."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        words = process.info["cmdline"] or []
        if any(str(folder) in word for word in words) and process.pid != os.getpid():
            found.append(" ".join(words))
    return found


@pytest.fixture
def own_tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that also holds the run's temporary files, so that its processes can be told by it."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    yield tmp_path
    assert left_running(tmp_path) == []
    assert list(folder.iterdir()) == [], "the run has left files behind"


# What it shows


def test_the_untouched_starter_is_4_green_and_5_red_with_a_panel_each(own_tmp: Path) -> None:
    record = judged(student(own_tmp / "student", ()))

    assert record["exit"] == 1
    assert green(record) == {1, 4, 7, 9}
    shown = record["screen"].splitlines()
    marks = [line.split()[:2] for line in shown if re.match(r" [✓✗] \d  ", line)]
    assert marks == [["✓" if n in {1, 4, 7, 9} else "✗", str(n)] for n in range(1, 10)]
    for check in record["checks"]:
        if check["status"] == "fail":
            assert check["misconception"] and check["message"] and check["expected"] and check["actual"]
            assert check["message"] in record["screen"]
            file, line = check["where"].rsplit(":", 1)
            text = Path(file if os.path.isabs(file) else ROOT / file).read_text(encoding="utf-8").splitlines()
            assert f"# TODO {check['todo']}" in text[int(line) - 1]
    assert shown[-1].startswith("next: TODO 1 at ")
    # and the same in the record, with every field for every check
    assert (record["lab"], record["passed"], record["total"]) == (LAB.name, 4, 9)
    assert record["target"].endswith("student") and record["seconds"] > 0
    assert [check["number"] for check in record["checks"]] == list(range(1, 10))
    for check in record["checks"]:
        assert FIELDS | {"where", "wire"} <= set(check)


def test_the_solution_is_nine_green_and_says_what_to_do_next(own_tmp: Path) -> None:
    done = selftest("solution")

    assert done.returncode == 0
    assert "9 of 9 green" in done.stdout
    assert done.stdout.rstrip().endswith('QUESTION="..." MOCK=1 make start TARGET=solution')


def test_a_todo_comment_that_is_left_at_the_end_is_named_once(own_tmp: Path) -> None:
    folder = wrong(own_tmp / "student", "discover_and_translate.py", NAME, f"    # TODO 3: two servers\n{NAME}")
    place = _line_of(folder / "discover_and_translate.py", "# TODO 3: two servers")
    done = selftest(folder)

    assert done.returncode == 0
    assert done.stdout.count("the comment of TODO") == 1
    assert re.search(rf"TODO 3 still stands at .*discover_and_translate\.py{place}: it can go", done.stdout)


def test_the_evidence_shows_the_wire(own_tmp: Path) -> None:
    record = judged(student(own_tmp / "student", ()), "--only", "2")

    wire = record["checks"][1]["wire"]
    assert re.match(r'notes → \{"id": \d+, "method": "no/such/\w{8}"', wire[0])
    assert re.match(r'notes ← \{"id": \d+, "error": \{"code": -32601', wire[1])


def test_only_some_checks_can_be_run(own_tmp: Path) -> None:
    record = judged(student(own_tmp / "student", {2}), "--only", "3,4")

    assert record["exit"] == 0 and record["total"] == 9
    assert [check["status"] for check in record["checks"]].count("not_run") == 7


def test_chinese_is_spoken_on_request_and_by_locale(own_tmp: Path) -> None:
    by_option = selftest("starter", "--lang", "zh", "--only", "2")
    by_locale = selftest("starter", "--only", "2", environ={"LAB_LANG": "", "LC_ALL": "zh_CN.UTF-8"})

    for done in (by_option, by_locale):
        assert "下一步：" in done.stdout and "预期" in done.stdout, done.stdout


@pytest.mark.parametrize("environ", [{"NO_COLOR": "1"}, {"COLUMNS": "60"}, {"TERM": "dumb"}])
def test_piped_output_has_no_escape_codes_and_does_not_wrap_evidence(own_tmp: Path, environ: dict[str, str]) -> None:
    done = selftest("starter", "--only", "2,3", environ=environ)

    assert "\x1b" not in done.stdout
    assert re.search(r"^  wire  pages of 2 ← .*nextCursor.*$", done.stdout, re.MULTILINE)


def test_brackets_in_the_evidence_are_not_taken_for_markup(own_tmp: Path) -> None:
    done = selftest(student(own_tmp / "student [bold]", ()), "--only", "3")

    assert 'got  ["search", "read_note"]' in done.stdout
    assert "student [bold]" in done.stdout


# Input that is wrong


def test_a_missing_folder_is_named(own_tmp: Path) -> None:
    done = selftest("no-such-folder")

    assert (done.returncode, done.stdout) == (2, "")
    assert "no folder 'no-such-folder'" in done.stderr and "Traceback" not in done.stderr


def test_a_missing_file_is_named(own_tmp: Path) -> None:
    folder = student(own_tmp / "student", ())
    (folder / "registry.py").unlink()
    done = selftest(folder)

    assert (done.returncode, done.stdout) == (2, "")
    assert "lacks registry.py" in done.stderr


@pytest.mark.parametrize(
    "line, says",
    [
        ("def broken(:", "SyntaxError"),
        ("import no_such_module", "ModuleNotFoundError"),
        ("raise ValueError('at import')", "ValueError: at import"),
        ("raise SystemExit(0)", "SystemExit"),
        ("import os; os._exit(0)", "it ended with exit code 0"),
    ],
    ids=["syntax error", "missing module", "exception", "exit", "hard exit"],
)
def test_a_file_that_cannot_be_imported_ends_the_run_with_its_place(own_tmp: Path, line: str, says: str) -> None:
    folder = student(own_tmp / "student", ())
    with (folder / "registry.py").open("a", encoding="utf-8") as file:
        file.write(line + "\n")
    record = judged(folder, "--only", "4")

    assert record["exit"] == 2
    assert says in record["screen"] and "Traceback" not in record["screen"]
    last = record["screen"].rstrip().splitlines()[-1]
    assert re.match(r"next: mend .*registry\.py:\d+, and run this again", last)
    assert (record["passed"], record["total"], len(record["checks"])) == (0, 9, 9)


def test_a_module_that_prints_at_import_changes_nothing(own_tmp: Path) -> None:
    folder = wrong(own_tmp / "student", "protocol.py", "import json\n", 'import json\nprint("{\\"done\\": true}")\n')

    assert green(judged(folder, "--only", "5,9")) == {5, 9}


@pytest.mark.parametrize("name", ["with space", "[brackets]", "中文目录", "quote'and$dollar"])
def test_the_target_may_have_any_name(own_tmp: Path, name: str) -> None:
    record = judged(student(own_tmp / name, {1, 2, 3, 4}), "--only", "4,6")

    assert green(record) == {4, 6}, record["screen"]


def test_the_target_may_be_relative_to_where_one_stands(own_tmp: Path) -> None:
    student(own_tmp / "mine", {1, 2, 3, 4})

    assert selftest("mine", "--only", "1", cwd=own_tmp).returncode == 0


@pytest.mark.parametrize("value", ["0", "10", "two", "3,,4", ""])
def test_a_wrong_number_of_a_check_is_named(own_tmp: Path, value: str) -> None:
    done = selftest("solution", "--only", value)

    assert done.returncode == 2 and "--only takes numbers" in done.stderr


def test_a_record_that_cannot_be_written_is_said_before_the_run(own_tmp: Path) -> None:
    done = selftest("solution", "--json", own_tmp / "no" / "such" / "file.json")

    assert (done.returncode, done.stdout) == (2, "")
    assert "no folder" in done.stderr


def test_an_unknown_lab_is_named(own_tmp: Path) -> None:
    done = selftest("--lab", "day-99")

    assert done.returncode == 2 and LAB.name in done.stderr


@pytest.mark.parametrize("script", ["selftest.py", "labkit/bootstrap.py"])
def test_a_python_that_is_too_old_gets_one_sentence(
    script: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 9, 18))
    with pytest.raises(SystemExit) as exit:
        runpy.run_path(str(ROOT / script), run_name="__main__")

    assert exit.value.code == 2
    said = capsys.readouterr().err
    assert "needs Python 3.11 or later, and this is Python 3.9" in said and said.count("\n") == 1


def test_the_entry_can_be_read_by_an_old_python() -> None:
    import ast

    ast.parse((ROOT / "selftest.py").read_text(encoding="utf-8"), feature_version=(3, 4))
    ast.parse((ROOT / "labkit/bootstrap.py").read_text(encoding="utf-8"), feature_version=(3, 8))


# Programs that do not behave


@pytest.mark.early
def test_a_loop_and_a_deadlock_end_at_the_deadline_and_the_others_still_run(own_tmp: Path) -> None:
    folder = wrong(own_tmp / "student", "discover_and_translate.py", NAME, f"    {LOOP}\n{NAME}")
    file = folder / "discover_and_translate.py"
    text = file.read_text(encoding="utf-8")
    start = "    sent: set[str] = set()\n"
    deadlock = "    lock = __import__('threading').Lock(); lock.acquire(); lock.acquire()\n"
    file.write_text(text.replace(start, deadlock + start), encoding="utf-8")
    record = judged(folder, "--only", "1,3,6")

    status = {check["number"]: check["status"] for check in record["checks"] if check["status"] != "not_run"}
    assert status == {1: "pass", 3: "timeout", 6: "timeout"}, record["screen"]
    loop = record["checks"][5]
    assert "model_tool_name" in loop["actual"] and loop["where"].endswith(_line_of(file, LOOP))
    assert record["total"] == 9 and record["seconds"] < 20


def test_an_exit_in_the_middle_is_no_pass_and_ends_nothing_else(own_tmp: Path) -> None:
    folder = wrong(own_tmp / "student", "discover_and_translate.py", NAME, f"    __import__('os')._exit(0)\n{NAME}")
    record = judged(folder, "--only", "2,3,5,6")

    assert green(record) == {2, 3}
    assert {check["status"] for check in record["checks"]} == {"pass", "error", "not_run"}
    assert "exit code 0" in record["checks"][5]["message"]


def test_an_exception_is_shown_with_the_students_own_lines(own_tmp: Path) -> None:
    folder = wrong(own_tmp / "student", "discover_and_translate.py", NAME, f"    raise ValueError('mine')\n{NAME}")
    check = judged(folder, "--only", "6")["checks"][5]

    assert check["status"] == "fail" and "ValueError: mine" in check["message"]
    assert "in model_tool_name" in check["actual"]
    assert check["where"].endswith(_line_of(folder / "discover_and_translate.py", "raise ValueError"))


def test_a_flood_of_prints_is_cut_and_changes_no_verdict(own_tmp: Path) -> None:
    old = "entry = self.entries"
    folder = wrong(own_tmp / "student", "registry.py", old, f"print('x' * 30_000_000); {old}")
    record = judged(folder, "--only", "5")

    assert green(record) == {5}
    assert len(record["checks"][4]["printed"]) <= 4000


def test_a_child_that_outlives_its_program_is_ended(own_tmp: Path) -> None:
    child = f"[sys.executable, '-c', 'import time; time.sleep(60)', {str(own_tmp)!r}]"
    line = f"import subprocess, sys; subprocess.Popen({child}, start_new_session=True)\n"
    folder = wrong(own_tmp / "student", "protocol.py", "import json\n", f"import json\n{line}")

    assert green(judged(folder, "--only", "4")) == {4}  # the fixture looks for what is left


@pytest.mark.early
def test_swallowed_cancellation_is_no_pass(own_tmp: Path) -> None:
    answer = "        await self._arrived.wait()\n"
    stubborn = (
        "        while not self._arrived.is_set():\n            try:\n                await self._arrived.wait()\n"
        "            except BaseException:\n                __import__('time').sleep(0.01)\n"
    )
    record = judged(wrong(own_tmp / "student", "stdio_client.py", answer, stubborn), "--only", "7")

    assert record["checks"][6]["status"] in ("timeout", "error", "fail")


@pytest.mark.skipif(os.name == "nt", reason="Windows has no signal of its own for one process")
def test_ctrl_c_ends_it_at_once_and_leaves_nothing(own_tmp: Path) -> None:
    folder = wrong(own_tmp / "student", "discover_and_translate.py", NAME, f"    {LOOP}\n{NAME}")
    command = [sys.executable, str(ROOT / "selftest.py"), str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8")
    assert process.stdout is not None
    while " 3  " not in process.stdout.readline():  # by now the checks that hang are under way
        pass
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=5)

    assert process.returncode == 130
    assert "stopped" in said and "Traceback" not in said


@pytest.mark.skipif(os.name == "nt", reason="Windows ends a child by other means")
def test_nothing_outlives_a_self_test_that_was_killed(own_tmp: Path) -> None:
    folder = wrong(own_tmp / "student", "discover_and_translate.py", NAME, f"    {LOOP}\n{NAME}")
    command = [sys.executable, str(ROOT / "selftest.py"), str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8")
    assert process.stdout is not None
    while " 3  " not in process.stdout.readline():
        pass
    workers = [child for child in psutil.Process(process.pid).children(recursive=True)]
    process.kill()
    process.communicate(timeout=5)

    _, alive = psutil.wait_procs(workers, timeout=5)
    assert alive == []
    shutil.rmtree(own_tmp / "tmp")  # a killed run cannot tidy up
    (own_tmp / "tmp").mkdir()


def test_two_runs_at_the_same_time_do_not_meet(own_tmp: Path) -> None:
    command = [sys.executable, str(ROOT / "selftest.py"), "solution", "--only", "3,5"]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8") for _ in range(2)]

    assert ["2 of 9 green" in process.communicate(timeout=60)[0] for process in both] == [True, True]


def test_a_run_writes_nothing_into_the_checkout() -> None:
    """So it works in a checkout that cannot be written to."""
    before = _tree()
    selftest("starter", "--only", "1,6", environ={"PYTHONDONTWRITEBYTECODE": "1"})

    assert _tree() == before


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="only an ordinary user is kept from writing")
def test_a_read_only_copy_of_the_folder_works(own_tmp: Path) -> None:
    folder = student(own_tmp / "student", {1, 2, 3, 4})
    for path in (*folder.iterdir(), folder):
        path.chmod(0o555)
    try:
        assert green(judged(folder, "--only", "1,4")) == {1, 4}
    finally:
        folder.chmod(0o755)


def test_the_students_folder_holds_afterwards_what_it_held_before(own_tmp: Path) -> None:
    folder = student(own_tmp / "student", {1, 2, 3, 4})
    judged(folder, "--only", "1,6")

    assert sorted(path.name for path in folder.iterdir()) == sorted(FILES)


def _line_of(file: Path, part: str) -> str:
    lines = file.read_text(encoding="utf-8").splitlines()
    return f":{next(number for number, line in enumerate(lines, 1) if part in line)}"


def _tree() -> dict[str, float]:
    skip = {".git", ".venv", ".mypy_cache", ".pytest_cache", ".ruff_cache", "__pycache__"}
    found = {}
    for folder, folders, files in os.walk(ROOT):
        folders[:] = [name for name in folders if name not in skip]
        found.update({os.path.join(folder, name): os.stat(os.path.join(folder, name)).st_mtime for name in files})
    return found

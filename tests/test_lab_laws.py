"""The laws of the lab: four hunks between starter and solution, and each TODO owns its own checks."""

import itertools
import re
import subprocess
from pathlib import Path

import pytest
from kit import ALL, CHECKS_OF_TODO, FILES, LAB, ROOT, SOLUTION, STARTER, hunks, judged, student

from labkit.lab import load_lab
from labkit.programs import is_red, judge

LAB_ = load_lab(LAB)
SUBSETS = [set(todos) for size in range(5) for todos in itertools.combinations(CHECKS_OF_TODO, size)]


def lines(folder: Path, file: str) -> list[str]:
    return (folder / file).read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("todos", SUBSETS, ids=lambda todos: "todos_" + "".join(map(str, sorted(todos))) or "none")
def test_each_subset_of_todos_turns_exactly_its_own_checks_green(tmp_path: Path, todos: set[int]) -> None:
    results = judge(student(tmp_path / "student", todos), LAB, LAB_, set(ALL))

    red = set().union(*(checks for todo, checks in CHECKS_OF_TODO.items() if todo not in todos))
    assert {result.check.number for result in results if is_red(result)} == red, results


@pytest.mark.parametrize("todos", [set(), {1}, {2, 4}, {1, 2, 3}], ids=str)
def test_the_last_line_names_the_first_todo_that_is_left(tmp_path: Path, todos: set[int]) -> None:
    left = min(set(CHECKS_OF_TODO) - todos)
    record = judged(student(tmp_path / "student", todos), "--only", ",".join(map(str, CHECKS_OF_TODO[left])))

    assert record["exit"] == 1
    assert record["screen"].rstrip().splitlines()[-1].startswith(f"next: TODO {left} at "), record["screen"]


@pytest.mark.parametrize("context", ["-U0", "-U3"])
@pytest.mark.parametrize("algorithm", ["myers", "patience", "histogram", "minimal"])
def test_git_sees_four_hunks(algorithm: str, context: str) -> None:
    command = ["git", "diff", "--no-index", f"--diff-algorithm={algorithm}", context, str(STARTER), str(SOLUTION)]
    output = subprocess.run(command, capture_output=True, encoding="utf-8").stdout

    assert len(re.findall(r"^@@", output, re.MULTILINE)) == 4, output
    assert "Only in" not in output


def test_each_hunk_replaces_one_todo_without_blank_or_common_lines() -> None:
    found = hunks()
    assert len(found) == 4
    for number, (file, i1, i2, j1, j2) in enumerate(found, 1):
        hole, filling = lines(STARTER, file)[i1:i2], lines(SOLUTION, file)[j1:j2]
        assert f"# TODO {number}: " in hole[0]
        assert all(line.strip() for line in hole + filling), "a blank line would split the hunk"
        assert not set(hole) & set(filling), "a common line would split the hunk"
        assert max(map(len, hole + filling)) < 80, "make diff is read at 80 columns"


def test_holes_are_at_least_seven_lines_apart() -> None:
    for (file, _, end, _, _), (next_file, start, _, _, _) in itertools.combinations(sorted(hunks()), 2):
        assert file != next_file or start - end >= 7


def test_the_folders_hold_the_five_files_and_nothing_else() -> None:
    for folder in (STARTER, SOLUTION):
        assert sorted(path.name for path in folder.iterdir()) == sorted(FILES)


def test_the_solution_never_says_todo_and_the_starter_says_each_once() -> None:
    starter, solution = ("\n".join("\n".join(lines(folder, file)) for file in FILES) for folder in (STARTER, SOLUTION))
    assert "TODO" not in solution
    assert sorted(re.findall(r"TODO (\d)", starter)) == ["1", "2", "3", "4"]


def test_the_five_files_import_nothing_but_each_other_anyio_and_the_standard_library() -> None:
    import sys

    allowed = {*sys.stdlib_module_names, "anyio", *(file.removesuffix(".py") for file in FILES)}
    for folder, file in itertools.product((STARTER, SOLUTION), FILES):
        imported = re.findall(r"^(?:from|import) (\w+)", (folder / file).read_text(encoding="utf-8"), re.MULTILINE)
        assert set(imported) <= allowed, file


def test_the_servers_use_only_the_standard_library_and_their_own_folder() -> None:
    import sys

    servers = sorted((LAB / "servers").glob("*.py"))
    own = {server.stem for server in servers}
    assert {"notes", "tickets"} <= own
    for server in servers:
        imported = re.findall(r"^\s*(?:from|import) (\w+)", server.read_text(encoding="utf-8"), re.MULTILINE)
        assert set(imported) <= {*sys.stdlib_module_names, *own}, server.name


def test_a_second_lab_needs_no_change_elsewhere() -> None:
    """Nothing outside labs/ and the tests knows the name of this lab, but the Makefile's one line and the READMEs."""
    names = [path for path in (ROOT / "labkit").glob("*.py")] + [ROOT / "selftest.py"]
    assert not [path.name for path in names if "day-05" in path.read_text(encoding="utf-8")]

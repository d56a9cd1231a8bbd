"""Wrong programs are red where they are wrong, and named.

Here one program of every eighth misconception runs, with the checks that it turns red and one that stays green;
each of the nine checks has some. All of them, with all nine checks, are run by `make proof`.
"""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from kit import ALL, LAB

from labkit import digest, proof
from labkit.lab import load_lab
from labkit.programs import Program, differences, judge, load_programs, write

LAB_ = load_lab(LAB)
WRONG, _ = load_programs(LAB)
ONE_OF_EACH = list({next(iter(program.red.values())): program for program in reversed(WRONG)}.values())[::-1]
HERE = ONE_OF_EACH[::8]
MANY = 1  # of the checks that a program turns red, no more are run here
JOBS = 4  # programs at a time: most of them wait for deadlines, or for other processes


def group(program: Program) -> str:
    return "all checks" if set(program.red) == ALL else f"check {min(program.red)}"


def faults(program: Program, folder: Path) -> list[str]:
    red = sorted(program.red)[:MANY]
    green = [number for number in (2, 4, 5) if number not in program.red][:1]
    assert green or set(program.red) == ALL
    return differences(program, judge(write(program, LAB, LAB_, folder), LAB, LAB_, {*red, *green}))


@pytest.mark.parametrize("name", sorted({group(program) for program in HERE}))
def test_they_are_red_and_named_where_they_are_wrong_and_green_elsewhere(tmp_path: Path, name: str) -> None:
    programs = [program for program in HERE if group(program) == name]
    with ThreadPoolExecutor(JOBS) as pool:
        jobs = {program.name: pool.submit(faults, program, tmp_path / program.name) for program in programs}

    assert {name: job.result() for name, job in jobs.items() if job.result()} == {}


def test_the_kill_matrix_is_fresh() -> None:
    fresh = digest.digest(proof.inputs(LAB))
    assert digest.read(proof.MATRIX) == fresh, "docs/kill-matrix.md is stale: run `make proof`, and commit it"


def test_line_ends_do_not_change_the_digest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(digest, "ROOT", tmp_path)
    file, seen = tmp_path / "checks.py", []
    for text in (b"a = 1\nb = 2\n", b"a = 1\r\nb = 2\r\n", b"a = 1\nb = 3\n"):
        file.write_bytes(text)
        seen.append(digest.digest([file]))
    assert seen[0] == seen[1] != seen[2]


def test_each_check_is_seen_red_here() -> None:
    assert set().union(*(program.red for program in HERE)) == ALL


def test_all_are_still_changes_of_the_solution(tmp_path: Path) -> None:
    for program in WRONG:
        folder = write(program, LAB, LAB_, tmp_path / program.name)
        for file in LAB_.files:
            compile((folder / file).read_text(encoding="utf-8"), f"{program.name}/{file}", "exec")

"""Wrong programs are red where they are wrong, and named.

Here one program of each misconception runs, with the checks that it turns red and one that stays green. All
of them, with all nine checks, are run by `make proof`.
"""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from kit import ALL, LAB

from labkit.lab import load_lab
from labkit.programs import Program, differences, judge, load_programs, write

LAB_ = load_lab(LAB)
WRONG, _ = load_programs(LAB)
ONE_OF_EACH = list({next(iter(program.red.values())): program for program in reversed(WRONG)}.values())[::-1]
SLOW = {  # they wait for deadlines, some for several: all at the same time, and before the others
    "no-id",
    "chunk-is-a-line",
    "stderr-ignored",
    "one-at-a-time",
    "no-deadline",
    "death-not-passed-on",
    "left-running",
}
MANY = 3  # of the checks that a program turns red, no more are run here


def faults(program: Program, folder: Path) -> list[str]:
    red = sorted(program.red)[:MANY]
    green = [number for number in (2, 4, 5) if number not in program.red][:1]
    assert green or set(program.red) == ALL
    results = judge(write(program, LAB, LAB_, folder / program.name), LAB, LAB_, {*red, *green})
    return differences(program, results)


def test_those_that_wait_for_deadlines_are_red_and_named_too(tmp_path: Path) -> None:
    programs = [program for program in WRONG if program.name in SLOW]
    assert len(programs) == len(SLOW)
    with ThreadPoolExecutor(len(SLOW)) as pool:
        assert list(pool.map(lambda program: faults(program, tmp_path), programs)) == [[]] * len(SLOW)


@pytest.mark.parametrize("program", [one for one in ONE_OF_EACH if one.name not in SLOW], ids=lambda one: one.name)
def test_it_is_red_and_named_where_it_is_wrong_and_green_elsewhere(tmp_path: Path, program: Program) -> None:
    assert faults(program, tmp_path) == []


@pytest.mark.parametrize("program", WRONG, ids=lambda program: program.name)
def test_it_is_still_a_change_of_the_solution(tmp_path: Path, program: Program) -> None:
    folder = write(program, LAB, LAB_, tmp_path / program.name)

    for file in LAB_.files:
        compile((folder / file).read_text(encoding="utf-8"), file, "exec")

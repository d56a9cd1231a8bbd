"""Right programs that look different are green. `make proof` runs them all; here runs every twelfth, whole."""

from pathlib import Path

import pytest
from kit import ALL, LAB

from labkit.lab import load_lab
from labkit.programs import Program, differences, judge, load_programs, write

LAB_ = load_lab(LAB)
_, RIGHT = load_programs(LAB)


@pytest.mark.parametrize("program", RIGHT[::12], ids=lambda program: program.name)
def test_it_is_green_in_every_check(tmp_path: Path, program: Program) -> None:
    folder = write(program, LAB, LAB_, tmp_path / program.name)

    assert differences(program, judge(folder, LAB, LAB_, set(ALL))) == []


def test_all_are_still_changes_of_the_solution(tmp_path: Path) -> None:
    for program in RIGHT:
        folder = write(program, LAB, LAB_, tmp_path / program.name)
        for file in LAB_.files:
            compile((folder / file).read_text(encoding="utf-8"), f"{program.name}/{file}", "exec")

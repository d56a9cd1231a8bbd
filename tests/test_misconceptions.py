"""The table of misconceptions: complete in both languages, short, and each with a program that shows it."""

import re
import string

import pytest
from kit import ALL, LAB, SOLUTION

from labkit.lab import Misconception, load_lab
from labkit.programs import Program, load_programs

MAX_WORDS = 120  # of a message, in English
MAX_CHARACTERS = 200  # of a message, in Chinese: about as long to read
MISCONCEPTIONS = load_lab(LAB).misconceptions
WRONG, RIGHT = load_programs(LAB)


def fields(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


@pytest.mark.parametrize("known", MISCONCEPTIONS.values(), ids=MISCONCEPTIONS)
def test_the_words_are_complete_in_both_languages_and_short(known: Misconception) -> None:
    english, chinese = known.text.en, known.text.zh
    assert english.isascii() or "“" in english, "the English text is English"
    assert re.search("[\u4e00-\u9fff]", chinese) and chinese.endswith(("。", "？"))
    assert english.endswith((".", "?"))
    assert len(english.split()) <= MAX_WORDS and len(chinese) <= MAX_CHARACTERS
    assert fields(english) == fields(chinese)
    assert set(re.findall("`[^`]+`", chinese)) <= set(re.findall("`[^`]+`", english)), "code is the same in both"
    assert english.count("`") % 2 == chinese.count("`") % 2 == 0


@pytest.mark.parametrize("known", MISCONCEPTIONS.values(), ids=MISCONCEPTIONS)
def test_page_pattern_and_place_exist(known: Misconception) -> None:
    assert re.fullmatch(r"(basic|server)/[a-z/-]+", known.page)
    assert known.red and set(known.red) <= ALL and list(known.red) == sorted(known.red)
    if known.place:
        file, function = known.place
        assert re.search(rf"def {function}\b", (SOLUTION / file).read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", MISCONCEPTIONS)
def test_a_wrong_program_shows_it_and_turns_its_pattern_red(name: str) -> None:
    """A symptom has no pattern of its own: it can come of many things."""
    patterns = {tuple(program.red) for program in WRONG if name in program.red.values()}
    assert patterns, "no wrong program names it"
    if not MISCONCEPTIONS[name].symptom:
        assert any(set(MISCONCEPTIONS[name].red) == set(pattern) for pattern in patterns)
        assert all(set(pattern) & set(MISCONCEPTIONS[name].red) for pattern in patterns)


@pytest.mark.parametrize("program", WRONG, ids=lambda program: program.name)
def test_what_a_wrong_program_names_exists(program: Program) -> None:
    assert program.red and set(program.red) <= ALL
    assert set(program.red.values()) <= set(MISCONCEPTIONS)


def test_programs_have_names_of_their_own_and_say_what_they_are() -> None:
    programs = [*WRONG, *RIGHT]
    assert len({program.name for program in programs}) == len(programs)
    assert all(re.fullmatch(r"[a-z0-9-]+", program.name) and program.says for program in programs)
    assert len(WRONG) >= 45 and len(RIGHT) >= 12
    assert {number for program in WRONG for number in program.red} == ALL
    assert not any(program.red for program in RIGHT)

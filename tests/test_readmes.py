"""What the READMEs claim, held against the thing itself."""

import re
from pathlib import Path

import pytest
from kit import FILES, LAB, ROOT, SOLUTION, STARTER, selftest

READMES = [ROOT / "README.md", ROOT / "README.zh-CN.md", LAB / "README.md", LAB / "README.zh-CN.md"]


@pytest.mark.parametrize("readme", READMES, ids=lambda path: str(path.relative_to(ROOT)))
def test_each_file_of_the_reading_order_has_as_many_lines_as_it_says(readme: Path) -> None:
    text = readme.read_text(encoding="utf-8")
    for file in FILES:
        said = re.search(rf"^\| (?:\d \| )?`{file}` \| (\d+) \|", text, re.MULTILINE)
        assert said, f"no row for {file}"
        assert int(said[1]) == len((SOLUTION / file).read_text(encoding="utf-8").splitlines()), file


@pytest.mark.parametrize("readme", READMES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_to_a_file_leads_to_one(readme: Path) -> None:
    for link in re.findall(r"\]\((?!http)([^)#]+)\)", readme.read_text(encoding="utf-8")):
        assert (readme.parent / link).exists(), link


@pytest.mark.parametrize("readme, language", [(READMES[0], "en"), (READMES[1], "zh")])
def test_the_nine_lines_are_those_of_the_self_test(readme: Path, language: str) -> None:
    lines = [line for line in selftest("starter", "--lang", language).stdout.splitlines() if line[:2] in (" ✓", " ✗")]
    assert len(lines) == 9
    assert "\n".join(lines) in readme.read_text(encoding="utf-8")


@pytest.mark.parametrize("readme", READMES[2:], ids=lambda path: path.name)
def test_the_names_in_the_table_are_those_that_the_solution_makes(readme: Path) -> None:
    from discover_and_translate import model_tool_name

    rows = re.findall(r"^\| `(\S+)` \| `(\S+)` \| `(mcp__\S+)` \|$", readme.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(rows) == 4
    assert [model_tool_name(alias, tool) for alias, tool, _ in rows] == [name for _, _, name in rows]


@pytest.mark.parametrize("readme", READMES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_place_that_is_shown_is_a_todo_or_the_function_around_it(readme: Path) -> None:
    for file, number in re.findall(r"starter/(\w+\.py):(\d+)", readme.read_text(encoding="utf-8")):
        line = (STARTER / file).read_text(encoding="utf-8").splitlines()[int(number) - 1]
        assert re.search(r"# TODO \d: |def (list_all_tools|model_tool_name|_on_line|_refresh_one)", line), line


@pytest.mark.parametrize("readme", READMES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_make_target_that_is_named_exists(readme: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert set(re.findall(r"`(?:\w+=\S+ )*make ([a-z]+)", readme.read_text(encoding="utf-8"))) <= targets

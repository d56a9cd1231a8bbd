"""What the READMEs claim, held against the thing itself."""

import re
from pathlib import Path

import pytest
from kit import FILES, LAB, ROOT, SOLUTION, selftest

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


@pytest.mark.parametrize("readme", READMES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_make_target_that_is_named_exists(readme: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert set(re.findall(r"`(?:\w+=\S+ )*make ([a-z]+)", readme.read_text(encoding="utf-8"))) <= targets

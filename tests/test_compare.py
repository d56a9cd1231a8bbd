"""The comparison with other clients: that a cell is what was seen, that one that hangs is ended, that the page fits."""

import re
import sys

import psutil
import pytest
from kit import ROOT

sys.path.insert(0, str(ROOT))

from bench import compare
from bench.compare import CLIENTS, ROWS, Other, cell
from bench.compared import CASES

OURS = CLIENTS[1]
PAGE = ROOT / "docs" / "other-clients.md"


@pytest.mark.parametrize("case, seen", [("pages", "3 of 3 tools"), ("tool_error", "returned; flag kept, text kept")])
def test_a_cell_says_what_our_client_has_done(case: str, seen: str) -> None:
    assert cell(case, OURS) == seen


def test_a_client_that_is_not_installed_has_a_cell_that_says_so() -> None:
    nowhere = Other("none", "none", "no_such_module.inside", environment="nowhere")
    assert cell("pages", nowhere) == compare.version(nowhere) == "not installed"


def test_a_client_that_hangs_is_ended_with_its_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(compare.LONGEST, "no_answer", 1.5)
    monkeypatch.setattr(compare.secrets, "token_hex", lambda _: "mark-of-this-test")
    assert cell("no_answer", OURS) == "no end in 1.5 s"
    found = [process.info["cmdline"] or [] for process in psutil.process_iter(["cmdline"])]
    assert [words for words in found if "mark-of-this-test" in words] == []


def test_every_case_has_a_row_and_every_row_a_case() -> None:
    assert list(CASES) == list(ROWS)


def test_the_page_has_a_column_for_each_client_and_a_row_for_each_case() -> None:
    text = PAGE.read_text(encoding="utf-8")
    table = [re.split(r" \| ", line.strip("| ")) for line in text.splitlines() if line.startswith("| ")]
    assert table[0] == [client.title for client in CLIENTS]
    assert [row[0] for row in table[3:]] == list(ROWS.values())
    assert {len(row) for row in table[2:]} == {1 + len(CLIENTS)}


def test_the_page_names_commands_that_exist() -> None:
    for module in re.findall(r"python -m (bench[.a-z]*)", PAGE.read_text(encoding="utf-8")):
        assert (ROOT / f"{module.replace('.', '/')}.py").exists() or (ROOT / module / "__main__.py").exists()

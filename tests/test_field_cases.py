"""The table of docs/field-cases.md names tests; each of them must exist. They are not run for that, only read."""

import ast
import re
from functools import cache

from kit import ROOT

KINDS = 25
ROWS = [
    line.strip("| ").split(" | ")
    for line in (ROOT / "docs" / "field-cases.md").read_text(encoding="utf-8").splitlines()
    if re.match(r"\| \d+ \|", line)
]


@cache
def functions_of(file: str) -> frozenset[str]:
    """The tests that pytest would collect from this file."""
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return frozenset(function.name for function in functions if function.name.startswith("test_"))


def test_there_is_one_row_for_each_kind_with_all_its_columns() -> None:
    assert [row[0] for row in ROWS] == [str(number) for number in range(1, KINDS + 1)]
    assert {len(row) for row in ROWS} == {4}


def test_every_test_that_is_named_exists() -> None:
    for _, kind, _, tests in ROWS:
        named = re.findall(r"`(tests/\w+\.py)::(\w+)`", tests)
        assert named and len(named) == tests.count("::"), f"{kind}: each is written as `tests/file.py::test_name`"
        missing = [f"{file}::{name}" for file, name in named if name not in functions_of(file)]
        assert missing == [], kind

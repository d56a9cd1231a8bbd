"""Mutants: what the generator makes, and that docs/mutants.md is fresh. `make mutants` runs them."""

import ast
import re

import pytest
from kit import LAB, SOLUTION, hunks

from labkit import digest
from labkit import mutants as command
from labkit.guards import exists
from labkit.lab import load_lab
from labkit.mutate import Mutant, mutants

LAB_ = load_lab(LAB)
TEXTS = {file: (SOLUTION / file).read_text(encoding="utf-8") for file in LAB_.files}
ALL = command.all_mutants(LAB, LAB_)

CASES = [  # a line of a function, and what may become of it
    ("if a < b:\n        x()", ["if a <= b:", "if a >= b:", "pass"]),
    ("if a is None:\n        x()", ["if a is not None:"]),
    ("if a not in b:\n        x()", ["if a in b:"]),
    ("if f(a):\n        x()", ["if not (f(a)):"]),
    ("while a and b:\n        x()", ["while a or b:", "while True and b:", "while not (a and b):"]),
    ("x = a or {}", ["x = a and {}", "x = None or {}", "x = a or None", "pass"]),
    ("x = not a", ["x = a"]),
    ("x = (a + b)[:5]", ["x = (a - b)[:5]", "x = (a)[:5]", "x = (a + b)", "x = (a + b)[:6]", "x = (a + b)[:4]"]),
    ("x += a", ["x = a", "pass"]),
    ("x = 2.5", ["x = 0.0", "x = 250.0"]),
    ("x = True", ["x = False"]),
    ('x = "é", ""', ['x = "", ""', 'x = "é", "x"', 'x = "", "é"']),
    ("x = b'a'", ["x = b''"]),
    ('x = f"a{b}c"', ['x = f"{b}c"', 'x = f"a{b}"']),
    ('x = f"it is {b}"', ['x = ""']),
    ("return f(a, b)", ["return f(b, a)", "return None"]),
    ("return f(a, b=c, d=True)", ["return f(a, d=True)", "return f(a, b=c, d=False)"]),
    ("x = a.get(b, c)", ["x = a.get(b)"]),
    ('x = {"a": b, **(c or d)}', ['x = {**(c or d)}', 'x = {"a": b}']),
    ("x = [*a, b]", ["x = [b]", "x = [*a]"]),
    ("for a in b:\n        x()", ["for a in ():"]),
    ("x = [a for a in b if c]", ["x = [a for a in () if c]", "x = [a for a in b if not (c)]"]),
    ("x = isinstance(a, str | None)", ["x = isinstance(a, str)", "x = isinstance(a, None)"]),
    ("with f(a):\n        x()", ["if True:"]),
    ("with suppress(A, B):\n        x()", ["with suppress(B):", "with suppress(A):", "if True:"]),
    ("try:\n        x()\n    except (A, B):\n        y()", ["except (B):", "except (A):", "raise"]),
    ("raise A(b)", ["pass"]),
    ("await f()", ["f()", "pass"]),
]
LEFT_ALONE = [
    '"""A docstring."""',
    "import os",
    "assert a is not None",
    'log.warning("%s is %d", a, 1 + 2)',
    'if a is None:\n        log.warning("so it is")',
    "x: dict[str, int]",
    "...",
]


def page() -> str:
    return command.PAGE.read_text(encoding="utf-8")


def made(line: str) -> list[str]:
    """All that becomes of a function with this line, without its first line."""
    text = f"async def f(a, b):\n    {line}\n    done()\n"
    return [mutant.apply(text).partition("\n")[2] for mutant in mutants("a.py", text)]


@pytest.mark.parametrize(("line", "others"), CASES, ids=lambda value: value if isinstance(value, str) else "")
def test_each_kind_of_slip_is_made(line: str, others: list[str]) -> None:
    first_lines = [part.strip() for text in made(line) for part in text.splitlines()]
    assert [other for other in others if other not in first_lines] == []


@pytest.mark.parametrize("line", LEFT_ALONE)
def test_what_does_not_run_or_only_a_person_reads_is_left_alone(line: str) -> None:
    assert made(line) == [f"    {line}\n    pass\n"]  # the next line is changed, and nothing else


def test_the_wording_of_an_exception_is_left_alone_and_a_text_for_the_model_is_not() -> None:
    assert not [text for text in made('raise A(f"{a} is wrong", "so it is")') if '""' in text]
    assert any('error_result("")' in text for text in made('return error_result(f"{a} is wrong")'))


def test_an_id_stays_when_another_function_grows() -> None:
    text = "def f(a):\n    return a + 1\n\n\ndef g(a):\n    if a:\n        return 2\n    return 3\n"
    longer = text.replace("    return a + 1\n", "    a += 1\n    a += 2\n    return a\n")
    ids = [[mutant.id for mutant in mutants("a.py", each) if mutant.scope == "g"] for each in (text, longer)]
    assert ids[0] == ids[1]
    assert "a.py:g:2:negate-condition" in ids[0]


def test_ids_are_distinct_and_in_the_same_order_each_time() -> None:
    ids = [mutant.id for mutant in ALL]
    assert len(ids) == len(set(ids)) > 500
    assert ids == [mutant.id for mutant in command.all_mutants(LAB, LAB_)]


@pytest.mark.parametrize("file", LAB_.files)
def test_every_mutant_of_the_solution_compiles_and_differs_in_one_place(file: str) -> None:
    text = TEXTS[file]
    source = text.encode()
    parts = list(_parts(text))
    for mutant in [mutant for mutant in ALL if mutant.file == file]:
        assert source[mutant.start : mutant.end].decode() == mutant.old != mutant.new
        start, end = next(part for part in parts if part[0] <= mutant.start < part[1])
        assert mutant.end <= end
        before, after = source[start : mutant.start].decode(), source[mutant.end : end].decode()
        compile(before + mutant.new + after, mutant.id, "exec")
        assert mutant.apply(text) == source[:start].decode() + before + mutant.new + after + source[end:].decode()


def _parts(text: str) -> list[tuple[int, int]]:
    """Where the statements of a file stand, in bytes: a whole file for each mutant would take long to compile."""
    lines = text.encode().splitlines(keepends=True)
    starts = [sum(map(len, lines[:number])) for number in range(len(lines) + 1)]
    nodes = ast.parse(text).body
    firsts = [min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", []))]) for node in nodes]
    return [(starts[first - 1], starts[node.end_lineno or 0]) for first, node in zip(firsts, nodes, strict=True)]


def test_the_todo_bodies_are_the_four_hunks() -> None:
    for number, (file, _, _, start, end) in enumerate(hunks(), 1):
        lines = [line for line, todo in command.todo_lines(LAB, file).items() if todo == number]
        assert lines == list(range(start + 1, end + 1))


def test_the_reviewed_survivors_exist_and_say_why_and_who_sees_them() -> None:
    reviewed = command.load_reviewed(LAB)
    assert set(reviewed) <= {mutant.id for mutant in ALL}
    for name, (kind, reason, test) in reviewed.items():
        assert kind in (command.EQUIVALENT, command.OUT_OF_REACH), name
        assert len(reason) > 20 and "|" not in reason, name
        assert not test or (kind == command.OUT_OF_REACH and exists(test)), f"{name}: {test}"


def test_the_page_is_fresh_and_its_bars_are_met() -> None:
    fresh = digest.digest(command.inputs(LAB))
    assert digest.read(command.PAGE) == fresh, "docs/mutants.md is stale: run `make mutants`, and commit it"
    found = re.findall(r"^- (met|MISSED): .*\(bar: (\d+) %\)", page(), re.MULTILINE)
    assert found == [("met", str(command.TODO_BAR)), ("met", str(command.WHOLE_BAR))]


def test_the_pages_survivors_are_the_reviewed_ones_and_nothing_is_unreviewed() -> None:
    rows = re.findall(r"^\| (\S+\.py:\S+) \|.*\| ([^|]+) \| [^|]+ \| [^|]* \|$", page(), re.MULTILINE)
    assert dict(rows) == {name: kind for name, (kind, _, _) in command.load_reviewed(LAB).items()}


def test_a_count_leaves_the_equivalent_ones_out_and_is_never_rounded_up() -> None:
    found = command.Count(generated=1000, killed=969, equivalent=1, guarded=29, unguarded=1, unreviewed=0)
    assert found.cells[-3:] == ["96.9 %", "96.9 %", "99.8 %"]
    assert found.adjusted < command.TODO_BAR



def test_the_change_is_shown_in_one_line() -> None:
    mutant = Mutant("id", "a.py", "f", "kind", 0, 0, "f(\n    a\n)", "", 1)
    assert mutant.change == "f( a ) → (nothing)"

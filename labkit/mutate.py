"""Small wrong copies of a Python file: each differs from it in one place, as a slip of the hand would.

The strategy: walk the syntax tree, and let each kind of node say which bytes of the source become which others;
the tree is never printed back, so a mutant's diff is one place and nothing else.

What is left alone, and why:
- docstrings, comments, annotations, imports, `__all__`: they do not run, or not without them;
- asserts: they tell the type checker what is so, and never fail;
- what goes to a log, with an `if` that holds nothing else, and the wording of an exception that is raised: a
  person reads it. Any other sentence is a text for a model or a caller: it is emptied as a whole, not reworded.
"""

import ast
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

FLIPPED = {  # operator as written -> what may stand there by mistake, and the name of that mistake
    ast.Eq: ("==", {"compare-negated": "!="}),
    ast.NotEq: ("!=", {"compare-negated": "=="}),
    ast.Is: ("is", {"compare-negated": "is not"}),
    ast.IsNot: ("is not", {"compare-negated": "is"}),
    ast.In: ("in", {"compare-negated": "not in"}),
    ast.NotIn: ("not in", {"compare-negated": "in"}),
    ast.Lt: ("<", {"compare-negated": ">=", "compare-boundary": "<="}),
    ast.LtE: ("<=", {"compare-negated": ">", "compare-boundary": "<"}),
    ast.Gt: (">", {"compare-negated": "<=", "compare-boundary": ">="}),
    ast.GtE: (">=", {"compare-negated": "<", "compare-boundary": ">"}),
}
ARITHMETIC = {ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.Mult: ("*", "+"), ast.Div: ("/", "*"), ast.Mod: ("%", "*")}
OPTIONAL_LAST = ("get", "pop", "next", "getattr")  # functions that also work without their last argument
OPTIONAL_ALL = ("suppress",)  # functions that also work without any of their arguments
ANY_ORDER = ("suppress", "min", "max")  # functions to which the order of their arguments is all one

Span = tuple[int, int]


@dataclass(frozen=True)
class Mutant:
    """`file` with the bytes [start:end] replaced by `new`."""

    id: str  # file:scope:line:kind, the line counted from the scope's first, so other scopes may move
    file: str
    scope: str  # the function ("Class.method"), or the name that a statement outside of functions defines
    kind: str
    start: int
    end: int
    old: str
    new: str
    line: int  # of the file, from 1

    def apply(self, text: str) -> str:
        source = text.encode()
        return (source[: self.start] + self.new.encode() + source[self.end :]).decode()

    @property
    def change(self) -> str:
        """The change in a line: `old → new`."""
        old, new = (" ".join(part.split()) for part in (self.old, self.new))
        return f"{old or '(nothing)'} → {new or '(nothing)'}"


@dataclass(frozen=True)
class Change:
    """One replacement of the bytes in `span`."""

    kind: str
    span: Span
    new: str


def mutants(file: str, text: str) -> list[Mutant]:
    """All mutants of a file, in the order of their places; the same for the same text, always."""
    source = Source(text)
    found: dict[tuple[Span, str], tuple[str, int, Change]] = {}
    for scope, first_line, node, parents in _nodes(ast.parse(text)):
        for change in _changes(node, parents, source):
            if source.text(change.span) != change.new:
                found.setdefault((change.span, change.new), (scope, first_line, change))
    count: Counter[str] = Counter()
    made = []
    for scope, first_line, change in sorted(found.values(), key=lambda item: (item[2].span, item[2].kind)):
        line = source.line(change.span[0])
        name = f"{file}:{scope}:{line - first_line + 1}:{change.kind}"
        count[name] += 1
        number = f".{count[name]}" if count[name] > 1 else ""
        old = source.text(change.span)
        made.append(Mutant(name + number, file, scope, change.kind, *change.span, old, change.new, line))
    return made


class Source:
    """A text, and where the nodes of its tree stand in it, in bytes."""

    def __init__(self, text: str) -> None:
        self._bytes = text.encode()
        self._lines = [0]  # line - 1 -> where it starts
        for line in self._bytes.splitlines(keepends=True):
            self._lines.append(self._lines[-1] + len(line))

    def span(self, node: ast.AST) -> Span:
        line, column = getattr(node, "lineno"), getattr(node, "col_offset")  # noqa: B009  (not every AST has them)
        end_line, end_column = getattr(node, "end_lineno"), getattr(node, "end_col_offset")  # noqa: B009
        return self._lines[line - 1] + column, self._lines[end_line - 1] + end_column

    def text(self, span: Span) -> str:
        return self._bytes[span[0] : span[1]].decode()

    def of(self, node: ast.AST) -> str:
        return self.text(self.span(node))

    def line(self, place: int) -> int:
        return sum(start <= place for start in self._lines)

    def between(self, left: ast.AST, right: ast.AST, word: str) -> Span:
        """Where the operator `word` stands between two nodes."""
        place = self.find(word, self.span(left)[1])
        return place, place + len(word)

    def find(self, word: str, start: int) -> int:
        return self._bytes.index(word.encode(), start)

    def whole(self, node: ast.AST) -> Span:
        """The node with the parentheses around it."""
        start, end = self.span(node)
        before, after = self.text((0, start)).rstrip(), self.text((end, len(self._bytes)))
        if before.endswith("(") and after.lstrip().startswith(")"):
            return len(before[:-1].encode()), end + after.encode().index(b")") + 1
        return start, end

    def without(self, spans: Sequence[Span], index: int) -> Span:
        """What must go so that one item of a list with commas is gone."""
        if index + 1 < len(spans):
            return spans[index][0], spans[index + 1][0]
        return (spans[index - 1][1], spans[index][1]) if index else spans[0]


# Walking


Visit = tuple[str, int, ast.AST, list[ast.AST]]


def _nodes(tree: ast.Module) -> Iterator[Visit]:
    """Each node that runs, with its scope, the first line of that, and the nodes around it, outermost first."""

    def walk(node: ast.AST, scope: str, first: int, parents: list[ast.AST]) -> Iterator[Visit]:
        if _is_left_alone(node, parents):
            return
        is_outside = not any(isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef) for parent in parents)
        if is_outside and isinstance(node, ast.stmt):
            scope, first = ".".join([*(part for part in [scope] if part), _name(node)]), node.lineno
        if scope:
            yield scope, first, node, parents
        for field, value in ast.iter_fields(node):
            if field in ("annotation", "returns"):
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from walk(child, scope, first, [*parents, node])

    yield from walk(tree, "", 0, [])


def _name(statement: ast.stmt) -> str:
    """What a statement outside of functions defines."""
    target = statement.targets[0] if isinstance(statement, ast.Assign) else getattr(statement, "target", statement)
    return str(getattr(target, "name", getattr(target, "id", type(target).__name__)))


def _is_left_alone(node: ast.AST, parents: list[ast.AST]) -> bool:
    if isinstance(node, ast.Import | ast.ImportFrom | ast.Assert):
        return True
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return True  # a docstring, or the `...` of a body that never runs
    if isinstance(node, ast.AnnAssign) and node.value is None:
        return True
    if isinstance(node, ast.AnnAssign) and "TypeAlias" in ast.dump(node.annotation):
        return True
    if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") in ("log", "__all__"):
        return True
    return isinstance(node, ast.stmt) and _is_talk(node)


def _is_talk(statement: ast.stmt) -> bool:
    """A line for the log, or an `if` around nothing else."""
    if isinstance(statement, ast.If):
        return not statement.orelse and all(map(_is_talk, statement.body))
    if not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)):
        return False
    function = statement.value.func
    return isinstance(function, ast.Attribute) and getattr(function.value, "id", "") == "log"


# What may go wrong at a node


def _changes(node: ast.AST, parents: list[ast.AST], source: Source) -> Iterator[Change]:
    for types, operator in OPERATORS:
        if isinstance(node, types):
            yield from operator(node, parents, source)


def _compare(node: ast.Compare, parents: list[ast.AST], source: Source) -> Iterator[Change]:
    for left, operator, right in zip([node.left, *node.comparators], node.ops, node.comparators, strict=False):
        word, others = FLIPPED[type(operator)]
        for kind, other in others.items():
            yield Change(kind, source.between(left, right, word), other)


def _condition(node: ast.AST, parents: list[ast.AST], source: Source) -> Iterator[Change]:
    """The opposite condition; of a comparison, and of a `not`, others make that."""
    tests = node.ifs if isinstance(node, ast.comprehension) else [getattr(node, "test")]  # noqa: B009
    for test in tests:
        if not isinstance(test, ast.Compare) and not _is_not(test):
            yield Change("negate-condition", source.span(test), f"not ({source.of(test)})")


def _is_not(node: ast.AST) -> bool:
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)


def _bool_op(node: ast.BoolOp, parents: list[ast.AST], source: Source) -> Iterator[Change]:
    word, other = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
    for left, right in zip(node.values, node.values[1:], strict=False):
        yield Change("and-or", source.between(left, right, word), other)
    for value in node.values:
        yield Change("drop-operand", source.span(value), "True" if word == "and" else "None")


def _unary(node: ast.UnaryOp, parents: list[ast.AST], source: Source) -> Iterator[Change]:
    yield Change("drop-not" if _is_not(node) else "drop-sign", source.span(node), source.of(node.operand))


def _binary(node: ast.BinOp, parents: list[ast.AST], source: Source) -> Iterator[Change]:
    if isinstance(node.op, ast.BitOr):  # of types, as in isinstance(cursor, str | None)
        yield Change("drop-operand", source.span(node), source.of(node.left))
        yield Change("drop-operand", source.span(node), source.of(node.right))
    elif type(node.op) in ARITHMETIC:
        word, other = ARITHMETIC[type(node.op)]
        yield Change("arithmetic", source.between(node.left, node.right, word), other)
        if isinstance(node.op, ast.Add | ast.Sub):
            yield Change("drop-operand", source.span(node), source.of(node.left))


def _augmented(node: ast.AugAssign, parents: list[ast.AST], source: Source) -> Iterator[Change]:
    word = ARITHMETIC[type(node.op)][0] + "="
    yield Change("assign-for-add", source.between(node.target, node.value, word), "=")


def _constant(node: ast.Constant, parents: list[ast.AST], source: Source) -> Iterator[Change]:
    span, value = source.span(node), node.value
    if isinstance(parents[-1], ast.JoinedStr | ast.FormattedValue):
        return
    if isinstance(value, bool):
        yield Change("constant", span, str(not value))
    elif isinstance(value, int):
        yield Change("constant", span, str(value + 1))
        yield Change("constant", span, str(value - 1))
    elif isinstance(value, float):
        yield Change("constant", span, "0.0")
        yield Change("constant", span, str(value * 100))
    elif isinstance(value, str | bytes) and not (" " in str(value).strip() and _is_wording(parents)):
        before, quote = source.of(node).split(source.of(node)[-1])[0], source.of(node)[-1]
        yield Change("text", span, f"{before}{quote}{'' if value else 'x'}{quote}")


def _is_wording(parents: list[ast.AST]) -> bool:
    """Whether a text there is what an exception says."""
    return any(isinstance(parent, ast.Raise) for parent in parents) or any(
        isinstance(parent, ast.Call) and ast.unparse(parent.func).startswith("super().__init__") for parent in parents
    )


def _joined(node: ast.JoinedStr, parents: list[ast.AST], source: Source) -> Iterator[Change]:
    """An f-string: a sentence is emptied; of any other each literal part is left out, in its turn."""
    if isinstance(parents[-1], ast.FormattedValue):
        return  # the format of a value
    if any(isinstance(part, ast.Constant) and " " in str(part.value) for part in node.values):
        if not _is_wording(parents):
            yield Change("text", source.span(node), '""')
        return
    at = source.span(node)[0] + source.of(node).index('"') + 1
    for part in node.values:
        if isinstance(part, ast.FormattedValue):
            at = source.span(part.value)[1]
        elif isinstance(part, ast.Constant):
            start = source.find(str(part.value), at)
            yield Change("text", (start, start + len(str(part.value).encode())), "")


def _call(node: ast.Call, parents: list[ast.AST], source: Source) -> Iterator[Change]:
    function = str(getattr(node.func, "attr", getattr(node.func, "id", "")))
    arguments = sorted(map(source.span, [*node.args, *node.keywords]))
    for left, right in zip(node.args, node.args[1:], strict=False):
        if function not in ANY_ORDER:
            yield _swapped("swap-arguments", left, right, source)
    for keyword in node.keywords:
        is_flag = isinstance(keyword.value, ast.Constant) and isinstance(keyword.value.value, bool)
        if keyword.arg is not None and not is_flag:
            yield Change("drop-argument", source.without(arguments, arguments.index(source.span(keyword))), "")
    optional = node.args if function in OPTIONAL_ALL else node.args[1:][-1:] if function in OPTIONAL_LAST else []
    for argument in optional:
        yield Change("drop-argument", source.without(arguments, arguments.index(source.span(argument))), "")


def _swapped(kind: str, left: ast.AST, right: ast.AST, source: Source) -> Change:
    (start, left_end), (right_start, end) = source.span(left), source.span(right)
    gap = source.text((left_end, right_start))
    return Change(kind, (start, end), source.of(right) + gap + source.of(left))


def _dict(node: ast.Dict, parents: list[ast.AST], source: Source) -> Iterator[Change]:
    items = []
    for key, value in zip(node.keys, node.values, strict=True):
        start, end = source.whole(value)
        items.append((source.span(key)[0] if key else start - len("**"), end))
    for index in range(len(items)):
        yield Change("drop-item", source.without(items, index), "")


def _list(node: ast.List, parents: list[ast.AST], source: Source) -> Iterator[Change]:
    items = [source.span(item) for item in node.elts]
    for index in range(len(items)):
        if isinstance(node.ctx, ast.Load):
            yield Change("drop-item", source.without(items, index), "")


def _tuple(node: ast.Tuple, parents: list[ast.AST], source: Source) -> Iterator[Change]:
    """The kinds of exceptions that are caught, one less; two values in the wrong order."""
    items = [source.span(item) for item in node.elts]
    if isinstance(parents[-1], ast.ExceptHandler):
        for index in range(len(items)):
            yield Change("drop-item", source.without(items, index), "")
    elif isinstance(node.ctx, ast.Load) and not isinstance(parents[-1], ast.Subscript):
        for left, right in zip(node.elts, node.elts[1:], strict=False):
            yield _swapped("swap-items", left, right, source)


def _subscript(node: ast.Subscript, parents: list[ast.AST], source: Source) -> Iterator[Change]:
    if isinstance(node.slice, ast.Slice):
        yield Change("drop-slice", (source.whole(node.value)[1], source.span(node)[1]), "")


def _await(node: ast.Await, parents: list[ast.AST], source: Source) -> Iterator[Change]:
    yield Change("drop-await", source.span(node), source.of(node.value))


def _loop(node: ast.For | ast.comprehension, parents: list[ast.AST], source: Source) -> Iterator[Change]:
    yield Change("empty-loop", source.span(node.iter), "()")


def _with(node: ast.With | ast.AsyncWith, parents: list[ast.AST], source: Source) -> Iterator[Change]:
    if any(item.optional_vars for item in node.items):
        return
    items = [source.span(item.context_expr) for item in node.items]
    if len(items) == 1:
        yield Change("drop-with", (source.span(node)[0], items[0][1]), "if True")
        return
    for index in range(len(items)):
        yield Change("drop-with", source.without(items, index), "")


def _handler(node: ast.ExceptHandler, parents: list[ast.AST], source: Source) -> Iterator[Change]:
    yield Change("raise-on", (source.span(node.body[0])[0], source.span(node.body[-1])[1]), "raise")


def _return(node: ast.Return, parents: list[ast.AST], source: Source) -> Iterator[Change]:
    value = node.value
    if value is not None and not (isinstance(value, ast.Constant) and isinstance(value.value, bool | None)):
        yield Change("return-none", source.span(value), "None")


def _statement(node: ast.stmt, parents: list[ast.AST], source: Source) -> Iterator[Change]:
    """A statement of a function, deleted; the last `return` is that of _return."""
    if not any(isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef) for parent in parents):
        return
    is_last = isinstance(parents[-1], ast.FunctionDef | ast.AsyncFunctionDef) and parents[-1].body[-1] is node
    if (isinstance(node, ast.Return) and is_last) or source.of(node).startswith("elif"):
        return
    yield Change("delete-statement", source.span(node), "pass")


SIMPLE = (
    *(ast.Expr, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Raise, ast.Return),
    *(ast.Break, ast.Continue, ast.Delete, ast.If),
)
Operator = Callable[[ast.AST, list[ast.AST], Source], Iterator[Change]]
OPERATORS: list[tuple[type | tuple[type, ...], Callable[..., Iterator[Change]]]] = [
    (SIMPLE, _statement),
    (ast.Compare, _compare),
    ((ast.If, ast.While, ast.IfExp, ast.comprehension), _condition),
    (ast.BoolOp, _bool_op),
    (ast.UnaryOp, _unary),
    (ast.BinOp, _binary),
    (ast.AugAssign, _augmented),
    (ast.Constant, _constant),
    (ast.JoinedStr, _joined),
    (ast.Call, _call),
    (ast.Dict, _dict),
    (ast.List, _list),
    (ast.Tuple, _tuple),
    (ast.Subscript, _subscript),
    (ast.Await, _await),
    ((ast.For, ast.comprehension), _loop),
    ((ast.With, ast.AsyncWith), _with),
    (ast.ExceptHandler, _handler),
    (ast.Return, _return),
]

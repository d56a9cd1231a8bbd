"""Programs that prove a lab's checks: the solution with a change, written into a folder and judged.

A wrong program says which checks must go red with it, and which misconception each of them must name; all
other checks must stay green. A right program names none: it looks different and is right. A lab keeps its
programs in `proof/`; labkit.proof runs them all, the tests run some.
"""

import ast
import difflib
import importlib
import re
import sys
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from labkit.diagnose import diagnose
from labkit.lab import Lab, Text
from labkit.run import Result, Runner


@dataclass(frozen=True)
class Edit:
    """`old`, which stands in the file exactly once, becomes `new`."""

    file: str
    old: str
    new: str

    def apply(self, text: str) -> str:
        count = text.count(self.old)
        if count != 1:
            raise ValueError(f"{self.old!r} stands {count} times in {self.file}")
        return text.replace(self.old, self.new)


@dataclass(frozen=True)
class Rewrite:
    """The function, class or method `name` ("Class.method") becomes `new`."""

    file: str
    name: str
    new: str

    def apply(self, text: str) -> str:
        node: ast.AST = ast.parse(text)
        for part in self.name.split("."):
            node = next(child for child in ast.iter_child_nodes(node) if getattr(child, "name", "") == part)
        assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
        lines = text.splitlines(keepends=True)
        new = textwrap.indent(textwrap.dedent(self.new).strip("\n") + "\n", " " * node.col_offset)
        return "".join([*lines[: first - 1], new, *lines[node.end_lineno :]])


@dataclass(frozen=True)
class New:
    """A file of the student's own, beside those of the lab."""

    file: str
    text: str

    def apply(self, text: str) -> str:
        return self.text


@dataclass(frozen=True)
class Program:
    """A program for the checks. `red`: check -> the misconception it must name; empty: a right program."""

    name: str
    says: str  # what was changed, or believed, in a few words
    edits: tuple[Edit | Rewrite | New, ...]
    red: Mapping[int, str] = field(default_factory=dict)
    undone: tuple[int, ...] = ()  # the TODOs that are left as they stand in the starter


def load_programs(lab_folder: Path) -> tuple[list[Program], list[Program]]:
    """The lab's wrong programs and its right ones."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "proof"]:
        del sys.modules[name]  # another lab's
    sys.path.insert(0, str(lab_folder))
    try:
        proof = importlib.import_module("proof")
    finally:
        sys.path.remove(str(lab_folder))
    return proof.WRONG, proof.RIGHT


def write(program: Program, lab_folder: Path, lab: Lab, folder: Path) -> Path:
    """Write the program's files into a new folder. Raises: ValueError when an edit does not fit any more."""
    folder.mkdir(parents=True)
    for file in lab.files:
        text = _with_holes(lab_folder / "starter" / file, lab_folder / "solution" / file, program.undone)
        for edit in program.edits:
            text = edit.apply(text) if edit.file == file else text
        (folder / file).write_text(text, encoding="utf-8")
    for new in program.edits:
        if isinstance(new, New):
            (folder / new.file).write_text(new.apply(""), encoding="utf-8")
    return folder


def judge(folder: Path, lab_folder: Path, lab: Lab, only: set[int]) -> list[Result]:
    """Run these checks on the folder as the self-test does, but one after the other.

    So one worker process does for all that are green; what waits overlaps with other programs' work.
    """
    runner = Runner(lab, lab_folder, folder, lanes=1)
    try:
        runner.start(only)
        return diagnose(list(runner.results()), lab)
    finally:
        runner.stop()


def differences(program: Program, results: list[Result]) -> list[str]:
    """Where the results are not what the program says of itself; empty: all is as it should be."""
    said = []
    for result in results:
        number, name = result.check.number, result.verdict.misconception
        wanted = program.red.get(number)
        if result.status == "not_run":
            continue
        if is_red(result) != (wanted is not None):
            said.append(f"check {number} is {result.status} ({name}), and should be {wanted or 'green'}")
        elif is_red(result) and name != wanted:
            said.append(f"check {number} names {name}, and should name {wanted}")
    return said


def show_evidence(results: list[Result]) -> None:
    """Print what each red check saw."""
    for result in filter(is_red, results):
        verdict = result.verdict
        print(f"  {result.check.number} {result.status} {verdict.misconception}, explained by {result.explained_by}")
        expected, actual = (_english(words)[:300] for words in (verdict.expected, verdict.actual))
        print(f"    expected {expected}\n    got      {actual}")
        for line in verdict.wire:
            print(f"    {line}")
        if result.evidence and result.evidence.raised:
            print(f"    raised   {result.evidence.raised}")


def _english(words: str | Text) -> str:
    return words.en if isinstance(words, Text) else words


def is_red(result: Result) -> bool:
    return result.status not in ("pass", "not_run")


def _with_holes(starter: Path, solution: Path, undone: tuple[int, ...]) -> str:
    """The solution's text, with the starter's in the places of these TODOs."""
    if not undone:
        return solution.read_text(encoding="utf-8")
    hollow, full = (path.read_text(encoding="utf-8").splitlines(keepends=True) for path in (starter, solution))
    text: list[str] = []
    for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(None, hollow, full, autojunk=False).get_opcodes():
        todo = re.search(r"TODO (\d)", "".join(hollow[i1:i2]))
        is_hole = tag != "equal" and todo is not None and int(todo[1]) in undone
        text += hollow[i1:i2] if is_hole else full[j1:j2]
    return "".join(text)

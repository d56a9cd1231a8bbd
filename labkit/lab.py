"""What a lab is to the kit: files a student writes, and checks that say what is wrong with them.

A check has two halves that run in two processes. `observe` runs beside the student's code and only
notes what it sees; `judge` runs in the self-test's own process and decides from those notes and from
the files that the lab's servers wrote. So no code of the student's has a hand in the verdict.

A lab is a folder `labs/NAME` with a `checks.py` that defines `LAB`; nothing else registers it.
"""

import importlib.util
import json
import re
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
NOTES = "noted.txt"  # in the directory of a check's run, beside the journals: what `observe` noted, signed


class CannotRun(Exception):
    """Raised when there is nothing to judge: no such folder, a missing file. Says what to do."""


@dataclass(frozen=True)
class Text:
    """The same words in each language of the kit; `{name}` stands for a value."""

    en: str
    zh: str

    def say(self, language: str, **values: Any) -> str:
        return self.choose(language).format(**values)

    def choose(self, language: str) -> str:
        """The words as they stand: values are in them already, and may hold braces."""
        return self.zh if language == "zh" else self.en


@dataclass(frozen=True)
class Raised:
    """An exception that came out of the student's code."""

    type: str
    text: str
    frames: list[str]  # "file.py:12 in refresh", the student's own files only, innermost last


@dataclass(frozen=True)
class Evidence:
    """All that is left of one check's run, for the judge."""

    nonce: str  # the word that the data of this run carried; new each time
    directory: Path  # where the servers wrote their journals
    notes: dict[str, Any]  # what `observe` noted
    end: str  # "done" | "raised" | "timeout" | "died"; nothing but "done" can pass
    raised: Raised | None = None
    trespass: Raised | None = None  # where it reached for what is not its own (labkit.fence)
    exit_code: int | None = None
    printed: str = ""
    stack: str = ""  # where a program that did not end was, as far as it could be seen
    _journals: dict[str, list[dict[str, Any]]] = field(default_factory=dict, repr=False)  # those read already

    def need(self, key: str) -> Any:
        """A note without which nothing can be said. Raises: Missing."""
        if key not in self.notes:
            raise Missing(key)
        return self.notes[key]

    def journal(self, name: str) -> list[dict[str, Any]]:
        """The events that the server `name` wrote, oldest first; what cannot be read is left out."""
        if name not in self._journals:
            self._journals[name] = self._read_journal(name)
        return self._journals[name]

    def journals(self) -> list[str]:
        """The names of the servers that wrote a journal."""
        return sorted(path.stem for path in self.directory.glob("*.jsonl"))

    def _read_journal(self, name: str) -> list[dict[str, Any]]:
        try:
            lines = (self.directory / f"{name}.jsonl").read_bytes().split(b"\n")
        except OSError:
            return []
        events = []
        for line in lines:
            try:
                event = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(event, dict):
                events.append(event)
        return events


class Missing(Exception):
    """Raised by Evidence.need: the program ended before it came to this note."""


@dataclass(frozen=True)
class Verdict:
    """What a judge says. `misconception` is a key of the lab's table; None with `passed` False: not known."""

    passed: bool
    misconception: str | None = None
    values: dict[str, Any] = field(default_factory=dict)  # for the `{names}` of the misconception's words
    expected: str | Text = ""  # a Text is prose; data is the same in every language
    actual: str | Text = ""
    frames: tuple[str, ...] = ()  # where the exception that the verdict speaks of came from, as in Raised
    wire: tuple[str, ...] = ()  # lines of the servers' journals that show it


PASS = Verdict(True)


@dataclass(frozen=True)
class Misconception:
    """What a student may have believed: the words for it, and the pattern by which it is known."""

    red: tuple[int, ...]  # the checks that it turns red when nothing else is wrong
    page: str  # of the specification: an address below Lab.specification
    text: Text
    place: tuple[str, str] | None = None  # file and function to look at, when they are not the check's
    symptom: bool = False  # it says what was seen and not why: what another check saw may explain it


@dataclass(frozen=True)
class Check:
    """One line of the self-test."""

    number: int
    id: str
    title: Text
    done: Text  # what the check does, for the panel of a red one
    todo: int | None
    place: tuple[str, str]  # file and function to look at when there is no TODO comment
    observe: Callable[["Bench"], Awaitable[None]]
    judge: Callable[[Evidence], Verdict]
    seconds: float = 10.0  # wall clock; a program that has not ended by then is stopped
    waits: float = 0.0  # of these, how long a right program waits for a deadline; the longest starts first


@dataclass(frozen=True)
class Lab:
    """A lab's checks.py makes one of these and calls it LAB."""

    files: tuple[str, ...]
    checks: tuple[Check, ...]
    misconceptions: dict[str, Misconception]
    specification: str = ""  # the address that the pages of the misconceptions are below
    cause: Callable[[Evidence], Verdict | None] = lambda evidence: None  # why any check at all may be red
    foul: Callable[[Evidence], str] = lambda evidence: ""  # why no check can be green: evidence that was made up


@dataclass
class Bench:
    """What `observe` works with, beside the student's modules."""

    nonce: str
    directory: Path
    write: Callable[[dict[str, Any]], object]
    handed_out: dict[str, list[str]] = field(default_factory=dict)  # journal -> the command line of its server

    def note(self, key: str, value: Any) -> None:
        """Write down one thing that was seen; it survives whatever the student's code does next."""
        self.write({key: value})


def signature(text: bytes, secret: str) -> bytes:
    """What stands before a note in the file, to show that the worker wrote it."""
    return blake2b(text, key=secret.encode(), digest_size=8).hexdigest().encode()


def find_labs() -> list[Path]:
    """The lab folders, in the order of their days."""
    return sorted(path.parent for path in (ROOT / "labs").glob("*/checks.py"))


def load_lab(folder: Path) -> Lab:
    """Import the lab's checks.py, which may import its neighbours."""
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
    spec = importlib.util.spec_from_file_location("checks", folder / "checks.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["checks"] = module
    spec.loader.exec_module(module)
    lab = module.LAB
    assert isinstance(lab, Lab)
    return lab


def find_target(name: str, lab_folder: Path, lab: Lab) -> Path:
    """The folder a TARGET means: a name inside the lab (starter, solution) or any path.

    Raises: CannotRun when there is no such folder or it lacks one of the lab's files.
    """
    inside, outside = lab_folder / name, Path(name)
    folder = inside if inside.is_dir() else outside
    if not folder.is_dir():
        raise CannotRun(f"there is no folder {name!r}, neither here nor in {shown(lab_folder)}")
    missing = [file for file in lab.files if not (folder / file).is_file()]
    if missing:
        raise CannotRun(f"{shown(folder)} lacks {', '.join(missing)}; copy what is missing from the starter")
    return folder.resolve()


def shown(path: Path) -> str:
    """The path as a person here would type it."""
    try:
        return str(path.resolve().relative_to(Path.cwd()))
    except ValueError:
        return str(path)


def find_place(folder: Path, check: Check, place: tuple[str, str] | None = None) -> str:
    """`file:line` of the function `place`; else of the check's TODO, or of its function once that comment is gone."""
    file, function = place or check.place
    lines = _read(folder / file).splitlines()
    patterns = [rf"\s*(async )?def {function}\b"]
    if check.todo is not None and place is None:
        patterns.insert(0, rf".*#\s*TODO {check.todo}\b")
    for pattern in patterns:
        for number, line in enumerate(lines, 1):
            if re.match(pattern, line):
                return f"{shown(folder / file)}:{number}"
    return shown(folder / file)


def has_todo(folder: Path, check: Check) -> bool:
    """Whether the TODO comment of this check still stands in the student's file."""
    return re.search(rf"#\s*TODO {check.todo}\b", _read(folder / check.place[0])) is not None


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""

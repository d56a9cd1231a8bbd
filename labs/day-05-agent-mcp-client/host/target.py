"""The target: the folder whose five files are run, how they get in, and how an error of theirs is shown.

There is one target per process, as the files are flat modules that find each other by name. An error in them
is told by the student's own lines; the frames of the host and of the libraries would bury these.
"""

import sys
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from host.config import LAB
from host.words import HostError

HOST = Path(__file__).resolve().parent
FILES = ("protocol.py", "stdio_client.py", "discover_and_translate.py", "registry.py", "agent_loop.py")
LAST_FRAMES = 4  # as many of the student's lines as explain an error
MOST_ERRORS = 3  # of one group; a fourth server that fails has nothing new to tell


class TargetError(HostError):
    """Raised when the target is not a folder with the five files."""


@dataclass(frozen=True)
class StudentError:
    """One error of the student's code, ready to be shown."""

    places: list[str]  # "registry.py:53 in _refresh_one: await client.start()"; the innermost last
    text: str  # "ServerDown: 'nope' cannot be started"


def find_target(name: str) -> Path:
    """The folder that `name` means: one of this lab's own, or else a path. Raises: TargetError."""
    is_word = Path(name).name == name != ".."  # starter, solution; not a path such as "." or "a/b"
    ours = LAB / name
    folder = ours if is_word and ours.is_dir() else Path(name).expanduser().absolute()
    if not folder.is_dir():
        raise TargetError("no_target", target=name)
    missing = [file for file in FILES if not (folder / file).is_file()]
    if missing:
        raise TargetError("missing_files", folder=folder, files=", ".join(missing))
    return folder


def enter(folder: Path) -> None:
    """Make `import registry` mean the target's; its folder stays as clean as the student left it."""
    sys.dont_write_bytecode = True
    # Not the host's own folder, where Python looks first when main.py is run by its path.
    others = [path for path in sys.path if path not in (str(HOST), str(LAB), str(folder))]
    sys.path[:] = [str(folder), str(LAB), *others]


def student_errors(error: BaseException, folder: Path) -> list[StudentError]:
    """The errors in `error`, a group or a single one, that come from this folder; empty when none does."""
    found = [StudentError(places(one, folder), short_text(one)) for one in singles(error)]
    return [one for one in found if one.places]


def singles(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from singles(inner)
    else:
        yield error


def places(error: BaseException, folder: Path) -> list[str]:
    """The student's last lines on the way to the error, from the outside in."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if is_in(frame.filename, folder)]
    lines = [f"{Path(frame.filename).name}:{frame.lineno} in {frame.name}: {frame.line}" for frame in frames]
    if isinstance(error, SyntaxError) and is_in(error.filename, folder):
        lines.append(f"{Path(error.filename or '').name}:{error.lineno}: {(error.text or '').strip()}")
    if isinstance(error, ImportError) and is_in(error.path, folder):  # it lacks a name that the host asks for
        lines.append(Path(error.path or "").name)
    return lines[-LAST_FRAMES:]


def is_in(filename: str | None, folder: Path) -> bool:
    """Whether this is one of the flat modules; the folder may hold a whole .venv below it."""
    return filename is not None and Path(filename).parent == folder


def short_text(error: BaseException) -> str:
    """The error's type and its words, without the place, which is told apart from it."""
    words = error.msg if isinstance(error, SyntaxError) else str(error)
    return f"{type(error).__name__}: {words}" if words else type(error).__name__

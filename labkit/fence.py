"""The fence: a student's program does its own work, and does not reach for the self-test's.

Python tells an audit hook of every file that is opened, every process that is started and every frame that is
looked at. What no submission needs (the solution, the kit's own files, the notes and journals of the run, other
servers than those it was given, the frames of its caller, processes that it has not started) is refused with a
PermissionError and noted, and a check in which something was noted is red, whatever else was seen. What both sides
use (`json`, `time`, `anyio` ...) is compared with what it was, each time something is noted.

It stands in the same process as what it holds back: it stops what is tried in plain sight, and is no wall.
"""

import importlib
import os
import shlex
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from operator import is_
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import Any

import anyio

from labkit.lab import ROOT, Bench

ATTRIBUTES = {  # event -> the attributes of which it tells that lead to the code of others
    "object.__getattr__": ("tb_frame", "gi_frame", "cr_frame", "ag_frame"),
    "object.__setattr__": ("__code__",),
}
FRAME_EVENTS = ("sys._getframe", "sys._current_frames", *ATTRIBUTES)
LOOKING_EVENTS = ("gc.get_objects", "gc.get_referrers", "gc.get_referents", "sys.settrace", "sys.setprofile")
FRAME_GIVERS = ("inspect.py", "base_tasks.py")  # library files that hand out frames to whoever calls them
FRAME_GIVING = ("walk_stack", "<lambda>")  # library functions that do: of traceback and of logging
FILE_EVENTS = ("open", "os.remove", "os.rename", "os.rmdir", "os.truncate", "os.chmod", "os.link", "os.symlink",
               "shutil.rmtree", "shutil.move")  # fmt: skip
START_EVENTS = ("subprocess.Popen", "os.exec", "os.posix_spawn")
KILL_EVENTS = ("os.kill", "os.killpg")
EVENTS = frozenset({*FRAME_EVENTS, *LOOKING_EVENTS, *FILE_EVENTS, *START_EVENTS, *KILL_EVENTS})
SHARED = ("builtins", "json", "json.encoder", "json.decoder", "time", "os", "subprocess", "asyncio", "anyio",
          "anyio._backends._asyncio")  # fmt: skip
ANYIO = ("run", "create_task_group", "move_on_after", "sleep", "current_time")  # it would load these when asked
SHOWN_FRAMES = 3


class Trespass(PermissionError):
    """Raised in the student's code when it reaches over the fence."""


class Fence:
    """What the program in `target` may not reach, and what of it was tried."""

    def __init__(self, target: Path, lab_folder: Path, worker: Path, keepers: set[int]) -> None:
        self._target = str(target)
        self._keepers = keepers  # the processes that run this one, and their groups
        library = {os.path.dirname(os.__file__), os.path.dirname(os.path.dirname(anyio.__file__))}
        if sys.prefix != sys.base_prefix:  # an environment of its own, with nothing else in it
            library.add(sys.prefix)
        self._library = tuple({f"{path}{os.sep}" for name in library for path in (name, os.path.realpath(name))})
        # The worker's folder is labkit, maybe by way of a link.
        self._kit = tuple(f"{path}{os.sep}" for path in (ROOT / "labkit", worker.parent, lab_folder))
        self._lab = str(lab_folder)
        self._closed = (str(ROOT), self._lab)
        self._run = ""  # the directory of this run
        self._bench: Bench | None = None  # of the check that runs
        self._is_busy = False
        self._sealed: list[tuple[str, Mapping[str, Any], dict[str, Any]]] = []  # name, its namespace, what was in it

    def close(self, *modules: ModuleType) -> None:
        """From here on: hide these modules of the kit, remember what is shared, and listen.

        What is shared is imported by now, before the student's folder is on the path: a file anyio.py there is not it.
        """
        for name in ANYIO:
            setattr(anyio, name, getattr(anyio, name))
        for module in (*modules, *map(importlib.import_module, SHARED)):
            self._seal(module.__name__, vars(module))
            if module in modules or module.__name__.startswith("json"):
                for name, item in vars(module).items():
                    if isinstance(item, type):
                        self._seal(name, vars(item))
            if module in modules:
                del sys.modules[module.__name__]
        sys.path[:] = [path for path in sys.path if path not in (str(ROOT), self._lab)]
        sys.argv[:] = [""]
        sys.addaudithook(self._hear)

    def _seal(self, name: str, space: Mapping[str, Any]) -> None:
        self._sealed.append((name, space, dict(space)))

    def open_for(self, bench: Bench) -> None:
        """Another check begins, and its program may start what this bench has handed out."""
        self._bench = bench
        self._run = str(bench.directory.parent)

    def changed(self) -> str:
        """The name of something shared that is not what it was, or ""."""
        for name, space, before in self._sealed:
            if not all(map(is_, map(space.get, before), before.values())):
                return f"{name}.{next(key for key in before if space.get(key) is not before[key])}"
        return ""

    def _hear(self, event: str, args: tuple[Any, ...]) -> None:
        if event not in EVENTS or self._bench is None or self._is_busy:
            return
        self._is_busy = True  # what is asked here is no event of the student's
        try:
            what = self._judge(event, args, sys._getframe(1))
            if what:
                self._bench.note("trespass", {"type": "Trespass", "text": what, "frames": self._own(sys._getframe(1))})
        finally:
            self._is_busy = False
        if what:
            raise Trespass(f"this is not for a submission: {what}")

    def _judge(self, event: str, args: tuple[Any, ...], frame: FrameType | None) -> str:
        """What is to be refused, in a few words, or ""."""
        if event in FRAME_EVENTS:
            what = f"{event} {args[1]}" if event in ATTRIBUTES else event
            is_frame = args[1] in ATTRIBUTES[event] if event in ATTRIBUTES else True
            return what if is_frame and self._is_theirs(_who_gets(frame)) else ""
        if event in LOOKING_EVENTS:
            return event if self._is_theirs(frame) else ""
        if event in KILL_EVENTS:
            is_above = args[0] in (0, -1) or abs(args[0]) in self._keepers
            return f"{event} {args}" if is_above or _is_stranger(abs(args[0])) else ""
        if event in START_EVENTS:
            return self._judge_start(args[1], frame)
        paths = [path for path in args if isinstance(path, str | bytes | os.PathLike)]
        for path in paths[: 1 if event == "open" else 2]:
            if self._is_closed(path) and self._asks(frame):
                if frame is not None and "linecache" in {_file(frame), _file(frame.f_back)}:
                    raise Trespass(path)  # a traceback wants to show a line of ours: it does without
                return f"{event} {os.fsdecode(path)}"
        return ""

    def _judge_start(self, words: Any, frame: FrameType | None) -> str:
        """`words` is a list; on Windows the whole line as a text."""
        is_line = isinstance(words, str | bytes | os.PathLike)
        line = [os.fsdecode(words)] if is_line else [os.fsdecode(word) for word in words]
        assert self._bench is not None
        whole, rest = " ".join(line).rstrip("\"' "), " ".join(line if is_line else line[1:])
        for name, handed_out in self._bench.handed_out.items():  # alone, behind `env`, or as a shell's last words
            for form in (" ".join(handed_out), shlex.join(handed_out), subprocess.list2cmdline(handed_out)):
                if whole.endswith(end := form.rstrip("\"' ")):
                    self._bench.note(f"started {name}", True)
                    rest = whole = whole.removesuffix(end)
        rest = rest.replace(self._target, "")
        is_ours = self._lab in rest or self._run in rest
        return f"start {' '.join(line)}" if is_ours and self._asks(frame) else ""

    def _is_closed(self, path: str | bytes | os.PathLike[Any]) -> bool:
        real = os.path.realpath(os.fsdecode(path))
        inside = real + os.sep
        if inside.startswith((self._target + os.sep, *self._library, os.path.join(self._run, "tmp") + os.sep)):
            return False
        return inside.startswith(tuple(root + os.sep for root in (*self._closed, self._run)))

    def _asks(self, frame: FrameType | None) -> bool:
        """Whether the nearest code that is no library's is the student's (or nobody's that is known).

        An import is always the student's: the kit has imported all it needs.
        """
        while frame is not None and self._is_library(frame.f_code):
            if frame.f_code.co_filename == "<frozen importlib._bootstrap_external>":
                return True
            frame = frame.f_back
        return frame is None or self._is_theirs(frame)

    def _is_theirs(self, frame: FrameType | None) -> bool:
        return frame is not None and not self._is_library(frame.f_code) and not self._is_kit(frame.f_code)

    def _is_library(self, code: CodeType) -> bool:
        return code.co_filename.startswith((*self._library, "<frozen ")) and not self._is_kit(code)

    def _is_kit(self, code: CodeType) -> bool:
        return code.co_filename.startswith(self._kit) and not code.co_filename.startswith(self._target + os.sep)

    def _own(self, frame: FrameType | None) -> list[str]:
        """The student's own lines on the way to here, innermost last."""
        found: list[str] = []
        while frame is not None and len(found) < SHOWN_FRAMES:
            file = frame.f_code.co_filename
            if file.startswith(self._target + os.sep):
                found.append(f"{os.path.basename(file)}:{frame.f_lineno} in {frame.f_code.co_name}")
            frame = frame.f_back
        return found[::-1]


def _who_gets(frame: FrameType | None) -> FrameType | None:
    """The frame that is handed what was asked for."""
    while frame is not None and frame.f_back is not None:
        file = os.path.basename(frame.f_code.co_filename)
        is_giving = frame.f_code.co_name in FRAME_GIVING and file in ("traceback.py", "__init__.py")
        if file not in FRAME_GIVERS and not is_giving:
            break
        frame = frame.f_back
    return frame


def _is_stranger(pid: int) -> bool:
    """Whether there is such a process, and it is neither ours nor this one; only Linux tells."""
    with suppress(OSError, ValueError):
        while pid > 1:
            if pid == os.getpid():
                return False
            with open(f"/proc/{pid}/stat", "rb") as file:
                pid = int(file.read().rpartition(b")")[2].split()[1])
        return True
    return False


def _file(frame: FrameType | None) -> str:
    return "" if frame is None else os.path.basename(frame.f_code.co_filename).removesuffix(".py")


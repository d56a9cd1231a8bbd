"""The keeper: on Linux, a process above the one that runs a student's code, to end all that it leaves behind.

A process that forks twice, with a session of its own and an empty environment, belongs to nobody who could be asked
for it. Linux gives such orphans to the nearest ancestor that wants them (PR_SET_CHILD_SUBREAPER), and that is the
keeper: it runs none of the student's code, and ends child after child until it has none.
"""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from types import FrameType

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36


def keep() -> set[int]:
    """Go on in a child that is kept (on Linux); return the processes and groups above, not to be ended by it."""
    if sys.platform == "win32":
        return {os.getppid()}
    above = {os.getppid(), os.getpgid(os.getppid())}
    if sys.platform != "linux":
        return above
    above.add(os.getpid())
    child = os.fork()
    if child == 0:
        return above
    _wait_and_clear(child)
    raise AssertionError("the keeper never returns")


def _ask_linux() -> None:
    """For the orphans, and for SIGTERM when the self-test (its thread that started us) is gone."""
    with suppress(ImportError, OSError, AttributeError):
        import ctypes

        prctl = ctypes.CDLL(None).prctl
        prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)


def _wait_and_clear(child: int) -> None:
    """Wait for the child's end, or bring it about when SIGTERM asks for it; then end the rest, and end alike."""

    def stop(number: int, frame: FrameType | None) -> None:
        os.kill(child, signal.SIGKILL)

    signal.signal(signal.SIGTERM, stop)
    _ask_linux()
    pid, status = os.wait()
    while pid != child:
        pid, status = os.wait()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    with suppress(ChildProcessError):
        while True:
            for left in _children():
                with suppress(PermissionError, ProcessLookupError):
                    os.kill(left, signal.SIGKILL)
            os.wait()
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        with suppress(OSError):
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


def _children() -> Iterator[int]:
    for name in os.listdir("/proc"):
        with suppress(OSError, ValueError, IndexError):
            pid = int(name)
            with open(f"/proc/{pid}/stat", "rb") as file:
                if int(file.read().rpartition(b")")[2].split()[1]) == os.getpid():
                    yield pid

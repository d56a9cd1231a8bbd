"""Start and end the processes that run a student's code, so that none is ever left behind.

Each one gets a process group of its own and carries a mark in its environment, which all that it starts
inherits. Ending it ends the group; the sweep at the end finds by the mark whatever has left the group. What has
left the group and the mark behind is found by its descent: on Linux by the keeper (labkit.keeper), which is asked
to end first, elsewhere by the tree of processes, as long as no link of it is missing.
"""

import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

MARK = "LABKIT_RUN"
KEEPER_SECONDS = 3.0  # a keeper that is asked to end gets so long to end the others first


def new_mark() -> str:
    return secrets.token_hex(8)


def start(command: Sequence[str], mark: str, cwd: Path, temporary: Path) -> subprocess.Popen[bytes]:
    """Start it with pipes at its input and output; what it prints to either stream comes as one.

    What it makes in the directory for temporary files is made in `temporary`.
    """
    flags = 0
    if sys.platform == "win32":
        flags = subprocess.CREATE_NEW_PROCESS_GROUP
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=cwd,
        env={**os.environ, **dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(temporary)), MARK: mark, "PYTHONUTF8": "1"},
        start_new_session=sys.platform != "win32",
        creationflags=flags,
    )


def end(process: subprocess.Popen[bytes]) -> None:
    """End it, its descendants and its group at once."""
    if sys.platform == "linux":
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(KEEPER_SECONDS)
    else:
        _end_descendants(process.pid)
    if sys.platform != "win32":
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    with suppress(OSError):
        process.kill()
    process.wait()


def _end_descendants(pid: int) -> None:
    import psutil

    with suppress(psutil.Error):
        for child in psutil.Process(pid).children(recursive=True):
            with suppress(psutil.Error):
                child.kill()


def sweep(mark: str) -> int:
    """End every process that carries the mark; return how many there were."""
    import psutil

    left = []
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if process.pid != os.getpid() and process.environ().get(MARK) == mark:
                process.kill()
                left.append(process)
    psutil.wait_procs(left, timeout=2)
    return len(left)

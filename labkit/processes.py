"""Start and end the processes that run a student's code, so that none is ever left behind.

Each one gets a process group of its own and carries a mark in its environment, which all that it starts
inherits. Ending it ends the group; the sweep at the end finds by the mark whatever has left the group.
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


def new_mark() -> str:
    return secrets.token_hex(8)


def start(command: Sequence[str], mark: str, cwd: Path) -> subprocess.Popen[bytes]:
    """Start it with pipes at its input and output; what it prints to either stream comes as one."""
    flags = 0
    if sys.platform == "win32":
        flags = subprocess.CREATE_NEW_PROCESS_GROUP
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=cwd,
        env={**os.environ, MARK: mark, "PYTHONUTF8": "1"},
        start_new_session=sys.platform != "win32",
        creationflags=flags,
    )


def end(process: subprocess.Popen[bytes]) -> None:
    """End it and its group at once."""
    if sys.platform != "win32":
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    with suppress(OSError):
        process.kill()
    process.wait()


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

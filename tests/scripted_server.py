"""A child process that plays a script: the scripted peer of the client's tests. It is a helper, not a test.

usage: python scripted_server.py SCRIPT JOURNAL

SCRIPT is a JSON list of steps, `[["name", argument, ...], ...]`; each function in STEPS is one step. After the
last step the server reads until its input ends and exits with 0. JOURNAL gets one JSON line per event, `pid`
first, so a test knows what the client wrote and whom it must not leave behind. Bytes leave exactly as the
script says: text is UTF-8, and a surrogate U+DC80 to U+DCFF in it stands for one raw byte 80 to FF. Nothing
here outlives LIFETIME, whatever becomes of the test.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from typing import Any, NoReturn

LIFETIME = 20  # seconds until the server, and what it has started, ends by itself

asked: list[Any] = []  # the requests read so far
journal = open(sys.argv[2], "a")  # noqa: SIM115  (as long as the process)


def note(**event: Any) -> None:
    print(json.dumps(event), file=journal, flush=True)


# Reading


def read(count: int = 1) -> bytes:
    """Read this many messages; b"" when the input ends before."""
    line = b""
    for _ in range(count):
        line = sys.stdin.buffer.readline()
        if not line:
            return b""
        note(got=line.decode())
        message = json.loads(line)
        if "id" in message:
            asked.append(message)
    return line


def expect(method: str) -> None:
    """Read one message, which must be of this method."""
    line = read()
    if not line or json.loads(line)["method"] != method:
        note(unexpected=line.decode(), instead_of=method)
        leave(99)


def serve() -> None:
    """Answer each request with what came: `{"echo": params}`; until the input ends."""
    while line := read():
        message = json.loads(line)
        if "id" in message:
            answer({"result": {"echo": message["params"]}})


# Writing


def say(*parts: str | list[Any]) -> None:
    """Write these parts in one go, `[text, count]` so often; `$ID` stands for the id of the last request."""
    text = "".join(part if isinstance(part, str) else part[0] * part[1] for part in parts)
    if asked:
        text = text.replace("$ID", json.dumps(asked[-1]["id"]))
    sys.stdout.buffer.write(text.encode("utf-8", "surrogateescape"))
    sys.stdout.buffer.flush()


def answer(members: Any, which: int = -1) -> None:
    """Answer the last request, or the one at this place."""
    say(json.dumps({"jsonrpc": "2.0", "id": asked[which]["id"], **members}) + "\n")


def answer_reversed() -> None:
    """Answer all requests, the last one first, each with its own params; a notification before each."""
    for number in reversed(range(len(asked))):
        say('{"jsonrpc": "2.0", "method": "notifications/progress"}\n')
        answer({"result": {"echo": asked[number]["params"]}}, number)


def answer_size(size: int) -> None:
    """Answer the last request with a text of so many characters."""
    answer({"result": {"text": "x" * size}})


def answer_surroundings() -> None:
    """Answer the last request with what this process was given."""
    answer({"result": {"env": dict(os.environ), "cwd": os.getcwd(), "argv": sys.argv}})


def babble() -> None:
    """Write lines for ever."""
    while True:
        say("la la la\n" * 1000)


def complain(text: str, size: int = 0) -> None:
    """Write to stderr: so many bytes of filler, then this text."""
    sys.stderr.write("x" * size + text)
    sys.stderr.flush()


# Ending, and refusing to


def close_stdin() -> None:
    os.close(0)


def close_stdout() -> None:
    os.close(1)


def leave(code: int) -> NoReturn:
    os._exit(code)


def leave_now(code: int) -> NoReturn:
    """Leave, and note at what time."""
    note(time=time.time())
    leave(code)


def hang() -> None:
    """Do nothing more, not even read."""
    time.sleep(LIFETIME)


def ignore_term() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


def note_term() -> None:
    """Note a SIGTERM, then obey it."""

    def obey(number: int, _: object) -> None:
        note(signal=signal.Signals(number).name)
        leave(0)

    signal.signal(signal.SIGTERM, obey)


def wait_for_signal() -> None:
    """Answer the last request with our pid, then read nothing until SIGUSR1 comes."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    answer({"result": {"pid": os.getpid()}})
    signal.sigwait({signal.SIGUSR1})


def grandchild(pipes: str = "all", *, ignoring_term: bool = False) -> None:
    """Start a process that holds our three pipes open, or our output only."""
    import subprocess  # here, because it would make each of many starts slower

    ignore = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); " if ignoring_term else ""
    code = f"{ignore}print(end='', flush=True); import time; time.sleep({LIFETIME})"
    stdin = None if pipes == "all" else subprocess.DEVNULL
    note(pid=subprocess.Popen([sys.executable, "-IS", "-c", code], stdin=stdin).pid)


def stubborn_grandchild() -> None:
    grandchild(ignoring_term=True)


STEPS = {
    step.__name__: step
    for step in (
        *(read, expect, serve),
        *(say, answer, answer_reversed, answer_size, answer_surroundings, babble, complain),
        *(close_stdin, close_stdout, leave, leave_now, hang, ignore_term, note_term, wait_for_signal),
        *(grandchild, stubborn_grandchild),
    )
}


def main() -> NoReturn:
    if hasattr(signal, "alarm"):
        signal.alarm(LIFETIME)
    note(pid=os.getpid())
    for name, *arguments in json.loads(sys.argv[1]):
        STEPS[name](*arguments)
    while read():
        pass
    note(eof=True)
    leave(0)


if __name__ == "__main__":
    main()

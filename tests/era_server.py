"""A server of either era that a table describes: the scripted peer of the tests of eras. It is a helper, not a test.

usage: python era_server.py TABLE JOURNAL

TABLE is JSON: `{"METHOD": [["step", argument, ...], ...]}`. Whenever a message of this method arrives, its steps are
played; STEPS lists them. "METHOD 2" stands for the second message of this method, "start" is played before anything
is read, and "reply" when the client answers a request of ours. JOURNAL gets one JSON line per event, `pid` first. At
the end of its input the server exits with 0; LIFETIME ends it in any case.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections import Counter
from typing import Any

LIFETIME = 20  # seconds until the server ends by itself, whatever becomes of the test

ids: dict[str, Any] = {}  # method -> the id of its last request
last_method = ""  # of a request
journal = open(sys.argv[2], "a")  # noqa: SIM115  (as long as the process)


def note(**event: Any) -> None:
    print(json.dumps(event), file=journal, flush=True)


def say(text: str) -> None:
    """Write this as it is; `$ID` stands for the id of the last request."""
    os.write(1, text.replace("$ID", json.dumps(ids.get(last_method))).encode())


def send(*messages: dict[str, Any]) -> None:
    """Write these messages in one go."""
    say("".join(json.dumps({"jsonrpc": "2.0", **message}) + "\n" for message in messages))


def result(value: Any, method: str = "") -> None:
    """Answer the last request, or the last one of this method."""
    send({"id": ids.get(method or last_method), "result": value})


def error(code: Any, message: str = "no", data: Any = None, method: str = "") -> None:
    send({"id": ids.get(method or last_method), "error": {"code": code, "message": message, "data": data}})


def repeat(text: str, times: int) -> None:
    """Write this text so often, in one go."""
    say(text * times)


def read() -> None:
    """Read the next message, and do nothing about it."""
    note(got=json.loads(sys.stdin.buffer.readline()))


def leave(code: int) -> None:
    os._exit(code)


def grandchild() -> None:
    """Start a process that holds our three pipes open."""
    import subprocess  # here, because it would make each of many starts slower

    note(pid=subprocess.Popen([sys.executable, "-IS", "-c", f"import time; time.sleep({LIFETIME})"]).pid)


def close_stdout() -> None:
    os.close(1)


def hang() -> None:
    """Read nothing more."""
    time.sleep(LIFETIME)


STEPS = {
    step.__name__: step
    for step in (say, send, result, error, repeat, read, leave, grandchild, close_stdout, hang)
}


def play(table: dict[str, Any], name: str) -> None:
    for step, *arguments in table.get(name, []):
        STEPS[step](*arguments)


def main() -> None:
    global last_method
    table = json.loads(sys.argv[1])
    if hasattr(signal, "alarm"):
        signal.alarm(LIFETIME)
    note(pid=os.getpid())
    play(table, "start")
    arrived: Counter[str] = Counter()
    for line in sys.stdin.buffer:
        message = json.loads(line)
        note(got=message)
        method = message.get("method", "reply")
        if "method" in message and "id" in message:
            last_method, ids[method] = method, message["id"]
        arrived[method] += 1
        numbered = f"{method} {arrived[method]}"
        play(table, numbered if numbered in table else method)
    note(eof=True)


if __name__ == "__main__":
    main()

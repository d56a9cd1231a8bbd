"""The mock servers behind a bad pipe: flakes.py puts this file into a copy of the lab, as servers/stdio_server.py.

The real one stands beside it under another name and does all the work. Every answer is held back for a random time,
so that answers overtake each other, and every byte is written by itself; now and then the next one waits until the
reader has taken all. A cancelled answer is dropped, as ever.
"""

from __future__ import annotations

import random
import sys
import time
from _thread import start_new_thread

import real_stdio_server  # type: ignore[import-not-found]
from real_stdio_server import *  # noqa: F403

LATEST_SECONDS = 0.03  # an answer is held back for up to this long
PAUSES = 6  # in a line, at random places
PAUSE_SECONDS = 0.02  # at most; a reader that is busy is not waited for longer


class SlowServer(real_stdio_server.Server):  # type: ignore[misc]
    def _answer(self, method, response):  # type: ignore[no-untyped-def]
        flags = self._flags
        if {method, "*"} & {*flags.silent_on, *flags.delay, *flags.delay_first}:
            super()._answer(method, response)
            return
        self._delayed.append(response)
        start_new_thread(self._answer_late, (random.uniform(0, LATEST_SECONDS), method, response))

    def _write(self, line: bytes) -> None:
        whole = line + b"\n"
        pauses = random.sample(range(len(whole)), min(PAUSES, len(whole)))
        try:
            for at in range(len(whole)):
                sys.stdout.buffer.write(whole[at : at + 1])
                sys.stdout.buffer.flush()
                if at in pauses:
                    wait_until_read()
        except OSError:
            self._exit("broken pipe", real_stdio_server.EXIT_OK)


def wait_until_read() -> None:
    try:
        from fcntl import ioctl
        from termios import FIONREAD
    except ImportError:  # Windows
        time.sleep(PAUSE_SECONDS / 10)
        return
    end = time.monotonic() + PAUSE_SECONDS
    while any(ioctl(sys.stdout.fileno(), FIONREAD, bytes(4))) and time.monotonic() < end:
        time.sleep(0.001)


real_stdio_server.Server = SlowServer

"""What is known of one server while it is in use: does it live, does it answer, have its tools changed?

The client reports what happens, the registry asks before each call (both in resilience.py); neither knows the
other. A server fails in one of two ways, and each has its remedy. It *dies*: then it is started again on next
use, but only so often in a while. It is *silent*: after some timeouts in a row it is left alone for a while,
so that not every call costs its whole deadline, and then one cheap question is asked before any other.

Nothing here waits or does anything; the clock comes from outside.
"""

import logging
import time
from collections import deque
from collections.abc import Callable

from host.words import Message

SILENT_TIMEOUTS = 3  # in a row; a slow tool may well time out once or twice
SILENCE_SECONDS = 30.0  # a silent server is left alone this long
MOST_RESTARTS = 3  # within RESTART_SECONDS; who dies more often would die again
RESTART_SECONDS = 60.0

log = logging.getLogger(__name__)


class Health:
    """The state of the server `alias`; whatever changes it is told to the person at once."""

    def __init__(self, alias: str, clock: Callable[[], float] = time.monotonic) -> None:
        self.alias = alias
        self.end: str | None = None  # why its process has ended; None: it has not
        self.in_use = False  # its tools have been listed, so its end is news
        self.tools_changed = False  # it has said so, and they have not been listed since
        self.news: list[Message] = []  # what the model has not been told yet
        self._clock = clock
        self._timeouts = 0  # in a row
        self._left_alone_until = 0.0
        self._restarts: deque[float] = deque(maxlen=MOST_RESTARTS)  # when

    # The process

    def started(self) -> None:
        self.end = None

    def ended(self, why: str) -> None:
        self.end = why
        if self.in_use:
            self.in_use = False
            self._tell("server_ended", why=why)

    def start_again(self) -> None:
        """Count one more restart."""
        self._restarts.append(self._clock())

    def came_back(self) -> None:
        self._tell("server_restarted")

    def seconds_to_restart(self) -> float:
        """How long it must not be started again; 0: it may be."""
        if len(self._restarts) < MOST_RESTARTS:
            return 0.0
        return max(0.0, self._restarts[0] + RESTART_SECONDS - self._clock())

    # The answers

    def answered(self) -> None:
        self._timeouts = 0

    def timed_out(self) -> None:
        was_silent = self.is_silent
        self._timeouts += 1
        if self.is_silent:
            self._left_alone_until = self._clock() + SILENCE_SECONDS
        if self.is_silent and not was_silent:
            self._tell("server_silent", count=self._timeouts, seconds=round(SILENCE_SECONDS))

    @property
    def is_silent(self) -> bool:
        return self._timeouts >= SILENT_TIMEOUTS

    def seconds_to_probe(self) -> float:
        """How long a silent server is still left alone; 0: it may be asked whether it is back."""
        return max(0.0, self._left_alone_until - self._clock())

    def _tell(self, key: str, **values: object) -> None:
        """To the person now, in the person's language; to the model with the next result."""
        message = Message(key, {"alias": self.alias, **values})
        log.warning(message)
        self.news.append(message)

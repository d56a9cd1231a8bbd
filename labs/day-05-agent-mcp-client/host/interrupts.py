"""How a run is stopped from outside: at once, with every server closed, and by one press of Ctrl-C.

As long as nothing has been started, Ctrl-C ends the process on the spot. Then it cancels the turn, which runs
all clean-up. asyncio would do that too, but turns a second press into an exception that comes up anywhere,
also halfway through the start of a process, and then nothing ends any more; here only code that never lets go
of the event loop, and so cannot be cancelled, is interrupted. TERM and a closed terminal do the same as
Ctrl-C, and none of them stops the closing of the servers.
"""

import _thread
import asyncio
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

LET_GO_SECONDS = 0.5  # code that has been cancelled gets this long to reach an `await`
PRESSES = 3  # after so many, whoever swallows a cancellation is interrupted too


def end_as_by_ctrl_c() -> None:
    """A polite TERM and a closed terminal take the way of Ctrl-C."""
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return  # whoever started us has turned Ctrl-C off
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, lambda *_: signal.raise_signal(signal.SIGINT))


@contextmanager
def ended_on_the_spot() -> Iterator[None]:
    """Inside, Ctrl-C ends the process as it ends any program, and raises nothing.

    A KeyboardInterrupt that comes up in one of the import system's callbacks, or just before `input`, is lost.
    """
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


class Canceller:
    """What Ctrl-C does while `task` runs."""

    def __init__(self, task: "asyncio.Task[object]") -> None:
        self._task = task
        self.presses = 0
        self._is_stuck = False  # the event loop has not come round since the last press
        self._timers: list[threading.Timer] = []

    def press(self, number: int, frame: FrameType | None) -> None:
        """Cancel the task, and look soon whether its event loop has noticed. A signal handler."""
        self.presses += 1
        if self._is_stuck or self.presses > PRESSES:
            raise KeyboardInterrupt
        self._task.cancel()
        noticed = threading.Event()
        self._task.get_loop().call_soon_threadsafe(noticed.set)
        self._timers.append(threading.Timer(LET_GO_SECONDS, self._look, [noticed]))
        self._timers[-1].daemon = True
        self._timers[-1].start()

    def _look(self, noticed: threading.Event) -> None:
        if not noticed.is_set():
            self._is_stuck = True
            _thread.interrupt_main()  # as if it were pressed again

    def stop(self) -> None:
        for timer in self._timers:
            timer.cancel()


@contextmanager
def ctrl_c_cancels() -> Iterator[None]:
    """Inside, Ctrl-C cancels the task that runs this, which then ends with asyncio's CancelledError."""
    task, before = asyncio.current_task(), signal.getsignal(signal.SIGINT)
    if task is None or before is signal.SIG_IGN:  # Ctrl-C has been turned off
        yield
        return
    canceller = Canceller(task)
    signal.signal(signal.SIGINT, canceller.press)
    try:
        yield
    finally:
        # Once it was pressed, all is closed here and the process about to end: a second press has no use.
        signal.signal(signal.SIGINT, signal.SIG_IGN if canceller.presses else before)
        canceller.stop()


@contextmanager
def not_to_be_interrupted() -> Iterator[None]:
    """Inside, Ctrl-C does nothing: for work that is short, bounded, and must not be left half done."""
    if threading.current_thread() is not threading.main_thread():  # only there may signals be set
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)

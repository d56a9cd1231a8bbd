"""How a run is stopped from outside: at once, with every server closed, and by one press of Ctrl-C.

asyncio already turns the first Ctrl-C into a cancellation, which runs all clean-up, and the second into an
exception. What is added here: TERM and a closed terminal do the same as Ctrl-C; code that never lets go of the
event loop, and so does not see the cancellation, gets the second one by itself; and no second one stops the closing.
"""

import _thread
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

LET_GO_SECONDS = 0.5  # code that has been cancelled gets this long to reach an `await`


def end_as_by_ctrl_c() -> None:
    """A polite TERM and a closed terminal take the way of Ctrl-C."""
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return  # whoever started us has turned Ctrl-C off
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, lambda *_: signal.raise_signal(signal.SIGINT))


@contextmanager
def endless_loops_end_too() -> Iterator[None]:
    """Inside, a Ctrl-C is followed by another one soon. To be entered where the event loop runs."""
    timers: list[threading.Timer] = []
    before = signal.getsignal(signal.SIGINT)

    def interrupt(number: int, frame: FrameType | None) -> None:
        timers.append(threading.Timer(LET_GO_SECONDS, _thread.interrupt_main))
        timers[-1].daemon = True
        timers[-1].start()
        if callable(before):  # asyncio's own
            before(number, frame)

    if not callable(before):  # Ctrl-C has been turned off
        yield
        return
    signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        for timer in timers:
            timer.cancel()


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

"""Whatever a server's output holds, and wherever it is cut: the real reader against streams that Hypothesis makes.

Here are few, and always the same ones; `python -m tests.reliability` plays 10,000. That the property can fail is shown
by readers that are broken in one place each.
"""

from __future__ import annotations

import json

import pytest
from anyio.abc import Process
from hostile_stream import ENDS, KINDS, Act, Ask, Complain, GiveUp, Life, Line, MemoryClient, Say, play, search

from protocol import JSONObject
from stdio_client import Waiter

EXAMPLES = 40


def test_no_stream_of_output_ends_the_reader_or_gives_an_answer_to_the_wrong_caller() -> None:
    assert search(EXAMPLES)["streams"] >= EXAMPLES


@pytest.mark.parametrize("size", [1, 7, 10_000], ids="in chunks of {}".format)
def test_every_kind_of_line_may_stand_between_a_request_and_its_answer(size: int) -> None:
    """The requests wait while all the noise passes; then each of them is answered in one of the ways there are."""
    noise: list[Line] = [(kind, 0, b"\xff" if kind == "raw bytes" else {"x": 1}) for kind in NOISE_FIRST]
    answers: list[Line] = [(kind, 0, {"x": 1}) for kind in KINDS if kind.startswith("answer: ")]
    asked: list[Act] = [Ask()] * len(answers)
    play([Life([*asked, Say(noise, [size]), Say(answers, [size]), Say(answers, [size])], end) for end in ENDS])


NOISE_FIRST = [kind for kind in KINDS if not kind.startswith("answer: ")]


# Readers that are broken in one place


class TakesTextsForIds(MemoryClient):
    def _take_waiter(self, message: JSONObject) -> Waiter | None:
        found = str(message.get("id"))
        return self._pending.pop(int(found), None) if found.isdecimal() else None


class TakesTrueForOne(MemoryClient):
    def _take_waiter(self, message: JSONObject) -> Waiter | None:
        found = message.get("id")
        return self._pending.pop(found, None) if isinstance(found, int) else None


class KeepsTheWaiter(MemoryClient):
    """A second answer wakes the same one again."""

    def _take_waiter(self, message: JSONObject) -> Waiter | None:
        found = message.get("id")
        return self._pending.get(found) if type(found) is int else None


class AnswersWhoWaitsLongest(MemoryClient):
    """As if answers came in the order of the requests."""

    def _take_waiter(self, message: JSONObject) -> Waiter | None:
        return self._pending.pop(next(iter(self._pending)), None) if self._pending else None


class TakesChunksForLines(MemoryClient):
    async def _read_stdout(self, process: Process) -> None:
        assert process.stdout is not None
        async for chunk in process.stdout:
            for line in chunk.splitlines():
                self._on_line(line)
        self._finish_soon()


class CutsAtAnyNewlineOfUnicode(MemoryClient):
    def _on_line(self, line: bytes) -> None:
        for part in line.decode("utf-8", "replace").splitlines():
            super()._on_line(part.encode())


class TrustsEachLine(MemoryClient):
    def _on_line(self, line: bytes) -> None:
        json.loads(line)
        super()._on_line(line)


class KeepsAllItsWords(MemoryClient):
    def _keep(self, words: bytes) -> None:
        self._last_words += words


class ForgetsErrors(MemoryClient):
    def _on_line(self, line: bytes) -> None:
        if b'"error"' not in line:
            super()._on_line(line)


BROKEN = [
    *(TakesTextsForIds, TakesTrueForOne, KeepsTheWaiter, AnswersWhoWaitsLongest, TakesChunksForLines),
    *(CutsAtAnyNewlineOfUnicode, TrustsEachLine, KeepsAllItsWords, ForgetsErrors),
]
TELLING: list[Act] = [  # a stream in which each of them fails
    Complain(b"oh no ", 400),
    *(Ask(), Ask()),
    Say([(kind, 1, "a\u2028b") for kind in NOISE_FIRST if kind != "raw bytes"], [13]),
    Say([("answer: not in ASCII", 1, "a\u2028b"), ("an answer to what is over", 0, None)], [5000]),
    Say([("answer: error", 0, None), ("an answer to what is over", 1, None)], [13]),
    GiveUp(0),
]


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.__name__)
def test_a_reader_that_is_broken_in_one_place_is_found_out(broken: type[MemoryClient]) -> None:
    play([Life(TELLING, "dies")])
    with pytest.raises((AssertionError, ValueError, TypeError, RecursionError, TimeoutError)):
        play([Life(TELLING, "dies")], broken)

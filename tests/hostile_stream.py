"""A hostile server in memory: Hypothesis chooses what it says and where its output is cut. It is a helper, not a test.

The client is the real `StdioClient`; only its process is a stand-in, whose pipes are streams of chunks. For each line
it is known by construction whom it is for, so the expectation needs no second decoder. After each act of a `Life` all
of these must hold:

- the reader lives, and has read all that was said;
- each request has the outcome that the first answer with its id gives it, and no other, whatever stood between;
- who has been answered, or has given up, is not in the table any more; no waiter is woken twice;
- the last words do not grow past their bound, and neither does a line without an end.
"""

from __future__ import annotations

import json
import math
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import cycle
from typing import Any, cast

import anyio
import anyio.lowlevel
import hypothesis
import pytest
from anyio.abc import Process, TaskGroup
from hypothesis import HealthCheck, Phase
from hypothesis import strategies as st
from kit import LAB

sys.path.insert(0, str(LAB))

import stdio_client
from host.servers import lone_error
from protocol import JSONObject, McpError, ServerDown
from stdio_client import StdioClient

NO_PID = 2**30  # no system has a process of this number: close() may send its signals there
LONGEST = 300_000  # the bound of a line here; the deepest line has 200,000 bytes
MOST_CHUNKS = 150  # of what is said at a time; a longer text is cut into larger pieces
MOST_ROUNDS = 2000  # of the event loop, until what was said has had its effect
BLOCK = b"x" * 65_536

Outcome = tuple[str, Any]  # "result" and the result, or the name of an error and its code
Line = tuple[str, int, Any]  # the kind, which request it is about, and something to put into it


@dataclass(frozen=True)
class Ask:
    """One more request."""


@dataclass(frozen=True)
class GiveUp:
    """The caller of this one is cancelled."""

    which: int


@dataclass(frozen=True)
class Say:
    """These lines come out of stdout, cut into chunks of these sizes, over and over."""

    lines: list[Line]
    sizes: list[int]


@dataclass(frozen=True)
class Complain:
    """This comes out of stderr so often."""

    text: bytes
    times: int


Act = Ask | GiveUp | Say | Complain


@dataclass(frozen=True)
class Life:
    """What one process does, and how it ends: a key of ENDS."""

    acts: list[Act]
    end: str


# What is said


def line_of(message: JSONObject, **options: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}, **options).encode()


def right(request_id: int, value: Any = None, **options: Any) -> bytes:
    """An answer that only this request may get."""
    return line_of({"id": request_id, "result": {"for": request_id, "value": value}}, **options)


ANSWERS: dict[str, Callable[[int, Any], bytes]] = {
    "plain": right,
    "not in ASCII": lambda i, v: right(i, v, ensure_ascii=False),
    "with CR": lambda i, v: right(i, v) + b"\r",
    "after a byte order mark": lambda i, v: b"\xef\xbb\xbf" + right(i, v),
    "between spaces": lambda i, v: b" \t " + right(i, v) + b"  ",
    "with more members": lambda i, v: line_of({"x": v, "result": {"for": i, "value": v}, "id": i}),
}
FAILURES: dict[str, tuple[str, Callable[[int, Any], JSONObject]]] = {
    "error": ("RpcError", lambda i, v: {"error": {"code": i, "message": "no", "data": v}}),
    "odd error": ("RpcError", lambda i, v: {"error": [v]}),
    "both": ("InvalidMessage", lambda i, v: {"error": v, "result": {"for": i}}),
    "neither": ("InvalidMessage", lambda i, v: {"Result": v}),
    "no object": ("InvalidMessage", lambda i, v: {"result": [v]}),
    "not final": ("InvalidMessage", lambda i, v: {"result": {"resultType": "input_required", "value": v}}),
}
NOISE: dict[str, Callable[[int, Any], bytes]] = {  # each of them is nearly an answer
    "bytes": lambda i, v: bytes(str(v), "utf-8")[::-1],
    "no object": lambda i, v: json.dumps([v]).encode(),
    "a text": lambda i, v: json.dumps(str(v), ensure_ascii=False).encode(),
    "a batch": lambda i, v: b"[" + right(i, v) + b"]",
    "cut short": lambda i, v: right(i, v)[: -1 - len(str(v)) % 20],
    "begun late": lambda i, v: right(i, v)[1 + len(str(v)) % 20 :],
    "two on a line": lambda i, v: right(i, v) * 2,
    "a broken byte": lambda i, v: right(i, v).replace(b"value", b"val\xffue"),
    "a text as id": lambda i, v: line_of({"id": str(i), "result": v}),
    "a float as id": lambda i, v: line_of({"id": float(i), "result": v}),
    "true as id": lambda i, v: line_of({"id": True, "result": v}),
    "a list as id": lambda i, v: line_of({"id": [i], "error": v}),
    "an object as id": lambda i, v: line_of({"id": {"id": i}, "result": v}),
    "null as id": lambda i, v: line_of({"id": None, "result": v}),
    "no id": lambda i, v: line_of({"result": v}),
    "a later id": lambda i, v: right(i + 1_000_000, v),
    "a negative id": lambda i, v: right(-i - 1, v),
    "a huge id": lambda i, v: right(10**40 + i, v),
    "a log entry": lambda i, v: json.dumps({"level": "info", "result": {"for": i, "value": v}}).encode(),
    "a log entry of an error": lambda i, v: json.dumps({"level": "error", "error": v}).encode(),
    "too deep": lambda i, v: b'{"id": %d, "result": ' % i + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "too long a number": lambda i, v: b'{"id": %d, "result": {"n": %s}}' % (i, b"9" * 5000),
}
MESSAGES: dict[str, Callable[[int, Any], JSONObject]] = {  # on_notification hears of them
    "a notification": lambda i, v: {"method": "notifications/progress", "params": v},
    "a request with our id": lambda i, v: {"id": i, "method": "ping", "params": v},
    "an answer with a method": lambda i, v: {"id": i, "method": v, "result": {"for": i}},
}
ASIDE = ("raw bytes", "an answer to what is over", "an error without an id")
KINDS = [*(f"answer: {kind}" for kind in (*ANSWERS, *FAILURES)), *NOISE, *MESSAGES, *ASIDE]

values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.text("aé笔🙂\u2028\u0085\"\\\n\r\0{}[]", max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["id", "method", "x"]), inner),
    max_leaves=4,
)
raw = st.binary(max_size=40).map(lambda data: data.replace(b"\n", b"\r"))
lines = st.sampled_from(KINDS).flatmap(
    lambda kind: st.tuples(st.just(kind), st.integers(0, 9), raw if kind == "raw bytes" else values)
)
chunk_sizes = st.integers(1, 90) | st.sampled_from([500, 5000])  # of a chunk: less than a line, or some lines
says = st.builds(Say, st.lists(lines, min_size=2, max_size=8), st.lists(chunk_sizes, min_size=1, max_size=6))
complaints = st.builds(Complain, st.binary(min_size=1, max_size=60), st.sampled_from([1, 100]))
acts = st.sampled_from([st.just(Ask()), says, says, says, st.builds(GiveUp, st.integers(0, 9)), complaints]).flatmap(
    lambda act: act  # `one_of` would count the three as one
)


# The world


class Pipe:
    """One of the process's outputs: an endless stream of chunks, until it is closed."""

    def __init__(self) -> None:
        self._inside, self.outside = anyio.create_memory_object_stream[bytes](math.inf)

    def feed(self, chunk: bytes) -> None:
        self._inside.send_nowait(chunk)

    def end(self) -> None:
        self._inside.close()

    @property
    def unread(self) -> int:
        return self._inside.statistics().current_buffer_used

    @property
    def is_waited_for(self) -> bool:
        return self._inside.statistics().tasks_waiting_receive == 1


class StandIn:
    """What `anyio.open_process` would give. It exits when its input is closed."""

    pid = NO_PID

    def __init__(self) -> None:
        self.stdin, self.stdout_pipe, self.stderr_pipe = self, Pipe(), Pipe()
        self.stdout, self.stderr = self.stdout_pipe.outside, self.stderr_pipe.outside
        self.returncode: int | None = None
        self.received: list[JSONObject] = []
        self._is_dead = anyio.Event()

    async def send(self, line: bytes) -> None:
        assert line.endswith(b"\n") and line.count(b"\n") == 1
        self.received.append(json.loads(line))

    async def wait(self) -> int:
        await self._is_dead.wait()
        return 3

    def die(self) -> None:
        self.returncode = 3
        self._is_dead.set()

    async def aclose(self) -> None:
        """Of its input, and at last of the process itself."""
        self.die()
        for pipe in (self.stdout_pipe, self.stderr_pipe):
            pipe.end()


class CountedWaiter(stdio_client.Waiter):
    made: list[CountedWaiter]

    def __init__(self) -> None:
        super().__init__()
        self.woken = 0
        self.made.append(self)

    def succeed(self, result: object) -> None:
        self.woken += 1
        super().succeed(result)

    def fail(self, error: McpError) -> None:
        self.woken += 1
        super().fail(error)


class MemoryClient(StdioClient):
    """The client, with a stand-in for its process."""

    stand_in: StandIn

    async def _open(self) -> Process:
        self.stand_in = StandIn()
        return cast(Process, self.stand_in)


@dataclass
class World:
    """The client, what it has been told, and what must have come of it."""

    client: MemoryClient
    tasks: TaskGroup
    waiting: list[int] = field(default_factory=list)  # ids
    over: list[int] = field(default_factory=list)  # ids of those that wait no more
    expected: dict[int, Outcome] = field(default_factory=dict)
    got: dict[int, Outcome] = field(default_factory=dict)
    to_hear: list[JSONObject] = field(default_factory=list)
    heard: list[JSONObject] = field(default_factory=list)
    scopes: dict[int, anyio.CancelScope] = field(default_factory=dict)

    # The acts

    async def act(self, act: Act) -> None:
        server = self.client.stand_in
        if isinstance(act, Ask):
            await self.ask()
        elif isinstance(act, GiveUp) and self.waiting:
            gone = self._over(self.waiting[act.which % len(self.waiting)])
            self.scopes[gone].cancel()
        elif isinstance(act, Complain):
            for _ in range(act.times):
                server.stderr_pipe.feed(act.text)
        elif isinstance(act, Say):
            text = b"".join(self.spoken(line) + b"\n" for line in act.lines)
            for chunk in cut(text, act.sizes):
                server.stdout_pipe.feed(chunk)
        with suppress(TimeoutError):
            await until(lambda: server.stdout_pipe.is_waited_for and server.stderr_pipe.is_waited_for)
        assert server.stdout_pipe.is_waited_for and server.stderr_pipe.is_waited_for, "a reader has died"
        await self.settle()

    async def ask(self) -> None:
        before = len(self.client.stand_in.received)
        self.tasks.start_soon(self._ask)
        await until(lambda: len(self.client.stand_in.received) > before)
        self.waiting.append(self.client.stand_in.received[-1]["id"])

    async def _ask(self) -> None:
        with anyio.CancelScope() as scope:
            request_id = self._next_id()
            self.scopes[request_id] = scope
            try:
                outcome: Outcome = ("result", await self.client.request("question", timeout=math.inf))
            except McpError as error:
                outcome = (type(error).__name__, getattr(error, "code", None))
            assert request_id not in self.got
            self.got[request_id] = outcome

    def _next_id(self) -> int:
        return len(self.scopes) + 1

    def spoken(self, line: Line) -> bytes:
        """The line's bytes; what must come of it is noted."""
        kind, which, value = line
        target = self.waiting[which % len(self.waiting)] if self.waiting else 999
        if kind == "raw bytes":
            return cast(bytes, value)
        if kind in NOISE:
            return NOISE[kind](target, value).replace(b"\n", b"\r")
        if kind in MESSAGES:
            message = {"jsonrpc": "2.0", **MESSAGES[kind](target, value)}
            self.to_hear.append(message)
            return json.dumps(message).encode()
        if kind == "an answer to what is over":
            return right(self.over[which % len(self.over)] if self.over else 999, value)
        if kind == "an error without an id":
            if len(self.waiting) == 1:
                self._expect(target, ("RpcError", 5))
            return line_of({"id": None, "error": {"code": 5, "message": "what?"}})
        return self._answer(kind.removeprefix("answer: "), target, value)

    def _answer(self, kind: str, target: int, value: Any) -> bytes:
        if kind in ANSWERS:
            self._expect(target, ("result", {"for": target, "value": value}))
            return ANSWERS[kind](target, value)
        error, members = FAILURES[kind]
        code = {"error": target, "odd error": 0}.get(kind)
        self._expect(target, (error, code))
        return line_of({"id": target, **members(target, value)})

    def _expect(self, request_id: int, outcome: Outcome) -> None:
        if request_id in self.waiting:
            self.expected[self._over(request_id)] = outcome

    def _over(self, request_id: int) -> int:
        self.waiting.remove(request_id)
        self.over.append(request_id)
        return request_id

    # What must hold

    async def settle(self) -> None:
        """Let all that was said have its effect, then look whether it is the right one."""
        with suppress(TimeoutError):
            await until(lambda: self.got == self.expected and list(self.client._pending) == self.waiting)
        assert self.got == self.expected
        assert list(self.client._pending) == self.waiting
        assert self.heard == self.to_hear
        assert len(self.client._last_words) <= stdio_client.LAST_WORDS_BYTES
        assert all(waiter.woken <= 1 for waiter in CountedWaiter.made), "woken twice"

    async def finish(self, end: str) -> None:
        """End the process in this way: all who still wait are told so, and nobody may ask any more."""
        for request_id in list(self.waiting):
            self._expect(request_id, ("ServerDown", None))
        await ENDS[end](self.client)
        await until(self.client._ended.is_set)
        await self.settle()
        with pytest.raises(ServerDown, match=REASONS[end]):
            await self.client.request("afterwards")
        self.scopes[self._next_id()] = anyio.CancelScope()  # that one took an id, too
        assert not self.client._pending


async def until(condition: Callable[[], bool]) -> None:
    for _ in range(MOST_ROUNDS):
        if condition():
            return
        await anyio.lowlevel.checkpoint()
    raise TimeoutError


def cut(text: bytes, sizes: list[int]) -> list[bytes]:
    least = len(text) // MOST_CHUNKS
    chunks: list[bytes] = []
    start = 0
    for size in cycle(sizes):
        if start >= len(text):
            return chunks
        chunks.append(text[start : start + max(size, least)])
        start += max(size, least)
    return chunks


# How it ends


async def output_ends(client: MemoryClient) -> None:
    client.stand_in.stdout_pipe.feed(b'{"half": "a li')
    client.stand_in.stdout_pipe.end()


async def dies(client: MemoryClient) -> None:
    """And something that it has started holds its pipes open."""
    client.stand_in.die()


async def is_closed(client: MemoryClient) -> None:
    await client.close()


async def never_ends_its_line(client: MemoryClient) -> None:
    """What is kept of it is bounded: the reader takes no more than that, however much there is."""
    pipe = client.stand_in.stdout_pipe
    count = 3 * LONGEST // len(BLOCK)
    for _ in range(count):
        pipe.feed(BLOCK)
    await until(client._ended.is_set)
    assert (count - pipe.unread) * len(BLOCK) <= LONGEST + len(BLOCK)
    while pipe.unread:
        pipe.outside.receive_nowait()


ENDS = {end.__name__: end for end in (output_ends, dies, is_closed, never_ends_its_line)}
REASONS = {
    "output_ends": "it has closed its output",
    "dies": "it has exited with code 3",
    "is_closed": "it has (exited with code 3|closed its output)",
    "never_ends_its_line": "it has sent a line of more than",
}

one_life = st.builds(Life, st.lists(acts, min_size=2, max_size=12), st.sampled_from(sorted(ENDS)))
lives = st.lists(one_life, min_size=1, max_size=2)


# The property


def search(examples: int, client_class: type[MemoryClient] = MemoryClient, *, seed: int = 0) -> Counter[str]:
    """Play so many streams; the first that shows a fault is made as small as can be, and raised with it.

    Returns how much was played. The same seed gives the same streams.
    """
    played: Counter[str] = Counter()

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=examples,
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
    )
    @hypothesis.given(lives)
    def holds(stream: list[Life]) -> None:
        played["streams"] += 1
        for life in stream:
            played[life.end] += 1
            for act in life.acts:
                played[type(act).__name__] += 1
                played["lines"] += len(act.lines) if isinstance(act, Say) else 0
        play(stream, client_class)

    holds()
    return played


def play(stream: list[Life], client_class: type[MemoryClient] = MemoryClient) -> None:
    """Play these lives to one client, one after the other. Raises: AssertionError, and what a reader lets out."""
    with pytest.MonkeyPatch.context() as patch, lone_error():
        patch.setattr(stdio_client, "Waiter", CountedWaiter)
        patch.setattr(stdio_client, "LAST_WORDS_SECONDS", 0.0)  # all was read before the end
        patch.setattr(stdio_client, "MAX_LINE_BYTES", LONGEST)
        CountedWaiter.made = []
        anyio.run(_play, stream, client_class)


async def _play(stream: list[Life], client_class: type[MemoryClient]) -> None:
    async with anyio.create_task_group() as tasks:
        client = client_class(["in memory"], tasks)
        world = World(client, tasks)
        client._on_notification = world.heard.append
        for life in stream:
            await client.start()
            await world.ask()
            for act in life.acts:
                await world.act(act)
            await world.finish(life.end)
        await client.close()

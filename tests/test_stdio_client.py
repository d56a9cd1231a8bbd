"""The solution's `StdioClient` against a child process that plays a script, line by line and byte by byte.

Each test opens its own server with `opened`, which also proves at the end that nothing is left running: not
the server, not what it has started. "At once" means within PROMPT, while the deadline in force is far longer.
"""

from __future__ import annotations

import json
import logging
import math
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import psutil
import pytest

import stdio_client
from protocol import CLIENT_INFO, InvalidMessage, JSONObject, McpError, RequestTimeout, RpcError, ServerDown
from stdio_client import StdioClient

SCRIPTED_SERVER = Path(__file__).with_name("scripted_server.py")
PATIENCE = 10.0  # seconds any test may take before it fails
PROMPT = 2.0  # seconds that count as "at once"; what is not at once would take the deadline, 30
NOTICED = 0.5  # seconds within which a death is known, whoever holds the pipes
TRIES = 3  # a busy machine may take longer than NOTICED, but not each time
SHORT = 0.05  # seconds: the deadline of a request that is meant to miss it

Step = Sequence[Any]  # ["name", argument, ...]: one step of scripted_server.py

pytestmark = pytest.mark.anyio
posix = pytest.mark.skipif(sys.platform == "win32", reason="Windows has neither signals nor process groups")


# The world of a test


class Server:
    """A client and what its server has noted, over all its starts."""

    def __init__(self, client: StdioClient, journal: Path) -> None:
        self.client = client
        self.journal = journal

    def events(self) -> list[JSONObject]:
        lines = self.journal.read_text().splitlines() if self.journal.exists() else []
        return [json.loads(line) for line in lines]

    def noted(self, kind: str) -> list[Any]:
        return [event[kind] for event in self.events() if kind in event]

    def received(self) -> list[JSONObject]:
        return [json.loads(line) for line in self.noted("got")]

    def running(self) -> list[int]:
        return [pid for pid in self.noted("pid") if is_running(pid)]


def is_running(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE  # a zombie waits only for its parent
    except psutil.NoSuchProcess:
        return False


def command(journal: Path, steps: Sequence[Step]) -> list[str]:
    return [sys.executable, "-IS", str(SCRIPTED_SERVER), json.dumps(steps), str(journal)]


@asynccontextmanager
async def opened(folder: Path, *steps: Step, start: bool = True, **options: Any) -> AsyncIterator[Server]:
    """A server that plays these steps; after the body it is closed, and then nothing of it runs any more."""
    journal = folder / "journal"
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            server = Server(StdioClient(command(journal, steps), tasks, **options), journal)
            try:
                if start:
                    await server.client.start()
                yield server
            finally:
                await server.client.close()
        await until(lambda: not server.running())
    assert server.client._pending == {}
    assert server.noted("unexpected") == []


async def until(condition: Callable[[], bool]) -> None:
    """Wait for what another process does; the kernel has no event for it that all systems share."""
    while not condition():
        await anyio.sleep(0.005)


@pytest.fixture
def short_exit(monkeypatch: pytest.MonkeyPatch) -> float:
    """The seconds that close() gives a server after each of its steps."""
    monkeypatch.setattr(stdio_client, "EXIT_SECONDS", 0.1)
    return 0.1


class Stopwatch:
    def __init__(self) -> None:
        self.start = anyio.current_time()

    @property
    def seconds(self) -> float:
        return anyio.current_time() - self.start


async def failure_of(request: Any) -> McpError:
    with pytest.raises(McpError) as raised:
        await request
    return raised.value


async def all_failures(client: StdioClient, count: int) -> list[McpError]:
    """Ask so many things at the same time; the errors that come of it."""
    errors: list[McpError] = []

    async def ask(number: int) -> None:
        errors.append(await failure_of(client.request(f"question/{number}")))

    async with anyio.create_task_group() as tasks:
        for number in range(count):
            tasks.start_soon(ask, number)
    return errors


# One request, one answer


async def test_a_request_carries_its_method_its_params_and_the_meta_keys(tmp_path: Path) -> None:
    async with opened(tmp_path, ["serve"]) as server:
        await server.client.request("tools/call", {"name": "search", "arguments": {"query": "登录"}})
        await server.client.request("server/discover")
    first, second = server.received()
    meta = first["params"].pop("_meta")
    assert first.pop("id") != second.pop("id")
    params = {"name": "search", "arguments": {"query": "登录"}}
    assert first == {"jsonrpc": "2.0", "method": "tools/call", "params": params}
    assert second == {"jsonrpc": "2.0", "method": "server/discover", "params": {"_meta": meta}}
    assert meta == {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": CLIENT_INFO,
        "io.modelcontextprotocol/clientCapabilities": {},
    }


async def test_a_notification_has_no_id_and_waits_for_nothing(tmp_path: Path) -> None:
    async with opened(tmp_path, ["read"]) as server:
        await server.client.notify("notifications/cancelled", {"requestId": 7})
    params = {"requestId": 7}
    assert server.received() == [{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}]


RESULTS: list[tuple[str, JSONObject]] = [
    ("the modern form", {"resultType": "complete", "tools": []}),
    ("an older server sends no resultType", {"tools": []}),
    ("nothing in it", {}),
    ("members we do not know", {"resultType": "complete", "ttlMs": 5, "x": None}),
]


@pytest.mark.parametrize("result", [row[1] for row in RESULTS], ids=[row[0] for row in RESULTS])
async def test_a_finished_result_is_returned_as_it_came(tmp_path: Path, result: JSONObject) -> None:
    async with opened(tmp_path, ["read"], ["answer", {"result": result}]) as server:
        assert await server.client.request("tools/list") == result


async def test_an_error_is_raised_at_once_with_its_code_its_message_and_its_data(tmp_path: Path) -> None:
    error = {"code": -32022, "message": "unsupported version", "data": {"supported": ["2025-11-25"]}}
    async with opened(tmp_path, ["read"], ["answer", {"error": error}]) as server:
        watch = Stopwatch()
        with pytest.raises(RpcError) as raised:
            await server.client.request("server/discover")
        assert watch.seconds < PROMPT
    assert (raised.value.code, raised.value.message, raised.value.data) == tuple(error.values())
    assert str(raised.value) == "unsupported version (error -32022)"


NO_DATA: list[tuple[str, Any, int, str]] = [
    ("data is optional", {"code": -32602, "message": "unknown tool"}, -32602, "unknown tool"),
    ("no code", {"message": "it broke"}, 0, "it broke"),
    ("no message", {"code": -32603}, -32603, "no message"),
    ("a text", "it broke", 0, "malformed error: 'it broke'"),
    ("null", None, 0, "malformed error: None"),
    ("a list", [1, 2], 0, "malformed error: [1, 2]"),
]


@pytest.mark.parametrize("error, code, words", [row[1:] for row in NO_DATA], ids=[row[0] for row in NO_DATA])
async def test_an_error_of_any_shape_is_raised_at_once(tmp_path: Path, error: Any, code: int, words: str) -> None:
    async with opened(tmp_path, ["read"], ["answer", {"error": error}]) as server:
        watch = Stopwatch()
        raised = await failure_of(server.client.request("tools/call"))
        assert watch.seconds < PROMPT
    assert isinstance(raised, RpcError)
    assert (raised.code, raised.data) == (code, None)
    assert words in str(raised)


MALFORMED: list[tuple[str, JSONObject, str]] = [
    ("both", {"result": {}, "error": {"code": 1, "message": "x"}}, "either a result or an error"),
    ("neither", {}, "either a result or an error"),
    ("a null error beside the result", {"result": {}, "error": None}, "either a result or an error"),
    ("the result is null", {"result": None}, "not an object"),
    ("the result is a list", {"result": [1]}, "not an object"),
    ("the result is a text", {"result": "x" * 5000}, "not an object"),
    ("we cannot give more input", {"result": {"resultType": "input_required", "content": []}}, "'input_required'"),
    ("a type of the future", {"result": {"resultType": "task"}}, "'task'"),
    ("a type that is no text", {"result": {"resultType": 1}}, "cannot go on"),
    ("a type that is null", {"result": {"resultType": None}}, "cannot go on"),
    ("a type of 5000 characters", {"result": {"resultType": "x" * 5000}}, "cannot go on"),
]


@pytest.mark.parametrize("members, words", [row[1:] for row in MALFORMED], ids=[row[0] for row in MALFORMED])
async def test_a_malformed_answer_fails_its_own_request_at_once(
    tmp_path: Path, members: JSONObject, words: str
) -> None:
    async with opened(tmp_path, ["read"], ["answer", members], ["serve"]) as server:
        watch = Stopwatch()
        raised = await failure_of(server.client.request("tools/call"))
        assert watch.seconds < PROMPT
        assert isinstance(raised, InvalidMessage)
        assert words in str(raised)
        assert len(str(raised)) < 300
        assert await server.client.request("the/next")


async def test_an_error_without_an_id_is_for_the_only_request_there_is(tmp_path: Path) -> None:
    line = '{"jsonrpc": "2.0", "id": null, "error": {"code": -32700, "message": "cannot read it"}}\n'
    async with opened(tmp_path, ["read"], ["say", line]) as server:
        watch = Stopwatch()
        raised = await failure_of(server.client.request("tools/call"))
        assert watch.seconds < PROMPT
    assert isinstance(raised, RpcError) and raised.code == -32700


async def test_an_error_without_an_id_is_for_nobody_when_two_requests_wait(tmp_path: Path) -> None:
    line = '{"jsonrpc": "2.0", "error": {"code": -32700, "message": "cannot read it"}}\n'
    async with (
        opened(tmp_path, ["read", 2], ["say", line], ["answer_reversed"]) as server,
        anyio.create_task_group() as both,
    ):
        both.start_soon(server.client.request, "one")
        both.start_soon(server.client.request, "two")


def list_in_itself() -> list[Any]:
    loop: list[Any] = []
    loop.append(loop)
    return loop


def list_in_lists(depth: int) -> list[Any]:
    inner: list[Any] = []
    for _ in range(depth):
        inner = [inner]
    return inner


UNSENDABLE: list[tuple[str, Any]] = [
    ("NaN", math.nan),
    ("infinity", -math.inf),
    ("a set", {1, 2}),
    ("bytes", b"x"),
    ("an object", object()),
    ("a key that is no text", {(1, 2): 3}),
    ("a list in itself", list_in_itself()),
    ("lists in lists, deeper than the encoder goes", list_in_lists(100_000)),
]


@pytest.mark.parametrize("value", [row[1] for row in UNSENDABLE], ids=[row[0] for row in UNSENDABLE])
async def test_arguments_that_are_no_json_are_refused_before_anything_leaves(tmp_path: Path, value: Any) -> None:
    async with opened(tmp_path, ["serve"]) as server:
        with pytest.raises(InvalidMessage, match="cannot be sent as JSON"):
            await server.client.request("tools/call", {"arguments": {"value": value}})
        assert server.client._pending == {}
        assert await server.client.request("the/next")
    assert [message["method"] for message in server.received()] == ["the/next"]


async def test_every_text_survives_the_way_there_and_back(tmp_path: Path) -> None:
    texts = ["登录", "🙂", "\u2028 and \u2029 and \u0085", "a\nb\r\nc", '"\\', "\x00", "\ud83d alone", "\ufeff"]
    async with opened(tmp_path, ["serve"]) as server:
        result = await server.client.request("tools/call", {"texts": texts})
    assert result["echo"]["texts"] == texts


# Lines that are for nobody


SKIPPED: list[tuple[Any, ...]] = [  # what it is, and the parts it is said in
    ("a banner", "Server listening on stdio"),
    ("a blank line", ""),
    ("a blank line of another system", "\r"),
    ("a byte order mark alone", "\ufeff"),
    ("bytes that are not UTF-8", '{"jsonrpc": "2.0", "id": $ID, "result": {"text": "\udcff\udcfe"}}'),
    ("a message that breaks off", '{"jsonrpc": "2.0", "id": $ID, "result": {'),
    ("two messages on one line", '{"id": $ID, "result": {}}{"id": $ID, "result": {}}'),
    ("a number", "42"),
    ("a text", '"ready"'),
    ("null", "null"),
    ("an array", "[]"),
    ("a batch", '[{"jsonrpc": "2.0", "id": $ID, "result": {}}]'),
    ("an object that is no message", '{"level": "info", "msg": "ready"}'),
    ("a log entry of an error", '{"level": "error", "error": "the cache is cold"}'),
    ("a log entry of an error with a code", '{"level": "error", "error": {"code": 1, "message": "the cache is cold"}}'),
    ("a log entry of a result", '{"level": "info", "result": {"n": 1}}'),
    ("deeper than the decoder goes", '{"id": $ID, "result": ', ["[", 100_000], ["]", 100_000], "}"),
    ("a number longer than Python reads", '{"jsonrpc": "2.0", "id": $ID, "result": {"n": ' + "9" * 5000 + "}}"),
    ("an id never given out", '{"jsonrpc": "2.0", "id": 999, "result": {}}'),
    ("an id that is a text", '{"jsonrpc": "2.0", "id": "$ID", "result": {}}'),
    ("an id that is true, which Python takes for 1", '{"jsonrpc": "2.0", "id": true, "result": {}}'),
    ("an id that is a float", '{"jsonrpc": "2.0", "id": 1.0, "result": {}}'),
    ("an id that is a list", '{"jsonrpc": "2.0", "id": [1], "result": {}}'),
    ("an id that is an object", '{"jsonrpc": "2.0", "id": {}, "result": {}}'),
    ("an id that is null", '{"jsonrpc": "2.0", "id": null, "result": {}}'),
    ("no id", '{"jsonrpc": "2.0", "result": {}}'),
    ("an error with an id that is a list", '{"id": [1], "error": {"code": 1, "message": "x"}}'),
    ("a notification", '{"jsonrpc": "2.0", "method": "notifications/progress", "params": {}}'),
    ("a method that is no text", '{"jsonrpc": "2.0", "method": [], "params": null}'),
]


@pytest.mark.parametrize("parts", [row[1:] for row in SKIPPED], ids=[row[0] for row in SKIPPED])
async def test_a_line_that_is_no_answer_to_us_is_passed_over(tmp_path: Path, parts: tuple[Any, ...]) -> None:
    async with opened(tmp_path, ["read"], ["say", *parts, "\n"], ["answer", {"result": {"right": 1}}]) as server:
        assert await server.client.request("tools/list") == {"right": 1}


READ: list[tuple[str, str]] = [
    ("ended by CR LF", '{"jsonrpc": "2.0", "id": $ID, "result": {"text": "é"}}\r\n'),
    ("after a byte order mark", '\ufeff{"jsonrpc": "2.0", "id": $ID, "result": {"text": "é"}}\n'),
    ("spaces around it", '  {"jsonrpc": "2.0", "id": $ID, "result": {"text": "é"}}  \n'),
    ("members in another order, and one too many", '{"result": {"text": "é"}, "x": 1, "id": $ID, "jsonrpc": "2.0"}\n'),
    ("after a blank and a banner in the same write", '\n\nready\n{"id": $ID, "result": {"text": "é"}}\n'),
]


@pytest.mark.parametrize("line", [row[1] for row in READ], ids=[row[0] for row in READ])
async def test_an_answer_is_read_whatever_surrounds_it(tmp_path: Path, line: str) -> None:
    async with opened(tmp_path, ["read"], ["say", line]) as server:
        assert await server.client.request("tools/list") == {"text": "é"}


async def test_only_a_newline_ends_a_line(tmp_path: Path) -> None:
    text = "a\u2028b\u2029c\u0085d\x7fe"
    line = json.dumps({"id": 1, "result": {"text": text}}, ensure_ascii=False)
    async with opened(tmp_path, ["read"], ["say", line + "\n"]) as server:
        assert await server.client.request("tools/list") == {"text": text}


@pytest.mark.parametrize("cut", [1, 2, 3], ids="after {} of its 4 bytes".format)
async def test_a_character_may_be_split_over_two_writes(tmp_path: Path, cut: int) -> None:
    """The notification comes in the same write as the first half: when it is heard, the half has been read."""
    character = "🙂".encode()
    halves = [part.decode("ascii", "surrogateescape") for part in (character[:cut], character[cut:])]
    heard = anyio.Event()
    steps: list[Step] = [
        ["expect", "question"],
        ["say", '{"method": "half/way"}\n', '{"id": $ID, "result": {"text": "', halves[0]],
        ["expect", "go/on"],
        ["say", halves[1], '"}}\n'],
    ]
    async with opened(tmp_path, *steps, on_notification=lambda _: heard.set()) as server:

        async def go_on() -> None:
            await heard.wait()
            await server.client.notify("go/on")

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(go_on)
            assert await server.client.request("question") == {"text": "🙂"}


async def test_an_answer_of_five_megabytes_arrives_whole(tmp_path: Path) -> None:
    async with opened(tmp_path, ["read"], ["answer_size", 5_000_000], ["serve"]) as server:
        result = await server.client.request("tools/call")
        assert result["text"] == "x" * 5_000_000
        assert await server.client.request("the/next")


async def test_a_line_that_is_too_long_ends_that_server_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stdio_client, "MAX_LINE_BYTES", 100_000)
    (tmp_path / "other").mkdir()
    async with (
        opened(tmp_path / "other", ["serve"]) as other,
        opened(tmp_path, ["read"], ["say", ["x", 300_000]]) as server,
    ):
        watch = Stopwatch()
        raised = await failure_of(server.client.request("tools/call"))
        assert watch.seconds < PROMPT
        assert isinstance(raised, ServerDown)
        assert "a line of more than 100000 bytes" in str(raised)
        assert await other.client.request("still/there")


async def test_a_line_just_under_the_bound_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stdio_client, "MAX_LINE_BYTES", 300_000)
    async with opened(tmp_path, ["read"], ["answer_size", 299_000], ["read"], ["answer_size", 299_000]) as server:
        for _ in range(2):  # the bound is one line's, not the connection's
            assert len((await server.client.request("tools/call"))["text"]) == 299_000


# Many requests


async def test_64_answers_in_reverse_order_each_find_their_request(tmp_path: Path) -> None:
    """The server reads all 64 before it answers one, so all wait at the same time; 64 x 10 KB fill the pipe."""
    arrived: list[int] = []
    heard: list[JSONObject] = []
    async with opened(tmp_path, ["read", 64], ["answer_reversed"], on_notification=heard.append) as server:

        async def ask(number: int) -> None:
            params = {"number": number, "padding": f"{number}" * 5000}
            result = await server.client.request("tools/call", params)
            assert result["echo"].items() >= params.items()
            arrived.append(number)

        async with anyio.create_task_group() as tasks:
            for number in range(64):
                tasks.start_soon(ask, number)
    sent = [message["params"]["number"] for message in server.received()]
    assert sorted(sent) == list(range(64))
    assert arrived == sent[::-1]
    assert len({message["id"] for message in server.received()}) == 64
    assert len(heard) == 64


async def test_a_second_answer_to_the_same_request_changes_nothing(tmp_path: Path) -> None:
    first = ["answer", {"result": {"first": 1}}]
    second = ["answer", {"error": {"code": 1, "message": "second"}}]
    async with opened(tmp_path, ["read"], first, second, ["read"], [*second, 0], first) as server:
        assert await server.client.request("one") == {"first": 1}
        assert await server.client.request("two") == {"first": 1}


async def test_the_client_writes_no_response_even_to_a_server_that_asks(tmp_path: Path) -> None:
    heard: list[JSONObject] = []
    asks = '{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n{"jsonrpc": "2.0", "id": "a", "method": "roots/list"}\n'
    async with opened(
        tmp_path, ["read"], ["say", asks], ["answer", {"result": {}}], on_notification=heard.append
    ) as server:
        await server.client.request("one")
    assert [message["method"] for message in server.received()] == ["one"]
    assert [message["method"] for message in heard] == ["ping", "roots/list"]


async def test_on_notification_hears_every_notification_in_order(tmp_path: Path) -> None:
    heard: list[JSONObject] = []
    lines = [{"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": n}} for n in range(3)]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    async with opened(
        tmp_path, ["read"], ["say", text], ["answer", {"result": {}}], on_notification=heard.append
    ) as server:
        await server.client.request("one")
    assert heard == lines


async def test_an_exception_in_on_notification_reaches_the_owner_of_the_task_group(tmp_path: Path) -> None:
    """It is the host's own mistake, so it is not hidden; but no request hangs on it, and no process stays."""

    def broken(_: JSONObject) -> None:
        raise KeyError("a mistake in the host")

    failures: list[McpError] = []
    steps: list[Step] = [["read"], ["say", '{"jsonrpc": "2.0", "method": "notifications/progress"}\n']]
    with pytest.RaisesGroup(KeyError, flatten_subgroups=True):
        async with opened(tmp_path, *steps, on_notification=broken) as server:
            with anyio.CancelScope(shield=True):  # the task group is being cancelled around us
                failures.append(await failure_of(server.client.request("one")))
    assert isinstance(failures[0], ServerDown)


# Deadlines


async def test_the_deadline_is_the_clients_unless_the_request_has_its_own(tmp_path: Path) -> None:
    async with opened(tmp_path, timeout=SHORT) as server:
        for own, seconds in [(None, SHORT), (2 * SHORT, 2 * SHORT)]:
            watch = Stopwatch()
            with pytest.raises(RequestTimeout) as raised:
                await server.client.request("tools/call", timeout=own)
            assert seconds <= watch.seconds < PROMPT
            assert (raised.value.method, raised.value.seconds) == ("tools/call", seconds)
            assert str(raised.value) == f"no answer to tools/call within {seconds} s"
            assert not hasattr(raised.value, "code")  # it must not look like the peer's error


async def test_a_request_with_a_long_deadline_of_its_own_outlives_the_clients(tmp_path: Path) -> None:
    """The patient one is answered only after the deadline of the other, which was sent later, has passed."""
    steps: list[Step] = [["expect", "patient"], ["expect", "hasty"], ["expect", "notifications/cancelled"]]
    async with opened(tmp_path, *steps, ["answer", {"result": {"done": 1}}, 0], timeout=SHORT) as server:
        results: list[JSONObject] = []

        async def patient() -> None:
            results.append(await server.client.request("patient", timeout=PATIENCE))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(patient)
            await anyio.wait_all_tasks_blocked()
            assert isinstance(await failure_of(server.client.request("hasty")), RequestTimeout)
        assert results == [{"done": 1}]


async def test_a_timeout_is_told_to_the_server_once_with_the_id_of_the_request(tmp_path: Path) -> None:
    async with opened(tmp_path) as server:
        assert isinstance(await failure_of(server.client.request("slow", timeout=SHORT)), RequestTimeout)
    request, notice = server.received()  # and nothing is sent a second time
    assert notice.keys() == {"jsonrpc", "method", "params"}
    assert notice["method"] == "notifications/cancelled"
    assert notice["params"] == {"requestId": request["id"]}


async def test_a_request_that_its_caller_cancels_is_told_to_the_server_too(tmp_path: Path) -> None:
    async with opened(tmp_path) as server:
        with anyio.move_on_after(SHORT) as scope:
            await server.client.request("slow")
        assert scope.cancelled_caught
    request, notice = server.received()
    assert (notice["method"], notice["params"]) == ("notifications/cancelled", {"requestId": request["id"]})


async def test_a_request_that_was_cancelled_before_it_was_sent_is_not_told(tmp_path: Path) -> None:
    """The server would hear of an id that it has never seen."""
    async with opened(tmp_path) as server:
        with anyio.CancelScope() as scope:
            scope.cancel()
            await server.client.request("never sent")
        assert scope.cancelled_caught
    assert server.received() == []


@posix
async def test_a_request_that_waited_behind_a_stuck_one_is_not_told_either(tmp_path: Path) -> None:
    async with opened(tmp_path, ["read"], ["wait_for_signal"], ["serve"]) as server:
        pid = (await server.client.request("who are you"))["pid"]
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(server.client.request, "big", {"text": "x" * 1_000_000})
            await anyio.wait_all_tasks_blocked()
            assert isinstance(await failure_of(server.client.request("small", timeout=SHORT)), RequestTimeout)
            os.kill(pid, signal.SIGUSR1)
    assert [message["method"] for message in server.received()] == ["who are you", "big"]


async def test_a_request_that_is_answered_while_it_is_cancelled_is_not_told(tmp_path: Path) -> None:
    async with opened(tmp_path, ["expect", "quick"], ["answer", {"result": {}}], ["serve"]) as server:
        scope = anyio.CancelScope()
        take = server.client._take_waiter

        def take_and_cancel(message: JSONObject) -> Any:
            scope.cancel()
            return take(message)

        server.client._take_waiter = take_and_cancel  # type: ignore[method-assign]
        with scope:
            await server.client.request("quick")
        assert scope.cancelled_caught
    assert [message["method"] for message in server.received()] == ["quick"]


async def test_a_timeout_stays_a_timeout_when_the_server_cannot_be_told(
    tmp_path: Path, short_exit: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stdio_client, "NOTICE_SECONDS", PROMPT)  # time enough to see the pipe break
    async with opened(tmp_path, ["read"], ["close_stdin"], ["hang"]) as server:
        raised = await failure_of(server.client.request("slow", timeout=4 * SHORT))
    assert isinstance(raised, RequestTimeout)


LATE = [{"result": {"late": 1}}, {"error": {"code": 1, "message": "late"}}, {"result": None}, {}]


@pytest.mark.parametrize("late", LATE, ids=["a result", "an error", "a bad result", "nothing in it"])
async def test_a_late_answer_is_for_nobody(tmp_path: Path, late: JSONObject) -> None:
    steps: list[Step] = [["expect", "slow"], ["expect", "notifications/cancelled"], ["answer", late]]
    async with opened(
        tmp_path, *steps, ["expect", "next"], ["answer", late, 0], ["answer", {"result": {"right": 1}}]
    ) as server:
        assert isinstance(await failure_of(server.client.request("slow", timeout=SHORT)), RequestTimeout)
        assert await server.client.request("next") == {"right": 1}


async def test_the_deadline_holds_when_the_server_does_not_read(tmp_path: Path, short_exit: float) -> None:
    """A megabyte is more than any pipe takes, so the request is stuck in the writing, and so is its notice."""
    async with opened(tmp_path, ["hang"]) as server:
        watch = Stopwatch()
        raised = await failure_of(server.client.request("big", {"text": "x" * 1_000_000}, timeout=SHORT))
        assert isinstance(raised, RequestTimeout)
        raised = await failure_of(server.client.request("small", timeout=SHORT))
        assert isinstance(raised, RequestTimeout)
        assert watch.seconds < PROMPT


@posix
async def test_a_request_given_up_in_a_full_pipe_leaves_no_half_line(tmp_path: Path) -> None:
    async with opened(tmp_path, ["read"], ["wait_for_signal"], ["serve"]) as server:
        pid = (await server.client.request("who are you"))["pid"]
        text = "x" * 1_000_000
        raised = await failure_of(server.client.request("big", {"text": text}, timeout=SHORT))
        assert isinstance(raised, RequestTimeout)
        os.kill(pid, signal.SIGUSR1)
        assert (await server.client.request("small", {"n": 1}))["echo"]["n"] == 1
    methods = [message["method"] for message in server.received()]
    assert [method for method in methods if method != "notifications/cancelled"] == ["who are you", "big", "small"]
    assert server.received()[1]["params"]["text"] == text


# The server's end


@pytest.mark.parametrize("count", [1, 5])
async def test_a_death_fails_all_pending_requests_at_once_with_code_and_last_words(tmp_path: Path, count: int) -> None:
    async with opened(tmp_path, ["read", count], ["complain", "the disk is full\n"], ["leave", 7]) as server:
        watch = Stopwatch()
        errors = await all_failures(server.client, count)
        assert watch.seconds < PROMPT
        assert len(errors) == count
        for error in errors:
            assert isinstance(error, ServerDown)
            assert "exited with code 7" in str(error) and "the disk is full" in str(error)
        after = await failure_of(server.client.request("afterwards"))
        assert isinstance(after, ServerDown) and str(after) == str(errors[0])
        assert watch.seconds < PROMPT


async def test_a_death_before_the_first_request_is_told_with_code_and_last_words(tmp_path: Path) -> None:
    async with opened(tmp_path, ["complain", "no config file"], ["leave", 78]) as server:
        raised = await failure_of(server.client.request("server/discover"))
        assert isinstance(raised, ServerDown)
        assert "exited with code 78" in str(raised) and "no config file" in str(raised)


@posix
async def test_a_death_by_a_signal_is_a_death(tmp_path: Path) -> None:
    async with opened(tmp_path, ["read"], ["wait_for_signal"], ["read"]) as server:
        pid = (await server.client.request("who are you"))["pid"]
        os.kill(pid, signal.SIGKILL)
        raised = await failure_of(server.client.request("tools/call"))
        assert isinstance(raised, ServerDown) and "exited with code -9" in str(raised)


async def test_the_last_answer_of_a_dying_server_is_still_delivered(tmp_path: Path) -> None:
    async with opened(tmp_path, ["read"], ["answer_size", 200_000], ["leave", 1]) as server:
        assert len((await server.client.request("tools/call"))["text"]) == 200_000


async def test_an_output_that_ends_is_the_end_although_the_process_lives(tmp_path: Path) -> None:
    async with opened(tmp_path, ["read"], ["close_stdout"]) as server:
        watch = Stopwatch()
        raised = await failure_of(server.client.request("tools/call"))
        assert watch.seconds < PROMPT
        assert isinstance(raised, ServerDown) and "has closed its" in str(raised)
        assert isinstance(await failure_of(server.client.request("afterwards")), ServerDown)
        assert server.running()


DEPTHS = range(880, 1000)


async def called_from(depth: int, client: StdioClient) -> JSONObject:
    """The answer to a request made by a caller with so many frames above it."""
    return await (called_from(depth - 1, client) if depth else client.request("tools/call"))


@pytest.mark.parametrize("place", ["error", "result", "resultType"])
async def test_an_answer_as_deep_as_the_decoder_goes_fails_its_own_request_only(tmp_path: Path, place: str) -> None:
    """Somewhere between these depths `json.loads` gives up, and a caller deep in its own stack has less room."""
    before = {
        "error": '{"id": $ID, "error": ',
        "result": '{"id": $ID, "result": ',
        "resultType": '{"id": $ID, "result": {"resultType": ',
    }[place]
    after = "}" * before.count("{") + "\n"
    steps: list[Step] = []
    for depth in DEPTHS:
        steps += [["read"], ["say", before, ["[", depth], ["]", depth], after], ["answer", {"result": {"skipped": 1}}]]
    outcomes: list[Any] = []
    async with opened(tmp_path, *steps) as server:
        for _ in DEPTHS:
            try:
                outcomes.append(await called_from(30, server.client))
            except (RpcError, InvalidMessage) as error:
                outcomes.append(error)
    assert isinstance(outcomes[0], McpError)


@posix
@pytest.mark.parametrize("before", [[], [["grandchild", "output"]]], ids=["alone", "a grandchild holds the output"])
async def test_a_request_stuck_in_a_full_pipe_fails_when_the_server_dies(tmp_path: Path, before: list[Step]) -> None:
    steps = [*before, ["read"], ["wait_for_signal"], ["complain", "aargh"], ["leave", 5]]
    async with opened(tmp_path, *steps) as server:
        pid = (await server.client.request("who are you"))["pid"]

        async def end() -> None:
            await anyio.wait_all_tasks_blocked()
            os.kill(pid, signal.SIGUSR1)

        watch = Stopwatch()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(end)
            raised = await failure_of(server.client.request("big", {"text": "x" * 1_000_000}))
        assert watch.seconds < PROMPT
    assert isinstance(raised, ServerDown)
    assert "exited with code 5" in str(raised) and "aargh" in str(raised)


async def test_a_server_that_has_closed_its_input_can_be_started_again(tmp_path: Path, short_exit: float) -> None:
    async with opened(tmp_path, ["read"], ["close_stdin"], ["answer", {"result": {}}], ["hang"]) as server:
        await server.client.request("one")
        assert isinstance(await failure_of(server.client.request("two")), ServerDown)
        await server.client.start()
        await server.client.request("three")


async def test_an_input_that_is_closed_is_told_as_such(tmp_path: Path, short_exit: float) -> None:
    async with opened(tmp_path, ["read"], ["close_stdin"], ["answer", {"result": {}}], ["hang"]) as server:
        await server.client.request("one")
        watch = Stopwatch()
        raised = await failure_of(server.client.request("two"))
        assert watch.seconds < PROMPT
        assert isinstance(raised, ServerDown)
        assert "output" not in str(raised)


async def test_an_input_that_is_closed_fails_all_that_still_wait(tmp_path: Path, short_exit: float) -> None:
    closed = anyio.Event()
    steps: list[Step] = [["read"], ["close_stdin"], ["say", '{"method": "input/closed"}\n'], ["hang"]]
    async with opened(tmp_path, *steps, on_notification=lambda _: closed.set()) as server:
        errors: list[McpError] = []

        async def ask() -> None:
            errors.append(await failure_of(server.client.request("one")))

        watch = Stopwatch()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            await closed.wait()
            errors.append(await failure_of(server.client.request("two")))
        assert watch.seconds < PROMPT
    assert [type(error) for error in errors] == [ServerDown, ServerDown]


async def test_a_crash_is_noticed_while_a_grandchild_holds_the_output(tmp_path: Path) -> None:
    steps: list[Step] = [["read", 3], ["grandchild"], ["complain", "aargh"], ["leave_now", 3]]
    async with opened(tmp_path, *steps) as server:
        seconds: list[float] = []
        for _ in range(TRIES):
            await server.client.start()
            errors = await all_failures(server.client, 3)
            seconds.append(time.time() - server.noted("time")[-1])
            assert len(errors) == 3
            for error in errors:
                assert isinstance(error, ServerDown)
                assert "exited with code 3" in str(error) and "aargh" in str(error)
            assert len(server.running()) == 1  # the grandchild; the next start ends it, and at last close()
            if seconds[-1] <= NOTICED:
                break
        assert min(seconds) <= NOTICED


async def test_a_megabyte_on_stderr_before_the_first_answer_blocks_nobody(tmp_path: Path) -> None:
    async with opened(tmp_path, ["complain", "ready\n", 1_000_000], ["serve"]) as server:
        watch = Stopwatch()
        await server.client.request("server/discover")
        assert watch.seconds < PROMPT


async def test_stderr_is_read_from_the_first_moment_to_the_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At each time more than a pipe holds: a server that nobody reads would hang there, and not exit by itself."""
    monkeypatch.setattr(stdio_client, "EXIT_SECONDS", PATIENCE)
    flood = ["complain", "still here\n", 300_000]
    async with opened(
        tmp_path, flood, ["read"], flood, ["answer", {"result": {}}], ["serve"], flood, ["leave", 0]
    ) as server:
        await server.client.request("one")
        await server.client.request("two")
        process = server.client._process
        await server.client.close()
        assert process is not None and process.returncode == 0


async def test_only_the_last_words_are_kept(tmp_path: Path) -> None:
    async with opened(tmp_path, ["read"], ["complain", "the end\n", 1_000_000], ["leave", 1]) as server:
        raised = await failure_of(server.client.request("tools/call"))
    assert str(raised).endswith("the end")
    assert len(str(raised)) < stdio_client.LAST_WORDS_BYTES + 200


async def test_stray_lines_of_output_are_among_the_last_words_and_stay_apart(tmp_path: Path) -> None:
    async with opened(tmp_path, ["read"], ["say", "cannot open\nthe database\n\udcff\n"], ["leave", 1]) as server:
        raised = await failure_of(server.client.request("tools/call"))
    assert "cannot open\nthe database" in str(raised)


async def test_what_a_server_has_logged_to_its_output_in_json_is_among_the_last_words(tmp_path: Path) -> None:
    """As its only request waits, the entry could be taken for an error whose id is missing."""
    logged = '{"level": "fatal", "error": "cannot open the database"}'
    async with opened(tmp_path, ["read"], ["say", logged, "\n"], ["leave", 1]) as server:
        raised = await failure_of(server.client.request("tools/call"))
    assert isinstance(raised, ServerDown)
    assert "exited with code 1" in str(raised) and logged in str(raised)


async def test_a_dead_server_can_be_started_again(tmp_path: Path) -> None:
    async with opened(
        tmp_path, ["read"], ["answer", {"result": {"n": 1}}], ["complain", "aargh"], ["leave", 1]
    ) as server:
        for _ in range(3):
            await server.client.start()
            assert await server.client.request("tools/call") == {"n": 1}
            raised = await failure_of(server.client.request("tools/call"))
            assert str(raised).count("aargh") == 1
    assert len(server.noted("pid")) == 3
    ids = [message["id"] for message in server.received()]
    assert len(set(ids)) == len(ids)  # an old answer cannot be taken for a new one


async def test_a_silent_server_that_lost_its_output_is_ended_by_the_next_start(tmp_path: Path) -> None:
    async with opened(tmp_path, ["read"], ["close_stdout"]) as server:
        await failure_of(server.client.request("tools/call"))
        await server.client.start()
        await until(lambda: len(server.noted("pid")) == 2)
        first, second = server.noted("pid")
        assert not is_running(first) and is_running(second)


async def test_a_running_server_is_left_alone_by_start(tmp_path: Path) -> None:
    async with opened(tmp_path, ["serve"]) as server:
        await server.client.start()
        await server.client.request("tools/call")
    assert len(server.noted("pid")) == 1


async def test_two_starts_at_the_same_time_start_one_process(tmp_path: Path) -> None:
    async with opened(tmp_path, ["serve"], start=False) as server:
        with anyio.fail_after(PROMPT):
            async with anyio.create_task_group() as both:
                both.start_soon(server.client.start)
                both.start_soon(server.client.start)
            await server.client.request("tools/call")
            await server.client.close()
            assert server.running() == []
    assert len(server.noted("pid")) == 1


# Starting


@pytest.mark.parametrize(
    "env, expected",
    [({"ONLY": "this", "UMLAUT": "ä"}, {"ONLY": "this", "UMLAUT": "ä"}), ({}, {})],
    ids=["two variables", "none at all"],
)
async def test_the_environment_is_passed_as_it_is(
    tmp_path: Path, env: dict[str, str], expected: dict[str, str]
) -> None:
    async with opened(tmp_path, ["read"], ["answer_surroundings"], env=env) as server:
        got = (await server.client.request("tools/call"))["env"]
    got.pop("LC_CTYPE", None)  # Python itself sets it in the C locale
    got.pop("__CF_USER_TEXT_ENCODING", None)  # and macOS this
    assert got == expected


async def test_without_an_environment_the_server_has_ours_and_starts_where_it_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MARK", "ours")
    folder = tmp_path / "a folder [1] 中文"
    folder.mkdir()
    async with opened(tmp_path, ["read"], ["answer_surroundings"], cwd=str(folder)) as server:
        got = await server.client.request("tools/call")
    assert got["env"]["MARK"] == "ours"
    assert Path(got["cwd"]).resolve() == folder.resolve()


async def test_arguments_reach_the_server_without_a_shell_between(tmp_path: Path) -> None:
    async with opened(tmp_path, ["read"], ["answer_surroundings"], start=False) as server:
        server.client.command += ["$HOME", "a b", "*", "'\"", "", "中文"]
        await server.client.start()
        got = await server.client.request("tools/call")
    assert got["argv"][3:] == ["$HOME", "a b", "*", "'\"", "", "中文"]


CANNOT_START: list[tuple[str, list[str], JSONObject, str]] = [
    ("no such program", ["no-such-program-at-all"], {}, "'no-such-program-at-all' cannot be started"),
    ("no such path", ["{folder}/none", "x"], {}, "No such file or directory: '{folder}/none'"),
    ("a folder", ["{folder}"], {}, "'{folder}' cannot be started"),
    ("not executable", ["{folder}/plain"], {}, "'{folder}/plain' cannot be started"),
    ("no program inside", ["{folder}/odd"], {}, "'{folder}/odd' cannot be started"),
    ("no such working directory", [sys.executable], {"cwd": "{folder}/none"}, "directory: '{folder}/none'"),
    ("NUL in the program", ["a\0b"], {}, "null byte"),
    ("NUL in an argument", [sys.executable, "a\0b"], {}, "null byte"),
    ("NUL in the environment", [sys.executable], {"env": {"A": "a\0b"}}, "null byte"),
    ("an illegal variable", [sys.executable], {"env": {"A=B": "c"}}, "illegal environment variable name"),
    ("text that no system takes", [sys.executable, "\ud800"], {}, "cannot be started"),
]


@posix
@pytest.mark.parametrize(
    "command, options, words", [row[1:] for row in CANNOT_START], ids=[row[0] for row in CANNOT_START]
)
async def test_a_server_that_cannot_be_started_is_down_with_a_clear_reason(
    tmp_path: Path, command: list[str], options: JSONObject, words: str
) -> None:
    (tmp_path / "plain").write_text("#!/bin/sh\n")
    (tmp_path / "odd").write_bytes(b"\x00\x01\x02")
    (tmp_path / "odd").chmod(0o700)
    folder = str(tmp_path)
    options = {
        key: value.replace("{folder}", folder) if isinstance(value, str) else value for key, value in options.items()
    }
    async with opened(tmp_path, start=False, **options) as server:
        server.client.command = [part.replace("{folder}", folder) for part in command]
        for _ in range(2):
            raised = await failure_of(server.client.start())
            assert isinstance(raised, ServerDown)
            assert words.replace("{folder}", folder) in str(raised)
            later = await failure_of(server.client.request("tools/call"))
            assert isinstance(later, ServerDown) and str(later) == str(raised)
            await server.client.close()


async def test_a_client_never_started_is_down_and_can_be_closed(tmp_path: Path) -> None:
    async with opened(tmp_path, start=False) as server:
        raised = await failure_of(server.client.request("tools/call"))
        assert isinstance(raised, ServerDown) and "not been started" in str(raised)
        assert isinstance(await failure_of(server.client.notify("x")), ServerDown)


@pytest.mark.parametrize("seconds", [-1, 0, 0.001, 0.005], ids="cancelled after {} s".format)
async def test_a_start_that_is_cancelled_leaves_no_process(tmp_path: Path, seconds: float) -> None:
    async with opened(tmp_path, ["serve"], start=False) as server:
        with anyio.move_on_after(seconds):
            await server.client.start()
            await anyio.sleep_forever()
    # and `opened` has proved it


async def test_a_restart_that_is_cancelled_leaves_no_process(tmp_path: Path, short_exit: float) -> None:
    """The old server must first be closed, and it does not heed the end of its input."""
    async with opened(tmp_path, ["read"], ["close_stdout"], ["hang"]) as server:
        await failure_of(server.client.request("tools/call"))
        with anyio.move_on_after(short_exit / 2):
            await server.client.start()
            await anyio.sleep_forever()


async def test_a_start_in_a_cancelled_task_group_leaves_no_process(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            server = Server(StdioClient(command(journal, (("serve",),)), tasks), journal)
            tasks.cancel_scope.cancel()
            try:
                await server.client.start()
            finally:
                await server.client.close()
        await until(lambda: not server.running())


# Closing


async def test_a_polite_server_exits_at_the_end_of_its_input(tmp_path: Path) -> None:
    async with opened(tmp_path, ["note_term"], ["serve"]) as server:
        await server.client.request("tools/call")
        process = server.client._process
        watch = Stopwatch()
        await server.client.close()
        assert watch.seconds < PROMPT
    assert process is not None and process.returncode == 0
    assert server.noted("eof") == [True]
    assert server.noted("signal") == []


@posix
async def test_a_server_that_stays_after_the_end_of_its_input_gets_sigterm(tmp_path: Path, short_exit: float) -> None:
    async with opened(tmp_path, ["note_term"], ["read"], ["answer", {"result": {}}], ["hang"]) as server:
        await server.client.request("tools/call")
        watch = Stopwatch()
        await server.client.close()
        assert 0.1 <= watch.seconds < PROMPT
    assert server.noted("signal") == ["SIGTERM"]


@posix
async def test_a_server_that_ignores_sigterm_is_killed(tmp_path: Path, short_exit: float) -> None:
    async with opened(tmp_path, ["ignore_term"], ["read"], ["answer", {"result": {}}], ["hang"]) as server:
        await server.client.request("tools/call")
        process = server.client._process
        watch = Stopwatch()
        await server.client.close()
        assert 0.2 <= watch.seconds < PROMPT
    assert process is not None and process.returncode == -signal.SIGKILL


GRANDCHILDREN: list[tuple[str, list[Step]]] = [
    ("the server exits politely", [["grandchild"], ["serve"]]),
    ("and the grandchild ignores TERM", [["stubborn_grandchild"], ["serve"]]),
    ("the server ignores the end of its input", [["grandchild"], ["read"], ["answer", {"result": {}}], ["hang"]]),
    ("both ignore TERM", [["ignore_term"], ["stubborn_grandchild"], ["read"], ["answer", {"result": {}}], ["hang"]]),
]


@posix
@pytest.mark.parametrize("steps", [row[1] for row in GRANDCHILDREN], ids=[row[0] for row in GRANDCHILDREN])
async def test_close_ends_what_the_server_has_started(tmp_path: Path, steps: list[Step], short_exit: float) -> None:
    async with opened(tmp_path, *steps) as server:
        await server.client.request("tools/call")
        assert len(server.running()) == 2
        watch = Stopwatch()
        await server.client.close()
        assert watch.seconds < PROMPT


def launched(command: list[str]) -> list[str]:
    """As `npx` and `uvx` do it: the launcher waits for the server, which has its pipes."""
    return ["/bin/sh", "-c", '"$@"; exit $?', "launcher", *command]


@posix
@pytest.mark.parametrize(
    "steps", [[["serve"]], [["read"], ["answer", {"result": {}}], ["hang"]]], ids=["polite", "deaf"]
)
async def test_close_ends_a_launcher_and_its_server(tmp_path: Path, steps: list[Step], short_exit: float) -> None:
    async with opened(tmp_path, *steps, start=False) as server:
        server.client.command = launched(server.client.command)
        await server.client.start()
        await server.client.request("tools/call")
        launcher = server.client._process
        assert launcher is not None and server.running() not in ([], [launcher.pid])
        await server.client.close()
        assert not is_running(launcher.pid)
        await until(lambda: not server.running())


@posix
async def test_the_death_of_a_launcher_is_the_servers_and_the_next_start_ends_what_it_left(tmp_path: Path) -> None:
    async with opened(tmp_path, ["read"], ["answer", {"result": {}}], start=False) as server:
        server.client.command = launched(server.client.command)
        await server.client.start()
        await server.client.request("one")
        launcher = server.client._process
        assert launcher is not None
        os.kill(launcher.pid, signal.SIGKILL)
        raised = await failure_of(server.client.request("two"))
        assert isinstance(raised, ServerDown) and "exited with code -9" in str(raised)
        [orphan] = server.running()
        await server.client.start()
        await server.client.request("three")
        await until(lambda: not is_running(orphan))


async def test_close_ends_a_server_that_never_stops_talking(tmp_path: Path, short_exit: float) -> None:
    async with opened(tmp_path, ["read"], ["answer", {"result": {}}], ["babble"]) as server:
        await server.client.request("tools/call")
        with anyio.fail_after(10):  # it writes without end, so reading on would have none either
            await server.client.close()


async def test_close_fails_what_still_waits_and_all_that_comes_after(tmp_path: Path) -> None:
    async with opened(tmp_path, ["read", 3]) as server:
        errors: list[McpError] = []

        async def ask() -> None:
            errors.extend(await all_failures(server.client, 3))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            await until(lambda: len(server.received()) == 3)
            await server.client.close()
        assert [type(error) for error in errors] == [ServerDown] * 3
        assert isinstance(await failure_of(server.client.request("afterwards")), ServerDown)


async def test_closing_again_or_twice_at_once_does_nothing(tmp_path: Path) -> None:
    async with opened(tmp_path, ["serve"]) as server:
        async with anyio.create_task_group() as both:
            both.start_soon(server.client.close)
            both.start_soon(server.client.close)
        assert server.running() == []
        await server.client.close()


async def test_a_closed_server_can_be_started_again(tmp_path: Path) -> None:
    async with opened(tmp_path, ["serve"]) as server:
        await server.client.close()
        await server.client.start()
        assert await server.client.request("tools/call")


async def test_a_start_during_a_close_waits_for_it_and_starts_anew(tmp_path: Path, short_exit: float) -> None:
    """The server does not heed the end of its input, so the close is still at work when the start comes."""
    steps: list[Step] = [["note_term"], ["read"], ["answer", {"result": {}}], ["hang"]]
    async with opened(tmp_path, *steps) as server:
        await server.client.request("one")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(server.client.close)
            await until(lambda: server.client._process is None)
            assert len(server.running()) == 1
            watch = Stopwatch()
            await server.client.start()
            await server.client.request("two")
        assert watch.seconds < PROMPT
        first, second = server.noted("pid")
        assert not is_running(first) and is_running(second)


async def test_a_close_during_a_start_closes_what_is_being_started(tmp_path: Path) -> None:
    async with opened(tmp_path, ["serve"], start=False) as server:
        async with anyio.create_task_group() as both:
            both.start_soon(server.client.start)
            both.start_soon(server.client.close)
        assert server.client._process is None
        assert isinstance(await failure_of(server.client.request("tools/call")), ServerDown)
        assert server.running() == []


async def test_a_close_that_is_cancelled_closes_all_the_same(tmp_path: Path, short_exit: float) -> None:
    async with opened(tmp_path, ["grandchild"], ["read"], ["answer", {"result": {}}], ["hang"]) as server:
        await server.client.request("tools/call")
        with anyio.move_on_after(0.01) as scope:
            await server.client.close()
            assert scope.cancel_called  # the time was over before it had ended
            await until(lambda: not server.running())


async def test_a_cancelled_request_is_forgotten_and_its_answer_ignored(tmp_path: Path) -> None:
    steps: list[Step] = [
        ["expect", "slow"],
        ["expect", "notifications/cancelled"],
        ["expect", "next"],
        ["answer", {"result": {"late": 1}}, 0],
        ["answer", {"result": {"right": 1}}],
    ]
    async with opened(tmp_path, *steps) as server:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(server.client.request, "slow")
            await until(lambda: len(server.received()) == 1)
            tasks.cancel_scope.cancel()
        assert server.client._pending == {}
        assert await server.client.request("next") == {"right": 1}


async def test_nothing_of_all_this_is_logged_as_an_error(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        async with opened(tmp_path, ["say", "banner\n"], ["read"], ["leave", 1]) as server:
            await failure_of(server.client.request("tools/call"))
            await failure_of(server.client.request("tools/call"))
            await server.client.start()
    assert caplog.records == []

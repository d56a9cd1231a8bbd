"""Servers that die, fall silent or change their tools during a turn, and a model that goes round in circles.

The clock stands still unless a test moves it; the servers are processes with a script (lively_server.py).
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from host_world import PATIENCE, SHORT, Clock, Server, World, is_running, opened, tool, until

from agent_loop import result_text, run_agent
from host import health as health_module
from host.config import ServerConfig
from host.health import MOST_RESTARTS, RESTART_SECONDS, SILENCE_SECONDS, SILENT_TIMEOUTS, Health
from host.repeats import MOST_SAME_ANSWERS, MOST_SAME_CALLS, RepeatGuard
from host.resilience import MOST_PAUSES, WatchedClient, announces_changes, note
from protocol import JSONObject
from stdio_client import REQUEST_SECONDS

pytestmark = pytest.mark.anyio

DIES = {"look": {"exit": 70, "last_words": "out of memory"}}
SILENT = {"look": {"silent": True}}
LISTENS = {"tools": {"listChanged": True}}


async def fall_silent(world: World) -> str:
    """Make calls that are not answered until the server is taken to be silent; return the last result."""
    world.clients["a"].hurried = frozenset({"tools/call"})
    for number in range(SILENT_TIMEOUTS):
        is_error, text = await world.call("mcp__a__look", n=number)
        assert is_error and "no answer to tools/call" in text
    return text


def one(tmp_path: Path, **script: Any) -> Server:
    return Server(tmp_path / "a").write(tool("look"), **script)


# A server that dies


async def test_a_dead_server_is_started_again_on_next_use(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    server = one(tmp_path, on_in_process={"1": DIES})
    async with opened({"a": server}) as world:
        is_error, text = await world.call("mcp__a__look", n=1)
        assert is_error and "the server 'a' is down: it has exited with code 70" in text
        is_error, text = await world.call("mcp__a__look", n=2)
        assert not is_error and text.startswith("look from process 2")
        assert "what it kept in memory is gone" in text, "the model is told"
        assert world.registry.down == {}
    assert "the server a is down: it has exited with code 70; its last words: out of memory" in caplog.text
    assert "the server a has been started again" in caplog.text, "and so is the person"


async def test_the_call_in_which_it_died_is_not_made_again(tmp_path: Path) -> None:
    server = one(tmp_path, on_in_process={"1": DIES})
    async with opened({"a": server}) as world:
        await world.call("mcp__a__look", n=1)
        await world.call("mcp__a__look", n=2)
    assert [params["arguments"] for params in server.got("tools/call")] == [{"n": 1}, {"n": 2}]


async def test_a_server_that_was_started_again_has_its_tools_listed_anew(tmp_path: Path) -> None:
    server = one(tmp_path, on_in_process={"1": DIES})
    async with opened({"a": server}) as world:
        await world.call("mcp__a__look")
        server.write(tool("look", description="Looks closer."), tool("listen"))
        await world.call("mcp__a__look")
        look, listen = world.registry.model_tools()
        assert look["description"] == "[from a] Looks closer."
        assert listen["name"] == "mcp__a__listen"
        server.write(tool("listen"))
        os.kill(server.pids()[-1], signal.SIGKILL)
        await until(lambda: world.health["a"].end is not None)
        is_error, text = await world.call("mcp__a__look", n=2)
        assert is_error and "there is no tool named 'mcp__a__look'" in text
        assert world.names() == ["mcp__a__listen"]


async def test_a_server_that_dies_again_and_again_is_left_alone_and_tried_later(tmp_path: Path) -> None:
    server = one(tmp_path, on=DIES)
    async with opened({"a": server}) as world:
        for number in range(MOST_RESTARTS + 3):
            is_error, text = await world.call("mcp__a__look", n=number)
            assert is_error and "'a' is down: it has exited with code 70" in text
        assert len(server.pids()) == 1 + MOST_RESTARTS
        assert f"it was started again {MOST_RESTARTS} times within 60 s, so it is left alone for 60 s" in text
        world.clock.now += RESTART_SECONDS
        server.write(on={})
        assert (await world.call("mcp__a__look"))[0] is False


async def test_a_server_that_does_not_come_back_costs_only_its_own_calls(tmp_path: Path) -> None:
    a, b = one(tmp_path, on=DIES), Server(tmp_path / "b")
    async with opened({"a": a, "b": b}) as world:
        await world.call("mcp__a__look", n=1)
        a.write(on={"start": {"exit": 1}})
        is_error, text = await world.call("mcp__a__look", n=2)
        assert is_error and "it has exited with code 1" in text
        assert await world.call("mcp__b__look") == (False, "look from process 1")
        a.write(on={})
        assert (await world.call("mcp__a__look", n=3))[0] is False


async def test_a_server_that_is_started_again_but_does_not_answer_is_no_endless_wait(tmp_path: Path) -> None:
    server = one(tmp_path, on_in_process={"1": DIES, "2": {"tools/list": {"silent": True}}})
    async with opened({"a": server}) as world:
        await world.call("mcp__a__look", n=0)
        world.clients["a"].hurried = frozenset({"tools/list"})
        for number in range(1, SILENT_TIMEOUTS + 1):
            is_error, text = await world.call("mcp__a__look", n=number)
            assert is_error and "no answer to tools/list" in text
        is_error, text = await world.call("mcp__a__look", n=9)
        assert is_error and "so it is left alone for 30 s" in text
        assert len(server.got("tools/list")) == 1 + SILENT_TIMEOUTS


async def test_a_server_that_dies_between_two_calls_is_told_with_the_next_result(tmp_path: Path) -> None:
    servers = {"a": one(tmp_path), "b": Server(tmp_path / "b")}
    async with opened(servers) as world:
        os.kill(servers["a"].pids()[0], signal.SIGKILL)
        await until(lambda: world.health["a"].end is not None)
        is_error, text = await world.call("mcp__b__look")
        assert not is_error
        assert text.startswith("look from process 1\n(The application says: the server a is down: it has")
        assert await world.call("mcp__b__look") == (False, "look from process 1"), "once"


async def test_an_end_that_the_result_tells_is_not_told_twice(tmp_path: Path) -> None:
    async with opened({"a": one(tmp_path, on=DIES)}) as world:
        assert (await world.call("mcp__a__look"))[1].count("code 70") == 1


async def test_the_closing_at_the_end_of_the_turn_is_no_news(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with opened({"a": one(tmp_path)}):
        pass
    assert caplog.text == ""


async def test_a_server_that_fails_at_start_is_told_once_and_not_as_news(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    servers = {"a": one(tmp_path, on={"start": {"exit": 5}}), "b": Server(tmp_path / "b")}
    async with opened(servers) as world:
        assert world.registry.down == {"a": "it has exited with code 5"}
        assert await world.call("mcp__b__look") == (False, "look from process 1")
    assert caplog.text == ""


async def test_the_end_of_a_server_that_was_never_in_use_is_no_news(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    refuses = {"tools/list": {"error": {"code": -32603, "message": "no"}}}
    servers = {"a": one(tmp_path, on=refuses), "b": Server(tmp_path / "b")}
    async with opened(servers) as world:
        assert world.registry.down == {"a": "no (error -32603)"}
        os.kill(servers["a"].pids()[0], signal.SIGKILL)
        await until(lambda: world.health["a"].end is not None)
        assert await world.call("mcp__b__look") == (False, "look from process 1")
    assert caplog.text == ""


DIES_WITH_GRANDCHILD = {"look": {"grandchild": True, "exit": 70}}  # which holds the pipes open


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no process groups")
@pytest.mark.parametrize("legacy", [False, True], ids=["modern", "legacy"])
async def test_a_server_that_dies_while_a_grandchild_holds_its_pipes_is_started_again_on_next_use(
    tmp_path: Path, legacy: bool
) -> None:
    server = one(tmp_path, legacy=legacy, on_in_process={"1": DIES_WITH_GRANDCHILD})
    async with opened({"a": server}) as world:
        start = anyio.current_time()
        is_error, text = await world.call("mcp__a__look", n=1)
        assert is_error and "the server 'a' is down: it has exited with code 70" in text
        [grandchild] = server.grandchildren()
        assert is_running(grandchild)
        is_error, text = await world.call("mcp__a__look", n=2)
        assert not is_error and text.startswith("look from process 2")
        assert anyio.current_time() - start < PATIENCE / 4, "no deadline was waited for"
        assert not is_running(grandchild), "it is ended with the process that has left it behind"


# A server that is silent


async def test_the_deadline_of_each_request_is_that_of_the_configuration_or_else_the_usual_one() -> None:
    async with anyio.create_task_group() as tasks:
        for configured, expected in ((2.5, 2.5), (None, REQUEST_SECONDS)):
            config = ServerConfig("none", timeout=configured)
            assert WatchedClient("a", config, tasks, Health("a")).timeout == expected
    assert 0 < REQUEST_SECONDS < 120, "there is one always"


async def test_after_some_timeouts_in_a_row_a_server_is_left_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    server = one(tmp_path, on=SILENT)
    async with opened({"a": server}) as world:
        text = await fall_silent(world)
        assert "has not answered 3 requests in a row; it is left alone for 30 s" in text, "the model is told"
        for _ in range(2):
            is_error, text = await world.call("mcp__a__look", n=9)
        assert is_error and "is down: it has not answered several requests in a row" in text
        assert "left alone for 30 s" in text
    assert len(server.calls()) == SILENT_TIMEOUTS
    assert "the server a has not answered 3 requests in a row" in caplog.text, "and so is the person"


async def test_a_silent_server_is_probed_after_a_while_and_used_again(tmp_path: Path) -> None:
    server = one(tmp_path, on=SILENT)
    async with opened({"a": server}) as world:
        await fall_silent(world)
        world.clients["a"].hurried = frozenset()
        probes = len(server.got("server/discover"))
        world.clock.now += SILENCE_SECONDS
        server.write(on={})
        assert await world.call("mcp__a__look", n=9) == (False, "look from process 1")
        assert len(server.got("server/discover")) == probes + 1
        assert await world.call("mcp__a__look", n=10) == (False, "look from process 1")
        assert len(server.got("server/discover")) == probes + 1, "it is trusted again"


async def test_a_probe_that_is_not_answered_saves_the_call(tmp_path: Path) -> None:
    server = one(tmp_path, on=SILENT)
    async with opened({"a": server}) as world:
        await fall_silent(world)
        world.clock.now += SILENCE_SECONDS
        server.write(on={"server/discover": {"silent": True}})
        world.clients["a"].hurried = frozenset({"server/discover"})
        is_error, text = await world.call("mcp__a__look", n=9)
        assert is_error and "and is silent still" in text
        is_error, text = await world.call("mcp__a__look", n=10)
        assert is_error and "left alone for 30 s" in text, "from now on"
    assert len(server.calls()) == SILENT_TIMEOUTS


async def test_after_a_probe_one_more_timeout_is_enough(tmp_path: Path) -> None:
    server = one(tmp_path, on=SILENT)
    async with opened({"a": server}) as world:
        await fall_silent(world)
        world.clock.now += SILENCE_SECONDS
        is_error, text = await world.call("mcp__a__look", n=9)
        assert is_error and "no answer to tools/call" in text
        is_error, text = await world.call("mcp__a__look", n=10)
        assert is_error and "left alone for 30 s" in text
    assert len(server.calls()) == SILENT_TIMEOUTS + 1


@pytest.mark.parametrize("answer", [{}, {"error": {"code": -32000, "message": "no"}}, {"result": 5}])
async def test_an_answer_of_any_kind_between_timeouts_starts_the_count_again(
    tmp_path: Path, answer: dict[str, Any]
) -> None:
    server = Server(tmp_path / "a").write(tool("look"), tool("other"), on={**SILENT, "other": answer})
    async with opened({"a": server}) as world:
        world.clients["a"].hurried = frozenset({"tools/call"})
        for number in range(2):
            await world.call("mcp__a__look", n=number)
        world.clients["a"].hurried = frozenset()
        await world.call("mcp__a__other")
        world.clients["a"].hurried = frozenset({"tools/call"})
        for number in range(2):
            is_error, text = await world.call("mcp__a__look", n=number + 10)
            assert is_error and "no answer to tools/call" in text
        assert not world.health["a"].is_silent


async def test_a_silent_server_that_dies_is_started_again_like_any_other(tmp_path: Path) -> None:
    server = one(tmp_path, on_in_process={"1": SILENT})
    async with opened({"a": server}) as world:
        await fall_silent(world)
        os.kill(server.pids()[0], signal.SIGKILL)
        await until(lambda: world.health["a"].end is not None)
        world.clients["a"].hurried = frozenset()
        is_error, text = await world.call("mcp__a__look", n=9)
        assert not is_error and text.startswith("look from process 2")


def test_restarts_are_counted_in_a_window_that_moves() -> None:
    clock = Clock()
    health = Health("a", clock)
    for _ in range(MOST_RESTARTS):
        assert health.seconds_to_restart() == 0
        health.start_again()
        clock.now += 10
    assert health.seconds_to_restart() == RESTART_SECONDS - 10 * MOST_RESTARTS
    clock.now += RESTART_SECONDS - 10 * MOST_RESTARTS
    assert health.seconds_to_restart() == 0
    health.start_again()
    assert health.seconds_to_restart() == 10


def test_news_is_told_when_a_state_changes_and_not_again(caplog: pytest.LogCaptureFixture) -> None:
    health = Health("a", Clock())
    for _ in range(10):
        health.timed_out()
    assert [message.key for message in health.news] == ["server_silent"]
    assert len(caplog.records) == 1 and health_module.log.name == caplog.records[0].name


async def test_a_legacy_server_that_comes_back_mute_is_tried_again_after_a_while(tmp_path: Path) -> None:
    server = one(tmp_path, legacy=True, on=DIES)
    async with opened({"a": server}) as world:
        await world.call("mcp__a__look", n=0)
        server.write(on={"initialize": {"silent": True}})
        usual, world.clients["a"].timeout = world.clients["a"].timeout, SHORT
        for number in range(1, SILENT_TIMEOUTS + 1):
            assert "no answer to" in (await world.call("mcp__a__look", n=number))[1]
        assert "left alone for 30 s" in (await world.call("mcp__a__look", n=9))[1]
        world.clock.now += SILENCE_SECONDS
        server.write(on={})
        world.clients["a"].timeout = usual
        assert (await world.call("mcp__a__look", n=10))[0] is False


# A server whose tools change


async def test_tools_that_have_changed_are_listed_anew_before_the_model_s_next_step(tmp_path: Path) -> None:
    server = one(tmp_path, capabilities=LISTENS, on={"look": {"announce": 1}})
    async with opened({"a": server}) as world:
        await listening(server)
        server.write(tool("look"), tool("new", description="Not there before."))
        assert world.names() == ["mcp__a__look"]
        await world.call("mcp__a__look")
        assert world.names() == ["mcp__a__look", "mcp__a__new"]
        assert (await world.call("mcp__a__new"))[1] == "new from process 1"
        server.write(tool("new"))
        await world.call("mcp__a__look")
        assert world.names() == ["mcp__a__new"], "replaced, not added to"


async def listening(server: Server) -> None:
    await until(lambda: bool(server.got("subscriptions/listen")))


async def test_changes_are_asked_for_once_per_process_and_only_where_they_are_offered(tmp_path: Path) -> None:
    a, b = one(tmp_path, capabilities=LISTENS), Server(tmp_path / "b")
    async with opened({"a": a, "b": b}) as world:
        await listening(a)
        [asked] = a.got("subscriptions/listen")
        assert asked["notifications"] == {"toolsListChanged": True}
        await world.clients["a"].request("server/discover")
        await world.call("mcp__a__look")
        assert len(a.got("subscriptions/listen")) == 1
        os.kill(a.pids()[0], signal.SIGKILL)
        await until(lambda: world.health["a"].end is not None)
        await world.call("mcp__a__look")
        await until(lambda: len(a.got("subscriptions/listen")) == 2)
        await world.call("mcp__b__look")
        assert b.got("subscriptions/listen") == []
    assert len(a.got("subscriptions/listen")) == 2, "one in each process"


OFFICIAL = """
import json, os, sys
from pathlib import Path
from mcp.server import MCPServer
from mcp.server.mcpserver import Context

folder = Path(sys.argv[1])
(folder / "journal.jsonl").write_text(json.dumps({"start": os.getpid()}))
server = MCPServer("growing")

@server.tool(annotations={"readOnlyHint": True})
async def grow(context: Context) -> str:
    server.add_tool(lambda: "new", name="new", annotations={"readOnlyHint": True})
    await context.notify_tools_changed()
    return "grown"

server.run()
"""


class OfficialServer(Server):
    def config(self, **fields: Any) -> ServerConfig:
        (self.folder / "official.py").write_text(OFFICIAL, encoding="utf-8")
        return ServerConfig(sys.executable, (str(self.folder / "official.py"), str(self.folder)))


async def test_an_official_server_s_announcement_is_heard_and_its_output_is_validated(tmp_path: Path) -> None:
    async with opened({"a": OfficialServer(tmp_path / "a")}) as world:
        assert await world.call("mcp__a__grow") == (False, "grown")
        assert world.names() == ["mcp__a__grow", "mcp__a__new"]
        assert await world.call("mcp__a__new") == (False, "new")


async def test_a_legacy_server_is_heard_without_being_asked(tmp_path: Path) -> None:
    server = one(tmp_path, legacy=True, on={"look": {"announce": 1}})
    async with opened({"a": server}) as world:
        server.write(tool("look"), tool("new"))
        await world.call("mcp__a__look")
        assert world.names() == ["mcp__a__look", "mcp__a__new"]


async def test_a_burst_of_changes_is_one_listing(tmp_path: Path) -> None:
    pauses = []

    async def pause(seconds: float) -> None:
        """In the first two pauses the server goes on to announce."""
        pauses.append(seconds)
        world.health["a"].tools_changed = len(pauses) <= 2

    server = one(tmp_path, legacy=True, on={"look": {"announce": 50}})
    async with opened({"a": server}, pause=pause) as world:
        await world.call("mcp__a__look")
        assert len(pauses) == 3, "until it has been quiet for a pause"
        assert len(server.got("tools/list")) == 2, "at the start, and once"


async def test_a_server_that_announces_changes_without_end_is_not_waited_for(tmp_path: Path) -> None:
    pauses = []

    async def pause(seconds: float) -> None:
        pauses.append(seconds)
        world.health["a"].tools_changed = True

    server = one(tmp_path, legacy=True, on={"look": {"announce": 1}, "tools/list": {"announce": 1}})
    async with opened({"a": server}, pause=pause) as world:
        world.health["a"].tools_changed = False  # the first list has announced one
        assert await world.call("mcp__a__look") == (False, "look from process 1")
        assert len(pauses) == MOST_PAUSES


@pytest.mark.parametrize("act", [{"error": {"code": -32603, "message": "not now"}}, {"result": {"tools": 5}}])
async def test_the_old_tools_stay_when_the_new_ones_cannot_be_listed(
    tmp_path: Path, act: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    server = one(tmp_path, legacy=True, on={"look": {"announce": 1}, "tools/list": {}})
    async with opened({"a": server}) as world:
        server.write(on={"look": {"announce": 1}, "tools/list": act})
        assert await world.call("mcp__a__look") == (False, "look from process 1")
        assert world.names() == ["mcp__a__look"]
    assert "the tools of the server a have changed, but could not be listed anew" in caplog.text


@pytest.mark.parametrize(
    ("capabilities", "announces"),
    [
        ({"tools": {"listChanged": True}}, True),
        ({"tools": {"listChanged": "yes"}}, False),
        ({"tools": {}}, False),
        ({"tools": None}, False),
        ({}, False),
        (None, False),
    ],
)
def test_what_is_offered_is_read_with_care(capabilities: Any, announces: bool) -> None:
    assert announces_changes({"capabilities": capabilities}) is announces


async def test_no_tool_ever_changes_its_place(tmp_path: Path) -> None:
    a, b = Server(tmp_path / "a"), Server(tmp_path / "b")
    a.write(tool("one"), tool("two"), legacy=True, on={"one": {"announce": 1}})
    b.write(tool("three"))
    async with opened({"a": a, "b": b}) as world:
        assert world.names() == ["mcp__a__one", "mcp__a__two", "mcp__b__three"]
        a.write(tool("zero"), tool("two"), tool("one"))
        await world.call("mcp__a__one")
        assert world.names() == ["mcp__a__one", "mcp__a__two", "mcp__b__three", "mcp__a__zero"]
        os.kill(a.pids()[0], signal.SIGKILL)
        await until(lambda: world.health["a"].end is not None)
        assert len(world.names()) == 4, "a server that is down may be back with the next call"


# What the model reads


@pytest.mark.parametrize(
    "result",
    [
        {"content": [{"type": "text", "text": "words"}]},
        {"content": [{"type": "text", "text": "words"}], "structuredContent": {"a": 1}},
        {"content": [], "structuredContent": {"a": 1}},
        {"content": None, "structuredContent": {"a": 1}},
        {"structuredContent": {"a": 1}},
    ],
)
def test_news_stands_beside_the_result_and_hides_nothing_of_it(result: JSONObject) -> None:
    content = result.get("content") or []
    text = result_text({**result, "content": [*content, note("news")]})
    assert set(result_text(result).split("\n")) < set(text.split("\n"))
    assert "(The application says: news.)" in text


async def test_a_turn_goes_on_to_an_answer_while_its_servers_come_and_go(tmp_path: Path) -> None:
    servers = {alias: Server(tmp_path / alias) for alias in ("a", "b")}
    servers["a"].write(on_in_process={"1": DIES})

    plan = ["mcp__a__look", "mcp__b__look", "mcp__a__look"]

    class Model:
        """Calls a, then b, then a again, then tells what it has read."""

        async def reply(self, messages: list[JSONObject], tools: list[JSONObject]) -> JSONObject:
            made = len([message for message in messages if message["role"] == "tool"])
            if made == len(plan):
                return {"role": "assistant", "content": "\n".join(read(messages))}
            call = {"id": str(made), "name": plan[made], "arguments": {"n": made}}
            return {"role": "assistant", "content": "", "tool_calls": [call]}

    def read(messages: list[JSONObject]) -> list[str]:
        return [message["content"] for message in messages if message["role"] == "tool"]

    async with opened(servers) as world:
        transcript = await run_agent("?", Model(), world.registry)
    first, second, third = read(transcript.messages)
    assert "'a' is down" in first and second == "look from process 1" and "look from process 2" in third
    assert transcript.answer is not None


# A model that goes round in circles


def answered(text: str) -> JSONObject:
    return {"content": [{"type": "text", "text": text}]}


def repeat(times: int, answer: Callable[[int], str]) -> list[bool]:
    """Make the same call so often; for each whether it was refused."""
    guard, refused = RepeatGuard(), []
    for number in range(times):
        refusal = guard.refusal("t", {"a": 1, "b": 2})
        refused.append(refusal is not None)
        if refusal is None:
            guard.note("t", {"b": 2, "a": 1}, answered(answer(number)))
    return refused


def test_a_call_that_gets_the_same_answer_again_and_again_is_stopped() -> None:
    assert repeat(MOST_SAME_ANSWERS + 2, lambda _: "no") == [False] * MOST_SAME_ANSWERS + [True] * 2


def test_a_call_that_gets_new_answers_may_be_made_more_often_but_not_for_ever() -> None:
    assert repeat(MOST_SAME_CALLS + 2, str) == [False] * MOST_SAME_CALLS + [True] * 2


def test_a_list_after_each_change_is_no_circle() -> None:
    assert not any(repeat(8, lambda number: str(number // 2)))


def test_calls_are_the_same_only_with_the_same_name_and_the_same_arguments() -> None:
    guard = RepeatGuard()
    for _ in range(MOST_SAME_ANSWERS):
        guard.note("t", {"a": 1}, answered("no"))
    assert guard.refusal("t", {"a": 1}) is not None
    for name, arguments in (("t", {"a": 2}), ("t", {"a": "1"}), ("t", {}), ("u", {"a": 1})):
        assert guard.refusal(name, arguments) is None


async def test_the_server_is_spared_the_repetition_and_the_model_is_told(tmp_path: Path) -> None:
    server = one(tmp_path)
    async with opened({"a": server}) as world:
        for _ in range(MOST_SAME_ANSWERS):
            assert (await world.call("mcp__a__look", n=1))[0] is False
        is_error, text = await world.call("mcp__a__look", n=1)
        assert is_error and "was made 3 times in this turn, and the answer was the same each time" in text
        assert await made_up(world) == [False] * MOST_SAME_ANSWERS + [True]
        assert (await world.call("mcp__a__look", n=2))[0] is False
    assert len(server.calls()) == MOST_SAME_ANSWERS + 1


async def made_up(world: World) -> list[bool]:
    """For calls of a tool that is not there: whether the guard was it that answered."""
    texts = [(await world.call("made_up"))[1] for _ in range(MOST_SAME_ANSWERS + 1)]
    return [text.startswith("not run") for text in texts]

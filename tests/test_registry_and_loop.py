"""The solution from discovery to transcript: pages, names, the registry, the agent loop.

The peer is `Peer`, an object in memory that says what its test tells it to say; where a real process matters
(a crash, a silence, the order of answers) the two mock servers are the peers. Model and peers are scripts:
nothing here is patched in, and nothing decides by chance (the random names come from a fixed seed).
"""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import anyio
import pytest
from kit import LAB, SOLUTION

import agent_loop
import discover_and_translate
from agent_loop import MAX_RESULT_CHARACTERS, Transcript, result_text, run_agent
from discover_and_translate import discover, list_all_tools, model_tool_name, read_page, to_model_tool
from protocol import InvalidMessage, JSONObject, McpError, RequestTimeout, RpcError, ServerDown
from registry import ToolRegistry, error_result
from stdio_client import StdioClient

SERVERS = LAB / "servers"
PATIENCE = 10.0  # seconds any test may take before it fails
PROMPT = 2.0  # seconds that count as "at once"

pytestmark = pytest.mark.anyio

Script = JSONObject | Exception | Callable[[JSONObject], Awaitable[JSONObject]]


# The world of a test


class Peer:
    """A client whose server is a script: `start`, and per method what happens, time after time.

    A dictionary is returned, an exception is raised, a function is awaited with the params. The last entry
    of a list serves for all further times.
    """

    def __init__(self, tools: Iterable[str] = (), **scripts: Script | list[Script]) -> None:
        self.scripts: dict[str, list[Script]] = {
            "start": [{}],
            "discover": [{"supportedVersions": ["2026-07-28"], "capabilities": {}}],
            "list": [page(*tools)],
            "call": [{"content": [{"type": "text", "text": "done"}]}],
        }
        for name, script in scripts.items():
            self.scripts[name] = list(script) if isinstance(script, list) else [script]
        self.sent: list[tuple[str, JSONObject]] = []  # method, params
        self.starts = 0

    async def start(self) -> None:
        self.starts += 1
        await self._play("start", {})

    async def request(self, method: str, params: JSONObject | None = None, **_: Any) -> JSONObject:
        self.sent.append((method, params or {}))
        await anyio.lowlevel.checkpoint()
        return await self._play(method.split("/")[1], params or {})

    async def _play(self, name: str, params: JSONObject) -> JSONObject:
        script = self.scripts[name]
        act = script.pop(0) if len(script) > 1 else script[0]
        if isinstance(act, Exception):
            raise act
        return await act(params) if callable(act) else act

    def calls(self) -> list[JSONObject]:
        return [params for method, params in self.sent if method == "tools/call"]

    def cursors(self) -> list[Any]:
        return [params.get("cursor", "(none)") for method, params in self.sent if method == "tools/list"]


def as_client(peer: Peer) -> StdioClient:
    return cast(StdioClient, peer)


def registry_of(**peers: Peer) -> ToolRegistry:
    return ToolRegistry({alias: as_client(peer) for alias, peer in peers.items()})


async def refreshed(**peers: Peer) -> ToolRegistry:
    registry = registry_of(**peers)
    await registry.refresh()
    return registry


def tool(name: Any, **members: Any) -> JSONObject:
    return {"name": name, "inputSchema": {"type": "object"}, **members}


def page(*names: str, cursor: str | None = None) -> JSONObject:
    return {"tools": [tool(name) for name in names], **({} if cursor is None else {"nextCursor": cursor})}


def text_result(text: str, **members: Any) -> JSONObject:
    return {"content": [{"type": "text", "text": text}], **members}


def names_of(registry: ToolRegistry) -> list[str]:
    return [shown["name"] for shown in registry.model_tools()]


def text_of(result: JSONObject) -> str:
    [block] = result["content"]
    return str(block["text"])


# Discovery


async def test_discovery_returns_what_the_server_says_of_itself() -> None:
    said = {"supportedVersions": ["2025-11-25", "2026-07-28"], "capabilities": {"tools": {}}, "instructions": "x"}
    peer = Peer(discover=said)
    assert await discover(as_client(peer)) == said
    assert peer.sent == [("server/discover", {})]


OTHER_VERSIONS: list[tuple[str, JSONObject]] = [
    ("an older revision only", {"supportedVersions": ["2025-11-25"]}),
    ("none", {"supportedVersions": []}),
    ("the member is missing", {"capabilities": {}}),
    ("null", {"supportedVersions": None}),
    ("a text that holds the revision", {"supportedVersions": "2026-07-28"}),
    ("many", {"supportedVersions": ["x"] * 5000}),
]


@pytest.mark.parametrize("said", [row[1] for row in OTHER_VERSIONS], ids=[row[0] for row in OTHER_VERSIONS])
async def test_a_server_that_does_not_speak_our_revision_is_refused_with_both_versions(said: JSONObject) -> None:
    with pytest.raises(InvalidMessage, match=r"it speaks .*, this client speaks 2026-07-28") as raised:
        await discover(as_client(Peer(discover=said)))
    assert len(str(raised.value)) < 200


# All pages


PAGINGS: list[tuple[str, list[Script], list[str], list[Any]]] = [
    ("one page", [page("a", "b")], ["a", "b"], ["(none)"]),
    ("no tools at all", [page()], [], ["(none)"]),
    ("three pages", [page("a", cursor="2"), page("b", cursor="3"), page("c")], ["a", "b", "c"], ["(none)", "2", "3"]),
    (
        "an empty page is not the end",
        [page("a", cursor="2"), page(cursor="3"), page("c")],
        ["a", "c"],
        ["(none)", "2", "3"],
    ),
    ("an empty first page", [page(cursor="2"), page("b")], ["b"], ["(none)", "2"]),
    ("an empty text is a cursor", [page("a", cursor=""), page("b")], ["a", "b"], ["(none)", ""]),
    ("null is no cursor", [{**page("a"), "nextCursor": None}], ["a"], ["(none)"]),
    (
        "a cursor is sent back as it came",
        [page("a", cursor=" é\u2028\n0 "), page("b", cursor="null"), page("c")],
        ["a", "b", "c"],
        ["(none)", " é\u2028\n0 ", "null"],
    ),
]


@pytest.mark.parametrize("pages, names, cursors", [row[1:] for row in PAGINGS], ids=[row[0] for row in PAGINGS])
async def test_all_pages_are_listed(
    pages: list[Script], names: list[str], cursors: list[Any], caplog: pytest.LogCaptureFixture
) -> None:
    peer = Peer(list=pages)
    with anyio.fail_after(PATIENCE):
        listed = await list_all_tools(as_client(peer))
    assert [one["name"] for one in listed] == names
    assert peer.cursors() == cursors
    assert caplog.records == []


ENDLESS: list[tuple[str, list[Script]]] = [
    ("the same cursor again", [page("a", cursor="2"), page("b", cursor="2")]),
    ("the empty cursor again", [page("a", cursor=""), page("b", cursor="")]),
    ("two cursors in turn", [page("a", cursor="2"), page("b", cursor="3"), page(cursor="2")]),
]


@pytest.mark.parametrize("pages", [row[1] for row in ENDLESS], ids=[row[0] for row in ENDLESS])
async def test_a_walk_in_a_circle_ends_with_a_warning(pages: list[Script], caplog: pytest.LogCaptureFixture) -> None:
    peer = Peer(list=pages)
    with anyio.fail_after(PATIENCE):
        listed = await list_all_tools(as_client(peer))
    assert [one["name"] for one in listed] == ["a", "b"]
    assert len(set(peer.cursors())) == len(peer.cursors()), "no cursor is asked for twice"
    assert "cut short" in caplog.text


async def test_a_list_without_an_end_is_cut_short_with_a_warning(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(discover_and_translate, "MAX_PAGES", 5)

    async def one_more(params: JSONObject) -> JSONObject:
        number = int(params.get("cursor", "0"))
        return page(f"tool_{number}", cursor=str(number + 1))

    with anyio.fail_after(PATIENCE):
        listed = await list_all_tools(as_client(Peer(list=one_more)))
    assert len(listed) == 6  # the first page needs no cursor
    assert "cut short" in caplog.text


async def test_the_answer_of_one_call_is_not_changed_by_listing_the_next() -> None:
    first, second = page("a", cursor="2"), page("b")
    await list_all_tools(as_client(Peer(list=[first, second])))
    assert (first, second) == (page("a", cursor="2"), page("b"))


NO_PAGES: list[tuple[str, JSONObject]] = [
    ("no tools", {}),
    ("tools are null", {"tools": None}),
    ("tools are an object", {"tools": {"a": tool("a")}}),
    ("the cursor is a number", {"tools": [], "nextCursor": 2}),
    ("the cursor is a list", {"tools": [], "nextCursor": ["2"]}),
    ("the cursor is false", {"tools": [], "nextCursor": False}),
]


@pytest.mark.parametrize("result", [row[1] for row in NO_PAGES], ids=[row[0] for row in NO_PAGES])
def test_what_is_no_page_is_refused(result: JSONObject) -> None:
    with pytest.raises(InvalidMessage, match="not a page of tools"):
        read_page(result)


BAD_TOOLS: list[tuple[str, Any]] = [
    ("null", None),
    ("a text", "search"),
    ("a list", [tool("x")]),
    ("no name", {"inputSchema": {}}),
    ("the name is null", tool(None)),
    ("the name is a number", tool(7)),
    ("the name is a list", tool(["x"])),
    ("no schema", {"name": "x"}),
    ("the schema is null", {"name": "x", "inputSchema": None}),
    ("the schema is true", {"name": "x", "inputSchema": True}),
    ("the schema is a list", {"name": "x", "inputSchema": []}),
    ("5000 characters of nonsense", "x" * 5000),
]


@pytest.mark.parametrize("bad", [row[1] for row in BAD_TOOLS], ids=[row[0] for row in BAD_TOOLS])
def test_a_malformed_tool_is_left_out_with_a_warning_and_costs_no_other(
    bad: Any, caplog: pytest.LogCaptureFixture
) -> None:
    tools, cursor = read_page({"tools": [tool("a"), bad, tool("b"), bad], "nextCursor": "2"})
    assert tools == [tool("a"), tool("b")]
    assert cursor == "2"
    assert "left out 2 tools" in caplog.text
    assert len(caplog.text) < 500


# Names


NAMES: list[tuple[str, str, str, str]] = [
    ("plain", "notes", "search", "mcp__notes__search"),
    ("a hyphen", "my-notes", "read-note", "mcp__my-notes__read-note"),
    ("one underscore", "my_notes", "read_note", "mcp__my_notes__read_note"),
    ("two underscores in the tool", "notes", "a__b", "mcp__notes__a__b"),
    ("an underscore at the start of the tool", "notes", "_a", "mcp__notes___a"),
    ("as long as can be", "notes", "x" * 52, "mcp__notes__" + "x" * 52),
]


@pytest.mark.parametrize("alias, name, expected", [row[1:] for row in NAMES], ids=[row[0] for row in NAMES])
def test_a_name_that_needs_no_change_stays_readable(alias: str, name: str, expected: str) -> None:
    assert model_tool_name(alias, name) == expected


CHANGED: list[tuple[str, str, str, str]] = [
    ("a dot", "notes", "read.note", "mcp__notes__read_note_"),
    ("a space", "notes", "read note", "mcp__notes__read_note_"),
    ("not ASCII", "notes", "搜索", "mcp__notes_____"),
    ("one character too many", "notes", "x" * 53, "mcp__notes__" + "x" * 43 + "_"),
    ("120 characters", "notes", "y" * 120, "mcp__notes__" + "y" * 43 + "_"),
    ("a long alias", "a" * 80, "search", "mcp__" + "a" * 50 + "_"),
    ("two underscores in the alias", "a__b", "c", "mcp__a__b__c_"),
    ("an underscore at the end of the alias", "a_", "b", "mcp__a___b_"),
    ("a newline at the end", "notes", "search\n", "mcp__notes__search__"),
]


@pytest.mark.parametrize("alias, name, start", [row[1:] for row in CHANGED], ids=[row[0] for row in CHANGED])
def test_a_name_that_had_to_change_ends_with_a_digest(alias: str, name: str, start: str) -> None:
    changed = model_tool_name(alias, name)
    assert changed.startswith(start)
    assert re.fullmatch("[0-9a-f]{8}", changed.removeprefix(start))
    assert len(changed) <= 64


def test_names_are_the_same_on_every_run() -> None:
    """Python's own hash() of a text is not: it depends on this variable, which is random when nobody sets it."""
    pairs = [("notes", "read.note"), ("笔记", "搜索"), ("a__b", "c"), ("notes", "x" * 120)]
    code = f"from discover_and_translate import model_tool_name as n; print([n(*pair) for pair in {pairs!r}])"
    for seed in ("1", "2"):
        environment = {
            **os.environ,
            "PYTHONHASHSEED": seed,
            "PYTHONPATH": str(SOLUTION),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        assert done.stdout.strip() == str([model_tool_name(*pair) for pair in pairs])


def tricky_pairs(count: int) -> set[tuple[str, str]]:
    """Pairs of few different pieces, so that many run into the same text, and some around the length limit."""
    chance = random.Random(20260728)
    pieces = ["a", "b", "_", "__", "-", ".", " ", "é", "笔", "\n", "mcp", "mcp__a__", "x" * 30, "y" * 52]

    def word() -> str:
        return "".join(chance.choices(pieces, k=chance.randint(1, 5)))

    pairs: set[tuple[str, str]] = set()
    while len(pairs) < count:
        alias, name = word(), word()
        joined = f"{alias}__{name}"
        cuts = [found.start() for found in re.finditer("(?=__)", joined)]
        pairs |= {(joined[:cut], joined[cut + 2 :]) for cut in cuts}  # all that a split could take it for
    return pairs


def test_names_are_legal_and_different_for_any_two_of_20000_tricky_pairs() -> None:
    owner: dict[str, tuple[str, str]] = {}
    for pair in sorted(tricky_pairs(20_000)):
        name = model_tool_name(*pair)
        assert re.fullmatch("[A-Za-z0-9_-]{1,64}", name)
        assert owner.setdefault(name, pair) == pair
    assert len(owner) >= 20_000


ODD_NAMES = ["", " ", ".", "_", "__", "\n", "\x00", "\ud800", "🙂" * 100, "a" * 10_000]


@pytest.mark.parametrize("name", ODD_NAMES, ids=[ascii(name[:8]) for name in ODD_NAMES])
def test_no_text_is_too_odd_to_get_a_name(name: str) -> None:
    for pair in [("notes", name), (name, "search")]:
        assert re.fullmatch("[A-Za-z0-9_-]{1,64}", model_tool_name(*pair))


# Translation


TRANSLATIONS: list[tuple[str, JSONObject, str]] = [
    ("a description", {"description": "Find notes."}, "Find notes."),
    ("its own lines stay", {"description": "Find\n  notes. 笔记"}, "Find\n  notes. 笔记"),
    ("a title instead", {"title": "Search"}, "Search"),
    ("both", {"title": "Search", "description": "Find notes."}, "Find notes."),
    ("neither", {}, "search"),
    ("empty ones", {"title": "", "description": ""}, "search"),
    ("null", {"title": None, "description": None}, "search"),
]


@pytest.mark.parametrize("members, text", [row[1:] for row in TRANSLATIONS], ids=[row[0] for row in TRANSLATIONS])
def test_a_translation_says_where_the_tool_comes_from_and_leaks_nothing(members: JSONObject, text: str) -> None:
    schema = {"type": "object", "properties": {"q": {"type": "string"}}, "$defs": {"x": True}, "anyOf": [{}]}
    extras = {"outputSchema": {}, "annotations": {"readOnlyHint": True}, "icons": [], "_meta": {"secret": 1}}
    definition = {"name": "search", "inputSchema": schema, **members, **extras}
    before = json.dumps(definition)
    assert to_model_tool("notes", definition) == {
        "name": "mcp__notes__search",
        "description": f"[from notes] {text}",
        "input_schema": schema,
    }
    assert json.dumps(definition) == before


# The registry: refresh


async def test_tools_stand_in_the_order_of_the_configuration_whoever_answers_first() -> None:
    """`first` answers only when `second` has: all servers are asked at the same time, and the slow one leads."""
    second_done = anyio.Event()

    async def slow(_: JSONObject) -> JSONObject:
        await second_done.wait()
        return page("b", "a")

    async def fast(_: JSONObject) -> JSONObject:
        second_done.set()
        return page("c")

    with anyio.fail_after(PATIENCE):
        registry = await refreshed(first=Peer(list=slow), second=Peer(list=fast))
    assert names_of(registry) == ["mcp__first__b", "mcp__first__a", "mcp__second__c"]


@pytest.mark.parametrize("step", ["start", "discover", "list"])
async def test_all_servers_take_each_step_at_the_same_time(step: str) -> None:
    """Each of the eight waits until all eight are there; one after the other, the first would wait for ever."""
    together: list[JSONObject] = []
    all_there = anyio.Event()
    normal = Peer(["a"]).scripts[step][0]
    assert isinstance(normal, dict)

    async def meet(params: JSONObject) -> JSONObject:
        together.append(params)
        if len(together) == 8:
            all_there.set()
        await all_there.wait()
        return normal

    with anyio.fail_after(PATIENCE):
        registry = await refreshed(**{f"s{number}": Peer(["a"], **{step: meet}) for number in range(8)})
    assert len(names_of(registry)) == 8


FAILURES: list[tuple[str, JSONObject, str]] = [
    ("it cannot be started", {"start": ServerDown("'x' cannot be started")}, "'x' cannot be started"),
    ("it dies in discovery", {"discover": ServerDown("it has exited")}, "it has exited"),
    ("it is silent", {"discover": RequestTimeout("server/discover", 3)}, "no answer to server/discover within 3 s"),
    ("it refuses the revision", {"discover": RpcError(-32022, "unsupported")}, "unsupported (error -32022)"),
    ("it speaks another one", {"discover": {"supportedVersions": ["2025-11-25"]}}, "it speaks ['2025-11-25']"),
    ("it lists no tools", {"list": RpcError(-32601, "method not found")}, "method not found (error -32601)"),
    ("its list is no list", {"list": {"tools": 5}}, "not a page of tools"),
    ("its second page fails", {"list": [page("a", cursor="2"), RpcError(-32602, "bad cursor")]}, "bad cursor"),
    ("its list is no result", {"list": InvalidMessage("cannot go on")}, "cannot go on"),
]


@pytest.mark.parametrize("script, reason", [row[1:] for row in FAILURES], ids=[row[0] for row in FAILURES])
@pytest.mark.parametrize("place", [0, 1, 2], ids=["first", "in the middle", "last"])
async def test_a_server_that_fails_costs_its_own_tools_only(place: int, script: JSONObject, reason: str) -> None:
    peers = [Peer(["a"]), Peer(["b"])]
    peers.insert(place, Peer(["c"], **script))
    aliases = ["one", "two", "three"]
    registry = await refreshed(**dict(zip(aliases, peers, strict=True)))
    assert list(registry.down) == [aliases[place]]
    assert reason in registry.down[aliases[place]]
    assert len(names_of(registry)) == 2
    assert not any(aliases[place] in name for name in names_of(registry))


async def test_a_refresh_of_some_servers_leaves_the_others_alone() -> None:
    one, two = Peer(list=[page("old"), page("new")]), Peer(list=[page("old"), page("new")])
    registry = await refreshed(one=one, two=two)
    await registry.refresh(["one"])
    assert names_of(registry) == ["mcp__one__new", "mcp__two__old"]
    assert (one.starts, two.starts) == (2, 1)
    await registry.refresh([])
    assert (one.starts, two.starts) == (2, 1)


async def test_a_server_that_recovers_leaves_the_down_table_and_takes_its_old_place() -> None:
    first = Peer(["a"], start=[ServerDown("not yet"), {}])
    registry = await refreshed(first=first, second=Peer(["b"]))
    assert (registry.down, names_of(registry)) == ({"first": "not yet"}, ["mcp__second__b"])
    await registry.refresh(["first"])
    assert (registry.down, names_of(registry)) == ({}, ["mcp__first__a", "mcp__second__b"])


async def test_a_server_that_fails_at_a_later_refresh_loses_its_tools() -> None:
    peer = Peer(["a"], discover=[Peer().scripts["discover"][0], ServerDown("it has exited")])
    registry = await refreshed(only=peer)
    await registry.refresh()
    assert names_of(registry) == [] and registry.entries == {}
    result = await registry.call("mcp__only__a", {})
    assert result["isError"] is True and "it has exited" in text_of(result)
    assert peer.calls() == []


async def test_one_tool_with_a_name_beyond_unicode_costs_no_other() -> None:
    registry = await refreshed(odd=Peer(["a", "\ud800"]), other=Peer(["b"]))
    assert registry.down == {}
    assert {"mcp__odd__a", "mcp__other__b"} <= set(names_of(registry))


async def test_a_second_tool_of_the_same_name_is_left_out_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    twice = {"tools": [tool("a", description="first"), tool("b"), tool("a", description="second")]}
    registry = await refreshed(one=Peer(list=twice), two=Peer(["a"]))
    assert names_of(registry) == ["mcp__one__a", "mcp__one__b", "mcp__two__a"]
    assert registry.model_tools()[0]["description"] == "[from one] first"
    assert "left out a second tool" in caplog.text


@pytest.mark.parametrize("forger", ["my.notes", "my_notes"], ids=["the same server", "another server"])
@pytest.mark.parametrize("forger_first", [True, False])
async def test_a_tool_named_like_the_digest_form_of_another_takes_none_of_its_calls(
    forger: str, forger_first: bool
) -> None:
    """Whoever knows our aliases can compute that form. One of the two may be left out, but every name leads where
    the model was told that it leads."""
    forged = model_tool_name("my.notes", "a.b").removeprefix("mcp__my_notes__")
    honest_tool, forged_tool = tool("a.b", description="honest"), tool(forged, description="forged")
    if forger == "my.notes":
        pages = [honest_tool, forged_tool]
        peers = {forger: Peer(list={"tools": pages[::-1] if forger_first else pages})}
    else:
        servers = [("my.notes", Peer(list={"tools": [honest_tool]})), (forger, Peer(list={"tools": [forged_tool]}))]
        peers = dict(servers[::-1] if forger_first else servers)
    registry = await refreshed(**peers)
    assert len(set(names_of(registry))) == len(registry.model_tools()) >= 1
    for shown in registry.model_tools():
        await registry.call(shown["name"], {"to": shown["description"]})
    for alias, peer in peers.items():
        for params in peer.calls():
            kind = "honest" if params["name"] == "a.b" else "forged"
            assert params["arguments"]["to"] == f"[from {alias}] {kind}"


async def test_an_entry_keeps_what_the_translation_leaves_behind() -> None:
    definition = tool("a", outputSchema={"type": "object"}, annotations={"readOnlyHint": True})
    registry = await refreshed(one=Peer(list={"tools": [definition]}))
    [entry] = registry.entries.values()
    assert (entry.alias, entry.tool_name, entry.definition) == ("one", "a", definition)


# The registry: call


@pytest.mark.parametrize("alias", ["a", "a_", "a__b", "-", "b__", "x" * 70])
@pytest.mark.parametrize("name", ["search", "b__search", "_x", "a.b", "搜 索", "x" * 128])
async def test_the_server_gets_the_name_it_gave_and_the_arguments_as_they_are(alias: str, name: str) -> None:
    peer, other = Peer([name]), Peer([name])
    registry = await refreshed(**{alias: peer, f"{alias}2": other})
    arguments = {"query": "登录", "nested": {"_meta": 1}}
    await registry.call(names_of(registry)[0], arguments)
    assert peer.calls() == [{"name": name, "arguments": arguments}]
    assert other.calls() == []


RESULTS: list[tuple[str, JSONObject]] = [
    ("a text", text_result("done")),
    ("a tool execution error", text_result("no ticket T-99; open tickets are T-03", isError=True)),
    ("more than we know", text_result("x", structuredContent={"a": [1]}, _meta={"b": 2}, resultType="complete")),
    ("nothing", {}),
]


@pytest.mark.parametrize("result", [row[1] for row in RESULTS], ids=[row[0] for row in RESULTS])
async def test_a_result_is_returned_as_the_server_sent_it(result: JSONObject) -> None:
    registry = await refreshed(one=Peer(["a"], call=result))
    assert await registry.call("mcp__one__a", {}) == result


ERRORS: list[tuple[str, McpError, str]] = [
    ("a protocol error", RpcError(-32602, "unknown tool: a", {"x": 1}), "unknown tool: a (error -32602)"),
    ("no answer", RequestTimeout("tools/call", 30), "no answer to tools/call within 30 s"),
    ("input is required", InvalidMessage("cannot go on from 'input_required'"), "cannot go on from 'input_required'"),
    ("the server died", ServerDown("it has exited with code 7"), "it has exited with code 7"),
]


@pytest.mark.parametrize("error, words", [row[1:] for row in ERRORS], ids=[row[0] for row in ERRORS])
async def test_a_call_that_fails_becomes_an_error_result_that_says_why(error: McpError, words: str) -> None:
    registry = await refreshed(one=Peer(["a"], call=error))
    result = await registry.call("mcp__one__a", {})
    assert result.keys() == {"content", "isError"} and result["isError"] is True
    assert words in text_of(result)


async def test_only_a_dead_server_goes_into_the_down_table_and_is_asked_no_more() -> None:
    hurt = Peer(["a"], call=[RpcError(1, "x"), RequestTimeout("tools/call", 1), InvalidMessage("x"), text_result("ok")])
    dead = Peer(["b"], call=ServerDown("it has exited with code 7"))
    registry = await refreshed(hurt=hurt, dead=dead)
    for _ in range(3):
        assert (await registry.call("mcp__hurt__a", {}))["isError"] is True
    assert await registry.call("mcp__hurt__a", {}) == text_result("ok")
    assert registry.down == {}
    for _ in range(2):
        assert "exited with code 7" in text_of(await registry.call("mcp__dead__b", {}))
    assert registry.down == {"dead": "it has exited with code 7"}
    assert names_of(registry) == ["mcp__hurt__a"]
    assert len(dead.calls()) == 1


@pytest.mark.parametrize("name", ["search", "mcp__one__", "mcp__one__A", "mcp__gone__a", "", "a"])
async def test_an_unknown_tool_is_an_error_result_and_nothing_is_sent(name: str) -> None:
    one = Peer(["a"])
    registry = await refreshed(one=one, gone=Peer(start=ServerDown("it has exited")))
    result = await registry.call(name, {})
    assert result["isError"] is True
    assert repr(name) in text_of(result)
    assert "'gone' is down: it has exited" in text_of(result)
    assert one.calls() == []


async def test_calls_to_two_servers_run_at_the_same_time() -> None:
    both = anyio.Event()

    async def waits(_: JSONObject) -> JSONObject:
        await both.wait()
        return text_result("first")

    async def frees(_: JSONObject) -> JSONObject:
        both.set()
        return text_result("second")

    registry = await refreshed(one=Peer(["a"], call=waits), two=Peer(["a"], call=frees))
    results: list[str] = []

    async def call(name: str) -> None:
        results.append(text_of(await registry.call(name, {})))

    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call, "mcp__one__a")
            tasks.start_soon(call, "mcp__two__a")
    assert sorted(results) == ["first", "second"]


# The registry with real servers


@asynccontextmanager
async def running(**commands: list[str]) -> AsyncIterator[ToolRegistry]:
    """A registry over real processes, not refreshed yet; each command is a server's file and its flags."""
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            clients = {
                alias: StdioClient([sys.executable, str(SERVERS / file), *flags], tasks, timeout=1.0)
                for alias, (file, *flags) in commands.items()
            }
            registry = ToolRegistry(clients)
            try:
                yield registry
            finally:
                async with anyio.create_task_group() as closing:
                    for client in clients.values():
                        closing.start_soon(client.close)


async def test_both_mock_servers_with_every_trick_they_know_are_listed_whole() -> None:
    async with running(
        notes=["notes.py", "--empty-page", "--empty-cursor", "--noise", "--malformed-tool", "--extra-tool", "a.b"],
        tickets=["tickets.py", "--stderr-flood", "300000", "--page-size", "1"],
    ) as registry:
        await registry.refresh()
        assert registry.down == {}
        wire_names = {(entry.alias, entry.tool_name) for entry in registry.entries.values()}
        assert {("notes", "search"), ("notes", "list_notes"), ("notes", "a.b"), ("tickets", "search")} <= wire_names
        found = await registry.call("mcp__tickets__search", {"query": "login"})
        missing = await registry.call("mcp__tickets__get_ticket", {"id": "T-99"})
    assert "T-01" in text_of(found) and not found.get("isError")
    assert missing["isError"] is True and "no ticket T-99" in text_of(missing)


async def test_servers_that_fail_in_every_way_cost_one_deadline_and_not_their_sum() -> None:
    silent = ["notes.py", "--silent-on", "*"]
    async with running(
        silent=silent,
        silent2=silent,
        silent3=["tickets.py", "--silent-on", "tools/list"],
        crashed=["notes.py", "--crash-at-start"],
        crashes=["notes.py", "--crash-on", "tools/list", "--grandchild", "10"],
        missing=["no_such_file.py"],
        good=["tickets.py"],
    ) as registry:
        started = anyio.current_time()
        await registry.refresh()
        assert anyio.current_time() - started < 1.0 + PROMPT / 2
        assert "no answer to server/discover within 1 s" in registry.down["silent"]
        assert "no answer to tools/list within 1 s" in registry.down["silent3"]
        assert "code 70" in registry.down["crashed"] and "code 70" in registry.down["crashes"]
        assert "no_such_file.py" in registry.down["missing"]
        assert list(registry.down.keys() & {"good"}) == []
        assert {entry.alias for entry in registry.entries.values()} == {"good"}
        assert not (await registry.call("mcp__good__search", {"query": "login"})).get("isError")


async def test_a_server_that_crashes_in_a_call_is_started_again_by_a_refresh() -> None:
    async with running(notes=["notes.py", "--crash-on", "tools/call"], tickets=["tickets.py"]) as registry:
        await registry.refresh()
        result = await registry.call("mcp__notes__list_notes", {})
        assert result["isError"] is True and "code 70" in text_of(result)
        assert list(registry.down) == ["notes"]
        assert not (await registry.call("mcp__tickets__search", {"query": "login"})).get("isError")
        await registry.refresh(["notes"])
        assert registry.down == {} and "mcp__notes__list_notes" in names_of(registry)


# The agent loop


class ScriptedModel:
    """Replays these messages, the last one for ever, and remembers what it was shown."""

    def __init__(self, *replies: JSONObject) -> None:
        self._replies = list(replies)
        self.shown: list[tuple[list[JSONObject], list[str]]] = []  # the messages so far, the tools' names

    async def reply(self, messages: list[JSONObject], tools: list[JSONObject]) -> JSONObject:
        self.shown.append((list(messages), [shown["name"] for shown in tools]))
        return self._replies.pop(0) if len(self._replies) > 1 else dict(self._replies[0])


def calling(*calls: tuple[Any, Any]) -> JSONObject:
    """An assistant message that calls these tools: (name, arguments)."""
    listed = [{"id": f"c{n}", "name": name, "arguments": arguments} for n, (name, arguments) in enumerate(calls)]
    return {"role": "assistant", "content": "", "tool_calls": listed}


ANSWER: JSONObject = {"role": "assistant", "content": "the answer", "tool_calls": []}


def assert_paired(transcript: Transcript) -> None:
    """After each message with calls stands one tool message per call, in their order, and nowhere else."""
    rest = iter(transcript.messages)
    for message in rest:
        assert message["role"] != "tool", "a result without its call"
        for call in message.get("tool_calls") or []:
            result = next(rest)
            assert result["role"] == "tool"
            assert (result["tool_call_id"], result["name"]) == (call["id"], call["name"])
            assert isinstance(result["content"], str) and result["content"]
            assert isinstance(result["is_error"], bool)


async def test_an_answer_without_calls_ends_the_turn_at_once() -> None:
    for answer in [ANSWER, {"role": "assistant", "content": "the answer"}]:
        transcript = await run_agent("why?", ScriptedModel(answer), await refreshed(one=Peer(["a"])))
        assert transcript == Transcript([{"role": "user", "content": "why?"}, answer], 1, "the answer")


async def test_a_turn_goes_from_the_models_name_to_the_servers_and_back() -> None:
    one = Peer(["read.note"], call=text_result("红烧肉"))
    registry = await refreshed(one=one)
    [name] = names_of(registry)
    model = ScriptedModel(calling((name, {"id": "N-11"})), ANSWER)
    transcript = await run_agent("what?", model, registry)
    assert one.calls() == [{"name": "read.note", "arguments": {"id": "N-11"}}]
    result = {"role": "tool", "tool_call_id": "c0", "name": name, "content": "红烧肉", "is_error": False}
    assert transcript.messages == [
        {"role": "user", "content": "what?"},
        calling((name, {"id": "N-11"})),
        result,
        ANSWER,
    ]
    assert (transcript.steps, transcript.answer) == (2, "the answer")
    assert model.shown[1] == (transcript.messages[:3], [name])


PATHS: list[tuple[str, Any, Script, bool, str]] = [
    ("all is well", {}, text_result("fine"), False, "fine"),
    ("a tool execution error", {}, text_result("no such note", isError=True), True, "no such note"),
    ("isError is false", {}, text_result("fine", isError=False), False, "fine"),
    ("a protocol error", {}, RpcError(-32602, "unknown tool"), True, "unknown tool (error -32602)"),
    ("a timeout", {}, RequestTimeout("tools/call", 3), True, "no answer to tools/call within 3 s"),
    ("a death", {}, ServerDown("it has exited with code 7"), True, "exited with code 7"),
    ("input is required", {}, InvalidMessage("cannot go on from 'input_required'"), True, "'input_required'"),
    ("no content", {}, {}, False, "(the tool returned nothing)"),
    ("content is null", {}, {"content": None}, False, "(the tool returned nothing)"),
    ("arguments are missing", None, text_result("fine"), False, "fine"),
    ("arguments are an empty text", "", text_result("fine"), False, "fine"),
    ("arguments are broken JSON", '{"query": "log', text_result("fine"), True, 'must be a JSON object, not \'{"query"'),
    ("arguments are a list", [1], text_result("fine"), True, "must be a JSON object, not [1]"),
    ("arguments are a number", 7, text_result("fine"), True, "must be a JSON object, not 7"),
    ("arguments are a long text", "x" * 9000, text_result("fine"), True, "must be a JSON object, not 'xxx"),
]


@pytest.mark.parametrize(
    "arguments, result, is_error, words", [row[1:] for row in PATHS], ids=[row[0] for row in PATHS]
)
async def test_each_call_gets_its_one_message_whatever_happens(
    arguments: Any, result: Script, is_error: bool, words: str
) -> None:
    odd, good = Peer(["a"], call=result), Peer(["b"])
    registry = await refreshed(odd=odd, good=good)
    calls = calling(("mcp__good__b", {}), ("mcp__odd__a", arguments), ("no_such", {}), ("mcp__good__b", {"n": 2}))
    transcript = await run_agent("?", ScriptedModel(calls, ANSWER), registry)
    assert_paired(transcript)
    assert transcript.answer == "the answer"
    tool_messages = transcript.messages[2:6]
    assert [message["is_error"] for message in tool_messages] == [False, is_error, True, False]
    assert words in tool_messages[1]["content"]
    assert len(tool_messages[1]["content"]) < 400
    assert [call["arguments"] for call in good.calls()] == [{}, {"n": 2}]
    run_with: list[JSONObject] = [{}] if arguments in (None, "", {}) else []  # with other arguments the tool is not run
    assert [call["arguments"] for call in odd.calls()] == run_with


@pytest.mark.parametrize("max_steps", [1, 2, 7])
async def test_the_step_limit_ends_a_turn_that_never_comes_to_an_answer(max_steps: int) -> None:
    one = Peer(["a"])
    model = ScriptedModel(calling(("mcp__one__a", {}), ("mcp__one__a", {})))
    transcript = await run_agent("?", model, await refreshed(one=one), max_steps)
    assert (transcript.steps, transcript.answer) == (max_steps, None)
    assert len(model.shown) == max_steps
    assert len(one.calls()) == 2 * max_steps
    assert_paired(transcript)


async def test_the_usual_step_limit_is_ten() -> None:
    transcript = await run_agent("?", ScriptedModel(calling(("x", {}))), await refreshed(one=Peer(["a"])))
    assert transcript.steps == agent_loop.MAX_STEPS == 10


async def test_an_answer_at_the_last_step_counts() -> None:
    model = ScriptedModel(calling(("mcp__one__a", {})), ANSWER)
    transcript = await run_agent("?", model, await refreshed(one=Peer(["a"])), 2)
    assert (transcript.steps, transcript.answer) == (2, "the answer")


async def test_the_model_is_told_what_is_down_and_sees_the_tools_that_are_left() -> None:
    dies = Peer(["b"], call=ServerDown("it has exited with code 7"))
    registry = await refreshed(gone=Peer(start=ServerDown("no such program")), dies=dies, good=Peer(["c"]))
    model = ScriptedModel(calling(("mcp__dies__b", {})), ANSWER)
    transcript = await run_agent("?", model, registry)
    assert [message["role"] for message in transcript.messages] == ["system", "user", "assistant", "tool", "assistant"]
    assert "gone" in transcript.messages[0]["content"] and "no such program" in transcript.messages[0]["content"]
    assert [tools for _, tools in model.shown] == [["mcp__dies__b", "mcp__good__c"], ["mcp__good__c"]]
    assert_paired(transcript)


async def test_the_transcript_only_grows() -> None:
    model = ScriptedModel(calling(("mcp__one__a", {})), calling(("x", {}), ("y", {})), ANSWER)
    transcript = await run_agent("?", model, await refreshed(one=Peer(["a"])))
    for seen, _ in model.shown:
        assert transcript.messages[: len(seen)] == seen


async def test_an_agent_turn_survives_a_real_server_that_crashes_in_the_middle() -> None:
    async with running(notes=["notes.py", "--crash-on", "tools/call"], tickets=["tickets.py"]) as registry:
        await registry.refresh()
        search = {"query": "login"}
        calls = calling(
            ("mcp__notes__search", search), ("mcp__tickets__search", search), ("mcp__notes__search", search)
        )
        transcript = await run_agent("?", ScriptedModel(calls, ANSWER), registry)
    assert_paired(transcript)
    assert [message["is_error"] for message in transcript.messages[2:5]] == [True, False, True]
    assert "code 70" in transcript.messages[2]["content"] and "T-01" in transcript.messages[3]["content"]


# What the model reads of a result


TEXT = {"type": "text", "text": "one"}
READABLE: list[tuple[str, JSONObject, str]] = [
    ("one text", {"content": [TEXT]}, "one"),
    ("two texts", {"content": [TEXT, {"type": "text", "text": "two"}]}, "one\ntwo"),
    ("an empty list", {"content": []}, "(the tool returned nothing)"),
    ("an empty text", {"content": [{"type": "text", "text": ""}]}, "(the tool returned nothing)"),
    ("content is a text", {"content": "one"}, "(the tool returned nothing)"),
    ("content is an object", {"content": TEXT}, "(the tool returned nothing)"),
    ("blocks that are no objects", {"content": [None, "x", 5, TEXT, []]}, "one"),
    ("structured only", {"content": [], "structuredContent": {"n": 1, "s": "é"}}, '{"n": 1, "s": "é"}'),
    ("structured, no content", {"structuredContent": [1, None]}, "[1, null]"),
    ("structured and falsy", {"content": [], "structuredContent": 0}, "0"),
    ("the text stands for the structure", {"content": [TEXT], "structuredContent": {"n": 1}}, "one"),
    (
        "an empty text stands for nothing",
        {"content": [{"type": "text", "text": ""}], "structuredContent": {"n": 1}},
        '{"n": 1}',
    ),
    (
        "structured beside blocks that are no objects",
        {"content": [None, "x"], "structuredContent": {"n": 1}},
        '{"n": 1}',
    ),
    (
        "structured beside an image",
        {"content": [{"type": "image", "mimeType": "image/png", "data": "eA=="}], "structuredContent": {"n": 1}},
        '(image content image/png)\n{"n": 1}',
    ),
    (
        "an image",
        {"content": [{"type": "image", "mimeType": "image/png", "data": "eA=="}]},
        "(image content image/png)",
    ),
    ("a sound", {"content": [{"type": "audio", "mimeType": "audio/wav", "data": "eA=="}]}, "(audio content audio/wav)"),
    (
        "a link",
        {"content": [{"type": "resource_link", "uri": "file:///a.txt", "name": "a"}]},
        "(resource_link content file:///a.txt)",
    ),
    (
        "a resource with a text",
        {"content": [{"type": "resource", "resource": {"uri": "file:///a.txt", "text": "inside"}}]},
        "inside",
    ),
    (
        "a resource without",
        {"content": [{"type": "resource", "resource": {"uri": "file:///a.bin", "blob": "eA=="}}]},
        "(resource content file:///a.bin)",
    ),
    ("a resource that is none", {"content": [{"type": "resource", "resource": None}]}, "(resource content)"),
    ("a block of the future", {"content": [{"type": "hologram", "rays": 3}]}, "(hologram content)"),
    ("a block of the future with a text", {"content": [{"type": "note", "text": "read me"}]}, "read me"),
    ("a block without a type", {"content": [{}]}, "(None content)"),
    ("a text that is none", {"content": [{"type": "text", "text": 5}]}, "5"),
    ("members we do not know", {"content": [{**TEXT, "annotations": {"audience": ["user"]}}], "x": 1}, "one"),
]


@pytest.mark.parametrize("result, text", [row[1:] for row in READABLE], ids=[row[0] for row in READABLE])
def test_every_result_becomes_one_readable_text(result: JSONObject, text: str) -> None:
    assert result_text(result) == text


def test_three_megabytes_of_text_are_cut_and_the_cut_is_counted() -> None:
    text = result_text(text_result("é" * 3_000_000))
    kept, note = text[:MAX_RESULT_CHARACTERS], text[MAX_RESULT_CHARACTERS:]
    assert kept == "é" * MAX_RESULT_CHARACTERS
    assert note == f"\n({3_000_000 - MAX_RESULT_CHARACTERS} more characters were cut)"


@pytest.mark.parametrize("over", [0, 1])
def test_a_text_is_cut_only_when_it_is_longer_than_the_limit(over: int) -> None:
    text = result_text(text_result("x" * (MAX_RESULT_CHARACTERS + over)))
    assert text.endswith("\n(1 more characters were cut)" if over else "xx")


def test_many_small_blocks_are_cut_like_one_large() -> None:
    blocks = [{"type": "text", "text": "x" * 99}] * 30_000
    assert result_text({"content": blocks}).endswith("more characters were cut)")


async def test_structured_content_as_deep_as_the_decoder_goes_does_not_end_the_turn(tmp_path: Path) -> None:
    """`json.loads` gives up at some depth; whoever writes the value out again must not give up before."""
    server = Path(__file__).with_name("scripted_server.py")
    steps: list[list[Any]] = [["read"], ["answer", Peer().scripts["discover"][0]], ["read"], ["answer", page("a")]]
    steps = [[name, *({"result": argument} for argument in arguments)] for name, *arguments in steps]
    depths = range(900, 1000)
    for depth in depths:
        line = ['{"id": $ID, "result": {"structuredContent": ', ["[", depth], ["]", depth], "}}\n"]
        steps += [["read"], ["say", *line], ["answer", {"result": {}}]]
    command = [sys.executable, "-IS", str(server), json.dumps(steps), str(tmp_path / "journal")]
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            client = StdioClient(command, tasks)
            registry = ToolRegistry({"one": client})
            try:
                await registry.refresh()
                model = ScriptedModel(calling(("mcp__one__a", {})))
                transcript = await called_from(10, lambda: run_agent("?", model, registry, len(depths)))
            finally:
                await client.close()
    assert_paired(transcript)


async def called_from(depth: int, function: Callable[[], Awaitable[Transcript]]) -> Transcript:
    """What `function` returns to a caller with so many frames above it."""
    return await (called_from(depth - 1, function) if depth else function())


def test_an_error_result_of_our_own_has_the_form_of_a_servers() -> None:
    assert error_result("no") == {"content": [{"type": "text", "text": "no"}], "isError": True}


def test_a_registry_that_was_never_refreshed_offers_nothing() -> None:
    assert ToolRegistry({}).model_tools() == []

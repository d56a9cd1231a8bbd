"""host/eras.py against servers of both eras: scripted ones for each way in which a server may take the probe, the
official package's for what a real one does.

Each test opens its server with `opened`, which also proves at the end that nothing of it is left running and that a
modern server was never sent a response. What is said to a server of a revision is checked against its official types.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import mcp_types
import psutil
import pytest
from kit import LAB, ROOT, SOLUTION, STARTER
from mcp_types import methods

sys.path.insert(0, str(LAB))

from agent_loop import result_text
from discover_and_translate import discover, list_all_tools
from host import eras
from host.config import ServerConfig
from host.eras import LEGACY_REVISIONS, EraClient, NoAgreement
from host.servers import START_SECONDS, ServerClient
from protocol import PROTOCOL_VERSION, InvalidMessage, JSONObject, McpError, RequestTimeout, RpcError, ServerDown
from registry import ToolRegistry
from stdio_client import REQUEST_SECONDS

ERA_SERVER = Path(__file__).with_name("era_server.py")
OFFICIAL_SERVER = Path(__file__).with_name("official_server.py")
PATIENCE = 15.0  # seconds any test may take before it fails
LONG = 12.0  # seconds: a deadline that a test meets only by doing something at once
SHORT = 0.3  # seconds: a deadline that is meant to be missed

Table = dict[str, Any]  # see era_server.py

LOOK = {"name": "look", "description": "Looks.", "inputSchema": {"type": "object"}}
READ_ONLY = {"readOnlyHint": True}  # so that the host asks nobody
DISCOVERED = {"resultType": "complete", "supportedVersions": [PROTOCOL_VERSION], "capabilities": {"tools": {}}}
INITIALIZED = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "old", "version": "0.9"},
    "instructions": "Look twice.",
}
SEEN = {"content": [{"type": "text", "text": "seen"}]}
TOOLS: Table = {"tools/list": [["result", {"tools": [LOOK]}]], "tools/call": [["result", SEEN]]}
MODERN: Table = {"server/discover": [["result", DISCOVERED]], **TOOLS}
LEGACY: Table = {
    "server/discover": [["error", -32601, "Method not found"]],
    "initialize": [["result", INITIALIZED]],
    "ping": [["result", {}]],
    **TOOLS,
}
SILENT: Table = {**LEGACY, "server/discover": []}  # a legacy server that passes over what it does not know
LEAVING: Table = {**LEGACY, "server/discover": [["leave", 3]]}  # one that exits on it

pytestmark = pytest.mark.anyio
posix = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no process groups")


# The world of a test


class Server:
    """A client and what its server has noted, over all its starts."""

    def __init__(self, client: EraClient, journal: Path) -> None:
        self.client = client
        self.journal = journal

    def noted(self, kind: str) -> list[Any]:
        lines = self.journal.read_text().splitlines() if self.journal.exists() else []
        return [event[kind] for event in map(json.loads, lines) if kind in event]

    def got(self) -> list[JSONObject]:
        return self.noted("got")

    def methods(self) -> list[str]:
        return [message.get("method", "(reply)") for message in self.got()]

    def replies(self) -> dict[Any, Any]:
        """id -> what we answered."""
        return {message["id"]: message for message in self.got() if "method" not in message}

    def running(self) -> list[int]:
        return [pid for pid in self.noted("pid") if is_running(pid)]

    @property
    def era(self) -> str:
        assert self.client.agreement is not None
        return self.client.agreement.era.value

    @property
    def revision(self) -> str:
        assert self.client.agreement is not None
        return self.client.agreement.revision


def is_running(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@asynccontextmanager
async def opened(folder: Path, table: Table, *, start: bool = True, **options: Any) -> AsyncIterator[Server]:
    """A server that behaves by this table; after the body it is closed, and then nothing of it runs any more."""
    journal = folder / "journal"
    command = [sys.executable, "-IS", str(ERA_SERVER), json.dumps(table), str(journal)]
    options = {"timeout": LONG, **options}
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            server = Server(EraClient(command, tasks, **options), journal)
            try:
                if start:
                    await server.client.start()
                yield server
            finally:
                await server.client.close()
        while server.running():
            await anyio.sleep(0.005)
    agreement = server.client.agreement
    if agreement is not None and agreement.era.value == "modern":
        assert "(reply)" not in server.methods(), "a response on a modern pipe"


async def until(server: Server, method: str, times: int = 1) -> None:
    """Wait until this message has arrived so often; the kernel has no event for what another process does."""
    while server.methods().count(method) < times:
        await anyio.sleep(0.005)


async def failure_of(request: Any) -> McpError:
    with pytest.raises(McpError) as raised:
        await request
    return raised.value


async def look(server: Server) -> str:
    return result_text(await server.client.request("tools/call", {"name": "look", "arguments": {}}))


def validated(messages: Iterable[JSONObject], revision: str) -> list[str]:
    """The methods of what the client sent, each of which says exactly what this revision knows."""
    for message in messages:
        parsed = mcp_types.jsonrpc_message_adapter.validate_python(message)
        if "method" not in message:
            assert isinstance(parsed, mcp_types.JSONRPCResponse | mcp_types.JSONRPCError)
            continue
        kinds = methods.CLIENT_REQUESTS if "id" in message else methods.CLIENT_NOTIFICATIONS
        model = kinds[(message["method"], revision)].model_validate(message, by_name=False)
        assert model.model_dump(by_alias=True, mode="json", exclude_unset=True) == message
    return [message.get("method", "(reply)") for message in messages]


# A modern server


async def test_a_discover_result_means_modern_and_initialize_is_never_sent(tmp_path: Path) -> None:
    async with opened(tmp_path, MODERN) as server:
        assert await discover(server.client) == DISCOVERED
        assert await list_all_tools(server.client) == [LOOK]
        assert await look(server) == "seen"
    assert (server.era, server.revision) == ("modern", PROTOCOL_VERSION)
    assert validated(server.got(), PROTOCOL_VERSION) == ["server/discover", "tools/list", "tools/call"]


async def test_what_the_probe_has_learned_is_told_once_and_then_asked_anew(tmp_path: Path) -> None:
    async with opened(tmp_path, MODERN) as server:
        for count in (1, 2, 3):
            assert await server.client.request("server/discover") == DISCOVERED
            assert server.methods().count("server/discover") == count


async def test_minus_32022_with_a_common_version_means_modern_with_that_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """We speak only one modern revision so far, so the test teaches the client a second one, its favourite."""
    monkeypatch.setattr(eras, "MODERN_REVISIONS", ("2099-01-01", PROTOCOL_VERSION))
    refusal = ["error", -32022, "unsupported", {"supported": ["2025-11-25", PROTOCOL_VERSION], "requested": "?"}]
    table = {**MODERN, "server/discover": [refusal], "server/discover 2": [["result", DISCOVERED]]}
    async with opened(tmp_path, table) as server:
        assert await look(server) == "seen"
    assert server.methods() == ["server/discover", "server/discover", "tools/call"]
    assert versions(server) == ["2099-01-01", PROTOCOL_VERSION, PROTOCOL_VERSION]
    assert (server.era, server.revision) == ("modern", PROTOCOL_VERSION)


async def test_the_version_is_chosen_from_those_of_the_discover_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(eras, "MODERN_REVISIONS", ("2099-01-01", PROTOCOL_VERSION))
    async with opened(tmp_path, MODERN) as server:
        assert await look(server) == "seen"
    assert versions(server) == ["2099-01-01", PROTOCOL_VERSION]


def versions(server: Server) -> list[str]:
    """In which each request was sent."""
    return [request["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] for request in server.got()]


NOTHING_IN_COMMON: list[tuple[str, list[Any], str]] = [
    ("later revisions only", ["error", -32022, "no", {"supported": ["2031-01-01"]}], "it speaks ['2031-01-01'], this"),
    ("legacy revisions only", ["error", -32022, "no", {"supported": ["2025-11-25"]}], "it speaks ['2025-11-25'], this"),
    ("no data", ["error", -32022, "no"], "it speaks [], this client speaks 2026-07-28, 2025-11-25"),
    ("data of another shape", ["error", -32022, "no", {"supported": 5}], "it speaks [], this"),
    ("items of another shape", ["error", -32022, "no", {"supported": [None, {}, []]}], "it speaks [None, {}, []]"),
    ("again and again", ["error", -32022, "odd", {"supported": [PROTOCOL_VERSION]}], "odd (error -32022)"),
    ("a header is wrong", ["error", -32020, "which header?"], "which header? (error -32020)"),
    ("a capability is missing", ["error", -32021, "I need sampling"], "I need sampling (error -32021)"),
    ("in a result", ["result", {**DISCOVERED, "supportedVersions": ["2031-01-01"]}], "it speaks ['2031-01-01'], this"),
]


@pytest.mark.parametrize("answer, words", [row[1:] for row in NOTHING_IN_COMMON], ids=[r[0] for r in NOTHING_IN_COMMON])
async def test_a_modern_server_without_a_common_version_is_down_with_a_clear_reason_and_never_sent_initialize(
    tmp_path: Path, answer: list[Any], words: str
) -> None:
    async with opened(tmp_path, {**LEGACY, "server/discover": [answer]}, start=False) as server:
        registry = ToolRegistry({"new": server.client})
        await registry.refresh()
        assert words in registry.down["new"]
    assert set(server.methods()) == {"server/discover"}
    assert len(server.noted("pid")) == 1


async def test_a_modern_server_that_is_only_slow_is_known_by_its_late_answer(tmp_path: Path) -> None:
    """It reads both questions before it answers, as one does that takes long to start."""
    table = {
        **MODERN,
        "server/discover": [],
        "initialize": [["result", DISCOVERED, "server/discover"], ["error", -32601, "Method not found"]],
    }
    async with opened(tmp_path, table, probe_seconds=SHORT) as server:
        assert await discover(server.client) == DISCOVERED
        assert await look(server) == "seen"
    assert server.era == "modern"
    assert server.methods() == ["server/discover", "initialize", "tools/call"]
    assert "_meta" in server.got()[-1]["params"]


async def test_a_slow_modern_server_that_passes_over_initialize_is_known_all_the_same(tmp_path: Path) -> None:
    table = {**MODERN, "server/discover": [], "initialize": [["result", DISCOVERED, "server/discover"]]}
    async with opened(tmp_path, table, probe_seconds=SHORT) as server:
        assert await look(server) == "seen"
    assert server.era == "modern"


async def test_a_slow_server_of_both_eras_that_has_accepted_initialize_is_a_legacy_one_from_there_on(
    tmp_path: Path,
) -> None:
    both = [["result", DISCOVERED, "server/discover"], ["result", INITIALIZED]]
    async with opened(tmp_path, {**SILENT, "initialize": both}, probe_seconds=SHORT) as server:
        assert await look(server) == "seen"
    assert server.era == "legacy"
    assert server.methods() == ["server/discover", "initialize", "notifications/initialized", "tools/call"]


@pytest.mark.parametrize("code", [-32601, -32602, -32022])
async def test_a_slow_modern_server_may_refuse_initialize_before_it_answers_the_probe(
    tmp_path: Path, code: int
) -> None:
    refusal = {"error": {"code": code, "message": "?", "data": {"supported": [PROTOCOL_VERSION]}}}
    lines = [{"id": 2, **refusal}, {"id": 1, "result": DISCOVERED}]
    table = {**MODERN, "server/discover": [], "initialize": [["send", *lines]]}
    async with opened(tmp_path, table, probe_seconds=SHORT) as server:
        assert await look(server) == "seen"
    assert server.era == "modern"


async def test_a_server_taken_for_a_legacy_one_is_modern_if_it_answers_initialize_with_minus_32022(
    tmp_path: Path,
) -> None:
    refusal = ["error", -32022, "modern here", {"supported": [PROTOCOL_VERSION]}]
    async with opened(tmp_path, {**MODERN, "initialize": [refusal]}, start=False) as server:
        server.client.agreement = eras.Agreement(eras.Era.LEGACY, "2025-11-25", {})
        await server.client.start()
        assert await look(server) == "seen"
    assert server.era == "modern"
    assert server.methods() == ["initialize", "server/discover", "tools/call"]


# A legacy server


ANSWERS_OF_LEGACY: list[tuple[str, list[Any]]] = [
    ("method not found", ["error", -32601, "Method not found"]),
    ("invalid params, as python-sdk 1.x says", ["error", -32602, "Invalid request parameters", ""]),
    ("invalid request", ["error", -32600, "not initialized"]),
    ("internal error", ["error", -32603, "oops"]),
    ("a code of its own", ["error", -32000, "Server not initialized"]),
    ("a legacy code near the modern ones", ["error", -32042, "URL elicitation required"]),
    ("0", ["error", 0]),
    ("a positive code", ["error", 404, "not here"]),
    ("a code that is a list", ["error", [-32022], "not initialized"]),
    ("a code that is a text", ["error", "-32022", "not initialized"]),
    ("id: null", ["say", '{"jsonrpc": "2.0", "id": null, "error": {"code": -32700, "message": "what?"}}\n']),
    ("no id", ["say", '{"jsonrpc": "2.0", "error": {"code": -32600, "message": "what?"}}\n']),
    ("an error that is a text", ["say", '{"jsonrpc": "2.0", "id": $ID, "error": "what?"}\n']),
    ("an error that is null", ["say", '{"jsonrpc": "2.0", "id": $ID, "error": null}\n']),
    ("a result and an error", ["say", '{"id": $ID, "result": {}, "error": {"code": 1, "message": "x"}}\n']),
    ("neither", ["say", '{"jsonrpc": "2.0", "id": $ID}\n']),
    ("an empty result", ["result", {}]),
    ("a result that is null", ["result", None]),
    ("a result of something else", ["result", {"supportedVersions": PROTOCOL_VERSION}]),
    ("a result that asks for input", ["result", {**DISCOVERED, "resultType": "input_required"}]),
    ("a result that names legacy revisions", ["result", {**DISCOVERED, "supportedVersions": ["2025-06-18"]}]),
]


@pytest.mark.parametrize("answer", [row[1] for row in ANSWERS_OF_LEGACY], ids=[row[0] for row in ANSWERS_OF_LEGACY])
async def test_any_other_answer_to_the_probe_means_legacy_at_once(tmp_path: Path, answer: list[Any]) -> None:
    table = {**LEGACY, "server/discover": [answer]}
    async with opened(tmp_path, table, probe_seconds=PATIENCE, timeout=2 * PATIENCE) as server:
        assert await look(server) == "seen"
    assert (server.era, len(server.noted("pid"))) == ("legacy", 1)
    assert server.methods() == ["server/discover", "initialize", "notifications/initialized", "tools/call"]


async def test_silence_past_the_deadline_of_the_probe_means_legacy_on_the_same_process(tmp_path: Path) -> None:
    async with opened(tmp_path, SILENT, probe_seconds=SHORT) as server:
        assert await look(server) == "seen"
    assert (server.era, len(server.noted("pid"))) == ("legacy", 1)
    assert server.methods() == ["server/discover", "initialize", "notifications/initialized", "tools/call"]


async def test_an_error_that_comes_after_the_deadline_of_the_probe_changes_nothing(tmp_path: Path) -> None:
    late = [["error", -32601, "no", None, "server/discover"], ["result", INITIALIZED]]
    async with opened(tmp_path, {**SILENT, "initialize": late}, probe_seconds=SHORT) as server:
        assert await look(server) == "seen"
    assert server.methods() == ["server/discover", "initialize", "notifications/initialized", "tools/call"]


EXITS: list[tuple[str, Table]] = [
    ("with an error code", LEAVING),
    ("with 0", {**LEAVING, "server/discover": [["leave", 0]]}),
    ("after an error", {**LEAVING, "server/discover": [["error", -32600], ["leave", 1]]}),
    ("it closes its output", {**LEAVING, "server/discover": [["close_stdout"]]}),
    ("when initialize has already been sent", {**LEAVING, "server/discover": [["read"], ["leave", 1]]}),
]


@pytest.mark.parametrize("table", [row[1] for row in EXITS], ids=[row[0] for row in EXITS])
async def test_a_server_that_exits_on_the_probe_is_started_again_and_sent_initialize_first(
    tmp_path: Path, table: Table
) -> None:
    async with opened(tmp_path, table, probe_seconds=SHORT) as server:
        assert await look(server) == "seen"
    assert (server.era, len(server.noted("pid"))) == ("legacy", 2)
    assert server.methods()[:1] == ["server/discover"]
    assert server.methods()[-3:] == ["initialize", "notifications/initialized", "tools/call"]


DIES_WITH_GRANDCHILD = [["grandchild"], ["leave", 3]]  # which holds the pipes open


@posix
async def test_an_exit_on_the_probe_is_seen_while_a_grandchild_holds_the_pipes(tmp_path: Path) -> None:
    table = {**LEGACY, "server/discover": DIES_WITH_GRANDCHILD}
    async with opened(tmp_path, table, start=False) as server:
        began = anyio.current_time()
        await server.client.start()
        assert anyio.current_time() - began < LONG / 2
        assert await look(server) == "seen"
        assert server.era == "legacy"
        _first, _grandchild, second = server.noted("pid")
        assert server.running() == [second], "of the first process nothing is left"


@posix
@pytest.mark.parametrize("table", [MODERN, LEGACY], ids=["modern", "legacy"])
async def test_a_crash_is_seen_while_a_grandchild_holds_the_pipes_and_the_next_start_works(
    tmp_path: Path, table: Table
) -> None:
    async with opened(tmp_path, {**table, "tools/call": DIES_WITH_GRANDCHILD}) as server:
        await discover(server.client)
        began = anyio.current_time()
        with pytest.raises(ServerDown, match="it has exited with code 3"):
            await look(server)
        assert anyio.current_time() - began < LONG / 2
        _server, grandchild = server.noted("pid")
        assert server.running() == [grandchild]
        await server.client.start()
        await discover(server.client)
        assert await list_all_tools(server.client) == [LOOK]
        assert server.running() == [server.noted("pid")[-1]], "of the first process nothing is left"
        assert anyio.current_time() - began < LONG / 2


async def test_a_server_that_exits_every_time_is_started_twice_and_no_more(tmp_path: Path) -> None:
    async with opened(tmp_path, {"start": [["leave", 7]]}, start=False) as server:
        raised = await failure_of(server.client.start())
        assert isinstance(raised, ServerDown) and "exited with code 7" in str(raised)
    assert len(server.noted("pid")) == 2


async def test_a_server_that_was_closed_during_the_probe_is_not_started_again(tmp_path: Path) -> None:
    async with opened(tmp_path, {}, start=False) as server:
        errors: list[McpError] = []

        async def start() -> None:
            errors.append(await failure_of(server.client.start()))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(start)
            await until(server, "server/discover")
            await server.client.close()
        assert [type(error) for error in errors] == [ServerDown]
    assert len(server.noted("pid")) == 1


@pytest.mark.parametrize("revision", LEGACY_REVISIONS)
async def test_what_is_said_to_a_legacy_server_is_valid_in_its_revision(tmp_path: Path, revision: str) -> None:
    asking = ["send", {"id": "p", "method": "ping"}, {"id": "r", "method": "roots/list"}]
    table = {
        **LEGACY,
        "initialize": [["result", {**INITIALIZED, "protocolVersion": revision}]],
        "tools/call": [asking],
        "notifications/cancelled": [],
    }
    async with opened(tmp_path, table) as server:
        await discover(server.client)
        await list_all_tools(server.client)
        assert isinstance(await failure_of(server.client.request("tools/call", {"name": "x"}, timeout=SHORT)), McpError)
        await until(server, "notifications/cancelled")
    assert server.revision == revision
    probe, *rest = server.got()
    assert probe["method"] == "server/discover"
    said = validated(rest, revision)
    assert sorted(said) == sorted(
        ["initialize", "notifications/initialized", "tools/list", "tools/call"]
        + ["(reply)", "(reply)", "notifications/cancelled"]
    )
    assert not [message for message in rest if "_meta" in message.get("params", {})]


async def test_discover_gets_an_answer_in_our_revision_from_a_legacy_server(tmp_path: Path) -> None:
    async with opened(tmp_path, LEGACY) as server:
        assert await discover(server.client) == {
            "resultType": "complete",
            "supportedVersions": [PROTOCOL_VERSION, "2025-11-25"],
            "capabilities": {"tools": {}},
            "instructions": "Look twice.",
            "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "old", "version": "0.9"}},
        }


@pytest.mark.parametrize(
    "answer, words",
    [
        (["result", {**INITIALIZED, "protocolVersion": "2023-01-01"}], "it speaks '2023-01-01', this client speaks"),
        (["result", {**INITIALIZED, "protocolVersion": PROTOCOL_VERSION}], "it speaks '2026-07-28'"),
        (["result", {}], "it speaks None"),
        (["result", {"protocolVersion": []}], "it speaks []"),
        (["result", None], "no result: the result is not an object"),
        (["error", -32603, "database locked"], "it refuses initialize: database locked (error -32603)"),
        (["error", -32602, "no", {"supported": ["2023-01-01"]}], "it refuses initialize: no (error -32602)"),
        (["error", -32022, "no", {"supported": ["2031-01-01"]}], "it refuses initialize: no (error -32022)"),
    ],
    ids=str,
)
async def test_a_legacy_server_that_cannot_be_agreed_with_is_down_with_a_clear_reason(
    tmp_path: Path, answer: list[Any], words: str
) -> None:
    async with opened(tmp_path, {**LEGACY, "initialize": [answer]}, start=False) as server:
        raised = await failure_of(server.client.start())
        assert isinstance(raised, NoAgreement) and words in str(raised)
        later = await failure_of(server.client.request("tools/list"))
        assert isinstance(later, ServerDown) and "no agreement" in str(later)
    assert "notifications/initialized" not in server.methods() and "tools/list" not in server.methods()


async def test_initialize_is_sent_again_in_a_revision_that_its_refusal_names(tmp_path: Path) -> None:
    refusal = ["error", -32602, "Unsupported protocol version", {"supported": ["2024-11-05"], "requested": "?"}]
    async with opened(tmp_path, {**LEGACY, "initialize": [refusal]}, start=False) as server:
        await failure_of(server.client.start())
    asked = [request["params"]["protocolVersion"] for request in server.got() if request["method"] == "initialize"]
    assert asked == ["2025-11-25", "2024-11-05"]


# What is remembered, and what is not


@pytest.mark.parametrize("table", [LEGACY, SILENT, LEAVING], ids=["an error", "silence", "an exit"])
async def test_a_known_legacy_server_is_not_probed_again(tmp_path: Path, table: Table) -> None:
    async with opened(tmp_path, table, probe_seconds=SHORT) as server:
        for _ in range(2):
            await server.client.close()
            await server.client.start()
            assert await look(server) == "seen"
    assert server.methods().count("server/discover") == 1
    assert server.methods()[-3:] == ["initialize", "notifications/initialized", "tools/call"]


async def test_a_legacy_server_that_dies_is_initialized_again_by_the_next_start(tmp_path: Path) -> None:
    async with opened(tmp_path, {**LEGACY, "tools/call": [["leave", 1]]}) as server:
        for _ in range(2):
            assert isinstance(await failure_of(look(server)), ServerDown)
            await server.client.start()
            await server.client.start()
            assert (await discover(server.client))["instructions"] == "Look twice."
    assert server.methods().count("initialize") == 3 == len(server.noted("pid"))
    assert server.methods().count("server/discover") == 1


async def test_a_known_modern_server_is_used_again_without_a_word_before(tmp_path: Path) -> None:
    async with opened(tmp_path, MODERN) as server:
        await server.client.close()
        await server.client.start()
        assert await look(server) == "seen"
        assert server.methods() == ["server/discover", "tools/call"]
        assert await discover(server.client) == DISCOVERED, "asked, not remembered"
        assert server.methods() == ["server/discover", "tools/call", "server/discover"]


async def test_a_known_legacy_server_that_is_no_longer_one_is_probed_by_the_start_after_next(tmp_path: Path) -> None:
    async with opened(tmp_path, {**MODERN, "initialize": [["error", -32601]]}, start=False) as server:
        server.client.agreement = eras.Agreement(eras.Era.LEGACY, "2025-11-25", {})
        assert isinstance(await failure_of(server.client.start()), NoAgreement)
        await server.client.start()
        assert await look(server) == "seen"
    assert server.era == "modern"


async def test_two_starts_at_the_same_time_come_to_one_agreement(tmp_path: Path) -> None:
    async with opened(tmp_path, SILENT, start=False, probe_seconds=SHORT) as server:
        async with anyio.create_task_group() as both:
            both.start_soon(server.client.start)
            both.start_soon(server.client.start)
        assert await look(server) == "seen"
    assert len(server.noted("pid")) == 1
    assert server.methods() == ["server/discover", "initialize", "notifications/initialized", "tools/call"]


async def test_later_questions_for_discovery_ask_a_legacy_server_for_a_sign_of_life(tmp_path: Path) -> None:
    async with opened(tmp_path, LEGACY) as server:
        first = await server.client.request("server/discover")
        assert await server.client.request("server/discover") == first
    assert server.methods()[2:] == ["notifications/initialized", "ping"]


async def test_a_legacy_server_that_knows_no_ping_is_alive_and_one_that_is_silent_is_not(tmp_path: Path) -> None:
    async with opened(tmp_path, {**LEGACY, "ping": [["error", -32601]]}) as server:
        first = await server.client.request("server/discover")
        assert await server.client.request("server/discover") == first
    async with opened(tmp_path, {**LEGACY, "ping": []}) as server:
        await server.client.request("server/discover")
        assert isinstance(await failure_of(server.client.request("server/discover", timeout=SHORT)), RequestTimeout)


async def test_a_legacy_server_is_not_asked_to_send_what_it_sends_unasked(tmp_path: Path) -> None:
    async with opened(tmp_path, LEGACY) as server:
        assert isinstance(await failure_of(server.client.request("subscriptions/listen")), InvalidMessage)
        assert await look(server) == "seen"
    assert "subscriptions/listen" not in server.methods()


# Deadlines


async def test_a_server_that_is_silent_to_all_costs_one_deadline_and_no_cancellation_is_sent(tmp_path: Path) -> None:
    async with opened(tmp_path, {}, start=False, timeout=2 * SHORT) as server:
        started = anyio.current_time()
        raised = await failure_of(server.client.start())
        assert isinstance(raised, RequestTimeout)
        assert anyio.current_time() - started < LONG / 4
        assert isinstance(await failure_of(server.client.request("tools/list")), ServerDown)
    assert server.methods() == ["server/discover", "initialize"]


async def test_a_start_may_have_a_shorter_deadline_than_a_request(tmp_path: Path) -> None:
    async with opened(tmp_path, {}, start=False, start_seconds=2 * SHORT) as server:
        raised = await failure_of(server.client.start())
        assert isinstance(raised, RequestTimeout) and raised.seconds == 2 * SHORT < server.client.timeout


@pytest.mark.parametrize("configured, start, request_", [(None, START_SECONDS, REQUEST_SECONDS), (60.0, 60.0, 60.0)])
async def test_the_timeout_of_an_entry_is_the_deadline_of_its_start_too(
    configured: float | None, start: float, request_: float
) -> None:
    async with anyio.create_task_group() as tasks:
        client = ServerClient("a", ServerConfig("python", timeout=configured), tasks)
        assert (min(client.timeout, client.start_seconds), client.timeout) == (start, request_)


async def test_after_a_start_that_came_to_nothing_the_next_one_starts_a_new_process(tmp_path: Path) -> None:
    async with opened(tmp_path, {}, start=False, timeout=2 * SHORT) as server:
        await failure_of(server.client.start())
        await failure_of(server.client.start())
        first, second = server.noted("pid")
        assert server.running() == [second] and first != second


async def test_a_start_that_is_cancelled_sends_no_cancellation_of_initialize(tmp_path: Path) -> None:
    async with opened(tmp_path, {**LEGACY, "initialize": []}, start=False) as server:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(server.client.start)
            await until(server, "initialize")
            tasks.cancel_scope.cancel()
    assert server.noted("eof") == [True], "it has read all that there was"
    assert server.methods() == ["server/discover", "initialize"]


async def test_a_call_that_times_out_is_cancelled_in_the_words_of_the_legacy_revision(tmp_path: Path) -> None:
    async with opened(tmp_path, {**LEGACY, "tools/call": []}) as server:
        assert isinstance(await failure_of(server.client.request("tools/call", timeout=SHORT)), RequestTimeout)
        await until(server, "notifications/cancelled")
    call, notice = server.got()[-2:]
    assert notice["params"]["requestId"] == call["id"] and "_meta" not in notice["params"]


async def test_several_silent_legacy_servers_cost_one_deadline_of_the_probe_together(tmp_path: Path) -> None:
    """Seven of them; one after the other they would take seven times as long."""
    seconds = 1.0
    async with AsyncExitStack() as stack:
        servers = {}
        for alias in "abcdefg":
            (tmp_path / alias).mkdir()
            options: JSONObject = {"start": False, "probe_seconds": seconds}
            servers[alias] = await stack.enter_async_context(opened(tmp_path / alias, SILENT, **options))
        registry = ToolRegistry({alias: server.client for alias, server in servers.items()})
        started = anyio.current_time()
        await registry.refresh()
        assert anyio.current_time() - started < 5 * seconds
        assert registry.down == {} and len(registry.model_tools()) == 7


# What a server asks of us


ASKED: list[JSONObject] = [
    {"id": 7, "method": "ping"},  # not 1, which Python takes for true
    {"id": 0, "method": "ping", "params": {"_meta": {"progressToken": 1}}},
    {"id": "", "method": "ping"},
    {"id": "a b", "method": "roots/list"},
    {"id": -5, "method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 1}},
    {"id": "e", "method": "elicitation/create", "params": {"message": "?", "requestedSchema": {}}},
    {"id": "n", "method": "no/such/thing", "params": None},
    {"id": "l", "method": ["ping"]},
]
NOT_ASKED: list[JSONObject] = [
    {"id": None, "method": "ping"},
    {"id": True, "method": "ping"},
    {"id": 1.5, "method": "ping"},
    {"id": ["x"], "method": "ping"},
    {"id": {}, "method": "ping"},
    {"method": "ping"},
    {"method": "notifications/no/such"},
    {"method": "notifications/message", "params": {"level": "info", "data": "x"}},
]


async def test_a_legacy_server_s_requests_are_answered_while_a_call_is_pending(tmp_path: Path) -> None:
    """It answers the call only when all of its own questions have been answered."""
    last = {"id": "last", "method": "ping"}
    table = {
        **LEGACY,
        "tools/call": [["send", *NOT_ASKED, *ASKED, last]],
        "reply": [["result", SEEN]],
    }
    heard: list[JSONObject] = []
    async with opened(tmp_path, table, on_notification=heard.append) as server:
        assert await look(server) == "seen"
        while len(server.replies()) < len(ASKED) + 1:
            await anyio.sleep(0.005)
    replies = server.replies()
    assert set(replies) == {message["id"] for message in [*ASKED, last]}, "and to nothing else"
    for message in ASKED:
        reply = replies[message["id"]]
        if message["method"] == "ping":
            assert reply == {"jsonrpc": "2.0", "id": message["id"], "result": {}}
        else:
            assert reply["error"]["code"] == -32601 and str(message["method"]) in reply["error"]["message"]
    assert [message["method"] for message in heard] == [message["method"] for message in NOT_ASKED[-3:]]


async def test_a_call_that_waits_for_a_ping_gets_its_answer(tmp_path: Path) -> None:
    """One question, one reply: the call would time out if the ping were answered after it."""
    ping = {"id": "p", "method": "ping"}
    table = {**LEGACY, "tools/call": [["send", ping]], "reply": [["result", SEEN, "tools/call"]]}
    async with opened(tmp_path, table) as server:
        assert await look(server) == "seen"
    assert server.methods()[-2:] == ["tools/call", "(reply)"]


@pytest.mark.parametrize("when", ["start", "server/discover", "initialize"])
async def test_a_ping_before_the_agreement_is_answered_as_soon_as_initialize_is_sent(
    tmp_path: Path, when: str
) -> None:
    """A server that answers `initialize` only when its ping has been answered."""
    ping = ["send", {"id": "p", "method": "ping"}]
    table = {**SILENT, "initialize": [], "reply": [["result", INITIALIZED, "initialize"]]}
    table[when] = [ping]
    async with opened(tmp_path, table, probe_seconds=SHORT) as server:
        assert await look(server) == "seen"
    assert server.replies() == {"p": {"jsonrpc": "2.0", "id": "p", "result": {}}}
    assert server.methods().index("(reply)") > 0, "and not before it is known that the server is a legacy one"


async def test_on_a_modern_pipe_no_response_is_ever_written(tmp_path: Path) -> None:
    asking = ["send", *ASKED, *NOT_ASKED]
    table: Table = {name: [asking, *steps, asking] for name, steps in MODERN.items()}
    async with opened(tmp_path, {"start": [asking], **table}) as server:
        await discover(server.client)
        await list_all_tools(server.client)
        assert await look(server) == "seen"
        assert await look(server) == "seen"
    assert server.noted("eof") == [True], "it has read all that there was"
    assert server.methods() == ["server/discover", "tools/list", "tools/call", "tools/call"]


async def test_the_requests_of_a_slow_modern_server_are_not_answered_once_it_is_known(tmp_path: Path) -> None:
    asking = ["send", *ASKED]
    initialize = [["result", DISCOVERED, "server/discover"], asking]
    table = {**MODERN, "server/discover": [], "initialize": initialize, "tools/call": [asking, ["result", SEEN]]}
    async with opened(tmp_path, table, probe_seconds=SHORT) as server:
        assert await look(server) == "seen"
    assert server.era == "modern"  # and `opened` has proved the rest


async def test_a_server_that_asks_without_end_and_reads_nothing_gets_its_answers_read(tmp_path: Path) -> None:
    line = json.dumps({"jsonrpc": "2.0", "id": "x" * 2000, "method": "ping"}) + "\n"
    table = {**LEGACY, "tools/call": [["repeat", line, 2000], ["result", SEEN], ["hang"]]}
    async with opened(tmp_path, table) as server:
        assert await look(server) == "seen"
        assert server.client._replies <= eras.MOST_REPLIES


# Results


@pytest.mark.parametrize("table", [MODERN, LEGACY], ids=["modern", "legacy"])
@pytest.mark.parametrize("kind", ["input_required", "task", 7])
async def test_a_result_that_is_not_final_becomes_an_error_result_that_says_so(
    tmp_path: Path, table: Table, kind: Any
) -> None:
    unfinished = {"resultType": kind, "content": [], "inputRequests": {"name": {}}, "requestState": "half"}
    async with opened(tmp_path, {**table, "tools/call": [["result", unfinished]]}, start=False) as server:
        registry = ToolRegistry({"mine": server.client})
        await registry.refresh()
        result = await registry.call("mcp__mine__look", {})
        assert result["isError"] is True
        assert "this client cannot go on from a" in result_text(result) and str(kind) in result_text(result)
        assert registry.down == {}, "one call failed, not the server"
    assert server.methods().count("tools/call") == 1, "it is not sent again"


# The official package's server


LEGACY_ONLY = """
import runpy, sys
from mcp.server.lowlevel import server as lowlevel
from mcp.server.runner import serve_loop
lowlevel.serve_dual_era_loop = serve_loop  # handshake only, as every server before 2026
runpy.run_path(sys.argv[1], run_name="__main__")
"""


@asynccontextmanager
async def official(*command: str, known: eras.Agreement | None = None) -> AsyncIterator[EraClient]:
    with anyio.fail_after(2 * PATIENCE):
        async with anyio.create_task_group() as tasks:
            client = EraClient([sys.executable, *command], tasks)
            client.agreement = known
            try:
                await client.start()
                yield client
            finally:
                await client.close()


async def works(client: EraClient) -> str:
    """Discovery, four pages, a call of each kind; the agreed revision."""
    assert (await discover(client))["instructions"] == "Use it well."
    registry = ToolRegistry({"it": client})
    await registry.refresh()
    assert registry.down == {} and len(registry.entries) == 11
    echo = await registry.call("mcp__it__echo", {"text": "登录 🙂"})
    assert result_text(echo) == "登录 🙂"
    failed = await registry.call("mcp__it__fail", {})
    assert failed["isError"] is True and "磁盘已满" in result_text(failed)
    refused = await registry.call("mcp__it__refuse", {})
    assert refused["isError"] is True and "not today (error -32042)" in result_text(refused)
    with pytest.raises(RequestTimeout):
        await client.request("tools/call", {"name": "sleep", "arguments": {}}, timeout=0.1)
    while result_text(await registry.call("mcp__it__awake", {})) != "1":
        pass
    assert client.agreement is not None
    return client.agreement.revision


async def test_the_official_server_is_modern_and_its_question_for_input_an_error_result_that_says_so() -> None:
    async with official(str(OFFICIAL_SERVER)) as client:
        assert await works(client) == PROTOCOL_VERSION
        registry = ToolRegistry({"it": client})
        await registry.refresh()
        asked = await registry.call("mcp__it__ask", {})
        assert asked["isError"] is True and "'input_required'" in result_text(asked)


async def test_the_official_server_in_handshake_mode_is_a_legacy_one() -> None:
    async with official("-c", LEGACY_ONLY, str(OFFICIAL_SERVER)) as client:
        assert await works(client) == "2025-11-25"


async def test_the_official_server_of_both_eras_is_used_as_it_is_opened() -> None:
    known = eras.Agreement(eras.Era.LEGACY, "2025-06-18", {})
    async with official(str(OFFICIAL_SERVER), known=known) as client:
        assert await works(client) == "2025-11-25"
        with pytest.raises(RpcError):  # and it refuses the other era from now on
            await super(EraClient, client).request("no/such/method")


# The command


@pytest.mark.parametrize("target", [STARTER, SOLUTION], ids=["starter", "solution"])
def test_one_run_of_the_agent_uses_servers_of_both_eras(tmp_path: Path, target: Path) -> None:
    """The starter, which forgets errors, waits for the end of the probe and gets there all the same."""
    entries: JSONObject = {}
    for alias, table in {"new": MODERN, "old": LEGACY, "older": SILENT, "oldest": LEAVING}.items():
        tool = {**LOOK, "name": f"look_{alias}", "annotations": READ_ONLY}
        table = {**table, "tools/list": [["result", {"tools": [tool]}]]}
        arguments = ["-IS", str(ERA_SERVER), json.dumps(table), str(tmp_path / alias)]
        entries[alias] = {"command": sys.executable, "args": arguments}
    config = tmp_path / "servers.json"
    config.write_text(json.dumps({"mcpServers": entries}), encoding="utf-8")
    command = [sys.executable, str(LAB / "host" / "main.py"), "look oldest!", "--mock", "--config", str(config)]
    done = subprocess.run(
        [*command, "--target", str(target), "--lang", "en"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        cwd=ROOT,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    for alias in entries:
        assert f"  {alias:<6}  1 tool" in done.stdout
    assert "look_oldest -> look_oldest @ oldest" in done.stdout and "seen" in done.stdout

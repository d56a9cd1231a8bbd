"""The solution's client and registry, judged by others: by a server of the official `mcp` package, and by the
official types of the revision.

Between client and server stands a tee, so what is validated are the bytes that the client has written, not
what we believe it writes. A misreading of the specification would have to be the official package's, too.
"""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import mcp_types
import pytest
from kit import LAB
from mcp_types import methods

import protocol
from agent_loop import result_text
from discover_and_translate import discover, list_all_tools
from protocol import CLIENT_INFO, PROTOCOL_VERSION, InvalidMessage, JSONObject, RequestTimeout, RpcError
from registry import ToolRegistry
from stdio_client import StdioClient

OFFICIAL_SERVER = Path(__file__).with_name("official_server.py")
NOTES = LAB / "servers" / "notes.py"
PATIENCE = 30.0  # seconds any test may take before it fails; importing the official package alone takes one
SHORT = 0.1  # seconds: the deadline of a request that is meant to miss it

TEE = """
import subprocess, sys
journal, *command = sys.argv[1:]
server = subprocess.Popen(command, stdin=subprocess.PIPE)
with open(journal, "wb", buffering=0) as file:
    for line in sys.stdin.buffer:
        file.write(line)
        server.stdin.write(line)
        server.stdin.flush()
server.stdin.close()
sys.exit(server.wait())
"""

pytestmark = pytest.mark.anyio


class Pair:
    """Our client, and the journal of what it has written to the server."""

    def __init__(self, client: StdioClient, journal: Path) -> None:
        self.client = client
        self.journal = journal

    def written(self) -> list[bytes]:
        return self.journal.read_bytes().splitlines(keepends=True)


@asynccontextmanager
async def connected(folder: Path, server: Path = OFFICIAL_SERVER, *flags: str) -> AsyncIterator[Pair]:
    journal = folder / "journal"
    command = [sys.executable, "-c", TEE, str(journal), sys.executable, str(server), *flags]
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            client = StdioClient(command, tasks)
            try:
                await client.start()
                yield Pair(client, journal)
            finally:
                await client.close()


async def call(client: StdioClient, name: str, timeout: float | None = None, **arguments: Any) -> JSONObject:
    return await client.request("tools/call", {"name": name, "arguments": arguments}, timeout=timeout)


def validated(line: bytes) -> JSONObject:
    """The message on this line, which says exactly what revision 2026-07-28 knows, no field more."""
    assert line.endswith(b"\n") and line.count(b"\n") == 1
    message: JSONObject = json.loads(line.decode("utf-8"))
    parsed = mcp_types.jsonrpc_message_adapter.validate_json(line)
    assert isinstance(parsed, mcp_types.JSONRPCRequest | mcp_types.JSONRPCNotification), "never a response"
    kinds = methods.CLIENT_REQUESTS if "id" in message else methods.CLIENT_NOTIFICATIONS
    model = kinds[(message["method"], PROTOCOL_VERSION)].model_validate(message, by_name=False)
    assert model.model_dump(by_alias=True, mode="json", exclude_unset=True) == message
    return message


async def test_a_long_conversation_with_an_official_server_holds_valid_messages_only(tmp_path: Path) -> None:
    """One server for all of its chapters, because each start of the official package costs a second."""
    async with connected(tmp_path) as pair:
        client = pair.client
        await discovers(client)
        await lists_all_pages(client)
        await gets_results(client)
        await gets_errors_with_their_codes(client)
        await refuses_a_result_that_is_none(client)
        await gets_answers_that_wait_for_each_other(client)
        await cancels(client)
    messages = [validated(line) for line in pair.written()]
    sent = {message["method"] for message in messages}
    assert sent == {"server/discover", "tools/list", "tools/call", "notifications/cancelled", "prompts/list"}
    ids = [message["id"] for message in messages if "id" in message]
    assert len(set(ids)) == len(ids)


async def discovers(client: StdioClient) -> None:
    result = await discover(client)
    assert PROTOCOL_VERSION in result["supportedVersions"]
    assert result["instructions"] == "Use it well."


async def lists_all_pages(client: StdioClient) -> None:
    tools = await list_all_tools(client)
    assert [tool["name"] for tool in tools] == [
        *("echo", "add", "fail", "refuse", "show", "ask", "first", "second", "sleep", "awake", "dotted.name"),
    ]
    assert tools[0]["inputSchema"]["required"] == ["text"]


async def gets_results(client: StdioClient) -> None:
    text = "登录 🙂 \u2028 \n \x00 é"
    assert result_text(await call(client, "echo", text=text)) == text
    long = "长" * 1_000_000
    assert (await call(client, "echo", text=long))["content"][0]["text"] == long
    total = await call(client, "add", a=2, b=0.5)
    assert (total["structuredContent"], result_text(total)) == ({"sum": 2.5}, "2.5")
    failed = await call(client, "fail")
    assert (failed["isError"], result_text(failed)) == (True, "the disk is full · 磁盘已满")
    assert result_text(await call(client, "show")).splitlines() == [
        "one",
        "(image content image/png)",
        "(audio content audio/wav)",
        "(resource_link content file:///notes/b.txt)",
        "inside",
    ]


async def gets_errors_with_their_codes(client: StdioClient) -> None:
    async def error_of(method: str, params: JSONObject) -> tuple[int, str, Any]:
        with pytest.raises(RpcError) as raised:
            await client.request(method, params)
        return raised.value.code, raised.value.message, raised.value.data

    unknown_tool = {"name": "no such", "arguments": {}}
    assert await error_of("tools/call", {"name": "refuse"}) == (-32042, "not today", {"retry": "tomorrow"})
    assert await error_of("tools/call", unknown_tool) == (-32602, "unknown tool: no such", None)
    assert await error_of("tools/list", {"cursor": "none"}) == (-32602, "invalid cursor: 'none'", None)
    assert (await error_of("prompts/list", {}))[0] == -32601


async def refuses_a_result_that_is_none(client: StdioClient) -> None:
    with pytest.raises(InvalidMessage, match="input_required"):
        await call(client, "ask")


async def gets_answers_that_wait_for_each_other(client: StdioClient) -> None:
    """The server answers `first` only when `second` has come, so the two overlap."""
    answered: set[str] = set()

    async def ask(name: str) -> None:
        assert result_text(await call(client, name)) == name
        answered.add(name)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask, "first")
        await anyio.wait_all_tasks_blocked()
        tasks.start_soon(ask, "second")
    assert answered == {"first", "second"}


async def cancels(client: StdioClient) -> None:
    """The server itself tells that it has stopped; and what it answers then is the right request's answer."""
    with pytest.raises(RequestTimeout):
        await call(client, "sleep", timeout=SHORT)
    while result_text(await call(client, "awake")) != "1":
        pass


async def test_another_version_is_refused_by_the_official_server_with_the_versions_it_speaks(tmp_path: Path) -> None:
    async with connected(tmp_path) as pair:
        pair.client.meta["io.modelcontextprotocol/protocolVersion"] = "1999-12-31"
        with pytest.raises(RpcError) as raised:
            await pair.client.request("server/discover")
    assert raised.value.code == -32022
    assert PROTOCOL_VERSION in raised.value.data["supported"]


async def test_the_registry_works_with_an_official_server(tmp_path: Path) -> None:
    async with connected(tmp_path) as pair:
        registry = ToolRegistry({"official": pair.client})
        await registry.refresh()
        assert registry.down == {}
        names = {entry.tool_name: name for name, entry in registry.entries.items()}
        assert len(names) == 11 and names["echo"] == "mcp__official__echo"
        results = {}
        for name in ("dotted.name", "fail", "refuse", "ask"):
            results[name] = await registry.call(names[name], {})
        unknown = await registry.call("mcp__official__none", {})
    for line in pair.written():
        validated(line)
    assert result_text(results["dotted.name"]) == "dotted.name"
    assert "磁盘已满" in result_text(results["fail"])
    assert "not today (error -32042)" in result_text(results["refuse"])
    assert "input_required" in result_text(results["ask"])
    assert [result.get("isError") for result in (*results.values(), unknown)] == [False, True, True, True, True]


async def test_what_the_client_writes_to_a_difficult_server_is_valid_too(tmp_path: Path) -> None:
    """Odd cursors, odd names, a silence: the paths of the client that a good server never takes it on."""
    flags = ["--empty-cursor", "--empty-page", "--extra-tool", "登 录", "--noise", "--silent-on", "tools/call"]
    async with connected(tmp_path, NOTES, *flags) as pair:
        await discover(pair.client)
        tools = await list_all_tools(pair.client)
        arguments = {"texts": ["\ud800", "\u2028", "登录"], "deep": [[[{}]]], "number": 1e300, "null": None}
        for name in (tools[-1]["name"], ""):
            with pytest.raises(RequestTimeout):
                await pair.client.request("tools/call", {"name": name, "arguments": arguments}, timeout=SHORT)
    lines = pair.written()
    for line in lines:
        validated(line.replace(b"\\ud800", b""))  # the official parser knows no half characters; JSON does
    written = [json.loads(line) for line in lines]
    assert [message["params"].get("cursor") for message in written if message["method"] == "tools/list"][:2] == [
        None,
        "",
    ]
    calls = [message for message in written if message["method"] == "tools/call"]
    notices = [message for message in written if message["method"] == "notifications/cancelled"]
    assert [notice["params"]["requestId"] for notice in notices] == [message["id"] for message in calls]
    assert calls[0]["params"]["name"] == "登 录" and calls[0]["params"]["arguments"] == arguments


@pytest.mark.parametrize("name", ["METHOD_NOT_FOUND", "INVALID_PARAMS", "UNSUPPORTED_PROTOCOL_VERSION"])
def test_the_error_codes_are_the_official_ones(name: str) -> None:
    assert getattr(protocol, name) == getattr(mcp_types, name)


def test_the_client_says_its_name_and_version_in_the_official_form() -> None:
    said = mcp_types.Implementation.model_validate(CLIENT_INFO)
    assert said.name and said.version
    assert set(CLIENT_INFO) == {"name", "version"}

"""The two mock servers, judged by others: by the official `mcp` client and by the official types.

Nothing here is ours but the servers, so a misreading of the specification cannot hide in both ends at once.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import mcp_types
import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp_types import _v2026_07_28 as wire_types
from mcp_types import methods
from pydantic import ValidationError
from test_servers import META, REFUSED, REVISION, VERSION, call, command, request, run

PATIENCE = 10.0  # seconds any test may take before it fails

JSONObject = dict[str, Any]

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@asynccontextmanager
async def connected(server: str, *flags: str, mode: str = "auto", **options: Any) -> AsyncIterator[Client]:
    _, *arguments = command(server, flags)
    parameters = StdioServerParameters(command=sys.executable, args=arguments)
    with anyio.fail_after(PATIENCE):
        async with Client(parameters, mode=mode, **options) as client:
            yield client


def text_of(result: mcp_types.CallToolResult) -> str:
    [block] = result.content
    assert isinstance(block, mcp_types.TextContent)
    return block.text


async def pages(client: Client) -> list[list[str]]:
    """The names on each page, for as long as there is a cursor, the empty one included."""
    page = await client.list_tools()
    seen = [[tool.name for tool in page.tools]]
    while page.next_cursor is not None and len(seen) < 6:
        page = await client.list_tools(cursor=page.next_cursor)
        seen.append([tool.name for tool in page.tools])
    return seen


# The official client


@pytest.mark.parametrize("server", ["notes", "tickets"])
async def test_the_official_client_discovers_a_modern_server(server: str) -> None:
    async with connected(server) as client:
        assert client.protocol_version == REVISION
        assert client.server_info is not None and client.server_info.name == server
        assert client.server_capabilities.tools is not None
        assert client.server_capabilities.tools.list_changed is None
        assert client.instructions


async def test_the_official_client_may_skip_discovery() -> None:
    async with connected("notes", mode=REVISION) as client:
        assert await pages(client) == [["search", "read_note"], ["list_notes"]]


async def test_the_official_client_cannot_fall_back_to_a_legacy_handshake() -> None:
    def names_the_revision(error: MCPError) -> bool:
        return error.code == -32022 and error.error.data["supported"] == [REVISION]

    refusal = pytest.RaisesExc(MCPError, check=names_the_revision)
    with pytest.RaisesGroup(refusal, flatten_subgroups=True):
        async with connected("notes", mode="legacy"):
            pass


PAGINGS: list[tuple[tuple[str, ...], list[list[str]]]] = [
    ((), [["search", "read_note"], ["list_notes"]]),
    (("--page-size", "1"), [["search"], ["read_note"], ["list_notes"]]),
    (("--empty-page",), [["search", "read_note"], [], ["list_notes"]]),
    (("--empty-cursor",), [["search", "read_note"], ["list_notes"]]),
    (("--empty-page", "--empty-cursor"), [["search", "read_note"], [], ["list_notes"]]),
    (("--extra-tool", "more.tools", "--noise"), [["search", "read_note"], ["list_notes", "more.tools"]]),
    (("--repeat-cursor",), [["search", "read_note"], *[["list_notes"]] * 5]),
]


@pytest.mark.parametrize("flags, expected", PAGINGS, ids=[" ".join(row[0]) or "plain" for row in PAGINGS])
async def test_the_official_client_walks_the_pages(flags: tuple[str, ...], expected: list[list[str]]) -> None:
    async with connected("notes", *flags) as client:
        assert await pages(client) == expected


async def test_structured_content_passes_the_official_client_s_check_of_the_output_schema() -> None:
    for server, tool, arguments in [
        ("notes", "search", {"query": "登录问题"}),
        ("notes", "search", {"query": "zebra"}),
        ("tickets", "search", {"query": "login", "status": "open"}),
        ("tickets", "get_ticket", {"id": "T-01"}),
        ("tickets", "get_ticket", {"id": "T-03"}),
    ]:
        async with connected(server, "--seed", "3f9ac2") as client:
            await pages(client)  # the client checks against the schemas it has listed
            result = await client.call_tool(tool, arguments)
            assert not result.is_error
            assert result.structured_content["index"] == "3f9ac2"
            assert "3f9ac2" in text_of(result)


async def test_the_official_client_hands_over_a_tool_execution_error_as_a_result() -> None:
    async with connected("tickets") as client:
        missing = await client.call_tool("get_ticket", {"id": "T-99"})
        unnamed = await client.call_tool("get_ticket")
    assert missing.is_error and text_of(missing).startswith("no ticket T-99; open tickets are T-03, ")
    assert unnamed.is_error and text_of(unnamed).startswith("get_ticket needs the argument id")


async def test_the_official_client_raises_protocol_errors_with_their_codes() -> None:
    async with connected("notes") as client:
        with pytest.raises(MCPError) as unknown_tool:
            await client.call_tool("no_such", {})
        with pytest.raises(MCPError) as bad_cursor:
            await client.list_tools(cursor="no-such")
        with pytest.raises(MCPError) as unknown_method:
            await client.list_prompts()
    codes = [raised.value.code for raised in (unknown_tool, bad_cursor, unknown_method)]
    assert codes == [-32602, -32602, -32601]


async def test_the_official_client_matches_reversed_answers_by_id() -> None:
    texts: dict[str, str] = {}
    async with connected("notes", "--extra-tool", "echo", "--reverse", "tools/call=3") as client:

        async def ask(word: str) -> None:
            texts[word] = text_of(await client.call_tool("echo", {"word": word}))

        async with anyio.create_task_group() as tasks:
            for word in ("one", "two", "three"):
                tasks.start_soon(ask, word)
    assert all(f'"word": "{word}"' in text for word, text in texts.items())
    assert list(texts) == ["three", "two", "one"]


async def test_the_official_client_lives_with_noise_and_sees_the_notification() -> None:
    seen: list[Any] = []

    async def listen(message: Any) -> None:
        seen.append(message)

    async with connected("notes", "--noise", message_handler=listen) as client:
        assert not (await client.call_tool("list_notes")).is_error
    assert any(isinstance(message, mcp_types.LoggingMessageNotification) for message in seen)
    assert any(isinstance(message, Exception) for message in seen)


async def test_the_official_client_times_out_on_silence_and_stays_usable() -> None:
    async with connected("notes", "--silent-on", "tools/call") as client:
        with pytest.raises(MCPError) as late:
            await client.call_tool("list_notes", read_timeout_seconds=0.1)
        assert late.value.code == mcp_types.REQUEST_TIMEOUT
        assert await pages(client) == [["search", "read_note"], ["list_notes"]]


async def test_the_official_client_reports_a_crash_as_a_closed_connection() -> None:
    async with connected("notes", "--crash-on", "tools/call") as client:
        with pytest.raises(MCPError) as lost:
            await client.call_tool("list_notes")
    assert lost.value.code == mcp_types.CONNECTION_CLOSED


async def test_the_official_client_rejects_a_page_with_malformed_tools() -> None:
    async with connected("notes", "--malformed-tool") as client:
        with pytest.raises(ValidationError):
            await client.list_tools()


# The official types


def checked_result(method: str, answer: JSONObject) -> None:
    """The result says exactly what revision 2026-07-28 knows, no field more."""
    wire_types.JSONRPCResultResponse.model_validate(answer)
    assert methods.serialize_server_result(method, REVISION, answer["result"]) == answer["result"]


@pytest.mark.parametrize("server", ["notes", "tickets"])
async def test_every_result_is_of_the_official_type_and_holds_nothing_else(server: str) -> None:
    tool, known, unknown = {
        "notes": ("read_note", "N-01", "N-99"),
        "tickets": ("get_ticket", "T-01", "T-99"),
    }[server]
    send = [
        request(1, "server/discover"),
        request(2, "tools/list"),
        call(3, "search", query="login 登录"),
        call(4, tool, id=known),
        call(5, tool, id=unknown),
        call(6, tool),
        call(7, "echo", any=["thing"]),
    ]
    answers = run(server, "--extra-tool", "echo", send=send).answers
    assert [answer["id"] for answer in answers] == [1, 2, 3, 4, 5, 6, 7]
    for message, answer in zip(send, answers, strict=True):
        checked_result(message["method"], answer)
    if server == "notes":
        second = request(8, "tools/list", cursor=answers[1]["result"]["nextCursor"])
        [answer] = run(server, "--extra-tool", "echo", send=[second]).answers
        checked_result("tools/list", answer)


async def test_every_error_is_of_the_official_type() -> None:
    answers = run("notes", send=[line for _, line, *_ in REFUSED]).answers
    assert len(answers) == len(REFUSED)
    for answer in answers:
        assert answer.keys() == {"jsonrpc", "id", "error"}
        assert answer["error"].keys() <= {"code", "message", "data"}
        wire_types.JSONRPCErrorResponse.model_validate(answer)
        parsed = mcp_types.jsonrpc_message_adapter.validate_python(answer)
        assert isinstance(parsed, mcp_types.JSONRPCError)


async def test_an_unsupported_version_is_of_its_own_official_type() -> None:
    message = request(1, "tools/list")
    message["params"]["_meta"] = {**META, VERSION: "2025-11-25"}
    [answer] = run("notes", send=[message]).answers
    parsed = wire_types.UnsupportedProtocolVersionError.model_validate(answer)
    assert parsed.error.data.supported == [REVISION]


async def test_the_notification_in_the_noise_is_of_the_official_type() -> None:
    ran = run("notes", "--noise", send=[request(1, "tools/list")])
    notification = mcp_types.jsonrpc_message_adapter.validate_json(ran.lines[3])
    assert isinstance(notification, mcp_types.JSONRPCNotification)
    methods.parse_server_notification(notification.method, REVISION, notification.params)

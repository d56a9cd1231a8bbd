"""The two mock servers, spoken to by a raw peer: bytes in, bytes out, and no client code in between.

`run` hands a server all its lines at once and reads what it wrote until it exited; `Peer` is for the tests in
which the order of events matters. Every wait has an end, and a server that outlives its test is killed.
"""

from __future__ import annotations

import json
import os
import queue
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

SERVERS = Path(__file__).resolve().parent.parent / "labs" / "day-05-agent-mcp-client" / "servers"
REVISION = "2026-07-28"
VERSION = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
META = {VERSION: REVISION, CAPABILITIES: {}}

PATIENCE = 10.0  # seconds any single wait may take before the test fails; nothing here needs a tenth of it
SILENCE = 0.2  # seconds without an event that count as proof that it does not come

JSONObject = dict[str, Any]


# The peer


class Ran(NamedTuple):
    """What a server did with its input, once it has exited."""

    lines: list[bytes]
    code: int
    stderr: str

    @property
    def answers(self) -> list[JSONObject]:
        return [json.loads(line) for line in self.lines]


def command(server: str, flags: Iterable[str]) -> list[str]:
    return [sys.executable, str(SERVERS / f"{server}.py"), *flags]


def line_of(message: JSONObject | bytes) -> bytes:
    return (message if isinstance(message, bytes) else json.dumps(message).encode()) + b"\n"


def run(server: str, *flags: str, send: Iterable[JSONObject | bytes] = ()) -> Ran:
    stdin = b"".join(map(line_of, send))
    done = subprocess.run(command(server, flags), input=stdin, capture_output=True, timeout=PATIENCE)
    return Ran(done.stdout.split(b"\n")[:-1], done.returncode, done.stderr.decode())


class Peer:
    """A running server: send a message, receive the next one; `with` ends it."""

    def __init__(self, server: str, *flags: str) -> None:
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command(server, flags), stdin=pipe, stdout=pipe, stderr=pipe)
        self._lines: queue.Queue[bytes] = queue.Queue()  # b"" is the end of stdout
        self._reader = threading.Thread(target=self._read, daemon=True)

    def __enter__(self) -> Peer:
        self._reader.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait(PATIENCE)
        self._reader.join(PATIENCE)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put(b"")

    def send(self, *messages: JSONObject) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(b"".join(map(line_of, messages)))
        self.process.stdin.flush()

    def receive_line(self, patience: float = PATIENCE) -> bytes:
        return self._lines.get(timeout=patience)

    def receive(self) -> JSONObject:
        message: JSONObject = json.loads(self.receive_line())
        return message


def request(request_id: Any, method: str, **params: Any) -> JSONObject:
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": {"_meta": META, **params}}


def call(request_id: Any, tool: str, **arguments: Any) -> JSONObject:
    return request(request_id, "tools/call", name=tool, arguments=arguments)


def cancelled(request_id: Any) -> JSONObject:
    return {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": request_id}}


def call_tool(server: str, tool: str, *flags: str, **arguments: Any) -> JSONObject:
    """The result of one call, in a server of its own."""
    result: JSONObject = run(server, *flags, send=[call(1, tool, **arguments)]).answers[0]["result"]
    return result


def text_of(result: JSONObject) -> str:
    [block] = result["content"]
    assert block["type"] == "text"
    return str(block["text"])


def pages(server: str, *flags: str) -> list[JSONObject]:
    """The pages of tools/list, in order, until one has no cursor; each cursor goes back as it came."""
    seen: list[JSONObject] = []
    with Peer(server, *flags) as peer:
        peer.send(request(0, "tools/list"))
        seen.append(peer.receive()["result"])
        while "nextCursor" in seen[-1] and len(seen) < 6:
            peer.send(request(len(seen), "tools/list", cursor=seen[-1]["nextCursor"]))
            seen.append(peer.receive()["result"])
    return seen


def names(page: JSONObject) -> list[str]:
    return [tool["name"] for tool in page["tools"]]


def journal(path: Path) -> list[JSONObject]:
    return [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]]


# What is a message


def without(key: str) -> JSONObject:
    return {name: value for name, value in META.items() if name != key}


def request_with(**changes: Any) -> JSONObject:
    return {**request(5, "tools/list"), **changes}


def list_with_meta(meta: Any) -> JSONObject:
    return request_with(params={"_meta": meta})


REFUSED: list[tuple[str, JSONObject | bytes, int, Any, str]] = [  # what, line, code, id of the answer, a word
    ("half an object", b'{"jsonrpc": "2.0"', -32700, None, "parse error"),
    ("not UTF-8", b'{"jsonrpc": "\xff"}', -32700, None, "parse error"),
    ("a blank line", b"", -32700, None, "parse error"),
    ("NaN is not JSON", b'{"jsonrpc": "2.0", "id": NaN}', -32700, None, "parse error"),
    ("deep nesting", b"[" * 100_000, -32700, None, "parse error"),
    ("a batch", b"[]", -32600, None, "object"),
    ("a text", b'"tools/list"', -32600, None, "object"),
    ("no jsonrpc", {"id": 5, "method": "tools/list"}, -32600, 5, "jsonrpc"),
    ("id null", request_with(id=None), -32600, None, "id"),
    ("id true", request_with(id=True), -32600, None, "id"),
    ("id a fraction", request_with(id=1.5), -32600, None, "id"),
    ("id a list", request_with(id=[1]), -32600, None, "id"),
    ("neither id nor method", {"jsonrpc": "2.0"}, -32600, None, "id"),
    ("no method", {"jsonrpc": "2.0", "id": 5}, -32600, 5, "method"),
    ("method a list", request_with(method=["tools/list"]), -32600, 5, "method"),
    ("a response", {"jsonrpc": "2.0", "id": 5, "result": {}}, -32600, 5, "method"),
    ("params a list", request_with(params=[1]), -32600, 5, "params"),
    ("params null", request_with(params=None), -32600, 5, "params"),
    ("unknown method, before _meta", request_with(method="ping", params={}), -32601, 5, "ping"),
    ("no params at all", {"jsonrpc": "2.0", "id": 5, "method": "tools/list"}, -32602, 5, VERSION),
    ("_meta a list", list_with_meta([]), -32602, 5, "_meta"),
    ("no version", list_with_meta(without(VERSION)), -32602, 5, VERSION),
    ("version a number", list_with_meta({**META, VERSION: 2026}), -32602, 5, VERSION),
    ("no capabilities", list_with_meta(without(CAPABILITIES)), -32602, 5, CAPABILITIES),
    ("capabilities a list", list_with_meta({**META, CAPABILITIES: []}), -32602, 5, CAPABILITIES),
    ("another version", list_with_meta({**META, VERSION: "2025-11-25"}), -32022, 5, "version"),
    ("cursor a number", request(5, "tools/list", cursor=7), -32602, 5, "cursor"),
    ("cursor null", request(5, "tools/list", cursor=None), -32602, 5, "cursor"),
    ("cursor made up", request(5, "tools/list", cursor="2"), -32602, 5, "cursor"),
    ("cursor empty", request(5, "tools/list", cursor=""), -32602, 5, "cursor"),
    ("no tool name", request(5, "tools/call", arguments={}), -32602, 5, "name"),
    ("tool name a number", request(5, "tools/call", name=7), -32602, 5, "name"),
    ("unknown tool", call(5, "no_such"), -32602, 5, "no_such"),
    ("arguments a list", request(5, "tools/call", name="list_notes", arguments=[]), -32602, 5, "arguments"),
    ("arguments null", request(5, "tools/call", name="list_notes", arguments=None), -32602, 5, "arguments"),
]


@pytest.mark.parametrize("what, line, code, answer_id, word", REFUSED, ids=[row[0] for row in REFUSED])
def test_a_wrong_line_gets_its_error_and_the_next_request_is_served(
    what: str, line: JSONObject | bytes, code: int, answer_id: Any, word: str
) -> None:
    refused, served = run("notes", send=[line, request(6, "tools/list")]).answers
    assert refused["jsonrpc"] == "2.0"
    assert refused["id"] == answer_id
    assert refused["error"]["code"] == code
    assert word in refused["error"]["message"]
    assert served["id"] == 6
    assert "tools" in served["result"]


def test_another_version_is_told_which_version_is_supported() -> None:
    [answer] = run("notes", send=[list_with_meta({**META, VERSION: "1900-01-01"})]).answers
    assert answer["error"]["data"] == {"supported": [REVISION], "requested": "1900-01-01"}


def test_the_version_is_judged_before_the_cursor() -> None:
    params = {"_meta": {**META, VERSION: "2025-11-25"}, "cursor": 7}
    [answer] = run("notes", send=[request_with(params=params)]).answers
    assert answer["error"]["code"] == -32022


def test_a_legacy_client_learns_from_initialize_which_version_it_lacks() -> None:
    legacy = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "old", "version": "1"},
    }
    [answer] = run("notes", send=[request_with(method="initialize", params=legacy)]).answers
    assert answer["error"]["code"] == -32022
    assert answer["error"]["data"] == {"supported": [REVISION], "requested": "2025-11-25"}
    assert REVISION in answer["error"]["message"]


def test_initialize_without_a_version_is_refused_as_well() -> None:
    [answer] = run("notes", send=[request_with(method="initialize", params={})]).answers
    assert answer["error"]["data"] == {"supported": [REVISION]}


@pytest.mark.parametrize("request_id", [0, -1, 2**70, "", "seven", "七"])
def test_an_id_comes_back_as_it_was_sent(request_id: Any) -> None:
    [answer] = run("notes", send=[request(request_id, "tools/list")]).answers
    assert answer["id"] == request_id
    assert type(answer["id"]) is type(request_id)


def test_notifications_are_never_answered() -> None:
    silent: list[JSONObject] = [
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "method": "no/such"},
        {"jsonrpc": "2.0", "method": "tools/list", "params": {"_meta": META}},
        {"jsonrpc": "2.0", "method": "tools/list", "params": [1]},
        {"jsonrpc": "2.0", "method": "notifications/cancelled"},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": []},
        cancelled(99),
        cancelled([]),
    ]
    ran = run("notes", send=[*silent, request(1, "tools/list")])
    assert [answer["id"] for answer in ran.answers] == [1]


def test_a_line_ends_at_a_newline_and_nowhere_else() -> None:
    query = "a\u2028b\u0085c\rd"
    raw = json.dumps(call(1, "search", query=query), ensure_ascii=False).encode()
    [answer] = run("notes", send=[raw + b"\r"]).answers
    assert answer["result"]["structuredContent"]["query"] == query


def test_a_last_line_without_newline_is_still_a_line() -> None:
    stdin = json.dumps(request(1, "tools/list")).encode()
    done = subprocess.run(command("notes", []), input=stdin, capture_output=True, timeout=PATIENCE)
    assert json.loads(done.stdout)["id"] == 1


def test_a_line_of_two_megabytes_comes_back_whole() -> None:
    word = "长" * 700_000
    [answer] = run("notes", "--extra-tool", "echo", send=[call(1, "echo", word=word)]).answers
    assert word in text_of(answer["result"])


def test_a_lone_surrogate_comes_back_as_it_was_sent() -> None:
    [answer] = run("notes", send=[call(1, "search", query="\ud800")]).answers
    assert answer["result"]["structuredContent"]["query"] == "\ud800"


# Leaving


LEAVING: list[tuple[tuple[str, ...], list[JSONObject]]] = [
    ((), []),
    (("--silent-on", "*"), [request(1, "tools/list")]),
    (("--noise",), [request(1, "tools/list")]),
    (("--reverse", "tools/list=9"), [request(1, "tools/list")]),
    (("--delay", "tools/list=60"), [request(1, "tools/list")]),
]


@pytest.mark.parametrize("flags, send", LEAVING, ids=["plain", "silent", "noise", "reverse", "delay"])
def test_the_end_of_stdin_ends_a_server_in_every_mode(
    flags: tuple[str, ...], send: list[JSONObject], tmp_path: Path
) -> None:
    file = tmp_path / "journal"
    ran = run("tickets", *flags, "--journal", str(file), send=send)
    assert (ran.code, ran.stderr) == (0, "")
    assert journal(file)[-1]["event"] == "exit"
    assert journal(file)[-1]["reason"] == "eof"


def test_a_broken_stdout_ends_a_server_quietly(tmp_path: Path) -> None:
    file = tmp_path / "journal"
    pipe = subprocess.PIPE
    words = command("notes", ("--journal", str(file)))
    buffered = {**os.environ, "PYTHONUNBUFFERED": ""}  # so that there is something left to trip over at exit
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=pipe, env=buffered) as process:
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None
        process.stdout.close()
        process.stdin.write(line_of(request(1, "tools/list")))
        process.stdin.flush()
        assert process.wait(PATIENCE) == 0
        assert process.stderr.read() == b""
    assert journal(file)[-1]["reason"] == "broken pipe"


# The three methods


@pytest.mark.parametrize("server", ["notes", "tickets"])
def test_discover_names_the_version_the_tools_capability_and_the_server(server: str) -> None:
    [answer] = run(server, send=[request(1, "server/discover")]).answers
    result = answer["result"]
    assert result["resultType"] == "complete"
    assert result["supportedVersions"] == [REVISION]
    assert result["capabilities"] == {"tools": {}}
    assert result["_meta"]["io.modelcontextprotocol/serverInfo"] == {"name": server, "version": "1.0.0"}
    assert result["instructions"]
    assert isinstance(result["ttlMs"], int) and result["cacheScope"] == "private"


def test_notes_come_in_pages_of_two_and_tickets_in_one_page() -> None:
    assert list(map(names, pages("notes"))) == [["search", "read_note"], ["list_notes"]]
    assert list(map(names, pages("tickets"))) == [["search", "get_ticket", "close_ticket"]]


@pytest.mark.parametrize("server", ["notes", "tickets"])
def test_every_page_is_cacheable_and_every_tool_is_fully_described(server: str) -> None:
    for page in pages(server):
        assert page["resultType"] == "complete"
        assert isinstance(page["ttlMs"], int) and page["cacheScope"] == "private"
        for tool in page["tools"]:
            assert tool["name"] and tool["title"] and tool["description"] and tool["annotations"]
            assert tool["inputSchema"]["type"] == "object"
            assert tool["inputSchema"]["additionalProperties"] is False


def test_only_close_ticket_is_destructive() -> None:
    tools = [tool for server in ("notes", "tickets") for page in pages(server) for tool in page["tools"]]
    assert [tool["name"] for tool in tools if tool["annotations"].get("destructiveHint")] == ["close_ticket"]


def test_the_status_of_a_ticket_search_is_a_ref_into_the_schema_itself() -> None:
    schema = pages("tickets")[0]["tools"][0]["inputSchema"]
    assert schema["properties"]["status"] == {"$ref": "#/$defs/status"}
    assert schema["$defs"]["status"]["enum"] == ["open", "closed", "any"]


def test_cursors_are_the_same_in_every_process_and_an_altered_one_is_refused() -> None:
    cursor = pages("notes")[0]["nextCursor"]
    send = [request(1, "tools/list", cursor=cursor), request(2, "tools/list", cursor=cursor + "=")]
    good, altered = run("notes", send=send).answers
    assert names(good["result"]) == ["list_notes"]
    assert altered["error"]["code"] == -32602


# The tools


MENDABLE: list[tuple[str, str, JSONObject, str]] = [  # server, tool, arguments, what the model is told
    ("notes", "search", {}, "search needs the argument query; it takes query (index 1)"),
    ("notes", "search", {"query": 5}, "search: query must be a string, not 5 (index 1)"),
    ("notes", "search", {"query": "a", "q": 1}, "search has no argument q; it takes query (index 1)"),
    ("notes", "list_notes", {"all": True}, "list_notes has no argument all; it takes none (index 1)"),
    ("notes", "read_note", {"id": "N-99"}, "no note N-99; the notes are N-01 to N-12 (index 1)"),
    (
        "tickets",
        "search",
        {"query": "a", "status": "new"},
        "search: status must be one of open, closed, any, not new (index 1)",
    ),
    (
        "tickets",
        "search",
        {"query": "a", "status": None},
        "search: status must be a string, not null (index 1)",
    ),
    (
        "tickets",
        "get_ticket",
        {"id": "T-99"},
        "no ticket T-99; open tickets are T-03, T-04, T-06, T-08, T-09, T-11, T-12 (index 1)",
    ),
    (
        "tickets",
        "close_ticket",
        {"id": "T-10"},
        "T-10 is closed already: The client now follows nextCursor until it is missing. (index 1)",
    ),
]


@pytest.mark.parametrize("server, tool, arguments, text", MENDABLE)
def test_a_call_that_cannot_work_is_an_error_the_model_can_mend(
    server: str, tool: str, arguments: JSONObject, text: str
) -> None:
    result = call_tool(server, tool, **arguments)
    assert result["isError"] is True
    assert "structuredContent" not in result
    assert text_of(result) == text


FOUND: list[tuple[str, str, JSONObject, list[str]]] = [  # server, what is asked, arguments, ids in order
    ("notes", "a topic", {"query": "MCP"}, ["N-01", "N-02", "N-05", "N-10"]),
    ("notes", "a question", {"query": "What do my notes say about MCP?"}, ["N-01", "N-02", "N-05", "N-10"]),
    ("notes", "two words", {"query": "login bug"}, ["N-03", "N-04", "N-05", "N-06", "N-12"]),
    ("notes", "a Chinese question", {"query": "笔记里有没有提到登录问题？"}, ["N-04", "N-03", "N-06"]),
    ("notes", "a Chinese word", {"query": "备份"}, ["N-06"]),
    ("notes", "one Chinese character", {"query": "糖"}, ["N-11"]),
    ("notes", "capitals and a plural", {"query": "BACKUPS"}, ["N-05", "N-09"]),
    ("notes", "filler words only", {"query": "notes"}, ["N-05", "N-10"]),
    ("notes", "nothing known", {"query": "zebra"}, []),
    ("notes", "nothing at all", {"query": ""}, []),
    ("tickets", "all login tickets", {"query": "login"}, ["T-01", "T-03", "T-04", "T-06", "T-07"]),
    ("tickets", "open ones", {"query": "login bug", "status": "open"}, ["T-03", "T-06", "T-04"]),
    ("tickets", "closed ones", {"query": "login bug", "status": "closed"}, ["T-01", "T-07"]),
    ("tickets", "any of them", {"query": "MCP", "status": "any"}, ["T-08", "T-10", "T-12"]),
    ("tickets", "in Chinese", {"query": "登录问题", "status": "open"}, ["T-03", "T-04", "T-06"]),
]


@pytest.mark.parametrize("server, what, arguments, ids", FOUND, ids=[f"{row[0]}: {row[1]}" for row in FOUND])
def test_a_search_finds_what_it_should_and_finding_nothing_is_no_error(
    server: str, what: str, arguments: JSONObject, ids: list[str]
) -> None:
    result = call_tool(server, "search", **arguments)
    assert "isError" not in result
    assert [match["id"] for match in result["structuredContent"]["matches"]] == ids
    assert re.findall(r"^[NT]-\d\d(?= \|)", text_of(result), re.MULTILINE) == ids


def test_a_search_shows_a_line_per_match_under_a_head_with_the_revision() -> None:
    text = text_of(call_tool("notes", "search", "--seed", "3f9ac2", query="backup"))
    head, *lines = text.split("\n")
    assert head == '2 notes match "backup" (index 3f9ac2)'
    assert lines == [
        "N-05 | Weekly meeting, 8 June | Nobody has time for the backup alert (T-09).",
        "N-09 | On-call handbook: backups | The nightly backup starts at 02:00 and takes forty minutes.",
    ]


def test_a_search_without_a_match_says_so() -> None:
    assert text_of(call_tool("notes", "search", query="zebra")) == 'no note mentions "zebra" (index 1)'


def test_the_seed_is_in_every_result() -> None:
    for server, tool, arguments in [
        ("notes", "read_note", {"id": "N-03"}),
        ("notes", "list_notes", {}),
        ("notes", "read_note", {"id": "N-99"}),
        ("tickets", "get_ticket", {"id": "T-03"}),
        ("tickets", "close_ticket", {"id": "T-03"}),
        ("tickets", "x", {}),
    ]:
        result = call_tool(server, tool, "--seed", "3f9ac2", "--extra-tool", "x", **arguments)
        assert "(index 3f9ac2)" in text_of(result)
        assert result.get("structuredContent", {"index": "3f9ac2"})["index"] == "3f9ac2"


def test_a_ticket_is_shown_as_text_and_as_data() -> None:
    result = call_tool("tickets", "get_ticket", id="T-01")
    assert result["structuredContent"]["status"] == "closed"
    for part in ("T-01", "closed", "high priority", "N-03"):
        assert part in text_of(result)


def test_a_closed_ticket_stays_closed_in_this_process() -> None:
    send = [
        call(1, "close_ticket", id="T-04", resolution="换了短信供应商"),
        call(2, "get_ticket", id="T-04"),
        call(3, "close_ticket", id="T-04"),
        call(4, "search", query="登录验证码", status="open"),
    ]
    closed, ticket, again, search = (answer["result"] for answer in run("tickets", send=send).answers)
    assert text_of(closed).startswith("closed T-04")
    assert ticket["structuredContent"]["resolution"] == "换了短信供应商"
    assert again["isError"] is True
    assert "T-04" not in text_of(search)
    assert call_tool("tickets", "get_ticket", id="T-04")["structuredContent"]["status"] == "open"


def test_when_every_ticket_is_closed_open_ones_are_none_and_not_a_crash() -> None:
    open_ids = ["T-03", "T-04", "T-06", "T-08", "T-09", "T-11", "T-12"]
    send = [call(ticket_id, "close_ticket", id=ticket_id) for ticket_id in open_ids]
    send += [call(1, "search", query="login", status="open"), call(2, "get_ticket", id="T-99")]
    *_, search, missing = (answer["result"] for answer in run("tickets", send=send).answers)
    assert text_of(search) == 'no open ticket mentions "login" (index 1)'
    assert text_of(missing) == "no ticket T-99; open tickets are none (index 1)"


def test_notes_and_tickets_refer_only_to_each_other_s_existing_ids() -> None:
    note_ids = [f"N-{number:02}" for number in range(1, 13)]
    ticket_ids = [f"T-{number:02}" for number in range(1, 13)]
    sent = [
        *run("notes", send=[call(note_id, "read_note", id=note_id) for note_id in note_ids]).answers,
        *run("tickets", send=[call(ticket_id, "get_ticket", id=ticket_id) for ticket_id in ticket_ids]).answers,
    ]
    assert len(sent) == 24
    assert not any("isError" in answer["result"] for answer in sent)
    for answer in sent:
        assert set(re.findall(r"\b[NT]-\d+", text_of(answer["result"]))) <= {*note_ids, *ticket_ids}


# The flags


def test_page_size_sets_how_many_tools_a_page_holds() -> None:
    assert [len(page["tools"]) for page in pages("tickets", "--page-size", "1")] == [1, 1, 1]
    assert [len(page["tools"]) for page in pages("notes", "--page-size", "9")] == [3]


def test_page_sizes_may_differ_and_the_last_one_repeats() -> None:
    more = ("--extra-tool", "a", "--extra-tool", "b", "--extra-tool", "c")
    assert [len(page["tools"]) for page in pages("notes", "--page-size", "2,1,3", *more)] == [2, 1, 3]
    assert [len(page["tools"]) for page in pages("notes", "--page-size", "3,1", *more)] == [3, 1, 1, 1]


def test_a_cursor_shows_when_it_was_stripped() -> None:
    cursors = [page["nextCursor"] for page in pages("notes", "--page-size", "1", "--extra-tool", "x")[:-1]]
    assert all(cursor.endswith("=\n") for cursor in cursors) and len(set(cursors)) == 3


def test_an_empty_page_is_the_second_and_not_the_last() -> None:
    assert [len(page["tools"]) for page in pages("notes", "--empty-page")] == [2, 0, 1]
    assert [len(page["tools"]) for page in pages("tickets", "--empty-page")] == [3, 0, 0]


def test_an_empty_cursor_leads_to_the_second_page() -> None:
    first, second, third = pages("notes", "--page-size", "1", "--empty-cursor")
    assert first["nextCursor"] == ""
    assert second["nextCursor"] != ""
    assert names(second) + names(third) == ["read_note", "list_notes"]


def test_a_repeated_cursor_leads_to_the_last_page_for_ever() -> None:
    first, *circle = pages("notes", "--repeat-cursor")
    assert names(first) == ["search", "read_note"]
    assert len(circle) == 5
    assert all(names(page) == ["list_notes"] and page["nextCursor"] == first["nextCursor"] for page in circle)


@pytest.mark.parametrize("name", ["plain", "with.dots", "has space", "x" * 200, "工具", "a=b", "-dash"])
def test_an_extra_tool_may_have_any_name_and_echoes_its_arguments(name: str) -> None:
    listed = pages("tickets", "--extra-tool", name)
    assert names(listed[-1])[-1] == name
    text = text_of(call_tool("tickets", name, "--extra-tool", name, "--seed", "s1", number=7, 字="好"))
    assert text == f'{name} got {{"number": 7, "字": "好"}} (index s1)'


def test_extra_tools_are_listed_in_the_order_of_the_flags() -> None:
    listed = pages("tickets", "--extra-tool", "b", "--extra-tool", "a", "--extra-tool", "b")
    assert names(listed[0])[3:] == ["b", "a", "b"]


def test_a_renamed_tool_answers_to_its_new_name_only() -> None:
    flags = ("--rename", "search=find.all", "--rename", "read_note=open")
    assert names(pages("notes", *flags)[0]) == ["find.all", "open"]
    send = [call(1, "find.all", query="MCP"), call(2, "search", query="MCP"), call(3, "find.all")]
    new, old, mended = run("notes", *flags, send=send).answers
    assert "isError" not in new["result"]
    assert old["error"]["code"] == -32602
    assert "find.all needs" in text_of(mended["result"])


def test_a_bare_tool_has_a_name_and_a_schema_and_works() -> None:
    [page] = pages("tickets", "--bare-tool", "b")
    assert page["tools"][-1] == {"name": "b", "inputSchema": {"type": "object"}}
    assert text_of(call_tool("tickets", "b", "--bare-tool", "b", x=1)).startswith('b got {"x": 1}')


def test_a_stale_tool_is_listed_and_unknown_when_called() -> None:
    flags = ("--extra-tool", "old", "--stale-tool", "old")
    assert names(pages("tickets", *flags)[0])[-1] == "old"
    stale, fresh = run("tickets", *flags, send=[call(1, "old"), call(2, "get_ticket", id="T-01")]).answers
    assert (stale["error"]["code"], stale["error"]["message"]) == (-32602, "unknown tool: old")
    assert "error" not in fresh


def test_a_tool_that_is_listed_once_is_gone_from_the_second_walk_on() -> None:
    send = [*(request(n, "tools/list") for n in (1, 2, 3)), call(4, "read_note", id="N-01")]
    ran = run("notes", "--list-once", "read_note", send=send)
    assert [names(answer["result"]) for answer in ran.answers[:3]] == [
        ["search", "read_note"],
        ["search", "list_notes"],
        ["search", "list_notes"],
    ]
    assert ran.answers[3]["error"]["message"] == "unknown tool: read_note"


def test_the_server_name_is_what_the_flag_says() -> None:
    [answer] = run("notes", "--server-name", "acme", send=[request(1, "server/discover")]).answers
    assert answer["result"]["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "acme"


def test_silence_on_one_method_leaves_the_others_answered() -> None:
    send = [request(1, "tools/list"), request(2, "server/discover"), call(3, "list_notes")]
    flags = ("--silent-on", "tools/list", "--silent-on", "tools/call")
    assert [answer["id"] for answer in run("notes", *flags, send=send).answers] == [2]


def test_silence_and_crash_can_be_for_the_calls_of_one_tool_only() -> None:
    flags = ("--silent-on", "read_note", "--crash-on", "search")
    send = [call(1, "read_note", id="N-01"), call(2, "list_notes"), call(3, "search", query="mcp"), call(4, "search")]
    ran = run("notes", *flags, send=send)
    assert ([answer["id"] for answer in ran.answers], ran.code) == ([2], 70)
    assert ran.stderr == "notes: crash on search, as asked\n"


def test_silence_on_everything_swallows_even_errors_and_still_writes_the_journal(tmp_path: Path) -> None:
    file = tmp_path / "journal"
    flags = ("--silent-on", "*", "--journal", str(file))
    ran = run("notes", *flags, send=[request(1, "tools/list"), b"not json"])
    assert ran.lines == []
    assert [entry["event"] for entry in journal(file)] == ["start", "received", "received", "exit"]


def test_a_crash_on_a_method_comes_after_the_answers_before_it(tmp_path: Path) -> None:
    file = tmp_path / "journal"
    flags = ("--crash-on", "tools/call", "--journal", str(file))
    ran = run("notes", *flags, send=[request(1, "tools/list"), call(2, "list_notes"), request(3, "tools/list")])
    assert [answer["id"] for answer in ran.answers] == [1]
    assert ran.code == 70
    assert ran.stderr == "notes: crash on tools/call, as asked\n"
    assert [entry["event"] for entry in journal(file)] == ["start", "received", "sent", "received", "exit"]
    assert journal(file)[-1]["reason"] == "crash"


def test_a_crash_at_start_reads_nothing(tmp_path: Path) -> None:
    file = tmp_path / "journal"
    ran = run("tickets", "--crash-at-start", "--journal", str(file))
    assert (ran.lines, ran.code) == ([], 70)
    assert ran.stderr == "tickets: crash at start, as asked\n"
    assert [entry["event"] for entry in journal(file)] == ["start", "exit"]


def test_a_crash_until_a_file_is_there_ends_with_the_file(tmp_path: Path) -> None:
    flags = ("--crash-until", str(tmp_path / "file"))
    assert run("tickets", *flags, send=[request(1, "tools/list")]).code == 70
    (tmp_path / "file").touch()
    assert len(run("tickets", *flags, send=[request(1, "tools/list")]).answers) == 1


def test_reversed_answers_wait_for_each_other_and_leave_last_first() -> None:
    with Peer("notes", "--reverse", "tools/call=3") as peer:
        peer.send(call(1, "list_notes"), call(2, "list_notes"), request(3, "tools/list"))
        assert peer.receive()["id"] == 3
        peer.send(call(4, "list_notes"), call(5, "list_notes"), call(6, "no_such"), call(7, "list_notes"))
        assert [peer.receive()["id"] for _ in range(6)] == [4, 2, 1, 7, 6, 5]


def test_a_cancelled_request_is_dropped_while_its_answer_is_held_back() -> None:
    calls = [call(request_id, "list_notes") for request_id in (1, "1", 3, 4)]
    ran = run("notes", "--reverse", "tools/call=3", send=[*calls[:2], cancelled(1), *calls[2:]])
    assert [answer["id"] for answer in ran.answers] == [4, 3, "1"]


def test_what_is_held_back_at_the_end_of_stdin_is_dropped() -> None:
    ran = run("notes", "--reverse", "tools/list=2", send=[request(number, "tools/list") for number in (1, 2, 3)])
    assert [answer["id"] for answer in ran.answers] == [2, 1]


def test_a_delayed_answer_lets_other_answers_overtake_it() -> None:
    with Peer("notes", "--delay", "tools/call=0.1") as peer:
        peer.send(call(1, "list_notes"), request(2, "tools/list"))
        assert [peer.receive()["id"], peer.receive()["id"]] == [2, 1]


def test_a_delayed_answer_can_be_cancelled() -> None:
    with Peer("notes", "--delay", "tools/call=0.1") as peer:
        peer.send(call(1, "list_notes"), cancelled(1), call(2, "list_notes"))
        assert peer.receive()["id"] == 2


def test_only_the_first_answer_is_delayed() -> None:
    with Peer("notes", "--delay-first", "tools/call=0.1") as peer:
        peer.send(call(1, "list_notes"), call(2, "list_notes"))
        assert [peer.receive()["id"], peer.receive()["id"]] == [2, 1]


@pytest.mark.parametrize("request_id, decoy", [(7, "7"), ("7", 7), (-7, None), ("seven", None)])
def test_a_wrong_answer_under_the_id_in_its_other_form_comes_first(request_id: Any, decoy: Any) -> None:
    send = [request(request_id, "tools/list"), request(8, "server/discover")]
    *wrong, answer, other = run("notes", "--text-id", "tools/list", send=send).answers
    assert [message["id"] for message in wrong] == ([] if decoy is None else [decoy])
    assert all("answer to nobody" in text_of(message["result"]) for message in wrong)
    assert (answer["id"], other["id"]) == (request_id, 8) and "tools" in answer["result"]


def test_halves_of_a_line_come_one_after_the_other_and_make_the_whole() -> None:
    pipe = subprocess.PIPE
    process = subprocess.Popen(command("notes", ["--halves"]), stdin=pipe, stdout=pipe)
    assert process.stdin is not None and process.stdout is not None
    try:
        process.stdin.write(line_of(request(1, "tools/list")))
        process.stdin.flush()
        first = os.read(process.stdout.fileno(), 1_000_000)
        assert first and b"\n" not in first
        second = os.read(process.stdout.fileno(), 1_000_000)
        assert second.endswith(b"\n") and json.loads(first + second)["id"] == 1
    finally:
        process.kill()
        process.communicate(timeout=PATIENCE)


def test_noise_surrounds_each_answer_with_lines_that_are_no_answers(tmp_path: Path) -> None:
    file = tmp_path / "journal"
    ran = run("notes", "--noise", "--journal", str(file), send=[request(1, "tools/list"), request(2, "no/such")])
    assert len(ran.lines) == 10
    banner, blank, no_message, notification, answer = ran.lines[:5]
    with pytest.raises(ValueError):
        json.loads(banner)
    assert blank == b""
    assert "jsonrpc" not in json.loads(no_message)
    assert json.loads(notification)["method"] == "notifications/message"
    assert json.loads(answer)["id"] == 1
    sent = [entry["message"] for entry in journal(file) if entry["event"] == "sent"]
    assert sent == [json.loads(line) for line in (ran.lines[3], ran.lines[4], ran.lines[8], ran.lines[9])]


def test_the_flood_of_stderr_is_exactly_as_long_as_asked() -> None:
    ran = run("notes", "--stderr-flood", "200001", send=[request(1, "tools/list")])
    assert len(ran.stderr) == 200_001
    assert len(ran.answers) == 1


def test_a_flood_that_nobody_drains_blocks_the_server() -> None:
    with Peer("notes", "--stderr-flood", "1000000") as peer:
        peer.send(request(1, "tools/list"))
        with pytest.raises(queue.Empty):
            peer.receive_line(SILENCE)


def test_malformed_tools_stand_between_good_ones() -> None:
    [page] = pages("notes", "--malformed-tool", "--page-size", "9")
    good, null, no_schema, *rest = page["tools"]
    assert good["name"] == "search"
    assert null is None
    assert no_schema["name"] == "no_schema" and "inputSchema" not in no_schema
    assert [tool["name"] for tool in rest] == ["read_note", "list_notes"]


def test_a_grandchild_holds_stdout_open_after_a_crash(tmp_path: Path) -> None:
    file = tmp_path / "journal"
    with Peer("notes", "--grandchild", "30", "--crash-on", "tools/list", "--journal", str(file)) as peer:
        peer.send(request(1, "tools/list"))
        assert peer.process.wait(PATIENCE) == 70
        grandchild = journal(file)[0]["grandchild"]
        try:
            with pytest.raises(queue.Empty):  # dead, and still no end of its output
                peer.receive_line(SILENCE)
        finally:
            os.kill(grandchild, signal.SIGTERM)
        assert peer.receive_line() == b""


def test_the_journal_holds_each_message_as_it_went_over_the_wire(tmp_path: Path) -> None:
    file = tmp_path / "journal"
    send: list[JSONObject | bytes] = [request("a", "tools/list"), b"x" * 3000, cancelled("a")]
    ran = run("notes", "--journal", str(file), send=send)
    start, received, sent, unreadable, error, notification, end = journal(file)
    assert start["event"] == "start" and start["argv"][1:] == ["--journal", str(file)]
    assert (received["event"], received["message"]) == ("received", send[0])
    assert (sent["event"], sent["message"]) == ("sent", ran.answers[0])
    assert (unreadable["event"], unreadable["line"]) == ("received", "x" * 2000)
    assert (error["event"], error["message"]) == ("sent", ran.answers[1])
    assert (notification["event"], notification["message"]) == ("received", send[2])
    assert (end["event"], end["reason"]) == ("exit", "eof")
    times = [entry["at"] for entry in journal(file)]
    assert times == sorted(times)


def test_the_journal_is_readable_while_the_server_runs_and_grows_over_runs(tmp_path: Path) -> None:
    file = tmp_path / "journal"
    with Peer("notes", "--journal", str(file)) as peer:
        peer.send(request(1, "tools/list"))
        peer.receive()
        assert [entry["event"] for entry in journal(file)] == ["start", "received", "sent"]
        assert isinstance(journal(file)[0]["pid"], int)
    run("notes", "--journal", str(file))
    assert [entry["event"] for entry in journal(file)][3:] == ["start", "exit"]


WRONG_FLAGS: list[tuple[tuple[str, ...], str]] = [
    (("--no-such",), "unknown flag --no-such"),
    (("stray",), "unknown flag stray"),
    (("--seed",), "--seed needs a value"),
    (("--journal", "--noise"), "--journal needs a value"),
    (("--journal", str(Path(__file__) / "no" / "such")), "--journal"),
    (("--page-size", "0"), "from 1 up"),
    (("--page-size", "two"), "from 1 up"),
    (("--page-size", "2,,1"), "from 1 up"),
    (("--reverse", "tools/call"), "METHOD=N"),
    (("--reverse", "tools/call=0"), "from 1 up"),
    (("--delay", "tools/call=nan"), "seconds"),
    (("--delay", "=1"), "METHOD=SECONDS"),
    (("--grandchild", "-1"), "seconds"),
    (("--rename", "search"), "OLD=NEW"),
    (("--rename", "no_such=x"), "there is no tool no_such"),
    (("--empty-cursor", "--page-size", "9"), "need a second page"),
    (("--repeat-cursor", "--page-size", "9"), "need a second page"),
]


@pytest.mark.parametrize("flags, words", WRONG_FLAGS, ids=[" ".join(row[0])[:40] for row in WRONG_FLAGS])
def test_a_wrong_flag_is_one_clear_line_and_exit_code_2(flags: tuple[str, ...], words: str) -> None:
    ran = run("notes", *flags)
    assert (ran.lines, ran.code) == ([], 2)
    assert ran.stderr.startswith("notes: ") and ran.stderr.count("\n") == 1
    assert words in ran.stderr


def test_help_lists_every_flag() -> None:
    ran = run("tickets", "--help")
    assert ran.code == 0
    flags = re.findall(rb"^  (--[a-z-]+)", b"\n".join(ran.lines), re.MULTILINE)
    assert len(flags) == 26 and b"--grandchild" in flags

"""A model provider on 127.0.0.1 that speaks both wire formats, says what a test scripts, and refuses what a real
provider refuses.

Replies are played in order, one for each request; what was asked is recorded. A request that the real API would not
take (a history with a gap, a schema with a choice at its root, a name with a dot) gets the 400 that it would get
there, and stands in `problems`, which must be empty when the server closes.
"""

from __future__ import annotations

import contextlib
import json
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from jsonschema import Draft202012Validator

JSONObject = dict[str, Any]

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
PROPERTY = re.compile(r"[A-Za-z0-9_.-]{1,64}")
CHOICES = {"allOf", "anyOf", "oneOf", "enum", "not"}


@dataclass(frozen=True)
class Reply:
    """One answer: `pieces` are written one by one, so that a reader cannot count on their borders."""

    pieces: tuple[bytes, ...] = ()
    status: int = 200
    kind: str = "application/json"  # the content type
    headers: dict[str, str] = field(default_factory=dict)
    then: str = "end"  # "end", "break": the connection is cut in the middle, "silence": nothing more comes


@dataclass(frozen=True)
class Asked:
    """One request."""

    path: str
    headers: dict[str, str]  # names in lower case
    body: JSONObject


Script = Reply | Callable[[JSONObject], Reply]


class ModelServer:
    """`with ModelServer(reply, ...) as server:`; `server.url` has no path."""

    def __init__(self, *replies: Script) -> None:
        self.replies = list(replies)
        self.asked: list[Asked] = []
        self.problems: list[str] = []
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01})
        self.url = f"http://127.0.0.1:{self._http.server_port}"

    def __enter__(self) -> ModelServer:
        self._thread.start()
        return self

    def __exit__(self, error: object, *_: object) -> None:
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()
        assert error is not None or not self.problems, self.problems

    @property
    def bodies(self) -> list[JSONObject]:
        return [asked.body for asked in self.asked]

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                headers = {name.lower(): value for name, value in self.headers.items()}
                reply = server.reply(Asked(self.path, headers, body))
                with contextlib.suppress(ConnectionError):
                    self.play(reply)

            def play(self, reply: Reply) -> None:
                self.close_connection = True
                if reply.status == 0:  # not even a status
                    return
                self.send_response(reply.status)
                ours = {"Content-Type": reply.kind, "Transfer-Encoding": "chunked", "Connection": "close"}
                for name, value in {**ours, **reply.headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                for piece in filter(None, reply.pieces):
                    self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
                if reply.then == "silence":
                    self.connection.recv(1)  # until the client has gone
                elif reply.then == "end":
                    self.wfile.write(b"0\r\n\r\n")

            def log_message(self, *_: object) -> None:
                """Nothing on the terminal."""

        return Handler

    def reply(self, asked: Asked) -> Reply:
        self.asked.append(asked)
        problem = check(asked)
        if problem is not None:
            self.problems.append(problem)
            return error(400, problem)
        if not self.replies:
            self.problems.append("one request more than there are replies")
            return error(400, self.problems[-1])
        script = self.replies.pop(0)
        return script if isinstance(script, Reply) else script(asked.body)


# What a reply can be


def document(value: object, status: int = 200, **headers: str) -> Reply:
    return Reply((json.dumps(value, ensure_ascii=False).encode(),), status, headers=headers)


def error(status: int, message: str, **headers: str) -> Reply:
    return document({"error": {"type": "some_error", "message": message}}, status, **headers)


def page(status: int, text: str) -> Reply:
    return Reply((text.encode(),), status, "text/html; charset=utf-8")


def events(items: Iterable[object], size: int = 10_000, then: str = "end", newline: str = "\n") -> Reply:
    """Server-sent events; a text is written as it is. Cut into pieces of `size` bytes, wherever that is."""
    lines: list[str] = []
    for item in items:
        if isinstance(item, str):
            lines += [f"data: {item}", ""]
            continue
        if isinstance(item, dict) and "type" in item:  # Anthropic names its events
            lines.append(f"event: {item['type']}")
        lines += ["data: " + json.dumps(item, ensure_ascii=False), ""]
    data = "".join(line + newline for line in lines).encode()
    pieces = tuple(data[start : start + size] for start in range(0, len(data), size))
    return Reply(pieces, kind="text/event-stream; charset=utf-8", then=then)


def cut(text: str, size: int) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]


# (id, name, the arguments as JSON text)
Calls = Sequence[tuple[str, str, str]]


def chat_events(text: str = "", calls: Calls = (), finish: str | None = None, size: int = 5) -> list[Any]:
    """An answer as OpenAI streams it."""
    chunks = [chat_chunk({"role": "assistant", "content": "" if text else None})]
    chunks += [chat_chunk({"content": piece}) for piece in cut(text, size)]
    for index, (an_id, name, arguments) in enumerate(calls):
        first = {"id": an_id, "type": "function", "function": {"name": name, "arguments": ""}}
        chunks.append(chat_chunk({"tool_calls": [{"index": index, **first}]}))
        for piece in cut(arguments, size):
            chunks.append(chat_chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]}))
    chunks.append(chat_chunk({}, finish or ("tool_calls" if calls else "stop")))
    return [*chunks, "[DONE]"]


def chat_chunk(delta: JSONObject, finish: str | None = None) -> JSONObject:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}


def chat(text: str = "", calls: Calls = (), finish: str | None = None, size: int = 5) -> Reply:
    return events(chat_events(text, calls, finish, size))


def messages_events(text: str = "", calls: Calls = (), stop: str | None = None, size: int = 5) -> list[Any]:
    """An answer as Anthropic streams it."""
    blocks: list[tuple[JSONObject, list[JSONObject]]] = []
    if text:
        deltas = [{"type": "text_delta", "text": piece} for piece in cut(text, size)]
        blocks.append(({"type": "text", "text": ""}, deltas))
    for an_id, name, arguments in calls:
        deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in ["", *cut(arguments, size)]]
        blocks.append(({"type": "tool_use", "id": an_id, "name": name, "input": {}}, deltas))
    return messages_of_blocks(blocks, stop or ("tool_use" if calls else "end_turn"))


def messages_of_blocks(blocks: list[tuple[JSONObject, list[JSONObject]]], stop: str, **more: object) -> list[Any]:
    """`blocks`: how each starts, and its deltas."""
    usage = {"input_tokens": 1, "output_tokens": 1}
    start = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": []}
    start |= {"stop_reason": None, "stop_sequence": None, "usage": usage}
    made: list[Any] = [{"type": "message_start", "message": start}, {"type": "ping"}]
    for index, (block, deltas) in enumerate(blocks):
        made.append({"type": "content_block_start", "index": index, "content_block": block})
        made += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        made.append({"type": "content_block_stop", "index": index})
    delta = {"stop_reason": stop, "stop_sequence": None, **more}
    made.append({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 9}})
    return [*made, {"type": "message_stop"}]


def messages(text: str = "", calls: Calls = (), stop: str | None = None, size: int = 5) -> Reply:
    return events(messages_events(text, calls, stop, size))


# What a real provider would refuse: the first reason, or None


def check(asked: Asked) -> str | None:
    checks = {"/v1/chat/completions": check_chat, "/v1/messages": check_messages}
    if asked.path not in checks:
        return None  # a test of addresses
    if asked.path == "/v1/messages" and asked.headers.get("anthropic-version") != "2026-10-21":
        return "anthropic-version: header is required"
    try:
        checks[asked.path](asked.body)
    except Exception as wrong:  # a KeyError is a refusal too
        return f"{type(wrong).__name__}: {wrong}".partition("\n")[0]
    return None


def check_chat(body: JSONObject) -> None:
    assert isinstance(body["model"], str) and body["model"], "model"
    for tool in check_list(body.get("tools", [None]), "tools"):
        if tool is not None:
            assert tool["type"] == "function", "tools: type"
            check_tool(tool["function"], "parameters", 1024)
    names = [tool["function"]["name"] for tool in body.get("tools", [])]
    assert len(set(names)) == len(names), "tools: names must be unique"
    waiting: list[str] = []  # the ids of calls that have no result yet
    for number, message in enumerate(check_list(body["messages"], "messages")):
        role, where = message["role"], f"messages[{number}]"
        assert role in ("system", "user", "assistant", "tool"), f"{where}: role {role}"
        assert role != "system" or number == 0, f"{where}: a system message must be the first"
        assert role == "tool" or not waiting, f"{where}: tool_call_ids without a result: {waiting}"
        if role == "tool":
            assert message["tool_call_id"] in waiting, f"{where}: a result for no call"
            waiting.remove(message["tool_call_id"])
        waiting += check_chat_calls(message.get("tool_calls", []), where)
        allowed = (str, type(None)) if message.get("tool_calls") else (str,)
        assert isinstance(message["content"], allowed), f"{where}: content"
        assert role != "assistant" or message.get("tool_calls") or message["content"], f"{where}: empty"
    assert not waiting, f"tool_call_ids without a result: {waiting}"


def check_chat_calls(calls: list[JSONObject], where: str) -> list[str]:
    for call in calls:
        assert call["type"] == "function", f"{where}: type"
        assert NAME.fullmatch(call["function"]["name"]), f"{where}: function.name does not match"
        arguments = json.loads(call["function"]["arguments"])  # vLLM and llama.cpp fail on what is no JSON
        assert isinstance(arguments, dict), f"{where}: arguments are no object"
    ids = [call["id"] for call in calls]
    assert all(ids) and len(set(ids)) == len(ids), f"{where}: ids of calls: {ids}"
    return ids


def check_messages(body: JSONObject) -> None:
    assert isinstance(body["max_tokens"], int), "max_tokens"
    assert not {"temperature", "top_p", "top_k"} & set(body), "sampling parameters were removed in 2026-10-21"
    assert "tools" not in body or body["tools"], "tools: empty"
    assert isinstance(body.get("system", "x"), str) and body.get("system", "x"), "system"
    for tool in body.get("tools", []):
        check_tool(tool, "input_schema", 10_000)
        for name in tool["input_schema"].get("properties", {}):
            assert PROPERTY.fullmatch(name), "tools: Property keys should match pattern"
    names = [tool["name"] for tool in body.get("tools", [])]
    assert len(set(names)) == len(names), "tools: names must be unique"
    waiting: list[str] = []
    used: set[str] = set()
    for number, message in enumerate(check_list(body["messages"], "messages")):
        where = f"messages.{number}"
        assert message["role"] == ("assistant" if number % 2 else "user"), f"{where}: roles must alternate"
        content = message["content"]
        blocks = check_list([{"type": "text", "text": content}] if isinstance(content, str) else content, where)
        results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        assert sorted(results) == sorted(waiting), f"{where}: tool_use ids {waiting}, results {results}"
        assert [b["type"] for b in blocks[: len(results)]] == ["tool_result"] * len(results), f"{where}: results first"
        waiting = [block["id"] for block in blocks if block["type"] == "tool_use"]
        for block in blocks:
            check_block(block, where)
        assert not used & set(waiting) and len(set(waiting)) == len(waiting), f"{where}: tool_use ids must be unique"
        used |= set(waiting)
    assert not waiting, "tool_use without tool_result"
    assert not used or body.get("tools"), "tools: required when the history has tool_use blocks"


def check_block(block: JSONObject, where: str) -> None:
    match block["type"]:
        case "text":
            assert block["text"].strip(), f"{where}: text content blocks must be non-empty"
        case "tool_use":
            assert NAME.fullmatch(block["name"]), f"{where}: name"
            assert isinstance(block["input"], dict), f"{where}: input should be a valid dictionary"
        case "tool_result":
            assert isinstance(block["content"], str), f"{where}: content"
            assert block.get("is_error", False) in (True, False), f"{where}: is_error"
        case "thinking":
            assert block["signature"], f"{where}: signature"


def check_list(value: Any, where: str) -> list[Any]:
    assert isinstance(value, list) and value, f"{where}: a list that is not empty"
    return value


def check_tool(tool: JSONObject, schema_name: str, most: int) -> None:
    schema = tool[schema_name]
    assert NAME.fullmatch(tool["name"]), f"tool name {tool['name']!r} does not match"
    assert len(tool["description"]) <= most, f"description of {tool['name']}: string too long"
    assert schema.get("type") == "object", f"schema of {tool['name']}: type must be object"
    assert isinstance(schema.get("properties"), dict), f"schema of {tool['name']}: object schema missing properties"
    assert not CHOICES & set(schema), f"schema of {tool['name']}: a choice at the top level"
    Draft202012Validator.check_schema(schema)
    check_schema(schema, schema, tool["name"], 1)


def check_schema(schema: Any, document: JSONObject, where: str, depth: int) -> None:
    assert isinstance(schema, dict), f"{where}: Unrecognized schema: {schema}"
    assert depth <= 16, f"{where}: too deep"
    types = schema.get("type", [])
    is_array = "array" in (types if isinstance(types, list) else [types])
    assert "items" in schema or not is_array, f"{where}: array schema missing items"
    if "$ref" in schema:
        assert schema["$ref"].startswith("#"), f"{where}: a reference to elsewhere"
        assert isinstance(resolve(document, schema["$ref"]), dict), f"{where}: a reference to no schema"
    for name, inner in inner_schemas(schema):
        if name not in ("additionalProperties", "unevaluatedProperties") or not isinstance(inner, bool):
            check_schema(inner, document, f"{where}.{name}", depth + 1)


def inner_schemas(schema: JSONObject) -> Iterator[tuple[str, Any]]:
    for word in ("additionalProperties", "unevaluatedProperties", "items", "not", "if", "then", "else", "contains"):
        if word in schema:
            yield word, schema[word]
    for word in ("allOf", "anyOf", "oneOf", "prefixItems"):
        yield from ((word, one) for one in schema.get(word, []))
    for word in ("properties", "$defs", "definitions", "patternProperties"):
        yield from schema.get(word, {}).items()


def resolve(document: Any, reference: str) -> Any:
    for part in reference.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        document = document[int(name)] if isinstance(document, list) else document[name]
    return document

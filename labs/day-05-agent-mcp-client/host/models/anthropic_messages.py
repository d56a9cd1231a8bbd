"""Anthropic's Messages API, which DeepSeek, Kimi, GLM, Ollama and llama.cpp offer beside the other one.

Here a message is a list of blocks, the two roles take turns, and the results of all calls of one step stand in one
user message. `messages_for` writes the conversation, `MessagesReader` reads the streamed answer.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from host.models import answer as ends
from host.models.answer import Answer, Call, sendable_arguments, sendable_name
from host.models.lenient import as_list, as_object, as_text
from host.models.shaping import Rules, Shaped

if TYPE_CHECKING:
    from protocol import JSONObject

VERSION = "2026-10-21"
DEFAULT_URL = "https://api.anthropic.com"
MAX_TOKENS = 8192  # of one answer; the API wants a number, and every model in use takes this one
RULES = Rules(
    most_description=10_000,
    tool_name=re.compile(r"[A-Za-z0-9_-]{1,64}"),
    property_name=re.compile(r"[A-Za-z0-9_.-]{1,64}"),
)

ENDS = {
    **dict.fromkeys(("end_turn", "tool_use", "stop_sequence"), ends.DONE),
    "max_tokens": ends.CUT,
    "model_context_window_exceeded": ends.FULL,
    "refusal": ends.REFUSED,
}
THINKING = ("thinking", "redacted_thinking")  # to be given back as they came, with their signatures


class AnthropicMessages:
    """The API as `real.Api` wants it."""

    default_url = DEFAULT_URL
    rules = RULES

    def url(self, base: str) -> str:
        """The SDK wants the base without /v1; people write it with /v1, or the whole address."""
        base = base.rstrip("/")
        if base.endswith("/messages"):
            return base
        return base + ("" if base.endswith("/v1") else "/v1") + "/messages"

    def headers(self, key: str | None) -> dict[str, str]:
        return {"anthropic-version": VERSION} | ({} if key is None else {"x-api-key": key})

    def body(self, messages: list[JSONObject], shaped: Shaped, options: JSONObject) -> JSONObject:
        body = {"max_tokens": MAX_TOKENS, **options, "messages": messages_for(messages, shaped), "stream": True}
        told = [str(message["content"]) for message in messages if message["role"] == "system"]
        if told:
            body["system"] = "\n\n".join(told)
        if tools := shaped.tools or tools_that_were_there(messages):
            body["tools"] = tools
        return body

    def reader(self, answer: Answer) -> MessagesReader:
        return MessagesReader(answer)


# Writing


def tools_that_were_there(messages: list[JSONObject]) -> list[JSONObject]:
    """A history with calls is refused when no tool is defined, as when all servers have gone down."""
    calls = [call for message in messages for call in message.get("tool_calls") or []]
    names = dict.fromkeys(sendable_name(call) for call in calls)
    schema = {"type": "object", "properties": {}}
    return [{"name": name, "description": "(not available any more)", "input_schema": schema} for name in names]


def messages_for(messages: list[JSONObject], shaped: Shaped) -> list[JSONObject]:
    """The conversation as blocks; what stands in one role one after the other becomes one message."""
    made: list[JSONObject] = []
    for message in messages:
        role = "assistant" if message["role"] == "assistant" else "user"
        blocks = blocks_for(message, shaped)
        if made and made[-1]["role"] == role:
            made[-1]["content"] += blocks
        elif blocks:
            made.append({"role": role, "content": blocks})
    return made


def blocks_for(message: JSONObject, shaped: Shaped) -> list[JSONObject]:
    if message["role"] == "assistant":
        return assistant_blocks(message, shaped)
    if message["role"] == "user":
        return text_blocks(message["content"])
    return [result_block(message)] if message["role"] == "tool" else []  # "system" has a field of its own


def text_blocks(text: object) -> list[JSONObject]:
    """An empty text block is refused."""
    return [{"type": "text", "text": str(text)}] if str(text or "").strip() else []


def assistant_blocks(message: JSONObject, shaped: Shaped) -> list[JSONObject]:
    """As the model wrote them, if it was thinking: its thoughts must come back at their places, untouched."""
    calls = [call_block(call, shaped) for call in message.get("tool_calls") or []]
    made: list[JSONObject] = []
    for block in as_list(as_object(message.get("as_received")).get("blocks")):
        if block["type"] in THINKING:
            made.append(block)
        elif block["type"] == "text":
            made += text_blocks(as_text(block.get("text")))
        elif calls:
            made.append(calls.pop(0))
    return (made or text_blocks(message.get("content"))) + calls


def call_block(call: JSONObject, shaped: Shaped) -> JSONObject:
    arguments = sendable_arguments(call, shaped)
    return {"type": "tool_use", "id": call["id"], "name": sendable_name(call), "input": arguments}


def result_block(message: JSONObject) -> JSONObject:
    block: JSONObject = {"type": "tool_result", "tool_use_id": message["tool_call_id"]}
    block["content"] = str(message["content"]) or "(nothing)"
    return block | ({"is_error": True} if message.get("is_error") else {})


# Reading


class MessagesReader:
    """Puts the blocks of a streamed answer together."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._blocks: dict[int, JSONObject] = {}  # index -> the block as it is so far
        self._calls: dict[int, Call] = {}  # index -> the call that this block is

    def read(self, event: JSONObject) -> None:
        index = event.get("index")
        index = index if isinstance(index, int) else -1
        match event.get("type"):
            case "content_block_start":
                self._start(index, as_object(event.get("content_block")))
            case "content_block_delta":
                self._add(index, as_object(event.get("delta")))
            case "message_delta":
                self._end(as_object(event.get("delta")))
            case "message_stop":
                self._answer.is_over = True
                self._answer.end = self._answer.end or ends.DONE

    def read_whole(self, document: JSONObject) -> None:
        for index, block in enumerate(as_list(document.get("content"))):
            self._start(index, as_object(block))
        self._end(document)

    def _start(self, index: int, block: JSONObject) -> None:
        if block.get("type") == "tool_use":
            arguments = as_object(block.get("input"))  # empty when they are streamed
            call = Call(as_text(block.get("id")), as_text(block.get("name")))
            call.arguments = json.dumps(arguments) if arguments else ""
            self._calls[index] = call
            self._answer.calls.append(call)
        elif block.get("type") not in ("text", *THINKING):
            return
        self._blocks[index] = dict(block)
        self._answer.say(as_text(block.get("text")))
        if any(block["type"] in THINKING for block in self._blocks.values()):
            self._answer.as_received["blocks"] = list(self._blocks.values())

    def _add(self, index: int, delta: JSONObject) -> None:
        block = self._blocks.get(index, {})
        for name in ("text", "thinking"):
            if piece := as_text(delta.get(name)):
                block[name] = as_text(block.get(name)) + piece
        if "signature" in delta:
            block["signature"] = delta["signature"]
        self._answer.say(as_text(delta.get("text")))
        if call := self._calls.get(index):
            call.arguments += as_text(delta.get("partial_json"))

    def _end(self, delta: JSONObject) -> None:
        if reason := as_text(delta.get("stop_reason")):
            self._answer.end = ENDS.get(reason, reason)
            self._answer.why = as_text(as_object(delta.get("stop_details")).get("explanation"))

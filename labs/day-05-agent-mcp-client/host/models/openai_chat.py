"""OpenAI's Chat Completions, which Ollama, vLLM, llama.cpp, DeepSeek, Qwen, Kimi, GLM and many others speak as well.

`messages_for` writes the conversation, `ChatReader` reads the streamed answer. They all mean the same API and keep
to it in different degrees; what is done beyond the letter of it says for whom.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from host.models import answer as ends
from host.models.answer import Answer, Call, read_arguments, sendable_arguments, sendable_name
from host.models.lenient import as_list, as_object, as_text
from host.models.shaping import Rules, Shaped

if TYPE_CHECKING:
    from protocol import JSONObject

PATH = "/chat/completions"
DEFAULT_URL = "https://api.openai.com/v1"
RULES = Rules(most_description=1024, tool_name=re.compile(r"[A-Za-z0-9_-]{1,64}"))

ENDS = {
    **dict.fromkeys(("stop", "tool_calls", "function_call", "eos", "stop_sequence"), ends.DONE),
    **dict.fromkeys(("length", "max_tokens"), ends.CUT),
    **dict.fromkeys(("content_filter", "sensitive"), ends.FILTERED),  # the second is GLM's word
}
# What a thinking model must be given back while it uses tools. DeepSeek and Kimi refuse a history without the first.
KEPT = ("reasoning_content", "reasoning_details")
KEPT_OF_CALL = ("extra_content",)  # Gemini's signatures

ERROR_MARK = "[error] "  # the API has no field for it, and the model should know


class OpenAIChat:
    """The API as `real.Api` wants it."""

    default_url = DEFAULT_URL
    rules = RULES

    def url(self, base: str) -> str:
        """Bases are written in three ways: as the SDK wants them, as a bare host, or as the whole address."""
        base = base.rstrip("/")
        if base.endswith(PATH):
            return base
        return base + ("" if urlsplit(base).path else "/v1") + PATH

    def headers(self, key: str | None) -> dict[str, str]:
        return {} if key is None else {"Authorization": f"Bearer {key}"}

    def body(self, messages: list[JSONObject], shaped: Shaped, options: JSONObject) -> JSONObject:
        body = {**options, "messages": messages_for(messages, shaped), "stream": True}
        if shaped.tools:  # an empty list is refused
            body["tools"] = [tool_for(tool) for tool in shaped.tools]
        return body

    def reader(self, answer: Answer) -> ChatReader:
        return ChatReader(answer)


# Writing


def tool_for(tool: JSONObject) -> JSONObject:
    function = {"name": tool["name"], "description": tool["description"], "parameters": tool["input_schema"]}
    return {"type": "function", "function": function}


def messages_for(messages: list[JSONObject], shaped: Shaped) -> list[JSONObject]:
    """The conversation; all system messages as one, in front: many templates take it nowhere else."""
    told = [str(message["content"]) for message in messages if message["role"] == "system"]
    made: list[JSONObject] = [{"role": "system", "content": "\n\n".join(told)}] if told else []
    for message in messages:
        if message["role"] == "user":
            made.append({"role": "user", "content": str(message["content"])})
        elif message["role"] == "assistant" and (message.get("tool_calls") or message.get("content")):
            made.append(assistant_message(message, shaped))
        elif message["role"] == "tool":
            content = (ERROR_MARK if message.get("is_error") else "") + str(message["content"])
            made.append({"role": "tool", "tool_call_id": message["tool_call_id"], "content": content})
    return made


def assistant_message(message: JSONObject, shaped: Shaped) -> JSONObject:
    kept = as_object(message.get("as_received"))
    made: JSONObject = {"role": "assistant", "content": message.get("content") or None}
    made |= {name: kept[name] for name in KEPT if name in kept}
    if calls := message.get("tool_calls"):
        extra = as_object(kept.get("calls"))
        made["tool_calls"] = [call_for(call, shaped) | as_object(extra.get(call["id"])) for call in calls]
    return made


def call_for(call: JSONObject, shaped: Shaped) -> JSONObject:
    arguments = json.dumps(sendable_arguments(call, shaped), ensure_ascii=False)
    return {"id": call["id"], "type": "function", "function": {"name": sendable_name(call), "arguments": arguments}}


# Reading


class ChatReader:
    """Puts the pieces of a streamed answer together."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._by_index: dict[int, Call] = {}  # index -> the call whose pieces arrive under it now
        self._last: Call | None = None

    def read(self, event: JSONObject) -> None:
        for choice in as_list(event.get("choices"))[:1]:  # we ask for one
            self._read_choice(as_object(choice), "delta")

    def read_whole(self, document: JSONObject) -> None:
        for choice in as_list(document.get("choices"))[:1]:
            self._read_choice(as_object(choice), "message")
            self._answer.end = self._answer.end or ends.DONE

    def _read_choice(self, choice: JSONObject, part: str) -> None:
        answer, piece = self._answer, as_object(choice.get(part))
        answer.say(as_text(piece.get("content")))
        for call in as_list(piece.get("tool_calls")):
            self._read_call(as_object(call))
        for name in KEPT:
            keep(answer.as_received, name, piece.get(name))
        refusal = as_text(piece.get("refusal"))
        answer.say(refusal)
        reason = as_text(choice.get("finish_reason"))
        if refusal:
            answer.end = ends.REFUSED
        elif reason and answer.end != ends.REFUSED:
            answer.end = ENDS.get(reason, reason)

    def _read_call(self, piece: JSONObject) -> None:
        function = as_object(piece.get("function"))
        an_id, name = as_text(piece.get("id")), as_text(function.get("name"))
        arguments = function.get("arguments")
        if isinstance(arguments, dict):  # some local servers do not write it as a text
            arguments = json.dumps(arguments)
        call = self._call_of(piece.get("index"), an_id, name, as_text(arguments))
        call.id = call.id or an_id
        if name != call.name:  # some repeat it with each piece
            call.name += name
        call.arguments += as_text(arguments)
        call.extra |= {name: piece[name] for name in KEPT_OF_CALL if name in piece}

    def _call_of(self, index: Any, an_id: str, name: str, arguments: str) -> Call:
        """The call that a piece belongs to: by its index, the one thing that every piece should have."""
        is_known = isinstance(index, int)
        call = self._by_index.get(index) if is_known else self._last
        if call is None or (name and begins_another(call, is_known, an_id, name, arguments)):
            call = Call()
            self._answer.calls.append(call)
        if is_known:
            self._by_index[index] = call
        self._last = call
        return call


def begins_another(call: Call, has_index: bool, an_id: str, name: str, arguments: str) -> bool:
    """Whether a piece with a name is not of this call, whatever its index says.

    Ollama and Gemini send whole calls that all have index 0, Gemini without ids; some servers send no index.
    """
    is_complete = isinstance(read_arguments(call.arguments or "-"), dict)
    if an_id and call.id:
        is_unfinished = bool(call.arguments) and not is_complete
        return an_id != call.id and not (is_unfinished and name == call.name)  # some make a new id for each piece
    return (is_complete and bool(arguments)) or (not has_index and not an_id and name != call.name)


def keep(kept: JSONObject, name: str, piece: Any) -> None:
    """Add a piece of what the provider wants back: texts and lists grow."""
    before = kept.get(name)
    if isinstance(before, str) and isinstance(piece, str):
        kept[name] = before + piece
    elif isinstance(before, list) and isinstance(piece, list):
        kept[name] = [*before, *piece]
    elif piece is not None:
        kept[name] = piece

"""The agent loop: ask the model, run the tools it calls, hand it the results, until it answers.

The transcript is one list of messages that only grows, in the neutral form below, and it is also what
the loop returns. After each message with tool calls stands exactly one tool message per call, in the
order of the calls, whatever happened to the call: a provider refuses a history with a gap.

    {"role": "system" | "user", "content": str}
    {"role": "assistant", "content": str, "tool_calls": [{"id": str, "name": str, "arguments": dict}]}
    {"role": "tool", "tool_call_id": str, "name": str, "content": str, "is_error": bool}
"""

import json
import reprlib
from dataclasses import dataclass
from typing import Protocol

from protocol import JSONObject
from registry import ToolRegistry, error_result

MAX_STEPS = 10  # a model can go back and forth between two tools for ever
MAX_RESULT_CHARACTERS = 50_000  # of one tool result; more would crowd out the conversation


class Model(Protocol):
    """Anything that continues a conversation; the models themselves are in host/models/."""

    async def reply(self, messages: list[JSONObject], tools: list[JSONObject]) -> JSONObject:
        """Return the next assistant message; without `tool_calls` it is the answer."""
        ...


@dataclass(frozen=True)
class Transcript:
    """One turn, from the question to its end."""

    messages: list[JSONObject]
    steps: int  # how many times the model was asked
    answer: str | None  # None: the step limit came before an answer


async def run_agent(
    question: str, model: Model, registry: ToolRegistry, max_steps: int = MAX_STEPS
) -> Transcript:
    """Answer one question with the registry's tools, asking the model at most `max_steps` times."""
    messages: list[JSONObject] = [{"role": "user", "content": question}]
    if registry.down:  # or the model would act as if these tools had never existed
        missing = f"These tool servers cannot be used now: {registry.down}"
        messages.insert(0, {"role": "system", "content": missing})
    for step in range(1, max_steps + 1):
        message = await model.reply(messages, registry.model_tools())
        messages.append(message)
        calls = message.get("tool_calls")
        if not calls:
            return Transcript(messages, step, message["content"])
        for call in calls:
            messages.append(tool_message(call, await run_call(call, registry)))
    return Transcript(messages, max_steps, None)


async def run_call(call: JSONObject, registry: ToolRegistry) -> JSONObject:
    """The result of one call; the tool is not run with arguments that are no JSON object."""
    arguments = call.get("arguments") or {}
    if not isinstance(arguments, dict):
        return error_result(f"the arguments must be a JSON object, not {reprlib.repr(arguments)}")
    return await registry.call(call["name"], arguments)


def tool_message(call: JSONObject, result: JSONObject) -> JSONObject:
    """What the model reads of one result."""
    return {
        "role": "tool",
        "tool_call_id": call["id"],
        "name": call["name"],
        "content": result_text(result),
        "is_error": result.get("isError") is True,
    }


def result_text(result: JSONObject) -> str:
    """One readable text for any result; `structuredContent` only where there is no text."""
    content = result.get("content")
    blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    parts = [text for block in blocks if (text := block_text(block))]
    has_text = any(block.get("type") == "text" and block.get("text") for block in blocks)
    if "structuredContent" in result and not has_text:
        parts.append(structured_text(result["structuredContent"]))
    text = "\n".join(parts) or "(the tool returned nothing)"
    if len(text) > MAX_RESULT_CHARACTERS:
        cut = len(text) - MAX_RESULT_CHARACTERS
        text = f"{text[:MAX_RESULT_CHARACTERS]}\n({cut} more characters were cut)"
    return text


def structured_text(data: object) -> str:
    try:
        return json.dumps(data, ensure_ascii=False)
    except RecursionError:
        return "(structured content, nested too deep to be shown)"


def block_text(block: JSONObject) -> str:
    """The text of a content block, or what stands for it when a model cannot read it [server/tools]."""
    if block.get("type") == "text":
        return str(block.get("text", ""))
    resource = block.get("resource", block)
    if isinstance(resource, dict) and isinstance(resource.get("text"), str):
        return str(resource["text"])
    where = resource.get("uri") if isinstance(resource, dict) else None
    words = [str(block.get("type")), "content", where or block.get("mimeType")]
    return f"({' '.join(str(word) for word in words if word)})"

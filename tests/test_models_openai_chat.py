"""Chat Completions: our requests and our reading of the answers, with OpenAI's own SDK as the referee of both.

The SDK talks to the same mock provider. What it makes of a stream must be what we make of it, and a conversation that
its user would carry on by hand must be, request by request, the one that we send.
"""

from __future__ import annotations

import json
import random
import sys
from typing import Any

import pytest
from kit import LAB
from mock_model_server import (
    Calls,
    ModelServer,
    Reply,
    chat,
    chat_chunk,
    chat_events,
    document,
    events,
)

sys.path.insert(0, str(LAB))

from host.models import ModelSettings
from host.models.answer import Answer
from host.models.openai_chat import OpenAIChat
from host.models.real import RealModel
from host.models.shaping import Shaped

JSONObject = dict[str, Any]

pytestmark = pytest.mark.anyio

SEARCH = {
    "name": "mcp__notes__search",
    "description": "[from notes] Finds notes.",
    "input_schema": {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]},
}
QUESTION = {"role": "user", "content": "what about the login bug?"}
TWO_CALLS: Calls = [
    ("call_a", "mcp__notes__search", '{"query": "login bug"}'),
    ("call_b", "mcp__notes__search", '{"query": "登录 \\u2028 bug", "limit": 3}'),
]


def model(server: ModelServer, **settings: Any) -> RealModel:
    values: JSONObject = {"name": "m", "base_url": f"{server.url}/v1", "api_key": None, **settings}
    return RealModel(OpenAIChat(), ModelSettings(**values))


async def reply_to(reply: Reply, messages: list[JSONObject] | None = None) -> JSONObject:
    with ModelServer(reply) as server:
        return await model(server).reply(messages or [QUESTION], [SEARCH])


def sdk(server: ModelServer) -> Any:
    from openai import AsyncOpenAI  # not above: the import takes a second in every worker

    return AsyncOpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0)


async def sdk_message(reply: Reply) -> Any:
    """The message that the SDK's own accumulator makes of this reply."""
    with ModelServer(reply) as server:
        async with (
            sdk(server) as client,
            client.chat.completions.stream(model="m", messages=[QUESTION]) as stream,
        ):
            return (await stream.get_final_completion()).choices[0].message


def same(ours: JSONObject, theirs: Any) -> bool:
    """Whether our neutral message says what the SDK's message says."""
    calls = [
        {"id": call.id, "name": call.function.name, "arguments": json.loads(call.function.arguments or "{}")}
        for call in theirs.tool_calls or []
    ]
    return ours["content"] == (theirs.content or "") and ours.get("tool_calls", []) == calls


# The SDK as referee


@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ("The login bug is T-03, 登录问题 is T-04. 🐛", []),
        ("", TWO_CALLS[:1]),
        ("I look in both places.", TWO_CALLS),
        (
            "",
            [
                ("call_1", "mcp__notes__search", "{}"),
                ("call_2", "mcp__notes__search", '{"query": {"deep": [1, null]}}'),
            ],
        ),
    ],
)
async def test_we_read_a_stream_as_the_sdk_reads_it(text: str, calls: Calls, size: int) -> None:
    reply = chat(text, calls, size=size)
    assert same(await reply_to(reply), await sdk_message(reply))


@pytest.mark.parametrize("seed", range(10))
async def test_it_does_not_matter_where_the_network_cuts_a_stream(seed: int) -> None:
    """Bytes of one character, the two ends of a line, an event in three parts."""
    chance = random.Random(seed)
    text = "".join(chance.choice("aé登🐛 \n\u2028\x85") for _ in range(20))
    query = json.dumps(
        {"query": "".join(chance.choice('b"\\é登🐛\n') for _ in range(15))}, ensure_ascii=chance.random() < 0.5
    )
    chunks = chat_events(text, [("call_1", "mcp__notes__search", query)], size=chance.randint(1, 6))
    reply = events(chunks, size=chance.randint(1, 40), newline=chance.choice(["\n", "\r\n"]))
    ours = await reply_to(reply)
    assert ours["content"] == text and ours["tool_calls"][0]["arguments"] == json.loads(query)
    assert same(ours, await sdk_message(reply))


async def test_a_conversation_carried_on_with_the_sdk_sends_what_we_send() -> None:
    results = ["T-03: login bug", "no note found"]
    replies = (chat("I look.", TWO_CALLS), chat("It is T-03."))
    with ModelServer(*replies) as server:
        ours: list[JSONObject] = [QUESTION]
        ours.append(await model(server).reply(ours, [SEARCH]))
        for call, text in zip(ours[1]["tool_calls"], results, strict=True):
            ours.append(tool_message(call, text))
        assert (await model(server).reply(ours, [SEARCH]))["content"] == "It is T-03."
        sent = server.bodies
    function = {name: SEARCH[name] for name in ("name", "description")} | {"parameters": SEARCH["input_schema"]}
    tools: Any = [{"type": "function", "function": function}]
    with ModelServer(*replies) as server:
        theirs: list[Any] = [QUESTION]
        async with sdk(server) as client:
            for _ in range(2):
                async with client.chat.completions.stream(model="m", messages=theirs, tools=tools) as stream:
                    message = (await stream.get_final_completion()).choices[0].message
                fields = message.to_dict(exclude_none=True)
                theirs.append({name: value for name, value in fields.items() if name != "parsed"})
                for call, text in zip(message.tool_calls or [], results, strict=False):
                    theirs.append({"role": "tool", "tool_call_id": call.id, "content": text})
        assert [comparable(body) for body in server.bodies] == [comparable(body) for body in sent]


def comparable(body: JSONObject) -> JSONObject:
    """The arguments are a text whose blanks do not matter; `index` and `parsed_arguments` are additions of the SDK."""
    body = json.loads(json.dumps(body))
    for message in body["messages"]:
        for call in message.get("tool_calls", []):
            arguments = json.loads(call["function"]["arguments"])
            call["function"] = {"name": call["function"]["name"], "arguments": arguments}
            call.pop("index", None)
    return body  # type: ignore[no-any-return]


def tool_message(call: JSONObject, text: str, is_error: bool = False) -> JSONObject:
    return {"role": "tool", "tool_call_id": call["id"], "name": call["name"], "content": text, "is_error": is_error}


async def test_our_requests_are_what_the_sdk_types_allow_and_nothing_besides() -> None:
    call = {"id": "call_a", "name": "mcp__notes__search", "arguments": {"query": "x"}}
    history = [
        {"role": "system", "content": "These tool servers cannot be used now: {}"},
        QUESTION,
        {"role": "assistant", "content": "", "tool_calls": [call]},
        tool_message(call, "it failed", is_error=True),
        {"role": "assistant", "content": "Sorry."},
        {"role": "user", "content": "and now?"},
    ]
    with ModelServer(chat("ok")) as server:
        await model(server, options={"temperature": 0, "max_completion_tokens": 100}).reply(history, [SEARCH])
        body = server.bodies[0]
    from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming
    from pydantic import TypeAdapter

    adapter: Any = TypeAdapter(CompletionCreateParamsStreaming)  # it must outlive what it has checked
    assert json.loads(json.dumps(adapter.validate_python(body, strict=True), default=list)) == body


# What else a request holds


async def test_the_key_goes_into_one_header_and_without_a_key_there_is_none() -> None:
    with ModelServer(chat("a"), chat("b")) as server:
        await model(server, api_key="sk-test-123456").reply([QUESTION], [])
        await model(server).reply([QUESTION], [])
    assert server.asked[0].headers["authorization"] == "Bearer sk-test-123456"
    assert "authorization" not in server.asked[1].headers
    assert "tools" not in server.bodies[0], "an empty list is refused"


@pytest.mark.parametrize(
    ("base", "path", "reason"),
    [
        ("/v1", "/v1/chat/completions", "as the SDK wants it"),
        ("/v1/", "/v1/chat/completions", "with a stroke at its end"),
        ("", "/v1/chat/completions", "only the host"),
        ("/v1/chat/completions", "/v1/chat/completions", "the whole address"),
        ("/api/paas/v4", "/api/paas/v4/chat/completions", "GLM's"),
    ],
)
async def test_a_base_url_may_be_written_as_people_write_it(base: str, path: str, reason: str) -> None:
    with ModelServer(chat("ok")) as server:
        await model(server, base_url=server.url + base).reply([QUESTION], [])
    assert server.asked[0].path == path, reason


async def test_all_system_messages_become_one_in_front() -> None:
    told = [{"role": "system", "content": text} for text in ("first", "second")]
    with ModelServer(chat("ok")) as server:
        await model(server).reply([told[0], QUESTION, told[1]], [])
    assert server.bodies[0]["messages"] == [{"role": "system", "content": "first\n\nsecond"}, QUESTION]


async def test_an_error_result_says_so_as_the_api_has_no_field_for_it() -> None:
    call = {"id": "call_a", "name": "f", "arguments": {}}
    history = [
        QUESTION,
        {"role": "assistant", "content": "", "tool_calls": [call]},
        tool_message(call, "no such id", True),
    ]
    with ModelServer(chat("ok")) as server:
        await model(server).reply(history, [])
    assert server.bodies[0]["messages"][2]["content"] == "[error] no such id"


@pytest.mark.parametrize(
    ("arguments", "sent"),
    [
        ('{"query": "lo', {"malformed_arguments": '{"query": "lo'}),
        ("[1, 2]", {"malformed_arguments": "[1, 2]"}),
        ("", {}),
        ({"query": "\ud83d"}, {"query": "?"}),
        ({"query": float("nan")}, {"malformed_arguments": "{'query': nan}"}),
        ({"query": {1}}, {"malformed_arguments": "{'query': {1}}"}),
    ],
)
async def test_a_history_with_malformed_arguments_is_still_one_that_every_server_takes(
    arguments: Any, sent: Any
) -> None:
    call = {"id": "call_a", "name": "no such.tool!", "arguments": arguments}
    history = [QUESTION, {"role": "assistant", "content": "", "tool_calls": [call]}, tool_message(call, "bad", True)]
    with ModelServer(chat("ok")) as server:
        await model(server).reply(history, [])
    function = server.bodies[0]["messages"][1]["tool_calls"][0]["function"]
    assert json.loads(function["arguments"]) == sent
    assert function["name"] == "no_such_tool_"


# Tool calls as servers really send them


def piece(index: int | None, an_id: str | None = None, name: str | None = None, arguments: Any = None) -> JSONObject:
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    found = {"index": index, "id": an_id, "function": function}
    return {key: value for key, value in found.items() if value is not None}


A, B = '{"q": "a"}', '{"q": "b"}'


@pytest.mark.parametrize(
    ("pieces", "expected", "reason"),
    [
        (
            [piece(0, "1", "f", A), piece(0, "2", "g", B)],
            [("1", "f", "a"), ("2", "g", "b")],
            "Ollama: all have index 0",
        ),
        ([piece(0, "1", "f", A), piece(0, "2", "f", B)], [("1", "f", "a"), ("2", "f", "b")], "twice the same tool"),
        ([piece(0, "", "f", A), piece(0, "", "f", B)], [("", "f", "a"), ("", "f", "b")], "Gemini: and no ids"),
        ([piece(None, "1", "f", A), piece(None, "2", "g", B)], [("1", "f", "a"), ("2", "g", "b")], "no index"),
        ([piece(None, None, "f", ""), piece(None, None, "g", B)], [("", "f", None), ("", "g", "b")], "no index, no id"),
        (
            [piece(None, "1", "f", '{"q"'), piece(None, arguments=': "a"}'), piece(None, "2", "g", B)],
            [("1", "f", "a"), ("2", "g", "b")],
            "no index, in parts",
        ),
        (
            [
                piece(0, "1", "f", '{"q":'),
                piece(1, "2", "g", '{"q": '),
                piece(0, arguments=' "a"}'),
                piece(1, arguments='"b"}'),
            ],
            [("1", "f", "a"), ("2", "g", "b")],
            "taking turns",
        ),
        ([piece(1, "2", "g", B), piece(0, "1", "f", A)], [("2", "g", "b"), ("1", "f", "a")], "the second first"),
        ([piece(0, "1", "f", '{"q"'), piece(0, "1", "f", ': "a"}')], [("1", "f", "a")], "id and name with each piece"),
        ([piece(0, "1", "f", '{"q"'), piece(0, "9", "f", ': "a"}')], [("1", "f", "a")], "a new id with each piece"),
        ([piece(0, "1", "f", '{"q"'), piece(0, "9", None, ': "a"}')], [("1", "f", "a")], "a new id and no name"),
        ([piece(0, None, "f", ""), piece(0, "1", None, A)], [("1", "f", "a")], "the id comes later"),
        ([piece(0, "1", "f"), piece(0, "1", "", ""), piece(0, None, "", A)], [("1", "f", "a")], "empty names"),
        ([piece(0, "1", "fi"), piece(0, None, "nd", A)], [("1", "find", "a")], "a name in parts"),
        ([piece(0, "1", "f", {"q": "a"})], [("1", "f", "a")], "arguments that are no text"),
        ([piece(0, "1", "f", A), piece(1)], [("1", "f", "a")], "an empty piece"),
    ],
)
async def test_tool_calls_are_put_together_however_a_server_cuts_them(pieces: Any, expected: Any, reason: str) -> None:
    chunks = [chat_chunk({"tool_calls": [one]}) for one in pieces]
    message = await reply_to(events([*chunks, chat_chunk({}, "tool_calls"), "[DONE]"]))
    found = [(call["name"], call["arguments"].get("q")) for call in message["tool_calls"]]
    assert found == [(name, q) for _, name, q in expected], reason
    ids = [call["id"] for call in message["tool_calls"]]
    assert all(ids) and len(set(ids)) == len(ids), "each can be told from the others"
    assert all(an_id == wanted for an_id, (wanted, _, _) in zip(ids, expected, strict=True) if wanted)


async def test_several_calls_in_one_piece_are_several_calls() -> None:
    message = await reply_to(
        events([chat_chunk({"tool_calls": [piece(0, "1", "f", A), piece(1, "2", "g", B)]}, "tool_calls")])
    )
    assert [call["name"] for call in message["tool_calls"]] == ["f", "g"]


async def test_ids_that_were_used_before_are_replaced_so_that_results_find_their_calls() -> None:
    call = {"id": "call_0", "name": "f", "arguments": {}}
    history = [QUESTION, {"role": "assistant", "content": "", "tool_calls": [call]}, tool_message(call, "x")]
    message = await reply_to(chat("", [("call_0", "f", A), ("call_0", "g", B)]), messages=history)
    ids = [call["id"] for call in message["tool_calls"]]
    assert len({"call_0", *ids}) == 3


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("", {}),
        ("  ", {}),
        ("{}", {}),
        ("null", {}),
        ('{"a": NaN}', '{"a": NaN}'),
        ('{"a": -Infinity}', '{"a": -Infinity}'),
        ('{"a": 1e999}', '{"a": 1e999}'),
        ('{"a": 1', '{"a": 1'),
        ("{'a': 1}", "{'a': 1}"),
        ("[1]", "[1]"),
        ('"text"', '"text"'),
        ("[" * 100_000, "[" * 100_000),
        ('{"a": ' + "9" * 5000 + "}", '{"a": ' + "9" * 5000 + "}"),
    ],
    ids=lambda value: str(value)[:20],
)
async def test_arguments_that_are_no_object_are_handed_on_as_they_came(arguments: str, expected: Any) -> None:
    message = await reply_to(chat("", [("call_1", "f", arguments)], size=50_000))
    assert message["tool_calls"][0]["arguments"] == expected


# How an answer ends


@pytest.mark.parametrize(
    ("text", "finish", "said", "reason"),
    [
        ("Half a sen", "length", "Half a sen\n\n(the answer ends here: the model reached the most", "cut"),
        ("", "length", "(the answer ends here: the model reached the most", "cut before the first word"),
        ("Half", "content_filter", "Half\n\n(the answer ends here: the provider's content filter", "filtered"),
        ("Half", "sensitive", "Half\n\n(the answer ends here: the provider's content filter", "GLM's filter"),
        (
            "Half",
            "network_error",
            "Half\n\n(the answer ends here: the provider gives the reason 'network_error'",
            "unknown",
        ),
        ("", "stop", "(the model answered with no words)", "empty"),
        (" \n", "stop", "(the model answered with no words)", "nearly empty"),
        ("", "tool_calls", "(the model answered with no words)", "calls are announced, and there are none"),
    ],
)
async def test_an_answer_that_is_not_whole_says_so_itself(text: str, finish: str, said: str, reason: str) -> None:
    message = await reply_to(chat(text, finish=finish))
    assert message.get("tool_calls") is None
    assert message["content"].strip().startswith(said.strip()), reason


async def test_what_is_said_of_the_end_is_in_the_language_of_the_question() -> None:
    message = await reply_to(
        chat("一半", finish="length"), messages=[{"role": "user", "content": "登录问题怎么样了？"}]
    )
    assert message["content"] == "一半\n\n（回答到此为止：模型已写满一次回答的长度上限）"


async def test_a_refusal_is_shown_and_marked() -> None:
    chunks = [chat_chunk({"refusal": "I can't "}), chat_chunk({"refusal": "help."}), chat_chunk({}, "stop"), "[DONE]"]
    message = await reply_to(events(chunks))
    assert message["content"] == "I can't help.\n\n(the model refuses to answer)"


async def test_a_filtered_answer_runs_no_tools() -> None:
    message = await reply_to(chat("", TWO_CALLS, finish="content_filter"))
    assert "tool_calls" not in message


async def test_a_call_that_was_cut_off_is_not_run_with_what_is_there() -> None:
    calls: Calls = [("call_1", "f", A), ("call_2", "g", '{"query": "lo'), ("call_3", "h", "")]
    message = await reply_to(chat("", calls, finish="length"))
    assert [call["arguments"] for call in message["tool_calls"]] == [{"q": "a"}, '{"query": "lo', "(cut off)"]


# Other ways to send an answer


async def test_an_answer_that_is_not_streamed_is_read_as_well() -> None:
    calls = [{"id": "call_1", "type": "function", "function": {"name": "f", "arguments": A}}]
    message = {"role": "assistant", "content": "I look.", "tool_calls": calls, "reasoning_content": "hm"}
    whole = {
        "id": "1",
        "object": "chat.completion",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
    }
    assert await reply_to(document(whole)) == {
        "role": "assistant",
        "content": "I look.",
        "tool_calls": [{"id": "call_1", "name": "f", "arguments": {"q": "a"}}],
        "as_received": {"reasoning_content": "hm"},
    }


async def test_content_in_parts_is_one_text() -> None:
    parts = [{"type": "text", "text": "one "}, {"type": "thinking", "thinking": []}, {"type": "text", "text": "two"}]
    assert (await reply_to(events([chat_chunk({"content": parts}, "stop")])))["content"] == "one two"


@pytest.mark.parametrize("end", [["[DONE]"], []], ids=["DONE", "the connection's end"])
async def test_comments_usage_and_a_missing_end_do_no_harm(end: list[str]) -> None:
    usage = {"id": "1", "object": "chat.completion.chunk", "choices": [], "usage": {"total_tokens": 9}}
    reply = events([chat_chunk({"content": "ok"}), chat_chunk({}, "stop"), usage, *end])
    noise = Reply((b": OPENROUTER PROCESSING\n\n", b"retry: 10\n\n", *reply.pieces), kind=reply.kind)
    assert (await reply_to(noise))["content"] == "ok"


async def test_nothing_is_read_after_the_end_even_from_a_connection_that_stays_open() -> None:
    assert (await reply_to(events(chat_events("ok"), then="silence")))["content"] == "ok"


async def test_a_thinking_model_gets_its_thoughts_and_signatures_back() -> None:
    call = {
        "index": 0,
        "id": "call_1",
        "function": {"name": "f", "arguments": A},
        "extra_content": {"google": {"s": "x"}},
    }
    chunks = [
        chat_chunk({"reasoning_content": "let me "}),
        chat_chunk({"reasoning_content": "see", "reasoning_details": [{"type": "t"}]}),
        chat_chunk({"tool_calls": [call], "reasoning_details": [{"type": "u"}]}, "tool_calls"),
    ]
    with ModelServer(events([*chunks, "[DONE]"]), chat("done")) as server:
        history: list[JSONObject] = [QUESTION]
        history.append(await model(server).reply(history, []))
        history.append(tool_message(history[1]["tool_calls"][0], "x"))
        await model(server).reply(history, [])
    sent = server.bodies[1]["messages"][1]
    assert sent["reasoning_content"] == "let me see"
    assert sent["reasoning_details"] == [{"type": "t"}, {"type": "u"}]
    assert sent["tool_calls"][0]["extra_content"] == {"google": {"s": "x"}}
    assert history[1]["content"] == "", "thoughts are not the answer"


# The text while it arrives


async def test_the_text_is_handed_out_piece_by_piece_as_it_arrives() -> None:
    seen: list[str] = []
    with ModelServer(chat("one two three", size=4)) as server:
        talking = model(server)
        talking.on_text = seen.append
        message = await talking.reply([QUESTION], [])
    assert seen == ["one ", "two ", "thre", "e"]
    assert message["content"] == "one two three"


async def test_what_is_said_of_the_end_is_handed_out_too() -> None:
    seen: list[str] = []
    with ModelServer(chat("Half", finish="length")) as server:
        talking = model(server)
        talking.on_text = seen.append
        message = await talking.reply([QUESTION], [])
    assert "".join(seen) == message["content"]


# A provider's JSON may hold anything


WEIRD: list[Any] = [None, True, 0, -1.5, "x", "", [], {}, [None], {"x": 1}, [[]], ["x"], [{"index": []}], {"name": []}]


def scrambled(value: Any, chance: random.Random) -> Any:
    """The same chunk with one or more of its parts replaced by something else."""
    if chance.random() < 0.12:
        return chance.choice(WEIRD)
    if isinstance(value, dict):
        return {key: scrambled(one, chance) for key, one in value.items() if chance.random() < 0.95}
    return [scrambled(one, chance) for one in value] if isinstance(value, list) else value


@pytest.mark.parametrize("seed", range(8))
async def test_no_chunk_of_whatever_form_brings_the_reader_down(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(300):
        answer = Answer()
        reader = OpenAIChat().reader(answer)
        for chunk in chat_events("text", TWO_CALLS):
            if isinstance(bad := scrambled(chunk, chance), dict):
                chance.choice((reader.read, reader.read_whole))(bad)
        message = answer.message([QUESTION], Shaped())
        assert isinstance(message["content"], str)
        for call in message.get("tool_calls", []):
            assert isinstance(call["name"], str) and call["id"] and isinstance(call["arguments"], dict | str)

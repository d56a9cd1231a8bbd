"""Messages: our requests and our reading of the answers, with Anthropic's own SDK as the referee of both.

As in test_models_openai_chat.py. What this API has and the other has not: blocks, roles that take turns, results in
one user message, thinking that must come back untouched, property names it refuses.
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
    document,
    events,
    messages,
    messages_events,
    messages_of_blocks,
)

sys.path.insert(0, str(LAB))

from host.models import ModelSettings
from host.models.answer import Answer
from host.models.anthropic_messages import MAX_TOKENS, AnthropicMessages
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
    ("toolu_a", "mcp__notes__search", '{"query": "login bug"}'),
    ("toolu_b", "mcp__notes__search", '{"query": "登录 \\u2028 bug", "limit": 3}'),
]


def model(server: ModelServer, **settings: Any) -> RealModel:
    values: JSONObject = {"name": "m", "base_url": server.url, "api_key": None, **settings}
    return RealModel(AnthropicMessages(), ModelSettings(**values))


async def reply_to(reply: Reply, history: list[JSONObject] | None = None) -> JSONObject:
    with ModelServer(reply) as server:
        return await model(server).reply(history or [QUESTION], [SEARCH])


async def sent_for(history: list[JSONObject], tools: list[JSONObject] = [SEARCH]) -> JSONObject:  # noqa: B006
    with ModelServer(messages("ok")) as server:
        await model(server).reply(history, tools)
        return server.bodies[0]


def sdk(server: ModelServer) -> Any:
    from anthropic import AsyncAnthropic  # not above: the import takes a second in every worker

    return AsyncAnthropic(base_url=server.url, api_key="none", max_retries=0)


async def sdk_message(reply: Reply) -> Any:
    """The message that the SDK's own accumulator makes of this reply."""
    with ModelServer(reply) as server:
        return await sdk_reply(server)


async def sdk_reply(server: ModelServer) -> Any:
    async with (
        sdk(server) as client,
        client.messages.stream(model="m", max_tokens=9, messages=[QUESTION]) as stream,
    ):
        return await stream.get_final_message()


def same(ours: JSONObject, theirs: Any) -> bool:
    """Whether our neutral message says what the SDK's message says."""
    blocks = [block.to_dict() for block in theirs.content]
    text = "".join(block["text"] for block in blocks if block["type"] == "text")
    calls = [
        {"id": block["id"], "name": block["name"], "arguments": block["input"]}
        for block in blocks
        if block["type"] == "tool_use"
    ]
    return ours["content"] == text and ours.get("tool_calls", []) == calls


def tool_message(call: JSONObject, text: str, is_error: bool = False) -> JSONObject:
    return {"role": "tool", "tool_call_id": call["id"], "name": call["name"], "content": text, "is_error": is_error}


def call_message(*calls: JSONObject, text: str = "") -> JSONObject:
    return {"role": "assistant", "content": text, "tool_calls": list(calls)}


# The SDK as referee


@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ("The login bug is T-03, 登录问题 is T-04. 🐛", []),
        ("", TWO_CALLS[:1]),
        ("I look in both places.", TWO_CALLS),
        ("", [("toolu_1", "f", "{}"), ("toolu_2", "f", ""), ("toolu_3", "f", '{"query": {"deep": [1, null]}}')]),
    ],
)
async def test_we_read_a_stream_as_the_sdk_reads_it(text: str, calls: Calls, size: int) -> None:
    reply = messages(text, calls, size=size)
    assert same(await reply_to(reply), await sdk_message(reply))


@pytest.mark.parametrize("seed", range(10))
async def test_it_does_not_matter_where_the_network_cuts_a_stream(seed: int) -> None:
    chance = random.Random(seed)
    text = "".join(chance.choice("aé登🐛 \n\u2028\x85") for _ in range(20)) + "."
    query = json.dumps({"query": "".join(chance.choice('b"\\é登🐛\n') for _ in range(15))}, ensure_ascii=False)
    stream = messages_events(text, [("toolu_1", "f", query)], size=chance.randint(1, 6))
    reply = events(stream, size=chance.randint(1, 40), newline=chance.choice(["\n", "\r\n"]))
    ours = await reply_to(reply)
    assert ours["content"] == text and ours["tool_calls"][0]["arguments"] == json.loads(query)
    assert same(ours, await sdk_message(reply))


@pytest.mark.parametrize("thinking", [False, True])
async def test_a_conversation_carried_on_with_the_sdk_sends_what_we_send(thinking: bool) -> None:
    """The SDK's user hands each message back as it came, and the results in one user message."""
    results = ["T-03: login bug", "no note found"]
    replies = (events(thoughtful_events()) if thinking else messages("I look.", TWO_CALLS), messages("It is T-03."))
    with ModelServer(*replies) as server:
        ours: list[JSONObject] = [{"role": "system", "content": "be brief"}, QUESTION]
        ours.append(await model(server).reply(ours, [SEARCH]))
        for call, text in zip(ours[2]["tool_calls"], results, strict=True):
            ours.append(tool_message(call, text, is_error=text == results[1]))
        assert (await model(server).reply(ours, [SEARCH]))["content"] == "It is T-03."
        sent = server.bodies
    with ModelServer(*replies) as server:
        theirs: list[Any] = [{"role": "user", "content": [{"type": "text", "text": QUESTION["content"]}]}]
        settings: Any = {"model": "m", "max_tokens": MAX_TOKENS, "system": "be brief", "tools": [SEARCH]}
        async with sdk(server) as client:
            for _ in range(2):
                async with client.messages.stream(messages=theirs, **settings) as stream:
                    message = await stream.get_final_message()
                ids = [block.id for block in message.content if block.type == "tool_use"]
                theirs += [message.to_param(), {"role": "user", "content": sdk_results(ids, results)}]
        assert [without_nulls(body) for body in server.bodies] == [without_nulls(body) for body in sent]


def sdk_results(ids: list[str], results: list[str]) -> list[JSONObject]:
    """The last one is an error, here and there."""
    made = [
        {"type": "tool_result", "tool_use_id": an_id, "content": text}
        for an_id, text in zip(ids, results, strict=False)
    ]
    return [*made[:-1], *({**one, "is_error": True} for one in made[-1:])]


def without_nulls(value: Any) -> Any:
    """The SDK hands some fields of a block back as null; they say nothing."""
    if isinstance(value, list):
        return [without_nulls(one) for one in value]
    if isinstance(value, dict):
        return {key: without_nulls(one) for key, one in value.items() if one is not None and key != "parsed_output"}
    return value


async def test_our_requests_are_what_the_sdk_types_allow_and_nothing_besides() -> None:
    call = {"id": "toolu_a", "name": "mcp__notes__search", "arguments": {"query": "x"}}
    history = [
        {"role": "system", "content": "These tool servers cannot be used now: {}"},
        QUESTION,
        call_message(call, text="I look."),
        tool_message(call, "it failed", is_error=True),
        {"role": "assistant", "content": "Sorry."},
        {"role": "user", "content": "and now?"},
    ]
    with ModelServer(messages("ok")) as server:
        await model(server, options={"max_tokens": 100}).reply(history, [SEARCH])
        body = server.bodies[0]
    assert body["max_tokens"] == 100, "MODEL_OPTIONS goes before our own number"
    from anthropic.types.message_create_params import MessageCreateParamsStreaming
    from pydantic import TypeAdapter

    adapter: Any = TypeAdapter(MessageCreateParamsStreaming)  # it must outlive what it has checked
    assert json.loads(json.dumps(adapter.validate_python(body, strict=True), default=list)) == body


async def test_the_version_of_the_api_is_the_one_that_the_sdk_asks_for() -> None:
    with ModelServer(messages("ok"), messages("ok")) as server:
        await model(server).reply([QUESTION], [])
        await sdk_reply(server)
    ours, theirs = (asked.headers["anthropic-version"] for asked in server.asked)
    assert ours == theirs


# What else a request holds


async def test_the_key_goes_into_one_header_and_without_a_key_there_is_none() -> None:
    with ModelServer(messages("a"), messages("b")) as server:
        await model(server, api_key="sk-ant-123456").reply([QUESTION], [])
        await model(server).reply([QUESTION], [])
    assert server.asked[0].headers["x-api-key"] == "sk-ant-123456"
    assert not {"x-api-key", "authorization"} & set(server.asked[1].headers)
    assert "tools" not in server.bodies[0] and "system" not in server.bodies[0]


@pytest.mark.parametrize(
    ("base", "path", "reason"),
    [
        ("", "/v1/messages", "as the SDK wants it"),
        ("/", "/v1/messages", "with a stroke at its end"),
        ("/v1", "/v1/messages", "as the other API wants it"),
        ("/v1/messages", "/v1/messages", "the whole address"),
        ("/anthropic", "/anthropic/v1/messages", "DeepSeek's and Kimi's"),
    ],
)
async def test_a_base_url_may_be_written_as_people_write_it(base: str, path: str, reason: str) -> None:
    with ModelServer(messages("ok")) as server:
        await model(server, base_url=server.url + base).reply([QUESTION], [])
    assert server.asked[0].path == path, reason


async def test_system_messages_have_a_field_of_their_own() -> None:
    told = [{"role": "system", "content": text} for text in ("first", "second")]
    body = await sent_for([told[0], QUESTION, told[1]])
    assert body["system"] == "first\n\nsecond"
    assert [message["role"] for message in body["messages"]] == ["user"]


async def test_all_results_of_a_step_stand_in_one_user_message_before_its_text() -> None:
    calls = [{"id": f"toolu_{n}", "name": "f", "arguments": {"n": n}} for n in range(3)]
    results = [tool_message(call, f"result {n}", is_error=n == 1) for n, call in enumerate(calls)]
    body = await sent_for([QUESTION, call_message(*calls), *results, {"role": "user", "content": "go on"}])
    last = body["messages"][-1]["content"]
    assert [block["type"] for block in last] == ["tool_result"] * 3 + ["text"]
    assert [block.get("is_error") for block in last] == [None, True, None, None]


async def test_empty_texts_leave_no_block_and_no_message() -> None:
    call = {"id": "toolu_1", "name": "f", "arguments": {}}
    empty = {"role": "assistant", "content": ""}
    history = [
        QUESTION,
        call_message(call, text=" \n"),
        tool_message(call, ""),
        empty,
        {"role": "user", "content": "go on"},
    ]
    body = await sent_for(history)
    assert [message["role"] for message in body["messages"]] == ["user", "assistant", "user"]
    assert [block["type"] for block in body["messages"][1]["content"]] == ["tool_use"]


@pytest.mark.parametrize(
    ("arguments", "sent"),
    [
        ('{"query": "lo', {"malformed_arguments": '{"query": "lo'}),
        ("[1, 2]", {"malformed_arguments": "[1, 2]"}),
        ("", {}),
    ],
)
async def test_a_history_with_malformed_arguments_is_still_one_that_the_api_takes(arguments: Any, sent: Any) -> None:
    call = {"id": "toolu_1", "name": "no such.tool!", "arguments": arguments}
    body = await sent_for([QUESTION, call_message(call), tool_message(call, "bad", is_error=True)])
    block = body["messages"][1]["content"][0]
    assert (block["name"], block["input"]) == ("no_such_tool_", sent)


async def test_a_history_with_calls_is_taken_although_all_tools_have_gone() -> None:
    call = {"id": "toolu_1", "name": "mcp__notes__search", "arguments": {"query": "x"}}
    body = await sent_for(
        [QUESTION, call_message(call), tool_message(call, "the server is down", is_error=True)], tools=[]
    )
    assert [tool["name"] for tool in body["tools"]] == ["mcp__notes__search"]


async def test_property_names_that_the_api_refuses_are_renamed_on_the_way_there_and_back() -> None:
    schema = {"type": "object", "properties": {"$filter": {"type": "string"}, "_filter": {}}, "required": ["$filter"]}
    tool = {"name": "list", "description": "lists", "input_schema": schema}
    before = json.dumps(tool)
    with ModelServer(messages("", [("toolu_1", "list", '{"_filter_2": "a", "_filter": 1}')]), messages("ok")) as server:
        history: list[JSONObject] = [QUESTION]
        history.append(await model(server).reply(history, [tool]))
        history.append(tool_message(history[1]["tool_calls"][0], "x"))
        await model(server).reply(history, [tool])
    assert server.bodies[0]["tools"][0]["input_schema"]["required"] == ["_filter_2"]
    assert history[1]["tool_calls"][0]["arguments"] == {"$filter": "a", "_filter": 1}, "what the server gets"
    assert server.bodies[1]["messages"][1]["content"][0]["input"] == {"_filter_2": "a", "_filter": 1}
    assert json.dumps(tool) == before


# How an answer ends


@pytest.mark.parametrize(
    ("text", "stop", "said", "reason"),
    [
        ("Half a sen", "max_tokens", "Half a sen\n\n(the answer ends here: the model reached the most", "cut"),
        ("", "max_tokens", "(the answer ends here: the model reached the most", "cut before the first word"),
        ("Half", "model_context_window_exceeded", "Half\n\n(the answer ends here: the conversation fills", "full"),
        ("Half", "pause_turn", "Half\n\n(the answer ends here: the provider gives the reason 'pause_turn'", "unknown"),
        ("", "end_turn", "(the model answered with no words)", "empty"),
    ],
)
async def test_an_answer_that_is_not_whole_says_so_itself(text: str, stop: str, said: str, reason: str) -> None:
    message = await reply_to(messages(text, stop=stop))
    assert message["content"].startswith(said), reason
    assert "tool_calls" not in message


async def test_a_refusal_runs_no_tools_and_tells_the_reason_that_is_given() -> None:
    stream = messages_events("I ", TWO_CALLS[:1], stop="refusal")
    stream[-2]["delta"]["stop_details"] = {"type": "refusal", "category": "cyber", "explanation": "not this"}
    message = await reply_to(events(stream))
    assert message == {"role": "assistant", "content": "I \n\n(the model refuses to answer: not this)"}


async def test_a_call_that_was_cut_off_is_not_run_with_what_is_there() -> None:
    calls: Calls = [("toolu_1", "f", '{"q": 1}'), ("toolu_2", "g", '{"query": "lo'), ("toolu_3", "h", "")]
    message = await reply_to(messages("", calls, stop="max_tokens"))
    assert [call["arguments"] for call in message["tool_calls"]] == [{"q": 1}, '{"query": "lo', "(cut off)"]


async def test_ids_that_are_missing_or_used_twice_are_replaced() -> None:
    message = await reply_to(messages("", [("", "f", "{}"), ("toolu_1", "f", "{}"), ("toolu_1", "g", "{}")]))
    ids = [call["id"] for call in message["tool_calls"]]
    assert all(ids) and len(set(ids)) == 3 and "toolu_1" in ids


# Thinking


def thoughtful_events() -> list[Any]:
    """A model that thinks, speaks, calls, thinks again in secret, and calls again."""
    (id_a, name, query_a), (id_b, _, query_b) = TWO_CALLS
    thought = [{"type": "thinking_delta", "thinking": piece} for piece in ("let me ", "see")]
    blocks: list[tuple[JSONObject, list[JSONObject]]] = [
        (
            {"type": "thinking", "thinking": "", "signature": ""},
            [*thought, {"type": "signature_delta", "signature": "c2ln"}],
        ),
        ({"type": "text", "text": ""}, [{"type": "text_delta", "text": "I look."}]),
        (
            {"type": "tool_use", "id": id_a, "name": name, "input": {}},
            [{"type": "input_json_delta", "partial_json": query_a}],
        ),
        ({"type": "redacted_thinking", "data": "ZGF0YQ=="}, []),
        (
            {"type": "tool_use", "id": id_b, "name": name, "input": {}},
            [{"type": "input_json_delta", "partial_json": query_b}],
        ),
    ]
    return messages_of_blocks(blocks, "tool_use")


async def test_thoughts_are_no_answer_and_go_back_to_their_places_with_their_signatures() -> None:
    with ModelServer(events(thoughtful_events()), messages("done")) as server:
        history: list[JSONObject] = [QUESTION]
        history.append(await model(server).reply(history, [SEARCH]))
        history += [tool_message(call, "x") for call in history[1]["tool_calls"]]
        await model(server).reply(history, [SEARCH])
    assert history[1]["content"] == "I look."
    sent = server.bodies[1]["messages"][1]["content"]
    assert [block["type"] for block in sent] == ["thinking", "text", "tool_use", "redacted_thinking", "tool_use"]
    assert sent[0] == {"type": "thinking", "thinking": "let me see", "signature": "c2ln"}


# Other ways to send an answer


async def test_an_answer_that_is_not_streamed_is_read_as_well() -> None:
    content = [
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {"q": "a"}},
    ]
    whole = {"id": "1", "type": "message", "role": "assistant", "content": content, "stop_reason": "tool_use"}
    assert await reply_to(document(whole)) == {
        "role": "assistant",
        "content": "I look.",
        "tool_calls": [{"id": "toolu_1", "name": "f", "arguments": {"q": "a"}}],
    }


async def test_nothing_is_read_after_the_end_even_from_a_connection_that_stays_open() -> None:
    assert (await reply_to(events(messages_events("ok"), then="silence")))["content"] == "ok"


async def test_unknown_events_and_blocks_are_passed_over() -> None:
    known = messages_of_blocks(
        [
            ({"type": "server_tool_use", "id": "1"}, []),
            ({"type": "text", "text": ""}, [{"type": "text_delta", "text": "ok"}]),
        ],
        "end_turn",
    )
    message = await reply_to(events([known[0], {"type": "news", "x": 1}, *known[1:]]))
    assert message == {"role": "assistant", "content": "ok"}


async def test_the_text_is_handed_out_piece_by_piece_as_it_arrives() -> None:
    seen: list[str] = []
    with ModelServer(messages("one two three", size=4)) as server:
        talking = model(server)
        talking.on_text = seen.append
        message = await talking.reply([QUESTION], [])
    assert seen == ["one ", "two ", "thre", "e"]
    assert message["content"] == "one two three"


# A provider's JSON may hold anything


WEIRD: list[Any] = [None, True, 0, -1.5, "x", "", [], {}, [None], {"x": 1}, [[]], ["x"], {"type": "text"}, "thinking"]


def scrambled(value: Any, chance: random.Random) -> Any:
    if chance.random() < 0.12:
        return chance.choice(WEIRD)
    if isinstance(value, dict):
        return {key: scrambled(one, chance) for key, one in value.items() if chance.random() < 0.95}
    return [scrambled(one, chance) for one in value] if isinstance(value, list) else value


@pytest.mark.parametrize("seed", range(8))
async def test_no_event_of_whatever_form_brings_the_reader_down(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(300):
        answer = Answer()
        reader = AnthropicMessages().reader(answer)
        for event in thoughtful_events():
            if isinstance(bad := scrambled(event, chance), dict):
                chance.choice((reader.read, reader.read, reader.read_whole))(bad)
        message = answer.message([QUESTION], Shaped())
        assert isinstance(message["content"], str)
        for call in message.get("tool_calls", []):
            assert isinstance(call["name"], str) and call["id"] and isinstance(call["arguments"], dict | str)
        AnthropicMessages().body([QUESTION, message], Shaped(), {})

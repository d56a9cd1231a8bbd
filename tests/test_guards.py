"""All that stands between the model and the servers, at once: whatever stops a call, the turn goes on.

Each guard has its own tests; here they meet, and so do results of every form on their way to the model.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from host_world import SHORT, Server, World, opened, tool

from agent_loop import MAX_RESULT_CHARACTERS, result_text, run_agent
from host.repeats import MOST_SAME_ANSWERS
from host.resilience import REASON_CHARACTERS
from host.structure import MOST_VALUES, with_data
from protocol import JSONObject

pytestmark = pytest.mark.anyio


class ScriptedModel:
    """Makes these calls, one list in each step, and answers; remembers what it was shown."""

    def __init__(self, *steps: list[tuple[str, Any]]) -> None:
        self._steps = list(steps)
        self.shown: list[list[JSONObject]] = []

    async def reply(self, messages: list[JSONObject], tools: list[JSONObject]) -> JSONObject:
        self.shown.append(list(messages))
        if not self._steps:
            return {"role": "assistant", "content": "the answer"}
        calls = [
            {"id": f"{len(self.shown)}.{number}", "name": name, "arguments": arguments}
            for number, (name, arguments) in enumerate(self._steps.pop(0))
        ]
        return {"role": "assistant", "content": "", "tool_calls": calls}


def answer(text: str, **members: Any) -> JSONObject:
    return {"result": {"content": [{"type": "text", "text": text}], **members}}


# Every way in which a call can end


PROMISES = {"outputSchema": {"type": "object", "required": ["n"]}}
TOOLS = [
    *(tool(name) for name in ("fine", "fails", "refuses", "asks", "silent", "wrong", "dies")),
    tool("promises", **PROMISES),
    {**tool("changes"), "annotations": {"readOnlyHint": False}},
]
ACTS: JSONObject = {
    "fails": answer("no ticket T-99", isError=True),
    "refuses": {"error": {"code": -32602, "message": "which ticket?"}},
    "asks": {"result": {"resultType": "input_required", "content": []}},
    "silent": {"silent": True},
    "wrong": {"result": 5},
    "dies": {"exit": 70},
    "promises": answer("7", structuredContent={"m": 7}),
}
ENDINGS: list[tuple[str, str, Any, bool, str]] = [
    ("a result", "mcp__a__fine", {}, False, "fine from process 1"),
    ("a tool execution error", "mcp__a__fails", {}, True, "no ticket T-99"),
    ("a protocol error", "mcp__a__refuses", {}, True, "which ticket? (error -32602)"),
    ("a question for input", "mcp__a__asks", {}, True, "'input_required'"),
    ("no answer", "mcp__a__silent", {}, True, "no answer to tools/call"),
    ("a malformed answer", "mcp__a__wrong", {}, True, "the result is not an object"),
    ("a result that breaks its promise", "mcp__a__promises", {}, True, "'n' is a required property"),
    ("a person who refuses", "mcp__a__changes", {}, True, "was asked and said no"),
    ("an unknown tool", "mcp__a__none", {}, True, "there is no tool named"),
    ("arguments that are none", "mcp__a__fine", '{"n": ', True, "must be a JSON object"),
    ("arguments that JSON cannot hold", "mcp__a__fine", {"n": float("nan")}, True, "cannot be sent as JSON"),
    ("a server not in the catalogue", "connect_server", {"server": "none"}, True, "no server 'none' to connect"),
    ("a server that cannot be started", "connect_server", {"server": "c"}, True, "cannot be connected"),
    ("a server that is down from the start", "mcp__b__look", {}, True, "there is no tool named"),
    ("a death", "mcp__a__dies", {}, True, "exited with code 70"),
    ("a restart", "mcp__a__fine", {"n": 2}, False, "fine from process 2"),
]


async def test_each_call_of_a_step_gets_its_one_message_whichever_guard_has_stopped_it(tmp_path: Path) -> None:
    a, b, c = (Server(tmp_path / alias) for alias in "abc")
    a.write(*TOOLS, on=ACTS)
    b.write(on={"start": {"exit": 3}})
    c.write(on={"start": {"exit": 4}})
    calls = [(name, arguments) for _, name, arguments, _, _ in ENDINGS]
    again = [("mcp__a__fine", {"n": 3})] * (MOST_SAME_ANSWERS + 2)
    model = ScriptedModel(calls, again)

    async def refuse(_: object) -> bool:
        return False

    async with opened({"a": a, "b": b, "c": c}, ask=refuse, lazy={"c": "not there"}) as world:
        patient = world.clients["a"].request

        async def request(method: str, params: JSONObject | None = None, *, timeout: float | None = None) -> JSONObject:
            silent = method == "tools/call" and params is not None and params["name"] == "silent"
            return await patient(method, params, timeout=SHORT if silent else timeout)

        world.clients["a"].request = request  # type: ignore[method-assign]  # only one tool is not waited for
        transcript = await run_agent("?", model, world.registry)
    assert transcript.answer == "the answer"
    made = [call["id"] for message in transcript.messages for call in message.get("tool_calls") or []]
    results = [message for message in transcript.messages if message["role"] == "tool"]
    assert [result["tool_call_id"] for result in results] == made
    for (why, _, _, is_error, words), result in zip(ENDINGS, results, strict=False):
        assert result["is_error"] is is_error and words in result["content"], why
    repeated = [result["is_error"] for result in results[len(ENDINGS) :]]
    assert repeated == [False] * MOST_SAME_ANSWERS + [True] * 2
    assert a.calls().count("silent") == 1 and a.calls().count("dies") == 1, "nothing is sent again"
    assert "changes" not in a.calls()


# What is only said as data


PROJECTS = {"projects": [{"id": f"P-{n}", "name": f"name of {n}", "open": True} for n in range(6)]}
SUMMARIES: list[tuple[str, str, Any, bool]] = [
    ("a summary", "list_projects returned 6 items.", PROJECTS, True),
    ("a sign of success", "done", {"url": "https://example.org/x"}, True),
    ("nothing but a flag", "checked", {"available": False}, True),
    ("a list of values", "see the data", [1.5, 2.5], True),
    ("the data as JSON", '{"projects": [{"id": "P-0", "name": "Über\\n1"}]}', {"id": "P-0", "name": "Über\n1"}, False),
    ("the data as JSON in ASCII", '{"name": "\\u00dcber\\n1"}', {"name": "Über\n1"}, False),
    ("the data as a table", "\n".join(f"P-{n} | name of {n} | true" for n in range(6)), PROJECTS, False),
    ("the data in a sentence", "T-03 is open since 2026-03-01", {"id": "T-03", "status": "open", "rank": 9}, False),
    ("a bare value, wrapped", "grown", {"result": "grown"}, False),
    ("a bare number, wrapped", "2.5", {"sum": 2.5}, False),
    ("nothing in the data", "no projects", {"projects": [], "next": None, "note": ""}, False),
    ("no data", "done", None, False),
]


@pytest.mark.parametrize("words, data, is_added", [row[1:] for row in SUMMARIES], ids=[row[0] for row in SUMMARIES])
async def test_data_that_the_words_lack_reaches_the_model_and_no_other_is_said_twice(
    words: str, data: Any, is_added: bool
) -> None:
    result = answer(words, structuredContent=data)["result"]
    text = result_text(with_data(result))
    assert text.startswith(words)
    assert (text != words) is is_added
    if is_added:
        assert with_data(result)["structuredContent"] == data
    if data == PROJECTS:
        assert all(f"P-{n}" in text and f"name of {n}" in text for n in range(6))


FORMS: list[tuple[str, JSONObject]] = [
    ("no content", {"structuredContent": {"n": 1}}),
    ("content is null", {"content": None, "structuredContent": {"n": 1}}),
    ("an empty text", {"content": [{"type": "text", "text": ""}], "structuredContent": {"n": 1}}),
    ("an image", {"content": [{"type": "image", "data": "eA=="}], "structuredContent": {"n": 1}}),
    ("blocks that are none", {"content": [None, 5, "x"], "structuredContent": {"n": 1}}),
    ("no structure", {"content": [{"type": "text", "text": "x"}]}),
]


@pytest.mark.parametrize("result", [row[1] for row in FORMS], ids=[row[0] for row in FORMS])
async def test_a_result_without_words_is_left_to_the_loop_which_shows_its_data(result: JSONObject) -> None:
    assert with_data(result) is result


async def test_data_of_any_size_and_depth_is_looked_through_in_bounded_time() -> None:
    deep: Any = "the bottom"
    for _ in range(900):
        deep = [deep]
    many = {"rows": [{"n": f"row {n}"} for n in range(20_000)]}
    assert "the bottom" in result_text(with_data(answer("summary", structuredContent=deep)["result"]))
    text = result_text(with_data(answer("summary", structuredContent=many)["result"]))
    assert "more characters were cut" in text and len(text) < MAX_RESULT_CHARACTERS + 100
    rows = "\n".join(f"row {n}" for n in range(20_000 - MOST_VALUES, 20_000))
    for words in (rows, "x" * MAX_RESULT_CHARACTERS):  # these tell enough, or leave no room
        result = answer(words, structuredContent=many)["result"]
        assert with_data(result) is result


async def test_a_summary_is_followed_by_its_data_in_a_turn(tmp_path: Path) -> None:
    server = Server(tmp_path / "a").write(on={"look": answer("6 projects", structuredContent=PROJECTS)})
    async with opened({"a": server}) as world:
        is_error, text = await world.call("mcp__a__look")
    assert not is_error and text.startswith("6 projects\n") and "name of 5" in text


# What a server says of its own failure


async def test_a_reason_of_a_megabyte_does_not_crowd_out_the_conversation(tmp_path: Path) -> None:
    endless = {"tools/list": {"error": {"code": -32603, "message": "no " * 100_000}}}
    servers = {"a": Server(tmp_path / "a").write(on=endless), "b": Server(tmp_path / "b")}
    model = ScriptedModel([("mcp__b__look", {})])

    async def told(world: World) -> None:
        reason = world.registry.down["a"]
        assert reason.startswith("no no no ") and reason.endswith("more characters were cut)")
        assert len(reason) < REASON_CHARACTERS + 50

    async with opened(servers) as world:
        await told(world)
        await world.registry.connect("a")
        await told(world)
        transcript = await run_agent("?", model, world.registry)
    assert transcript.messages[0]["role"] == "system"
    assert len(transcript.messages[0]["content"]) < REASON_CHARACTERS + 200


# Tools that are odd in what the model is not told


async def test_a_tool_whose_other_members_are_malformed_can_be_used_like_any_other(tmp_path: Path) -> None:
    odd: list[Any] = [None, 5, "x", [], {"readOnlyHint": "yes"}]
    tools = [
        tool(f"t{number}", description=value, title=value, annotations=value, outputSchema=value, icons=value)
        for number, value in enumerate(odd)
    ]
    async with opened({"a": Server(tmp_path / "a").write(*tools)}, yes=True) as world:
        assert [shown["name"] for shown in world.registry.model_tools()] == [f"mcp__a__t{n}" for n in range(len(odd))]
        assert all(isinstance(shown["description"], str) for shown in world.registry.model_tools())
        for number in range(len(odd)):
            assert await world.call(f"mcp__a__t{number}") == (False, f"t{number} from process 1")

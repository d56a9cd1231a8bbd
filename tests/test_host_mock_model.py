"""The mock model with tool tables it has never seen: it must read them, for it may know no tool beforehand.

`talk` plays the loop's part: it hands the model the table and the conversation, and a scripted world answers
the calls. The tables here have other names than the lab's servers; the real ones are in test_host_main.py.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from kit import LAB

sys.path.insert(0, str(LAB))

from host.models.mock import MockModel
from host.models.reading import Question, Tool, fill, nearest

JSONObject = dict[str, Any]
World = Callable[[str, JSONObject], str]  # name, arguments -> the text of the result; raises Failed

MOST_STEPS = 10  # the loop's own limit: the model must be done long before


class Failed(Exception):
    """Raised by a world: the call ends with `isError` and this text."""


@dataclass
class Talk:
    """What happened between a question and its answer."""

    answer: str = ""
    steps: list[list[JSONObject]] = field(default_factory=list)  # the calls of each step

    @property
    def calls(self) -> list[tuple[str, JSONObject]]:
        return [(call["name"], call["arguments"]) for step in self.steps for call in step]

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.calls]


def talk(question: str, table: list[JSONObject], world: World, told: str = "") -> Talk:
    messages: list[JSONObject] = [{"role": "system", "content": told}] if told else []
    messages.append({"role": "user", "content": question})
    found = Talk()
    for _ in range(MOST_STEPS):
        message = asyncio.run(MockModel().reply(messages, table))
        messages.append(message)
        if not message.get("tool_calls"):
            found.answer = message["content"]
            return found
        found.steps.append(message["tool_calls"])
        messages += [result(call, world) for call in message["tool_calls"]]
    pytest.fail(f"no answer after {MOST_STEPS} steps: {found.names}")


def result(call: JSONObject, world: World) -> JSONObject:
    try:
        text, is_error = world(call["name"], call["arguments"]), False
    except Failed as error:
        text, is_error = str(error), True
    names = {"tool_call_id": call["id"], "name": call["name"]}
    return {"role": "tool", **names, "content": text, "is_error": is_error}


def row(name: str, description: str, schema: Any = None, /, **properties: Any) -> JSONObject:
    """One row of a table; each of `properties` is required, unless its schema stands in a list: [schema]."""
    if schema is None:
        required = [key for key, value in properties.items() if not isinstance(value, list)]
        plain = {key: value[0] if isinstance(value, list) else value for key, value in properties.items()}
        schema = {"type": "object", "properties": plain, "required": required}
    return {"name": name, "description": description, "input_schema": schema}


STRING = {"type": "string"}
STATE = {"type": "string", "enum": ["open", "closed", "any"]}

# Two places with the habits of the lab's servers, and with none of their names.
WIKI_FIND = row("mcp__wiki__find", "[from wiki] Find pages that mention some words.", query=STRING)
PAGE_ID, BUG_ID = ({**STRING, "description": f"the id, such as {example}"} for example in ("P-10", "B-3"))
WIKI_OPEN = row("mcp__wiki__show_page", "[from wiki] Show a page.", id=PAGE_ID)
BUGS_FIND = row("mcp__bugs__find", "[from bugs] Find bugs.", query=STRING, state=[STATE])
BUGS_GET = row("mcp__bugs__fetch_bug", "[from bugs] Everything about one bug.", id=BUG_ID)
BUGS_CLOSE = row("mcp__bugs__close_bug", "[from bugs] Close an open bug.", id=STRING, reason=[STRING])
BOTH = [WIKI_FIND, WIKI_OPEN, BUGS_FIND, BUGS_GET, BUGS_CLOSE]

PAGES = {"P-10": "Printer guide: paper jams", "P-11": "Holiday list"}
BUGS = {"B-3": "Printer eats paper", "B-4": "打印机卡纸"}


def world(name: str, arguments: JSONObject) -> str:
    things = PAGES if "wiki" in name else BUGS
    if "find" in name:
        words = arguments["query"].lower().split()
        found = {key: text for key, text in things.items() if any(word in text.lower() for word in words)}
        return "\n".join([f"{len(found)} found", *(f"{key} | {text}" for key, text in found.items())])
    if arguments["id"] not in things:
        raise Failed(f"there is no {arguments['id']}; there are {', '.join(things)}")
    return f"{arguments['id']}: {things[arguments['id']]}, in full"


# Searching, reading, answering


def test_it_asks_every_place_that_can_be_searched_in_one_step() -> None:
    found = talk("Which open bugs mention the printer, and does the wiki say anything?", BOTH, world)
    assert [(call["name"], call["arguments"]) for call in found.steps[0]] == [
        ("mcp__wiki__find", {"query": "printer"}),
        ("mcp__bugs__find", {"query": "printer", "state": "open"}),
    ]


def test_it_then_reads_the_best_hit_of_each_place_by_its_id() -> None:
    found = talk("Which bugs mention the printer?", BOTH, world)
    assert [(call["name"], call["arguments"]) for call in found.steps[1]] == [
        ("mcp__wiki__show_page", {"id": "P-10"}),
        ("mcp__bugs__fetch_bug", {"id": "B-3"}),
    ]
    assert len(found.steps) == 2


def test_its_answer_quotes_what_it_found_with_the_ids_and_the_places() -> None:
    answer = talk("Which bugs mention the printer?", BOTH, world).answer
    for part in ("wiki", "bugs", "P-10", "B-3", "Printer eats paper, in full"):
        assert part in answer


def test_a_place_that_knows_nothing_is_asked_once_more_with_one_word() -> None:
    asked: list[str] = []

    def only_one_word(name: str, arguments: JSONObject) -> str:
        asked.append(arguments["query"])
        return "0 found"

    found = talk("Where is the printer manual?", [WIKI_FIND], only_one_word)
    assert asked == ["printer manual", "printer"]
    assert "nothing found" in found.answer


def test_a_search_that_fails_is_not_asked_again() -> None:
    def broken(name: str, arguments: JSONObject) -> str:
        raise Failed("the server 'wiki' is down")

    found = talk("Where is the printer manual?", [WIKI_FIND], broken)
    assert len(found.calls) == 1
    assert "the server 'wiki' is down" in found.answer


def test_the_same_conversation_gets_the_same_reply() -> None:
    talks = [talk("Which bugs mention the printer?", BOTH, world) for _ in range(2)]
    assert talks[0] == talks[1]


def test_no_two_calls_of_a_turn_have_the_same_id() -> None:
    found = talk("Which bugs mention the printer?", BOTH, world)
    ids = [call["id"] for step in found.steps for call in step]
    assert len(set(ids)) == len(ids) == 4


def test_only_the_last_question_of_a_conversation_is_answered() -> None:
    messages = [
        {"role": "user", "content": "Which bugs mention the printer?"},
        {"role": "assistant", "content": "B-3"},
        {"role": "user", "content": "And bug B-4?"},
    ]
    message = asyncio.run(MockModel().reply(messages, BOTH))
    assert [call["arguments"] for call in message["tool_calls"]] == [{"id": "B-4"}]


# Ids, errors, and the way back from them


def test_an_id_in_the_question_is_read_at_once_by_the_tool_that_speaks_of_such_ids() -> None:
    found = talk("What is the state of B-3?", BOTH, world)
    assert found.calls == [("mcp__bugs__fetch_bug", {"id": "B-3"})]


def test_an_error_that_names_other_ids_leads_to_the_one_spelled_most_like_ours() -> None:
    found = talk("What is the state of bug B-33?", BOTH, world)
    assert found.calls == [("mcp__bugs__fetch_bug", {"id": "B-33"}), ("mcp__bugs__fetch_bug", {"id": "B-3"})]
    assert "there is no B-33" in found.answer and "Printer eats paper" in found.answer


def test_a_world_in_which_every_error_names_a_new_id_is_left_after_one_try() -> None:
    def maze(name: str, arguments: JSONObject) -> str:
        number = int(arguments["id"].partition("-")[2])
        raise Failed(f"no {arguments['id']}, try B-{number + 1}")

    found = talk("What is the state of bug B-1?", BOTH, maze)
    assert [arguments["id"] for _, arguments in found.calls] == ["B-1", "B-2"]
    assert "nothing that answers" in found.answer


@pytest.mark.parametrize("text", ["nothing here", "B-1 is locked", "", "B-1", "timeout after 30 s"])
def test_an_error_that_names_no_other_id_ends_in_an_answer_that_quotes_it(text: str) -> None:
    def locked(name: str, arguments: JSONObject) -> str:
        raise Failed(text)

    found = talk("What is the state of bug B-1?", BOTH, locked)
    assert len(found.calls) == 1
    assert text in found.answer


def test_a_word_that_only_looks_like_an_id_is_searched_for() -> None:
    found = talk("Which page is about UTF-8?", BOTH, world)
    assert found.steps[0][0]["arguments"] == {"query": "UTF-8"}


@pytest.mark.parametrize(
    ("wanted", "offered", "chosen", "reason"),
    [
        ("T-99", ["T-03", "T-09", "T-11"], "T-09", "one sign away"),
        ("T-99", ["N-99", "T-01"], "N-99", "what counts is the spelling"),
        ("T-99", ["T-01", "T-02"], "T-01", "the first of equals"),
    ],
)
def test_the_nearest_id_is_the_one_spelled_most_alike(
    wanted: str, offered: list[str], chosen: str, reason: str
) -> None:
    assert nearest(wanted, offered) == chosen, reason


# Changing things


@pytest.mark.parametrize(
    ("question", "closes", "reason"),
    [
        ("Close bug B-3, the new rollers fixed it.", True, "an order"),
        ("Please close B-3.", True, "a polite one"),
        ("Can you close B-3?", True, "a very polite one"),
        ("Look at the bugs, then close B-3", True, "the second half of an order"),
        ("请关闭 bug B-3，已换滚轮。", True, "an order in Chinese"),
        ("把 B-3 关闭", True, "the verb may come last in Chinese"),
        ("Is bug B-3 closed?", False, "a question about the state"),
        ("How do I close bug B-3?", False, "a question about the way"),
        ("Who did close B-3?", False, "a question about the past"),
        ("Which bugs are close to B-3?", False, "another word"),
        ("What is the reason of bug B-3?", False, "the name of an argument is no order"),
        ("bug B-3", False, "the name of the thing is no order"),
        ("B-3 关闭了吗？", False, "a question in Chinese"),
        ("怎么关闭 B-3？", False, "a question about the way in Chinese"),
        ("哪些未关闭的 bug 提到打印机", False, "not closed is not close"),
        ("Close the printer.", False, "nothing says which bug"),
    ],
)
def test_a_tool_that_changes_something_is_called_only_when_it_is_told(
    question: str, closes: bool, reason: str
) -> None:
    found = talk(question, BOTH, lambda name, arguments: world(name.replace("close", "fetch"), arguments))
    assert ("mcp__bugs__close_bug" in found.names) is closes, reason


def test_an_order_is_carried_out_once_and_with_what_was_said() -> None:
    found = talk("Close bug B-3, the new rollers fixed it.", [BUGS_CLOSE], lambda *_: "closed B-3")
    assert found.calls == [("mcp__bugs__close_bug", {"id": "B-3", "reason": "the new rollers fixed it."})]
    assert "closed B-3" in found.answer


def test_an_order_that_fails_is_not_carried_out_on_something_else() -> None:
    found = talk("Close bug B-33.", BOTH, lambda name, arguments: world(name, arguments))
    closed = [arguments for name, arguments in found.calls if "close" in name]
    assert [arguments["id"] for arguments in closed] == ["B-33"]


def test_of_two_tools_with_the_verb_the_one_that_is_spoken_of_is_called() -> None:
    issue = row("close_issue", "Close an issue.", id=STRING)
    found = talk("Close bug B-3", [issue, BUGS_CLOSE], lambda *_: "done")
    assert found.names == ["mcp__bugs__close_bug"]


@pytest.mark.parametrize(
    ("name", "description", "reason"),
    [
        ("delete_page", "Delete a page.", "by its name"),
        ("deletePage", "", "a name of another style"),
        ("page_tool", "Deletes a page for good.", "by the first word of its description"),
        ("mcp__wiki__page_admin", "[from wiki] Removes a page.", "behind the mark of its origin"),
        ("page_2", "For a page. This cannot be undone.", "by its own warning"),
    ],
)
def test_what_looks_as_if_it_changed_something_is_not_tried_out(
    name: str, description: str, reason: str
) -> None:
    found = talk("What does page P-10 say?", [row(name, description, id=STRING)], lambda *_: "done")
    assert found.calls == [], reason


# Chinese


def test_a_chinese_question_gets_chinese_search_words_and_a_chinese_answer() -> None:
    found = talk("哪些未关闭的 bug 提到了打印机卡纸？", BOTH, world)
    assert found.calls[1] == ("mcp__bugs__find", {"query": "打印机卡纸", "state": "open"})
    assert "来自 bugs" in found.answer and "B-4" in found.answer
    assert "From" not in found.answer


@pytest.mark.parametrize(
    ("question", "keywords", "reason"),
    [
        ("哪些工单提到了登录问题？", ["登录问题"], "what names the tool is left out"),
        ("关于 MCP 的笔记里有什么内容？", ["MCP"], "a foreign word in the middle"),
        ("登录、备份和报表", ["登录", "备份", "报表"], "a list"),
        ("which tickets are about the login bug?", ["login", "bug"], "English"),
        ("Tickets? My notes? Search!", [], "nothing but words for tools"),
    ],
)
def test_keywords_are_what_is_left_without_common_words_and_words_for_tools(
    question: str, keywords: list[str], reason: str
) -> None:
    assert Question(question).keywords(["ticket", "note", "search"]) == keywords, reason


def test_a_chinese_word_for_something_that_is_no_tool_is_a_keyword() -> None:
    assert Question("工单在哪里？").keywords(["page"]) == ["工单"]


# Tables that are not as they should be


def test_without_tools_it_says_so() -> None:
    assert "I was given no tools" in talk("Where is it?", [], world).answer
    assert "没有给我任何工具" in talk("它在哪里？", [], world).answer


def test_with_no_fitting_tool_it_names_what_it_was_given() -> None:
    table = [row("play_chord", "Play a chord.", name=STRING)]
    answer = talk("Where is the printer?", table, world).answer
    assert "play_chord" in answer


def test_the_bare_colliding_names_of_the_starter_are_used_as_they_are() -> None:
    find = row("find", "[from wiki] Find pages.", query=STRING)
    fetch = row("fetch_bug", "[from bugs] A bug.", id=STRING)
    found = talk("Which bugs mention the printer?", [find, fetch], lambda *_: "P-10 | Printer guide")
    assert found.names == ["find"], "fetch_bug is of another origin than the hit"
    assert "From wiki" in found.answer


def test_without_a_reader_the_hits_alone_are_the_answer() -> None:
    found = talk("Which bugs mention the printer?", [BUGS_FIND], world)
    assert found.names == ["mcp__bugs__find"]
    assert "B-3 | Printer eats paper" in found.answer


def test_without_a_search_a_tool_named_in_the_question_is_tried() -> None:
    table = [row("mcp__wiki__list_pages", "[from wiki] List all pages."), BUGS_CLOSE]
    found = talk("List all my pages", table, lambda *_: "P-10\nP-11")
    assert found.calls == [("mcp__wiki__list_pages", {})]
    assert "P-11" in found.answer


def test_servers_that_are_down_are_named_in_the_answer() -> None:
    told = "These tool servers cannot be used now: {'bugs': 'it has exited with code 70'}"
    for question in ("Which bugs mention the printer?", "哪些 bug 提到打印机？"):
        answer = talk(question, [WIKI_FIND], world, told).answer
        assert "bugs" in answer and "it has exited with code 70" in answer


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "object"},
        {"type": "object", "properties": None, "required": None},
        {"type": "object", "properties": {"query": True}, "required": ["query"]},
        {"type": "object", "properties": {"query": {"$ref": "#/$defs/none"}}, "required": ["query"]},
        {"properties": {"query": {"$ref": "#/properties/query"}}, "required": ["query"]},
        {"properties": {"query": {"type": ["string", "null"]}}, "required": ["query"]},
        {"required": ["query"]},
        {"anyOf": [{"required": ["query"]}]},
        {"properties": {"x": {"enum": None}, "y": {"enum": [1, None, {}]}}},
        {"properties": {"query": {"enum": [{}, 1]}}, "required": ["query", 3, ["x"], None]},
        True,
        None,
    ],
)
def test_a_strange_schema_never_ends_in_an_exception(schema: Any) -> None:
    table = [row("find", "Find pages.", {} if schema is None else schema), {**WIKI_OPEN, "description": None}]
    for question in ("Which page mentions the printer?", "What does page P-10 say?", "找打印机"):
        assert talk(question, table, lambda *_: "P-10 | Printer").answer


# The arguments of tools that it has never seen


@pytest.mark.parametrize(
    ("question", "properties", "arguments", "reason"),
    [
        ("Search for rain", {"query": STRING}, {"query": "KEYWORDS"}, "words to search for"),
        ("Search for rain", {"search_term": STRING}, {"search_term": "KEYWORDS"}, "by a part of the name"),
        ("Where is B-3?", {"bug_id": STRING}, {"bug_id": "AN-1"}, "an id by a part of the name"),
        ("Where is B-3?", {"bugId": STRING}, {"bugId": "AN-1"}, "and in the other style"),
        ("Echo hello", {"message": STRING}, {"message": "Echo hello"}, "a text: all that was said"),
        ('Play "C major" now', {"chord": STRING}, {"chord": "C major"}, "what stands in quotation marks"),
        ("Time in Asia/Tokyo?", {"timezone": STRING}, {"timezone": "Asia/Tokyo"}, "a telling form"),
        ("Get https://x.test/a.", {"url": STRING}, {"url": "https://x.test/a"}, "an address, no full stop"),
        ("Read notes.txt", {"path": STRING}, {"path": "notes.txt"}, "a file"),
        ("How is the weather?", {"city": STRING}, None, "no idea: no call"),
        ("How is it?", {"city": {**STRING, "default": "Rome"}}, {"city": "Rome"}, "the schema's own idea"),
        ("Metric units", {"units": {"enum": ["us", "metric"]}}, {"units": "metric"}, "a choice by name"),
        ("In units", {"units": {"enum": ["us", "metric"]}}, {"units": "us"}, "the first choice"),
        ("The last 7 days", {"days": {"type": "integer"}}, {"days": 7}, "a number that is named"),
        ("Some days", {"days": {"type": "integer", "minimum": 1}}, {"days": 1}, "the least"),
        ("Some days", {"days": {"type": "integer"}}, None, "no number: no call"),
        ("Deeply", {"deep": {"type": "boolean"}}, {"deep": False}, "the harmless one"),
        ("All", {"filter": {"type": "object"}}, None, "nobody guesses an object"),
        ("All", {"ids": {"type": "array", "items": STRING}}, None, "nor a list"),
    ],
)
def test_required_arguments_are_filled_sensibly_or_the_tool_is_not_called(
    question: str, properties: JSONObject, arguments: JSONObject | None, reason: str
) -> None:
    table_row = row("get_it", "Get it.", **properties)
    tool = Tool(table_row["name"], table_row["description"], table_row["input_schema"])
    assert fill(tool, Question(question), query="KEYWORDS", an_id="AN-1") == arguments, reason


def test_a_choice_behind_a_reference_is_found() -> None:
    schema = {
        "properties": {"query": STRING, "state": {"$ref": "#/$defs/state"}},
        "required": ["query"],
        "$defs": {"state": {"$ref": "#/$defs/real"}, "real": STATE},
    }
    tool = Tool("find", "Find bugs.", schema)
    assert fill(tool, Question("open bugs"), query="x") == {"query": "x", "state": "open"}

"""A model that needs no key and has no moods: six rules, and the first that has something to do wins.

It is given what every model is given, the conversation and the tool table, and nothing else: it knows no tool
and no server, so it works, well or badly, with whatever a student's client shows it. What the client hides (a
second page of tools, one of two that share a name) it cannot use; that is the lesson. How it reads is in
reading.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from host.models import reading
from host.models.reading import CHANGING, ID, Question, Tool, fill, hits, kind_of, shorten, unique
from host.words import say

if TYPE_CHECKING:
    from protocol import JSONObject

MOST_CALLS = 2  # in one step, except for searches: each place is asked once
MOST_HITS = 4  # quoted from one search
LINE_LENGTH = 110  # of a quoted hit
QUOTE_LENGTH = 260  # of a quoted text
TOLD_LENGTH = 2000  # of what the application said: every server that is down should be named

Calls: TypeAlias = "list[tuple[Tool, JSONObject]]"  # a tool with its arguments


@dataclass(frozen=True)
class Made:
    """One call of the conversation, and what came back."""

    step: int
    name: str
    arguments: JSONObject
    result: str
    is_error: bool

    @property
    def is_settled(self) -> bool:
        """Whether a search needs no second try."""
        return self.is_error or bool(hits(self.result))


@dataclass(frozen=True)
class Situation:
    """What a rule decides from."""

    question: Question
    tools: list[Tool]
    made: list[Made]  # since the question, oldest first
    told: str  # what the application said

    @cached_property
    def keywords(self) -> list[str]:
        return self.question.keywords(word for tool in self.tools for word in tool.naming)

    @cached_property
    def ids(self) -> list[str]:
        """The ids in the question that some tool can read; "UTF-8" only looks like one."""
        return [an_id for an_id in self.question.ids if readers(self, an_id)]

    def tool(self, name: str) -> Tool | None:
        return next((tool for tool in self.tools if tool.name == name), None)

    def results(self) -> list[tuple[Tool, Made]]:
        """The calls of tools that are still there, with what came back."""
        return [(tool, made) for made in self.made if (tool := self.tool(made.name))]

    def new(self, calls: Calls) -> Calls:
        """Those that have not been made: the same call again would say the same."""
        before = [(made.name, made.arguments) for made in self.made]
        return [(tool, arguments) for tool, arguments in calls if (tool.name, arguments) not in before]


class MockModel:
    """Implements `agent_loop.Model`. It keeps nothing between two replies: all is in the conversation."""

    name = "mock"

    async def reply(self, messages: list[JSONObject], tools: list[JSONObject]) -> JSONObject:
        situation = understand(messages, tools)
        for word, rule in RULES:
            if calls := situation.new(rule(situation)):
                return call_message(situation, word, calls)
        return {"role": "assistant", "content": answer(situation)}


def understand(messages: list[JSONObject], tools: list[JSONObject]) -> Situation:
    questions = [number for number, message in enumerate(messages) if message["role"] == "user"]
    last = questions[-1]
    told = "\n".join(message["content"] for message in messages if message["role"] == "system")
    question = Question(messages[last]["content"])
    return Situation(question, reading.read_table(tools), calls_made(messages[last + 1 :]), told)


def calls_made(messages: list[JSONObject]) -> list[Made]:
    results = {message["tool_call_id"]: message for message in messages if message["role"] == "tool"}
    steps = [message.get("tool_calls") or [] for message in messages if message["role"] == "assistant"]
    return [
        Made(step, call["name"], call["arguments"], result["content"], result["is_error"])
        for step, calls in enumerate(steps)
        for call in calls
        if (result := results.get(call["id"]))
    ]


def call_message(situation: Situation, word: str, calls: Calls) -> JSONObject:
    count = len(situation.made)
    tool_calls = [
        {"id": f"call_{count + number}", "name": tool.name, "arguments": arguments}
        for number, (tool, arguments) in enumerate(calls, 1)
    ]
    values = ", ".join(unique(str(value) for _, arguments in calls for value in arguments.values()))
    return {
        "role": "assistant",
        "content": say(situation.question.language, word, values=values, count=len(calls)),
        "tool_calls": tool_calls,
    }


# The rules, in the order in which they are tried. Each returns the calls it would make.


def recover(situation: Situation) -> Calls:
    """After an error that names other ids, read the one spelled most like ours, once; only read."""
    last_step = max((made.step for made in situation.made), default=0)
    calls: Calls = []
    for tool, made in situation.results():
        errors = [other for other in situation.made if other.name == made.name and other.is_error]
        wanted = str(made.arguments.get(tool.id_parameter or ""))
        offered = [an_id for an_id in unique(ID.findall(made.result)) if an_id != wanted]
        is_first = made.is_error and made.step == last_step and len(errors) == 1
        if is_first and offered and is_reader(tool):
            calls.append(read_call(tool, reading.nearest(wanted, offered)))
    return calls


def do_as_told(situation: Situation) -> Calls:
    """The tool that changes something: only for an order that has its verb, and once."""
    question = situation.question
    tools = situation.tools
    told = [tool for tool in tools if any(question.orders(verb) for verb in tool.verbs & CHANGING)]
    if situation.made or not told:
        return []
    tool = max(told, key=lambda tool: len(tool.words & set(question.words)))
    filled = [fill(tool, question, an_id=an_id) for an_id in question.ids or [""] if tool.takes(an_id)]
    return [(tool, arguments) for arguments in filled if arguments is not None]


def read_named(situation: Situation) -> Calls:
    """Read what the question names by its id."""
    calls = [read_call(tool, an_id) for an_id in situation.ids for tool in readers(situation, an_id)]
    return calls[:MOST_CALLS]


def search_everywhere(situation: Situation) -> Calls:
    """Ask each place that can be searched, all in one step; one that knew nothing, again with one word."""
    if situation.ids or not situation.keywords:
        return []
    asked = {tool.name: made for tool, made in situation.results() if tool.searches}
    calls: Calls = []
    for tool in situation.tools:
        before = asked.get(tool.name)
        words = situation.keywords[:1] if before else situation.keywords
        arguments = fill(tool, situation.question, query=" ".join(words))
        if tool.searches and not tool.changes_things and arguments and not (before and before.is_settled):
            calls.append((tool, arguments))
    return calls


def read_best_hits(situation: Situation) -> Calls:
    """Of each search that found something, read the best hit: its line may not tell enough."""
    if any(is_reader(tool) for tool, _ in situation.results()):
        return []
    calls: Calls = []
    for search, made in situation.results():
        for an_id in hits(made.result)[:1] if search.searches else []:
            calls += [read_call(tool, an_id) for tool in readers(situation, an_id, search.origin)[:1]]
    return calls[:MOST_CALLS]


def look_around(situation: Situation) -> Calls:
    """With nothing to search for and no id: the tools that the question names, if they change nothing."""
    if situation.made:
        return []
    words = set(situation.question.words)
    named = [tool for tool in situation.tools if tool.words & words and not tool.changes_things]
    named.sort(key=lambda tool: -len(tool.words & words))
    filled = [(tool, fill(tool, situation.question, " ".join(situation.keywords))) for tool in named]
    return [(tool, arguments) for tool, arguments in filled if arguments is not None][:MOST_CALLS]


RULES: list[tuple[str, Callable[[Situation], Calls]]] = [
    ("mock_recovers", recover),
    ("mock_does", do_as_told),
    ("mock_reads", read_named),
    ("mock_searches", search_everywhere),
    ("mock_reads", read_best_hits),
    ("mock_looks", look_around),
]


def is_reader(tool: Tool) -> bool:
    """Whether it shows one thing by its id."""
    return tool.id_parameter is not None and not tool.changes_things


def readers(situation: Situation, an_id: str, origin: str = "") -> list[Tool]:
    """The tools that may read this id, by the ids they speak of, or their origin, or the question."""
    fitting = [tool for tool in situation.tools if is_reader(tool) and tool.takes(an_id)]
    return (
        [tool for tool in fitting if kind_of(an_id) in tool.id_kinds]
        or [tool for tool in fitting if origin and tool.origin == origin]
        or [tool for tool in fitting if not origin and tool.words & set(situation.question.words)]
    )


def read_call(tool: Tool, an_id: str) -> tuple[Tool, JSONObject]:
    return tool, {tool.id_parameter or "": an_id}


# The answer: what came back, each with the place it came from


def answer(situation: Situation) -> str:
    language = situation.question.language
    parts = [said for made in situation.made for said in quote(situation, made, language)]
    if not situation.tools:
        parts.append(say(language, "mock_no_tools"))
    elif not situation.made:
        names = ", ".join(tool.name for tool in situation.tools[:5])
        parts.append(say(language, "mock_no_fitting_tool", count=len(situation.tools), names=names))
    elif all(made.is_error for made in situation.made):
        parts.append(say(language, "mock_nothing"))
    if situation.told:
        parts.append(say(language, "mock_told", told=shorten(situation.told, TOLD_LENGTH)))
    return "\n".join(parts)


def quote(situation: Situation, made: Made, language: str) -> list[str]:
    """One result in the answer's words; the hits of a search one by one."""
    tool = situation.tool(made.name)
    origin = (tool and tool.origin) or made.name
    values = ", ".join(str(value) for value in made.arguments.values())
    source = f"{origin} ({values})" if values else origin
    lines = [line for line in made.result.split("\n") if hits(line)]
    if made.is_error or tool is None or not tool.searches:
        key = "mock_error" if made.is_error else "mock_quote"
        text = " / ".join(line for line in made.result.split("\n") if line.strip())
        return [say(language, key, source=source, text=shorten(text, QUOTE_LENGTH))]
    key = "mock_found" if lines else "mock_not_found"
    quoted = [f"  {shorten(line, LINE_LENGTH)}" for line in lines[:MOST_HITS]]
    return [say(language, key, source=source, count=len(lines)), *quoted]

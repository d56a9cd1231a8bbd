"""How the mock model reads a question, a tool table and results. No server and no tool is known here.

A real model reads the same three things, by far better. What this file has is a list of common words, a short
glossary from Chinese, and the habits by which tools are named: a verb first, `query` for words, `id` for an
id.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from protocol import JSONObject


def words_of(text: str) -> frozenset[str]:
    return frozenset(text.split())


SEARCHING = words_of("search find query lookup grep")
CHANGING = words_of(
    """
    add append archive assign book buy cancel clear close commit create delete deploy disable drop edit enable
    execute format insert install kill merge modify move pay post publish purge push put rebase remove rename
    replace reset resolve restart revert run save send set stop submit transfer truncate uninstall update
    upload wipe write
    """
)

QUERY_NAMES = words_of("query queries q keyword keywords term terms search phrase words")
ID_NAMES = words_of("id ids identifier key")
WHOLE_TEXT_NAMES = words_of("text message prompt question input content body")

COMMON = words_of(
    """
    a about all an and any anything are as at be been by can could did do does for from had has have how i in
    into is it its list mention me my not of on or our please say says show some something state status tell
    than that the their them there these they this those to us was we were what when where which who why will
    with would you your
    """
)

# English word of a tool table -> how a Chinese question says it. Longer ones are looked for first, so that
# "not closed" is not taken for "close".
GLOSSARY = {
    "open": ("未关闭", "没有关闭", "没关闭", "未解决", "没解决", "待处理", "打开的", "开着的", "开放的"),
    "closed": ("已关闭", "已经关闭", "关闭了", "已解决", "关闭的"),
    "close": ("关闭", "关掉"),
    "delete": ("删除", "删掉"),
    "create": ("创建", "新建"),
    "list": ("列出", "列举"),
    "search": ("搜索", "查找"),
    "read": ("读", "阅读"),
    "ticket": ("工单",),
    "note": ("笔记",),
}
CHINESE_COMMON = words_of(
    """
    哪些 哪个 哪里 什么 怎么 怎样 如何 为什么 有没有 有无 没有 是否 是不是 提到 提及 说到 写到 涉及 关于 相关
    有关 内容 记录 告诉 帮我 看看 看一下 一下 请问 请 现在 目前 状态 情况 任何 所有 全部 这个 那个 里面 我们
    你们 我 你 它 了 的 吗 呢 吧 里 中 有 和 与 以及 及 并且 并 在 是 还 也 都 说 写 过 到 把 对 跟
    """
)

ID = re.compile(r"(?<![A-Za-z0-9])[A-Z]{1,8}-\d+(?![A-Za-z0-9])")
CHINESE = re.compile(r"[\u3400-\u9fff]+")
ENGLISH = re.compile(r"[A-Za-z][A-Za-z0-9]+(?:-\d+)?|[A-Z]-\d+")  # words of two letters and more, and ids
QUOTED = re.compile(r"[\"“「']([^\"”」']+)[\"”」']")
TELLING = re.compile(r"https?://\S+|\S*[/@_]\S+|\S+\.\w+")  # a path, an address, a file, a time zone
NAME_PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")  # closeTicket, close_ticket, close-ticket
POLITE = r"^|[,.;:!]\s*|\b(?:please|now|then|and|can you|could you|will you|would you)\s+"
CHINESE_QUESTION = re.compile("怎么|怎样|如何|什么|谁|是否|吗|[?？]")
MAX_REFERENCES = 5  # a schema may refer to itself


def stem(word: str) -> str:
    """Singular and plural are one word; so are `find` and the `Finds` of a description."""
    word = word.lower()
    return word[:-1] if word.endswith("s") and len(word) > 3 and not word.endswith("ss") else word


# The question


@dataclass(frozen=True)
class Question:
    text: str

    @cached_property
    def language(self) -> str:
        return "zh" if CHINESE.search(self.text) else "en"

    @cached_property
    def ids(self) -> list[str]:
        return unique(ID.findall(self.text))

    @cached_property
    def words(self) -> list[str]:
        """Its words as a tool table would say them: English as they stand, Chinese ones by the glossary."""
        english = [stem(word) for word in ENGLISH.findall(self.text)]
        return unique(english + [word for _, word in self._glossed])

    @cached_property
    def _glossed(self) -> list[tuple[str, str]]:
        """The glossary's phrases in the question: (the Chinese phrase, the English word)."""
        phrases = [(phrase, word) for word, phrases in GLOSSARY.items() for phrase in phrases]
        rest, found = self.text, []
        for phrase, word in sorted(phrases, key=lambda pair: -len(pair[0])):
            if phrase in rest:
                rest = rest.replace(phrase, " ")
                found.append((phrase, word))
        return found

    def keywords(self, tool_words: Iterable[str]) -> list[str]:
        """What the question is about: its words without the common ones and those that name the tools."""
        naming = {stem(word) for word in tool_words}
        words = ENGLISH.findall(self.text)
        english = [word for word in words if word.lower() not in COMMON and stem(word) not in naming]
        text, common = self.text, {phrase for phrase, word in self._glossed if word in naming}
        for phrase in sorted(CHINESE_COMMON | common, key=lambda phrase: (-len(phrase), phrase)):
            text = text.replace(phrase, " ")
        return unique(english + CHINESE.findall(text))

    def orders(self, verb: str) -> bool:
        """Whether it tells us to do this, and does not only speak of it ("how do I close a ticket?")."""
        if self.language == "zh":
            return any(word == verb for _, word in self._glossed) and not CHINESE_QUESTION.search(self.text)
        return re.search(rf"(?:{POLITE})(?:please\s+)?{verb}\b", self.text, re.IGNORECASE) is not None


def unique(items: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(items))


# The tool table


@dataclass(frozen=True)
class Tool:
    """One row of the table, with what its words let us guess."""

    name: str
    description: str
    schema: JSONObject

    @cached_property
    def origin(self) -> str:
        """Where it says it comes from; empty when it does not."""
        found = re.match(r"\[from ([^\]]+)\]", self.description)
        return found[1] if found else ""

    @cached_property
    def words(self) -> frozenset[str]:
        """The words of its name, without the prefix that says where it comes from."""
        own = self.name.removeprefix(f"mcp__{self.origin}__")
        return frozenset(stem(part) for part in NAME_PART.findall(own))

    @cached_property
    def verbs(self) -> frozenset[str]:
        """What it does: the words of its name, and the one its description starts with."""
        first = ENGLISH.search(self.description.removeprefix(f"[from {self.origin}]"))
        return self.words | ({stem(first[0])} if first else set())

    @cached_property
    def changes_things(self) -> bool:
        """Whether it looks as if it did more than look; such a tool waits until it is asked for."""
        return bool(self.verbs & CHANGING) or "cannot be undone" in self.description

    @cached_property
    def required(self) -> dict[str, JSONObject]:
        names = self.schema.get("required")
        names = names if isinstance(names, list) else []
        return {name: self._property(name) for name in names if isinstance(name, str)}

    @cached_property
    def optional(self) -> dict[str, JSONObject]:
        names = as_object(self.schema.get("properties"))
        return {name: self._property(name) for name in names if name not in self.required}

    @cached_property
    def id_parameter(self) -> str | None:
        """The one required argument, if it is an id: then this tool reads (or changes) a single thing."""
        ids = [name for name in self.required if name_words(name) & ID_NAMES]
        return ids[0] if len(ids) == 1 and len(self.required) == 1 else None

    @cached_property
    def searches(self) -> bool:
        return bool(self.verbs & SEARCHING) and any(name_words(name) & QUERY_NAMES for name in self.required)

    @cached_property
    def naming(self) -> set[str]:
        """All words by which a question may speak of this tool rather than of its own subject."""
        choices = [str(value) for schema in self.optional.values() for value in enum_of(schema)]
        return {*self.words, self.origin, *choices}

    @cached_property
    def id_kinds(self) -> set[str]:
        """The kinds of ids it gives as examples: {"T"} for "such as T-03"."""
        return {kind_of(an_id) for an_id in ID.findall(f"{self.description} {self.schema}")}

    def takes(self, an_id: str) -> bool:
        """Whether its examples leave room for this id; without examples they do."""
        return not self.id_kinds or kind_of(an_id) in self.id_kinds

    def _property(self, name: str) -> JSONObject:
        """The sub-schema of one argument, with references inside this schema followed."""
        found = as_object(as_object(self.schema.get("properties")).get(name))
        for _ in range(MAX_REFERENCES):
            reference = found.get("$ref")
            if not isinstance(reference, str) or not reference.startswith("#/"):
                break
            found = self.schema
            for part in reference[2:].split("/"):
                found = as_object(found.get(part))
        return found


def kind_of(an_id: str) -> str:
    return an_id.partition("-")[0]


def as_object(value: Any) -> JSONObject:
    """A sub-schema may also be `true`, and a careless server sends worse."""
    return value if isinstance(value, dict) else {}


def enum_of(schema: JSONObject) -> list[Any]:
    values = schema.get("enum")
    return values if isinstance(values, list) else []


def name_words(name: str) -> frozenset[str]:
    return frozenset(part.lower() for part in NAME_PART.findall(name))


def read_table(tools: Iterable[JSONObject]) -> list[Tool]:
    """The table as the client gave it, row by row."""
    return [Tool(row["name"], str(row.get("description")), as_object(row["input_schema"])) for row in tools]


# The arguments of a call


def fill(tool: Tool, question: Question, query: str = "", an_id: str = "") -> JSONObject | None:
    """Arguments for this tool, or None when one that it requires cannot be guessed: then it is not called."""
    arguments = {name: guess(name, schema, question, query, an_id) for name, schema in tool.required.items()}
    if None in arguments.values():
        return None
    for name, schema in tool.optional.items():
        named = [value for value in enum_of(schema) if stem(str(value)) in question.words]
        if named:
            arguments[name] = named[0]
        elif tool.changes_things and schema.get("type") == "string":
            arguments[name] = reason_in(question)  # what was done, why, for whom: it is all in what was asked
    return arguments


def guess(name: str, schema: JSONObject, question: Question, query: str, an_id: str) -> Any:
    """A value for one required argument; None: no idea."""
    if choices := enum_of(schema):
        named = [value for value in choices if stem(str(value)) in question.words]
        return (named or [schema.get("default", choices[0])])[0]
    match schema.get("type", "string"):
        case "string":
            return guess_text(name, question, query, an_id) or schema.get("default")
        case "integer" | "number":
            numbers = re.findall(r"\d+", ID.sub(" ", question.text))
            return int(numbers[0]) if numbers else schema.get("default", schema.get("minimum"))
        case "boolean":
            return schema.get("default", False)
    return schema.get("default")


def guess_text(name: str, question: Question, query: str, an_id: str) -> str | None:
    words = name_words(name)
    if words & ID_NAMES:
        return an_id or None
    if words & QUERY_NAMES:
        return query or None
    if words & WHOLE_TEXT_NAMES:
        return question.text
    for pattern in (QUOTED, TELLING):
        if found := pattern.search(question.text):
            return found[found.re.groups].rstrip(".,;?!")
    return None


def reason_in(question: Question) -> str:
    """What the request says after its first comma or colon, or else the request itself."""
    parts = re.split(r"[,:;，：；。]\s*", question.text, maxsplit=1)
    return (parts[-1] or question.text).strip()


# The results


def hits(text: str) -> list[str]:
    """The ids that lead the lines of a result; those inside a line belong to what it quotes."""
    found = (ID.search(line) for line in text.split("\n"))
    return unique(match[0] for match in found if match and match.start() <= 4)


def nearest(wanted: str, offered: list[str]) -> str:
    """The id that is spelled most like the wanted one; the first of equals."""
    return max(offered, key=lambda one: SequenceMatcher(None, wanted, one).ratio())


def shorten(text: str, most: int) -> str:
    """All of it in one line, cut at `most` characters."""
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1] + "…"

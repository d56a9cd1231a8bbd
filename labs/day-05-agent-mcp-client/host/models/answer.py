"""An assistant message while it arrives, and what becomes of it: the neutral message of agent_loop.py.

The two APIs differ in how they cut an answer into pieces; `Answer` is where the pieces meet. What a provider wants
back word for word (a model's thinking, signatures) rides along under `as_received`: the loop hands it on with the
message, and only the API that made it reads it.
"""

from __future__ import annotations

import contextlib
import json
import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from host.models.reading import Question
from host.models.shaping import Shaped
from host.words import say

if TYPE_CHECKING:
    from protocol import JSONObject

MOST_MALFORMED = 2000  # characters of arguments that are no JSON, sent back to the model that wrote them

# How an answer can end, whatever the API calls it; a reason that is in no table stands for itself.
DONE, CUT, FULL, FILTERED, REFUSED = "done", "cut", "full", "filtered", "refused"
SAID_AT_THE_END = {CUT: "model_cut", FULL: "model_full", FILTERED: "model_filtered", REFUSED: "model_refused"}


@dataclass
class Call:
    """A tool call while it arrives."""

    id: str = ""
    name: str = ""
    arguments: str = ""  # JSON, when it is all there
    extra: JSONObject = field(default_factory=dict)  # what the provider wants back with it


class Answer:
    """What has come so far. Its text is shown at once, if somebody wants to see it."""

    def __init__(self, on_text: Callable[[str], None] | None = None) -> None:
        self._on_text = on_text
        self._text: list[str] = []
        self.calls: list[Call] = []
        self.end: str | None = None  # how it ended, as soon as the provider has said so
        self.why: str = ""  # the provider's own words about the end
        self.is_over = False  # nothing more will come
        self.as_received: JSONObject = {}

    @property
    def text(self) -> str:
        return "".join(self._text)

    @property
    def is_shown(self) -> bool:
        """Whether a person has seen some of it: then it cannot be asked for again."""
        return self._on_text is not None and bool(self._text)

    def say(self, piece: str) -> None:
        if piece:
            self._text.append(piece)
            if self._on_text is not None:
                self._on_text(piece)

    def message(self, messages: list[JSONObject], shaped: Shaped) -> JSONObject:
        """The neutral message; what is not as it should be is said in its text, in the question's language."""
        calls = [call for call in self.calls if call.name or call.arguments]
        if not calls or self.end in (FILTERED, REFUSED):
            self._say_how_it_ended(language_of(messages))
            return {"role": "assistant", "content": self.text}
        made = [self._neutral(call, shaped) for call in calls]
        for call, an_id in zip(made, unique_ids([call.id for call in calls], messages), strict=True):
            call["id"] = an_id
        message: JSONObject = {"role": "assistant", "content": self.text, "tool_calls": made}
        extra = {new["id"]: old.extra for new, old in zip(made, calls, strict=True) if old.extra}
        if extra:
            self.as_received["calls"] = extra
        if self.as_received:
            message["as_received"] = self.as_received
        return message

    def _neutral(self, call: Call, shaped: Shaped) -> JSONObject:
        arguments = read_arguments(call.arguments)
        if self.end in (CUT, FULL) and not call.arguments.strip():
            arguments = "(cut off)"  # "no arguments" would be a guess, and the tool would run
        if isinstance(arguments, dict):
            arguments = shaped.for_server(call.name, arguments)
        return {"id": "", "name": call.name, "arguments": arguments}

    def _say_how_it_ended(self, language: str) -> None:
        key = SAID_AT_THE_END.get(self.end or DONE)
        if key is not None:
            said = say(language, key, why=f": {self.why}" if self.why else "")
        elif self.end not in (None, DONE):
            said = say(language, "model_ended", why=self.end)
        elif not self.text.strip():
            said = say(language, "empty_answer")
        else:
            return
        self.say(f"\n\n{said}" if self.text.strip() else said)


def read_arguments(text: str) -> JSONObject | str:
    """The arguments as an object, or else the text as it came: the loop answers such a call with an error."""
    try:
        value = json.loads(text or "{}", parse_constant=refuse_constant, parse_float=finite)
    except (ValueError, RecursionError):
        return text if text.strip() else {}
    if value is None:
        return {}
    return value if isinstance(value, dict) else text


def refuse_constant(text: str) -> float:
    raise ValueError(f"{text} is not JSON")


def finite(text: str) -> float:
    """Raises: ValueError for a number such as 1e999, which would become infinite."""
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is too large")
    return number


def unique_ids(ids: Iterable[str], messages: list[JSONObject]) -> list[str]:
    """The ids as they came, and new ones for those that are missing or were there before: results go by them."""
    taken = {call["id"] for message in messages for call in message.get("tool_calls") or []}
    made: list[str] = []
    for an_id in ids:
        number = len(taken)
        while not an_id or an_id in taken:
            number += 1
            an_id = f"call{number:05d}"  # nine letters and digits: every API takes that
        taken.add(an_id)
        made.append(an_id)
    return made


def language_of(messages: list[JSONObject]) -> str:
    questions = [message["content"] for message in messages if message["role"] == "user"]
    return Question(str(questions[-1])).language if questions else "en"


# The way back: calls of the history, as a provider takes them


def sendable_arguments(call: JSONObject, shaped: Shaped) -> JSONObject:
    """Always an object: a history with arguments that are none is refused, again and again."""
    arguments = call.get("arguments") or {}
    with contextlib.suppress(TypeError, ValueError, RecursionError):
        json.dumps(arguments, allow_nan=False)
        if isinstance(arguments, dict):
            return shaped.for_model(call["name"], arguments)
    return {"malformed_arguments": str(arguments)[:MOST_MALFORMED]}


def sendable_name(call: JSONObject) -> str:
    """A model may call a tool by a name that no API would take back."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", str(call.get("name") or ""))[:64] or "unnamed"

"""A person agrees before a tool runs that is not marked read-only.

What a tool does, only its server says, in `annotations`: a claim, which nobody has checked, and which is
shown as one [server/tools]. So the claim "it only reads" is enough to run without a question, unless the
server is one with `"trust": false` in the configuration; no claim at all counts as "it may destroy".

Who is asked? The person at the terminal. With --yes nobody: the person has agreed beforehand, and is told
what was run. Without a terminal nobody either: then the tool is not run, and the model is told how it could.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Awaitable, Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio

from host.words import Message
from protocol import JSONObject
from registry import Entry, error_result

if TYPE_CHECKING:
    from host.screen import Screen

HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
TITLE_CHARACTERS = 80  # a longer one would push aside what stands behind it
YES = {"y", "yes", "是", "好", "对"}
KEY_SECONDS = 0.05  # between two looks whether a key was pressed, on Windows

NOBODY_AGREED = (
    "not run: this tool is not marked read-only, so a person must confirm the call, and nobody can be asked "
    "in this run. Tell the person what you wanted to do, and that it takes a terminal to be asked at, or --yes."
)
REFUSED = "not run: the person was asked and said no. Do not call it again unless the person asks for it."

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Proposal:
    """A call that a person is to agree to, in the person's terms."""

    title: str
    way: str  # the name on the wire and its server
    arguments: JSONObject
    claim: Message  # what the server says that it does


Ask = Callable[[Proposal], Awaitable[bool]]


class Confirmation:
    """Lets a call pass, or has an error result in its place.

    `ask` reaches a person (None: there is none); with `yes` the person has agreed to everything; the servers
    in `distrusted` are not believed that a tool only reads.
    """

    def __init__(self, ask: Ask | None, *, yes: bool = False, distrusted: Collection[str] = ()) -> None:
        self._ask = ask
        self._yes = yes
        self._distrusted = frozenset(distrusted)

    async def refusal(self, entry: Entry, arguments: JSONObject) -> JSONObject | None:
        """None when the call may be made; all that is not a plain yes is a no."""
        if is_read_only(entry.definition) and entry.alias not in self._distrusted:
            return None
        proposal = propose(entry, arguments)
        names: dict[str, object] = {"title": proposal.title, "way": proposal.way}
        if self._yes:
            log.warning(Message("ran_by_yes", names))
            return None
        if self._ask is None:
            log.warning(Message("nobody_to_ask", names))
            return error_result(NOBODY_AGREED)
        return None if await self._ask(proposal) else error_result(REFUSED)


def propose(entry: Entry, arguments: JSONObject) -> Proposal:
    way = f"{entry.tool_name} @ {entry.alias}"
    return Proposal(title(entry.definition), way, arguments, claim(entry.definition))


def title(definition: JSONObject) -> str:
    """What a person calls the tool; where it stands has changed over the revisions [server/tools]."""
    candidates = (definition.get("title"), annotations_of(definition).get("title"), definition.get("name"))
    shown = next((text for text in candidates if isinstance(text, str) and text.strip()), "?")
    return shown if len(shown) <= TITLE_CHARACTERS else f"{shown[:TITLE_CHARACTERS]}..."


def is_read_only(definition: JSONObject) -> bool:
    """Whether the server claims so, and does not contradict itself."""
    said = annotations_of(definition)
    return said.get("readOnlyHint") is True and said.get("destructiveHint") is not True


def claim(definition: JSONObject) -> Message:
    """What the server says of the tool's effect, with its own words for it."""
    said = annotations_of(definition)
    hints = {name: said[name] for name in HINTS if isinstance(said.get(name), bool)}
    if not hints.keys() & {"readOnlyHint", "destructiveHint"}:
        return Message("claim_none")
    key = "claim_read_only" if is_read_only(definition) else "claim_destructive"
    if hints.get("readOnlyHint") is not True and hints.get("destructiveHint") is False:
        key = "claim_additive"
    return Message(key, {"hints": ", ".join(f"{name} {str(value).lower()}" for name, value in hints.items())})


def annotations_of(definition: JSONObject) -> JSONObject:
    said = definition.get("annotations")
    return said if isinstance(said, dict) else {}


# The terminal


def person_at_terminal(screen: Screen) -> Ask | None:
    """How to ask the person, or None: a question that goes to a file or a pipe would wait unseen for ever."""
    if not all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout)):
        return None

    async def ask(proposal: Proposal) -> bool:
        screen.proposal(proposal)
        forget_what_was_typed()
        try:
            answer = await read_line()
        except EOFError:  # Ctrl-D
            answer = ""
        return answer.strip().lower() in YES

    return ask


def forget_what_was_typed() -> None:
    """A "y" that was typed before the question could be read is no answer to it."""
    if sys.platform == "win32":
        import msvcrt

        while msvcrt.kbhit():
            msvcrt.getwch()
    else:
        import termios

        with suppress(termios.error):
            termios.tcflush(sys.stdin, termios.TCIFLUSH)


async def read_line() -> str:
    """A line from the terminal. Waited for without blocking: the servers are still read, and Ctrl-C works."""
    if sys.platform == "win32":
        import msvcrt

        while not msvcrt.kbhit():
            await anyio.sleep(KEY_SECONDS)
    else:
        await anyio.wait_readable(sys.stdin)
    return input()

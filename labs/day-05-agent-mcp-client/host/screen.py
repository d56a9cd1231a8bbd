"""What a person sees of a run: the servers, each step with its calls and results, and the answer.

Names, arguments and results are evidence: they are shown as they are, and no markup is read from them. On a
terminal they are wrapped below their own beginning; anywhere else a line stays a line, to be searched and
compared.
"""

import json
import logging
import unicodedata
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NoReturn

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from host.target import MOST_ERRORS, StudentError
from host.words import HostError, Message, say

if TYPE_CHECKING:  # it imports the target's files, and these must not run before their time
    from host.confirm import Proposal

LEAST_WIDTH = 20  # columns for a text, however narrow the terminal
RESULT_LINES = 6  # of one result on the screen; the model gets all of it
RESULT_CHARACTERS = 600
ARGUMENT_CHARACTERS = 4000  # of a call that a person is to agree to, who should see all of it
WARNING_CHARACTERS = 200
TURNING = "\u202a\u202b\u202d\u202e\u2066\u2067\u2068"  # signs that turn the writing direction


class OutputClosed(HostError):
    """Raised when nobody reads our output any more, as after `| head`."""


class PipedConsole(Console):
    """A console that ends the run when its reader has gone; rich would end the process instead."""

    def on_broken_pipe(self) -> NoReturn:
        try:
            super().on_broken_pipe()  # it also turns what is still to come away from the broken pipe
        except SystemExit:
            raise OutputClosed("output_closed") from None
        raise OutputClosed("output_closed")


class Screen:
    def __init__(self, language: str) -> None:
        self.language = language
        self._legend_is_shown = False
        self._is_spoken = False  # what the model says in this step has been shown while it arrived
        self._line_is_open = False  # and its last line is not ended
        self._out = PipedConsole(highlight=False, markup=False, emoji=False)
        self._errors = Console(stderr=True, highlight=False, markup=False, emoji=False)

    def say(self, key: str, **values: object) -> str:
        return say(self.language, key, **values)

    def count(self, key: str, count: int, **values: object) -> str:
        return self.say(f"{key}_one" if count == 1 else f"{key}_many", count=count, **values)

    # Before the first step

    def heading(self, question: str, target: str, model: str) -> None:
        rows = {"question": question, "target": target, "model": model}
        labels = {self.say(key): value for key, value in rows.items()}
        self._table(labels, indent=0)

    def starting(self, aliases: list[str]) -> None:
        names = ", ".join(aliases)
        self._line(self.say("starting", aliases=names) if aliases else self.say("no_servers"), "dim")

    def servers(self, states: Mapping[str, str], warnings: Iterable[Message]) -> None:
        """`states`: alias -> how many tools, or why none."""
        for warning in warnings:
            self.warning(warning.text(self.language))
        self._line(self.say("servers"), "bold")
        self._table(states, indent=2)

    # One step

    def step(self, number: int) -> None:
        self._is_spoken = False
        self._line("")
        self._line(self.say("step", number=number), "bold")

    @property
    def is_live(self) -> bool:
        """Whether somebody watches; in a file or a pipe a text comes as a whole."""
        return self._out.is_terminal

    def piece(self, text: str) -> None:
        """A piece of what the model says, while it arrives."""
        start = "" if self._line_is_open else "  "
        self._is_spoken = self._line_is_open = True
        self._out.print(Text(start + printable(text).replace("\n", "\n  ")), end="", soft_wrap=True)

    def thought(self, text: str) -> None:
        if text and not self._is_spoken:
            self._line(text, "italic", indent=2)

    def call(self, model_name: str, way: str, arguments: object, title: str = "") -> None:
        """`way`: the name on the wire and its server, or why nothing was sent; `title`: the person's name."""
        if not self._legend_is_shown:
            self._legend_is_shown = True
            self._line(self.say("legend"), "dim", indent=2)
        names = Text.assemble((printable(model_name), "cyan"), " -> ", (printable(way), "green"))
        self._print(names, indent=2)
        shown = json.dumps(arguments, ensure_ascii=False)
        self._line(f"{one_line(title)} {shown}" if title else shown, indent=6)

    def proposal(self, proposal: "Proposal") -> None:
        """What a person is to agree to; the cursor stays behind the question."""
        arguments = json.dumps(proposal.arguments, ensure_ascii=False)
        hidden = len(arguments) - ARGUMENT_CHARACTERS
        self._line("")
        self._line(self.say("proposal", title=one_line(proposal.title), way=proposal.way), "bold", indent=2)
        self._line(arguments[:ARGUMENT_CHARACTERS], indent=6)
        if hidden > 0:
            self._line(self.say("hidden_arguments", count=hidden), "bold yellow", indent=6)
        self._line(proposal.claim.text(self.language), "yellow", indent=6)
        self._out.print(Text(f"  {self.say('run_it')}", style="bold"), end="", soft_wrap=True)

    def result(self, text: str, is_error: bool) -> None:
        """The beginning of one result; an error says so in the protocol's own word."""
        lines, cut = beginning(text)
        for number, line in enumerate(lines):
            mark = "isError: " if is_error and number == 0 else ""
            self._line(mark + line, "red" if is_error else "", indent=6)
        if cut:
            self._line(self.say("cut", count=cut), "dim", indent=6)

    # The end

    def end(self, answer: str | None, steps: int) -> None:
        if answer is None:
            self._line("")
            self._line(self.count("no_answer", steps, more=max(10, 2 * steps)), "bold yellow")
            return
        if not self._is_spoken:
            self._line(self.say("answer"), "bold")
            for line in (answer.strip() or self.say("empty_answer")).split("\n"):
                self._line(line, indent=2)
        self._line("")
        self._line(self.count("answered", steps), "dim")

    def warning(self, text: str) -> None:
        self._line("! " + one_line(text)[:WARNING_CHARACTERS], "dim")

    def problem(self, message: Message) -> None:
        self._end_line()
        self._errors.print(printable(message.text(self.language)), style="bold", soft_wrap=True)

    def stopped(self) -> None:
        self._errors.print(f"\n{self.say('stopped')}", soft_wrap=True)

    def student_errors(self, folder: str, errors: list[StudentError]) -> None:
        """The student's own lines, and nothing of what lies between them."""
        self._errors.print(f"\n{self.say('student_error', folder=folder)}", style="bold", soft_wrap=True)
        for error in errors[:MOST_ERRORS]:
            self._errors.print()
            for place in error.places:
                self._errors.print(f"  {printable(place)}", soft_wrap=True)
            self._errors.print(f"  {printable(error.text)}", style="red", soft_wrap=True)
        if len(errors) > MOST_ERRORS:
            count = len(errors) - MOST_ERRORS
            self._errors.print(f"\n{self.say('and_more_errors', count=count)}", soft_wrap=True)

    # How a line gets there

    def _table(self, rows: Mapping[str, str], indent: int) -> None:
        """A name and what is said of it on each line, the second column straight."""
        width = max((cell_len(name) for name in rows), default=0)
        for name, text in rows.items():
            label = name + " " * (width - cell_len(name) + 2)
            self._print(Text(printable(text)), indent, label)

    def _line(self, text: str, style: str = "", indent: int = 0) -> None:
        content = printable(text).lstrip(" ")
        self._print(Text(content, style=style), indent + len(text) - len(content))

    def _end_line(self) -> None:
        if self._line_is_open:
            self._line_is_open = False
            self._out.print()

    def _print(self, text: Text, indent: int, label: str = "") -> None:
        """On a terminal, what does not fit goes on below its own beginning."""
        self._end_line()
        margin = indent + cell_len(label)
        width = max(LEAST_WIDTH, self._out.width - margin)
        lines = text.wrap(self._out, width) if self._out.is_terminal else [text]
        for number, line in enumerate(lines):
            line.rstrip()
            before = " " * indent + label if number == 0 else " " * margin
            self._out.print(Text(before if line else "") + line, soft_wrap=True)


class WarningLines(logging.Handler):
    """The warnings of the five files and of the host, each as one dim line of the run."""

    def __init__(self, screen: Screen) -> None:
        super().__init__(logging.WARNING)
        self._screen = screen

    def emit(self, record: logging.LogRecord) -> None:
        if isinstance(record.msg, Message):
            self._screen.warning(record.msg.text(self._screen.language))
        else:
            self._screen.warning(record.getMessage())


def beginning(text: str) -> tuple[list[str], int]:
    """The first lines of a text, and how many characters of it they leave out."""
    head = text[:RESULT_CHARACTERS].split("\n")[:RESULT_LINES]
    return head, len(text) - len("\n".join(head))


def one_line(text: str) -> str:
    """A server's text must not look like lines of ours."""
    return " ".join(text.split())


def printable(text: str) -> str:
    """A server's text must not steer the terminal: no escape sequences, no turned writing direction."""
    return "".join("\N{REPLACEMENT CHARACTER}" if is_control(sign) else sign for sign in text)


def is_control(sign: str) -> bool:
    return sign in TURNING or (unicodedata.category(sign) == "Cc" and sign not in "\n\t")

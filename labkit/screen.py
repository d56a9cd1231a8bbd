"""The self-test's screen: a line per check as it is judged, a panel per red one, the next action last.

Everything shown comes from the record. Evidence is printed as it is: no markup is read from it, and where
the output is no terminal its lines are not wrapped.
"""

from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text as RichText

from labkit.words import say

JSONObject = dict[str, Any]

MARKS = {"pass": ("✓", "green"), "not_run": ("-", "bright_black")}
RED = ("✗", "red")
PRINTED_LINES = 5
PRINTED_CHARACTERS = 160  # of a line


class Screen:
    def __init__(self, console: Console, language: str) -> None:
        self._console = console
        self._language = language

    def heading(self, lab: str, target: str) -> None:
        self._print(say("heading", self._language, lab=lab, target=target), style="bold")
        self._print("")

    def line(self, check: JSONObject) -> None:
        mark, colour = MARKS.get(check["status"], RED)
        line = RichText(f" {mark} {check['number']}  ", style=colour)
        line.append(check["title"], style="" if check["status"] != "not_run" else "bright_black")
        if check["status"] not in MARKS and check["todo"] is not None:
            line.append(f"  TODO {check['todo']}", style="yellow")
        self._console.print(line, soft_wrap=not self._console.is_terminal)

    def panel(self, check: JSONObject) -> None:
        """What was done, expected and got, the wire, where to look, and what to read."""
        self._print("")
        self._print(f"{RED[0]} {check['number']}  {check['title']}", style="bold red")
        self._print(check["message"])
        rows = [(key, check[key]) for key in ("done", "expected", "actual") if check[key]]
        rows += [("wire", "\n".join(check["wire"]))] if check["wire"] else []
        rows += [(key, check[key]) for key in ("where", "spec") if check[key]]
        rows += [("printed", _first_lines(check["printed"]))] if check["printed"].strip() else []
        self._rows(rows)

    def import_error(self, error: JSONObject) -> None:
        self._print("")
        self._print(error["message"], style="bold red")
        self._rows([("where", "\n".join(error["frames"]) or error["where"])])

    def summary(self, record: JSONObject) -> None:
        colour = "green" if record["passed"] == record["total"] else "bold"
        words = say("summary", self._language, **{key: record[key] for key in ("passed", "total", "seconds")})
        self._print("")
        self._print(words, style=colour)

    def note(self, key: str, **values: object) -> None:
        self._print(say(key, self._language, **values))

    def last(self, key: str, **values: object) -> None:
        """The next action: always the last line."""
        self._print("")
        self._print(say(key, self._language, **values), style="bold")

    def _rows(self, rows: list[tuple[str, str]]) -> None:
        labels = [(say(key, self._language), text) for key, text in rows]
        if self._console.is_terminal:
            grid = Table.grid(padding=(0, 2, 0, 2))
            grid.add_column(style="cyan", no_wrap=True)
            grid.add_column(overflow="fold")
            for label, text in labels:
                grid.add_row(label, RichText(text))
            self._console.print(grid)
        else:
            for label, text in labels:
                for line in text.splitlines():
                    self._print(f"  {label}  {line}")

    def _print(self, text: str, style: str = "") -> None:
        soft = not self._console.is_terminal
        self._console.print(text, style=style, markup=False, highlight=False, emoji=False, soft_wrap=soft)


def _first_lines(text: str) -> str:
    lines = [line if len(line) <= PRINTED_CHARACTERS else line[:PRINTED_CHARACTERS] + "…" for line in text.split("\n")]
    lines = [line for line in lines if line.strip()]
    more = len(lines) - PRINTED_LINES
    return "\n".join(lines[:PRINTED_LINES] + ([f"... ({more} more lines)"] if more > 0 else []))

"""The question before a tool that is not marked read-only: who is asked, what is shown, what a no leads to.

The last part runs the whole command, in a terminal and without one: close a ticket, agreed, refused, --yes.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from host_world import PATIENCE, Server, opened, tool
from kit import LAB, ROOT

from host.confirm import Proposal, claim, is_read_only, person_at_terminal, propose, title
from host.screen import Screen
from host.words import WORDS
from registry import Entry

MAIN = LAB / "host" / "main.py"
TICKETS = LAB / "servers" / "tickets.py"
CLOSE = "Close ticket T-03"
PROMPT = "Run it? [y/N] "
OURS = re.compile("MODEL_|MOCK|YES|QUESTION|TARGET|CONFIG|MAX_STEPS|LAB_|LC_|LANG|NO_|FORCE_|TERM|COLUMNS")

posix_only = pytest.mark.skipif(os.name == "nt", reason="terminals of POSIX")


class Person:
    """Answers all questions in the same way, and remembers them."""

    def __init__(self, answer: bool) -> None:
        self.answer = answer
        self.asked: list[Proposal] = []

    async def __call__(self, proposal: Proposal) -> bool:
        self.asked.append(proposal)
        return self.answer


# What the annotations say


@pytest.mark.parametrize(
    ("annotations", "read_only", "key", "hints", "reason"),
    [
        ({"readOnlyHint": True}, True, "claim_read_only", "readOnlyHint true", "it only reads"),
        ({"readOnlyHint": False}, False, "claim_destructive", "readOnlyHint false", "then it may destroy"),
        ({"destructiveHint": False}, False, "claim_additive", "destructiveHint false", "it only adds"),
        ({"destructiveHint": True}, False, "claim_destructive", "destructiveHint true", "it says so"),
        (
            {"readOnlyHint": True, "destructiveHint": True},
            False,
            "claim_destructive",
            "readOnlyHint true, destructiveHint true",
            "a contradiction is no claim to only read",
        ),
        ({"readOnlyHint": True, "destructiveHint": False}, True, "claim_read_only", "", "no contradiction"),
        ({"idempotentHint": True}, False, "claim_none", "", "it says nothing of what it changes"),
        ({"readOnlyHint": "true"}, False, "claim_none", "", "a text is no claim"),
        ({"readOnlyHint": 1}, False, "claim_none", "", "nor is a number"),
        ([], False, "claim_none", "", "no object"),
        (None, False, "claim_none", "", "nothing at all"),
    ],
)
def test_only_a_plain_read_only_hint_counts(
    annotations: Any, read_only: bool, key: str, hints: str, reason: str
) -> None:
    definition = {"name": "t", "annotations": annotations}
    assert is_read_only(definition) is read_only, reason
    assert claim(definition).key == key, reason
    assert hints in str(claim(definition)), reason


@pytest.mark.parametrize("key", ["claim_destructive", "claim_additive", "claim_read_only"])
def test_every_claim_is_labelled_as_the_server_s_own(key: str) -> None:
    english, chinese = WORDS[key]
    assert "so the server itself says ({hints})" in english
    assert "这是服务端自己说的（{hints}）" in chinese


@pytest.mark.parametrize(
    ("definition", "shown"),
    [
        ({"name": "n", "title": "A title", "annotations": {"title": "Another"}}, "A title"),
        ({"name": "n", "annotations": {"title": "Another"}}, "Another"),
        ({"name": "n", "title": " "}, "n"),
        ({"name": "n", "title": 5, "annotations": None}, "n"),
    ],
)
def test_the_title_is_what_a_person_sees(definition: dict[str, Any], shown: str) -> None:
    assert title(definition) == shown


# Who is asked, and what becomes of the call


@pytest.mark.anyio
async def test_a_call_that_the_person_agrees_to_is_made(tmp_path: Path) -> None:
    person = Person(True)
    hints = {"destructiveHint": True}
    server = Server(tmp_path / "a").write(tool("drop.all", title="Drop all", annotations=hints))
    async with opened({"a": server}, ask=person) as world:
        [name] = world.names()
        assert await world.call(name, table="t") == (False, "drop.all from process 1")
    [asked] = person.asked
    assert (asked.title, asked.way, asked.arguments) == ("Drop all", "drop.all @ a", {"table": "t"})
    assert server.calls() == ["drop.all"]


@pytest.mark.anyio
async def test_a_call_that_the_person_refuses_never_reaches_the_server(tmp_path: Path) -> None:
    person = Person(False)
    server = Server(tmp_path / "a").write(tool("drop", annotations={}))
    async with opened({"a": server}, ask=person) as world:
        is_error, text = await world.call("mcp__a__drop")
    assert is_error and text.startswith("not run: the person was asked and said no")
    assert len(person.asked) == 1 and server.calls() == []


@pytest.mark.anyio
async def test_a_tool_marked_read_only_is_run_without_a_question(tmp_path: Path) -> None:
    person = Person(False)
    async with opened({"a": Server(tmp_path / "a")}, ask=person) as world:
        assert await world.call("mcp__a__look") == (False, "look from process 1")
    assert person.asked == []


@pytest.mark.anyio
async def test_a_server_that_is_not_trusted_is_not_believed_to_only_read(tmp_path: Path) -> None:
    person = Person(False)
    servers = {alias: Server(tmp_path / alias) for alias in ("a", "b")}
    async with opened(servers, ask=person, distrusted=("b",)) as world:
        assert (await world.call("mcp__a__look"))[0] is False
        assert (await world.call("mcp__b__look"))[0] is True
    assert [asked.way for asked in person.asked] == ["look @ b"]


@pytest.mark.anyio
async def test_with_yes_it_is_run_and_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    server = Server(tmp_path / "a").write(tool("drop", title="Drop all", annotations={}))
    async with opened({"a": server}, yes=True) as world:
        assert await world.call("mcp__a__drop") == (False, "drop from process 1")
    assert "Drop all (drop @ a) runs without a question, because of --yes" in caplog.text


@pytest.mark.anyio
async def test_with_nobody_to_ask_it_is_not_run_and_the_model_is_told_how(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    server = Server(tmp_path / "a").write(tool("drop", annotations={}))
    async with opened({"a": server}) as world:
        is_error, text = await world.call("mcp__a__drop")
    assert is_error and "a person must confirm the call" in text and "--yes" in text
    assert server.calls() == []
    assert "drop (drop @ a) is not run" in caplog.text


@pytest.mark.anyio
async def test_nobody_is_asked_for_a_call_that_cannot_be_made(tmp_path: Path) -> None:
    person = Person(True)
    server = Server(tmp_path / "a").write(tool("drop", annotations={}), on={"drop": {"exit": 3}})
    async with opened({"a": server}, ask=person) as world:
        await world.call("mcp__a__drop", n=1)
        server.write(on={"start": {"exit": 4}})
        is_error, text = await world.call("mcp__a__drop", n=2)
    assert is_error and "'a' is down: it has exited with code 4" in text
    assert len(person.asked) == 1


@pytest.mark.anyio
async def test_a_tool_that_was_listed_anew_is_judged_by_what_it_says_now(tmp_path: Path) -> None:
    person = Person(False)
    server = Server(tmp_path / "a").write(tool("look"), on={"look": {"exit": 3}})
    async with opened({"a": server}, ask=person) as world:
        await world.call("mcp__a__look", n=1)
        server.write(tool("look", annotations={}), on={})
        assert (await world.call("mcp__a__look", n=2))[0] is True
    assert len(person.asked) == 1


def test_a_question_that_nobody_would_see_is_not_asked() -> None:
    assert person_at_terminal(Screen("en")) is None, "pytest is no terminal"


def test_the_question_shows_all_arguments_or_how_much_is_hidden(capsys: pytest.CaptureFixture[str]) -> None:
    definition = {"name": "t", "title": "Wipe\n  Run it? [y/N] \x1b[2K", "inputSchema": {}}
    entry = Entry("a", "t", {}, definition)
    Screen("en").proposal(propose(entry, {"text": "x" * 5000}))
    shown = capsys.readouterr().out
    assert "The model wants to run: Wipe Run it? [y/N] \N{REPLACEMENT CHARACTER}[2K (t @ a)\n" in shown
    assert "... and 1012 more characters, which are not shown\n" in shown
    assert "the server does not say what it changes, so it may destroy something\n" in shown
    assert shown.endswith(PROMPT)


# The whole command


def environment(**variables: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not OURS.match(name)}
    return {**kept, "LAB_LANG": "en", "PYTHONDONTWRITEBYTECODE": "1", "MOCK": "1", **variables}


@pytest.fixture
def config(tmp_path: Path) -> Iterator[Path]:
    """A configuration with the mock tickets server, whose process must be gone when the test is over."""
    journal = tmp_path / "tickets.jsonl"
    entry = {"command": sys.executable, "args": [str(TICKETS), "--journal", str(journal)]}
    file = tmp_path / "servers.json"
    file.write_text(json.dumps({"mcpServers": {"tickets": entry}}), encoding="utf-8")
    yield file
    pids = [json.loads(line)["pid"] for line in journal.read_text().splitlines() if '"start"' in line]
    assert pids and not [pid for pid in pids if psutil.pid_exists(pid)]


def command(config: Path, *more: str) -> list[str]:
    return [sys.executable, str(MAIN), CLOSE, "--target", "solution", "--config", str(config), *more]


def closed(config: Path) -> list[Any]:
    """The arguments of each `close_ticket` that arrived at the server."""
    lines = (config.parent / "tickets.jsonl").read_text(encoding="utf-8").splitlines()
    received = [event["message"] for line in lines if (event := json.loads(line))["event"] == "received"]
    calls = [message["params"] for message in received if message.get("method") == "tools/call"]
    return [call["arguments"] for call in calls if call["name"] == "close_ticket"]


def at_terminal(words: list[str], typed: str | None, early: str = "") -> tuple[int, str]:
    """Run it in a terminal, type this when it asks; return the exit code and what the terminal was sent.

    The line is typed when the process has come to rest: it forgets what was typed before it could be read, as
    `early` is.
    """
    import pty

    pid, terminal = pty.fork()
    if pid == 0:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # whoever runs the tests may have turned it off
        os.execve(words[0], words, environment(TERM="dumb", COLUMNS="200"))
    sent = b""
    guard = threading.Timer(PATIENCE, os.kill, (pid, signal.SIGKILL))
    guard.start()
    os.write(terminal, early.encode())
    try:
        while part := os.read(terminal, 65536):
            sent += part
            if typed is not None and sent.endswith(PROMPT.encode()):
                process = psutil.Process(pid)
                while process.status() != psutil.STATUS_SLEEPING:
                    pass
                os.write(terminal, typed.encode())
                typed = None
    except OSError:  # Linux ends a terminal in this way
        pass
    guard.cancel()
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), sent.decode().replace("\r\n", "\n")


@posix_only
def test_at_a_terminal_the_person_is_asked_and_a_yes_closes_the_ticket(config: Path) -> None:
    code, sent = at_terminal(command(config), "y\n")
    assert code == 0
    for part in (
        "The model wants to run: Close a ticket (close_ticket @ tickets)\n",
        '{"id": "T-03", "resolution": "Close ticket T-03"}\n',
        "it may destroy something; so the server itself says (readOnlyHint false, destructiveHint true, "
        "idempotentHint false), nobody has checked it\n",
        "mcp__tickets__close_ticket -> close_ticket @ tickets\n",
        "closed T-03",
    ):
        assert part in sent
    assert [call["id"] for call in closed(config)] == ["T-03"]


@posix_only
@pytest.mark.parametrize("typed", ["n\n", "\n", "maybe\n", "\x04"])
def test_at_a_terminal_all_that_is_not_a_plain_yes_leaves_the_ticket_open(config: Path, typed: str) -> None:
    code, sent = at_terminal(command(config), typed)
    assert code == 0
    assert "isError: not run: the person was asked and said no" in sent
    assert "mcp__tickets__close_ticket -> (nothing was sent)\n" in sent
    assert "open, high priority" in sent.partition("\nanswer\n")[2], "the model looks, and tells"
    assert closed(config) == []


@posix_only
def test_a_yes_that_was_typed_before_the_question_is_no_answer_to_it(config: Path) -> None:
    code, sent = at_terminal(command(config), "n\n", early="y\n")
    assert code == 0 and "the person was asked and said no" in sent
    assert closed(config) == []


@posix_only
def test_ctrl_c_at_the_question_ends_the_run_and_leaves_nothing_running(config: Path) -> None:
    code, sent = at_terminal(command(config), "\x03")
    assert code == 130
    assert sent.endswith("stopped; nothing is left running\n") and "Traceback" not in sent
    assert closed(config) == []


def run(config: Path, *more: str, **variables: str) -> str:
    done = subprocess.run(
        command(config, *more),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        env=environment(**variables),
        cwd=ROOT,
        timeout=30,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_without_a_terminal_the_ticket_stays_open_and_the_run_says_why(config: Path) -> None:
    shown = run(config)
    assert "! Close a ticket (close_ticket @ tickets) is not run: it may change something, and" in shown
    assert "--yes or YES=1 allows it\n" in shown
    assert "a person must confirm the call" in shown.partition("\nanswer\n")[2]
    assert closed(config) == []


@pytest.mark.parametrize(("more", "variables"), [(("--yes",), {}), ((), {"YES": "1"})])
def test_with_yes_the_ticket_is_closed_and_the_run_says_so(
    config: Path, more: tuple[str, ...], variables: dict[str, str]
) -> None:
    shown = run(config, *more, **variables)
    assert "! Close a ticket (close_ticket @ tickets) runs without a question, because of --yes\n" in shown
    assert "closed T-03" in shown.partition("\nanswer\n")[2]
    assert [call["id"] for call in closed(config)] == ["T-03"]


def test_an_empty_yes_and_a_zero_are_no_yes(config: Path) -> None:
    assert "is not run" in run(config, YES="0") and "is not run" in run(config, YES="")

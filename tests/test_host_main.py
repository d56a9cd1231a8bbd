"""The command as a person runs it: with the mock servers, with servers that fail, with folders of students in
which something is wrong. What it shows, its exit codes, and that it leaves no process behind.
"""

from __future__ import annotations

import json
import os
import re
import runpy
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from kit import FILES, LAB, ROOT, SOLUTION, wrong

MAIN = LAB / "host" / "main.py"
NOTES, TICKETS = (str(LAB / "servers" / name) for name in ("notes.py", "tickets.py"))
LOGIN = "which open tickets mention the login bug, and do my notes say anything about it?"
LOGIN_ZH = "哪些未关闭的工单提到了登录问题？我的笔记里有没有相关内容？"
OURS = re.compile("MODEL_|MOCK|QUESTION|TARGET|CONFIG|MAX_STEPS|YES|LAB_LANG|LC_|LANG|NO_|FORCE_|TERM|COLUMNS")

posix_only = pytest.mark.skipif(os.name == "nt", reason="signals and terminals of POSIX")


def environment(**variables: str) -> dict[str, str]:
    """Ours, without what would steer the command, and with these variables."""
    kept = {name: value for name, value in os.environ.items() if not OURS.match(name)}
    return {**kept, "LAB_LANG": "en", "PYTHONDONTWRITEBYTECODE": "1", **variables}


def command(*arguments: object) -> list[str]:
    return [sys.executable, str(MAIN), *map(str, arguments)]


def run(*arguments: object, cwd: Path = ROOT, **variables: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*arguments),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        env=environment(**variables),
        cwd=cwd,
        timeout=30,
    )


def ask(
    question: str, *arguments: object, target: object = "solution", **variables: Any
) -> subprocess.CompletedProcess[str]:
    """Run it with the mock model; `variables` are those of the environment, and `cwd`."""
    return run(question, "--mock", "--target", target, *arguments, **variables)


def configure(folder: Path, **servers: list[str]) -> Path:
    """A configuration of Python programs: alias=[script, flag, ...]."""
    entries = {alias: {"command": sys.executable, "args": args} for alias, args in servers.items()}
    file = folder / "servers.json"
    file.write_text(json.dumps({"mcpServers": entries}), encoding="utf-8")
    return file


def left_running(folder: Path) -> list[str]:
    """The command lines of processes that were started for this folder."""
    lines = (process.info["cmdline"] or [] for process in psutil.process_iter(["cmdline"]))
    return [" ".join(words) for words in lines if any(str(folder) in word for word in words)]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[Path]:
    """A folder for the servers' journals, by which their processes can be told; none may outlive the test."""
    yield tmp_path
    assert left_running(tmp_path) == []


def marked(world: Path, script: str, *flags: str) -> list[str]:
    """The arguments of a mock server that can be told by its command line."""
    return [script, "--journal", str(world / f"{Path(script).stem}.jsonl"), *flags]


# One question, end to end


def test_the_login_question_goes_to_both_servers_and_is_answered_with_ids() -> None:
    done = ask(LOGIN)
    assert (done.returncode, done.stderr) == (0, "")
    for part in (
        "  notes    3 tools\n  tickets  3 tools\n",
        "  mcp__notes__search -> search @ notes\n",
        "  mcp__tickets__search -> search @ tickets\n",
        '{"query": "login bug", "status": "open"}',
        "  mcp__tickets__get_ticket -> get_ticket @ tickets\n",
    ):
        assert part in done.stdout
    steps, _, answer = done.stdout.partition("\nanswer\n")
    assert [line for line in steps.splitlines() if line.startswith("step")] == ["step 1", "step 2", "step 3"]
    assert "T-03" in answer and "N-03" in answer and "From tickets" in answer
    assert done.stdout.endswith("answered in 3 steps\n")


def test_a_chinese_question_is_answered_in_chinese_around_the_same_facts() -> None:
    done = ask(LOGIN_ZH, LAB_LANG="zh")
    assert (done.returncode, done.stderr) == (0, "")
    steps, _, answer = done.stdout.partition("\n回答\n")
    assert "第 1 步" in steps and '{"query": "登录问题", "status": "open"}' in steps
    assert "来自 tickets" in answer and "T-04" in answer and "N-04" in answer
    assert done.stdout.endswith("用了 3 步\n")


@pytest.mark.parametrize("question", ["What is the state of ticket T-99?", "工单 T-99 现在是什么状态？"])
def test_an_error_result_is_marked_and_the_model_goes_on_from_it(question: str) -> None:
    done = ask(question)
    assert done.returncode == 0
    assert "      isError: no ticket T-99; open tickets are T-03" in done.stdout
    assert '{"id": "T-09"}' in done.stdout, "the ticket spelled most like it"
    assert "T-99" in done.stdout.partition("\nanswer\n")[2]


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("en", "no answer: the limit of 1 step was reached; --max-steps 10 or MAX_STEPS=10 allows more\n"),
        ("zh", "没有答案：到了 1 步的上限；用 --max-steps 10 或 MAX_STEPS=10 可以走更多步\n"),
    ],
)
def test_the_step_limit_ends_the_turn_and_is_told_with_the_way_to_raise_it(language: str, said: str) -> None:
    done = ask(LOGIN, MAX_STEPS="1", LAB_LANG=language)
    assert done.returncode == 1
    assert done.stdout.endswith(said)


def test_the_starter_runs_too_and_shows_what_it_lacks() -> None:
    done = ask(LOGIN, target="starter")
    assert (done.returncode, done.stderr) == (0, "")
    assert "  search -> search @ notes\n" in done.stdout
    assert "! tickets: left out a second tool with the name 'search'" in done.stdout
    assert "  notes    2 tools\n" in done.stdout, "its first page"


def test_the_name_on_the_wire_is_what_the_client_was_asked_to_send(tmp_path: Path) -> None:
    target = wrong(tmp_path / "student", "registry.py", '{"name": entry.tool_name', '{"name": model_name')
    assert "mcp__notes__search -> mcp__notes__search @ notes\n" in ask(LOGIN, target=target).stdout


def test_the_target_s_folder_stays_as_clean_as_it_was(tmp_path: Path) -> None:
    target = wrong(tmp_path / "student", "agent_loop.py", "MAX_STEPS = 10", "MAX_STEPS = 1")
    before = sorted(target.iterdir())
    environ = environment(MOCK="1")
    del environ["PYTHONDONTWRITEBYTECODE"]
    done = subprocess.run(command(LOGIN, "--target", target), capture_output=True, env=environ, timeout=30)
    assert done.returncode == 1, "its own limit holds"
    assert sorted(target.iterdir()) == before


# What it is told, and by what


def test_the_variables_of_make_start_are_the_defaults(tmp_path: Path) -> None:
    variables: dict[str, Any] = {"QUESTION": "T-99", "TARGET": "solution", "MOCK": "1", "MAX_STEPS": "1"}
    done = run(CONFIG=str(configure(tmp_path, mine=[TICKETS])), **variables)
    assert done.returncode == 1
    assert "mcp__mine__get_ticket -> get_ticket @ mine" in done.stdout


def test_an_option_goes_before_its_variable(tmp_path: Path) -> None:
    config = configure(tmp_path, mine=[TICKETS])
    arguments = ("T-98", "--target", "solution", "--config", config, "--max-steps", "1", "--mock")
    variables: dict[str, Any] = {"QUESTION": "T-99", "TARGET": "nowhere", "CONFIG": "none.json"}
    done = run(*arguments, "--lang", "en", **variables, MAX_STEPS="9", MOCK="0", LAB_LANG="zh")
    assert done.returncode == 1
    assert "question  T-98\n" in done.stdout


def test_an_empty_variable_is_an_unset_one() -> None:
    done = run("T-99", QUESTION="", TARGET="", CONFIG="", MAX_STEPS="", MOCK="1")
    assert done.returncode == 0
    assert "starter" in done.stdout


@pytest.mark.parametrize("value", ["0", "-1", "three", "1.5", "１"])
def test_a_step_limit_that_is_no_whole_number_from_1_up_is_refused(value: str) -> None:
    done = run("hello", MOCK="1", MAX_STEPS=value)
    assert done.returncode == 2
    assert f"the step limit must be a whole number from 1 up, not {value}" in done.stderr


def test_the_help_is_in_both_languages() -> None:
    assert "the question; without it you are asked for one" in run("--help").stdout
    assert "要问的问题" in run("--help", "--lang", "zh").stdout


def test_without_a_question_and_without_a_terminal_it_says_so() -> None:
    done = run(MOCK="1")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("there is no question, and no terminal to ask for one")


# The model


@pytest.mark.parametrize(
    ("text", "variables", "said", "reason"),
    [
        (None, {}, "no model is configured: write MODEL_API and MODEL_NAME into", "there is no file"),
        ("", {}, "no model is configured", "an empty file"),
        (None, {"MOCK": "0"}, "no model is configured", "0 is off"),
        (None, {"MOCK": ""}, "no model is configured", "and so is nothing"),
        ("MODEL_API=openai\n", {}, "MODEL_NAME is missing", "half of it"),
        ("MODEL_API_KEY=sk-secret\n", {}, "MODEL_API, MODEL_NAME is missing", "a key alone"),
        ("MODEL_API=nope\nMODEL_NAME=m\nMODEL_API_KEY=sk-secret\n", {}, "MODEL_API=nope", "an unknown API"),
        ("MODEL_NAME=m\n", {"MODEL_API": "nope"}, "MODEL_API=nope", "one part from the environment"),
        ("MODEL_API=x\nno setting\nMODEL_NAME=m\n", {}, ", line 2: this is not NAME=value", "a broken line"),
        ('MODEL_API="x\n', {}, ", line 1: this is not NAME=value", "an open quotation mark"),
        ("MODEL_API=x\n".encode("utf-16"), {}, "cannot be read", "another encoding"),
    ],
)
def test_without_a_usable_model_one_sentence_names_the_file_and_the_way_out(
    tmp_path: Path, text: str | bytes | None, variables: dict[str, Any], said: str, reason: str
) -> None:
    env_file = tmp_path / ".env"
    if text is not None:
        env_file.write_bytes(text if isinstance(text, bytes) else text.encode())
    done = run("hello", "--env-file", env_file, **variables)
    assert (done.returncode, done.stdout) == (2, ""), reason
    assert said in done.stderr, reason
    assert ".env" in done.stderr and "MOCK=1" in done.stderr
    assert done.stderr.count("\n") == 1 and "sk-secret" not in done.stderr


def test_a_missing_model_is_told_before_a_missing_question_and_a_missing_target(tmp_path: Path) -> None:
    done = run("--env-file", tmp_path / ".env", "--target", "nowhere")
    assert "no model is configured" in done.stderr


# The target


def test_a_target_that_is_not_there_is_named() -> None:
    done = ask("hello", target="nowhere")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("there is no target nowhere")


@pytest.mark.parametrize("missing", FILES)
def test_a_target_that_lacks_a_file_is_told_which(tmp_path: Path, missing: str) -> None:
    target = wrong(tmp_path / "student", "agent_loop.py", "MAX_STEPS = 10", "MAX_STEPS = 1")
    (target / missing).unlink()
    done = ask("hello", target=target)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"lacks: {missing}\n" in done.stderr


def test_a_target_may_have_any_path_and_be_given_from_where_one_is(tmp_path: Path) -> None:
    target = wrong(tmp_path / "my [red]folder[/] 第五天", "agent_loop.py", "MAX_STEPS = 10", "MAX_STEPS = 1")
    done = ask(LOGIN, target=".", cwd=target)
    assert done.returncode == 1
    assert "[red]folder[/] 第五天\n" in ask(LOGIN, target=target).stdout, "shown as it is"


@pytest.mark.parametrize(
    ("file", "old", "new", "said", "reason"),
    [
        ("registry.py", "class ToolRegistry:", "class ToolRegistry(:", "SyntaxError:", "no Python"),
        ("protocol.py", "import json\n", "import jsn\n", "No module named 'jsn'", "a bad import"),
        ("protocol.py", "import json\n", "import json\n1 / 0\n", "ZeroDivisionError", "an error at import"),
        ("protocol.py", "import json\n", "import json\nexit(3)\n", "SystemExit: 3", "an exit at import"),
        ("agent_loop.py", "MAX_STEPS =", "MOST_STEPS =", "'MAX_STEPS'", "a name that is gone"),
        ("registry.py", "self._rebuild()", "self._build()", "'_build'", "an error in the refresh"),
        ("agent_loop.py", "calls = message", "calls = mesage", "'mesage'", "an error in the loop"),
        ("agent_loop.py", "calls = message", "exit(); calls = message", "SystemExit", "an exit in the loop"),
        ("stdio_client.py", "decode(line)", "decode(lin)", "'lin'", "an error in the reader's task"),
        ("agent_loop.py", "parts = [", "parts = result_text(result) or [", "RecursionError", "1000 frames"),
    ],
)
def test_an_error_of_the_student_s_is_shown_by_the_student_s_own_lines(
    world: Path, file: str, old: str, new: str, said: str, reason: str
) -> None:
    target = wrong(world / "student", file, old, new)
    done = ask("T-99", "--config", configure(world, mine=marked(world, TICKETS)), target=target)
    assert done.returncode == 2, reason
    assert f"  {file}" in done.stderr and said in done.stderr, reason
    assert "Traceback" not in done.stderr and "host" not in done.stderr and "anyio" not in done.stderr
    assert done.stderr.count("\n") < 12, "the last lines only"


def test_errors_at_the_same_time_are_all_shown(tmp_path: Path) -> None:
    config = tmp_path / "servers.json"
    entries = {alias: {"command": f"no-such-{alias}"} for alias in "abcd"}
    config.write_text(json.dumps({"mcpServers": entries}), encoding="utf-8")
    done = ask("hello", "--config", config, target="starter")
    assert done.returncode == 2
    for alias in "abc":
        assert f"ServerDown: 'no-such-{alias}' cannot be started" in done.stderr
    assert done.stderr.endswith("(more errors at the same time: 1)\n")


def test_what_a_student_prints_does_no_harm(tmp_path: Path) -> None:
    target = wrong(tmp_path / "student", "protocol.py", "import json\n", "import json\nprint('[b]hi')\n")
    done = ask("T-99", target=target)
    assert (done.returncode, done.stderr) == (0, "")
    assert "[b]hi\n" in done.stdout


# Servers that fail


def test_servers_that_cannot_be_used_are_named_to_the_person_and_to_the_model(world: Path) -> None:
    silent = marked(world, NOTES, "--silent-on", "*")
    entries = {
        "gone": {"command": "no-such-program"},
        "crashes": {"command": sys.executable, "args": marked(world, NOTES, "--crash-at-start")},
        "silent": {"command": sys.executable, "args": silent, "timeout": 0.2},
        "bad": {"command": sys.executable, "timeout": "long"},
        "off": {"command": "no-such-program", "disabled": True},
        "good": {"command": sys.executable, "args": marked(world, TICKETS), "colour": "blue"},
    }
    config = world / "servers.json"
    config.write_text(json.dumps({"mcpServers": entries}), encoding="utf-8")
    done = ask("T-99", "--config", config)
    assert done.returncode == 0
    for part in (
        "  gone     down: 'no-such-program' cannot be started",
        "  crashes  down: it has exited with code 70",
        "  silent   down: no answer to server/discover",
        "  bad      down: timeout must be number, not string\n",
        "  off      disabled in the configuration\n",
        "  good     3 tools\n",
        "! good: the field 'colour' is unknown here and is passed over\n",
    ):
        assert part in done.stdout
    answer = done.stdout.partition("\nanswer\n")[2]
    for alias in ("gone", "crashes", "silent", "bad"):
        assert f"'{alias}':" in answer


def test_a_server_that_dies_in_a_call_costs_that_call_only(world: Path) -> None:
    crashing = marked(world, NOTES, "--crash-on", "tools/call")
    done = ask(LOGIN, "--config", configure(world, notes=crashing, tickets=marked(world, TICKETS)))
    assert done.returncode == 0
    assert "isError: the server 'notes' is down: it has exited with code 70" in done.stdout
    assert "T-03" in done.stdout.partition("\nanswer\n")[2]


def test_without_any_server_the_model_says_that_it_has_no_tools(tmp_path: Path) -> None:
    done = ask("hello", "--config", configure(tmp_path))
    assert done.returncode == 0
    assert "there is no server to start" in done.stdout and "I was given no tools" in done.stdout


def test_a_configuration_that_cannot_be_used_is_one_sentence(tmp_path: Path) -> None:
    config = tmp_path / "servers.json"
    config.write_text('{"mcpServers": {"a b": {"command": "x"}}}', encoding="utf-8")
    done = ask("hello", "--config", config)
    assert (done.returncode, done.stdout) == (2, "")
    assert "'a b'" in done.stderr and done.stderr.count("\n") == 1


# The screen

WILD_SERVER = '''
import json, sys
TEXT = "\\x1b[31mred\\x1b[0m [bold]text[/bold] \\u202eturned\\n" + "line\\n" * 20 + "x" * 5000
TOOL = {"name": "search", "description": "Search.", "annotations": {"readOnlyHint": True}, "inputSchema": {
    "type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}}
for line in sys.stdin:
    message = json.loads(line)
    result = {
        "server/discover": {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}},
        "tools/list": {"tools": [TOOL]},
        "tools/call": {"content": [{"type": "text", "text": TEXT}]},
    }[message["method"]]
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
'''


def test_a_result_is_cut_and_cannot_steer_the_terminal(world: Path) -> None:
    (world / "wild.py").write_text(WILD_SERVER, encoding="utf-8")
    done = ask("rain", "--config", configure(world, wild=[str(world / "wild.py")]))
    assert done.returncode == 0
    assert "\x1b" not in done.stdout and "\u202e" not in done.stdout
    assert "\N{REPLACEMENT CHARACTER}[31mred" in done.stdout and "[bold]text[/bold]" in done.stdout
    steps = done.stdout.partition("\nanswer\n")[0]
    assert steps.count("      line\n") == 5
    assert re.search(r"\.\.\. \d+ more characters", steps)


def run_script(script: str) -> subprocess.CompletedProcess[str]:
    """Run this program of a test's own; its arguments are the lab and the target."""
    words = [sys.executable, "-c", script, str(LAB), str(SOLUTION)]
    return subprocess.run(words, capture_output=True, encoding="utf-8", env=environment(), timeout=30)


SCRIPTED_TURN = '''
import sys
from pathlib import Path
lab, target = map(Path, sys.argv[1:])
sys.path.insert(0, str(lab))
from host.config import Configuration
from host.screen import Screen
from host.target import enter
enter(target)
import anyio
from host.turn import take_turn

class Scripted:
    replies = [
        {"role": "assistant", "content": "", "tool_calls": [
            {"id": "1", "name": "made_up", "arguments": {}},
            {"id": "2", "name": "made_up", "arguments": "{oops"},
        ]},
        {"role": "assistant", "content": " "},
    ]
    async def reply(self, messages, tools):
        return self.replies.pop(0)

screen = Screen("en")
turn = anyio.run(take_turn, "q", Scripted(), Configuration({}), screen, None)
screen.end(turn.answer, turn.steps)
'''


def test_a_call_that_reaches_no_server_says_that_nothing_was_sent() -> None:
    done = run_script(SCRIPTED_TURN)
    assert done.stderr == ""
    assert "  made_up -> (nothing was sent)\n" in done.stdout
    assert "isError: there is no tool named 'made_up'" in done.stdout
    assert "  made_up -> (nothing was sent: the arguments are not a JSON object)\n" in done.stdout
    assert "(the model answered with no words)" in done.stdout


def in_a_terminal(columns: int, typed: str, *arguments: object, **variables: str) -> tuple[int, str]:
    """Run it in a terminal this wide, type, and return the exit code and all that the terminal was sent."""
    import pty

    pid, terminal = pty.fork()
    if pid == 0:
        words = command(*arguments)
        os.execve(words[0], words, environment(TERM="xterm-256color", COLUMNS=str(columns), **variables))
    sent = b""
    try:
        while part := os.read(terminal, 65536):
            sent += part
            if typed and sent.endswith(b"Your question: "):
                os.write(terminal, typed.encode())
                typed = ""
    except OSError:  # Linux ends a terminal in this way
        pass
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), sent.decode().replace("\r\n", "\n")


@posix_only
@pytest.mark.parametrize("columns", [60, 80])
def test_a_terminal_is_asked_for_a_question_and_no_line_is_wider_than_it(columns: int) -> None:
    from rich.cells import cell_len

    variables = {"MOCK": "1", "TARGET": "solution", "NO_COLOR": "1"}
    code, sent = in_a_terminal(columns, f"{LOGIN}\n", **variables)
    assert code == 0
    assert "Your question: " in sent and "answered in 3 steps" in sent
    _, _, shown = re.sub(r"\x1b\[[0-9;]*m", "", sent).partition("question  ")
    assert max(cell_len(line) for line in shown.splitlines()) <= columns
    assert not re.search(r"\x1b\[[0-9;]*3[0-7]m", sent), "NO_COLOR"


@posix_only
def test_a_terminal_gets_colour_and_a_pipe_does_not() -> None:
    assert "\x1b[36m" in in_a_terminal(80, "", "T-99", MOCK="1")[1]
    assert "\x1b" not in ask("T-99").stdout


@posix_only
@pytest.mark.parametrize(("typed", "code"), [("\n", 2), ("\x04", 2), ("\x03", -signal.SIGINT)])
def test_no_question_at_the_prompt_is_said_and_ctrl_c_there_is_no_traceback(typed: str, code: int) -> None:
    ended, sent = in_a_terminal(80, typed, MOCK="1")
    assert ended == code
    assert "Traceback" not in sent
    assert ("there is no question: type one" in sent) is (code == 2)


@posix_only
def test_a_reader_that_goes_away_ends_the_run_without_a_traceback(world: Path) -> None:
    config = configure(world, tickets=marked(world, TICKETS))
    words = command("T-99", "--mock", "--target", "solution", "--config", config)
    pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(words, env=environment(), **pipes) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert b"Traceback" not in process.stderr.read()
        assert process.wait(10) == 2


# Ctrl-C, and all other ways to end early


def interrupted(world: Path, *signals: signal.Signals, target: Path = SOLUTION, stop_at: str = "->") -> str:
    """Start a turn that would wait for 30 s, send the signals at the given line; return its stderr."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever runs the tests may have turned it off
    silent = marked(world, NOTES, "--silent-on", "tools/call")
    config = configure(world, notes=silent, tickets=marked(world, TICKETS))
    words = command("login", "--mock", "--target", target, "--config", config)
    pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "encoding": "utf-8"}
    with subprocess.Popen(words, env=environment(), **pipes) as process:
        assert process.stdout is not None and process.stderr is not None
        for line in process.stdout:
            if stop_at in line and "wire" not in line:
                break
        for number in signals:
            process.send_signal(number)
        error: str = process.stderr.read()
        assert process.wait(10) == 130
    return error


@posix_only
@pytest.mark.parametrize("stop_at", ["starting", "->"])
@pytest.mark.parametrize(
    "signals",
    [(signal.SIGINT,), (signal.SIGINT, signal.SIGINT), (signal.SIGTERM,)],
    ids=["ctrl_c", "ctrl_c_twice", "term"],
)
def test_ctrl_c_and_term_end_it_at_once_and_leave_nothing_running(
    world: Path, signals: tuple[signal.Signals, ...], stop_at: str
) -> None:
    assert interrupted(world, *signals, stop_at=stop_at) == "\nstopped; nothing is left running\n"


@posix_only
def test_one_ctrl_c_also_ends_a_student_s_endless_loop(world: Path) -> None:
    loop = "        print('now', flush=True)\n        while True: pass\n        calls ="
    target = wrong(world / "student", "agent_loop.py", "        calls =", loop)
    error = interrupted(world, signal.SIGINT, target=target, stop_at="now")
    assert error == "\nstopped; nothing is left running\n"


@posix_only
def test_servers_that_end_by_nothing_but_force_are_ended_all_at_the_same_time(world: Path) -> None:
    stubborn = world / "stubborn.py"
    stubborn.write_text("import signal\nsignal.signal(15, signal.SIG_IGN)\nwhile True: signal.pause()\n")
    target = wrong(world / "student", "stdio_client.py", "EXIT_SECONDS = 2.0", "EXIT_SECONDS = 0.1")
    entry = {"command": sys.executable, "args": [str(stubborn)], "timeout": 0.2}
    config = world / "servers.json"
    config.write_text(json.dumps({"mcpServers": {f"s{n}": entry for n in range(6)}}), encoding="utf-8")
    assert ask("hello", "--config", config, target=target).returncode == 0


CLOSING = '''
import sys
from pathlib import Path
lab, target = map(Path, sys.argv[1:])
sys.path.insert(0, str(lab))
from host.target import enter
enter(target)
import anyio
from host.config import ServerConfig
from host.servers import ServerClient, open_servers

closing = []
everyone = anyio.Event()

class Slow(ServerClient):
    """Its close waits until all are being closed: one after the other would never end."""
    async def close(self):
        closing.append(self)
        if len(closing) == 3:
            everyone.set()
        with anyio.fail_after(5):
            await everyone.wait()

async def main():
    configs = {alias: ServerConfig("none") for alias in "abc"}
    async with open_servers(configs, Slow) as clients:
        assert list(clients) == list("abc")
        raise KeyError("from the body")

try:
    anyio.run(main)
except BaseException as error:
    print(type(error).__name__, error, len(closing))
'''


def test_an_error_in_the_body_comes_out_as_itself_after_all_were_closed_at_the_same_time() -> None:
    done = run_script(CLOSING)
    assert (done.stdout, done.stderr) == ("KeyError 'from the body' 3\n", "")


# Python


def test_a_python_that_is_too_old_gets_one_clear_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    main = runpy.run_path(str(MAIN))["main"]
    monkeypatch.setattr(sys, "version_info", (3, 9, 1))
    assert main() == 2
    error = capsys.readouterr().err
    assert error.startswith("This kit needs Python 3.11 or later, and this is Python 3.9")
    assert error.count("\n") == 1

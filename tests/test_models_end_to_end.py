"""The command with a real model: `host/main.py`, the two mock servers of the lab, and a provider on this machine.

The provider is the only part that is played; it answers with what the tools returned, so nothing passes that has not
gone all the way: schema to provider, call to server, result to provider, answer to screen.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from kit import LAB, ROOT, STARTER
from mock_model_server import (
    Calls,
    ModelServer,
    Reply,
    Script,
    chat,
    chat_chunk,
    error,
    events,
    messages,
    page,
)

JSONObject = dict[str, Any]

MAIN = LAB / "host" / "main.py"
QUESTION = "which open tickets mention the login bug, and do my notes say anything about it?"
KEY = "sk-test-NEVER-SHOW-THIS-0123456789"
OURS = re.compile(
    "MODEL_|MOCK|QUESTION|TARGET|CONFIG|MAX_STEPS|YES|LAB_LANG|LC_|LANG|SHOW_|NO_COLOR|FORCE_|TERM|COLUMNS"
)


@dataclass(frozen=True)
class Api:
    name: str
    base: str  # behind the server's address
    reply: Callable[..., Reply]
    results: Callable[[JSONObject], list[tuple[str, bool]]]  # request -> the text of each result, whether an error


def chat_results(body: JSONObject) -> list[tuple[str, bool]]:
    texts = [message["content"] for message in body["messages"] if message["role"] == "tool"]
    return [(text, text.startswith("[error] ")) for text in texts]


def messages_results(body: JSONObject) -> list[tuple[str, bool]]:
    blocks = [block for message in body["messages"] for block in message["content"]]
    return [(block["content"], block.get("is_error", False)) for block in blocks if block["type"] == "tool_result"]


OPENAI = Api("openai", "/v1", chat, chat_results)
ANTHROPIC = Api("anthropic", "", messages, messages_results)
BOTH = pytest.mark.parametrize("api", [OPENAI, ANTHROPIC], ids=lambda api: api.name)


def run(
    server: ModelServer, api: Api, *arguments: object, question: str = QUESTION, **variables: str
) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not OURS.match(name)}
    model = {"MODEL_API": api.name, "MODEL_BASE_URL": server.url + api.base, "MODEL_NAME": "test-model"}
    env = {**kept, "LAB_LANG": "en", "PYTHONDONTWRITEBYTECODE": "1", **model, "MODEL_API_KEY": KEY, **variables}
    command = [sys.executable, str(MAIN), question, "--env-file", "/nowhere/.env", *map(str, arguments)]
    if "--target" not in arguments:
        command += ["--target", "solution"]
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", env=env, cwd=ROOT, timeout=60
    )
    assert KEY not in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    return done


def answer_from(api: Api) -> Script:
    """The last reply: it quotes what the tools have said."""

    def script(body: JSONObject) -> Reply:
        return api.reply("I found:\n" + "\n".join(text for text, _ in api.results(body)))

    return script


SEARCH_BOTH: Calls = [
    ("call_1", "mcp__notes__search", '{"query": "login"}'),
    ("call_2", "mcp__tickets__search", '{"query": "login", "status": "open"}'),
]


@BOTH
def test_a_question_goes_through_model_and_servers_and_comes_back_as_an_answer(api: Api) -> None:
    with ModelServer(api.reply("I look in both places.", SEARCH_BOTH), answer_from(api)) as server:
        done = run(server, api)
    assert (done.returncode, done.stderr) == (0, "")
    for part in (
        f"model     test-model @ {server.url}{api.base}\n",
        "step 1\n  I look in both places.\n",
        "  mcp__notes__search -> search @ notes\n",
        ' {"query": "login"}\n',
        "  mcp__tickets__search -> search @ tickets\n",
        ' {"query": "login", "status": "open"}\n',
        "\nanswer\n  I found:\n",
    ):
        assert part in done.stdout, done.stdout
    answer = done.stdout.partition("\nanswer\n")[2]
    assert "T-03" in answer and "N-03" in answer
    assert done.stdout.endswith("answered in 2 steps\n")
    assert len(api.results(server.bodies[1])) == 2


@BOTH
def test_every_tool_of_the_lab_is_offered_as_it_is(api: Api) -> None:
    """The mock servers' schemas are of the plain kind: nothing to shape, nothing to say."""
    with ModelServer(api.reply("nothing to do")) as server:
        done = run(server, api, SHOW_SHAPING="1")
    assert "! " not in done.stdout
    assert done.stdout.endswith("answered in 1 step\n")
    tools = server.bodies[0]["tools"]
    names = [tool["name"] if "name" in tool else tool["function"]["name"] for tool in tools]
    assert {"mcp__notes__search", "mcp__notes__read_note", "mcp__tickets__search", "mcp__tickets__close_ticket"} <= set(
        names
    )


@BOTH
def test_every_kind_of_failed_call_leaves_a_history_that_the_provider_takes(api: Api) -> None:
    """An error of the server, an unknown tool, arguments that are no JSON, a list, a name no API takes, all at once."""
    calls: Calls = [
        ("call_1", "mcp__tickets__get_ticket", '{"id": "T-99"}'),
        ("call_2", "mcp__tickets__nothing", "{}"),
        ("call_3", "mcp__notes__search", '{"query": "lo'),
        ("call_4", "mcp__notes__search", "[1]"),
        ("call_5", "functions.search", "{}"),
        ("call_5", "mcp__notes__search", '{"query": NaN}'),
    ]
    with ModelServer(api.reply("", calls), answer_from(api)) as server:
        done = run(server, api)
    assert (done.returncode, done.stderr) == (0, "")
    results = api.results(server.bodies[1])
    assert [is_error for _, is_error in results] == [True] * 6
    for (text, _), part in zip(
        results,
        ("no ticket T-99", "no tool named", "must be a JSON object", "must be a JSON object", "no tool named", "NaN"),
        strict=True,
    ):
        assert part in text


@BOTH
def test_a_server_that_is_down_is_told_to_the_model_before_the_question(api: Api, tmp_path: Path) -> None:
    config = tmp_path / "servers.json"
    notes = {"command": sys.executable, "args": [str(LAB / "servers" / "notes.py")]}
    config.write_text(json.dumps({"mcpServers": {"notes": notes, "gone": {"command": "no-such-program"}}}), "utf-8")
    with ModelServer(api.reply("ok")) as server:
        done = run(server, api, "--config", config)
    assert done.returncode == 0
    body = server.bodies[0]
    told = body["system"] if "system" in body else body["messages"][0]["content"]
    assert "gone" in told and "no-such-program" in told


def test_the_starter_has_a_real_model_too() -> None:
    """Two tools with one name are one in its table: the request is still one that the provider takes."""
    api = OPENAI
    with ModelServer(api.reply("", [("call_1", "search", '{"query": "login"}')]), answer_from(api)) as server:
        done = run(server, api, "--target", "starter")
    assert (done.returncode, done.stderr) == (0, "")
    assert "left out a second tool with the name 'search'" in done.stdout
    assert not list(STARTER.rglob("__pycache__"))


def test_a_model_that_never_stops_calling_ends_at_the_step_limit() -> None:
    api = ANTHROPIC
    calls = [api.reply("", [(f"call_{n}", "mcp__notes__search", json.dumps({"query": f"q{n}"}))]) for n in range(3)]
    with ModelServer(*calls) as server:
        done = run(server, api, "--max-steps", 3)
    assert done.returncode == 1
    assert "no answer: the limit of 3 steps was reached" in done.stdout


@pytest.mark.parametrize(
    ("api", "reply", "said"),
    [
        (OPENAI, error(401, f"bad key {KEY}"), "the key (HTTP 401): bad key ***; check MODEL_API_KEY\n"),
        (ANTHROPIC, error(404, "no model test-model"), "no model test-model; check MODEL_NAME and MODEL_BASE_URL\n"),
        (OPENAI, error(400, "schema is wrong"), "refuses the request (HTTP 400): schema is wrong\n"),
        (ANTHROPIC, page(404, "<title>404 Not Found</title>"), "404 Not Found; check MODEL_NAME and MODEL_BASE_URL\n"),
        (OPENAI, page(200, "<title>Log in</title>"), "a model's answer: Log in; check MODEL_BASE_URL and MODEL_API\n"),
    ],
)
def test_a_provider_that_gives_no_answer_ends_the_run_with_one_sentence(api: Api, reply: Reply, said: str) -> None:
    with ModelServer(reply) as server:
        done = run(server, api)
    assert done.returncode == 2
    assert done.stderr.endswith(said) and done.stderr.count("\n") == 1
    assert done.stdout.rstrip().endswith("step 1"), "the servers were closed quietly"


def test_the_sentence_is_in_the_language_of_the_command() -> None:
    with ModelServer(error(401, "no")) as server:
        done = run(server, OPENAI, LAB_LANG="zh")
    assert done.stderr == f"{server.url}/v1 不接受密钥（HTTP 401）：no；请检查 MODEL_API_KEY\n"


def test_an_error_in_a_later_step_ends_the_run_too_and_what_was_done_stays_on_the_screen() -> None:
    with ModelServer(chat("", SEARCH_BOTH), error(400, "context too long")) as server:
        done = run(server, OPENAI)
    assert done.returncode == 2
    assert "search @ tickets" in done.stdout and "T-03" in done.stdout
    assert "refuses the request (HTTP 400): context too long" in done.stderr


def test_a_further_try_is_shown_as_a_line_of_the_run() -> None:
    with ModelServer(error(503, "loading the model", **{"Retry-After": "0"}), chat("here I am")) as server:
        done = run(server, OPENAI)
    assert done.returncode == 0
    assert "! the model does not answer yet (HTTP 503: loading the model); next try in 0.0 s\n" in done.stdout


def test_a_cut_answer_says_so_on_the_screen() -> None:
    with ModelServer(chat("The first half", finish="length")) as server:
        done = run(server, OPENAI)
    assert done.returncode == 0
    assert "  The first half\n\n  (the answer ends here: the model reached the most it may write" in done.stdout


def test_an_answer_without_words_says_so_on_the_screen() -> None:
    with ModelServer(events([chat_chunk({}, "stop"), "[DONE]"])) as server:
        done = run(server, OPENAI)
    assert "(the model answered with no words)" in done.stdout


HARD_TOOLS = """
import json, sys
TOOLS = [
    {"name": "choose", "inputSchema": {"anyOf": [{"required": ["a"]}, {"required": ["b"]}], "properties": {"a": True}}},
    {"name": "list", "inputSchema": {"type": "object", "properties": {"$top": {"type": "integer"}}}},
    {"name": "remote", "inputSchema": {"type": "object", "properties": {"x": {"$ref": "http://example.com/x.json"}}}},
]
for line in sys.stdin:
    message = json.loads(line)
    method, params = message["method"], message.get("params", {})
    if method == "server/discover":
        result = {"supportedVersions": ["2026-07-28"], "capabilities": {}, "serverInfo": {"name": "x", "version": "1"}}
    elif method == "tools/list":
        result = {"tools": TOOLS}
    else:
        result = {"content": [{"type": "text", "text": "got " + json.dumps(params["arguments"], sort_keys=True)}]}
    answer = {"jsonrpc": "2.0", "id": message.get("id"), "result": {"resultType": "complete", **result}}
    if "id" in message:
        print(json.dumps(answer), flush=True)
"""


@BOTH
def test_tools_with_schemas_that_no_provider_takes_can_be_used_all_the_same(api: Api, tmp_path: Path) -> None:
    script = tmp_path / "hard.py"
    script.write_text(HARD_TOOLS, encoding="utf-8")
    config = tmp_path / "servers.json"
    entry = {"command": sys.executable, "args": [str(script)]}
    config.write_text(json.dumps({"mcpServers": {"hard": entry}}), encoding="utf-8")
    top = "_top" if api is ANTHROPIC else "$top"
    calls: Calls = [("call_1", "mcp__hard__list", json.dumps({top: 3})), ("call_2", "mcp__hard__choose", '{"a": 1}')]
    with ModelServer(api.reply("", calls), answer_from(api)) as server:
        done = run(server, api, "--config", config, "--yes", SHOW_SHAPING="1")
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    answer = done.stdout.partition("\nanswer\n")[2]
    assert 'got {"$top": 3}' in answer and 'got {"a": 1}' in answer, "the server gets the names that it gave"
    for note in (
        "! mcp__hard__choose: input_schema: anyOf at the root became one list of properties\n",
        "! mcp__hard__choose: input_schema.properties.a: true became {}\n",
        "! mcp__hard__remote: input_schema.properties.x: $ref http://example.com/x.json is not in this document",
    ):
        assert done.stdout.count(note) == 1, "each is said once, not at each step"


# The text while it arrives


@pytest.mark.skipif(os.name == "nt", reason="a terminal of POSIX")
def test_on_a_terminal_the_text_is_there_before_the_answer_has_ended_and_is_not_shown_twice() -> None:
    """The provider sends the second half only when the first has been seen on the screen."""
    import pty

    seen_half = threading.Event()
    first, second = (
        events([chunk]).pieces for chunk in (chat_chunk({"content": "first half,\n"}), chat_chunk({}, "stop"))
    )
    more = events([chat_chunk({"content": "second half"})]).pieces

    class Pieces(tuple[bytes, ...]):
        def __iter__(self) -> Any:
            yield from first
            assert seen_half.wait(20), "the first half was not shown while the answer was on its way"
            yield from (*more, *second)

    master, slave = pty.openpty()
    with ModelServer(Reply(Pieces(), kind="text/event-stream")) as server:
        env = {name: value for name, value in os.environ.items() if not OURS.match(name)}
        env |= {
            "MODEL_API": "openai",
            "MODEL_BASE_URL": server.url,
            "MODEL_NAME": "m",
            "LAB_LANG": "en",
            "TERM": "dumb",
        }
        command = [sys.executable, "-B", str(MAIN), QUESTION, "--env-file", "/nowhere/.env", "--target", "solution"]
        with subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=slave, stderr=slave, env=env, cwd=ROOT
        ) as process:
            os.close(slave)
            screen = b""
            with contextlib.suppress(OSError):  # Linux says EIO when the other side has closed
                while part := os.read(master, 4096):
                    screen += part
                    if b"first half," in screen:
                        seen_half.set()
            assert process.wait(20) == 0
    os.close(master)
    text = screen.decode().replace("\r\n", "\n")
    assert "step 1\n  first half,\n  second half\n" in text
    assert text.count("second half") == 1 and "answer\n" not in text

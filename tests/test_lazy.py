"""Servers that are started when the model asks for them: the catalogue, connecting, the order of the tools."""

from __future__ import annotations

import itertools
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from host_world import SCRIPT, Server, opened, tool, until
from kit import LAB, ROOT, SOLUTION

from agent_loop import run_agent
from host.config import load_config
from host.lazy import CATALOGUE
from protocol import JSONObject

LAZY = {"files": "Reads files of this project.", "mail": ""}


def world_of(tmp_path: Path) -> dict[str, Server]:
    """One server that is there from the start, named between two lazy ones."""
    servers = {alias: Server(tmp_path / alias) for alias in ("files", "notes", "mail")}
    servers["files"].write(tool("read", description="Reads a file.\nMore of it."), tool("write"))
    return servers


@pytest.mark.anyio
async def test_the_catalogue_names_the_servers_and_none_of_them_is_started(tmp_path: Path) -> None:
    servers = world_of(tmp_path)
    async with opened(servers, lazy=LAZY) as world:
        catalogue, look = world.registry.model_tools()
        assert (catalogue["name"], look["name"]) == (CATALOGUE, "mcp__notes__look")
        assert catalogue["description"].endswith("\n- files: Reads files of this project.\n- mail")
        assert catalogue["input_schema"]["properties"]["server"]["enum"] == ["files", "mail"]
    assert [len(server.pids()) for server in servers.values()] == [0, 1, 0]


@pytest.mark.anyio
async def test_a_call_of_it_connects_and_lists_the_tools_which_can_then_be_called(tmp_path: Path) -> None:
    servers = world_of(tmp_path)
    async with opened(servers, lazy=LAZY) as world:
        assert await world.call(CATALOGUE, server="files") == (
            False,
            "the server 'files' is connected; from now on you can call its 2 tools:\n"
            "- mcp__files__read: [from files] Reads a file.\n"
            "- mcp__files__write: [from files] write",
        )
        assert await world.call("mcp__files__read") == (False, "read from process 1")
    assert [len(server.pids()) for server in servers.values()] == [1, 1, 0]


@pytest.mark.anyio
async def test_what_is_listed_stays_as_it_is_and_new_tools_come_last(tmp_path: Path) -> None:
    async with opened(world_of(tmp_path), lazy=LAZY) as world:
        lists = [world.registry.model_tools()]
        for alias in ("mail", "files", "mail"):
            await world.call(CATALOGUE, server=alias)
            lists.append(world.registry.model_tools())
    for before, after in itertools.pairwise(lists):
        assert after[: len(before)] == before, "the beginning of the prompt is the same, byte by byte"
    names = [shown["name"] for shown in lists[-1]]
    own = [CATALOGUE, "mcp__notes__look", "mcp__mail__look", "mcp__files__read", "mcp__files__write"]
    assert names == own


@pytest.mark.anyio
async def test_connecting_twice_starts_one_process(tmp_path: Path) -> None:
    servers = world_of(tmp_path)
    async with opened(servers, lazy=LAZY) as world:
        first = await world.call(CATALOGUE, server="files")
        assert await world.call(CATALOGUE, server="files") == first
    assert len(servers["files"].pids()) == 1
    assert len(servers["files"].got("tools/list")) == 1


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"server": "nope"}, "there is no server 'nope' to connect; there are: files, mail"),
        ({"server": "notes"}, "there is no server 'notes' to connect"),
        ({}, "there is no server None to connect"),
        ({"server": ["files"]}, "there is no server ['files'] to connect"),
    ],
)
async def test_a_server_that_is_not_in_the_catalogue_is_an_error_that_names_those_that_are(
    tmp_path: Path, arguments: dict[str, Any], said: str
) -> None:
    async with opened(world_of(tmp_path), lazy=LAZY) as world:
        is_error, text = await world.call(CATALOGUE, **arguments)
    assert is_error and said in text


@pytest.mark.anyio
async def test_a_server_that_cannot_be_connected_is_an_error_and_may_be_tried_again(tmp_path: Path) -> None:
    servers = world_of(tmp_path)
    servers["files"].write(on={"start": {"exit": 9}})
    async with opened(servers, lazy=LAZY) as world:
        is_error, text = await world.call(CATALOGUE, server="files")
        assert is_error and "the server 'files' cannot be connected: it has exited with code 9" in text
        servers["files"].write(on={})
        assert (await world.call(CATALOGUE, server="files"))[0] is False
        assert "files" not in world.registry.down


@pytest.mark.anyio
async def test_a_connected_server_that_dies_is_started_again_by_its_tools_or_by_the_catalogue(
    tmp_path: Path,
) -> None:
    servers = world_of(tmp_path)
    async with opened(servers, lazy=LAZY) as world:
        await world.call(CATALOGUE, server="files")
        for number, again in enumerate([("mcp__files__read", {}), (CATALOGUE, {"server": "files"})], 2):
            os.kill(servers["files"].pids()[-1], signal.SIGKILL)
            await until(lambda: world.health["files"].end is not None)
            assert (await world.call(again[0], **again[1]))[0] is False
            assert len(servers["files"].pids()) == number


@pytest.mark.anyio
async def test_without_lazy_servers_there_is_no_catalogue(tmp_path: Path) -> None:
    async with opened({"notes": Server(tmp_path / "notes")}) as world:
        assert world.names() == ["mcp__notes__look"]
        is_error, text = await world.call(CATALOGUE, server="notes")
    assert is_error and "there is no tool named" in text


@pytest.mark.anyio
async def test_a_model_connects_calls_and_answers_in_one_turn(tmp_path: Path) -> None:
    seen: list[list[str]] = []  # the names that the model was given, step by step

    plan = [(CATALOGUE, {"server": "files"}), ("mcp__files__read", {}), None]

    class Model:
        async def reply(self, messages: list[JSONObject], tools: list[JSONObject]) -> JSONObject:
            seen.append([shown["name"] for shown in tools])
            step = plan[len(seen) - 1]
            if step is None:
                return {"role": "assistant", "content": messages[-1]["content"]}
            call = {"id": str(len(seen)), "name": step[0], "arguments": step[1]}
            return {"role": "assistant", "content": "", "tool_calls": [call]}

    async with opened(world_of(tmp_path), lazy=LAZY) as world:
        transcript = await run_agent("?", Model(), world.registry)
    assert transcript.answer == "read from process 1"
    assert "mcp__files__read" not in seen[0] and "mcp__files__read" in seen[1]


# The configuration, and the whole command


def write(folder: Path, **entries: dict[str, Any]) -> Path:
    file = folder / "servers.json"
    file.write_text(json.dumps({"mcpServers": entries}), encoding="utf-8")
    return file


def test_lazy_description_and_trust_are_read_from_the_file(tmp_path: Path) -> None:
    file = write(
        tmp_path,
        plain={"command": "x"},
        full={"command": "x", "lazy": True, "description": "Mail of ${WHO:-me}", "trust": False},
        bad={"command": "x", "lazy": "yes"},
        worse={"command": "x", "trust": 1},
    )
    loaded = load_config(file, {})
    plain, full = loaded.servers["plain"], loaded.servers["full"]
    assert (plain.lazy, plain.description, plain.trust) == (False, "", True)
    assert (full.lazy, full.description, full.trust) == (True, "Mail of me", False)
    assert {alias: str(bad) for alias, bad in loaded.bad.items()} == {
        "bad": "lazy must be true/false, not string",
        "worse": "trust must be true/false, not number",
    }
    assert loaded.warnings == ()


TURN = """
import sys
from pathlib import Path
lab, target, config = map(Path, sys.argv[1:])
sys.path.insert(0, str(lab))
from host.config import load_config
from host.screen import Screen
from host.target import enter
enter(target)
import anyio
from host.turn import take_turn

class Model:
    plan = [("connect_server", {"server": "files"}), ("mcp__files__read", {"path": "a"})]
    async def reply(self, messages, tools):
        if not self.plan:
            return {"role": "assistant", "content": messages[-1]["content"]}
        name, arguments = self.plan.pop(0)
        call = {"id": name, "name": name, "arguments": arguments}
        return {"role": "assistant", "content": "", "tool_calls": [call]}

screen = Screen("en")
turn = anyio.run(take_turn, "q", Model(), load_config(config), screen, None)
screen.end(turn.answer, turn.steps)
"""


def test_a_person_sees_what_is_lazy_and_when_it_is_connected(tmp_path: Path) -> None:
    server = Server(tmp_path / "files").write(tool("read", title="Read a file"))
    args = [str(SCRIPT), str(server.folder)]
    entry = {"command": sys.executable, "args": args, "lazy": True, "description": "Files."}
    config = write(tmp_path, files=entry)
    words = [sys.executable, "-c", TURN, str(LAB), str(SOLUTION), str(config)]
    environ = {name: value for name, value in os.environ.items() if not re.match("LC_|LANG|LAB_", name)}
    done = subprocess.run(words, capture_output=True, encoding="utf-8", cwd=ROOT, env=environ, timeout=30)
    assert done.stderr == ""
    for part in (
        "there is no server to start\n",
        "  files  lazy: started when the model asks for it\n",
        '  connect_server -> (connects to a server)\n      {"server": "files"}\n',
        '  mcp__files__read -> read @ files\n      Read a file {"path": "a"}\n',
        "answer\n  read from process 1\n",
    ):
        assert part in done.stdout

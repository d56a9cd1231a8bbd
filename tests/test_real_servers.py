"""Real servers, each by an entry of a configuration file, as a person would use it: real_servers.py says which.

Two of them, one of each era, are there with the packages of the tests; the others are skipped, with the command
that installs them.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import anyio
import psutil
import pytest
from kit import LAB, ROOT
from real_servers import SERVERS, RealServer, Visit, configuration, filled, place, program, visit

from agent_loop import result_text
from host.config import load_config

NEEDED = [server for server in SERVERS if server.needs is None]


def marked(server: RealServer) -> object:
    reason = server.missing()
    marks = [pytest.mark.skipif(reason is not None, reason=reason or "")]
    return pytest.param(server, id=server.alias, marks=marks)


def left_running(folder: Path) -> list[str]:
    """The command lines of processes that know of this folder, or work in it."""
    found = []
    for process in psutil.process_iter(["cmdline", "cwd"]):
        words = [*(process.info["cmdline"] or []), process.info["cwd"] or ""]
        if any(str(folder) in word for word in words):
            found.append(" ".join(words))
    return found


def visited(server: RealServer, folder: Path) -> Visit:
    with place(folder) as given:
        config = load_config(configuration([server], given, folder / "servers.json")).servers[server.alias]
        shown = anyio.run(visit, server, config, given)
    assert left_running(folder) == []
    return shown


@pytest.mark.parametrize("server", [marked(server) for server in SERVERS])
def test_a_real_server_lists_its_tools_and_answers_a_call(server: RealServer, tmp_path: Path) -> None:
    shown = visited(server, tmp_path)
    assert shown.down == {}
    assert shown.agreement is not None and shown.agreement.era.value == server.era
    assert shown.tools > 0 and shown.pages > 0
    assert server.says in result_text(shown.result)
    assert (shown.result.get("isError") is True) is server.is_error


def test_a_server_of_each_era_is_always_there() -> None:
    assert {server.era for server in NEEDED} == {"modern", "legacy"}


def test_one_run_of_the_agent_uses_all_that_are_installed(tmp_path: Path) -> None:
    servers = [server for server in SERVERS if server.missing() is None]
    with place(tmp_path) as given:
        config = configuration(servers, given, tmp_path / "servers.json")
        command = [sys.executable, str(LAB / "host" / "main.py"), "echo “tide”", "--mock", "--lang", "en"]
        done = subprocess.run(
            [*command, "--target", "solution", "--config", str(config)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            cwd=ROOT,
            timeout=100,
        )
    assert (done.returncode, done.stderr) == (0, "")
    for server in servers:
        assert re.search(rf"^  {server.alias} +[0-9]+ tools?$", done.stdout, re.MULTILINE), done.stdout
    assert "answered in" in done.stdout
    assert left_running(tmp_path) == []


def test_what_a_place_gives_is_filled_in_everywhere() -> None:
    given = {"folder": "/x", "page": "http://y/"}
    assert filled({"a": ["{folder}/b", 1], "c": {"d": "{page}"}}, given) == {"a": ["/x/b", 1], "c": {"d": "http://y/"}}
    assert program(Path("/env"), "p").name.startswith("p")

"""Our client and others against the same faulty servers: the table of docs/other-clients.md, all of it measured.

usage: python -m bench.compare install              once; into .other-clients/, which nothing else uses or tracks
       python -m bench.compare [CLIENT] [CASE]      the table, or the part with these names in it

Every cell comes from a process of its own (bench/compared.py), which is ended after a while whatever it does. A
client is used from where this Python would import it, or else from .other-clients/.
"""

import importlib.util
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import psutil

from bench.compared import CELL
from labkit.lab import ROOT

HOME = ROOT / ".other-clients"
LIMIT = 25  # seconds for a cell
LONGEST = {"no_answer": 45, "one_silent": 45, "silent_legacy": 45}  # beyond the deadlines that clients have by default
MOST = 4  # times the limit, whatever it does
LOOK = 0.1  # seconds between two looks at a client
WAITING = ("no_answer", "one_silent", "one_missing", "silent_legacy", "grandchild", "restart")
AT_A_TIME = 9  # cells of a row that waits more than it works; of others, one


@dataclass(frozen=True)
class Other:
    """One client: its module in bench/others, the module that must be there, what is installed for it."""

    title: str
    module: str
    needs: str
    packages: tuple[str, ...] = ()  # the first one's version is shown; with none, it comes with the kit's own
    environment: str = "new"  # packages that want `mcp` below 2 cannot share one with the others


CLIENTS = [
    Other("our five files", "our_files", "anyio"),
    Other("ours, with the host", "our_host", "anyio"),
    Other("`mcp.Client`", "official", "mcp", ("mcp>=2.3",)),
    Other("`mcp.ClientSessionGroup`", "official_group", "mcp", ("mcp>=2.3",)),
    Other("FastMCP", "fast_mcp", "fastmcp", ("fastmcp>=4.2",)),
    Other("OpenAI Agents", "openai_agents", "agents.mcp", ("openai-agents>=0.24", "mcp>=2.3")),
    Other("Pydantic AI", "pydantic_ai_sets", "pydantic_ai.mcp", ("pydantic-ai-slim>=2.68", "fastmcp>=4.2")),
    Other("LangChain", "langchain_adapters", "langchain_mcp_adapters", ("langchain-mcp-adapters>=0.3",), "old"),
    Other("mcp-use", "mcp_use_client", "mcp_use", ("mcp-use>=1.7",), "old"),
]

ROWS = {
    "era": "a server that speaks 2026-07-28 only",
    "pages": "three pages, the second one empty",
    "empty_cursor": 'a cursor that is `""`',
    "many_pages": "300 pages",
    "repeated_cursor": "a page that names its own cursor as the next",
    "same_names": "`search` of server `a` and `search` of `b`",
    "joined_names": "`b_search` of `a` and `search` of `a_b`",
    "odd_names": "a dot, 74 characters twice, a plain name: as model APIs want them",
    "tool_error": "a result with `isError`",
    "no_answer": "a call that is never answered",
    "one_silent": "a silent server between two good ones",
    "one_missing": "a command that does not exist between two good servers",
    "silent_legacy": "a legacy server that ignores `server/discover`",
    "grandchild": "a crash in a call; a child holds the output open",
    "no_result_type": "results without `resultType`, 2026-07-28 only",
    "restart": "a crashed server at its next use",
    "long_line": "a result of 5 MB; of 20 MB; CPU",
    "noise": "a line of noise on stdout; bytes printed for it",
}


def main(words: list[str]) -> int:
    if words == ["install"]:
        return install()
    clients = [client for client in CLIENTS if not names(words, CLIENTS) or client.module in words]
    rows = [case for case in ROWS if not set(words) & set(ROWS) or case in words]
    print(f"| | {' | '.join(client.title for client in clients)} |")
    print(f"| --- |{' --- |' * len(clients)}")
    print(f"| version | {' | '.join(version(client) for client in clients)} |", flush=True)
    for case in rows:
        with ThreadPoolExecutor(AT_A_TIME if case in WAITING else 1) as pool:
            cells = list(pool.map(partial(cell, case), clients))
        print(f"| {ROWS[case]} | {' | '.join(cells)} |", flush=True)
    return 0


def names(words: list[str], clients: list[Other]) -> bool:
    return any(client.module in words for client in clients)


# One cell


def cell(case: str, client: Other) -> str:
    python = python_with(client)
    return "not installed" if python is None else observe(python, client, case)


def observe(python: str, client: Other, case: str) -> str:
    mark = secrets.token_hex(8)
    command = [python, "-B", "-m", "bench.compared", client.module, case, mark]
    limit = LONGEST.get(case, LIMIT)
    with tempfile.TemporaryFile("w+", encoding="utf-8") as output:  # a pipe that nobody reads would stop a client
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            late = "" if in_time(process.pid, limit) else f"no end in {limit} s"
        finally:
            end_all(mark)
            process.wait()
        output.seek(0)
        said = [line.strip().removeprefix(CELL) for line in output if line.startswith(CELL)]
    return "; ".join([*said[-1:], *([late] if late else [])]) or f"ended with {process.returncode}"


def in_time(pid: int, limit: float) -> bool:
    """Whether this process ends before it has slept for so long, or worked for so long.

    Seconds in which it would work but another process has its turn do not count: a busy machine must not make a
    client look worse than it is.
    """
    slept, began = 0.0, time.monotonic()
    with suppress(psutil.NoSuchProcess):
        process = psutil.Process(pid)
        while (status := process.status()) != psutil.STATUS_ZOMBIE:
            if max(slept, sum(process.cpu_times()[:2])) >= limit or time.monotonic() - began >= MOST * limit:
                return False
            time.sleep(LOOK)
            slept += LOOK if status == psutil.STATUS_SLEEPING else 0.0
    return True


def end_all(mark: str) -> None:
    """End every process with this mark among its words: the client's, its servers, and their children."""
    for process in psutil.process_iter(["cmdline"]):
        if mark in (process.info["cmdline"] or ()) and process.pid != os.getpid():
            with suppress(psutil.NoSuchProcess):
                process.send_signal(signal.SIGKILL if os.name != "nt" else signal.SIGTERM)


# Where the clients are


def python_with(client: Other) -> str | None:
    """The Python that can import the client; None: there is none."""
    if is_here(client.needs):
        return sys.executable
    python = environment_python(client.environment)
    if not python.exists():
        return None
    code = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({client.needs.split('.')[0]!r}) is None)"
    return str(python) if subprocess.run([python, "-c", code]).returncode == 0 else None


def is_here(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # not even its package
        return False


def environment_python(name: str) -> Path:
    return HOME / name / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def version(client: Other) -> str:
    """Of the client's package, and of the `mcp` package below it."""
    python = python_with(client)
    if python is None:
        return "not installed"
    if not client.packages:
        return "this repository"
    package = client.packages[0].partition(">")[0]
    told = [f"{name} {found}" for name in dict.fromkeys([package, "mcp"]) if (found := installed(python, name))]
    return ", ".join(told)


def installed(python: str, package: str) -> str:
    code = f"import importlib.metadata; print(importlib.metadata.version({package!r}))"
    return subprocess.run([python, "-c", code], capture_output=True, encoding="utf-8").stdout.strip()


def install() -> int:
    """Install what this Python does not have; what cannot be had does not keep the rest from being installed."""
    HOME.mkdir(exist_ok=True)
    (HOME / ".gitignore").write_text("*\n", encoding="utf-8")
    done = []
    for name in ("new", "old"):
        packages = {word for client in CLIENTS if client.environment == name for word in client.packages}
        python = environment_python(name)
        if not python.exists():
            subprocess.run([sys.executable, "-m", "venv", str(HOME / name)], check=True)
        command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *sorted(packages)]
        print(" ".join(command), file=sys.stderr)
        done.append(subprocess.run(command, stdin=subprocess.DEVNULL).returncode == 0)
    return 0 if all(done) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Real servers of both eras: which ones, where they are installed, and what came of talking to them.

usage: python tests/real_servers.py install     once; into .real-servers/, which nothing else uses or tracks
       python tests/real_servers.py table       the table of docs/real-servers.md: everything in it is measured

Servers built with the official `mcp` package are there with the packages of the tests; all others are skipped
until they are installed. Each is reached as the host reaches it: by an entry of a configuration file. The servers
touch only a folder made for them; the only page that is fetched is one of our own, on this machine.
"""

from __future__ import annotations

import http.server
import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parent
sys.path.insert(0, str(TESTS))

from kit import LAB, ROOT, SOLUTION

sys.path[:0] = [path for path in (str(SOLUTION), str(LAB)) if path not in sys.path]
sys.dont_write_bytecode = True

import anyio
from anyio.abc import TaskGroup

from agent_loop import result_text
from host.config import ServerConfig, load_config
from host.eras import Agreement
from host.servers import ServerClient, open_servers
from protocol import InvalidMessage, JSONObject, RequestTimeout, RpcError, ServerDown
from registry import ToolRegistry
from stdio_client import StdioClient

HOME = ROOT / ".real-servers"
PYTHON, OLD_PYTHON, NODE = HOME / "python", HOME / "old-python", HOME / "node"  # two environments and a node_modules

PACKAGES = [
    *("mcp-server-time==2026.10.19", "mcp-server-git==2026.10.19", "mcp-server-fetch==2026.10.24"),
    "fastmcp==4.2.3",
]
OLD_PACKAGES = ["mcp<2", "mcp-server-time==2025.9.25", "mcp-server-sqlite==2025.4.25"]
NODE_PACKAGES = [
    *(f"@modelcontextprotocol/server-{name}@2026.8.31" for name in ("everything", "filesystem", "memory")),
    *(f"old-{name}@npm:@modelcontextprotocol/server-{name}@0.6.2" for name in ("everything", "memory")),
]

RUNS = 5  # of each server for the table; the fastest tells the time to ready, as whatever else runs makes it longer
PROBE_WAIT = 10.0  # seconds the table waits for the plain answer to `server/discover`
SHOWN = 60  # characters of a result in the table
PAGE_TEXT = "The tide comes in at noon."

HANDSHAKE_ONLY = """
import runpy, sys
from mcp.server.lowlevel import server as lowlevel
from mcp.server.runner import serve_loop
lowlevel.serve_dual_era_loop = serve_loop  # as every server was before 2026
runpy.run_path(sys.argv[1], run_name="__main__")
"""


# Which ones


@dataclass(frozen=True)
class RealServer:
    """One server; {folder} and {page} in `command`, `env` and `arguments` stand for what `place` gives."""

    alias: str
    command: tuple[str, ...]
    needs: Path | None  # what must be there; None: it comes with the packages of the tests
    packages: tuple[str, str]  # whose versions are shown: the server's own, and what it is built with
    era: str
    tool: str  # the one that is called
    arguments: JSONObject
    says: str  # is in its result
    env: dict[str, str] = field(default_factory=dict)
    is_error: bool = False

    def missing(self) -> str | None:
        """Why it cannot be started; None: it can."""
        if self.needs is None or self.needs.exists():
            return None
        return f"{self.alias} is not installed: python tests/real_servers.py install"


def program(environment: Path, name: str) -> Path:
    return environment / ("Scripts" if os.name == "nt" else "bin") / (f"{name}.exe" if os.name == "nt" else name)


def python_server(alias: str, environment: Path, package: str, *arguments: str, **more: Any) -> RealServer:
    script = program(environment, package)
    return RealServer(alias, (str(script), *arguments), script, (package, "mcp"), **more)


def node_server(alias: str, package: str, *arguments: str, **more: Any) -> RealServer:
    script = NODE / "node_modules" / package / "dist" / "index.js"
    packages = (package, "@modelcontextprotocol/sdk")
    return RealServer(alias, ("node", str(script), *arguments), script, packages, **more)


OFFICIAL = str(TESTS / "official_server.py")
ECHO: JSONObject = {"tool": "echo", "arguments": {"text": "登录 🙂"}, "says": "登录 🙂"}
TIME: JSONObject = {
    "tool": "convert_time",
    "arguments": {"source_timezone": "Asia/Shanghai", "time": "16:30", "target_timezone": "UTC"},
    "says": "08:30",
}
ENTITY = {"name": "kit", "entityType": "lab", "observations": ["speaks both eras"]}

SERVERS = [
    RealServer("official", (sys.executable, OFFICIAL), None, ("mcp", "mcp"), "modern", **ECHO),
    RealServer(
        "official-handshake", (sys.executable, "-c", HANDSHAKE_ONLY, OFFICIAL), None, ("mcp", "mcp"), "legacy", **ECHO
    ),
    RealServer(
        "fastmcp",
        (str(program(PYTHON, "python")), str(TESTS / "fastmcp_server.py")),
        program(PYTHON, "fastmcp"),
        ("fastmcp", "mcp-types"),
        era="modern",
        tool="add",
        arguments={"a": 2, "b": 40},
        says="42",
    ),
    python_server("time", PYTHON, "mcp-server-time", era="modern", **TIME),
    python_server(
        *("git", PYTHON, "mcp-server-git", "--repository", "{folder}"),
        era="modern",
        tool="git_log",
        arguments={"repo_path": "{folder}"},
        says="the first commit",
    ),
    python_server(
        *("fetch", PYTHON, "mcp-server-fetch", "--allow-private-ips"),
        era="modern",
        tool="fetch",
        arguments={"url": "{page}", "raw": True},
        says=PAGE_TEXT,
    ),
    node_server(
        *("everything", "@modelcontextprotocol/server-everything"),
        era="legacy",
        tool="get-sum",
        arguments={"a": 2, "b": 40},
        says="The sum of 2 and 40 is 42.",
    ),
    node_server(
        *("filesystem", "@modelcontextprotocol/server-filesystem", "{folder}"),
        era="legacy",
        tool="read_text_file",
        arguments={"path": "{folder}/tide.txt"},
        says=PAGE_TEXT,
    ),
    node_server(
        *("memory", "@modelcontextprotocol/server-memory"),
        era="legacy",
        tool="create_entities",
        arguments={"entities": [ENTITY]},
        says="speaks both eras",
        env={"MEMORY_FILE_PATH": "{folder}/memory.json"},
    ),
    python_server("time-2025", OLD_PYTHON, "mcp-server-time", era="legacy", **TIME),
    python_server(
        *("sqlite-2025", OLD_PYTHON, "mcp-server-sqlite", "--db-path", "{folder}/tides.db"),
        era="legacy",
        tool="read_query",
        arguments={"query": "SELECT 6 * 7 AS answer"},
        says="'answer': 42",
    ),
    node_server("memory-2024", "old-memory", era="legacy", tool="read_graph", arguments={}, says="entities"),
    node_server(
        *("everything-2024", "old-everything"),  # it asks the client for a sample in the middle of the call
        era="legacy",
        tool="sampleLLM",
        arguments={"prompt": "hello"},
        says="does not offer 'sampling/createMessage'",
        is_error=True,
    ),
]


# A place for them to work in


@contextmanager
def place(folder: Path) -> Iterator[dict[str, str]]:
    """A folder with a file and a commit in it, and a page; what the servers' entries may refer to."""
    folder = folder.resolve()
    (folder / "tide.txt").write_text(PAGE_TEXT, encoding="utf-8")
    git = ["git", "-C", str(folder), "-c", "user.name=kit", "-c", "user.email=kit@example.org"]
    for arguments in (["init", "--quiet"], ["add", "tide.txt"], ["commit", "--quiet", "-m", "the first commit"]):
        subprocess.run([*git, *arguments], check=True, capture_output=True)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        try:
            yield {"folder": folder.as_posix(), "page": f"http://127.0.0.1:{server.server_port}/"}
        finally:
            server.shutdown()


class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = f"<html><body><p>{PAGE_TEXT}</p></body></html>".encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


def filled(value: Any, given: dict[str, str]) -> Any:
    """The value with what `place` gives in place of {folder} and {page}."""
    if isinstance(value, dict):
        return {key: filled(item, given) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [filled(item, given) for item in value]
    if isinstance(value, str):
        for name, text in given.items():
            value = value.replace(f"{{{name}}}", text)
    return value


def configuration(servers: Sequence[RealServer], given: dict[str, str], file: Path) -> Path:
    """The `mcpServers` file with these servers in it."""
    entries = {
        server.alias: {
            "command": server.command[0],
            "args": filled(server.command[1:], given),
            "env": {**filled(server.env, given), "PYTHONDONTWRITEBYTECODE": "1"},
            "cwd": given["folder"],
            "timeout": 60,
        }
        for server in servers
    }
    file.write_text(json.dumps({"mcpServers": entries}), encoding="utf-8")
    return file


# One visit


@dataclass
class Visit:
    """What one run of a server has shown."""

    agreement: Agreement | None
    tools: int
    pages: int
    result: JSONObject
    seconds: float  # from the start to all tools listed
    down: dict[str, str]


class CountingClient(ServerClient):
    """The host's client, which counts the pages of the list of tools."""

    pages = 0

    async def request(
        self, method: str, params: JSONObject | None = None, *, timeout: float | None = None
    ) -> JSONObject:
        self.pages += method == "tools/list"
        return await super().request(method, params, timeout=timeout)


async def visit(server: RealServer, config: ServerConfig, given: dict[str, str]) -> Visit:
    """Start it, list its tools, make its call, end it."""
    async with open_servers({server.alias: config}, CountingClient) as clients:
        client = clients[server.alias]
        assert isinstance(client, CountingClient)
        registry = ToolRegistry(clients)
        began = anyio.current_time()
        await registry.refresh()
        seconds = anyio.current_time() - began
        names = {entry.tool_name: name for name, entry in registry.entries.items()}
        (Path(given["folder"]) / "memory.json").unlink(missing_ok=True)  # what an earlier visit left there
        result = await registry.call(names.get(server.tool, server.tool), filled(server.arguments, given))
        return Visit(client.agreement, len(registry.entries), client.pages, result, seconds, registry.down)


async def answer_to_the_probe(config: ServerConfig) -> str:
    """What it says to a bare `server/discover`, as its first message."""

    async def ask(tasks: TaskGroup) -> str:
        client = StdioClient([config.command, *config.args], tasks, env=config.env, cwd=config.cwd)
        try:
            await client.start()
            result = await client.request("server/discover", timeout=PROBE_WAIT)
            return "DiscoverResult" if "supportedVersions" in result else "another result"
        except RpcError as error:
            return f"error {error.code}"
        except RequestTimeout:
            return "silence"
        except InvalidMessage:
            return "an answer that is none"
        except ServerDown:
            return "exit"
        finally:
            await client.close()

    told = ""
    async with anyio.create_task_group() as tasks:
        told = await ask(tasks)
    return told


# The table


def print_table() -> int:
    print("| server | built with | to the probe | era, revision | tools | pages | a call | its outcome | ready |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    missing = [reason for server in SERVERS if (reason := server.missing())]
    with tempfile.TemporaryDirectory() as name, place(Path(name)) as given:
        servers = [server for server in SERVERS if not server.missing()]
        configs = load_config(configuration(servers, given, Path(name) / "servers.json")).servers
        for server in servers:
            print(row(server, configs[server.alias], given), flush=True)
    for reason in missing:
        print(reason, file=sys.stderr)
    return 1 if missing else 0


def row(server: RealServer, config: ServerConfig, given: dict[str, str]) -> str:
    told = anyio.run(answer_to_the_probe, config)
    visits = [anyio.run(visit, server, config, given) for _ in range(RUNS)]
    last = visits[-1]
    package, base = server.packages
    own, built_with = version(server, package), version(server, base)
    era = f"{last.agreement.era.value}, {last.agreement.revision}" if last.agreement else f"down: {last.down}"
    cells = [
        f"{server.alias} ({package} {own})" if package != base else server.alias,
        f"{base} {built_with}",
        told,
        era,
        str(last.tools),
        str(last.pages),
        f"`{server.tool}`",
        outcome(last.result, server.says),
        f"{min(one.seconds for one in visits):.2f} s",
    ]
    return f"| {' | '.join(cells)} |"


def outcome(result: JSONObject, says: str) -> str:
    """The part of its text that matters."""
    text = " ".join(result_text(result).split())
    start = max(0, text.find(says))
    shown = text[start : start + SHOWN].replace("|", "\\|")
    before, after = "… " if start else "", " …" if start + SHOWN < len(text) else ""
    return f"{'isError: ' if result.get('isError') else ''}{before}{shown}{after}"


def version(server: RealServer, package: str) -> str:
    """Of an installed package, from where the server would import it."""
    if server.needs is None:
        return importlib.metadata.version(package)
    if NODE in server.needs.parents:
        folder = server.needs.parents[1] if package == server.packages[0] else nearest_package(server.needs, package)
        return str(json.loads((folder / "package.json").read_text(encoding="utf-8"))["version"])
    environment = server.needs.parents[1]
    found = next(environment.rglob(f"{package.replace('-', '_')}-*.dist-info"))
    return found.name.removesuffix(".dist-info").rpartition("-")[2]


def nearest_package(script: Path, package: str) -> Path:
    """As node finds it: in the first node_modules on the way up."""
    return next(
        folder
        for parent in script.parents
        if (folder := parent / "node_modules" / package).is_dir() and parent.name != "node_modules"
    )


# The installation


def install() -> int:
    """Install what is not there yet; what cannot be had does not keep the rest from being installed."""
    HOME.mkdir(exist_ok=True)
    (HOME / ".gitignore").write_text("*\n", encoding="utf-8")
    done = [install_python(PYTHON, PACKAGES), install_python(OLD_PYTHON, OLD_PACKAGES), install_node()]
    return 0 if all(done) else 1


def install_python(environment: Path, packages: list[str]) -> bool:
    python = program(environment, "python")
    if not python.exists() and not run([sys.executable, "-m", "venv", str(environment)]):
        return False
    return run([str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages])


def install_node() -> bool:
    npm = shutil.which("npm")
    if npm is None:
        print("there is no npm, so the servers that need node are left out", file=sys.stderr)
        return False
    flags = ["--no-fund", "--no-audit", "--ignore-scripts", "--silent", "--prefix", str(NODE)]
    return run([npm, "install", *flags, *NODE_PACKAGES])


def run(command: list[str]) -> bool:
    print(" ".join(command), file=sys.stderr)
    with suppress(OSError):
        return subprocess.run(command, stdin=subprocess.DEVNULL).returncode == 0
    return False


if __name__ == "__main__":
    if sys.argv[1:] not in (["install"], ["table"]):
        sys.exit(__doc__)
    sys.exit(install() if sys.argv[1] == "install" else print_table())

"""What the tests of the host share: servers with a script (lively_server.py), and a registry over them.

The clients start real processes. Time is a `Clock` that moves when a test says so, and the only pause of the
host is one that the test gives. When a `Server`'s test is over, none of its processes may be left.
"""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import psutil
from anyio.abc import TaskGroup
from kit import LAB

sys.path.insert(0, str(LAB))

from host.config import ServerConfig
from host.confirm import Ask, Confirmation
from host.guarded import GuardedRegistry
from host.health import Health
from host.resilience import WatchedClient
from host.servers import open_servers

SCRIPT = Path(__file__).with_name("lively_server.py")
PATIENCE = 60.0  # seconds any of these tests may take
SHORT = 0.1  # seconds for a request that will not be answered
READ_ONLY = {"readOnlyHint": True}


def tool(name: str, **more: Any) -> dict[str, Any]:
    """A definition; marked as read-only, so that nobody is asked, unless it says otherwise."""
    return {"name": name, "inputSchema": {"type": "object"}, "annotations": READ_ONLY, **more}


@dataclass
class Server:
    """A server with a script; `write` changes it, also while it runs."""

    folder: Path
    script: dict[str, Any] = field(default_factory=lambda: {"tools": [tool("look")]})

    def write(self, *tools: dict[str, Any], **script: Any) -> Server:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.script |= script | ({"tools": list(tools)} if tools else {})
        temporary = self.folder / "script.new"
        temporary.write_text(json.dumps(self.script), encoding="utf-8")
        temporary.replace(self.folder / "script.json")  # at once: the server may be reading it
        return self

    def config(self, **fields: Any) -> ServerConfig:
        return ServerConfig(sys.executable, (str(SCRIPT), str(self.folder)), timeout=PATIENCE, **fields)

    def journal(self) -> list[dict[str, Any]]:
        file = self.folder / "journal.jsonl"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    def pids(self) -> list[int]:
        return [event["start"] for event in self.journal() if "start" in event]

    def grandchildren(self) -> list[int]:
        return [event["grandchild"] for event in self.journal() if "grandchild" in event]

    def got(self, method: str) -> list[dict[str, Any]]:
        """The params of what it received."""
        messages = [event["got"] for event in self.journal() if "got" in event]
        return [message.get("params", {}) for message in messages if message["method"] == method]

    def calls(self) -> list[str]:
        return [params["name"] for params in self.got("tools/call")]


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


async def no_pause(seconds: float) -> None:
    await anyio.lowlevel.checkpoint()


class Client(WatchedClient):
    """Has no patience with these methods, and all the time of the test for the others."""

    hurried: frozenset[str] = frozenset()

    async def request(
        self, method: str, params: dict[str, Any] | None = None, *, timeout: float | None = None
    ) -> dict[str, Any]:
        return await super().request(method, params, timeout=SHORT if method in self.hurried else timeout)


@dataclass
class World:
    """An opened registry, with what a test may look at or turn."""

    registry: GuardedRegistry
    health: dict[str, Health]
    clients: Mapping[str, Client]
    clock: Clock

    async def call(self, name: str, **arguments: Any) -> tuple[bool, str]:
        """Call a tool by its model name: whether the result is an error, and what the model reads."""
        from agent_loop import result_text

        result = await self.registry.call(name, arguments)
        return result.get("isError") is True, result_text(result)

    def names(self) -> list[str]:
        return [tool["name"] for tool in self.registry.model_tools()]


@asynccontextmanager
async def opened(
    servers: Mapping[str, Server],
    *,
    ask: Ask | None = None,
    yes: bool = False,
    lazy: Mapping[str, str] | None = None,
    distrusted: tuple[str, ...] = (),
    pause: Callable[[float], Awaitable[None]] = no_pause,
) -> AsyncIterator[World]:
    """Start these servers (but for the lazy ones) behind everything the host has."""
    clock = Clock()
    health = {alias: Health(alias, clock) for alias in servers}
    for server in servers.values():
        server.write()
    configs = {alias: server.config() for alias, server in servers.items()}

    clients: dict[str, Client] = {}

    def make_client(alias: str, config: ServerConfig, tasks: TaskGroup) -> Client:
        clients[alias] = Client(alias, config, tasks, health[alias])
        return clients[alias]

    with anyio.fail_after(PATIENCE):
        async with open_servers(configs, make_client):
            confirmation = Confirmation(ask, yes=yes, distrusted=distrusted)
            registry = GuardedRegistry(clients, health, confirmation, lazy, pause)
            await registry.refresh([alias for alias in servers if alias not in (lazy or {})])
            yield World(registry, health, clients, clock)
    for server in servers.values():
        assert not [pid for pid in server.pids() if psutil.pid_exists(pid)], "left running"
        assert not [pid for pid in server.grandchildren() if is_running(pid)], "left running"


def is_running(pid: int) -> bool:
    """A zombie does not: it waits for whoever has taken the place of its dead parent."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


async def until(condition: Callable[[], bool]) -> None:
    """Let the other tasks go on until this holds; bounded by the world's patience."""
    while not condition():
        await anyio.lowlevel.checkpoint()

"""The five files with the host around them, as `main.py` puts them together; nobody is asked to agree."""

import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from bench.others import Servers
from labkit.lab import find_labs

sys.path.insert(0, str(find_labs()[-1]))

from anyio.abc import TaskGroup

from bench.others.our_files import Peer  # it puts the solution on the path
from host.config import ServerConfig, base_environment
from host.confirm import Confirmation
from host.guarded import GuardedRegistry
from host.health import Health
from host.resilience import WatchedClient
from host.servers import open_servers

SEVERAL = True


@asynccontextmanager
async def connect(servers: Servers, deadline: float | None = None) -> AsyncIterator[Peer]:
    env = base_environment(os.environ)
    configs = {
        alias: ServerConfig(words[0], tuple(words[1:]), env, timeout=deadline) for alias, words in servers.items()
    }
    health = {alias: Health(alias) for alias in configs}

    def make_client(alias: str, config: ServerConfig, tasks: TaskGroup) -> WatchedClient:
        return WatchedClient(alias, config, tasks, health[alias])

    async with open_servers(configs, make_client) as clients:
        registry = GuardedRegistry(clients, health, Confirmation(None, yes=True))
        await registry.refresh()
        yield Peer(registry)

"""The five files alone: the registry over plain clients."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from bench.others import Outcome, Servers, text_of
from labkit.lab import find_labs

sys.path.insert(0, str(find_labs()[-1] / "solution"))

import anyio

from registry import ToolRegistry
from stdio_client import REQUEST_SECONDS, StdioClient

SEVERAL = True


class Peer:
    def __init__(self, registry: ToolRegistry) -> None:
        self.registry = registry

    async def tools(self) -> list[str]:
        return [tool["name"] for tool in self.registry.model_tools()]

    async def call(self, name: str, arguments: dict[str, Any]) -> Outcome:
        result = await self.registry.call(name, arguments)
        return Outcome(text_of(result["content"]), result.get("isError") is True)


@asynccontextmanager
async def connect(servers: Servers, deadline: float = REQUEST_SECONDS) -> AsyncIterator[Peer]:
    async with anyio.create_task_group() as tasks:
        clients = {alias: StdioClient(command, tasks, timeout=deadline) for alias, command in servers.items()}
        try:
            registry = ToolRegistry(clients)
            await registry.refresh()
            yield Peer(registry)
        finally:
            with anyio.CancelScope(shield=True):
                for client in clients.values():
                    await client.close()

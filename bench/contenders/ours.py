"""The client of the solution."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

sys.path.insert(0, str(next(Path(__file__).resolve().parents[2].glob("labs/day-05-*")) / "solution"))

import anyio

from discover_and_translate import discover, list_all_tools
from stdio_client import StdioClient


class Peer:
    def __init__(self, client: StdioClient) -> None:
        self._client = client

    async def call(self, size: int) -> None:
        await self._client.request("tools/call", {"name": "text", "arguments": {"bytes": size}})

    async def list_tools(self) -> int:
        return len(await list_all_tools(self._client))


@asynccontextmanager
async def connect(command: list[str]) -> AsyncIterator[Peer]:
    async with anyio.create_task_group() as tasks:
        client = StdioClient(command, tasks)
        await client.start()
        await discover(client)
        yield Peer(client)
        await client.close()

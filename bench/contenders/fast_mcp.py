"""FastMCP's client; the benchmark leaves it out where the package `fastmcp` is not installed."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastmcp import Client
from fastmcp.client.transports import StdioTransport


class Peer:
    def __init__(self, client: Any) -> None:
        self._client = client

    async def call(self, size: int) -> None:
        await self._client.call_tool("text", {"bytes": size})

    async def list_tools(self) -> int:
        return len(await self._client.list_tools())


@asynccontextmanager
async def connect(command: list[str]) -> AsyncIterator[Peer]:
    async with Client(StdioTransport(command[0], command[1:])) as client:
        yield Peer(client)

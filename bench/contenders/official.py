"""The official client of the `mcp` package."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from mcp import Client, StdioServerParameters


class Peer:
    def __init__(self, client: Client) -> None:
        self._client = client

    async def call(self, size: int) -> None:
        await self._client.call_tool("text", {"bytes": size})

    async def list_tools(self) -> int:
        page = await self._client.list_tools()
        count = len(page.tools)
        while page.next_cursor is not None:
            page = await self._client.list_tools(cursor=page.next_cursor)
            count += len(page.tools)
        return count


@asynccontextmanager
async def connect(command: list[str]) -> AsyncIterator[Peer]:
    async with Client(StdioServerParameters(command=command[0], args=command[1:])) as client:
        yield Peer(client)

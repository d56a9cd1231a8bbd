"""`mcp.Client`: one server. `list_tools` gives one page; the loop over the pages is left to who calls it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from mcp import Client, StdioServerParameters

from bench.others import Outcome, Servers, text_of

SEVERAL = False


class Peer:
    def __init__(self, client: Client) -> None:
        self._client = client

    async def tools(self) -> list[str]:
        return [tool.name for tool in (await self._client.list_tools()).tools]

    async def call(self, name: str, arguments: dict[str, Any]) -> Outcome:
        result = await self._client.call_tool(name, arguments)
        return Outcome(text_of(result.content), result.is_error is True)


@asynccontextmanager
async def connect(servers: Servers) -> AsyncIterator[Peer]:
    [command] = servers.values()
    async with Client(StdioServerParameters(command=command[0], args=list(command[1:]))) as client:
        yield Peer(client)

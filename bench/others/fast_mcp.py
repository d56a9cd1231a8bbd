"""FastMCP's client with an `mcpServers` configuration."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastmcp import Client

from bench.others import Outcome, Servers, config, text_of

SEVERAL = True


class Peer:
    def __init__(self, client: Any) -> None:
        self._client = client

    async def tools(self) -> list[str]:
        return [tool.name for tool in await self._client.list_tools()]

    async def call(self, name: str, arguments: dict[str, Any]) -> Outcome:
        result = await self._client.call_tool(name, arguments)
        return Outcome(text_of(result.content), result.is_error is True)


@asynccontextmanager
async def connect(servers: Servers, deadline: float | None = None) -> AsyncIterator[Peer]:
    deadlines = {} if deadline is None else {"init_timeout": deadline, "timeout": deadline}
    async with Client(config(servers), **deadlines) as client:
        yield Peer(client)

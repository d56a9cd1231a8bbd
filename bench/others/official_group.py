"""`mcp.ClientSessionGroup`; a server that raises while it is connected is left out, as its user would do it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from mcp import StdioServerParameters
from mcp.client.session_group import ClientSessionGroup, ClientSessionParameters

from bench.others import Outcome, Servers, text_of

SEVERAL = True


class Peer:
    def __init__(self, group: ClientSessionGroup) -> None:
        self._group = group

    async def tools(self) -> list[str]:
        return list(self._group.tools)

    async def call(self, name: str, arguments: dict[str, Any]) -> Outcome:
        result = await self._group.call_tool(name, arguments)
        return Outcome(text_of(result.content), result.is_error is True)


@asynccontextmanager
async def connect(servers: Servers, deadline: float | None = None) -> AsyncIterator[Peer]:
    session = ClientSessionParameters(read_timeout_seconds=deadline)
    errors: list[Exception] = []
    async with ClientSessionGroup() as group:
        for words in servers.values():
            try:
                server = StdioServerParameters(command=words[0], args=list(words[1:]))
                await group.connect_to_server(server, session)
            except Exception as error:
                errors.append(error)
        if errors and not group.sessions:
            raise errors[0]
        yield Peer(group)

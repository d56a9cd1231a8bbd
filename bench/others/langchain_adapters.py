"""LangChain's adapters: `MultiServerMCPClient`, which opens a server anew for every call."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from langchain_mcp_adapters.client import MultiServerMCPClient

from bench.others import Outcome, Servers, text_of

SEVERAL = True


class Peer:
    def __init__(self, client: Any, tools: list[Any]) -> None:
        self._client = client
        self._listed = tools
        self._tools = {tool.name: tool for tool in tools}  # by the model's name

    async def tools(self) -> list[str]:
        return [tool.name for tool in self._listed]

    async def call(self, name: str, arguments: dict[str, Any]) -> Outcome:
        message = await self._tools[name].ainvoke({"type": "tool_call", "id": "1", "name": name, "args": arguments})
        return Outcome(text_of(message.content), message.status == "error")


@asynccontextmanager
async def connect(servers: Servers) -> AsyncIterator[Peer]:
    entries = {
        alias: {"transport": "stdio", "command": words[0], "args": list(words[1:])} for alias, words in servers.items()
    }
    client = MultiServerMCPClient(entries)
    yield Peer(client, await client.get_tools())

"""mcp-use: its client, and its tools in LangChain's form."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

os.environ["MCP_USE_ANONYMIZED_TELEMETRY"] = "false"

from mcp_use import MCPClient
from mcp_use.agents.adapters.langchain_adapter import LangChainAdapter

from bench.others import Outcome, Servers, config, text_of

SEVERAL = True


class Peer:
    def __init__(self, tools: list[Any]) -> None:
        self._listed = tools
        self._tools = {tool.name: tool for tool in tools}  # by the model's name

    async def tools(self) -> list[str]:
        return [tool.name for tool in self._listed]

    async def call(self, name: str, arguments: dict[str, Any]) -> Outcome:
        result = await self._tools[name].ainvoke(arguments)
        is_error = isinstance(result, dict) and "error" in result  # the form in which it tells of one
        return Outcome(str(result) if is_error else text_of(result), is_error)


@asynccontextmanager
async def connect(servers: Servers) -> AsyncIterator[Peer]:
    client = MCPClient(config(servers))
    try:
        yield Peer(await LangChainAdapter().create_tools(client))
    finally:
        await client.close_all_sessions()

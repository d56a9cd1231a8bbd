"""OpenAI's agents: the server manager, and an agent's own way to its tools; no model is asked."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from agents import Agent, RunContextWrapper
from agents.mcp import MCPServerManager, MCPServerStdio
from agents.tool_context import ToolContext

from bench.others import Outcome, Servers, text_of

SEVERAL = True


class Peer:
    def __init__(self, agent: Any) -> None:
        self._agent = agent
        self._tools: dict[str, Any] = {}  # by the model's name

    async def tools(self) -> list[str]:
        tools = await self._agent.get_mcp_tools(RunContextWrapper(None))
        self._tools = {tool.name: tool for tool in tools}
        return [tool.name for tool in tools]

    async def call(self, name: str, arguments: dict[str, Any]) -> Outcome:
        words = json.dumps(arguments)
        context = ToolContext(None, tool_name=name, tool_call_id="1", tool_arguments=words)
        result = await self._tools[name].on_invoke_tool(context, words)
        return Outcome(text_of(result), False)  # what it returns has no place for a flag


@asynccontextmanager
async def connect(servers: Servers) -> AsyncIterator[Peer]:
    clients = [
        MCPServerStdio({"command": words[0], "args": list(words[1:])}, name=alias) for alias, words in servers.items()
    ]
    async with MCPServerManager(clients) as manager:
        if not manager.active_servers:
            raise next(iter(manager.errors.values()))
        yield Peer(Agent("agent", mcp_servers=manager.active_servers))

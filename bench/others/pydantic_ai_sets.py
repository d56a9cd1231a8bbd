"""Pydantic AI's toolsets from an `mcpServers` file, combined as an agent combines them; no model is asked."""

import json
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.mcp import load_mcp_toolsets
from pydantic_ai.models.test import TestModel
from pydantic_ai.toolsets import CombinedToolset
from pydantic_ai.usage import RunUsage

from bench.others import Outcome, Servers, config, text_of

SEVERAL = True


class Peer:
    def __init__(self, toolset: Any) -> None:
        self._toolset = toolset
        self._context = RunContext(deps=None, model=TestModel(), usage=RunUsage())
        self._tools: dict[str, Any] = {}  # by the model's name

    async def tools(self) -> list[str]:
        self._tools = await self._toolset.get_tools(self._context)
        return list(self._tools)

    async def call(self, name: str, arguments: dict[str, Any]) -> Outcome:
        result = await self._toolset.call_tool(name, arguments, self._context, self._tools[name])
        return Outcome(text_of(result), False)


@asynccontextmanager
async def connect(servers: Servers) -> AsyncIterator[Peer]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "servers.json"
        file.write_text(json.dumps(config(servers)), encoding="utf-8")
        toolset = CombinedToolset(load_mcp_toolsets(file))
    async with toolset:
        yield Peer(toolset)

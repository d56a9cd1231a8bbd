"""The tools of several servers in one table, and the way back from a model's name to a server's.

Border two, *names*: the only way back is the table. A model's name is never taken apart; the server
gets the name it gave. Border three, *failure*: a server that fails costs its own tools, not the turn.
So `refresh` notes a failure in `down` and goes on, and `call` raises nothing: it returns an error
*result*, which the model can read and react to.
"""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import anyio

from discover_and_translate import discover, list_all_tools, to_model_tool
from protocol import JSONObject, McpError, ServerDown
from stdio_client import StdioClient

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Entry:
    """Where a model's tool name leads."""

    alias: str  # the server, by our own configured name
    tool_name: str  # the tool, by the server's name: the only one the server knows
    model_tool: JSONObject  # what the model is told
    definition: JSONObject  # what the server said, with all that the translation leaves behind


class ToolRegistry:
    """All tools of the servers in `clients` (alias -> its client)."""

    def __init__(self, clients: Mapping[str, StdioClient]) -> None:
        self._clients = dict(clients)
        self._tools: dict[str, list[JSONObject]] = {}  # alias -> its definitions
        self.entries: dict[str, Entry] = {}  # model name -> where it leads
        self.down: dict[str, str] = {}  # alias -> the reason why it cannot be used

    async def refresh(self, aliases: Iterable[str] | None = None) -> None:
        """Start these servers (default: all), all at once, and list their tools anew."""
        async with anyio.create_task_group() as tasks:
            for alias in self._clients if aliases is None else aliases:
                tasks.start_soon(self._refresh_one, alias)
        self._rebuild()

    async def _refresh_one(self, alias: str) -> None:
        """List one server's tools; when that fails, note why in `down` and raise nothing."""
        client = self._clients[alias]
        self._tools.pop(alias, None)
        self.down.pop(alias, None)
        try:
            await client.start()
            await discover(client)
            self._tools[alias] = await list_all_tools(client)
        except McpError as error:
            self.down[alias] = str(error)

    def _rebuild(self) -> None:
        """Fill `entries` in the order of the configuration, whoever answered first."""
        self.entries = {}
        for alias in self._clients:
            for definition in self._tools.get(alias, []):
                model_tool = to_model_tool(alias, definition)
                name = model_tool["name"]
                if name in self.entries:
                    log.warning("%s: left out a second tool with the name %r", alias, name)
                else:
                    self.entries[name] = Entry(alias, definition["name"], model_tool, definition)

    def model_tools(self) -> list[JSONObject]:
        """The tools that can be called now, as the model is told of them."""
        return [entry.model_tool for entry in self.entries.values() if entry.alias not in self.down]

    async def call(self, model_name: str, arguments: JSONObject) -> JSONObject:
        """Call a tool by the model's name for it; return its result `{"content", "isError"?, ...}`.

        A tool execution error comes back as the server sent it. A call that could not be made, or
        was not answered, comes back as an error result that says why [server/tools].
        """
        entry = self.entries.get(model_name)
        if entry is None:
            return error_result(f"there is no tool named {model_name!r}{self._down_note()}")
        if entry.alias in self.down:
            return error_result(f"the server {entry.alias!r} is down: {self.down[entry.alias]}")
        try:
            return await self._clients[entry.alias].request(
                "tools/call", {"name": entry.tool_name, "arguments": arguments}
            )
        except ServerDown as error:
            self.down[entry.alias] = str(error)
            return error_result(f"the server {entry.alias!r} is down: {error}")
        except McpError as error:
            return error_result(f"the call of {model_name!r} failed: {error}")

    def _down_note(self) -> str:
        return "".join(f"; the server {name!r} is down: {why}" for name, why in self.down.items())


def error_result(text: str) -> JSONObject:
    """A result of our own making, in the form a server gives a tool execution error."""
    return {"content": [{"type": "text", "text": text}], "isError": True}

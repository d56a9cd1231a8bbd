"""Servers that are started only when the model wants them: `"lazy": true` in the configuration.

Twenty servers cost twenty processes and some hundred tool definitions in every prompt, for a question that
needs one of them. So the model gets one tool more, a catalogue of the servers that are not started yet; a
call of it starts one. The catalogue stands first and never changes, and new tools come last, so all that the
provider has cached of the prompt stays good.
"""

from collections.abc import Mapping

import anyio

from host.health import Health
from host.resilience import LastingRegistry, Pause
from protocol import JSONObject
from registry import error_result
from stdio_client import StdioClient

CATALOGUE = "connect_server"  # no tool of a server has this name: theirs begin with "mcp__"
SHOWN_CHARACTERS = 200  # of one tool's description, in the answer to a connection


class LazyRegistry(LastingRegistry):
    """The registry, and a catalogue of the servers in `lazy` (alias -> what the configuration says of it)."""

    def __init__(
        self,
        clients: Mapping[str, StdioClient],
        health: Mapping[str, Health],
        lazy: Mapping[str, str],
        pause: Pause = anyio.sleep,
    ) -> None:
        super().__init__(clients, health, pause)
        self._lazy = dict(lazy)
        self._connected: set[str] = set()  # of the lazy ones

    def model_tools(self) -> list[JSONObject]:
        tools = super().model_tools()
        return [catalogue(self._lazy), *tools] if self._lazy else tools

    def is_catalogue(self, model_name: str) -> bool:
        return bool(self._lazy) and model_name == CATALOGUE

    async def connect_lazy(self, arguments: JSONObject) -> JSONObject:
        """Start the server that the model asks for, unless it runs; the result lists its tools."""
        alias = arguments.get("server")
        if not isinstance(alias, str) or alias not in self._lazy:
            known = ", ".join(self._lazy)
            return error_result(f"there is no server {alias!r} to connect; there are: {known}")
        if alias in self._connected:
            await self.make_ready(alias)
        elif await self.connect(alias):
            self._connected.add(alias)
        if alias in self.down:
            return error_result(f"the server {alias!r} cannot be connected: {self.down[alias]}")
        return self._tools_of(alias)

    def _tools_of(self, alias: str) -> JSONObject:
        tools = [entry.model_tool for entry in self.entries.values() if entry.alias == alias]
        lines = [f"- {tool['name']}: {first_line(tool['description'])}" for tool in tools]
        text = f"the server {alias!r} is connected; from now on you can call its {len(tools)} tools:"
        return {"content": [{"type": "text", "text": "\n".join([text, *lines])}]}


def catalogue(lazy: Mapping[str, str]) -> JSONObject:
    """The tool that connects; its description is the list of what there is to connect."""
    lines = [f"- {alias}: {about}" if about else f"- {alias}" for alias, about in lazy.items()]
    names = {"type": "string", "enum": list(lazy), "description": "the server to connect"}
    return {
        "name": CATALOGUE,
        "description": "\n".join(
            [
                "Connect to one more tool server; then its tools can be called. Connect only what you need.",
                "The servers that can be connected:",
                *lines,
            ]
        ),
        "input_schema": {
            "type": "object",
            "properties": {"server": names},
            "required": ["server"],
            "additionalProperties": False,
        },
    }


def first_line(text: str) -> str:
    return text.split("\n")[0][:SHOWN_CHARACTERS]

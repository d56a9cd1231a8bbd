"""Servers that come and go: a dead one is started again, a silent one left alone, a changed one listed anew.

`WatchedClient` reports to its server's `Health` what happens on the wire. `LastingRegistry` looks there
before a call and after it, and at no other time: nothing is done in the background, so a turn is one thread
of events that a person can follow. A call that failed is never sent again: it may have happened.

A tool that was listed once keeps its place in the model's list, also while its server is down, as the next
call may bring it back; what is new goes to the end. So a provider's cache of the prompt stays good.
"""

import logging
import math
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress

import anyio
from anyio.abc import Process, TaskGroup

from agent_loop import result_text
from discover_and_translate import discover, list_all_tools
from host.config import ServerConfig
from host.health import MOST_RESTARTS, RESTART_SECONDS, Health
from host.servers import ServerClient
from host.words import Message
from protocol import InvalidMessage, JSONObject, McpError, RequestTimeout, RpcError, ServerDown
from registry import ToolRegistry
from stdio_client import StdioClient

LIST_CHANGED = "notifications/tools/list_changed"
PROVING = {"tools/call", "tools/list"}  # an answer to one of these, be it an error, shows that a server works
PROBE_SECONDS = 5.0  # a server that was silent gets this long to show that it is back
QUIET_SECONDS = 0.1  # changes come in bursts; this long without another one, and the tools are listed
MOST_PAUSES = 10  # for a server that announces changes without end
REASON_CHARACTERS = 3000  # why a server is down; the model reads it at the start of each turn

Pause = Callable[[float], Awaitable[None]]

log = logging.getLogger(__name__)


class WatchedClient(ServerClient):
    """The client of one server, which reports to `health` what becomes of it."""

    def __init__(self, alias: str, config: ServerConfig, tasks: TaskGroup, health: Health) -> None:
        super().__init__(alias, config, tasks)
        self._health = health
        self._is_listening = False
        self._told_before = self._on_notification
        self._on_notification = self._notice

    async def start(self) -> None:
        try:
            await super().start()
        except RequestTimeout:
            self._health.timed_out()
            raise

    async def request(
        self, method: str, params: JSONObject | None = None, *, timeout: float | None = None
    ) -> JSONObject:
        try:
            result = await super().request(method, params, timeout=timeout)
        except RequestTimeout:
            self._health.timed_out()
            raise
        except (RpcError, InvalidMessage):
            self._answered(method)
            raise
        self._answered(method)
        if method == "server/discover" and announces_changes(result) and not self._is_listening:
            self._is_listening = True
            self._tasks.start_soon(self._listen)
        return result

    async def close(self) -> None:
        self._health.in_use = False  # its end is no news now
        await super().close()

    async def _serve(self, process: Process, ended: anyio.Event) -> None:
        self._health.started()
        self._is_listening = False  # a new process knows nothing of it
        try:
            await super()._serve(process, ended)
        finally:
            self._health.ended(self._end_reason)

    async def _listen(self) -> None:
        """Ask to be told of changes; the answer comes when the server ends [basic/patterns/subscriptions]."""
        wanted = {"notifications": {"toolsListChanged": True}}
        with suppress(McpError):
            await super().request("subscriptions/listen", wanted, timeout=math.inf)

    def _answered(self, method: str) -> None:
        if method in PROVING:
            self._health.answered()

    def _notice(self, message: JSONObject) -> None:
        if message.get("method") == LIST_CHANGED:
            self._health.tools_changed = True
        if self._told_before is not None:
            self._told_before(message)


def shortened(reason: str) -> str:
    """A server may give megabytes as the reason why it refuses."""
    cut = len(reason) - REASON_CHARACTERS
    return reason if cut <= 0 else f"{reason[:REASON_CHARACTERS]} ({cut} more characters were cut)"


def announces_changes(discovered: JSONObject) -> bool:
    """Whether the server would tell of changes to who listens; a legacy one does it unasked."""
    capabilities = discovered.get("capabilities")
    tools = capabilities.get("tools") if isinstance(capabilities, dict) else None
    return isinstance(tools, dict) and tools.get("listChanged") is True


class LastingRegistry(ToolRegistry):
    """The registry over servers that come and go; `health` has the same aliases as `clients`."""

    def __init__(
        self, clients: Mapping[str, StdioClient], health: Mapping[str, Health], pause: Pause = anyio.sleep
    ) -> None:
        super().__init__(clients)
        self._health = health
        self._pause = pause
        self._places: dict[str, None] = {}  # model names, in the order in which they were first listed

    def model_tools(self) -> list[JSONObject]:
        """The tools that can be called, or that a call may bring back; none ever changes its place."""
        self._places |= dict.fromkeys(self.entries)
        return [self.entries[name].model_tool for name in self._places if name in self.entries]

    async def refresh(self, aliases: Iterable[str] | None = None) -> None:
        chosen = list(self._clients if aliases is None else aliases)
        await super().refresh(chosen)
        for alias in chosen:
            self._health[alias].in_use = alias not in self.down
            if alias in self.down:
                self.down[alias] = shortened(self.down[alias])

    async def connect(self, alias: str) -> bool:
        """Start a server and list its tools; when that fails, `down` says why."""
        client = self._clients[alias]
        try:
            await client.start()
            await discover(client)
            self._health[alias].tools_changed = False
            self._replace_tools(alias, await list_all_tools(client))
        except McpError as error:
            self.down[alias] = shortened(str(error))
            return False
        self.down.pop(alias, None)
        self._health[alias].in_use = True
        return True

    async def make_ready(self, alias: str) -> None:
        """Bring a server back if that can be done now; if not, `down` says why."""
        health = self._health[alias]
        if health.end is not None:
            await self._restart(alias, health)
        elif health.is_silent:
            await self._probe(alias, health)
        elif alias in self.down:  # it was started, and then something else went wrong
            await self.connect(alias)

    async def _restart(self, alias: str, health: Health) -> None:
        if seconds := health.seconds_to_restart():
            often = f"it was started again {MOST_RESTARTS} times within {RESTART_SECONDS:g} s"
            self.down[alias] = f"{health.end}; {often}, so it is left alone for {seconds:.0f} s"
            return
        health.start_again()
        if await self.connect(alias):
            health.came_back()

    async def _probe(self, alias: str, health: Health) -> None:
        """Ask a silent server for something cheap; after any answer, one call may try whether it works."""
        silent = "it has not answered several requests in a row"
        if seconds := health.seconds_to_probe():
            self.down[alias] = f"{silent}, so it is left alone for {seconds:.0f} s"
            return
        client = self._clients[alias]
        try:
            await client.request("server/discover", timeout=min(PROBE_SECONDS, client.timeout))
        except RequestTimeout:
            self.down[alias] = f"{silent}, and is silent still"
        except ServerDown:  # it has died since, or it was started but never got as far as answering
            await self.connect(alias)
        except McpError:
            self.down.pop(alias, None)
        else:
            self.down.pop(alias, None)

    async def relist_changed(self) -> None:
        """List the tools of all servers that have announced a change."""
        changed = [alias for alias, health in self._health.items() if health.tools_changed and health.in_use]
        if not changed:
            return
        async with anyio.create_task_group() as tasks:
            for alias in changed:
                tasks.start_soon(self._relist, alias, self._health[alias])

    async def _relist(self, alias: str, health: Health) -> None:
        """The old tools stay when the new ones cannot be had: most of them will still be there."""
        if health.is_silent:
            return
        await self._wait_for_quiet(health)
        try:
            self._replace_tools(alias, await list_all_tools(self._clients[alias]))
        except McpError as error:
            log.warning(Message("not_listed_anew", {"alias": alias, "why": error}))

    async def _wait_for_quiet(self, health: Health) -> None:
        for _ in range(MOST_PAUSES):
            health.tools_changed = False
            await self._pause(QUIET_SECONDS)
            if not health.tools_changed:
                return

    def _replace_tools(self, alias: str, definitions: list[JSONObject]) -> None:
        self._tools[alias] = definitions
        self._rebuild()

    def with_news(self, result: JSONObject) -> JSONObject:
        """The result as it is, and after it what has become of servers since the last one."""
        messages = [message for health in self._health.values() for message in health.news]
        for health in self._health.values():
            health.news.clear()
        said = result_text(result) if messages else ""
        news = [str(message) for message in messages if str(message.values.get("why", "\0")) not in said]
        if not news:
            return result
        content = result.get("content")
        blocks = content if isinstance(content, list) else []
        return {**result, "content": [*blocks, note("; ".join(news))]}


def note(text: str) -> JSONObject:
    """A block that the model reads beside the tool's own; a text block would hide structured content."""
    said = f"(The application says: {text}.)"
    return {"type": "resource", "resource": {"uri": "host:news", "mimeType": "text/plain", "text": said}}

"""One question's way through the five files, with every step shown as it happens.

Nothing in the five is changed: model, registry and client are wrapped here, and each wrapper shows what
passes through it. What is shown as the name on the wire is what the client was really asked to send.

Import this module only after `target.enter`: `agent_loop`, `registry` and `stdio_client` are then the
target's own.
"""

from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass

from anyio.abc import TaskGroup

from agent_loop import MAX_STEPS, Model, Transcript, result_text, run_agent
from host.config import Configuration, ServerConfig
from host.confirm import Confirmation, person_at_terminal, title
from host.guarded import GuardedRegistry
from host.health import Health
from host.interrupts import ctrl_c_cancels
from host.resilience import WatchedClient
from host.screen import Screen
from host.servers import open_servers
from protocol import JSONObject
from stdio_client import StdioClient


@dataclass
class Call:
    """A call on its way from the model to a server."""

    model_name: str
    title: str = ""  # what a person calls the tool, where that is not its name
    is_sent: bool = False


call_on_its_way: ContextVar[Call | None] = ContextVar("call_on_its_way", default=None)  # one per task


async def take_turn(
    question: str,
    model: Model,
    configuration: Configuration,
    screen: Screen,
    max_steps: int | None,
    yes: bool = False,
) -> Transcript:
    """Open the servers, ask, close them. Raises: what the five files let out, and the model's HostError.

    `yes`: the person agrees beforehand to whatever a tool may change.
    """
    configs = configuration.servers
    health = {alias: Health(alias) for alias in configs}
    lazy = {alias: config.description for alias, config in configs.items() if config.lazy}
    eager = [alias for alias in configs if alias not in lazy]

    def make_client(alias: str, config: ServerConfig, tasks: TaskGroup) -> StdioClient:
        return ShownClient(alias, config, tasks, health[alias], screen)

    with ctrl_c_cancels():
        screen.starting(eager)
        async with open_servers(configs, make_client) as clients:
            confirmation = make_confirmation(configs, screen, yes)
            registry = ShownRegistry(clients, health, confirmation, lazy, screen=screen)
            # An entry that cannot be used is as down as a server that does not start, for the model too.
            registry.down.update({alias: str(reason) for alias, reason in configuration.bad.items()})
            await registry.refresh(eager)
            screen.servers(server_states(configuration, registry, screen), configuration.warnings)
            return await run_agent(question, ShownModel(model, screen), registry, max_steps or MAX_STEPS)


def make_confirmation(configs: Mapping[str, ServerConfig], screen: Screen, yes: bool) -> Confirmation:
    distrusted = [alias for alias, config in configs.items() if not config.trust]
    return Confirmation(person_at_terminal(screen), yes=yes, distrusted=distrusted)


def server_states(configuration: Configuration, registry: GuardedRegistry, screen: Screen) -> dict[str, str]:
    """alias -> what there is to say of it: how many tools, or why none."""
    counts = dict.fromkeys(configuration.servers, 0)
    for entry in registry.entries.values():
        counts[entry.alias] += 1
    states = {alias: screen.count("tools", count) for alias, count in counts.items()}
    states |= {alias: screen.say("lazy") for alias, config in configuration.servers.items() if config.lazy}
    down = registry.down | {alias: bad.text(screen.language) for alias, bad in configuration.bad.items()}
    states |= {alias: screen.say("down", why=why) for alias, why in down.items()}
    return states | dict.fromkeys(configuration.disabled, screen.say("disabled"))


class ShownModel:
    """The model, with each step announced before it is asked: a real one takes its time."""

    def __init__(self, model: Model, screen: Screen) -> None:
        self._model = model
        self._screen = screen
        self._step = 0
        if screen.is_live and hasattr(model, "on_text"):  # a real model: its text is shown while it arrives
            model.on_text = screen.piece

    async def reply(self, messages: list[JSONObject], tools: list[JSONObject]) -> JSONObject:
        self._step += 1
        self._screen.step(self._step)
        message = await self._model.reply(messages, tools)
        calls = message.get("tool_calls") or []
        if calls:
            self._screen.thought(str(message.get("content") or ""))
        for call in calls:
            arguments = call.get("arguments") or {}
            if not isinstance(arguments, dict):  # the loop answers such a call itself
                self._screen.call(call["name"], self._screen.say("bad_arguments"), arguments)
        return message


class ShownRegistry(GuardedRegistry):
    """The registry, with each result shown; a call that reached no client is shown too."""

    def __init__(
        self,
        clients: Mapping[str, StdioClient],
        health: Mapping[str, Health],
        confirmation: Confirmation,
        lazy: Mapping[str, str],
        *,
        screen: Screen,
    ) -> None:
        super().__init__(clients, health, confirmation, lazy)
        self._screen = screen

    async def call(self, model_name: str, arguments: JSONObject) -> JSONObject:
        call = Call(model_name, self._title(model_name))
        token = call_on_its_way.set(call)
        try:
            result = await super().call(model_name, arguments)
        finally:
            call_on_its_way.reset(token)
        if not call.is_sent:
            way = "connects" if self.is_catalogue(model_name) else "nothing_sent"
            self._screen.call(model_name, self._screen.say(way), arguments, call.title)
        self._screen.result(result_text(result), result.get("isError") is True)
        return result

    def _title(self, model_name: str) -> str:
        entry = self.entries.get(model_name)
        shown = title(entry.definition) if entry else ""
        return "" if entry and shown == entry.tool_name else shown


class ShownClient(WatchedClient):
    """The client, with each tool call shown as it is sent: the server's own name for it, and which server."""

    def __init__(
        self, alias: str, config: ServerConfig, tasks: TaskGroup, health: Health, screen: Screen
    ) -> None:
        super().__init__(alias, config, tasks, health)
        self._alias = alias
        self._screen = screen

    async def request(
        self, method: str, params: JSONObject | None = None, *, timeout: float | None = None
    ) -> JSONObject:
        call = call_on_its_way.get()
        if method == "tools/call" and params is not None and call is not None:
            call.is_sent = True
            way = f"{params.get('name')} @ {self._alias}"
            self._screen.call(call.model_name, way, params.get("arguments"), call.title)
        return await super().request(method, params, timeout=timeout)

"""The way of one call through all that the host puts around it, in the order in which it meets them.

Each guard stands in a file of its own and knows nothing of the others; here is the only place where their
order is decided. The model is answered in every case, by the server or by the guard that stopped the call.
"""

from collections.abc import Mapping

import anyio

from host.confirm import Confirmation
from host.health import Health
from host.lazy import LazyRegistry
from host.repeats import RepeatGuard
from host.resilience import Pause
from host.structure import with_data
from host.validate import Validation
from protocol import JSONObject
from stdio_client import StdioClient


class GuardedRegistry(LazyRegistry):
    """The registry of one turn, with everything that stands between the model and the servers."""

    def __init__(
        self,
        clients: Mapping[str, StdioClient],
        health: Mapping[str, Health],
        confirmation: Confirmation,
        lazy: Mapping[str, str] | None = None,
        pause: Pause = anyio.sleep,
    ) -> None:
        super().__init__(clients, health, lazy or {}, pause)
        self._confirmation = confirmation
        self._validation = Validation()
        self._repeats = RepeatGuard()

    async def call(self, model_name: str, arguments: JSONObject) -> JSONObject:
        result = self._repeats.refusal(model_name, arguments)
        if result is None:
            result = await self._run(model_name, arguments)
            self._repeats.note(model_name, arguments, result)
        await self.relist_changed()  # so that the model's next step knows the new tools
        return self.with_news(result)

    async def _run(self, model_name: str, arguments: JSONObject) -> JSONObject:
        if self.is_catalogue(model_name):
            return await self.connect_lazy(arguments)
        await self._make_entry_ready(model_name)
        entry = self.entries.get(model_name)  # only now: a server that came back has listed its tools anew
        if entry is None or entry.alias in self.down:
            return await super().call(model_name, arguments)  # which says so
        refusal = await self._confirmation.refusal(entry, arguments)
        if refusal is not None:
            return refusal
        result = await super().call(model_name, arguments)
        return with_data(self._validation.checked(model_name, entry.definition, result))

    async def _make_entry_ready(self, model_name: str) -> None:
        await self.relist_changed()
        entry = self.entries.get(model_name)
        if entry is not None:
            await self.make_ready(entry.alias)

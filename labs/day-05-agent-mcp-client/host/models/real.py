"""A model behind an API: implements `agent_loop.Model` with one of the two wire formats and one provider.

It keeps nothing of the conversation. Each reply is made from the whole of it: shaped, written, sent, read.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from host.models.answer import Answer
from host.models.provider import Patience, Provider, Reader
from host.models.shaping import Rules, Shaped, shape
from host.words import Message

if TYPE_CHECKING:
    from host.models import ModelSettings
    from protocol import JSONObject

log = logging.getLogger(__name__)


class Api(Protocol):
    """What the two wire formats have in common."""

    default_url: str
    rules: Rules

    def url(self, base: str) -> str:
        """Where requests go, for a base as people write it."""

    def headers(self, key: str | None) -> dict[str, str]: ...

    def body(self, messages: list[JSONObject], shaped: Shaped, options: JSONObject) -> JSONObject:
        """The request, but for the model's name."""

    def reader(self, answer: Answer) -> Reader: ...


class RealModel:
    """Set `on_text` to see the text while it arrives; `name` is what a person calls the model."""

    def __init__(self, api: Api, settings: ModelSettings, patience: Patience | None = None) -> None:
        base = settings.base_url or api.default_url
        self.name = f"{settings.name} @ {base}"
        self.on_text: Callable[[str], None] | None = None
        self._api = api
        self._settings = settings
        key = settings.api_key
        self._provider = Provider(base, api.url(base), api.headers(key), key, patience)
        self._said: set[str] = set()  # what the shaping did is the same at each step, and is said once

    async def reply(self, messages: list[JSONObject], tools: list[JSONObject]) -> JSONObject:
        """The next assistant message. Raises: ModelFailed, a sentence that a person can act on."""
        shaped = shape(tools, self._api.rules)
        self._say(shaped)
        body = {"model": self._settings.name, **self._api.body(messages, shaped, self._settings.options)}
        answer = await self._provider.ask(body, self._begin)
        return answer.message(messages, shaped)

    def _begin(self) -> tuple[Answer, Reader]:
        answer = Answer(self.on_text)
        return answer, self._api.reader(answer)

    def _say(self, shaped: Shaped) -> None:
        """A tool that the model never hears of is always worth a line; the rest is shown on request."""
        notes: list[Message] = shaped.left_out + (shaped.notes if self._settings.show_shaping else [])
        for note in notes:
            if str(note) not in self._said:
                self._said.add(str(note))
                log.warning(note)

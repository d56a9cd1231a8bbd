"""Who answers: the mock model, or the real one that `.env` names. What they share is `agent_loop.Model`.

The choice needs no target: who has configured nothing hears so before anything is asked or started.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

from host.models.mock import MockModel
from host.words import HostError, shown

if TYPE_CHECKING:  # only for the type checker: the student's code must not run before its time
    from agent_loop import Model

SETTINGS = ("MODEL_API", "MODEL_BASE_URL", "MODEL_NAME", "MODEL_API_KEY")
NEEDED = ("MODEL_API", "MODEL_NAME")  # a local server wants no key


@dataclass(frozen=True)
class ModelSettings:
    """What a real model needs to be reached."""

    name: str
    base_url: str | None  # None: the API's own
    api_key: str | None = field(repr=False)  # whoever prints the settings must not print the key


# MODEL_API -> what makes a model from the settings. A real API enters here, and nowhere else.
ADAPTERS: dict[str, Callable[[ModelSettings], Model]] = {}


class ModelNotConfigured(HostError):
    """Raised when no model can be made from what is configured; says what to write where."""


def choose_model(mock: bool, environ: Mapping[str, str], env_file: Path) -> Model:
    """The mock model, or the one that the environment and `env_file` describe. Raises: ModelNotConfigured."""
    if mock:
        return MockModel()
    settings = read_settings(environ, env_file)
    file = shown(env_file)
    if not any(settings.values()):
        raise ModelNotConfigured("no_model", file=file)
    if missing := [name for name in NEEDED if not settings[name]]:
        raise ModelNotConfigured("half_a_model", missing=", ".join(missing), file=file)
    api = settings["MODEL_API"]
    if api not in ADAPTERS:
        known = ", ".join(sorted(ADAPTERS)) or "-"
        raise ModelNotConfigured("unknown_api", api=api, known=known, file=file)
    base_url, key = settings["MODEL_BASE_URL"] or None, settings["MODEL_API_KEY"] or None
    return ADAPTERS[api](ModelSettings(settings["MODEL_NAME"], base_url, key))


def read_settings(environ: Mapping[str, str], env_file: Path) -> dict[str, str]:
    """Each of SETTINGS, empty when it is written nowhere; the environment goes before the file."""
    written = read_env_file(env_file)
    return {name: (environ.get(name) or written.get(name) or "").strip() for name in SETTINGS}


def read_env_file(env_file: Path) -> dict[str, str | None]:
    """What the file says; nothing when there is none. Raises: ModelNotConfigured, naming the line."""
    from dotenv import dotenv_values
    from dotenv.parser import parse_stream

    if not env_file.exists():
        return {}
    try:
        text = env_file.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise ModelNotConfigured("env_file_unreadable", file=shown(env_file), why=why) from error
    for statement in parse_stream(StringIO(text)):  # `dotenv_values` would only log it and go on without
        if statement.error:
            line = statement.original.line
            raise ModelNotConfigured("env_file_line", file=shown(env_file), line=line)
    return dotenv_values(stream=StringIO(text))

"""Who answers: the mock model, or the real one that `.env` names. What they share is `agent_loop.Model`.

The choice needs no target: who has configured nothing hears so before anything is asked or started.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from host.models.mock import MockModel
from host.words import HostError, shown

if TYPE_CHECKING:  # only for the type checker: the student's code must not run before its time
    from agent_loop import Model
    from protocol import JSONObject

SETTINGS = ("MODEL_API", "MODEL_BASE_URL", "MODEL_NAME", "MODEL_API_KEY", "MODEL_OPTIONS", "SHOW_SHAPING")
NEEDED = ("MODEL_API", "MODEL_NAME")  # a local server wants no key
RESERVED = ("model", "messages", "system", "tools", "stream")  # fields of a request that are ours


@dataclass(frozen=True)
class ModelSettings:
    """What a real model needs to be reached."""

    name: str
    base_url: str | None  # None: the API's own
    api_key: str | None = field(repr=False)  # whoever prints the settings must not print the key
    options: JSONObject = field(default_factory=dict)  # further fields of each request
    show_shaping: bool = False  # say what the tools had to lose on their way to the provider


def openai(settings: ModelSettings) -> Model:
    from host.models.openai_chat import OpenAIChat  # imported late: the mock model needs no HTTP
    from host.models.real import RealModel

    return RealModel(OpenAIChat(), settings)


def anthropic(settings: ModelSettings) -> Model:
    from host.models.anthropic_messages import AnthropicMessages
    from host.models.real import RealModel

    return RealModel(AnthropicMessages(), settings)


# MODEL_API -> what makes a model from the settings. A real API enters here, and nowhere else.
ADAPTERS: dict[str, Callable[[ModelSettings], Model]] = {"openai": openai, "anthropic": anthropic}


class ModelNotConfigured(HostError):
    """Raised when no model can be made from what is configured; says what to write where."""


def choose_model(mock: bool, environ: Mapping[str, str], env_file: Path) -> Model:
    """The mock model, or the one that the environment and `env_file` describe. Raises: ModelNotConfigured."""
    if mock:
        return MockModel()
    settings = read_settings(environ, env_file)
    file = shown(env_file)
    if not any(settings[name] for name in SETTINGS if name.startswith("MODEL_")):
        raise ModelNotConfigured("no_model", file=file)
    if missing := [name for name in NEEDED if not settings[name]]:
        raise ModelNotConfigured("half_a_model", missing=", ".join(missing), file=file)
    api = settings["MODEL_API"].lower()
    if api not in ADAPTERS:
        known = ", ".join(sorted(ADAPTERS)) or "-"
        raise ModelNotConfigured("unknown_api", api=api, known=known, file=file)
    return ADAPTERS[api](check_settings(settings, file))


def check_settings(settings: Mapping[str, str], file: str) -> ModelSettings:
    """What has been written, in its types. Raises: ModelNotConfigured, naming the variable and never its value."""
    base_url, key = settings["MODEL_BASE_URL"] or None, settings["MODEL_API_KEY"] or None
    if base_url is not None and not is_base_url(base_url):
        raise ModelNotConfigured("bad_base_url", file=file)
    if key is not None and not (key.isascii() and key.isprintable() and " " not in key):
        raise ModelNotConfigured("bad_key", file=file)  # it would not fit into a header, and the error would show it
    options = read_options(settings["MODEL_OPTIONS"] or "{}")
    if options is None:
        raise ModelNotConfigured("bad_options", file=file, reserved=", ".join(RESERVED))
    show_shaping = settings["SHOW_SHAPING"] not in ("", "0")
    return ModelSettings(settings["MODEL_NAME"], base_url, key, options, show_shaping)


def is_base_url(text: str) -> bool:
    """Whether it is an address without anything secret in it: it will be shown."""
    try:
        url = urlsplit(text)
        has_host = url.scheme in ("http", "https") and bool(url.hostname) and url.port != 0
    except ValueError:  # a port that is no number, half an IPv6 address
        return False
    is_plain = "@" not in url.netloc and not set(text) & set("?#\\ ") and text.isprintable()
    return has_host and is_plain


def read_options(text: str) -> JSONObject | None:
    """The fields in MODEL_OPTIONS; None when they cannot be used."""
    try:
        options = json.loads(text)
        json.dumps(options, allow_nan=False)
    except (ValueError, RecursionError):
        return None
    return options if isinstance(options, dict) and not set(RESERVED) & set(options) else None


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

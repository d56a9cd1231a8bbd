"""Which servers to start: the `mcpServers` file that people already have, or the two mock servers.

    {"mcpServers": {"notes": {"command": "python", "args": ["notes.py"], "env": {"TOKEN": "${TOKEN:-none}"},
                              "cwd": "servers", "timeout": 30, "disabled": false,
                              "lazy": false, "description": "for the model", "trust": true}}}

Two kinds of trouble are kept apart. What leaves the file as a whole in doubt (it is no JSON, an alias stands
there twice or cannot be a prefix) is a ConfigError, and nothing starts: a guess would start the wrong
servers. What is wrong inside one entry goes to `bad` with the field's name, and the other servers start.
"""

import json
import os
import re
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from host.words import HostError, Message

LAB = Path(__file__).resolve().parents[1]
MOCK_SERVERS = {"notes": LAB / "servers" / "notes.py", "tickets": LAB / "servers" / "tickets.py"}

# An alias is the prefix of its tools' names. Model APIs allow letters, digits, "_" and "-", and 64 characters
# in all: beside "mcp__", an alias of 32 and "__" stay 25 for the tool's own name. ASCII, so that no letter
# has a twin.
MAX_ALIAS_LENGTH = 32
ALIAS = re.compile(rf"[A-Za-z0-9_-]{{1,{MAX_ALIAS_LENGTH}}}")

MAX_TIMEOUT = 86_400  # seconds; a day is longer than anyone waits, and what is more is a mistake in the unit

# `$${` stands for the two characters themselves, for a shell script among the arguments.
VARIABLE = re.compile(r"\$\$\{|\$\{([^}]*)(\}?)")
VARIABLE_NAME = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?", re.DOTALL)

KNOWN_FIELDS = {
    *("command", "args", "env", "cwd", "timeout", "disabled", "type", "transport"),
    *("lazy", "description", "trust"),
}

# What a server inherits. Not everything: our environment may hold keys that are none of its business. Not
# nothing: a server without PATH finds neither node nor git, and one without HOME or TEMP has no place for its
# cache. The first two groups are what the official client lets through on POSIX and on Windows (without
# SYSTEMROOT, no sockets there). No proxies: their address may hold a password; who needs one writes it into
# `env`.
INHERITED = {
    *("HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"),
    *("APPDATA", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATHEXT", "PROCESSOR_ARCHITECTURE", "SYSTEMDRIVE"),
    *("SYSTEMROOT", "TEMP", "USERNAME", "USERPROFILE"),
    *("COMSPEC", "PROGRAMFILES", "TMP", "WINDIR"),  # npx and its like are scripts that cmd.exe runs
    *("LANG", "LANGUAGE", "TZ", "TMPDIR"),  # the language, the clock, where macOS keeps temporary files
    *("VIRTUAL_ENV", "LD_LIBRARY_PATH"),  # the Python that runs us can be found again, and starts
    *("PYTHONUTF8", "PYTHONDONTWRITEBYTECODE"),  # who sets these means every Python
}
INHERITED_PREFIX = "LC_"  # the rest of the language


@dataclass(frozen=True)
class ServerConfig:
    """How to start one server, with nothing left to look up."""

    command: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict, repr=False)  # all of it; not shown, it may hold keys
    cwd: str | None = None  # absolute; None: where we are ourselves
    timeout: float | None = None  # seconds for the start, and for each request; None: the client's own
    lazy: bool = False  # started only when the model asks for it
    description: str = ""  # what the model is told of a lazy one
    trust: bool = True  # whether its claim that a tool only reads is believed; no claim of it is worth more


@dataclass(frozen=True)
class Configuration:
    """What one file says."""

    servers: dict[str, ServerConfig]  # alias -> how to start it, in the order of the file
    bad: dict[str, Message] = field(default_factory=dict)  # alias -> why its entry cannot be used
    disabled: tuple[str, ...] = ()  # aliases
    warnings: tuple[Message, ...] = ()


class ConfigError(HostError):
    """Raised when the file as a whole cannot be used."""


class BadEntry(HostError):
    """Raised when one entry cannot be used; `load_config` notes it in `bad`."""


class JSONTable(dict[str, Any]):
    """A JSON object that remembers which keys were written twice; `json` alone lets the last one win."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        counts = Counter(name for name, _ in pairs)
        self.duplicates = [name for name, count in counts.items() if count > 1]


def load_config(file: Path | None, environ: Mapping[str, str] = os.environ) -> Configuration:
    """The servers of this file, or the two mock servers when there is none. Raises: ConfigError."""
    if file is None:
        return mock_configuration(environ)
    servers: dict[str, ServerConfig] = {}
    bad: dict[str, Message] = {}
    entries = read_entries(file)
    for alias, entry in entries.items():
        try:
            check_entry(entry)
            if not is_disabled(entry):
                servers[alias] = read_server(entry, file.resolve().parent, environ)
        except BadEntry as error:
            bad[alias] = error.message
    disabled = tuple(alias for alias in entries if alias not in servers and alias not in bad)
    return Configuration(servers, bad, disabled, tuple(unknown_fields(entries)))


def mock_configuration(environ: Mapping[str, str]) -> Configuration:
    env = base_environment(environ)
    servers = {alias: ServerConfig(sys.executable, (str(path),), env) for alias, path in MOCK_SERVERS.items()}
    return Configuration(servers)


def base_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The part of our own environment that every server gets."""
    return {
        name: value
        for name, value in environ.items()
        if (name in INHERITED or name.startswith(INHERITED_PREFIX))
        and not value.startswith("()")  # a function that an old bash exports is code, not a value
    }


# The file


def read_entries(file: Path) -> JSONTable:
    """alias -> its entry, unread. Raises: ConfigError."""
    document = parse_json(file, read_text(file))
    if isinstance(document, JSONTable) and "mcpServers" in document.duplicates:
        raise ConfigError("duplicate_mcp_servers", file=file)
    entries = document.get("mcpServers") if isinstance(document, JSONTable) else None
    if not isinstance(entries, JSONTable):
        raise ConfigError("no_servers_object", file=file)
    for alias in entries.duplicates:
        raise ConfigError("duplicate_alias", file=file, alias=alias)
    for alias in entries:
        if not ALIAS.fullmatch(alias):
            raise ConfigError("bad_alias", file=file, alias=alias, most=MAX_ALIAS_LENGTH)
    return entries


def read_text(file: Path) -> str:
    """The file's text; a byte order mark, which Windows editors write, is passed over."""
    if file.is_dir():  # Windows would call this "permission denied"
        raise ConfigError("file_is_folder", file=file)
    try:
        data = file.read_bytes()
        return data.decode("utf-8-sig")
    except FileNotFoundError:
        raise ConfigError("file_missing", file=file) from None
    except OSError as error:
        raise ConfigError("file_unreadable", file=file, why=error.strerror) from error
    except UnicodeDecodeError as error:
        raise ConfigError("not_utf8", file=file, line=data.count(b"\n", 0, error.start) + 1) from error


def parse_json(file: Path, text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=JSONTable)
    except json.JSONDecodeError as error:
        place = {"line": error.lineno, "column": error.colno}
        raise ConfigError("broken_json", file=file, why=error.msg, **place) from error
    except (ValueError, RecursionError) as error:  # a number of 5000 digits, lists in lists in ...
        raise ConfigError("unreadable_json", file=file, why=error) from error


# One entry. A value is never repeated in a message: it may be a key.


def check_entry(entry: Any) -> None:
    """Raises: BadEntry when it is no object, holds a field twice, or asks for another transport."""
    if not isinstance(entry, JSONTable):
        raise BadEntry("entry_not_object", found=json_type(entry))
    for name in entry.duplicates:
        raise BadEntry("duplicate_field", field=name)
    for name in ("type", "transport"):
        if entry.get(name, "stdio") != "stdio":
            raise BadEntry("only_stdio", field=name)
    if "url" in entry and "command" not in entry:
        raise BadEntry("only_stdio", field="url")


def is_disabled(entry: JSONTable) -> bool:
    """Whether it is not to be started; then its other fields do not matter."""
    return read_flag("disabled", entry.get("disabled", False))


def read_server(entry: JSONTable, folder: Path, environ: Mapping[str, str]) -> ServerConfig:
    """Raises: BadEntry, which names the field."""
    if "command" not in entry:
        raise BadEntry("missing_field", field="command")
    command = read_string("command", entry["command"], environ)
    if not command.strip():
        raise BadEntry("empty_field", field="command")
    args = read_list("args", entry.get("args", []), environ)
    env = base_environment(environ) | read_env(entry.get("env", JSONTable([])), environ)
    cwd = read_cwd(entry["cwd"], folder, environ) if "cwd" in entry else None
    timeout = read_timeout(entry["timeout"]) if "timeout" in entry else None
    lazy, trust = read_flag("lazy", entry.get("lazy", False)), read_flag("trust", entry.get("trust", True))
    description = read_string("description", entry.get("description", ""), environ)
    return ServerConfig(command, args, env, cwd, timeout, lazy, description, trust)


def read_flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise BadEntry("wrong_type", field=name, wanted="true/false", found=json_type(value))
    return value


def read_string(name: str, value: Any, environ: Mapping[str, str]) -> str:
    if not isinstance(value, str):
        raise BadEntry("wrong_type", field=name, wanted="string", found=json_type(value))
    return expand_variables(name, value, environ)


def read_list(name: str, value: Any, environ: Mapping[str, str]) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise BadEntry("wrong_type", field=name, wanted="list", found=json_type(value))
    return tuple(read_string(f"{name}[{number}]", item, environ) for number, item in enumerate(value))


def read_env(value: Any, environ: Mapping[str, str]) -> dict[str, str]:
    """The entry's own variables, to be laid over the base."""
    if not isinstance(value, JSONTable):
        raise BadEntry("wrong_type", field="env", wanted="object", found=json_type(value))
    for name in value.duplicates:
        raise BadEntry("duplicate_field", field=f"env.{name}")
    env = {name: read_string(f"env.{name}", item, environ) for name, item in value.items()}
    if os.name == "nt":  # there "Path" is "PATH", and the server must not get both
        env = {name.upper(): item for name, item in env.items()}
    return env


def read_cwd(value: Any, folder: Path, environ: Mapping[str, str]) -> str:
    """The working directory; a relative one starts at the folder of the file, wherever we are ourselves."""
    cwd = folder / read_string("cwd", value, environ)
    if not cwd.is_dir():  # the system's own error would sound as if the command were missing
        raise BadEntry("no_such_folder", field="cwd", folder=cwd)
    return str(cwd)


def read_timeout(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadEntry("wrong_type", field="timeout", wanted="number", found=json_type(value))
    if not 0 < value <= MAX_TIMEOUT:  # false for NaN as well
        raise BadEntry("bad_timeout", field="timeout", most=MAX_TIMEOUT)
    return float(value)


def expand_variables(name: str, text: str, environ: Mapping[str, str]) -> str:
    """Replace `${VAR}` and `${VAR:-default}` as a shell does. Raises: BadEntry, naming the field `name`."""

    def value(found: re.Match[str]) -> str:
        if found[0] == "$${":
            return "${"
        variable = VARIABLE_NAME.fullmatch(found[1])
        if variable is None or not found[2] or "${" in found[1]:
            raise BadEntry("bad_variable", field=name)
        if variable[2] is not None:  # as in a shell, an empty variable takes the default too
            return environ.get(variable[1]) or variable[2]
        if variable[1] not in environ:
            raise BadEntry("unset_variable", field=name, name=variable[1])
        return environ[variable[1]]

    return VARIABLE.sub(value, text)


def unknown_fields(entries: JSONTable) -> list[Message]:
    return [
        Message("unknown_field", {"alias": alias, "field": name})
        for alias, entry in entries.items()
        if isinstance(entry, JSONTable)
        for name in entry
        if name not in KNOWN_FIELDS
    ]


def json_type(value: Any) -> str:
    """What JSON calls the type of this value."""
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    names = {str: "string", int: "number", float: "number", list: "list", JSONTable: "object"}
    return names[type(value)]

"""The `mcpServers` file: what it may say, what makes it unusable as a whole, and what costs one entry only.

Each test writes a file of its own and reads it; nothing is started. Errors are compared by their key and
values, and the sentence itself only where it must name something: a file, a line, an alias, a field.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from kit import LAB

sys.path.insert(0, str(LAB))

from host.config import (
    MAX_ALIAS_LENGTH,
    ConfigError,
    Configuration,
    base_environment,
    load_config,
)
from host.words import LANGUAGES, WORDS, choose_language

ENVIRON = {"PATH": "/bin", "HOME": "/home/me", "SECRET": "s3cret", "EMPTY": "", "NAME": "Ana"}


def write(folder: Path, document: Any) -> Path:
    """A configuration file; a text or bytes are written as they are, anything else as JSON."""
    file = folder / "servers.json"
    data = document if isinstance(document, bytes | str) else json.dumps(document)
    file.write_bytes(data if isinstance(data, bytes) else data.encode())
    return file


def load(folder: Path, document: Any) -> Configuration:
    return load_config(write(folder, document), ENVIRON)


def load_entry(folder: Path, entry: Any) -> Configuration:
    """The configuration of one server `one` with this entry, and a good one beside it."""
    return load(folder, {"mcpServers": {"one": entry, "good": {"command": "python"}}})


# What a good file gives


def test_an_entry_with_every_field_is_taken_as_it_is_written(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    entry = {
        "command": "python",
        "args": ["a b.py", "--flag"],
        "env": {"TOKEN": "t"},
        "cwd": "data",
        "timeout": 2.5,
        "disabled": False,
    }
    server = load_entry(tmp_path, entry).servers["one"]
    assert (server.command, server.args, server.timeout) == ("python", ("a b.py", "--flag"), 2.5)
    assert server.cwd == str(tmp_path / "data")
    assert server.env == {"PATH": "/bin", "HOME": "/home/me", "TOKEN": "t"}


def test_an_entry_with_only_a_command_gets_the_usual_for_all_else(tmp_path: Path) -> None:
    server = load_entry(tmp_path, {"command": "python"}).servers["one"]
    assert (server.args, server.cwd, server.timeout) == ((), None, None)
    assert server.env == {"PATH": "/bin", "HOME": "/home/me"}


def test_the_servers_come_in_the_order_of_the_file(tmp_path: Path) -> None:
    aliases = ["zeta", "alpha", "mid"]
    document = {"mcpServers": {alias: {"command": "x"} for alias in aliases}}
    assert list(load(tmp_path, document).servers) == aliases


def test_without_a_file_the_two_mock_servers_are_the_configuration() -> None:
    servers = load_config(None, ENVIRON).servers
    assert list(servers) == ["notes", "tickets"]
    for alias, server in servers.items():
        assert server.command == sys.executable
        assert Path(server.args[0]).name == f"{alias}.py"


def test_a_file_with_no_servers_is_a_configuration_with_none(tmp_path: Path) -> None:
    assert load(tmp_path, {"mcpServers": {}}).servers == {}


def test_what_other_programs_keep_in_the_same_file_does_not_matter(tmp_path: Path) -> None:
    document = {"theme": "dark", "mcpServers": {"one": {"command": "x"}}}
    assert list(load(tmp_path, document).servers) == ["one"]


def test_a_byte_order_mark_is_passed_over(tmp_path: Path) -> None:
    data = b"\xef\xbb\xbf" + json.dumps({"mcpServers": {"one": {"command": "x"}}}).encode()
    assert list(load(tmp_path, data).servers) == ["one"]


def test_a_disabled_server_is_named_and_its_other_fields_do_not_matter(tmp_path: Path) -> None:
    found = load_entry(tmp_path, {"disabled": True, "command": "${NOT_SET}", "timeout": -1})
    assert found.disabled == ("one",)
    assert list(found.servers) == ["good"] and not found.bad


def test_an_unknown_field_is_a_warning_and_the_server_starts(tmp_path: Path) -> None:
    found = load_entry(tmp_path, {"command": "x", "type": "stdio", "autoApprove": []})
    assert "one" in found.servers
    [warning] = found.warnings
    assert warning.values == {"alias": "one", "field": "autoApprove"}


def test_a_key_never_stands_in_what_is_printed_of_a_server(tmp_path: Path) -> None:
    server = load_entry(tmp_path, {"command": "x", "env": {"TOKEN": "${SECRET}"}}).servers["one"]
    assert server.env["TOKEN"] == "s3cret"
    assert "s3cret" not in repr(server)


# The environment of a server


@pytest.mark.parametrize(
    ("name", "value", "inherited", "reason"),
    [
        ("PATH", "/bin", True, "without it no program is found"),
        ("HOME", "/home/me", True, "launchers keep their cache there"),
        ("SYSTEMROOT", "C:\\Windows", True, "without it Windows opens no socket"),
        ("LANG", "zh_CN.UTF-8", True, "the language of the server's messages"),
        ("LC_CTYPE", "C.UTF-8", True, "all LC_ variables are about language"),
        ("VIRTUAL_ENV", "/x/.venv", True, "a Python started by name is then the same one"),
        ("OPENAI_API_KEY", "sk-1", False, "a key that is none of the server's business"),
        ("MODEL_API_KEY", "sk-2", False, "nor is ours"),
        ("HTTPS_PROXY", "http://u:p@h", False, "an address may hold a password"),
        ("PYTHONPATH", "/kit", False, "our modules are not the server's"),
        ("PATHOLOGY", "x", False, "only the whole name counts"),
        ("SHELL", "() { :; }", False, "an exported function is code"),
    ],
)
def test_a_server_inherits_what_it_needs_and_no_more(
    name: str, value: str, inherited: bool, reason: str
) -> None:
    assert (name in base_environment({name: value})) is inherited, reason


def test_an_env_is_laid_over_the_base_and_does_not_hide_it(tmp_path: Path) -> None:
    env = load_entry(tmp_path, {"command": "x", "env": {"HOME": "/else", "MORE": "1"}}).servers["one"].env
    assert env == {"PATH": "/bin", "HOME": "/else", "MORE": "1"}


# Variables


@pytest.mark.parametrize(
    ("text", "value", "reason"),
    [
        ("${NAME}", "Ana", "the plain form"),
        ("a${NAME}b${NAME}", "aAnabAna", "anywhere, and more than once"),
        ("${NAME:-x}", "Ana", "a default is not needed when it is set"),
        ("${NONE:-x}", "x", "a default"),
        ("${NONE:-}", "", "an empty default"),
        ("${NONE:-a:-b c}", "a:-b c", "the default goes on to the brace"),
        ("${EMPTY}", "", "set, though to nothing"),
        ("${EMPTY:-x}", "x", "as in a shell, :- is for empty ones too"),
        ("$NAME $ {NAME} 5$", "$NAME $ {NAME} 5$", "nothing but ${ starts a variable"),
        ("$${NAME}", "${NAME}", "the way to write the characters themselves"),
        ("${NAME}$${NAME}", "Ana${NAME}", "both in one text"),
    ],
)
def test_variables_are_expanded_as_in_a_shell(tmp_path: Path, text: str, value: str, reason: str) -> None:
    server = load_entry(tmp_path, {"command": "x", "args": [text]}).servers["one"]
    assert server.args == (value,), reason


def test_variables_are_expanded_in_command_args_env_and_cwd(tmp_path: Path) -> None:
    (tmp_path / "Ana").mkdir()
    entry = {"command": "${NAME}", "args": ["${NAME}"], "env": {"X": "${NAME}"}, "cwd": "${NAME}"}
    server = load_entry(tmp_path, entry).servers["one"]
    assert (server.command, server.args, server.env["X"]) == ("Ana", ("Ana",), "Ana")
    assert server.cwd == str(tmp_path / "Ana")


# One bad entry


@pytest.mark.parametrize(
    ("entry", "key", "field", "reason"),
    [
        (None, "entry_not_object", None, "null"),
        ("python x.py", "entry_not_object", None, "a command line is no entry"),
        ([], "entry_not_object", None, "nor is a list"),
        ({}, "missing_field", "command", "nothing to start"),
        ({"command": 3}, "wrong_type", "command", "a number"),
        ({"command": None}, "wrong_type", "command", "null"),
        ({"command": ["python", "x.py"]}, "wrong_type", "command", "arguments have their own field"),
        ({"command": " "}, "empty_field", "command", "blank"),
        ({"command": "x", "args": "-v"}, "wrong_type", "args", "a string, which is also a sequence"),
        ({"command": "x", "args": ["-p", 80]}, "wrong_type", "args[1]", "the place in the list is named"),
        ({"command": "x", "args": None}, "wrong_type", "args", "null is not the same as missing"),
        ({"command": "x", "env": ["A=1"]}, "wrong_type", "env", "not an object"),
        ({"command": "x", "env": {"PORT": 80}}, "wrong_type", "env.PORT", "a variable is text"),
        ({"command": "x", "env": {"ON": True}}, "wrong_type", "env.ON", "also this one"),
        ({"command": "x", "cwd": 1}, "wrong_type", "cwd", "a number"),
        ({"command": "x", "cwd": "nowhere"}, "no_such_folder", "cwd", "the start itself would blame x"),
        ({"command": "x", "timeout": "30"}, "wrong_type", "timeout", "a string"),
        ({"command": "x", "timeout": True}, "wrong_type", "timeout", "true is an int to Python, not here"),
        ({"command": "x", "timeout": 0}, "bad_timeout", "timeout", "no time at all"),
        ({"command": "x", "timeout": -1}, "bad_timeout", "timeout", "less than none"),
        ({"command": "x", "timeout": 10**400}, "bad_timeout", "timeout", "more than a float can hold"),
        ({"command": "x", "timeout": float("inf")}, "bad_timeout", "timeout", "for ever"),
        ({"command": "x", "timeout": float("nan")}, "bad_timeout", "timeout", "compares as nothing"),
        ({"command": "x", "disabled": "no"}, "wrong_type", "disabled", "a string would count as yes"),
        ({"command": "x", "type": "http"}, "only_stdio", "type", "another transport"),
        ({"url": "https://x.example/mcp"}, "only_stdio", "url", "another transport, as most files write it"),
        ({"command": "${NONE}"}, "unset_variable", "command", "would arrive as it stands"),
        ({"command": "x", "args": ["a", "${NONE}"]}, "unset_variable", "args[1]", "the place is named"),
        ({"command": "x", "env": {"K": "${NONE}"}}, "unset_variable", "env.K", "the variable's own name too"),
        ({"command": "x", "cwd": "${NONE}"}, "unset_variable", "cwd", "before the folder is looked for"),
        ({"command": "x", "args": ["${A B}"]}, "bad_variable", "args[0]", "no name of a variable"),
        ({"command": "x", "args": ["${}"]}, "bad_variable", "args[0]", "no name at all"),
        ({"command": "x", "args": ["${NAME"]}, "bad_variable", "args[0]", "the brace is not closed"),
        ({"command": "x", "args": ["${N:-${NAME}}"]}, "bad_variable", "args[0]", "a variable in a default"),
        ({"command": "x", "args": ["${NAME:x}"]}, "bad_variable", "args[0]", "half a default"),
    ],
)
def test_a_bad_entry_is_told_by_its_field_and_the_others_start(
    tmp_path: Path, entry: Any, key: str, field: str | None, reason: str
) -> None:
    found = load_entry(tmp_path, entry)
    assert found.bad["one"].key == key, reason
    assert found.bad["one"].values.get("field") == field, reason
    assert list(found.servers) == ["good"]


def test_an_unset_variable_is_told_by_its_name(tmp_path: Path) -> None:
    reason = str(load_entry(tmp_path, {"command": "x", "env": {"KEY": "${API_KEY}"}}).bad["one"])
    assert "env.KEY" in reason and "API_KEY" in reason and "${API_KEY:-default}" in reason


def test_a_bad_value_is_never_repeated_because_it_may_be_a_key(tmp_path: Path) -> None:
    found = load_entry(tmp_path, {"command": "x", "env": {"KEY": ["s3cret"]}})
    assert "s3cret" not in str(found.bad["one"])


@pytest.mark.parametrize(
    ("entry", "field"),
    [
        ('{"command": "a", "command": "b"}', "command"),
        ('{"command": "a", "env": {"X": "1", "X": "2"}}', "env.X"),
        ('{"command": "a", "disabled": true, "disabled": false}', "disabled"),
    ],
)
def test_a_field_that_stands_twice_makes_its_entry_bad(tmp_path: Path, entry: str, field: str) -> None:
    found = load(tmp_path, f'{{"mcpServers": {{"one": {entry}, "good": {{"command": "x"}}}}}}')
    assert (found.bad["one"].key, found.bad["one"].values["field"]) == ("duplicate_field", field)
    assert list(found.servers) == ["good"]


# A file that cannot be used


@pytest.mark.parametrize(
    ("document", "key", "reason"),
    [
        ('{"mcpServers": {"a": {"command": "x"}, "a": {}}}', "duplicate_alias", "the last would win"),
        ('{"mcpServers": {}, "mcpServers": {}}', "duplicate_mcp_servers", "a set of servers would be lost"),
        ('{"mcpServers": {"": {"command": "x"}}}', "bad_alias", "no prefix at all"),
        ('{"mcpServers": {"my notes": {"command": "x"}}}', "bad_alias", "a space"),
        ('{"mcpServers": {"a.b": {"command": "x"}}}', "bad_alias", "a dot: model APIs refuse it"),
        ('{"mcpServers": {"笔记": {"command": "x"}}}', "bad_alias", "not ASCII"),
        ('{"mcpServers": {"a\\n": {}}}', "bad_alias", "a newline at the end, where $ would match"),
        (f'{{"mcpServers": {{"{"a" * 33}": {{}}}}}}', "bad_alias", "no room for the tool's name"),
        ('{"servers": {}}', "no_servers_object", "another program's word for it"),
        ('{"mcpServers": []}', "no_servers_object", "a list"),
        ("[]", "no_servers_object", "no object at all"),
        ("null", "no_servers_object", "nor this"),
        ("", "broken_json", "empty"),
        ("[" * 100_000, "unreadable_json", "nested beyond reason"),
        ('{"mcpServers": ' + "9" * 5000 + "}", "unreadable_json", "a number of 5000 digits"),
        (b'{"mcpServers": {"\xff": {}}}', "not_utf8", "bytes of another encoding"),
        ('{"mcpServers": {}}'.encode("utf-16"), "not_utf8", "what a Windows shell writes with >"),
    ],
)
def test_a_file_in_doubt_is_an_error_at_start(tmp_path: Path, document: Any, key: str, reason: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, document)
    assert caught.value.message.key == key, reason
    assert "servers.json" in str(caught.value)


@pytest.mark.parametrize("alias", ["a", "A-1", "_", "a__b", "my-notes_2", "a" * MAX_ALIAS_LENGTH])
def test_an_alias_may_be_whatever_a_model_api_takes_as_part_of_a_name(tmp_path: Path, alias: str) -> None:
    assert list(load(tmp_path, {"mcpServers": {alias: {"command": "x"}}}).servers) == [alias]


def test_an_alias_that_is_refused_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"'my notes'"):
        load(tmp_path, {"mcpServers": {"my notes": {"command": "x"}}})


def test_broken_json_gives_line_and_column(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"servers\.json, line 3, column 5") as caught:
        load(tmp_path, '{\n  "mcpServers": {\n    oops\n  }\n}')
    assert caught.value.message.values["column"] == 5


def test_bytes_that_are_no_utf8_give_their_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="line 2"):
        load(tmp_path, b'{"mcpServers":\n {"\xe9": {}}}')


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nothing\.json"):
        load_config(tmp_path / "nothing.json", ENVIRON)


def test_a_folder_in_place_of_a_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is a folder"):
        load_config(tmp_path, ENVIRON)


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may read all; Windows has no modes")
def test_a_file_that_may_not_be_read_is_named(tmp_path: Path) -> None:
    file = write(tmp_path, {"mcpServers": {}})
    file.chmod(0)
    with pytest.raises(ConfigError, match=r"servers\.json"):
        load_config(file, ENVIRON)


# The words


def test_every_sentence_has_the_same_places_in_both_languages() -> None:
    from string import Formatter

    for key, columns in WORDS.items():
        assert len(columns) == len(LANGUAGES), key
        places = [sorted(name for _, name, _, _ in Formatter().parse(text) if name) for text in columns]
        assert places[0] == places[1], key


@pytest.mark.parametrize(
    ("environ", "language", "reason"),
    [
        ({"LANG": "zh_CN.UTF-8"}, "zh", "the locale"),
        ({"LANG": "de_DE.UTF-8"}, "en", "a language we do not have"),
        ({"LC_ALL": "en_US.UTF-8", "LANG": "zh_CN.UTF-8"}, "en", "LC_ALL goes before LANG"),
        ({"LAB_LANG": "zh", "LC_ALL": "en_US.UTF-8"}, "zh", "LAB_LANG goes before all"),
        ({"LC_ALL": "", "LANG": "zh_TW"}, "zh", "an empty variable is an unset one"),
    ],
)
def test_the_language_is_chosen_by_the_first_variable_that_is_set(
    environ: dict[str, str], language: str, reason: str
) -> None:
    assert choose_language(environ) == language, reason

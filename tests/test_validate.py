"""structuredContent against the outputSchema of its tool: what fits, what does not, broken schemas."""

from __future__ import annotations

import logging
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from host_world import Server, opened, tool
from kit import LAB, SOLUTION

from agent_loop import result_text
from host.validate import MAX_DEPTH, Validation, is_deeper

MATCHES = {
    "type": "object",
    "properties": {
        "matches": {"type": "array", "items": {"type": "object", "properties": {"id": {"type": "string"}}}}
    },
    "required": ["matches"],
}
TEXT = [{"type": "text", "text": "as text"}]


def checked(schema: Any, data: Any, **more: Any) -> dict[str, Any]:
    result = {"content": TEXT, "structuredContent": data, **more}
    return Validation().checked("t", {"name": "t", "outputSchema": schema}, result)


def nested(depth: int) -> Any:
    value: Any = {}
    for _ in range(depth):
        value = {"x": value}
    return value


@pytest.mark.parametrize(
    ("schema", "data", "reason"),
    [
        (MATCHES, {"matches": []}, "it fits"),
        (MATCHES, {"matches": [{"id": "T-1", "more": 1}]}, "what the schema does not name may be there"),
        ({"type": "array"}, [1, 2], "any JSON value may be structured content"),
        ({"type": "null"}, None, "null too"),
        (True, {"any": "thing"}, "a schema may be true"),
        ({"$ref": "https://json-schema.org/draft/2020-12/schema"}, {"type": "object"}, "JSON Schema's own"),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"type": "integer"}}}, 4, "a reference into itself"),
    ],
)
def test_a_result_that_fits_goes_on_as_it_came(schema: Any, data: Any, reason: str) -> None:
    assert checked(schema, data) == {"content": TEXT, "structuredContent": data}, reason


@pytest.mark.parametrize(
    ("schema", "data", "said", "reason"),
    [
        (MATCHES, {"matches": [{"id": 5}]}, "at $.matches[0].id: 5 is not of type 'string'", "where, what"),
        (MATCHES, {}, "at $: 'matches' is a required property", "something is missing"),
        (MATCHES, None, "at $: None is not of type 'object'", "null"),
        (
            {"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"type": "string"}]},
            [5],
            "at $[0]: 5 is not of type 'string'",
            "draft 7 says so in its own words",
        ),
        ({"prefixItems": [{"type": "string"}]}, [5], "at $[0]", "2020-12 unless $schema says otherwise"),
        ({"properties": {"x": {"$ref": "#"}}}, nested(MAX_DEPTH), "nested more than", "deep"),
    ],
)
def test_a_result_that_does_not_fit_becomes_an_error_that_says_where(
    schema: Any, data: Any, said: str, reason: str
) -> None:
    result = checked(schema, data)
    assert result["isError"] is True, reason
    assert said in result_text(result), reason
    assert "the tool has run" in result_text(result), "or the model would run it again"
    assert "as text" not in result_text(result), "the model sees none of it"


def test_only_the_first_errors_are_told_and_long_values_are_cut() -> None:
    text = result_text(checked({"items": {"type": "string"}}, list(range(1000))))
    assert text.count("is not of type") == 3
    text = result_text(checked({"type": "string"}, [{"x" * 100: "y" * 100_000}]))
    assert len(text) < 600 and text.endswith("is not of type 'string'")


def test_an_error_result_is_never_checked() -> None:
    assert checked(MATCHES, 5, isError=True) == {"content": TEXT, "structuredContent": 5, "isError": True}


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ({"type": "nope"}, "no such type"),
        ({"properties": 5}, "not even a schema"),
        ([], "a list"),
        (5, "a number"),
        ({"$schema": 5}, "a dialect that is no text"),
        ({"$ref": "#/$defs/none"}, "it points to nothing"),
        ({"$ref": "#"}, "round in a circle"),
        ({"$ref": "other.json"}, "it points out of the document"),
        ({"pattern": "("}, "a broken pattern"),
        (nested(MAX_DEPTH), "too deep"),
        (nested(900), "deeper than the stack"),
    ],
)
def test_a_broken_schema_is_one_warning_and_the_result_goes_on(
    schema: Any, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    validation = Validation()
    result = {"content": TEXT, "structuredContent": {"x": {}}}
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            assert validation.checked("t", {"name": "t", "outputSchema": schema}, result) is result, reason
    [record] = caplog.records
    assert record.getMessage().startswith("t: its outputSchema cannot be used"), reason


@pytest.fixture
def hasty_sockets() -> Iterator[None]:
    """Whoever does fetch something would wait for ever for our answer."""
    socket.setdefaulttimeout(1.0)
    yield
    socket.setdefaulttimeout(None)


@pytest.mark.usefixtures("hasty_sockets")
def test_nothing_is_fetched_from_the_network(caplog: pytest.LogCaptureFixture) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0)
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/schema.json"
        for schema in ({"$ref": url}, {"$schema": url}, {"$id": url, "$ref": "more.json"}):
            assert "isError" not in checked(schema, {"a": 1})
        with pytest.raises(BlockingIOError):
            listener.accept()
    assert "Unresolvable" in caplog.text


def test_no_structured_content_at_all_is_a_warning_and_the_text_is_used(
    caplog: pytest.LogCaptureFixture,
) -> None:
    validation = Validation()
    for _ in range(3):
        result = {"content": TEXT}
        assert validation.checked("t", {"name": "t", "outputSchema": MATCHES}, result) is result
    assert len(caplog.records) == 1 and "promises structuredContent" in caplog.text


def test_a_schema_that_was_listed_anew_is_read_anew() -> None:
    validation = Validation()
    result = {"structuredContent": 5}
    assert "isError" in validation.checked("t", {"outputSchema": {"type": "string"}}, result)
    assert "isError" not in validation.checked("t", {"outputSchema": {"type": "integer"}}, result)


@pytest.mark.parametrize(("depth", "deeper"), [(1, False), (5, False), (6, True), (100_000, True)])
def test_depth_is_counted_without_recursion(depth: int, deeper: bool) -> None:
    value: Any = []
    for _ in range(depth - 1):
        value = [value]
    assert is_deeper(value, 5) is deeper


def test_recursive_data_of_the_greatest_depth_can_be_checked() -> None:
    schema = {"type": "object", "properties": {"x": {"anyOf": [{"$ref": "#"}]}}}
    assert "isError" not in checked(schema, nested(MAX_DEPTH - 1))


def test_jsonschema_is_not_imported_before_it_is_needed() -> None:
    code = "import sys; sys.path[:0] = sys.argv[1:]; import host.turn; print('jsonschema' in sys.modules)"
    words = [sys.executable, "-B", "-c", code, str(SOLUTION), str(LAB)]
    assert subprocess.run(words, capture_output=True, text=True, timeout=30).stdout == "False\n"


@pytest.mark.anyio
async def test_the_model_sees_the_error_and_not_the_wrong_data(tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"sum": {"type": "number"}}}
    wrong = {"result": {"content": [], "structuredContent": {"sum": "seven"}}}
    right = {"result": {"content": [], "structuredContent": {"sum": 7}}}
    server = Server(tmp_path / "a").write(tool("add", outputSchema=schema), on={"add": wrong})
    async with opened({"a": server}) as world:
        is_error, text = await world.call("mcp__a__add")
        assert is_error and "at $.sum: 'seven' is not of type 'number'" in text
        server.write(on={"add": right})
        assert await world.call("mcp__a__add") == (False, '{"sum": 7}')

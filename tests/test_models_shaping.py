"""Tools as they leave for a provider: every schema that a server may send becomes one that a provider takes.

Two judges that share no code with what is judged: the refusals of the mock provider (`check_tool`), which are those of
the real ones, and `jsonschema` with the meta-schema of 2020-12. And the neutral tools must be left as they were.
"""

from __future__ import annotations

import copy
import json
import random
import re
import sys
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from kit import LAB
from mock_model_server import ModelServer, chat, check_tool, messages

sys.path.insert(0, str(LAB))

from host.models import ModelSettings
from host.models.anthropic_messages import RULES as ANTHROPIC
from host.models.anthropic_messages import AnthropicMessages
from host.models.keywords import MAX_DEPTH
from host.models.openai_chat import RULES as OPENAI
from host.models.openai_chat import OpenAIChat
from host.models.real import RealModel
from host.models.shaping import Rules, Shaped, shape
from host.words import LANGUAGES

JSONObject = dict[str, Any]

QUESTION = {"role": "user", "content": "hello"}


def tool(schema: Any, name: str = "f", description: str = "does it") -> JSONObject:
    return {"name": name, "description": description, "input_schema": schema}


def shaped(schema: Any, rules: Rules = OPENAI) -> tuple[JSONObject, list[str]]:
    """The schema as it is sent, and the keys of the notes; judged, and the original looked at."""
    given = tool(schema)
    before = copy.deepcopy(given)
    made = shape([given], rules)
    assert repr(given) == repr(before), "the neutral form is not touched"
    judge(made, rules)
    return made.tools[0]["input_schema"], [note.key for note in made.notes]


def judge(made: Shaped, rules: Rules) -> None:
    for one in made.tools:
        json.dumps(one, allow_nan=False)
        check_tool(one, "input_schema", rules.most_description)
    for note in made.notes + made.left_out:
        assert all(note.text(language) for language in LANGUAGES)


# What stays as it is


@pytest.mark.parametrize("rules", [OPENAI, ANTHROPIC])
def test_an_ordinary_schema_stays_as_it_is(rules: Rules) -> None:
    schema = {
        "type": "object",
        "title": "Arguments",
        "description": "all of them",
        "properties": {
            "query": {"type": "string", "minLength": 1, "pattern": "^[a-z]+$", "default": "x", "examples": ["y"]},
            "limit": {"type": ["integer", "null"], "minimum": 1, "exclusiveMaximum": 10**400, "multipleOf": 0.5},
            "tags": {"type": "array", "items": {"enum": ["a", "b", None, 1]}, "uniqueItems": True, "maxItems": 3.0},
            "who": {"$ref": "#/$defs/person", "description": "a person"},
            "how": {"anyOf": [{"const": {"deep": [1]}}, {"type": "null"}], "x-order": 2},
            "$ref": {"type": "string"},
            "enum": {"type": "object", "additionalProperties": {"type": "number"}, "required": ["a"]},
        },
        "required": ["query"],
        "additionalProperties": False,
        "$defs": {"person": {"type": "object", "properties": {"boss": {"$ref": "#/$defs/person"}}}, "a/b~c": {}},
    }
    if rules is ANTHROPIC:
        del schema["properties"]["$ref"]
    assert shaped(schema, rules) == (schema, [])


# Row by row: what a server sends, what a provider gets, and what is noted


OBJECT = {"type": "object"}
CASES: list[tuple[str, Any, JSONObject, list[str]]] = [
    ("no properties", {"type": "object"}, {"properties": {}}, ["shape_properties"]),
    (
        "properties null",
        {"type": "object", "properties": None},
        {"properties": {}},
        ["shape_dropped", "shape_properties"],
    ),
    ("nothing at all", {}, {"properties": {}}, ["shape_type", "shape_properties"]),
    ("no object", {"type": "string"}, {"properties": {}}, ["shape_type", "shape_properties"]),
    ("object or null", {"type": ["object", "null"], "properties": {}}, {"properties": {}}, ["shape_type"]),
    ("no schema", None, {"properties": {}}, ["shape_no_schema", "shape_type", "shape_properties"]),
    ("false at the root", False, {"properties": {}}, ["shape_type", "shape_properties"]),
    (
        "the document's own keywords",
        {"$schema": "http://json-schema.org/draft-07/schema#", "$id": "x", "properties": {"$schema": {}}, **OBJECT},
        {"properties": {"$schema": {}}},
        ["shape_dropped", "shape_dropped"],
    ),
    (
        "boolean sub-schemas",
        {
            **OBJECT,
            "properties": {"any": True, "none": False, "list": {"type": "array", "items": True}},
            "required": ["none"],
        },
        {"properties": {"any": {}, "list": {"type": "array", "items": {}}}, "required": []},
        ["shape_true", "shape_true", "shape_never"],
    ),
    (
        "never, as some libraries write it",
        {**OBJECT, "properties": {"a": {"anyOf": [{"not": {}}, {"type": "string"}]}, "b": {"not": {}}}},
        {"properties": {"a": {"anyOf": [{"type": "string"}]}}},
        ["shape_never", "shape_never"],
    ),
    (
        "booleans where every provider takes them",
        {**OBJECT, "properties": {}, "additionalProperties": False, "unevaluatedProperties": True},
        {"properties": {}, "additionalProperties": False, "unevaluatedProperties": True},
        [],
    ),
    (
        "an array of anything",
        {**OBJECT, "properties": {"a": {"type": "array"}, "b": {"type": ["null", "array"]}}},
        {"properties": {"a": {"type": "array", "items": {}}, "b": {"type": ["null", "array"], "items": {}}}},
        ["shape_items", "shape_items"],
    ),
    (
        "a tuple of draft 7",
        {
            **OBJECT,
            "properties": {"a": {"type": "array", "items": [{"type": "string"}, True], "additionalItems": False}},
        },
        {"properties": {"a": {"type": "array", "prefixItems": [{"type": "string"}, {}], "items": {}}}},
        ["shape_tuple", "shape_true"],
    ),
    (
        "keywords of other drafts, and mistakes",
        {
            **OBJECT,
            "properties": {
                "a": {"type": "any", "minimum": 0, "exclusiveMinimum": True, "required": True},
                "b": {"type": ["string", "str", "string"], "enum": [], "minLength": -1, "description": None},
                "c": {"type": None, "pattern": 1, "anyOf": "x", "default": float("nan"), "maximum": float("inf")},
                "d": "string",
            },
            "required": ["a", 1, "a"],
        },
        {
            "properties": {"a": {"minimum": 0}, "b": {"type": ["string"]}, "c": {"default": None}, "d": {}},
            "required": ["a"],
        },
        [*["shape_dropped"] * 13, "shape_no_schema"],
    ),
    (
        "required and nowhere described",
        {**OBJECT, "properties": {"a": {}}, "required": ["a", "b"]},
        {"properties": {"a": {}, "b": {}}, "required": ["a", "b"]},
        ["shape_required"],
    ),
    (
        "what no provider takes at the root",
        {
            **OBJECT,
            "properties": {"a": {}},
            "not": {"required": ["a"]},
            "enum": [{}],
            "const": {},
            "if": {},
            "then": {},
        },
        {"properties": {"a": {}}},
        ["shape_dropped"] * 5,
    ),
    (
        "a choice at the root",
        {
            **OBJECT,
            "properties": {"who": {}},
            "required": ["who"],
            "oneOf": [
                {"properties": {"kind": {"const": "a"}, "x": {"type": "string"}}, "required": ["kind", "x"]},
                {"properties": {"kind": {"const": "b"}, "y": {}}, "required": ["kind"]},
            ],
        },
        {
            "properties": {
                "who": {},
                "kind": {"anyOf": [{"const": "a"}, {"const": "b"}]},
                "x": {"type": "string"},
                "y": {},
            },
            "required": ["who", "kind"],
            "description": "Give one of these sets of arguments: kind + x; or kind",
        },
        ["shape_root_choice"],
    ),
    (
        "one of two is required",
        {
            **OBJECT,
            "description": "d",
            "properties": {"a": {}, "b": {}},
            "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
        },
        {
            "properties": {"a": {}, "b": {}},
            "required": [],
            "description": "d\nGive one of these sets of arguments: a; or b",
        },
        ["shape_root_choice"],
    ),
    (
        "all of several, by reference",
        {
            "allOf": [{"$ref": "#/$defs/base"}, {"properties": {"b": {}}, "required": ["b"]}],
            "$defs": {"base": {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}},
        },
        {
            "$defs": {"base": {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}},
            "properties": {"a": {"type": "string"}, "b": {}},
            "required": ["a", "b"],
        },
        ["shape_root_choice", "shape_type"],
    ),
    (
        "the root is a reference",
        {
            "$ref": "#/definitions/args",
            "definitions": {"args": {**OBJECT, "properties": {"a": {"$ref": "#/definitions/n"}}}, "n": {}},
        },
        {
            "definitions": {"args": {**OBJECT, "properties": {"a": {"$ref": "#/definitions/n"}}}, "n": {}},
            "properties": {"a": {"$ref": "#/definitions/n"}},
            "required": [],
        },
        ["shape_root_choice"],
    ),
    (
        "the root refers to itself",
        {"$ref": "#", "anyOf": [{"$ref": "#"}]},
        {"properties": {}, "required": []},
        ["shape_root_choice", "shape_type"],
    ),
    (
        "what would allow less when its inside allows more",
        {
            **OBJECT,
            "properties": {
                "a": {"not": {"$ref": "http://x/y"}},
                "b": {"oneOf": [{"$ref": "http://x/y"}, {"$ref": "http://x/z"}]},
                "c": {"if": {"minimum": "x"}, "then": {"maximum": 1}, "else": {}},
                "d": {"not": {"type": "string"}},
                "e": {"type": "string", "not": True},
            },
        },
        {"properties": {"a": {}, "b": {"anyOf": [{}, {}]}, "c": {}, "d": {"not": {"type": "string"}}}},
        [*["shape_remote"] * 3, *["shape_dropped"] * 3, "shape_any_of", "shape_never"],
    ),
    (
        "references that lead nowhere",
        {
            **OBJECT,
            "properties": {
                "a": {"$ref": "#/$defs/lost", "description": "stays"},
                "b": {"$ref": "http://example.com/schema.json"},
                "c": {"$ref": "file:///etc/passwd"},
                "d": {"$ref": "#anchor"},
                "e": {"$ref": "#/$defs/circle"},
                "f": {"$ref": 1},
                "g": {"$ref": "#/properties/h/anyOf/1"},
                "h": {"anyOf": [{}, {"type": "string"}]},
            },
            "$defs": {"circle": {"$ref": "#/$defs/round"}, "round": {"$ref": "#/$defs/circle"}},
        },
        {
            "properties": {
                "a": {"description": "stays"},
                **{name: {} for name in "bcdef"},
                "g": {"$ref": "#/properties/h/anyOf/1"},
                "h": {"anyOf": [{}, {"type": "string"}]},
            },
            "$defs": {"circle": {}, "round": {"$ref": "#/$defs/circle"}},
        },
        ["shape_dropped", "shape_reference", *["shape_remote"] * 2, *["shape_reference"] * 3],
    ),
]


@pytest.mark.parametrize(("schema", "expected", "notes"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
@pytest.mark.parametrize("rules", [OPENAI, ANTHROPIC], ids=["openai", "anthropic"])
def test_each_kind_of_trouble_is_mended_and_noted(
    rules: Rules, schema: Any, expected: JSONObject, notes: list[str]
) -> None:
    made, found = shaped(schema, rules)
    if rules is ANTHROPIC and "$schema" in made["properties"] | expected["properties"]:
        pytest.skip("renamed there")
    made.pop("type")
    assert made == expected
    assert sorted(found) == sorted(notes)


# Depth and size


def nested(levels: int, word: str = "properties") -> JSONObject:
    schema: JSONObject = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"a": schema}} if word == "properties" else {word: [schema]}
    return schema


@pytest.mark.parametrize("word", ["properties", "anyOf", "allOf"])
def test_depth_is_bounded_and_what_is_below_becomes_anything(word: str) -> None:
    made, notes = shaped({"type": "object", "properties": {"a": nested(100, word)}})
    assert "shape_too_deep" in notes
    depth, text = 0, json.dumps(made)
    while isinstance(made, dict):
        made, depth = (made.get("properties") or {"a": (made.get(word) or [None])[0]}).get("a"), depth + 1
    assert depth <= MAX_DEPTH and len(text) < 2000


def test_a_default_is_bounded_in_depth_too() -> None:
    deep: Any = 1
    for _ in range(100):
        deep = [deep]
    _, notes = shaped({"type": "object", "properties": {"a": {"default": deep, "examples": [deep], "x-any": deep}}})
    assert notes == ["shape_too_deep"] * 3


def test_a_root_whose_branches_multiply_costs_no_more_than_it_should() -> None:
    definitions = {f"d{n}": {"anyOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 10} for n in range(14)} | {
        "d14": {"properties": {"a": {}}}
    }
    made, _ = shaped({"anyOf": [{"$ref": "#/$defs/d0"}], "$defs": definitions})
    assert made["type"] == "object"


def test_recursive_definitions_are_kept() -> None:
    tree = {"type": "object", "properties": {"children": {"type": "array", "items": {"$ref": "#/$defs/tree"}}}}
    schema = {"type": "object", "properties": {"root": {"$ref": "#/$defs/tree"}}, "$defs": {"tree": tree}}
    assert shaped(schema) == (schema, [])


# Descriptions and names


@pytest.mark.parametrize(("rules", "most"), [(OPENAI, 1024), (ANTHROPIC, 10_000)])
def test_a_description_is_cut_to_what_the_api_takes(rules: Rules, most: int) -> None:
    for length in (most, most + 1):
        made = shape([tool({}, description="x" * length)], rules)
        judge(made, rules)
        assert len(made.tools[0]["description"]) == most
        assert ("shape_description" in [note.key for note in made.notes]) == (length > most)


@pytest.mark.parametrize("name", ["search.notes", "a" * 65, "", "搜索", "a b", "a\n"])
def test_a_tool_whose_name_no_api_takes_is_left_out_and_named(name: str) -> None:
    made = shape([tool({}, name), tool({}, "ok")], OPENAI)
    assert [one["name"] for one in made.tools] == ["ok"]
    assert [note.key for note in made.left_out] == ["shape_bad_name"]
    assert repr(name) in made.left_out[0].text("en")


def test_of_two_tools_with_one_name_the_first_is_kept() -> None:
    made = shape([tool({}, "f", "first"), tool({}, "f", "second"), tool({}, "g")], ANTHROPIC)
    assert [one["description"] for one in made.tools] == ["first", "does it"]
    assert [note.key for note in made.left_out] == ["shape_same_name"]


def test_property_names_are_renamed_only_where_they_must_be_and_the_way_back_is_kept() -> None:
    schema = {
        "type": "object",
        "properties": {"$top": {}, "filter[id]": {"$ref": "#/properties/$top"}, "ok.name-1": {}, "名": {}, "_top": {}},
        "required": ["filter[id]", "ok.name-1"],
    }
    assert shape([tool(schema)], OPENAI).renamed == {}
    made = shape([tool(schema)], ANTHROPIC)
    judge(made, ANTHROPIC)
    assert made.renamed == {"f": {"_top_2": "$top", "filter_id_": "filter[id]", "_": "名"}}
    sent = made.tools[0]["input_schema"]
    assert list(sent["properties"]) == ["_top_2", "filter_id_", "ok.name-1", "_", "_top"]
    assert sent["required"] == ["filter_id_", "ok.name-1"]
    there = {"$top": 1, "名": 2, "_top": 3, "more": 4}
    assert made.for_model("f", there) == {"_top_2": 1, "_": 2, "_top": 3, "more": 4}
    assert made.for_server("f", made.for_model("f", there)) == there
    assert made.for_server("unknown", there) == there


def test_long_property_names_stay_apart() -> None:
    names = [f"{'a' * 70}{n}" for n in range(12)]
    made = shape([tool({"properties": {name: {} for name in names}})], ANTHROPIC)
    judge(made, ANTHROPIC)
    assert sorted(made.renamed["f"].values()) == sorted(names)


# Any schema at all


WORDS = [
    *("type", "properties", "items", "anyOf", "allOf", "oneOf", "not", "enum", "const", "required", "$ref", "$defs"),
    *("definitions", "additionalProperties", "default", "minimum", "pattern", "description", "prefixItems", "if"),
    *("$schema", "patternProperties", "dependentRequired", "uniqueItems", "multipleOf", "unknown", "format", "then"),
]
VALUES = [
    *(None, True, False, 0, -1, 1.5, float("inf"), "", "string", "object", "array", "any", [], {}, ["a"], ["a", "a"]),
    *(
        "#",
        "#/$defs/a",
        "#/properties/a",
        "http://x/y",
        ["object", "null"],
        [True],
        {"a": True},
        {"not": {}},
        "^[a-z]+$",
    ),
]


def any_schema(chance: random.Random, depth: int = 0) -> Any:
    if depth > 4 or chance.random() < 0.15:
        return chance.choice(VALUES)
    made: JSONObject = {}
    for word in chance.sample(WORDS, chance.randint(0, 6)):
        kind = chance.random()
        if kind < 0.3:
            made[word] = chance.choice(VALUES)
        elif kind < 0.6:
            made[word] = any_schema(chance, depth + 1)
        elif kind < 0.8:
            made[word] = [any_schema(chance, depth + 1) for _ in range(chance.randint(0, 3))]
        else:
            names = chance.sample(["a", "b", "$c", "d e", "enum", "not"], 3)
            made[word] = {name: any_schema(chance, depth + 1) for name in names}
    return made


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("rules", [OPENAI, ANTHROPIC], ids=["openai", "anthropic"])
def test_whatever_a_server_sends_a_provider_gets_a_schema_that_it_takes(rules: Rules, seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(75):
        schema = any_schema(chance)
        if isinstance(schema, dict) and chance.random() < 0.5:
            schema["type"] = "object"
        made, _ = shaped(schema, rules)
        again, _ = shaped(made, rules)
        assert again == made, "a second time there is nothing left to do"


@pytest.mark.parametrize("seed", range(5))
def test_arguments_that_fit_the_servers_schema_still_fit_what_the_model_is_told(seed: int) -> None:
    """Shaping may allow more than the server, never less; the server checks in any case."""
    chance = random.Random(seed)
    samples: list[JSONObject] = [
        {},
        {"a": 1},
        {"a": "x", "b": None},
        {"b": [1, "x"]},
        {"a": {"a": 1}},
        {"enum": True, "not": "a"},
    ]
    compared = 0
    while compared < 200:
        schema = any_schema(chance)
        if not isinstance(schema, dict) or "$ref" in json.dumps(schema) or not is_valid(schema):
            continue
        if {"anyOf", "oneOf"} & set(schema):  # there the model is told one list where the server has several
            continue
        made = shape([tool(schema)], OPENAI).tools[0]["input_schema"]
        for sample in samples:
            if accepts(schema, sample):
                compared += 1
                assert accepts(made, sample), (schema, made, sample)


def is_valid(schema: JSONObject) -> bool:
    try:
        Draft202012Validator.check_schema(schema)
    except Exception:
        return False
    return "Infinity" not in json.dumps(schema)


def accepts(schema: JSONObject, value: Any) -> bool:
    return bool(Draft202012Validator(schema).is_valid(value))


# What is shown of it


@pytest.mark.anyio
@pytest.mark.parametrize("api", [OpenAIChat(), AnthropicMessages()], ids=["openai", "anthropic"])
@pytest.mark.parametrize("show", [False, True])
async def test_notes_are_shown_on_request_left_out_tools_always_and_each_once(
    api: Any, show: bool, caplog: pytest.LogCaptureFixture
) -> None:
    tools = [tool({"properties": {"a": True}}), tool({}, "bad.name")]
    reply = chat if isinstance(api, OpenAIChat) else messages
    with ModelServer(reply("a"), reply("b")) as server:
        talking = RealModel(api, ModelSettings("m", server.url, None, show_shaping=show))
        await talking.reply([QUESTION], tools)
        await talking.reply([QUESTION], tools)
    shown = [
        line for line in caplog.messages if re.match(r"f: input_schema(\.properties\.a: true became \{\}|: got )", line)
    ]
    assert len(shown) == (2 if show else 0)
    assert sum("'bad.name' is not shown to the model" in line for line in caplog.messages) == 1

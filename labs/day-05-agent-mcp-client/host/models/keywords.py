"""A JSON schema, rebuilt keyword by keyword from what may stand in one: the first step of shaping.py.

Each keyword says what stands behind it: a schema, a list or a map of schemas, or a plain value with a check of its
own. What is none of that is left out and noted. Where a schema comes to allow more than the server's, that is fine,
as the server checks the arguments again; `loosen` sees to the few keywords behind which it is not.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from protocol import JSONObject

Note: TypeAlias = Callable[..., None]  # key, where, values: see `shaping.shape_tool`

MAX_DEPTH = 16  # schemas inside schemas; also of a default value or an example

# What stands behind a keyword of JSON Schema 2020-12; one that is in no table is kept as it is.
SCHEMA = {
    *("additionalItems", "additionalProperties", "contains", "contentSchema", "else", "if", "items", "not"),
    *("propertyNames", "then", "unevaluatedItems", "unevaluatedProperties"),
}
SCHEMA_LIST = {"allOf", "anyOf", "oneOf", "prefixItems"}
SCHEMA_MAP = {"$defs", "definitions", "dependentSchemas", "patternProperties", "properties"}
MAY_BE_BOOLEAN = {"additionalItems", "additionalProperties", "unevaluatedItems", "unevaluatedProperties"}
TYPES = ("array", "boolean", "integer", "null", "number", "object", "string")

# These say something about the document, not about the arguments; local model servers stumble over them.
ABOUT_THE_DOCUMENT = {
    *("$anchor", "$dynamicAnchor", "$dynamicRef", "$id", "$recursiveAnchor", "$recursiveRef", "$schema"),
    "$vocabulary",
}
TURNING = ("not", "if", "oneOf")  # these turn "allows more" into "allows less"

GONE = object()  # in place of a keyword's value: leave it out


def is_text(value: Any) -> bool:
    return isinstance(value, str)


def is_number(value: Any) -> bool:
    return (isinstance(value, int) and not isinstance(value, bool)) or is_finite(value)


def is_finite(value: Any) -> bool:
    return isinstance(value, float) and math.isfinite(value)


def is_count(value: Any) -> bool:
    return is_number(value) and value >= 0 and value == int(value)


def is_boolean(value: Any) -> bool:
    return isinstance(value, bool)


def is_list(value: Any) -> bool:
    return isinstance(value, list)


def are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(map(is_text, value))


# keyword -> whether a value may stand behind it; with another one the whole schema would be no schema.
CHECKS: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("$comment", "$ref", "contentEncoding", "contentMediaType"), is_text),
    **dict.fromkeys(("description", "format", "pattern", "title"), is_text),
    **dict.fromkeys(("exclusiveMaximum", "exclusiveMinimum", "maximum", "minimum"), is_number),
    "multipleOf": lambda value: is_number(value) and value > 0,
    **dict.fromkeys(("maxContains", "maxItems", "maxLength", "maxProperties"), is_count),
    **dict.fromkeys(("minContains", "minItems", "minLength", "minProperties"), is_count),
    **dict.fromkeys(("deprecated", "nullable", "readOnly", "uniqueItems", "writeOnly"), is_boolean),
    "enum": lambda value: isinstance(value, list) and len(value) > 0,
    "examples": is_list,
    "dependentRequired": lambda value: isinstance(value, dict) and all(map(are_texts, value.values())),
}


class Rebuilder:
    """Makes a schema anew, down to a bounded depth, from what is allowed to stand in it."""

    def __init__(self, note: Note) -> None:
        self._note = note

    def schema(self, value: Any, path: str, depth: int) -> JSONObject | None:
        """The schema in its dictionary form; None: nothing can ever satisfy it."""
        if value is False or (isinstance(value, dict) and value.get("not") in (True, {})):
            return None
        if depth >= MAX_DEPTH:
            self._note("shape_too_deep", path, most=MAX_DEPTH)
            return {}
        if not isinstance(value, dict):
            self._note("shape_true" if value is True else "shape_no_schema", path)
            return {}
        value = self.with_new_tuples(value, path)
        made = {}
        for word, part in value.items():
            kept = self.keyword(word, part, f"{path}.{word}", depth)
            if kept is not GONE:
                made[word] = kept
        self.finish(value, made, path)
        return made

    def with_new_tuples(self, value: JSONObject, path: str) -> JSONObject:
        """Until draft 7 a list behind `items` meant what `prefixItems` means now."""
        if not isinstance(value.get("items"), list):
            return value
        self._note("shape_tuple", f"{path}.items")
        rest = {word: part for word, part in value.items() if word not in ("items", "additionalItems")}
        return {**rest, "prefixItems": value["items"], "items": {}}

    def keyword(self, word: str, part: Any, path: str, depth: int) -> Any:
        if word in MAY_BE_BOOLEAN and isinstance(part, bool):
            return part
        if word in SCHEMA:
            return self.never_gone(self.schema(part, path, depth + 1), path)
        if word in SCHEMA_LIST and isinstance(part, list):
            return self.schema_list(word, part, path, depth)
        if word in SCHEMA_MAP and isinstance(part, dict):
            made = {name: self.schema(one, f"{path}.{name}", depth + 1) for name, one in part.items()}
            return {name: one for name, one in made.items() if self.never_gone(one, f"{path}.{name}") is not GONE}
        if word == "type":
            return self.types(part, path)
        if word == "required":
            return self.names(part, path)
        fits = CHECKS.get(word, lambda value: True)
        if word in ABOUT_THE_DOCUMENT or word in SCHEMA_LIST | SCHEMA_MAP or not fits(part):
            self._note("shape_dropped", path)
            return GONE
        return self.value(part, path)

    def schema_list(self, word: str, part: list[Any], path: str, depth: int) -> Any:
        made = [self.schema(one, f"{path}[{number}]", depth + 1) for number, one in enumerate(part)]
        if word == "prefixItems":  # here the places count
            return [one or {} for one in made] or GONE
        kept = [one for number, one in enumerate(made) if self.never_gone(one, f"{path}[{number}]") is not GONE]
        return kept or GONE

    def never_gone(self, schema: JSONObject | None, path: str) -> Any:
        if schema is None:
            self._note("shape_never", path)
            return GONE
        return schema

    def types(self, part: Any, path: str) -> Any:
        known = [one for one in (part if isinstance(part, list) else [part]) if one in TYPES]
        if known != part and [part] != known:
            self._note("shape_dropped", path)
        if not known:
            return GONE
        return known[0] if isinstance(part, str) else list(dict.fromkeys(known))

    def names(self, part: Any, path: str) -> Any:
        names = list(dict.fromkeys(filter(is_text, part))) if isinstance(part, list) else []
        if names != part:
            self._note("shape_dropped", path)
        return names or ([] if part == [] else GONE)

    def value(self, part: Any, path: str, depth: int = 1) -> Any:
        """A value that is no schema, such as a default: copied, finite and not too deep."""
        if isinstance(part, float) and not is_finite(part):
            self._note("shape_dropped", path)
            return None
        if isinstance(part, list | dict) and depth > MAX_DEPTH:
            self._note("shape_too_deep", path, most=MAX_DEPTH)
            return None
        if isinstance(part, list):
            return [self.value(one, path, depth + 1) for one in part]
        if isinstance(part, dict):
            return {name: self.value(one, path, depth + 1) for name, one in part.items()}
        return part

    def finish(self, value: JSONObject, made: JSONObject, path: str) -> None:
        """What follows from the keywords together."""
        for word in TURNING:
            if word in made and made[word] != value[word]:
                loosen(made, word, f"{path}.{word}", self._note)
        types = made.get("type", [])
        if "array" in (types if isinstance(types, list) else [types]) and "items" not in made:
            self._note("shape_items", path)
            made["items"] = {}
        lost = set(as_dict(value.get("properties"))) - set(as_dict(made.get("properties")))
        if lost & set(made.get("required", [])):
            made["required"] = [name for name in made["required"] if name not in lost]


def loosen(schema: JSONObject, word: str, path: str, note: Note) -> None:
    """What stands behind this keyword now allows more than before, so the schema would allow less: it must not."""
    part = schema.pop(word)
    if word == "oneOf":
        note("shape_any_of", path)
        schema.setdefault("anyOf", part)
    else:
        note("shape_dropped", path)
        for other in ("then", "else") if word == "if" else ():
            schema.pop(other, None)


def as_dict(value: Any) -> JSONObject:
    return value if isinstance(value, dict) else {}

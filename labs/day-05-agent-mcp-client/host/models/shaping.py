"""The tools in a form that the provider takes. What was changed is noted; the neutral form itself is never touched.

A server may describe its arguments with all of JSON Schema. A model API takes a part of it, and one schema that it
does not take costs the whole request, with all tools. So each schema is rebuilt: keyword by keyword (`Rebuilder`),
then its root as an object with properties (`Choices`), and last the references, as only then is known what they can
point to. Nothing is fetched from anywhere. What cannot be said this way is left unsaid; the server checks the
arguments in any case.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from host.words import Message

if TYPE_CHECKING:
    from protocol import JSONObject

MAX_DEPTH = 16  # schemas inside schemas; also of a default value or an example
MAX_REFERENCES = 20  # one after the other, before we take them for a circle
MAX_BRANCHES = 500  # of a choice at the root, with the branches of its branches

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
CHOICES = ("allOf", "anyOf", "oneOf")
TURNING = ("not", "if", "oneOf")  # these turn "allows more" into "allows less"
NOT_AT_THE_ROOT = ("const", "else", "enum", "if", "not", "then")


@dataclass(frozen=True)
class Rules:
    """What one API takes."""

    most_description: int  # characters
    tool_name: re.Pattern[str]
    property_name: re.Pattern[str] | None = None  # of the properties at the root; None: any


@dataclass
class Shaped:
    """The tools as they may be sent, and the way back for what was renamed."""

    tools: list[JSONObject] = field(default_factory=list)
    notes: list[Message] = field(default_factory=list)  # what was changed
    left_out: list[Message] = field(default_factory=list)  # tools that cannot be sent at all
    renamed: dict[str, dict[str, str]] = field(default_factory=dict)  # tool -> our property -> the server's

    def for_server(self, tool: str, arguments: JSONObject) -> JSONObject:
        names = self.renamed.get(tool, {})
        return {names.get(name, name): value for name, value in arguments.items()}

    def for_model(self, tool: str, arguments: JSONObject) -> JSONObject:
        names = {theirs: ours for ours, theirs in self.renamed.get(tool, {}).items()}
        return {names.get(name, name): value for name, value in arguments.items()}


def shape(tools: list[JSONObject], rules: Rules) -> Shaped:
    """The tools of the registry, ready for an API with these rules."""
    shaped, names = Shaped(), set()
    for tool in tools:
        name = tool["name"]
        if not rules.tool_name.fullmatch(name):
            shaped.left_out.append(Message("shape_bad_name", {"tool": name, "legal": rules.tool_name.pattern}))
        elif name in names:
            shaped.left_out.append(Message("shape_same_name", {"tool": name}))
        else:
            names.add(name)
            shaped.tools.append(shape_tool(tool, rules, shaped))
    return shaped


def shape_tool(tool: JSONObject, rules: Rules, shaped: Shaped) -> JSONObject:
    def note(key: str, where: str = "input_schema", **values: object) -> None:
        shaped.notes.append(Message(key, {"tool": tool["name"], "where": where, **values}))

    description = str(tool.get("description") or "")
    if len(description) > rules.most_description:
        note("shape_description", "description", most=rules.most_description)
        description = description[: rules.most_description - 1] + "…"
    schema = Rebuilder(note).schema(tool.get("input_schema"), "input_schema", 1) or {}
    schema = as_object_schema(schema, note)
    if rules.property_name is not None and (names := rename_properties(schema, rules.property_name, note)):
        shaped.renamed[tool["name"]] = names
    mend_references(schema, schema, "input_schema", note)
    return {"name": tool["name"], "description": description, "input_schema": schema}


Note = Callable[..., None]  # key, where, values: see `shape_tool`


# First: keyword by keyword


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


# Second: the root, which must be an object with properties and no choice between schemas


def as_object_schema(schema: JSONObject, note: Note) -> JSONObject:
    if "$ref" in schema or any(word in schema for word in CHOICES):
        note("shape_root_choice", words=", ".join(word for word in ("$ref", *CHOICES) if word in schema))
        schema = Choices(schema).as_one()
    for word in NOT_AT_THE_ROOT:
        if schema.pop(word, None) is not None:
            note("shape_dropped", f"input_schema.{word}")
    if schema.get("type") != "object":
        note("shape_type")
        schema["type"] = "object"
    if "properties" not in schema:
        note("shape_properties")
        schema["properties"] = {}
    for name in schema.get("required", []):
        if name not in schema["properties"]:
            note("shape_required", f"input_schema.properties.{name}")
            schema["properties"][name] = {}
    return schema


@dataclass
class Members:
    """What an object schema and its branches say together."""

    properties: dict[str, list[Any]]  # name -> its schema in each place that has one
    required: list[str]  # in every case
    sets: list[list[str]]  # the required ones of each branch, when there is a choice


class Choices:
    """A root that offers a choice between schemas, to be made one list of properties."""

    def __init__(self, document: JSONObject) -> None:
        self._document = document
        self._left = MAX_BRANCHES

    def as_one(self) -> JSONObject:
        """What goes together can no longer be said by the schema; it is told to the model in words."""
        root = self._unfold(self._document)
        found = self._members(root)
        made = {word: part for word, part in root.items() if word not in CHOICES}
        made |= {word: self._document[word] for word in ("$defs", "definitions") if word in self._document}
        made["properties"] = {name: one_schema(versions) for name, versions in found.properties.items()}
        made["required"] = found.required
        sets = list(dict.fromkeys(" + ".join(names) or "none" for names in found.sets))
        if len(sets) > 1:
            hint = "Give one of these sets of arguments: " + "; or ".join(sets)
            made["description"] = f"{made['description']}\n{hint}" if "description" in made else hint
        return made

    def _unfold(self, schema: JSONObject) -> JSONObject:
        """The schema with what its own `$ref` points to; a reference that leads nowhere says nothing."""
        for _ in range(MAX_REFERENCES):
            reference = schema.get("$ref")
            if reference is None:
                break
            rest = {word: part for word, part in schema.items() if word != "$ref"}
            schema = {**as_dict(find(self._document, reference)), **rest}
        return {word: part for word, part in schema.items() if word != "$ref"}

    def _members(self, schema: JSONObject, depth: int = 1) -> Members:
        properties = {name: [one] for name, one in as_dict(schema.get("properties")).items()}
        found = Members(properties, list(schema.get("required", [])), [])
        for word in CHOICES:
            branches = list(self._branches(schema.get(word, []), depth))
            for branch in branches:
                for name, versions in branch.properties.items():
                    found.properties.setdefault(name, []).extend(versions)
                found.sets += branch.sets or ([] if word == "allOf" else [branch.required])
            needed = [set(branch.required) for branch in branches] or [set()]
            always = set.union(*needed) if word == "allOf" else set.intersection(*needed)
            found.required += [name for branch in branches for name in branch.required if name in always]
        found.required = list(dict.fromkeys(found.required))
        return found

    def _branches(self, schemas: list[JSONObject], depth: int) -> Iterator[Members]:
        """A branch may lead back to its own root, and so on: the depth and the number of branches are bounded."""
        for schema in schemas if depth < MAX_DEPTH else ():
            self._left -= 1
            if self._left >= 0:
                yield self._members(self._unfold(schema), depth + 1)


def one_schema(versions: list[Any]) -> Any:
    """One property that several branches describe."""
    different = [one for number, one in enumerate(versions) if one not in versions[:number]]
    return different[0] if len(different) == 1 else {"anyOf": different}


def rename_properties(schema: JSONObject, legal: re.Pattern[str], note: Note) -> dict[str, str]:
    """Give the root's properties legal names; returns the new name -> the server's."""
    properties = schema["properties"]
    renamed: dict[str, str] = {}
    for name in [name for name in properties if not legal.fullmatch(name)]:
        stem = re.sub(r"[^A-Za-z0-9_.-]", "_", name)[:60] or "_"
        numbered = (f"{stem}_{number}" for number in itertools.count(2))
        new = next(new for new in itertools.chain([stem], numbered) if new not in properties | renamed)
        note("shape_renamed", f"input_schema.properties.{name}", new=new)
        renamed[new] = name
    if renamed:
        new_names = {old: new for new, old in renamed.items()}
        schema["properties"] = {new_names.get(name, name): part for name, part in properties.items()}
        schema["required"] = [new_names.get(name, name) for name in schema.get("required", [])]
    return renamed


# Last: the references


def mend_references(schema: JSONObject, document: JSONObject, path: str, note: Note) -> bool:
    """Keep each `$ref` that points to something inside, take the others out; whether any was."""
    reference: str = schema.get("$ref", "#")
    is_changed = not leads_somewhere(reference, document)
    if is_changed:
        note("shape_reference" if reference.startswith("#") else "shape_remote", path, reference=reference[:80])
        del schema["$ref"]
    inside = list(inner_schemas(schema))
    changed = {word for word, name, one in inside if mend_references(one, document, f"{path}.{name}", note)}
    for word in TURNING:
        if word in changed:
            loosen(schema, word, f"{path}.{word}", note)
    return is_changed or bool(changed)


def inner_schemas(schema: JSONObject) -> Iterator[tuple[str, str, JSONObject]]:
    """Each with the keyword behind which it stands, and its place."""
    for word, part in schema.items():
        if word in SCHEMA:
            parts: Mapping[str, Any] = {word: part}
        elif word in SCHEMA_MAP:
            parts = {f"{word}.{name}": one for name, one in part.items()}
        elif word in SCHEMA_LIST:
            parts = {f"{word}[{number}]": one for number, one in enumerate(part)}
        else:
            continue
        yield from ((word, name, one) for name, one in parts.items() if isinstance(one, dict))


def leads_somewhere(reference: str, document: JSONObject) -> bool:
    """Whether it ends at a schema of this document, and not at itself."""
    for _ in range(MAX_REFERENCES):
        target = find(document, reference)
        if not isinstance(target, dict):
            return False
        if "$ref" not in target:
            return True
        reference = target["$ref"]
    return False


def find(document: JSONObject, reference: Any) -> Any:
    """What a local reference such as `#/$defs/Person` points to; None: nothing here."""
    if not isinstance(reference, str) or not (reference == "#" or reference.startswith("#/")):
        return None
    found: Any = document
    for part in reference.split("/")[1:]:
        name = unquote(part).replace("~1", "/").replace("~0", "~")
        if isinstance(found, list) and name.isascii() and name.isdigit() and int(name) < len(found):
            found = found[int(name)]
        elif isinstance(found, dict):
            found = found.get(name)
        else:
            return None
    return found

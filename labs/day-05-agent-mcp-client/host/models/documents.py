"""A schema as a whole document: its root becomes an object with properties, its references lead somewhere.

The second and the third step of shaping.py. Nothing is fetched: a reference leads to a place in the same document, or
it is taken out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from host.models.keywords import MAX_DEPTH, SCHEMA, SCHEMA_LIST, SCHEMA_MAP, TURNING, Note, as_dict, loosen

if TYPE_CHECKING:
    from protocol import JSONObject

MAX_REFERENCES = 20  # one after the other, before we take them for a circle
MAX_BRANCHES = 500  # of a choice at the root, with the branches of its branches

CHOICES = ("allOf", "anyOf", "oneOf")
NOT_AT_THE_ROOT = ("const", "else", "enum", "if", "not", "then")


# The root: no provider takes a choice between schemas there


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


# The references


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

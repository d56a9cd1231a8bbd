"""The tools in a form that the provider takes. What was changed is noted; the neutral form itself is never touched.

A server may describe its arguments with all of JSON Schema. A model API takes a part of it, and one schema that it
does not take costs the whole request, with all tools. So each schema is rebuilt: keyword by keyword (keywords.py),
then its root as an object with properties, and last the references, as only then is known what they can point to
(documents.py). Nothing is fetched from anywhere. What cannot be said this way is left unsaid; the server checks the
arguments in any case.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from host.models.documents import as_object_schema, mend_references
from host.models.keywords import Note, Rebuilder
from host.words import Message

if TYPE_CHECKING:
    from protocol import JSONObject


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

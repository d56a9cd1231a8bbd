"""A provider's JSON may hold anything anywhere; each of these takes any value, and gives one to work with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from protocol import JSONObject


def as_object(value: Any) -> JSONObject:
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def as_text(value: Any) -> str:
    """A text; of a list of parts, the text parts."""
    if isinstance(value, list):
        return "".join(as_text(as_object(part).get("text")) for part in value)
    return value if isinstance(value, str) else ""

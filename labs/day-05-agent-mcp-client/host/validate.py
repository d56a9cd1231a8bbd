"""What a tool returns is held against the schema that its server promised, before the model sees it.

`outputSchema` has no place in a model API, so the client is the only one who can do this. A result that does
not fit becomes an error result that says where and why: a model would take wrong data for facts. A schema
that is itself broken costs nothing but a warning: the result then goes on as it came.

Nothing is fetched: a `$ref` leads into the schema itself or to the specification's own [server/tools].
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any

from host.words import Message
from protocol import JSONObject
from registry import error_result

MAX_DEPTH = 100  # of a schema and of a result; deeper ones would only exhaust the stack
MOST_ERRORS = 3  # told to the model; the rest has mostly the same cause
ERROR_CHARACTERS = 200  # of one; it quotes the value, which may be long

Check = Callable[[Any], list[str]]  # structuredContent -> what does not fit

log = logging.getLogger(__name__)


class Validation:
    """The schemas of a turn; each is read once, when the first result arrives for it."""

    def __init__(self) -> None:
        self._checks: dict[str, tuple[object, Check | None]] = {}  # model name -> schema, its check

    def checked(self, model_name: str, definition: JSONObject, result: JSONObject) -> JSONObject:
        """The result as it came, or an error result when it does not fit the tool's `outputSchema`."""
        schema = definition.get("outputSchema")
        if schema is None or result.get("isError") is True:
            return result
        check = self._check_for(model_name, schema)
        if check is None:
            return result
        if "structuredContent" not in result:
            return self._without_structure(model_name, result)
        return self._judged(model_name, check, result)

    def _judged(self, model_name: str, check: Check, result: JSONObject) -> JSONObject:
        try:
            errors = check(result["structuredContent"])
        except Exception as error:  # a $ref into nothing, or round in a circle, shows only now
            self._give_up(model_name, error)
            return result
        return misfit(errors) if errors else result

    def _without_structure(self, model_name: str, result: JSONObject) -> JSONObject:
        """It breaks the promise, but what it says in words is still of use."""
        self._checks[model_name] = (self._checks[model_name][0], None)  # one warning is enough
        log.warning(Message("no_structured_content", {"tool": model_name}))
        return result

    def _check_for(self, model_name: str, schema: object) -> Check | None:
        known = self._checks.get(model_name)
        if known is None or known[0] is not schema:  # the tool is new, or was listed anew
            self._checks[model_name] = (schema, None)
            try:
                self._checks[model_name] = (schema, read_schema(schema))
            except Exception as error:  # it is the server's, and may be wrong in any way
                self._give_up(model_name, error)
        return self._checks[model_name][1]

    def _give_up(self, model_name: str, error: Exception) -> None:
        self._checks[model_name] = (self._checks[model_name][0], None)
        why = str(error).split("\n")[0][:ERROR_CHARACTERS] or type(error).__name__
        log.warning(Message("broken_output_schema", {"tool": model_name, "why": why}))


def misfit(errors: list[str]) -> JSONObject:
    return error_result(
        "the tool has run, but its result does not fit the outputSchema that the server gave for it, "
        f"so it is held back: {'; '.join(errors)}"
    )


def read_schema(schema: Any) -> Check:
    """Make a check of a schema. Raises: whatever its faults lead to."""
    # Here and not above, as it takes 0.1 s. Without a registry of ours, jsonschema would fetch a remote $ref.
    from jsonschema.validators import Draft202012Validator, validator_for
    from jsonschema_specifications import REGISTRY  # type: ignore[import-untyped]  # it ships no types

    if is_deeper(schema, MAX_DEPTH):
        raise ValueError(f"it is nested more than {MAX_DEPTH} deep")
    dialect = validator_for(schema, default=Draft202012Validator)
    dialect.check_schema(schema)
    validator = dialect(schema, registry=REGISTRY)

    def check(data: Any) -> list[str]:
        if is_deeper(data, MAX_DEPTH):
            return [f"it is nested more than {MAX_DEPTH} deep"]
        found = islice(validator.iter_errors(data), MOST_ERRORS)
        return [f"at {error.json_path}: {shortened(error.message)}" for error in found]

    return check


def shortened(text: str) -> str:
    """Its two ends: the value is quoted at the beginning, what is wrong with it stands at the end."""
    if len(text) <= ERROR_CHARACTERS:
        return text
    half = ERROR_CHARACTERS // 2
    return f"{text[:half]} ... {text[-half:]}"


def is_deeper(value: Any, most: int) -> bool:
    """Whether lists and objects are nested deeper than this; without recursion, as that is the question."""
    level = [value]
    for _ in range(most):
        level = [inner for outer in level for inner in children(outer)]
        if not level:
            return False
    return True


def children(value: Any) -> Iterable[Any]:
    """The lists and objects in this one; other values are of no interest here."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [item for item in inner if isinstance(item, dict | list)]

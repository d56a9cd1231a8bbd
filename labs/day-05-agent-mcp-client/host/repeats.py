"""A guard against going round in circles: one call, with the same arguments, again and again in a turn.

A call may be right to be repeated: a list after each change, a key pressed twice, a job asked whether it is
done. So what counts first is that the model read the same each time; only then a plain number of calls.
"""

import hashlib
import json
from dataclasses import dataclass

from agent_loop import result_text
from protocol import JSONObject
from registry import error_result

MOST_SAME_ANSWERS = 3  # in a row to one call; the fourth would say the same
MOST_SAME_CALLS = 10  # whatever was answered


@dataclass
class Repeats:
    """What has come of one call so far."""

    calls: int = 0
    answer: str = ""  # the digest of the last one
    same_answers: int = 0  # in a row


class RepeatGuard:
    """The calls of one turn."""

    def __init__(self) -> None:
        self._made: dict[str, Repeats] = {}  # digest of a call -> what came of it

    def refusal(self, model_name: str, arguments: JSONObject) -> JSONObject | None:
        """The error result in place of one repetition too many; None: the call may be made."""
        made = self._made.get(digest([model_name, arguments]), Repeats())
        if made.same_answers >= MOST_SAME_ANSWERS:
            why = f"made {made.same_answers} times in this turn, and the answer was the same each time"
        elif made.calls >= MOST_SAME_CALLS:
            why = f"made {made.calls} times in this turn"
        else:
            return None
        return error_result(f"not run: this call with these arguments was {why}; go on in another way")

    def note(self, model_name: str, arguments: JSONObject, result: JSONObject) -> None:
        made = self._made.setdefault(digest([model_name, arguments]), Repeats())
        answer = digest(result_text(result))
        made.calls += 1
        made.same_answers = made.same_answers + 1 if answer == made.answer else 1
        made.answer = answer


def digest(value: object) -> str:
    """The same for the same JSON, whatever the order of its keys."""
    try:
        text = json.dumps(value, sort_keys=True)
    except (TypeError, ValueError, RecursionError):  # no JSON: made by us, or nested too deep
        text = repr(value)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

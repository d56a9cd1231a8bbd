"""What a provider says when it does not answer, made one sentence that a person can act on.

Providers put their words into JSON of many forms, into HTML, or say nothing; some repeat the key. `Complaints.safe`
is the one way out for any text of theirs.
"""

from __future__ import annotations

import contextlib
import json
import re
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from host.models.lenient import as_object
from host.words import HostError

if TYPE_CHECKING:
    from protocol import JSONObject

MOST_RETRY_AFTER = 60.0  # seconds; whoever asks for more patience gets none
MOST_WORDS = 300  # characters of what a provider says of an error
LEAST_SECRET = 8  # characters; "ollama" or "EMPTY" in place of a key is no secret, but a word of error messages

TRY_AGAIN = (408, 409, 425, 429)  # and all from 500 up
PASSING = re.compile("overloaded|rate_limit|server_error|api_error|timeout|unavailable")  # errors inside a stream
NO_CREDIT = re.compile("insufficient_quota|billing")  # says 429 as well, but waiting does not help
LOOKS_LIKE_A_KEY = re.compile(r"\b(sk|gsk|xai)-[\w*.-]{6,}")


class ModelFailed(HostError):
    """Raised when the provider gave no answer that can be used."""


class TryAgain(Exception):
    """Raised for a failure that may be gone in a moment; `failure` is what it is called when it is not."""

    def __init__(self, failure: ModelFailed, reason: str, after: float | None = None) -> None:
        super().__init__(str(failure))
        self.failure = failure
        self.reason = reason
        self.after = after  # seconds, as the provider wishes


class Complaints:
    """Of one provider; `where` is what a person calls it."""

    def __init__(self, where: str, key: str | None) -> None:
        self._where = where
        self._key = key

    def failed(self, key: str, **values: object) -> ModelFailed:
        return ModelFailed(key, where=self._where, **values)

    def raise_error_inside(self, document: JSONObject) -> None:
        """An error may also come with status 200, as a part of the stream."""
        if error := document.get("error"):
            why = self.words(json.dumps(document, ensure_ascii=False))
            failure = self.failed("model_error", why=why)
            fields = as_object(error)
            if PASSING.search(f"{fields.get('type')} {fields.get('code')}") or is_passing(fields.get("code")):
                raise TryAgain(failure, why)
            raise failure

    def refusal(self, status: int, headers: Mapping[str, str], text: str) -> Exception:
        """The error for a status that is no success."""
        why = self.words(text) or reason_of(status)
        if 300 <= status < 400:
            return self.failed("model_moved", status=status, to=self.safe(headers.get("location", "?")))
        if status in (401, 403):
            return self.failed("model_key" if self._key else "model_no_key", status=status, why=why)
        if status == 404:
            return self.failed("model_not_found", status=status, why=why)
        if status == 402 or (status == 429 and NO_CREDIT.search(text)):
            return self.failed("model_no_credit", status=status, why=why)
        if not is_passing(status) or headers.get("x-should-retry") == "false":
            return self.failed("model_refuses", status=status, why=why)
        after = retry_after(headers)
        if after is not None and after > MOST_RETRY_AFTER:
            return self.failed("model_wait", status=status, seconds=f"{after:.0f}", why=why)
        return TryAgain(self.failed("model_busy", status=status, why=why), f"HTTP {status}: {why}", after)

    def words(self, text: str) -> str:
        """The provider's own words, out of whatever it put them in."""
        title = re.search(r"<title[^>]*>(.*?)</title>", text[:20_000], re.IGNORECASE | re.DOTALL)
        with contextlib.suppress(ValueError, RecursionError):
            text = message_in(json.loads(text)) or text
        if title is not None:
            text = title[1]
        elif re.match(r"\s*<(!doctype|html)", text, re.IGNORECASE):
            text = "an HTML page"
        return self.safe(text)

    def safe(self, text: str) -> str:
        """One line without the key, short enough to be read."""
        if self._key is not None and len(self._key) >= LEAST_SECRET:
            text = text.replace(self._key, "***")
        line = " ".join(LOOKS_LIKE_A_KEY.sub("***", text).split())
        return line if len(line) <= MOST_WORDS else line[: MOST_WORDS - 1] + "…"


def message_in(document: Any) -> str:
    """`{"error": {"message": ...}}`, `{"error": "..."}`, `{"detail": [{"msg": ...}]}`: the sentence in it."""
    if isinstance(document, list):
        return message_in(document[0]) if document else ""
    if not isinstance(document, dict):
        return document if isinstance(document, str) else ""
    found = (message_in(document.get(name)) for name in ("error", "message", "detail", "msg"))
    return next(filter(None, found), "")


def is_passing(status: object) -> bool:
    return isinstance(status, int) and (status in TRY_AGAIN or status >= 500)


def reason_of(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "?"


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The seconds that the provider asks for: a number, or a date; None when it says nothing that can be read."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        with contextlib.suppress(KeyError, ValueError):
            seconds = float(headers[name]) * unit
            if seconds >= 0:  # false for NaN as well
                return seconds
    with contextlib.suppress(KeyError, ValueError, OverflowError):
        return max(0.0, parsedate_to_datetime(headers["retry-after"]).timestamp() - time.time())
    return None

"""One request to a model's provider: sent, tried again when that can help, its answer read as it arrives.

This is the only place that knows HTTP, and the only one that reads what a provider says of an error. The key is
handed over in one header; `_safe` takes it out of every text that comes back, as some providers repeat it.
"""

from __future__ import annotations

import contextlib
import json
import logging
import random
import re
import ssl
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

import anyio
import httpx2

from host.models.answer import DONE, Answer
from host.models.lenient import as_object
from host.words import HostError, Message

if TYPE_CHECKING:
    from protocol import JSONObject

CONNECT_SECONDS = 10.0  # we wait for the provider to take the connection
READ_SECONDS = 300.0  # we wait for its next piece; a local model is loaded before its first word
ANSWER_SECONDS = 900.0  # a person waits for the whole answer
PAUSES = (0.5, 1.0, 2.0)  # seconds before each further try, where the provider names no time of its own
MOST_RETRY_AFTER = 60.0  # seconds; whoever asks for more patience gets none
MOST_BYTES = 32 * 1024 * 1024  # of one answer
MOST_WORDS = 300  # characters of what a provider says of an error
LEAST_SECRET = 8  # characters; "ollama" or "EMPTY" in place of a key is no secret, but a word of error messages

TRY_AGAIN = (408, 409, 425, 429)  # and all from 500 up
PASSING = re.compile("overloaded|rate_limit|server_error|api_error|timeout|unavailable")  # errors inside a stream
NO_CREDIT = re.compile("insufficient_quota|billing")  # says 429 as well, but waiting does not help
LOOKS_LIKE_A_KEY = re.compile(r"\b(sk|gsk|xai)-[\w*.-]{6,}")

log = logging.getLogger(__name__)
logging.getLogger("httpcore2").setLevel(logging.INFO)  # at DEBUG it writes all headers of an answer


class ModelFailed(HostError):
    """Raised when the provider gave no answer that can be used."""


class TryAgain(Exception):
    """Raised for a failure that may be gone in a moment; `failure` is what it is called when it is not."""

    def __init__(self, failure: ModelFailed, reason: str, after: float | None = None) -> None:
        super().__init__(str(failure))
        self.failure = failure
        self.reason = reason
        self.after = after  # seconds, as the provider wishes


class Reader(Protocol):
    """Puts what arrives into an `Answer`; one for each answer."""

    def read(self, event: JSONObject) -> None:
        """One event of a streamed answer."""

    def read_whole(self, document: JSONObject) -> None:
        """An answer in one piece, from a provider that does not stream."""


@dataclass(frozen=True)
class Patience:
    """How long to wait for what; the tests have less of it."""

    connect: float = CONNECT_SECONDS
    read: float = READ_SECONDS
    answer: float = ANSWER_SECONDS
    pauses: tuple[float, ...] = PAUSES
    sleep: Callable[[float], Awaitable[None]] = anyio.sleep


class Provider:
    """An address that answers; `where` is what a person calls it."""

    def __init__(
        self, where: str, url: str, headers: Mapping[str, str], key: str | None, patience: Patience | None = None
    ) -> None:
        self._where = where
        self._url = url
        self._headers = {"Content-Type": "application/json", **headers}
        self._key = key
        self._patience = patience or Patience()
        self._tls: ssl.SSLContext | None = None  # made once: reading all certificates takes 0.1 s

    async def ask(self, body: JSONObject, begin: Callable[[], tuple[Answer, Reader]]) -> Answer:
        """Send `body`, read the answer; `begin` makes a new one for each try. Raises: ModelFailed."""
        content = self._encode(body)
        for pause in (*self._patience.pauses, None):
            answer, reader = begin()
            try:
                await self._try(content, answer, reader)
                return answer
            except TryAgain as bad:
                if pause is None or answer.is_shown:
                    raise bad.failure from bad
                wait = pause * random.uniform(0.75, 1.25) if bad.after is None else bad.after
                log.warning(Message("model_retry", {"why": bad.reason, "seconds": f"{wait:.1f}"}))
                await self._patience.sleep(wait)
        raise AssertionError("the last try returns or raises")

    def _encode(self, body: JSONObject) -> bytes:
        """As UTF-8; half of a surrogate pair, which no provider takes, becomes a question mark."""
        try:
            return json.dumps(body, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")
        except (TypeError, ValueError, RecursionError) as error:
            raise self._failed("model_unsendable", why=error) from error

    # One try

    async def _try(self, content: bytes, answer: Answer, reader: Reader) -> None:
        try:
            with anyio.fail_after(self._patience.answer), self._our_errors(answer):
                async with (
                    self._client() as client,
                    client.stream("POST", self._url, content=content, headers=self._headers) as response,
                ):
                    await self._receive(response, answer, reader)
        except TimeoutError as error:
            raise self._failed("model_endless", seconds=f"{self._patience.answer:g}") from error

    def _client(self) -> httpx2.AsyncClient:
        """One client per request: nobody has to close it. A proxy is for the world, not for this machine."""
        patience, trust_env = self._patience, not is_this_machine(self._url)
        timeout = httpx2.Timeout(patience.read, connect=patience.connect, pool=patience.connect)
        try:
            self._tls = self._tls or tls_for(self._url)
            return httpx2.AsyncClient(timeout=timeout, verify=self._tls, trust_env=trust_env)
        except (ImportError, ValueError, httpx2.InvalidURL) as error:  # a SOCKS proxy, or one that is no address
            raise self._failed("model_proxy", why=self._safe(str(error))) from error
        except OSError as error:  # SSL_CERT_FILE names no file
            raise self._failed("model_unreachable", why=error) from error

    @contextlib.contextmanager
    def _our_errors(self, answer: Answer) -> Iterator[None]:
        """The seam: no exception of httpx2 gets past it. An answer that was complete before it stays one."""
        try:
            yield
        except httpx2.HTTPError as error:
            if answer.end is None:
                raise self._translated(error) from error
        except (httpx2.InvalidURL, UnicodeError) as error:
            raise self._failed("model_unreachable", why=self._safe(str(error))) from error

    def _translated(self, error: httpx2.HTTPError) -> Exception:
        why = self._safe(str(error)) or type(error).__name__
        if isinstance(error, httpx2.ReadTimeout):
            return self._failed("model_silent", seconds=f"{self._patience.read:g}")
        if isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.ProxyError):
            return TryAgain(self._failed("model_unreachable", why=why), why)
        if isinstance(error, httpx2.NetworkError | httpx2.RemoteProtocolError | httpx2.TimeoutException):
            return TryAgain(self._failed("model_broke_off", why=why), why)
        return self._failed("model_broke_off", why=why)

    async def _receive(self, response: httpx2.Response, answer: Answer, reader: Reader) -> None:
        if not response.is_success:
            raise self._refusal(response, await read_text(response))
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "text/event-stream":
            text = await read_text(response)
            document = self._parse(text, kind)
            self._raise_error_inside(document)
            reader.read_whole(document)
            if answer.end is None:
                raise self._failed("model_no_answer", kind=kind, text=self._words(text))
            return
        async for event in httpx2.EventSource(response, max_event_size=MOST_BYTES):
            self._read_event(event.data, answer, reader)
            if answer.is_over:
                break
        if answer.end is None:
            why = "the stream ended before the answer did"
            raise TryAgain(self._failed("model_broke_off", why=why), why)

    def _read_event(self, data: str, answer: Answer, reader: Reader) -> None:
        if data.strip() == "[DONE]":
            answer.is_over = True
            answer.end = answer.end or DONE
        elif data.strip():
            event = self._parse(data, "text/event-stream")
            self._raise_error_inside(event)
            reader.read(event)

    def _parse(self, text: str, kind: str) -> JSONObject:
        with contextlib.suppress(ValueError, RecursionError):
            document = json.loads(text)
            if isinstance(document, dict):
                return document
        raise self._failed("model_no_answer", kind=kind or "?", text=self._words(text))

    # What the provider says of an error

    def _raise_error_inside(self, document: JSONObject) -> None:
        """An error may also come with status 200, as a part of the stream."""
        if error := document.get("error"):
            why = self._words(json.dumps(document, ensure_ascii=False))
            failure = self._failed("model_error", why=why)
            fields = as_object(error)
            if PASSING.search(f"{fields.get('type')} {fields.get('code')}") or is_passing(fields.get("code")):
                raise TryAgain(failure, why)
            raise failure

    def _refusal(self, response: httpx2.Response, text: str) -> Exception:
        """The error for a status that is no success."""
        status = response.status_code
        why = self._words(text) or reason_of(status)
        if 300 <= status < 400:
            return self._failed("model_moved", status=status, to=self._safe(response.headers.get("location", "?")))
        if status in (401, 403):
            return self._failed("model_key" if self._key else "model_no_key", status=status, why=why)
        if status == 404:
            return self._failed("model_not_found", status=status, why=why)
        if status == 402 or (status == 429 and NO_CREDIT.search(text)):
            return self._failed("model_no_credit", status=status, why=why)
        if not is_passing(status) or response.headers.get("x-should-retry") == "false":
            return self._failed("model_refuses", status=status, why=why)
        after = retry_after(response.headers)
        if after is not None and after > MOST_RETRY_AFTER:
            return self._failed("model_wait", status=status, seconds=f"{after:.0f}", why=why)
        return TryAgain(self._failed("model_busy", status=status, why=why), f"HTTP {status}: {why}", after)

    def _failed(self, key: str, **values: object) -> ModelFailed:
        return ModelFailed(key, where=self._where, **values)

    def _words(self, text: str) -> str:
        """The provider's own words, out of whatever it put them in."""
        title = re.search(r"<title[^>]*>(.*?)</title>", text[:20_000], re.IGNORECASE | re.DOTALL)
        with contextlib.suppress(ValueError, RecursionError):
            text = message_in(json.loads(text)) or text
        if title is not None:
            text = title[1]
        elif re.match(r"\s*<(!doctype|html)", text, re.IGNORECASE):
            text = "an HTML page"
        return self._safe(text)

    def _safe(self, text: str) -> str:
        """One line without the key, short enough to be read."""
        if self._key is not None and len(self._key) >= LEAST_SECRET:
            text = text.replace(self._key, "***")
        line = " ".join(LOOKS_LIKE_A_KEY.sub("***", text).split())
        return line if len(line) <= MOST_WORDS else line[: MOST_WORDS - 1] + "…"


async def read_text(response: httpx2.Response) -> str:
    """The whole body, up to MOST_BYTES."""
    data = bytearray()
    async for part in response.aiter_bytes():
        data += part
        if len(data) > MOST_BYTES:
            break
    return data[:MOST_BYTES].decode("utf-8", "replace")


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


def tls_for(url: str) -> ssl.SSLContext:
    """What checks the provider's certificate; where none is expected, none would be trusted."""
    return httpx2.create_ssl_context() if url.startswith("https:") else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def is_this_machine(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")

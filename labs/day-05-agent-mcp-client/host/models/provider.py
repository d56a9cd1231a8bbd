"""One request to a model's provider: sent, tried again when that can help, its answer read as it arrives.

This is the only place that knows HTTP. No exception of httpx2 gets past it: what fails is a `ModelFailed`, whose words
are made in complaints.py, and no text of a provider gets out in any other way.
"""

from __future__ import annotations

import contextlib
import json
import logging
import random
import ssl
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlsplit

import anyio
import httpx2

from host.models.answer import DONE, Answer
from host.models.complaints import Complaints, TryAgain
from host.words import Message

if TYPE_CHECKING:
    from protocol import JSONObject

CONNECT_SECONDS = 10.0  # we wait for the provider to take the connection
READ_SECONDS = 300.0  # we wait for its next piece; a local model is loaded before its first word
ANSWER_SECONDS = 900.0  # a person waits for the whole answer
PAUSES = (0.5, 1.0, 2.0)  # seconds before each further try, where the provider names no time of its own
MOST_BYTES = 32 * 1024 * 1024  # of one answer

log = logging.getLogger(__name__)
logging.getLogger("httpcore2").setLevel(logging.INFO)  # at DEBUG it writes all headers of an answer


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
    """An address that answers; `where` is what a person calls it, `key` what no text may show."""

    def __init__(
        self, where: str, url: str, headers: Mapping[str, str], key: str | None, patience: Patience | None = None
    ) -> None:
        self._url = url
        self._headers = {"Content-Type": "application/json", **headers}
        self._complaints = Complaints(where, key)
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
            raise self._complaints.failed("model_unsendable", why=error) from error

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
            raise self._complaints.failed("model_endless", seconds=f"{self._patience.answer:g}") from error

    def _client(self) -> httpx2.AsyncClient:
        """One client per request: nobody has to close it. A proxy is for the world, not for this machine."""
        patience, trust_env = self._patience, not is_this_machine(self._url)
        timeout = httpx2.Timeout(patience.read, connect=patience.connect, pool=patience.connect)
        try:
            self._tls = self._tls or tls_for(self._url)
            return httpx2.AsyncClient(timeout=timeout, verify=self._tls, trust_env=trust_env)
        except (ImportError, ValueError, httpx2.InvalidURL) as error:  # a SOCKS proxy, or one that is no address
            raise self._complaints.failed("model_proxy", why=self._complaints.safe(str(error))) from error
        except OSError as error:  # SSL_CERT_FILE names no file
            raise self._complaints.failed("model_unreachable", why=error) from error

    @contextlib.contextmanager
    def _our_errors(self, answer: Answer) -> Iterator[None]:
        """The seam: no exception of httpx2 gets past it. An answer that was complete before it stays one."""
        try:
            yield
        except httpx2.HTTPError as error:
            if answer.end is None:
                raise self._translated(error) from error
        except (httpx2.InvalidURL, UnicodeError) as error:
            raise self._complaints.failed("model_unreachable", why=self._complaints.safe(str(error))) from error

    def _translated(self, error: httpx2.HTTPError) -> Exception:
        why = self._complaints.safe(str(error)) or type(error).__name__
        if isinstance(error, httpx2.ReadTimeout):
            return self._complaints.failed("model_silent", seconds=f"{self._patience.read:g}")
        if isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.ProxyError):
            return TryAgain(self._complaints.failed("model_unreachable", why=why), why)
        if isinstance(error, httpx2.NetworkError | httpx2.RemoteProtocolError | httpx2.TimeoutException):
            return TryAgain(self._complaints.failed("model_broke_off", why=why), why)
        return self._complaints.failed("model_broke_off", why=why)

    async def _receive(self, response: httpx2.Response, answer: Answer, reader: Reader) -> None:
        if not response.is_success:
            text = await read_text(response)
            raise self._complaints.refusal(response.status_code, response.headers, text)
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "text/event-stream":
            text = await read_text(response)
            document = self._parse(text, kind)
            self._complaints.raise_error_inside(document)
            reader.read_whole(document)
            if answer.end is None:
                raise self._complaints.failed("model_no_answer", kind=kind, text=self._complaints.words(text))
            return
        async for event in httpx2.EventSource(response, max_event_size=MOST_BYTES):
            self._read_event(event.data, answer, reader)
            if answer.is_over:
                break
        if answer.end is None:
            why = "the stream ended before the answer did"
            raise TryAgain(self._complaints.failed("model_broke_off", why=why), why)

    def _read_event(self, data: str, answer: Answer, reader: Reader) -> None:
        if data.strip() == "[DONE]":
            answer.is_over = True
            answer.end = answer.end or DONE
        elif data.strip():
            event = self._parse(data, "text/event-stream")
            self._complaints.raise_error_inside(event)
            reader.read(event)

    def _parse(self, text: str, kind: str) -> JSONObject:
        with contextlib.suppress(ValueError, RecursionError):
            document = json.loads(text)
            if isinstance(document, dict):
                return document
        raise self._complaints.failed("model_no_answer", kind=kind or "?", text=self._complaints.words(text))


async def read_text(response: httpx2.Response) -> str:
    """The whole body, up to MOST_BYTES."""
    data = bytearray()
    async for part in response.aiter_bytes():
        data += part
        if len(data) > MOST_BYTES:
            break
    return data[:MOST_BYTES].decode("utf-8", "replace")


def tls_for(url: str) -> ssl.SSLContext:
    """What checks the provider's certificate; where none is expected, none would be trusted."""
    return httpx2.create_ssl_context() if url.startswith("https:") else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def is_this_machine(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")

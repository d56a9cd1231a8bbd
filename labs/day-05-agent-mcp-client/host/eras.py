"""The client of a server of either protocol era: it finds out which one it is, and speaks that.

A modern server (2026-07-28 and later) is told with every request how it is talked to; a legacy one (2025-11-25
and earlier) agrees on it once, by `initialize`. Nothing says beforehand which kind a server is, so it is asked
`server/discover`, and its answer, its silence or its death tells [basic/versioning, basic/transports/stdio].

The strategy: two ways to an agreement are gone at the same time, and the first that gets there ends the other.
The modern one asks, and waits. The legacy one holds back until the modern one has heard a no, but not longer
than PROBE_SECONDS; then it says `initialize`. So a silent legacy server costs this short while, and a modern
one that is merely slow to start is known for what it is, however late it answers.

The five files see nothing of it. When `start` returns there is an agreement; what `discover` gets is in the
form of our own revision, whatever the server speaks. Import this module after `target.enter`.
"""

import math
import reprlib
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum

import anyio
from anyio.abc import Process, TaskGroup

from protocol import (
    CLIENT_INFO,
    METHOD_NOT_FOUND,
    PROTOCOL_VERSION,
    UNSUPPORTED_PROTOCOL_VERSION,
    InvalidMessage,
    JSONObject,
    McpError,
    RequestTimeout,
    RpcError,
    ServerDown,
    request_meta,
)
from stdio_client import REQUEST_SECONDS, StdioClient, Waiter

MODERN_REVISIONS = (PROTOCOL_VERSION,)  # that this client speaks, the best first
LEGACY_REVISIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")  # tools are the same in all of them

# An error with one of these codes comes from a modern server; any other, -32602 too, may come from a legacy one.
MODERN_CODES = (-32020, -32021, UNSUPPORTED_PROTOCOL_VERSION)

PROBE_SECONDS = 2.0  # a server that has not answered `server/discover` by then is sent `initialize` as well
MOST_REPLIES = 100  # to one server under way at the same time; one that asks more, and reads nothing, gets none


class Era(Enum):
    MODERN = "modern"
    LEGACY = "legacy"


@dataclass(frozen=True)
class Agreement:
    """How a server is talked to. It holds for its next process, too."""

    era: Era
    revision: str
    discovered: JSONObject  # what `server/discover` answers


class NoAgreement(McpError):
    """Raised when a server runs and answers, but there is no revision in which it and we can talk."""


Way = Callable[[], Awaitable[Agreement | None]]  # one way to an agreement; None: it leads nowhere


class EraClient(StdioClient):
    """A `StdioClient` for servers of both eras.

    `probe_seconds` is how long a legacy one may cost by its silence; `start` waits for an agreement no longer than
    `start_seconds`, nor than a request waits for its answer.
    """

    def __init__(
        self,
        command: Sequence[str],
        tasks: TaskGroup,
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        timeout: float = REQUEST_SECONDS,
        probe_seconds: float = PROBE_SECONDS,
        start_seconds: float = math.inf,
        on_notification: Callable[[JSONObject], None] | None = None,
    ) -> None:
        super().__init__(command, tasks, env=env, cwd=cwd, timeout=timeout, on_notification=self._on_unasked)
        self.probe_seconds = probe_seconds
        self.start_seconds = start_seconds
        self.agreement: Agreement | None = None  # with the last process, and so with the next
        self._told = on_notification
        self._starting = anyio.Lock()  # one start at a time
        self._closings = 0  # a server that was closed is not to be started again by us
        self._is_agreed = False  # with the process that runs now
        self._is_news = False  # nobody has asked yet for what the start has discovered
        self._speaks_legacy = False
        self._not_modern = anyio.Event()  # set when the answer to the probe is none of a modern server
        self._not_initialized = anyio.Event()  # set when `initialize` is refused
        self._may_reply: bool | None = None  # to the server's own requests; None: that is not known yet
        self._held: list[JSONObject] = []  # its requests until it is
        self._replies = 0  # under way

    # What the five files use

    async def start(self) -> None:
        """Start the server and come to an agreement with it; one that runs and has agreed is left alone.

        Raises: ServerDown when it cannot be started or has exited, NoAgreement, RequestTimeout when it says
        nothing for the whole time that a start may take.
        """
        async with self._starting:
            if self._is_agreed and not self._ended.is_set():
                return
            seconds = self._seconds_to_start()
            with anyio.move_on_after(seconds):
                await self._start_process()
                await self._adopt(await self._agree())
                return
            raise RequestTimeout("initialize" if self.agreement else "server/discover", seconds)

    async def request(
        self, method: str, params: JSONObject | None = None, *, timeout: float | None = None
    ) -> JSONObject:
        """As in `StdioClient`; what a legacy server has no method for is answered here, or refused."""
        if self._process is not None and not self._ended.is_set():
            if self.agreement is None or not self._is_agreed:
                raise ServerDown("there is no agreement with it on a protocol revision")
            if method == "server/discover" and self._is_news:
                self._is_news = False  # who asks again wants to know how it is then
                return self.agreement.discovered
            if method == "server/discover" and self._speaks_legacy:
                with suppress(RpcError):  # an answer, too
                    await super().request("ping", timeout=timeout)
                return self.agreement.discovered
            if method == "subscriptions/listen" and self._speaks_legacy:
                raise InvalidMessage(f"in revision {self.agreement.revision} there is no {method}")
        return await super().request(method, params, timeout=timeout)

    async def notify(self, method: str, params: JSONObject | None = None) -> None:
        """As in `StdioClient`, but before the agreement nothing is cancelled: `initialize` may never be."""
        if self._is_agreed or method != "notifications/cancelled":
            await super().notify(method, params)

    async def close(self) -> None:
        self._closings += 1
        self._is_agreed = False
        await super().close()

    # The way to an agreement

    async def _start_process(self) -> None:
        """Start a process with which nothing has been agreed; one that is left from before is ended."""
        self._is_agreed = self._is_news = False
        await super().close()
        self._speaks_legacy, self._may_reply = False, None
        self._held.clear()
        self._not_modern, self._not_initialized = anyio.Event(), anyio.Event()
        await super().start()

    async def _agree(self) -> Agreement:
        """Ask nothing that is known: the era belongs to the server, not to one of its processes."""
        if self.agreement is None:
            return await self._find_out()
        if self.agreement.era is Era.MODERN:
            return self.agreement  # which needs no handshake
        try:
            return await self._first_of(self._initialize)
        except NoAgreement:
            self.agreement = None  # it is another server by now
            raise

    async def _find_out(self) -> Agreement:
        """Raises: ServerDown, NoAgreement."""
        closings = self._closings
        try:
            return await self._first_of(self._probe, self._fall_back)
        except ServerDown:
            if self._closings != closings:
                raise
        # Some legacy servers exit at a first message that is not `initialize`.
        await self._start_process()
        return await self._first_of(self._initialize)

    async def _first_of(self, *ways: Way) -> Agreement:
        """Go these ways at the same time, to the end of the first; the last leads somewhere always.

        Raises: what the first to end has raised.
        """
        ends: list[Agreement | McpError] = []

        async def go(way: Way) -> None:
            end: Agreement | McpError | None
            try:
                end = await way()
            except McpError as error:
                end = error
            if end is not None:
                ends.append(end)
                tasks.cancel_scope.cancel()

        async with anyio.create_task_group() as tasks:
            for way in ways:
                tasks.start_soon(go, way)
        if isinstance(ends[0], McpError):
            raise ends[0]
        return ends[0]

    async def _probe(self) -> Agreement | None:
        """The modern way. None: the answer is not one of a modern server."""
        self.meta = request_meta(MODERN_REVISIONS[0])
        agreement = None
        try:
            agreement = read_discovery(await self._discover())
        except RpcError as error:
            if error.code in MODERN_CODES:
                raise NoAgreement(f"it refuses server/discover: {error}") from error
        except InvalidMessage:
            pass
        if agreement is None:
            self._not_modern.set()
        elif self._may_reply:
            # The answer is late: `initialize` is under way. A server of both eras may accept that, and then it
            # is a legacy one from there on; one that refuses is what it has just said.
            self._may_reply = None
            await self._wait_a_while(self._not_initialized)
        return agreement

    async def _discover(self) -> JSONObject:
        """Ask once more in another revision when the server wants that."""
        try:
            return await self._ask("server/discover")
        except RpcError as error:
            if error.code != UNSUPPORTED_PROTOCOL_VERSION:
                raise
            offered = offered_revisions(error)
            revision = common(MODERN_REVISIONS, offered)
            if revision is None:  # not `initialize`, whatever it offers: the code is a modern server's
                raise NoAgreement(no_common_revision(offered)) from error
        self.meta = request_meta(revision)
        return await self._ask("server/discover")

    async def _fall_back(self) -> Agreement:
        """The legacy way, behind the modern one."""
        await self._wait_a_while(self._not_modern)
        try:
            return await self._initialize()
        except NoAgreement:
            # A slow modern server may have answered this first; then its other answer is about to come.
            await self._wait_a_while(self._not_modern)
            raise

    async def _initialize(self) -> Agreement:
        """The legacy way; from here on the server may ask us, too. Raises: NoAgreement, ServerDown."""
        self._reply_from_now_on()
        try:
            return read_initialization(await self._ask_to_initialize())
        except RpcError as error:
            self._not_initialized.set()
            if error.code in MODERN_CODES and (agreement := await self._probe()):
                return agreement
            raise NoAgreement(f"it refuses initialize: {error}") from error
        except InvalidMessage as error:
            self._not_initialized.set()
            raise NoAgreement(f"what it answers to initialize is no result: {error}") from error

    async def _ask_to_initialize(self) -> JSONObject:
        """Ask once more in another revision when the server wants that."""
        best, *older = LEGACY_REVISIONS
        try:
            return await self._ask("initialize", initialization(best))
        except RpcError as error:
            revision = common(older, offered_revisions(error))
            if revision is None or error.code in MODERN_CODES:
                raise
        return await self._ask("initialize", initialization(revision))

    async def _wait_a_while(self, sign: anyio.Event) -> None:
        with anyio.move_on_after(min(self.probe_seconds, self._seconds_to_start() / 2)):
            await sign.wait()

    def _seconds_to_start(self) -> float:
        return min(self.timeout, self.start_seconds)

    async def _ask(self, method: str, params: JSONObject | None = None) -> JSONObject:
        """A request with no deadline of its own: `start` ends it."""
        return await super().request(method, params, timeout=math.inf)

    async def _adopt(self, agreement: Agreement) -> None:
        """From here on, talk as agreed."""
        is_legacy = agreement.era is Era.LEGACY
        self._is_news = agreement is not self.agreement
        self._speaks_legacy = is_legacy
        if is_legacy:
            self._reply_from_now_on()
            await self.notify("notifications/initialized")
        else:
            self._may_reply = False
            self._held.clear()
            self.meta = request_meta(agreement.revision)
        self.agreement, self._is_agreed = agreement, True

    # What else crosses the pipe

    async def _send(self, message: JSONObject, waiter: Waiter | None = None) -> None:
        """To a legacy server, `params._meta` is nothing that it needs, and some of what we put there it may refuse."""
        if self._speaks_legacy or message.get("method") == "initialize":
            params = {name: value for name, value in message.get("params", {}).items() if name != "_meta"}
            message = {**message, "params": params} if "params" in message else message
        await super()._send(message, waiter)

    def _on_unasked(self, message: JSONObject) -> None:
        """A notification goes on to who listens; a request is answered if this pipe knows any from a server."""
        if "id" not in message:
            if self._told is not None:
                self._told(message)
        elif self._may_reply:
            self._reply_soon(message)
        elif self._may_reply is None and len(self._held) < MOST_REPLIES:
            self._held.append(message)

    def _reply_from_now_on(self) -> None:
        self._may_reply = True
        for message in self._held:
            self._reply_soon(message)
        self._held.clear()

    def _reply_soon(self, message: JSONObject) -> None:
        """Reply in a task of its own: the reader must not wait until the server reads."""
        if type(message["id"]) in (int, str) and self._replies < MOST_REPLIES:
            self._replies += 1
            self._tasks.start_soon(self._reply, message, self._process)

    async def _reply(self, message: JSONObject, process: Process | None) -> None:
        try:
            if self._process is not process:
                return
            if self._may_reply is None:  # by now there is a doubt again
                self._held.append(message)
            elif self._may_reply:
                with suppress(McpError):  # who does not live to hear it needs it no more
                    await self._send(reply_to(message))
        finally:
            self._replies -= 1


# What is said, and what an answer means


def initialization(revision: str) -> JSONObject:
    """The params of `initialize`: we offer a legacy server nothing that it could ask for."""
    return {"protocolVersion": revision, "capabilities": {}, "clientInfo": CLIENT_INFO}


def read_discovery(result: JSONObject) -> Agreement | None:
    """None: it is no DiscoverResult, or one of a server that names legacy revisions only.

    Raises: NoAgreement when it names none that we know.
    """
    offered = result.get("supportedVersions")
    if not isinstance(offered, list):
        return None
    if revision := common(MODERN_REVISIONS, offered):
        return Agreement(Era.MODERN, revision, result)
    if common(LEGACY_REVISIONS, offered):
        return None
    raise NoAgreement(no_common_revision(offered))


def read_initialization(result: JSONObject) -> Agreement:
    """Raises: NoAgreement when the server chose a revision that we do not know."""
    revision = common(LEGACY_REVISIONS, [result.get("protocolVersion")])
    if revision is None:
        raise NoAgreement(no_common_revision(result.get("protocolVersion")))
    return Agreement(Era.LEGACY, revision, discovery_of(result, revision))


def discovery_of(initialized: JSONObject, revision: str) -> JSONObject:
    """What this server would have answered to `server/discover`, made of its answer to `initialize`.

    This is the only place where a legacy server is dressed up as a modern one. Our own revision is among the
    supported ones because for the five files that is true: they speak it, and this client translates.
    """
    found: JSONObject = {
        "resultType": "complete",
        "supportedVersions": [PROTOCOL_VERSION, revision],
        "capabilities": initialized.get("capabilities", {}),
        "_meta": {"io.modelcontextprotocol/serverInfo": initialized.get("serverInfo", {})},
    }
    if "instructions" in initialized:
        found["instructions"] = initialized["instructions"]
    return found


def offered_revisions(error: RpcError) -> list[object]:
    """Those that an error names in `data.supported`; in legacy revisions some errors do so, too."""
    supported = error.data.get("supported") if isinstance(error.data, dict) else None
    return supported if isinstance(supported, list) else []


def common(ours: Iterable[str], offered: Sequence[object]) -> str | None:
    """The best of ours that the server offers."""
    return next((revision for revision in ours if revision in offered), None)


def no_common_revision(offered: object) -> str:
    ours = ", ".join((*MODERN_REVISIONS, *LEGACY_REVISIONS))
    return f"it speaks {reprlib.repr(offered)}, this client speaks {ours}"


def reply_to(request: JSONObject) -> JSONObject:
    """The answer to a legacy server's request: we have declared no capability, so `ping` is all we owe it."""
    answer = {"jsonrpc": "2.0", "id": request["id"]}
    if request["method"] == "ping":
        return {**answer, "result": {}}
    message = f"this client does not offer {reprlib.repr(request['method'])}"
    return {**answer, "error": {"code": METHOD_NOT_FOUND, "message": message}}

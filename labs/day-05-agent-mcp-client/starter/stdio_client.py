"""One MCP server: a child process, its pipes, and the requests that wait for an answer.

The strategy: any number of tasks write, one task reads. A request leaves a waiter in a table under
its id and sleeps; the reader finds the waiter by the id in the answer and wakes it, so answers may
come in any order. Every wait has a deadline, and when the server ends, all waiters fail at once.
This file knows bytes, ids and deadlines; it does not know what a tool is.
"""

import itertools
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

import anyio
from anyio.abc import Process, TaskGroup

from protocol import InvalidMessage, JSONObject, McpError, RequestTimeout, RpcError, ServerDown
from protocol import complete_result, decode, encode, request_meta

REQUEST_SECONDS = 30.0  # a request waits this long for its answer unless the caller says otherwise
NOTICE_SECONDS = 0.2  # a request that is given up tries this long to tell the server so
LAST_WORDS_SECONDS = 0.2  # an ended server's pipes are read this long: its last answer may be there
EXIT_SECONDS = 2.0  # close() waits this long for the exit after each step: end of input, TERM, KILL
MAX_LINE_BYTES = 256 * 1024 * 1024  # a longer line ends this server rather than our memory
LAST_WORDS_BYTES = 2000  # of stderr and stray output, kept to explain the server's end


class Waiter:
    """Where one request sleeps until its answer arrives, or the reason why there will be none."""

    def __init__(self) -> None:
        self._arrived = anyio.Event()
        self._result: object = None
        self._error: McpError | None = None

    def succeed(self, result: object) -> None:
        """Wake the request: `answer` returns `result`."""
        self._result = result
        self._arrived.set()

    def fail(self, error: McpError) -> None:
        """Wake the request: `answer` raises `error`."""
        self._error = error
        self._arrived.set()

    async def answer(self) -> object:
        await self._arrived.wait()
        if self._error is not None:
            raise self._error
        return self._result


class StdioClient:
    """The connection to one server, from `start` to `close`.

    `command` is the program with its arguments; `tasks` is the task group its reader runs in;
    `env` is the server's whole environment (None: the same as ours); `timeout` is a request's
    deadline in seconds; `on_notification` is told of every message the server sends unasked.
    """

    def __init__(
        self,
        command: Sequence[str],
        tasks: TaskGroup,
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        timeout: float = REQUEST_SECONDS,
        on_notification: Callable[[JSONObject], None] | None = None,
    ) -> None:
        self.command = list(command)
        self.timeout = timeout
        self.meta = request_meta()
        self._tasks = tasks
        self._env = env
        self._cwd = cwd
        self._on_notification = on_notification
        self._life = anyio.Lock()  # start and close take turns
        self._process: Process | None = None
        self._ids = itertools.count(1)
        self._pending: dict[int, Waiter] = {}  # request id -> its waiter
        self._writing = anyio.Lock(fast_acquire=True)  # one message at a time enters the pipe
        self._reading = anyio.CancelScope()  # around all that reads from this process
        self._ended = anyio.Event()  # set when no more answers can come from this process
        self._end_reason = "it has not been started"
        self._last_words = b""

    # From here to the server

    async def start(self) -> None:
        """Start the server's process and read its output from now on; a running one is left alone.

        Raises: ServerDown when the program cannot be started.
        """
        # A half-started or half-closed process would belong to nobody.
        with anyio.CancelScope(shield=True):
            async with self._life:
                if self._process is not None and not self._ended.is_set():
                    return
                await self._close()
                self._process = await self._open()
                self._ended = anyio.Event()
                self._tasks.start_soon(self._serve, self._process, self._ended)

    async def request(
        self, method: str, params: JSONObject | None = None, *, timeout: float | None = None
    ) -> JSONObject:
        """Send a request and return the `result` of its answer.

        Raises: RpcError when the answer is an error, RequestTimeout after `timeout` seconds (None:
        the client's own), ServerDown when the server is gone, InvalidMessage for any other answer.
        """
        seconds = self.timeout if timeout is None else timeout
        request_id = next(self._ids)
        waiter = Waiter()
        params = {**(params or {}), "_meta": self.meta}
        message = {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}
        try:
            with anyio.move_on_after(seconds):
                await self._send(message, waiter)
                return complete_result(await waiter.answer())
            raise RequestTimeout(method, seconds)
        except (RequestTimeout, anyio.get_cancelled_exc_class()):
            if request_id in self._pending:  # it is on its way, and not answered
                await self._give_up(request_id)
            raise
        finally:
            self._pending.pop(request_id, None)

    async def _give_up(self, request_id: int) -> None:
        """Tell the server that nobody waits for this answer any more [basic/patterns/cancellation]."""
        with anyio.move_on_after(NOTICE_SECONDS, shield=True), suppress(ServerDown):
            await self.notify("notifications/cancelled", {"requestId": request_id})

    async def notify(self, method: str, params: JSONObject | None = None) -> None:
        """Send a notification: it has no id and gets no answer. Raises: ServerDown."""
        await self._send({"jsonrpc": "2.0", "method": method, "params": params or {}})

    async def close(self) -> None:
        """End the server: close its input, wait, TERM, KILL [basic/transports/stdio]."""
        with anyio.CancelScope(shield=True):  # a caller in a hurry must not leave a process behind
            async with self._life:
                await self._close()

    async def _open(self) -> Process:
        try:
            return await anyio.open_process(
                self.command,
                env=self._env,
                cwd=self._cwd,
                start_new_session=True,  # so close() can end it with all it started (POSIX only)
            )
        except (OSError, ValueError) as error:
            self._end_reason = f"{self.command[0]!r} cannot be started: {error}"
            raise ServerDown(self._end_reason) from error

    async def _close(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        if process.stdin is not None:
            await process.stdin.aclose()
        if not await _exits(process):
            _end_tree(process, force=False)
            await _exits(process)
        _end_tree(process, force=True)  # also what the server has started and left behind
        if await _exits(process):
            with anyio.move_on_after(EXIT_SECONDS):
                await self._ended.wait()
            await process.aclose()

    async def _send(self, message: JSONObject, waiter: Waiter | None = None) -> None:
        """The only place where bytes leave for the server; an answer wakes `waiter`."""
        line = encode(message)
        process, ended, reading = self._process, self._ended, self._reading
        if process is None or process.stdin is None:
            raise ServerDown(self._end_reason)
        try:
            async with self._writing:  # who is cancelled comes no further; from here on, it is sent
                if ended.is_set():
                    raise ServerDown(self._end_reason)
                if waiter is not None:
                    self._pending[message["id"]] = waiter
                await process.stdin.send(line)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError) as error:
            with anyio.move_on_after(LAST_WORDS_SECONDS):
                await ended.wait()  # then the reason tells more than "broken pipe"
            if not ended.is_set() and process.returncode is None:
                self._end_reason = "it has closed its input"
                reading.cancel()
            await ended.wait()
            raise ServerDown(self._end_reason) from error

    # From the server to here

    async def _serve(self, process: Process, ended: anyio.Event) -> None:
        """Read until the output ends or the process dies; then fail all that still wait for it."""
        self._end_reason, self._last_words = "it has closed its output", b""  # until we learn better
        try:
            async with anyio.create_task_group() as tasks:
                self._reading = tasks.cancel_scope
                tasks.start_soon(self._read_stdout, process)
                tasks.start_soon(self._read_stderr, process)
                # The death is waited for by itself: a child of the server may hold the pipes open.
                await process.wait()
                self._end_reason = f"it has exited with code {process.returncode}"
                self._finish_soon()
        finally:
            if self._last_words:
                words = self._last_words.decode("utf-8", "replace").strip()
                self._end_reason += f"; its last words: {words}"
            ended.set()
            for waiter in self._pending.values():
                waiter.fail(ServerDown(self._end_reason))

    async def _read_stdout(self, process: Process) -> None:
        """Cut the output into lines, on bytes and in linear time."""
        assert process.stdout is not None
        line: list[bytes] = []  # the pieces of the line that has not ended yet
        size = 0
        with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
            async for chunk in process.stdout:
                *ends, rest = chunk.split(b"\n")
                for end in ends:
                    self._on_line(b"".join([*line, end]))
                    line, size = [], 0
                line.append(rest)
                size += len(rest)
                if size > MAX_LINE_BYTES:
                    self._end_reason = f"it has sent a line of more than {MAX_LINE_BYTES} bytes"
                    break
        self._finish_soon()

    def _finish_soon(self) -> None:
        """One sign of the server's end has come; the other readers get this much longer."""
        deadline = anyio.current_time() + LAST_WORDS_SECONDS
        self._reading.deadline = min(self._reading.deadline, deadline)

    async def _read_stderr(self, process: Process) -> None:
        """Keep the pipe empty, or the server would stop when it is full; remember the end of it."""
        assert process.stderr is not None
        with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
            async for chunk in process.stderr:
                self._keep(chunk)

    def _on_line(self, line: bytes) -> None:
        """Hand one line's message to whom it is for. A line that is for nobody is passed over."""
        message = decode(line)
        if message is None:
            self._keep(line + b"\n")
            return
        if "method" in message:
            if self._on_notification is not None:
                self._on_notification(message)
            return
        waiter = self._take_waiter(message)
        if waiter is None:
            return  # a late answer, a second one, or one to a question never asked
        if ("result" in message) == ("error" in message):
            waiter.fail(InvalidMessage("the answer must hold either a result or an error"))
        elif "result" in message:
            waiter.succeed(message["result"])
        # TODO 1: an answer holds a result or an error. Here the error is
        # forgotten: nobody wakes the waiter, and the request sleeps until its
        # timeout. Make it raise RpcError at once, with the server's code.

    def _take_waiter(self, message: JSONObject) -> Waiter | None:
        """The waiter that this answer is for, taken from the table; our ids are integers."""
        request_id = message.get("id")
        if request_id is None and "error" in message and len(self._pending) == 1:
            request_id = next(iter(self._pending))  # it could not read the id of the only request
        return self._pending.pop(request_id, None) if type(request_id) is int else None

    def _keep(self, words: bytes) -> None:
        self._last_words = (self._last_words + words)[-LAST_WORDS_BYTES:]


async def _exits(process: Process) -> bool:
    """Whether the process ends within EXIT_SECONDS."""
    with anyio.move_on_after(EXIT_SECONDS):
        await process.wait()
        return True
    return False


def _end_tree(process: Process, *, force: bool) -> None:
    """End the process and what it has started; Windows knows only the forced way."""
    if sys.platform != "win32":
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL if force else signal.SIGTERM)
    elif process.returncode is None:
        subprocess.run(["taskkill", "/F", "/T", "/PID", str(process.pid)], capture_output=True)

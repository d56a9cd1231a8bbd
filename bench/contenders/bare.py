"""The least that could work: an anyio process, a reader, a table of ids. No deadline, no errors, no clean-up."""

import itertools
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
from anyio.abc import Process

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "bare", "version": "0"},
}


class Peer:
    def __init__(self, process: Process) -> None:
        assert process.stdin is not None and process.stdout is not None
        self._stdin, self._stdout = process.stdin, process.stdout
        self._ids = itertools.count(1)
        self._waiting: dict[int, anyio.Event] = {}
        self._answers: dict[int, Any] = {}

    async def read(self) -> None:
        parts: list[bytes] = []
        async for chunk in self._stdout:
            *ends, rest = chunk.split(b"\n")
            for end in ends:
                message = json.loads(b"".join([*parts, end]))
                parts = []
                self._answers[message["id"]] = message["result"]
                self._waiting.pop(message["id"]).set()
            parts.append(rest)

    async def request(self, method: str, params: dict[str, Any]) -> Any:
        number = next(self._ids)
        event = self._waiting[number] = anyio.Event()
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": {**params, "_meta": META}}
        await self._stdin.send(json.dumps(message).encode() + b"\n")
        await event.wait()
        return self._answers.pop(number)

    async def call(self, size: int) -> None:
        await self.request("tools/call", {"name": "text", "arguments": {"bytes": size}})

    async def list_tools(self) -> int:
        count = 0
        params: dict[str, Any] = {}
        while True:
            page = await self.request("tools/list", params)
            count += len(page["tools"])
            if "nextCursor" not in page:
                return count
            params = {"cursor": page["nextCursor"]}


@asynccontextmanager
async def connect(command: list[str]) -> AsyncIterator[Peer]:
    # start_new_session as in the other clients: it changes what a start costs
    process = await anyio.open_process(command, start_new_session=True)
    peer = Peer(process)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(peer.read)
        await peer.request("server/discover", {})
        yield peer
        tasks.cancel_scope.cancel()
    process.kill()
    await process.aclose()

"""The servers' life: all are opened for one stretch of work, and all are closed at its end, whatever ends it.

`open_servers` owns the task group in which the clients read. No way leads out of it past the closing: no
error in the work, none in a client, not Ctrl-C. Import this module after `target.enter`: the client is the
target's own.
"""

import math
import os
import shutil
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager

import anyio
from anyio.abc import TaskGroup

from host.config import ServerConfig
from host.eras import EraClient
from host.interrupts import not_to_be_interrupted
from stdio_client import REQUEST_SECONDS, StdioClient

START_SECONDS = 10.0  # a server that says nothing keeps all waiting this long; its entry's `timeout` goes before

MakeClient = Callable[[str, ServerConfig, TaskGroup], StdioClient]  # alias, how to start it, where it reads


class ServerClient(EraClient):
    """The client of one configured server, of either era. The registry starts it, and notes when that fails."""

    def __init__(self, alias: str, config: ServerConfig, tasks: TaskGroup) -> None:
        timeout, start = (REQUEST_SECONDS, START_SECONDS) if config.timeout is None else (config.timeout, math.inf)
        command = command_line(config)
        super().__init__(command, tasks, env=config.env, cwd=config.cwd, timeout=timeout, start_seconds=start)


def command_line(config: ServerConfig) -> list[str]:
    """The program with its arguments; Windows finds `npx` only by its whole name, `npx.cmd`."""
    command = config.command
    if os.name == "nt":
        command = shutil.which(command, path=config.env.get("PATH")) or command
    return [command, *config.args]


@asynccontextmanager
async def open_servers(
    configs: Mapping[str, ServerConfig], make_client: MakeClient = ServerClient
) -> AsyncIterator[dict[str, StdioClient]]:
    """Yield alias -> its client; when the body ends, in whatever way, all servers are closed."""
    with lone_error():
        async with anyio.create_task_group() as tasks:
            clients = {alias: make_client(alias, config, tasks) for alias, config in configs.items()}
            try:
                yield clients
            finally:
                await close_all(clients.values())


async def close_all(clients: Iterable[StdioClient]) -> None:
    """Close them all at the same time; it takes as long as the slowest, and no one can cut it short."""
    with anyio.CancelScope(shield=True), not_to_be_interrupted():
        async with anyio.create_task_group() as closing:
            for client in clients:
                closing.start_soon(client.close)


@contextmanager
def lone_error() -> Iterator[None]:
    """Let an error that is alone in its group, and in the groups around it, come out as itself."""
    try:
        yield
    except BaseExceptionGroup as group:
        error: BaseException = group
        while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
            error = error.exceptions[0]
        raise error from error.__cause__

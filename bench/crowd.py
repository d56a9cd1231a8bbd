"""Run one case of many servers, or of many tools, with one client, and print its figures as JSON.

usage: python -m bench.crowd CLIENT CASE NUMBER      (bench.many starts it; CLIENT is a module of bench/others)

The clock runs from before the first server's start. `cpu` is this process's own; `usable` counts the servers whose
tool could be called.
"""

import importlib
import json
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio

FOLDER = Path(__file__).parent
DEADLINE = 2.0  # seconds that each client is told to wait for a server that starts

Figures = dict[str, float]


def server(name: str, *flags: str) -> list[str]:
    return [sys.executable, "-IS", str(FOLDER / "faulty_server.py"), name, "--pages", f"where_{name}", *flags]


def fast_server(tools: int) -> list[str]:
    return [sys.executable, "-IS", str(FOLDER / "fast_server.py"), "--tools", str(tools), "--page", "100"]


async def servers(client: Any, count: int) -> Figures:
    """So many good servers, until each one's tool has been called."""
    return await start(client, {f"s{number}": server(f"s{number}") for number in range(count)})


async def silent(client: Any, count: int) -> Figures:
    """The same, but the first of them is silent."""
    names = [f"s{number}" for number in range(count)]
    commands = {name: server(name, *(("--fault", "silent") if name == names[0] else ())) for name in names}
    return await start(client, commands, deadline=DEADLINE)


async def start(client: Any, commands: dict[str, list[str]], **more: float) -> Figures:
    cpu, wall = time.process_time(), time.perf_counter()
    async with client.connect(commands, **more) as peer:
        reached = {(await peer.call(name, {})).text.partition(":")[0] for name in await peer.tools()}
        figures = {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}
    return {**figures, "usable": len(reached & set(commands))}


async def registry(client: Any, count: int) -> Figures:
    """So many tools of two servers in our registry: seconds for each operation, once over all of them."""
    half = fast_server(count // 2)
    async with client.connect({"a": half, "b": half}) as peer:
        tools = peer.registry
        found: Figures = {}
        began = time.process_time()
        await tools.refresh()
        found["refresh"] = time.process_time() - began
        began = time.process_time()
        names = [tool["name"] for tool in tools.model_tools()]
        found["model_tools"] = time.process_time() - began
        began = time.process_time()
        assert all(tools.entries[name].alias in "ab" for name in names)
        found["lookup"] = time.process_time() - began
        assert len(names) == count
    return found


CASES: dict[str, Callable[[Any, int], Awaitable[Figures]]] = {
    case.__name__: case for case in (servers, silent, registry)
}


def main(client_name: str, case: str, number: str) -> None:
    client = importlib.import_module(f"bench.others.{client_name}")
    print(json.dumps(anyio.run(CASES[case], client, int(number))))


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Do one case's work with one client, once for each line of standard input, and print the figures as JSON.

usage: python -m bench.contender CLIENT CASE      (bench.clients starts it)

`cpu` and `wall` are seconds per unit of the case's work, without connecting; `peak` is the most memory the
process has held, in bytes. The server's time is not in `cpu`.
"""

import importlib
import json
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

SERVER = [sys.executable, "-S", str(Path(__file__).with_name("fast_server.py"))]
CALLS = 128  # in one slice of the work
MEGABYTES = (1, 5, 10, 25, 50)  # of one result
TOOLS = (1000, 2000, 4000, 8000)  # listed in pages of 50

Work = Callable[[Any], Awaitable[int]]  # does the work with a Peer, returns how many units it was


async def sequential(peer: Any) -> int:
    for _ in range(CALLS):
        await peer.call(1)
    return CALLS


async def concurrent(peer: Any) -> int:
    import anyio

    for _ in range(CALLS // 64):
        async with anyio.create_task_group() as tasks:
            for _ in range(64):
                tasks.start_soon(peer.call, 1)
    return CALLS // 64 * 64


def big(megabytes: int) -> Work:
    async def work(peer: Any) -> int:
        await peer.call(megabytes * 1_000_000)
        return 1

    return work


async def listing(peer: Any) -> int:
    assert await peer.list_tools() >= 1000
    return 1


async def connected(client: Any) -> dict[str, float]:
    """From nothing to the tools of one server."""
    cpu, wall = time.process_time(), time.perf_counter()
    async with client.connect([*SERVER, "--tools", "10"]) as peer:
        await peer.list_tools()
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    return {"cpu": cpu, "wall": wall, "peak": peak()}


CASES: dict[str, tuple[list[str], Work]] = {
    "sequential": ([], sequential),
    "concurrent": (["--batch", "64"], concurrent),
    **{f"{size} MB": ([], big(size)) for size in MEGABYTES},
    **{f"{count} tools": (["--tools", str(count), "--page", "50"], listing) for count in TOOLS},
    "list": (["--tools", "1000", "--page", "50"], listing),
}


async def measure(client: Any, flags: list[str], work: Work) -> None:
    async with client.connect([*SERVER, *flags]) as peer:
        await (peer.list_tools() if "--batch" in flags else peer.call(1))
        while sys.stdin.readline():  # our turn; between the turns nothing is under way
            cpu, wall = time.process_time(), time.perf_counter()
            units = await work(peer)
            cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
            say({"cpu": cpu / units, "wall": wall / units, "peak": peak()})


def say(figures: dict[str, float]) -> None:
    print(json.dumps(figures), flush=True)


def peak() -> float:
    if sys.platform == "win32":
        return 0.0
    import resource

    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used * (1 if sys.platform == "darwin" else 1024)


def main(client_name: str, case: str) -> None:
    client = importlib.import_module(f"bench.contenders.{client_name}")
    import anyio

    if case == "import":
        say({"cpu": time.process_time(), "wall": 0.0, "peak": peak()})
    elif case == "connect and list":
        say(anyio.run(connected, client))
    else:
        anyio.run(measure, client, *CASES[case])


if __name__ == "__main__":
    main(*sys.argv[1:])

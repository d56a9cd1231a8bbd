"""One case with one client, in a process of its own; it prints the cell of the table.

usage: python -m bench.compared CLIENT CASE MARK      (bench.compare starts it)

A cell says what was observed, in a few words; the clocks start when the client is imported. What a client raises is
an observation, too. Whoever hangs is ended by bench.compare. The last line that begins with CELL counts: clients
print, too, and a case may have something to say before its end.
"""

import importlib
import os
import re
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio

from bench.others import Outcome, Peer, Servers

SERVER = Path(__file__).with_name("faulty_server.py")
LEGAL = re.compile(r"[A-Za-z0-9_-]{1,64}")  # what model APIs allow as a name
SHOWN = 40  # characters of an error
CELL = "cell: "
LONG = "x" * 70
ODD_NAMES = ["files.read", f"{LONG}_one", f"{LONG}_two", "plain"]
MARK = sys.argv[3] if len(sys.argv) > 3 else "-"

Case = Callable[[Any], Awaitable[str]]  # a module of bench.others -> the cell


# Servers, and what is asked of every client


def server(name: str, pages: str = "where", fault: str = "") -> list[str]:
    return [sys.executable, "-IS", str(SERVER), name, "--pages", pages, "--fault", fault, "--mark", MARK]


async def listed(client: Any, pages: str, fault: str = "", alias: str = "s") -> tuple[list[str], float]:
    """The names it makes of these pages, and the seconds from nothing to there."""
    began = time.perf_counter()
    async with client.connect({alias: server(alias, pages, fault)}) as peer:
        names = await peer.tools()
        return names, time.perf_counter() - began


async def call(peer: Peer, tool: str, **arguments: Any) -> Outcome:
    """Call the first tool whose name ends so."""
    names = [name for name in await peer.tools() if name.endswith(tool)]
    return await peer.call(names[0], arguments) if names else Outcome("the tool is not offered", True)


async def timed(peer: Peer, tool: str) -> tuple[str, float]:
    """What came of one call, and after how many seconds."""
    began = time.perf_counter()
    try:
        outcome = await call(peer, tool)
        told = f"{'error' if outcome.is_error else 'result'}: {shown(outcome.text)}"
    except Exception as error:
        told = f"raised {kind(error)}"
    return told, time.perf_counter() - began


def kind(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return type(error).__name__


def shown(text: str) -> str:
    text = " ".join(text.split()).replace("|", "/")
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"


# The cases


async def era(client: Any) -> str:
    names, _ = await listed(client, "where", "modern")
    return f"{len(names)} of 1 tools"


async def pages(client: Any) -> str:
    names, _ = await listed(client, "a b||c")
    return f"{len(set(names))} of 3 tools"


async def empty_cursor(client: Any) -> str:
    names, _ = await listed(client, "a|b", "empty-cursor")
    return f"{len(set(names))} of 2 tools"


async def many_pages(client: Any) -> str:
    names, seconds = await listed(client, "|".join(f"t{number}" for number in range(300)))
    return f"{len(set(names))} of 300 tools, {seconds:.1f} s"


async def repeated_cursor(client: Any) -> str:
    names, seconds = await listed(client, "a|b", "repeated-cursor")
    return f"ends after {seconds:.1f} s, {len(set(names))} of 2 tools"


async def same_names(client: Any) -> str:
    return await kept_apart(client, {"a": server("a", "search"), "b": server("b", "search")})


async def joined_names(client: Any) -> str:
    return await kept_apart(client, {"a": server("a", "b_search"), "a_b": server("a_b", "search")})


async def kept_apart(client: Any, servers: Servers) -> str:
    """Whether each server is reached by a name of its own."""
    async with client.connect(servers) as peer:
        names = await peer.tools()
        reached = {(await peer.call(name, {})).text.partition(":")[0] for name in dict.fromkeys(names)}
        lost = "" if len(set(names)) == len(servers) else f", {len(set(names))} of {len(servers)} names"
        return f"{len(reached)} of {len(servers)} servers reached{lost}"


async def odd_names(client: Any) -> str:
    names, _ = await listed(client, " ".join(ODD_NAMES))
    legal = [name for name in set(names) if LEGAL.fullmatch(name)]
    return f"{len(legal)} of {len(ODD_NAMES)} legal and distinct"


async def tool_error(client: Any) -> str:
    async with client.connect({"s": server("s", "fail")}) as peer:
        try:
            outcome = await call(peer, "fail")
        except Exception as error:
            return f"raised {kind(error)}, text {'kept' if 'T-99' in str(error) else 'lost'}"
        text = "kept" if "open tickets are T-1" in outcome.text else "lost"
        return f"returned; flag {'kept' if outcome.is_error else 'lost'}, text {text}"


async def no_answer(client: Any) -> str:
    async with client.connect({"s": server("s", "never")}) as peer:
        told, seconds = await timed(peer, "never")
        return f"{told} after {seconds:.1f} s"


async def one_silent(client: Any) -> str:
    return await others_usable(client, server("b", fault="silent"))


async def one_missing(client: Any) -> str:
    return await others_usable(client, [str(SERVER.with_name("no_such_program"))])


async def others_usable(client: Any, bad: list[str]) -> str:
    """How many of two good servers can be called beside a bad one, and after how long."""
    began = time.perf_counter()
    servers = {"a": server("a", "where_a"), "b": bad, "c": server("c", "where_c")}
    reached = set()
    async with client.connect(servers) as peer:
        for name in await peer.tools():
            reached.add((await peer.call(name, {})).text.partition(":")[0])
        return f"{len(reached & {'a', 'c'})} of 2 usable, {time.perf_counter() - began:.1f} s"


async def silent_legacy(client: Any) -> str:
    names, seconds = await listed(client, "where", "silent-legacy")
    return f"{'ready' if names else 'refused'} after {seconds:.1f} s"


async def grandchild(client: Any) -> str:
    async with client.connect({"s": server("s", "crash_leaving_child")}) as peer:
        told, seconds = await timed(peer, "crash_leaving_child")
        return f"{told} after {seconds:.1f} s"


async def no_result_type(client: Any) -> str:
    async with client.connect({"s": server("s", fault="no-result-type")}) as peer:
        told, _ = await timed(peer, "where")
        return "accepted" if told.startswith("result: s:") else told


async def restart(client: Any) -> str:
    async with client.connect({"s": server("s", "where crash")}) as peer:
        before = (await call(peer, "where")).text
        await timed(peer, "crash")
        told, seconds = await timed(peer, "where")
        if told.startswith("result: s:") and not told.endswith(before):
            return f"yes, {seconds:.1f} s"
        return f"no: {told}"


async def long_line(client: Any) -> str:
    async with client.connect({"s": server("s", "big")}) as peer:
        await call(peer, "big", bytes=1000)
        costs = []
        for megabytes in (5, 20):
            began = time.process_time()
            outcome = await call(peer, "big", bytes=megabytes * 1_000_000)
            costs.append(time.process_time() - began)
            if len(outcome.text) < megabytes * 1_000_000:
                return f"{megabytes} MB: {shown(outcome.text)}"
            say(f"{costs[0]:.2f} s; 20 MB:")
        return f"{costs[0]:.2f} s; {costs[1]:.2f} s: {costs[1] / costs[0]:.0f} times"


async def noise(client: Any) -> str:
    sizes = []
    outcome = ""
    for fault in ("", "noise"):
        with printed_bytes() as size:
            async with client.connect({"s": server("s", fault=fault)}) as peer:
                outcome, _ = await timed(peer, "where")
        sizes.append(size[0])
    answered = "answered" if outcome.startswith("result: s:") else outcome
    return f"{answered}, {max(0, sizes[1] - sizes[0]):,} bytes"


@contextmanager
def printed_bytes() -> Iterator[list[int]]:
    """A list that holds, afterwards, how many bytes this process has written to stdout and stderr."""
    size = [0]
    kept = {number: os.dup(number) for number in (1, 2)}
    with tempfile.TemporaryFile() as file:
        for number in kept:
            os.dup2(file.fileno(), number)
        try:
            yield size
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            size[0] = os.fstat(file.fileno()).st_size
            for number, copy in kept.items():
                os.dup2(copy, number)
                os.close(copy)


SEVERAL = (same_names, joined_names, one_silent, one_missing)  # cases that need more than one server
CASES: dict[str, Case] = {
    case.__name__: case
    for case in (
        *(era, pages, empty_cursor, many_pages, repeated_cursor, same_names, joined_names, odd_names),
        *(tool_error, no_answer, one_silent, one_missing, silent_legacy, grandchild, no_result_type, restart),
        *(long_line, noise),
    )
}


def say(cell: str) -> None:
    print(f"\n{CELL}{cell}", flush=True)


def main(client_name: str, case_name: str, _: str = "") -> None:
    client = importlib.import_module(f"bench.others.{client_name}")
    case = CASES[case_name]
    if case in SEVERAL and not client.SEVERAL:
        say("one server only")
        return
    began = time.perf_counter()
    try:
        say(anyio.run(case, client))
    except Exception as error:
        say(f"raised {kind(error)} after {time.perf_counter() - began:.1f} s")


if __name__ == "__main__":
    main(*sys.argv[1:])

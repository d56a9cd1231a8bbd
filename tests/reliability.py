"""How reliable is a turn? Figures from many turns whose servers are killed or stopped at random points.

usage: python -m tests.reliability [--turns 200] [--cycles 1000] [--streams 10000] [--seed 1]

It is not part of `make test`: it takes minutes, and prints figures rather than a verdict on one thing. Each
turn is the whole loop of the host, but for the model, which makes random calls and then answers. Each must
end with an answer, have one result per call, in order, and leave no process and no open file behind. A cycle
starts a server, asks it something, and kills or closes it. A stream is what a hostile server says (hostile_stream.py).
Exit code 1 when any of this failed.
"""

from __future__ import annotations

import argparse
import gc
import io
import logging
import os
import random
import signal
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import redirect_stdout, suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import anyio
import conftest  # noqa: F401  (as in the tests, the client is the solution)
import hostile_stream
import psutil
from host_world import SCRIPT, Server, tool
from kit import LAB

from agent_loop import Transcript
from host.config import Configuration, ServerConfig
from host.screen import Screen, WarningLines
from host.turn import take_turn
from protocol import JSONObject, ServerDown
from stdio_client import StdioClient

STEPS = 8  # of a turn, before its answer
TURN_SECONDS = 0.6  # the harm is done within about this time; an unharmed turn takes less
TIMEOUT = 0.5  # of a request: a server that was stopped is waited for this long
STUCK_SECONDS = 120.0  # a turn that takes longer counts as one that never ends
HARM = [signal.SIGKILL] * 6 + [signal.SIGTERM] * 3 + [signal.SIGSTOP]

US = psutil.Process()


class RandomModel:
    """Calls tools by chance, also ones that are not there, and answers after STEPS."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._step = 0

    async def reply(self, messages: list[JSONObject], tools: list[JSONObject]) -> JSONObject:
        self._step += 1
        await anyio.sleep(self._chance.uniform(0, 0.05))
        if self._step > STEPS:
            return {"role": "assistant", "content": "an answer"}
        count = self._chance.choice([1, 1, 2, 3])
        calls = [self._call(tools, number) for number in range(count)]
        return {"role": "assistant", "content": "", "tool_calls": calls}

    def _call(self, tools: list[JSONObject], number: int) -> JSONObject:
        shown: JSONObject = self._chance.choice(tools) if tools else {"name": "made_up", "input_schema": {}}
        schema: JSONObject = shown["input_schema"]
        properties: JSONObject = schema.get("properties", {})
        arguments = {name: self._value(properties.get(name, {})) for name in schema.get("required", [])}
        return {"id": f"{self._step}.{number}", "name": shown["name"], "arguments": arguments}

    def _value(self, schema: JSONObject) -> str:
        return str(self._chance.choice(schema.get("enum", ["T-03", "N-04", "login", "zzz"])))


async def harm(chance: random.Random, done: Counter[str]) -> None:
    """Up to four times in a turn, end or stop one of the processes that we have started."""
    for _ in range(chance.randint(1, 4)):
        await anyio.sleep(chance.uniform(0, TURN_SECONDS / 2))
        if children := US.children():
            number = chance.choice(HARM)
            with suppress(psutil.NoSuchProcess):
                chance.choice(children).send_signal(number)
                done[number.name] += 1


def configuration(folder: Path) -> Configuration:
    """The two mock servers, and a lively one that is lazy and announces changes."""
    server = Server(folder).write(tool("look"), tool("grow"), on={"grow": {"announce": 2}}, legacy=True)
    servers = {
        name: ServerConfig(sys.executable, (str(LAB / "servers" / f"{name}.py"),), timeout=TIMEOUT)
        for name in ("notes", "tickets")
    }
    lively = ServerConfig(sys.executable, (str(SCRIPT), str(server.folder)), timeout=TIMEOUT, lazy=True)
    return Configuration({**servers, "lively": lively})


async def one_turn(chance: random.Random, folder: Path, screen: Screen, done: Counter[str]) -> Transcript:
    with anyio.fail_after(STUCK_SECONDS):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(harm, chance, done)
            turn = await take_turn("?", RandomModel(chance), configuration(folder), screen, STEPS + 1, True)
            tasks.cancel_scope.cancel()
    return turn


def faults(turn: Transcript) -> Iterator[str]:
    """What is wrong with a transcript."""
    if turn.answer is None:
        yield "no answer"
    wanted = [call["id"] for message in turn.messages for call in message.get("tool_calls") or []]
    given = [message["tool_call_id"] for message in turn.messages if message["role"] == "tool"]
    if wanted != given:
        yield "calls and results do not pair"


def left_behind(files: int) -> list[str]:
    """What a finished turn should not leave: processes, and open files beyond the `files` there were before."""
    gc.collect()
    left = [f"process {child.pid}" for child in US.children(recursive=True)]
    return left + ([f"{US.num_fds() - files} files"] if US.num_fds() > files else [])


def turns(count: int, chance: random.Random, folder: Path) -> list[str]:
    """Take so many turns and print what came of them; return what failed."""
    failed: list[str] = []
    harmed, results, seconds = Counter[str](), Counter[str](), []
    shown = io.StringIO()
    files = US.num_fds()
    for number in range(count):
        start = time.perf_counter()
        try:
            with redirect_stdout(shown):
                turn = anyio.run(one_turn, chance, folder / str(number), Screen("en"), harmed)
        except BaseException as error:
            failed.append(f"turn {number}: {type(error).__name__} {error}")
            if isinstance(error, KeyboardInterrupt):
                raise
            continue
        seconds.append(time.perf_counter() - start)
        tools = [message for message in turn.messages if message["role"] == "tool"]
        results.update("error" if message["is_error"] else "good" for message in tools)
        failed += [f"turn {number}: {fault}" for fault in (*faults(turn), *left_behind(files))]
    text = shown.getvalue()
    bad = {line.split(":")[0] for line in failed}
    print(f"{count} turns, {count - len(bad)} of them with an answer, all results, and nothing left behind")
    print(f"  harm done       {dict(harmed)}")
    print(f"  results         {dict(results)}")
    print(f"  started again   {text.count('has been started again')} times")
    print(f"  taken as silent {text.count('requests in a row; it is left alone')} times")
    print(f"  seconds a turn  median {statistics.median(seconds):.2f}, longest {max(seconds):.2f}")
    return failed


async def cycles(count: int, chance: random.Random) -> list[str]:
    """Start a server, ask, end it in one of the ways in which it can end; return what is left of it."""
    ends: Counter[str] = Counter()
    notes = [sys.executable, str(LAB / "servers" / "notes.py")]
    files, start = US.num_fds(), time.perf_counter()
    async with anyio.create_task_group() as tasks:
        client = StdioClient(notes, tasks, timeout=10)
        for _ in range(count):
            await client.start()
            if chance.random() < 0.8:
                await client.request("server/discover")
            end = chance.choice(list(ENDS))
            ends[end] += 1
            await ENDS[end](client)
            if chance.random() < 0.2:  # else the same client starts again
                await client.close()
                client = StdioClient(notes, tasks, timeout=10)
        await client.close()
    left = left_behind(files)
    print(f"{count} start/kill cycles in {time.perf_counter() - start:.0f} s")
    print(f"  ends            {dict(ends)}")
    print(f"  left behind     {left or 'no process, no open file'}")
    return left


async def killed(client: StdioClient) -> None:
    """The next request finds out."""
    US.children()[0].kill()
    await fails(client)


async def killed_in_a_request(client: StdioClient) -> None:
    """It is stopped first, so that the request is under way for certain."""
    [server] = US.children()
    server.suspend()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(fails, client)
        await anyio.sleep(0.005)
        server.kill()


async def fails(client: StdioClient) -> None:
    with suppress(ServerDown):
        await client.request("tools/list")
        raise AssertionError("a dead server has answered")


async def killed_and_closed(client: StdioClient) -> None:
    US.children()[0].kill()
    await client.close()


async def closed(client: StdioClient) -> None:
    await client.close()


ENDS = {end.__name__: end for end in (killed, killed_in_a_request, killed_and_closed, closed)}


def streams(count: int, seed: int) -> list[str]:
    """Play so many streams of hostile output to the client; return what failed, made as small as can be."""
    start, cpu = time.perf_counter(), time.process_time()
    failed: list[str] = []
    played: Counter[str] = Counter()
    try:
        played = hostile_stream.search(count, seed=seed)
    except Exception as error:
        failed = [f"stream: {type(error).__name__} {error}", *getattr(error, "__notes__", [])]
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    print(f"{played['streams']} streams of hostile output in {seconds:.0f} s, {cpu:.0f} s of CPU")
    print(f"  said            {played['lines']} lines in {played['Say']} goes, {played['Complain']} times on stderr")
    print(f"  requests        {played['Ask']} asked in between, {played['GiveUp']} times one was given up")
    print(f"  ends            { {end: played[end] for end in hostile_stream.ENDS} }")
    return failed


def main() -> int:
    parser = argparse.ArgumentParser("python -m tests.reliability", description=__doc__.split("\n")[0])
    for name, default in (("turns", 200), ("cycles", 1000), ("streams", 10_000), ("seed", 1)):
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    chance = random.Random(options.seed)
    logging.getLogger().addHandler(WarningLines(Screen("en")))
    print(f"seed {options.seed}, Python {sys.version.split()[0]}, {os.cpu_count()} CPUs")
    with tempfile.TemporaryDirectory() as folder:
        failed = turns(options.turns, chance, Path(folder)) if options.turns else []
    failed += anyio.run(cycles, options.cycles, chance) if options.cycles else []
    failed += streams(options.streams, options.seed) if options.streams else []
    for line in failed[:20]:
        print(f"FAILED {line}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

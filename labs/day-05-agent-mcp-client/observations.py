"""What each check does: this half runs in the student's process.

Every `observe_*` connects the student's client to the servers, calls the student's functions and notes what
they return; it decides nothing. The cases it works with stand beside it, because judgements.py reads them too.

The imports of the five files are inside the functions: this module is loaded on both sides, and only the
student's process has the student's folder on its path.
"""

import itertools
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeAlias

from labkit.lab import Bench

if TYPE_CHECKING:
    from registry import ToolRegistry
    from stdio_client import StdioClient

JSONObject: TypeAlias = dict[str, Any]

SERVERS = Path(__file__).resolve().parent / "servers"
ANSWER_SECONDS = 6.0  # deadline of a request that will be answered: never reached on a healthy machine
ECHO_SECONDS = 2.5  # the same for the three requests at once in check 1
DEATH_SECONDS = 3.0  # the same for the call in which check 7's server dies
ERROR_SECONDS = 1.0  # deadline in check 2: the starter waits for it once, a right client never
SILENT_SECONDS = 0.6  # deadline of a request to a server that stays silent: every right client waits for it
OWN_SECONDS, LATER_SECONDS = 0.2, 0.05  # a shorter one, given with a request that is sent a little later
ENDLESS_SECONDS = 4.0  # what has not ended by then, and should have long ago, has no end
CLOSED_SECONDS = 1.0  # what a client leaves running gets this much longer after close()
DELAY_SECONDS = 0.1  # one answer in check 9 comes so much later than the one to the next call


# Starting the servers, and asking


def command(bench: Bench, server: str, *flags: str, journal: str = "") -> list[str]:
    """The command line of a mock server that carries this run's nonce and writes the journal `journal`."""
    file = bench.directory / f"{journal or server}.jsonl"
    seed = ["--seed", bench.nonce]
    line = [sys.executable, str(SERVERS / f"{server}.py"), "--journal", str(file), *seed, *flags]
    bench.handed_out[file.stem] = line
    return line.copy()


def tools(*names: str) -> list[str]:
    """The flags that give a server these tools as well."""
    return [word for name in names for word in ("--extra-tool", name)]


@asynccontextmanager
async def connect(commands: dict[str, list[str]], **seconds: float) -> AsyncIterator[dict[str, "StdioClient"]]:
    """One of the student's clients per command, not started yet; all closed at the end.

    `seconds` gives single clients (by alias) another deadline than ANSWER_SECONDS.
    """
    import anyio

    from stdio_client import StdioClient

    async with anyio.create_task_group() as tasks:
        clients = {
            alias: StdioClient(line, tasks, timeout=seconds.get(alias, ANSWER_SECONDS))
            for alias, line in commands.items()
        }
        try:
            yield clients
        finally:
            async with anyio.create_task_group() as closing:
                for client in clients.values():
                    closing.start_soon(client.close)
            tasks.cancel_scope.deadline = anyio.current_time() + CLOSED_SECONDS


async def outcome(call: Awaitable[Any], within: float = 60.0) -> JSONObject:
    """What came of a call: `{"returned"}`, `{"raised", "code", "text", ...}` or `{"hung"}`, and `{"seconds"}`."""
    import anyio

    start = monotonic()
    seen: JSONObject = {"hung": True}
    with anyio.move_on_after(within):
        try:
            seen = {"returned": await call}
        except Exception as error:
            first = _first(error)
            code, said, data = (getattr(first, name, None) for name in ("code", "message", "data"))
            seen = {"raised": type(first).__name__, "code": code, "text": str(first), "said": str(said), "data": data}
            seen["frames"] = _frames(first)
    return {**seen, "seconds": monotonic() - start}


def _first(error: BaseException) -> BaseException:
    """The first real exception of a task group's."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _frames(error: BaseException) -> list[str]:
    """Where in the student's files it came from: "file.py:12 in function", innermost last."""
    import protocol

    folder, at, frames = Path(protocol.__file__).parent, error.__traceback__, []
    while at is not None:
        file, function = Path(at.tb_frame.f_code.co_filename), at.tb_frame.f_code.co_name
        frames += [f"{file.name}:{at.tb_lineno} in {function}"] if file.parent == folder else []
        at = at.tb_next
    return frames


def offered(registry: "ToolRegistry") -> list[Any]:
    return [tool["name"] for tool in registry.model_tools()]


# 1 discovery

FLOOD_BYTES = 600_000  # on stderr before the first answer: more than pipe and buffers hold
LONG = "长" * 150  # three bytes each: a line of these, cut in the middle, is cut within a character or next to one
# "\u2028" ends a line for str.splitlines, not for JSON. The lengths differ so that two of three cuts are within one.
TEXTS = [f"{start}{LONG}" for start in ("one", "two long lines\u2028in one: 两行", "three")]


async def observe_discovery(bench: Bench) -> None:
    import anyio

    from discover_and_translate import discover

    # Three answers are held back, then sent last one first; each line comes in two pieces.
    held = ("--reverse", "tools/call=3", "--text-id", "server/discover", "--halves")
    commands = {
        "tickets": command(bench, "tickets", *tools("echo"), *held),
        "notes": command(bench, "notes", "--noise", "--stderr-flood", str(FLOOD_BYTES)),
    }
    async with connect(commands) as clients:
        await clients["tickets"].start()
        bench.note("tickets says", await outcome(discover(clients["tickets"])))

        async def call(number: int, text: str) -> None:
            params = {"name": "echo", "arguments": {"number": number, "text": text}}
            asked = clients["tickets"].request("tools/call", params, timeout=ECHO_SECONDS)
            bench.note(f"answer {number}", await outcome(asked))

        async with anyio.create_task_group() as calls:
            for number, text in enumerate(TEXTS):
                calls.start_soon(call, number, text)
        await clients["notes"].start()
        bench.note("notes says", await outcome(discover(clients["notes"])))


# 2 errors


def error_cases(nonce: str) -> dict[str, tuple[str, JSONObject]]:
    """Requests that the server answers with an error."""
    return {
        "method": (f"no/such/{nonce}", {}),
        "tool": ("tools/call", {"name": f"no_such_{nonce}", "arguments": {}}),
        "cursor": ("tools/list", {"cursor": f"no-such-{nonce}"}),
    }


SLOW_CALL = {"name": "read_note", "arguments": {"id": "N-02"}}


async def observe_errors(bench: Bench) -> None:
    import anyio

    # The slow call's answer is held back, and sent right after the error for the call of an unknown tool.
    async with connect({"notes": command(bench, "notes", "--reverse", "tools/call=2")}) as clients:
        client = clients["notes"]
        await client.start()
        await client.request("server/discover")  # from here on no answer waits for the server's start

        async def call_slowly() -> None:
            bench.note("slow", await outcome(client.request("tools/call", SLOW_CALL, timeout=ERROR_SECONDS)))

        async with anyio.create_task_group() as meanwhile:
            meanwhile.start_soon(call_slowly)
            await anyio.sleep(0)  # it is sent first
            for case, (method, params) in error_cases(bench.nonce).items():
                seen = await outcome(client.request(method, params, timeout=ERROR_SECONDS))
                bench.note(case, seen)
                if seen["seconds"] >= ERROR_SECONDS:
                    meanwhile.cancel_scope.cancel()
                    break  # waiting for more deadlines would show nothing new
        bench.note("after", await outcome(client.request("tools/list")))


# 3 pages

NOTES_TOOLS = ["search", "read_note", "list_notes"]


def page_cases(nonce: str) -> dict[str, tuple[list[str], list[list[str]]]]:
    """The servers of check 3: journal -> its flags, and the names on each of its pages."""
    more = [f"extra_{nonce}", f"another_{nonce}"]
    first, rest = NOTES_TOOLS[:2], NOTES_TOOLS[2:]
    singles = [[name] for name in NOTES_TOOLS + more]
    return {
        "pages of 2": ([], [first, rest]),
        "empty page": ([*tools(*more), "--empty-page"], [first, [], rest + more[:1], more[1:]]),
        "empty cursor": ([*tools(*more), "--page-size", "1", "--empty-cursor"], singles),
        "circle": ([*tools(*more), "--page-size", "2,1,2", "--repeat-cursor"], [first, rest, more]),
    }


async def observe_pages(bench: Bench) -> None:
    import anyio

    from discover_and_translate import list_all_tools

    cases = page_cases(bench.nonce)
    commands = {name: command(bench, "notes", *flags, journal=name) for name, (flags, _) in cases.items()}

    async def walk(name: str, client: "StdioClient") -> None:
        await client.start()
        bench.note(name, await outcome(list_all_tools(client), within=ENDLESS_SECONDS))

    async with connect(commands) as clients, anyio.create_task_group() as walks:
        for name, client in clients.items():
            walks.start_soon(walk, name, client)


# 4 translation

DESK = "desk"  # the alias of the tickets server in check 4; no description of a tool holds this word


async def observe_translation(bench: Bench) -> None:
    from discover_and_translate import model_tool_name, to_model_tool
    from registry import ToolRegistry

    bare = ("--bare-tool", f"bare_{bench.nonce}")
    async with connect({DESK: command(bench, "tickets", *bare)}) as clients:
        registry = ToolRegistry(clients)
        await registry.refresh()
        bench.note("model tools", registry.model_tools())
        page = await clients[DESK].request("tools/list")
        bench.note("names", [model_tool_name(DESK, tool["name"]) for tool in page["tools"]])
        bench.note("translated", [to_model_tool(DESK, tool) for tool in page["tools"]])
        bench.note("definitions after", page["tools"])  # the journal tells what they were before


# 5 two tools called search

ALIASES = {"notes": "my__notes", "tickets": "tickets"}  # "__" in an alias: a name cannot be split back
SELF_REPORTED = "acme"  # what both servers call themselves, which proves nothing


async def observe_collision(bench: Bench) -> None:
    from discover_and_translate import model_tool_name
    from registry import ToolRegistry

    same = ("--server-name", SELF_REPORTED)
    commands = {alias: command(bench, server, *same) for server, alias in ALIASES.items()}
    async with connect(commands) as clients:
        registry = ToolRegistry(clients)
        await registry.refresh()
        bench.note("listed", offered(registry))
        others = {"notes": "read_note", "tickets": "get_ticket"}
        bench.note("others", [model_tool_name(ALIASES[server], tool) for server, tool in others.items()])
        for server, alias in ALIASES.items():
            name = model_tool_name(alias, "search")
            bench.note(f"{server} name", name)
            arguments = {"query": f"login {server}"}
            bench.note(f"{server} result", await outcome(registry.call(name, arguments)))


# 6 legal names


def name_cases(nonce: str) -> list[tuple[str, str]]:
    """Pairs of (alias, tool name) that are easy to get wrong; all model names must differ."""
    long = "a_rather_long_name_that_a_generator_has_made_" * 2 + nonce
    alias = "a-rather-long-alias-for-a-server-in-the-settings-of-someone"
    return [
        ("notes", "search"),
        ("tickets", "search"),
        ("notes", f"notes.search.{nonce}"),
        ("notes", f"notes_search_{nonce}"),
        ("notes", f"notes-search.{nonce}"),
        ("notes", f"Notes_Search_{nonce}"),
        ("notes", f"{long}_first"),
        ("notes", f"{long}_second"),
        ("tickets", f"{long}_first"),
        ("a", f"b_{nonce}"),
        ("a_b", nonce),
        ("a", f"b__{nonce}"),
        ("a__b", nonce),
        ("a_", nonce),
        ("a", f"_{nonce}"),
        (alias, f"first_{nonce}"),
        (alias, f"second_{nonce}"),
        (f"{alias}-one", nonce),
        (f"{alias}-two", nonce),
        ("笔记", nonce),
        ("工单", nonce),
        ("files", f"C:\\docs\\{nonce}"),
        ("ab", nonce),
        ("a", f"b{nonce}"),
        ("a__b", f"c__{nonce}"),
        ("a__b__c", nonce),
    ]


def crowd() -> list[tuple[str, str]]:
    """Pairs whose names can differ by the digest only: in 2000 of them, a short one is the same many times.

    They are the same in every run, so that a sound digest is not unlucky once in a while.
    """
    words = itertools.product(".:/ @", repeat=5)
    return [("notes", "a".join(word)) for word in itertools.islice(words, 2000)]


# Another run of the same program, with another hash seed; asked from the end, for names that count up.
AGAIN = """
import json, sys
sys.path.insert(0, sys.argv[1])
from discover_and_translate import model_tool_name
names = [model_tool_name(*pair) for pair in reversed(json.load(sys.stdin))]
print(json.dumps(names[::-1]))
"""


async def observe_names(bench: Bench) -> None:
    import discover_and_translate as student
    from registry import ToolRegistry

    cases = name_cases(bench.nonce)
    again = subprocess.Popen(
        [sys.executable, "-B", "-c", AGAIN, str(Path(student.__file__).parent)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONHASHSEED": "1"},
        encoding="utf-8",
    )
    bench.note("names", [student.model_tool_name(*pair) for pair in cases])
    bench.note("crowd", [student.model_tool_name(*pair) for pair in crowd()])
    called = called_names(cases)
    bench.note("names called", [student.model_tool_name("tickets", tool) for tool in called])
    async with connect({"tickets": command(bench, "tickets", *tools(*called))}) as clients:
        registry = ToolRegistry(clients)
        await registry.refresh()
        for tool in called:
            await registry.call(student.model_tool_name("tickets", tool), {})
    output = again.communicate(json.dumps(cases), timeout=ANSWER_SECONDS)[0]
    bench.note("names again", json.loads((output.splitlines() or ["null"])[-1]))


def called_names(cases: list[tuple[str, str]]) -> list[str]:
    """The tools of check 6 that are called, too: each by its model name."""
    return [tool for alias, tool in cases if alias == "notes" and tool != "search"]


# 7 failures become results


AGAIN_CALLS: dict[str, tuple[str, JSONObject]] = {  # server -> what is called there after a call has failed
    "tickets": ("get_ticket", {"id": "T-10"}),
    "silent": ("close_ticket", {"id": "T-12"}),
}


async def observe_failures(bench: Bench) -> None:
    import anyio

    from discover_and_translate import model_tool_name
    from registry import ToolRegistry

    stale = f"stale_{bench.nonce}"
    commands = {
        "tickets": command(bench, "tickets", *tools(stale), "--stale-tool", stale),
        "silent": command(bench, "tickets", "--silent-on", "get_ticket", journal="silent"),
        "dying": command(bench, "tickets", "--crash-on", "tools/call", journal="dying"),
    }
    async with connect(commands, silent=DEATH_SECONDS, dying=DEATH_SECONDS) as clients:
        registries = {alias: ToolRegistry({alias: client}) for alias, client in clients.items()}

        async def call(case: str, alias: str, tool: str, arguments: JSONObject) -> None:
            name = model_tool_name(alias, tool)
            bench.note(case, await outcome(registries[alias].call(name, arguments), within=ENDLESS_SECONDS))

        async def ask_in_a_hurry() -> None:
            await anyio.sleep(LATER_SECONDS)  # it is sent second, and given up first
            params = {"name": "get_ticket", "arguments": {"id": "T-02"}}
            request = clients["silent"].request("tools/call", params, timeout=OWN_SECONDS)
            bench.note("hurry", await outcome(request, within=ENDLESS_SECONDS))

        for registry in registries.values():
            await registry.refresh()
        await call("tickets", "tickets", "get_ticket", {"id": f"T-{bench.nonce}"})
        unknown = await outcome(registries["tickets"].call(f"no_such_{bench.nonce}", {}))
        bench.note("unknown", unknown)
        # From here on a wait is a failure that is looked for: it must not be a long one.
        clients["tickets"].timeout = clients["silent"].timeout = SILENT_SECONDS
        async with anyio.create_task_group() as calls:
            calls.start_soon(call, "silent", "silent", "get_ticket", {"id": "T-01"})
            calls.start_soon(call, "stale", "tickets", stale, {"id": "T-03"})
            calls.start_soon(ask_in_a_hurry)
        clients["tickets"].timeout = clients["silent"].timeout = ANSWER_SECONDS
        bench.note("down after failures", {alias: str(registries[alias].down) for alias in AGAIN_CALLS})
        for alias, (tool, arguments) in AGAIN_CALLS.items():
            await call(f"{alias} again", alias, tool, arguments)
        await call("dying", "dying", "get_ticket", {"id": f"T-{bench.nonce}"})
        await call("dead", "dying", "get_ticket", {"id": "T-01"})
        bench.note("dying offers", offered(registries["dying"]))
        bench.note("unknown at the end", unknown)  # the same object: what came later has not changed it
        bench.note("alive", await outcome(clients["tickets"].request("tools/list")))


# 8 one server down

BROKEN = ("missing", "crashed", "silent", "silent-2")
STARTS: dict[str, float] = {}  # alias -> when its client was started
ONCE = "read_note"  # a tool that is gone at the second refresh; at which the crashed server is back
BACK = {"crashed": "get_ticket", "notes": "list_notes"}  # of each server that is refreshed again, a tool


async def observe_down(bench: Bench) -> None:
    from discover_and_translate import model_tool_name
    from registry import ToolRegistry

    may_start = bench.directory / "may-start"
    commands = {
        "missing": ["no-such-program"],
        "crashed": command(bench, "tickets", "--crash-until", str(may_start), journal="crashed"),
        "silent": command(bench, "tickets", "--silent-on", "*", journal="silent"),
        "silent-2": command(bench, "tickets", "--silent-on", "*", journal="silent-2"),
        "notes": command(bench, "notes", "--list-once", ONCE),
    }
    async with connect(commands, **dict.fromkeys(BROKEN, SILENT_SECONDS)) as clients:
        for alias, client in clients.items():
            _remember_start(alias, client)
        registry = ToolRegistry(clients)
        refresh = await outcome(registry.refresh(), within=ANSWER_SECONDS)
        bench.note("refresh", refresh)
        for alias in STARTS:
            bench.note(f"{alias} starts", STARTS[alias])
        bench.note("down", {alias: registry.down.get(alias) for alias in commands})
        bench.note("no texts", [alias for alias, reason in registry.down.items() if not isinstance(reason, str)])
        bench.note("own names", [model_tool_name("notes", tool) for tool in NOTES_TOOLS])
        bench.note("listed", offered(registry))
        name = model_tool_name("notes", "search")
        bench.note("works", await outcome(registry.call(name, {"query": "login"})))
        for alias in BROKEN:
            name = model_tool_name(alias, f"close_{bench.nonce}")
            bench.note(f"call {alias}", await outcome(registry.call(name, {}), within=ENDLESS_SECONDS))
        if "returned" in refresh:
            may_start.touch()
            clients["crashed"].timeout = ANSWER_SECONDS
            await _refresh_again(bench, registry)
    bench.note("left running", await _left_running(bench, ("notes", *BROKEN)))


async def _refresh_again(bench: Bench, registry: "ToolRegistry") -> None:
    from discover_and_translate import model_tool_name

    bench.note("refresh again", await outcome(registry.refresh(list(BACK)), within=ANSWER_SECONDS))
    bench.note("down again", {alias: str(reason) for alias, reason in registry.down.items()})
    bench.note("back", [model_tool_name(alias, tool) for alias, tool in BACK.items()])
    bench.note("gone", model_tool_name("notes", ONCE))
    bench.note("listed again", offered(registry))


def _remember_start(alias: str, client: "StdioClient") -> None:
    """Remember when `start` is called: on a busy machine the process itself may come much later.

    The bench stays out of it: what hangs on a client is in the student's hands.
    """
    start = client.start

    async def remembered() -> None:
        STARTS[alias] = monotonic()
        await start()

    client.start = remembered  # type: ignore[method-assign]  # of this one object


async def _left_running(bench: Bench, journals: tuple[str, ...]) -> list[str]:
    """The servers that are alive a moment after their clients were closed."""
    import anyio

    alive = {name: pid for name in journals for pid in _pids(bench.directory / f"{name}.jsonl")}
    with anyio.move_on_after(CLOSED_SECONDS):
        while alive := {name: pid for name, pid in alive.items() if _is_alive(pid)}:
            await anyio.sleep(0.02)
    return list(alive)


def _pids(journal: Path) -> list[int]:
    events = [json.loads(line) for line in journal.read_bytes().splitlines()] if journal.exists() else []
    return [event["pid"] for event in events if event["event"] == "start"]


def _is_alive(pid: int) -> bool:
    """A child of ours that has ended is dead, even if nobody has waited for it."""
    if sys.platform == "win32":
        import psutil

        return psutil.pid_exists(pid)
    try:
        return os.waitpid(pid, os.WNOHANG) == (0, 0)
    except ChildProcessError:  # somebody has waited for it, or it is no child of ours
        pass
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


# 9 the agent loop

TALK = "I will look that up."  # said together with the first calls: a text that is not the answer
MANY_STEPS, FEW_STEPS = 8, 3
ENDLESS_TICKET = "T-05"  # what the model that never stops asks for
TWICE = "T-04"  # a ticket that the model reads, closes and reads again
FALSY = {"page": 0, "all": False, "q": "", "n": None}  # arguments that are nothing to `if`, and something to a tool


class EndlessLoop(Exception):
    """Raised by the scripted model when it has been asked far more often than any limit allows."""


class ScriptedModel:
    """A model that says what it was told to say, whatever it hears, and remembers what it heard."""

    def __init__(self, replies: list[JSONObject]) -> None:
        self._replies = replies
        self.heard: list[JSONObject] = []

    async def reply(self, messages: list[JSONObject], tools: list[JSONObject]) -> JSONObject:
        if len(self.heard) > 4 * MANY_STEPS:
            raise EndlessLoop(f"the model has been asked {len(self.heard)} times")
        self.heard.append(json.loads(json.dumps({"messages": messages, "tools": tools}, default=repr)))
        return dict(self._replies[min(len(self.heard), len(self._replies)) - 1])


def ask(*calls: tuple[str, str, Any], text: str = "") -> JSONObject:
    """The message of a model that calls tools: (call id, model name, arguments)."""
    said = [{"id": key, "name": name, "arguments": arguments} for key, name, arguments in calls]
    return {"role": "assistant", "content": text, "tool_calls": said}


async def observe_loop(bench: Bench) -> None:
    from agent_loop import run_agent
    from discover_and_translate import model_tool_name
    from registry import ToolRegistry

    tickets = [model_tool_name("tickets", tool) for tool in ("get_ticket", "close_ticket", "echo", "stop")]
    (ticket, close, echo, stop), note = tickets, model_tool_name("notes", "read_note")
    answer = {"role": "assistant", "content": f"answer {bench.nonce}"}
    script = [
        ask(("c1", ticket, {"id": "T-01"}), ("c2", note, {"id": "N-01"}), text=TALK),
        ask(("c3", ticket, {"id": "T-99"}), ("c4", note, {"id": "N-02"}), ("c5", ticket, {"id": TWICE})),
        ask(("c6", f"no_such_{bench.nonce}", {}), ("c7", close, {"id": TWICE}), ("c8", echo, FALSY)),
        ask(("c9", note, "{broken"), ("c10", ticket, {"id": TWICE})),
        answer,
    ]
    late = ("--delay-first", f"tools/call={DELAY_SECONDS}")
    more = (*tools("echo", "stop"), "--crash-on", "stop")
    commands = {"tickets": command(bench, "tickets", *late, *more), "notes": command(bench, "notes")}
    async with connect(commands) as clients:
        registry = ToolRegistry(clients)
        await registry.refresh()
        bench.note("names", [*tickets, note])
        bench.note("names of tickets", tickets)
        bench.note("offered", offered(registry))
        model, endless = ScriptedModel(script), ScriptedModel([ask(("c11", ticket, {"id": ENDLESS_TICKET}))])
        fatal = ScriptedModel([ask(("c12", stop, {})), answer])
        runs = (("run", model, MANY_STEPS), ("stopped", endless, FEW_STEPS), ("fatal", fatal, FEW_STEPS))
        for what, ran, limit in runs:
            clients["tickets"].timeout = DEATH_SECONDS if ran is fatal else ANSWER_SECONDS
            seen = await outcome(run_agent(f"question {bench.nonce}", ran, registry, limit))
            if "returned" in seen:
                transcript = seen.pop("returned")
                seen |= {"messages": transcript.messages, "answer": transcript.answer}
            bench.note(what, seen)
            bench.note(f"{what} heard", ran.heard)
        bench.note("offered at the end", offered(registry))

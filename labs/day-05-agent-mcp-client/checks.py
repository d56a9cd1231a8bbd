"""The nine checks of this lab: what each one does with the student's five files, and how it is judged.

Every `observe_*` runs in the student's process: it connects the student's client to the servers, calls the
student's functions and notes what they return. Every `judge_*` runs outside: it compares those notes with
the servers' journals, which hold each message as it arrived and left. The servers' answers carry a nonce
that is new in every run. The words for a red check stand in misconceptions.py.

The imports of the five files are inside the functions: this module is loaded on both sides, and only the
student's process has the student's folder on its path.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from labkit.lab import PASS, Bench, Check, Evidence, Lab, Text, Verdict
from misconceptions import MISCONCEPTIONS

if TYPE_CHECKING:
    from stdio_client import StdioClient

JSONObject: TypeAlias = dict[str, Any]

SERVERS = Path(__file__).resolve().parent / "servers"
ANSWER_SECONDS = 6.0  # deadline of a request that will be answered: never reached on a healthy machine
ERROR_SECONDS = 1.0  # deadline in check 2: the starter waits for it once, a right client never
SILENT_SECONDS = 0.8  # deadline of a request to a server that stays silent: every right client waits for it
ENDLESS_SECONDS = 4.0  # a walk through a few pages that has not ended by then has no end
NOTES_TOOLS = ["search", "read_note", "list_notes"]
META = "io.modelcontextprotocol/"
EVERYWHERE = ("jsonrpc", "_meta", "resultType", "ttlMs", "cacheScope")  # not shown in wire lines
WIRE_CHARACTERS = 230  # of a message in a wire line


# Starting the servers (student's process)


def command(bench: Bench, server: str, *flags: str, journal: str = "") -> list[str]:
    """The command line of a mock server that carries this run's nonce and writes the journal `journal`."""
    file = bench.directory / f"{journal or server}.jsonl"
    seed = ["--seed", bench.nonce]
    return [sys.executable, str(SERVERS / f"{server}.py"), "--journal", str(file), *seed, *flags]


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


async def outcome(call: Awaitable[Any]) -> JSONObject:
    """What came of a call: `{"returned"}` or `{"raised", "code", "text"}`, and `{"seconds"}`."""
    start = time.monotonic()
    try:
        seen: JSONObject = {"returned": await call}
    except Exception as error:
        seen = {"raised": type(error).__name__, "code": getattr(error, "code", None), "text": str(error)}
    return {**seen, "seconds": time.monotonic() - start}


# Reading the journals (self-test's process)


def messages(evidence: Evidence, server: str, event: str, method: str = "") -> list[JSONObject]:
    """The messages that the server "received" or "sent"; of one method, if it is named."""
    found = [entry.get("message") for entry in evidence.journal(server) if entry.get("event") == event]
    return [
        message for message in found if isinstance(message, dict) and (not method or message.get("method") == method)
    ]


def requests(evidence: Evidence, server: str, method: str = "") -> list[JSONObject]:
    return [message for message in messages(evidence, server, "received", method) if "id" in message]


def answer_to(evidence: Evidence, server: str, request: JSONObject) -> JSONObject:
    """What the server answered to this request, or {}."""
    return next((m for m in messages(evidence, server, "sent") if m.get("id") == request["id"]), {})


def wire(
    evidence: Evidence, server: str, only: list[JSONObject] | None = None, most: int = 6
) -> tuple[str, ...]:
    """The journal as a person reads it: `→` from the client, `←` from the server, without `_meta`."""
    lines = []
    for entry in evidence.journal(server):
        message = entry.get("message")
        if isinstance(message, dict) and (only is None or message in only):
            arrow = "→" if entry["event"] == "received" else "←"
            lines.append(f"{server} {arrow} {brief(message)}")
    return tuple(lines[:most])


def exchange(evidence: Evidence, server: str, request: JSONObject) -> tuple[str, ...]:
    """One request and its answer, as wire lines."""
    return wire(evidence, server, [request, answer_to(evidence, server, request)])


def brief(message: JSONObject) -> str:
    """A message without what every message carries; of a page of tools, the names."""

    def trim(key: str, value: Any) -> Any:
        if key == "tools" and isinstance(value, list):
            return [tool.get("name") if isinstance(tool, dict) else tool for tool in value]
        if isinstance(value, dict):
            return {key: trim(key, item) for key, item in value.items() if key not in EVERYWHERE}
        return value

    text = json.dumps(trim("", message), ensure_ascii=False)
    return text if len(text) <= WIRE_CHARACTERS else text[: WIRE_CHARACTERS - 1] + "…"


def text_of(result: Any) -> str:
    """The text blocks of a tool result, or "" for anything else."""
    content = result.get("content") if isinstance(result, dict) else None
    blocks = content if isinstance(content, list) else []
    return "\n".join(str(block.get("text", "")) for block in blocks if isinstance(block, dict))


def is_error(result: Any) -> bool:
    return isinstance(result, dict) and result.get("isError") is True and text_of(result) != ""


def fail(
    misconception: str | None, expected: Any, actual: Any, lines: Iterable[str] = (), **values: Any
) -> Verdict:
    """A red verdict: the misconception (None: not known), what should have come and what did, the wire."""

    def show(value: Any) -> str:
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

    return Verdict(False, misconception, values, show(expected), show(actual), tuple(lines))


def shown(seen: JSONObject) -> str:
    """An `outcome`, in a line."""
    if "raised" in seen:
        code = "" if seen["code"] is None else f" with code {seen['code']}"
        return f"{seen['raised']}{code} after {seen['seconds']:.1f} s: {seen['text']}"
    return f"returned {json.dumps(seen.get('returned'), ensure_ascii=False)}"


# 1 discovery


async def observe_discovery(bench: Bench) -> None:
    import anyio
    from discover_and_translate import discover

    held = ("--extra-tool", "echo", "--reverse", "tools/call=3")
    commands = {"notes": command(bench, "notes"), "tickets": command(bench, "tickets", *held)}
    async with connect(commands) as clients:
        for alias, client in clients.items():
            await client.start()
            bench.note(f"{alias} says", await discover(client))
        # The server holds its three answers back and then sends the last one first.
        answers: JSONObject = {}

        async def call(number: int) -> None:
            params = {"name": "echo", "arguments": {"number": number}}
            answers[str(number)] = await clients["tickets"].request("tools/call", params)

        async with anyio.create_task_group() as tasks:
            for number in range(3):
                tasks.start_soon(call, number)
        bench.note("answers", answers)


def judge_discovery(evidence: Evidence) -> Verdict:
    for server in ("notes", "tickets"):
        for request in requests(evidence, server):
            meta = request.get("params", {}).get("_meta", {})
            for key in (META + "protocolVersion", META + "clientCapabilities"):
                if key not in meta:
                    return fail("meta_missing", key, list(meta), exchange(evidence, server, request), key=key)
        asked = requests(evidence, server, "server/discover")
        if not asked:
            return fail("not_discovered", "server/discover", [], wire(evidence, server), server=server)
        sent = answer_to(evidence, server, asked[0]).get("result", {})
        said = evidence.need(f"{server} says")
        if not isinstance(said, dict) or said.get("supportedVersions") != sent.get("supportedVersions"):
            return fail("discover_result_lost", sent, said, wire(evidence, server), server=server)
    answers = evidence.need("answers")
    for number in range(3):
        if f'"number": {number}' not in text_of(answers.get(str(number))):
            calls = requests(evidence, "tickets", "tools/call")
            return fail(
                "answer_to_wrong_request",
                f'"number": {number}',
                text_of(answers.get(str(number))),
                wire(evidence, "tickets", calls + [answer_to(evidence, "tickets", call) for call in calls]),
            )
    return PASS


# 2 errors


async def observe_errors(bench: Bench) -> None:
    async with connect({"notes": command(bench, "notes")}) as clients:
        client = clients["notes"]
        await client.start()
        await client.request("server/discover")  # from here on no answer waits for the server's start
        for case, method, params in (
            ("method", f"no/such/{bench.nonce}", {}),
            ("tool", "tools/call", {"name": f"no_such_{bench.nonce}", "arguments": {}}),
            ("cursor", "tools/list", {"cursor": f"no-such-{bench.nonce}"}),
        ):
            seen = await outcome(client.request(method, params, timeout=ERROR_SECONDS))
            bench.note(case, seen)
            if seen["seconds"] >= ERROR_SECONDS:
                break  # waiting for two more deadlines would show nothing new
        bench.note("after", await outcome(client.request("tools/list")))


def judge_errors(evidence: Evidence) -> Verdict:
    asked = [m for m in requests(evidence, "notes") if "error" in answer_to(evidence, "notes", m)]
    lines = exchange(evidence, "notes", asked[0]) if asked else wire(evidence, "notes")
    if evidence.raised is not None and evidence.raised.type == "KeyError":
        return fail("result_before_error", "RpcError", f"KeyError: {evidence.raised.text}", lines)
    for case, request in zip(("method", "tool", "cursor"), asked, strict=False):
        error = answer_to(evidence, "notes", request)["error"]
        lines = exchange(evidence, "notes", request)
        expected = f"RpcError with code {error['code']}, at once"
        seen = evidence.need(case)
        if "returned" in seen:
            return fail("error_as_result", expected, shown(seen), lines)
        if seen["code"] == error["code"]:
            if seen["seconds"] < ERROR_SECONDS:
                continue
            return fail("error_late", expected, shown(seen), lines, seconds=ERROR_SECONDS)
        if seen["seconds"] >= ERROR_SECONDS:
            values = {"seconds": ERROR_SECONDS, "code": error["code"]}
            return fail("error_forgotten", expected, shown(seen), lines, **values)
        if seen["code"] is None:
            return fail("error_without_code", expected, shown(seen), lines)
        return fail("error_wrong_code", expected, shown(seen), lines)
    if len(asked) < 3:
        return fail(None, "3 errors sent by the server", f"{len(asked)} errors", lines)
    after = evidence.need("after")
    if "returned" not in after:
        return fail("dead_after_error", "the next request is answered", shown(after), wire(evidence, "notes")[-2:])
    return PASS


# 3 pages


def page_cases(nonce: str) -> dict[str, tuple[tuple[str, ...], list[str]]]:
    """The servers of check 3 (journal -> its flags, the tools it has)."""
    more = [f"extra_{nonce}", f"another_{nonce}"]
    extra = tuple(word for name in more for word in ("--extra-tool", name))
    return {
        "pages of 2": ((), NOTES_TOOLS),
        "empty page": ((*extra, "--empty-page"), NOTES_TOOLS + more),
        "empty cursor": ((*extra, "--page-size", "1", "--empty-cursor"), NOTES_TOOLS + more),
        "circle": (("--repeat-cursor",), NOTES_TOOLS),
    }


async def observe_pages(bench: Bench) -> None:
    import anyio
    from discover_and_translate import list_all_tools

    cases = page_cases(bench.nonce)
    commands = {name: command(bench, "notes", *flags, journal=name) for name, (flags, _) in cases.items()}

    async def walk(name: str, client: "StdioClient") -> None:
        await client.start()
        with anyio.move_on_after(ENDLESS_SECONDS):
            bench.note(name, await outcome(list_all_tools(client)))

    async with connect(commands) as clients, anyio.create_task_group() as tasks:
        for name, client in clients.items():
            tasks.start_soon(walk, name, client)


def judge_pages(evidence: Evidence) -> Verdict:
    for name, (_, tools) in page_cases(evidence.nonce).items():
        asked = requests(evidence, name, "tools/list")
        pages = [answer_to(evidence, name, request) for request in asked]
        lines = wire(evidence, name, asked + pages)
        sent = [request["params"].get("cursor") for request in asked]
        given = [page.get("result", {}).get("nextCursor") for page in pages]
        for got, back in zip(given, sent[1:], strict=False):
            if got is not None and back != got:
                return fail("cursor_changed", got, "no cursor" if back is None else back, lines)
        seen = evidence.notes.get(name)
        if seen is None and name == "circle" and len(asked) > 5:
            return fail("endless_walk", "an end", f"{len(asked)} requests in {ENDLESS_SECONDS:g} s", lines)
        seen = evidence.need(name)
        if "raised" in seen:
            return fail("listing_raised", tools, shown(seen), lines)
        names = [tool.get("name") for tool in seen["returned"]]
        if name == "circle":
            if set(names) != set(tools):
                return fail(None, tools, names, lines)
        elif names != tools:
            return fail(_missing_pages(name, names, tools, sent), tools, names, lines, count=len(names))
    return PASS


def _missing_pages(case: str, names: list[str], tools: list[str], sent: list[str | None]) -> str | None:
    """Why these names are not the tools: where the walk went on to, and what is missing."""
    if case == "pages of 2" and len(sent) == 1:
        return "only_the_first_page"
    if case == "empty page" and len(sent) < 4:
        return "empty_page_is_the_end"
    if case == "empty cursor" and len(sent) == 1:
        return "empty_cursor_is_the_end"
    if names == tools[: len(names)]:
        return "last_page_dropped"
    if names == tools[len(tools) - len(names) :]:
        return "pages_overwritten"
    return None


# 4 translation


async def observe_translation(bench: Bench) -> None:
    from discover_and_translate import to_model_tool
    from registry import ToolRegistry

    bare = f"bare_{bench.nonce}"
    async with connect({"tickets": command(bench, "tickets", "--extra-tool", bare)}) as clients:
        registry = ToolRegistry(clients)
        await registry.refresh()
        bench.note("model tools", registry.model_tools())
        # A definition is looked at before and after, to see whether the translation has changed it.
        page = await clients["tickets"].request("tools/list")
        before = json.dumps(page["tools"])
        bench.note("translated", [to_model_tool("tickets", tool) for tool in page["tools"]])
        bench.note("changed", json.dumps(page["tools"]) != before)


def judge_translation(evidence: Evidence) -> Verdict:
    asked = requests(evidence, "tickets", "tools/list")
    definitions = answer_to(evidence, "tickets", asked[-1])["result"]["tools"] if asked else []
    if not definitions:
        return fail(None, "tools/list", "not asked", wire(evidence, "tickets"))
    for key in ("model tools", "translated"):
        tools = evidence.need(key)
        if len(tools) != len(definitions):
            return fail("tools_lost", [tool["name"] for tool in definitions], tools)
        for tool, definition in zip(tools, definitions, strict=True):
            verdict = judge_tool(tool, definition)
            if not verdict.passed:
                return verdict
    if evidence.need("changed"):
        return fail("definition_changed", "the definition as it came", "changed", wire(evidence, "tickets")[-1:])
    return PASS


def judge_tool(tool: Any, definition: JSONObject) -> Verdict:
    """One translated tool against the definition the server sent."""
    name = definition["name"]
    lines = ("tickets ← " + brief(definition),)
    if not isinstance(tool, dict) or not isinstance(tool.get("name"), str):
        return fail(None, {"name": "...", "description": "...", "input_schema": {}}, tool, lines)
    if "input_schema" not in tool:
        return fail("schema_under_wrong_name", "input_schema", sorted(tool), lines, tool=name)
    if tool["input_schema"] != definition["inputSchema"]:
        return fail("schema_changed", definition["inputSchema"], tool["input_schema"], lines, tool=name)
    leaked = sorted(set(tool) - {"name", "description", "input_schema"})
    if leaked:
        kept = ["description", "input_schema", "name"]
        return fail("more_than_the_model_takes", kept, sorted(tool), lines, leaked=", ".join(leaked))
    description = str(tool.get("description"))
    if "tickets" not in description:
        return fail("no_source_in_description", "tickets", description, lines, tool=name)
    if definition.get("description", "") not in description:
        return fail("description_replaced", definition["description"], description, lines, tool=name)
    return PASS


# 5 two tools called search


ALIASES = {"notes": "my__notes", "tickets": "tickets"}  # "__" in an alias: a name cannot be split back


async def observe_collision(bench: Bench) -> None:
    from discover_and_translate import model_tool_name
    from registry import ToolRegistry

    same = ("--server-name", "acme")  # what servers call themselves proves nothing
    commands = {alias: command(bench, server, *same) for server, alias in ALIASES.items()}
    async with connect(commands) as clients:
        registry = ToolRegistry(clients)
        await registry.refresh()
        bench.note("listed", [tool["name"] for tool in registry.model_tools()])
        for server, alias in ALIASES.items():
            name = model_tool_name(alias, "search")
            bench.note(f"{server} name", name)
            arguments = {"query": f"login {server}"}
            bench.note(f"{server} result", await outcome(registry.call(name, arguments)))


def judge_collision(evidence: Evidence) -> Verdict:
    listed = evidence.need("listed")
    names = {server: evidence.need(f"{server} name") for server in ALIASES}
    both = sorted(names.values())
    lines = [
        line for server in ALIASES for line in wire(evidence, server, requests(evidence, server, "tools/call"))
    ]
    if both[0] == both[1]:
        reason = "names_not_prefixed" if both[0] == "search" else "names_collide"
        return fail(reason, "two different names", both, lines, name=both[0])
    if not set(both) <= set(listed):
        return fail("search_not_listed", both, listed, lines)
    for server in ALIASES:
        calls = requests(evidence, server, "tools/call")
        sent = [call["params"].get("name") for call in calls]
        seen = evidence.need(f"{server} result")
        queries = [call["params"].get("arguments", {}).get("query") for call in calls]
        if sent and sent[0] != "search":
            return fail("model_name_on_the_wire", "search", sent[0], lines)
        if queries != [f"login {server}"]:
            return fail("call_to_wrong_server", f"login {server}", queries, lines, server=server)
        if evidence.nonce not in text_of(seen.get("returned")):
            return fail(None, f"the result of {server}", shown(seen), exchange(evidence, server, calls[0]))
    return PASS


# 6 legal names


def name_cases(nonce: str) -> list[tuple[str, str]]:
    """Pairs of (alias, tool name) that are easy to get wrong; all model names must differ."""
    long = "a_rather_long_name_that_a_generator_has_made_" * 2 + nonce
    return [
        ("notes", "search"),
        ("tickets", "search"),
        ("notes", f"notes.search.{nonce}"),
        ("notes", f"notes_search_{nonce}"),
        ("notes", f"notes-search.{nonce}"),
        ("notes", f"{long}_first"),
        ("notes", f"{long}_second"),
        ("tickets", f"{long}_first"),
        ("a", f"b_{nonce}"),
        ("a_b", nonce),
        ("a", f"b__{nonce}"),
        ("a__b", nonce),
        ("a-rather-long-alias-for-a-server-in-the-settings-of-someone", f"first_{nonce}"),
        ("a-rather-long-alias-for-a-server-in-the-settings-of-someone", f"second_{nonce}"),
    ]


AGAIN = "import json,sys; sys.path.insert(0, sys.argv[1]); from discover_and_translate import model_tool_name;\
print(json.dumps([model_tool_name(*pair) for pair in json.load(sys.stdin)]))"


async def observe_names(bench: Bench) -> None:
    import discover_and_translate as student
    from registry import ToolRegistry

    cases = name_cases(bench.nonce)
    folder = str(Path(student.__file__).parent)
    environment = {**os.environ, "PYTHONHASHSEED": "1"}  # another run of the same program
    again = subprocess.Popen(
        [sys.executable, "-B", "-c", AGAIN, folder],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, encoding="utf-8",
    )
    bench.note("names", [student.model_tool_name(*pair) for pair in cases])
    tools = [name for alias, name in cases if alias == "notes" and name != "search"]
    flags = [word for name in tools for word in ("--extra-tool", name)]
    async with connect({"tickets": command(bench, "tickets", *flags)}) as clients:
        registry = ToolRegistry(clients)
        await registry.refresh()
        bench.note("listed", [tool["name"] for tool in registry.model_tools()])
        for tool in tools:
            await registry.call(student.model_tool_name("tickets", tool), {})
    output = again.communicate(json.dumps(cases), timeout=ANSWER_SECONDS)[0]
    bench.note("names again", json.loads((output.splitlines() or ["null"])[-1]))


def judge_names(evidence: Evidence) -> Verdict:
    cases = name_cases(evidence.nonce)
    names = evidence.need("names")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        return fail(None, "text", names)
    table = [f"{alias} + {tool} = {name}" for (alias, tool), name in zip(cases, names, strict=True)]
    if names == [tool for _, tool in cases]:
        return fail("names_unchanged", "mcp__notes__search", names[0], table[:3])
    for line, name in zip(table, names, strict=True):
        letters = set(name) - set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")
        if letters or not name:
            return fail("illegal_letters", "A-Z a-z 0-9 _ -", name, [line], letters="".join(sorted(letters)))
    for line, name in zip(table, names, strict=True):
        if len(name) > 64:
            return fail("name_too_long", "at most 64 characters", f"{len(name)} characters: {name}", [line])
    for index, name in enumerate(names):
        if name in names[:index]:
            first = names.index(name)
            reason = _why_equal(cases[first], cases[index])
            return fail(reason, "two different names", name, [table[first], table[index]])
    again = evidence.need("names again")
    if again != names:
        pairs = zip(names, again or [], strict=False)
        here, there = next((pair for pair in pairs if pair[0] != pair[1]), (names, again))
        return fail("name_changes_between_runs", here, there)
    tools = [tool for alias, tool in cases if alias == "notes" and tool != "search"]
    received = [call["params"].get("name") for call in requests(evidence, "tickets", "tools/call")]
    if received != tools:
        lines = wire(evidence, "tickets", requests(evidence, "tickets", "tools/call"))
        return fail("original_name_lost", tools, received, lines)
    return PASS


def _why_equal(first: tuple[str, str], second: tuple[str, str]) -> str:
    """What two pairs that got one name have in common."""
    if first[1] == second[1]:
        return "alias_not_in_name"
    if first[0] != second[0]:
        return "boundary_blurred"
    return "cut_without_digest" if len(first[1]) > 40 or len(first[0]) > 40 else "cleaned_without_digest"


# 7 failures become results


FAILURES = {"tickets": "tickets", "silent": "silent", "dying": "dying", "unknown": "tickets", "dead": "dying"}


async def observe_failures(bench: Bench) -> None:
    from discover_and_translate import model_tool_name
    from registry import ToolRegistry

    commands = {
        "tickets": command(bench, "tickets"),
        "silent": command(bench, "tickets", "--silent-on", "tools/call", journal="silent"),
        "dying": command(bench, "tickets", "--crash-on", "tools/call", journal="dying"),
    }
    async with connect(commands) as clients:
        registries = {alias: ToolRegistry({alias: client}) for alias, client in clients.items()}
        for registry in registries.values():
            await registry.refresh()
        clients["silent"].timeout = SILENT_SECONDS
        for alias, registry in registries.items():
            name = model_tool_name(alias, "get_ticket")
            bench.note(alias, await outcome(registry.call(name, {"id": f"T-{bench.nonce}"})))
        bench.note("unknown", await outcome(registries["tickets"].call(f"no_such_{bench.nonce}", {})))
        name = model_tool_name("dying", "get_ticket")
        bench.note("dead", await outcome(registries["dying"].call(name, {"id": "T-01"})))
        bench.note("alive", await outcome(clients["tickets"].request("tools/list")))


def judge_failures(evidence: Evidence) -> Verdict:
    calls = requests(evidence, "tickets", "tools/call")
    sent = answer_to(evidence, "tickets", calls[0]).get("result") if calls else None
    for case, server in FAILURES.items():
        seen = evidence.need(case)
        asked = requests(evidence, server, "tools/call")
        lines = wire(evidence, server, asked + [answer_to(evidence, server, call) for call in asked])
        if "raised" in seen:
            return fail(f"{case}_raised", "a result with isError: true", shown(seen), lines)
        if not is_error(seen["returned"]):
            return fail(f"{case}_no_error_result", "a result with isError: true and a text", shown(seen), lines)
        if case == "tickets" and text_of(seen["returned"]) != text_of(sent):
            lines = exchange(evidence, server, calls[0])
            return fail("error_text_lost", text_of(sent), text_of(seen["returned"]), lines)
        if case == "dying" and seen["seconds"] >= ANSWER_SECONDS:
            return fail("death_unnoticed", "an error result at once", shown(seen), lines, seconds=ANSWER_SECONDS)
    silent = requests(evidence, "silent", "tools/call")
    told = messages(evidence, "silent", "received", "notifications/cancelled")
    if [note.get("params", {}).get("requestId") for note in told] != [call["id"] for call in silent]:
        return fail("server_not_told", "notifications/cancelled", f"{len(told)} notices", wire(evidence, "silent"))
    if "returned" not in evidence.need("alive"):
        return fail("dead_after_error", "the next request is answered", shown(evidence.need("alive")))
    return PASS


# 8 one server down


BROKEN = ("missing", "crashed", "silent", "silent-2")


async def observe_down(bench: Bench) -> None:
    from discover_and_translate import model_tool_name
    from registry import ToolRegistry

    commands = {
        "missing": ["no-such-program"],
        "crashed": command(bench, "tickets", "--crash-at-start", journal="crashed"),
        "silent": command(bench, "tickets", "--silent-on", "*", journal="silent"),
        "silent-2": command(bench, "tickets", "--silent-on", "*", journal="silent-2"),
        "notes": command(bench, "notes"),
    }
    async with connect(commands, **dict.fromkeys(BROKEN, SILENT_SECONDS)) as clients:
        registry = ToolRegistry(clients)
        bench.note("refresh", await outcome(flat(registry.refresh())))
        bench.note("down", {alias: registry.down.get(alias) for alias in commands})
        bench.note("descriptions", [tool["description"] for tool in registry.model_tools()])
        name = model_tool_name("notes", "search")
        bench.note("works", await outcome(registry.call(name, {"query": "login"})))
        for alias in BROKEN:
            name = model_tool_name(alias, f"close_{bench.nonce}")
            bench.note(f"call {alias}", await outcome(registry.call(name, {})))


async def flat(call: Awaitable[None]) -> None:
    """Let the first real exception out of a task group's."""
    try:
        await call
    except BaseExceptionGroup as group:
        error: BaseException = group
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        raise error from None


def judge_down(evidence: Evidence) -> Verdict:
    refresh, down = evidence.need("refresh"), evidence.need("down")
    lines = [line for server in ("crashed", "silent", "notes") for line in wire(evidence, server, most=2)]
    if "raised" in refresh:
        return fail("refresh_raised", "refresh returns; 4 servers in `down`", shown(refresh), lines)
    if down.get("notes"):
        return fail("healthy_server_down", "notes is not in `down`", down, lines)
    for alias in BROKEN:
        if down.get(alias) is None:
            return fail("not_in_down", f"{alias} in `down`", down, lines, server=alias)
        if not isinstance(down[alias], str) or len(down[alias]) < 5:
            return fail("down_without_reason", f"down[{alias!r}] is a reason", down, lines, server=alias)
    works = evidence.need("works")
    if evidence.nonce not in text_of(works.get("returned")):
        return fail("healthy_server_lost", "the notes can be searched", shown(works), lines)
    if not all("notes" in text for text in evidence.need("descriptions")):
        return fail("down_server_listed", "tools of notes only", evidence.need("descriptions"), lines)
    for alias in BROKEN:
        seen = evidence.need(f"call {alias}")
        if not is_error(seen.get("returned")):
            return fail("down_call_no_error_result", "a result with isError: true", shown(seen), lines, server=alias)
    first, second = evidence.journal("silent"), evidence.journal("silent-2")
    told = [event["at"] for event in first if event.get("message", {}).get("method") == "notifications/cancelled"]
    given_up = told[0] if told else first[0]["at"] + SILENT_SECONDS
    if second[0]["at"] > given_up:
        apart = f"{second[0]['at'] - first[0]['at']:.1f} s apart"
        return fail("waited_in_sequence", "both silent servers are started at once", apart, lines)
    return PASS


# 9 the agent loop


class ScriptedModel:
    """A model that says what it was told to say, whatever it hears, and remembers what it heard."""

    def __init__(self, replies: list[JSONObject]) -> None:
        self._replies = replies
        self.heard: list[JSONObject] = []

    async def reply(self, messages: list[JSONObject], tools: list[JSONObject]) -> JSONObject:
        self.heard.append(json.loads(json.dumps({"messages": messages, "tools": tools})))
        return self._replies[min(len(self.heard), len(self._replies)) - 1]


async def observe_loop(bench: Bench) -> None:
    from agent_loop import run_agent
    from discover_and_translate import model_tool_name
    from registry import ToolRegistry

    ticket, note = model_tool_name("tickets", "get_ticket"), model_tool_name("notes", "read_note")

    def ask(*calls: tuple[str, str, Any]) -> JSONObject:
        said = [{"id": key, "name": name, "arguments": arguments} for key, name, arguments in calls]
        return {"role": "assistant", "content": "", "tool_calls": said}

    first = ask(("c1", ticket, {"id": "T-01"}), ("c2", note, {"id": "N-01"}))
    second = ask(("c3", ticket, {"id": "T-99"}), ("c4", f"no_such_{bench.nonce}", {}), ("c5", note, "{broken"))
    answer = {"role": "assistant", "content": f"answer {bench.nonce}"}
    commands = {server: command(bench, server) for server in ("notes", "tickets")}
    async with connect(commands) as clients:
        registry = ToolRegistry(clients)
        await registry.refresh()
        model = ScriptedModel([first, second, answer])
        transcript = await run_agent(f"question {bench.nonce}", model, registry, 5)
        bench.note("heard", model.heard)
        bench.note("messages", transcript.messages)
        bench.note("answer", transcript.answer)
        endless = ScriptedModel([first])
        stopped = await run_agent("endless", endless, registry, 3)
        bench.note("asked", len(endless.heard))
        bench.note("stopped", {"answer": stopped.answer, "messages": stopped.messages})


def judge_loop(evidence: Evidence) -> Verdict:
    heard, transcript = evidence.need("heard"), evidence.need("messages")
    calls = requests(evidence, "tickets", "tools/call") + requests(evidence, "notes", "tools/call")
    lines = [line for server in ("tickets", "notes") for line in wire(evidence, server, calls, most=2)]
    if len(heard) != 3 or evidence.need("answer") != f"answer {evidence.nonce}":
        return fail("no_answer", f"answer {evidence.nonce}", evidence.need("answer"), lines)
    if f"question {evidence.nonce}" not in json.dumps(heard[0]["messages"]):
        return fail("question_lost", f"question {evidence.nonce}", heard[0]["messages"])
    for what in (heard[-1]["messages"], transcript, evidence.need("stopped")["messages"]):
        verdict = judge_pairs(what)
        if not verdict.passed:
            return verdict
    results = {message["tool_call_id"]: message for message in heard[-1]["messages"] if message["role"] == "tool"}
    for key, server, name in (("c1", "tickets", "get_ticket"), ("c2", "notes", "read_note")):
        call = next((call for call in requests(evidence, server, "tools/call")), {})
        if call.get("params", {}).get("name") != name:
            return fail("model_name_on_the_wire", name, call.get("params", {}).get("name"), lines)
        said = text_of(answer_to(evidence, server, call).get("result"))
        if not said or said not in results[key].get("content", ""):
            return fail("result_lost", said, results[key].get("content"), lines)
    for key in ("c3", "c4", "c5"):
        if results[key].get("is_error") is not True or not results[key].get("content"):
            return fail("error_result_lost", "is_error: true and a text", results[key], lines)
    asked, answer = evidence.need("asked"), evidence.need("stopped")["answer"]
    if asked != 3 or answer is not None:
        return fail("step_limit_broken", "3 questions to the model, no answer", f"{asked} questions, {answer!r}")
    return PASS


def judge_pairs(transcript: list[JSONObject]) -> Verdict:
    """After each message with calls stands one result per call, in the order of the calls."""
    waiting: list[str] = []
    for message in transcript:
        if message["role"] == "tool":
            if not waiting or message.get("tool_call_id") != waiting.pop(0):
                return fail("results_not_paired", "one result per call, in order", _roles(transcript))
        elif waiting:
            break
        else:
            waiting = [call["id"] for call in message.get("tool_calls") or []]
    if waiting:
        return fail("results_not_paired", "one result per call, in order", _roles(transcript))
    return PASS


def _roles(transcript: list[JSONObject]) -> list[Any]:
    return [
        message.get("tool_call_id") or [call["id"] for call in message.get("tool_calls") or []] or message["role"]
        for message in transcript
    ]


# The lab

LAB = Lab(
    files=("protocol.py", "stdio_client.py", "discover_and_translate.py", "registry.py", "agent_loop.py"),
    misconceptions=MISCONCEPTIONS,
    checks=(
        Check(
            1,
            "discovery",
            Text(
                "discovery: both servers answer, every request carries _meta",
                "发现：两个服务端都有回答，每个请求都带 _meta",
            ),
            Text(
                "started notes and tickets, asked both `server/discover`, then sent three requests at once",
                "启动 notes 和 tickets，分别发送 `server/discover`，再同时发出三个请求",
            ),
            None,
            ("discover_and_translate.py", "discover"),
            observe_discovery,
            judge_discovery,
        ),
        Check(
            2,
            "errors",
            Text(
                "errors: a JSON-RPC error is raised at once, with its code",
                "错误：JSON-RPC 错误立刻抛出，并带上编号",
            ),
            Text(
                "sent an unknown method, an unknown tool and a bad cursor to notes",
                "向 notes 发送未知的方法、未知的工具和无效的游标",
            ),
            1,
            ("stdio_client.py", "_on_line"),
            observe_errors,
            judge_errors,
            waits=ERROR_SECONDS,
        ),
        Check(
            3,
            "pages",
            Text(
                "pages: all tools are listed, only a missing nextCursor ends it",
                "分页：列出全部工具，只有 nextCursor 缺失才结束",
            ),
            Text(
                "listed the tools of four notes servers: pages of 2, an empty page, an empty-string cursor, a circle",
                "列出四个笔记服务端的工具：每页 2 个、含空页、含空字符串游标、游标成环",
            ),
            2,
            ("discover_and_translate.py", "list_all_tools"),
            observe_pages,
            judge_pages,
        ),
        Check(
            4,
            "translation",
            Text(
                "translation: the schema arrives unchanged, the source is named",
                "翻译：模式原样到达，描述写明来源",
            ),
            Text(
                "listed the tools of tickets and translated them for the model",
                "列出 tickets 的工具并翻译给模型",
            ),
            None,
            ("discover_and_translate.py", "to_model_tool"),
            observe_translation,
            judge_translation,
        ),
        Check(
            5,
            "collision",
            Text(
                "collision: two search tools stay apart, servers get their own name",
                "重名：两个 search 互不混淆，服务端收到原名",
            ),
            Text(
                "called the `search` of both servers by its model name",
                "用模型名分别调用两个服务端的 `search`",
            ),
            3,
            ("discover_and_translate.py", "model_tool_name"),
            observe_collision,
            judge_collision,
        ),
        Check(
            6,
            "names",
            Text(
                "names: legal, distinct, and the same on every run",
                "名字：合法、互不相同、每次运行都一样",
            ),
            Text(
                "made model names for dotted, over-long and look-alike pairs of alias and tool, in two runs",
                "为带点号的、过长的、容易混淆的（别名，工具名）造模型名，运行两次",
            ),
            3,
            ("discover_and_translate.py", "model_tool_name"),
            observe_names,
            judge_names,
        ),
        Check(
            7,
            "failures",
            Text(
                "failures: every failed call becomes a result with isError",
                "失败：每个失败的调用都变成 isError 结果",
            ),
            Text(
                "called a tool that fails, one that does not exist, a silent server and a dying one",
                "调用会失败的工具、不存在的工具、不出声的服务端和中途退出的服务端",
            ),
            None,
            ("registry.py", "call"),
            observe_failures,
            judge_failures,
            waits=SILENT_SECONDS,
        ),
        Check(
            8,
            "down",
            Text(
                "isolation: a server that is down costs its own tools only",
                "隔离：掉线的服务端只影响它自己的工具",
            ),
            Text(
                "refreshed five servers: one healthy, one missing, one that crashes, two silent ones",
                "刷新五个服务端：一个健康、一个不存在、一个崩溃、两个不出声",
            ),
            4,
            ("registry.py", "_refresh_one"),
            observe_down,
            judge_down,
            waits=SILENT_SECONDS,
        ),
        Check(
            9,
            "loop",
            Text(
                "agent loop: calls and results in order, the step limit holds",
                "循环：调用与结果按顺序配对，步数上限有效",
            ),
            Text(
                "ran a question with five tool calls, then a model that never stops",
                "用五次工具调用跑一个问题，再跑一个停不下来的模型",
            ),
            None,
            ("agent_loop.py", "run_agent"),
            observe_loop,
            judge_loop,
        ),
    ),
)

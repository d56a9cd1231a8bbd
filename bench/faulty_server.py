"""A server of both eras with one fault at a time, for the comparison of clients (bench/compare.py).

usage: faulty_server.py NAME [--pages "a b||c"] [--fault FAULT] [--mark WORD]

Its tools stand in pages, parted by `|`; a page may be empty. Every tool answers `NAME:PID`, except those whose
names are in ODD. It answers `server/discover` and `initialize`, whichever comes, unless the fault says otherwise.
It imports little, so that it starts fast, and nothing here outlives LIFETIME. The mark is for who looks for
processes that were left behind.
"""

import json
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

JSONObject = dict[str, Any]

LIFETIME = 90  # seconds until the server, and what it has started, ends by itself
MODERN = "2026-07-28"
FAULTS = {
    "": "none",
    "empty-cursor": 'the cursor of the second page is ""',
    "repeated-cursor": "the last page names its own cursor as the next one",
    "silent": "it reads, and answers nothing",
    "silent-legacy": "it answers nothing but `initialize` and what comes after it",
    "modern": "it knows no `initialize`",
    "no-result-type": "its results say nothing of their type, and it knows no `initialize`",
    "noise": "it writes a line that is no message before each answer",
}
NOISE = b"[info] cache warmed up, 3 entries\n"


def option(name: str, default: str = "") -> str:
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else default


NAME, FAULT, MARK = sys.argv[1], option("--fault"), option("--mark")
PAGES = [page.split() for page in option("--pages", "where").split("|")]


# The tools; each returns its result, or None for no answer


def text(words: str) -> JSONObject:
    return {"content": [{"type": "text", "text": words}]}


def plain(_: JSONObject) -> JSONObject:
    return text(f"{NAME}:{os.getpid()}")


def fail(_: JSONObject) -> JSONObject:
    return {**text("no ticket T-99; open tickets are T-1 and T-2"), "isError": True}


def never(_: JSONObject) -> None:
    return None


def crash(_: JSONObject) -> None:
    os._exit(3)


def crash_leaving_child(_: JSONObject) -> None:
    """Exit, and leave a child that holds our output open."""
    if os.fork() == 0:
        os.execv(sys.executable, [sys.executable, "-IS", "-c", f"import time; time.sleep({LIFETIME})", MARK])
    os._exit(3)


def big(arguments: JSONObject) -> JSONObject:
    return text("x" * int(arguments.get("bytes", 1)))


ODD: dict[str, Callable[[JSONObject], JSONObject | None]] = {
    tool.__name__: tool for tool in (fail, never, crash, crash_leaving_child, big)
}


# The answers


def definition(name: str) -> JSONObject:
    properties = {"bytes": {"type": "integer"}} if name == "big" else {}
    return {"name": name, "description": name, "inputSchema": {"type": "object", "properties": properties}}


def page(params: JSONObject) -> JSONObject:
    number = 1 if params.get("cursor") == "" else int(params.get("cursor") or 0)
    result: JSONObject = {"tools": [definition(name) for name in PAGES[number]], "ttlMs": 0, "cacheScope": "private"}
    if number + 1 < len(PAGES):
        result["nextCursor"] = "" if FAULT == "empty-cursor" else str(number + 1)
    elif FAULT == "repeated-cursor":
        result["nextCursor"] = str(number)
    return result


def result(method: str, params: JSONObject) -> JSONObject | None:
    """None: there is no such method."""
    if method == "tools/list":
        return page(params)
    if method == "server/discover":
        versions = {"supportedVersions": [MODERN], "ttlMs": 0, "cacheScope": "private"}
        return {**versions, "capabilities": {"tools": {}}, "serverInfo": {"name": NAME, "version": "1"}}
    if method == "initialize" and FAULT not in ("modern", "no-result-type"):
        info = {"name": NAME, "version": "1"}
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": info}
    return {} if method == "ping" else None


def answer(message: JSONObject) -> JSONObject | None:
    """What to send; None: nothing."""
    method, params = message["method"], message.get("params") or {}
    found: JSONObject | None
    if method == "tools/call":
        found = ODD.get(params["name"], plain)(params.get("arguments") or {})
        if found is None:
            return None
    else:
        found = result(method, params)
    if found is None:
        return {"error": {"code": -32601, "message": f"method not found: {method}"}}
    if "_meta" in params and FAULT != "no-result-type":  # a legacy client would not know what it is
        found["resultType"] = "complete"
    return {"result": found}


def is_heard(method: str, is_initialized: bool) -> bool:
    if FAULT == "silent":
        return False
    return FAULT != "silent-legacy" or method == "initialize" or (is_initialized and method != "server/discover")


def main() -> None:
    if hasattr(signal, "alarm"):
        signal.alarm(LIFETIME)
    is_initialized = False
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if "id" not in message or "method" not in message or not is_heard(message["method"], is_initialized):
            continue
        is_initialized |= message["method"] == "initialize"
        members = answer(message)
        if members is not None:
            noise = NOISE if FAULT == "noise" else b""
            sent = json.dumps({"jsonrpc": "2.0", "id": message["id"], **members}).encode()
            sys.stdout.buffer.write(noise + sent + b"\n")
            sys.stdout.buffer.flush()


main()

"""An MCP server whose script can be changed while it runs: to die, to fall silent, to have other tools.
It is a helper, not a test.

usage: python lively_server.py FOLDER

FOLDER/script.json is read again for each message: {"tools": [definitions], "capabilities": {...},
"on": {KEY: ACT}, "on_in_process": {"1": {KEY: ACT}}}. KEY is "start", a method, or the name of a tool; ACT is
an object of what to do, in this order: "announce" N changes of the tools, start a "grandchild" that holds our
pipes open, "exit" with a code, be "silent", answer with an "error" or a "result". As in the specification,
changes are announced only to who listens; with "legacy": true it is a server of revision 2025-11-25, which
announces them to all.
FOLDER/journal.jsonl gets {"start": pid}, {"grandchild": pid} and each received message with the pid.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

LIFETIME = 60  # seconds until it ends by itself, whatever becomes of the test
FOLDER = Path(sys.argv[1])
JOURNAL = FOLDER / "journal.jsonl"
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"

listeners: list[Any] = []  # ids of their requests


def script() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((FOLDER / "script.json").read_text(encoding="utf-8"))
    return loaded


def note(**event: Any) -> None:
    with JOURNAL.open("a", encoding="utf-8") as journal:
        print(json.dumps({**event, "pid": os.getpid()}), file=journal)


def write(**message: Any) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def announce(times: int) -> None:
    metas = [{"_meta": {SUBSCRIPTION: request_id}} for request_id in listeners]
    for params in metas or ([{}] if script().get("legacy") else []):
        for _ in range(times):
            write(method="notifications/tools/list_changed", params=params)


def start_grandchild() -> None:
    import subprocess  # here, because it would make each of many starts slower

    code = f"import time; time.sleep({LIFETIME})"
    note(grandchild=subprocess.Popen([sys.executable, "-IS", "-c", code]).pid)


def act_for(key: str, number: int) -> dict[str, Any]:
    acts = script().get("on", {}) | script().get("on_in_process", {}).get(str(number), {})
    act: dict[str, Any] = acts.get(key, {})
    return act


def play(act: dict[str, Any], request_id: Any, usual: dict[str, Any]) -> None:
    """Do what the script says, or the usual."""
    announce(act.get("announce", 0))
    if act.get("grandchild"):
        start_grandchild()
    if "exit" in act:
        print(act.get("last_words", ""), file=sys.stderr, flush=True)
        os._exit(act["exit"])
    if act.get("silent"):
        return
    if "error" in act:
        write(id=request_id, error=act["error"])
    else:
        write(id=request_id, result=act.get("result", usual))


def answer(message: dict[str, Any], number: int) -> None:
    method, params = message["method"], message.get("params", {})
    if method == "subscriptions/listen":
        listeners.append(message["id"])
        acknowledged = {"_meta": {SUBSCRIPTION: message["id"]}, "notifications": params["notifications"]}
        write(method="notifications/subscriptions/acknowledged", params=acknowledged)
        return
    name = params.get("name", "")
    capabilities = script().get("capabilities", {"tools": {}})
    if method == "server/discover" and script().get("legacy"):
        write(id=message["id"], error={"code": -32601, "message": "method not found"})
        return
    info = {"name": "lively", "version": "1"}
    usual = {
        "server/discover": {"supportedVersions": ["2026-07-28"], "capabilities": capabilities},
        "initialize": {"protocolVersion": "2025-11-25", "capabilities": capabilities, "serverInfo": info},
        "ping": {},
        "tools/list": {"tools": script()["tools"]},
        "tools/call": {"content": [{"type": "text", "text": f"{name} from process {number}"}]},
    }[method]
    play(act_for(name if method == "tools/call" else method, number), message["id"], usual)


def main() -> None:
    note(start=os.getpid())
    started = [line for line in JOURNAL.read_text(encoding="utf-8").splitlines() if '"start"' in line]
    number = len(started)  # 1 for the first process
    act = act_for("start", number)
    if "exit" in act:
        os._exit(act["exit"])
    deadline = time.monotonic() + LIFETIME
    for line in sys.stdin:
        message = json.loads(line)
        note(got=message)
        if "id" in message:
            answer(message, number)
        if time.monotonic() > deadline:
            return


if __name__ == "__main__":
    main()

"""A server that answers as fast as Python can: what is measured is the client.

It knows the methods that the contenders send and does not check what it gets. `--tools N --page N` sets how
many tools it lists; the tool `text` returns as many bytes as its argument says; `--batch N` holds N answers
back and then sends them together, last one first.
"""

import json
import sys
from typing import Any

JSONObject = dict[str, Any]

TOOL = {"name": "text", "description": "returns text", "inputSchema": {"type": "object", "properties": {}}}
META = {"io.modelcontextprotocol/serverInfo": {"name": "fast", "version": "1"}}


def option(name: str, default: int) -> int:
    return int(sys.argv[sys.argv.index(name) + 1]) if name in sys.argv else default


def result(method: str, params: JSONObject, tools: list[JSONObject], page: int) -> JSONObject:
    if method == "tools/call":
        arguments = params.get("arguments") or {}
        return {"content": [{"type": "text", "text": "x" * arguments.get("bytes", 1)}], "isError": False}
    if method == "tools/list":
        start = int(params.get("cursor") or 0)
        more = {"nextCursor": str(start + page)} if start + page < len(tools) else {}
        return {"tools": tools[start : start + page], **more, "ttlMs": 0, "cacheScope": "private"}
    if method == "server/discover":
        hints = {"ttlMs": 0, "cacheScope": "private"}
        return {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, **hints}
    return {}


def main() -> None:
    tools = [{**TOOL, "name": "text" if n == 0 else f"tool_{n}"} for n in range(option("--tools", 1))]
    page, batch = option("--page", 1000), option("--batch", 1)
    held: list[bytes] = []
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if "id" not in message:
            continue
        answer = result(message["method"], message.get("params", {}), tools, page)
        answer |= {"resultType": "complete", "_meta": META}
        held.append(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": answer}).encode() + b"\n")
        if len(held) >= (batch if message["method"] == "tools/call" else 1):
            sys.stdout.buffer.write(b"".join(reversed(held)))
            sys.stdout.buffer.flush()
            held.clear()


main()

"""Right programs that look different from the solution: each must be green in all nine checks.

Where a check fails one of them, the check is wrong: it asks for a style, not for what the lesson demands.
"""

from labkit.programs import Edit, New, Program, Rewrite

CLIENT = "stdio_client.py"
PROTOCOL = "protocol.py"
TRANSLATE = "discover_and_translate.py"
REGISTRY = "registry.py"
LOOP = "agent_loop.py"


def right(name: str, says: str, *edits: Edit | Rewrite | New) -> Program:
    return Program(name, says, edits)


def names(body: str) -> Rewrite:
    """`model_tool_name` with another body."""
    return Rewrite(TRANSLATE, "model_tool_name", f"def model_tool_name(alias: str, tool_name: str) -> str:\n{body}")


# Asking and waiting

FUTURES = '''
class Waiter:
    """A future in the clothes of a waiter."""

    def __init__(self) -> None:
        self._future = asyncio.get_running_loop().create_future()

    def succeed(self, result: object) -> None:
        if not self._future.done():
            self._future.set_result(result)

    def fail(self, error: McpError) -> None:
        if not self._future.done():
            self._future.set_exception(error)

    async def answer(self) -> object:
        return await self._future
'''

STREAMS = '''
class Waiter:
    """A stream that one answer goes through."""

    def __init__(self) -> None:
        self._send, self._receive = anyio.create_memory_object_stream[object](1)

    def succeed(self, result: object) -> None:
        self._put((result, None))

    def fail(self, error: McpError) -> None:
        self._put((None, error))

    def _put(self, answer: object) -> None:
        with suppress(anyio.WouldBlock):
            self._send.send_nowait(answer)

    async def answer(self) -> object:
        result, error = await self._receive.receive()
        if error is not None:
            raise error
        return result
'''

FAIL_AFTER = """
async def request(self, method, params=None, *, timeout=None):
    deadline = self.timeout if timeout is None else timeout
    key = next(self._ids)
    waiter = Waiter()
    body = {"jsonrpc": "2.0", "id": key, "method": method, "params": {**(params or {}), "_meta": self.meta}}
    try:
        with anyio.fail_after(deadline):
            await self._send(body, waiter)
            answer = await waiter.answer()
    except TimeoutError:
        with suppress(ServerDown):
            await self.notify("notifications/cancelled", {"requestId": key})
        raise RequestTimeout(method, deadline) from None
    finally:
        self._pending.pop(key, None)
    return complete_result(answer)
"""

ERROR_FIRST = """
def _on_line(self, line: bytes) -> None:
    message = decode(line)
    if message is None or "id" not in message and "method" not in message:
        return
    waiter = None if "method" in message else self._take_waiter(message)
    match message, waiter:
        case _, None:
            pass
        case {"error": {"code": int(code), "message": str(text)}}, _:
            waiter.fail(RpcError(code, text, message["error"].get("data")))
        case {"error": other}, _:
            waiter.fail(RpcError(0, str(other)))
        case {"result": result}, _:
            waiter.succeed(result)
        case _:
            waiter.fail(InvalidMessage(str(message)))
"""

TABLE = '''
class PendingTable(dict):
    """The requests under way, and what can be done with them."""

    def open(self, key: object, waiter: "Waiter") -> None:
        self[key] = waiter

    def close(self, key: object) -> None:
        self.pop(key, None)


class LineCutter:
    """Collects bytes and gives out whole lines."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def feed(self, chunk: bytes) -> list[bytes]:
        self._rest += chunk
        *lines, rest = bytes(self._rest).split(b"\\n")
        self._rest = bytearray(rest)
        return lines


class StdioClient:
'''

CUTTING_READER = """
async def _read_stdout(self, process: Process) -> None:
    assert process.stdout is not None
    cutter = LineCutter()
    with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
        async for chunk in process.stdout:
            for line in cutter.feed(chunk):
                self._on_line(line)
    self._finish_soon()
"""

ASYNCIO_CLIENT = '''
class StdioClient:
    """The whole client on asyncio alone: one task reads to the end of the output; stderr goes nowhere."""

    def __init__(self, command, tasks, *, env=None, cwd=None, timeout=REQUEST_SECONDS, on_notification=None):
        self.command = [str(word) for word in command]
        self.timeout = timeout
        self.meta = request_meta()
        self._where = {"env": env, "cwd": cwd}
        self._on_notification = on_notification
        self._process = None
        self._reader = None
        self._waiting = {}
        self._number = 0

    async def start(self):
        if self._process is not None and self._process.returncode is None:
            return
        pipe, nothing = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
        try:
            self._process = await asyncio.create_subprocess_exec(
                *self.command, stdin=pipe, stdout=pipe, stderr=nothing, limit=2**30, **self._where
            )
        except OSError as error:
            raise ServerDown(f"{self.command[0]} does not start: {error}") from error
        self._reader = asyncio.create_task(self._read())

    async def _read(self):
        while line := await self._process.stdout.readline():
            message = decode(line)
            if message is None:
                continue
            future = self._waiting.pop(message["id"], None) if type(message.get("id")) is str else None
            if future is None or future.done():
                continue
            if "error" in message:
                future.set_exception(RpcError.from_wire(message["error"]))
            else:
                future.set_result(message.get("result"))
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(ServerDown("its output has ended"))
        self._waiting.clear()

    async def request(self, method, params=None, *, timeout=None):
        self._number += 1
        key = f"request-{self._number}"
        future = asyncio.get_running_loop().create_future()
        seconds = self.timeout if timeout is None else timeout
        if self._reader is None or self._reader.done():
            raise ServerDown("it is not running")
        self._waiting[key] = future
        self._write({"id": key, "method": method, "params": {**(params or {}), "_meta": self.meta}})
        try:
            return complete_result(await asyncio.wait_for(future, seconds))
        except TimeoutError:
            await self.notify("notifications/cancelled", {"requestId": key})
            raise RequestTimeout(method, seconds) from None
        finally:
            self._waiting.pop(key, None)

    async def notify(self, method, params=None):
        self._write({"method": method, "params": params or {}})

    def _write(self, message):
        self._process.stdin.write(encode({"jsonrpc": "2.0", **message}))

    async def close(self):
        process, self._process = self._process, None
        if process is None:
            return
        process.stdin.close()
        try:
            await asyncio.wait_for(process.wait(), EXIT_SECONDS)
        except TimeoutError:
            process.kill()
            await process.wait()
        await self._reader
'''

CLIENTS = [
    right(
        "futures",
        "futures in place of events",
        Edit(CLIENT, "import itertools\n", "import asyncio\nimport itertools\n"),
        Rewrite(CLIENT, "Waiter", FUTURES),
    ),
    right("memory-streams", "a memory object stream for each answer", Rewrite(CLIENT, "Waiter", STREAMS)),
    right("fail-after", "`fail_after`, and TimeoutError caught", Rewrite(CLIENT, "StdioClient.request", FAIL_AFTER)),
    right("error-first", "`match`, with the error in front", Rewrite(CLIENT, "StdioClient._on_line", ERROR_FIRST)),
    right(
        "split-classes",
        "a class for the table and a class for the lines",
        Edit(CLIENT, "class StdioClient:\n", TABLE.lstrip("\n")),
        Edit(CLIENT, "self._pending: dict[int, Waiter] = {}", "self._pending = PendingTable()"),
        Edit(CLIENT, 'self._pending[message["id"]] = waiter', 'self._pending.open(message["id"], waiter)'),
        Edit(
            CLIENT, "            self._pending.pop(request_id, None)\n", "            self._pending.close(request_id)\n"
        ),
        Rewrite(CLIENT, "StdioClient._read_stdout", CUTTING_READER),
    ),
    right(
        "asyncio-only",
        "the client written anew on asyncio, ids that are texts, stderr sent nowhere",
        Edit(CLIENT, "import itertools\n", "import asyncio\nimport itertools\n"),
        Rewrite(CLIENT, "StdioClient", ASYNCIO_CLIENT),
    ),
    right(
        "ids-of-uuid",
        "ids that nobody can guess",
        Edit(CLIENT, "import itertools\n", "import itertools\nimport uuid\n"),
        Edit(CLIENT, "request_id = next(self._ids)", "request_id = str(uuid.uuid4())"),
        Edit(CLIENT, "if type(request_id) is int else None", "if isinstance(request_id, str) else None"),
    ),
    right(
        "ids-used-again",
        "the smallest id that is free; a request removes its own waiter only, the id may be another's by then",
        Edit(
            CLIENT,
            "request_id = next(self._ids)",
            "request_id = next(number for number in self._ids if number not in self._pending)",
        ),
        Edit(CLIENT, "        waiter = Waiter()\n", "        waiter = self._pending[request_id] = Waiter()\n"),
        Edit(CLIENT, "self._ids = itertools.count(1)", "self._ids = range(1, 1_000_000)"),
        Edit(
            CLIENT,
            "            self._pending.pop(request_id, None)\n",
            "            if self._pending.get(request_id) is waiter:\n                del self._pending[request_id]\n",
        ),
    ),
    right(
        "ids-from-a-thousand",
        "ids in steps of ten, and a name of its own in the metadata",
        Edit(CLIENT, "itertools.count(1)", "itertools.count(1000, 10)"),
        Edit(PROTOCOL, '"name": "day-05-client"', '"name": "my own client", "title": "Mine"'),
    ),
    right(
        "utf-8-on-the-wire",
        "messages in UTF-8, with spaces and `_meta` first",
        Edit(
            PROTOCOL, 'json.JSONEncoder(separators=(",", ":"), allow_nan=False)', "json.JSONEncoder(ensure_ascii=False)"
        ),
        Edit(PROTOCOL, '.encode("ascii")', '.encode("utf-8", "backslashreplace")'),
        Edit(CLIENT, '{**(params or {}), "_meta": self.meta}', '{"_meta": self.meta, **(params or {})}'),
    ),
    right(
        "lazy-start",
        "the process is started by the first request",
        Edit(
            CLIENT,
            "    async def start(self) -> None:\n",
            "    async def start(self) -> None:\n"
            "        self._wanted = True\n"
            "\n"
            "    async def _start_now(self) -> None:\n",
        ),
        Edit(
            CLIENT,
            "        seconds = self.timeout if timeout is None else timeout\n",
            "        if self._wanted:\n            self._wanted = False\n            await self._start_now()\n"
            "        seconds = self.timeout if timeout is None else timeout\n",
        ),
        Edit(
            CLIENT,
            '        self._end_reason = "it has not been started"\n',
            '        self._end_reason = "it has not been started"\n        self._wanted = False\n',
        ),
    ),
    right(
        "end-of-output-only",
        "the end of the output is the only sign of a server's death",
        Edit(
            CLIENT,
            "                await process.wait()\n"
            '                self._end_reason = f"it has exited with code {process.returncode}"\n'
            "                self._finish_soon()\n",
            "",
        ),
    ),
]

# Pages and translation

RECURSION = """
async def list_all_tools(client: StdioClient) -> list[JSONObject]:
    async def following(cursor, seen):
        page, after = read_page(await client.request("tools/list", cursor))
        if after is None or after in seen:
            return page
        return page + await following({"cursor": after}, seen | {after})

    return await following(None, frozenset())
"""

GENERATOR = """
async def list_all_tools(client: StdioClient) -> list[JSONObject]:
    return [tool async for page in pages_of(client) for tool in page]


async def pages_of(client: StdioClient):
    cursor: JSONObject = {}
    seen: list[JSONObject] = []
    while cursor not in seen:
        seen.append(cursor)
        result = await client.request("tools/list", cursor)
        yield read_page(result)[0]
        if result.get("nextCursor") is None:
            return
        cursor = {"cursor": result["nextCursor"]}
    log.warning("the list goes round in a circle")
"""

CAPPED = """
async def list_all_tools(client: StdioClient) -> list[JSONObject]:
    tools: dict[str, JSONObject] = {}
    params: JSONObject = {}
    for _ in range(200):
        result = await client.request("tools/list", params)
        tools |= {tool["name"]: tool for tool in read_page(result)[0]}
        if "nextCursor" not in result:
            break
        params = {"cursor": result["nextCursor"]}
    return list(tools.values())
"""

LEGACY = """
async def discover(client: StdioClient) -> JSONObject:
    try:
        return await client.request("server/discover")
    except RpcError as error:
        if error.code == -32022:
            raise
    except RequestTimeout:
        pass
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "me", "version": "1"}}
    result = await client.request("initialize", hello)
    await client.notify("notifications/initialized")
    return result
"""

TRANSLATION = [
    right(
        "recursion", "a function that calls itself for the next page", Rewrite(TRANSLATE, "list_all_tools", RECURSION)
    ),
    right("async-generator", "`async for` over the pages", Rewrite(TRANSLATE, "list_all_tools", GENERATOR)),
    right(
        "capped-walk",
        "200 pages at most in place of remembered cursors, and doubles dropped",
        Rewrite(TRANSLATE, "list_all_tools", CAPPED),
    ),
    right(
        "legacy-fallback",
        "a server that does not know `server/discover` gets `initialize`",
        Edit(
            TRANSLATE,
            "from protocol import PROTOCOL_VERSION, InvalidMessage, JSONObject\n",
            "from protocol import InvalidMessage, JSONObject, RequestTimeout, RpcError\n",
        ),
        Rewrite(TRANSLATE, "discover", LEGACY),
    ),
    right(
        "source-at-the-end",
        "the source behind the description",
        Edit(TRANSLATE, 'f"[from {alias}] {description}"', 'f"{description} (A tool of the server {alias}.)"'),
    ),
    right(
        "schema-copied",
        "a deep copy of the schema",
        Edit(TRANSLATE, "import hashlib\n", "import copy\nimport hashlib\n"),
        Edit(TRANSLATE, '"input_schema": tool["inputSchema"]', '"input_schema": copy.deepcopy(tool["inputSchema"])'),
    ),
]

# Names

NAMES = [
    right(
        "another-digest",
        "blake2 in every name",
        names("""
    digest = hashlib.blake2b(repr((alias, tool_name)).encode(), digest_size=6).hexdigest()
    return re.sub("[^A-Za-z0-9_-]", "-", f"{alias}__{tool_name}")[:50] + "_" + digest
"""),
    ),
    right(
        "other-separators",
        "no `mcp` in front, `-` between alias and tool",
        names("""
    plain = f"{alias}-{tool_name}"
    if re.fullmatch("[A-Za-z0-9]+-[A-Za-z0-9_]+", plain) and len(plain) <= MAX_NAME:
        return plain
    digest = hashlib.md5(f"{len(alias)}{alias}{tool_name}".encode(), usedforsecurity=False).hexdigest()
    return re.sub("[^A-Za-z0-9_-]", "x", plain)[:30] + "-" + digest
"""),
    ),
    right(
        "tool-first",
        "names decorated further: the tool first, then where it is from",
        names("""
    digest = hashlib.sha1(f"{alias}\\0{tool_name}".encode(), usedforsecurity=False).hexdigest()[:10]
    tool, server = (re.sub("[^A-Za-z0-9]", "", part)[:20] for part in (tool_name, alias))
    return f"v2_{tool}_from_{server}_{digest}"
"""),
    ),
    right(
        "digest-only",
        "nothing but a digest",
        names("""
    return "t" + hashlib.sha512(f"{alias}/{len(alias)}/{tool_name}".encode()).hexdigest()[:40]
"""),
    ),
    right(
        "letters-spelt-out",
        "every illegal letter and every `_` is written as its code, so that nothing can become equal",
        names("""
    def spell(text: str) -> str:
        return "".join(letter if letter.isascii() and letter.isalnum() else f"-{ord(letter):x}-" for letter in text)

    name = f"{spell(alias)}_{spell(tool_name)}"
    if len(name) <= MAX_NAME:
        return name
    return name[:31] + "_" + hashlib.sha256(name.encode()).hexdigest()[:32]
"""),
    ),
]

# The registry

OWN_REGISTRY = '''
class ToolRegistry:
    """Two dictionaries, and no entries."""

    def __init__(self, clients: Mapping[str, StdioClient]) -> None:
        self._clients = clients
        self._routes: dict[str, tuple[str, str]] = {}
        self._shown: dict[str, JSONObject] = {}
        self.down: dict[str, str] = {}

    async def refresh(self, aliases: Iterable[str] | None = None) -> None:
        wanted = list(self._clients if aliases is None else aliases)
        found = await asyncio.gather(*(self._tools_of(alias) for alias in wanted), return_exceptions=True)
        for alias, tools in zip(wanted, found, strict=True):
            self._forget(alias)
            if isinstance(tools, McpError):
                self.down[alias] = f"{type(tools).__name__}: {tools}"
            elif isinstance(tools, BaseException):
                raise tools
            else:
                self._learn(alias, tools)

    async def _tools_of(self, alias: str) -> list[JSONObject]:
        await self._clients[alias].start()
        return await list_all_tools(self._clients[alias])

    def _forget(self, alias: str) -> None:
        self.down.pop(alias, None)
        for name in [name for name, route in self._routes.items() if route[0] == alias]:
            del self._routes[name], self._shown[name]

    def _learn(self, alias: str, tools: list[JSONObject]) -> None:
        for tool in tools:
            shown = to_model_tool(alias, tool)
            self._routes[shown["name"]] = (alias, tool["name"])
            self._shown[shown["name"]] = shown

    def model_tools(self) -> list[JSONObject]:
        return list(self._shown.values())

    async def call(self, model_name: str, arguments: JSONObject) -> JSONObject:
        if model_name not in self._routes:
            return error_result(f"unknown tool {model_name}; known: {sorted(self._routes)}; down: {self.down}")
        alias, name = self._routes[model_name]
        try:
            return await self._clients[alias].request("tools/call", {"name": name, "arguments": arguments})
        except McpError as error:
            if isinstance(error, ServerDown):
                self._forget(alias)
                self.down[alias] = str(error)
            return error_result(f"{model_name}: {error}")
'''

RESTART = """
async def call(self, model_name: str, arguments: JSONObject) -> JSONObject:
    entry = self.entries.get(model_name)
    if entry is None:
        return error_result(f"there is no tool named {model_name!r}{self._down_note()}")
    if entry.alias in self.down:
        await self.refresh([entry.alias])  # perhaps it can be started again
    if entry.alias in self.down:
        return error_result(f"the server {entry.alias!r} is down: {self.down[entry.alias]}")
    try:
        params = {"name": entry.tool_name, "arguments": arguments}
        return await self._clients[entry.alias].request("tools/call", params)
    except ServerDown as error:
        self.down[entry.alias] = str(error)
        return error_result(f"the server {entry.alias!r} has died: {error}")
    except McpError as error:
        return error_result(str(error))
"""

ANYTHING = """
async def call(self, model_name: str, arguments: JSONObject) -> JSONObject:
    try:
        entry = self.entries[model_name]
        if entry.alias in self.down:
            raise RuntimeError(f"{entry.alias} is down")
        client = self._clients[entry.alias]
        return await client.request("tools/call", {"name": entry.tool_name, "arguments": arguments})
    except Exception as error:
        if isinstance(error, ServerDown):
            self.down[entry.alias] = str(error)
        return error_result(f"the call failed: {error!r}")
"""

TWO_PHASES = """
async def refresh(self, aliases: Iterable[str] | None = None) -> None:
    wanted = list(self._clients if aliases is None else aliases)
    for alias in wanted:
        self._tools.pop(alias, None)
        self.down.pop(alias, None)
    async with anyio.create_task_group() as tasks:
        for alias in wanted:
            tasks.start_soon(self._try, alias, self._clients[alias].start)
    async with anyio.create_task_group() as tasks:
        for alias in wanted:
            if alias not in self.down:
                tasks.start_soon(self._try, alias, self._list, alias)
    self._rebuild()

async def _try(self, alias, work, *args) -> None:
    try:
        await work(*args)
    except McpError as error:
        self.down[alias] = str(error)

async def _list(self, alias: str) -> None:
    await discover(self._clients[alias])
    self._tools[alias] = await list_all_tools(self._clients[alias])
"""

CALLING = (
    "            return await self._clients[entry.alias].request(\n"
    '                "tools/call", {"name": entry.tool_name, "arguments": arguments}\n'
    "            )\n"
)

REGISTRIES = [
    right(
        "own-registry",
        "a registry written anew, with asyncio.gather and without `entries`",
        Edit(REGISTRY, "import logging\n", "import asyncio\nimport logging\n"),
        Rewrite(REGISTRY, "ToolRegistry", OWN_REGISTRY),
    ),
    right(
        "eager-start",
        "all are started first, then all are listed",
        Rewrite(REGISTRY, "ToolRegistry.refresh", TWO_PHASES),
    ),
    right(
        "started-again",
        "a dead server is started again by the next call",
        Rewrite(REGISTRY, "ToolRegistry.call", RESTART),
    ),
    right(
        "except-exception",
        "`except Exception` everywhere",
        Rewrite(REGISTRY, "ToolRegistry.call", ANYTHING),
        Edit(
            REGISTRY,
            "        except McpError as error:\n            self.down[alias] = str(error)\n",
            "        except Exception as error:\n            self.down[alias] = repr(error)\n",
        ),
    ),
    right(
        "results-with-more",
        "results carry the server's alias and the time",
        Edit(
            REGISTRY,
            CALLING,
            CALLING.replace("return await", "result = await") + '            is_error = result.get("isError", False)\n'
            '            return {**result, "isError": is_error, "server": entry.alias, "at": anyio.current_time()}\n',
        ),
        Edit(REGISTRY, '"isError": True}\n', '"isError": True, "_meta": {"made by": "the client"}}\n'),
    ),
    right(
        "chatty",
        "prints and logs everywhere, on both streams",
        Edit(REGISTRY, "import logging\n", "import logging\nimport sys\n"),
        Edit(
            REGISTRY,
            "        client = self._clients[alias]\n",
            '        print("refreshing", alias)\n'
            '        log.error("refreshing %s", alias)\n'
            "        client = self._clients[alias]\n",
        ),
        Edit(
            REGISTRY,
            "        entry = self.entries.get(model_name)\n",
            "        print(model_name, arguments, file=sys.stderr)\n        entry = self.entries.get(model_name)\n",
        ),
        Edit(
            CLIENT,
            "        message = decode(line)\n",
            "        message = decode(line)\n        print(line, message, flush=True)\n",
        ),
    ),
]

# The agent loop

AT_ONCE = '''
async def run_agent(question, model, registry, max_steps=MAX_STEPS):
    """All calls of a message at once, their results in the order of the calls."""
    messages: list[JSONObject] = [
        {"role": "system", "content": f"Be brief. Servers that are down: {registry.down or 'none'}"},
        {"role": "user", "content": question},
    ]
    step = 0
    while step < max_steps:
        step += 1
        message = await model.reply(list(messages), registry.model_tools())
        messages += [message]
        if not message.get("tool_calls"):
            return Transcript(messages, step, message["content"])
        results = await asyncio.gather(*(run_call(call, registry) for call in message["tool_calls"]))
        pairs = zip(message["tool_calls"], results, strict=True)
        messages += [{**tool_message(call, result), "seconds": 0.0} for call, result in pairs]
    return Transcript(messages, max_steps, None)
'''

LOOPS = [
    right(
        "calls-at-once",
        "the calls of a message run at the same time, and a system message always comes first",
        Edit(LOOP, "import json\n", "import asyncio\nimport json\n"),
        Rewrite(LOOP, "run_agent", AT_ONCE),
    ),
    right(
        "whole-result-as-json",
        "the model reads the whole result as JSON",
        Edit(LOOP, '"content": result_text(result)', '"content": json.dumps(result)'),
    ),
]

# Written by somebody who had seen neither the checks nor the programs above, each different in several places

FRESH_EYES = [
    right(
        "streams-and-always-digest",
        "a stream for a waiter, an async generator of pages, a digest in every name",
        Edit(
            CLIENT,
            "        self._arrived = anyio.Event()\n"
            "        self._result: object = None\n"
            "        self._error: McpError | None = None\n"
            "\n"
            "    def succeed(self, result: object) -> None:\n"
            '        """Wake the request: `answer` returns `result`."""\n'
            "        self._result = result\n"
            "        self._arrived.set()\n"
            "\n"
            "    def fail(self, error: McpError) -> None:\n"
            '        """Wake the request: `answer` raises `error`."""\n'
            "        self._error = error\n"
            "        self._arrived.set()\n"
            "\n"
            "    async def answer(self) -> object:\n"
            "        await self._arrived.wait()\n"
            "        if self._error is not None:\n"
            "            raise self._error\n"
            "        return self._result\n",
            "        self._put, self._get = anyio.create_memory_object_stream[tuple[str, object]](1)\n"
            "\n"
            "    def succeed(self, result: object) -> None:\n"
            '        self._offer(("ok", result))\n'
            "\n"
            "    def fail(self, error: McpError) -> None:\n"
            '        self._offer(("bad", error))\n'
            "\n"
            "    def _offer(self, item: tuple[str, object]) -> None:\n"
            "        with suppress(anyio.WouldBlock, anyio.BrokenResourceError):\n"
            "            self._put.send_nowait(item)\n"
            "\n"
            "    async def answer(self) -> object:\n"
            "        try:\n"
            "            kind, value = await self._get.receive()\n"
            "        finally:\n"
            "            self._put.close()\n"
            "            self._get.close()\n"
            '        if isinstance(value, McpError) and kind == "bad":\n'
            "            raise value\n"
            "        return value\n",
        ),
        Edit(
            CLIENT,
            '        if ("result" in message) == ("error" in message):\n'
            '            waiter.fail(InvalidMessage("the answer must hold either a result or an error"))\n'
            '        elif "result" in message:\n'
            '            waiter.succeed(message["result"])\n'
            "        else:\n"
            '            waiter.fail(RpcError.from_wire(message["error"]))\n',
            "        match message:\n"
            '            case {"result": _, "error": _}:\n'
            '                waiter.fail(InvalidMessage("an answer with a result and an error"))\n'
            '            case {"error": {"code": int(code), "message": str(text), **rest}}:\n'
            '                waiter.fail(RpcError(code, text, rest.get("data")))\n'
            '            case {"error": odd}:\n'
            "                waiter.fail(RpcError.from_wire(odd))\n"
            '            case {"result": result}:\n'
            "                waiter.succeed(result)\n"
            "            case _:\n"
            '                waiter.fail(InvalidMessage("an answer with neither"))\n',
        ),
        Edit(
            TRANSLATE,
            '    tools, cursor = read_page(await client.request("tools/list"))\n'
            "    sent: set[str] = set()\n"
            "    while cursor is not None and cursor not in sent and len(sent) < MAX_PAGES:\n"
            "        sent.add(cursor)\n"
            '        result = await client.request("tools/list", {"cursor": cursor})\n'
            "        page, cursor = read_page(result)\n"
            "        tools += page\n"
            "    if cursor is not None:\n"
            '        log.warning("the list of tools is cut short before cursor %r", cursor)\n'
            "    return tools\n",
            "    return [tool async for page in _pages(client) for tool in page]\n"
            "\n"
            "\n"
            "async def _pages(client: StdioClient) -> AsyncIterator[list[JSONObject]]:\n"
            '    """One page after the other, each cursor at most once."""\n'
            "    params: JSONObject = {}\n"
            "    seen: list[str] = []\n"
            "    for _ in range(MAX_PAGES):\n"
            '        page, cursor = read_page(await client.request("tools/list", params))\n'
            "        yield page\n"
            "        if cursor is None:\n"
            "            return\n"
            "        if cursor in seen:\n"
            '            log.warning("server goes round in a circle at %r", cursor)\n'
            "            return\n"
            "        seen.append(cursor)\n"
            '        params = {"cursor": cursor}\n',
        ),
        Edit(
            TRANSLATE,
            "import reprlib\n",
            "import reprlib\n"
            "from collections.abc import AsyncIterator\n",
        ),
        Edit(
            TRANSLATE,
            '    plain = f"mcp__{alias}__{tool_name}"\n'
            '    clean = re.sub(r"[^A-Za-z0-9_-]", "_", plain)[:MAX_NAME]\n'
            '    shows_where_alias_ends = "__" not in alias + "_"\n'
            "    if clean == plain and shows_where_alias_ends:\n"
            "        return plain\n"
            "    # This form could be another tool's as well: a digest of both parts is not.\n"
            "    both = json.dumps([alias, tool_name])\n"
            "    digest = hashlib.sha256(both.encode()).hexdigest()[:8]\n"
            '    return f"{clean[: MAX_NAME - 9]}_{digest}"\n',
            "    # every name gets its digest: longer to read, nothing to decide\n"
            "    both = json.dumps([alias, tool_name])\n"
            "    digest = hashlib.blake2b(both.encode(), digest_size=8).hexdigest()\n"
            '    readable = "".join(c if c.isascii() and c.isalnum() else "-" for c in f"{alias}-{tool_name}")\n'
            '    return f"{readable[: MAX_NAME - len(digest) - 1]}-{digest}"\n',
        ),
        Edit(
            REGISTRY,
            "        async with anyio.create_task_group() as tasks:\n"
            "            for alias in self._clients if aliases is None else aliases:\n"
            "                tasks.start_soon(self._refresh_one, alias)\n"
            "        self._rebuild()\n"
            "\n"
            "    async def _refresh_one(self, alias: str) -> None:\n"
            '        """List one server\'s tools; when that fails, note why in `down` and raise nothing."""\n'
            "        client = self._clients[alias]\n"
            "        self._tools.pop(alias, None)\n"
            "        self.down.pop(alias, None)\n"
            "        try:\n"
            "            await client.start()\n"
            "            await discover(client)\n"
            "            self._tools[alias] = await list_all_tools(client)\n"
            "        except McpError as error:\n"
            "            self.down[alias] = str(error)\n",
            "        wanted = list(self._clients if aliases is None else aliases)\n"
            "        for alias in wanted:\n"
            "            self._tools.pop(alias, None)\n"
            "            self.down.pop(alias, None)\n"
            "        outcomes: dict[str, list[JSONObject] | McpError] = {}\n"
            "\n"
            "        async def one(alias: str) -> None:\n"
            "            try:\n"
            "                outcomes[alias] = await self._tools_of(alias)\n"
            "            except McpError as error:\n"
            "                outcomes[alias] = error\n"
            "\n"
            "        async with anyio.create_task_group() as tasks:\n"
            "            for alias in wanted:\n"
            "                tasks.start_soon(one, alias)\n"
            "        for alias, outcome in outcomes.items():\n"
            "            if isinstance(outcome, McpError):\n"
            '                self.down[alias] = f"{type(outcome).__name__}: {outcome}"\n'
            "            else:\n"
            "                self._tools[alias] = outcome\n"
            "        self._rebuild()\n"
            "\n"
            "    async def _tools_of(self, alias: str) -> list[JSONObject]:\n"
            "        client = self._clients[alias]\n"
            "        await client.start()\n"
            "        await discover(client)\n"
            "        return await list_all_tools(client)\n",
        ),
    ),
    right(
        "text-ids-and-recursion",
        "ids are texts, the walk is recursive, a base32 digest, error texts in Chinese",
        Edit(
            CLIENT,
            "        self._ids = itertools.count(1)\n"
            "        self._pending: dict[int, Waiter] = {}",
            "        self._nonce = uuid.uuid4().hex[:6]\n"
            "        self._ids = itertools.count(1)\n"
            "        self._pending: dict[str, Waiter] = {}",
        ),
        Edit(
            CLIENT,
            "from collections",
            "import uuid\n"
            "from collections",
        ),
        Edit(
            CLIENT,
            "        request_id = next(self._ids)\n",
            '        request_id = f"{self._nonce}-{next(self._ids)}"\n',
        ),
        Edit(CLIENT, "async def _give_up(self, request_id: int)", "async def _give_up(self, request_id: str)"),
        Edit(
            CLIENT,
            "return self._pending.pop(request_id, None) if type(request_id) is int else None",
            "return self._pending.pop(request_id, None) if isinstance(request_id, str) else None",
        ),
        Edit(
            TRANSLATE,
            '    tools, cursor = read_page(await client.request("tools/list"))\n'
            "    sent: set[str] = set()\n"
            "    while cursor is not None and cursor not in sent and len(sent) < MAX_PAGES:\n"
            "        sent.add(cursor)\n"
            '        result = await client.request("tools/list", {"cursor": cursor})\n'
            "        page, cursor = read_page(result)\n"
            "        tools += page\n"
            "    if cursor is not None:\n"
            '        log.warning("the list of tools is cut short before cursor %r", cursor)\n'
            "    return tools\n",
            "    return await _rest_of_list(client, None, ())\n"
            "\n"
            "\n"
            "async def _rest_of_list(client: StdioClient, cursor: str | None, before: tuple[str, "
            "...]) -> list[JSONObject]:\n"
            '    params = {} if cursor is None else {"cursor": cursor}\n'
            '    page, following = read_page(await client.request("tools/list", params))\n'
            "    if following is None:\n"
            "        return page\n"
            "    if following in before or len(before) >= 200:\n"
            '        log.warning("stopped before cursor %r", following)\n'
            "        return page\n"
            "    return page + await _rest_of_list(client, following, (*before, following))\n",
        ),
        Edit(
            TRANSLATE,
            '    shows_where_alias_ends = "__" not in alias + "_"\n'
            "    if clean == plain and shows_where_alias_ends:\n"
            "        return plain\n"
            "    # This form could be another tool's as well: a digest of both parts is not.\n"
            "    both = json.dumps([alias, tool_name])\n"
            "    digest = hashlib.sha256(both.encode()).hexdigest()[:8]\n"
            '    return f"{clean[: MAX_NAME - 9]}_{digest}"\n',
            '    if clean == plain and "_" not in alias and "__" not in tool_name:\n'
            "        return plain\n"
            '    both = f"{len(alias)}:{alias}{tool_name}".encode("utf-8", "surrogatepass")\n'
            "    digest = base64.b32encode(hashlib.md5(both, usedforsecurity=False).digest())[:10].decode()\n"
            '    return f"{clean[:50]}-{digest}"\n',
        ),
        Edit(
            TRANSLATE,
            "import hashlib\n",
            "import base64\n"
            "import hashlib\n",
        ),
        Edit(
            LOOP,
            "    for step in range(1, max_steps + 1):\n"
            "        message = await model.reply(messages, registry.model_tools())\n"
            "        messages.append(message)\n"
            '        calls = message.get("tool_calls")\n'
            "        if not calls:\n"
            '            return Transcript(messages, step, message["content"])\n'
            "        for call in calls:\n"
            "            messages.append(tool_message(call, await run_call(call, registry)))\n"
            "    return Transcript(messages, max_steps, None)\n",
            "    steps = 0\n"
            "    while steps < max_steps:\n"
            "        steps += 1\n"
            "        messages.append(await model.reply(messages, registry.model_tools()))\n"
            '        todo = deque(messages[-1].get("tool_calls") or [])\n'
            "        if not todo:\n"
            '            return Transcript(messages, steps, messages[-1]["content"])\n'
            "        while todo:\n"
            "            call = todo.popleft()\n"
            "            result = await run_call(call, registry)\n"
            "            messages.append(tool_message(call, result))\n"
            "    return Transcript(messages, steps, None)\n",
        ),
        Edit(
            LOOP,
            "from dataclasses",
            "from collections import deque\n"
            "from dataclasses",
        ),
        Edit(
            LOOP,
            'f"the arguments must be a JSON object, not {reprlib.repr(arguments)}"',
            'f"参数必须是 JSON 对象，而不是 {reprlib.repr(arguments)}"',
        ),
        Edit(
            REGISTRY,
            'f"there is no tool named {model_name!r}{self._down_note()}"',
            'f"没有名为 {model_name} 的工具{self._down_note()}"',
        ),
    ),
    right(
        "escape-and-raise-in-request",
        "names that can be read backwards, the error is raised in `request`, pages by their cursor",
        Edit(
            CLIENT,
            "                return complete_result(await waiter.answer())\n",
            "                answer = await waiter.answer()\n"
            '                if isinstance(answer, dict) and "error" in answer:\n'
            '                    raise RpcError.from_wire(answer["error"])\n'
            "                assert isinstance(answer, dict)\n"
            '                return complete_result(answer["result"])\n',
        ),
        Edit(
            CLIENT,
            '        if ("result" in message) == ("error" in message):\n'
            '            waiter.fail(InvalidMessage("the answer must hold either a result or an error"))\n'
            '        elif "result" in message:\n'
            '            waiter.succeed(message["result"])\n'
            "        else:\n"
            '            waiter.fail(RpcError.from_wire(message["error"]))\n',
            '        if len({"result", "error"} & message.keys()) == 1:\n'
            "            waiter.succeed(message)  # `request` looks which of the two it is\n"
            "        else:\n"
            '            waiter.fail(InvalidMessage("the answer must hold either a result or an error"))\n',
        ),
        Edit(
            TRANSLATE,
            '    tools, cursor = read_page(await client.request("tools/list"))\n'
            "    sent: set[str] = set()\n"
            "    while cursor is not None and cursor not in sent and len(sent) < MAX_PAGES:\n"
            "        sent.add(cursor)\n"
            '        result = await client.request("tools/list", {"cursor": cursor})\n'
            "        page, cursor = read_page(result)\n"
            "        tools += page\n"
            "    if cursor is not None:\n"
            '        log.warning("the list of tools is cut short before cursor %r", cursor)\n'
            "    return tools\n",
            "    pages: dict[str | None, list[JSONObject]] = {}  # the cursor that led there -> the page; in order\n"
            "    cursor: str | None = None\n"
            "    while cursor not in pages and len(pages) <= MAX_PAGES:\n"
            '        params = None if cursor is None else {"cursor": cursor}\n'
            '        pages[cursor], following = read_page(await client.request("tools/list", params))\n'
            "        if following is None:\n"
            "            break\n"
            "        cursor = following\n"
            "    return list(itertools.chain.from_iterable(pages.values()))\n",
        ),
        Edit(
            TRANSLATE,
            "import json\n",
            "import itertools\n"
            "import json\n",
        ),
        Edit(
            TRANSLATE,
            '    plain = f"mcp__{alias}__{tool_name}"\n'
            '    clean = re.sub(r"[^A-Za-z0-9_-]", "_", plain)[:MAX_NAME]\n'
            '    shows_where_alias_ends = "__" not in alias + "_"\n'
            "    if clean == plain and shows_where_alias_ends:\n"
            "        return plain\n"
            "    # This form could be another tool's as well: a digest of both parts is not.\n"
            "    both = json.dumps([alias, tool_name])\n"
            "    digest = hashlib.sha256(both.encode()).hexdigest()[:8]\n"
            '    return f"{clean[: MAX_NAME - 9]}_{digest}"\n',
            '    # "-" begins an escape and is escaped itself, so the form can be read backwards: no two are equal.\n'
            "    def escape(text: str) -> str:\n"
            '        return re.sub(r"[^A-Za-z0-9_]", lambda match: f"-{ord(match[0]):x}-", text)\n'
            "\n"
            '    name = f"{escape(alias)}--{escape(tool_name)}"\n'
            "    if len(name) <= MAX_NAME:\n"
            "        return name\n"
            '    digest = hashlib.sha1(json.dumps({"a": alias, "t": tool_name}, sort_keys=True).encode()).hexdigest()\n'
            '    return f"x---{digest}---{name}"[:MAX_NAME]\n',
        ),
        Edit(
            REGISTRY,
            "        except ServerDown as error:\n"
            "            self.down[entry.alias] = str(error)\n"
            '            return error_result(f"the server {entry.alias!r} is down: {error}")\n'
            "        except McpError as error:\n"
            '            return error_result(f"the call of {model_name!r} failed: {error}")\n',
            "        except McpError as error:\n"
            "            if isinstance(error, ServerDown):\n"
            "                self.down[entry.alias] = str(error)\n"
            '            return {"isError": True, "content": [{"type": "text", "text": '
            'f"{type(error).__name__}: {error}"}]}\n',
        ),
    ),
    right(
        "condition-and-semaphore",
        "ids that count by seven, long digests, a limit on servers refreshed at once",
        Edit(
            PROTOCOL,
            "    return {\n"
            '        "io.modelcontextprotocol/protocolVersion": version,\n'
            '        "io.modelcontextprotocol/clientInfo": CLIENT_INFO,\n'
            '        "io.modelcontextprotocol/clientCapabilities": {},\n'
            "    }\n",
            '    parts = {"clientCapabilities": {}, "clientInfo": {**CLIENT_INFO, "title": '
            '"学生的客户端"}, "protocolVersion": version}\n'
            '    return {f"io.modelcontextprotocol/{key}": value for key, value in parts.items()}\n',
        ),
        Edit(CLIENT, '{**(params or {}), "_meta": self.meta}', '{"_meta": self.meta} | (params or {})'),
        Edit(CLIENT, "        self._ids = itertools.count(1)\n", "        self._last_id = 1000\n"),
        Edit(
            CLIENT,
            "        request_id = next(self._ids)\n",
            "        self._last_id += 7\n"
            "        request_id = self._last_id\n",
        ),
        Edit(CLIENT, "import itertools\n", ""),
        Edit(
            CLIENT,
            '{"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}\n',
            '{"params": params, "method": method, "id": request_id, "jsonrpc": "2.0"}\n',
        ),
        Edit(
            CLIENT,
            "            with anyio.move_on_after(seconds):\n"
            "                await self._send(message, waiter)\n"
            "                return complete_result(await waiter.answer())\n"
            "            raise RequestTimeout(method, seconds)\n",
            "            try:\n"
            "                with anyio.fail_after(seconds):\n"
            "                    await self._send(message, waiter)\n"
            "                    raw = await waiter.answer()\n"
            "            except TimeoutError:\n"
            "                raise RequestTimeout(method, seconds) from None\n"
            "            return complete_result(raw)\n",
        ),
        Edit(CLIENT, '{"requestId": request_id})', '{"requestId": request_id, "reason": "nobody waits any more"})'),
        Edit(
            TRANSLATE,
            '    tools, cursor = read_page(await client.request("tools/list"))\n'
            "    sent: set[str] = set()\n"
            "    while cursor is not None and cursor not in sent and len(sent) < MAX_PAGES:\n"
            "        sent.add(cursor)\n"
            '        result = await client.request("tools/list", {"cursor": cursor})\n'
            "        page, cursor = read_page(result)\n"
            "        tools += page\n"
            "    if cursor is not None:\n"
            '        log.warning("the list of tools is cut short before cursor %r", cursor)\n',
            "    tools: list[JSONObject] = []\n"
            "    visited: dict[str, int] = {}\n"
            "    params: JSONObject = {}\n"
            "    while True:\n"
            '        page, cursor = read_page(await client.request("tools/list", params))\n'
            "        tools.extend(page)\n"
            "        if cursor is None:\n"
            "            break\n"
            "        if cursor in visited or len(visited) == MAX_PAGES:\n"
            '            print("the server leads me in a circle:", cursor)\n'
            "            break\n"
            "        visited[cursor] = len(tools)\n"
            '        params["cursor"] = cursor\n',
        ),
        Edit(
            TRANSLATE,
            '    shows_where_alias_ends = "__" not in alias + "_"\n'
            "    if clean == plain and shows_where_alias_ends:\n"
            "        return plain\n"
            "    # This form could be another tool's as well: a digest of both parts is not.\n"
            "    both = json.dumps([alias, tool_name])\n"
            "    digest = hashlib.sha256(both.encode()).hexdigest()[:8]\n"
            '    return f"{clean[: MAX_NAME - 9]}_{digest}"\n',
            '    if plain != clean or "_" in alias:\n'
            "        half = MAX_NAME // 2\n"
            "        digest = hashlib.sha256(repr((alias, tool_name)).encode()).hexdigest()[:half - 1]\n"
            '        clean = f"{clean[:half]}-{digest}"\n'
            "    return clean\n",
        ),
        Edit(
            REGISTRY,
            "        async with anyio.create_task_group() as tasks:\n"
            "            for alias in self._clients if aliases is None else aliases:\n"
            "                tasks.start_soon(self._refresh_one, alias)\n",
            "        at_once = anyio.CapacityLimiter(16)\n"
            "\n"
            "        async def limited(alias: str) -> None:\n"
            "            async with at_once:\n"
            "                await self._refresh_one(alias)\n"
            "\n"
            "        async with anyio.create_task_group() as tasks:\n"
            "            for alias in self._clients if aliases is None else aliases:\n"
            "                tasks.start_soon(limited, alias)\n",
        ),
        Edit(
            REGISTRY,
            "        except McpError as error:\n"
            "            self.down[alias] = str(error)\n",
            "        except (RpcError, RequestTimeout, InvalidMessage, ServerDown) as error:\n"
            '            self.down[alias] = f"启动或列出工具失败（{error}）"\n',
        ),
        Edit(
            REGISTRY,
            "from protocol import JSONObject, McpError, ServerDown\n",
            "from protocol import InvalidMessage, JSONObject, McpError, RequestTimeout, RpcError, ServerDown\n",
        ),
        Edit(
            LOOP,
            "        for call in calls:\n"
            "            messages.append(tool_message(call, await run_call(call, registry)))\n",
            "        messages.extend([tool_message(call, await run_call(call, registry)) for call in calls])\n",
        ),
        Edit(
            LOOP,
            'f"These tool servers cannot be used now: {registry.down}"',
            '"以下服务端现在不可用：\\n" + "\\n".join(f"{a}: {why}" for a, why in registry.down.items())',
        ),
    ),
]

NAMES_FILE = '''
"""Names for the model, and a memory of those that were made."""

import hashlib
import json
from functools import cache

from discover_and_translate import MAX_NAME  # which imports this file, too, but not before a name is asked for

made: dict[str, tuple[str, str]] = {}


@cache
def short(alias: str, tool: str) -> str:
    digest = hashlib.blake2b(json.dumps([alias, tool]).encode(), digest_size=6).hexdigest()
    clean = "".join(letter if letter.isascii() and (letter.isalnum() or letter in "_-") else "-" for letter in tool)
    return f"{clean[: MAX_NAME - 13]}_{digest}"


def remember(alias: str, tool: str) -> str:
    name = short(alias, tool)
    assert made.setdefault(name, (alias, tool)) == (alias, tool)
    return name
'''

FILES = [
    right(
        "file-of-its-own",
        "names are made in a sixth file, which remembers them, and imports what imports it",
        New("model_names.py", NAMES_FILE),
        names("    import model_names\n\n    return model_names.remember(alias, tool_name)"),
    ),
]

RIGHT: list[Program] = [*CLIENTS, *TRANSLATION, *NAMES, *REGISTRIES, *LOOPS, *FRESH_EYES, *FILES]

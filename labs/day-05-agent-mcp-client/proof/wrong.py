"""Wrong programs: the solution with one realistic mistake each, in the order of the checks.

Each says which checks must go red and which misconception each of those must name; all others must stay
green. Programs that behave alike share a misconception.
"""

from collections.abc import Iterable

from labkit.programs import Edit, Program, Rewrite

ALL = (1, 2, 3, 4, 5, 6, 7, 8, 9)

CLIENT = "stdio_client.py"
PROTOCOL = "protocol.py"
TRANSLATE = "discover_and_translate.py"
REGISTRY = "registry.py"
LOOP = "agent_loop.py"


def wrong(name: str, says: str, misconception: str, checks: int | Iterable[int], *edits: Edit | Rewrite) -> Program:
    """A program in which all red checks name the same misconception."""
    numbers = (checks,) if isinstance(checks, int) else tuple(checks)
    return Program(name, says, edits, dict.fromkeys(numbers, misconception))


def walk(body: str) -> Rewrite:
    """`list_all_tools` with another body."""
    return Rewrite(
        TRANSLATE, "list_all_tools", f"async def list_all_tools(client: StdioClient) -> list[JSONObject]:{body}"
    )


def name(body: str) -> Rewrite:
    """`model_tool_name` with another body."""
    return Rewrite(TRANSLATE, "model_tool_name", f"def model_tool_name(alias: str, tool_name: str) -> str:{body}")


# Any check: what no server understands

PARAMS = '        params = {**(params or {}), "_meta": self.meta}\n'
MESSAGE = '        message = {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}\n'
WAITER = '                    self._pending[message["id"]] = waiter\n'
DEADLINE = "            with anyio.move_on_after(seconds):\n"
LINE = '    return _encoder.encode(message).encode("ascii") + b"\\n"\n'
DISCOVER = '    result = await client.request("server/discover")\n'

ANY_CHECK = [
    wrong(
        "no-meta",
        "requests without `_meta`, as in earlier revisions",
        "meta_missing",
        ALL,
        Edit(CLIENT, PARAMS, "        params = params or {}\n"),
    ),
    wrong(
        "meta-beside-params",
        "`_meta` stands beside `params`, not in it",
        "meta_missing",
        ALL,
        Edit(CLIENT, PARAMS, "        params = params or {}\n"),
        Edit(CLIENT, MESSAGE, MESSAGE.replace("params}", 'params, "_meta": self.meta}')),
    ),
    wrong(
        "no-capabilities",
        "no capabilities to declare, so no key for them",
        "meta_missing",
        ALL,
        Edit(PROTOCOL, '        "io.modelcontextprotocol/clientCapabilities": {},\n', ""),
    ),
    wrong(
        "version-of-last-year",
        "the version of an earlier revision",
        "wrong_version",
        ALL,
        Edit(PROTOCOL, "version: str = PROTOCOL_VERSION", 'version: str = "2025-11-25"'),
    ),
    wrong(
        "initialize-first",
        "the handshake of earlier revisions",
        "handshake_sent",
        (1, 4, 5, 6, 7, 8, 9),
        Edit(
            TRANSLATE,
            DISCOVER,
            '    hello = {"protocolVersion": PROTOCOL_VERSION, "capabilities": {}, "clientInfo": {"name": "me"}}\n'
            '    await client.request("initialize", hello)\n'
            '    await client.notify("notifications/initialized")\n' + DISCOVER,
        ),
    ),
    wrong(
        "no-id",
        "requests without an id",
        "request_without_id",
        ALL,
        Edit(CLIENT, MESSAGE, '        message = {"jsonrpc": "2.0", "method": method, "params": params}\n'),
        Edit(CLIENT, WAITER, "                    self._pending[len(self._pending)] = waiter\n"),
    ),
    wrong(
        "pretty-json",
        "messages printed over several lines",
        "not_one_line",
        ALL,
        Edit(PROTOCOL, 'separators=(",", ":")', 'separators=(",", ":"), indent=2'),
    ),
    wrong(
        "no-newline",
        "messages without a newline at the end",
        "not_one_line",
        ALL,
        Edit(PROTOCOL, LINE, LINE.replace(' + b"\\n"', "")),
    ),
    wrong(
        "no-jsonrpc",
        "messages without `jsonrpc`",
        "request_refused",
        ALL,
        Edit(CLIENT, MESSAGE, '        message = {"id": request_id, "method": method, "params": params}\n'),
    ),
    wrong(
        "method-misspelt",
        "`tools/lists` instead of `tools/list` for the first page",
        "request_refused",
        (3, 4, 5, 6, 7, 8, 9),
        Edit(
            TRANSLATE, 'read_page(await client.request("tools/list"))', 'read_page(await client.request("tools/lists"))'
        ),
    ),
    wrong(
        "deadline-in-milliseconds",
        "the deadline divided by 1000",
        "deadline_too_early",
        ALL,
        Edit(CLIENT, DEADLINE, DEADLINE.replace("seconds", "seconds // 1000")),
    ),
]

# 1 discovery, and the reading of answers

FOUND = "        return self._pending.pop(request_id, None) if type(request_id) is int else None\n"
NOTICE = '        if "method" in message:\n            if self._on_notification is not None:\n'
STRAY = "        if message is None:\n            self._keep(line)\n            return\n"
CHUNK = '                *ends, rest = chunk.split(b"\\n")\n'
STDERR = "                tasks.start_soon(self._read_stderr, process)\n"

BLOCKING = '''
class StdioClient:
    """A client that blocks: it writes a line, and reads lines until its answer comes."""

    def __init__(self, command, tasks, *, env=None, cwd=None, timeout=REQUEST_SECONDS, on_notification=None):
        self.command = command
        self.timeout = timeout
        self._ids = itertools.count(1)
        self._process = None

    async def start(self):
        pipe = subprocess.PIPE
        try:
            self._process = subprocess.Popen(self.command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL)
        except OSError as error:
            raise ServerDown(str(error)) from error

    async def request(self, method, params=None, *, timeout=None):
        number = next(self._ids)
        meta = {"_meta": request_meta()}
        self._write({"jsonrpc": "2.0", "id": number, "method": method, "params": {**(params or {}), **meta}})
        while line := self._process.stdout.readline():
            message = decode(line)
            if message and message.get("id") == number:
                if "error" in message:
                    raise RpcError.from_wire(message["error"])
                return complete_result(message["result"])
        raise ServerDown("the server has closed its output")

    def _write(self, message):
        try:
            self._process.stdin.write(encode(message))
            self._process.stdin.flush()
        except OSError as error:
            raise ServerDown(str(error)) from error

    async def notify(self, method, params=None):
        self._write({"jsonrpc": "2.0", "method": method, "params": params or {}})

    async def close(self):
        if self._process is not None:
            with suppress(OSError):
                self._process.stdin.close()
            self._process.wait()
'''

CHECK_1 = [
    wrong(
        "discover-makes-it-up",
        "`discover` returns what it expects, without asking",
        "not_discovered",
        1,
        Edit(
            TRANSLATE,
            DISCOVER,
            '    result: JSONObject = {"supportedVersions": [PROTOCOL_VERSION], "capabilities": {}}\n',
        ),
    ),
    wrong(
        "discover-returns-nothing",
        "`discover` asks, checks the version and returns nothing of it",
        "discover_result_lost",
        1,
        Edit(
            TRANSLATE,
            'this client speaks {PROTOCOL_VERSION}")\n    return result\n',
            'this client speaks {PROTOCOL_VERSION}")\n    return {}\n',
        ),
    ),
    wrong(
        "discover-returns-capabilities",
        "`discover` returns the capabilities only",
        "discover_result_lost",
        1,
        Edit(
            TRANSLATE,
            'this client speaks {PROTOCOL_VERSION}")\n    return result\n',
            'this client speaks {PROTOCOL_VERSION}")\n    return dict(result["capabilities"])\n',
        ),
    ),
    wrong(
        "notification-answered",
        "every message of the server is answered, notifications too",
        "response_written",
        1,
        Edit(
            CLIENT,
            NOTICE,
            '        if "method" in message:\n'
            '            reply = {"jsonrpc": "2.0", "id": message.get("id"), "result": {}}\n'
            "            self._tasks.start_soon(self._send, reply)\n"
            "            if self._on_notification is not None:\n",
        ),
    ),
    wrong(
        "first-waiter",
        "any answer goes to the request that waits longest",
        "answer_to_wrong_request",
        (1, 2),
        Edit(CLIENT, FOUND, "        return self._pending.pop(min(self._pending), None) if self._pending else None\n"),
    ),
    wrong(
        "id-as-text",
        "ids are compared as texts",
        "id_compared_as_text",
        1,
        Edit(
            CLIENT,
            FOUND,
            "        same = [key for key in self._pending if str(key) == str(request_id)]\n"
            "        return self._pending.pop(same[0]) if same else None\n",
        ),
    ),
    wrong(
        "id-as-number",
        "the id of an answer is turned into a number first",
        "id_compared_as_text",
        1,
        Edit(
            CLIENT,
            FOUND,
            "        return self._pending.pop(int(request_id), None) if request_id is not None else None\n",
        ),
    ),
    Program(
        "one-id-for-all",
        "every request has the id 1",
        (Edit(CLIENT, "        request_id = next(self._ids)\n", "        request_id = 1\n"),),
        {1: "id_used_twice", 2: "id_used_twice", 7: "server_not_told"},
    ),
    Program(
        "waiters-by-method",
        "the table of waiters has one place per method",
        (
            Edit(
                CLIENT,
                WAITER,
                "                    waiter.method = message['method']\n"
                "                    others = [i for i, one in self._pending.items() if one.method != waiter.method]\n"
                "                    self._pending = {i: self._pending[i] for i in others} | {message['id']: waiter}\n",
            ),
        ),
        {1: "one_waiter_for_all", 2: "one_waiter_for_all", 7: "server_not_told"},
    ),
    wrong(
        "answer-to-all",
        "an answer wakes all that wait",
        "answer_to_wrong_request",
        (1, 2),
        Edit(
            CLIENT,
            FOUND,
            "        for waiter in self._pending.values():\n"
            '            waiter.succeed(message.get("result"))\n' + FOUND,
        ),
    ),
    Program(
        "one-waiter",
        "one place to wait at, for the request that was sent last",
        (Edit(CLIENT, WAITER, "                    self._pending.clear()\n" + WAITER),),
        {1: "one_waiter_for_all", 2: "one_waiter_for_all", 7: "server_not_told"},
    ),
    wrong(
        "one-at-a-time",
        "a lock is held from the request to its answer",
        "one_request_at_a_time",
        (1, 2, 7),
        Edit(
            CLIENT,
            "        self._ids = itertools.count(1)\n",
            "        self._ids = itertools.count(1)\n        self._turn = anyio.Lock()\n",
        ),
        Edit(CLIENT, "        try:\n" + DEADLINE, "        await self._turn.acquire()\n        try:\n" + DEADLINE),
        Edit(
            CLIENT,
            "            self._pending.pop(request_id, None)\n",
            "            self._pending.pop(request_id, None)\n            self._turn.release()\n",
        ),
    ),
    Program(
        "blocking-client",
        "a client that writes a line and blocks until the answer is there",
        (Rewrite(CLIENT, "StdioClient", BLOCKING),),
        {1: "one_request_at_a_time", 2: "one_request_at_a_time", 7: "no_deadline", 8: "no_deadline"},
    ),
    wrong(
        "chunk-is-a-line",
        "what one read returns is taken for a line",
        "chunk_taken_for_line",
        1,
        Edit(CLIENT, CHUNK, '                ends, rest = chunk.rstrip(b"\\n").split(b"\\n"), b""\n'),
    ),
    wrong(
        "splitlines",
        "the text is cut into lines with `splitlines`",
        "line_cut_at_other_characters",
        1,
        Edit(
            CLIENT,
            '                for end in ends:\n                    self._on_line(b"".join([*line, end]))\n',
            "                for end in ends:\n"
            '                    for part in b"".join([*line, end]).decode("utf-8", "replace").splitlines():\n'
            "                        self._on_line(part.encode())\n",
        ),
    ),
    wrong(
        "ascii-only",
        "what is not ASCII is left out of what is sent",
        "characters_lost",
        1,
        Edit(PROTOCOL, "allow_nan=False)", "allow_nan=False, ensure_ascii=False)"),
        Edit(PROTOCOL, '.encode("ascii")', '.encode("ascii", "ignore")'),
    ),
    wrong(
        "latin-1",
        "what arrives is decoded as Latin-1",
        "characters_lost",
        (1, 5, 9),
        Edit(PROTOCOL, "json.loads(line)", 'json.loads(line.decode("latin-1"))'),
    ),
    wrong(
        "noise-ends-the-reader",
        "a line that is no message ends the reading",
        "reader_ended_by_noise",
        1,
        Edit(
            PROTOCOL,
            "    except (ValueError, RecursionError):\n        return None\n",
            "    except RecursionError:\n        return None\n",
        ),
    ),
    wrong(
        "stderr-ignored",
        "nobody reads the server's error stream",
        "stderr_not_read",
        1,
        Edit(CLIENT, STDERR, ""),
    ),
]

# 2 errors

ERROR = '            waiter.fail(RpcError.from_wire(message["error"]))\n'
BRANCHES = (
    '        if ("result" in message) == ("error" in message):\n'
    '            waiter.fail(InvalidMessage("the answer must hold either a result or an error"))\n'
    '        elif "result" in message:\n'
    '            waiter.succeed(message["result"])\n'
    "        else:\n" + ERROR
)
ANSWER = "                return complete_result(await waiter.answer())\n"
TIMEOUT = "            raise RequestTimeout(method, seconds)\n"

CHECK_2 = [
    Program("todo-1-undone", "TODO 1 as in the starter", (), {2: "error_forgotten"}, (1,)),
    wrong(
        "error-not-signalled",
        "the error is stored, but nobody is woken",
        "error_forgotten",
        2,
        Edit(CLIENT, ERROR, '            waiter._error = RpcError.from_wire(message["error"])\n'),
    ),
    wrong(
        "result-before-error",
        "`result` is taken without looking for `error`",
        "result_before_error",
        (2, 7),
        Edit(CLIENT, BRANCHES, '        waiter.succeed(message["result"])\n'),
    ),
    wrong(
        "result-or-none",
        '`message.get("result")`, whatever the answer holds',
        "error_without_code",
        2,
        Edit(CLIENT, BRANCHES, '        waiter.succeed(message.get("result"))\n'),
    ),
    wrong(
        "error-as-result",
        "the error is handed over as if it were a result",
        "error_as_result",
        (2, 7),
        Edit(CLIENT, ERROR, '            waiter.succeed(message["error"])\n'),
    ),
    wrong(
        "error-as-empty-result",
        "an error is an empty result",
        "error_as_result",
        (2, 7),
        Edit(CLIENT, ERROR, "            waiter.succeed({})\n"),
    ),
    wrong(
        "error-without-code",
        "an exception that carries the message only",
        "error_without_code",
        2,
        Edit(CLIENT, ERROR, '            waiter.fail(McpError(message["error"]["message"]))\n'),
    ),
    Program(
        "error-as-server-down",
        "an error is reported as a dead server",
        (Edit(CLIENT, ERROR, '            waiter.fail(ServerDown(str(message["error"])))\n'),),
        {2: "error_without_code", 7: "failed_call_marks_down"},
    ),
    wrong(
        "code-of-our-own",
        "always the code for an internal error",
        "error_wrong_code",
        2,
        Edit(CLIENT, ERROR, '            waiter.fail(RpcError(-32603, message["error"]["message"]))\n'),
    ),
    wrong(
        "code-as-text",
        "the code turned into a text",
        "error_wrong_code",
        2,
        Edit(
            CLIENT,
            ERROR,
            '            waiter.fail(RpcError(str(message["error"]["code"]), message["error"]["message"]))\n',
        ),
    ),
    wrong(
        "code-and-message-swapped",
        "the message given in the place of the code",
        "error_wrong_code",
        2,
        Edit(
            CLIENT,
            ERROR,
            '            waiter.fail(RpcError(message["error"]["message"], str(message["error"]["code"])))\n',
        ),
    ),
    wrong(
        "message-lost",
        "the code without the server's message",
        "error_message_lost",
        2,
        Edit(CLIENT, ERROR, '            waiter.fail(RpcError(message["error"]["code"], "the request failed"))\n'),
    ),
    wrong(
        "raised-in-the-reader",
        "`raise` in the task that reads",
        "raised_in_the_reader",
        (2, 7),
        Edit(CLIENT, ERROR, '            raise RpcError.from_wire(message["error"])\n'),
    ),
    wrong(
        "error-after-the-deadline",
        "the error is looked at when the deadline has passed",
        "error_late",
        2,
        Edit(CLIENT, ERROR, '            self._late = RpcError.from_wire(message["error"])\n'),
        Edit(CLIENT, TIMEOUT, '            if hasattr(self, "_late"):\n                raise self._late\n' + TIMEOUT),
    ),
    wrong(
        "error-ends-the-connection",
        "a server that answers with an error is given up",
        "dead_after_error",
        (2, 7),
        Edit(CLIENT, ERROR, ERROR + "            self._ended.set()\n"),
    ),
    wrong(
        "error-retried",
        "a request that got an error is sent once more",
        "sent_again",
        (2, 7),
        Edit(
            CLIENT,
            ANSWER,
            "                try:\n"
            "                    return complete_result(await waiter.answer())\n"
            "                except RpcError:\n"
            "                    waiter = Waiter()\n"
            "                    await self._send(message, waiter)\n"
            "                    return complete_result(await waiter.answer())\n",
        ),
    ),
]

# 3 pages

LOOP_HEAD = "    while cursor is not None and cursor not in sent and len(sent) < MAX_PAGES:\n"
ASK = '        result = await client.request("tools/list", {"cursor": cursor})\n'
PLUS = "        tools += page\n"


def cursor_as(expression: str) -> Edit:
    """The cursor is sent back as this."""
    return Edit(TRANSLATE, ASK, ASK.replace('{"cursor": cursor}', f'{{"cursor": {expression}}}'))


def until(condition: str) -> Edit:
    """The walk also stops after a page for which this holds."""
    return Edit(TRANSLATE, PLUS, f"{PLUS}        if {condition}:\n            return tools\n")


CHECK_3 = [
    Program("todo-2-undone", "TODO 2 as in the starter", (), {3: "only_the_first_page"}, (2,)),
    wrong(
        "one-more-page",
        "`if` instead of `while`: two pages at most",
        "too_few_pages",
        3,
        Edit(TRANSLATE, PLUS, PLUS + "        break\n"),
    ),
    wrong(
        "three-pages-at-most",
        "a limit of three pages",
        "too_few_pages",
        3,
        Edit(TRANSLATE, "MAX_PAGES = 1000", "MAX_PAGES = 2"),
    ),
    wrong(
        "stop-at-an-empty-page",
        "an empty page is the end",
        "empty_page_is_the_end",
        3,
        until("not page"),
    ),
    wrong(
        "stop-at-a-short-page",
        "a page that holds fewer tools than the first is the end",
        "short_page_is_the_end",
        3,
        Edit(TRANSLATE, "    sent: set[str] = set()\n", "    sent: set[str] = set()\n    full = len(tools)\n"),
        until("len(page) < full"),
    ),
    wrong(
        "stop-at-a-page-of-one",
        "a page holds two tools, and the last one fewer",
        "short_page_is_the_end",
        3,
        Edit(TRANSLATE, LOOP_HEAD, LOOP_HEAD.replace("while ", "page = tools\n    while len(page) >= 2 and ")),
    ),
    wrong(
        "while-cursor",
        "`while cursor:` instead of `is not None`",
        "empty_cursor_is_the_end",
        3,
        Edit(TRANSLATE, LOOP_HEAD, LOOP_HEAD.replace("cursor is not None", "cursor")),
    ),
    wrong(
        "empty-cursor-made-none",
        '`result.get("nextCursor") or None`',
        "empty_cursor_is_the_end",
        3,
        Edit(TRANSLATE, "    return usable, cursor\n", "    return usable, cursor or None\n"),
    ),
    wrong(
        "empty-cursor-left-out",
        "a cursor is sent if it is true",
        "empty_cursor_not_sent",
        3,
        Edit(TRANSLATE, ASK, ASK.replace('{"cursor": cursor}', '{"cursor": cursor} if cursor else {}')),
    ),
    wrong(
        "cursor-under-its-old-name",
        "the cursor goes back as `nextCursor`",
        "cursor_not_sent",
        3,
        Edit(TRANSLATE, ASK, ASK.replace('{"cursor"', '{"nextCursor"')),
    ),
    wrong(
        "cursor-null",
        "the first request says `cursor: null`",
        "null_cursor_sent",
        (3, 4, 5, 6, 7, 8, 9),
        Edit(
            TRANSLATE,
            'read_page(await client.request("tools/list"))',
            'read_page(await client.request("tools/list", {"cursor": None}))',
        ),
    ),
    wrong(
        "cursor-decoded",
        "the cursor is decoded from base64",
        "cursor_changed",
        (3, 5, 8, 9),
        Edit(TRANSLATE, "import hashlib\n", "import base64\nimport hashlib\n"),
        cursor_as("base64.b64decode(cursor).decode() if cursor else cursor"),
    ),
    wrong(
        "cursor-counted",
        "the cursor is the number of the page",
        "cursor_changed",
        (3, 5, 8, 9),
        cursor_as("str(len(sent))"),
    ),
    wrong(
        "cursor-is-an-offset",
        "the cursor is the number of tools so far",
        "cursor_changed",
        (3, 5, 8, 9),
        cursor_as("len(tools)"),
    ),
    wrong(
        "cursor-stripped",
        "white space around the cursor is removed",
        "cursor_changed",
        (3, 5, 8, 9),
        cursor_as("cursor.strip()"),
    ),
    wrong(
        "cursor-quoted",
        "the cursor is quoted as in a URL",
        "cursor_changed",
        (3, 5, 8, 9),
        Edit(TRANSLATE, "import hashlib\n", "import hashlib\nimport urllib.parse\n"),
        cursor_as("urllib.parse.quote(cursor)"),
    ),
    wrong(
        "first-cursor-for-ever",
        "the cursor of the first page is sent with every request",
        "cursor_changed",
        3,
        walk("""
    tools, cursor = read_page(await client.request("tools/list"))
    following, seen = cursor, 0
    while following is not None and seen < 10:
        page, following = read_page(await client.request("tools/list", {"cursor": cursor}))
        tools, seen = tools + page, seen + 1
    return tools
"""),
    ),
    wrong(
        "next-cursor-demanded",
        '`result["nextCursor"]`, which the last page lacks',
        "next_cursor_demanded",
        (3, 4, 5, 6, 7, 8, 9),
        Edit(TRANSLATE, 'result.get("tools"), result.get("nextCursor")', 'result.get("tools"), result["nextCursor"]'),
    ),
    wrong(
        "last-page-dropped",
        "a page is added only when another follows",
        "last_page_dropped",
        3,
        Edit(TRANSLATE, PLUS, "        if cursor is not None:\n            tools += page\n"),
    ),
    wrong(
        "pages-overwritten",
        "`=` instead of `+=`",
        "pages_overwritten",
        (3, 5, 8, 9),
        Edit(TRANSLATE, PLUS, "        tools = page\n"),
    ),
    wrong(
        "first-page-dropped",
        "the list is begun anew before the second page",
        "first_page_dropped",
        (3, 5, 8, 9),
        Edit(
            TRANSLATE,
            "    sent: set[str] = set()\n",
            "    sent: set[str] = set()\n    tools = [] if cursor is not None else tools\n",
        ),
    ),
    wrong(
        "page-twice",
        "the last page is added once more after the loop",
        "page_twice",
        3,
        Edit(TRANSLATE, PLUS, PLUS + "    tools += page if len(sent) else []\n"),
    ),
    wrong(
        "pages-in-front",
        "each page is put in front of the ones before",
        "pages_out_of_order",
        3,
        Edit(TRANSLATE, PLUS, "        tools = page + tools\n"),
    ),
    wrong(
        "tools-sorted",
        "the tools are sorted by name",
        "pages_out_of_order",
        3,
        Edit(
            TRANSLATE,
            'before cursor %r", cursor)\n    return tools\n',
            'before cursor %r", cursor)\n    return sorted(tools, key=lambda tool: str(tool["name"]))\n',
        ),
    ),
    wrong(
        "pages-nested",
        "`append` instead of `extend`",
        "pages_nested",
        (3, 5, 8, 9),
        Edit(TRANSLATE, PLUS, "        tools.append(page)\n"),
    ),
    wrong(
        "repeated-cursor-raised",
        "a cursor that comes again is an exception",
        "listing_raised",
        3,
        Edit(
            TRANSLATE,
            LOOP_HEAD,
            "    while cursor is not None:\n        if cursor in sent:\n            raise InvalidMessage(cursor)\n",
        ),
    ),
    wrong(
        "endless-recursion",
        "a function that calls itself for as long as there is a cursor",
        "endless_walk",
        3,
        walk("""
    async def after(cursor):
        page, following = read_page(await client.request("tools/list", {"cursor": cursor}))
        return page if following is None else page + await after(following)

    tools, cursor = read_page(await client.request("tools/list"))
    return tools if cursor is None else tools + await after(cursor)
"""),
    ),
    wrong(
        "endless-walk",
        "asks for as long as there is a cursor",
        "endless_walk",
        3,
        Edit(TRANSLATE, LOOP_HEAD, "    while cursor is not None:\n"),
    ),
]

# 4 translation

SCHEMA = '        "input_schema": tool["inputSchema"],\n'
DESCRIPTION = '        "description": f"[from {alias}] {description}",\n'
SHOWN = "    return {\n"

CHECK_4 = [
    wrong(
        "input-schema-in-camel-case",
        "`inputSchema` keeps its name",
        "schema_under_wrong_name",
        4,
        Edit(TRANSLATE, SCHEMA, '        "inputSchema": tool["inputSchema"],\n'),
    ),
    wrong(
        "parameters",
        "the schema is called `parameters`, as one provider does",
        "schema_under_wrong_name",
        4,
        Edit(TRANSLATE, SCHEMA, '        "parameters": tool["inputSchema"],\n'),
    ),
    wrong(
        "defs-trimmed",
        "`$defs` is left out of a copy of the schema",
        "schema_changed",
        4,
        Edit(
            TRANSLATE,
            SCHEMA,
            '        "input_schema": {key: value for key, value in tool["inputSchema"].items() if key != "$defs"},\n',
        ),
    ),
    wrong(
        "properties-only",
        "only the properties are handed on",
        "schema_changed",
        4,
        Edit(TRANSLATE, SCHEMA, '        "input_schema": tool["inputSchema"].get("properties", {}),\n'),
    ),
    wrong(
        "schema-made-strict",
        "`additionalProperties: false` and all properties required",
        "schema_added_to",
        4,
        Edit(TRANSLATE, SCHEMA, '        "input_schema": {**tool["inputSchema"], "additionalProperties": False},\n'),
    ),
    wrong(
        "description-demanded",
        "every tool is thought to have a description",
        "optional_field_demanded",
        4,
        Edit(TRANSLATE, 'tool.get("description") or tool.get("title") or tool["name"]', 'tool["description"]'),
    ),
    wrong(
        "schema-as-text",
        "the schema is handed on as JSON text",
        "schema_changed",
        4,
        Edit(TRANSLATE, SCHEMA, '        "input_schema": str(tool["inputSchema"]),\n'),
    ),
    wrong(
        "defs-popped",
        "`$defs` is popped out of the server's own schema",
        "definition_changed",
        4,
        Edit(TRANSLATE, SHOWN, '    tool["inputSchema"].pop("$defs", None)\n' + SHOWN),
    ),
    wrong(
        "definition-renamed-in-place",
        "`inputSchema` is renamed inside the definition",
        "definition_changed",
        4,
        Edit(TRANSLATE, SCHEMA, '        "input_schema": tool.setdefault("input_schema", tool["inputSchema"]),\n'),
    ),
    wrong(
        "all-of-the-definition",
        "the whole definition is handed on, annotations and all",
        "more_than_the_model_takes",
        4,
        Edit(
            TRANSLATE,
            SHOWN,
            '    return {\n        **{key: value for key, value in tool.items() if key != "inputSchema"},\n',
        ),
    ),
    wrong(
        "output-schema-leaked",
        "the output schema is handed on as well",
        "more_than_the_model_takes",
        4,
        Edit(TRANSLATE, SCHEMA, SCHEMA + '        "output_schema": tool.get("outputSchema"),\n'),
    ),
    wrong(
        "no-source",
        "the description as the server wrote it",
        "no_source_in_description",
        4,
        Edit(TRANSLATE, DESCRIPTION, '        "description": description,\n'),
    ),
    wrong(
        "description-replaced",
        "the name and the server in place of the description",
        "description_replaced",
        4,
        Edit(TRANSLATE, DESCRIPTION, '        "description": f"{tool[\'name\']} of {alias}",\n'),
    ),
    wrong(
        "title-for-description",
        "the title in place of the description",
        "description_replaced",
        4,
        Edit(TRANSLATE, 'tool.get("description") or tool.get("title")', 'tool.get("title") or tool.get("description")'),
    ),
    wrong(
        "description-cut",
        "the description is cut after 20 characters",
        "description_replaced",
        4,
        Edit(TRANSLATE, DESCRIPTION, '        "description": f"[from {alias}] {description[:20]}",\n'),
    ),
]

# 5 two tools with one name

KNOWN = "        entry = self.entries.get(model_name)\n"
TO_SERVER = "            return await self._clients[entry.alias].request(\n"
CALL = '                "tools/call", {"name": entry.tool_name, "arguments": arguments}\n'
SENDING = TO_SERVER + CALL + "            )\n"
NAMED = '        "name": model_tool_name(alias, tool["name"]),\n'


def called(expression: str) -> Edit:
    """The server is told this name."""
    return Edit(REGISTRY, CALL, CALL.replace("entry.tool_name", expression))


CHECK_5 = [
    Program("todo-3-undone", "TODO 3 as in the starter", (), {5: "names_not_prefixed", 6: "names_unchanged"}, (3,)),
    wrong(
        "prefix-without-alias",
        "`mcp__` before every name, and no alias",
        "alias_not_in_name",
        (5, 6),
        Edit(
            TRANSLATE, '    plain = f"mcp__{alias}__{tool_name}"\n', '    plain = f"mcp__{tool_name}"\n    alias = ""\n'
        ),
    ),
    Program(
        "prefix-from-server-info",
        "the prefix is what the server calls itself",
        (
            Edit(
                REGISTRY,
                "            await discover(client)\n",
                '            info = (await discover(client))["_meta"]\n'
                '            called = {alias: info["io.modelcontextprotocol/serverInfo"]["name"]}\n'
                '            self._called = getattr(self, "_called", {}) | called\n',
            ),
            Edit(
                REGISTRY,
                "                model_tool = to_model_tool(alias, definition)\n",
                "                model_tool = to_model_tool(self._called[alias], definition)\n",
            ),
        ),
        {4: "no_source_in_description", **dict.fromkeys((5, 7, 8), "prefix_from_server_name")},
    ),
    wrong(
        "listed-without-prefix",
        "the table shows the server's names, `call` expects the others",
        "listed_under_other_name",
        (5, 6, 7, 8, 9),
        Edit(TRANSLATE, NAMED, '        "name": tool["name"],\n'),
    ),
    wrong(
        "model-name-on-the-wire",
        "the server is sent the name that the model knows",
        "model_name_on_the_wire",
        (5, 6, 7, 8, 9),
        called("model_name"),
    ),
    wrong(
        "split-at-double-underscore",
        "server and tool are found by splitting the name at `__`",
        "name_taken_apart",
        (5, 6),
        Edit(
            REGISTRY,
            SENDING,
            '            _, alias, tool = model_name.split("__", 2)\n'
            "            if alias not in self._clients:\n"
            '                return error_result(f"no server {alias}")\n'
            '            params = {"name": tool, "arguments": arguments}\n'
            '            return await self._clients[alias].request("tools/call", params)\n',
        ),
    ),
    wrong(
        "split-at-the-last-double-underscore",
        "the tool is what follows the last `__`",
        "name_taken_apart",
        (5, 6),
        called('model_name.rpartition("__")[2]'),
    ),
    wrong(
        "split-at-underscore",
        "the name is split at `_`",
        "name_taken_apart",
        (5, 6, 7, 9),
        called('model_name.split("_")[-1]'),
    ),
    wrong(
        "prefix-cut-off",
        "the prefix of the alias is cut off the name",
        "name_taken_apart",
        (5, 6),
        called('model_name.removeprefix(f"mcp__{entry.alias}__")'),
    ),
    wrong(
        "second-search-skipped",
        "a tool whose name is known from another server is left out",
        "same_name_left_out",
        5,
        Edit(
            REGISTRY,
            "                if name in self.entries:\n",
            '                if definition["name"] in [one.tool_name for one in self.entries.values()]:\n',
        ),
    ),
    wrong(
        "last-registration-wins",
        "the table is kept by the tools' own names, and a later tool replaces an earlier one",
        "same_name_left_out",
        5,
        Edit(
            REGISTRY,
            "                if name in self.entries:\n",
            "                self.entries = {\n"
            '                    key: one for key, one in self.entries.items() if one.tool_name != definition["name"]\n'
            "                }\n"
            "                if name in self.entries:\n",
        ),
    ),
    wrong(
        "last-server-wins",
        "a table from tool name to server: the last one stays",
        "call_to_wrong_server",
        5,
        Edit(
            REGISTRY,
            TO_SERVER,
            "            owner = {one.tool_name: one.alias for one in self.entries.values()}\n"
            "            return await self._clients[owner[entry.tool_name]].request(\n",
        ),
    ),
    wrong(
        "first-server-wins",
        "the first server that has a tool of that name",
        "call_to_wrong_server",
        5,
        Edit(
            REGISTRY,
            TO_SERVER,
            "            owner = {one.tool_name: one.alias for one in reversed(self.entries.values())}\n"
            "            return await self._clients[owner[entry.tool_name]].request(\n",
        ),
    ),
    wrong(
        "arguments-forgotten",
        "the tool is called with no arguments",
        "arguments_lost",
        (5, 8, 9),
        Edit(REGISTRY, CALL, CALL.replace('"arguments": arguments', '"arguments": {}')),
    ),
    wrong(
        "arguments-under-another-name",
        "the arguments are sent as `input`",
        "arguments_lost",
        (5, 8, 9),
        Edit(REGISTRY, CALL, CALL.replace('"arguments": arguments', '"input": arguments')),
    ),
    wrong(
        "arguments-tidied",
        "the arguments are tidied before they are sent",
        "arguments_lost",
        (5, 9),
        Edit(
            REGISTRY,
            CALL,
            CALL.replace(
                '"arguments": arguments',
                '"arguments": {key: str(value).title() + "." for key, value in arguments.items()}',
            ),
        ),
    ),
    wrong(
        "arguments-as-text",
        "the arguments are sent as a text of JSON",
        "arguments_not_an_object",
        (5, 7, 8, 9),
        Edit(REGISTRY, CALL, CALL.replace('"arguments": arguments', '"arguments": str(arguments)')),
    ),
    wrong(
        "results-kept",
        "the result of a tool is kept, and returned for every later call",
        "call_not_sent",
        9,
        Edit(
            REGISTRY,
            "        self.entries: dict[str, Entry] = {}",
            "        self._kept: dict[str, JSONObject] = {}\n        self.entries: dict[str, Entry] = {}",
        ),
        Edit(
            REGISTRY,
            SENDING,
            "            if model_name in self._kept:\n                return self._kept[model_name]\n"
            + SENDING.replace("return await", "self._kept[model_name] = await")
            + "            return self._kept[model_name]\n",
        ),
    ),
    wrong(
        "two-tools-listed",
        "the table is cut to a few tools",
        "tools_not_listed",
        (4, 5, 9),
        Edit(REGISTRY, " if entry.alias not in self.down]", " if entry.alias not in self.down][:2]"),
    ),
    wrong(
        "content-only",
        "`call` returns the content blocks of the result",
        "result_unwrapped",
        (5, 7, 8, 9),
        Edit(
            REGISTRY,
            SENDING,
            SENDING.replace("return await", "result = await") + '            return result["content"]\n',
        ),
    ),
    wrong(
        "text-only",
        "`call` returns the text of the result",
        "result_unwrapped",
        (5, 7, 8, 9),
        Edit(
            REGISTRY,
            SENDING,
            SENDING.replace("return await", "result = await") + '            return result["content"][0]["text"]\n',
        ),
    ),
]

# 6 names

BOTH = "    both = json.dumps([alias, tool_name])\n"
DIGEST = "    digest = hashlib.sha256(both.encode()).hexdigest()[:8]\n"
CLEAN = '    clean = re.sub(r"[^A-Za-z0-9_-]", "_", plain)[:MAX_NAME]\n'
AS_IT_IS = "    if clean == plain and shows_where_alias_ends:\n        return plain\n"

CHECK_6 = [
    wrong(
        "dots-kept",
        "nothing is replaced",
        "illegal_letters",
        6,
        Edit(TRANSLATE, CLEAN, "    clean = plain[:MAX_NAME]\n"),
    ),
    wrong(
        "letters-of-any-script",
        r"`\w`, which is any letter of any script",
        "illegal_letters",
        6,
        Edit(TRANSLATE, r"[^A-Za-z0-9_-]", r"[^\w-]"),
    ),
    wrong(
        "never-cut",
        "names of any length",
        "name_too_long",
        6,
        Edit(TRANSLATE, CLEAN, CLEAN.replace("[:MAX_NAME]", "")),
        Edit(TRANSLATE, "{clean[: MAX_NAME - 9]}", "{clean}"),
    ),
    wrong(
        "digest-not-counted",
        "cut to 64, then the digest",
        "name_too_long",
        6,
        Edit(TRANSLATE, "{clean[: MAX_NAME - 9]}", "{clean}"),
    ),
    wrong(
        "one-character-too-long",
        "the underscore is not counted",
        "name_too_long",
        6,
        Edit(TRANSLATE, "MAX_NAME - 9", "MAX_NAME - 8"),
    ),
    wrong(
        "cut-and-no-digest",
        "cut to 64, no digest",
        "cut_without_digest",
        6,
        Edit(
            TRANSLATE,
            AS_IT_IS,
            AS_IT_IS.replace("if clean == plain and", "if len(plain) > MAX_NAME or clean == plain and").replace(
                "return plain", "return clean"
            ),
        ),
    ),
    wrong(
        "digest-of-the-cut-name",
        "the digest is taken after the cut",
        "cut_without_digest",
        6,
        Edit(TRANSLATE, BOTH, "    both = clean\n"),
    ),
    wrong(
        "digest-of-the-clean-name",
        "the digest is taken after the replacing",
        "cleaned_without_digest",
        6,
        Edit(TRANSLATE, CLEAN, '    whole = re.sub(r"[^A-Za-z0-9_-]", "_", plain)\n    clean = whole[:MAX_NAME]\n'),
        Edit(TRANSLATE, BOTH, "    both = whole\n"),
    ),
    wrong(
        "digest-only-after-a-cut",
        "cleaned names get no digest",
        "cleaned_without_digest",
        6,
        Edit(
            TRANSLATE,
            AS_IT_IS,
            AS_IT_IS.replace("clean == plain and", "len(plain) <= MAX_NAME and").replace(
                "return plain", "return clean"
            ),
        ),
    ),
    wrong(
        "lower-case",
        "everything in lower case",
        "cleaned_without_digest",
        6,
        Edit(
            TRANSLATE,
            '    plain = f"mcp__{alias}__{tool_name}"\n',
            '    tool_name = tool_name.lower()\n    plain = f"mcp__{alias}__{tool_name}"\n',
        ),
    ),
    wrong(
        "digest-without-alias",
        "a digest of the tool's name alone",
        "alias_not_in_name",
        6,
        Edit(TRANSLATE, BOTH, "    both = tool_name\n"),
    ),
    wrong(
        "boundary-not-seen",
        "a clean name is never given a digest",
        "boundary_blurred",
        6,
        Edit(TRANSLATE, AS_IT_IS, AS_IT_IS.replace(" and shows_where_alias_ends", "")),
    ),
    wrong(
        "underscore-at-the-end",
        "an alias that ends in `_` is not thought of",
        "boundary_blurred",
        6,
        Edit(TRANSLATE, '"__" not in alias + "_"', '"__" not in alias'),
    ),
    wrong(
        "one-underscore",
        "alias and tool joined by `_`",
        "boundary_blurred",
        6,
        Edit(TRANSLATE, 'f"mcp__{alias}__{tool_name}"', 'f"mcp_{alias}_{tool_name}"'),
    ),
    wrong(
        "nothing-in-between",
        "alias and tool joined by nothing",
        "boundary_blurred",
        6,
        Edit(TRANSLATE, 'f"mcp__{alias}__{tool_name}"', 'f"mcp__{alias}{tool_name}"'),
    ),
    wrong(
        "hash-of-python",
        "`hash()` for the digest",
        "name_changes_between_runs",
        6,
        Edit(TRANSLATE, DIGEST, '    digest = f"{hash((alias, tool_name)) & 0xFFFFFFFF:08x}"\n'),
    ),
    wrong(
        "counted-names",
        "a number for each name that needs one",
        "name_changes_between_runs",
        6,
        Edit(TRANSLATE, DIGEST, '    digest = f"{_numbers.setdefault((alias, tool_name), len(_numbers)):08d}"\n'),
        Edit(TRANSLATE, "MAX_NAME = 64", "_numbers: dict[tuple[str, str], int] = {}\nMAX_NAME = 64"),
    ),
]

# 7 failures become results

UNKNOWN = '            return error_result(f"there is no tool named {model_name!r}{self._down_note()}")\n'
CATCH_DOWN = (
    "        except ServerDown as error:\n"
    "            self.down[entry.alias] = str(error)\n"
    '            return error_result(f"the server {entry.alias!r} is down: {error}")\n'
)
CATCH_ALL = (
    "        except McpError as error:\n"
    '            return error_result(f"the call of {model_name!r} failed: {error}")\n'
)
PASSED_ON = SENDING.replace("return await", "result = await")
CANCEL = '            await self.notify("notifications/cancelled", {"requestId": request_id})\n'
FAIL_ALL = (
    "            for waiter in self._pending.values():\n                waiter.fail(ServerDown(self._end_reason))\n"
)

CHECK_7 = [
    wrong(
        "tool-error-raised",
        "a result with `isError` is raised",
        "tool_error_raised",
        (7, 9),
        Edit(REGISTRY, SENDING, PASSED_ON),
        Edit(
            REGISTRY,
            CATCH_ALL,
            CATCH_ALL + '        if result.get("isError"):\n'
            '            raise McpError(str(result["content"]))\n'
            "        return result\n",
        ),
    ),
    wrong(
        "tool-error-dropped",
        "`call` returns content and structured content, no `isError`",
        "tool_error_dropped",
        (7, 9),
        Edit(REGISTRY, SENDING, PASSED_ON + '            return {"content": result["content"]}\n'),
    ),
    wrong(
        "is-error-in-snake-case",
        "`isError` becomes `is_error`",
        "tool_error_dropped",
        (7, 9),
        Edit(
            REGISTRY,
            SENDING,
            PASSED_ON + '            return {"content": result["content"], "is_error": result.get("isError", False)}\n',
        ),
    ),
    wrong(
        "error-text-lost",
        'a failed tool gives "the tool failed"',
        "error_text_lost",
        (7, 9),
        Edit(
            REGISTRY,
            SENDING,
            PASSED_ON + '            return error_result("the tool failed") if result.get("isError") else result\n',
        ),
    ),
    wrong(
        "unknown-tool-raised",
        "`self.entries[model_name]`",
        "unknown_tool_raised",
        (7, 8, 9),
        Edit(REGISTRY, KNOWN, "        entry = self.entries[model_name]\n"),
    ),
    wrong(
        "unknown-tool-none",
        "an unknown tool gives None",
        "unknown_tool_no_result",
        (7, 8, 9),
        Edit(REGISTRY, UNKNOWN, "            return None\n"),
    ),
    wrong(
        "unknown-tool-as-answer",
        "an unknown tool gives a text, without `isError`",
        "unknown_tool_no_result",
        (7, 8, 9),
        Edit(
            REGISTRY,
            UNKNOWN,
            '            return {"content": [{"type": "text", "text": f"there is no tool named {model_name!r}"}]}\n',
        ),
    ),
    wrong(
        "error-result-without-flag",
        "our own error results have no `isError`",
        "failures_look_like_answers",
        (7, 8, 9),
        Edit(REGISTRY, '"text": text}], "isError": True}', '"text": text}]}'),
    ),
    wrong(
        "timeout-ends-the-connection",
        "a server that is too slow is given up",
        "timeout_ends_the_connection",
        7,
        Edit(
            CLIENT,
            TIMEOUT,
            "            for other in self._pending.values():\n"
            "                other.fail(ServerDown(self._end_reason))\n"
            "            self._ended.set()\n" + TIMEOUT,
        ),
    ),
    wrong(
        "nothing-caught",
        "what `request` raises goes through",
        "failures_raised",
        (7, 9),
        Edit(REGISTRY, CATCH_DOWN + CATCH_ALL, "        finally:\n            pass\n"),
    ),
    wrong("only-death-caught", "only a dead server is caught", "timeout_raised", 7, Edit(REGISTRY, CATCH_ALL, "")),
    wrong(
        "timeout-not-caught",
        "errors and deaths are caught, timeouts are not",
        "timeout_raised",
        7,
        Edit(
            REGISTRY,
            "from protocol import JSONObject, McpError, ServerDown\n",
            "from protocol import JSONObject, McpError, RpcError, ServerDown\n",
        ),
        Edit(REGISTRY, CATCH_ALL, CATCH_ALL.replace("McpError", "RpcError")),
    ),
    wrong(
        "rpc-error-not-caught",
        "timeouts and deaths are caught, errors are not",
        "rpc_error_raised",
        7,
        Edit(
            REGISTRY,
            "from protocol import JSONObject, McpError, ServerDown\n",
            "from protocol import JSONObject, McpError, RequestTimeout, ServerDown\n",
        ),
        Edit(REGISTRY, CATCH_ALL, CATCH_ALL.replace("McpError", "RequestTimeout")),
    ),
    wrong(
        "failure-as-answer",
        "the text of any failure is returned as an answer",
        "timeout_no_result",
        7,
        Edit(
            REGISTRY,
            CATCH_ALL,
            "        except McpError as error:\n"
            '            return {"content": [{"type": "text", "text": str(error)}]}\n',
        ),
    ),
    wrong(
        "rpc-error-as-answer",
        "the text of an RPC error is returned as an answer",
        "rpc_error_no_result",
        7,
        Edit(
            REGISTRY,
            "from protocol import JSONObject, McpError, ServerDown\n",
            "from protocol import JSONObject, McpError, RpcError, ServerDown\n",
        ),
        Edit(
            REGISTRY,
            CATCH_ALL,
            "        except RpcError as error:\n"
            '            return {"content": [{"type": "text", "text": str(error)}]}\n' + CATCH_ALL,
        ),
    ),
    wrong(
        "death-not-caught",
        "a server that dies is raised",
        "death_raised",
        (7, 9),
        Edit(REGISTRY, CATCH_DOWN, "        except ServerDown:\n            raise\n"),
    ),
    wrong(
        "death-as-none",
        "a server that dies gives None",
        "death_no_result",
        (7, 9),
        Edit(REGISTRY, CATCH_DOWN, "        except ServerDown:\n            return None\n"),
    ),
    wrong(
        "dead-server-forgotten",
        "a call of a dead server's tool is a KeyError",
        "dead_call_raised",
        7,
        Edit(
            REGISTRY,
            CATCH_DOWN,
            CATCH_DOWN.replace(
                "            return",
                "            del self.entries[model_name], self._clients[entry.alias]\n            return",
            ),
        ),
        Edit(
            REGISTRY,
            UNKNOWN,
            '            if not self.entries.keys() - {model_name} or model_name.startswith("mcp__dying"):\n'
            "                raise KeyError(model_name)\n" + UNKNOWN,
        ),
    ),
    wrong(
        "dead-server-empty-error",
        "an error result without a text",
        "dead_call_no_result",
        7,
        Edit(
            REGISTRY,
            '            return error_result(f"the server {entry.alias!r} is down: {self.down[entry.alias]}")\n',
            '            return {"content": [], "isError": True}\n',
        ),
    ),
    wrong(
        "dead-server-offered",
        "the table shows the tools of dead servers, too",
        "down_server_listed",
        (7, 9),
        Edit(REGISTRY, " if entry.alias not in self.down]", "]"),
    ),
    wrong(
        "death-not-noted",
        "a server that dies is not noted as down",
        "down_server_listed",
        (7, 9),
        Edit(REGISTRY, CATCH_DOWN, ""),
    ),
    wrong(
        "no-deadline",
        "requests wait without an end",
        "no_deadline",
        (7, 8),
        Edit(CLIENT, DEADLINE, "            with anyio.move_on_after(None):\n"),
    ),
    wrong(
        "own-deadline-only",
        "always thirty seconds, whatever the client or the caller says",
        "no_deadline",
        (7, 8),
        Edit(
            CLIENT,
            "        seconds = self.timeout if timeout is None else timeout\n",
            "        seconds = REQUEST_SECONDS\n",
        ),
    ),
    wrong(
        "callers-deadline-ignored",
        "always the client's deadline, whatever the caller says",
        "own_deadline_ignored",
        7,
        Edit(
            CLIENT,
            "        seconds = self.timeout if timeout is None else timeout\n",
            "        seconds = self.timeout\n",
        ),
    ),
    wrong(
        "timeout-not-told",
        "no `notifications/cancelled`",
        "server_not_told",
        7,
        Edit(CLIENT, CANCEL, "            pass\n"),
    ),
    wrong(
        "timeout-told-as-text",
        "the id in `notifications/cancelled` is a text",
        "server_not_told",
        7,
        Edit(CLIENT, '"requestId": request_id', '"requestId": str(request_id)'),
    ),
    wrong(
        "timeout-retried",
        "a request that timed out is sent once more",
        "sent_again",
        7,
        Edit(
            CLIENT,
            TIMEOUT,
            '            if "again" not in self.meta:\n'
            '                self.meta = {**self.meta, "again": True}\n'
            "                return await self.request(method, params, timeout=timeout)\n" + TIMEOUT,
        ),
    ),
    wrong(
        "sent-again-after-a-restart",
        "a server that dies in a call is started again, and the call sent again",
        "sent_again",
        7,
        Edit(
            REGISTRY,
            CATCH_DOWN,
            "        except ServerDown:\n"
            "            await self.refresh([entry.alias])\n"
            '            params = {"name": entry.tool_name, "arguments": arguments}\n'
            "            try:\n"
            '                return await self._clients[entry.alias].request("tools/call", params)\n'
            "            except ServerDown as error:\n"
            "                self.down[entry.alias] = str(error)\n"
            '                return error_result(f"the server {entry.alias!r} is down: {error}")\n',
        ),
    ),
    wrong(
        "death-not-passed-on",
        "requests are left waiting when the server dies",
        "death_unnoticed",
        (7, 9),
        Edit(CLIENT, FAIL_ALL, "            self._pending.clear()\n"),
    ),
]

# 8 one server down

REFRESH_ALL = (
    "        async with anyio.create_task_group() as tasks:\n"
    "            for alias in self._clients if aliases is None else aliases:\n"
    "                tasks.start_soon(self._refresh_one, alias)\n"
)
NOTED = "            self.down[alias] = str(error)\n"
CAUGHT = "        except McpError as error:\n" + NOTED

CHECK_8 = [
    Program("todo-4-undone", "TODO 4 as in the starter", (), {8: "refresh_raised"}, (4,)),
    wrong(
        "only-server-down-caught",
        "a server that does not start is caught, a silent one is not",
        "timeout_not_caught",
        8,
        Edit(REGISTRY, CAUGHT, CAUGHT.replace("McpError", "ServerDown")),
    ),
    wrong(
        "os-error-caught",
        "`except OSError`, which is what starting a program raises",
        "refresh_raised",
        8,
        Edit(REGISTRY, CAUGHT, CAUGHT.replace("McpError", "OSError")),
    ),
    wrong(
        "start-outside-the-try",
        "`start` stands before the `try`",
        "refresh_raised",
        8,
        Edit(
            REGISTRY, "        try:\n            await client.start()\n", "        await client.start()\n        try:\n"
        ),
    ),
    wrong(
        "caught-around-all",
        "one `try` around the loop over all servers",
        "first_failure_ends_all",
        8,
        Edit(REGISTRY, CAUGHT, "        finally:\n            pass\n"),
        Edit(
            REGISTRY,
            REFRESH_ALL,
            '        alias = ""\n'
            "        try:\n"
            "            for alias in self._clients if aliases is None else aliases:\n"
            "                await self._refresh_one(alias)\n"
            "        except McpError as error:\n"
            "            self.down[alias] = str(error)\n",
        ),
    ),
    wrong(
        "caught-around-the-group",
        "the exception of the whole task group is caught",
        "first_failure_ends_all",
        8,
        Edit(REGISTRY, CAUGHT, "        finally:\n            pass\n"),
        Edit(
            REGISTRY,
            REFRESH_ALL,
            "        try:\n"
            "            async with anyio.create_task_group() as tasks:\n"
            "                for alias in self._clients if aliases is None else aliases:\n"
            "                    tasks.start_soon(self._refresh_one, alias)\n"
            "        except* McpError as group:\n"
            "            self.down[next(iter(self._clients))] = str(group.exceptions[0])\n",
        ),
    ),
    wrong(
        "tried-for-ever",
        "a server that fails is tried again until it works",
        "refresh_tries_again",
        8,
        Edit(
            REGISTRY,
            CAUGHT,
            CAUGHT + "            await anyio.sleep(0.1)\n            await self._refresh_one(alias)\n",
        ),
    ),
    wrong(
        "failure-passed-over",
        "`except McpError: pass`",
        "not_in_down",
        8,
        Edit(REGISTRY, CAUGHT, "        except McpError:\n            pass\n"),
    ),
    wrong(
        "failure-logged-only",
        "the failure goes to the log only",
        "not_in_down",
        8,
        Edit(REGISTRY, NOTED, '            log.warning("%s: %s", alias, error)\n'),
    ),
    wrong(
        "silence-not-noted",
        "a timeout is not noted",
        "not_in_down",
        8,
        Edit(
            REGISTRY, CAUGHT, CAUGHT.replace("McpError", "ServerDown") + "        except McpError:\n            pass\n"
        ),
    ),
    wrong(
        "down-without-reason",
        "an empty reason",
        "down_without_reason",
        8,
        Edit(REGISTRY, NOTED, '            self.down[alias] = ""\n'),
    ),
    wrong(
        "down-is-true",
        "`down[alias] = True`",
        "down_without_reason",
        8,
        Edit(REGISTRY, NOTED, "            self.down[alias] = True\n"),
    ),
    wrong(
        "one-reason-for-all",
        "the same words for every failure",
        "down_without_reason",
        8,
        Edit(REGISTRY, NOTED, '            self.down[alias] = "the server cannot be used"\n'),
    ),
    wrong(
        "one-down-all-down",
        "one failure marks every server",
        "healthy_server_down",
        8,
        Edit(REGISTRY, NOTED, "            self.down |= dict.fromkeys(self._clients, str(error))\n"),
    ),
    wrong(
        "tools-cleared",
        "one failure clears the tools of all",
        "healthy_server_lost",
        8,
        Edit(REGISTRY, NOTED, NOTED + "            self._tools.clear()\n"),
    ),
    wrong(
        "placeholder-listed",
        "a down server is offered with a placeholder tool",
        "down_server_listed",
        (7, 8, 9),
        Edit(
            REGISTRY, NOTED, NOTED + '            self._tools[alias] = [{"name": "unavailable", "inputSchema": {}}]\n'
        ),
        Edit(REGISTRY, " if entry.alias not in self.down]", "]"),
    ),
    wrong(
        "down-call-raised",
        "a call of a tool that is not listed is raised while servers are down",
        "down_call_no_error_result",
        8,
        Edit(REGISTRY, UNKNOWN, "            if self.down:\n                raise ServerDown(model_name)\n" + UNKNOWN),
    ),
    wrong(
        "one-after-the-other",
        "each server is waited for before the next is started",
        "waited_in_sequence",
        8,
        Edit(
            REGISTRY,
            REFRESH_ALL,
            "        for alias in self._clients if aliases is None else aliases:\n"
            "            await self._refresh_one(alias)\n",
        ),
    ),
    wrong(
        "left-running",
        "`close` forgets the process",
        "server_left_running",
        8,
        Rewrite(CLIENT, "StdioClient.close", "async def close(self) -> None:\n    pass\n"),
    ),
]

# 9 the agent loop

STEPS = "    for step in range(1, max_steps + 1):\n"
REPLY = "        message = await model.reply(messages, registry.model_tools())\n"
KEEP = "        messages.append(message)\n"
NO_CALLS = "        if not calls:\n"
EACH = "        for call in calls:\n            messages.append(tool_message(call, await run_call(call, registry)))\n"
LIMIT = "    return Transcript(messages, max_steps, None)\n"
BAD = "    if not isinstance(arguments, dict):\n"

CHECK_9 = [
    wrong(
        "question-lost",
        "the model is asked nothing",
        "question_lost",
        9,
        Edit(LOOP, '[{"role": "user", "content": question}]', '[{"role": "user", "content": ""}]'),
    ),
    wrong(
        "tools-offered-once",
        "the tools are shown with the first question only",
        "tools_not_offered",
        9,
        Edit(LOOP, REPLY, REPLY.replace("registry.model_tools()", "registry.model_tools() if step == 1 else []")),
    ),
    wrong(
        "no-tools-offered",
        "the model is given no tools",
        "tools_not_offered",
        9,
        Edit(LOOP, REPLY, REPLY.replace("registry.model_tools()", "[]")),
    ),
    wrong(
        "history-not-shown",
        "the model is shown the question only",
        "history_not_shown",
        9,
        Edit(LOOP, REPLY, REPLY.replace("messages,", "messages[:1],")),
    ),
    wrong(
        "model-message-not-kept",
        "the model's own message is not kept",
        "results_without_their_calls",
        9,
        Edit(LOOP, KEEP, ""),
    ),
    wrong(
        "model-message-after-the-results",
        "the model's own message is kept when its calls have been run",
        "results_without_their_calls",
        9,
        Edit(LOOP, KEEP, ""),
        Edit(LOOP, NO_CALLS, "        if not calls:\n            messages.append(message)\n        if not calls:\n"),
        Edit(LOOP, EACH, EACH + KEEP),
    ),
    wrong(
        "no-call-id",
        "results without the id of their call",
        "results_without_their_calls",
        9,
        Edit(LOOP, '        "tool_call_id": call["id"],\n', ""),
    ),
    wrong(
        "results-as-user-messages",
        "the results are given as if the user had said them",
        "call_without_result",
        9,
        Edit(LOOP, '        "role": "tool",\n', '        "role": "user",\n'),
    ),
    wrong(
        "text-is-the-answer",
        "a message with a text is the answer",
        "text_taken_for_answer",
        9,
        Edit(LOOP, NO_CALLS, '        if message["content"]:\n'),
    ),
    wrong(
        "failure-ends-the-turn",
        "the loop ends when a call has failed",
        "stopped_early",
        9,
        Edit(
            LOOP,
            EACH,
            EACH + '        if messages[-1]["is_error"] or messages[-2].get("is_error"):\n'
            '            return Transcript(messages, step, messages[-1]["content"])\n',
        ),
    ),
    wrong(
        "answer-not-returned",
        "the transcript holds no answer",
        "no_answer",
        9,
        Edit(
            LOOP,
            '            return Transcript(messages, step, message["content"])\n',
            "            return Transcript(messages, step, None)\n",
        ),
    ),
    wrong(
        "message-for-answer",
        "the whole message is returned as the answer",
        "no_answer",
        9,
        Edit(LOOP, 'step, message["content"])', "step, message)"),
    ),
    wrong(
        "first-call-only",
        "only the first call of a message is run",
        "call_without_result",
        9,
        Edit(LOOP, EACH, EACH.replace("in calls", "in calls[:1]")),
    ),
    wrong(
        "failed-calls-left-out",
        "a failed call leaves no result",
        "call_without_result",
        9,
        Edit(
            LOOP,
            EACH,
            "        for call in calls:\n"
            "            result = await run_call(call, registry)\n"
            '            if not result.get("isError"):\n'
            "                messages.append(tool_message(call, result))\n",
        ),
    ),
    wrong(
        "results-in-one-message",
        "the results of all calls in one message",
        "call_without_result",
        9,
        Edit(
            LOOP,
            EACH,
            "        told = [tool_message(call, await run_call(call, registry)) for call in calls]\n"
            '        messages.append({**told[0], "content": "\\n".join(one["content"] for one in told)})\n',
        ),
    ),
    wrong(
        "results-backwards",
        "the calls are run from the last to the first",
        "results_out_of_order",
        9,
        Edit(LOOP, EACH, EACH.replace("in calls", "in reversed(calls)")),
    ),
    wrong(
        "results-as-they-come",
        "calls run at once, each result is added when it comes",
        "results_out_of_order",
        9,
        Edit(LOOP, "import json\n", "import json\n\nimport anyio\n"),
        Edit(
            LOOP,
            EACH,
            "        async def add(call: JSONObject) -> None:\n"
            "            messages.append(tool_message(call, await run_call(call, registry)))\n"
            "\n"
            "        async with anyio.create_task_group() as tasks:\n"
            "            for call in calls:\n"
            "                tasks.start_soon(add, call)\n",
        ),
    ),
    wrong(
        "result-cut",
        "the model is shown 20 characters of a result",
        "result_lost",
        9,
        Edit(LOOP, "MAX_RESULT_CHARACTERS = 50_000", "MAX_RESULT_CHARACTERS = 20"),
    ),
    wrong(
        "result-not-shown",
        "the model is told only that the call is done",
        "result_lost",
        9,
        Edit(LOOP, '        "content": result_text(result),\n', '        "content": "done",\n'),
    ),
    wrong(
        "is-error-forgotten",
        "every call looks like a success",
        "error_result_lost",
        9,
        Edit(LOOP, 'result.get("isError") is True', "False"),
    ),
    wrong(
        "is-error-from-snake-case",
        "the loop looks for `is_error` in the result",
        "error_result_lost",
        9,
        Edit(LOOP, 'result.get("isError") is True', 'result.get("is_error") is True'),
    ),
    wrong(
        "bad-arguments-sent",
        "arguments that are no object are sent to the tool",
        "bad_arguments_sent",
        9,
        Edit(LOOP, BAD, "    if False:\n"),
    ),
    wrong(
        "bad-arguments-raised",
        "arguments that are a text are read as JSON",
        "bad_arguments_raised",
        9,
        Edit(
            LOOP,
            BAD,
            "    arguments = json.loads(arguments) if isinstance(arguments, str) else arguments\n" + BAD,
        ),
    ),
    wrong(
        "no-step-limit",
        "`while True`",
        "no_step_limit",
        9,
        Edit(LOOP, STEPS, "    step = 0\n    while True:\n        step += 1\n"),
    ),
    wrong(
        "limit-of-our-own",
        "always ten steps, whatever the caller says",
        "no_step_limit",
        9,
        Edit(LOOP, STEPS, STEPS.replace("max_steps", "MAX_STEPS")),
    ),
    wrong(
        "one-step-too-many",
        "`range(max_steps + 1)`",
        "step_limit_off_by_one",
        9,
        Edit(LOOP, STEPS, "    for step in range(max_steps + 1):\n"),
    ),
    wrong(
        "one-step-too-few",
        "`range(1, max_steps)`",
        "step_limit_off_by_one",
        9,
        Edit(LOOP, STEPS, "    for step in range(1, max_steps):\n"),
    ),
    wrong(
        "limit-raised",
        "the step limit is an exception",
        "step_limit_raised",
        9,
        Edit(LOOP, LIMIT, '    raise RuntimeError("step limit")\n'),
    ),
    wrong(
        "last-text-for-answer",
        "at the limit the last text is the answer",
        "limit_taken_for_answer",
        9,
        Edit(LOOP, LIMIT, '    return Transcript(messages, max_steps, message["content"])\n'),
    ),
]

# Written by somebody who had seen neither the checks nor the programs above: what these miss, others miss too

FRESH_EYES = [
    wrong(
        "meta-only-if-no-params",
        "`_meta` only where there are no other parameters",
        "meta_lost_with_params",
        (1, 2, 3, 5, 7, 8, 9),
        Edit(CLIENT, PARAMS, '        params = params or {"_meta": self.meta}\n'),
    ),
    wrong(
        "pending-on-the-class",
        "the table of waiters belongs to the class",
        "clients_share_something",
        (3, 5, 8, 9),
        Edit(
            CLIENT,
            "    def __init__(\n",
            "    _pending: dict[int, Waiter] = {}  # request id -> its waiter\n"
            "\n"
            "    def __init__(\n",
        ),
        Edit(CLIENT, "        self._pending: dict[int, Waiter] = {}  # request id -> its waiter\n", ""),
    ),
    wrong(
        "from-wire-whole-message",
        "the whole message is taken for its `error`",
        "error_not_taken_out",
        2,
        Edit(CLIENT, 'waiter.fail(RpcError.from_wire(message["error"]))', "waiter.fail(RpcError.from_wire(message))"),
    ),
    wrong(
        "error-fails-everyone",
        "an error wakes all that wait",
        "error_for_all",
        2,
        Edit(
            CLIENT,
            '            waiter.fail(RpcError.from_wire(message["error"]))',
            '            error = RpcError.from_wire(message["error"])\n'
            "            for other in [waiter, *self._pending.values()]:\n"
            "                other.fail(error)",
        ),
    ),
    wrong(
        "circle-break-before-adding",
        "the page that closes the circle is thrown away",
        "circle_page_dropped",
        3,
        Edit(
            TRANSLATE,
            "    while cursor is not None and cursor not in sent and len(sent) < MAX_PAGES:\n"
            "        sent.add(cursor)\n"
            '        result = await client.request("tools/list", {"cursor": cursor})\n'
            "        page, cursor = read_page(result)\n",
            "    while cursor is not None and len(sent) < MAX_PAGES:\n"
            "        sent.add(cursor)\n"
            '        result = await client.request("tools/list", {"cursor": cursor})\n'
            "        page, cursor = read_page(result)\n"
            "        if cursor in sent:\n"
            "            break\n",
        ),
    ),
    wrong(
        "mutable-default-sent",
        "the set of cursors is a default argument",
        "memory_of_cursors_shared",
        3,
        Edit(
            TRANSLATE,
            "async def list_all_tools(client: StdioClient) -> list[JSONObject]:",
            "async def list_all_tools(client: StdioClient, sent: set[str] = set()) -> list[JSONObject]:",
        ),
        Edit(TRANSLATE, "    sent: set[str] = set()\n", ""),
    ),
    wrong(
        "schema-setdefault",
        "`properties` is put into a schema that has none",
        "definition_changed",
        4,
        Edit(
            TRANSLATE,
            "    return {",
            '    tool["inputSchema"].setdefault("properties", {})  # OpenAI refuses an object schema without\n'
            "    return {",
        ),
    ),
    wrong(
        "first-sentence",
        "only the first sentence of a description",
        "description_replaced",
        4,
        Edit(
            TRANSLATE,
            '    description = tool.get("description") or tool.get("title") or tool["name"]\n',
            '    description = tool.get("description") or tool.get("title") or tool["name"]\n'
            '    description = description.split(". ")[0].rstrip(".") + "."  # short: every token costs\n',
        ),
    ),
    wrong(
        "lstrip-prefix",
        "the prefix is stripped as if it were letters",
        "name_taken_apart",
        (5, 6, 7, 8, 9),
        Edit(
            REGISTRY,
            '                "tools/call", {"name": entry.tool_name, "arguments": arguments}',
            '                "tools/call", {"name": model_name.lstrip(f"mcp__{entry.alias}__"), '
            '"arguments": arguments}',
        ),
    ),
    wrong(
        "backslash-w",
        "`\\w` for what is legal, which takes Chinese letters too",
        "illegal_letters",
        6,
        Edit(TRANSLATE, 're.sub(r"[^A-Za-z0-9_-]", "_", plain)', 're.sub(r"[^\\w-]", "_", plain)'),
    ),
    wrong(
        "all-small-letters",
        "all names in small letters",
        "cleaned_without_digest",
        6,
        Edit(
            TRANSLATE,
            '    clean = re.sub(r"[^A-Za-z0-9_-]", "_", plain)[:MAX_NAME]\n',
            "    plain = plain.lower()\n"
            '    clean = re.sub(r"[^a-z0-9_-]", "_", plain)[:MAX_NAME]\n',
        ),
    ),
    wrong(
        "iserror-string",
        '`isError` is the text "true"',
        "is_error_is_a_text",
        (7, 8, 9),
        Edit(REGISTRY, '"isError": True}', '"isError": "true"}'),
    ),
    wrong(
        "forget-broken-client",
        "the client of a server that is down is thrown away",
        "server_never_back",
        8,
        Edit(
            REGISTRY,
            "            self.down[alias] = str(error)\n",
            "            self.down[alias] = str(error)\n"
            "            self._clients.pop(alias)  # it does not work anyway\n",
        ),
    ),
    wrong(
        "results-by-tool-name",
        "the results of a step are kept by the name of the tool",
        "result_of_another_call",
        9,
        Edit(
            LOOP,
            "        for call in calls:\n"
            "            messages.append(tool_message(call, await run_call(call, registry)))\n",
            '        results = {call["name"]: await run_call(call, registry) for call in calls}\n'
            "        for call in calls:\n"
            '            messages.append(tool_message(call, results[call["name"]]))\n',
        ),
    ),
    wrong(
        "any-text-is-the-answer",
        "a text is the answer, whatever else is in the message",
        "text_taken_for_answer",
        9,
        Edit(LOOP, "        if not calls:\n", '        if message["content"] or not calls:\n'),
    ),
    wrong(
        "tools-asked-once",
        "the tools are asked for once, before the first step",
        "tools_asked_once",
        9,
        Edit(
            LOOP,
            "    for step in range(1, max_steps + 1):\n"
            "        message = await model.reply(messages, registry.model_tools())\n",
            "    tools = registry.model_tools()\n"
            "    for step in range(1, max_steps + 1):\n"
            "        message = await model.reply(messages, tools)\n",
        ),
    ),
    wrong(
        "lock-around-request",
        "a lock around sending and waiting",
        "one_request_at_a_time",
        (1, 2, 7),
        Edit(
            CLIENT,
            "        self._reading = anyio.CancelScope()  # around all",
            "        self._asking = anyio.Lock()  # one request at a time\n"
            "        self._reading = anyio.CancelScope()  # around all",
        ),
        Edit(
            CLIENT,
            "                await self._send(message, waiter)\n"
            "                return complete_result(await waiter.answer())\n",
            "                async with self._asking:\n"
            "                    await self._send(message, waiter)\n"
            "                    return complete_result(await waiter.answer())\n",
        ),
    ),
    wrong(
        "decode-each-chunk",
        "each chunk is decoded by itself, what is broken is ignored",
        "character_cut_in_two",
        1,
        Edit(
            CLIENT,
            "        line: list[bytes] = []  # the pieces of the line that has not ended yet\n",
            "        line: list[str] = []  # the pieces of the line that has not ended yet\n",
        ),
        Edit(
            CLIENT,
            '                *ends, rest = chunk.split(b"\\n")\n'
            "                for end in ends:\n"
            '                    self._on_line(b"".join([*line, end]))\n',
            '                *ends, rest = chunk.decode("utf-8", "ignore").split("\\n")\n'
            "                for end in ends:\n"
            '                    self._on_line("".join([*line, end]).encode())\n',
        ),
    ),
    wrong(
        "removeprefix",
        "the tool's name is the model's without its prefix",
        "name_taken_apart",
        (5, 6),
        Edit(
            REGISTRY,
            '                "tools/call", {"name": entry.tool_name, "arguments": arguments}',
            '                "tools/call",\n'
            '                {"name": model_name.removeprefix(f"mcp__{entry.alias}__"), "arguments": arguments},',
        ),
    ),
    wrong(
        "two-digit-digest",
        "a digest of two digits",
        "digest_too_short",
        6,
        Edit(
            TRANSLATE,
            "    digest = hashlib.sha256(both.encode()).hexdigest()[:8]\n"
            '    return f"{clean[: MAX_NAME - 9]}_{digest}"\n',
            "    digest = hashlib.sha256(both.encode()).hexdigest()[:2]\n"
            '    return f"{clean[: MAX_NAME - 3]}_{digest}"\n',
        ),
    ),
    wrong(
        "down-holds-exception",
        "`down` holds the exception itself",
        "reason_is_no_text",
        8,
        Edit(
            REGISTRY,
            "            self.down[alias] = str(error)\n",
            "            self.down[alias] = error  # the exception says it all\n",
        ),
    ),
    wrong(
        "cache-repeated-calls",
        "a call that was made before is answered from memory",
        "repeated_call_not_sent",
        9,
        Edit(
            LOOP,
            "    for step in range(1, max_steps + 1):\n",
            "    done: dict[str, JSONObject] = {}  # a model often asks the same thing twice\n"
            "    for step in range(1, max_steps + 1):\n",
        ),
        Edit(
            LOOP,
            "            messages.append(tool_message(call, await run_call(call, registry)))\n",
            '            key = f"{call[\'name\']} {call.get(\'arguments\')}"\n'
            "            if key not in done:\n"
            "                done[key] = await run_call(call, registry)\n"
            "            messages.append(tool_message(call, done[key]))\n",
        ),
    ),
    wrong(
        "timeout-as-empty-discover",
        "Python's TimeoutError is caught, not ours",
        "timeout_not_caught",
        8,
        Edit(
            REGISTRY,
            "        except McpError as error:\n"
            "            self.down[alias] = str(error)\n",
            "        except (ServerDown, TimeoutError) as error:\n"
            "            self.down[alias] = str(error)\n",
        ),
    ),
    wrong(
        "merged-excepts",
        "every failure of a call marks the server as down",
        "failed_call_marks_down",
        7,
        Edit(
            REGISTRY,
            "        except ServerDown as error:\n"
            "            self.down[entry.alias] = str(error)\n"
            '            return error_result(f"the server {entry.alias!r} is down: {error}")\n'
            "        except McpError as error:\n",
            "        except McpError as error:\n"
            "            self.down[entry.alias] = str(error)\n",
        ),
    ),
    wrong(
        "one-more-for-the-answer",
        "one more question at the limit, for an answer",
        "step_limit_off_by_one",
        9,
        Edit(
            LOOP,
            "    return Transcript(messages, max_steps, None)\n",
            '    messages.append({"role": "user", "content": "Answer now, with what you have."})\n'
            "    last = await model.reply(messages, [])\n"
            "    messages.append(last)\n"
            '    return Transcript(messages, max_steps, last.get("content") or None)\n',
        ),
    ),
    wrong(
        "drop-falsy-arguments",
        "arguments that are false are left out",
        "falsy_arguments_dropped",
        9,
        Edit(
            LOOP,
            '    return await registry.call(call["name"], arguments)\n',
            '    given = {key: value for key, value in arguments.items() if value}  # models fill in "" and null\n'
            '    return await registry.call(call["name"], given)\n',
        ),
    ),
    wrong(
        "splitlines-of-text",
        "an incremental decoder, and `splitlines`",
        "line_cut_at_other_characters",
        1,
        Edit(
            CLIENT,
            "        line: list[bytes] = []  # the pieces of the line that has not ended yet\n",
            '        text = codecs.getincrementaldecoder("utf-8")("replace")\n'
            "        line: list[str] = []  # the pieces of the line that has not ended yet\n",
        ),
        Edit(
            CLIENT,
            '                *ends, rest = chunk.split(b"\\n")\n'
            "                for end in ends:\n"
            '                    self._on_line(b"".join([*line, end]))\n',
            '                *ends, rest = (text.decode(chunk) + "|").splitlines()\n'
            "                rest = rest[:-1]\n"
            "                for end in ends:\n"
            '                    self._on_line("".join([*line, end]).encode())\n',
        ),
        Edit(
            CLIENT,
            "import itertools\n",
            "import codecs\n"
            "import itertools\n",
        ),
    ),
    wrong(
        "reworded-tool-error",
        "a tool's own error is put into other words",
        "error_text_lost",
        (7, 9),
        Edit(
            REGISTRY,
            "            return await self._clients[entry.alias].request(\n"
            '                "tools/call", {"name": entry.tool_name, "arguments": arguments}\n'
            "            )\n",
            "            result = await self._clients[entry.alias].request(\n"
            '                "tools/call", {"name": entry.tool_name, "arguments": arguments}\n'
            "            )\n"
            '            if result.get("isError"):\n'
            '                return error_result(f"the tool {entry.tool_name!r} failed")\n'
            "            return result\n",
        ),
    ),
    wrong(
        "empty-page-is-an-error",
        "a page without tools is refused",
        "empty_page_refused",
        3,
        Edit(
            TRANSLATE,
            "    if not isinstance(tools, list) or not isinstance(cursor, str | None):\n",
            "    if not tools or not isinstance(tools, list) or not isinstance(cursor, str | None):\n",
        ),
    ),
    wrong(
        "rebuild-without-clearing",
        "the table is filled again and never emptied",
        "old_tools_listed",
        8,
        Edit(REGISTRY, "        self.entries = {}\n", ""),
    ),
    wrong(
        "down-never-cleared",
        "the reason in `down` is never removed",
        "down_never_cleared",
        8,
        Edit(REGISTRY, "        self.down.pop(alias, None)\n", ""),
    ),
    wrong(
        "shared-error-dict",
        "all error results share one list",
        "error_results_shared",
        7,
        Edit(
            REGISTRY,
            "def error_result(text: str) -> JSONObject:\n"
            '    """A result of our own making, in the form a server gives a tool execution error."""\n'
            '    return {"content": [{"type": "text", "text": text}], "isError": True}\n',
            '_ERROR: JSONObject = {"content": [{"type": "text", "text": ""}], "isError": True}\n'
            "\n"
            "\n"
            "def error_result(text: str) -> JSONObject:\n"
            '    """A result of our own making, in the form a server gives a tool execution error."""\n'
            "    result = _ERROR.copy()\n"
            '    result["content"][0]["text"] = text\n'
            "    return result\n",
        ),
    ),
    wrong(
        "retry-on-timeout-discover",
        "tools are given five seconds at least",
        "no_deadline",
        7,
        Edit(
            CLIENT,
            "        seconds = self.timeout if timeout is None else timeout\n",
            "        seconds = timeout or self.timeout\n"
            '        if method == "tools/call":\n'
            "            seconds = max(seconds, 5.0)  # tools take longer\n",
        ),
    ),
    wrong(
        "except-exception-raise-in-reader",
        "the code without its sign",
        "error_wrong_code",
        2,
        Edit(
            CLIENT,
            '            waiter.fail(RpcError.from_wire(message["error"]))',
            '            error = message["error"]\n'
            '            waiter.fail(RpcError(abs(error["code"]), error["message"]))',
        ),
    ),
    wrong(
        "data-lost",
        "an error without its `data`",
        "error_data_lost",
        2,
        Edit(
            CLIENT,
            '            waiter.fail(RpcError.from_wire(message["error"]))',
            '            waiter.fail(RpcError(message["error"]["code"], message["error"]["message"]))',
        ),
    ),
    wrong(
        "table-by-arrival",
        "the table is filled in the order of arrival",
        "order_of_arrival",
        8,
        Edit(
            REGISTRY,
            "        for alias in self._clients:\n"
            "            for definition in self._tools.get(alias, []):\n",
            "        for alias, tools in self._tools.items():\n"
            "            for definition in tools:\n",
        ),
    ),
    wrong(
        "schema-copy-properties",
        "`properties` is added to a copy of the schema",
        "schema_added_to",
        4,
        Edit(
            TRANSLATE,
            '        "input_schema": tool["inputSchema"],\n',
            '        "input_schema": {"properties": {}, **tool["inputSchema"]},\n',
        ),
    ),
]

WRONG: list[Program] = [
    *ANY_CHECK,
    *CHECK_1,
    *CHECK_2,
    *CHECK_3,
    *CHECK_4,
    *CHECK_5,
    *CHECK_6,
    *CHECK_7,
    *CHECK_8,
    *CHECK_9,
    *FRESH_EYES,
]

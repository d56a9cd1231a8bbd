"""The loop both mock servers share: MCP over stdio, revision 2026-07-28, able to misbehave on request.

One line on stdin is one message. Only `_on_message` decides what a message means, only `_write` touches
stdout. Paging is settled before the first line is read: `page_table` maps every cursor to its finished page,
so an invalid cursor is one that is not in the table. The client shares no code with this file on purpose: an
oracle must not share bugs. In order: the loop, what a message must look like, what the flags change, how the
flags are read, how both servers search.

usage: python notes.py [flags]     (tickets.py takes the same; METHOD is a name such as tools/call)

  --journal FILE          append one JSON line per event: start, received, sent, noise, exit
  --seed TEXT             the data revision shown in every tool result (default 1)
  --server-name TEXT      the name in serverInfo
  --page-size SIZES       tools in one page of tools/list; with 2,1,3 the third size is that of all later pages
  --empty-page            the second page is empty, and is not the last
  --empty-cursor          the cursor that leads to the second page is ""
  --repeat-cursor         the last page carries a cursor that leads to the last page again, for ever
  --extra-tool NAME       one more tool, which echoes its arguments (repeatable; any name)
  --bare-tool NAME        the same, with nothing but a name and an inputSchema (repeatable)
  --rename OLD=NEW        give a tool another name (repeatable)
  --stale-tool NAME       list the tool, but answer a call of it as if there were none (repeatable)
  --list-once NAME        list the tool the first time only; after that it is gone (repeatable)
  --malformed-tool        tools/list also holds null and a tool without inputSchema
  --silent-on METHOD      read it, never answer it (repeatable; * means everything; a tool's name means its calls)
  --crash-on METHOD       exit with code 70 when it arrives (repeatable; a tool's name means its calls)
  --crash-at-start        exit with code 70 before reading anything
  --crash-until PATH      the same, as long as there is no such file
  --reverse METHOD=N      hold its answers until there are N, then write them last to first
  --delay METHOD=SECONDS  answer it that much later; meanwhile other requests are answered
  --delay-first METHOD=SECONDS  the same, for the first such request only
  --text-id METHOD        before each answer: a wrong one whose id is that number as a text (repeatable)
  --noise                 before each answer: a banner, a blank line, JSON that is no message, a notification
  --halves                write each line in two halves, the second when the first has been read
  --stderr-flood N        write N bytes to stderr before reading anything
  --grandchild SECONDS    start a child process that holds stdout open that long, even after a crash
  --help                  print this text

Exit codes: 0 when stdin ends or nobody reads stdout any more, 2 for a wrong flag, 70 for a crash on request.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from _thread import allocate_lock, start_new_thread  # importing `threading` would slow each of many starts
from binascii import b2a_base64
from types import SimpleNamespace

TYPE_CHECKING = False  # mypy reads this name as True; importing `typing`, too, would slow each start
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import IO, Any, NoReturn

    JSONObject = dict[str, Any]
    Run = Callable[[JSONObject], tuple[str, JSONObject | None]]  # arguments -> text, structuredContent

REVISION = "2026-07-28"
META = "io.modelcontextprotocol/"
VERSION, CAPABILITIES = META + "protocolVersion", META + "clientCapabilities"

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS = -32700, -32600, -32601, -32602
UNSUPPORTED_PROTOCOL_VERSION = -32022

EXIT_OK, EXIT_USAGE, EXIT_CRASH, EXIT_INTERRUPT = 0, 2, 70, 130
MAX_QUOTE = 2000  # characters of an unreadable line that the journal keeps
CACHE_HINTS = {"ttlMs": 60_000, "cacheScope": "private"}  # one process never changes its list

NOISE_LINES = ("mock server ready", "", '{"note": "JSON, but no message"}')
LOG = {"level": "info", "data": "about to answer"}
NOISE_MESSAGE = {"jsonrpc": "2.0", "method": "notifications/message", "params": LOG}
WRONG_ANSWER = "the answer to nobody's request"
HALF_SECONDS = 0.5  # the second half of a line waits this long for the first to be read
MALFORMED_TOOLS = (None, {"name": "no_schema", "description": "A tool that forgot its inputSchema."})


class RPCError(Exception):
    """Raised when a request is to be answered with a JSON-RPC error instead of a result."""

    def __init__(self, code: int, message: str, **data: Any) -> None:
        super().__init__(message)
        self.wire: JSONObject = {"code": code, "message": message} | ({"data": data} if data else {})


class ToolError(Exception):
    """Raised by a tool for a tool execution error; its text is for the model, which may mend the call."""


class UsageError(Exception):
    """Raised when the command line is wrong; its text is the one line the user sees."""


class Tool:
    """A tool as tools/list shows it, and the function that does its work."""

    def __init__(self, shown: JSONObject, run: Run) -> None:
        self.shown = shown
        self.run = run

    def under(self, name: str) -> Tool:
        return Tool(self.shown | {"name": name}, self.run)


def serve(name: str, tools: list[Tool], instructions: str, page_size: tuple[int, ...] = ()) -> NoReturn:
    """Read the command line, then serve `tools` until stdin ends; `page_size` () means one page."""
    try:
        flags = read_flags(sys.argv[1:], server_name=name, page_size=page_size, seed="1")
        if flags.help:
            print(__doc__)
            sys.exit(EXIT_OK)
        server = Server(tools, instructions, flags)
    except UsageError as problem:
        log(f"{name}: {problem}\n")
        sys.exit(EXIT_USAGE)
    server.run()


class Server:
    """The tools, their pages, and the answers that a flag holds back."""

    def __init__(self, tools: list[Tool], instructions: str, flags: SimpleNamespace) -> None:
        self._flags = flags
        self._instructions = instructions
        self._tools = flagged_tools(tools, flags)
        self._pages = page_table(self._tools, flags)
        self._lists = 0  # how often tools/list was asked from the start, where a flag makes that matter
        self._delayed: list[JSONObject] = []  # answers whose time has not come
        self._grouped: dict[str, list[JSONObject]] = {}  # method -> answers that will leave together
        self._lock = allocate_lock()  # whoever holds it may touch the two above, and stdout

    def run(self) -> NoReturn:
        """Answer line after line, until stdin ends."""
        self._start()
        try:
            for line in sys.stdin.buffer:  # bytes end at \n only, text lines also at \r
                with self._lock:
                    self._on_line(line)
        except KeyboardInterrupt:
            self._exit("interrupt", EXIT_INTERRUPT)
        self._exit("eof", EXIT_OK)

    def _start(self) -> None:
        child = {"grandchild": start_child(self._flags.grandchild)} if self._flags.grandchild else {}
        self._note("start", pid=os.getpid(), argv=sys.argv, **child)
        log(("flood " * self._flags.stderr_flood)[: self._flags.stderr_flood])
        waits_for = self._flags.crash_until
        if self._flags.crash_at_start or (waits_for is not None and not os.path.exists(waits_for)):
            self._crash("at start")

    # Receiving

    def _on_line(self, line: bytes) -> None:
        try:
            message = JSON.decode(line.decode("utf-8"))
            self._note("received", message=message)
        except (ValueError, RecursionError):  # not UTF-8, not JSON, or nested beyond reason
            self._note("received", line=line.decode("utf-8", "replace").rstrip("\r\n")[:MAX_QUOTE])
            self._answer("", error_response(None, RPCError(PARSE_ERROR, "parse error: the line is not JSON")))
        else:
            self._on_message(message)

    def _on_message(self, message: Any) -> None:
        method, tool = method_of(message), tool_of(message)
        for name in (method, tool):
            if name in self._flags.crash_on:
                self._crash(f"on {name}")
        if method and "id" not in message:
            self._on_notification(method, message.get("params"))
            return
        try:
            check_envelope(message)
            result = self._result(method, message.get("params", {}))
            response = {"jsonrpc": "2.0", "id": message["id"], "result": result}
        except RPCError as error:
            response = error_response(message, error)
        if tool not in self._flags.silent_on:
            self._answer(method, response)

    def _on_notification(self, method: str, params: Any) -> None:
        """No answer to the notification; and none to a cancelled request that a flag still holds back."""
        if method == "notifications/cancelled" and isinstance(params, dict):
            for held in (self._delayed, *self._grouped.values()):
                held[:] = [response for response in held if response["id"] != params.get("requestId")]

    def _result(self, method: str, params: JSONObject) -> JSONObject:
        methods = {"server/discover": self._discover, "tools/list": self._list, "tools/call": self._call}
        if method == "initialize":  # a legacy client can only tell its user which version it lacks
            raise unsupported_version(params.get("protocolVersion"))
        if method not in methods:
            raise RPCError(METHOD_NOT_FOUND, f"method not found: {method}")
        check_meta(params)
        info = {"name": self._flags.server_name, "version": "1.0.0"}
        return {"resultType": "complete", "_meta": {META + "serverInfo": info}} | methods[method](params)

    # The three methods

    def _discover(self, params: JSONObject) -> JSONObject:
        offer = {"supportedVersions": [REVISION], "capabilities": {"tools": {}}}
        return offer | {"instructions": self._instructions} | CACHE_HINTS

    def _list(self, params: JSONObject) -> JSONObject:
        cursor = params.get("cursor")
        if "cursor" in params and not isinstance(cursor, str):
            raise RPCError(INVALID_PARAMS, "params.cursor must be a string; the first page needs none")
        if cursor not in self._pages:
            raise RPCError(INVALID_PARAMS, f"invalid cursor: {cursor!r}", cursor=cursor)
        if cursor is None and self._flags.list_once:
            self._lists += 1
            if self._lists == 2:
                self._tools = [tool for tool in self._tools if tool.shown["name"] not in self._flags.list_once]
                self._pages = page_table(self._tools, self._flags)
        return self._pages[cursor] | CACHE_HINTS

    def _call(self, params: JSONObject) -> JSONObject:
        name, arguments = params.get("name"), params.get("arguments", {})
        if not isinstance(name, str):
            raise RPCError(INVALID_PARAMS, "params.name must be a string: the name of a tool")
        tool = next((tool for tool in self._tools if tool.shown["name"] == name), None)
        if tool is None or name in self._flags.stale_tool:
            raise RPCError(INVALID_PARAMS, f"unknown tool: {name}")
        if not isinstance(arguments, dict):
            raise RPCError(INVALID_PARAMS, "params.arguments must be an object")
        try:
            check_arguments(tool.shown, arguments)
            return self._tool_result(*tool.run(arguments))
        except ToolError as error:
            return self._tool_result(str(error), None) | {"isError": True}

    def _tool_result(self, text: str, structured: JSONObject | None) -> JSONObject:
        """Both forms of the result carry the data revision, which no client can know beforehand."""
        head, newline, rest = text.partition("\n")
        stamped = f"{head} (index {self._flags.seed}){newline}{rest}"
        result: JSONObject = {"content": [{"type": "text", "text": stamped}]}
        if structured is not None:
            result["structuredContent"] = structured | {"index": self._flags.seed}
        return result

    # Sending

    def _answer(self, method: str, response: JSONObject) -> None:
        if method in self._flags.silent_on or "*" in self._flags.silent_on:
            return
        seconds = self._flags.delay_first.pop(method, self._flags.delay.get(method))
        if seconds is not None:
            self._delayed.append(response)
            start_new_thread(self._answer_late, (seconds, method, response))
        else:
            self._answer_in_group(method, response)

    def _answer_late(self, seconds: float, method: str, response: JSONObject) -> None:
        time.sleep(seconds)
        with self._lock:
            if response in self._delayed:  # else it was cancelled
                self._delayed.remove(response)
                self._answer_in_group(method, response)

    def _answer_in_group(self, method: str, response: JSONObject) -> None:
        group = self._grouped.setdefault(method, [])
        if method in self._flags.text_id and (decoy := with_other_id(response)):
            self._send_message(decoy)
        group.append(response)
        if len(group) >= self._flags.reverse.get(method, 1):  # without the flag: a group of one
            for held in reversed(group):
                self._send(held)
            group.clear()

    def _send(self, response: JSONObject) -> None:
        if self._flags.noise:
            for line in NOISE_LINES:
                self._note("noise", line=line)
                self._write(line.encode())
            self._send_message(NOISE_MESSAGE)
        self._send_message(response)

    def _send_message(self, message: JSONObject) -> None:
        self._note("sent", message=message)
        self._write(to_json(message))

    def _write(self, line: bytes) -> None:
        half = len(line) // 2 if self._flags.halves else 0
        try:
            if half:
                sys.stdout.buffer.write(line[:half])
                sys.stdout.buffer.flush()
                wait_until_read(sys.stdout.fileno())
            sys.stdout.buffer.write(line[half:] + b"\n")
            sys.stdout.buffer.flush()
        except OSError:  # nobody reads any more: the other way in which a client leaves
            self._exit("broken pipe", EXIT_OK)

    # Leaving a trace, and leaving

    def _note(self, event: str, **details: Any) -> None:
        if self._flags.journal:
            self._flags.journal.write(to_json({"at": time.time(), "event": event} | details) + b"\n")

    def _crash(self, when: str) -> NoReturn:
        log(f"{self._flags.server_name}: crash {when}, as asked\n")
        self._exit("crash", EXIT_CRASH)

    def _exit(self, reason: str, code: int) -> NoReturn:
        """End without Python's clean-up, which would trip over a broken stdout or a late answer."""
        self._note("exit", reason=reason)
        os._exit(code)


# What a message must look like


def method_of(message: Any) -> str:
    method = message.get("method") if isinstance(message, dict) else None
    return method if isinstance(method, str) else ""


def tool_of(message: Any) -> str:
    """The name of the tool that the message calls, or ""."""
    params = message.get("params") if method_of(message) == "tools/call" else None
    name = params.get("name") if isinstance(params, dict) else None
    return name if isinstance(name, str) else ""


def has_valid_id(message: Any) -> bool:
    """A string or an integer; `type`, because to `isinstance` True is an integer too."""
    return isinstance(message, dict) and type(message.get("id")) in (str, int)


def error_response(message: Any, error: RPCError) -> JSONObject:
    """The error on the wire; its id is null when the message had none that can be repeated."""
    return {"jsonrpc": "2.0", "id": message["id"] if has_valid_id(message) else None, "error": error.wire}


def with_other_id(response: JSONObject) -> JSONObject | None:
    """An answer to a request that was never sent: 7 and "7" are two ids. None: the id is no number in any form."""
    request_id = response["id"]
    if not str(request_id).isdecimal():
        return None
    other = int(request_id) if isinstance(request_id, str) else str(request_id)
    return {"jsonrpc": "2.0", "id": other, "result": {"content": [{"type": "text", "text": WRONG_ANSWER}]}}


def check_envelope(message: Any) -> None:
    if not isinstance(message, dict):
        raise RPCError(INVALID_REQUEST, "invalid request: a message is one JSON object")
    if message.get("jsonrpc") != "2.0":
        raise RPCError(INVALID_REQUEST, 'invalid request: jsonrpc must be "2.0"')
    if not has_valid_id(message):
        raise RPCError(INVALID_REQUEST, "invalid request: id must be a string or an integer")
    if not method_of(message):
        raise RPCError(INVALID_REQUEST, "invalid request: method must be a string")
    if not isinstance(message.get("params", {}), dict):
        raise RPCError(INVALID_REQUEST, "invalid request: params must be an object")


def check_meta(params: JSONObject) -> None:
    """Each request says which revision it speaks and what its client can do [basic/index, _meta]."""
    meta = params.get("_meta", {})
    if not isinstance(meta, dict):
        raise RPCError(INVALID_PARAMS, "params._meta must be an object")
    if not isinstance(meta.get(VERSION), str):
        raise RPCError(INVALID_PARAMS, f"params._meta must hold {VERSION}, a string")
    if not isinstance(meta.get(CAPABILITIES), dict):
        raise RPCError(INVALID_PARAMS, f"params._meta must hold {CAPABILITIES}, an object")
    if meta[VERSION] != REVISION:
        raise unsupported_version(meta[VERSION])


def unsupported_version(requested: Any) -> RPCError:
    message = f"unsupported protocol version; this server speaks {REVISION}"
    named = {"requested": requested} if isinstance(requested, str) else {}
    return RPCError(UNSUPPORTED_PROTOCOL_VERSION, message, supported=[REVISION], **named)


def check_arguments(tool: JSONObject, arguments: JSONObject) -> None:
    """Raise a ToolError that says how to mend the call; knows only the JSON Schema words these tools use."""
    name, schema = tool["name"], tool["inputSchema"]
    properties: JSONObject = schema.get("properties", {})
    for missing in schema.get("required", []):
        if missing not in arguments:
            raise ToolError(f"{name} needs the argument {missing}; it takes {', '.join(properties)}")
    for key, value in arguments.items():
        if key not in properties and not schema.get("additionalProperties", True):
            raise ToolError(f"{name} has no argument {key}; it takes {', '.join(properties) or 'none'}")
        rule = properties.get(key, {})
        rule = schema["$defs"][rule["$ref"].removeprefix("#/$defs/")] if "$ref" in rule else rule
        if rule.get("type") == "string" and not isinstance(value, str):
            raise ToolError(f"{name}: {key} must be a string, not {to_json(value).decode()}")
        if value not in rule.get("enum", [value]):
            raise ToolError(f"{name}: {key} must be one of {', '.join(rule['enum'])}, not {value}")


# What the flags settle before the first line is read


def flagged_tools(tools: list[Tool], flags: SimpleNamespace) -> list[Tool]:
    names = [tool.shown["name"] for tool in tools]
    for old in flags.rename:
        if old not in names:
            raise UsageError(f"--rename: there is no tool {old}; the tools are {', '.join(names)}")
    renamed = [tool.under(flags.rename.get(tool.shown["name"], tool.shown["name"])) for tool in tools]
    return renamed + [echo_tool(name) for name in flags.extra_tool] + [bare_tool(name) for name in flags.bare_tool]


def echo_tool(name: str) -> Tool:
    shown = {
        "name": name,
        "title": "Echo",
        "description": "Returns its own name and the arguments it was given.",
        "inputSchema": {"type": "object"},
        "annotations": {"readOnlyHint": True},
    }
    return Tool(shown, lambda arguments: (f"{name} got {to_json(arguments).decode()}", None))


def bare_tool(name: str) -> Tool:
    echo = echo_tool(name)
    return Tool({key: echo.shown[key] for key in ("name", "inputSchema")}, echo.run)


def page_table(tools: list[Tool], flags: SimpleNamespace) -> dict[str | None, JSONObject]:
    """Every cursor with the page it leads to; None leads to the first page."""
    shown: list[JSONObject | None] = [tool.shown for tool in tools]
    if flags.malformed_tool:
        shown[1:1] = MALFORMED_TOOLS  # near the front, so that good tools follow
    pages, sizes = [], list(flags.page_size or [len(shown)])
    while shown:
        size = sizes.pop(0) if len(sizes) > 1 else sizes[0]
        pages.append(shown[:size])
        shown = shown[size:]
    if flags.empty_page:
        pages[1:] = [[], *(pages[1:] or [[]])]
    if len(pages) == 1 and (flags.empty_cursor or flags.repeat_cursor):
        raise UsageError("--empty-cursor and --repeat-cursor need a second page; add --page-size")
    cursors = [None, *(opaque_cursor(tools, number) for number in range(1, len(pages)))]
    if flags.empty_cursor:
        cursors[1] = ""
    table: dict[str | None, JSONObject] = {
        cursor: {"tools": page, "nextCursor": following}
        for cursor, page, following in zip(cursors, pages, [*cursors[1:], cursors[-1]], strict=True)
    }
    if not flags.repeat_cursor:
        del table[cursors[-1]]["nextCursor"]
    return table


def opaque_cursor(tools: list[Tool], number: int) -> str:
    """Base64 of text that nobody makes up: a guessed or altered cursor is an error, not some other page.

    It ends in "=" and a newline, for those who would strip it.
    """
    text = f"{number} of {','.join(tool.shown['name'] for tool in tools)}".encode("utf-8", "backslashreplace")
    return b2a_base64(text + b"." * (len(text) % 3 == 0)).decode()


def wait_until_read(pipe: int) -> None:
    """Return when the reader has emptied the pipe, so that it gets what follows in another piece."""
    end = time.monotonic() + HALF_SECONDS
    try:
        from fcntl import ioctl  # not on Windows: there the pause has to do
        from termios import FIONREAD

        while any(ioctl(pipe, FIONREAD, bytes(4))) and time.monotonic() < end:
            time.sleep(0.001)
    except (ImportError, OSError):
        time.sleep(HALF_SECONDS / 10)


def start_child(lifetime: float) -> int:
    """Start a process that does nothing but inherit stdout; its id goes to the journal."""
    import subprocess  # here, because few starts need it

    command = [sys.executable, "-c", f"import time; time.sleep({lifetime})"]
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL).pid


# Reading the command line. The help text above is the table of flags: which there are, and what they take.


def whole_number(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ValueError("must be a whole number from 1 up")
    return int(text)


def sizes(text: str) -> tuple[int, ...]:
    return tuple(whole_number(part) for part in text.split(","))


def seconds(text: str) -> float:
    if not re.fullmatch(r"[0-9]+(\.[0-9]+)?", text):
        raise ValueError("must be a number of seconds")
    return float(text)


def journal_file(path: str) -> IO[bytes]:
    return open(path, "ab", buffering=0)  # unbuffered: a crash must not lose the line before it


KINDS: dict[str, tuple[Callable[[str], Any], Any]] = {  # a value's name -> what reads it, its default
    "": (str, False),
    "TEXT": (str, None),
    "FILE": (journal_file, None),
    "N": (whole_number, 0),
    "SIZES": (sizes, None),
    "SECONDS": (seconds, 0.0),
    "NAME": (str, []),
    "PATH": (str, None),
    "METHOD": (str, []),
    "OLD=NEW": (str, {}),
    "METHOD=N": (whole_number, {}),
    "METHOD=SECONDS": (seconds, {}),
}
FLAGS = dict(re.findall("^  (--[a-z-]+) ([A-Z=]*) ", __doc__, re.M))  # flag -> the name of its value


def read_flags(argv: list[str], **defaults: Any) -> SimpleNamespace:
    """Every flag as an attribute: --page-size is .page_size, and so on."""
    values = {flag: KINDS[kind][1] for flag, kind in FLAGS.items()}
    words = iter(argv)
    for flag in words:
        if flag not in FLAGS:
            raise UsageError(f"unknown flag {flag}; --help lists them all")
        values[flag] = read_value(flag, values[flag], next(words, "") if FLAGS[flag] else "")
    given = {flag[2:].replace("-", "_"): value for flag, value in values.items()}
    return SimpleNamespace(**given | {name: given[name] or default for name, default in defaults.items()})


def read_value(flag: str, old: Any, word: str) -> Any:
    """The flag's value once `word` has been read: repeatable flags collect, the others replace."""
    kind = FLAGS[flag]
    if not kind:
        return True
    left, equals, right = word.partition("=") if "=" in kind else ("-", "=", word)
    if not (left and equals and right) or word.startswith("--"):
        raise UsageError(f"{flag} needs a value of the form {kind}; --help explains it")
    try:
        value = KINDS[kind][0](right)
    except (ValueError, OSError) as problem:
        raise UsageError(f"{flag} {word}: {problem}") from None
    if isinstance(old, dict):
        return old | {left: value}
    return [*old, value] if isinstance(old, list) else value


# JSON and stderr


def refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")  # Python would read NaN and Infinity


JSON = json.JSONDecoder(parse_constant=refuse_constant)


def to_json(value: Any) -> bytes:
    """One line of UTF-8; a lone surrogate becomes its escape, which JSON reads as the same."""
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "backslashreplace")


def log(text: str) -> None:
    sys.stderr.buffer.write(text.encode("utf-8", "backslashreplace"))
    sys.stderr.flush()


# Searching, for the tools of both servers: the more terms of the query a text holds, the better it fits.

WORD = "[a-z0-9]+|[\u4e00-\u9fff]+"  # not compiled yet: that takes a millisecond, and few starts search
SENTENCE_END = "(?<=[.!?]) |(?<=[。！？])"
FILLER = """
a about all an and any anything are at can do does find for have i in is it me mention mentions my note notes
of on or our say says show the there they ticket tickets to was what which with
有没 没有 提到 关于 什么 哪些 笔记 工单
"""


def terms(text: str) -> list[str]:
    """English words and, because Chinese has no spaces, each two neighbours in a run of Chinese."""
    found: list[str] = []
    for run in re.findall(WORD, text.lower()):
        found += [run] if run.isascii() or len(run) == 1 else [run[i : i + 2] for i in range(len(run) - 1)]
    return [term for term in dict.fromkeys(found) if term not in FILLER.split()] or found


def score(query: str, text: str) -> int:
    """How many terms of the query the text holds; an English one may begin a word there, or be its plural."""
    stems = [term.removesuffix("s") if len(term) > 3 else term for term in terms(query)]
    return sum(bool(re.search("(?<![a-z0-9])" + stem, text.lower())) for stem in stems)


def search(query: str, texts: dict[str, str]) -> list[str]:
    """The keys of the texts that hold at least half as many terms as the best text does, best first."""
    scores = {key: score(query, text) for key, text in texts.items()}
    enough = max(1, max(scores.values(), default=0) / 2)
    return sorted((key for key in texts if scores[key] >= enough), key=lambda key: -scores[key])


def snippet(query: str, text: str) -> str:
    """The sentence of the text that fits the query best."""
    return max(re.split(SENTENCE_END, text), key=lambda sentence: score(query, sentence)).strip()

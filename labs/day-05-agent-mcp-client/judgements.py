"""What each check makes of what was seen: this half runs in the self-test's process, beside no student's code.

Every `judge_*` compares the notes of its `observe_*` with the servers' journals, which hold each message as it
arrived and left, and names the misconception that what it saw speaks for. Where it saw a symptom only, or
nothing it knows, `cause` looks for what can turn any check red: a message that no server understood.

The words for a red check stand in misconceptions.py.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ParamSpec

from observations import (
    ALIASES,
    BROKEN,
    DEATH_SECONDS,
    DESK,
    ECHO_SECONDS,
    ENDLESS_TICKET,
    ERROR_SECONDS,
    FEW_STEPS,
    SELF_REPORTED,
    SILENT_SECONDS,
    TALK,
    TEXTS,
    JSONObject,
    called_names,
    error_cases,
    name_cases,
    page_cases,
)

from labkit.lab import PASS, Evidence, Verdict

META = "io.modelcontextprotocol/"
REQUIRED_META = (META + "protocolVersion", META + "clientCapabilities")
EVERYWHERE = ("jsonrpc", "_meta", "resultType", "ttlMs", "cacheScope")  # not shown in wire lines
WIRE_CHARACTERS = 230  # of a message in a wire line
SHOWN_CHARACTERS = 800  # of what was expected, and of what was got
WRONG_ANSWER = "the answer to nobody's request"  # in what a server with --text-id sends
TOO_EARLY_SECONDS = 0.5  # a request that times out so soon, though it may wait for seconds, had no time
REASON_CHARACTERS = 5  # a shorter text is no reason

Lines = tuple[str, ...]
P = ParamSpec("P")


# Reading the journals


def messages(evidence: Evidence, server: str, event: str, method: str = "") -> list[JSONObject]:
    """The messages that the server "received" or "sent"; of one method, if it is named."""
    found = [entry.get("message") for entry in evidence.journal(server) if entry.get("event") == event]
    return [
        message for message in found if isinstance(message, dict) and (not method or message.get("method") == method)
    ]


def requests(evidence: Evidence, server: str, method: str = "") -> list[JSONObject]:
    return [message for message in messages(evidence, server, "received", method) if "id" in message]


def calls(evidence: Evidence, server: str) -> list[JSONObject]:
    return requests(evidence, server, "tools/call")


def answer_to(evidence: Evidence, server: str, request: JSONObject) -> JSONObject:
    """What the server answered to this request, or {}: an id may be used again once it has been answered."""
    entries = iter(evidence.journal(server))
    any(entry.get("message") is request for entry in entries)  # go on to there
    sent = (entry["message"] for entry in entries if entry.get("event") == "sent")
    return next((message for message in sent if message.get("id") == request["id"]), {})


def result_of(evidence: Evidence, server: str, request: JSONObject) -> JSONObject:
    result = answer_to(evidence, server, request).get("result")
    return result if isinstance(result, dict) else {}


def has_started(evidence: Evidence, server: str) -> bool:
    return any(entry.get("event") == "start" for entry in evidence.journal(server))


def arguments_of(request: JSONObject) -> JSONObject:
    arguments = request["params"].get("arguments")
    return arguments if isinstance(arguments, dict) else {}


def _has_object(request: JSONObject) -> bool:
    return isinstance(request["params"].get("arguments", {}), dict)


def wire(evidence: Evidence, server: str, only: list[JSONObject] | None = None, most: int = 6) -> Lines:
    """The journal as a person reads it: `→` from the client, `←` from the server, without `_meta`."""
    lines = []
    for entry in evidence.journal(server):
        message = entry.get("message")
        if isinstance(message, dict) and (only is None or message in only):
            arrow = "→" if entry["event"] == "received" else "←"
            lines.append(f"{server} {arrow} {brief(message)}")
    return tuple(lines[:most])


def exchange(evidence: Evidence, server: str, *asked: JSONObject, most: int = 6) -> Lines:
    """These requests and their answers, as wire lines."""
    return wire(evidence, server, [*asked, *(answer_to(evidence, server, request) for request in asked)], most)


def brief(message: JSONObject) -> str:
    """A message without what every message carries; of a page of tools, the names."""

    def trim(key: str, value: Any) -> Any:
        if key == "tools" and isinstance(value, list):
            return [tool.get("name") if isinstance(tool, dict) else tool for tool in value]
        if isinstance(value, dict):
            return {key: trim(key, item) for key, item in value.items() if key not in EVERYWHERE}
        return value

    return cut(json.dumps(trim("", message), ensure_ascii=False))


def cut(text: str, most: int = WIRE_CHARACTERS) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


# Reading what was noted


def text_of(result: Any) -> str:
    """The text blocks of a tool result, or "" for anything else."""
    content = result.get("content") if isinstance(result, dict) else None
    blocks = content if isinstance(content, list) else []
    return "\n".join(str(block.get("text", "")) for block in blocks if isinstance(block, dict))


def is_error(result: Any) -> bool:
    return isinstance(result, dict) and result.get("isError") is True and text_of(result) != ""


def shown(seen: JSONObject) -> str:
    """An `outcome`, in a line."""
    if "hung" in seen:
        return f"nothing within {seen['seconds']:.1f} s"
    if "raised" in seen:
        code = "" if seen["code"] is None else f" with code {seen['code']}"
        return f"{seen['raised']}{code} after {seen['seconds']:.1f} s: {seen['text']}"
    return f"returned {json.dumps(seen.get('returned'), ensure_ascii=False)}"


def fail(
    misconception: str | None, expected: Any, actual: Any, lines: Iterable[str] = (), **values: Any
) -> Verdict:
    """A red verdict: the misconception (None: not known), what should have come and what did, the wire."""

    def show(value: Any) -> str:
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        return cut(text, SHOWN_CHARACTERS)

    return Verdict(False, misconception, values, show(expected), show(actual), tuple(lines))


def first_red(judges: Callable[P, Iterator[Verdict]]) -> Callable[P, Verdict]:
    """One judge made of several verdicts: the first red one counts, and nothing after it is looked at."""

    def judge(*args: P.args, **kwargs: P.kwargs) -> Verdict:
        return next((verdict for verdict in judges(*args, **kwargs) if not verdict.passed), PASS)

    return judge


# What can turn any check red


def foul(evidence: Evidence) -> str:
    """A journal of a server that was not started: somebody else has written it. "": there is none."""
    made_up = [server for server in evidence.journals() if not evidence.notes.get(f"started {server}")]
    return f"a journal of {made_up[0]}, which was not started" if made_up else ""


def cause(evidence: Evidence) -> Verdict | None:
    """A message that a server did not understand, though it was not meant to be wrong; None: there is none."""
    for server in evidence.journals():
        for verdict in _misunderstood(evidence, server):
            return verdict
    return None


def _misunderstood(evidence: Evidence, server: str) -> Iterator[Verdict]:
    for entry in evidence.journal(server):
        if "line" in entry and entry.get("event") == "received":
            line = f"{server} → {cut(entry['line'])}"
            yield fail("not_one_line", "one message on each line, and a newline after it", cut(entry["line"]), [line])
    for message in messages(evidence, server, "received"):
        if "id" not in message and not str(message.get("method")).startswith("notifications/"):
            yield fail("request_without_id", "an id", brief(message), wire(evidence, server, [message]))
    for request in requests(evidence, server):
        error = answer_to(evidence, server, request).get("error")
        if error and not _is_wrong_on_purpose(evidence, request):
            yield _refused(evidence, server, request, error)
    for message in messages(evidence, server, "sent"):
        if message.get("id") is None and "error" in message:
            words = message["error"]["message"]
            yield fail("request_refused", "a request", words, wire(evidence, server), error=words)


def _is_wrong_on_purpose(evidence: Evidence, request: JSONObject) -> bool:
    params = request.get("params") or {}
    words = [request["method"], params.get("name"), params.get("cursor")] if isinstance(params, dict) else []
    return any(isinstance(word, str) and evidence.nonce in word for word in words)


def _refused(evidence: Evidence, server: str, request: JSONObject, error: JSONObject) -> Verdict:
    lines, words = exchange(evidence, server, request), error["message"]
    params = request["params"] if isinstance(request.get("params"), dict) else {}
    meta = params.get("_meta") or {}
    missing = [key for key in REQUIRED_META if key not in meta]
    if request["method"] == "initialize":
        return fail("handshake_sent", "server/discover", "initialize", lines)
    if missing and error["code"] == -32602:
        return fail("meta_missing", missing[0], sorted(meta), lines, key=missing[0])
    if error["code"] == -32022:
        version = meta[REQUIRED_META[0]]
        return fail("wrong_version", error["data"]["supported"], version, lines, version=version)
    if request["method"] == "tools/list" and "cursor" in params:
        if params["cursor"] is None:
            return fail("null_cursor_sent", "no cursor", "null", lines)
        return fail("cursor_changed", "a cursor of this server", params["cursor"], lines)
    if request["method"] == "tools/call" and not isinstance(params.get("arguments", {}), dict):
        return fail("arguments_not_an_object", "an object", params["arguments"], lines)
    if request["method"] == "tools/call" and isinstance(params.get("name"), str):
        for name in _listed(evidence, server):
            if name in params["name"]:
                return fail("model_name_on_the_wire", name, params["name"], lines)
            if params["name"] in name:
                return fail("name_taken_apart", name, params["name"], lines)
    return fail("request_refused", "a request that the server understands", words, lines, error=words)


def _listed(evidence: Evidence, server: str) -> list[str]:
    """The names that the server gave in its pages, those without an inputSchema too."""
    pages = [message.get("result", {}).get("tools", []) for message in messages(evidence, server, "sent")]
    return [tool["name"] for page in pages for tool in page if isinstance(tool, dict)]


# 1 discovery


@first_red
def judge_discovery(evidence: Evidence) -> Iterator[Verdict]:
    for server in ("tickets", "notes"):
        for message in messages(evidence, server, "received"):
            yield _judge_message(evidence, server, message)
    for number in range(len(TEXTS)):
        yield _judge_echo(evidence, number)
    yield _judge_discover(evidence, "tickets", "chunk_taken_for_line")
    yield _judge_discover(evidence, "notes", "reader_ended_by_noise")


def _judge_message(evidence: Evidence, server: str, message: JSONObject) -> Verdict:
    """What a client writes is a request with `_meta`, or a notification."""
    if "method" not in message:
        return fail("response_written", "requests and notifications", brief(message), wire(evidence, server))
    meta = message.get("params", {}).get("_meta", {})
    for key in REQUIRED_META:
        if "id" in message and key not in meta:
            return fail("meta_missing", key, list(meta), exchange(evidence, server, message), key=key)
    return PASS


def _judge_discover(evidence: Evidence, server: str, if_unheard: str) -> Verdict:
    """The answer of `discover`; `if_unheard` is why the server's may not have been heard, in time."""
    asked = requests(evidence, server, "server/discover")
    said = evidence.notes.get(f"{server} says", {"hung": True, "seconds": ECHO_SECONDS})
    lines = exchange(evidence, server, *asked[:1])
    expected = "the answer to server/discover"
    if _had_no_time(said):
        return fail("deadline_too_early", expected, shown(said), lines)
    if not asked and "returned" in said:
        return fail("not_discovered", "server/discover", shown(said), wire(evidence, server), server=server)
    if not messages(evidence, server, "received") and messages(evidence, "tickets", "received"):
        return fail("stderr_not_read", expected, shown(said), wire(evidence, server))
    sent = result_of(evidence, server, asked[0]) if asked else {}
    has_missed_it = evidence.raised is not None or (sent and said["seconds"] >= ECHO_SECONDS)
    if asked and has_missed_it and "returned" not in said:
        return fail(if_unheard, expected, shown(said), lines)
    returned = said.get("returned")
    if not sent:
        return fail(None, expected, shown(said), lines)
    if isinstance(returned, dict) and returned.get("supportedVersions") == sent["supportedVersions"]:
        return PASS
    wrong = [message for message in messages(evidence, server, "sent") if WRONG_ANSWER in brief(message)]
    if wrong and ("raised" in said or WRONG_ANSWER in shown(said)):
        return fail("id_compared_as_text", expected, shown(said), wire(evidence, server, [asked[0], *wrong]))
    return fail("discover_result_lost" if "returned" in said else None, sent, shown(said), lines, server=server)


def _judge_echo(evidence: Evidence, number: int) -> Verdict:
    """One of three requests that were under way at the same time."""
    asked = calls(evidence, "tickets")
    own = [request for request in asked if arguments_of(request).get("number") == number]
    seen = evidence.notes.get(f"answer {number}", {"hung": True, "seconds": ECHO_SECONDS})
    text = text_of(seen.get("returned"))
    expected = text_of(result_of(evidence, "tickets", own[0])) if own else f'"number": {number}'
    lines = exchange(evidence, "tickets", *asked)
    if own and arguments_of(own[0]).get("text") != TEXTS[number]:
        return fail("characters_lost", TEXTS[number], arguments_of(own[0]).get("text"), lines)
    if own and expected and text == expected:
        return PASS
    if f'"number": {number}' in text:
        return fail("characters_lost", expected, text, lines)
    if "returned" in seen:
        is_sent = seen["returned"] in [message.get("result") for message in messages(evidence, "tickets", "sent")]
        return fail("answer_to_wrong_request" if is_sent else None, expected, shown(seen), lines)
    return fail(_why_unanswered(evidence, asked, seen), expected, shown(seen), lines)


def _why_unanswered(evidence: Evidence, asked: list[JSONObject], seen: JSONObject) -> str | None:
    """Why a caller among three got no answer, by how the others fared."""
    if _had_no_time(seen):
        return "deadline_too_early"
    got = [number for number in range(len(TEXTS)) if "returned" in evidence.notes.get(f"answer {number}", {})]
    ids = [request["id"] for request in asked]
    discovered = requests(evidence, "tickets", "server/discover")
    if not asked or not discovered or "error" in answer_to(evidence, "tickets", asked[0]):
        return None
    if len(ids) > len(set(map(str, ids))):
        return "id_used_twice"
    if seen["seconds"] < ECHO_SECONDS:
        return None
    if not got and evidence.need("tickets says")["seconds"] >= ECHO_SECONDS:
        return "chunk_taken_for_line" if result_of(evidence, "tickets", discovered[0]) else None
    if _requests_before_one_was_given_up(evidence, ids) < len(TEXTS):
        return "one_request_at_a_time"
    return "line_cut_at_other_characters" if got == [0, 2] else "one_waiter_for_all"


def _had_no_time(seen: JSONObject) -> bool:
    return "Timeout" in seen.get("raised", "") and seen["seconds"] < TOO_EARLY_SECONDS


def _requests_before_one_was_given_up(evidence: Evidence, ids: list[Any]) -> int:
    count = 0
    for message in messages(evidence, "tickets", "received"):
        if (message.get("params") or {}).get("requestId") in ids:
            break
        count += message.get("id") in ids
    return count


# 2 errors


@first_red
def judge_errors(evidence: Evidence) -> Iterator[Verdict]:
    for case, (method, params) in error_cases(evidence.nonce).items():
        yield _judge_error(evidence, case, method, params)
    after = evidence.need("after")
    if "returned" not in after:
        yield fail("dead_after_error", "the next request is answered", shown(after), wire(evidence, "notes")[-2:])


def _judge_error(evidence: Evidence, case: str, method: str, params: JSONObject) -> Verdict:
    asked = [
        request
        for request in requests(evidence, "notes", method)
        if params.items() <= {"arguments": {}, **request["params"]}.items()
    ]
    if not asked:
        reason = "dead_after_error" if case != "method" else None
        return fail(reason, f"{method} is sent", shown(evidence.need(case)), wire(evidence, "notes")[-4:])
    error = answer_to(evidence, "notes", asked[0])["error"]
    lines = exchange(evidence, "notes", *asked)
    expected = f"RpcError with code {error['code']}, at once"
    if len(asked) > 1:
        return fail("sent_again", "one request", f"{len(asked)} requests", lines)
    if case not in evidence.notes and evidence.raised is not None:
        return fail(_why_reader_ended(evidence), expected, f"{evidence.raised.type}: {evidence.raised.text}", lines)
    seen = evidence.need(case)
    values = {"seconds": ERROR_SECONDS, "code": error["code"]}
    is_late = seen["seconds"] >= ERROR_SECONDS
    if "returned" in seen:
        return fail("error_as_result", expected, shown(seen), lines)
    if is_late:
        reason = "error_late" if seen.get("code") == error["code"] else "error_forgotten"
        return fail(reason, expected, shown(seen), lines, **values)
    if seen["code"] != error["code"]:
        reason = "error_without_code" if seen["code"] is None else "error_wrong_code"
        return fail(reason, expected, shown(seen), lines)
    if error["message"] not in seen["text"] + seen["said"]:
        return fail("error_message_lost", error["message"], shown(seen), lines)
    return PASS


def _why_reader_ended(evidence: Evidence) -> str | None:
    """What an exception says that came out of the task that reads, while the request still waited."""
    assert evidence.raised is not None
    if evidence.raised.type == "KeyError":
        return "result_before_error"
    return "raised_in_the_reader" if evidence.raised.type in ("RpcError", "McpError") else None


# 3 pages

MANY_PAGES = 20  # more than any walk needs; of a longer one no more is looked at


@first_red
def judge_pages(evidence: Evidence) -> Iterator[Verdict]:
    cases = page_cases(evidence.nonce)
    for name in cases:
        yield _judge_cursors(evidence, name)
    for name, (_, pages) in cases.items():
        yield _judge_walk(evidence, name, pages)


def _judge_cursors(evidence: Evidence, name: str) -> Verdict:
    """Each cursor came back as it was given."""
    asked = requests(evidence, name, "tools/list")[:MANY_PAGES]
    sent = [request["params"].get("cursor") for request in asked]
    given = [result_of(evidence, name, request).get("nextCursor") for request in asked]
    for got, back in zip(given, sent[1:], strict=False):
        if got is not None and back != got:
            reason: str | None = "cursor_changed"
            if back is None:
                reason = "cursor_not_sent" if got else "empty_cursor_not_sent"
            elif back not in given and back in _given_by_others(evidence, name):
                reason = None  # it is unchanged, but another server's: who mixed them up cannot be seen from here
            return fail(reason, got, "no cursor" if back is None else back, exchange(evidence, name, *asked))
    return PASS


def _given_by_others(evidence: Evidence, name: str) -> list[Any]:
    """The cursors that the other servers of check 3 gave."""
    others = [other for other in page_cases(evidence.nonce) if other != name]
    pages = [message.get("result", {}) for other in others for message in messages(evidence, other, "sent")]
    return [page.get("nextCursor") for page in pages]


def _judge_walk(evidence: Evidence, name: str, pages: list[list[str]]) -> Verdict:
    tools = [tool for page in pages for tool in page]
    asked = requests(evidence, name, "tools/list")
    lines = exchange(evidence, name, *asked[:MANY_PAGES])
    seen = evidence.need(name)
    if "hung" in seen:
        reason = "endless_walk" if len(asked) > 2 * len(pages) else None
        return fail(reason, "an end", f"{len(asked)} requests in {seen['seconds']:.0f} s", lines)
    if "raised" in seen and len(asked) > 2 * len(pages):
        return fail("endless_walk", "an end", f"{len(asked)} requests, then {shown(seen)}", lines)
    if "raised" in seen:
        is_key = seen["raised"] == "KeyError" and "nextCursor" in seen["text"]
        return fail("next_cursor_demanded" if is_key else "listing_raised", tools, shown(seen), lines)
    if any(isinstance(item, list) for item in seen["returned"]):
        return fail("pages_nested", tools, shown(seen), lines)
    names = [tool["name"] for tool in seen["returned"]]
    if len(asked) < len(pages) and set(names) == set(tools):
        return fail(None, f"{len(pages)} requests, one for each page", f"{len(asked)}, and yet all the names", lines)
    if names == tools or (name == "circle" and set(names) == set(tools)):
        return PASS
    return fail(_why_other_tools(evidence, names, pages), tools, names, lines, count=len(names))


def _why_other_tools(evidence: Evidence, names: list[str], pages: list[list[str]]) -> str | None:
    """Why the tools are not those of the pages: how far each walk went, else what it made of its pages."""
    cases = page_cases(evidence.nonce)
    steps = {name: len(requests(evidence, name, "tools/list")) for name in cases}
    straight = {name: len(pages) for name, (_, pages) in cases.items() if name != "circle"}
    most = max(steps[name] for name in straight)
    if most < max(straight.values()) and all(steps[name] == min(there, most) for name, there in straight.items()):
        return "only_the_first_page" if most == 1 else "too_few_pages"
    if steps["empty page"] == 2:
        return "short_page_is_the_end" if steps["circle"] == 2 else "empty_page_is_the_end"
    if steps["empty cursor"] == 1:
        return "empty_cursor_is_the_end"
    return _why_not_all(evidence, names, pages)


def _why_not_all(evidence: Evidence, names: list[str], pages: list[list[str]]) -> str | None:
    """What became of the pages of a whole walk; the longest walk shows it best."""
    longest = "empty cursor"
    if isinstance(seen := evidence.notes.get(longest, {}).get("returned"), list):
        names, pages = [tool["name"] for tool in seen], page_cases(evidence.nonce)[longest][1]
    tools = [tool for page in pages for tool in page]
    if names == pages[-1]:
        return "pages_overwritten"
    if names == tools[len(pages[0]) :]:
        return "first_page_dropped"
    if set(names) == set(tools):
        return "page_twice" if len(names) > len(tools) else "pages_out_of_order"
    return "last_page_dropped" if names == tools[: len(names)] else None


# 4 translation

OPTIONAL_FIELDS = ("description", "title", "annotations", "outputSchema", "icons")


@first_red
def judge_translation(evidence: Evidence) -> Iterator[Verdict]:
    asked = requests(evidence, "tickets", "tools/list")
    definitions = result_of(evidence, "tickets", asked[-1]).get("tools", []) if asked else []
    if not definitions:
        yield fail(None, "tools/list", "not asked", wire(evidence, "tickets"))
    raised = evidence.raised
    if raised and raised.type == "KeyError" and raised.text.strip("'\"") in OPTIONAL_FIELDS:
        actual = f"KeyError: {raised.text}"
        yield fail("optional_field_demanded", "a translation of every tool", actual, wire(evidence, "tickets")[-1:])
    if evidence.need("changed"):
        yield fail("definition_changed", "the definition as it came", "changed", wire(evidence, "tickets")[-1:])
    for key in ("model tools", "translated"):
        tools = evidence.need(key)
        if len(tools) != len(definitions):
            yield fail("tools_not_listed", [tool["name"] for tool in definitions], tools)
        names = evidence.need("names")
        if all(isinstance(tool, dict) and tool.get("name") in names for tool in tools):
            tools = sorted(tools, key=lambda tool: int(names.index(tool["name"])))  # their order is for check 3
        for tool, definition in zip(tools, definitions, strict=True):
            yield judge_tool(tool, definition)


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
    if DESK not in description:
        return fail("no_source_in_description", DESK, description, lines, tool=name)
    if definition.get("description", "") not in description:
        return fail("description_replaced", definition["description"], description, lines, tool=name)
    return PASS


# 5 two tools called search


@first_red
def judge_collision(evidence: Evidence) -> Iterator[Verdict]:
    listed = evidence.need("listed")
    names = {server: evidence.need(f"{server} name") for server in ALIASES}
    both = sorted(names.values())
    lines = [line for server in ALIASES for line in wire(evidence, server, calls(evidence, server))]
    if both[0] == both[1]:
        reason = "names_not_prefixed" if both[0] == "search" else "alias_not_in_name"
        yield fail(reason, "two different names", both, lines, name=both[0])
    if not set(both) <= set(listed):
        if any(SELF_REPORTED in name for name in listed):
            yield fail("prefix_from_server_name", both, listed, lines)
        if set(both) & set(listed) and set(evidence.need("others")) <= set(listed):
            yield fail("same_name_left_out", both, listed, lines)
        is_full = listed and not set(both) & set(listed)
        yield fail("listed_under_other_name" if is_full else "tools_not_listed", both, listed, lines)
    for server in ALIASES:
        yield _judge_search(evidence, server, names[server])


def _judge_search(evidence: Evidence, server: str, model_name: str) -> Verdict:
    """One call of `search`: it arrived once, where it belongs, under the server's own name."""
    asked = calls(evidence, server)
    seen = evidence.need(f"{server} result")
    query = f"login {server}"
    lines = [line for name in ALIASES for line in exchange(evidence, name, *calls(evidence, name))]
    wrong = [request["params"].get("name") for request in asked if request["params"].get("name") != "search"]
    if wrong:
        return fail(_why_wrong_name(wrong[0], model_name), "search", wrong[0], lines)
    queries = [f"login {name}" for name in ALIASES]
    if any(arguments_of(request).get("query") not in queries and _has_object(request) for request in asked):
        return fail("arguments_lost", {"query": query}, arguments_of(asked[0]), lines)
    received = [(name, arguments_of(request).get("query")) for name in ALIASES for request in calls(evidence, name)]
    arrived = [name for name, its_query in received if its_query == query]
    if not arrived:
        reason = "name_taken_apart" if "__" in ALIASES[server] and not asked else "call_not_sent"
        return fail(reason, f"{query!r} arrives at {server}", shown(seen), lines, server=server)
    if arrived != [server]:
        reason = "call_to_wrong_server" if server not in arrived else "sent_again"
        places = f"it arrived at {', '.join(arrived)}"
        return fail(reason, f"{query!r} arrives at {server}", places, lines, server=server)
    return judge_returned(evidence, seen, server, asked[0])


def _why_wrong_name(sent: str, model_name: str) -> str:
    return "model_name_on_the_wire" if sent == model_name else "name_taken_apart"


def judge_returned(evidence: Evidence, seen: JSONObject, server: str, request: JSONObject) -> Verdict:
    """What `call` returned of a result is that result: its text, in a result."""
    sent = result_of(evidence, server, request)
    returned = seen.get("returned")
    if text_of(sent) and text_of(sent) in text_of(returned):
        return PASS
    lines = exchange(evidence, server, request)
    unwrapped = isinstance(returned, list | str) and text_of(sent) in text_of({"content": returned}) + str(returned)
    return fail("result_unwrapped" if unwrapped else None, brief(sent), shown(seen), lines)


# 6 legal names


@first_red
def judge_names(evidence: Evidence) -> Iterator[Verdict]:
    cases = name_cases(evidence.nonce)
    names = evidence.need("names")
    if not all(isinstance(name, str) for name in names):
        yield fail(None, "text", names)
    table = [f"{alias} + {tool} = {name}" for (alias, tool), name in zip(cases, names, strict=True)]
    if names == [tool for _, tool in cases]:
        yield fail("names_unchanged", "mcp__notes__search", names[0], table[:3], name="search")
    for line, name in zip(table, names, strict=True):
        letters = set(name) - set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")
        if letters or not name:
            yield fail("illegal_letters", "A-Z a-z 0-9 _ -", name, [line], letters="".join(sorted(letters)))
    for line, name in zip(table, names, strict=True):
        if len(name) > 64:
            yield fail("name_too_long", "at most 64 characters", f"{len(name)} characters: {name}", [line])
    for index, name in enumerate(names):
        if name in names[:index]:
            first = names.index(name)
            reason = _why_equal(cases[first], cases[index])
            yield fail(reason, "two different names", name, [table[first], table[index]], name=name)
    yield _judge_called_names(evidence, cases)
    again = evidence.need("names again")
    if again != names:
        here, there = next((pair for pair in zip(names, again, strict=True) if pair[0] != pair[1]), (names, again))
        yield fail("name_changes_between_runs", here, there)


def _judge_called_names(evidence: Evidence, cases: list[tuple[str, str]]) -> Verdict:
    """Tools with difficult names, called by their model names: the server received its own."""
    called = called_names(cases)
    asked = calls(evidence, "tickets")
    received = [request["params"].get("name") for request in asked]
    lines = wire(evidence, "tickets", asked)
    if received == called:
        return PASS
    wrong = [name for name in received if name not in called]
    if not wrong:
        return fail("sent_again" if set(received) == set(called) else "call_not_sent", called, received, lines)
    is_model_name = wrong[0] in evidence.need("names called")
    return fail("model_name_on_the_wire" if is_model_name else "name_taken_apart", called, received, lines)


def _why_equal(first: tuple[str, str], second: tuple[str, str]) -> str:
    """What two pairs that got one name have in common."""
    if first[1] == second[1]:
        cleaned = not (first[0] + second[0]).isascii()
        return "cleaned_without_digest" if cleaned else "alias_not_in_name"
    if first[0] != second[0]:
        return "boundary_blurred"
    return "cut_without_digest" if len(first[1]) > 40 or len(first[0]) > 40 else "cleaned_without_digest"


# 7 failures become results

FAILURES = {  # case -> its server's journal, when `call` raised, when it returned no error result
    "tickets": ("tickets", "tool_error_raised", "tool_error_dropped"),
    "silent": ("silent", "timeout_raised", "timeout_no_result"),
    "stale": ("tickets", "rpc_error_raised", "rpc_error_no_result"),
    "dying": ("dying", "death_raised", "death_no_result"),
    "unknown": ("tickets", "unknown_tool_raised", "unknown_tool_no_result"),
    "dead": ("dying", "dead_call_raised", "dead_call_no_result"),
}


@first_red
def judge_failures(evidence: Evidence) -> Iterator[Verdict]:
    if evidence.end == "timeout" and "silent" not in evidence.notes and calls(evidence, "silent"):
        yield fail("no_deadline", "an error result", "nothing", _given_up(evidence), seconds=SILENT_SECONDS)
    raised = [case for case in FAILURES if "raised" in evidence.notes.get(case, {})]
    if {"silent", "stale", "dying"} <= set(raised):
        seen = evidence.need(raised[0])
        yield fail("failures_raised", "a result with isError: true", shown(seen), _given_up(evidence))
    unmarked = [case for case in FAILURES if text_of(seen := _returned(evidence, case)) and not is_error(seen)]
    if {"silent", "stale", "dying", "unknown"} <= set(unmarked):
        actual = _returned(evidence, "unknown")
        yield fail("failures_look_like_answers", "a result with isError: true", actual, _given_up(evidence))
    silent = evidence.need("silent")
    was_sent = any(arguments_of(request).get("id") == "T-01" for request in calls(evidence, "silent"))
    if "returned" in silent and was_sent and silent["seconds"] < SILENT_SECONDS * 0.8:
        expected = f"an error result after {SILENT_SECONDS:g} s"
        yield fail("timeout_ends_the_connection", expected, shown(silent), _given_up(evidence))
    for case, words in FAILURES.items():
        yield _judge_failure(evidence, case, *words)
    yield _judge_hurry(evidence)
    yield _judge_after_death(evidence)


def _returned(evidence: Evidence, case: str) -> Any:
    return evidence.notes.get(case, {}).get("returned")


def _judge_failure(evidence: Evidence, case: str, server: str, if_raised: str, if_no_error: str) -> Verdict:
    seen = evidence.need(case)
    asked = calls(evidence, server)
    lines = exchange(evidence, server, *asked)
    expected = "a result with isError: true and a text"
    texts = [json.dumps(arguments_of(request)) for request in asked if arguments_of(request)]
    if len(texts) > len(set(texts)):
        return fail("sent_again", "each call is sent once", f"{len(asked)} requests", lines)
    if not asked and "returned" in seen:
        return fail("call_not_sent", "tools/call", shown(seen), lines)
    if case == "tickets" and "returned" in seen and not judge_returned(evidence, seen, server, asked[0]).passed:
        return _judge_error_text(evidence, seen, asked[0])
    if "hung" in seen:
        return fail("no_deadline", expected, shown(seen), lines, seconds=SILENT_SECONDS)
    if "raised" in seen:
        return fail(if_raised, expected, shown(seen), lines)
    if not is_error(seen["returned"]):
        return fail(if_no_error, expected, shown(seen), lines)
    if case == "dying" and seen["seconds"] >= DEATH_SECONDS:
        return fail("death_unnoticed", "an error result at once", shown(seen), lines, seconds=DEATH_SECONDS)
    return PASS


def _judge_error_text(evidence: Evidence, seen: JSONObject, request: JSONObject) -> Verdict:
    """A tool execution error whose text did not come through."""
    sent = result_of(evidence, "tickets", request)
    if not sent:
        return fail("call_not_sent", "get_ticket", shown(seen), exchange(evidence, "tickets", request))
    verdict = judge_returned(evidence, seen, "tickets", request)
    if verdict.misconception:
        return verdict
    return fail("error_text_lost", text_of(sent), shown(seen), verdict.wire)


def _judge_hurry(evidence: Evidence) -> Verdict:
    """A request with a shorter deadline of its own; and the server was told of both that were given up."""
    asked = calls(evidence, "silent")
    told = messages(evidence, "silent", "received", "notifications/cancelled")
    lines = _given_up(evidence)
    ids = [note.get("params", {}).get("requestId") for note in told]
    if sorted(map(repr, ids)) != sorted(repr(request["id"]) for request in asked):
        return fail("server_not_told", f"notifications/cancelled for {[call['id'] for call in asked]}", ids, lines)
    hurry = next(request["id"] for request in asked if arguments_of(request).get("id") == "T-02")
    if ids[0] != hurry:  # the order tells more than the times, which a busy machine stretches
        return fail("own_deadline_ignored", f"request {hurry} is given up first", ids, lines)
    return PASS


def _given_up(evidence: Evidence) -> Lines:
    """The calls of the silent server, and what it was told."""
    told = messages(evidence, "silent", "received", "notifications/cancelled")
    return wire(evidence, "silent", [*calls(evidence, "silent"), *told])


def _judge_after_death(evidence: Evidence) -> Verdict:
    starts = [entry for entry in evidence.journal("dying") if entry.get("event") == "start"]
    offered = evidence.need("dying offers")
    if offered and len(starts) == 1:
        return fail("down_server_listed", "no tools of the dead server", offered, wire(evidence, "dying")[-2:])
    if "returned" not in evidence.need("alive"):
        return fail("dead_after_error", "the next request is answered", shown(evidence.need("alive")))
    return PASS


# 8 one server down

FAILURE_TYPES = ("ServerDown", "RequestTimeout", "McpError", "OSError", "FileNotFoundError", "TimeoutError")


@first_red
def judge_down(evidence: Evidence) -> Iterator[Verdict]:
    lines = [line for server in ("crashed", "silent", "notes") for line in wire(evidence, server, most=2)]
    if evidence.end == "timeout" and "refresh" not in evidence.notes and requests(evidence, "silent"):
        yield fail("no_deadline", "refresh returns", "nothing", lines, seconds=SILENT_SECONDS)
    refresh, down = evidence.need("refresh"), evidence.need("down")
    if "hung" in refresh:
        again = len(requests(evidence, "silent", "server/discover")) > 1
        healthy = len(requests(evidence, "notes")) > 1
        reason = "refresh_tries_again" if again else "no_deadline" if healthy else None
        yield fail(reason, "refresh returns", shown(refresh), lines, seconds=SILENT_SECONDS)
    if "raised" in refresh:
        reason = "refresh_raised" if refresh["raised"] in FAILURE_TYPES else None
        yield fail(reason, "refresh returns; 4 servers in `down`", shown(refresh), lines)
    if down.get("notes"):
        yield fail("healthy_server_down", "notes is not in `down`", down, lines)
    yield _judge_table(evidence, down, lines)
    yield _judge_works(evidence, lines)
    for alias in BROKEN:
        yield _judge_down_call(evidence, alias, lines)
    yield _judge_start(evidence, lines)
    yield _judge_end(evidence, lines)


def _judge_table(evidence: Evidence, down: JSONObject, lines: list[str]) -> Verdict:
    """The four broken servers, each with its reason."""
    absent = [alias for alias in BROKEN if down.get(alias) is None]
    if absent and len(absent) < len(BROKEN) and not evidence.need("listed"):
        return fail("first_failure_ends_all", "4 servers in `down`, notes listed", down, lines)
    for alias in absent:
        return fail("not_in_down", f"{alias} in `down`", down, lines, server=alias)
    for alias in BROKEN:
        if not isinstance(down[alias], str) or len(down[alias]) < REASON_CHARACTERS:
            return fail("down_without_reason", f"down[{alias!r}] is a reason", down, lines, server=alias)
    if down["missing"] == down["silent"]:
        return fail("down_without_reason", "a reason for each", down, lines, server="silent")
    return PASS


def _judge_works(evidence: Evidence, lines: list[str]) -> Verdict:
    """The healthy server's tools, and no others, can be used."""
    works = evidence.need("works")
    own = evidence.need("own names")
    strangers = [name for name in evidence.need("listed") if name not in own]
    asked = calls(evidence, "notes")
    if strangers and own[0] in evidence.need("listed"):
        return fail("down_server_listed", "tools of notes only", evidence.need("listed"), lines)
    if asked and evidence.nonce in text_of(works.get("returned")) and not is_error(works["returned"]):
        return PASS
    if asked and _has_object(asked[0]) and arguments_of(asked[0]) != {"query": "login"}:
        return fail("arguments_lost", {"query": "login"}, asked[0]["params"], lines)
    verdict = judge_returned(evidence, works, "notes", asked[0]) if asked else PASS
    if verdict.misconception:
        return verdict
    return fail("healthy_server_lost", "the notes can be searched", shown(works), lines)


def _judge_down_call(evidence: Evidence, alias: str, lines: list[str]) -> Verdict:
    seen = evidence.need(f"call {alias}")
    if is_error(seen.get("returned")):
        return PASS
    return fail("down_call_no_error_result", "a result with isError: true", shown(seen), lines, server=alias)


def _judge_start(evidence: Evidence, lines: list[str]) -> Verdict:
    """The second silent server was started before the first one's deadline had passed."""
    first, second = evidence.journal("silent"), evidence.journal("silent-2")
    if not first or not second:
        return fail(None, "both silent servers are started", "one was not", lines)
    told = [event["at"] for event in first if event.get("message", {}).get("method") == "notifications/cancelled"]
    given_up = told[0] if told else first[0]["at"] + SILENT_SECONDS
    between = evidence.notes.get("silent-2 starts", 1e9) - evidence.notes.get("silent starts", 0.0)
    if second[0]["at"] > given_up and between > SILENT_SECONDS / 2:
        apart = f"{second[0]['at'] - first[0]['at']:.1f} s apart"
        return fail("waited_in_sequence", "both silent servers are started at once", apart, lines)
    return PASS


def _judge_end(evidence: Evidence, lines: list[str]) -> Verdict:
    left = evidence.need("left running")
    return fail("server_left_running", "no server runs after close()", left, lines) if left else PASS


# 9 the agent loop


@first_red
def judge_loop(evidence: Evidence) -> Iterator[Verdict]:
    yield _judge_run(evidence)
    yield _judge_calls(evidence)
    yield _judge_stopped(evidence)


@first_red
def _judge_run(evidence: Evidence) -> Iterator[Verdict]:
    """The run as the model saw it: its question, its tools, its own messages, one result per call, the answer."""
    run, heard, names = evidence.need("run"), evidence.need("run heard"), evidence.need("names")
    answer, question = f"answer {evidence.nonce}", f"question {evidence.nonce}"
    if not heard or question not in json.dumps(heard[0]["messages"]):
        yield fail("question_lost", question, heard[0]["messages"] if heard else shown(run))
    if not set(names) <= set(evidence.need("offered")):
        yield fail("tools_not_listed", names, evidence.need("offered"))
    for asked in heard:
        given = [tool.get("name") for tool in asked["tools"]]
        if not set(names) <= set(given):
            yield fail("tools_not_offered", names, given)
    if len(heard) > 1 and not _results(heard[-1]["messages"]) and _results(run.get("messages", [])):
        yield fail("history_not_shown", "the results of the calls", heard[-1]["messages"])
    if "raised" in run:
        yield fail("bad_arguments_raised" if len(heard) == 4 else None, answer, shown(run))
    if run["answer"] == TALK:
        yield fail("text_taken_for_answer", answer, TALK)
    for said in (heard[-1]["messages"], run["messages"]):
        yield judge_pairs(said)
    if len(heard) < 5:
        actual = f"{len(heard)}; answer {run['answer']!r}"
        yield fail("stopped_early", "5 questions to the model", actual, count=len(heard))
    if run["answer"] != answer or len(heard) != 5:
        yield fail("no_answer", answer, run["answer"])


CALLS = {  # id of the call -> server, tool, id of the ticket or note
    "c1": ("tickets", "get_ticket", "T-01"),
    "c2": ("notes", "read_note", "N-01"),
    "c3": ("tickets", "get_ticket", "T-99"),
    "c4": ("notes", "read_note", "N-02"),
}


@first_red
def _judge_calls(evidence: Evidence) -> Iterator[Verdict]:
    """What the servers received, and what the model was told of it."""
    results = _results(evidence.need("run heard")[-1]["messages"])
    for key, (server, tool, wanted) in CALLS.items():
        yield _judge_call(evidence, results[key], server, tool, wanted)
    sent = [request["params"].get("arguments", {}) for request in calls(evidence, "notes")]
    if any(not isinstance(arguments, dict) for arguments in sent):
        lines = exchange(evidence, "notes", *calls(evidence, "notes"))
        yield fail("bad_arguments_sent", "no call with broken arguments", sent, lines)
    for key in ("c5", "c6"):
        if results[key].get("is_error") is not True or not results[key].get("content"):
            yield fail("error_result_lost", "is_error: true and a text", results[key])


def _judge_call(evidence: Evidence, told: JSONObject, server: str, tool: str, wanted: str) -> Verdict:
    """One call of the model's: what arrived at the server, and what the model was `told` of the result."""
    asked = [request for request in calls(evidence, server) if arguments_of(request).get("id") == wanted]
    lines = exchange(evidence, server, *asked or calls(evidence, server))
    if not asked:
        return fail(_why_not_asked(evidence, server, tool), f"{tool} {wanted} arrives at {server}", told, lines)
    if asked[0]["params"].get("name") != tool:
        return fail(_why_not_asked(evidence, server, tool), tool, asked[0]["params"].get("name"), lines)
    if len(asked) > 1:
        return fail("sent_again", "each call is sent once", f"{len(asked)} requests", lines)
    said = result_of(evidence, server, asked[0])
    if told.get("is_error", False) is not said.get("isError", False):
        return fail("error_result_lost", f"is_error: {said.get('isError', False)}", told, lines)
    if not _holds(told.get("content"), text_of(said)):
        return fail("result_lost", text_of(said), told.get("content"), lines)
    return PASS


def _holds(content: Any, text: str) -> bool:
    """Whether the text is in there, as it is or as JSON writes it."""
    whole = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    forms = (text, json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1])
    return any(form in whole for form in forms)


def _why_not_asked(evidence: Evidence, server: str, name: str) -> str:
    asked = [request for request in calls(evidence, server) if request["params"].get("name") == name]
    ids = {wanted for _, _, wanted in CALLS.values()} | {ENDLESS_TICKET}
    if any(_has_object(request) and arguments_of(request).get("id") not in ids for request in asked):
        return "arguments_lost"
    sent = [request["params"].get("name") for request in calls(evidence, server)]
    return "model_name_on_the_wire" if set(sent) & set(evidence.need("names")) else "call_not_sent"


@first_red
def _judge_stopped(evidence: Evidence) -> Iterator[Verdict]:
    """A model that never stops calling."""
    stopped, heard = evidence.need("stopped"), evidence.need("stopped heard")
    expected = f"{FEW_STEPS} questions to the model, no answer"
    actual = f"{len(heard)} questions; {shown(stopped) if 'raised' in stopped else stopped.get('answer')!r}"
    if len(heard) > 2 * FEW_STEPS:
        yield fail("no_step_limit", expected, actual, limit=FEW_STEPS)
    if "raised" in stopped:
        yield fail("step_limit_raised", expected, actual)
    if len(heard) != FEW_STEPS:
        yield fail("step_limit_off_by_one", expected, actual, limit=FEW_STEPS, count=len(heard))
    if stopped["answer"] is not None:
        yield fail("limit_taken_for_answer", expected, actual)
    yield judge_pairs(stopped["messages"])


def _results(transcript: list[JSONObject]) -> dict[str, JSONObject]:
    """The tool messages, by the ids of their calls."""
    return {message.get("tool_call_id", ""): message for message in transcript if message.get("role") == "tool"}


def judge_pairs(transcript: list[JSONObject]) -> Verdict:
    """After each message with calls stands one result per call, in the order of the calls."""
    expected, actual = "after each message with calls one result per call, in order", _roles(transcript)
    waiting: list[str] = []  # ids of the calls of the last message
    given: list[str] = []  # ids of the results that follow it
    for message in [*transcript, {"role": "end"}]:
        if message["role"] == "tool":
            given.append(message.get("tool_call_id", ""))
            continue
        if given != waiting:
            if sorted(given) == sorted(waiting):
                return fail("results_out_of_order", expected, actual)
            is_lost = set(given) < set(waiting)
            return fail("call_without_result" if is_lost else "results_without_their_calls", expected, actual)
        waiting, given = [call["id"] for call in message.get("tool_calls") or []], []
    return PASS


def _roles(transcript: list[JSONObject]) -> list[Any]:
    return [
        message.get("tool_call_id") or [call["id"] for call in message.get("tool_calls") or []] or message["role"]
        for message in transcript
    ]

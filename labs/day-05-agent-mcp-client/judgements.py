"""What each check makes of what was seen: this half runs in the self-test's process, beside no student's code.

Every `judge_*` compares the notes of its `observe_*` with the servers' journals, which hold each message as it
arrived and left, and names the misconception that what it saw speaks for. Where it saw a symptom only, or
nothing it knows, `cause` looks for what can turn any check red: a message that no server understood.

The words for a red check stand in misconceptions.py.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, ParamSpec

from observations import (
    AGAIN_CALLS,
    ALIASES,
    BROKEN,
    DEATH_SECONDS,
    DESK,
    ECHO_SECONDS,
    ENDLESS_TICKET,
    ERROR_SECONDS,
    FALSY,
    FEW_STEPS,
    LONG,
    SELF_REPORTED,
    SILENT_SECONDS,
    TALK,
    TEXTS,
    TWICE,
    JSONObject,
    called_names,
    crowd,
    error_cases,
    name_cases,
    page_cases,
)

from labkit.lab import PASS, Evidence, Text, Verdict

META = "io.modelcontextprotocol/"
REQUIRED_META = (META + "protocolVersion", META + "clientCapabilities")
EVERYWHERE = ("jsonrpc", "_meta", "resultType", "ttlMs", "cacheScope")  # not shown in wire lines
WIRE_CHARACTERS = 230  # of a message in a wire line
SHOWN_CHARACTERS = 800  # of what was expected, and of what was got
WRONG_ANSWER = "the answer to nobody's request"  # in what a server with --text-id sends
TOO_EARLY_SECONDS = 0.5  # a request that times out so soon, though it may wait for seconds, had no time
REASON_CHARACTERS = 5  # a shorter text is no reason
RUN = re.compile(f"{LONG[0]}{{9,}}")  # what is left of the long text
INVISIBLE = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029]")

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


def brief(message: Any) -> str:
    """A message without what every message carries; of a page of tools, the names."""

    def trim(key: str, value: Any) -> Any:
        if key == "tools" and isinstance(value, list):
            return [tool.get("name") if isinstance(tool, dict) else tool for tool in value]
        if isinstance(value, dict):
            return {key: trim(key, item) for key, item in value.items() if key not in EVERYWHERE}
        return value

    return cut(json.dumps(trim("", message), ensure_ascii=False))


def cut(text: str, most: int = WIRE_CHARACTERS) -> str:
    """The text as a line can show it: characters that end lines are written out, long ones shortened."""
    text = text.replace(LONG, f"{LONG[:2]}…{LONG[:2]}")
    text = RUN.sub(lambda found: f"{LONG[0]}×{len(found[0])}", text)
    text = INVISIBLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
    return text if len(text) <= most else text[: most - 1] + "…"


# Reading what was noted


def text_of(result: Any) -> str:
    """The text blocks of a tool result, or "" for anything else."""
    content = result.get("content") if isinstance(result, dict) else None
    blocks = content if isinstance(content, list) else []
    return "\n".join(str(block.get("text", "")) for block in blocks if isinstance(block, dict))


def is_error(result: Any) -> bool:
    return isinstance(result, dict) and result.get("isError") is True and text_of(result) != ""


def shown(seen: JSONObject) -> Text:
    """An `outcome`, in a line."""
    if "hung" in seen:
        seconds = f"{seen['seconds']:.1f}"
        return Text(f"nothing within {seconds} s", f"{seconds} 秒内没有任何结果")
    if "raised" in seen:
        name, text, seconds = seen["raised"], seen["text"], f"{seen['seconds']:.1f}"
        code, code_zh = ("", "") if seen["code"] is None else (f" with code {seen['code']}", f"，错误码 {seen['code']}")
        return Text(f"{name}{code} after {seconds} s: {text}", f"{name}{code_zh}，{seconds} 秒后：{text}")
    returned = json.dumps(seen.get("returned"), ensure_ascii=False)
    return Text(f"returned {returned}", f"返回了 {returned}")


def how_many(count: int) -> Text:
    return Text(f"{count} requests", f"{count} 个请求")


def fail(
    misconception: str | None, expected: Any, actual: Any, lines: Iterable[str] = (), **values: Any
) -> Verdict:
    """A red verdict: the misconception (None: not known), what should have come and what did, the wire.

    Prose is a Text; a str is data, or an identifier that is the same in every language.
    """

    def show(value: Any) -> str | Text:
        if isinstance(value, Text):
            return Text(cut(value.en, SHOWN_CHARACTERS), cut(value.zh, SHOWN_CHARACTERS))
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        return cut(text, SHOWN_CHARACTERS)

    return Verdict(False, misconception, values, show(expected), show(actual), wire=tuple(lines))


def first_red(judges: Callable[P, Iterator[Verdict]]) -> Callable[P, Verdict]:
    """One judge made of several verdicts: the first red one counts, and nothing after it is looked at."""

    def judge(*args: P.args, **kwargs: P.kwargs) -> Verdict:
        return next((verdict for verdict in judges(*args, **kwargs) if not verdict.passed), PASS)

    return judge


# What can turn any check red

ONE_LINE = Text("one message on each line, and a newline after it", "每行一条消息，末尾一个换行")
UNDERSTOOD = Text("a request that the server understands", "服务端能看懂的请求")


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
            yield fail("not_one_line", ONE_LINE, cut(entry["line"]), [line])
    for message in messages(evidence, server, "received"):
        if "id" not in message and not str(message.get("method")).startswith("notifications/"):
            lines = wire(evidence, server, [message])
            yield fail("request_without_id", Text("an id", "带有 id"), brief(message), lines)
    for request in requests(evidence, server):
        error = answer_to(evidence, server, request).get("error")
        if error and not _is_wrong_on_purpose(evidence, request):
            yield _refused(evidence, server, request, error)
    for message in messages(evidence, server, "sent"):
        if message.get("id") is None and "error" in message:
            words = message["error"]["message"]
            yield fail("request_refused", Text("a request", "一个请求"), words, wire(evidence, server), error=words)


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
        return _meta_missing(evidence, server, request, missing[0])
    if error["code"] == -32022:
        version = meta[REQUIRED_META[0]]
        return fail("wrong_version", error["data"]["supported"], version, lines, version=version)
    if request["method"] == "tools/list" and "cursor" in params:
        if params["cursor"] is None:
            return fail("null_cursor_sent", NO_CURSOR, "null", lines)
        reason = "cursor_changed"
        if params["cursor"] in _cursors_given(evidence, but=server):
            reason = "clients_share_something"
        expected = Text("a cursor of this server", "这个服务端给的游标")
        return fail(reason, expected, params["cursor"], lines)
    if request["method"] == "tools/call" and not isinstance(params.get("arguments", {}), dict):
        return fail("arguments_not_an_object", Text("an object", "一个对象"), params["arguments"], lines)
    if request["method"] == "tools/call" and isinstance(params.get("name"), str):
        for name in _listed(evidence, server):
            if name in params["name"] and name != params["name"]:
                return fail("model_name_on_the_wire", name, params["name"], lines)
            if params["name"] in name:
                return fail("name_taken_apart", name, params["name"], lines)
    return fail("request_refused", UNDERSTOOD, words, lines, error=words)


def _meta_missing(evidence: Evidence, server: str, request: JSONObject, key: str) -> Verdict:
    """A request without `_meta`; it tells more when those without parameters of their own had it."""
    bare = [other["params"] for other in requests(evidence, server) if set(other.get("params", {})) == {"_meta"}]
    has_own = bool(set(request.get("params", {})) - {"_meta"})
    lines = exchange(evidence, server, request)
    if has_own and any(key in params["_meta"] for params in bare):
        return fail("meta_lost_with_params", key, sorted(request["params"]), lines, key=key)
    return fail("meta_missing", key, sorted(request.get("params", {}).get("_meta") or {}), lines, key=key)


def _cursors_given(evidence: Evidence, but: str) -> list[Any]:
    """The cursors that the other servers gave."""
    others = [name for name in evidence.journals() if name != but]
    answers = [message for name in others for message in messages(evidence, name, "sent")]
    return [message.get("result", {}).get("nextCursor") for message in answers]


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
    if evidence.raised is not None and evidence.raised.type == "UnicodeDecodeError":
        said = f"{evidence.raised.type}: {evidence.raised.text}"
        yield fail("character_cut_in_two" if "'utf-8'" in said else "characters_lost", TEXTS[0], said)
    for number in range(len(TEXTS)):
        yield _judge_echo(evidence, number)
    yield _judge_discover(evidence, "tickets", "chunk_taken_for_line")
    yield _judge_discover(evidence, "notes", "reader_ended_by_noise")


def _judge_message(evidence: Evidence, server: str, message: JSONObject) -> Verdict:
    """What a client writes is a request with `_meta`, or a notification."""
    if "method" not in message:
        expected = Text("requests and notifications", "只有请求和通知")
        return fail("response_written", expected, brief(message), wire(evidence, server))
    meta = message.get("params", {}).get("_meta", {})
    for key in REQUIRED_META:
        if "id" in message and key not in meta:
            return _meta_missing(evidence, server, message, key)
    return PASS


def _judge_discover(evidence: Evidence, server: str, if_unheard: str) -> Verdict:
    """The answer of `discover`; `if_unheard` is why the server's may not have been heard, in time."""
    asked = requests(evidence, server, "server/discover")
    said = evidence.notes.get(f"{server} says", {"hung": True, "seconds": ECHO_SECONDS})
    lines = exchange(evidence, server, *asked[:1])
    expected = Text("the answer to server/discover", "server/discover 的回答")
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
    if wrong and ("raised" in said or WRONG_ANSWER in shown(said).en):
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
        return fail("character_cut_in_two" if _lacks_one(text, expected) else "characters_lost", expected, text, lines)
    if "returned" in seen:
        is_sent = seen["returned"] in [message.get("result") for message in messages(evidence, "tickets", "sent")]
        return fail("answer_to_wrong_request" if is_sent else None, expected, shown(seen), lines)
    return fail(_why_unanswered(evidence, asked, seen), expected, shown(seen), lines)


def _lacks_one(text: str, whole: str) -> bool:
    """Whether the text is the whole but for one character of the long run, which is gone or spoilt."""
    rest = text.replace("\ufffd", "")
    at = whole.find(LONG)
    return at >= 0 and rest == whole[:at] + whole[at + 1 :]


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

NEXT_ANSWERED = Text("the next request is answered", "下一个请求得到回答")


@first_red
def judge_errors(evidence: Evidence) -> Iterator[Verdict]:
    ids = [request["id"] for request in requests(evidence, "notes") if request["method"] != "server/discover"][:2]
    if len(ids) == 2 and ids[0] == ids[1]:
        expected = Text("two different ids", "两个不同的 id")
        yield fail("id_used_twice", expected, ids, wire(evidence, "notes"))
    for case, (method, params) in error_cases(evidence.nonce).items():
        yield _judge_error(evidence, case, method, params)
    yield _judge_slow(evidence)
    after = evidence.need("after")
    if "returned" not in after:
        yield fail("dead_after_error", NEXT_ANSWERED, shown(after), wire(evidence, "notes")[-2:])


def _judge_slow(evidence: Evidence) -> Verdict:
    """A request that was under way while others were answered with errors, and got a result."""
    seen = evidence.need("slow")
    asked = [request for request in calls(evidence, "notes") if arguments_of(request)]
    others = [request for request in requests(evidence, "notes") if "error" in answer_to(evidence, "notes", request)]
    lines = exchange(evidence, "notes", *asked, *others)
    if asked and text_of(result_of(evidence, "notes", asked[0])) == text_of(seen.get("returned")) != "":
        return PASS
    has_result = bool(asked and result_of(evidence, "notes", asked[0]))
    reason = "error_for_all" if has_result and _got_an_error(evidence, seen) else None
    return fail(reason, Text("the result of read_note", "read_note 的结果"), shown(seen), lines)


def _got_an_error(evidence: Evidence, seen: JSONObject) -> bool:
    """Whether the exception holds one of the errors that were meant for other requests."""
    answers = messages(evidence, "notes", "sent")
    return seen.get("code") is not None and seen["code"] in [answer.get("error", {}).get("code") for answer in answers]


def _judge_error(evidence: Evidence, case: str, method: str, params: JSONObject) -> Verdict:
    asked = [
        request
        for request in requests(evidence, "notes", method)
        if params.items() <= {"arguments": {}, **request["params"]}.items()
    ]
    if not asked:
        reason = "dead_after_error" if case != "method" else None
        expected = Text(f"{method} is sent", f"{method} 发出去了")
        return fail(reason, expected, shown(evidence.need(case)), wire(evidence, "notes")[-4:])
    error = answer_to(evidence, "notes", asked[0])["error"]
    lines = exchange(evidence, "notes", *asked)
    expected = Text(f"RpcError with code {error['code']}, at once", f"立刻抛出 RpcError，错误码 {error['code']}")
    if len(asked) > 1:
        return fail("sent_again", how_many(1), how_many(len(asked)), lines)
    if case not in evidence.notes and evidence.raised is not None:
        raised = f"{evidence.raised.type}: {evidence.raised.text}"
        actual = Text(
            f"{raised}, but not in `request`: it ended the task that reads",
            f"{raised}，但不是在 `request` 里抛出的：读取的任务因此结束了",
        )
        return fail(_why_reader_ended(evidence), expected, actual, lines)
    seen = evidence.need(case)
    values = {"seconds": ERROR_SECONDS, "code": error["code"]}
    is_late = seen["seconds"] >= ERROR_SECONDS
    if "returned" in seen:
        return fail("error_as_result", expected, shown(seen), lines)
    if is_late:
        return fail(_why_late(evidence, asked[0], seen, error["code"]), expected, shown(seen), lines, **values)
    if seen["code"] != error["code"]:
        reason = "error_without_code" if seen["code"] is None else "error_wrong_code"
        return fail("error_not_taken_out" if seen["code"] == 0 else reason, expected, shown(seen), lines)
    if error["message"] not in seen["text"] + seen["said"]:
        return fail("error_message_lost", error["message"], shown(seen), lines)
    if seen["data"] != error.get("data"):
        return fail("error_data_lost", {"data": error.get("data")}, {"data": seen["data"]}, lines)
    return PASS


def _why_late(evidence: Evidence, request: JSONObject, seen: JSONObject, code: int) -> str | None:
    """Why the error did not come in time; None where check 1 sees more: it shows how answers find their requests."""
    received = messages(evidence, "notes", "received")
    before = received[: received.index(request)]
    if any(message.get("method") == "notifications/cancelled" for message in before):
        return None  # it was not even sent before the slow request had been given up
    if request["id"] in [message["id"] for message in before if "id" in message]:
        return None  # the id was another's before, and who clears up after that one took this waiter away
    if seen.get("code") == code:
        return "error_late"
    return None if _got_an_error(evidence, evidence.notes.get("slow", {})) else "error_forgotten"


def _why_reader_ended(evidence: Evidence) -> str | None:
    """What an exception says that came out of the task that reads, while the request still waited."""
    assert evidence.raised is not None
    if evidence.raised.type == "KeyError":
        return "result_before_error"
    return "raised_in_the_reader" if evidence.raised.type in ("RpcError", "McpError") else None


# 3 pages

AN_END = Text("an end", "有个尽头")
NO_CURSOR = Text("no cursor", "没有游标")
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
            elif back not in given and back in _cursors_given(evidence, but=name):
                reason = "clients_share_something"  # it is unchanged, but another server's
            actual = NO_CURSOR if back is None else json.dumps(back, ensure_ascii=False)
            return fail(reason, json.dumps(got, ensure_ascii=False), actual, exchange(evidence, name, *asked))
    return PASS


def _judge_walk(evidence: Evidence, name: str, pages: list[list[str]]) -> Verdict:
    tools = [tool for page in pages for tool in page]
    asked = requests(evidence, name, "tools/list")
    lines = exchange(evidence, name, *asked[:MANY_PAGES])
    seen = evidence.need(name)
    if "hung" in seen:
        reason = "endless_walk" if len(asked) > 2 * len(pages) else None
        if _answers_of_all_lost(evidence):
            reason = "clients_share_something"
        return fail(reason, AN_END, _and(how_many(len(asked)), shown(seen)), lines)
    if "raised" in seen and len(asked) > 2 * len(pages):
        return fail("endless_walk", AN_END, _and(how_many(len(asked)), shown(seen)), lines)
    if "raised" in seen:
        reason = _why_listing_raised(seen, result_of(evidence, name, asked[-1]) if asked else {})
        return replace(fail(reason, tools, shown(seen), lines), frames=tuple(seen["frames"]))
    if any(isinstance(item, list) for item in seen["returned"]):
        return fail("pages_nested", tools, shown(seen), lines)
    names = [tool["name"] for tool in seen["returned"]]
    if len(asked) < len(pages) and set(names) == set(tools):
        expected = Text(f"{len(pages)} requests, one for each page", f"{len(pages)} 个请求，每页一个")
        actual = Text(f"{len(asked)}, and yet all the names", f"{len(asked)} 个，名字却一个不少")
        return fail(None, expected, actual, lines)
    if names == tools or (name == "circle" and set(names) == set(tools)):
        return PASS
    return fail(_why_other_tools(evidence, names, pages), tools, names, lines, count=len(names))


def _and(first: Text, then: Text) -> Text:
    return Text(f"{first.en}, then {then.en}", f"{first.zh}，然后{then.zh}")


def _answers_of_all_lost(evidence: Evidence) -> bool:
    """Whether several clients waited for ever for the same id, which each server had answered: they share a table."""
    lost = []
    for name in page_cases(evidence.nonce):
        asked = requests(evidence, name, "tools/list")
        if "hung" in evidence.need(name) and len(asked) == 1 and result_of(evidence, name, asked[0]):
            lost.append(asked[0]["id"])
    return len(lost) > 1 and len(set(map(repr, lost))) == 1


def _why_listing_raised(seen: JSONObject, last_page: JSONObject) -> str:
    if seen["raised"] == "KeyError" and "nextCursor" in seen["text"]:
        return "next_cursor_demanded"
    return "empty_page_refused" if last_page.get("tools") == [] else "listing_raised"


def _why_other_tools(evidence: Evidence, names: list[str], pages: list[list[str]]) -> str | None:
    """Why the tools are not those of the pages: how far each walk went, else what it made of its pages."""
    cases = page_cases(evidence.nonce)
    steps = {name: len(requests(evidence, name, "tools/list")) for name in cases}
    straight = {name: len(pages) for name, (_, pages) in cases.items() if name != "circle"}
    most = max(steps[name] for name in straight)
    if most < max(straight.values()) and all(steps[name] == min(there, most) for name, there in straight.items()):
        return "only_the_first_page" if most == 1 else "too_few_pages"
    if _each_cursor_sent_once_at_all(evidence):
        return "memory_of_cursors_shared"
    if steps["empty page"] == 2:
        return "short_page_is_the_end" if steps["circle"] == 2 else "empty_page_is_the_end"
    if steps["empty cursor"] == 1:
        return "empty_cursor_is_the_end"
    return _why_not_all(evidence, names, pages)


def _each_cursor_sent_once_at_all(evidence: Evidence) -> bool:
    """Whether no cursor was sent to two servers, though several gave the same: what one was sent, others were not."""
    cases = {name: requests(evidence, name, "tools/list") for name in page_cases(evidence.nonce)}
    sent = [request["params"].get("cursor") for asked in cases.values() for request in asked[1:]]
    left = [result_of(evidence, name, asked[-1]).get("nextCursor") for name, asked in cases.items() if asked]
    return len(sent) > 1 and len(set(map(repr, sent))) == len(sent) and any(cursor in sent for cursor in left if cursor)


def _why_not_all(evidence: Evidence, names: list[str], pages: list[list[str]]) -> str | None:
    """What became of the pages of a whole walk; the longest walk shows it best, unless nothing is wrong with it."""
    longest = "empty cursor"
    if isinstance(seen := evidence.notes.get(longest, {}).get("returned"), list):
        long_names, long_pages = [tool["name"] for tool in seen], page_cases(evidence.nonce)[longest][1]
        if long_names != [tool for page in long_pages for tool in page]:
            names, pages = long_names, long_pages
        elif names == [tool for page in pages[:-1] for tool in page]:
            return "circle_page_dropped"
    tools = [tool for page in pages for tool in page]
    if names == pages[-1]:
        return "pages_overwritten"
    if names == tools[len(pages[0]) :]:
        return "first_page_dropped"
    if set(names) == set(tools):
        return "page_twice" if len(names) > len(tools) else "pages_out_of_order"
    return "last_page_dropped" if names == tools[: len(names)] else None


# 4 translation

NOTHING = Text("nothing", "没有这一项")
OPTIONAL_FIELDS = ("description", "title", "annotations", "outputSchema", "icons")


@first_red
def judge_translation(evidence: Evidence) -> Iterator[Verdict]:
    asked = requests(evidence, "tickets", "tools/list")
    definitions = result_of(evidence, "tickets", asked[-1]).get("tools", []) if asked else []
    if not definitions:
        yield fail(None, "tools/list", Text("not asked", "没有请求过"), wire(evidence, "tickets"))
    raised = evidence.raised
    if raised and raised.type == "KeyError" and raised.text.strip("'\"") in OPTIONAL_FIELDS:
        actual = f"KeyError: {raised.text}"
        expected = Text("a translation of every tool", "每个工具都翻译出来")
        yield fail("optional_field_demanded", expected, actual, wire(evidence, "tickets")[-1:])
    for before, after in zip(definitions, evidence.need("definitions after"), strict=True):
        for key, was, is_now in _differences(before, after):
            name, line = before["name"], f"tickets ← {brief(before)}"
            yield fail("definition_changed", was, is_now, [line], tool=name, key=key)
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
    for key, sent, got in _differences(definition["inputSchema"], tool["input_schema"]):
        reason = "schema_added_to" if sent is NOTHING else "schema_changed"
        return fail(reason, sent, got, lines, tool=name, key=key)
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


def _differences(sent: Any, got: Any, at: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Where the two differ: the keys that lead there, what is in the first and in the second (or NOTHING)."""
    if not isinstance(sent, dict) or not isinstance(got, dict):
        if sent != got:
            yield at or "inputSchema", sent, got
        return
    for key in [*sent, *(key for key in got if key not in sent)]:
        where = f"{at}.{key}" if at else str(key)
        if key not in sent or key not in got:
            yield where, sent.get(key, NOTHING), got.get(key, NOTHING)
        else:
            yield from _differences(sent[key], got[key], where)


# 5 two tools called search

DIFFERENT = Text("two different names", "两个不同的名字")


@first_red
def judge_collision(evidence: Evidence) -> Iterator[Verdict]:
    listed = evidence.need("listed")
    names = {server: evidence.need(f"{server} name") for server in ALIASES}
    both = sorted(names.values())
    lines = [line for server in ALIASES for line in wire(evidence, server, calls(evidence, server))]
    if both[0] == both[1]:
        reason = "names_not_prefixed" if both[0] == "search" else "alias_not_in_name"
        yield fail(reason, DIFFERENT, both, lines, name=both[0])
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
    expected = Text(f"{query!r} arrives at {server}", f"{query!r} 到达 {server}")
    if not arrived:
        reason = "name_taken_apart" if "__" in ALIASES[server] and not asked else "call_not_sent"
        return fail(reason, expected, shown(seen), lines, server=server)
    if arrived != [server]:
        reason = "call_to_wrong_server" if server not in arrived else "sent_again"
        places = ", ".join(arrived)
        return fail(reason, expected, Text(f"it arrived at {places}", f"到了 {places}"), lines, server=server)
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
        yield fail(None, Text("text", "文字"), names)
    table = [f"{alias} + {tool} = {name}" for (alias, tool), name in zip(cases, names, strict=True)]
    if names == [tool for _, tool in cases]:
        yield fail("names_unchanged", "mcp__notes__search", names[0], table[:3], name="search")
    for line, name in zip(table, names, strict=True):
        letters = set(name) - set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")
        if letters or not name:
            yield fail("illegal_letters", "A-Z a-z 0-9 _ -", name, [line], letters="".join(sorted(letters)))
    for line, name in zip(table, names, strict=True):
        if len(name) > 64:
            long = Text(f"{len(name)} characters: {name}", f"{len(name)} 个字符：{name}")
            yield fail("name_too_long", Text("at most 64 characters", "最多 64 个字符"), long, [line])
    for index, name in enumerate(names):
        if name in names[:index]:
            first = names.index(name)
            reason = _why_equal(cases[first], cases[index])
            yield fail(reason, DIFFERENT, name, [table[first], table[index]], name=name)
    yield _judge_crowd(evidence.need("crowd"))
    yield _judge_called_names(evidence, cases)
    again = evidence.need("names again")
    if again != names:
        here, there = next((pair for pair in zip(names, again, strict=True) if pair[0] != pair[1]), (names, again))
        yield fail("name_changes_between_runs", here, there)


MANY_EQUAL = 3  # of the crowd; among as many pairs even a digest of 32 bits is equal once in two thousand times


def _judge_crowd(names: list[str]) -> Verdict:
    """Names that only their digests tell apart: a short digest is not enough."""
    equal = len(names) - len(set(names))
    if equal <= MANY_EQUAL:
        return PASS
    twins: dict[str, list[str]] = {}
    for pair, name in zip(crowd(), names, strict=True):
        twins.setdefault(name, []).append(f"{' + '.join(pair)} = {name}")
    lines = next(lines for lines in twins.values() if len(lines) > 1)[:2]
    expected = Text(f"{len(names)} different names", f"{len(names)} 个不同的名字")
    return fail("digest_too_short", expected, len(set(names)), lines, count=len(names), equal=equal)


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


ERROR_RESULT = Text("a result with isError: true", "isError: true 的结果")
ERROR_WITH_TEXT = Text("a result with isError: true and a text", "isError: true、带文字的结果")
NOTHING_CAME = Text("nothing", "什么都没有")
ONCE_EACH = Text("each call is sent once", "每个调用只发一次")


@first_red
def judge_failures(evidence: Evidence) -> Iterator[Verdict]:
    if evidence.end == "timeout" and "silent" not in evidence.notes and calls(evidence, "silent"):
        yield fail("no_deadline", ERROR_RESULT, NOTHING_CAME, _given_up(evidence), seconds=SILENT_SECONDS)
    raised = [case for case in FAILURES if "raised" in evidence.notes.get(case, {})]
    if {"silent", "stale", "dying"} <= set(raised):
        seen = evidence.need(raised[0])
        yield fail("failures_raised", ERROR_RESULT, shown(seen), _given_up(evidence))
    unmarked = [case for case in FAILURES if text_of(seen := _returned(evidence, case)) and not is_error(seen)]
    if {"silent", "stale", "dying", "unknown"} <= set(unmarked):
        actual = _returned(evidence, "unknown")
        is_text = isinstance(actual.get("isError"), str)
        reason = "is_error_is_a_text" if is_text else "failures_look_like_answers"
        yield fail(reason, ERROR_RESULT, actual, _given_up(evidence))
    silent = evidence.need("silent")
    asked = [request for request in calls(evidence, "silent") if arguments_of(request).get("id") == "T-01"]
    has_waited = silent["seconds"] >= SILENT_SECONDS * 0.8
    if "returned" in silent and not has_waited and asked and not answer_to(evidence, "silent", asked[0]):
        seconds = f"{SILENT_SECONDS:g}"
        expected = Text(f"an error result after {seconds} s", f"{seconds} 秒后得到错误结果")
        yield fail("timeout_ends_the_connection", expected, shown(silent), _given_up(evidence))
    for case, words in FAILURES.items():
        yield _judge_failure(evidence, case, *words)
    for alias in AGAIN_CALLS:
        yield _judge_again(evidence, alias)
    yield _judge_hurry(evidence)
    yield _judge_after_death(evidence)
    first, later = evidence.need("unknown"), evidence.need("unknown at the end")
    if text_of(first["returned"]) != text_of(later["returned"]):
        yield fail("error_results_shared", text_of(first["returned"]), text_of(later["returned"]))


def _judge_again(evidence: Evidence, alias: str) -> Verdict:
    """One call of the server has failed; the server is well, and its tools can still be called."""
    seen, tool = evidence.need(f"{alias} again"), AGAIN_CALLS[alias][0]
    asked = [request for request in calls(evidence, alias) if request["params"].get("name") == tool]
    down = evidence.need("down after failures")[alias]
    lines = exchange(evidence, alias, *calls(evidence, alias)[-3:])
    if alias in down:
        expected = Text(f"{alias} is not in `down`", f"{alias} 不在 `down` 里")
        return fail("failed_call_marks_down", expected, down, lines, server=alias)
    if any(judge_returned(evidence, seen, alias, request).passed for request in asked):
        return PASS
    return fail(None, NEXT_ANSWERED, shown(seen), lines)


def _returned(evidence: Evidence, case: str) -> Any:
    return evidence.notes.get(case, {}).get("returned")


def _judge_failure(evidence: Evidence, case: str, server: str, if_raised: str, if_no_error: str) -> Verdict:
    seen = evidence.need(case)
    asked = calls(evidence, server)
    lines = exchange(evidence, server, *asked)
    expected = ERROR_WITH_TEXT
    texts = [json.dumps(arguments_of(request)) for request in asked if arguments_of(request)]
    if len(texts) > len(set(texts)):
        return fail("sent_again", ONCE_EACH, how_many(len(asked)), lines)
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
        expected = Text("an error result at once", "立刻得到错误结果")
        return fail("death_unnoticed", expected, shown(seen), lines, seconds=DEATH_SECONDS)
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
    asked = [request for request in calls(evidence, "silent") if request["params"].get("name") == "get_ticket"]
    told = messages(evidence, "silent", "received", "notifications/cancelled")
    lines = _given_up(evidence)
    ids = [note.get("params", {}).get("requestId") for note in told]
    hurry = next((request["id"] for request in asked if arguments_of(request).get("id") == "T-02"), None)
    if hurry is None:  # it waited until it was given up: check 1 sees why
        return fail(None, Text("both requests are sent at once", "两个请求都立刻发出"), how_many(len(asked)), lines)
    if sorted(map(repr, ids)) != sorted(repr(request["id"]) for request in asked):
        return fail("server_not_told", f"notifications/cancelled: {[call['id'] for call in asked]}", ids, lines)
    if ids[0] != hurry:  # the order tells more than the times, which a busy machine stretches
        expected = Text(f"request {hurry} is given up first", f"先放弃请求 {hurry}")
        return fail("own_deadline_ignored", expected, ids, lines)
    return PASS


def _given_up(evidence: Evidence) -> Lines:
    """The calls of the silent server, and what it was told."""
    told = messages(evidence, "silent", "received", "notifications/cancelled")
    return wire(evidence, "silent", [*calls(evidence, "silent"), *told])


NONE_OF_THE_DEAD = Text("no tools of the dead server", "没有已退出的服务端的工具")


def _judge_after_death(evidence: Evidence) -> Verdict:
    starts = [entry for entry in evidence.journal("dying") if entry.get("event") == "start"]
    offered = evidence.need("dying offers")
    if offered and len(starts) == 1:
        return fail("down_server_listed", NONE_OF_THE_DEAD, offered, wire(evidence, "dying")[-2:])
    if "returned" not in evidence.need("alive"):
        return fail("dead_after_error", NEXT_ANSWERED, shown(evidence.need("alive")))
    return PASS


# 8 one server down

RETURNS = Text("refresh returns", "refresh 正常返回")
RETURNS_WITH_DOWN = Text("refresh returns; 4 servers in `down`", "refresh 正常返回，4 个服务端在 `down` 里")
FAILURE_TYPES = ("ServerDown", "RequestTimeout", "McpError", "OSError", "FileNotFoundError", "TimeoutError")


@first_red
def judge_down(evidence: Evidence) -> Iterator[Verdict]:
    lines = [line for server in ("crashed", "silent", "notes") for line in wire(evidence, server, most=2)]
    if evidence.end == "timeout" and "refresh" not in evidence.notes and requests(evidence, "silent"):
        yield fail("no_deadline", RETURNS, NOTHING_CAME, lines, seconds=SILENT_SECONDS)
    refresh, down = evidence.need("refresh"), evidence.need("down")
    if "hung" in refresh:
        again = len(requests(evidence, "silent", "server/discover")) > 1
        healthy = len(requests(evidence, "notes")) > 1
        reason = "refresh_tries_again" if again else "no_deadline" if healthy else None
        yield fail(reason, RETURNS, shown(refresh), lines, seconds=SILENT_SECONDS)
    if "raised" in refresh:
        reason = "refresh_raised" if refresh["raised"] in FAILURE_TYPES else None
        if refresh["raised"] == "RequestTimeout":
            reason = "timeout_not_caught"  # what was raised earlier, by the servers that fail at once, was caught
        yield fail(reason, RETURNS_WITH_DOWN, shown(refresh), lines)
    if down.get("notes"):
        yield fail("healthy_server_down", Text("notes is not in `down`", "notes 不在 `down` 里"), down, lines)
    yield _judge_table(evidence, down, lines)
    yield _judge_works(evidence, lines)
    for alias in BROKEN:
        yield _judge_down_call(evidence, alias, lines)
    yield _judge_start(evidence, lines)
    yield _judge_refresh_again(evidence)
    yield _judge_end(evidence, lines)


def _judge_table(evidence: Evidence, down: JSONObject, lines: list[str]) -> Verdict:
    """The four broken servers, each with its reason."""
    no_texts = evidence.need("no texts")
    absent = [alias for alias in BROKEN if down.get(alias) is None]
    if absent and len(absent) < len(BROKEN) and not evidence.need("listed"):
        expected = Text("4 servers in `down`, notes listed", "4 个服务端在 `down` 里，notes 的工具都列出来")
        return fail("first_failure_ends_all", expected, down, lines)
    for alias in absent:
        return fail("not_in_down", Text(f"{alias} in `down`", f"{alias} 在 `down` 里"), down, lines, server=alias)
    for alias in BROKEN:
        if isinstance(down[alias], str) and len(down[alias]) >= REASON_CHARACTERS and alias not in no_texts:
            continue
        is_exception = isinstance(down[alias], str) and alias in no_texts and "(" in down[alias]
        expected = Text(f"down[{alias!r}] is a reason, a text", f"down[{alias!r}] 是一段说明原因的文字")
        reason = "reason_is_no_text" if is_exception else "down_without_reason"
        return fail(reason, expected, down, lines, server=alias)
    if down["missing"] == down["silent"]:
        expected = Text("a reason for each", "各有各的原因")
        return fail("down_without_reason", expected, down, lines, server="silent")
    return PASS


def _judge_works(evidence: Evidence, lines: list[str]) -> Verdict:
    """The healthy server's tools, and no others, can be used."""
    works = evidence.need("works")
    own = evidence.need("own names")
    strangers = [name for name in evidence.need("listed") if name not in own]
    asked = calls(evidence, "notes")
    if strangers and own[0] in evidence.need("listed"):
        expected = Text("tools of notes only", "只有 notes 的工具")
        return fail("down_server_listed", expected, evidence.need("listed"), lines)
    if asked and evidence.nonce in text_of(works.get("returned")) and not is_error(works["returned"]):
        return PASS
    if asked and _has_object(asked[0]) and arguments_of(asked[0]) != {"query": "login"}:
        return fail("arguments_lost", {"query": "login"}, asked[0]["params"], lines)
    verdict = judge_returned(evidence, works, "notes", asked[0]) if asked else PASS
    if verdict.misconception:
        return verdict
    return fail("healthy_server_lost", Text("the notes can be searched", "笔记可以搜索"), shown(works), lines)


def _judge_down_call(evidence: Evidence, alias: str, lines: list[str]) -> Verdict:
    seen = evidence.need(f"call {alias}")
    if is_error(seen.get("returned")):
        return PASS
    return fail("down_call_no_error_result", ERROR_RESULT, shown(seen), lines, server=alias)


def _judge_start(evidence: Evidence, lines: list[str]) -> Verdict:
    """The second silent server was started before the first one's deadline had passed."""
    first, second = evidence.journal("silent"), evidence.journal("silent-2")
    if not first or not second:
        expected = Text("both silent servers are started", "两个无响应的服务端都启动了")
        return fail(None, expected, Text("one was not", "有一个没有启动"), lines)
    told = [event["at"] for event in first if event.get("message", {}).get("method") == "notifications/cancelled"]
    given_up = told[0] if told else first[0]["at"] + SILENT_SECONDS
    between = evidence.notes.get("silent-2 starts", 1e9) - evidence.notes.get("silent starts", 0.0)
    if second[0]["at"] > given_up and between > SILENT_SECONDS / 2:
        seconds = f"{second[0]['at'] - first[0]['at']:.1f}"
        expected = Text("both silent servers are started at once", "两个无响应的服务端同时启动")
        apart = Text(f"{seconds} s apart", f"相隔 {seconds} 秒")
        return fail("waited_in_sequence", expected, apart, lines)
    return PASS


@first_red
def _judge_refresh_again(evidence: Evidence) -> Iterator[Verdict]:
    """The crashed server could be started now; a tool of notes is gone."""
    again, down, listed = (evidence.need(key) for key in ("refresh again", "down again", "listed again"))
    (crashed, notes), gone = evidence.need("back"), evidence.need("gone")
    lines = [line for server in ("crashed", "notes") for line in wire(evidence, server)[-3:]]
    starts = [entry for entry in evidence.journal("crashed") if entry.get("event") == "start"]
    expected = Text("the crashed server is back", "崩溃过的服务端恢复了")
    if "returned" not in again or len(starts) < 2:
        reason = "server_never_back" if len(starts) < 2 else None
        yield fail(reason, expected, shown(again) if "returned" not in again else down, lines)
    if "crashed" in down:
        is_old = bool(requests(evidence, "crashed", "tools/list"))
        yield fail("down_never_cleared" if is_old else None, expected, down, lines)
    if gone in listed:
        still = Text(f"{gone} is not listed any more", f"不再列出 {gone}")
        yield fail("old_tools_listed", still, listed, lines)
    if crashed in listed and notes in listed and listed.index(crashed) > listed.index(notes):
        order = Text("the servers in the order of the configuration", "服务端按配置里的顺序排列")
        yield fail("order_of_arrival", order, listed, lines)
    if crashed not in listed:
        yield fail(None, expected, listed, lines)


def _judge_end(evidence: Evidence, lines: list[str]) -> Verdict:
    left = evidence.need("left running")
    expected = Text("no server runs after close()", "close() 之后没有服务端在运行")
    return fail("server_left_running", expected, left, lines) if left else PASS


# 9 the agent loop


@first_red
def judge_loop(evidence: Evidence) -> Iterator[Verdict]:
    yield _judge_run(evidence)
    yield _judge_calls(evidence)
    yield _judge_stopped(evidence)
    yield _judge_fatal(evidence)


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
        yield fail("history_not_shown", Text("the results of the calls", "各个调用的结果"), heard[-1]["messages"])
    if "raised" in run:
        yield fail("bad_arguments_raised" if len(heard) == 4 else None, answer, shown(run))
    if run["answer"] == TALK:
        yield fail("text_taken_for_answer", answer, TALK)
    for said in (heard[-1]["messages"], run["messages"]):
        yield judge_pairs(said)
    if len(heard) < 5:
        answered = Text(f"{len(heard)}; answer {run['answer']!r}", f"{len(heard)} 次；回答 {run['answer']!r}")
        yield fail("stopped_early", Text("5 questions to the model", "询问模型 5 次"), answered, count=len(heard))
    if run["answer"] != answer or len(heard) != 5:
        yield fail("no_answer", answer, run["answer"])


CALLS: dict[str, tuple[str, str, JSONObject]] = {  # id of the call -> server, tool, arguments
    "c1": ("tickets", "get_ticket", {"id": "T-01"}),
    "c2": ("notes", "read_note", {"id": "N-01"}),
    "c3": ("tickets", "get_ticket", {"id": "T-99"}),
    "c4": ("notes", "read_note", {"id": "N-02"}),
    "c5": ("tickets", "get_ticket", {"id": TWICE}),
    "c7": ("tickets", "close_ticket", {"id": TWICE}),
    "c8": ("tickets", "echo", FALSY),
    "c10": ("tickets", "get_ticket", {"id": TWICE}),
}


@first_red
def _judge_calls(evidence: Evidence) -> Iterator[Verdict]:
    """What the servers received, and what the model was told of it."""
    results = _results(evidence.need("run heard")[-1]["messages"])
    for key in CALLS:
        yield _judge_call(evidence, results, key)
    sent = [request["params"].get("arguments", {}) for request in calls(evidence, "notes")]
    if any(not isinstance(arguments, dict) for arguments in sent):
        lines = exchange(evidence, "notes", *calls(evidence, "notes"))
        expected = Text("no call with broken arguments", "不带坏参数去调用")
        yield fail("bad_arguments_sent", expected, sent, lines)
    for key in ("c6", "c9"):
        if results[key].get("is_error") is not True or not results[key].get("content"):
            expected = Text("is_error: true and a text", "is_error: true 和一段文字")
            yield fail("error_result_lost", expected, results[key])


def _judge_call(evidence: Evidence, results: dict[str, JSONObject], key: str) -> Verdict:
    """One call of the model's: what arrived at the server, and what the model was told of the result."""
    (server, tool, arguments), told = CALLS[key], results[key]
    same = [other for other in CALLS if CALLS[other] == CALLS[key]]  # the calls that are alike, this one too
    asked = [request for request in calls(evidence, server) if _is_call(request, tool, arguments)]
    lines = exchange(evidence, server, *asked or calls(evidence, server))
    call = f"{tool} {json.dumps(arguments)}"
    expected = Text(f"{call} arrives at {server}", f"{call} 到达 {server}")
    if len(asked) < len(same):
        if asked:
            return fail("repeated_call_not_sent", how_many(len(same)), how_many(len(asked)), lines, tool=tool)
        return fail(_why_not_asked(evidence, server, tool, arguments), expected, told, lines)
    if len(asked) > len(same):
        return fail("sent_again", ONCE_EACH, how_many(len(asked)), lines)
    said = result_of(evidence, server, asked[same.index(key)])
    others = [text_of(result_of(evidence, server, request)) for request in calls(evidence, server)]
    is_another = any(_holds(told.get("content"), text) for text in others if text and text != text_of(said))
    if is_another and not _holds(told.get("content"), text_of(said)):
        return fail("result_of_another_call", text_of(said), told.get("content"), lines)
    if told.get("is_error", False) is not said.get("isError", False):
        return fail("error_result_lost", f"is_error: {said.get('isError', False)}", told, lines)
    if not _holds(told.get("content"), text_of(said)):
        return fail("result_lost", text_of(said), told.get("content"), lines)
    return PASS


def _is_call(request: JSONObject, tool: str, arguments: JSONObject) -> bool:
    return request["params"].get("name") == tool and json.dumps(arguments_of(request)) == json.dumps(arguments)


def _holds(content: Any, text: str) -> bool:
    """Whether the text is in there, as it is or as JSON writes it."""
    whole = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    forms = (text, json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1])
    return any(form in whole for form in forms)


def _why_not_asked(evidence: Evidence, server: str, name: str, arguments: JSONObject) -> str:
    """Why a call did not arrive as the model had made it: with other arguments, under another name, or not at all."""
    known = [wanted for _, _, wanted in CALLS.values()] + [{"id": ENDLESS_TICKET}]
    for request in calls(evidence, server):
        if request["params"].get("name") == name and _has_object(request) and arguments_of(request) not in known:
            return "falsy_arguments_dropped" if arguments == FALSY else "arguments_lost"
    sent = [request["params"].get("name") for request in calls(evidence, server)]
    return "model_name_on_the_wire" if set(sent) & set(evidence.need("names")) else "call_not_sent"


@first_red
def _judge_stopped(evidence: Evidence) -> Iterator[Verdict]:
    """A model that never stops calling."""
    stopped, heard = evidence.need("stopped"), evidence.need("stopped heard")
    expected = Text(f"{FEW_STEPS} questions to the model, no answer", f"询问模型 {FEW_STEPS} 次，没有回答")
    came = shown(stopped) if "raised" in stopped else Text(*[repr(stopped.get("answer"))] * 2)
    actual = Text(f"{len(heard)} questions; {came.en}", f"询问 {len(heard)} 次；{came.zh}")
    if len(heard) > 2 * FEW_STEPS:
        yield fail("no_step_limit", expected, actual, limit=FEW_STEPS)
    if "raised" in stopped:
        yield fail("step_limit_raised", expected, actual)
    if len(heard) != FEW_STEPS:
        yield fail("step_limit_off_by_one", expected, actual, limit=FEW_STEPS, count=len(heard))
    if stopped["answer"] is not None:
        yield fail("limit_taken_for_answer", expected, actual)
    yield judge_pairs(stopped["messages"])


@first_red
def _judge_fatal(evidence: Evidence) -> Iterator[Verdict]:
    """A turn in which a server dies: at the next step its tools are not offered any more."""
    fatal, heard = evidence.need("fatal"), evidence.need("fatal heard")
    lines = wire(evidence, "tickets")[-1:]
    if "raised" in fatal or len(heard) < 2:
        yield fail(None, Text("the turn goes on", "这一轮继续"), shown(fatal), lines)
    starts = [entry for entry in evidence.journal("tickets") if entry.get("event") == "start"]
    given = [tool.get("name") for tool in heard[1]["tools"]]
    if len(starts) > 1 or not set(given) & set(evidence.need("names of tickets")):
        return  # it was started again, which is another way to be right; or it is not offered
    reason: str | None = "tools_asked_once"
    if set(evidence.need("offered at the end")) & set(evidence.need("names of tickets")):
        reason = "down_server_listed" if fatal["seconds"] < DEATH_SECONDS else None
    yield fail(reason, NONE_OF_THE_DEAD, given, lines)


def _results(transcript: list[JSONObject]) -> dict[str, JSONObject]:
    """The tool messages, by the ids of their calls."""
    return {message.get("tool_call_id", ""): message for message in transcript if message.get("role") == "tool"}


RESULT_PER_CALL = Text(
    "after each message with calls one result per call, in order", "每条带调用的消息之后，按顺序每个调用一个结果"
)


def judge_pairs(transcript: list[JSONObject]) -> Verdict:
    """After each message with calls stands one result per call, in the order of the calls."""
    expected, actual = RESULT_PER_CALL, _roles(transcript)
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

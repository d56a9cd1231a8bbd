"""What can go wrong between us and a provider: each ends in one sentence that a person can act on, or is tried again.

The waiting between tries is handed in and only noted. The key is looked for in every text that comes out of a failure.
"""

from __future__ import annotations

import logging
import sys
import time
import traceback
from email.utils import formatdate
from pathlib import Path
from typing import Any

import anyio
import pytest
from kit import LAB
from mock_model_server import (
    ModelServer,
    Reply,
    Script,
    chat,
    chat_chunk,
    chat_events,
    document,
    error,
    events,
    messages,
    messages_events,
    page,
)

sys.path.insert(0, str(LAB))

from host.models import ModelSettings, provider
from host.models.anthropic_messages import AnthropicMessages
from host.models.complaints import MOST_RETRY_AFTER, ModelFailed, retry_after
from host.models.openai_chat import OpenAIChat
from host.models.provider import PAUSES, Patience
from host.models.real import Api, RealModel
from host.words import LANGUAGES

JSONObject = dict[str, Any]

pytestmark = pytest.mark.anyio

KEY = "sk-proj-NEVER-SHOW-THIS-0123456789"
QUESTION = {"role": "user", "content": "hello"}
BOTH = pytest.mark.parametrize("api", [OpenAIChat(), AnthropicMessages()], ids=["openai", "anthropic"])


class Waits:
    """Stands in for `anyio.sleep`: what was waited for is noted, and takes no time."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


def model(base_url: str, waits: Waits | None = None, api: Api | None = None, **patience: Any) -> RealModel:
    settings = ModelSettings("m", base_url, KEY)
    return RealModel(api or OpenAIChat(), settings, Patience(**{"sleep": waits or Waits(), **patience}))


def ok(api: Api) -> Reply:
    return chat("fine") if isinstance(api, OpenAIChat) else messages("fine")


async def failure(*replies: Script, api: Api | None = None, **patience: Any) -> tuple[ModelFailed, int]:
    """The error that these replies end in, and how often was asked."""
    with ModelServer(*replies) as server:
        with pytest.raises(ModelFailed) as caught:
            await model(f"{server.url}/v1", api=api, **patience).reply([QUESTION], [])
        return caught.value, len(server.asked)


# Tried again


@BOTH
@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 529])
async def test_a_passing_trouble_is_tried_again(api: Api, status: int) -> None:
    waits = Waits()
    with ModelServer(error(status, "busy"), page(status, "<html>busy</html>"), ok(api)) as server:
        message = await model(server.url, waits, api).reply([QUESTION], [])
        assert server.bodies[0] == server.bodies[1] == server.bodies[2]
    assert message["content"] == "fine"
    assert len(waits.seconds) == 2
    for waited, pause in zip(waits.seconds, PAUSES, strict=False):
        assert 0.7 * pause <= waited <= 1.3 * pause, "not all students of a class at the same moment"


async def test_each_further_try_is_told_with_its_reason(caplog: pytest.LogCaptureFixture) -> None:
    with ModelServer(error(503, "loading the model"), chat("fine")) as server:
        await model(server.url).reply([QUESTION], [])
    (line,) = caplog.messages
    assert line.startswith("the model does not answer yet (HTTP 503: loading the model); next try in 0.")


async def test_the_tries_come_to_an_end() -> None:
    bad, asked = await failure(*[error(503, "overloaded")] * 9)
    assert asked == len(PAUSES) + 1
    assert "did not answer at any try (HTTP 503): overloaded" in str(bad)


@pytest.mark.parametrize(
    ("headers", "waited"),
    [
        ({"Retry-After": "7"}, 7.0),
        ({"Retry-After": "0"}, 0.0),
        ({"Retry-After": "1.5"}, 1.5),
        ({"Retry-After-Ms": "250", "Retry-After": "7"}, 0.25),
        ({"Retry-After": "Fri, 31 Dec 1999 23:59:59 GMT"}, 0.0),
    ],
)
async def test_the_time_that_a_provider_asks_for_is_waited(headers: dict[str, str], waited: float) -> None:
    waits = Waits()
    with ModelServer(error(429, "slow down", **headers), chat("fine")) as server:
        await model(server.url, waits).reply([QUESTION], [])
    assert waits.seconds == [waited]


async def test_a_wait_that_nobody_would_sit_through_ends_the_turn_and_says_how_long() -> None:
    bad, asked = await failure(error(429, "tokens per day", **{"Retry-After": "3600"}))
    assert asked == 1
    assert "wants us to wait 3600 s (HTTP 429): tokens per day" in str(bad)


@pytest.mark.parametrize("text", ["", "soon", "-5", "nan", "Fri, 99 Dec 1999"])
def test_a_retry_after_that_says_nothing_is_passed_over(text: str) -> None:
    assert retry_after({"retry-after": text}) is None


def test_a_retry_after_may_be_a_date() -> None:
    seconds = retry_after({"retry-after": formatdate(time.time() + 30, usegmt=True)})
    assert seconds is not None and 25 < seconds < 31 < MOST_RETRY_AFTER


async def test_a_server_that_is_not_there_is_tried_again_and_then_named() -> None:
    with ModelServer() as gone:
        pass
    waits = Waits()
    with pytest.raises(ModelFailed) as caught:
        await model(f"{gone.url}/v1", waits).reply([QUESTION], [])
    assert len(waits.seconds) == len(PAUSES)
    assert f"the model at {gone.url}/v1 cannot be reached" in str(caught.value)
    assert "check MODEL_BASE_URL, and that its server is running" in str(caught.value)


async def test_a_connection_that_closes_without_a_word_is_tried_again() -> None:
    with ModelServer(Reply(status=0), chat("fine")) as server:
        assert (await model(server.url).reply([QUESTION], []))["content"] == "fine"


@BOTH
@pytest.mark.parametrize("then", ["break", "end"])
async def test_a_stream_that_breaks_off_is_tried_again_while_nobody_has_seen_any_of_it(api: Api, then: str) -> None:
    half = chat_events("half of it")[:3] if isinstance(api, OpenAIChat) else messages_events("half of it")[:5]
    with ModelServer(events(half, then=then), ok(api)) as server:
        assert (await model(server.url, api=api).reply([QUESTION], []))["content"] == "fine"


@BOTH
async def test_a_stream_that_breaks_off_under_a_persons_eyes_is_an_error(api: Api) -> None:
    half = chat_events("half of it")[:3] if isinstance(api, OpenAIChat) else messages_events("half of it")[:5]
    seen: list[str] = []
    with ModelServer(events(half, then="break")) as server:
        talking = model(server.url, api=api)
        talking.on_text = seen.append
        with pytest.raises(ModelFailed, match=r"the answer of the model at .* broke off"):
            await talking.reply([QUESTION], [])
    assert "".join(seen).startswith("half ")


async def test_an_answer_that_was_complete_before_the_line_broke_is_an_answer() -> None:
    whole = chat_events("fine")[:-1]  # no [DONE]
    with ModelServer(events(whole, then="break")) as server:
        assert (await model(server.url).reply([QUESTION], []))["content"] == "fine"


@pytest.mark.parametrize(
    ("api", "bad"),
    [
        (AnthropicMessages(), {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
        (OpenAIChat(), {"error": {"type": "server_error", "message": "the engine has crashed"}}),
        (OpenAIChat(), {"error": {"code": 502, "message": "upstream"}, "choices": []}),
    ],
)
async def test_a_passing_error_inside_a_stream_is_tried_again(api: Api, bad: JSONObject) -> None:
    with ModelServer(events([bad]), ok(api)) as server:
        assert (await model(server.url, api=api).reply([QUESTION], []))["content"] == "fine"


# Told at once


@BOTH
@pytest.mark.parametrize(
    ("status", "said"),
    [
        (400, "refuses the request (HTTP 400): no such field; "),
        (401, "does not accept the key (HTTP 401): no such field; check MODEL_API_KEY"),
        (402, "answers only paid requests (HTTP 402): no such field"),
        (403, "does not accept the key (HTTP 403): no such field; check MODEL_API_KEY"),
        (404, "does not know the model or the address (HTTP 404): no such field; check MODEL_NAME and MODEL_BASE_URL"),
        (413, "refuses the request (HTTP 413): no such field"),
        (422, "refuses the request (HTTP 422): no such field"),
    ],
)
async def test_a_refusal_is_told_in_the_providers_own_words(api: Api, status: int, said: str) -> None:
    bad, asked = await failure(error(status, "no such field"), api=api)
    assert asked == 1
    assert said.rstrip("; ") in str(bad)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"error": {"message": "the words", "type": "x", "code": None}}, "the words"),
        ({"type": "error", "error": {"type": "invalid_request_error", "message": "the words"}}, "the words"),
        ({"error": "the words"}, "the words"),
        ({"message": "the words"}, "the words"),
        ({"detail": "the words"}, "the words"),
        ({"detail": [{"loc": ["body"], "msg": "the words"}]}, "the words"),
        ([{"error": {"code": 400, "message": "the words", "status": "INVALID"}}], "the words"),
        ({"error": {"nothing": "known"}}, '{"error": {"nothing": "known"}}'),
        ("the words", "the words"),
        ({}, "{}"),
    ],
)
async def test_the_words_are_found_wherever_a_provider_puts_them(body: Any, words: str) -> None:
    bad, _ = await failure(document(body, 400))
    assert str(bad).endswith(f"(HTTP 400): {words}")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("<html><head><title>404 Not\n Found</title></head><body>long</body></html>", "404 Not Found"),
        ("<!DOCTYPE html><p>" + "x" * 5000, "an HTML page"),
        ("", "Not Found"),
        ("404 page not found\n", "404 page not found"),
        ("a" * 5000, "a" * 299 + "…"),
    ],
)
async def test_a_page_instead_of_json_is_told_in_a_line(text: str, words: str) -> None:
    bad, _ = await failure(page(404, text))
    assert f"(HTTP 404): {words}; check" in str(bad)


async def test_without_a_key_the_sentence_says_that_there_is_none() -> None:
    with ModelServer(error(401, "who are you?")) as server, pytest.raises(ModelFailed) as caught:
        await RealModel(OpenAIChat(), ModelSettings("m", server.url, None)).reply([QUESTION], [])
    assert "wants a key (HTTP 401): who are you?; MODEL_API_KEY is not set" in str(caught.value)


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (
            document({"error": {"code": "insufficient_quota", "message": "no credit"}}, 429),
            "only paid requests (HTTP 429)",
        ),
        (error(503, "no", **{"X-Should-Retry": "false"}), "refuses the request (HTTP 503): no"),
        (error(307, "", Location="https://other/v1"), "points to another address (HTTP 307): https://other/v1; write"),
    ],
)
async def test_what_waiting_would_not_help_is_not_tried_again(reply: Reply, said: str) -> None:
    bad, asked = await failure(reply)
    assert asked == 1
    assert said in str(bad)


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (
            page(200, "<html><title>Sign in</title>"),
            "(text/html) is not a model's answer: Sign in; check MODEL_BASE_URL",
        ),
        (document({"status": "ok"}), '(application/json) is not a model\'s answer: {"status": "ok"}; check'),
        (document([1]), "(application/json) is not a model's answer: [1]; check"),
        (Reply((b"\xff\xfe\x00",), kind=""), "(?) is not a model's answer"),
        (document({"error": {"message": "no such model"}}), "reports an error: no such model"),
        (events([{"error": {"message": "context too long"}}]), "reports an error: context too long"),
        (events(["no JSON"]), "(text/event-stream) is not a model's answer: no JSON"),
        (events(["[1, 2]"]), "(text/event-stream) is not a model's answer: [1, 2]"),
        (events(["[" * 50_000]), "(text/event-stream) is not a model's answer: [[["),
        (Reply((b"garbage",), headers={"Content-Encoding": "gzip"}), "broke off"),
    ],
)
async def test_a_success_that_is_none_is_told_at_once(reply: Reply, said: str) -> None:
    bad, asked = await failure(reply)
    assert asked == 1
    assert said in str(bad)


async def test_an_answer_that_never_ends_in_size_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provider, "MOST_BYTES", 1000)
    bad, _ = await failure(events([chat_chunk({"content": "x" * 5000})]))
    assert "broke off" in str(bad)
    bad, _ = await failure(document({"x": "y" * 5000}))
    assert "is not a model's answer" in str(bad)


@BOTH
@pytest.mark.parametrize("started", [False, True])
async def test_silence_is_told_after_the_time_that_was_given(api: Api, started: bool) -> None:
    some = chat_events("ok")[:2] if isinstance(api, OpenAIChat) else messages_events("ok")[:3]
    reply = events(some if started else [], then="silence")
    bad, asked = await failure(reply, api=api, read=0.05)
    assert asked == 1, "it is not asked again: it may have worked all the time"
    assert "has sent nothing for 0.05 s" in str(bad)


async def test_the_whole_answer_has_a_deadline_too() -> None:
    bad, _ = await failure(events([], then="silence"), answer=0.05)
    assert "has not finished its answer after 0.05 s" in str(bad)


async def test_a_cancelled_request_ends_at_once_and_as_a_cancellation() -> None:
    with ModelServer(events(chat_events("half of it")[:3], then="silence")) as server:
        talking = model(server.url)
        with anyio.CancelScope() as scope:
            talking.on_text = lambda piece: scope.cancel()
            await talking.reply([QUESTION], [])
            pytest.fail("it was cancelled")
        assert scope.cancelled_caught


async def test_an_error_of_whoever_shows_the_text_comes_out_as_itself() -> None:
    class Closed(Exception):
        pass

    def show(piece: str) -> None:
        raise Closed

    with ModelServer(chat("text")) as server:
        talking = model(server.url)
        talking.on_text = show
        with pytest.raises(Closed):
            await talking.reply([QUESTION], [])


async def test_what_json_cannot_hold_is_told_before_anything_is_sent() -> None:
    said = {"role": "assistant", "content": "x", "as_received": {"reasoning_details": [float("nan")]}}
    with ModelServer() as server, pytest.raises(ModelFailed, match=r"cannot be sent .* as JSON"):
        await model(server.url).reply([QUESTION, said, QUESTION], [])
    assert server.asked == []


# The way there


async def test_a_proxy_is_not_asked_for_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    with ModelServer(chat("fine")) as server:
        assert (await model(server.url).reply([QUESTION], []))["content"] == "fine"


@pytest.mark.parametrize("proxy", ["socks5://127.0.0.1:9", "nonsense://127.0.0.1:9"])
async def test_a_proxy_that_cannot_be_used_is_told(monkeypatch: pytest.MonkeyPatch, proxy: str) -> None:
    monkeypatch.setenv("ALL_PROXY", proxy)
    with pytest.raises(ModelFailed, match=r"the proxy for http://provider.invalid/v1 cannot be used: .*ALL_PROXY"):
        await model("http://provider.invalid/v1").reply([QUESTION], [])


@pytest.mark.parametrize("host", ["a..b", "xn--0", "\u2028", "a" * 70])
async def test_a_host_that_cannot_be_one_is_told_as_unreachable(host: str) -> None:
    with pytest.raises(ModelFailed, match=r"cannot be reached"):
        await model(f"http://{host}/v1", pauses=()).reply([QUESTION], [])


@pytest.mark.parametrize("name", ["SSL_CERT_FILE", "SSL_CERT_DIR"])
async def test_certificates_that_are_not_there_are_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    monkeypatch.setenv(name, str(tmp_path / "nothing"))
    for proxy in ("ALL_PROXY", "all_proxy", "HTTPS_PROXY", "https_proxy"):
        monkeypatch.delenv(proxy, raising=False)
    with pytest.raises(ModelFailed, match=r"the model at https://127.0.0.1:9/v1 cannot be reached"):
        await model("https://127.0.0.1:9/v1", pauses=()).reply([QUESTION], [])


# The key


def everything_said(error: BaseException, caplog: pytest.LogCaptureFixture) -> str:
    """All that a failure could put on a screen or into a log: in both languages, with causes and tracebacks."""
    said = "".join(traceback.format_exception(error)) + caplog.text
    chain: BaseException | None = error
    while chain is not None:
        said += repr(chain) + repr(chain.args) + repr(vars(chain))
        chain = chain.__cause__ or chain.__context__
    assert isinstance(error, ModelFailed)
    return said + "".join(error.message.text(language) for language in LANGUAGES)


ECHO = f"Incorrect API key provided: {KEY}. Header was 'Bearer {KEY}'"


@BOTH
@pytest.mark.parametrize(
    "reply",
    [
        *(error(status, ECHO) for status in (400, 401, 403, 404, 402, 413, 429, 500)),
        error(429, ECHO, **{"Retry-After": "9999"}),
        error(302, "", Location=f"https://x/?key={KEY}"),
        page(401, f"<title>{ECHO}</title>"),
        page(400, ECHO * 100),
        page(200, ECHO),
        document({"error": ECHO}),
        document({"echo": ECHO}),
        events([{"error": {"type": "overloaded_error", "message": ECHO}}]),
        events([ECHO]),
        events([], then="break"),
        Reply(status=0),
    ],
)
async def test_the_key_is_in_nothing_that_a_failure_says(
    api: Api, reply: Reply, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with ModelServer(*[reply] * 4) as server:
        talking = model(server.url, api=api)
        with pytest.raises(ModelFailed) as caught:
            await talking.reply([QUESTION], [])
    assert KEY in str(server.asked[0].headers), "it was sent"
    assert KEY not in everything_said(caught.value, caplog)
    assert KEY not in repr(talking) + repr(ModelSettings("m", server.url, KEY))


async def test_a_key_that_is_only_a_word_does_not_turn_words_into_stars() -> None:
    with ModelServer(error(404, "try ollama pull")) as server, pytest.raises(ModelFailed, match=r"try ollama pull"):
        await RealModel(OpenAIChat(), ModelSettings("m", server.url, "ollama")).reply([QUESTION], [])

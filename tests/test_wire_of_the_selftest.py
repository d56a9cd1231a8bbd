"""Every message of a self-test, by the official types of revision 2026-07-28: what our client and servers write."""

import json
from pathlib import Path
from typing import Any

import pytest
from kit import LAB, SOLUTION
from mcp_types import _v2026_07_28 as wire_types
from mcp_types import methods

from labkit.lab import load_lab
from labkit.run import Runner

REVISION = "2026-07-28"
Event = dict[str, Any]


@pytest.fixture(scope="module")
def journals() -> dict[str, list[Event]]:
    """What each server of one green run has written, by check and journal."""
    lab = load_lab(LAB)
    runner = Runner(lab, LAB, SOLUTION)
    try:
        runner.start({check.number for check in lab.checks})
        results = list(runner.results())
        assert [result.status for result in results] == ["pass"] * 9
        files = [file for result in results if result.evidence for file in result.evidence.directory.glob("*.jsonl")]
        return {f"{file.parent.name}/{file.stem}": events(file) for file in files if events(file)}
    finally:
        runner.stop()


def events(file: Path) -> list[Event]:
    return [event for line in file.read_bytes().split(b"\n") if line and "event" in (event := json.loads(line))]


def messages(journals: dict[str, list[Event]], kind: str) -> list[Event]:
    return [event["message"] for journal in journals.values() for event in journal if event["event"] == kind]


def test_every_request_and_notification_of_our_client_is_of_the_official_type(journals: dict[str, list[Event]]) -> None:
    sent = messages(journals, "received")
    made_up = [message for message in sent if message["method"].startswith("no/such/")]  # check 2 asks on purpose
    requests = [message for message in sent if "id" in message and message not in made_up]
    notifications = [message for message in sent if "id" not in message]

    assert len(requests) > 40 and len(notifications) >= 3
    for message in requests:
        wire_types.JSONRPCRequest.model_validate(message)
        methods.validate_client_request(message["method"], REVISION, message["params"])
    for message in notifications:
        wire_types.JSONRPCNotification.model_validate(message)
        methods.validate_client_notification(message["method"], REVISION, message["params"])


def test_our_client_never_writes_a_response(journals: dict[str, list[Event]]) -> None:
    assert all("method" in message for message in messages(journals, "received"))
    received = [event for journal in journals.values() for event in journal if event["event"] == "received"]
    assert all("message" in event for event in received), "every line is JSON"


def test_no_request_id_is_used_twice_on_one_connection(journals: dict[str, list[Event]]) -> None:
    for name, journal in journals.items():
        ids = [event["message"]["id"] for event in journal if event["event"] == "received" and "id" in event["message"]]
        assert len(ids) == len(set(ids)), name


def test_every_answer_of_our_servers_is_of_the_official_type(journals: dict[str, list[Event]]) -> None:
    answers = 0
    for journal in journals.values():
        asked = {e["message"]["id"]: e["message"] for e in journal if e["event"] == "received" and "id" in e["message"]}
        for answer in (event["message"] for event in journal if event["event"] == "sent"):
            if "method" not in answer and answer["id"] not in asked:
                continue  # a decoy that a check sends on purpose, to nobody's request
            answers += 1
            if "method" in answer:  # some servers of the checks say something unasked
                wire_types.JSONRPCNotification.model_validate(answer)
            elif "error" in answer:
                wire_types.JSONRPCErrorResponse.model_validate(answer)
            else:
                wire_types.JSONRPCResultResponse.model_validate(answer)
                methods.validate_server_result(asked[answer["id"]]["method"], REVISION, answer["result"])
    assert answers > 40


def test_every_server_of_the_run_has_ended(journals: dict[str, list[Event]]) -> None:
    ends = {name: journal[-1] for name, journal in journals.items()}
    assert all(event["event"] == "exit" for event in ends.values()), ends

"""Run the checks of a lab against one folder, in other processes, several at a time.

Every check gets a verdict, and only one way leads to a pass: the observation came to its end and the
judge was content. A hang, a crash, an exit or an unreadable note is a verdict of its own.

A worker process is given one check after the other as long as all is well with it; after a check that was
not passed, the next one starts in a fresh process.
"""

import json
import os
import queue
import secrets
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from labkit import processes
from labkit.lab import NOTES, Check, Evidence, Lab, Missing, Raised, Verdict, signature

WORKER = Path(__file__).with_name("worker.py")
END = b"labkit-end "  # the worker's word for "this check is through", before the secret of the check
STATUS = {"done": "fail", "raised": "fail", "timeout": "timeout", "died": "error"}  # of a check that is not passed
LANES = max(3, 1 + (os.cpu_count() or 1))  # workers at a time; each waits for others half of its time
LOOK_SECONDS = 0.02  # how often a worker is looked at that neither says the word nor ends
LAST_PRINT_SECONDS = 0.5  # how long an ended worker's output is read; another process may hold the pipe open
PRINTED_BYTES = 4000  # kept of what a student's program prints during one check
Said = TypeVar("Said")  # what a judge says
NOTES_BYTES = 16_000_000  # a program that writes more notes than this is not one of ours


@dataclass(frozen=True)
class Result:
    """One check's outcome. `status`: "pass" | "fail" | "error" | "timeout" | "not_run"."""

    check: Check
    status: str
    seconds: float
    verdict: Verdict
    evidence: Evidence | None = None
    explained_by: int | None = None  # the number of the check that saw the cause (labkit.diagnose)


class Runner:
    """One run of the self-test: `start` it, read the `results`, and always `stop` it."""

    def __init__(self, lab: Lab, lab_folder: Path, target: Path, lanes: int = LANES) -> None:
        self._lab = lab
        self._width = lanes
        self._command = [sys.executable, str(WORKER), str(lab_folder), str(target)]
        self._target = target
        self._mark = processes.new_mark()
        self._lock = threading.Lock()
        self._stopped = False
        self._workers: set[Worker] = set()
        self._lanes: list[threading.Thread] = []
        self._queue: queue.SimpleQueue[Check] = queue.SimpleQueue()
        self._results: dict[int, Future[Result]] = {check.number: Future() for check in lab.checks}
        self._directory = tempfile.TemporaryDirectory(prefix="labkit-", ignore_cleanup_errors=True)
        self._temporary = Path(self._directory.name).resolve() / "tmp"
        self.import_error: Raised | None = None

    def start(self, only: set[int]) -> None:
        """Start the checks with these numbers; those that wait longest come first, for others run meanwhile."""
        for check in sorted(self._lab.checks, key=lambda check: -check.waits):
            if check.number in only:
                self._queue.put(check)
            else:
                self._results[check.number].set_result(_not_run(check))
        for _ in range(min(self._width, len(only))):
            self._lanes.append(threading.Thread(target=self._lane, daemon=True))
            self._lanes[-1].start()

    def results(self) -> Iterator[Result]:
        """Each check's result, in the order of their numbers, as soon as it is there."""
        for check in self._lab.checks:
            yield self._results[check.number].result()

    def stop(self) -> None:
        """End whatever still runs; nothing new starts, and nothing is left, on disk or among processes."""
        with self._lock:
            self._stopped = True
            workers = list(self._workers)
        for worker in workers:
            worker.end()
        for lane in self._lanes:
            lane.join()
        processes.sweep(self._mark)
        self._directory.cleanup()

    def _lane(self) -> None:
        """Take one check after the other from the queue."""
        worker: Worker | None = None
        while True:
            try:
                check = self._queue.get_nowait()
            except queue.Empty:
                break
            try:
                worker = worker or self._new_worker()
                result = self._run_one(check, worker) if worker else _not_run(check)
            except Exception as error:  # no process could be started, the disk is full, or a fault of ours
                self._results[check.number].set_exception(error)
                continue
            self._results[check.number].set_result(result)
            if worker and result.status != "pass":
                self._end_worker(worker)
                worker = None
        if worker:
            self._end_worker(worker)

    def _new_worker(self) -> "Worker | None":
        with self._lock:
            if self._stopped:
                return None
            self._temporary.mkdir(parents=True, exist_ok=True)
            worker = Worker(processes.start(self._command, self._mark, self._target, self._temporary))
            self._workers.add(worker)
            return worker

    def _end_worker(self, worker: "Worker") -> None:
        worker.end()
        with self._lock:
            self._workers.discard(worker)

    def _run_one(self, check: Check, worker: "Worker") -> Result:
        start = time.monotonic()
        directory = Path(self._directory.name).resolve() / f"check-{check.number}"
        directory.mkdir(parents=True)
        nonce, secret = secrets.token_hex(4), secrets.token_hex(16)
        end = worker.observe(check, directory, nonce, secret)
        if self._stopped:
            return _not_run(check)
        evidence = _gather(directory, nonce, secret, end, worker)
        if "import_error" in evidence.notes:
            with self._lock:
                self._stopped = True  # the other checks would say the same
                self.import_error = evidence.raised
        status, verdict = _judge(check, evidence, self._lab)
        return Result(check, status, time.monotonic() - start, verdict, evidence)


class Worker:
    """A process that runs the student's code, and the thread that reads all it prints."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._printed = bytearray()
        self._word = b""  # what the worker says at the end of the check that it is at
        self._said = threading.Event()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def exit_code(self) -> int | None:
        return self._process.returncode

    def observe(self, check: Check, directory: Path, nonce: str, secret: str) -> str:
        """Have it run one observation; how that ended: "through", "timeout", or "died"."""
        self._printed.clear()
        self._word = END + secret.encode()
        self._said.clear()
        deadline = time.monotonic() + check.seconds
        if not self._order({"check": check.number, "directory": str(directory), "nonce": nonce, "secret": secret}):
            return "died"
        while not self._said.wait(LOOK_SECONDS):
            if self._process.poll() is not None:
                self._reader.join(LAST_PRINT_SECONDS)
                return "through" if self._said.is_set() else "died"
            if time.monotonic() > deadline:
                self.end()
                return "timeout"
        return "through"

    def _order(self, order: dict[str, Any]) -> bool:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(order).encode() + b"\n")
            self._process.stdin.flush()
        except OSError:
            self._process.wait()
            return False
        return True

    def printed(self) -> str:
        """What the student's code has printed during this check, or the beginning of it."""
        return self._printed.partition(END)[0].decode("utf-8", "replace")

    def end(self) -> None:
        processes.end(self._process)

    def _read(self) -> None:
        """Read all, so that the program never waits for us; look for the word in what came last."""
        assert self._process.stdout is not None
        tail = b""
        while chunk := os.read(self._process.stdout.fileno(), 65536):
            self._printed += chunk[: max(0, PRINTED_BYTES - len(self._printed))]
            tail = tail[-len(self._word) :] + chunk
            if self._word and self._word in tail:
                self._said.set()
                tail = b""


def _not_run(check: Check) -> Result:
    return Result(check, "not_run", 0.0, Verdict(False))


def _gather(directory: Path, nonce: str, secret: str, end: str, worker: Worker) -> Evidence:
    notes: dict[str, Any] = {}
    for line in _content(directory / NOTES).split(b"\n"):
        signed, _, text = line.partition(b" ")
        if signed != signature(text, secret):
            continue  # the end of a program that was stopped, or nothing of ours
        try:
            note = json.loads(text)
        except (ValueError, RecursionError):
            continue
        if isinstance(note, dict):
            notes.update(note)
    if end != "through" and "imported" not in notes:
        how = "it did not come to an end" if end == "timeout" else f"it ended with exit code {worker.exit_code}"
        frames = [f"{notes['importing']}:1"] if "importing" in notes else []
        notes["import_error"] = {"type": "import", "text": how, "frames": frames}
    raised = notes.get("import_error") or notes.get("raised")
    if end == "through":
        end = "raised" if raised else "done" if notes.get("done") is True else "died"
    stack = _content(directory / "stack.txt").decode("utf-8", "replace")
    error = Raised(**raised) if raised else None
    trespass = Raised(**notes["trespass"]) if "trespass" in notes else None
    return Evidence(nonce, directory, notes, end, error, trespass, worker.exit_code, worker.printed(), stack)


def _content(file: Path) -> bytes:
    try:
        with file.open("rb") as stream:
            return stream.read(NOTES_BYTES)
    except OSError:
        return b""


def _judge(check: Check, evidence: Evidence, lab: Lab) -> tuple[str, Verdict]:
    """The judge sees every kind of end, as it may know the reason; but only "done" can be a pass."""
    if evidence.trespass:
        return STATUS[evidence.end], Verdict(False, actual=evidence.trespass.text)
    verdict = _carefully(check.judge, evidence) or Verdict(False)
    if evidence.end == "done" and verdict.passed:
        foul = _carefully(lab.foul, evidence)
        return ("pass", verdict) if foul == "" else ("fail", Verdict(False, actual=foul or ""))
    if verdict.misconception is None or lab.misconceptions[verdict.misconception].symptom:
        verdict = _carefully(lab.cause, evidence) or verdict
    if evidence.end == "done":
        return "fail", verdict
    if verdict.misconception is None:
        verdict = Verdict(False)  # what else the judge saw is for want of the rest
    return STATUS[evidence.end], verdict


def _carefully(judge: Callable[[Evidence], Said | None], evidence: Evidence) -> Said | None:
    """What it says, or None where it tripped: the student's functions may have returned anything at all."""
    try:
        return judge(evidence)
    except (Missing, ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError):
        return None

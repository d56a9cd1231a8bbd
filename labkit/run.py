"""Run the checks of a lab against one folder, each in a process of its own, several at a time.

Every check gets a verdict, and only one way leads to a pass: the observation came to its end and the
judge was content. A hang, a crash, an exit or an unreadable note is a verdict of its own.
"""

import json
import os
import secrets
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labkit import processes
from labkit.lab import Check, Evidence, Lab, Missing, Raised, Verdict

WORKER = Path(__file__).with_name("worker.py")
JOBS = max(4, 2 * (os.cpu_count() or 1))  # checks at a time; each waits for other processes half of its time
PRINTED_BYTES = 4000  # kept of what a student's program prints during one check
NOTES_BYTES = 16_000_000  # a program that writes more notes than this is not one of ours


@dataclass(frozen=True)
class Result:
    """One check's outcome. `status`: "pass" | "fail" | "error" | "timeout" | "not_run"."""

    check: Check
    status: str
    seconds: float
    verdict: Verdict
    evidence: Evidence | None = None


class Runner:
    """One run of the self-test: `start` it, read the `results`, and always `stop` it."""

    def __init__(self, lab: Lab, lab_folder: Path, target: Path) -> None:
        self._lab = lab
        self._lab_folder = lab_folder
        self._target = target
        self._mark = processes.new_mark()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()
        self._stopped = False
        self._pool = ThreadPoolExecutor(JOBS)
        self._jobs: dict[int, Future[Result]] = {}  # check number -> its result to come
        self._directory: tempfile.TemporaryDirectory[str] | None = None
        self.import_error: Raised | None = None

    def start(self, only: set[int]) -> None:
        """Start the checks with these numbers: those that wait longest first, for others run meanwhile."""
        self._directory = tempfile.TemporaryDirectory(prefix="labkit-", ignore_cleanup_errors=True)
        path = Path(self._directory.name).resolve()
        for check in sorted(self._lab.checks, key=lambda check: -check.waits):
            self._jobs[check.number] = (
                self._pool.submit(self._run_one, check, path) if check.number in only else _not_run(check)
            )

    def results(self) -> Iterator[Result]:
        """Each check's result, in the order of their numbers, as soon as it is there."""
        for check in self._lab.checks:
            yield self._jobs[check.number].result()

    def stop(self) -> None:
        """End whatever still runs; nothing new starts, and nothing is left, on disk or among processes."""
        with self._lock:
            self._stopped = True
            running = list(self._running)
        for process in running:
            processes.end(process)
        self._pool.shutdown()
        processes.sweep(self._mark)
        if self._directory is not None:
            self._directory.cleanup()

    def _run_one(self, check: Check, directory: Path) -> Result:
        start = time.monotonic()
        run_directory = directory / f"check-{check.number}"
        run_directory.mkdir()
        nonce = secrets.token_hex(4)
        end, exit_code, printed = self._run_worker(check, run_directory, nonce)
        if end == "stopped":
            return Result(check, "not_run", 0.0, Verdict(False))
        evidence = _gather(run_directory, nonce, end, exit_code, printed)
        if "import_error" in evidence.notes:
            self.import_error = self.import_error or evidence.raised
            with self._lock:
                self._stopped = True  # the other checks would say the same
        status, verdict = _judge(check, evidence)
        return Result(check, status, time.monotonic() - start, verdict, evidence)

    def _run_worker(self, check: Check, directory: Path, nonce: str) -> tuple[str, int | None, str]:
        """Run the observation; return how it ended ("ended", "timeout", "stopped"), its code, its output."""
        command = [
            sys.executable,
            str(WORKER),
            str(self._lab_folder),
            str(self._target),
            str(check.number),
            str(directory),
            nonce,
        ]
        with self._lock:
            if self._stopped:
                return "stopped", None, ""
            process = processes.start(command, self._mark, self._target)
            self._running.add(process)
        output = _Output(process)
        try:
            code = process.wait(timeout=check.seconds)
            end = "ended"
        except subprocess.TimeoutExpired:
            code, end = None, "timeout"
        finally:
            processes.end(process)
            with self._lock:
                self._running.discard(process)
        if self._stopped and self.import_error is None and code != 0:
            end = "stopped"
        return end, code, output.text()


class _Output:
    """Reads all that a process prints, so that it never waits for us, and keeps the beginning."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._kept = bytearray()
        self._process = process
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        while chunk := os.read(self._process.stdout.fileno(), 65536):
            self._kept += chunk[: PRINTED_BYTES - len(self._kept)]

    def text(self) -> str:
        """What was printed. A process that outlives its parent may hold the pipe: do not wait for it."""
        self._reader.join(timeout=0.5)
        return self._kept.decode("utf-8", "replace")


def _not_run(check: Check) -> "Future[Result]":
    job: Future[Result] = Future()
    job.set_result(Result(check, "not_run", 0.0, Verdict(False)))
    return job


def _gather(directory: Path, nonce: str, end: str, exit_code: int | None, printed: str) -> Evidence:
    notes: dict[str, Any] = {}
    with (directory / "notes.jsonl").open("ab+") as file:
        file.seek(0)
        for line in file.read(NOTES_BYTES).split(b"\n"):
            try:
                note = json.loads(line)
            except ValueError:
                continue
            if isinstance(note, dict):
                notes.update(note)
    raised = notes.get("raised") or notes.get("import_error")
    if end == "ended":
        end = "raised" if raised else "done" if notes.get("done") is True and exit_code == 0 else "died"
    if end in ("died", "timeout") and "imported" not in notes:
        how = "it did not come to an end" if end == "timeout" else f"the program ended with exit code {exit_code}"
        frames = [f"{notes['importing']}:1"] if "importing" in notes else []
        raised = notes["import_error"] = {"type": "import", "text": how, "frames": frames}
    return Evidence(
        nonce,
        directory,
        notes,
        end,
        Raised(**raised) if raised else None,
        exit_code,
        printed,
        _stack(directory),
    )


def _stack(directory: Path) -> str:
    try:
        return (directory / "stack.txt").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _judge(check: Check, evidence: Evidence) -> tuple[str, Verdict]:
    """The judge sees every kind of end, as it may know the reason; but only "done" can be a pass."""
    try:
        verdict = check.judge(evidence)
    except Missing:
        verdict = Verdict(False)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        verdict = Verdict(False)  # the student's functions may return anything at all
    if evidence.end == "done":
        return ("pass" if verdict.passed else "fail"), verdict
    if verdict.misconception is None:
        verdict = Verdict(False)  # what else the judge saw is for want of the rest
    status = {"raised": "fail", "timeout": "timeout", "died": "error"}[evidence.end]
    return status, verdict

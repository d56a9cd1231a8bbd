"""The process in which the student's code runs: one observation after the other, as the self-test asks.

usage: worker.py LAB_FOLDER TARGET_FOLDER   (labkit.run starts it)

Each line of standard input is a JSON object {"check": number, "directory": path, "nonce": word}. The process
judges nothing. What it sees goes line by line into DIRECTORY/noted.jsonl, so that a program that hangs or dies
leaves what was seen until then; a line END and the nonce on standard output says that the check is through.
When standard input closes, the self-test is gone, and so is this process.
"""

import faulthandler
import importlib
import json
import os
import queue
import sys
import threading
import traceback
from pathlib import Path
from typing import Any

sys.path[0] = str(Path(__file__).resolve().parent.parent)

from labkit.lab import NOTES, Bench, Check, load_lab  # noqa: E402  (the path had to come first)

END = "labkit-end"
STACK_SECONDS = 2.0  # so long before the deadline the stack of a program that has not ended is written down


def main(lab_folder: str, target: str) -> None:
    orders: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
    threading.Thread(target=_read_orders, args=(orders,), daemon=True).start()
    lab = load_lab(Path(lab_folder))
    checks = {check.number: check for check in lab.checks}
    environment = dict(os.environ)
    sys.path.insert(0, target)
    sys.dont_write_bytecode = True  # a student's folder holds what the student put there
    while True:
        order = orders.get()
        os.chdir(target)
        os.environ.update(environment)
        _run(checks[order["check"]], lab.files, Path(target), Path(order["directory"]), order["nonce"])
        sys.stdout.flush()
        sys.stderr.flush()
        os.write(1, f"{END} {order['nonce']}\n".encode())


def _run(check: Check, files: tuple[str, ...], target: Path, directory: Path, nonce: str) -> None:
    with open(directory / "stack.txt", "w", encoding="utf-8") as stack:
        faulthandler.dump_traceback_later(check.seconds - STACK_SECONDS, file=stack)
        with open(directory / NOTES, "a", encoding="utf-8", buffering=1) as notes:
            _observe(check, files, target, Bench(nonce, directory, notes.write))
        faulthandler.cancel_dump_traceback_later()


def _observe(check: Check, files: tuple[str, ...], target: Path, bench: Bench) -> None:
    try:
        for file in files:  # each check gets them fresh, as a process of its own would
            sys.modules.pop(file.removesuffix(".py"), None)
        for file in files:
            bench.note("importing", file)
            importlib.import_module(file.removesuffix(".py"))
    except BaseException as error:  # an exit at import is the student's error as well
        bench.note("import_error", _describe(error, target))
        return
    bench.note("imported", True)
    import anyio

    try:
        anyio.run(check.observe, bench)
    except BaseException as error:
        bench.note("raised", _describe(error, target))
        return
    bench.note("done", True)


def _describe(error: BaseException, target: Path) -> dict[str, Any]:
    """The first real exception in `error`, with the frames that are in the student's folder."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    frames = [
        f"{Path(frame.filename).name}:{frame.lineno} in {frame.name}: {frame.line}"
        for frame in traceback.extract_tb(error.__traceback__)
        if Path(frame.filename).parent == target
    ]
    if isinstance(error, SyntaxError) and error.filename:
        frames.append(f"{Path(error.filename).name}:{error.lineno}: {(error.text or '').strip()}")
    return {"type": type(error).__name__, "text": str(error), "frames": frames}


def _read_orders(orders: "queue.SimpleQueue[dict[str, Any]]") -> None:
    buffer = b""
    while chunk := os.read(0, 65536):
        *lines, buffer = (buffer + chunk).split(b"\n")
        for line in lines:
            orders.put(json.loads(line))
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])

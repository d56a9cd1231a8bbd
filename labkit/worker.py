"""The process in which the student's code runs: one check's observation, then the end.

usage: worker.py LAB_FOLDER TARGET_FOLDER CHECK_NUMBER RUN_DIRECTORY NONCE   (labkit.run starts it)

It judges nothing. What it sees goes line by line into RUN_DIRECTORY/notes.jsonl, so that a program that
hangs or dies leaves what was seen until then. Its standard input is a pipe from the self-test: when that
closes, the self-test is gone, and so is this process.
"""

import faulthandler
import importlib
import os
import sys
import threading
import traceback
from pathlib import Path
from typing import Any

sys.path[0] = str(Path(__file__).resolve().parent.parent)

from labkit.lab import Bench, load_lab  # noqa: E402  (the path had to come first)

STACK_SECONDS = 2.0  # so long before the deadline the stack of a program that has not ended is written down


def main(lab_folder: str, target: str, number: str, directory: str, nonce: str) -> None:
    threading.Thread(target=_leave_with_the_self_test, daemon=True).start()
    run_directory = Path(directory)
    lab = load_lab(Path(lab_folder))
    check = next(check for check in lab.checks if check.number == int(number))
    with open(run_directory / "stack.txt", "w", encoding="utf-8") as stack:
        faulthandler.dump_traceback_later(check.seconds - STACK_SECONDS, file=stack)
        with open(run_directory / "notes.jsonl", "a", encoding="utf-8", buffering=1) as notes:
            bench = Bench(nonce, run_directory, notes.write)
            _observe(bench, lab.files, check.observe, Path(target))
    sys.stdout.flush()
    os._exit(0)  # all is written; what the student's code left running must not hold us


def _observe(bench: Bench, files: tuple[str, ...], observe: Any, target: Path) -> None:
    sys.path.insert(0, str(target))
    sys.dont_write_bytecode = True  # a student's folder holds what the student put there
    try:
        for file in files:
            bench.note("importing", file)
            importlib.import_module(file.removesuffix(".py"))
    except BaseException as error:  # an exit at import is the student's error as well
        bench.note("import_error", _describe(error, target))
        return
    bench.note("imported", True)
    import anyio

    try:
        anyio.run(observe, bench)
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


def _leave_with_the_self_test() -> None:
    while os.read(0, 1024):
        pass
    os._exit(3)


if __name__ == "__main__":
    main(*sys.argv[1:])

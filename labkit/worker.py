"""The process in which the student's code runs: one observation after the other, as the self-test asks.

usage: worker.py LAB_FOLDER TARGET_FOLDER   (labkit.run starts it)

Each line of standard input is a JSON object {"check": number, "directory": path, "nonce": word, "secret": word}.
The process judges nothing. What it sees goes line by line into DIRECTORY/noted.txt, so that a program that hangs
or dies leaves what was seen until then; a line END and the secret on standard output says that the check is
through. Each note is signed with the secret, which the student's code is not told: what else stands in the file
was not seen here. When standard input closes, the self-test is gone, and so is this process.
"""

import _thread
import faulthandler
import importlib
import json
import os
import queue
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import IO, Any

sys.path[0] = str(Path(__file__).resolve().parent.parent)

from labkit import keeper  # noqa: E402  (the path had to come first)

ABOVE = keeper.keep() if __name__ == "__main__" else set()  # before there is anything to copy

from labkit.fence import Fence  # noqa: E402
from labkit.lab import NOTES, Bench, Check, load_lab, signature  # noqa: E402

END = "labkit-end"
SCAN = json.JSONDecoder().raw_decode  # whoever replaces json.loads does not read the secret
MEMORY_BYTES = 4 << 30  # of addresses
FILE_BYTES = 256 << 20  # of one file
STACK_SECONDS = 2.0  # so long before the deadline the stack of a program that has not ended is written down


def main(lab_folder: str, target: str) -> None:
    orders: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
    _thread.start_new_thread(_read_orders, (orders,))  # a Thread object could be asked for its target
    lab = load_lab(Path(lab_folder))
    checks = {check.number: check for check in lab.checks}
    environment = dict(os.environ)
    fence = _put_up_fence(Path(lab_folder), Path(target))
    sys.path.insert(0, target)
    sys.dont_write_bytecode = True  # a student's folder holds what the student put there
    _limit()
    while True:
        order = orders.get()
        os.chdir(target)
        os.environ.update(environment)
        _run(checks[order["check"]], lab.files, Path(target), order, fence)
        sys.stdout.flush()
        sys.stderr.flush()
        os.write(1, f"{END} {order['secret']}\n".encode())


def _put_up_fence(lab_folder: Path, target: Path) -> Fence:
    """Take the kit out of sight: what the student's code imports by its name is not what is at work here."""
    fence = Fence(target, lab_folder, Path(__file__), ABOVE)
    folders = (Path(__file__).resolve().parent, lab_folder)
    kit = [module for module in sys.modules.values() if _file_of(module).parent in folders]
    fence.close(sys.modules["__main__"], *(module for module in kit if module.__name__ != "__main__"))
    sys.modules["__main__"] = ModuleType("__main__")
    return fence


def _file_of(module: ModuleType) -> Path:
    return Path(getattr(module, "__file__", None) or "/")


def _limit() -> None:
    """A program that takes all memory or fills the disk fails by itself, and not the machine."""
    if sys.platform == "linux":
        import resource

        for kind, most in ((resource.RLIMIT_AS, MEMORY_BYTES), (resource.RLIMIT_FSIZE, FILE_BYTES)):
            hard = resource.getrlimit(kind)[1]
            resource.setrlimit(kind, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


def _run(check: Check, files: tuple[str, ...], target: Path, order: dict[str, Any], fence: Fence) -> None:
    directory = Path(order["directory"])
    with open(directory / "stack.txt", "w", encoding="utf-8") as stack:
        faulthandler.dump_traceback_later(check.seconds - STACK_SECONDS, file=stack)
        with open(directory / NOTES, "a", encoding="utf-8", buffering=1) as notes:
            bench = Bench(order["nonce"], directory, _writer(notes, order["secret"], fence))
            fence.open_for(bench)
            _observe(check, files, target, bench)
        faulthandler.cancel_dump_traceback_later()


def _writer(notes: IO[str], secret: str, fence: Fence) -> Callable[[dict[str, Any]], None]:
    """What writes a note and signs it, after a look at whether all is as it was."""

    def write(note: dict[str, Any]) -> None:
        if changed := fence.changed():  # before anything of what is shared is used
            note = {**note, "trespass": {"type": "Trespass", "text": f"{changed} was replaced", "frames": []}}
        text = encode(note)
        notes.write(f"{signature(text.encode(), secret).decode()} {text}\n")

    encode = json.JSONEncoder(default=repr).encode
    return write


def _observe(check: Check, files: tuple[str, ...], target: Path, bench: Bench) -> None:
    try:
        for name, module in list(sys.modules.items()):  # each check gets them fresh, and what they import beside them
            if _file_of(module).parent == target:
                del sys.modules[name]
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
            orders.put(SCAN(line.decode(), 0)[0])
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])

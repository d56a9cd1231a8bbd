"""Dishonest and broken submissions: what each one tries, and what the checks must make of it.

usage: python -m tests.attacks [NAME ...]     (all nine checks for each; the tests run the few that matter)

Each attack is the starter with something added. The starter earns the checks 1, 4, 7 and 9, so no attack may be
green in any other, unless it says so of itself (a limit, written down in the README). An attack may break itself, and
nothing else: all checks it spares keep their verdict, the run comes to its end, and no process and no file is left.
Each runs against a copy of the lab, for some of them write into it.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import textwrap
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import psutil
from kit import ALL, LAB

from labkit.lab import Lab, load_lab
from labkit.programs import Edit, Program, Rewrite, judge, write
from labkit.run import Result

PROTOCOL, CLIENT, TRANSLATE = "protocol.py", "stdio_client.py", "discover_and_translate.py"
EARNED = frozenset({1, 4, 7, 9})  # what the untouched starter is green in
SECONDS = 8.0  # of a check; an attack that hangs is not waited for longer
MARKER = "sleeps-for-ever"  # in the command line of what an attack leaves running
TODOS = (1, 2, 3, 4)


@dataclass(frozen=True)
class Attack:
    """A submission that cheats or breaks. `only`: the checks that the tests run."""

    name: str
    tries: str
    edits: tuple[Edit | Rewrite, ...]
    only: frozenset[int]
    may_be_green: frozenset[int] = EARNED
    stays_green: frozenset[int] = frozenset()  # checks that the attack leaves alone: they are not harmed
    files: tuple[tuple[str, str], ...] = ()  # more files in the submission: name, text
    is_in_lab: bool = False  # the submission lies beside the solution, as the starter does
    is_posix: bool = False


# The words that several attacks share

WHERE = '''
def _lab_folder(command=()):
    """Where the lab is, by whatever tells it."""
    import pathlib, sys
    told = [*sys.argv, *sys.path, *command]
    try:
        told += pathlib.Path("/proc/self/cmdline").read_text().split("\\0")
    except OSError:
        pass
    for text in told:
        for folder in (pathlib.Path(text), pathlib.Path(text).parent.parent):
            if text and (folder / "checks.py").is_file():
                return folder
    raise LookupError("the lab is nowhere to be seen")
'''

FORGE = '''
def _forged(nonce):
    """What a right program would have had noted in check 3."""
    base = ["search", "read_note", "list_notes"]
    more = base + ["extra_" + nonce, "another_" + nonce]
    names = {"pages of 2": base, "empty page": more, "empty cursor": more, "circle": more}
    return {key: {"returned": [{"name": name} for name in tools], "seconds": 0.01} for key, tools in names.items()}
'''

RUN = '''
def _run_of(client):
    """The directory and the nonce of this run, from the command line of a server."""
    import pathlib
    words = client.command
    return pathlib.Path(words[words.index("--journal") + 1]).parent, words[words.index("--seed") + 1]
'''

DOCSTRING = "Everything here is a fact of the specification or an exception."


def at_import(code: str) -> Edit:
    """Run this when protocol.py, the first of the five, is imported."""
    old = "_encoder = json.JSONEncoder("
    return Edit(PROTOCOL, old, textwrap.dedent(code).strip("\n") + "\n\n" + old)


def beside(code: str) -> Edit:
    """Functions for the attack, in discover_and_translate.py."""
    old = "log = logging.getLogger(__name__)\n"
    return Edit(TRANSLATE, old, old + textwrap.dedent(code))


def while_listing(code: str, then: str = "return tools") -> Edit:
    """Run this in list_all_tools, when a page has come."""
    old = '    tools, cursor = read_page(await client.request("tools/list"))\n'
    new = old + textwrap.indent(textwrap.dedent(code).strip("\n"), "    ") + "\n"
    return Edit(TRANSLATE, old, new)


def while_naming(code: str) -> Edit:
    """Run this in model_tool_name, before it returns what the starter's does."""
    old = "    # TODO 3: two servers may both"
    return Edit(TRANSLATE, old, textwrap.indent(textwrap.dedent(code).strip("\n"), "    ") + "\n" + old)


def attack(
    name: str, tries: str, *edits: Edit | Rewrite, only: Iterable[int] = (3,), may: Iterable[int] = EARNED,
    stays: Iterable[int] = (), files: tuple[tuple[str, str], ...] = (), is_in_lab: bool = False, is_posix: bool = False,
) -> Attack:  # fmt: skip
    return Attack(name, tries, edits, frozenset(only), frozenset(may), frozenset(stays), files, is_in_lab, is_posix)


# Reaching for the self-test from inside

PATCH_NOTE = '''
import sys
_bench = sys.modules["labkit.lab"].Bench
_honest = _bench.note
def _note(self, key, value):
    _honest(self, key, _forged(self.nonce).get(key, value))
_bench.note = _note
'''

BY_FRAMES = '''
import sys
frame = sys._getframe()
while frame is not None:
    bench = frame.f_locals.get("bench")
    if bench is not None:
        honest = bench.note
        bench.note = lambda key, value: honest(key, _forged(bench.nonce).get(key, value))
    frame = frame.f_back
'''

BY_TASK = '''
import asyncio
for task in asyncio.all_tasks():
    coroutine = task.get_coro()
    while coroutine is not None:
        frame = getattr(coroutine, "cr_frame", None)
        bench = frame.f_locals.get("bench") if frame else None
        if bench is not None:
            honest = bench.note
            bench.note = lambda key, value: honest(key, _forged(bench.nonce).get(key, value))
        coroutine = getattr(coroutine, "cr_await", None)
'''

BY_GC = '''
import gc
for thing in gc.get_objects():
    if type(thing).__name__ == "Bench":
        thing.write = lambda note, bench=thing, write=thing.write: write(
            {key: _forged(bench.nonce).get(key, value) for key, value in note.items()})
'''

BY_TABLE = '''
import sys
for check in sys.modules["checks"].LAB.checks:
    async def observe(bench):
        for key, value in _forged(bench.nonce).items():
            bench.note(key, value)
    object.__setattr__(check, "observe", observe)
'''

BY_SUBCLASSES = '''
import sys
for thing in object.__subclasses__():
    if thing.__name__ == "Bench":
        _honest = thing.note
        thing.note = lambda self, key, value: _honest(self, key, _forged(self.nonce).get(key, value))
    if thing.__name__ == "ScriptedModel":
        _walk = thing.reply.__globals__
        async def _observe(bench):
            for key, value in _forged(bench.nonce).items():
                bench.note(key, value)
        _walk["outcome"] = _observe
'''

# What of these a student's file would do by name only: patch what both sides use

PATCH_JSON = '''
import json
_dumps = json.dumps
def _lie(value, *args, **more):
    if isinstance(value, dict) and len(value) == 1:
        (key, seen), = value.items()
        nonce = _NONCE[0] if _NONCE else ""
        value = {key: _forged(nonce).get(key, seen)}
    return _dumps(value, *args, **more)
json.dumps = _lie
_NONCE = []
'''

LEARN_NONCE = Edit(
    CLIENT,
    "        self.command = list(command)\n",
    "        self.command = list(command)\n        import protocol\n"
    '        if "--seed" in command:\n            protocol._NONCE[:] = [command[command.index("--seed") + 1]]\n',
)

PATCH_TIME = '''
import time
_start, _clock = time.monotonic(), time.monotonic
time.monotonic = lambda: _start + (_clock() - _start) / 3
'''

PATCH_ANYIO = '''
import anyio
def _run(observe, bench):
    for key, value in _forged(bench.nonce).items():
        bench.note(key, value)
anyio.run = _run
'''

SHADOW = '''
"""Not the real anyio: it forges, and notes nothing that was seen."""
def run(observe, bench):
    for key, value in _forged(bench.nonce).items():
        bench.note(key, value)
class Event: pass
class Lock: pass
''' + FORGE

BY_CLOSURE = '''
for client in self._clients.values():
    for cell in getattr(client.start, "__closure__", None) or ():
        bench = cell.cell_contents
        if type(bench).__name__ == "Bench":
            bench.note = lambda key, value: None
'''

LIE_ONCE = '''
import json
def lie(value, *args, honest=json.dumps, **more):
    json.dumps = honest
    ((key, seen),) = value.items()
    return honest({key: _forged(_run_of(client)[1]).get(key, seen)}, *args, **more)
json.dumps = lie
'''

PUT_ON = '''
def _put_on(client):
    """What the next call of outcome returns is forged, and nobody sees it: the function is put back at once."""
    for thing in object.__subclasses__():
        if thing.__name__ == "ScriptedModel":
            space = thing.reply.__globals__
    honest = space["outcome"]

    async def lie(call, within=60.0):
        space["outcome"] = honest
        seen = await honest(call, within)
        words = client.command
        names = ["search", "read_note", "list_notes"]
        names += [words[i + 1] for i, word in enumerate(words) if word == "--extra-tool"]
        return {**seen, "returned": [{"name": name} for name in names]}

    space["outcome"] = lie
'''

ASK_FOR_ALL = """
for _ in range(5):
    if cursor is not None:
        _, cursor = read_page(await client.request("tools/list", {"cursor": cursor}))
"""

# The limit that the README tells of: it is in the same process, and can put back what it has replaced before anybody
# looks. It has to ask for all pages all the same, for what the servers write down is not in its hands.
LIMIT = attack(
    "put-back", "replaces a function of the observations for the length of a call",
    Edit(CLIENT, "    async def start(self) -> None:\n",
         "    async def start(self) -> None:\n        await self._start()\n        _put_on(self)\n\n"
         "    async def _start(self) -> None:\n"),
    Edit(CLIENT, "class Waiter:", PUT_ON.strip("\n") + "\n\n\nclass Waiter:"),
    while_listing(ASK_FOR_ALL), may=EARNED | {3},
)  # fmt: skip

REACHING = [
    attack("patch-note", "replaces Bench.note by way of sys.modules", at_import(FORGE + PATCH_NOTE)),
    attack("frames", "finds the Bench in the frames that called it", beside(FORGE), while_listing(BY_FRAMES)),
    attack("tasks", "finds the Bench in the frames of the running tasks", beside(FORGE), while_listing(BY_TASK)),
    attack("garbage", "finds the Bench with gc.get_objects", beside(FORGE), while_listing(BY_GC)),
    attack("check-table", "puts observations of its own into the table of checks", at_import(FORGE + BY_TABLE)),
    attack("subclasses", "finds the Bench and the observations below object", at_import(FORGE + BY_SUBCLASSES)),
    attack("closure", "finds the Bench in what hangs on a client", Edit(
        "registry.py", "        async with anyio.create_task_group() as tasks:\n",
        textwrap.indent(BY_CLOSURE.strip("\n"), "        ") + "\n"
        "        async with anyio.create_task_group() as tasks:\n"), only=(8,)),
    attack("patch-json", "json.dumps writes something else", at_import(FORGE + PATCH_JSON), LEARN_NONCE),
    attack("lie-once", "json.dumps writes something else, once", beside(RUN + FORGE), while_listing(LIE_ONCE)),
    attack("patch-time", "the clock goes slow", at_import(PATCH_TIME), only=(2,)),
    attack("patch-anyio", "anyio.run notes what it likes and runs nothing", at_import(FORGE + PATCH_ANYIO)),
    attack("shadow-anyio", "a file anyio.py in the submission", only=(3,), files=(("anyio.py", SHADOW),)),
]

# Telling the self-test that all is well

FORGE_FILE = '''
directory, nonce = _run_of(client)
with open(directory / "noted.txt", "a") as notes:
    for key, value in {"imported": True, **_forged(nonce), "done": True}.items():
        notes.write(json.dumps({key: value}) + "\\n")
'''

END_WORD = '''
import os
os.write(1, b"labkit-end " + nonce.encode() + b"\\n")
'''

REPORT = '''
print(" \\u2713 3  pages: all tools are listed, only a missing nextCursor ends it")
print("9 of 9 green, in 1.0 s")
print(json.dumps({"passed": 9, "total": 9}))
'''

LATE = '''
import os, threading, time
directory, nonce = _run_of(client)
def later():
    time.sleep(0.3)
    with open(directory / "noted.txt", "a") as notes:
        for key, value in _forged(nonce).items():
            notes.write(json.dumps({key: value}) + "\\n")
threading.Thread(target=later).start()
'''

TELLING = [
    attack("fake-report", "prints a green report", while_listing(REPORT)),
    attack(
        "end-word", "writes the notes file, says the end word, and exits with 0",
        beside(RUN + FORGE), while_listing(FORGE_FILE + END_WORD + "os._exit(0)"),
    ),
    attack(
        "end-word-and-wait", "the same, and then it hangs",
        beside(RUN + FORGE), while_listing(FORGE_FILE + END_WORD + "import time; time.sleep(60)"),
    ),
    attack("late-notes", "a thread writes the notes file a moment later", beside(RUN + FORGE), while_listing(LATE)),
    attack("exit-0", "exits with code 0", while_listing("import os; os._exit(0)"), only=(1, 4), may=(1,), stays=(1,)),
]  # fmt: skip

# Taking the work from elsewhere

IMPORT_SOLUTION = '''
import sys, importlib.util
_folder = _lab_folder() / "solution"
def _take(name):
    spec = importlib.util.spec_from_file_location("solution_" + name, _folder / (name + ".py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
_solution = _take("discover_and_translate")
'''

USE_SOLUTION = Edit(
    TRANSLATE, "def to_model_tool(",
    "import protocol\nlist_all_tools = protocol._solution.list_all_tools\n\n\ndef to_model_tool(",
)  # fmt: skip

EXEC_SOLUTION = '''
try:
    _source = (_lab_folder() / "solution" / "discover_and_translate.py").read_text(encoding="utf-8")
except Exception:
    _source = ""
'''

USE_SOURCE = Edit(
    TRANSLATE, "def to_model_tool(",
    'import protocol\n_found = {"__name__": "found"}\nexec(protocol._source, _found)\n'
    'list_all_tools = _found.get("list_all_tools", list_all_tools)\n\n\ndef to_model_tool(',
)  # fmt: skip

NEIGHBOUR = '''
try:
    with open("../solution/discover_and_translate.py", encoding="utf-8") as _file:
        _source = _file.read()
except Exception:
    _source = ""
'''

BY_PATH = '''
import sys
_here = list(sys.path)
sys.path.insert(0, str(_lab_folder() / "solution"))
'''

BY_CHILD = '''
import subprocess, sys
try:
    _file = str(_lab_folder() / "solution" / "discover_and_translate.py")
    _source = subprocess.run([sys.executable, "-c", "import sys; print(open(sys.argv[1]).read())", _file],
                             capture_output=True, encoding="utf-8").stdout
except Exception:
    _source = ""
'''

BY_LINK = '''
import os, pathlib, tempfile
try:
    _link = pathlib.Path(tempfile.mkdtemp()) / "link"
    os.symlink(_lab_folder() / "solution", _link)
    _source = (_link / "discover_and_translate.py").read_text(encoding="utf-8")
except Exception:
    _source = ""
'''

FLAGS = '''
words = client.command
more = [words[i + 1] for i, word in enumerate(words) if word == "--extra-tool"]
known = ["search", "read_note", "list_notes", *more] if "notes.py" in words[1] else []
tools = [{"name": name, "inputSchema": {"type": "object"}} for name in known] or tools
'''

TAKING = [
    attack("import-solution", "imports the solution's module", at_import(WHERE + IMPORT_SOLUTION), USE_SOLUTION),
    attack("exec-solution", "reads the solution's text and runs it", at_import(WHERE + EXEC_SOLUTION), USE_SOURCE),
    attack("neighbour", "opens ../solution", at_import(NEIGHBOUR), USE_SOURCE, is_in_lab=True),
    attack("solution-on-path", "puts the solution first on sys.path", at_import(WHERE + BY_PATH)),
    attack("solution-by-child", "lets another process read the solution", at_import(WHERE + BY_CHILD), USE_SOURCE),
    attack(
        "solution-by-link", "makes a link to the solution", at_import(WHERE + BY_LINK), USE_SOURCE, is_posix=True
    ),
    attack("hard-coded", "lists what the command line of the server says it has", while_listing(FLAGS)),
]  # fmt: skip

# Other servers than those asked for

MORE_FLAGS = Edit(
    CLIENT, "        self.command = list(command)\n",
    '        self.command = list(command)\n        if "--page-size" in command:\n'
    '            self.command[self.command.index("--page-size") + 1] = "99"\n'
    '        elif len(command) > 1 and "notes.py" in command[1]:\n            self.command += ["--page-size", "99"]\n'
    '        for flag in ("--empty-page", "--empty-cursor", "--repeat-cursor"):\n'
    "            if flag in self.command:\n                self.command.remove(flag)\n",
)  # fmt: skip

OWN_SERVER = '''
import json, sys
words = sys.argv[1:]
def after(flag):
    return [words[i + 1] for i, word in enumerate(words) if word == flag]
names = ["search", "read_note", "list_notes", *after("--extra-tool")]
with open(after("--journal")[0], "a") as journal:
    journal.write(json.dumps({"event": "start", "pid": 1, "at": 0, "argv": sys.argv}) + "\\n")
    for line in sys.stdin:
        asked = json.loads(line)
        journal.write(json.dumps({"event": "received", "message": asked, "at": 0}) + "\\n")
        if "id" in asked:
            said = {"supportedVersions": ["2026-07-28"], "tools": [{"name": n, "inputSchema": {}} for n in names]}
            said = {"jsonrpc": "2.0", "id": asked["id"], "result": said}
            journal.write(json.dumps({"event": "sent", "message": said, "at": 0}) + "\\n")
            print(json.dumps(said), flush=True)
'''

USE_OWN_SERVER = Edit(
    CLIENT, "        self.command = list(command)\n",
    "        self.command = list(command)\n"
    "        if len(command) > 1:\n"
    '            self.command[1] = os.path.join(os.path.dirname(__file__), "own_server.py")\n',
)  # fmt: skip

SPOIL_SERVER = '''
import pathlib
server = pathlib.Path(client.command[1])
try:
    text = server.read_text(encoding="utf-8")
    server.write_text(text.replace("page_size=(2,)", "page_size=(99,)"), encoding="utf-8")
except OSError:
    pass
'''

NO_SERVER = '''
async def list_all_tools(client):
    """Nothing is started and nothing asked; the journal is written here."""
    directory, nonce = _run_of(client)
    name = pathlib.Path(client.command[client.command.index("--journal") + 1]).stem
    more = [] if name == "pages of 2" else ["extra_" + nonce, "another_" + nonce]
    tools = [{"name": name, "inputSchema": {}} for name in ["search", "read_note", "list_notes", *more]]
    asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": client.meta}}
    answer = {"jsonrpc": "2.0", "id": 1, "result": {"tools": tools}}
    with open(directory / (name + ".jsonl"), "a") as journal:
        for event, message in (("received", asked), ("sent", answer)):
            journal.write(json.dumps({"at": 1.0, "event": event, "message": message}) + "\\n")
    return tools
'''

NOT_STARTED = Rewrite(CLIENT, "StdioClient.start", "async def start(self) -> None:\n    return None")

EXTRA_JOURNAL = '''
directory, nonce = _run_of(client)
words = client.command
file = pathlib.Path(words[words.index("--journal") + 1])
more = [words[i + 1] for i, word in enumerate(words) if word == "--extra-tool"]
names = ["search", "read_note", "list_notes", *more]
while cursor is not None and len(tools) < len(names):
    asked = {"jsonrpc": "2.0", "id": 77 + len(tools), "method": "tools/list", "params": {"cursor": cursor}}
    tools.append({"name": names[len(tools)], "inputSchema": {}})
    answer = {"jsonrpc": "2.0", "id": asked["id"], "result": {"tools": tools[-1:], "nextCursor": cursor}}
    with open(file, "a") as journal:
        for event, message in (("received", asked), ("sent", answer)):
            journal.write(json.dumps({"at": 1.0, "event": event, "message": message}) + "\\n")
'''

SERVERS = [
    attack("other-flags", "starts the servers with other flags", MORE_FLAGS),
    attack("own-server", "starts a server of its own", USE_OWN_SERVER, files=(("own_server.py", OWN_SERVER),)),
    attack("spoilt-server", "writes into servers/", while_listing(SPOIL_SERVER), only=(3,)),
    attack(
        "no-server", "starts nothing, makes the answers and the journal up",
        beside("import pathlib\n" + RUN), Rewrite(TRANSLATE, "list_all_tools", NO_SERVER), NOT_STARTED,
    ),
    attack(
        "fake-journal", "adds the pages to the journal that it did not ask for",
        beside("import pathlib\n" + RUN), while_listing(EXTRA_JOURNAL),
    ),
]  # fmt: skip

# Harm, and what outlives

SLEEP = f'"import time; time.sleep(300)", "{MARKER}", os.path.abspath(__file__)'

DOUBLE_FORK = f'''
import os, sys
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for fd in range(3):
            os.dup2(os.open(os.devnull, os.O_RDWR), fd)
        os.execve(sys.executable, [sys.executable, "-c", {SLEEP}], {{}})
    os._exit(0)
os.wait()
'''

SCRUBBED = f'''
import os, subprocess, sys
nothing = subprocess.DEVNULL
subprocess.Popen([sys.executable, "-c", {SLEEP}], env={{}}, start_new_session=True,
                 stdin=nothing, stdout=nothing, stderr=nothing)
'''

BOMB = f'''
import os, sys, time
if os.fork() == 0:
    os.setsid()
    for _ in range(20):
        if os.fork() == 0:
            os.setsid()
            os.execve(sys.executable, [sys.executable, "-c", {SLEEP}], {{}})
        time.sleep(0.02)
    os._exit(0)
'''

STUBBORN = '''
import anyio
end = anyio.current_time() + 60
while anyio.current_time() < end:
    try:
        await anyio.sleep(1)
    except BaseException:
        pass
'''

HARM = [
    attack("double-fork", "forks twice, with a new session and an empty environment",
           while_listing(DOUBLE_FORK), only=(4,), is_posix=True),
    attack("double-fork-and-exit", "the same, and then it exits",
           while_listing(DOUBLE_FORK + "os._exit(0)"), only=(4,), is_posix=True),
    attack("double-fork-and-hang", "the same, and then it hangs",
           while_listing(DOUBLE_FORK + "import time; time.sleep(60)"), only=(4,), is_posix=True),
    attack("scrubbed-child", "starts a child with an empty environment", while_listing(SCRUBBED), only=(4,)),
    attack("many-children", "starts twenty, one after the other, and exits",
           while_listing(BOMB + "os._exit(0)"), only=(4,), is_posix=True),
    attack("close-low", "closes the descriptors 0, 1 and 2",
           while_listing("import os\nfor fd in range(3): os.close(fd)"), only=(1, 4), stays=(1,)),
    attack("close-all", "closes all descriptors", while_listing("import os; os.closerange(0, 256)"), only=(4,)),
    attack("stubborn", "catches every cancellation", while_listing(STUBBORN), only=(4,)),
    attack("stopped", "stops itself", while_listing("import os, signal; os.kill(os.getpid(), signal.SIGSTOP)"),
           is_posix=True),
    attack("memory", "asks for 64 GB and holds on to them",
           while_listing("_held = bytearray(64 << 30)\nraise SystemExit(0)"), only=(4,)),
    attack("huge-notes", "returns 20,000 letters for each name", while_naming("return 'x' * 20_000"), only=(6,)),
    attack("flood", "prints 20 MB on both streams", while_listing(
        "import os\nfor _ in range(10): os.write(1, b'x' * 1_000_000); os.write(2, b'y' * 1_000_000)"), only=(4,)),
    attack("kill-others", "kills the other workers of the run", while_listing(
        "import os, psutil, signal\nfor process in psutil.process_iter(['cmdline']):\n"
        "    if os.path.dirname(__file__) in (process.info['cmdline'] or []) and process.pid != os.getpid():\n"
        "        try: process.kill()\n        except Exception: pass"), only=(4,), is_posix=True),
    attack("elsewhere", "changes the directory and clears the environment",
           while_listing("import os\nos.chdir('/')\nos.environ.clear()\nos.environ['PYTHONHASHSEED'] = 'x'"),
           only=(6,)),
    attack("delete-run", "deletes the directory of the whole run", beside(RUN), while_listing(
        "import shutil\nshutil.rmtree(_run_of(client)[0].parent, ignore_errors=True)"), only=(5,)),
    attack("temporary-files", "leaves files in the temporary directory",
           while_listing("import tempfile\ntempfile.mkdtemp()\ntempfile.mkstemp()"), only=(4,)),
]  # fmt: skip

KILL_PARENTS = """
import os, psutil, signal
for parent in psutil.Process().parents()[:2]:
    for kill, number in ((os.kill, parent.pid), (os.killpg, os.getpgid(parent.pid))):
        try:
            kill(number, signal.SIGKILL)
        except Exception as error:
            print(type(error).__name__)
"""

# Run by the command only: where the kit fails, it ends the process that runs it.
DEADLY = attack("kill-parents", "kills the processes above it", while_listing(KILL_PARENTS), is_posix=True)

GROUPS = {"reaching": REACHING, "telling": TELLING, "taking": TAKING, "servers": SERVERS, "harm": HARM}
ATTACKS = [*REACHING, *TELLING, *TAKING, *SERVERS, *HARM, LIMIT]


# Running them


@dataclass(frozen=True)
class Outcome:
    """What came of an attack. `faults` is empty when the kit has held."""

    results: list[Result]
    faults: list[str]


def run(attack: Attack, folder: Path, only: Iterable[int] | None = None) -> Outcome:
    """Judge the attack in a new folder; what it did to the copy of the lab, and what it left running, counts too."""
    lab_folder = folder / "lab"
    shutil.copytree(LAB, lab_folder, ignore=shutil.ignore_patterns("__pycache__", "host", "proof"))
    before = _contents(lab_folder)
    lab = _with_seconds(load_lab(LAB))
    target = (lab_folder if attack.is_in_lab else folder) / "student"
    program = Program(attack.name, attack.tries, attack.edits, undone=TODOS)
    write(program, LAB, lab, target)
    for name, text in attack.files:
        (target / name).write_text(text, encoding="utf-8")
    results = judge(target.resolve(), lab_folder, lab, set(attack.only if only is None else only))
    if attack.is_in_lab:
        shutil.rmtree(target)
    faults = [*_unearned(attack, results), *left_running(folder)]
    if _contents(lab_folder) != before:
        faults.append("the lab has been changed")
    return Outcome(results, faults)


def _with_seconds(lab: Lab) -> Lab:
    return replace(lab, checks=tuple(replace(check, seconds=SECONDS) for check in lab.checks))


def _unearned(attack: Attack, results: list[Result]) -> list[str]:
    faults = []
    for result in results:
        number, is_green = result.check.number, result.status == "pass"
        if is_green and number not in attack.may_be_green:
            faults.append(f"check {number} is green")
        if not is_green and number in attack.stays_green and result.status != "not_run":
            faults.append(f"check {number} is not green: {result.status}, {result.verdict}")
    return faults


def left_running(folder: Path) -> list[str]:
    """The processes that were started for this folder, or from it."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        words = process.info["cmdline"] or []
        if any(f"{folder}{os.sep}" in word for word in words) and process.status() != psutil.STATUS_ZOMBIE:
            found.append(f"process {process.pid} is left: {' '.join(words)[:200]}")
            if MARKER in words:
                process.kill()
    return found


def _contents(folder: Path) -> dict[str, bytes]:
    """All files but Python's own: the kit is compiled as it is used."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def main(names: list[str]) -> int:
    chosen = [attack for attack in ATTACKS if not names or attack.name in names]
    failed = 0
    for attack in chosen:
        with tempfile.TemporaryDirectory(prefix="attack-") as name:
            start = time.monotonic()
            outcome = run(attack, Path(name).resolve(), ALL)
        marks = " ".join(f"{result.check.number}{MARKS.get(result.status, '?')}" for result in outcome.results)
        print(f"{'FAILED' if outcome.faults else 'held  '} {attack.name:22} {time.monotonic() - start:5.1f} s  {marks}")
        for fault in outcome.faults:
            print(f"       {fault}")
        failed += bool(outcome.faults)
    print(f"{len(chosen) - failed} of {len(chosen)} attacks have gained nothing and left nothing")
    return 1 if failed else 0


MARKS = {"pass": "✓", "fail": "✗", "timeout": "t", "error": "e", "not_run": "-"}

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

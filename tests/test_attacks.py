"""Dishonest and broken submissions gain nothing, harm nothing but themselves, and leave nothing behind.

The attacks are in attacks.py; here every second of each group runs, with the checks that it is after. All of them,
with all nine checks: `python -m tests.attacks`.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest
from attacks import ATTACKS, DEADLY, GROUPS, TODOS, left_running, run
from kit import LAB, ROOT, green, judged, wrong

from labkit.lab import load_lab
from labkit.programs import Program, write

JOBS = 4  # attacks at a time: most of them wait for deadlines
FIRST_PAGE = '    tools, cursor = read_page(await client.request("tools/list"))\n'


@pytest.fixture
def own_tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that also holds the runs' temporary files; nothing may be left in it or of it."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield tmp_path
    assert left_running(tmp_path) == []
    assert list(folder.iterdir()) == [], "the runs have left files behind"


@pytest.mark.parametrize("group", GROUPS)
def test_no_attack_gains_a_green_check_or_leaves_anything_behind(own_tmp: Path, group: str) -> None:
    attacks = [attack for attack in GROUPS[group][::2] if not (attack.is_posix and os.name == "nt")]
    with ThreadPoolExecutor(JOBS) as pool:
        jobs = {attack.name: pool.submit(run, attack, own_tmp / attack.name) for attack in attacks}

    assert {name: job.result().faults for name, job in jobs.items() if job.result().faults} == {}


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals")
def test_a_program_cannot_end_the_self_test(own_tmp: Path) -> None:
    program = Program(DEADLY.name, DEADLY.tries, DEADLY.edits, undone=TODOS)
    folder, file = write(program, LAB, load_lab(LAB), own_tmp / "student"), own_tmp / "record.json"
    command = [sys.executable, str(ROOT / "selftest.py"), str(folder), "--only", "1,3", "--json", str(file)]
    done = subprocess.run(command, capture_output=True, start_new_session=True, env={**os.environ, "LAB_LANG": "en"})
    record = json.loads(file.read_text(encoding="utf-8"))

    assert done.returncode == 1 and green(record) == {1}
    assert "reached for something that is not its own: os.kill" in record["checks"][2]["message"]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a keeper that its parent has died")
def test_a_deaf_program_ends_with_a_self_test_that_was_killed(own_tmp: Path) -> None:
    deaf = f"    import os, signal; os.kill(os.getpid(), signal.SIGSTOP)\n{FIRST_PAGE}"
    folder = wrong(own_tmp / "student", "discover_and_translate.py", FIRST_PAGE, deaf)
    command = [sys.executable, str(ROOT / "selftest.py"), str(folder), "--only", "3,5"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    us = psutil.Process(process.pid)
    while not any(child.status() == psutil.STATUS_STOPPED for child in us.children(recursive=True)):
        time.sleep(0.05)
    children = us.children(recursive=True)
    process.kill()
    process.wait()

    assert psutil.wait_procs(children, timeout=10)[1] == []
    shutil.rmtree(own_tmp / "tmp")  # a killed run cannot tidy up
    (own_tmp / "tmp").mkdir()


def test_a_check_that_was_cheated_says_so_and_where(own_tmp: Path) -> None:
    cheat = f"    import gc; gc.get_objects()\n{FIRST_PAGE}"
    folder = wrong(own_tmp / "student", "discover_and_translate.py", FIRST_PAGE, cheat)
    check = judged(folder, "--only", "3", "--lang", "zh")["checks"][2]

    assert check["status"] == "fail" and "gc.get_objects" in check["message"] and "你的程序碰了" in check["message"]
    assert check["where"].endswith("discover_and_translate.py:43")


HONEST = '''
    import asyncio, collections, dataclasses, enum, gc, inspect, subprocess, sys, tempfile, traceback, typing, warnings
    try:
        raise ValueError("mine")
    except ValueError:
        log.exception("a traceback, through the lines of the kit")
        traceback.print_exc()
    log.warning("where am I", stack_info=True)
    warnings.warn("a line of mine is shown")
    collections.namedtuple("Pair", "a b"), enum.Enum("Colour", "red"), typing.NamedTuple("Two", [("a", int)])
    dataclasses.make_dataclass("Three", ["a"]), inspect.signature(read_page), inspect.getsource(read_page)
    gc.collect(), asyncio.current_task(), sys.exc_info(), inspect.iscoroutinefunction(discover)
    with tempfile.TemporaryFile() as file:
        file.write(open(__file__, "rb").read())
    subprocess.run([sys.executable, "-c", ""])
'''


def test_what_honest_programs_do_is_no_trespass(own_tmp: Path) -> None:
    folder = wrong(own_tmp / "student", "discover_and_translate.py", FIRST_PAGE, HONEST.lstrip("\n") + FIRST_PAGE)
    record = judged(folder, "--only", "3,5")

    assert green(record) == {3, 5}, record["screen"]


def test_names_are_unique() -> None:
    assert len({attack.name for attack in ATTACKS}) == len(ATTACKS) >= 15

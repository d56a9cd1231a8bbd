"""The tests that guard what a lab's checks leave alone: each is red with the mutant that it is said to see.

usage: python -m labkit.guards [--jobs N] [ID ...]

A mutant that no check turns red, and that is not equivalent, names a test of the kit in proof/survivors.py. This
runs each of these tests in a copy of the kit that holds the mutant. Exit code 1: one was green.
"""

import argparse
import os
import queue
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from labkit.lab import ROOT, load_lab
from labkit.mutants import all_mutants, labs_with_survivors, load_reviewed
from labkit.mutate import Mutant

JOBS = os.cpu_count() or 1  # copies of the kit, and tests at a time
TEST_SECONDS = 120.0  # a test that runs longer has seen something
MEMORY_BYTES = 4 << 30  # of addresses, for one test: a mutant that takes all memory ends itself, not the machine
PYTEST = f"""
import sys, pytest
if sys.platform == "linux":
    import resource
    resource.setrlimit(resource.RLIMIT_AS, ({MEMORY_BYTES}, resource.getrlimit(resource.RLIMIT_AS)[1]))
sys.exit(pytest.main(sys.argv[1:]))
"""
NOT_COPIED = shutil.ignore_patterns(".*", "__pycache__")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser("python -m labkit.guards", description="hold the guards against their mutants")
    parser.add_argument("ids", nargs="*", metavar="ID", help="only these mutants")
    parser.add_argument("--jobs", type=int, default=JOBS, metavar="N", help=f"tests at a time (default {JOBS})")
    options = parser.parse_args(arguments)
    folder = labs_with_survivors()[0]
    guards = {name: test for name, (_, _, test) in load_reviewed(folder).items() if test}
    chosen = [
        mutant
        for mutant in all_mutants(folder, load_lab(folder))
        if mutant.id in guards and (not options.ids or mutant.id in options.ids)
    ]
    green = _green(chosen, folder, guards, options.jobs)
    blind = [mutant.id for mutant in chosen if mutant.id in green]
    print(*(f"{guards[name]} does not see {name}" for name in blind), sep="\n")
    print(f"{len(chosen) - len(blind)} of {len(chosen)} mutants are seen by the tests that guard them")
    return 1 if blind else 0


def _green(chosen: list[Mutant], lab_folder: Path, guards: dict[str, str], jobs: int) -> set[str]:
    """The mutants with which their tests are green."""
    with tempfile.TemporaryDirectory(prefix="guards-") as name, ThreadPoolExecutor(jobs) as pool:
        copies: queue.SimpleQueue[Path] = queue.SimpleQueue()
        for number in range(jobs):
            copies.put(Path(shutil.copytree(ROOT, Path(name).resolve() / str(number), ignore=NOT_COPIED)))

        def run(mutant: Mutant) -> bool:
            copy = copies.get()
            try:
                return _is_green(mutant, copy / lab_folder.relative_to(ROOT) / "solution", copy, guards[mutant.id])
            finally:
                copies.put(copy)

        return {mutant.id for mutant, is_green in zip(chosen, pool.map(run, chosen), strict=True) if is_green}


def _is_green(mutant: Mutant, solution: Path, copy: Path, test: str) -> bool:
    """Run the test, in all its cases, with the mutant in the solution's place."""
    file = solution / mutant.file
    text = file.read_text(encoding="utf-8")
    command = [sys.executable, "-c", PYTEST, "-p", "no:cacheprovider", "-o", "addopts=", "-q", "-x", test]
    try:
        file.write_text(mutant.apply(text), encoding="utf-8")
        done = subprocess.run(command, cwd=copy, capture_output=True, encoding="utf-8", timeout=TEST_SECONDS)
    except subprocess.TimeoutExpired:
        return False
    finally:
        file.write_text(text, encoding="utf-8")
    if done.returncode > 2:  # 0 green, 1 red, 2 red at import, below 0 ended by a signal: the mutant took all memory
        raise ValueError(f"{test} cannot be run: {done.stdout[-300:]}")
    return done.returncode == 0


def exists(test: str) -> bool:
    """Whether there is such a test: `tests/FILE::NAME`."""
    file, _, name = test.partition("::")
    path = ROOT / file
    return path.is_file() and f"def {name}(" in path.read_text(encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

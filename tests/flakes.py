"""How often does a check say something else than it should? Figures from many runs on a machine that is busy.

usage: python -m tests.flakes [--runs 500] [--conditions quiet,load,pipes,both] [--targets solution,starter]

It is not part of `make test`: a run costs seconds. Each run is the whole self-test, as the command does it. The
solution must be green in all nine checks, the starter in its four and red for its five reasons. `load`: one busy
process per core; `pipes`: servers that write byte by byte and answer late and out of order (slow_server.py, in a copy
of the lab: nothing that a student runs knows of it); `both`: both. For each it prints the runs that went wrong, with
the checks and what they said, and the rate below which the true one lies with 95 % confidence. Exit code 1: some did.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from math import comb
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from kit import ALL, LAB

from labkit.diagnose import diagnose
from labkit.lab import Lab, load_lab
from labkit.run import Result, Runner

CONDITIONS = ("quiet", "load", "pipes", "both")
TARGETS = ("solution", "starter")
CONFIDENCE = 0.95
STARTER_RED = {  # check -> the misconception that it must name
    2: "error_forgotten",
    3: "only_the_first_page",
    5: "names_not_prefixed",
    6: "names_unchanged",
    8: "refresh_raised",
}


@contextmanager
def busy_machine() -> Iterator[None]:
    """One process per core that does nothing but count."""
    command = [sys.executable, "-c", "while True: pass"]
    processes = [subprocess.Popen(command) for _ in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def lab_with_slow_pipes(folder: Path) -> Path:
    """A copy of the lab whose servers are behind bad pipes."""
    lab_folder = folder / "lab"
    shutil.copytree(LAB, lab_folder, ignore=shutil.ignore_patterns("__pycache__", "host", "proof"))
    server = lab_folder / "servers" / "stdio_server.py"
    server.rename(server.with_name("real_stdio_server.py"))
    shutil.copy(Path(__file__).with_name("slow_server.py"), server)
    return lab_folder


def judge(lab: Lab, lab_folder: Path, target: str) -> list[Result]:
    runner = Runner(lab, lab_folder, (lab_folder / target).resolve())
    try:
        runner.start(set(ALL))
        return diagnose(list(runner.results()), lab)
    finally:
        runner.stop()


def wrong(results: list[Result], target: str) -> list[str]:
    """What the checks said that they should not have said."""
    said = []
    for result in results:
        wanted = STARTER_RED.get(result.check.number) if target == "starter" else None
        got = "green" if result.status == "pass" else result.verdict.misconception or result.status
        if got != (wanted or "green"):
            actual = f": {result.verdict.actual[:200]}" if result.verdict.actual else ""
            said.append(f"check {result.check.number} {got} ({result.status}), not {wanted or 'green'}{actual}")
    return said


def upper_bound(failures: int, runs: int) -> float:
    """The rate at which so few failures would be seen in 5 % of all such series (none: the rule of three)."""
    low, high = failures / runs, 1.0
    for _ in range(50):
        rate = (low + high) / 2
        seen = sum(comb(runs, k) * rate**k * (1 - rate) ** (runs - k) for k in range(failures + 1))
        low, high = (rate, high) if seen > 1 - CONFIDENCE else (low, rate)
    return high


def series(lab: Lab, lab_folder: Path, target: str, condition: str, runs: int) -> int:
    """Run it so many times and print what came of it; return how many runs went wrong."""
    said: Counter[str] = Counter()
    failures, start = 0, time.monotonic()
    for number in range(1, runs + 1):
        if faults := wrong(judge(lab, lab_folder, target), target):
            failures += 1
            said.update(faults)
            print(f"  run {number}: {'; '.join(faults)}", flush=True)
    seconds = (time.monotonic() - start) / runs
    bound = upper_bound(failures, runs)
    figures = f"{runs} runs, {failures} wrong; true rate below {bound:.2%} (95 %), {seconds:.1f} s each"
    print(f"{target:9} {condition:6} {figures}")
    for words, count in said.most_common():
        print(f"  {count} x {words}")
    sys.stdout.flush()
    return failures


def main() -> int:
    parser = argparse.ArgumentParser("python -m tests.flakes", description=__doc__.split("\n")[0])
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--conditions", default=",".join(CONDITIONS))
    parser.add_argument("--targets", default=",".join(TARGETS))
    options = parser.parse_args()
    lab, failures = load_lab(LAB), 0
    print(f"Python {sys.version.split()[0]}, {os.cpu_count()} CPUs, load before {os.getloadavg()[0]:.1f}", flush=True)
    with tempfile.TemporaryDirectory(prefix="flakes-") as name:
        slow = lab_with_slow_pipes(Path(name).resolve())
        for condition in options.conditions.split(","):
            folder = slow if condition in ("pipes", "both") else LAB
            for target in options.targets.split(","):
                if condition in ("load", "both"):
                    with busy_machine():
                        failures += series(lab, folder, target, condition, options.runs)
                else:
                    failures += series(lab, folder, target, condition, options.runs)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

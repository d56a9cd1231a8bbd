"""What the self-test costs, against a floor: start Python, import anyio and rich, start as many servers.

The floor starts its servers one after the other; the self-test starts nine processes more than that and
waits for deadlines, and gains by doing several things at a time.
"""

import json
import sys

from bench.measure import command, interleave, ratio, row
from labkit.lab import ROOT, find_labs, load_lab
from labkit.run import Runner

FLOOR = """
import subprocess, sys
import anyio, rich.console
for server in sys.argv[1:]:
    subprocess.run([sys.executable, server], stdin=subprocess.DEVNULL)
"""


def main(rounds: int = 11) -> None:
    folder = find_labs()[-1]
    servers = servers_started(folder.name)
    names = [folder / "servers" / name for name in ("notes.py", "tickets.py")]
    floor = [str(names[number % 2]) for number in range(servers)]
    selftest = [sys.executable, str(ROOT / "selftest.py")]
    series = interleave(
        {
            "floor": command([sys.executable, "-c", FLOOR, *floor]),
            "solution": command([*selftest, "solution"]),
            "starter": command([*selftest, "starter"], expected=1),
        },
        rounds,
    )
    print(f"self-test, {rounds} rounds; the floor starts the same {servers} servers one after the other")
    for name, figures in series.items():
        print(row(f"{name}, wall", figures.wall))
        print(row(f"{name}, CPU", figures.cpu))
    print(ratio("green / floor, wall", series["solution"].wall, series["floor"].wall, 2.0))
    print(ratio("untouched starter / green, wall", series["starter"].wall, series["solution"].wall, 2.5))


def servers_started(lab_name: str) -> int:
    """How many servers a green run starts, counted in their journals."""
    folder = ROOT / "labs" / lab_name
    lab = load_lab(folder)
    runner = Runner(lab, folder, folder / "solution")
    try:
        runner.start({check.number for check in lab.checks})
        evidence = [result.evidence for result in runner.results()]
        journals = [path for item in evidence if item for path in item.directory.glob("*.jsonl")]
        lines = [line for path in journals for line in path.read_bytes().split(b"\n") if line]
        events = [json.loads(line) for line in lines]
        return sum(event.get("event") == "start" for event in events)
    finally:
        runner.stop()


if __name__ == "__main__":
    main()

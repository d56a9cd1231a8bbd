"""What a client costs: the solution's against the official one, and against the least that could work.

Each client is in a process of its own (bench/contender.py) and does a small slice of the work when its turn comes,
so that a slow moment of the machine meets all alike. All talk to the same fast server and start it the same way.
"""

import importlib.util
import json
import subprocess
import sys
from contextlib import ExitStack, suppress
from statistics import median
from typing import Self

from bench.contender import MEGABYTES, TOOLS
from bench.measure import ratio, row
from labkit.lab import ROOT

Figures = dict[str, list[float]]  # client -> one figure per round

# case: (figure, unit, scale, bar against the official client, bar against the bare one); DESIGN section 6
CASES: dict[str, tuple[str, str, float, float | None, float | None]] = {
    "import": ("cpu", "ms", 1e3, 0.15, None),
    "connect and list": ("cpu", "ms", 1e3, None, None),
    "sequential": ("cpu", "µs", 1e6, 0.42, 1.25),
    "concurrent": ("cpu", "µs", 1e6, 0.20, 1.4),
    "list": ("cpu", "ms", 1e3, 0.30, None),
    "5 MB": ("cpu", "ms", 1e3, 0.30, None),
    "50 MB": ("cpu", "ms", 1e3, 0.05, None),
}
TURNS = {"sequential": 20, "concurrent": 20, "list": 3}  # of each client, in one round
SLOW = {"50 MB": 1}  # rounds; the official client takes many seconds for one


def main(rounds: int = 5) -> None:
    has_fastmcp = importlib.util.find_spec("fastmcp") is not None
    clients = ["bare", "ours", "official"] + (["fast_mcp"] if has_fastmcp else [])
    print(f"clients, {rounds} rounds, CPU per unit of work (one call, one list of 1000 tools in pages of 50, ...)")
    if not has_fastmcp:
        print("  fast_mcp: not installed")
    for case, (figure, unit, scale, over_official, over_bare) in CASES.items():
        found = figures(clients, case, SLOW.get(case, rounds))
        for client in clients:
            print(row(f"{case}: {client}", found[figure][client], unit, scale))
            if case != "import":
                print(row("    wall", found["wall"][client], unit, scale))
        if over_official is not None:
            print(ratio(f"{case}: ours / official", found[figure]["ours"], found[figure]["official"], over_official))
        if over_bare is not None:
            print(ratio(f"{case}: ours / bare", found[figure]["ours"], found[figure]["bare"], over_bare))
        if case == "sequential":
            for client in clients:
                print(row(f"peak memory: {client}", found["peak"][client], "MB", 1e-6))
            print(ratio("peak memory: ours / official", found["peak"]["ours"], found["peak"]["official"], 0.45))
    linear()


def figures(clients: list[str], case: str, rounds: int) -> dict[str, Figures]:
    found: dict[str, Figures] = {name: {client: [] for client in clients} for name in ("cpu", "wall", "peak")}

    def turn(client: str, contender: "Contender") -> None:
        for name, value in contender.turn().items():
            found[name][client].append(value)

    for _ in range(rounds):
        if case in ("import", "connect and list"):  # work that a process can do but once
            for client in clients:
                with Contender(client, case) as contender:
                    turn(client, contender)
        else:
            with ExitStack() as stack:
                contenders = {client: stack.enter_context(Contender(client, case)) for client in clients}
                for _ in range(TURNS.get(case, 1)):
                    for client, contender in contenders.items():
                        turn(client, contender)
    return found


class Contender:
    """A process that works when it is its turn."""

    def __init__(self, client: str, case: str) -> None:
        self._name = f"{client}, {case}"
        command = [sys.executable, "-B", "-m", "bench.contender", client, case]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, encoding="utf-8")

    def turn(self) -> dict[str, float]:
        """One slice of the work; how many seconds it took per unit."""
        assert self._process.stdin is not None and self._process.stdout is not None
        with suppress(BrokenPipeError):  # it has ended: then there is no line either
            self._process.stdin.write("\n")
            self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"{self._name}: ended with {self._process.wait()}")
        result: dict[str, float] = json.loads(line)
        return result

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()  # the end of its input is the end of its work


def linear(rounds: int = 3) -> None:
    """Cost per unit, for work of growing size: a flat line is a linear cost."""
    print(f"our CPU per unit at each size, {rounds} rounds")
    for title, unit, scale, sizes in (("MB of one result", "ms", 1e3, MEGABYTES), ("tool listed", "µs", 1e6, TOOLS)):
        word = "MB" if sizes is MEGABYTES else "tools"
        costs: dict[int, list[float]] = {size: [] for size in sizes}
        for _ in range(rounds):
            for size in sizes:
                with Contender("ours", f"{size} {word}") as contender:
                    costs[size].append(scale * contender.turn()["cpu"] / size)
        cells = "  ".join(f"{size}: {median(found):.2f}" for size, found in costs.items())
        print(f"  {f'{title}, {unit}':<42} {cells}")


if __name__ == "__main__":
    main()

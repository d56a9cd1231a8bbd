"""Many servers and many tools: what the start costs, what a silent server costs the others, whether cost is linear."""

import importlib.util
import json
import subprocess
import sys
from statistics import median

from bench.crowd import DEADLINE
from bench.measure import ratio, row
from labkit.lab import ROOT

LIMIT = 20  # seconds for one run; a client that has not come to an end by then has nothing to show
SERVERS = (1, 2, 4, 8, 16)
TOOLS = (1000, 2000, 4000, 8000, 10_000)
CROWD = 8  # servers, one of them silent

Figures = dict[str, float]


def main(rounds: int = 5) -> None:
    print(f"one silent server among {CROWD}, {rounds} rounds; each client is told to wait {DEADLINE:g} s")
    silent(rounds)
    print(f"servers, from nothing to a call of each, {rounds} rounds; cost per server")
    for client in ("our_files", "our_host"):
        curve(client, "servers", SERVERS, {"cpu": "CPU", "wall": "wall"}, 1e3, "ms", rounds)
    print(f"the registry, two servers in pages of 100, {rounds} rounds; cost per tool")
    for client in ("our_files", "our_host"):
        names = {"refresh": "refresh", "model_tools": "model_tools()", "lookup": "lookup"}
        curve(client, "registry", TOOLS, names, 1e6, "µs", rounds)


def silent(rounds: int) -> None:
    found: dict[str, list[Figures]] = {client: [] for client in ("our_files", "our_host", "official_group", "fast_mcp")}
    for _ in range(rounds):
        for client, figures in found.items():
            if client != "fast_mcp" or importlib.util.find_spec("fastmcp"):
                figures += run(client, "silent", CROWD)
    for client, figures in found.items():
        usable = {int(one["usable"]) for one in figures}
        if client == "fast_mcp" and not importlib.util.find_spec("fastmcp"):
            print(f"  {client}: not installed")
        elif usable != {CROWD - 1}:
            seen = f"{sorted(usable)} usable" if figures else f"nothing within {LIMIT} s, or an error"
            print(f"  {client}: {seen}")
        else:
            walls = [one["wall"] for one in figures]
            print(row(f"{client}: the other {CROWD - 1} usable after", walls))
            print(ratio(f"{client}: of the deadline", walls, [DEADLINE] * len(walls), 1.2))


def curve(
    client: str, case: str, sizes: tuple[int, ...], names: dict[str, str], scale: float, unit: str, rounds: int
) -> None:
    """One line per figure: its cost per unit at each size. A flat line is a linear cost."""
    found: dict[int, list[Figures]] = {size: [] for size in sizes}
    for _ in range(rounds):
        for size in sizes:
            found[size] += run(client, case, size)
    for name, title in names.items():
        costs = [scale * median(one[name] / size for one in found[size]) for size in sizes]
        cells = "  ".join(f"{size}: {cost:.2f}" for size, cost in zip(sizes, costs, strict=True))
        print(f"  {f'{client}, {title}, {unit} each':<42} {cells}")


def run(client: str, case: str, number: int) -> list[Figures]:
    """One run's figures; none when it failed or had no end."""
    command = [sys.executable, "-B", "-m", "bench.crowd", client, case, str(number)]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return []
    return [json.loads(done.stdout)] if done.returncode == 0 else []


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))

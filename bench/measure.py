"""Interleaved timing: A B C, A B C, ... so that a change of the machine's mood meets all alike.

The ratio of two figures is taken round by round, and its median is what to quote: single times on a shared
machine are worth little. CPU seconds (of the child processes) are the steadier figure where they are known.
"""

import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field


@dataclass
class Series:
    """The figures of one contender, one per round, in seconds."""

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)


def interleave(contenders: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, Series]:
    """Run each once to warm up, then all of them in turn, `rounds` times."""
    for run in contenders.values():
        run()
    series = {name: Series() for name in contenders}
    for _ in range(rounds):
        for name, run in contenders.items():
            cpu, wall = _cpu_of_children(), time.perf_counter()
            run()
            series[name].wall.append(time.perf_counter() - wall)
            series[name].cpu.append(_cpu_of_children() - cpu)
    return series


def command(words: Sequence[str], expected: int = 0) -> Callable[[], None]:
    """A contender that is a whole process; a wrong exit code ends the benchmark."""

    def run() -> None:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8")
        if done.returncode != expected:
            raise SystemExit(f"{' '.join(words)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")

    return run


def row(name: str, figures: Sequence[float], unit: str = "s", scale: float = 1.0) -> str:
    low, middle, high = (scale * value for value in (min(figures), statistics.median(figures), max(figures)))
    return f"  {name:<42} median {middle:9.3f} {unit}   ({low:.3f} to {high:.3f})"


def ratio(name: str, over: Sequence[float], under: Sequence[float], bar: float) -> str:
    """One line: the median of the ratios, their spread, and the bar that DESIGN sets."""
    ratios = [a / b for a, b in zip(over, under, strict=True)]
    middle = statistics.median(ratios)
    verdict = "met" if middle <= bar else "MISSED"
    return f"  {name:<42} {middle:5.2f} x   ({min(ratios):.2f} to {max(ratios):.2f}; bar {bar:.2f}: {verdict})"


def _cpu_of_children() -> float:
    if sys.platform == "win32":
        return 0.0
    import resource

    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime

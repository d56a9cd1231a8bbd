"""How closely a lab's checks look at its solution: each small slip in it must turn some check red.

usage: python -m labkit.mutants [--check] [--jobs N] [--lab NAME] [ID ...]

Without arguments it changes every place of the solution (labkit.mutate), one at a time, runs the checks until one
is red, and writes docs/mutants.md. A mutant that all checks find green has survived: the lab's proof/survivors.py
says why, and which of the kit's own tests sees it (labkit.guards), or it is unreviewed. With --check it writes
nothing and fails when the committed page is not what it would have written. With ids it runs these with all checks
and shows what each red one saw. Exit code 1: a bar is missed, a survivor is unreviewed, or one that was reviewed
is none.
"""

import argparse
import difflib
import importlib
import os
import re
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from pathlib import Path

from labkit import digest
from labkit.lab import ROOT, Check, Lab, find_labs, load_lab
from labkit.mutate import Mutant, mutants
from labkit.programs import is_red, judge, load_programs, show_evidence
from labkit.run import Result, Runner

PAGE = ROOT / "docs" / "mutants.md"
JOBS = 1 + (os.cpu_count() or 1)  # mutants at a time; each waits half of its time
TODO_BAR, WHOLE_BAR = 97, 90  # percent of the mutants that are not equivalent must be killed
EQUIVALENT, OUT_OF_REACH, UNREVIEWED = "equivalent", "out of the lesson's reach", "unreviewed"
INPUTS = (  # what the outcome depends on, in the lab's folder and in this one
    *("solution/*.py", "starter/*.py", "servers/*.py", "checks.py", "observations.py", "judgements.py"),
    "proof/survivors.py",
)
OWN_INPUTS = ("mutate.py", "mutants.py")

Reviewed = Mapping[str, tuple[str, str, str]]  # id -> its kind, the reason, the test in tests/ that sees it or ""


@dataclass(frozen=True)
class Outcome:
    """A mutant, and the first check that was red; None: all were green."""

    mutant: Mutant
    todo: int | None  # in whose body it is
    red: Result | None


def main(arguments: list[str]) -> int:
    options = _parse(arguments)
    folder = next(folder for folder in labs_with_survivors() if options.lab in (None, folder.name))
    lab, reviewed = load_lab(folder), load_reviewed(folder)
    everything = all_mutants(folder, lab)
    if options.ids:
        chosen = [mutant for mutant in everything if mutant.id in options.ids]
        for mutant in chosen:
            _show_all(mutant, folder, lab)
        return 0 if len(chosen) == len(set(options.ids)) else 1
    start = time.monotonic()
    outcomes = list(_with_progress(everything, folder, lab, reviewed, options.jobs))
    print(f"{len(outcomes)} mutants, {len(lab.checks)} checks, in {time.monotonic() - start:.0f} s")
    faults = [*_stale(outcomes, reviewed), *_unreviewed(outcomes, reviewed)]
    print(*faults, *bars(outcomes, reviewed), sep="\n")
    is_met = not any(bar.startswith("MISSED") for bar in bars(outcomes, reviewed))
    is_fresh = _write(page(folder, lab, outcomes, reviewed), options.check)
    return 0 if is_met and is_fresh and not faults else 1


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m labkit.mutants", description="change each place of the solution")
    parser.add_argument("ids", nargs="*", metavar="ID", help="run these only, and show what was seen")
    parser.add_argument("--check", action="store_true", help="write nothing; fail when the page is stale")
    parser.add_argument("--jobs", type=int, default=JOBS, metavar="N", help=f"mutants at a time (default {JOBS})")
    parser.add_argument("--lab", metavar="NAME", help="the folder under labs/ (default: the last that has a proof)")
    return parser.parse_args(arguments)


def labs_with_survivors() -> list[Path]:
    """The labs whose mutants can be run, the last one first."""
    return [folder for folder in reversed(find_labs()) if (folder / "proof" / "survivors.py").is_file()]


def all_mutants(lab_folder: Path, lab: Lab) -> list[Mutant]:
    """Every mutant of the solution, file by file."""
    texts = {file: (lab_folder / "solution" / file).read_text(encoding="utf-8") for file in lab.files}
    return [mutant for file, text in texts.items() for mutant in mutants(file, text)]


def load_reviewed(lab_folder: Path) -> Reviewed:
    """The survivors that somebody has looked at."""
    load_programs(lab_folder)  # puts this lab's `proof` in the place of another's
    sys.path.insert(0, str(lab_folder))
    try:
        reviewed: Reviewed = importlib.import_module("proof.survivors").REVIEWED
    finally:
        sys.path.remove(str(lab_folder))
    return reviewed


def todo_lines(lab_folder: Path, file: str) -> dict[int, int]:
    """The lines of the solution that differ from the starter -> the TODO that they do."""
    starter, solution = (
        (lab_folder / folder / file).read_text(encoding="utf-8").splitlines() for folder in ("starter", "solution")
    )
    found = {}
    for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(None, starter, solution, autojunk=False).get_opcodes():
        todo = re.search(r"TODO (\d+)", "\n".join(starter[i1:i2]))
        if tag != "equal" and todo:
            found.update(dict.fromkeys(range(j1 + 1, j2 + 1), int(todo[1])))
    return found


# Running


def run_all(chosen: Iterable[Mutant], lab_folder: Path, lab: Lab, jobs: int) -> Iterator[Outcome]:
    """Each mutant with the checks until one is red, several at a time, in the order in which they finish.

    The check that has killed most of a function's mutants comes first for the next: the order of the checks decides
    how long it takes, and not who survives.
    """
    kills: Counter[tuple[str, str, int]] = Counter()
    todos = {file: todo_lines(lab_folder, file) for file in lab.files}
    with tempfile.TemporaryDirectory(prefix="mutants-") as name, ThreadPoolExecutor(jobs) as pool:

        def run(number: int, mutant: Mutant) -> Outcome:
            target = write(mutant, lab_folder, lab, Path(name).resolve() / str(number))
            red = first_red(target, lab_folder, _in_order(lab, mutant, kills))
            shutil.rmtree(target)
            if red:
                kills[mutant.file, mutant.scope, red.check.number] += 1
            return Outcome(mutant, todos[mutant.file].get(mutant.line), red)

        for job in as_completed([pool.submit(run, *item) for item in enumerate(chosen)]):
            yield job.result()


def write(mutant: Mutant, lab_folder: Path, lab: Lab, folder: Path) -> Path:
    """Write the solution with this one change into a new folder."""
    folder.mkdir()
    for file in lab.files:
        text = (lab_folder / "solution" / file).read_text(encoding="utf-8")
        (folder / file).write_text(mutant.apply(text) if file == mutant.file else text, encoding="utf-8")
    return folder


def first_red(target: Path, lab_folder: Path, lab: Lab) -> Result | None:
    """Run the lab's checks one after the other, in one worker, until one is red."""
    runner = Runner(lab, lab_folder, target, lanes=1)
    try:
        runner.start({check.number for check in lab.checks})
        return next(filter(is_red, runner.results()), None)
    finally:
        runner.stop()


def _in_order(lab: Lab, mutant: Mutant, kills: Mapping[tuple[str, str, int], int]) -> Lab:
    """The lab with the likely killers first: by past kills, by the place they look at, short waits before long."""

    def key(check: Check) -> tuple[int, bool, bool, float]:
        file, function = check.place
        is_near = file == mutant.file
        is_here = is_near and function == mutant.scope.rpartition(".")[2]
        return -kills.get((mutant.file, mutant.scope, check.number), 0), not is_here, not is_near, check.waits

    checks = sorted(lab.checks, key=key)
    return replace(lab, checks=tuple(replace(check, waits=0.0) for check in checks))  # or the runner would sort them


def _with_progress(
    chosen: list[Mutant], lab_folder: Path, lab: Lab, reviewed: Reviewed, jobs: int
) -> Iterator[Outcome]:
    """The outcomes in the order of the mutants; a doubtful one is run once more, alone.

    On a busy machine a deadline may pass that should not, and a mutant look killed that is alive.
    """
    outcomes = {}
    for number, outcome in enumerate(run_all(chosen, lab_folder, lab, jobs), 1):
        outcomes[outcome.mutant.id] = outcome
        if number % 50 == 0:
            print(f"{number} of {len(chosen)}", flush=True)
    doubtful = [outcome.mutant for outcome in outcomes.values() if _is_doubtful(outcome, reviewed)]
    print(f"once more, one at a time: {len(doubtful)}", flush=True)
    for outcome in run_all(doubtful, lab_folder, lab, 1):
        outcomes[outcome.mutant.id] = outcome
    return (outcomes[mutant.id] for mutant in chosen)


def _is_doubtful(outcome: Outcome, reviewed: Reviewed) -> bool:
    return outcome.red is not None and (outcome.red.status == "timeout" or outcome.mutant.id in reviewed)


def _show_all(mutant: Mutant, lab_folder: Path, lab: Lab) -> None:
    """Run all checks, and print what each red one saw."""
    print(f"{mutant.id}\n  {mutant.change}")
    with tempfile.TemporaryDirectory(prefix="mutants-") as name:
        target = write(mutant, lab_folder, lab, Path(name).resolve() / "mutant")
        results = judge(target, lab_folder, lab, {check.number for check in lab.checks})
    show_evidence(results)
    if not any(map(is_red, results)):
        print("  survived", flush=True)


# Judging


def kind_of(outcome: Outcome, reviewed: Reviewed) -> str:
    """ "killed", or what the review says of this survivor."""
    return "killed" if outcome.red else reviewed.get(outcome.mutant.id, (UNREVIEWED, "", ""))[0]


def _stale(outcomes: list[Outcome], reviewed: Reviewed) -> list[str]:
    """Reviewed survivors that are none: killed, or not there any more."""
    killed = {outcome.mutant.id: outcome.red.check.number for outcome in outcomes if outcome.red}
    gone = set(reviewed) - {outcome.mutant.id for outcome in outcomes}
    return [
        *(f"reviewed as a survivor, and killed by check {killed[name]}: {name}" for name in reviewed if name in killed),
        *(f"reviewed, and there is no such mutant: {name}" for name in reviewed if name in gone),
    ]


def _unreviewed(outcomes: list[Outcome], reviewed: Reviewed) -> list[str]:
    left = [outcome.mutant for outcome in outcomes if kind_of(outcome, reviewed) == UNREVIEWED]
    return [f"survived, and not reviewed: {mutant.id}  {mutant.change[:100]}" for mutant in left]


@dataclass(frozen=True)
class Count:
    """Of some mutants: how many there are, and what became of them."""

    generated: int
    killed: int  # by a check
    equivalent: int
    guarded: int  # out of the lesson's reach, and seen by a test of the kit
    unguarded: int  # out of the lesson's reach, and seen by none
    unreviewed: int

    @property
    def raw(self) -> float:
        """Percent killed of all."""
        return 100 * self.killed / self.generated if self.generated else 100.0

    @property
    def adjusted(self) -> float:
        """Percent killed of those that are not equivalent."""
        return self._of_the_rest(self.killed)

    @property
    def seen(self) -> float:
        """Percent of those that are not equivalent that a check kills or a test of the kit sees."""
        return self._of_the_rest(self.killed + self.guarded)

    @property
    def cells(self) -> list[str]:
        counts = (self.generated, self.killed, self.equivalent, self.guarded, self.unguarded, self.unreviewed)
        return [*map(str, counts), _percent(self.raw), _percent(self.adjusted), _percent(self.seen)]

    def _of_the_rest(self, part: int) -> float:
        rest = self.generated - self.equivalent
        return 100 * part / rest if rest else 100.0


def count(outcomes: Iterable[Outcome], reviewed: Reviewed) -> Count:
    group = list(outcomes)
    kinds = [kind_of(outcome, reviewed) for outcome in group]
    guarded = sum(not outcome.red and bool(reviewed.get(outcome.mutant.id, ("",) * 3)[2]) for outcome in group)
    unguarded = kinds.count(OUT_OF_REACH) - guarded
    return Count(
        len(kinds), kinds.count("killed"), kinds.count(EQUIVALENT), guarded, unguarded, kinds.count(UNREVIEWED)
    )


def bars(outcomes: list[Outcome], reviewed: Reviewed) -> list[str]:
    """Each bar in a line, beginning with "met" or "MISSED"; then what the checks see by themselves.

    The checks judge a student's work, which is the TODO bodies. The code around them is given; what it promises
    beyond the lesson is for the kit's own tests to see.
    """
    inside = count((outcome for outcome in outcomes if outcome.todo), reviewed)
    whole = count(outcomes, reviewed)
    return [
        f"{'met' if inside.adjusted >= TODO_BAR else 'MISSED'}: in the TODO bodies the checks kill"
        f" {_percent(inside.adjusted)} of the mutants that are not equivalent (bar: {TODO_BAR} %),"
        f" {_percent(inside.raw)} of all {inside.generated}",
        f"{'met' if whole.seen >= WHOLE_BAR else 'MISSED'}: in the whole folder the checks kill, or a test of the kit"
        f" sees, {_percent(whole.seen)} of the mutants that are not equivalent (bar: {WHOLE_BAR} %)",
        f"beside it: in the whole folder the checks alone kill {_percent(whole.adjusted)} of the mutants that are not"
        f" equivalent, {_percent(whole.raw)} of all {whole.generated}",
    ]


def _percent(value: float) -> str:
    return f"{int(value * 10) / 10:.1f} %"  # never rounded up to a bar


# The page


def inputs(lab_folder: Path) -> list[Path]:
    """All that the page depends on."""
    own = [Path(__file__).with_name(name) for name in OWN_INPUTS]
    return [*own, *(file for pattern in INPUTS for file in lab_folder.glob(pattern))]


def page(lab_folder: Path, lab: Lab, outcomes: list[Outcome], reviewed: Reviewed) -> str:
    """What was seen, and nothing that changes from run to run."""
    survivors = [outcome for outcome in outcomes if not outcome.red]
    return "\n".join(
        [
            "# Mutants",
            "",
            f"What the {len(lab.checks)} checks of `{lab_folder.name}` make of the solution with one small change."
            " Written by `make mutants`; a test says whether it is stale. Do not edit.",
            "",
            digest.line(digest.digest(inputs(lab_folder))),
            "",
            *(f"- {bar}" for bar in bars(outcomes, reviewed)),
            "",
            "A mutant is *killed* when a check is red. One that all checks find green has survived, and has been looked"
            f" at (proof/survivors.py). It is *{EQUIVALENT}* when it is as right as the solution: it keeps all that the"
            " function's docstring and the exercise promise, so that no check may turn it red. It is"
            f" *{OUT_OF_REACH}* when there is a difference that the checks leave alone on purpose; then a test of the"
            " kit sees it (*guarded*), or nothing does (*unguarded*). *Raw* is killed of all, *adjusted* is killed of"
            " those that are not equivalent, *seen* is killed or guarded of those. What is not changed at all, and"
            " why, stands in labkit/mutate.py.",
            "",
            *_totals(lab, outcomes, reviewed),
            "",
            f"## {len(survivors)} survivors",
            "",
            "| mutant | change | kind | why | seen by |",
            "| --- | --- | --- | --- | --- |",
            *(_row(_survivor(outcome.mutant, reviewed)) for outcome in survivors),
            "",
        ]
    )


def _totals(lab: Lab, outcomes: list[Outcome], reviewed: Reviewed) -> list[str]:
    """One row for the whole folder, the TODO bodies, each TODO, each file, each function."""
    groups = {"**all**": outcomes, "**TODO bodies**": [outcome for outcome in outcomes if outcome.todo]}
    for todo in sorted({outcome.todo for outcome in outcomes if outcome.todo}):
        groups[f"TODO {todo}"] = [outcome for outcome in outcomes if outcome.todo == todo]
    for file in lab.files:
        here = [outcome for outcome in outcomes if outcome.mutant.file == file]
        groups[f"**{file}**"] = here
        for scope in dict.fromkeys(outcome.mutant.scope for outcome in here):
            groups[f"{file} `{scope}`"] = [outcome for outcome in here if outcome.mutant.scope == scope]
    heads = ["where", "mutants", "killed", EQUIVALENT, "guarded", "unguarded", UNREVIEWED, "raw", "adjusted", "seen"]
    rows = [[name, *count(group, reviewed).cells] for name, group in groups.items()]
    return [_row(heads), _row(["---"] * len(heads)), *map(_row, rows)]


def _survivor(mutant: Mutant, reviewed: Reviewed) -> list[str]:
    kind, reason, test = reviewed.get(mutant.id, (UNREVIEWED, "", ""))
    return [mutant.id, f"`{mutant.change}`", kind, reason, test.removeprefix("tests/")]


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _write(text: str, is_check: bool) -> bool:
    """Write the page, or (`is_check`) compare it with the committed one; whether that is the same."""
    old = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    name = PAGE.relative_to(ROOT)
    if is_check:
        print(f"{name} is {'fresh' if old == text else 'STALE: run `make mutants` and commit it'}")
        return old == text
    PAGE.write_text(text, encoding="utf-8")
    print(f"{name} {'is as it was' if old == text else 'is written'}")
    return True


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

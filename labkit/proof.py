"""The proof of a lab's checks: each wrong program goes red for its reason, each right one stays green.

usage: python -m labkit.proof [--check] [--jobs N] [--lab NAME] [PROGRAM ...]

Without arguments it runs all programs of the lab's `proof/` through all checks and writes docs/kill-matrix.md.
With --check it writes nothing and fails when the committed matrix is not what it would have written. With
names it runs only these programs and shows what each red check saw. Exit code 1: a bar is missed.
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from labkit import digest
from labkit.lab import ROOT, Lab, find_labs, load_lab
from labkit.programs import Program, differences, is_red, judge, load_programs, show_evidence, write
from labkit.run import Result

MATRIX = ROOT / "docs" / "kill-matrix.md"
JOBS = 2 * (os.cpu_count() or 1)  # programs at a time; each waits half of its time
RED, GREEN = "✗", "·"
INPUTS = (  # what the outcome depends on, in the lab's folder
    *("solution/*.py", "starter/*.py", "servers/*.py", "*.py", "proof/wrong.py", "proof/right.py"),
)


@dataclass(frozen=True)
class Proof:
    """One program, and what the checks made of it."""

    program: Program
    results: list[Result]

    @property
    def faults(self) -> list[str]:
        return differences(self.program, self.results)


def main(arguments: list[str]) -> int:
    options = _parse(arguments)
    folder = next(folder for folder in _labs() if options.lab in (None, folder.name))
    lab = load_lab(folder)
    wrong, right = load_programs(folder)
    programs = [*wrong, *right]
    if misfits := [f"{program.name}: {why}" for program in programs if (why := _misfit(program, folder, lab))]:
        print("these programs are no change of the solution any more:", *misfits, sep="\n  ")
        return 1
    if options.programs:
        chosen = [program for program in programs if program.name in options.programs]
        for proof in run_all(chosen, folder, lab, options.jobs):
            _show(proof)
            show_evidence(proof.results)
        return 0 if len(chosen) == len(set(options.programs)) else 1
    start = time.monotonic()
    proofs = {proof.program.name: proof for proof in _with_progress(programs, folder, lab, options.jobs)}
    ordered = [[proofs[program.name] for program in group] for group in (wrong, right)]
    print(f"{len(programs)} programs x {len(lab.checks)} checks in {time.monotonic() - start:.0f} s")
    is_met = _bars(*ordered)
    is_fresh = _write(matrix(folder, lab, *ordered), options.check)
    return 0 if is_met and is_fresh else 1


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m labkit.proof", description="prove the checks of a lab")
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help="run these only, and show what was seen")
    parser.add_argument("--check", action="store_true", help="write nothing; fail when the matrix is stale")
    parser.add_argument("--jobs", type=int, default=JOBS, metavar="N", help=f"programs at a time (default {JOBS})")
    parser.add_argument("--lab", metavar="NAME", help="the folder under labs/ (default: the last that has a proof)")
    return parser.parse_args(arguments)


def _labs() -> list[Path]:
    return [folder for folder in reversed(find_labs()) if (folder / "proof").is_dir()]


def _misfit(program: Program, lab_folder: Path, lab: Lab) -> str:
    """Why the program's edits do not fit the solution as it is now, or ""."""
    with tempfile.TemporaryDirectory(prefix="proof-") as name:
        try:
            folder = write(program, lab_folder, lab, Path(name) / "program")
            for file in lab.files:
                compile((folder / file).read_text(encoding="utf-8"), file, "exec")
        except (ValueError, SyntaxError, StopIteration) as error:
            return str(error)
    return ""


# Running


def run_all(programs: Iterable[Program], lab_folder: Path, lab: Lab, jobs: int) -> Iterator[Proof]:
    """Each program with all checks, several programs at a time, in the order in which they finish."""
    everything = {check.number for check in lab.checks}
    with tempfile.TemporaryDirectory(prefix="proof-") as name, ThreadPoolExecutor(jobs) as pool:

        def prove(program: Program, target: Path) -> Proof:
            return Proof(program, judge(target, lab_folder, lab, everything))

        folder = Path(name).resolve()
        targets = [(program, write(program, lab_folder, lab, folder / program.name)) for program in programs]
        for job in as_completed([pool.submit(prove, *target) for target in targets]):
            yield job.result()


def _with_progress(programs: list[Program], lab_folder: Path, lab: Lab, jobs: int) -> Iterator[Proof]:
    """The same, with progress shown; what is not as it should be is run once more, alone.

    A machine that was busy makes a deadline pass that should not: then the second run tells.
    """
    doubtful = []
    for number, proof in enumerate(run_all(programs, lab_folder, lab, jobs), 1):
        if proof.faults:
            doubtful.append(proof.program)
            _show(proof)
        else:
            yield proof
        if sys.stdout.isatty():
            print(f"\r{number} of {len(programs)} ", end="", flush=True)
        elif number % 20 == 0:
            print(f"{number} of {len(programs)}", flush=True)
    if doubtful:
        print(f"once more, one at a time: {', '.join(program.name for program in doubtful)}", flush=True)
    for proof in run_all(doubtful, lab_folder, lab, 1):
        if proof.faults:
            _show(proof)
        yield proof


def _show(proof: Proof) -> None:
    marks = "".join(RED if is_red(result) else GREEN for result in proof.results)
    print(f"\r{marks}  {proof.program.name}: {'; '.join(proof.faults) or 'as it should be'}", flush=True)


# Judging


def _bars(wrong: list[Proof], right: list[Proof]) -> bool:
    """Print each bar with its figure; whether all are met."""
    bars = {
        "wrong programs red where they should be, named rightly, green elsewhere": wrong,
        "right programs green in every check": right,
    }
    for words, proofs in bars.items():
        good = sum(not proof.faults for proof in proofs)
        print(f"{'met' if good == len(proofs) else 'MISSED':>6}  {good} of {len(proofs)} {words} (bar: all)")
    return not any(proof.faults for proof in [*wrong, *right])


def _write(text: str, is_check: bool) -> bool:
    """Write the matrix, or (`is_check`) compare it with the committed one; whether that is the same."""
    old = MATRIX.read_text(encoding="utf-8") if MATRIX.exists() else ""
    if not is_check:
        MATRIX.parent.mkdir(exist_ok=True)
        MATRIX.write_text(text, encoding="utf-8")
        print(f"{MATRIX.relative_to(ROOT)} {'is as it was' if old == text else 'is written'}")
        return True
    print(f"{MATRIX.relative_to(ROOT)} is {'fresh' if old == text else 'STALE: run `make proof` and commit it'}")
    return old == text


# The matrix


def inputs(lab_folder: Path) -> list[Path]:
    return [file for pattern in INPUTS for file in lab_folder.glob(pattern)]


def matrix(lab_folder: Path, lab: Lab, wrong: list[Proof], right: list[Proof]) -> str:
    """The page: what was seen, and nothing that changes from run to run."""
    return "\n".join(
        [
            "# Kill matrix",
            "",
            f"What the {len(lab.checks)} checks of `{lab_folder.name}` make of programs that are known to be wrong or"
            " right. Written by `make proof`; a test says whether it is stale. Do not edit.",
            "",
            digest.line(digest.digest(inputs(lab_folder))),
            "",
            f"`{RED}` is red, `{GREEN}` is green. A wrong program must be red exactly where it says, and each of its"
            " red checks must name its misconception (labs/*/misconceptions.py). A right program must be green"
            " everywhere, however different it looks.",
            "",
            *_totals(lab, wrong, right),
            "",
            f"## {len(wrong)} wrong programs",
            "",
            *_table(lab, ["program", "what is wrong"], wrong, names=True),
            "",
            f"## {len(right)} right programs",
            "",
            *_table(lab, ["program", "what is different"], right, names=False),
            "",
            f"## {len(_by_misconception(wrong))} misconceptions",
            "",
            "Programs in one row behave alike: the checks cannot tell them apart, and give them the same words.",
            "",
            "| misconception | programs | page of the specification |",
            "| --- | --- | --- |",
            *(
                f"| {name} | {', '.join(programs)} | {lab.misconceptions[name].page} |"
                for name, programs in _by_misconception(wrong).items()
            ),
            "",
        ]
    )


def _totals(lab: Lab, wrong: list[Proof], right: list[Proof]) -> list[str]:
    """Per check: how many wrong programs it turns red, how many no other check would have seen."""
    rows = []
    for check in lab.checks:
        killed = [proof for proof in wrong if check.number in _reds(proof)]
        alone = [proof for proof in killed if _reds(proof) == [check.number]]
        names = {proof.program.red.get(check.number) for proof in killed}
        failed = [proof for proof in right if check.number in _reds(proof)]
        rows.append(f"| {check.number} {check.id} | {len(killed)} | {len(alone)} | {len(names)} | {len(failed)} |")
    return [
        "| check | wrong programs it turns red | of these, seen by no other check | misconceptions | right ones red |",
        "| --- | --- | --- | --- | --- |",
        *rows,
    ]


def _table(lab: Lab, heads: list[str], proofs: list[Proof], names: bool) -> list[str]:
    columns = [*heads, *(str(check.number) for check in lab.checks), *(["named"] if names else [])]
    cells = {proof.program.name: [*_marks(proof), *(_named(proof) if names else [])] for proof in proofs}
    rows = [[proof.program.name, proof.program.says, *cells[proof.program.name]] for proof in proofs]
    return [_row(columns), _row(["---"] * len(columns)), *map(_row, rows)]


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _marks(proof: Proof) -> list[str]:
    return [RED if is_red(result) else GREEN for result in proof.results]


def _named(proof: Proof) -> list[str]:
    return [", ".join(dict.fromkeys(str(result.verdict.misconception) for result in filter(is_red, proof.results)))]


def _reds(proof: Proof) -> list[int]:
    return [result.check.number for result in filter(is_red, proof.results)]


def _by_misconception(wrong: list[Proof]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for proof in wrong:
        for name in dict.fromkeys(proof.program.red.values()):
            found.setdefault(name, []).append(proof.program.name)
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

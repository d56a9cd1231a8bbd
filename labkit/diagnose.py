"""Which misconception explains a red check, judged by the pattern of all checks together.

A judge names what its own check saw. Where that is only a symptom, or nothing at all, the cause may have
been seen by another check. Of the causes that turn this check red, too, the one is chosen whose whole
pattern differs least from the pattern of this run; where there is none, nothing is guessed.
Where several checks name the same cause with the same words, the first of them explains the others.
"""

from dataclasses import replace
from typing import Any

from labkit.lab import Lab
from labkit.run import Result


def diagnose(results: list[Result], lab: Lab) -> list[Result]:
    """The same results, with the cause named wherever another check has seen it."""
    ran = {result.check.number for result in results if result.status != "not_run"}
    red = [result for result in results if result.status not in ("pass", "not_run")]
    reds = {result.check.number for result in red}
    causes = [result for result in red if _names_a_cause(result, lab)]

    def misfit(cause: Result) -> int:
        return len((set(_pattern(cause, lab)) & ran) ^ reds)

    def explain(result: Result) -> Result:
        if result in causes:
            first = next(cause for cause in causes if _says(cause) == _says(result))
            return result if first is result else replace(result, explained_by=first.check.number)
        fitting = [cause for cause in causes if result.check.number in _pattern(cause, lab)]
        if result not in red or not fitting:
            return result
        cause = min(fitting, key=misfit)
        told = replace(result.verdict, misconception=cause.verdict.misconception, values=cause.verdict.values)
        return replace(result, verdict=told, explained_by=cause.check.number)

    return [explain(result) for result in results]


def _names_a_cause(result: Result, lab: Lab) -> bool:
    name = result.verdict.misconception
    return name is not None and not lab.misconceptions[name].symptom


def _says(result: Result) -> tuple[str | None, dict[str, Any]]:
    return result.verdict.misconception, result.verdict.values


def _pattern(result: Result, lab: Lab) -> tuple[int, ...]:
    name = result.verdict.misconception
    return lab.misconceptions[name].red if name is not None else ()

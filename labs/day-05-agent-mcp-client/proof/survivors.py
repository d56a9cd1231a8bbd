"""The mutants of the solution that no check turns red, and why that is right; labkit.mutants runs them."""

EQUIVALENT = "equivalent"  # no caller could see a difference
OUT_OF_REACH = "out of the lesson's reach"  # a difference that the checks leave alone on purpose

REVIEWED: dict[str, tuple[str, str]] = {}

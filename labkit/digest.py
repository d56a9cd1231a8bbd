"""Whether a generated page is still true: a word for all that its figures depend on."""

import hashlib
import re
from collections.abc import Iterable
from pathlib import Path

from labkit.lab import ROOT


def digest(files: Iterable[Path]) -> str:
    """A word that changes when any of these files changes; line ends do not count."""
    whole = hashlib.sha256()
    for file in sorted(files):
        text = file.read_text(encoding="utf-8")  # reads any line end as "\n"
        whole.update(f"{file.relative_to(ROOT).as_posix()}\n{len(text)}\n{text}".encode())
    return whole.hexdigest()[:16]


def line(word: str) -> str:
    """How the word stands in a page."""
    return f"Inputs: `{word}`"


def read(page: Path) -> str:
    """The word in a page, or ""."""
    found = re.search(r"^Inputs: `(\w+)`$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return found[1] if found else ""

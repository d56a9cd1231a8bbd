"""The programs that prove the checks of this lab; labkit.programs says what a program is, labkit.proof runs them."""

from proof.right import RIGHT
from proof.wrong import WRONG

__all__ = ["RIGHT", "WRONG"]

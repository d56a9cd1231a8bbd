"""The programs that prove the checks of this lab: wrong.py and right.py (see labkit.programs)."""

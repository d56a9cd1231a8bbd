"""The type check, here so that it runs beside the other tests."""

import pytest

from labkit import typecheck


@pytest.mark.early
def test_mypy_is_silent(capfd: pytest.CaptureFixture[str]) -> None:
    assert (typecheck.main(), capfd.readouterr().out) == (0, "")

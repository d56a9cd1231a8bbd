"""The client under test is the solution: its five flat modules are imported by their own names."""

import sys

import pytest
from kit import SOLUTION

sys.dont_write_bytecode = True  # a submission folder holds five files and nothing else

sys.path.insert(0, str(SOLUTION))


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"

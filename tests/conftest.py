"""The client under test is the solution: its five flat modules are imported by their own names."""

import signal
import sys

import pytest
from kit import SOLUTION

sys.dont_write_bytecode = True  # a submission folder holds five files and nothing else

sys.path.insert(0, str(SOLUTION))

signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background of a shell it is off, also for children


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"

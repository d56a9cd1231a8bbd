"""The client under test is the solution: its five flat modules are imported by their own names."""

import signal
import sys

import pytest
from kit import SOLUTION

sys.path.insert(0, str(SOLUTION))
writes_bytecode, sys.dont_write_bytecode = sys.dont_write_bytecode, True  # a submission holds five files, nothing else
import agent_loop  # noqa: E402, F401  (it imports the other four)

sys.dont_write_bytecode = writes_bytecode  # what pytest makes of the tests is kept, or each worker would make it anew

signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background of a shell it is off, also for children


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes longest comes first, or all others would wait for it at the end."""
    items.sort(key=lambda item: item.get_closest_marker("early") is None)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"

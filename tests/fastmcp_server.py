"""A server built with FastMCP, for test_real_servers.py. It is a helper, not a test, and runs where FastMCP is."""

from fastmcp import FastMCP

server = FastMCP("fast", instructions="Adds.", list_page_size=2)


@server.tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool
def divide(a: int, b: int) -> float:
    """Divide one number by another."""
    return a / b


@server.tool
def greet(name: str) -> str:
    """Greet somebody."""
    return f"hello, {name}"


if __name__ == "__main__":
    server.run(show_banner=False)

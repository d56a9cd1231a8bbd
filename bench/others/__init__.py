"""One module per client: `connect(servers)` is an async context manager that yields a Peer.

Each does what its own documentation shows first, at its defaults. `servers` is alias -> command line. A Peer knows
the tools by the names that a model would be given, and calls one by such a name. SEVERAL is false for a client of
one server; some can be told a `deadline` in seconds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

Servers = Mapping[str, Sequence[str]]  # alias -> the command that starts it


@dataclass(frozen=True)
class Outcome:
    """What came back from one call."""

    text: str
    is_error: bool


class Peer(Protocol):
    async def tools(self) -> list[str]: ...

    async def call(self, name: str, arguments: dict[str, Any]) -> Outcome: ...


def config(servers: Servers) -> dict[str, Any]:
    """The `mcpServers` form that most of them read."""
    entries = {alias: {"command": words[0], "args": list(words[1:])} for alias, words in servers.items()}
    return {"mcpServers": entries}


def text_of(content: Any) -> str:
    """The text of content blocks, whatever classes they are of; or of what a client makes of them."""
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else [content]
    texts = [block.get("text") if isinstance(block, dict) else getattr(block, "text", None) for block in blocks]
    return "\n".join(text if isinstance(text, str) else str(block) for text, block in zip(texts, blocks, strict=True))

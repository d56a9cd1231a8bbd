"""From what a server offers to what a model is told: discovery, all pages of tools, the translation.

Border one, *shape*: an MCP tool definition is not a model API's tool parameter. `inputSchema` gets
another name; `title`, `annotations` and `outputSchema` have no place over there, so the registry
keeps the definition for the client's own use. Border two, *names*: a tool's name is unique within
one server only, and may be too long or too free for a model API.
"""

import hashlib
import json
import logging
import re
import reprlib

from protocol import PROTOCOL_VERSION, InvalidMessage, JSONObject
from stdio_client import StdioClient

MAX_PAGES = 1000  # a server that always has one more page must not keep us for ever
MAX_NAME = 64  # characters; model APIs allow no more, and only letters, digits, "_" and "-"

log = logging.getLogger(__name__)


async def discover(client: StdioClient) -> JSONObject:
    """Ask what the server is: `supportedVersions`, `capabilities`, `instructions` [server/discover].

    Raises: InvalidMessage when it does not speak our revision, and whatever `request` raises.
    """
    result = await client.request("server/discover")
    versions = result.get("supportedVersions")
    if not isinstance(versions, list) or PROTOCOL_VERSION not in versions:
        spoken = reprlib.repr(versions)
        raise InvalidMessage(f"it speaks {spoken}, this client speaks {PROTOCOL_VERSION}")
    return result


async def list_all_tools(client: StdioClient) -> list[JSONObject]:
    """All tool definitions of this server, in its order [server/tools, server/utilities/pagination].

    The server decides how much a page holds, and a page may be empty. A cursor is opaque: whatever
    string it is, an empty one too, it is sent back as it came. The last page has no `nextCursor`.
    """
    tools, cursor = read_page(await client.request("tools/list"))
    # TODO 2: this is one page of perhaps many. Ask on with the cursor you got
    # until a page has none; "" is a cursor, and an empty page is not the end.
    # A cursor that was sent before would lead round in a circle: stop there.
    return tools


def read_page(result: JSONObject) -> tuple[list[JSONObject], str | None]:
    """Split the answer to one `tools/list` into its tools and its `nextCursor` (None: there is none).

    A tool that cannot be used is left out with a warning, so that it does not cost us the others.
    Raises: InvalidMessage when the answer is not a page at all.
    """
    tools, cursor = result.get("tools"), result.get("nextCursor")
    if not isinstance(tools, list) or not isinstance(cursor, str | None):
        raise InvalidMessage(f"this is not a page of tools: {reprlib.repr(result)}")
    usable = [tool for tool in tools if _is_tool(tool)]
    if len(usable) < len(tools):
        bad = [tool for tool in tools if not _is_tool(tool)]
        log.warning("left out %d tools with no name or schema: %s", len(bad), reprlib.repr(bad))
    return usable, cursor


def _is_tool(tool: object) -> bool:
    if not isinstance(tool, dict):
        return False
    return isinstance(tool.get("name"), str) and isinstance(tool.get("inputSchema"), dict)


def model_tool_name(alias: str, tool_name: str) -> str:
    """The name under which the model knows the tool `tool_name` of the server `alias`.

    It is legal for model APIs (letters, digits, "_", "-", at most MAX_NAME), the same on every run,
    and different for different pairs (who forges a digest gains nothing: the registry keeps the first).
    `alias` is the client's own name for the server, because two servers may report the same name.
    """
    # TODO 3: two servers may both have a "search". Build the name from both
    # parts, like mcp__notes__search. Replace what is not legal and cut what is
    # too long; as two names can then become one, add a digest (hashlib).
    return tool_name


def to_model_tool(alias: str, tool: JSONObject) -> JSONObject:
    """Translate one definition: `{"name", "description", "input_schema"}`, the neutral form of this kit.

    The model chooses by the description, so it says where the tool comes from and is otherwise as
    the server wrote it. The schema is handed on as it is. The rest stays behind, for the client.
    """
    description = tool.get("description") or tool.get("title") or tool["name"]
    return {
        "name": model_tool_name(alias, tool["name"]),
        "description": f"[from {alias}] {description}",
        "input_schema": tool["inputSchema"],
    }

"""A server built with the official `mcp` package: the client's independent peer. It is a helper, not a test.

Run it by path. It lists its tools in pages of three; the cursor of the second page is the empty text. What a
tool does stands in its description.
"""

import anyio
import mcp_types as types
from mcp import MCPError, stdio_server
from mcp.server import Server, ServerRequestContext

PAGE = 3
CURSORS = ["", "third page · 第三页", "4"]  # to page 2, 3, 4

TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
NUMBERS = {"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number"}}}
SUM = {"type": "object", "properties": {"sum": {"type": "number"}}, "required": ["sum"]}


def tool(name: str, description: str, **more: object) -> types.Tool:
    schema = {"type": "object", "properties": {}}
    return types.Tool.model_validate({"name": name, "description": description, "inputSchema": schema, **more})


TOOLS = [
    tool("echo", "Returns its text.", inputSchema=TEXT, title="Echo"),
    tool("add", "Returns a sum, as text and structured.", inputSchema=NUMBERS, outputSchema=SUM),
    tool("fail", "A tool execution error."),
    tool("refuse", "A protocol error with a code and data of its own."),
    tool("show", "One block of each kind."),
    tool("ask", "Needs input from the user."),
    tool("first", "Answers after `second` has been called."),
    tool("second", "Answers at once."),
    tool("sleep", "Never answers; notices when it is cancelled."),
    tool("awake", "Tells how many calls of `sleep` were cancelled."),
    tool("dotted.name", "Returns its own name."),
]

second_called = anyio.Event()
cancelled: list[str] = []  # the tools whose calls were cancelled

Context = ServerRequestContext[object]


async def list_tools(_: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    cursor = params.cursor if params else None
    if cursor is not None and cursor not in CURSORS:
        raise MCPError(types.INVALID_PARAMS, f"invalid cursor: {cursor!r}")
    number = 0 if cursor is None else CURSORS.index(cursor) + 1
    next_cursor = CURSORS[number] if number < len(CURSORS) else None
    return types.ListToolsResult(tools=TOOLS[PAGE * number : PAGE * (number + 1)], next_cursor=next_cursor)


async def call_tool(
    context: Context, params: types.CallToolRequestParams
) -> types.CallToolResult | types.InputRequiredResult:
    arguments = params.arguments or {}
    match params.name:
        case "echo":
            return text_result(arguments["text"])
        case "add":
            total = arguments["a"] + arguments["b"]
            return types.CallToolResult(content=[text(f"{total}")], structured_content={"sum": total})
        case "fail":
            return types.CallToolResult(content=[text("the disk is full · 磁盘已满")], is_error=True)
        case "refuse":
            raise MCPError(-32042, "not today", {"retry": "tomorrow"})
        case "show":
            return types.CallToolResult(content=all_kinds())
        case "ask":
            return types.InputRequiredResult(request_state="half done")
        case "first":
            await second_called.wait()
            return text_result("first")
        case "second":
            second_called.set()
            return text_result("second")
        case "sleep":
            try:
                await anyio.sleep_forever()
            finally:
                cancelled.append("sleep")
        case "awake":
            return text_result(str(len(cancelled)))
        case "dotted.name":
            return text_result(params.name)
    raise MCPError(types.INVALID_PARAMS, f"unknown tool: {params.name}")


def text(words: str) -> types.TextContent:
    return types.TextContent(type="text", text=words)


def text_result(words: str) -> types.CallToolResult:
    return types.CallToolResult(content=[text(words)])


def all_kinds() -> list[types.ContentBlock]:
    inside = types.TextResourceContents(uri="file:///notes/a.txt", text="inside")
    return [
        text("one"),
        types.ImageContent(type="image", data="eA==", mime_type="image/png"),
        types.AudioContent(type="audio", data="eA==", mime_type="audio/wav"),
        types.ResourceLink(type="resource_link", name="b", uri="file:///notes/b.txt"),
        types.EmbeddedResource(type="resource", resource=inside),
    ]


async def main() -> None:
    server = Server("official", instructions="Use it well.", on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (read_stream, write_stream):
        await server.run(read_stream, write_stream, server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(main)

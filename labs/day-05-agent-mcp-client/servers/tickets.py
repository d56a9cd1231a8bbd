"""The `tickets` server: twelve support tickets, in English and Chinese, to search, read and close.

Run it by path, `python tickets.py`; with --help it lists the flags that make it misbehave. Its `search` has
the name of the notes server's `search`, so a client of both has to keep two names apart.
"""

from __future__ import annotations

from stdio_server import Tool, ToolError, search, serve, snippet

TYPE_CHECKING = False
if TYPE_CHECKING:
    from stdio_server import JSONObject

TICKETS = [  # the only state of the lab: close_ticket changes it, in this process
    {
        "id": "T-01",
        "title": "Login page answers 500 after release 2.4",
        "status": "closed",
        "priority": "high",
        "opened": "2026-05-12",
        "tags": "login bug 登录问题",
        "text": "Since this morning nobody can log in; the page says 500.",
        "resolution": "Rolled back, cookie name fixed in 2.4.1. Post-mortem: note N-03.",
    },
    {
        "id": "T-02",
        "title": "导出的 CSV 中文乱码",
        "status": "closed",
        "priority": "normal",
        "opened": "2026-05-25",
        "tags": "csv export encoding 编码",
        "text": "用 Excel 打开导出的客户列表，中文全部是乱码。",
        "resolution": "导出文件现在以 BOM 开头，见笔记 N-08。",
    },
    {
        "id": "T-03",
        "title": "Login loops back to the form on iOS",
        "status": "open",
        "priority": "high",
        "opened": "2026-05-16",
        "tags": "login bug ios 登录问题",
        "text": "On iPhone and iPad the login form comes back after the right password, without a message. "
        "The same login bug was seen in the app's web view. "
        "Suspect: the SameSite setting of the new session cookie.",
        "resolution": "",
    },
    {
        "id": "T-04",
        "title": "登录验证码短信收不到",
        "status": "open",
        "priority": "high",
        "opened": "2026-06-05",
        "tags": "login sms 登录问题",
        "text": "部分用户登录时收不到短信验证码，等待超过十分钟。重发也没有用，换成邮箱验证码可以登录。",
        "resolution": "",
    },
    {
        "id": "T-05",
        "title": "Search ignores full-width letters",
        "status": "closed",
        "priority": "low",
        "opened": "2026-04-11",
        "tags": "search 搜索",
        "text": "Searching for ＡＢＣ finds nothing although ABC exists.",
        "resolution": "Queries are normalised before the search.",
    },
    {
        "id": "T-06",
        "title": "Logged out every five minutes behind the company proxy",
        "status": "open",
        "priority": "normal",
        "opened": "2026-06-03",
        "tags": "login bug proxy 登录问题",
        "text": "Behind the proxy of a large customer the login lasts five minutes, then the form is back. "
        "The proxy cuts long cookies.",
        "resolution": "",
    },
    {
        "id": "T-07",
        "title": "登录按钮在深色模式下看不见",
        "status": "closed",
        "priority": "low",
        "opened": "2026-04-29",
        "tags": "login bug dark mode 登录问题",
        "text": "深色模式下登录按钮与背景颜色相同。",
        "resolution": "按钮颜色改用主题变量，2.3.2 已发布。",
    },
    {
        "id": "T-08",
        "title": "MCP client waits its whole timeout when the server answers with an error",
        "status": "open",
        "priority": "normal",
        "opened": "2026-05-19",
        "tags": "mcp client",
        "text": "A request for an unknown tool should fail at once. "
        "Instead the MCP client hangs for thirty seconds and reports a timeout.",
        "resolution": "",
    },
    {
        "id": "T-09",
        "title": "夜间备份告警重复发送 / backup alert comes twice",
        "status": "open",
        "priority": "low",
        "opened": "2026-03-28",
        "tags": "backup alert 备份",
        "text": "每晚的备份告警会收到两次。Both copies have the same id, so it is not two backups.",
        "resolution": "",
    },
    {
        "id": "T-10",
        "title": "MCP client shows two of the three notes tools",
        "status": "closed",
        "priority": "normal",
        "opened": "2026-05-18",
        "tags": "mcp client paging",
        "text": "list_notes is missing from the tools of the notes server.",
        "resolution": "The client now follows nextCursor until it is missing.",
    },
    {
        "id": "T-11",
        "title": "报表页面打开超过十秒",
        "status": "open",
        "priority": "normal",
        "opened": "2026-06-10",
        "tags": "report slow 报表",
        "text": "月度报表页面打开要十秒以上，客户抱怨。数据库里缺一个按月份的索引。",
        "resolution": "",
    },
    {
        "id": "T-12",
        "title": "Two MCP tools called search, and the model gets only one",
        "status": "open",
        "priority": "high",
        "opened": "2026-06-01",
        "tags": "mcp tools names",
        "text": "notes and tickets both have a tool called search. "
        "With both servers connected, every call of search goes to the one that was listed last.",
        "resolution": "",
    },
]


def search_tickets(arguments: JSONObject) -> tuple[str, JSONObject]:
    query, status = arguments["query"], arguments.get("status", "any")
    pool = [ticket for ticket in TICKETS if status in ("any", ticket["status"])]
    texts = {ticket["id"]: f"{ticket['title']} {ticket['tags']} {ticket['text']}" for ticket in pool}
    found = [ticket_with_id(ticket_id) for ticket_id in search(query, texts)]
    matches = [
        {
            "id": ticket["id"],
            "status": ticket["status"],
            "title": ticket["title"],
            "snippet": snippet(query, ticket["text"]),
        }
        for ticket in found
    ]
    kind = "ticket" if status == "any" else f"{status} ticket"
    head = f'{len(found)} {kind}{"s match" if len(found) > 1 else " matches"} "{query}"'
    lines = [" | ".join(match.values()) for match in matches]
    text = "\n".join([head, *lines]) if found else f'no {kind} mentions "{query}"'
    return text, {"query": query, "matches": matches}


def get_ticket(arguments: JSONObject) -> tuple[str, JSONObject]:
    ticket = ticket_with_id(arguments["id"])
    lines = [
        f"{ticket['id']} {ticket['title']}",
        f"{ticket['status']}, {ticket['priority']} priority, since {ticket['opened']}",
        f"tags: {ticket['tags']}",
        ticket["text"],
    ]
    if ticket["status"] == "closed":
        lines.append(f"resolution: {ticket['resolution']}")
    return "\n".join(lines), dict(ticket)


def close_ticket(arguments: JSONObject) -> tuple[str, None]:
    ticket = ticket_with_id(arguments["id"])
    if ticket["status"] == "closed":
        raise ToolError(f"{ticket['id']} is closed already: {ticket['resolution']}")
    ticket["status"] = "closed"
    ticket["resolution"] = arguments.get("resolution", "no resolution given")
    return f"closed {ticket['id']} {ticket['title']}\nresolution: {ticket['resolution']}", None


def ticket_with_id(ticket_id: str) -> dict[str, str]:
    for ticket in TICKETS:
        if ticket["id"] == ticket_id:
            return ticket
    still_open = ", ".join(ticket["id"] for ticket in TICKETS if ticket["status"] == "open")
    raise ToolError(f"no ticket {ticket_id}; open tickets are {still_open or 'none'}")


READ_ONLY = {"readOnlyHint": True, "openWorldHint": False}
TEXT = {"type": "string"}
TICKET_ID = {"type": "string", "description": "the id of the ticket, such as T-03"}

TOOLS = [
    Tool(
        {
            "name": "search",
            "title": "Search tickets",
            "description": "Find the tickets that mention some words, best match first; English or Chinese.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "query": {"type": "string", "description": "words to look for, such as: login bug"},
                    "status": {"$ref": "#/$defs/status"},
                },
                "required": ["query"],
                "additionalProperties": False,
                "$defs": {
                    "status": {
                        "type": "string",
                        "enum": ["open", "closed", "any"],
                        "description": "which tickets to look at; any when left out",
                    }
                },
            },
            "outputSchema": {
                "type": "object",
                "properties": {
                    "query": TEXT,
                    "index": {"type": "string", "description": "the revision of the data"},
                    "matches": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "properties": {"id": TEXT, "status": TEXT, "title": TEXT, "snippet": TEXT},
                            "required": ["id", "status", "title", "snippet"],
                        },
                    },
                },
                "required": ["query", "index", "matches"],
            },
            "annotations": READ_ONLY,
        },
        search_tickets,
    ),
    Tool(
        {
            "name": "get_ticket",
            "title": "Get a ticket",
            "description": "Return everything about one ticket.",
            "inputSchema": {
                "type": "object",
                "properties": {"id": TICKET_ID},
                "required": ["id"],
                "additionalProperties": False,
            },
            "outputSchema": {
                "type": "object",
                "properties": {key: TEXT for key in (*TICKETS[0], "index")},
                "required": [*TICKETS[0], "index"],
            },
            "annotations": READ_ONLY,
        },
        get_ticket,
    ),
    Tool(
        {
            "name": "close_ticket",
            "title": "Close a ticket",
            "description": "Close an open ticket. This cannot be undone.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "id": TICKET_ID,
                    "resolution": {"type": "string", "description": "what was done, in a sentence"},
                },
                "required": ["id"],
                "additionalProperties": False,
            },
            "annotations": {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": False},
        },
        close_ticket,
    ),
]

INSTRUCTIONS = "Support tickets. Search or get before closing; closing cannot be undone."

if __name__ == "__main__":
    serve("tickets", TOOLS, INSTRUCTIONS)

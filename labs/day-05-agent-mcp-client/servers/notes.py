"""The `notes` server: twelve personal notes, in English and Chinese, that a model can search, read and list.

Run it by path, `python notes.py`; with --help it lists the flags that make it misbehave. Its three tools come
in pages of two, so a client that stops at the first page never sees `list_notes`.
"""

from __future__ import annotations

from stdio_server import Tool, ToolError, search, serve, snippet

TYPE_CHECKING = False
if TYPE_CHECKING:
    from stdio_server import JSONObject

NOTES = [
    {
        "id": "N-01",
        "title": "What MCP is / MCP 是什么",
        "updated": "2026-05-04",
        "tags": "mcp protocol 协议",
        "text": "MCP lets a model use tools that live in other programs, over JSON-RPC. "
        "MCP 是模型与工具之间的协议：宿主里的客户端连接服务端，列出工具，再替模型调用它们。"
        "On stdio one line is one message, and there is no handshake any more.",
    },
    {
        "id": "N-02",
        "title": "Checklist for our MCP client",
        "updated": "2026-05-20",
        "tags": "mcp client",
        "text": "Match every answer by its id, never by its order. "
        "Set a deadline on each request, and hand a JSON-RPC error over at once: ticket T-08 is about that. "
        "Follow nextCursor until it is missing (T-10). "
        "Give tools names that stay apart (T-12).",
    },
    {
        "id": "N-03",
        "title": "Post-mortem: the login outage of 12 May",
        "updated": "2026-05-14",
        "tags": "login bug 登录问题 incident",
        "text": "From 09:10 to 10:45 every login ended in a 500 page (T-01). "
        "Cause: release 2.4 renamed the session cookie, but the login service still read the old name. "
        "We rolled back, then shipped 2.4.1. "
        "Left over: on iOS the login bug lives on as a loop back to the form (T-03).",
    },
    {
        "id": "N-04",
        "title": "登录问题排查笔记",
        "updated": "2026-06-09",
        "tags": "login bug 登录问题",
        "text": "遇到登录问题先看会话 cookie 有没有写进去，再看是不是被公司代理截断（T-06）。"
        "iOS 上循环跳转是 SameSite 设置的原因，见 T-03。"
        "收不到短信验证码与登录服务无关，要找短信供应商（T-04）。",
    },
    {
        "id": "N-05",
        "title": "Weekly meeting, 8 June",
        "updated": "2026-06-08",
        "tags": "meeting",
        "text": "Lin takes the iOS login bug (T-03) and wants it in release 2.5. "
        "Wei shows the MCP client on Friday, with the notes and the tickets server. "
        "Nobody has time for the backup alert (T-09).",
    },
    {
        "id": "N-06",
        "title": "周会纪要 6 月 15 日",
        "updated": "2026-06-15",
        "tags": "meeting 会议 login 登录问题",
        "text": "报表页面仍然要十秒以上（T-11），下周先加索引。"
        "备份告警重复发送（T-09）由小周处理。"
        "登录循环的修复还在测试，2.5 版本之前必须完成。",
    },
    {
        "id": "N-07",
        "title": "Reading list",
        "updated": "2026-04-27",
        "tags": "books",
        "text": "A Philosophy of Software Design, second reading. "
        "The chapter on back-pressure in the queueing book. "
        "The JSON-RPC 2.0 specification: it fits on four pages.",
    },
    {
        "id": "N-08",
        "title": "CSV 导出与编码",
        "updated": "2026-05-28",
        "tags": "csv export encoding 编码",
        "text": "Excel 打开没有 BOM 的 UTF-8 文件时，中文会变成乱码。"
        "导出时在开头写入 BOM 就好，这样关闭了 T-02。"
        "Other programs ignore the BOM.",
    },
    {
        "id": "N-09",
        "title": "On-call handbook: backups",
        "updated": "2026-03-30",
        "tags": "backup alert on-call",
        "text": "The nightly backup starts at 02:00 and takes forty minutes. "
        "An alert that comes twice is harmless, it is T-09. "
        "An alert that says 'no snapshot' is not: call the storage team.",
    },
    {
        "id": "N-10",
        "title": "MCP 工具命名约定 / naming MCP tools",
        "updated": "2026-06-02",
        "tags": "mcp tools names 命名",
        "text": "一个名字只在一个服务端里唯一：notes 和 tickets 都有 search。"
        "所以客户端要给模型另起名字，并保留一张对照表（T-12）。"
        "Models accept letters, digits, _ and -, at most 64 of them.",
    },
    {
        "id": "N-11",
        "title": "红烧肉",
        "updated": "2026-02-14",
        "tags": "recipe 菜谱",
        "text": "五花肉切块焯水，冰糖炒出糖色，再加酱油、黄酒和热水，小火炖一小时。最后大火收汁。",
    },
    {
        "id": "N-12",
        "title": "Release checklist 2.5",
        "updated": "2026-06-18",
        "tags": "release",
        "text": "Run the login tests on iOS and behind the proxy before anything else. "
        "Change no cookie names: see the post-mortem N-03. "
        "Tell support which tickets are closed by the release.",
    },
]


def search_notes(arguments: JSONObject) -> tuple[str, JSONObject]:
    query = arguments["query"]
    texts = {note["id"]: f"{note['title']} {note['tags']} {note['text']}" for note in NOTES}
    found = [note_with_id(note_id) for note_id in search(query, texts)]
    matches = [{"id": note["id"], "title": note["title"], "snippet": snippet(query, note["text"])} for note in found]
    head = f'{len(found)} note{"s match" if len(found) > 1 else " matches"} "{query}"'
    lines = [" | ".join(match.values()) for match in matches]
    text = "\n".join([head, *lines]) if found else f'no note mentions "{query}"'
    return text, {"query": query, "matches": matches}


def read_note(arguments: JSONObject) -> tuple[str, None]:
    note = note_with_id(arguments["id"])
    head = f"{note['id']} {note['title']}\nupdated {note['updated']}, tags: {note['tags']}"
    return f"{head}\n\n{note['text']}", None


def list_notes(arguments: JSONObject) -> tuple[str, None]:
    lines = [f"{note['id']} | {note['updated']} | {note['title']}" for note in NOTES]
    return "\n".join([f"{len(NOTES)} notes", *lines]), None


def note_with_id(note_id: str) -> dict[str, str]:
    for note in NOTES:
        if note["id"] == note_id:
            return note
    raise ToolError(f"no note {note_id}; the notes are {NOTES[0]['id']} to {NOTES[-1]['id']}")


READ_ONLY = {"readOnlyHint": True, "openWorldHint": False}
TEXT = {"type": "string"}

TOOLS = [
    Tool(
        {
            "name": "search",
            "title": "Search notes",
            "description": "Find the notes that mention some words, best match first; English or Chinese.",
            "inputSchema": {
                "type": "object",
                "properties": {"query": {"type": "string", "description": "words to look for, such as: login bug"}},
                "required": ["query"],
                "additionalProperties": False,
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
                            "properties": {"id": TEXT, "title": TEXT, "snippet": TEXT},
                            "required": ["id", "title", "snippet"],
                        },
                    },
                },
                "required": ["query", "index", "matches"],
            },
            "annotations": READ_ONLY,
        },
        search_notes,
    ),
    Tool(
        {
            "name": "read_note",
            "title": "Read a note",
            "description": "Return the whole text of one note.",
            "inputSchema": {
                "type": "object",
                "properties": {"id": {"type": "string", "description": "the id of the note, such as N-03"}},
                "required": ["id"],
                "additionalProperties": False,
            },
            "annotations": READ_ONLY,
        },
        read_note,
    ),
    Tool(
        {
            "name": "list_notes",
            "title": "List notes",
            "description": "List the id, date and title of every note.",
            "inputSchema": {"type": "object", "properties": {}, "additionalProperties": False},
            "annotations": READ_ONLY,
        },
        list_notes,
    ),
]

INSTRUCTIONS = "Personal notes. Search first; read a note when its snippet is not enough."

if __name__ == "__main__":
    serve("notes", TOOLS, INSTRUCTIONS, page_size=(2,))

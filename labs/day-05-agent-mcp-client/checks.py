"""The nine checks of this lab, in the order a student meets them; what each one does and how it is judged.

observations.py does it, in the student's process; judgements.py judges it, outside, from the notes and from the
journals that the servers write; misconceptions.py holds the words for what is wrong. The servers' answers carry
a nonce that is new in every run, so no answer can be known beforehand.
"""

from judgements import (
    cause,
    foul,
    judge_collision,
    judge_discovery,
    judge_down,
    judge_errors,
    judge_failures,
    judge_loop,
    judge_names,
    judge_pages,
    judge_translation,
)
from labkit.lab import Check, Lab, Text
from misconceptions import MISCONCEPTIONS
from observations import (
    ERROR_SECONDS,
    SILENT_SECONDS,
    observe_collision,
    observe_discovery,
    observe_down,
    observe_errors,
    observe_failures,
    observe_loop,
    observe_names,
    observe_pages,
    observe_translation,
)

LAB = Lab(
    files=("protocol.py", "stdio_client.py", "discover_and_translate.py", "registry.py", "agent_loop.py"),
    misconceptions=MISCONCEPTIONS,
    specification="https://modelcontextprotocol.io/specification/2026-07-28/",
    cause=cause,
    foul=foul,
    checks=(
        Check(
            1,
            "discovery",
            Text(
                "discovery: both servers answer, every request carries _meta",
                "发现：两个服务端都有回答，每个请求都带 _meta",
            ),
            Text(
                "started notes and tickets, asked both `server/discover`, then sent three requests at once",
                "启动 notes 和 tickets，分别发送 `server/discover`，再同时发出三个请求",
            ),
            None,
            ("discover_and_translate.py", "discover"),
            observe_discovery,
            judge_discovery,
        ),
        Check(
            2,
            "errors",
            Text(
                "errors: a JSON-RPC error is raised at once, with its code",
                "错误：JSON-RPC 错误立刻抛出，并带上错误码",
            ),
            Text(
                "sent an unknown method, an unknown tool and a bad cursor to notes",
                "向 notes 发送未知的方法、未知的工具和无效的游标",
            ),
            1,
            ("stdio_client.py", "_on_line"),
            observe_errors,
            judge_errors,
            waits=ERROR_SECONDS,
        ),
        Check(
            3,
            "pages",
            Text(
                "pages: all tools are listed, only a missing nextCursor ends it",
                "分页：列出全部工具，只有 nextCursor 缺失才结束",
            ),
            Text(
                "listed the tools of four notes servers: pages of 2, an empty page, an empty-string cursor, a circle",
                "列出四个笔记服务端的工具：每页 2 个、含空页、含空字符串游标、游标成环",
            ),
            2,
            ("discover_and_translate.py", "list_all_tools"),
            observe_pages,
            judge_pages,
        ),
        Check(
            4,
            "translation",
            Text(
                "translation: the schema arrives unchanged, the source is named",
                "翻译：schema 原样到达，描述写明来源",
            ),
            Text(
                "listed the tools of tickets and translated them for the model",
                "列出 tickets 的工具并翻译给模型",
            ),
            None,
            ("discover_and_translate.py", "to_model_tool"),
            observe_translation,
            judge_translation,
        ),
        Check(
            5,
            "collision",
            Text(
                "collision: two search tools stay apart, servers get their own name",
                "重名：两个 search 互不混淆，服务端收到原名",
            ),
            Text(
                "called the `search` of both servers by its model name",
                "用模型名分别调用两个服务端的 `search`",
            ),
            3,
            ("discover_and_translate.py", "model_tool_name"),
            observe_collision,
            judge_collision,
        ),
        Check(
            6,
            "names",
            Text(
                "names: legal, distinct, and the same on every run",
                "名字：合法、互不相同、每次运行都一样",
            ),
            Text(
                "made model names for dotted, over-long and look-alike pairs of alias and tool, in two runs",
                "为带点号的、过长的、容易混淆的（别名，工具名）生成模型名，运行两次",
            ),
            3,
            ("discover_and_translate.py", "model_tool_name"),
            observe_names,
            judge_names,
        ),
        Check(
            7,
            "failures",
            Text(
                "failures: every failed call becomes a result with isError",
                "失败：每个失败的调用都变成 isError 结果",
            ),
            Text(
                "called a tool that fails, two that do not exist, a silent server and a dying one",
                "调用会失败的工具、两个不存在的工具、无响应的服务端和中途退出的服务端",
            ),
            None,
            ("registry.py", "call"),
            observe_failures,
            judge_failures,
            waits=SILENT_SECONDS,
        ),
        Check(
            8,
            "down",
            Text(
                "isolation: a server that is down costs its own tools only",
                "隔离：掉线的服务端只影响它自己的工具",
            ),
            Text(
                "refreshed five servers: one healthy, one missing, one that crashes, two silent ones; then again",
                "刷新五个服务端：一个健康、一个不存在、一个崩溃、两个无响应，再刷新一次",
            ),
            4,
            ("registry.py", "_refresh_one"),
            observe_down,
            judge_down,
            waits=SILENT_SECONDS,
        ),
        Check(
            9,
            "loop",
            Text(
                "agent loop: calls and results in order, the step limit holds",
                "智能体循环：调用与结果按顺序配对，步数上限有效",
            ),
            Text(
                "ran a question with ten tool calls, a model that never stops, and a turn in which a server dies",
                "用十次工具调用跑一个问题，再跑一个停不下来的模型，和中途有服务端退出的一轮",
            ),
            None,
            ("agent_loop.py", "run_agent"),
            observe_loop,
            judge_loop,
        ),
    ),
)

"""Every sentence that a student reads from the host, in English and in Simplified Chinese.

A sentence is named by its key, and travels as key and values: only what shows it needs to know the language.
"""

import locale
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

LANGUAGES = ("en", "zh")  # the columns of the table below, in this order

WORDS: dict[str, tuple[str, str]] = {
    # the command line
    "help_about": (
        "Answer one question with the tools of several MCP servers, and show every step.",
        "用多个 MCP 服务器的工具回答一个问题，并显示每一步。",
    ),
    "help_question": (
        "the question; without it you are asked for one (QUESTION)",
        "要问的问题；不写就会向你询问（QUESTION）",
    ),
    "help_target": (
        "starter, solution, or any folder with the five files (TARGET; default: starter)",
        "starter、solution，或任何放着那五个文件的文件夹（TARGET；默认 starter）",
    ),
    "help_config": (
        'a file with "mcpServers"; without it the two mock servers are used (CONFIG)',
        '含有 "mcpServers" 的文件；不写就用两个模拟服务器（CONFIG）',
    ),
    "help_max_steps": (
        "how often the model may be asked (MAX_STEPS; default: as agent_loop.py says)",
        "最多问模型多少次（MAX_STEPS；默认见 agent_loop.py）",
    ),
    "help_mock": (
        "use the mock model, which needs no key (MOCK=1)",
        "用模拟模型，不需要密钥（MOCK=1）",
    ),
    "help_lang": (
        "en or zh (LAB_LANG; default: as LC_ALL, LC_MESSAGES or LANG say)",
        "en 或 zh（LAB_LANG；默认看 LC_ALL、LC_MESSAGES、LANG）",
    ),
    "help_env_file": (
        "where MODEL_API, MODEL_NAME, ... are written (default: .env next to the Makefile)",
        "写着 MODEL_API、MODEL_NAME 等的文件（默认：Makefile 旁边的 .env）",
    ),
    "bad_max_steps": (
        "the step limit must be a whole number from 1 up, not {value}",
        "步数上限必须是不小于 1 的整数，而不是 {value}",
    ),
    "ask": ("Your question: ", "你的问题："),
    "no_question": (
        "there is no question, and no terminal to ask for one: put it in QUESTION or after the command",
        "没有问题，也没有终端可以询问：请写在 QUESTION 里，或写在命令后面",
    ),
    "empty_question": (
        "there is no question: type one, or put it in QUESTION",
        "没有问题：请输入一个，或写在 QUESTION 里",
    ),
    # choosing the model
    "no_model": (
        "no model is configured: write MODEL_API and MODEL_NAME into {file} (.env.example shows how), "
        "or run with MOCK=1, which needs no key",
        "没有配置模型：请在 {file} 里写上 MODEL_API 和 MODEL_NAME（写法见 .env.example），"
        "或用 MOCK=1 运行，它不需要密钥",
    ),
    "half_a_model": (
        "the model is only half configured: {missing} is missing in {file}; MOCK=1 runs without a model",
        "模型只配置了一半：{file} 里缺少 {missing}；用 MOCK=1 可以不要模型",
    ),
    "unknown_api": (
        "MODEL_API={api} (in {file} or the environment) is not one of: {known}; MOCK=1 runs without a model",
        "MODEL_API={api}（来自 {file} 或环境变量）不在可用的范围内：{known}；用 MOCK=1 可以不要模型",
    ),
    "env_file_line": (
        "{file}, line {line}: this is not NAME=value; correct the line, or run with MOCK=1",
        "{file} 第 {line} 行不是 NAME=value 的形式；请改正这一行，或用 MOCK=1 运行",
    ),
    "env_file_unreadable": (
        "{file} cannot be read: {why}; correct it, or run with MOCK=1",
        "无法读取 {file}：{why}；请改正，或用 MOCK=1 运行",
    ),
    # the configuration file
    "file_missing": ("there is no file {file}", "没有文件 {file}"),
    "file_is_folder": ("{file} is a folder, not a file", "{file} 是文件夹，不是文件"),
    "file_unreadable": ("{file} cannot be read: {why}", "无法读取 {file}：{why}"),
    "not_utf8": ("{file}, line {line}: this is not UTF-8 text", "{file} 第 {line} 行不是 UTF-8 文本"),
    "broken_json": (
        "{file}, line {line}, column {column}: this is not JSON: {why}",
        "{file} 第 {line} 行第 {column} 列不是 JSON：{why}",
    ),
    "unreadable_json": ("{file}: this JSON cannot be read: {why}", "{file}：这份 JSON 无法读取：{why}"),
    "no_servers_object": (
        '{file}: it must hold an object "mcpServers", like {{"mcpServers": {{"notes": {{"command": ...}}}}}}',
        '{file}：必须有一个对象 "mcpServers"，例如 {{"mcpServers": {{"notes": {{"command": ...}}}}}}',
    ),
    "duplicate_alias": (
        "{file}: the server alias {alias!r} stands there twice; it is a prefix, give one of the two another",
        "{file}：服务器别名 {alias!r} 出现了两次；别名就是前缀，请给其中一个换个别名",
    ),
    "duplicate_mcp_servers": (
        '{file}: "mcpServers" stands there twice; put all servers into one',
        '{file}："mcpServers" 出现了两次；请把所有服务器放进一个',
    ),
    "bad_alias": (
        "{file}: the server alias {alias!r} cannot be a prefix: "
        'it must be 1 to {most} of the letters A-Z and a-z, digits, "_" and "-"',
        "{file}：服务器别名 {alias!r} 不能当前缀：请用 1 到 {most} 个英文字母、数字、“_”或“-”",
    ),
    # one entry of it
    "entry_not_object": ("the entry must be an object, not {found}", "这一项必须是对象，而不是 {found}"),
    "duplicate_field": ("{field} stands there twice", "{field} 出现了两次"),
    "missing_field": ("{field} is missing", "缺少 {field}"),
    "empty_field": ("{field} is empty", "{field} 是空的"),
    "wrong_type": ("{field} must be {wanted}, not {found}", "{field} 必须是 {wanted}，而不是 {found}"),
    "bad_timeout": (
        "{field} must be more than 0 and at most {most} seconds",
        "{field} 必须大于 0 秒，且不超过 {most} 秒",
    ),
    "only_stdio": (
        "{field} asks for a transport other than stdio, and this client starts its servers itself",
        "{field} 要求 stdio 以外的传输方式，而本客户端只会自己启动服务器",
    ),
    "unset_variable": (
        "{field} needs the variable {name}, which is not set; ${{{name}:-default}} would give it a default",
        "{field} 需要变量 {name}，但它没有设置；写成 ${{{name}:-默认值}} 可以给出默认值",
    ),
    "bad_variable": (
        "{field}: after ${{ must come a variable's name, or name:-default, and }}; "
        "write $${{ to get these two characters",
        "{field}：${{ 后面必须是变量名或“变量名:-默认值”，再加 }}；要写这两个字符本身请用 $${{",
    ),
    "no_such_folder": ("{field}: there is no folder {folder}", "{field}：没有文件夹 {folder}"),
    "unknown_field": (
        "{alias}: the field {field!r} is unknown here and is passed over",
        "{alias}：不认识字段 {field!r}，已略过",
    ),
    # the target folder
    "no_target": (
        "there is no target {target}: TARGET is starter, solution, or a folder with the five files",
        "没有目标 {target}：TARGET 可以是 starter、solution，或一个放着那五个文件的文件夹",
    ),
    "missing_files": ("the target {folder} lacks: {files}", "目标 {folder} 缺少：{files}"),
    "student_error": (
        "The code in {folder} raised an error, so there is no answer:",
        "{folder} 里的代码出错了，所以没有答案：",
    ),
    "and_more_errors": ("(more errors at the same time: {count})", "（同时还有另外 {count} 个错误）"),
    # the transcript
    "question": ("question", "问题"),
    "target": ("target", "目标"),
    "model": ("model", "模型"),
    "servers": ("servers", "服务器"),
    "starting": ("starting: {aliases}", "正在启动：{aliases}"),
    "no_servers": ("no servers are configured", "没有配置服务器"),
    "tools_one": ("1 tool", "1 个工具"),
    "tools_many": ("{count} tools", "{count} 个工具"),
    "down": ("down: {why}", "不可用：{why}"),
    "disabled": ("disabled in the configuration", "已在配置中停用"),
    "step": ("step {number}", "第 {number} 步"),
    "nothing_sent": ("(nothing was sent)", "（没有发送）"),
    "bad_arguments": (
        "(nothing was sent: the arguments are not a JSON object)",
        "（没有发送：参数不是 JSON 对象）",
    ),
    "cut": ("... {count} more characters for the model", "……给模型的还有 {count} 个字符"),
    "legend": (
        "(name for the model -> name on the wire @ server)",
        "（给模型的名字 -> 线上的名字 @ 服务器）",
    ),
    "answer": ("answer", "回答"),
    "empty_answer": ("(the model answered with no words)", "（模型的回答是空的）"),
    "answered_one": ("answered in 1 step", "用了 1 步"),
    "answered_many": ("answered in {count} steps", "用了 {count} 步"),
    "no_answer_one": (
        "no answer: the limit of 1 step was reached; --max-steps {more} or MAX_STEPS={more} allows more",
        "没有答案：到了 1 步的上限；用 --max-steps {more} 或 MAX_STEPS={more} 可以走更多步",
    ),
    "no_answer_many": (
        "no answer: the limit of {count} steps was reached; "
        "--max-steps {more} or MAX_STEPS={more} allows more",
        "没有答案：到了 {count} 步的上限；用 --max-steps {more} 或 MAX_STEPS={more} 可以走更多步",
    ),
    "stopped": ("stopped; nothing is left running", "已停止；没有进程留下"),
    "output_closed": ("stopped: nobody reads the output any more", "已停止：没有人再读取输出"),
    # what the mock model says
    "mock_searches": ("I look for: {values}.", "我来查找：{values}。"),
    "mock_reads": ("I read: {values}.", "我来看：{values}。"),
    "mock_recovers": ("The error names others; I read: {values}.", "错误里提到了别的；我来看：{values}。"),
    "mock_does": ("As you told me: {values}.", "按你说的做：{values}。"),
    "mock_looks": ("A tool is named like what you ask for.", "有一个工具的名字就像你要问的。"),
    "mock_found": ("From {source}: {count} found", "来自 {source}：找到 {count} 条"),
    "mock_not_found": ("From {source}: nothing found", "来自 {source}：什么也没找到"),
    "mock_quote": ("From {source}: {text}", "来自 {source}：{text}"),
    "mock_error": ("From {source}, an error: {text}", "来自 {source}，出错：{text}"),
    "mock_nothing": (
        "So the tools have told me nothing that answers your question.",
        "所以工具没有告诉我任何能回答你问题的内容。",
    ),
    "mock_no_tools": (
        "I was given no tools, so there is nothing I can look up.",
        "没有给我任何工具，所以我什么也查不了。",
    ),
    "mock_no_fitting_tool": (
        "None of the {count} tools fits your question. I was given: {names}",
        "{count} 个工具里没有一个适合你的问题。给我的有：{names}",
    ),
    "mock_told": ("I was also told: {told}", "另外我被告知：{told}"),
}


@dataclass(frozen=True)
class Message:
    """One sentence of the table with what fills its places; `str()` gives the English one."""

    key: str
    values: Mapping[str, object] = field(default_factory=dict)

    def text(self, language: str) -> str:
        return say(language, self.key, **self.values)

    def __str__(self) -> str:
        return self.text("en")


class HostError(Exception):
    """The root: raised when the command cannot do its work for a reason that one sentence can tell."""

    def __init__(self, key: str, **values: object) -> None:
        self.message = Message(key, values)
        super().__init__(str(self.message))


def say(language: str, key: str, **values: object) -> str:
    return WORDS[key][LANGUAGES.index(language)].format(**values)


def choose_language(environ: Mapping[str, str]) -> str:
    """By LAB_LANG, or else by the locale: Chinese for zh_*, English for all others."""
    for name in ("LAB_LANG", "LC_ALL", "LC_MESSAGES", "LANG"):
        if value := environ.get(name):
            return "zh" if value.lower().startswith("zh") else "en"
    system = locale.getlocale()[0] or ""  # Windows has no such variables; "Chinese (Simplified)_China"
    return "zh" if system.lower().startswith(("zh", "chinese")) else "en"


def shown(path: Path) -> str:
    """The path as a person here would type it."""
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)

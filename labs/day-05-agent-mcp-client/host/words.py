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
        "用多个 MCP 服务端的工具回答一个问题，并显示每一步。",
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
        '含有 "mcpServers" 的文件；不写就用两个模拟服务端（CONFIG）',
    ),
    "help_max_steps": (
        "how often the model may be asked (MAX_STEPS; default: as agent_loop.py says)",
        "最多问模型多少次（MAX_STEPS；默认见 agent_loop.py）",
    ),
    "help_mock": (
        "use the mock model, which needs no key (MOCK=1)",
        "用模拟模型，不需要密钥（MOCK=1）",
    ),
    "help_yes": (
        "run tools that may change something without asking (YES=1)",
        "运行可能改动数据的工具时不再询问（YES=1）",
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
    "bad_base_url": (
        "MODEL_BASE_URL (in {file} or the environment) must be an address like http://127.0.0.1:11434/v1: "
        "http or https, a host, perhaps a path, and no user name, ? or #; MOCK=1 runs without a model",
        "MODEL_BASE_URL（来自 {file} 或环境变量）必须是 http://127.0.0.1:11434/v1 这样的地址："
        "http 或 https、主机名、可以有路径，不能有用户名、? 或 #；用 MOCK=1 可以不要模型",
    ),
    "bad_key": (
        "MODEL_API_KEY (in {file} or the environment) holds a space or another sign that no key has: "
        'write the key alone, without "Bearer"; MOCK=1 runs without a model',
        "MODEL_API_KEY（来自 {file} 或环境变量）里有空格或密钥中不会有的字符："
        "只写密钥本身，不要写“Bearer”；用 MOCK=1 可以不要模型",
    ),
    "bad_options": (
        "MODEL_OPTIONS (in {file} or the environment) must be a JSON object of request fields such as "
        '{{"temperature": 0}}, without {reserved}; MOCK=1 runs without a model',
        "MODEL_OPTIONS（来自 {file} 或环境变量）必须是由请求字段组成的 JSON 对象，例如 "
        '{{"temperature": 0}}，且不能有 {reserved}；用 MOCK=1 可以不要模型',
    ),
    # what a provider did
    "model_retry": (
        "the model does not answer yet ({why}); next try in {seconds} s",
        "模型还没有回答（{why}）；{seconds} 秒后再试",
    ),
    "model_unreachable": (
        "the model at {where} cannot be reached: {why}; check MODEL_BASE_URL, and that its server is running",
        "连不上 {where} 的模型：{why}；请检查 MODEL_BASE_URL，以及服务是否在运行",
    ),
    "model_proxy": (
        "the proxy for {where} cannot be used: {why}; check HTTPS_PROXY, HTTP_PROXY and ALL_PROXY",
        "访问 {where} 要用的代理不可用：{why}；请检查 HTTPS_PROXY、HTTP_PROXY 和 ALL_PROXY",
    ),
    "model_silent": (
        "the model at {where} has sent nothing for {seconds} s",
        "{where} 的模型已有 {seconds} 秒没有发来任何内容",
    ),
    "model_endless": (
        "the model at {where} has not finished its answer after {seconds} s",
        "{where} 的模型过了 {seconds} 秒还没有回答完",
    ),
    "model_broke_off": (
        "the answer of the model at {where} broke off: {why}",
        "{where} 的模型的回答中断了：{why}",
    ),
    "model_no_answer": (
        "what {where} sent ({kind}) is not a model's answer: {text}; check MODEL_BASE_URL and MODEL_API",
        "{where} 发来的（{kind}）不是模型的回答：{text}；请检查 MODEL_BASE_URL 和 MODEL_API",
    ),
    "model_error": ("the model at {where} reports an error: {why}", "{where} 的模型报告了错误：{why}"),
    "model_key": (
        "{where} does not accept the key (HTTP {status}): {why}; check MODEL_API_KEY",
        "{where} 不接受密钥（HTTP {status}）：{why}；请检查 MODEL_API_KEY",
    ),
    "model_no_key": (
        "{where} wants a key (HTTP {status}): {why}; MODEL_API_KEY is not set",
        "{where} 需要密钥（HTTP {status}）：{why}；没有设置 MODEL_API_KEY",
    ),
    "model_not_found": (
        "{where} does not know the model or the address (HTTP {status}): {why}; check MODEL_NAME and MODEL_BASE_URL",
        "{where} 没有这个模型或地址（HTTP {status}）：{why}；请检查 MODEL_NAME 和 MODEL_BASE_URL",
    ),
    "model_no_credit": (
        "{where} answers only paid requests (HTTP {status}): {why}",
        "{where} 的账户余额或额度不足（HTTP {status}）：{why}",
    ),
    "model_moved": (
        "{where} points to another address (HTTP {status}): {to}; write the right one into MODEL_BASE_URL",
        "{where} 指向了另一个地址（HTTP {status}）：{to}；请在 MODEL_BASE_URL 里写正确的地址",
    ),
    "model_refuses": (
        "{where} refuses the request (HTTP {status}): {why}",
        "{where} 拒绝了请求（HTTP {status}）：{why}",
    ),
    "model_wait": (
        "{where} wants us to wait {seconds} s (HTTP {status}): {why}; try again then",
        "{where} 要求等待 {seconds} 秒（HTTP {status}）：{why}；请到时再试",
    ),
    "model_busy": (
        "{where} did not answer at any try (HTTP {status}): {why}; try again later",
        "{where} 多次尝试都没有回答（HTTP {status}）：{why}；请稍后再试",
    ),
    "model_unsendable": (
        "the conversation cannot be sent to {where} as JSON: {why}",
        "对话无法作为 JSON 发给 {where}：{why}",
    ),
    # how an answer ended
    "model_cut": (
        "(the answer ends here: the model reached the most it may write in one answer)",
        "（回答到此为止：模型已写满一次回答的长度上限）",
    ),
    "model_full": (
        "(the answer ends here: the conversation fills all that the model can hold)",
        "（回答到此为止：对话已占满模型的上下文）",
    ),
    "model_filtered": (
        "(the answer ends here: the provider's content filter stopped it)",
        "（回答到此为止：被服务方的内容过滤拦下了）",
    ),
    "model_refused": ("(the model refuses to answer{why})", "（模型拒绝回答{why}）"),
    "model_ended": (
        "(the answer ends here: the provider gives the reason {why!r})",
        "（回答到此为止：服务方给出的原因是 {why!r}）",
    ),
    # what the tools had to lose on their way to a provider (SHOW_SHAPING=1)
    "shape_bad_name": (
        "{tool!r} is not shown to the model: its name is not of the form that model APIs take, {legal}",
        "{tool!r} 没有给模型看：名字不符合模型 API 要求的形式 {legal}",
    ),
    "shape_same_name": (
        "a second tool named {tool!r} is not shown to the model: the first one has the name",
        "第二个名为 {tool!r} 的工具没有给模型看：名字已被第一个占用",
    ),
    "shape_description": (
        "{tool}: {where} cut to {most} characters",
        "{tool}：{where} 截短到 {most} 个字符",
    ),
    "shape_true": ("{tool}: {where}: true became {{}}", "{tool}：{where}：true 改为 {{}}"),
    "shape_never": (
        "{tool}: {where}: left out, as no value can fit false",
        "{tool}：{where}：没有值能符合 false，已略去",
    ),
    "shape_no_schema": (
        "{tool}: {where}: not a schema; it became {{}}",
        "{tool}：{where}：不是 schema，改为 {{}}",
    ),
    "shape_too_deep": (
        "{tool}: {where}: deeper than {most} levels, left out",
        "{tool}：{where}：超过 {most} 层，已略去",
    ),
    "shape_tuple": (
        "{tool}: {where}: the list became prefixItems",
        "{tool}：{where}：列表改为 prefixItems",
    ),
    "shape_any_of": ("{tool}: {where} became anyOf", "{tool}：{where} 改为 anyOf"),
    "shape_dropped": ("{tool}: {where}: left out", "{tool}：{where}：已略去"),
    "shape_items": (
        "{tool}: {where}: an array without items got items {{}}",
        "{tool}：{where}：数组缺少 items，补上 {{}}",
    ),
    "shape_type": ('{tool}: {where}: got "type": "object"', '{tool}：{where}：补上 "type": "object"'),
    "shape_properties": (
        "{tool}: {where}: got empty properties",
        "{tool}：{where}：补上空的 properties",
    ),
    "shape_required": (
        "{tool}: {where}: added, as it is required",
        "{tool}：{where}：它是必需的，已补上",
    ),
    "shape_root_choice": (
        "{tool}: {where}: {words} at the root became one list of properties",
        "{tool}：{where}：根上的 {words} 合并成一个 properties",
    ),
    "shape_renamed": (
        "{tool}: {where}: called {new} for the model",
        "{tool}：{where}：给模型看时叫 {new}",
    ),
    "shape_reference": (
        "{tool}: {where}: $ref {reference} leads nowhere and was left out",
        "{tool}：{where}：$ref {reference} 无处可指，已略去",
    ),
    "shape_remote": (
        "{tool}: {where}: $ref {reference} is not in this document and is never fetched; left out",
        "{tool}：{where}：$ref {reference} 不在本文档内，绝不去下载；已略去",
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
        "{file}：服务端别名 {alias!r} 出现了两次；别名就是前缀，请给其中一个换个别名",
    ),
    "duplicate_mcp_servers": (
        '{file}: "mcpServers" stands there twice; put all servers into one',
        '{file}："mcpServers" 出现了两次；请把所有服务端放进一个',
    ),
    "bad_alias": (
        "{file}: the server alias {alias!r} cannot be a prefix: "
        'it must be 1 to {most} of the letters A-Z and a-z, digits, "_" and "-"',
        "{file}：服务端别名 {alias!r} 不能当前缀：请用 1 到 {most} 个英文字母、数字、“_”或“-”",
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
        "{field} 要求 stdio 以外的传输方式，而本客户端只会自己启动服务端",
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
    "servers": ("servers", "服务端"),
    "starting": ("starting: {aliases}", "正在启动：{aliases}"),
    "no_servers": ("there is no server to start", "没有要启动的服务端"),
    "tools_one": ("1 tool", "1 个工具"),
    "tools_many": ("{count} tools", "{count} 个工具"),
    "down": ("down: {why}", "不可用：{why}"),
    "disabled": ("disabled in the configuration", "已在配置中停用"),
    "lazy": ("lazy: started when the model asks for it", "按需启动：模型要用时才启动"),
    "step": ("step {number}", "第 {number} 步"),
    "nothing_sent": ("(nothing was sent)", "（没有发送）"),
    "connects": ("(connects to a server)", "（连接一个服务端）"),
    "bad_arguments": (
        "(nothing was sent: the arguments are not a JSON object)",
        "（没有发送：参数不是 JSON 对象）",
    ),
    "cut": ("... {count} more characters for the model", "……给模型的还有 {count} 个字符"),
    "legend": (
        "(name for the model -> name on the wire @ server)",
        "（给模型的名字 -> 发给服务端的名字 @ 服务端）",
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
    # before a tool that is not marked read-only
    "proposal": ("The model wants to run: {title} ({way})", "模型想运行：{title}（{way}）"),
    "claim_destructive": (
        "it may destroy something; so the server itself says ({hints}), nobody has checked it",
        "它可能破坏数据；这是服务端自己说的（{hints}），没有人核实过",
    ),
    "claim_additive": (
        "it changes something and destroys nothing; so the server itself says ({hints}), "
        "nobody has checked it",
        "它会改动数据，但不会破坏；这是服务端自己说的（{hints}），没有人核实过",
    ),
    "claim_read_only": (
        "it only reads; so the server itself says ({hints}), "
        "but the configuration does not trust this server",
        "它只读取；这是服务端自己说的（{hints}），但配置里不信任这个服务端",
    ),
    "claim_none": (
        "the server does not say what it changes, so it may destroy something",
        "服务端没有说明它会改动什么，所以它可能破坏数据",
    ),
    "hidden_arguments": (
        "... and {count} more characters, which are not shown",
        "……还有 {count} 个字符没有显示",
    ),
    "run_it": ("Run it? [y/N] ", "要运行吗？[y/N] "),
    "ran_by_yes": (
        "{title} ({way}) runs without a question, because of --yes",
        "因为有 --yes，{title}（{way}）不经询问就运行",
    ),
    "nobody_to_ask": (
        "{title} ({way}) is not run: it may change something, and there is no terminal to ask at; "
        "--yes or YES=1 allows it",
        "{title}（{way}）没有运行：它可能改动数据，而这里没有终端可以询问；用 --yes 或 YES=1 可以允许",
    ),
    # what becomes of servers, and what they return
    "server_ended": (
        "the server {alias} is down: {why}; a call of one of its tools starts it again",
        "服务端 {alias} 不可用：{why}；再调用它的工具时会重新启动",
    ),
    "server_restarted": (
        "the server {alias} has been started again; what it kept in memory is gone",
        "服务端 {alias} 已重新启动；它内存里的东西没有了",
    ),
    "server_silent": (
        "the server {alias} has not answered {count} requests in a row; it is left alone for {seconds} s",
        "服务端 {alias} 连续 {count} 次没有回答；{seconds} 秒内不再打扰它",
    ),
    "not_listed_anew": (
        "the tools of the server {alias} have changed, but could not be listed anew: {why}",
        "服务端 {alias} 的工具变了，但没能重新列出：{why}",
    ),
    "broken_output_schema": (
        "{tool}: its outputSchema cannot be used, so results are not checked: {why}",
        "{tool}：它的 outputSchema 无法使用，所以不检查结果：{why}",
    ),
    "no_structured_content": (
        "{tool}: its outputSchema promises structuredContent, and there is none; its text is used",
        "{tool}：它的 outputSchema 承诺有 structuredContent，却没有；改用它的文本",
    ),
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

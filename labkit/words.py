"""The words of the commands themselves, in both languages, and which language to speak."""

import locale
import os
from collections.abc import Mapping

from labkit.lab import Text

LANGUAGES = ("en", "zh")


def choose_language(wanted: str | None, environ: Mapping[str, str] = os.environ) -> str:
    """`wanted` if given, else LAB_LANG, else the locale: Chinese for zh_*, English for all others."""
    if wanted:
        return wanted
    for name in ("LAB_LANG", "LC_ALL", "LC_MESSAGES", "LANG"):
        if value := environ.get(name):
            return "zh" if value.lower().startswith("zh") else "en"
    system = locale.getlocale()[0] or ""  # Windows: "Chinese (Simplified)_China"
    return "zh" if system.lower().startswith(("zh", "chinese")) else "en"


WORDS: dict[str, Text] = {
    "heading": Text("self-test of {lab}: {target}", "自测 {lab}：{target}"),
    "summary": Text("{passed} of {total} green, in {seconds:.1f} s", "{total} 项中 {passed} 项绿，用时 {seconds:.1f} 秒"),
    "done": Text("done", "操作"),
    "expected": Text("expected", "预期"),
    "actual": Text("got", "实际"),
    "wire": Text("wire", "报文"),
    "where": Text("where", "位置"),
    "spec": Text("spec", "规范"),
    "printed": Text("printed", "打印"),
    "next todo": Text(
        "next: TODO {todo} at {where}; save, and run this again",
        "下一步：{where} 的 TODO {todo}；保存后再运行一次",
    ),
    "next check": Text(
        "next: check {number}, at {where}; save, and run this again",
        "下一步：第 {number} 项，看 {where}；保存后再运行一次",
    ),
    "next import": Text("next: mend {where}, and run this again", "下一步：修好 {where}，再运行一次"),
    "all green": Text(
        "all green. next: ask it something, QUESTION=\"...\" MOCK=1 make start{target}",
        "全绿。下一步：问它一个问题，QUESTION=\"...\" MOCK=1 make start{target}",
    ),
    "comment left": Text(
        "the comment of TODO {todo} still stands at {where}: it can go now",
        "{where} 还留着 TODO {todo} 的注释：现在可以删掉了",
    ),
    "no more": Text("the checks that ran are green", "运行了的检查都是绿的"),
    "not run": Text("not run", "未运行"),
    "unknown": Text(
        "What was seen is not what the check demands. None of the known misconceptions fits; the evidence is below.",
        "看到的和这项检查要求的不一样，但不符合任何已知的误解；证据见下。",
    ),
    "explained": Text("The cause can be seen in check {number}: {text}", "原因见第 {number} 项：{text}"),
    "raised": Text(
        "Your code raised {type}: {text}",
        "你的代码抛出了 {type}：{text}",
    ),
    "trespass": Text(
        "Your program reached for something that is not its own: {what}. The checks judge what the five files do by themselves, so a check in which this happens cannot be green.",
        "你的程序碰了不属于它的东西：{what}。检查只看这五个文件自己做了什么，所以发生了这种事的检查不会变绿。",
    ),
    "import error": Text(
        "Your code could not be imported, so no check could run. {type}: {text}",
        "你的代码无法导入，所以没有检查可以运行。{type}：{text}",
    ),
    "timeout": Text(
        "The program had not come to its end after {seconds:g} s and was stopped. A wait without an end, or a loop.",
        "程序过了 {seconds:g} 秒还没有结束，被停掉了。可能是没有尽头的等待，或者死循环。",
    ),
    "died": Text(
        "The program ended by itself (exit code {code}) before the check was through: an exit, or a crash.",
        "检查还没做完，程序就自己结束了（退出码 {code}）：调用了退出，或者崩溃了。",
    ),
    "no worker": Text("the checks could not be run here: {error}", "检查无法在这里运行：{error}"),
    "stopped": Text("stopped; nothing is left running", "已停止；没有进程留下"),
}


def say(key: str, language: str, **values: object) -> str:
    return WORDS[key].say(language, **values)

"""What main.py does once Python and the packages are there: read the options, run one turn, say how it ended.

What may be missing is looked for in this order: a model, the target, the configuration, the question. So
nobody types a question, and no server starts, for a run that cannot take place.
"""

import argparse
import asyncio
import io
import logging
import os
import signal
import sys
import traceback
from collections.abc import Mapping
from pathlib import Path

from host.config import LAB, load_config
from host.interrupts import end_as_by_ctrl_c, ended_on_the_spot
from host.models import choose_model
from host.screen import Screen, WarningLines
from host.target import enter, find_target, student_errors
from host.words import LANGUAGES, HostError, choose_language, say, shown

ANSWERED, NO_ANSWER, COULD_NOT_RUN, STOPPED = 0, 1, 2, 130
ENV_FILE = LAB.parents[1] / ".env"


class NoQuestion(HostError):
    """Raised when there is nothing to answer and nobody to ask."""


def main(arguments: list[str]) -> int:
    use_utf8()
    language = read_language(arguments, os.environ)
    options = read_options(arguments, os.environ, language)
    screen = Screen(language)
    logging.getLogger().addHandler(WarningLines(screen))
    try:
        end_as_by_ctrl_c()
        return run(options, screen)
    except HostError as error:
        screen.problem(error.message)
    except (KeyboardInterrupt, asyncio.CancelledError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # all is closed; a second one would only make a mess
        screen.stopped()
        return STOPPED
    except Exception:  # a fault of ours: whoever mends it needs all of it
        traceback.print_exc()
    return COULD_NOT_RUN


def run(options: argparse.Namespace, screen: Screen) -> int:
    """One turn, from what must be there to its answer. Raises: HostError."""
    model = choose_model(options.mock, os.environ, options.env_file)
    folder = find_target(options.target)
    configuration = load_config(options.config)
    question = options.question.strip() or ask(screen.language)
    screen.heading(question, shown(folder), getattr(model, "name", type(model).__name__))
    enter(folder)
    try:
        with ended_on_the_spot():  # take_turn then sees to an end with all closed
            import anyio

            from host.turn import take_turn  # from here on the student's code runs

            limit, yes = options.max_steps, options.yes
            transcript = anyio.run(take_turn, question, model, configuration, screen, limit, yes)
    except HostError:
        raise
    except (Exception, SystemExit, BaseExceptionGroup) as error:
        errors = student_errors(error, folder)
        if not errors:
            raise
        screen.student_errors(shown(folder), errors)
        return COULD_NOT_RUN
    screen.end(transcript.answer, transcript.steps)
    return NO_ANSWER if transcript.answer is None else ANSWERED


def ask(language: str) -> str:
    """A question from the person at the terminal. Raises: NoQuestion."""
    if sys.stdin is None or not sys.stdin.isatty():
        raise NoQuestion("no_question")
    try:
        with ended_on_the_spot():  # `input` overlooks a Ctrl-C that comes just before it begins to read
            question = input(say(language, "ask")).strip()
    except EOFError:  # Ctrl-D
        question = ""
    if not question:
        raise NoQuestion("empty_question")
    return question


# The options


def read_language(arguments: list[str], environ: Mapping[str, str]) -> str:
    """Before all else: the help and the errors of the other options are in this language."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--lang", choices=LANGUAGES)
    return parser.parse_known_args(arguments)[0].lang or choose_language(environ)


def read_options(arguments: list[str], environ: Mapping[str, str], language: str) -> argparse.Namespace:
    """The command line over the variables that `make start` hands on; an empty variable is an unset one."""

    def step_limit(text: str) -> int:
        if not (text.isascii() and text.isdigit() and int(text) > 0):
            raise argparse.ArgumentTypeError(say(language, "bad_max_steps", value=text))
        return int(text)

    parser = argparse.ArgumentParser("main.py", description=say(language, "help_about"), allow_abbrev=False)
    add = parser.add_argument
    question, target = environ.get("QUESTION", ""), environ.get("TARGET") or "starter"
    config, max_steps = environ.get("CONFIG") or None, environ.get("MAX_STEPS") or None
    mock, yes = (environ.get(name, "") not in ("", "0") for name in ("MOCK", "YES"))
    add("question", nargs="?", default=question, metavar="QUESTION", help=say(language, "help_question"))
    add("--target", default=target, metavar="FOLDER", help=say(language, "help_target"))
    add("--config", type=Path, default=config, metavar="FILE", help=say(language, "help_config"))
    add("--max-steps", type=step_limit, default=max_steps, metavar="N", help=say(language, "help_max_steps"))
    add("--mock", action="store_true", default=mock, help=say(language, "help_mock"))
    add("--yes", action="store_true", default=yes, help=say(language, "help_yes"))
    add("--lang", choices=LANGUAGES, help=say(language, "help_lang"))
    add("--env-file", type=Path, default=ENV_FILE, metavar="FILE", help=say(language, "help_env_file"))
    return parser.parse_args(arguments)


# The process


def use_utf8() -> None:
    """What a Windows console or a C locale cannot show becomes a question mark, not an exception."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="replace")

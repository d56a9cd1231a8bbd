"""The command: ask one question, and watch how the tools of several MCP servers answer it.

usage: python main.py [QUESTION] [--target starter|solution|FOLDER] [--config FILE] [--max-steps N] [--mock]
                      [--yes] [--lang en|zh] [--env-file FILE]

`make start` calls it with the variables QUESTION, TARGET, CONFIG, MAX_STEPS, MOCK and YES. Exit code: 0
answered, 1 no answer (the step limit), 2 could not run, 130 stopped by Ctrl-C. What it does is in command.py;
this file only gets there, and it is read by any Python 3, also by one that is too old: no new syntax here.
"""

import os
import sys

LAB = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROOT = os.path.dirname(os.path.dirname(LAB))


def main() -> int:
    if sys.version_info < (3, 11):  # noqa: UP036
        version = "%d.%d" % sys.version_info[:2]  # noqa: UP031
        sys.stderr.write(
            "This kit needs Python 3.11 or later, and this is Python " + version + ": install a newer one"
            " and run the same command with it.\n"
        )
        return 2
    sys.path.insert(0, LAB)
    if not packages_are_here():
        sys.path.insert(1, ROOT)
        from labkit import bootstrap

        return bootstrap.run_again_in_the_environment(sys.argv)
    from host.interrupts import ended_on_the_spot

    with ended_on_the_spot():
        from host import command

    return command.main(sys.argv[1:])


def packages_are_here() -> bool:
    from importlib.util import find_spec

    return all(find_spec(name) is not None for name in ("anyio", "rich", "dotenv", "httpx2", "jsonschema"))


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:  # it came before there was anything to say
        sys.exit(130)

"""The self-test: run the nine checks of a lab against one folder and say what is wrong, and why.

usage: python selftest.py [TARGET] [--only 3,5] [--json FILE] [--lang en|zh] [--lab NAME]

TARGET is a folder inside the lab (starter, solution) or any other; the default is the variable TARGET, or
starter. Exit code: 0 all green, 1 not all, 2 could not run, 130 stopped by Ctrl-C.

This file is read by any Python, also by one that is too old for the rest: no new syntax here.
"""

import sys


def main():
    if sys.version_info < (3, 11):
        version = "%d.%d" % sys.version_info[:2]
        sys.stderr.write("This kit needs Python 3.11 or later, and this is Python " + version + ": install a newer one"
                         " and run the same command with it.\n")
        return 2
    from labkit import bootstrap

    if not bootstrap.packages_are_here():
        return bootstrap.run_again_in_the_environment(sys.argv)
    from labkit import command

    return command.main(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())

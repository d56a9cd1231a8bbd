"""Set the kit up: a .venv with its packages. Standard library only; `make` and selftest.py both use it.

usage: python labkit/bootstrap.py [dev]     (dev: also what `make test` and `make typecheck` need)

With `uv` on the path it takes a second, else venv and pip do it. What is wanted stands in pyproject.toml alone;
a stamp in .venv remembers for which pyproject.toml it was done, so that it is done once.
"""

import importlib.util
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
AGAIN = "LABKIT_RUN_AGAIN"  # set for the second start of a command, so that there is no third
PACKAGES = ("anyio", "rich", "dotenv", "psutil", "httpx2", "jsonschema")  # what the commands import


def packages_are_here() -> bool:
    return all(importlib.util.find_spec(name) is not None for name in PACKAGES)


def run_again_in_the_environment(argv: list[str]) -> int:
    """Set up if need be, then run the same command with the environment's Python."""
    try:
        if os.environ.get(AGAIN):
            raise SetUpFailed("the environment .venv lacks packages: delete the folder and run the same command again")
        set_up()
    except SetUpFailed as error:
        sys.stderr.write(f"{error}\n")
        return 2
    os.environ[AGAIN] = "1"
    command = [str(PYTHON), *argv]
    if os.name != "nt":
        os.execv(command[0], command)
    import subprocess

    process = subprocess.Popen(command)
    while True:
        try:
            return process.wait()
        except KeyboardInterrupt:  # the console has sent it to both; the other one ends by itself
            continue


class SetUpFailed(Exception):
    """Raised when the environment could not be made; says what to do."""


def set_up(group: str = "") -> None:
    """Make .venv and install the packages, or return at once when that has been done."""
    import hashlib  # here and below: imported only by those who set up
    import shutil

    stamp = VENV / f"ready-{group or 'run'}"
    wanted = hashlib.sha256((ROOT / "pyproject.toml").read_bytes()).hexdigest()
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == wanted and PYTHON.exists():
        return
    sys.stderr.write("setting up .venv (once) ...\n")
    uv = shutil.which("uv")
    if uv is not None:
        make = [uv, "venv", "--quiet", "--python", sys.executable, str(VENV)]
        install = [uv, "pip", "install", "--quiet", "--compile-bytecode", "--python", str(PYTHON)]
    else:
        make = [sys.executable, "-m", "venv", str(VENV)]
        install = [str(PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if not PYTHON.exists():
        _run(make)
    _run([*install, *_requirements(group)])
    for done in {stamp, VENV / "ready-run"}:  # whatever the group, the packages of the commands are among them
        done.write_text(wanted, encoding="utf-8")


def _requirements(group: str) -> list[str]:
    import tomllib  # not at the top: it is new in 3.11

    with open(ROOT / "pyproject.toml", "rb") as file:
        project = tomllib.load(file)
    extra = project["dependency-groups"][group] if group else []
    return [*project["project"]["dependencies"], *extra]


def _run(command: list[str]) -> None:
    import subprocess

    try:
        result = subprocess.run(command, stdin=subprocess.DEVNULL)
    except OSError as error:
        raise SetUpFailed(f"set-up failed: {command[0]} could not be run: {error}") from error
    if result.returncode != 0:
        raise SetUpFailed(
            f"set-up failed at: {' '.join(command)}\n"
            "The lines above say why. Usual reasons: no network, a folder that cannot be written, or on Debian and "
            "Ubuntu the missing package python3-venv. Mend it and run the same command again."
        )


def main() -> int:
    if sys.version_info < (3, 11):
        version = "%d.%d" % sys.version_info[:2]
        sys.stderr.write(
            f"This kit needs Python 3.11 or later, and this is Python {version}: install a newer one and name it, "
            "like make PYTHON=python3.13 start\n"
        )
        return 2
    try:
        set_up(*sys.argv[1:2])
    except SetUpFailed as error:
        sys.stderr.write(f"{error}\n")
        return 2
    except KeyboardInterrupt:
        sys.stderr.write("\nstopped; run the same command again to finish the set-up\n")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())

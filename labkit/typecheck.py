"""mypy --strict over the kit, one call per set of modules that share a name space; silent when clean.

The starter and the solution have the same module names, so each needs a call of its own.
"""

import os
import subprocess
import sys

from labkit.lab import ROOT, find_labs


def main() -> int:
    codes = []
    for lab in find_labs():
        for folder in (lab / "starter", lab / "solution"):
            codes.append(_mypy([str(folder)]))
        codes.append(_mypy(["-p", "host"], lab / "solution", lab))
        codes.append(_mypy([str(lab / "checks.py")], lab / "solution", lab))
        if (lab / "proof").is_dir():
            codes.append(_mypy(["-p", "proof"], lab))
        codes.extend(_mypy([str(server)]) for server in sorted((lab / "servers").glob("*.py")))
    codes.append(_mypy(["-p", "labkit"]))
    codes.append(_mypy(["-p", "bench"], find_labs()[-1] / "solution", find_labs()[-1]))
    return max(codes)


def _mypy(arguments: list[str], *path: os.PathLike[str]) -> int:
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", *arguments]
    environment = {**os.environ, "MYPYPATH": os.pathsep.join(map(str, path))}
    return subprocess.run(command, cwd=ROOT, env=environment).returncode


if __name__ == "__main__":
    sys.exit(main())

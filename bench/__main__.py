"""usage: python -m bench [ROUNDS]"""

import sys

from bench import selftest

selftest.main(*map(int, sys.argv[1:2]))

"""usage: python -m bench [selftest|clients|many] [ROUNDS]     (default: all three)"""

import sys

from bench import clients, many, selftest

PARTS = {"selftest": selftest.main, "clients": clients.main, "many": many.main}

words = sys.argv[1:]
names = [word for word in words if word in PARTS] or list(PARTS)
rounds = [int(word) for word in words if word.isdigit()]
for name in names:
    PARTS[name](*rounds)

"""usage: python -m bench [selftest|clients] [ROUNDS]     (default: both)"""

import sys

from bench import clients, selftest

PARTS = {"selftest": selftest.main, "clients": clients.main}

words = sys.argv[1:]
names = [word for word in words if word in PARTS] or list(PARTS)
rounds = [int(word) for word in words if word.isdigit()]
for name in names:
    PARTS[name](*rounds)

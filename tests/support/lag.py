"""Measures how late the machine schedules: a process sleeps for a moment, again and again, and writes down each late wake-up.

A process of its own, since a test's threads share one interpreter lock. scripts/test starts one for all rings and sets LAG_FILE:

    python3 -m support.lag FILE     # until it is ended
"""

import os
import sys
import time

_PAUSE = 0.01
_LATE = 0.02


def worst_since(moment):
    """The worst lateness, in seconds, since that moment of time.monotonic(); 0 where nobody measures."""
    worst = 0.0
    try:
        with open(os.environ.get("LAG_FILE", ""), encoding="utf-8") as file:
            for line in file:
                if line.endswith("\n"):
                    at, late = map(float, line.split())
                    worst = max(worst, late if at >= moment else 0.0)
    except OSError:
        pass
    return worst


def main():
    with open(sys.argv[1], "w", buffering=1, encoding="utf-8") as file:
        while True:
            began = time.monotonic()
            time.sleep(_PAUSE)
            woke = time.monotonic()
            if woke - began - _PAUSE > _LATE:
                file.write(f"{woke:.3f} {woke - began - _PAUSE:.3f}\n")


if __name__ == "__main__":
    main()

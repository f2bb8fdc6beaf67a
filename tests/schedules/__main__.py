"""Runs schedules by their seeds, several at once, for scripts/dev/soak --schedules.

usage: python3 -m schedules [--schedules N] [--seed FIRST] [--at-once N] --results FOLDER

With tests/ and tests/hosts/ in PYTHONPATH, and the program under test in MUSTER.
"""

import argparse
import signal
import sys
import tempfile
from pathlib import Path

from support import processes

from .lanes import Lanes


def main():
    processes.heed_signals()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # what was made is taken down again
    options = _options()
    seeds = range(options.seed, options.seed + options.schedules)
    with tempfile.TemporaryDirectory(prefix="schedules-", dir="/tmp") as programs:
        lanes = Lanes(options.at_once, Path(programs), options.results)
        lanes.run(seeds)
    print(lanes.summary())
    return 1 if lanes.wrong else 0


def _options():
    parser = argparse.ArgumentParser(prog="schedules")
    parser.add_argument("--schedules", type=int, default=1, metavar="N")
    parser.add_argument("--seed", type=int, default=1, metavar="FIRST")
    parser.add_argument("--at-once", type=int, default=8, metavar="N")
    parser.add_argument("--results", type=Path, required=True, metavar="FOLDER")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())

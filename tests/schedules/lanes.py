"""Runs many schedules, some at once: they wait more than they compute.

Each has a process of its own, so that what it leaves behind is known to be its own. All that was seen of one that went
wrong is in a file <seed>.txt.
"""

import json
import os
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue

from support.workers import Workers

from hosts import Hosts

from .draw import MOST_AGENTS

# A schedule that takes so long hangs in these tests themselves.
_LAST_RESORT = 400.0
_TESTS = Path(__file__).resolve().parents[1]


class Lanes:
    """As many as run at once, each with hosts of its own. What was wrong is in `wrong`, by seed, as sentences."""

    def __init__(self, count, programs, results):
        self._count = count
        self._programs = programs
        self._lag_file = programs / "lag"
        self._results = results
        self._prefixes = Queue()
        self._schedules = 0
        self._seconds = 0.0
        self._struck = Counter()
        self._lag = 0.0
        self.wrong = {}

    def run(self, seeds):
        began = time.monotonic()
        for name in ("event_worker", "refuse", "flood"):
            Workers(self._programs)(name)
        lanes = [Hosts(MOST_AGENTS, f"lane{os.getpid()}x{number}") for number in range(self._count)]
        measuring = subprocess.Popen([sys.executable, "-B", "-m", "support.lag", self._lag_file], env=self._environment())
        try:
            for lane in lanes:
                lane.__enter__()
                self._prefixes.put(lane.prefix)
            self._run_all(seeds)
        finally:
            measuring.kill()
            measuring.wait()
            for lane in lanes:
                lane.__exit__()
        self._seconds = time.monotonic() - began

    def _run_all(self, seeds):
        """An interrupt waits for the schedules that have begun, so that no process of them is left."""
        with ThreadPoolExecutor(self._count) as pool:
            try:
                list(pool.map(self._run_one, seeds))
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    def summary(self):
        faults = ", ".join(f"{count} x {kind}" for kind, count in self._struck.most_common())
        text = (
            f"{self._schedules} schedules in {self._seconds:.0f} s, {self._struck.total()} faults ({faults}); "
            f"the machine was late by {self._lag:.2f} s at worst"
        )
        if not self.wrong:
            return f"{text}\nno hang, no survivor, no wrong verdict"
        seeds = ", ".join(map(str, sorted(self.wrong)))
        return f"{text}\n{len(self.wrong)} went wrong, with the seeds {seeds}: see {self._results}"

    def _run_one(self, seed):
        prefix = self._prefixes.get()
        command = [sys.executable, "-B", "-m", "schedules.once", seed, self._programs, prefix]
        try:
            done = subprocess.run(
                [str(word) for word in command],
                capture_output=True,
                text=True,
                timeout=_LAST_RESORT,
                check=False,
                env=self._environment(),
            )
            self._note(seed, done.stdout, done.stderr)
        except subprocess.TimeoutExpired as expired:
            self._note(seed, "", f"it did not end within {_LAST_RESORT:g} s\n{expired.stderr}")
        finally:
            self._prefixes.put(prefix)

    def _environment(self):
        path = os.pathsep.join(map(str, (_TESTS, _TESTS / "hosts")))
        return {**os.environ, "PYTHONPATH": path, "LAG_FILE": str(self._lag_file), "STRICT_TIME": "1"}

    def _note(self, seed, out, err):
        first, _, account = out.partition("\n")
        broken = {"wrong": [f"the test itself: {err}"], "struck": [], "lag": 0.0}
        told = json.loads(first) if first else broken
        self._schedules += 1
        self._struck.update(told["struck"])
        self._lag = max(self._lag, told["lag"])
        if told["wrong"]:
            self.wrong[seed] = told["wrong"]
            self._results.mkdir(parents=True, exist_ok=True)
            (self._results / f"{seed}.txt").write_text(account or err)
            print(f"seed {seed}: {'; '.join(told['wrong'])}", flush=True)

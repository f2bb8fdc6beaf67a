"""Runs a job on the test hosts, under muster or under another launcher, and notes how long it took."""

import json
import os
import pathlib
import subprocess
import sys
import threading
import time
from typing import NamedTuple

# Compares two files of tensors by name, bit for bit.
COMPARE = """\
import sys, torch
one, other = map(torch.load, sys.argv[1:])
assert one.keys() == other.keys() and len(one) == 4
assert all(torch.equal(one[name], other[name]) for name in one)
"""
WORKERS = pathlib.Path(__file__).parent / "workers"
DEADLINE = 110  # seconds; imports of five frameworks at once take half a minute on two slow cores


class Ended(NamedTuple):
    code: int
    out: str
    err: str
    seconds: float  # from the start of the job


def script(name):
    return str(WORKERS / name)


def assert_same_tensors(python, one, other):
    """Two files have the same parameters, of two layers."""
    compared = subprocess.run([python, "-c", COMPARE, one, other], capture_output=True, text=True, timeout=DEADLINE, check=False)
    assert compared.returncode == 0, compared.stderr


def environment(venv, home, **more):
    """The environment of a user's shell after activating a virtual environment, and nothing else."""
    return {
        "PATH": f"{venv}:/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "PYTHONDONTWRITEBYTECODE": "1",
        "TF_CPP_MIN_LOG_LEVEL": "3",
        **more,
    }


class Job:
    """Processes of one job, which begin together and are waited for together."""

    def __init__(self, hosts, settings):
        self.hosts = hosts
        self.settings = settings
        self.begin = time.monotonic()
        self.started = []
        self.results = {}

    def start(self, host, *command, **more):
        """Starts a command on a host; what it prints is read while it runs."""
        process = self.hosts.start(
            host, *map(str, command), env={**self.settings, **more}, stdin=subprocess.DEVNULL
        )
        reader = threading.Thread(target=self._read, args=(len(self.started), process))
        self.started.append((process, reader))
        reader.start()
        return process

    def _read(self, number, process):
        out, err = process.communicate()
        seconds = time.monotonic() - self.begin
        self.results[number] = Ended(process.returncode, out, err, seconds)

    def finish(self, only=None):
        """Waits for all of it, or for some numbers only, and then ends the rest.

        Returns what became of those that were waited for, in the order in which they began.
        """
        numbers = range(len(self.started)) if only is None else only
        try:
            for number in numbers:
                process, reader = self.started[number]
                reader.join(max(0.0, self.begin + DEADLINE - time.monotonic()))
                assert not reader.is_alive(), f"{process.args} did not end in {DEADLINE} s"
        finally:
            self.end()
            for number, result in sorted(self.results.items()):
                sys.stderr.write(f"--- process {number}: code {result.code}\n{result.err}")
        return [self.results[number] for number in numbers]

    def end(self):
        for process, reader in self.started:
            if reader.is_alive():
                process.terminate()
        for process, reader in self.started:
            reader.join(10)
            if reader.is_alive():
                process.kill()
                reader.join(10)


def run(hosts, settings, commands):
    """Runs (host, command...) together, to the end of all."""
    job = Job(hosts, settings)
    for host, *command in commands:
        job.start(host, *command)
    return job.finish()


def wait_for(condition, what, seconds=60.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"{what}: not within {seconds} s"
        time.sleep(0.05)


def note(job, launcher, results, extra=""):
    """Prints how a job ended under a launcher, and adds it to the file FRAMEWORK_TIMES."""
    seconds = max(result.seconds for result in results)
    codes = [result.code for result in results]
    print(f"{job:<44} {launcher:<28} {seconds:6.1f} s  code {codes} {extra}")
    if "FRAMEWORK_TIMES" in os.environ:
        line = {"job": job, "launcher": launcher, "seconds": round(seconds, 2), "codes": codes}
        with open(os.environ["FRAMEWORK_TIMES"], "a", encoding="utf-8") as times:
            times.write(json.dumps(line) + "\n")

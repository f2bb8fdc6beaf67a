"""Starts the real program and observes it from outside, as its users do."""

import atexit
import functools
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from . import processes
from .deadlines import HANG, Missed, wait_until
from .streams import Stream

_ROOTS_COMMANDS = {"unshare", "setpriv"}
ROOT = Path(__file__).resolve().parents[2]
_SANITIZER = re.compile(r"ERROR: \w+Sanitizer|^\S+:\d+:\d+: runtime error: ", re.MULTILINE)


def built():
    """The program as it was built: $MUSTER or $BINARY, else build/muster. Other programs of the build are beside it."""
    named = os.environ.get("MUSTER") or os.environ.get("BINARY")
    return Path(named or ROOT / "build" / "muster").absolute()


def binary():
    """The program under test: a copy of what was built, where other users cannot reach that, as below /root."""
    return _for_everybody(built())


@functools.cache
def _for_everybody(program):
    if os.geteuid() != 0 or all(folder.stat().st_mode & 0o001 for folder in program.parents):
        return program
    folder = Path(tempfile.mkdtemp(prefix="muster-under-test-", dir="/tmp"))
    folder.chmod(0o755)
    atexit.register(shutil.rmtree, folder)
    return Path(shutil.copy(program, folder))


def is_sanitized():
    """True if the program under test was built with sanitizers."""
    return binary().exists() and b"__asan_init" in binary().read_bytes()


class Muster:
    """Starts jobs for one test, and makes sure that the test leaves no process behind."""

    def __init__(self, folder, tag, under=()):
        self.folder = folder
        self.tag = tag
        self.under = under
        self._starts = 0
        self._tolerated = set()

    def start(self, *arguments, env=None, through=(), program=None, report=False, **options):
        """Starts muster with these arguments.

        `env` is added to a small clean environment, `through` is a command that runs muster, such
        as prlimit or unshare, `program` is another muster than the one under test, and `report` adds
        --report with a file of its own, or with that path.
        """
        self._starts += 1
        report_file = self.folder / f"report-{self._starts}.json" if report is True else report or None
        reporting = ["--report", report_file] if report_file else []
        command = [*through, *self.under, program or binary(), *reporting, *arguments]
        if os.geteuid() != 0 and not _ROOTS_COMMANDS.isdisjoint(map(str, command)):
            pytest.skip("needs root")
        return Job(command, self.environment(env), report_file, self.folder, options)

    def run(self, *arguments, seconds=HANG, **options):
        """Starts muster and waits for its end."""
        job = self.start(*arguments, **options)
        job.end(seconds)
        return job

    def environment(self, more=None):
        kept = ("PATH", "HOME", "ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS")
        clean = {name: os.environ[name] for name in kept if name in os.environ}
        if "WITH_STANDBYS" in os.environ:  # the same tests once more (docs/standby.md)
            clean |= {"MUSTER_STANDBY": "auto", "MUSTER_STANDBY_AFTER": "0"}
        return {
            **clean,
            "LC_ALL": "C.UTF-8",
            "MUSTER_CONSOLE_TIME": "off",  # most tests compare whole lines
            "XDG_STATE_HOME": str(self.folder / "state"),
            "TMPDIR": str(self.folder),
            "TEST_TAG": self.tag,
            **{name: str(value) for name, value in (more or {}).items()},
        }

    def tolerate(self, pid):
        """A process of the test that is not muster's to end."""
        self._tolerated.add(pid)

    def survivors(self):
        return [p for p in processes.belonging_to(self.tag) if p.pid not in self._tolerated]

    def assert_no_survivors(self, seconds=0.0):
        """Fails unless every process of this test is gone within that time."""
        wait_until(
            lambda: not self.survivors(),
            lambda: "nothing to be left, but these are: " + ", ".join(map(str, self.survivors())),
            seconds,
        )


class Job:
    """One start of muster."""

    def __init__(self, command, environment, report_file, folder, options):
        self.command = [str(word) for word in command]
        self._report_file = report_file
        options.setdefault("stdin", subprocess.DEVNULL)
        options.setdefault("stdout", subprocess.PIPE)
        options.setdefault("stderr", subprocess.PIPE)
        options.setdefault("cwd", folder)
        self.started_at = time.monotonic()
        self.process = processes.start(self.command, env=environment, **options)
        self.pid = self.process.pid
        self.out = self._stream("standard output", self.process.stdout)
        self.err = self._stream("standard error", self.process.stderr)
        self.code = None
        self.seconds = None

    def _stream(self, name, pipe):
        if pipe is None:
            return None
        with pipe:
            return Stream(f"{name} of {self}", os.dup(pipe.fileno()))

    def __str__(self):
        return " ".join(self.command)

    def signal(self, number):
        self.process.send_signal(number)

    def end(self, seconds=HANG):
        """Waits for muster and for the end of its output; returns the exit code."""
        try:
            self.code = processes.wait_for_end(self.process, seconds, self)
        except Missed as missed:
            raise Missed(f"{missed}\n{self.words()}") from None
        self.seconds = time.monotonic() - self.started_at
        for stream in (self.out, self.err):
            if stream is not None:
                stream.wait_for_end()
                assert not _SANITIZER.search(stream.text), stream.text
        return self.code

    def words(self):
        """Everything it wrote, for messages."""
        streams = (self.out, self.err)
        return "\n".join(stream.text[-4000:] for stream in streams if stream is not None)

    @property
    def said(self):
        """The lines that muster itself said, without what they all begin with."""
        beginning = "muster: "
        return [line[len(beginning) :] for line in self.err.lines if line.startswith(beginning)]

    def said_about(self, *words):
        """The one line of muster's that has all these words in it."""
        lines = [line for line in self.said if all(str(word) in line for word in words)]
        assert (
            len(lines) == 1
        ), f"expected one line with {words} and got {lines} of:\n{self.err.text}"
        return lines[0]

    @property
    def report(self):
        return json.loads(self._report_file.read_text())

    def guard(self):
        """The pid of muster itself, also where another command started it."""
        return wait_until(self._find_guard, f"muster to run under {self}")

    def _find_guard(self):
        candidates = [self.pid]
        while candidates:
            pid = candidates.pop()
            if processes.program_of(pid) == str(binary().resolve()):
                return pid
            candidates += [child.pid for child in processes.children_of(pid)]
        return None

    def agent(self):
        """The pid of the guard's agent: the one child that runs the same program."""

        def find():
            program = str(binary().resolve())
            children = processes.children_of(self.guard())
            agents = [child.pid for child in children if processes.program_of(child.pid) == program]
            return agents[0] if len(agents) == 1 else None

        return wait_until(find, f"the agent of {self}")

    def kill_agent(self):
        os.kill(self.agent(), signal.SIGKILL)

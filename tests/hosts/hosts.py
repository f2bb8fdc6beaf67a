"""Test hosts for Python tests: scripts/dev/hosts as an object that takes itself down."""

import os
import pathlib
import subprocess

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "dev" / "hosts"
_HANG = 120  # seconds, as support/deadlines.py has it


class Hosts:
    """Some hosts of this machine, under a prefix of their own. Use it with `with`."""

    def __init__(self, count, prefix=None):
        self.count = count
        # The pid keeps runs of the suite apart that go on at the same time.
        self.prefix = prefix or f"test{os.getpid()}"
        self.apart = None  # a folder: commands of `exec` are containers then

    def __enter__(self):
        try:
            self.script("up", str(self.count))
        except BaseException:
            self.script("down")
            raise
        return self

    def __exit__(self, *_):
        self.script("down")

    def name(self, index):
        return f"{self.prefix}-h{index}"

    @staticmethod
    def address(index):
        return f"10.77.0.{10 + index}"

    def command(self, *arguments):
        """The command line of scripts/dev/hosts for these hosts."""
        apart = ["--apart", str(self.apart)] if self.apart else []
        return [str(SCRIPT), "--name", self.prefix, *apart, *arguments]

    def script(self, *arguments):
        """Runs scripts/dev/hosts, which must succeed, and returns what it printed."""
        done = subprocess.run(
            self.command(*arguments), capture_output=True, text=True, timeout=_HANG, check=False
        )
        assert done.returncode == 0, f"scripts/dev/hosts {arguments}: {done.stderr}"
        return done.stdout

    def run(self, index, *command, timeout=_HANG, **options):
        """Runs a command on a host to its end."""
        return subprocess.run(
            self.command("exec", str(index), *command),
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
            **options,
        )

    def start(self, index, *command, **options):
        """Starts a command on a host; the pid is the command's own."""
        return subprocess.Popen(
            self.command("exec", str(index), *command),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **options,
        )

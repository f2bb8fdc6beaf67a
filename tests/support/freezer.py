"""Freezes processes by a control group, as container runtimes and suspending schedulers do. Needs root.

A process that version 1 has frozen cannot even be killed before it thaws; version 2 lets it be killed.
"""

import contextlib
import os
from pathlib import Path

from .deadlines import HANG, wait_until

_HOMES = {1: Path("/sys/fs/cgroup/freezer"), 2: Path("/sys/fs/cgroup/unified")}


def home(version):
    """The folder of the groups of that version; None: this system has none."""
    if version == 2 and Path("/sys/fs/cgroup/cgroup.controllers").exists():
        return Path("/sys/fs/cgroup")
    return _HOMES[version] if (_HOMES[version] / "cgroup.procs").exists() else None


class Freezer:
    """One control group. Use it with `with`: afterwards its processes run, where they were before."""

    def __init__(self, name, version=2):
        self.version = version
        self.folder = home(version) / f"muster-test-{os.getpid()}-{name}"

    def __enter__(self):
        self.folder.mkdir()
        return self

    def __exit__(self, *_):
        self.thaw()
        wait_until(self._remove, f"{self.folder} to be empty")

    def add(self, pid):
        """Adds the process, and with it the children that it starts from now on."""
        (self.folder / "cgroup.procs").write_text(str(pid))

    def through(self):
        """A command that enters the group and executes what follows."""
        return ["sh", "-c", f'echo $$ >{self.folder}/cgroup.procs && exec "$@"', "sh"]

    def freeze(self, seconds=HANG):
        """Returns when all of its processes stand still."""
        self._write("FROZEN", "1")
        wait_until(self._is_frozen, f"{self.folder} to be frozen", seconds)

    def thaw(self):
        self._write("THAWED", "0")

    def _write(self, state, number):
        if self.version == 1:
            (self.folder / "freezer.state").write_text(state)
        else:
            (self.folder / "cgroup.freeze").write_text(number)

    def _is_frozen(self):
        if self.version == 1:
            return (self.folder / "freezer.state").read_text() == "FROZEN\n"
        return "frozen 1" in (self.folder / "cgroup.events").read_text()

    def _remove(self):
        """Moves the remaining processes to the root and removes the group, with groups that its processes made."""
        for folder in sorted(self.folder.rglob("*/"), reverse=True) + [self.folder]:
            with contextlib.suppress(OSError):
                for pid in (folder / "cgroup.procs").read_text().split():
                    (home(self.version) / "cgroup.procs").write_text(pid)
                folder.rmdir()
        return not self.folder.exists()

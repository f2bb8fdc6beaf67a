"""A real Slurm on this machine, as tests/slurm/cluster makes it."""

import select
import subprocess

from . import processes
from .deadlines import HANG, Missed
from .muster import ROOT


class Slurm:
    """The cluster of tests/slurm/cluster. Commands run on its first node."""

    def __init__(self, folder, nodes):
        self.folder = folder
        self._cluster = subprocess.Popen(
            [ROOT / "tests" / "slurm" / "cluster", folder, str(nodes)],
            stdout=subprocess.PIPE,
            text=True,
        )
        self.pid = self._cluster.pid

    def __enter__(self):
        readable, _, _ = select.select([self._cluster.stdout], [], [], HANG)
        said = self._cluster.stdout.readline() if readable else ""
        if said != "ready\n":
            self.__exit__()
            raise Missed(f"Slurm did not start; its logs are in {self.folder}")
        (self._init,) = [child.pid for child in processes.children_of(self.pid)]
        return self

    def __exit__(self, *_):
        self._cluster.kill()  # and with it all that runs in its namespaces
        self._cluster.wait(HANG)
        self._cluster.stdout.close()

    def command(self, *command):
        """The command line that runs a command on the first node."""
        inside = ["nsenter", "--target", self._init, *"--mount --net --pid".split()]
        return [str(word) for word in (*inside, self.folder / "on", 0, *command)]

    def run(self, *command, env=None, seconds=HANG):
        """Runs a command on the first node to its end."""
        return subprocess.run(
            self.command(*command),
            env=env,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=seconds,
            check=False,
        )

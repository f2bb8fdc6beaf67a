"""Runs one MPI job on test hosts, each of which is a container: output of its ranks, its helper processes, remaining processes."""

import itertools
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

from . import gang, processes
from .deadlines import wait_until
from .muster import ROOT

WAYS = ("pmix", "agent", "ssh")
MEETINGS = "MEETINGS"  # in a command: the folder of the job where ranks meet the test
SECONDS = 60  # for a job: Python's ranks import for a second each, and the cores may have other work
# The token that lets a node have the others execute commands.
_TOKEN = {"MUSTER_TOKEN": "0123456789abcdef0123456789abcdef"}
_numbers = itertools.count()
_SOURCES = ROOT / "tests" / "workers" / "mpi"
_SCRIPTS = ROOT / "tests" / "mpi" / "workers"
# Another run of the tests makes `muster-under-test-`.
_OF_MPI = re.compile("ompi|openmpi|orte|prte|pmix|vader|muster-(?!under-test-)")


def token_of(way):
    """The variables by which the nodes of such a job share a secret; without one the way would be refused."""
    return _TOKEN if way in ("agent", "ssh") else {}


class Programs:
    """The programs of the ranks, by their names: small ones in C, compiled when first used, and Python's."""

    def __init__(self, folder, python="/usr/bin/python3", compiler="mpicc.openmpi"):
        self._folder = folder
        self._python = python
        self._compiler = compiler

    def __call__(self, name):
        if (_SCRIPTS / f"{name}.py").exists():
            return [self._python, "-B", _SCRIPTS / f"{name}.py"]
        program = self._folder / name
        if not program.exists():
            command = [self._compiler, "-O1", "-Wall", "-Wextra", "-Werror", "-o", program]
            subprocess.run([*command, _SOURCES / f"{name}.c"], check=True)
        return [program]


class MpiJob(gang.Gang):
    """A job of `nodes` hosts; its ranks meet the test in `meetings`."""

    def __init__(self, muster, hosts, way, command, nodes, ranks, options=()):
        options = ["--mode=mpirun", f"--mpi-start={way}", "--grace=1", *options]
        super().__init__(muster, None, command, nodes, options, hosts, ranks)
        self.way = way
        self.has_token = True
        folder = muster.folder / f"job-{next(_numbers)}"
        self.meetings = folder / "meetings"
        self.scratch = folder / "scratch"
        for one in (folder, self.meetings, self.scratch):
            one.mkdir()
        hosts.apart = folder / "shm"
        self._memory = hosts.apart
        self.command = [self.meetings if word == MEETINGS else word for word in command]
        self._in_tmp = set(os.listdir("/tmp"))
        self._gone = set()

    def start_all(self, *more, env=None, on=None, **options):
        """`env`: variables of all nodes; `on`: more of them, by node."""
        for node in range(self.nodes):
            folder = self.scratch / str(node)
            folder.mkdir()
            token = token_of(self.way) if self.has_token else {}
            own = {"TMPDIR": folder, **token, **(env or {}), **(on or {}).get(node, {})}
            self.start(node, *more, env=own, **options)
        return self

    def run(self, **options):
        """To its end; the exit code of each node."""
        return list(self.start_all(**options).end(SECONDS).values())

    @property
    def lines(self):
        """The output of all ranks, without their prefixes."""
        lines = [line for job in self.jobs.values() for line in job.out.lines]
        return sorted(line.partition("] ")[2] if line.startswith("[") else line for line in lines)

    # --- What happens to it ----------------------------------------------------------------------

    def wait_for_ranks(self):
        """All ranks are there, and wait for the test's word."""

        def here():
            assert all(job.process.poll() is None for job in self.jobs.values()), self.words()
            return self.all_ranks_are_here()

        wait_until(here, lambda: f"all ranks; {self.words()}", SECONDS)
        return self

    def all_ranks_are_here(self):
        count = self.nodes * self.workers
        return all((self.meetings / f"rank-{rank}").exists() for rank in range(count))

    def tell(self, *ranks):
        """Gives these ranks the word that they wait for, and returns when that was."""
        opened = [self._open(self.meetings / f"rank-{rank}") for rank in ranks]
        began = time.monotonic()
        for fd in opened:
            os.close(fd)
        return began

    @staticmethod
    def _open(place):
        def try_to():
            try:
                return os.open(place, os.O_WRONLY | os.O_NONBLOCK)
            except OSError:  # the rank is about to open it
                return None

        return wait_until(try_to, f"a rank at {place}")

    def helper(self, node, name):
        """The pid of what runs beside the ranks of a node: orted by its name, and muster by a word, --mpi-agent."""

        def find():
            found = [
                one
                for one in processes.on_host(self.hosts.name(node))
                if one.name == name[:15] or name.encode() in _words_of(one.pid)[1:]
            ]
            return found[0].pid if found else None

        return wait_until(find, lambda: f"{name} on node {node}; {self.words()}")

    def lose(self, node):
        """Notes that this node is dead: no process of muster is left there to clean up."""
        self._gone.add(node)

    def ends(self, began, seconds=SECONDS):
        """The exit codes by node, and how long after `began` the last of them ended."""
        codes = self.end(seconds)
        return codes, time.monotonic() - began

    # --- What is left ----------------------------------------------------------------------------

    def leavings(self):
        """Processes on the hosts, and files of their memory, their scratch folder and /tmp."""
        there = range(self.nodes)
        running = [str(one) for node in there for one in processes.on_host(self.hosts.name(node))]
        kept = [node for node in there if node not in self._gone]
        folders = [self.scratch / str(node) for node in kept]
        folders += [self._memory / self.hosts.name(node) for node in kept]
        files = [str(file) for folder in folders for file in Path(folder).rglob("*")]
        fresh = set(os.listdir("/tmp")) - self._in_tmp
        return running + files + [f"/tmp/{one}" for one in fresh if self._is_of_mpi(one)]

    def _is_of_mpi(self, name):
        return self.hosts.prefix in name or _OF_MPI.search(name)

    def assert_nothing_is_left(self):
        wait_until(
            lambda: not self.leavings(),
            lambda: f"nothing to be left, but there is {self.leavings()}\n{self.words()}",
            5,
        )


def _words_of(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:  # it has ended
        return []


def path_without(folder, *programs):
    """A PATH that has all of the system's programs but these."""
    folder.mkdir()
    for place in ("/usr/bin", "/usr/sbin"):
        for program in os.listdir(place):
            if program not in programs and not (folder / program).is_symlink():
                (folder / program).symlink_to(f"{place}/{program}")
    assert not any(shutil.which(program, path=folder) for program in programs)
    return folder

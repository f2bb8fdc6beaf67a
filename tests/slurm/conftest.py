"""Fixtures of the tests with a real Slurm: the cluster, its jobs, and the check that none is left."""

import itertools
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from support.deadlines import HANG, wait_until
from support.muster import Muster, binary, built
from support.slurm import Slurm

NODES = 3
_numbers = itertools.count()


class Batch:
    """A job that sbatch was given."""

    def __init__(self, slurm, number, output):
        self._slurm = slurm
        self.number = number
        self._output = output

    @property
    def output(self):
        return self._output.read_text() if self._output.exists() else ""

    def fields(self):
        """Slurm's fields of the job, such as JobState."""
        shown = self._slurm.run("scontrol", "show", "--oneliner", "job", self.number)
        return dict(re.findall(r"(\S+?)=(\S*)", shown.stdout))

    def wait_for_line(self, pattern, seconds=HANG):
        return wait_until(
            lambda: re.search(pattern, self.output, re.MULTILINE),
            lambda: f"'{pattern}' in what job {self.number} writes:\n{self.output}",
            seconds,
        )

    def end(self, seconds=HANG):
        """Waits for its end, and returns what Slurm says of it then."""
        ended = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL")

        def fields():
            now = self.fields()
            return now if now.get("JobState") in ended else None

        return wait_until(
            fields, lambda: f"the end of job {self.number}, which wrote:\n{self.output}", seconds
        )


class Jobs:
    """Submits the jobs of one test."""

    def __init__(self, slurm, muster):
        self._slurm = slurm
        self._muster = muster
        programs = muster.folder / "bin"
        programs.mkdir()
        (programs / "muster").symlink_to(binary())
        self.environment = muster.environment(
            {"PATH": f"{programs}:{os.environ['PATH']}", "PYTHONDONTWRITEBYTECODE": "1"}
        )

    def run(self, *command, **options):
        return self._slurm.run(*command, env=self.environment, **options)

    def submit(self, script, *options):
        """Gives sbatch the text of a script."""
        folder = self._muster.folder
        number = next(_numbers)
        file = folder / f"job-{number}.sh"
        file.write_text(script)
        output = folder / f"job-{number}.out"
        submitted = self.run(
            "sbatch", "--parsable", f"--chdir={folder}", f"--output={output}", *options, file
        )
        assert submitted.returncode == 0, submitted.stderr
        return Batch(self._slurm, submitted.stdout.strip(), output)

    def render(self, *arguments):
        """The script that `muster render slurm` writes."""
        rendered = subprocess.run(
            [binary(), "render", "slurm", *map(str, arguments)],
            capture_output=True,
            text=True,
            env=self.environment,
            timeout=HANG,
            check=False,
        )
        assert rendered.returncode == 0, rendered.stderr
        return rendered.stdout


@pytest.fixture(scope="session")
def slurm(tmp_path_factory):
    if os.geteuid() != 0:
        pytest.skip("needs root: its nodes are network namespaces")
    assert shutil.which("slurmctld"), "Slurm is not here: run scripts/install-packages test"
    with Slurm(tmp_path_factory.mktemp("slurm"), NODES) as cluster:
        yield cluster


@pytest.fixture
def muster(tmp_path, deadline, slurm):
    """As for all tests, but that the cluster goes on from one to the next."""
    launcher = Muster(tmp_path, f"{os.getpid()}-slurm-{next(_numbers)}")
    launcher.tolerate(slurm.pid)
    yield launcher
    try:
        launcher.assert_no_survivors(seconds=10.0)
    finally:
        for process in launcher.survivors():
            os.kill(process.pid, signal.SIGKILL)


@pytest.fixture
def jobs(slurm, muster):
    yield Jobs(slurm, muster)
    slurm.run("scancel", "--user=root")


@pytest.fixture(scope="session")
def expander():
    """Expands lists on standard input as muster does; built with the unit tests."""
    program = built().parent / "tests" / "expand_host_lists"
    assert program.exists(), f"{program} does not exist: run scripts/build"
    return program

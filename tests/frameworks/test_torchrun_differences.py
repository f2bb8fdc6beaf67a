"""The environment of a worker under muster and under the real torchrun, variable by variable.

docs/launcher-differences.md lists every intended difference, and is read here: a difference that
is not on the page fails, and so does a line of the page that describes none.
"""

import json
import pathlib
import subprocess

import pytest

import differences

PAGE = differences.Section("torchrun")
WORKER = str(pathlib.Path(__file__).parent / "workers" / "write_environment.py")

pytestmark = pytest.mark.framework

# Only the launcher differs. The ports of the one-node jobs are free: a host of
# our own has all of them.
ONE_NODE = [["--nproc-per-node", "1"], ["--nproc-per-node", "2"]]
GIVEN_PORT = ["--nproc-per-node", "2", "--master-port", "29511"]
TWO_NODES = ["--nnodes", "2", "--nproc-per-node", "2", "--master-port", "29512"]


class Launchers:
    """Runs the worker under both launchers, in the same environment on the same hosts."""

    def __init__(self, muster, torch_venv, hosts, scratch):
        self.programs = {"torchrun": [str(torch_venv / "torchrun")], "muster": [muster, "torchrun"]}
        self.path = f"{torch_venv}:/usr/sbin:/usr/bin:/sbin:/bin"
        self.hosts = hosts
        self.scratch = scratch
        self.runs = 0

    def compare(self, options, nodes=1):
        """{(rank, variable): (torchrun's value, muster's value)} for all that differ."""
        by_torchrun = self.environments("torchrun", options, nodes)
        by_muster = self.environments("muster", options, nodes)
        return differences.between(by_torchrun, by_muster)

    def environments(self, launcher, options, nodes):
        """The environment of each worker, by global rank."""
        self.runs += 1
        folder = self.scratch / f"{self.runs}-{launcher}"
        folder.mkdir()
        agents = []
        for node in reversed(range(nodes)):
            place = ["--node-rank", str(node), "--master-addr", self.hosts.address(0)]
            command = [*self.programs[launcher], *options, *(place if nodes > 1 else [])]
            # `env -i`: neither the shells in between nor this test's own environment matter.
            clean = ["env", "-i", f"PATH={self.path}", f"HOME={self.scratch}"]
            agents.append(self.hosts.start(node, *clean, *command, WORKER, str(folder)))
        for agent in agents:
            try:
                _, err = agent.communicate(timeout=120)
            except subprocess.TimeoutExpired:
                agent.kill()
                raise
            assert agent.returncode == 0, f"{launcher} {options}: {err}"
        return {int(file.stem): json.loads(file.read_text()) for file in folder.iterdir()}


@pytest.fixture(scope="module")
def all_differences(muster, torch_venv, two_hosts, tmp_path_factory):
    launchers = Launchers(muster, torch_venv, two_hosts, tmp_path_factory.mktemp("environments"))
    jobs = {" ".join(options): launchers.compare(options) for options in [*ONE_NODE, GIVEN_PORT]}
    jobs[" ".join(TWO_NODES)] = launchers.compare(TWO_NODES, nodes=2)
    return jobs


def test_every_difference_is_on_the_page(all_differences):
    surprises = differences.surprises(PAGE, "torchrun", all_differences)

    assert not surprises, "\n".join(surprises)


def test_every_line_of_the_page_describes_a_difference(all_differences):
    assert differences.not_occurring(PAGE, all_differences) == []


def test_a_port_that_was_given_is_the_same(all_differences):
    for job in (GIVEN_PORT, TWO_NODES):
        assert "MASTER_PORT" not in {name for _, name in all_differences[" ".join(job)]}

"""The environment of MindSpore's processes under muster and under the real msrun, one by one.

docs/launcher-differences.md lists every intended difference: one that is not on the page fails, and so
does a line of the page that describes none. The cores of each process are compared as well.
"""

import json
import os

import pytest

import differences
import jobs

pytestmark = pytest.mark.framework
PAGE = differences.Section("msrun")
WORKER = jobs.script("write_msrun_environment.py")
TABLE = {
    "version": "1.0",
    "status": "completed",
    "server_count": "1",
    "server_list": [
        {
            "server_id": "10.77.0.10",
            "device": [
                {"device_id": "0", "device_ip": "10.77.1.1", "rank_id": "0"},
                {"device_id": "1", "device_ip": "10.77.1.2", "rank_id": "1"},
            ],
        }
    ],
}
ONE_NODE = ["--worker_num=2", "--local_worker_num=2"]
TWO_NODES = ["--worker_num=4", "--local_worker_num=2"]
NODE_RANK = "--node_rank=NODE"  # each node has its own

# With msrun's own command line these are as msrun has them; --mode msrun, and a master address that is
# no host's own, have tests in tests/cluster.
ONLY_ELSEWHERE = ["MS_SCHED_HOST", "MS_SCHED_PORT"]

# Else muster stops the scheduler when the workers are done, before it has written what it found.
WAIT_FOR_ALL = "MUSTER_SUCCESS_ROLES=worker,scheduler"

# msrun binds to the CPUs that the first version of control groups lists in this one file. Neither a
# host with the second version nor a test host, whose /sys is its own, has it: it is written here, in
# the mount namespace of the one command.
WITH_LISTED_CPUS = """
set -e
mkdir -p /sys/fs/cgroup
mount -t tmpfs none /sys/fs/cgroup
mkdir /sys/fs/cgroup/cpuset
sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status > /sys/fs/cgroup/cpuset/cpuset.cpus
exec "$@"
"""


class Launchers:
    """Runs the worker under both launchers, in the same environment on the same hosts."""

    def __init__(self, muster, venv, hosts, scratch):
        self.commands = {"msrun": [venv / "msrun"], "muster": [muster, "msrun"]}
        self.path = f"{venv}:/usr/sbin:/usr/bin:/sbin:/bin"
        self.hosts = hosts
        self.scratch = scratch

    def compare(self, name, options, nodes=1):
        by_msrun = self.environments("msrun", name, options, nodes)
        by_muster = self.environments("muster", name, options, nodes)
        return differences.between(by_msrun, by_muster)

    def environments(self, launcher, name, options, nodes):
        """The environment of each process, by host, role and number on its node."""
        folder = self.scratch / f"{name}-{launcher}"
        folder.mkdir()
        clean = ["sh", "-c", WITH_LISTED_CPUS, "sh"]
        clean += ["env", "-i", f"PATH={self.path}", f"HOME={self.scratch}"]
        if launcher == "muster" and not any("--sim_level" in option for option in options):
            clean.append(WAIT_FOR_ALL)
        line = [f"--master_addr={self.hosts.name(0)}"] if nodes > 1 else []
        line += [*options, "--master_port=8119", "--join=True", f"--log_dir={folder / 'logs'}"]
        ended = jobs.run(
            self.hosts,
            dict(os.environ),
            [
                (
                    node,
                    *clean,
                    *self.commands[launcher],
                    *[option.replace("NODE", str(node)) for option in line],
                    *[WORKER, folder, "an argument"],
                )
                for node in range(nodes)
            ],
        )
        assert [result.code for result in ended] == [0] * nodes, f"{launcher} {options}: {ended}"
        return {file.stem: json.loads(file.read_text()) for file in folder.glob("*.json")}


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    return tmp_path_factory.mktemp("environments")


@pytest.fixture(scope="module")
def all_differences(muster, mindspore_venv, two_hosts, scratch):
    table = scratch / "table.json"
    table.write_text(json.dumps(TABLE))
    launchers = Launchers(muster, mindspore_venv, two_hosts, scratch)
    bound = ["--bind_core=True", f"--rank_table_file={table}", "--cluster_time_out=300"]
    return {
        "one node": launchers.compare("one", ONE_NODE),
        "one node, bound": launchers.compare("bound", [*ONE_NODE, *bound]),
        "one node, simulated": launchers.compare("simulated", [*ONE_NODE, "--sim_level=1"]),
        "two nodes": launchers.compare("two", [*TWO_NODES, NODE_RANK], nodes=2),
        "two nodes, by arrival": launchers.compare("arrival", TWO_NODES, nodes=2),
    }


def test_every_difference_is_on_the_page(all_differences):
    surprises = differences.surprises(PAGE, "msrun", all_differences)

    assert not surprises, "\n".join(surprises)


def test_every_line_of_the_page_describes_a_difference(all_differences):
    assert differences.not_occurring(PAGE, all_differences) == ONLY_ELSEWHERE


def test_nothing_of_the_scheduler_reaches_a_worker_that_has_no_rank_yet(all_differences):
    """Without --node_rank the real msrun hands the scheduler's RANK_ID to all workers beside it."""
    differing = all_differences["two nodes, by arrival"]
    ranks = {process: pair for (process, name), pair in differing.items() if name == "RANK_ID"}

    # The worker beside the scheduler that has rank 0 anyway does not differ.
    assert ranks == {
        "h0-worker-1": ("0", "1"),
        "h1-worker-0": (None, "2"),
        "h1-worker-1": (None, "3"),
    }


def test_each_process_has_its_own_cores_when_they_are_bound(all_differences):
    """The cores are compared as if they were a variable: nothing differs in them."""
    assert not [name for _, name in all_differences["one node, bound"] if name == "(cores)"]


def test_the_real_msrun_does_bind(all_differences, scratch):
    """Else the test above compares nothing."""
    written = (scratch / "bound-msrun" / "h0-worker-0.json").read_text()

    assert "MSRUN_CPU_LIST" in json.loads(written)

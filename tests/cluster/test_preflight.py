"""A node that differs from the others is named on all of them; real differences of agents on one host."""

import json
import os

import pytest

from support.deadlines import wait_until
from support.wire import is_open

ODD = 2
SMALL_MEMORY = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs -o size=64m tmpfs /dev/shm && exec "$@"', "sh"]


def start(gang, through=(), *options, nodes=4):
    """A job on this host with one node that is started through another program."""
    agents = gang(nodes, *options)
    for node in range(nodes):
        agents.start(node, through=through if node == ODD else ())
    agents.wait_for_start()
    return agents


def differences(job):
    return [line for line in job.said if "differs from" in line]


def named(agents):
    """The line by which each agent names the odd one."""
    for job in agents.jobs.values():
        job.err.wait_for("differs from 3 others")
    lines = {line for job in agents.jobs.values() for line in differences(job)}
    assert len(lines) == 1, lines
    [line] = lines
    assert line.startswith(f"node {ODD} ("), line
    return line.partition("differs from 3 others: ")[2]


@pytest.mark.parametrize(
    ("through", "said"),
    [
        (["prlimit", "--nofile=900:900"], "open files 900 ("),
        (["prlimit", "--memlock=65536:65536"], "locked memory 64 KiB ("),
        (["taskset", "-c", str(min(os.sched_getaffinity(0)))], "CPUs 1 ("),
        (SMALL_MEMORY, "/dev/shm 64 MiB ("),
    ],
    ids=["open-files", "locked-memory", "cpus", "shared-memory"],
)
def test_a_node_that_differs_is_named_alone_on_all_nodes(gang, through, said):
    if "taskset" in through and len(os.sched_getaffinity(0)) < 2:
        pytest.skip("needs two CPUs")
    agents = start(gang, through)
    line = named(agents)
    agents.succeed()

    assert line.startswith(said), line
    assert "), " not in line, line
    for report in agents.reports().values():
        assert [one["node"] for one in report["gang"]["outliers"]] == [ODD]
        assert report["gang"]["outliers"][0]["differs"] == line


def test_the_status_of_a_node_says_how_it_differs(gang, muster):
    agents = start(gang, ["prlimit", "--nofile=900:900"])
    line = named(agents)
    job = f"--job={agents.jobs[1].guard()}"
    asked = muster.run("status", "--json", job)
    table = muster.run("status", job)
    agents.succeed()

    nodes = json.loads(asked.out.text)["nodes"]
    assert [node.get("differs") for node in nodes] == [None, None, line, None]
    assert f") differs from the others: {line}" in table.out.text


@pytest.mark.parametrize(
    ("nodes", "options"), [(4, ["--preflight=off"]), (2, [])], ids=["off", "two nodes"]
)
def test_nodes_are_not_compared(gang, nodes, options):
    odd = ["prlimit", "--nofile=900:900"]
    agents = gang(nodes, *options)
    for node in range(nodes):
        agents.start(node, "-v", through=odd if node == nodes - 1 else ())
    agents.succeed()

    assert all(not differences(job) for job in agents.jobs.values()), agents.words()
    assert all(report["gang"]["outliers"] == [] for report in agents.reports().values())


def test_a_node_may_tell_nothing(gang):
    agents = gang(4, "-v")
    for node in range(4):
        odd = node == ODD
        agents.start(node, *(["--preflight=off"] if odd else []), through=["prlimit", "--nofile=900:900"] if odd else ())
    agents.jobs[0].err.wait_for("compared the facts of 3 nodes: 0 differ")
    agents.succeed()

    assert all(not differences(job) for job in agents.jobs.values()), agents.words()


@pytest.fixture
def strict(gang):
    """Node 0, which leads, and one node that is unfit; with `others` equal to them, which come later."""

    def make(nodes, others, *options):
        agents = gang(nodes, "-v", "--preflight=strict", *options)
        agents.start(0)
        wait_until(lambda: is_open(agents.port), "the leader to listen")
        agents.start(1, rank=None, through=SMALL_MEMORY, name="odd")
        agents.jobs[0].err.wait_for("is here: 2 of 3 nodes")
        for other in range(others):
            agents.start(2 + other, rank=None)
        return agents

    return make


def test_a_spare_takes_the_seat_of_an_unfit_node(strict):
    agents = strict(3, 2, "--max-restarts=1")
    started = agents.wait_for_start(3)
    agents.worker_events.end_all(3)
    agents.assert_codes(0, node_odd=69)

    odd = agents.jobs["odd"]
    assert odd.pid not in {one.pid for one in started.values()}
    assert odd.said[-1].startswith("exit code 69: node 1 (") and "/dev/shm 64 MiB (" in odd.said[-1], odd.words()
    assert agents.jobs[0].said_about("node 1,", "left: it differs from the others")


def test_a_job_without_a_spare_ends_before_any_worker_starts(strict):
    agents = strict(3, 1)
    agents.assert_codes(69)

    assert agents.worker_events.all() == []
    for job in agents.jobs.values():
        last = job.said[-1]
        assert last.startswith("exit code 69: node 1 ("), job.words()
        assert "differs from 2 others: /dev/shm 64 MiB (" in last, job.words()
        assert last.endswith("; start the job again without unfit nodes"), job.words()


def test_a_strict_job_takes_a_node_that_tells_nothing(gang):
    agents = gang(3, "--preflight=strict")
    for node in range(3):
        agents.start(node, *(["--preflight=off"] if node == ODD else []))
    agents.succeed()

    assert agents.jobs[0].said_about("node 2 (", "has sent no facts: it starts without being compared")


def test_equal_nodes_are_silent(gang):
    agents = start(gang, (), "-v")
    agents.jobs[0].err.wait_for("compared the facts of 4 nodes: 0 differ")
    agents.succeed()

    for job in agents.jobs.values():
        assert not differences(job) and "several kinds" not in job.err.text, job.words()

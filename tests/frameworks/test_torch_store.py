"""Real PyTorch, the oldest and the newest release that is tested, and the leader's store.

Ranks meet by it, and its clients find in it what they find in torch's own.
"""

import json
import pathlib

import jobs
import pytest

MEETINGS = jobs.script("init_three_times.py")
BEHAVIOURS = jobs.script("store_behaviours.py")
DEBIAN = pathlib.Path("/usr/bin")


def assert_met(agents, ranks):
    assert [agent.code for agent in agents] == [0] * len(agents)
    printed = "".join(agent.out for agent in agents)
    total = sum(range(ranks))
    for meeting in range(3):
        for rank in range(ranks):
            assert f"meeting {meeting}: rank {rank} of {ranks}: {total}" in printed


def run_on_two_hosts(muster, hosts, settings, report):
    job = jobs.Job(hosts, settings)
    for node in (1, 0):
        line = ["torchrun", "--nnodes=2", f"--node-rank={node}", "--nproc-per-node=2"]
        where = [f"--master-addr={hosts.address(0)}", f"--report={report}{node}"]
        job.start(node, muster, *line, *where, MEETINGS)
    return job.finish()


def check(muster, hosts, venv, tmp_path):
    settings = jobs.environment(venv, tmp_path, PYTHON_EXEC=str(venv / "python3"))

    one = jobs.Job(hosts, settings)
    one.start(0, muster, "torchrun", "--nproc-per-node=3", MEETINGS)
    assert_met(one.finish(), 3)

    assert_met(run_on_two_hosts(muster, hosts, settings, tmp_path / "report-"), 4)
    inits = [json.loads((tmp_path / f"report-{node}").read_text())["init_s"] for node in (0, 1)]
    assert inits[0] > 0
    assert inits[1] is None


@pytest.mark.debian
def test_ranks_of_torch_1_13_meet_three_times(muster, two_hosts, tmp_path):
    check(muster, two_hosts, DEBIAN, tmp_path)


@pytest.mark.framework
def test_ranks_of_torch_2_13_meet_three_times(muster, two_hosts, torch_venv, tmp_path):
    check(muster, two_hosts, torch_venv, tmp_path)


def behaviours_of(muster, hosts, venv, tmp_path):
    """Counts the behaviours of torch's store that this one has, and those that its client cannot request."""
    settings = jobs.environment(venv, tmp_path, PYTHON_EXEC=str(venv / "python3"))
    (agent,) = jobs.run(hosts, settings, [(0, muster, "torchrun", BEHAVIOURS)])
    assert agent.code == 0
    words = agent.out.split()
    return words.count("has"), words.count("lacks")


@pytest.mark.debian
def test_clients_of_torch_1_13_find_the_behaviours_of_its_tcpstore(muster, two_hosts, tmp_path):
    assert behaviours_of(muster, two_hosts, DEBIAN, tmp_path) == (11, 13)


@pytest.mark.framework
def test_clients_of_torch_2_13_find_the_behaviours_of_its_tcpstore(muster, two_hosts, torch_venv, tmp_path):
    assert behaviours_of(muster, two_hosts, torch_venv, tmp_path) == (24, 0)

"""With --preflight full a node that resolves names differently, or cannot write a folder of the job, is named."""

import pytest

ODD = 2
LEADER = "leader.example"


@pytest.fixture
def named_hosts(hosts):
    """All hosts know the leader by its name, and the odd one by another address as well."""
    for host in range(4):
        hosts.network.add_name(host, LEADER, hosts.address(0))
    hosts.network.add_name(ODD, LEADER, "10.99.0.1")
    return hosts


def differences(job):
    return [line for line in job.said if "differs from" in line]


def test_a_node_that_resolves_the_leaders_name_differently_is_named(gang, named_hosts):
    agents = gang(4, "--preflight=full", on=named_hosts)
    for node in range(4):
        agents.start(node, address=LEADER)
    agents.wait_for_start()
    for job in agents.jobs.values():
        job.err.wait_for("differs from 2 others: leader's name ")
    agents.succeed()

    lines = {line for job in agents.jobs.values() for line in differences(job)}
    assert len(lines) == 1, lines
    [line] = lines
    assert line.startswith(f"node {ODD} (") and "10.99.0.1" in line, line


@pytest.mark.parametrize("options", ["ro", "size=4k"], ids=["read-only", "full"])
def test_a_node_that_cannot_write_a_folder_of_the_job_is_named(gang, tmp_path, options):
    shared = tmp_path / "shared"
    shared.mkdir()
    fill = f"head -c 4096 /dev/zero > {shared}/full; " if "size" in options else ""
    bad = ["unshare", "--mount", "sh", "-c", f'mount -t tmpfs -o {options} tmpfs {shared}; {fill}exec "$@"', "sh"]
    agents = gang(4, "--preflight=full", f"--progress-file={shared}/progress")
    for node in range(4):
        agents.start(node, through=bad if node == ODD else ())
    agents.wait_for_start()
    for job in agents.jobs.values():
        job.err.wait_for(f"node {ODD} (")
    agents.succeed()

    for job in agents.jobs.values():
        [line] = differences(job)
        assert "folder writes progress folder: " in line and "(succeed)" in line, line


def test_equal_nodes_are_silent_and_leave_no_file(gang, tmp_path):
    logs = tmp_path / "logs"
    logs.mkdir()
    agents = gang(4, "-v", "--preflight=full", f"--log-dir={logs}")
    agents.start_all()
    agents.jobs[0].err.wait_for("compared the facts of 4 nodes: 0 differ")
    agents.succeed()

    assert not any(differences(job) for job in agents.jobs.values()), agents.words()
    assert not [file for file in logs.rglob("*") if "preflight" in file.name]


def test_full_goes_with_strict(gang):
    agents = gang(3, "-v", "--preflight=full,strict")
    agents.start_all()
    agents.succeed()

    assert agents.jobs[0].said_about("compared the facts of 3 nodes: 0 differ")

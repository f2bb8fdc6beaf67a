"""The store by which ranks of PyTorch meet, on several hosts: the leader serves it."""

import os
import signal
import sys
from pathlib import Path

import pytest

from support import processes

CLIENT = Path(__file__).resolve().parents[1] / "support" / "torch_store.py"


def start(gang, nodes, *todo, on=None, workers=2, options=()):
    job = gang(
        nodes,
        "--store=agent",
        *options,
        on=on,
        workers=workers,
        command=[sys.executable, CLIENT, *todo],
    )
    job.start_all()
    return job


def output_of(job):
    return "\n".join(one.out.text for one in job.jobs.values())


def test_ranks_of_three_hosts_meet_though_the_leaders_ranks_exit_first(gang, hosts):
    job = start(gang, 3, "meet", "end-0", "end-1", "count", on=hosts)

    job.assert_codes(0)
    for rank in range(6):
        assert f"rank {rank} of 6 has met the others" in output_of(job)
    assert "count 4" in output_of(job)


@pytest.mark.kernel
def test_each_attempt_of_two_hosts_has_an_empty_store(gang, hosts):
    job = start(gang, 2, "meet", "fail-3-0", "fail-0-1", on=hosts, options=["--max-restarts=2"])

    job.assert_codes(0)
    assert output_of(job).count("arrived 1 ") == 3
    for rank in range(4):
        assert f"rank {rank} of 4 has met the others" in output_of(job)


def test_a_client_from_an_unknown_host_is_refused_and_named_once(gang, hosts):
    job = start(gang, 2, "meet", "stay", on=hosts)
    leader = job.jobs[0]
    leader.out.wait_for("stays at port")
    port = leader.out.text.split("stays at port")[1].split()[0]
    connect = (
        "import socket, sys\n"
        "for _ in range(3):\n"
        "    with socket.create_connection((sys.argv[1], int(sys.argv[2])), 10) as one:\n"
        "        try: assert one.recv(1) == b''\n"
        "        except ConnectionResetError: pass\n"
    )
    stranger = hosts.run(2, sys.executable, "-c", connect, hosts.address(0), port)
    assert stranger.returncode == 0, stranger.stderr

    leader.err.wait_for("no node of the job has this address")
    assert leader.said_about(f"a connection from {hosts.address(2)} was refused")
    leader.signal(signal.SIGTERM)
    job.assert_codes(143)


def test_a_killed_store_process_is_named_by_all_nodes(gang, hosts, muster):
    job = start(gang, 2, "meet", "rest", on=hosts)  # else a rank that fails for it might be named as well
    for one in job.jobs.values():
        one.out.wait_for("rests", times=2)
    stores = [one for one in processes.belonging_to(muster.tag) if one.name == "muster-store"]
    assert len(stores) == 1
    os.kill(stores[0].pid, signal.SIGKILL)

    job.assert_codes(71)
    for report in job.reports().values():
        assert report["first_failure"]["service"] == "torch_store"
        assert report["first_failure"]["node"] == 0

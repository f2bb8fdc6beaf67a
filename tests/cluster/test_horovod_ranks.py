"""Horovod's store on the leader: ranks of several nodes meet by it as gloo's do."""

import collections
import pathlib
import socket
import sys

CLIENT = pathlib.Path(__file__).resolve().parents[1] / "workers" / "gloo_client.py"


def start(muster, port, slots, *program, options=()):
    """A node for each number of slots."""
    return [
        muster.start(
            "--mode=horovod",
            "--prefix=never",
            f"--nnodes={len(slots)}",
            f"--node-rank={node}",
            "--master-addr=127.0.0.1",
            f"--master-port={port}",
            f"--nproc-per-node={count}",
            *options,
            "--",
            *program,
        )
        for node, count in enumerate(slots)
    ]


def lines_of(jobs):
    codes = [job.end() for job in jobs]
    assert codes == [0] * len(jobs), "\n".join(job.words() for job in jobs)
    return [line for job in jobs for line in job.out.lines]


def scopes(lines):
    """The number of ranks that met in each scope."""
    return collections.Counter(line.split()[1].split("_")[0] for line in lines)


def test_the_ranks_of_two_nodes_meet_in_all_three_scopes(muster, port):
    lines = lines_of(start(muster, port, [2, 2], sys.executable, CLIENT))

    assert scopes(lines) == {"global": 4, "local": 4, "cross": 4}
    host = socket.gethostname()
    assert {line.split(": ")[1] for line in lines} == {
        *(f"global {rank} of 4" for rank in range(4)),
        *(f"local_{host}-{node} {rank} of 2" for node in (0, 1) for rank in (0, 1)),
        *(f"cross_{local} {rank} of 2" for local in (0, 1) for rank in (0, 1)),
    }


def test_nodes_of_different_sizes_agree_on_cross_ranks(muster, port):
    lines = lines_of(start(muster, port, [1, 3, 2], sys.executable, CLIENT))

    assert sorted(line for line in lines if "cross" in line) == [
        "0: cross_0 0 of 3",
        "1: cross_0 1 of 3",
        "2: cross_1 0 of 2",
        "3: cross_2 0 of 1",
        "4: cross_0 2 of 3",
        "5: cross_1 1 of 2",
    ]


def test_each_attempt_has_a_separate_store(muster, port):
    """The first attempt leaves values behind that would mislead the second."""
    script = (
        f"{sys.executable} {CLIENT} || exit 1; echo port $HOROVOD_GLOO_RENDEZVOUS_PORT;"
        'if [ "$RANK" = 3 ] && mkdir tried; then exit 9; else exit 0; fi'
    )
    jobs = start(muster, port, [2, 2], "sh", "-c", script, options=["--max-restarts=1"])
    lines = lines_of(jobs)

    assert scopes(line for line in lines if " of " in line)["global"] >= 7
    ports = {line for line in lines if line.startswith("port ")}
    assert len(ports) == 2, ports

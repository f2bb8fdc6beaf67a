"""Horovod's gloo controller on two hosts, with no ssh and no MPI: muster has the store."""

import pytest

import jobs

pytestmark = pytest.mark.framework
TRAIN = jobs.script("horovod_train.py")


def run(muster, hosts, venv, folder, slots):
    """A node for each number of slots; what they print."""
    options = ["--mode", "horovod", "--prefix", "never", "--nnodes", len(slots)]
    settings = jobs.environment(venv, folder)
    results = jobs.run(
        hosts,
        settings,
        [
            (
                node,
                muster,
                *options,
                *["--master-addr", hosts.name(0), "--node-rank", node, "--nproc-per-node", count],
                *["--", "python", TRAIN],
            )
            for node, count in enumerate(slots)
        ],
    )
    assert [result.code for result in results] == [0] * len(slots), results
    return sorted("".join(result.out for result in results).splitlines())


def test_ranks_of_two_hosts_train_together(muster, two_hosts, horovod_venv, tmp_path):
    assert run(muster, two_hosts, horovod_venv, tmp_path, [2, 2]) == [
        "rank 0 of 4, 0 of 2, 0 of 2: sum 6, loss 0.0",
        "rank 1 of 4, 1 of 2, 0 of 2: sum 6, loss 0.0",
        "rank 2 of 4, 0 of 2, 1 of 2: sum 6, loss 0.0",
        "rank 3 of 4, 1 of 2, 1 of 2: sum 6, loss 0.0",
    ]


def test_hosts_with_different_numbers_of_slots_train_together(
    muster, two_hosts, horovod_venv, tmp_path
):
    assert run(muster, two_hosts, horovod_venv, tmp_path, [1, 2]) == [
        "rank 0 of 3, 0 of 1, 0 of 2: sum 3, loss 0.0",
        "rank 1 of 3, 0 of 2, 1 of 2: sum 3, loss 0.0",
        "rank 2 of 3, 1 of 2, 0 of 1: sum 3, loss 0.0",
    ]

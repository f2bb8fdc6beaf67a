"""Horovod over Open MPI on two hosts: its ranks are started by muster alone, or through mpirun without ssh."""

import pytest

import jobs
from support.mpi import token_of

pytestmark = pytest.mark.framework
TRAIN = jobs.script("horovod_train.py")
BENCHMARK = jobs.script("horovod_benchmark.py")
# The line of ModelArts' preset, in run_mpi.sh, for four processes.
PRESET = [
    *("-np", "4", "-bind-to", "none", "-map-by", "slot", "-x", "NCCL_DEBUG=INFO"),
    *("-x", "NCCL_SOCKET_FAMILY=AF_INET", "-x", "HOROVOD_MPI_THREADS_DISABLE=1", "-x", "LD_LIBRARY_PATH"),
    *("-mca", "pml", "ob1", "-mca", "btl", "^openib", "-mca", "plm_rsh_no_tree_spawn", "true"),
]
BATCHES = ["--batch-size=1", "--num-warmup-batches=1", "--num-batches-per-iter=1", "--num-iters=2"]


@pytest.fixture(params=["pmix", "agent"])
def way(request):
    return request.param


def run(job, slots, *words):
    """A node for each number of slots; what they print. `job`: the program, hosts, environment and folder of a test."""
    muster, hosts, venv, folder, way = job
    settings = jobs.environment(venv, folder, **token_of(way))
    settings |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    options = [f"--mpi-start={way}", "--prefix=never", f"--nnodes={len(slots)}", "--master-addr", hosts.name(0)]
    results = jobs.run(
        hosts,
        settings,
        [
            (node, muster, *options, "--node-rank", node, "--nproc-per-node", count, *words)
            for node, count in enumerate(slots)
        ],
    )
    assert [result.code for result in results] == [0] * len(slots), results
    return sorted("".join(result.out for result in results).splitlines())


@pytest.fixture
def job(muster, two_hosts, horovod_venv, tmp_path, way):
    return muster, two_hosts, horovod_venv, tmp_path, way


def test_ranks_of_two_hosts_train_together(job):
    assert run(job, [2, 2], "--mode=mpirun", "--", "python", TRAIN) == [
        "rank 0 of 4, 0 of 2, 0 of 2: sum 6, loss 0.0",
        "rank 1 of 4, 1 of 2, 0 of 2: sum 6, loss 0.0",
        "rank 2 of 4, 0 of 2, 1 of 2: sum 6, loss 0.0",
        "rank 3 of 4, 1 of 2, 1 of 2: sum 6, loss 0.0",
    ]


def test_hosts_with_different_numbers_of_slots_train_together(job):
    assert run(job, [1, 2], "--mode=mpirun", "--", "python", TRAIN) == [
        "rank 0 of 3, 0 of 1, 0 of 2: sum 3, loss 0.0",
        "rank 1 of 3, 0 of 2, 1 of 2: sum 3, loss 0.0",
        "rank 2 of 3, 1 of 2, 0 of 1: sum 3, loss 0.0",
    ]


def test_a_line_of_horovodrun_trains(job):
    lines = run(job, [1, 1], "horovodrun", "-np", "2", "--log-level=INFO", "python", TRAIN)

    assert [line for line in lines if line.startswith("rank")] == [
        "rank 0 of 2, 0 of 1, 0 of 2: sum 1, loss 0.0",
        "rank 1 of 2, 0 of 1, 1 of 2: sum 1, loss 0.0",
    ]


def test_the_benchmark_runs_by_the_line_of_modelarts(job):
    lines = run(job, [2, 2], "mpirun", *PRESET, "python", BENCHMARK, "--model=resnet18", *BATCHES)

    assert "Number of CPUs: 4" in lines
    assert [line.split(":")[0] for line in lines if line.startswith("Iter")] == ["Iter #0", "Iter #1"]
    assert any(line.startswith("Total img/sec on 4 CPU(s)") for line in lines)

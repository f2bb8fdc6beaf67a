"""MPI jobs run on one host and on several, and report their start method."""

import os

import pytest

from support.mpi import WAYS, Programs, path_without
from support.repetitions import default_or_soak

SSH_AND_MPIRUN = [
    *("ssh", "sshd", "rsh", "mpirun", "mpirun.openmpi", "mpiexec", "mpiexec.openmpi", "orterun"),
    *("orted", "prte", "prted", "prterun"),
]


# Nodes, and ranks on each.
PLACES = [(1, 4), (2, 2), (4, 1)]


@pytest.mark.soak
@pytest.mark.parametrize(
    ("way", "nodes", "ranks"),
    default_or_soak(
        [*(("pmix", *places) for places in PLACES), ("agent", 4, 1), ("ssh", 2, 2)],
        [(way, *places) for way in WAYS for places in PLACES],
    ),
)
def test_ranks_compute_together(mpi, nodes, ranks):
    job = mpi("collectives", nodes=nodes, ranks=ranks)

    assert job.run() == [0] * nodes, job.words()

    count = nodes * ranks
    right = [f"rank {rank} of {count} on {nodes} hosts: all is right" for rank in range(count)]
    assert [line for line in job.lines if "all is right" in line] == right, job.words()


def test_mpi_init_thread_gets_thread_support(mpi):
    job = mpi("init_thread", nodes=2, ranks=2)

    assert job.run() == [0, 0], job.words()

    assert job.lines == [f"rank {rank} of 4: threads multiple" for rank in range(4)]


def test_orphans_of_ranks_do_not_delay_mpirun(mpi):
    job = mpi(["/bin/sh", "-c", "sleep 1000 & trap '' TERM; sleep 1000 &"], nodes=2, ranks=2)

    assert job.run() == [0, 0], job.words()

    assert "processes that they started are left behind" in job.words()


def test_more_ranks_than_cores_on_a_host(mpi):
    count = 3 * os.cpu_count() + 1
    job = mpi("init_thread", nodes=1, ranks=count)

    assert job.run() == [0], job.words()

    assert len(job.lines) == count


@pytest.mark.parametrize("way", ["pmix"])
def test_pmix_needs_neither_ssh_nor_mpirun(mpi, tmp_path):
    job = mpi("collectives", nodes=4)
    path = path_without(tmp_path / "bin", *SSH_AND_MPIRUN)

    assert job.run(env={"PATH": path}) == [0] * 4, job.words()


@pytest.mark.parametrize("way", ["pmix"])
def test_auto_needs_neither_ssh_nor_mpirun(mpi, tmp_path):
    job = mpi("init_thread", nodes=4, through="auto")
    path = path_without(tmp_path / "bin", *SSH_AND_MPIRUN)

    assert job.run(env={"PATH": path}) == [0] * 4, job.words()


@pytest.mark.parametrize("way", ["agent", "ssh"])
def test_without_a_secret_remote_starts_are_refused(mpi, way):
    job = mpi("init_thread", nodes=2)
    job.has_token = False

    assert job.run() == [64, 64], job.words()

    said = job.jobs[1].said_about(f"--mpi-start {way} needs a secret that the nodes share")
    assert said.endswith(
        "give them one with --token-file (muster token makes it)"
        + (", or a key with --set ssh_key=FILE" if way == "ssh" else "")
    )


@pytest.mark.parametrize("way", ["pmix"])
def test_singletons_of_another_mpi_are_reported(mpi, tmp_path):
    job = mpi(Programs(tmp_path, compiler="mpicc.mpich")("init_thread"), nodes=1, ranks=2)

    assert job.run() == [0], job.words()

    assert job.lines == ["rank 0 of 1: threads multiple"] * 2
    assert "each rank ran alone" in job.jobs[0].err.text, job.words()

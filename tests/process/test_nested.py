"""Muster inside muster, inside a launcher like torchrun, and under mpirun."""

import shutil
import signal

import pytest

from support.muster import binary

A_WORKERS_ENVIRONMENT = {
    "RANK": 5,
    "LOCAL_RANK": 1,
    "WORLD_SIZE": 8,
    "LOCAL_WORLD_SIZE": 4,
    "GROUP_RANK": 1,
    "MASTER_ADDR": "10.0.0.1",
    "MASTER_PORT": 29511,
    "OMP_NUM_THREADS": 3,
}


def variables(file):
    entries = file.read_bytes().split(b"\0")
    pairs = dict(entry.split(b"=", 1) for entry in entries if entry)
    # The shell's own, and the sign by which muster knows its processes.
    return {
        name: value for name, value in pairs.items() if name not in (b"_", b"MUSTER_JOB_MARKER")
    }


def test_a_worker_that_starts_muster_gets_its_environment_back_unchanged(muster, tmp_path):
    script = f"env -0 > before.$RANK; exec {binary()} -- sh -c 'env -0 > after.$RANK'"

    job = muster.run("--nproc-per-node=2", "--", "sh", "-c", script)

    assert job.code == 0, job.words()
    for rank in (0, 1):
        assert variables(tmp_path / f"after.{rank}") == variables(tmp_path / f"before.{rank}")


def test_a_worker_that_starts_muster_is_not_multiplied_by_the_platforms_options(muster):
    env = {"MA_RUN_METHOD": "torchrun", "MA_EXTRA_TORCHRUN_PARAMS": "--nproc_per_node=2"}

    job = muster.run("--prefix=never", "--", binary(), "--", "sh", "-c", "echo $RANK", env=env)

    assert job.code == 0, job.words()
    assert sorted(job.out.lines) == ["0", "1"]


def test_inside_a_worker_muster_starts_one_process_and_says_so(muster, worker):
    job = muster.run("--", worker("print_rank"), env=A_WORKERS_ENVIRONMENT)

    assert job.code == 0
    assert job.out.text == "rank 5 of 8, local rank 1 of 4, node 1 of ?\n"
    assert job.said_about("LOCAL_RANK", "LOCAL_WORLD_SIZE")


def test_in_the_environment_of_a_worker_muster_adds_no_variable(muster, tmp_path):
    job = muster.run("--", "sh", "-c", "env -0 > after", env=A_WORKERS_ENVIRONMENT)

    expected = {**muster.environment(A_WORKERS_ENVIRONMENT), "PWD": str(tmp_path)}
    del expected["MUSTER_CONSOLE_TIME"]  # an option of muster's
    assert job.code == 0
    assert variables(tmp_path / "after") == {k.encode(): v.encode() for k, v in expected.items()}


def test_in_the_environment_of_a_worker_an_explicit_count_overrides(muster, worker):
    job = muster.run(
        "--nproc-per-node=2",
        "--",
        worker("print_rank"),
        env={"LOCAL_RANK": 1, "LOCAL_WORLD_SIZE": 4},
    )

    assert job.code == 0
    assert sorted(job.out.lines) == [
        f"[{rank}] rank {rank} of 2, local rank {rank} of 2, node 0 of 1" for rank in (0, 1)
    ]


def test_a_job_started_inside_a_worker_is_reported(muster, worker):
    job = muster.run(
        "torchrun", "--no-python", worker("print_rank"), env={"LOCAL_RANK": 3, "LOCAL_WORLD_SIZE": 8}
    )

    assert job.code == 0
    job.said_about("LOCAL_RANK is '3'", "a job of its own")


def test_a_list_of_hosts_is_refused_in_a_worker(muster):
    job = muster.run("--hosts=a,b", "--", "true", env={"LOCAL_RANK": 1, "LOCAL_WORLD_SIZE": 4})

    assert job.code == 64
    job.said_about("--hosts is 'a,b' but LOCAL_RANK is '1'")


@pytest.mark.parametrize("value", ["", "x", " 1", "+1", "-1"])
def test_a_local_rank_that_is_no_integer_does_not_mark_a_worker(muster, worker, value):
    job = muster.run(
        "--nproc-per-node=1",
        "--",
        worker("print_rank"),
        env={"LOCAL_RANK": value, "LOCAL_WORLD_SIZE": 4},
    )

    assert job.code == 0
    assert job.out.text == "rank 0 of 1, local rank 0 of 1, node 0 of 1\n"


def test_each_nested_muster_with_a_count_has_a_separate_world(muster, worker):
    inner = [binary(), "--nproc-per-node=2", "--prefix=never", "--", worker("print_rank")]

    job = muster.run("--nproc-per-node=2", "--prefix=never", "--", *inner)

    assert job.code == 0
    assert sorted(job.out.lines) == sorted(
        2 * [f"rank {rank} of 2, local rank {rank} of 2, node 0 of 1" for rank in (0, 1)]
    )


def test_muster_in_muster_passes_the_first_failure_out(muster, worker):
    inner = [binary(), "--nproc-per-node=2", "--", worker("fail_on_rank"), 1, 44]

    job = muster.run("--nproc-per-node=2", "--", *inner)

    assert job.code == 44


def test_muster_in_muster_ends_all_at_term(muster):
    inner = [binary(), "--nproc-per-node=2", "--", "sh", "-c", "echo ready; exec sleep 100"]
    job = muster.start("--nproc-per-node=2", "--", *inner)
    job.out.wait_for("ready", times=4)

    job.signal(signal.SIGTERM)

    assert job.end(2) == 143


@pytest.mark.parametrize("victim", ["guard", "agent"])
@pytest.mark.kernel
def test_sigkill_of_the_outer_muster_ends_the_inner_ones(muster, worker, victim):
    job = muster.start(
        "--nproc-per-node=2", "--", binary(), "--nproc-per-node=1", "--", worker("stubborn_tree")
    )
    job.out.wait_for("ready\n", times=2)

    job.signal(signal.SIGKILL) if victim == "guard" else job.kill_agent()

    muster.assert_no_survivors(seconds=1)
    job.end()


@pytest.mark.full
def test_under_mpirun_each_muster_starts_workers_with_mpiruns_variables(muster, tmp_path):
    assert shutil.which("mpirun"), "Open MPI is not installed"
    mpirun = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", "2"]
    script = "env -0 > of.$OMPI_COMM_WORLD_RANK"

    job = muster.run("--nproc-per-node=1", "--", "sh", "-c", script, through=mpirun)

    assert job.code == 0, job.words()
    for rank in (b"0", b"1"):
        seen = variables(tmp_path / f"of.{rank.decode()}")
        assert seen[b"OMPI_COMM_WORLD_RANK"] == rank
        assert seen[b"OMPI_COMM_WORLD_SIZE"] == b"2"


@pytest.mark.full
def test_under_mpirun_a_failure_reaches_mpirun(muster):
    mpirun = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", "2"]

    job = muster.run("--nproc-per-node=1", "--", "sh", "-c", "exit 42", through=mpirun)

    assert job.code == 42, job.words()

"""The process attributes of a worker at its start: descriptors, limits, signals, process group, environment."""

import os
import re
import signal
import uuid

import pytest

from support.descriptions import Description, read_descriptions


def describe_one(muster, worker, *arguments, **options):
    job = muster.run("--nproc-per-node=1", *arguments, "--", worker("describe_itself"), **options)
    assert job.code == 0, job.words()
    return Description(job.out.text)


def describe_all(muster, worker, count, *arguments, **options):
    folder = muster.folder / "descriptions"
    folder.mkdir()
    job = muster.run(
        f"--nproc-per-node={count}", *arguments, "--", worker("describe_itself"), folder, **options
    )
    assert job.code == 0, job.words()
    return read_descriptions(folder)


@pytest.mark.kernel
def test_a_worker_has_its_three_streams_and_no_other_descriptor(muster, worker):
    for one in describe_all(muster, worker, 8).values():
        assert set(one.descriptors) == {0, 1, 2}
        assert one.descriptors[0] == "/dev/null"
        assert one.descriptors[1].startswith("pipe:")
        assert one.descriptors[2].startswith("pipe:")


def test_every_stream_of_every_worker_has_a_separate_pipe(muster, worker):
    workers = describe_all(muster, worker, 4).values()

    pipes = {one.descriptors[fd] for one in workers for fd in (1, 2)}
    assert len(pipes) == 8


@pytest.mark.kernel
def test_a_descriptor_that_muster_inherited_is_not_passed_on(muster, worker):
    read_end, write_end = os.pipe()
    try:
        one = describe_one(muster, worker, pass_fds=[read_end, write_end])
    finally:
        os.close(read_end)
        os.close(write_end)

    assert set(one.descriptors) == {0, 1, 2}


def test_a_worker_is_a_session_leader(muster, worker):
    workers = describe_all(muster, worker, 3).values()

    for one in workers:
        assert one.one("group") == one.one("pid")
        assert one.one("session") == one.one("pid")
    assert len({one.one("parent") for one in workers}) == 1


@pytest.mark.kernel
def test_a_worker_dies_with_the_agent(muster, worker):
    assert describe_one(muster, worker).number("parent_death_signal") == signal.SIGKILL


def test_workers_inherit_the_descriptor_limit_unchanged(muster, worker):
    workers = describe_all(muster, worker, 2, through=["prlimit", "--nofile=300:4000"])

    assert {one.one("descriptor_limit") for one in workers.values()} == {"300 4000"}


def test_many_workers_start_under_a_small_soft_limit_of_descriptors(muster, worker):
    workers = describe_all(muster, worker, 64, through=["prlimit", "--nofile=64:4000"])

    assert len(workers) == 64
    assert {one.one("descriptor_limit") for one in workers.values()} == {"64 4000"}


@pytest.mark.kernel
def test_muster_ignores_or_blocks_no_signal_for_workers(muster, worker):
    one = describe_one(muster, worker)

    assert one.numbers("ignored") == set()
    assert one.numbers("blocked") == set()


@pytest.mark.parametrize("name", ["HUP", "INT", "USR1", "PIPE", "CHLD", "TSTP", "TTOU", "XFSZ"])
def test_a_signal_that_was_ignored_before_still_is(muster, worker, name):
    one = describe_one(muster, worker, through=["env", f"--ignore-signal={name}"])

    assert one.numbers("ignored") == {getattr(signal, f"SIG{name}")}


def test_signals_that_were_blocked_before_still_are(muster, worker):
    one = describe_one(muster, worker, through=["env", "--block-signal=TERM,USR1,CHLD,RTMIN"])

    assert one.numbers("blocked") == {
        signal.SIGTERM,
        signal.SIGUSR1,
        signal.SIGCHLD,
        signal.SIGRTMIN,
    }


def test_the_arguments_arrive_as_they_were_given(muster):
    arguments = ["", " ", "a b", "--nproc-per-node", "$HOME", "*", "ü", "x\ty", "'\""]

    job = muster.run("--", "printf", "<%s>", *arguments)

    assert job.out.text == "".join(f"<{argument}>" for argument in arguments)


def test_the_working_directory_is_that_of_muster(muster, tmp_path):
    (tmp_path / "here").mkdir()

    job = muster.run("--", "pwd", cwd=tmp_path / "here")

    assert job.out.text == f"{tmp_path}/here\n"


def test_the_variables_of_a_single_worker(muster, worker):
    environment = describe_one(muster, worker).environment

    expected = {
        "RANK": "0",
        "LOCAL_RANK": "0",
        "WORLD_SIZE": "1",
        "LOCAL_WORLD_SIZE": "1",
        "GROUP_RANK": "0",
        "GROUP_WORLD_SIZE": "1",
        "ROLE_RANK": "0",
        "ROLE_WORLD_SIZE": "1",
        "ROLE_NAME": "default",
        "MASTER_ADDR": "127.0.0.1",
        "TORCHELASTIC_RESTART_COUNT": "0",
        "TORCHELASTIC_MAX_RESTARTS": "0",
        "TORCHELASTIC_USE_AGENT_STORE": "False",
        "TORCH_NCCL_ASYNC_ERROR_HANDLING": "1",
        "PYTHONUNBUFFERED": "1",
    }
    assert {name: environment.get(name) for name in expected} == expected
    assert 1024 <= int(environment["MASTER_PORT"]) <= 65535


def test_a_job_of_one_node_has_a_unique_id(muster):
    def ids_of(*options, **more):
        line = ["--nproc-per-node=2", "--prefix=never", *options]
        job = muster.run(*line, "--", "sh", "-c", "echo $TORCHELASTIC_RUN_ID", **more)
        assert job.code == 0, job.words()
        return set(job.out.lines)

    first, second = ids_of(), ids_of()
    assert len(first) == len(second) == 1
    assert first != second
    assert uuid.UUID(first.pop()).version == 4
    assert ids_of("--job-id=mine") == {"mine"}

    again = ["--max-restarts=1", "--", "sh", "-c", "echo $TORCHELASTIC_RUN_ID; exit 3"]
    job = muster.run("--prefix=never", *again)
    assert len(job.out.lines) == 2
    assert len(set(job.out.lines)) == 1


def test_each_worker_has_its_own_ranks_and_all_share_the_master(muster, worker):
    workers = describe_all(muster, worker, 4)

    for rank, one in workers.items():
        for name in ("RANK", "LOCAL_RANK", "ROLE_RANK"):
            assert one.environment[name] == str(rank)
        for name in ("WORLD_SIZE", "LOCAL_WORLD_SIZE", "ROLE_WORLD_SIZE"):
            assert one.environment[name] == "4"
    assert len({one.environment["MASTER_PORT"] for one in workers.values()}) == 1
    assert len({one.environment["TORCHELASTIC_ERROR_FILE"] for one in workers.values()}) == 4


def test_two_jobs_at_once_have_different_ports(muster):
    print_and_wait = ["sh", "-c", "echo port $MASTER_PORT; exec sleep 100"]
    jobs = [muster.start("--", *print_and_wait) for _ in range(8)]
    ports = {job.out.wait_for("\n") for job in jobs}

    for job in jobs:
        job.signal(signal.SIGTERM)
        assert job.end() == 143

    assert len(ports) == 8


def test_the_workers_can_meet_at_the_port_they_are_given(muster, worker):
    job = muster.run("--nproc-per-node=4", "--", worker("meet_at_master"))

    assert job.code == 0, job.words()
    assert sorted(job.out.lines) == [f"[{rank}] rank {rank}: sum 6" for rank in range(4)]


def test_a_variable_of_the_user_is_kept(muster, worker):
    mine = {"OMP_NUM_THREADS": "7", "PYTHONUNBUFFERED": "x", "TORCH_NCCL_ASYNC_ERROR_HANDLING": "0"}

    environment = describe_one(muster, worker, env=mine).environment

    assert {name: environment[name] for name in mine} == mine


def test_threads_are_the_allowed_cores_shared_by_the_workers(muster, worker):
    cores = len(os.sched_getaffinity(0))

    one, _ = describe_all(muster, worker, 2).values()

    assert one.environment["OMP_NUM_THREADS"] == str(max(1, cores // 2))


def test_threads_follow_the_affinity(muster, worker):
    one = describe_one(muster, worker, through=["taskset", "--cpu-list", "0"])

    assert one.environment["OMP_NUM_THREADS"] == "1"


def test_a_worker_gets_no_option_variable_of_muster(muster, worker):
    options = {"MUSTER_NPROC_PER_NODE": 1, "MUSTER_GRACE": 2, "MUSTER_PREFIX": "auto"}

    environment = describe_one(muster, worker, env=options).environment

    ours = {name: value for name, value in environment.items() if name.startswith("MUSTER_")}
    for_workers = {"MUSTER_CONTROL_SOCKET", "MUSTER_HEARTBEAT_FILE", "MUSTER_JOB_MARKER"}
    for_workers |= {"MUSTER_RESTART_COUNT", "MUSTER_SUSPEND_FILE"}
    assert set(ours) == for_workers
    assert re.fullmatch("[0-9a-f]{8,}", ours["MUSTER_JOB_MARKER"])


def test_each_job_has_a_unique_marker(muster, worker):
    markers = {describe_one(muster, worker).environment["MUSTER_JOB_MARKER"] for _ in range(5)}

    assert len(markers) == 5


def test_a_large_environment_reaches_every_worker(muster, worker):
    large = {f"LARGE_{number}": "x" * 1000 for number in range(150)}

    for one in describe_all(muster, worker, 4, env=large).values():
        assert {name: one.environment.get(name) for name in large} == large


def test_the_workers_see_the_devices_that_were_chosen(muster):
    job = muster.run(
        *["--devices=1,3", "--prefix=never", "--", "sh", "-c"],
        'echo "$LOCAL_RANK of $LOCAL_WORLD_SIZE: $CUDA_VISIBLE_DEVICES"',
        env={"CUDA_VISIBLE_DEVICES": "4,5,6,7"},
    )

    assert job.code == 0, job.words()
    assert sorted(job.out.lines) == ["0 of 2: 5,7", "1 of 2: 5,7"]

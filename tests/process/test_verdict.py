"""The verdict when several workers die at once: which of them failed and which were stopped."""

import os
import signal
import sys

import pytest
from support import processes
from support.deadlines import wait_until
from support.repetitions import default_or_soak, soaking

WORKERS = 64
CULPRIT = 17
AT_ONCE_US = 300  # up to here nobody can know the order
LOST_PEER = "echo 'read: Connection reset by peer' >&2"
TRACEBACK = "echo 'Traceback (most recent call last):' >&2"


def stop(pid):
    os.kill(pid, signal.SIGSTOP)
    wait_until(lambda: processes.look_at(pid).state == "T", f"{pid} to be stopped")


@pytest.fixture
def die_at_once(muster, tmp_path):
    """Workers of which each runs its script, and all are dead before muster can look."""

    def run(*scripts):
        cases = "".join(f"{rank}) {script};; " for rank, script in enumerate(scripts))
        wait = f"while [ ! -e {tmp_path}/go ]; do sleep 0.01; done"
        job = muster.start(
            f"--nproc-per-node={len(scripts)}",
            "--",
            *("sh", "-c", f"echo ready $$; {wait}; case $RANK in {cases} esac"),
            report=True,
        )
        job.out.wait_for("ready", times=len(scripts))
        workers = [int(line.split()[-1]) for line in job.out.lines if "ready" in line]
        agent = job.agent()
        stop(agent)
        (tmp_path / "go").touch()
        wait_until(
            lambda: not any(processes.is_alive(pid) for pid in workers), "all workers to be dead"
        )
        os.kill(agent, signal.SIGCONT)
        job.end()
        return job

    return run


def runs_of_one_that_crashes(muster, worker, tmp_path, microseconds, repetitions):
    for repetition in range(repetitions):
        meeting = tmp_path / f"meeting-{microseconds}-{repetition}"
        job = muster.run(
            f"--nproc-per-node={WORKERS}",
            "--",
            *(worker("die_together"), CULPRIT, microseconds, meeting),
            seconds=30,
            report=True,
        )
        yield job.report["first_failure"]


def assert_the_culprit_is_named(muster, worker, tmp_path, microseconds, repetitions):
    runs = list(runs_of_one_that_crashes(muster, worker, tmp_path, microseconds, repetitions))
    named = [run for run in runs if (run["global_rank"], run["signal"]) == (CULPRIT, "SIGSEGV")]
    wrong = [run for run in runs if run not in named]
    if soaking():  # a few runs on a busy machine are no statistics
        least = 0.9 if microseconds <= AT_ONCE_US else 0.95
        assert len(named) >= least * len(runs), wrong
    assert not any(run["order_known"] for run in wrong), "it is sure of what is wrong"


@pytest.mark.parametrize("microseconds", (0, 300, 1_000, 10_000, 50_000) if soaking() else (0,))
def test_of_many_simultaneous_exits_the_crashed_worker_is_named(
    muster, worker, tmp_path, microseconds
):
    assert_the_culprit_is_named(muster, worker, tmp_path, microseconds, default_or_soak(2, 100))


@pytest.mark.soak
@pytest.mark.full
@pytest.mark.parametrize("microseconds", (0, 300, 1_000, 10_000, 50_000) if soaking() else (0,))
def test_the_crashed_worker_is_named_on_busy_cores(
    muster, worker, tmp_path, microseconds, busy_cores
):
    assert_the_culprit_is_named(muster, worker, tmp_path, microseconds, default_or_soak(2, 100))


@pytest.mark.kernel
def test_a_single_failure_is_named_with_certainty(muster, worker):
    job = muster.run("--nproc-per-node=4", "--", worker("fail_on_rank"), 2, 3, report=True)

    assert job.code == 3
    assert job.said_about("rank 2 failed first")
    assert job.report["first_failure"]["order_known"]
    assert job.report["also_failed"] == []
    assert job.report["also_failed_count"] == 0


def test_a_workers_error_outranks_a_lost_peer_seen_earlier(die_at_once):
    job = die_at_once(f"{LOST_PEER}; exit 5", f"sleep 0.1; {TRACEBACK}; exit 6")

    assert job.code == 6, job.words()
    assert job.said_about("rank 1 probably failed first")
    assert "rank 0" in job.said_about("so close to it that their order is not known")
    assert not job.report["first_failure"]["order_known"]
    (other,) = job.report["also_failed"]
    assert (other["global_rank"], other["exit_code"], other["order_known"]) == (0, 5, False)
    assert other["stderr_tail"] == ["read: Connection reset by peer"]
    assert job.report["also_failed_count"] == 1
    assert {worker["outcome"] for worker in job.report["workers"]} == {"failed"}
    assert not any("stopped by muster" in line for line in job.said)


@pytest.mark.kernel
def test_a_crash_outranks_an_error_that_was_seen_first(die_at_once):
    job = die_at_once(f"{TRACEBACK}; exit 6", "sleep 0.1; kill -SEGV $$")

    assert job.code == 139, job.words()
    assert job.said_about("rank 1 probably failed first")
    assert "because a signal ended it" in job.said_about("it is named")


def test_a_crash_during_the_stop_fails_without_changing_the_code(muster):
    crash = "trap 'kill -SEGV $$' TERM; echo ready; while :; do sleep 0.01; done"
    job = muster.start("--nproc-per-node=2", "--", "sh", "-c", crash, report=True)
    job.out.wait_for("ready", times=2)

    job.signal(signal.SIGTERM)

    assert job.end() == 143
    assert job.report["verdict"] == "stopped"
    assert job.report["first_failure"] is None
    assert {worker["outcome"] for worker in job.report["workers"]} == {"failed"}
    assert [other["signal"] for other in job.report["also_failed"]] == ["SIGSEGV"] * 2
    told = [line for line in job.said if line.startswith("also failed: rank")]
    assert told and all("SIGSEGV" in line for line in told)  # one line where both shells said the same


@pytest.mark.kernel
def test_a_worker_killed_from_outside_during_the_grace_has_failed(muster, worker):
    job = muster.start("--nproc-per-node=1", "--", worker("ignore_term"), report=True)
    job.out.wait_for("ready")
    (pid,) = [child.pid for child in processes.workers_of(job.agent())]

    job.signal(signal.SIGTERM)
    job.err.wait_for("asking 1 worker to end")
    os.kill(pid, signal.SIGKILL)

    assert job.end() == 143
    assert job.report["workers"][0]["outcome"] == "failed"
    assert job.report["also_failed"][0]["signal"] == "SIGKILL"


def test_a_forwarded_signal_is_reported_as_forwarded(muster):
    defiant = "trap '' USR1; trap 'sleep 0.1; trap - USR1; kill -USR1 $$' TERM"
    ends = f"[ $RANK = 0 ] || {{ {defiant}; }}; echo ready; while :; do sleep 0.01; done"
    job = muster.start("--nproc-per-node=2", "--", "sh", "-c", ends, report=True)
    job.out.wait_for("ready", times=2)

    job.signal(signal.SIGUSR1)

    assert job.end() == 128 + signal.SIGUSR1
    assert job.said_about("rank 0 (pid", "SIGUSR1", "which muster passed on", "asking 1 worker")
    assert job.said_about("rank 0 probably failed first", "SIGUSR1", "which muster passed on")
    assert job.report["first_failure"]["was_passed_on"]
    assert not job.report["first_failure"]["order_known"], "one signal went to both"


def test_a_signal_from_outside_is_not_reported_as_forwarded(muster):
    job = muster.start("--", "sh", "-c", "echo ready; kill -USR1 $$", report=True)

    assert job.end() == 128 + signal.SIGUSR1
    assert "passed on" not in job.said_about("rank 0 failed first", "SIGUSR1")
    assert not job.report["first_failure"]["was_passed_on"]


@pytest.mark.kernel
def test_a_failure_before_the_stop_signal_is_the_reason_of_the_end(muster, tmp_path):
    """Both are found in one turn of the loop: the failure that still waits for others, and the signal."""
    fails = f"while [ ! -e {tmp_path}/go ]; do sleep 0.01; done; exit 3"
    job = muster.start(
        "--nproc-per-node=2",
        *("--", "sh", "-c", f'echo ready $RANK $$; [ $RANK = 1 ] && exec sleep 60; {fails}'),
        report=True,
    )
    job.out.wait_for("ready", times=2)
    agent = job.agent()
    (failing,) = [int(line.split()[-1]) for line in job.out.lines if "ready 0" in line]

    stop(agent)
    (tmp_path / "go").touch()
    wait_until(lambda: not processes.is_alive(failing), "rank 0 to be dead")
    os.kill(agent, signal.SIGTERM)
    os.kill(agent, signal.SIGCONT)

    assert job.end() == 3, job.words()
    assert job.report["first_failure"]["global_rank"] == 0
    assert [worker["outcome"] for worker in job.report["workers"]] == ["failed", "stopped"]


def test_an_exit_code_of_a_python_handler_answers_the_signal(muster):
    """Python takes its handlers back before it ends: what a dead process could handle says nothing."""
    answers = "import signal, sys, time; signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))"
    # Python runs a handler between two of its instructions: a signal right before a long sleep would wait for its end.
    waits = "[time.sleep(0.05) for _ in iter(int, 1)]"
    job = muster.start(
        "--nproc-per-node=2",
        *("--", sys.executable, "-c", f"{answers}; print('ready', flush=True); {waits}"),
        report=True,
    )
    job.out.wait_for("ready", times=2)

    job.signal(signal.SIGTERM)

    assert job.end() == 143, job.words()
    assert [(worker["outcome"], worker["exit_code"]) for worker in job.report["workers"]] == [
        ("stopped", 7),
        ("stopped", 7),
    ]
    assert job.report["also_failed"] == []

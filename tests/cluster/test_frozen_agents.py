"""Jobs with a stopped or frozen agent, guard or node: the job ends or restarts without it."""

import contextlib
import os
import re
import shutil
import signal
import time

import pytest

from support import processes
from support.deadlines import wait_until
from support.freezer import Freezer
from support.frozen import unanswered
from support.repetitions import default_or_soak
from support.streams import Stream

GRACE = 0.5
SILENCE = 5  # seconds, where somebody is missed
HEEDFUL = [f"--heartbeat-timeout={SILENCE}", f"--grace={GRACE}"]
PATIENT = ["--heartbeat-timeout=60", f"--grace={GRACE}"]  # nobody is missed because the machine is busy
FENCE = 2 * SILENCE + 2  # a lost node is given the time to notice that it is lost
FENCED = FENCE + 4
REPETITIONS = default_or_soak(1, 20)


def stop(pid):
    os.kill(pid, signal.SIGSTOP)
    wait_until(lambda: processes.look_at(pid).state == "T", f"{pid} to be stopped")


@contextlib.contextmanager
def standing_still(pid, how, number):
    """The process stands still meanwhile, and goes on afterwards if it is still there."""
    if how == "stopped":
        stop(pid)
        yield
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)
        return
    with Freezer(f"still-{number}", 1 if how == "frozen by version 1" else 2) as freezer:
        freezer.add(pid)
        freezer.freeze()
        yield


def start_with_a_spare(gang, **options):
    job = gang(2, "--max-restarts=1", *HEEDFUL)
    job.start(0)
    job.start(1, **options)
    started = job.wait_for_start()
    job.start(2, rank="by arrival").err.wait_for("this node is a spare")
    return job, started


@pytest.mark.soak
@pytest.mark.full
@pytest.mark.parametrize("how", ["stopped", "frozen by version 1", "frozen by version 2"])
def test_workers_of_a_stopped_agent_never_overlap_the_next_attempt(gang, how):
    for number in range(REPETITIONS):
        job, started = start_with_a_spare(gang)
        agent = job.jobs[1].agent()

        with standing_still(agent, how, number):
            job.wait_for_start(2, attempt=1, seconds=FENCED)
            assert not processes.is_alive(started[1].pid)
        job.worker_events.end_all(2, attempt=1)

        job.assert_codes(0, node_1=69)
        assert job.jobs[1].said_about(f"the agent (pid {agent}) has not moved for {SILENCE} s")
        job.worker_events.assert_attempts_never_met()
        job.worker_events.forget()


@pytest.mark.soak
@pytest.mark.full
def test_a_frozen_node_runs_no_worker_after_it_thaws(gang):
    for number in range(REPETITIONS):
        with Freezer(f"node-{number}", 2) as freezer:
            job, started = start_with_a_spare(gang, through=freezer.through())
            freezer.freeze()
            job.wait_for_start(2, attempt=1, seconds=FENCED)

            freezer.thaw()

            wait_until(lambda: not processes.is_alive(started[1].pid), "the old worker to end", 0.5)
            job.worker_events.end_all(2, attempt=1)
            job.assert_codes(0, node_1=69)
        job.worker_events.forget()


@pytest.mark.full
@pytest.mark.parametrize("still", [0, 1], ids=["the leader", "another node"])
def test_a_node_that_stood_still_names_no_other_node_as_lost(gang, still):
    job = gang(2, *HEEDFUL)
    job.start_all()
    job.wait_for_start()
    frozen, healthy = job.jobs[still], job.jobs[1 - still]
    other_guard = healthy.guard()
    stopped = [frozen.guard(), frozen.agent()]
    for pid in stopped:
        stop(pid)

    healthy.err.wait_for(f"was lost: it was silent for {SILENCE} s")
    wait_until(lambda: not processes.is_alive(other_guard), "the healthy node to end")
    for pid in reversed(stopped):
        os.kill(pid, signal.SIGCONT)

    job.assert_codes(69)
    assert f"the other nodes give a node up after {SILENCE} s: " in frozen.said_about("this node stood still for ")
    assert "was lost" not in frozen.err.text.replace("a node was lost;", ""), frozen.words()
    assert frozen.report["reason"].startswith("this node stood still for ")


@pytest.mark.full
def test_status_and_stacks_name_a_node_that_does_not_answer(gang):
    job = gang(2, *PATIENT)
    job.start_all()
    job.wait_for_start()
    agent = job.jobs[1].agent()
    stop(agent)

    answer = job.muster.run("status", f"--job={job.jobs[0].guard()}")
    stacks = job.muster.run("stacks", f"--job={job.jobs[0].guard()}")

    os.kill(agent, signal.SIGCONT)
    assert "1 of 2 nodes, 1 of 1 worker running" in answer.out.text, answer.words()
    assert re.search(r"^node 1 \(.+\) did not answer in time$", answer.out.text, re.MULTILINE), answer.words()
    assert re.search(r"^node 1 \(.+\) did not answer in time$", stacks.out.text, re.MULTILINE), stacks.words()
    job.jobs[0].signal(signal.SIGTERM)
    job.assert_codes(143)


@pytest.mark.soak
@pytest.mark.kernel
def test_a_failure_restarts_the_job_although_a_guard_is_stopped(gang):
    for _ in range(REPETITIONS):
        job = gang(2, "--max-restarts=1", *PATIENT)
        job.start_all()
        job.wait_for_start()
        stop(job.jobs[1].guard())

        job.worker_events.end(1, 7)
        job.succeed(attempt=1)

        job.worker_events.assert_attempts_never_met()
        job.worker_events.forget()


@pytest.mark.soak
@pytest.mark.kernel
@pytest.mark.parametrize("asked", [0, 1], ids=["the other node", "the stopped guard"])
def test_a_signal_ends_the_job_although_a_guard_is_stopped(gang, asked):
    for _ in range(REPETITIONS):
        job = gang(2, *PATIENT)
        job.start_all()
        job.wait_for_start()
        stop(job.jobs[1].guard())

        job.jobs[asked].signal(signal.SIGTERM)

        job.assert_codes(143, seconds=GRACE + 2)
        job.worker_events.forget()


# A program that does not answer yet: the first start of an environment that a thousand nodes read at once takes a minute.


@pytest.fixture
def slow(gang, tmp_path):
    """Runs a block while two agents wait for the program of their workers, which answers afterwards."""
    program, interpreter = tmp_path / "program", tmp_path / "interpreter"
    shutil.copy("/bin/sh", interpreter)
    program.write_text(f"#!{interpreter}\necho ran\n")
    program.chmod(0o755)

    @contextlib.contextmanager
    def start():
        job = gang(2, *PATIENT)
        with unanswered(interpreter):
            job.start_all(command=[program])
            for one in job.jobs.values():
                one.err.wait_for("attempt 0:")
            yield job

    return start


@pytest.mark.full
def test_a_slow_executable_is_reported_and_loses_no_node(slow):
    with slow() as job:
        for one in job.jobs.values():
            one.err.wait_for("nothing is started yet: a file system has not answered for 10 s", seconds=15)
            assert one.out.text == ""

    job.assert_codes(0)
    assert [one.out.text.splitlines()[-1][-3:] for one in job.jobs.values()] == ["ran", "ran"]


@pytest.mark.parametrize("asked", [0, 1])
def test_a_signal_ends_the_job_while_its_executable_hangs(slow, asked):
    with slow() as job:
        job.jobs[asked].signal(signal.SIGTERM)

        job.assert_codes(143, seconds=GRACE + 2)

    assert job.jobs[asked].said_about("never started:")


@pytest.mark.full
def test_an_agent_that_still_drains_output_is_not_killed(gang):
    """Its workers are gone, so nobody counts on it any more, however long its console takes."""
    lines = "for i in $(seq 4000); do echo a line that is so long that they fill every pipe; done"
    job = gang(2, "--max-restarts=1", "--console-stall=100", *HEEDFUL)
    job.start(0)
    reading, writing = os.pipe()
    job.start(1, command=["sh", "-c", f"{lines}; exec sleep 100"], stdout=writing)
    os.close(writing)
    job.worker_events.wait_for("started")
    agent = job.jobs[1].agent()
    wait_until(lambda: "sleep" in names_below(agent), "the lines to be written")

    killed = time.monotonic()
    job.jobs[0].signal(signal.SIGKILL)
    wait_until(lambda: not names_below(agent), "the worker to be gone")
    wait_until(lambda: time.monotonic() > killed + FENCE, "the time to pass")

    assert processes.is_alive(agent), job.words()
    Stream("the console of node 1", reading)
    job.assert_codes(69, node_0=-signal.SIGKILL)
    assert "leader" in job.jobs[1].report["reason"]


def names_below(pid):
    return {child.name for child in processes.children_of(pid)}

"""Jobs of the program for Arm: one agent, two of it, and one of it beside one of this machine's.

Under QEMU a clone that shares memory is a fork. So what a worker's process could not do before it
became the worker is not seen in the agent's memory: it reads as a worker that ended with 127.
"""

import contextlib
import signal
import socket

import pytest

from support.deadlines import wait_until
from support.gang import LOOPBACK

TOKEN = "a secret of at least 16 bytes"


def test_two_workers_for_arm_run(muster, arm, arm_worker):
    job = muster.run("--nproc-per-node=2", "--", *arm_worker("print_rank"), **arm)

    assert job.code == 0, job.words()
    assert sorted(job.out.lines) == [
        f"[{rank}] rank {rank} of 2, local rank {rank} of 2, node 0 of 1" for rank in range(2)
    ]


def test_workers_for_arm_meet_at_the_port_that_was_chosen(muster, arm, arm_worker):
    job = muster.run("--nproc-per-node=3", "--", *arm_worker("meet_at_master"), **arm)

    assert job.code == 0, job.words()
    assert sorted(job.out.lines) == [f"[{rank}] rank {rank}: sum 3" for rank in range(3)]


def test_two_workers_run_with_64_kib_pages(muster, arm_of_64_kib, arm_worker):
    job = muster.run("--nproc-per-node=2", "--", *arm_worker("print_rank"), **arm_of_64_kib)

    assert job.code == 0, job.words()
    assert len(job.out.lines) == 2


@pytest.mark.parametrize("code", [0, 3, 255])
def test_the_code_of_a_worker_passes_through(muster, arm, arm_worker, code):
    assert muster.run("--", *arm_worker("fail_on_rank"), 0, code, **arm).code == code
    assert muster.run("--", "sh", "-c", f"exit {code}", **arm).code == code


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])
def test_a_worker_killed_by_a_signal_gives_128_plus_its_number(muster, arm, arm_worker, number):
    job = muster.run("--", *arm_worker("raise_signal"), int(number), **arm)

    assert job.code == 128 + number
    assert number.name in job.said_about("failed first")


def test_a_missing_program_is_not_found(muster, arm):
    job = muster.run("--", "no-such-program", **arm)

    assert job.code == 127
    assert "not found" in job.said_about("could not be started")


def test_a_program_that_cannot_be_executed_gives_127(muster, arm, tmp_path):
    """126 where QEMU is not between: see above."""
    no_program = tmp_path / "no-program"
    no_program.write_bytes(b"\x7fELF and no more")
    no_program.chmod(0o755)

    job = muster.run("--", no_program, **arm)

    assert job.code == 127
    assert "exit code 127" in job.said_about("failed first")


def test_the_first_failure_ends_the_others(muster, arm, arm_worker):
    job = muster.run("--nproc-per-node=3", "--", *arm_worker("fail_on_rank"), 1, 7, **arm)

    assert job.code == 7
    assert "rank 1 " in job.said_about("failed first")


def test_sigterm_ends_the_job(muster, arm, arm_worker):
    job = muster.start("--", *arm_worker("fail_on_rank"), 1, 0, **arm)
    job.out.wait_for("waiting")

    job.signal(signal.SIGTERM)

    assert job.end() == 143


@pytest.mark.parametrize(
    "agents",
    [("arm", "arm"), ("native", "arm"), ("arm", "native")],
    ids=["two of Arm", "led by one of this machine", "led by one of Arm"],
)
def test_agents_with_a_token_form_a_gang(gang, arm, agents):
    for node, agent in enumerate(agents):
        gang.start(node, env={"MUSTER_TOKEN": TOKEN}, **(arm if agent == "arm" else {}))
    gang.wait_for_start()
    gang.worker_events.end(1, 3)  # and once more, from the start: all have to agree on that

    gang.succeed(attempt=1)

    assert TOKEN not in gang.words()


@pytest.mark.parametrize("leader", ["native", "arm"])
def test_an_agent_with_another_token_is_not_admitted(gang, arm, leader):
    ours, its = ({}, arm) if leader == "native" else (arm, {})
    gang.start(0, env={"MUSTER_TOKEN": TOKEN}, **ours)
    wait_until(lambda: somebody_listens_at(gang.port), "the leader to listen")

    stranger = gang.start(
        1, "--gang-timeout=2", name="stranger", env={"MUSTER_TOKEN": TOKEN + "!"}, **its
    )

    assert stranger.end() == 75
    assert "token" in stranger.said_about("did not reach the leader")
    gang.start(1, env={"MUSTER_TOKEN": TOKEN}, **its)
    gang.wait_for_start(workers=2)
    gang.worker_events.end_all(2)
    assert [gang.jobs[node].end() for node in range(2)] == [0, 0]


def somebody_listens_at(port):
    with contextlib.suppress(ConnectionRefusedError), socket.create_connection((LOOPBACK, port), 10):
        return True
    return False

"""Muster signals no process outside its job, however closely related."""

import os
import signal

import pytest

from support import processes
from support.deadlines import wait_until

# Starts a stranger that becomes a child of muster, because the shell becomes muster.
BESIDE_A_CHILD = 'sleep 100 </dev/null >/dev/null 2>&1 & echo $! > stranger; exec "$@"'


def stranger_of(muster):
    file = muster.folder / "stranger"
    wait_until(lambda: file.exists() and file.read_text().endswith("\n"), "the pid of the stranger")
    pid = int(file.read_text())
    muster.tolerate(pid)
    return pid


@pytest.fixture
def stranger_lives_on(muster):
    """Checks afterwards that the stranger is as alive as it was, and ends it."""
    yield
    pid = stranger_of(muster)
    assert processes.is_alive(pid)
    assert processes.look_at(pid).state in "SR"
    os.kill(pid, signal.SIGKILL)


def beside_a_child(muster, *arguments):
    return muster.start(*arguments, through=["sh", "-c", BESIDE_A_CHILD, "sh"])


@pytest.mark.parametrize(
    ("script", "code"), [("exit 0", 0), ("exit 5", 5), ("sleep 100 & exit 0", 0)]
)
def test_a_child_that_muster_inherited_survives_the_job(muster, stranger_lives_on, script, code):
    job = beside_a_child(muster, "--nproc-per-node=2", "--", "sh", "-c", script)

    assert job.end(2) == code


def test_a_child_that_muster_inherited_survives_term(muster, stranger_lives_on):
    job = beside_a_child(
        muster, "--nproc-per-node=2", "--", "sh", "-c", "echo ready; exec sleep 100"
    )
    job.out.wait_for("ready", times=2)

    job.signal(signal.SIGTERM)

    assert job.end(2) == 143


@pytest.mark.parametrize("victim", ["guard", "agent"])
@pytest.mark.kernel
def test_a_child_that_muster_inherited_survives_kill(muster, stranger_lives_on, victim):
    job = beside_a_child(
        muster, "--nproc-per-node=2", "--", "sh", "-c", "echo ready; exec sleep 100"
    )
    job.out.wait_for("ready", times=2)
    stranger_of(muster)

    os.kill(job.guard() if victim == "guard" else job.agent(), signal.SIGKILL)

    assert job.end(2) in (-signal.SIGKILL, 137)
    muster.assert_no_survivors(seconds=1)


@pytest.mark.kernel
def test_a_daemon_of_an_inherited_child_survives_reparenting_to_muster(
    muster, stranger_lives_on
):
    """The stranger's child is orphaned while the job runs, so the kernel hands it to the guard."""
    become_orphan = (
        "(while ! [ -e go ]; do sleep 0.01; done; "
        "setsid sleep 100 </dev/null >/dev/null 2>&1 & echo $! > stranger) "
        '</dev/null >/dev/null 2>&1 & exec "$@"'
    )
    job = muster.start(
        "--", "sh", "-c", "echo ready; exec sleep 100", through=["sh", "-c", become_orphan, "sh"]
    )
    job.out.wait_for("ready")
    (muster.folder / "go").touch()
    orphan = stranger_of(muster)
    wait_until(
        lambda: processes.look_at(orphan).parent in (job.pid, os.getpid()),
        "the orphan to be adopted",
    )

    job.signal(signal.SIGTERM)

    assert job.end(2) == 143


def test_a_neighbour_in_the_same_process_group_and_session_survives(muster, stranger_lives_on):
    beside = 'sleep 100 </dev/null >/dev/null 2>&1 & echo $! > stranger; "$@"; exit $?'
    job = muster.start("--", "sh", "-c", "sleep 100 & exit 3", through=["sh", "-c", beside, "sh"])

    assert job.end(2) == 3
    assert processes.look_at(stranger_of(muster)).session == os.getsid(0)


def test_two_jobs_side_by_side_do_not_end_each_other(muster, worker):
    one = muster.start("--nproc-per-node=2", "--", worker("echo_signals"), 0)
    other = muster.start("--nproc-per-node=2", "--", worker("echo_signals"), 0)
    one.out.wait_for("ready", times=2)
    other.out.wait_for("ready", times=2)

    one.signal(signal.SIGTERM)
    assert one.end(2) == 143

    other.signal(signal.SIGUSR1)
    other.out.wait_for("got USR1", times=2)
    other.signal(signal.SIGTERM)
    assert other.end(2) == 143
    assert other.out.text.count("got TERM") == 2

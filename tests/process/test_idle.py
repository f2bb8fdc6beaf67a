"""While the workers work, muster sleeps: no polling, no ticking."""

import contextlib
import shutil
import signal
import sys
from pathlib import Path

import pytest

from support import processes
from support.deadlines import wait_until
from support.frozen import unanswered
from support.idleness import sleeps_for, wait_until_asleep
from support.muster import binary

NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
SECONDS_TO_COME = 60  # for the ranks after the first one
RANK = Path(__file__).resolve().parents[1] / "support" / "torch_store.py"


def locked_memory_of(pid):
    return processes.status_of(pid, "VmLck")


def test_a_wait_that_ends_by_itself_is_told_from_one_that_does_not(muster):
    """Else the tests of this file would find that all sleep."""
    script = "import select, sys; print(flush=True); select.epoll().poll(float(sys.argv[1]))"
    jobs = [muster.start("--", sys.executable, "-c", script, limit) for limit in (10, -1)]
    for job in jobs:
        job.out.wait_for("\n")
    bounded, endless = [one.pid for job in jobs for one in processes.workers_of(job.agent())]

    wait_until_asleep(endless)
    wait_until_asleep(bounded, least=1)

    assert sleeps_for(bounded) == 10
    for job in jobs:
        job.signal(signal.SIGTERM)
        assert job.end() == 143


# The time in which log files have to be there is over soon, and its timer with it.
@pytest.mark.parametrize(
    "options",
    [pytest.param([], marks=pytest.mark.kernel), ["--log-dir=logs", "--console-stall=0.1"]],
    ids=["plain", "with-files"],
)
def test_an_idle_job_wakes_nobody_up(muster, options):
    job = muster.start(
        "--nproc-per-node=4", *options, "--", "sh", "-c", "echo ready; exec sleep 100"
    )
    job.out.wait_for("ready", times=4)

    wait_until_asleep(job.guard(), job.agent())

    job.signal(signal.SIGTERM)
    assert job.end(2) == 143


def test_a_store_that_all_ranks_have_met_by_wakes_nobody_up(muster):
    """But for one look of the agent, a minute after the first rank: there may be ranks that are late."""
    job = muster.start("--store=agent", "--nproc-per-node=2", "--", sys.executable, RANK, "meet", "stay")
    job.out.wait_for("stays at port", times=2)
    store = [one.pid for one in muster.survivors() if one.name == "muster-store"]
    all_three = [job.guard(), job.agent(), *store]
    assert len(all_three) == 3

    wait_until_asleep(job.guard(), *store)
    wait_until_asleep(*all_three, least=SECONDS_TO_COME / 2)

    job.signal(signal.SIGTERM)
    assert job.end(2) == 143


def test_guard_and_agent_need_no_file_of_their_program_any_more(muster):
    """Else they would wait for it in the moment in which it hangs, and they are to act."""
    job = muster.start("--", "sleep", "100")
    both = [job.guard(), job.agent()]

    processes.wait_for_program_in_memory(*both)

    assert all(locked_memory_of(pid) > 0 for pid in both), "memory that is short takes it away"
    job.signal(signal.SIGTERM)
    assert job.end(2) == 143


def test_who_may_lock_no_memory_reads_the_program_all_the_same(muster):
    job = muster.start(
        "--", "sleep", "100", through=["prlimit", "--memlock=0", *NOBODY], cwd="/"
    )
    both = [job.guard(), job.agent()]

    processes.wait_for_program_in_memory(*both)

    assert [locked_memory_of(pid) for pid in both] == [0, 0]
    job.signal(signal.SIGTERM)
    assert job.end(2) == 143


@pytest.fixture
def read(muster, tmp_path, monkeypatch):
    """A job and, for a block, the process beside it that reads the file of its program and gets no answer."""
    copy = tmp_path / "muster"
    shutil.copy(binary(), copy)
    monkeypatch.setenv("MUSTER", str(copy))
    job = muster.start("--", "sleep", "100")
    agent = job.agent()

    @contextlib.contextmanager
    def meanwhile():
        with unanswered(copy):
            wait_until(
                lambda: "muster-files" in [child.name for child in processes.children_of(agent)],
                "a process that reads the program",
            )
            yield job

    return meanwhile


def test_the_program_is_held_when_it_was_read(read):
    with read() as job:
        both = [job.guard(), job.agent()]
        before = [locked_memory_of(pid) for pid in both]
    processes.wait_for_program_in_memory(*both)

    assert before == [0, 0]
    job.signal(signal.SIGTERM)
    assert job.end(2) == 143


def test_a_job_ends_although_its_program_cannot_be_read(read):
    with read() as job:
        job.signal(signal.SIGTERM)
        assert job.end(2) == 143

"""Muster sleeps while the workers work: no polling, no periodic timers but those of `--hang-report`."""

import signal
import sys
from pathlib import Path

import pytest

from support import processes
from support.idleness import ENDLESS, sleeps_for, wait_until_asleep

SECONDS_TO_COME = 60  # for the ranks after the first one
HANG_REPORT = 60  # its default: half of it passes between two looks
RANK = Path(__file__).resolve().parents[1] / "support" / "torch_store.py"


def test_a_wait_with_a_timeout_is_distinguished_from_an_endless_one(muster):
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
    ("options", "least"),
    [
        pytest.param(["--hang-report=0"], ENDLESS, marks=pytest.mark.kernel),
        (["--hang-report=0", "--log-dir=logs", "--console-stall=0.1"], ENDLESS),
        (["--hang-report=0", "--metrics=metrics.prom", "--events=e", "--trace=t", "--console-stall=0.1"], 10),
        ([], HANG_REPORT / 3),
    ],
    ids=["plain", "with-files", "with-a-record", "watched-for-hangs"],
)
def test_an_idle_job_causes_no_wakeups(muster, options, least):
    job = muster.start(
        "--nproc-per-node=4", *options, "--", "sh", "-c", "echo ready; exec sleep 100"
    )
    job.out.wait_for("ready", times=4)

    wait_until_asleep(job.guard(), job.agent(), least=least)

    job.signal(signal.SIGTERM)
    assert job.end(2) == 143


def test_an_idle_store_causes_no_wakeups(muster):
    """But for one look of the agent, a minute after the first rank: there may be ranks that are late."""
    job = muster.start("--store=agent", "--nproc-per-node=2", "--hang-report=0", "--", sys.executable, RANK, "meet", "stay")
    job.out.wait_for("stays at port", times=2)
    store = [one.pid for one in muster.survivors() if one.name == "muster-store"]
    all_three = [job.guard(), job.agent(), *store]
    assert len(all_three) == 3

    wait_until_asleep(job.guard(), *store)
    wait_until_asleep(*all_three, least=SECONDS_TO_COME / 2)

    job.signal(signal.SIGTERM)
    assert job.end(2) == 143

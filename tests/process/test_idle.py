"""While the workers work, muster sleeps: no polling, no ticking."""

import signal
import sys
import time
from pathlib import Path

import pytest

from support import processes
from support.repetitions import default_or_soak

SECONDS = default_or_soak(2, 60)
RANK = Path(__file__).resolve().parents[1] / "support" / "torch_store.py"


@pytest.mark.soak
# The time in which log files have to be there is over before the measurement.
@pytest.mark.parametrize(
    "options", [[], ["--log-dir=logs", "--console-stall=0.1"]], ids=["plain", "with-files"]
)
def test_an_idle_job_wakes_nobody_up(muster, options):
    job = muster.start(
        "--nproc-per-node=4", *options, "--", "sh", "-c", "echo ready; exec sleep 100"
    )
    job.out.wait_for("ready", times=4)
    both = [job.guard(), job.agent()]

    def figures():
        return [
            (processes.look_at(pid).cpu_ticks, processes.context_switches_of(pid)) for pid in both
        ]

    time.sleep(0.3)  # what the start left to do is done by then; the rest is the measurement
    before = figures()
    time.sleep(SECONDS)
    after = figures()

    assert after == before
    job.signal(signal.SIGTERM)
    assert job.end(2) == 143


@pytest.mark.soak
def test_a_store_that_all_ranks_have_met_by_wakes_nobody_up(muster):
    job = muster.start("--store=agent", "--nproc-per-node=2", "--", sys.executable, RANK, "meet", "stay")
    job.out.wait_for("stays at port", times=2)
    store = [one.pid for one in muster.survivors() if one.name == "muster-store"]
    all_three = [job.guard(), job.agent(), *store]
    assert len(all_three) == 3

    time.sleep(0.3)
    before = [processes.context_switches_of(pid) for pid in all_three]
    time.sleep(SECONDS if SECONDS < 60 else 75)  # longer than ranks that are late are waited for
    assert [processes.context_switches_of(pid) for pid in all_three] == before

    job.signal(signal.SIGTERM)
    assert job.end(2) == 143

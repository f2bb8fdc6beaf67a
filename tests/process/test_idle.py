"""While the workers work, muster sleeps: no polling, no ticking."""

import signal
import time

import pytest

from support import processes
from support.repetitions import default_or_soak

SECONDS = default_or_soak(2, 60)


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

"""A disk of one of two nodes hangs: the gang continues, and no two attempts overlap."""

import signal

import pytest

from support.deadlines import wait_until
from support.repetitions import default_or_soak

GRACE = 0.5
LIMIT = GRACE + 2  # seconds from a signal to the end of the job
# The heartbeat timeout is too long for a busy machine to exceed, but an agent that waited for the disk would.
OPTIONS = [f"--grace={GRACE}", "--heartbeat-timeout=60", "--console-stall=0.5"]
TIMES = range(default_or_soak(1, 20))
NODES = (0, 1)  # the leader's, and another one


@pytest.fixture
def start(gang, disk):
    """A job of two nodes; the log files and the consoles of one of them are on the disk."""

    def start_on(node, *options):
        job = gang(2, *OPTIONS, *options, workers=2)
        for other in NODES:
            if other != node:
                job.start(other)
        with open(disk.folder / "console", "wb") as console:
            job.start(node, f"--log-dir={disk.folder}/logs", stdout=console, stderr=console)
        job.wait_for_start()
        log = disk.folder / f"logs/attempt_0/worker_{2 * node}.err"
        wait_until(lambda: log.exists() and log.stat().st_size > 0, f"bytes in {log}")
        return job

    return start_on


@pytest.mark.soak
@pytest.mark.parametrize("_", TIMES)
@pytest.mark.parametrize("node", NODES)
def test_a_stop_of_the_job_waits_for_no_disk(start, disk, node, _):
    job = start(node)
    disk.freeze()

    job.jobs[0].signal(signal.SIGTERM)

    job.assert_codes(143, LIMIT)


@pytest.mark.soak
@pytest.mark.parametrize("_", TIMES)
@pytest.mark.parametrize("node", NODES)
def test_a_restart_waits_for_no_disk_and_no_attempts_meet(start, disk, node, _):
    job = start(node, "--max-restarts=1")
    disk.freeze()

    job.worker_events.end(3, 7)
    job.wait_for_start(attempt=1)
    job.succeed(attempt=1)

    job.worker_events.assert_attempts_never_met()
    assert job.reports()[1 - node]["attempt"] == 1

"""Trainers with PyTorch's data loaders save their checkpoint at a request, which does not end the loaders first."""

import signal

import jobs
import pytest

from support.deadlines import wait_until
from support.gang import free_port
from support.repetitions import default_or_soak

TRAINING = jobs.script("save_with_loaders.py")
REPETITIONS = default_or_soak(2, 20)


@pytest.fixture
def train(launcher, python, tmp_path):
    """Starts one trainer below the words of a runner, and returns when it trains."""

    def start(*options, seconds=0.2, below="exec {}"):
        (tmp_path / "checkpoint").unlink(missing_ok=True)
        line = below.format(f"{python} {TRAINING} {tmp_path}/checkpoint {seconds}")
        job = launcher.start(*options, "--", "sh", "-c", line, report=True)
        job.out.wait_for("training")
        return job

    return start


def assert_saved(job, folder, code):
    assert job.end() == code, job.words()
    assert job.out.text.count("saved") == 1
    assert (folder / "checkpoint").exists()


@pytest.mark.parametrize("below", ["exec {}", "{}; true", "timeout --foreground 600 {}"])
def test_a_trainer_with_loaders_saves_at_sigterm(train, tmp_path, below):
    for _ in range(REPETITIONS):
        job = train(below=below)

        job.signal(signal.SIGTERM)

        assert_saved(job, tmp_path, 143)


@pytest.mark.parametrize("below", ["exec {}", "{}; true"])
def test_a_trainer_with_loaders_saves_at_sigusr1_and_succeeds(train, tmp_path, below):
    for _ in range(REPETITIONS):
        job = train(below=below)

        job.signal(signal.SIGUSR1)

        assert_saved(job, tmp_path, 0)


@pytest.mark.parametrize("name", ["TERM", "USR1"])
def test_a_trainer_with_loaders_saves_when_it_is_suspended(launcher, train, tmp_path, name):
    for _ in range(REPETITIONS):
        job = train(f"--tell-workers-by={name}")

        assert launcher.run("suspend", f"--job={job.guard()}").code == 0

        assert_saved(job, tmp_path, 85)


def test_a_trainer_with_loaders_saves_when_another_node_fails(launcher, train, tmp_path):
    for number in range(REPETITIONS):
        where = ["--nnodes=2", "--master-addr=127.0.0.1", f"--master-port={free_port()}"]
        fail = tmp_path / f"fail-{number}"
        other = launcher.start(
            *where, "--node-rank=1", "--", "sh", "-c", f"until [ -e {fail} ]; do sleep 0.01; done; exit 7"
        )
        job = train(*where, "--node-rank=0")

        fail.touch()

        assert_saved(job, tmp_path, 7)
        assert other.end() == 7


def test_a_trainer_that_gives_up_at_a_second_request_saves_although_two_come(train, tmp_path):
    for _ in range(REPETITIONS):
        job = train(seconds=2, below="{}; true")

        job.signal(signal.SIGTERM)
        job.out.wait_for("asked by SIGTERM")
        # The same signal within a tenth of a second would be no other request.
        wait_until(lambda: job.signal(signal.SIGTERM) or "received again" in job.err.text, "a second request")

        assert_saved(job, tmp_path, 143)

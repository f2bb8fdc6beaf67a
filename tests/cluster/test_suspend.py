"""A suspend notice on any node reaches all nodes, which end alike."""

import json
import re
import signal
import sys

import pytest

from support.muster import ROOT

WITH_MODULE = {"PYTHONPATH": str(ROOT / "python"), "PYTHONDONTWRITEBYTECODE": "1"}
TRAINING = ROOT / "tests" / "workers" / "train_and_save.py"


@pytest.fixture
def trainings(gang, tmp_path):
    """A job of two nodes that waits at step 17 of 40 for a notice."""

    def start(*options, notice=17):
        steps = ["40", *([str(notice)] if notice else [])]
        job = gang(2, *options, workers=2, command=[sys.executable, TRAINING, tmp_path / "checkpoint", *steps])
        job.start_all(env=WITH_MODULE)
        for one in job.jobs.values():
            one.out.wait_for("going on from step", times=2)
        return job

    return start


def status_of(job, node):
    answer = job.muster.run("status", f"--job={job.jobs[node].guard()}", "--json")
    assert answer.code == 0, answer.words()
    return json.loads(answer.out.text)


@pytest.mark.parametrize("node", [0, 1])
def test_status_on_any_node_shows_all_nodes(trainings, node):
    job = trainings()

    document = status_of(job, node)

    assert [one["node"] for one in document["nodes"]] == [0, 1]
    ranks = [worker["rank"] for one in document["nodes"] for worker in one["workers"]]
    assert ranks == [0, 1, 2, 3]
    assert document["missing"] == 0
    job.jobs[node].signal(signal.SIGTERM)
    job.assert_codes(143)


@pytest.mark.parametrize("node", [0, 1])
def test_a_command_on_any_node_suspends_all(trainings, muster, tmp_path, node):
    job = trainings()

    assert muster.run("suspend", f"--job={job.jobs[node].guard()}").code == 0

    job.assert_codes(85)
    for report in job.reports().values():
        assert report["verdict"] == "suspended"
        assert re.fullmatch(r"suspended \(muster suspend\): rank 0 saved [\d.]+ s after the notice", report["reason"])
        assert report["first_failure"] is None
    again = trainings(notice=None)
    again.assert_codes(0)
    undisturbed = muster.run("--", TRAINING, tmp_path / "other", 40, env=WITH_MODULE)
    assert undisturbed.out.lines[-1] in "\n".join(again.jobs[0].out.lines)
    assert "going on from step 17" in again.words()


@pytest.mark.parametrize("node", [0, 1])
def test_a_signal_to_one_node_is_a_notice_for_all(trainings, node):
    job = trainings("--suspend-signal=TERM")

    job.jobs[node].signal(signal.SIGTERM)

    job.assert_codes(85)


def test_each_node_may_get_the_notice_separately(trainings):
    """As under Kubernetes: every pod gets a TERM of its own."""
    job = trainings("--suspend-signal=TERM")

    for one in job.jobs.values():
        one.signal(signal.SIGTERM)

    job.assert_codes(85)


def test_a_notice_before_all_nodes_are_here_ends_the_job(gang, muster):
    job = gang(2, "--suspend-signal=TERM", command=["true"])
    first = job.start(0)
    first.err.wait_for("node 0 of 2")

    first.signal(signal.SIGTERM)

    assert first.end() == 85, first.words()
    assert first.report["verdict"] == "suspended"


def test_a_stop_on_any_node_ends_all(trainings, muster):
    job = trainings("--grace=3600")

    assert muster.run("stop", f"--job={job.jobs[1].guard()}", "--grace=0.5").code == 0

    job.assert_codes(143)


def test_all_nodes_name_the_ranks_that_erred_after_a_notice_by_signal(gang, muster):
    script = (
        "import signal, sys, time\n"
        "signal.signal(signal.SIGUSR1, lambda *_: sys.exit('ValueError: cannot save'))\n"
        "print('ready', flush=True)\n"
        "while True: time.sleep(0.05)\n"
    )
    job = gang(2, "--tell-workers-by=USR1", command=[sys.executable, "-c", script])
    job.start_all()
    for one in job.jobs.values():
        one.out.wait_for("ready")

    assert muster.run("suspend", f"--job={job.jobs[0].guard()}").code == 0

    job.assert_codes(85)
    for one in job.jobs.values():
        assert one.said_about("ended with an error after the notice: ranks 0-1")
        assert "no worker ended with exit code 0 or said that it had saved" in one.said[-1]

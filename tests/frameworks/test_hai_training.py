"""HAI's example with a real model: however it is suspended, it ends with the parameters of an undisturbed run."""

import signal
import time

import jobs
import pytest

from support.deadlines import promise
from support.gang import free_port
from support.hai import MANAGER, TASK, Pod
from support.muster import ROOT
from support.network import Network

TRAINING = ROOT / "tests" / "workers" / "train_as_hai_has_it.py"
OPTIONS = ["--mode=once", "--template-arguments=never"]
PROMISED = 5.0  # seconds from HAI's flag to the end of the job on all nodes


@pytest.fixture
def folders(tmp_path):
    for name in ("disturbed", "calm"):
        (tmp_path / name).mkdir()
    (tmp_path / "calm" / "go").touch()
    return tmp_path


def assert_goes_on(python, folders, run):
    (folders / "disturbed" / "go").touch()
    for folder in ("disturbed", "calm"):
        started = run(folder)
        assert [job.end() for job in started] == [0] * len(started), started[0].words()
        assert f"going on at epoch 0 step {8 if folder == 'disturbed' else 0}\n" in started[0].out.text
    jobs.assert_same_tensors(python, folders / "disturbed" / "final", folders / "calm" / "final")


@pytest.mark.parametrize("pause", [0, 5])
def test_a_suspended_training_resumes_on_two_nodes_of_hai(launcher, python, two_hosts, folders, pause):
    two_hosts.network = Network(two_hosts)
    for index in (0, 1):
        two_hosts.network.add_name(index, MANAGER, two_hosts.address(0))
    pod = Pod(two_hosts, 0, folders, launcher.environment())

    def run(folder):
        place = {"WORLD_SIZE": 2, "MASTER_PORT": free_port(), "MASTER_IP": two_hosts.address(0), "MASTER_ADDR": two_hosts.address(0)}
        program = [*OPTIONS, "--", python, "-B", TRAINING, folder, pause]
        through = [pod.entering, two_hosts.command("exec", "1")]
        return [launcher.start(*program, env={**TASK, **place, "RANK": rank}, through=through[rank], report=True) for rank in (0, 1)]

    try:
        started = run("disturbed")
        started[0].out.wait_for("holding")
        since = pod.suspend()
        codes = [job.end() for job in started]
        took = time.monotonic() - since
        pod.clear()
        assert codes == [85, 85], started[0].words()
        promise("from HAI's flag to the end of all nodes", PROMISED, took)
        assert "saved epoch 0 step 8\n" in started[0].out.text
        assert pod.requests() == [{"source": "receive_suspend_command"}, {"source": "go_suspend"}]
        assert_goes_on(python, folders, run)
    finally:
        pod.end()
        two_hosts.network.heal()


@pytest.mark.parametrize("way", ["SIGTERM", "muster suspend"])
def test_a_suspended_training_resumes_outside_of_hai(launcher, python, folders, way):
    def run(folder, *options):
        line = [*OPTIONS, "--compat-hfai=always", *options, "--", python, "-B", TRAINING, folder, 0]
        return [launcher.start(*line, report=True)]

    (job,) = run("disturbed", *(["--suspend-signal=TERM"] if way == "SIGTERM" else []))
    job.out.wait_for("holding")
    if way == "SIGTERM":
        job.signal(signal.SIGTERM)
    else:
        assert launcher.run("suspend", f"--job={job.guard()}").code == 0

    assert job.end() == 85, job.words()
    assert job.report["verdict"] == "suspended"
    assert_goes_on(python, folders, run)

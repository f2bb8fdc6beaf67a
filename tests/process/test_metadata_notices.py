"""The metadata server of a cloud gives notice that the machine is to be taken away."""

import json
import os
import time
from email.utils import formatdate

import pytest

from support.metadata_server import OWN_NAME, MetadataServer

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, for a network of its own")

HOUR = 3600
# Ends with 0 when it is told, and says what it was told.
SAVES = """echo ready; until [ -e "$MUSTER_SUSPEND_FILE" ]; do sleep 0.02; done; cat "$MUSTER_SUSPEND_FILE" """


def aws_action(seconds):
    moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + seconds))
    return json.dumps({"action": "terminate", "time": moment})


def azure_events(*events):
    return json.dumps({"DocumentIncarnation": 2, "Events": list(events)})


def azure_event(seconds, name=OWN_NAME, kind="Preempt"):
    return {
        "EventId": "602d9444-d2cd-49c7-8624-8643e7171297",
        "EventType": kind,
        "ResourceType": "VirtualMachine",
        "Resources": [name],
        "EventStatus": "Scheduled",
        "NotBefore": formatdate(time.time() + seconds, usegmt=True),
    }


@pytest.fixture
def cloud(muster):
    """Starts the metadata server of a cloud, and jobs in its network."""
    opened = []

    class Cloud:
        def __init__(self, name, listens=True):
            self.name = name
            self.server = MetadataServer(name if listens else "none").__enter__()
            opened.append(self.server)

        def start(self, script, *options):
            options = [f"--watch-notices={self.name}", f"--suspend-timeout={2 * HOUR}", "-v", *options]
            return muster.start(*options, "--", "sh", "-c", script, through=self.server.network)

    yield Cloud
    for server in opened:
        server.__exit__()


def told(job):
    return json.loads(job.out.text.split("ready\n")[1])


@pytest.mark.parametrize(
    ("name", "answer", "least", "most"),
    [
        ("aws", lambda: aws_action(HOUR), HOUR / 2, HOUR - 4),
        ("gcp", lambda: "TRUE", 20, 26),
        ("azure", lambda: azure_events(azure_event(HOUR)), HOUR / 2, HOUR - 4),
        ("azure", lambda: azure_events({"EventType": "Terminate", "NotBefore": ""}), 20, 26),
    ],
    ids=["aws", "gcp", "azure", "azure-without-a-time"],
)
def test_workers_get_a_notice_and_the_job_is_suspended(cloud, name, answer, least, most):
    here = cloud(name)
    job = here.start(SAVES)
    job.out.wait_for("ready")

    here.server.answer(answer())

    assert job.end() == 85, job.words()
    assert told(job)["reason"] == f"a notice of {name}"
    assert least <= told(job)["within"] <= most
    assert f"the job is to be suspended (a notice of {name})" in job.err.text


def test_without_a_notice_the_job_ends_normally(cloud, tmp_path):
    here = cloud("aws")
    here.server.answer("not found", status=404)
    job = here.start(f"until [ -e {tmp_path}/go ]; do sleep 0.02; done; exit 3")
    here.server.questions.wait_for("asked /latest/meta-data/spot/instance-action")

    (tmp_path / "go").touch()

    assert job.end() == 3, job.words()
    assert "metadata" not in job.err.text


def test_without_the_option_no_metadata_server_is_queried(cloud, muster):
    here = cloud("gcp")
    here.server.answer("TRUE")

    job = muster.run("--", "true", through=here.server.network)

    assert job.code == 0, job.words()
    assert here.server.questions.text == "ready\n"


def test_a_metadata_server_that_never_answers_is_ignored(cloud, tmp_path):
    job = cloud("azure").start(f"until [ -e {tmp_path}/go ]; do sleep 0.02; done")
    job.err.wait_for("the metadata server of azure: no answer within 2 s")

    (tmp_path / "go").touch()

    assert job.end() == 0, job.words()


def test_the_end_of_a_job_does_not_wait_for_an_answer(cloud, tmp_path):
    here = cloud("gcp")
    job = here.start(f"until [ -e {tmp_path}/go ]; do sleep 0.02; done")
    here.server.questions.wait_for("asked ")

    (tmp_path / "go").touch()

    assert job.end(1.5) == 0, job.words()


def test_a_missing_metadata_server_is_reported_once(cloud, tmp_path):
    job = cloud("aws", listens=False).start(f"until [ -e {tmp_path}/go ]; do sleep 0.02; done")
    warning = (
        "the metadata server of aws does not answer: cannot connect to 169.254.169.254: "
        "Connection refused; notices are not seen"
    )
    job.err.wait_for(warning)

    (tmp_path / "go").touch()

    assert job.end() == 0, job.words()
    assert job.err.text.count("the metadata server of aws:") == 1


@pytest.mark.parametrize(
    "rubbish",
    [
        {"raw": "\0\xff\xfe\r\n\r\n"},
        {"raw": "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\nTRUE"},
        {"body": "MAYBE \x1b[2J"},
        {"body": "TRUE", "status": 500},
        {"body": "x" * 1_000_000},
    ],
    ids=["no-http", "torn", "another-word", "another-status", "too-long"],
)
def test_an_invalid_answer_is_no_notice_and_reported_once(cloud, rubbish):
    here = cloud("gcp")
    job = here.start(SAVES)
    job.out.wait_for("ready")
    if "raw" in rubbish:
        here.server.answer_raw(rubbish["raw"])
    else:
        here.server.answer(**rubbish)
    job.err.wait_for("the metadata server of gcp: its answer is ")
    assert "to be suspended" not in job.err.text

    here.server.answer("TRUE")

    assert job.end() == 85, job.words()
    assert job.err.text.count("the metadata server of gcp:") == 1
    assert "\x1b[2J" not in job.err.text


def test_azure_withdraws_a_notice(cloud):
    here = cloud("azure")
    script = 'while [ -e "$MUSTER_SUSPEND_FILE" ]; do sleep 0.02; done; exit 4'
    job = here.start(f"{SAVES}; echo told; {script}")
    job.out.wait_for("ready")
    here.server.answer(azure_events(azure_event(HOUR)))
    job.out.wait_for("told")

    here.server.answer(azure_events())

    assert job.end() == 4, job.words()
    assert "the notice (a notice of azure) is withdrawn: the job goes on" in job.err.text


def test_events_of_other_machines_and_short_ones_are_no_notice(cloud):
    here = cloud("azure")
    job = here.start(SAVES)
    job.out.wait_for("ready")
    here.server.answer(azure_events(azure_event(30, name="trainer_4"), azure_event(30, kind="Freeze")))
    here.server.questions.wait_for("asked /metadata/instance/compute/name")

    here.server.answer(azure_events(azure_event(HOUR, name=OWN_NAME.upper())))

    assert job.end() == 85, job.words()
    assert told(job)["within"] > HOUR / 2


def test_an_unknown_cloud_is_refused(muster):
    job = muster.run("--watch-notices=ibm", "--", "true")

    assert job.code == 64
    assert "--watch-notices is 'ibm', expected aws, gcp or azure" in job.err.text

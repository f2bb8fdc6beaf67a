"""A node that fails again by itself is named, gives its place to a spare, and is remembered for later jobs."""

import os
import re
import signal
import subprocess

import pytest

from support.deadlines import wait_until
from support.frozen import unanswered, unserved
from support.wire import is_open

BAD = 1
ECC = "RuntimeError: CUDA error: uncorrectable ECC error encountered"
RESTARTING = ["--max-restarts=5", "--restart-backoff=0", "--no-progress-limit=0"]
SUSPECT = f"node {BAD} ("


@pytest.fixture
def start(gang, worker, worker_events):
    """Three nodes, of which node 1 says these words when its worker ends, and `spares` more. Each has a machine of its own."""

    def make(words, *options, spares=0, bad_machine="gpu-bad"):
        agents = gang(3, "-v", *RESTARTING, *options)
        agents.start(0, "--machine=gpu-0")
        wait_until(lambda: is_open(agents.port), "the leader to listen")
        speaking = ["sh", "-c", 'words=$1; shift; "$@"; code=$?; echo "$words" >&2; exit $code', "sh", words]
        command = [*speaking, worker("event_worker"), worker_events.folder]
        agents.start(1, f"--machine={bad_machine}", rank=None, command=command, name="bad")
        agents.jobs[0].err.wait_for("is here: 2 of 3 nodes")
        agents.start(2, "--machine=gpu-2", rank=None)
        if "--preflight=strict" not in options:
            agents.wait_for_start(3)
        for spare in range(spares):
            agents.start(3 + spare, f"--machine=gpu-{3 + spare}", rank=None)
            agents.jobs[3 + spare].err.wait_for("this node is a spare")
        return agents

    return make


def fail(agents, attempt, rank=BAD, code=1):
    agents.wait_for_start(3, attempt)
    agents.worker_events.end(rank, code, attempt)


def succeed(agents, attempt, **exceptions):
    agents.wait_for_start(3, attempt)
    agents.worker_events.end_all(3, 0, attempt)
    agents.assert_codes(0, **exceptions)


def lines_about(job, words):
    return [line for line in job.said if words in line]


def test_a_spare_has_the_seat_of_a_node_whose_device_fails_twice(start):
    agents = start(ECC, "--node-failures=2", spares=1)
    fail(agents, 0)
    fail(agents, 1)
    agents.wait_for_start(3, 2)
    succeed(agents, 2, node_bad=69)

    reasons = [f"in attempt {attempt} ({ECC})" for attempt in (0, 1)]
    for name in (0, "bad", 2, 3):
        job = agents.jobs[name]
        [suspect] = lines_about(job, "is suspect")
        assert re.fullmatch(rf"node 1 \(\S+\) is suspect: it has failed by itself {re.escape(' and '.join(reasons))}", suspect)
        assert lines_about(job, ") is left out, and a spare has its seat: it has failed by itself in attempt 0"), job.words()
    last = agents.jobs["bad"].said[-1]
    assert last.startswith("exit code 69: node 1 (") and last.endswith("; start the job again without unfit nodes"), last
    for name in (0, 2, 3):
        [suspect] = agents.jobs[name].report["suspects"]
        assert suspect["reasons"] == reasons and suspect["left_out"] and suspect["failures"] == 2


def test_without_the_option_the_node_is_named_and_stays(start, muster):
    agents = start(ECC, spares=1)
    fail(agents, 0)
    fail(agents, 1)
    agents.wait_for_start(3, 2)
    status = muster.run("status", f"--job={agents.jobs[0].guard()}").out.text
    assert re.search(r"^node 1 \(\S+\) is suspect: it has failed by itself in attempt 0 \(", status, re.M), status
    fail(agents, 2)
    succeed(agents, 3)

    for job in agents.jobs.values():
        assert len(lines_about(job, "is suspect")) == 1, job.words()
        assert not lines_about(job, "left out") and not lines_about(job, "takes part again")
        [suspect] = job.report["suspects"]
        assert not suspect["left_out"] and suspect["failures"] == 3


def test_without_a_spare_the_job_goes_on_with_the_node(start):
    agents = start(ECC, "--node-failures=2")
    fail(agents, 0)
    fail(agents, 1)
    succeed(agents, 2)

    [said] = lines_about(agents.jobs[0], "takes part again")
    assert said.startswith("node 1 (") and said.endswith("no spare can have its seat"), said


@pytest.mark.parametrize(
    "words",
    ["torch.OutOfMemoryError: CUDA out of memory.", "ValueError: x", "Watchdog caught collective operation timeout"],
    ids=["memory", "exception", "nccl-timeout"],
)
def test_a_program_that_fails_twice_makes_no_node_suspect(start, tmp_path, words):
    bad_nodes = tmp_path / "bad-nodes"
    agents = start(words, "--node-failures=1", f"--bad-nodes={bad_nodes}", spares=1)
    fail(agents, 0)
    fail(agents, 1, code=-signal.SIGKILL)
    succeed(agents, 2)

    assert not bad_nodes.exists()
    for job in agents.jobs.values():
        assert not lines_about(job, "suspect") and job.report["suspects"] == [], job.words()


def test_a_later_job_hears_of_it(start, tmp_path, worker_events):
    bad_nodes = tmp_path / "bad-nodes"
    bad_nodes.write_text("# ours\ngpu-old 2001-01-01T00:00:00Z\nrub?bish\n")
    agents = start(ECC, f"--bad-nodes={bad_nodes}")
    fail(agents, 0)
    fail(agents, 1)
    succeed(agents, 2)

    assert lines_about(agents.jobs[0], "has 1 line that name no machine")
    comment, broken, entry = bad_nodes.read_text().splitlines()
    assert (comment, broken) == ("# ours", "rub?bish")
    assert re.fullmatch(rf"gpu-bad \S+Z \S+Z in attempt 0 \({ECC}\) and in attempt 1 \({ECC}\)", entry), entry

    worker_events.forget()
    again = start(ECC, f"--bad-nodes={bad_nodes}", spares=1)
    succeed(again, 0)
    for name in (0, "bad", 2):
        [line] = lines_about(again.jobs[name], "is listed in")
        assert re.match(rf"node 1 \(\S+\) is listed in '{bad_nodes}' until \S+Z: in attempt 0 \(", line), line

    worker_events.forget()
    strict = start(ECC, f"--bad-nodes={bad_nodes}", "--preflight=strict", "--max-restarts=0")
    strict.assert_codes(69)
    assert worker_events.all() == []
    assert all("is listed in" in job.said[-1] for job in strict.jobs.values())


def test_strict_gives_the_place_of_a_listed_node_to_a_spare(start, tmp_path):
    bad_nodes = tmp_path / "bad-nodes"
    bad_nodes.write_text("gpu-bad\n")
    agents = start(ECC, f"--bad-nodes={bad_nodes}", "--preflight=strict")
    agents.start(3, "--machine=gpu-3", rank=None)
    succeed(agents, 0, node_bad=69)

    assert agents.jobs[0].said_about("node 1,", "left: it failed in an earlier job")
    assert bad_nodes.read_text() == "gpu-bad\n"


@pytest.mark.parametrize("state", ["frozen", "full"])
def test_a_list_on_a_broken_disk_holds_nothing_up(start, disk, state):
    bad_nodes = disk.folder / "bad-nodes"
    bad_nodes.write_text("gpu-other\n")
    if state == "frozen":
        disk.freeze()
    else:
        disk.fill()
    agents = start(ECC, f"--bad-nodes={bad_nodes}")
    fail(agents, 0)
    fail(agents, 1)
    succeed(agents, 2)
    disk.thaw()

    [said] = lines_about(agents.jobs[0], "cannot write")
    assert said.endswith("its file system does not answer, or another job has it locked" if state == "frozen" else "No space left on device"), said
    assert bad_nodes.read_text() == "gpu-other\n"


@pytest.mark.parametrize("hung", ["file", "mount"])
def test_a_list_that_does_not_answer_holds_no_start_up(start, tmp_path, hung):
    folder = tmp_path / "list"
    folder.mkdir()
    bad_nodes = folder / "bad-nodes"
    bad_nodes.write_text("gpu-bad\n")
    with unanswered(bad_nodes) if hung == "file" else unserved(folder, "sshfs"):
        agents = start(ECC, f"--bad-nodes={bad_nodes}")
        succeed(agents, 0)

    assert agents.jobs[0].said_about(
        f"cannot read '{bad_nodes}': its file system does not answer; going on without the bad nodes of earlier jobs"
    )
    assert not lines_about(agents.jobs[0], "is listed in")


def test_the_commands_of_the_page_leave_out_what_has_not_ended(tmp_path):
    page = (os.path.dirname(__file__) + "/../../docs/preflight.md")
    with open(page) as file:
        blocks = re.findall(r"```sh\n(.*?)```", file.read().partition("### For later jobs")[2], re.S)
    (tmp_path / "bad-nodes").write_text(
        "# a comment\ngpu-1 2999-01-01T00:00:00Z 2998-12-25T00:00:00Z lost\n\ngpu-2\ngpu-3 2001-01-01T00:00:00Z x\n"
    )
    sbatch = tmp_path / "sbatch"
    sbatch.write_text('#!/bin/sh\necho "$@"\n')
    sbatch.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    said = [
        subprocess.run(["sh", "-c", block], cwd=tmp_path, env={"PATH": path}, check=True, capture_output=True, text=True).stdout
        for block in blocks
    ]
    assert said == [
        "--exclude=gpu-1,gpu-2 job.sh\n",
        "{key: kubernetes.io/hostname, operator: NotIn, values: [gpu-1,gpu-2]}\n",
    ]

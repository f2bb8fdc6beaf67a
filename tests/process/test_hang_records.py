"""What is kept of a hang: stacks in the log folder, an object in the report, a command of the user (docs/hangs.md)."""

import re
import signal
import sys
from pathlib import Path

import pytest

from support import waiting_ranks
from support.deadlines import wait_until

# Rank 1 is stopped as soon as it waits; the others wait, too.
ONE_IS_STOPPED = """
import os, signal
print(os.getpid(), flush=True)
if os.environ["RANK"] == "1":
    os.kill(os.getpid(), signal.SIGSTOP)
all_reduce()
"""


@pytest.fixture
def program(tmp_path):
    return ["--no-python", *waiting_ranks.program(tmp_path, ONE_IS_STOPPED)]


IGNORES_TERM = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready', flush=True); signal.pause()"
# A background process of the command would outlive it, and keeps its output open.
ENDLESS = "echo began; echo $$ > pid; sleep 600 & echo $! > below; wait"


def test_the_command_runs_once_with_what_is_known(muster, program):
    command = 'echo "$MUSTER_HANG_NODE; $MUSTER_HANG_RANKS; $MUSTER_HANG_PIDS; $MINE"; cat; read line || echo no input; muster_is_found'
    job = muster.start("--nproc-per-node=3", "--hang-report=1", f"--on-hang={command}", *program, env={"MINE": "mine"})

    job.err.wait_for("of --on-hang 'echo")
    job.err.wait_for("ended with exit code 127, expected exit code 0")
    found = re.search(r"on-hang: 0; 1; (\d+),(\d+),(\d+); mine\n", job.err.text)
    assert found, job.words()
    said = dict(re.findall(r"^\[(\d)\] (\d+)$", job.out.text, re.MULTILINE))
    assert found.groups() == (said["0"], said["1"], said["2"])
    assert "on-hang: no input" in job.err.text
    job.signal(signal.SIGTERM)
    assert job.end() == 143
    assert job.err.text.count("on-hang: no input") == 1


def test_the_output_of_the_command_is_in_the_log_folder(muster, tmp_path, program):
    job = muster.start(
        "--nproc-per-node=2", "--hang-report=1", f"--log-dir={tmp_path}/logs", "--on-hang=echo out; echo err >&2", *program
    )
    file = tmp_path / "logs/attempt_0/on-hang.log"

    wait_until(lambda: file.exists() and file.read_text() == "out\nerr\n", "the output of the command")
    job.signal(signal.SIGTERM)
    assert job.end() == 143
    assert "on-hang" not in job.err.text


def test_the_end_of_the_job_ends_the_command(muster, tmp_path, program):
    job = muster.start("--nproc-per-node=2", "--hang-report=1", f"--on-hang=cd '{tmp_path}'; {ENDLESS}", *program)

    wait_until(lambda: (tmp_path / "below").exists() and (tmp_path / "below").read_text(), "the command to run")
    job.signal(signal.SIGTERM)
    assert job.end() == 143
    pids = [(tmp_path / name).read_text().strip() for name in ("pid", "below")]
    wait_until(lambda: not any(Path("/proc", pid).exists() for pid in pids), "the command to be gone")
    assert "on-hang: began" in job.err.text, "what it has said so far"


def test_a_report_and_an_answer_are_kept_in_the_log_folder(muster, tmp_path, program):
    job = muster.start("--nproc-per-node=3", "--hang-report=1", f"--log-dir={tmp_path}/logs", *program)
    job.err.wait_for("2 of 3 ranks wait in all_reduce for rank 1")
    assert muster.run("stacks", f"--job={job.guard()}").code == 0
    job.signal(signal.SIGTERM)
    assert job.end() == 143

    time = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ "
    kept = (tmp_path / "logs/attempt_0/stacks.txt").read_text()
    whys = re.findall(rf"^{time}(.*)\n", kept, re.MULTILINE)
    assert re.fullmatch(r"the job has not moved for \d+ s", whys[0]), kept
    assert whys[1:] == ["muster stacks"]
    assert kept.count("ranks 0, 2: state S") == kept.count("2 of 3 ranks wait in all_reduce for rank 1") == 2


def test_a_look_before_a_kill_is_kept_in_the_log_folder(muster, tmp_path):
    job = muster.start(
        *["--nproc-per-node=2", "--grace=0.3", f"--log-dir={tmp_path}/logs"], *["--", sys.executable, "-c", IGNORES_TERM]
    )
    wait_until(lambda: job.out.text.count("ready") == 2, "both workers")
    job.signal(signal.SIGTERM)

    assert job.end() == 143
    kept = (tmp_path / "logs/attempt_0/stacks.txt").read_text()
    assert re.match(r"\S+ ranks 0-1 ignore SIGTERM\nranks? 0", kept), kept


def test_a_job_without_log_files_keeps_nothing(muster, tmp_path, program):
    job = muster.start("--nproc-per-node=2", "--hang-report=1", *program, cwd=tmp_path)
    job.err.wait_for("has not moved")
    job.signal(signal.SIGTERM)

    assert job.end() == 143
    assert not list(tmp_path.rglob("stacks*"))


def test_the_report_of_a_hang_has_the_last_stacks(muster, program):
    job = muster.run("--nproc-per-node=3", "--hang-report=0", "--hang-timeout=2", "--grace=5", *program, report=True)

    assert job.code == 86, job.words()
    hang = job.report["hang"]
    assert re.fullmatch(r"the job has not moved for \d+ s", hang["why"])
    assert hang["verdict"][0] == "2 of 3 ranks wait in all_reduce for rank 1"
    assert [group["ranks"] for group in hang["stacks"]] == [[0, 2], [1]]
    assert hang["quiet_s"] >= 2


def test_the_report_of_a_job_that_was_stopped_while_it_stood_has_them_too(muster, program):
    job = muster.start("--nproc-per-node=3", "--hang-report=1", *program, report=True)
    job.err.wait_for("has not moved")
    job.signal(signal.SIGINT)

    assert job.end() == 130
    assert [group["ranks"] for group in job.report["hang"]["stacks"]] == [[0, 2], [1]]


def test_the_report_of_another_failure_has_none(muster):
    assert muster.run("--nproc-per-node=2", "--", "false", report=True).report["hang"] is None

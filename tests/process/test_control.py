"""Control of a running job: status, stop and suspend, by commands and by clients of its socket."""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from support.deadlines import HANG, limit_of, promise, wait_until
from support.muster import ROOT, binary

WITH_MODULE = {"PYTHONPATH": str(ROOT / "python"), "PYTHONDONTWRITEBYTECODE": "1"}
TRAINING = ROOT / "tests" / "workers" / "train_and_save.py"
ANSWERS_NOTHING = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready', flush=True); time.sleep(600)"
TELLS_ITS_SOCKET = "import os, time; print(os.environ['MUSTER_CONTROL_SOCKET'], flush=True); time.sleep(600)"


@pytest.fixture
def command(muster):
    """`muster status` and the like, about one job."""

    def run(job, name, *options):
        return muster.run(name, f"--job={job.guard()}", *options)

    return run


@pytest.fixture
def listening(muster):
    """A job with the path of its socket."""
    job = muster.start("--", sys.executable, "-c", TELLS_ITS_SOCKET)
    job.out.wait_for("control")
    yield job, job.out.lines[0]
    job.signal(signal.SIGTERM)
    assert job.end() == 143, job.words()


def connect(path):
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(limit_of(HANG))
    client.connect(path)
    return client


def ask(path, line):
    """The answer to one line, as it came."""
    with connect(path) as client:
        client.sendall(line)
        with client.makefile("rb") as answers:
            return answers.readline()


def status_of(command, job):
    answer = command(job, "status", "--json")
    assert answer.code == 0, answer.words()
    return json.loads(answer.out.text)


# --- Commands ------------------------------------------------------------------------------------


def test_the_status_shows_each_worker(muster, command, worker):
    job = muster.start("--nproc-per-node=2", "--job-id=train", "--", worker("echo_signals"), 3)
    job.out.wait_for("ready", times=2)

    document = status_of(command, job)
    table = command(job, "status").out.lines

    assert document["job"]["id"] == "train"
    assert document["missing"] == 0
    (node,) = document["nodes"]
    assert (node["node"], node["state"], node["attempt"], node["pid"]) == (0, "running", 0, job.pid)
    assert [(one["rank"], one["role"], one["state"]) for one in node["workers"]] == [
        (0, "worker", "running"),
        (1, "worker", "running"),
    ]
    for one in node["workers"]:
        assert os.path.exists(f"/proc/{one['pid']}")
        assert one["memory_bytes"] > 0
        assert one["output_age_s"] >= 0
        assert "step" not in one
    assert re.match(r"job train, since \d+s, 1 node, 2 of 2 workers running, ", table[0])
    assert table[2].split()[:6] == ["NODE", "HOST", "RANK", "ROLE", "STATE", "PID"]
    assert len(table) == 5
    job.signal(signal.SIGTERM)
    assert job.end() == 143


def test_the_status_shows_progress_reported_by_a_program(muster, command, tmp_path):
    job = muster.start("--", TRAINING, tmp_path / "checkpoint", 100, 7, env=WITH_MODULE)
    job.out.wait_for("going on")

    def step():
        (one,) = status_of(command, job)["nodes"][0]["workers"]
        return one if one.get("step") == 7 else None

    one = wait_until(step, "step 7")
    assert one["heartbeat_age_s"] >= 0
    assert one["numbers"].keys() == {"weight"}
    job.signal(signal.SIGTERM)
    assert job.end() == 143


def test_a_stop_ends_the_job_as_a_signal_does(muster, command, worker):
    job = muster.start("--", worker("echo_signals"), 3, report=True)
    job.out.wait_for("ready")

    assert command(job, "stop").code == 0

    assert job.end() == 143
    assert job.report["verdict"] == "stopped"
    assert re.fullmatch(rf"stopped by SIGTERM: muster stop \(user {os.geteuid()}, pid \d+\)", job.report["reason"])
    assert "got TERM" in job.out.lines


def test_a_stop_may_shorten_the_grace(muster, command):
    job = muster.start("--grace=3600", "--", sys.executable, "-c", ANSWERS_NOTHING)
    job.out.wait_for("ready")

    assert command(job, "stop", "--grace=0").code == 0

    assert job.end() == 143


def test_a_suspended_job_resumes_from_its_checkpoint(muster, command, tmp_path):
    """The same final parameters, bit for bit, as those of a run that nobody disturbed."""
    undisturbed = muster.run("--", TRAINING, tmp_path / "other", 40, env=WITH_MODULE)
    job = muster.start(
        "--nproc-per-node=2", "--", TRAINING, tmp_path / "checkpoint", 40, 17, env=WITH_MODULE, report=True
    )
    job.out.wait_for("going on from step 0", times=2)

    done = command(job, "suspend", "--reason=rack 7")

    assert done.code == 0
    assert re.fullmatch(
        r"the workers have [\d.]+ s to save; a file was written and the flag set.*\n", done.out.text
    )
    assert job.end() == 85, job.words()
    assert job.report["verdict"] == "suspended"
    assert re.fullmatch(
        r"suspended \(muster suspend: rack 7\): rank 0 saved [\d.]+ s after the notice", job.report["reason"]
    )
    assert job.report["first_failure"] is None
    again = muster.run("--", TRAINING, tmp_path / "checkpoint", 40, env=WITH_MODULE)
    assert again.code == 0
    assert re.fullmatch(r"going on from step [1-9]\d*", again.out.lines[0])
    assert again.out.lines[-1] == undisturbed.out.lines[-1]


def test_a_notice_may_be_withdrawn(muster, command, tmp_path):
    script = (
        "import os, time\n"
        "file = os.environ['MUSTER_SUSPEND_FILE']\n"
        "print('ready', flush=True)\n"
        "while not os.path.exists(file): time.sleep(0.01)\n"
        "print('told', flush=True)\n"
        "while os.path.exists(file): time.sleep(0.01)\n"
        "print('going on', flush=True)\n"
    )
    job = muster.start("--", sys.executable, "-c", script)
    job.out.wait_for("ready")
    assert command(job, "suspend", "--cancel").code == 75
    assert command(job, "suspend").code == 0
    job.out.wait_for("told")
    assert command(job, "suspend").code == 0

    withdrawn = command(job, "suspend", "--cancel")

    assert withdrawn.out.text == "the notice is withdrawn: the job goes on\n"
    assert job.end() == 0, job.words()
    assert "going on" in job.out.lines


def test_a_worker_ended_by_a_withdrawn_notice_has_failed(muster, command):
    script = (
        "import os, signal, time\n"
        "def told(*_):\n"
        "    print('told', flush=True)\n"
        "    if os.environ['RANK'] == '1': os._exit(9)\n"
        "signal.signal(signal.SIGUSR1, told)\n"
        "print('ready', flush=True)\n"
        "while True: time.sleep(0.05)\n"
    )
    job = muster.start("--nproc-per-node=2", "--tell-workers-by=USR1", "--", sys.executable, "-c", script, report=True)
    job.out.wait_for("ready", times=2)
    assert command(job, "suspend").code == 0
    job.out.wait_for("told")

    def one_has_ended():
        workers = status_of(command, job)["nodes"][0]["workers"]
        return [one["state"] for one in workers].count("running") == 1

    wait_until(one_has_ended, "rank 1 to have ended")

    assert command(job, "suspend", "--cancel").code == 0

    assert job.end() == 9, job.words()
    assert job.report["first_failure"]["global_rank"] == 1


def test_a_frozen_agent_that_misses_a_notice_is_killed(muster):
    job = muster.start("--suspend-signal=TERM", "--grace=1", "--", sys.executable, "-c", ANSWERS_NOTHING)
    job.out.wait_for("ready")
    os.kill(job.agent(), signal.SIGSTOP)

    job.signal(signal.SIGTERM)

    assert job.end() == 69, job.words()


def test_a_program_that_never_answers_is_killed_at_the_deadline(muster, command):
    job = muster.start("--grace=3600", "--", sys.executable, "-c", ANSWERS_NOTHING, report=True)
    job.out.wait_for("ready")

    assert command(job, "suspend", "--within=0.2").code == 0

    assert job.end() == 85
    assert "nobody had saved or ended" in job.report["reason"]


def test_a_job_that_ends_with_zero_after_a_notice_is_suspended(muster, command):
    script = (
        "import os, time\n"
        "print('ready', flush=True)\n"
        "while not os.path.exists(os.environ['MUSTER_SUSPEND_FILE']): time.sleep(0.01)\n"
        "raise SystemExit(int(os.environ['RANK']))\n"  # rank 1 fails because rank 0 has gone
    )
    job = muster.start("--nproc-per-node=2", "--", sys.executable, "-c", script, report=True)
    job.out.wait_for("ready", times=2)

    assert command(job, "suspend").code == 0

    assert job.end() == 85, job.words()
    assert job.report["first_failure"] is None
    assert job.said[-1].endswith("suspended after a notice; start the job again to go on from its last checkpoint")


def test_a_failure_after_a_notice_counts_where_no_worker_succeeded(muster, command):
    script = (
        "import os, time\n"
        "print('ready', flush=True)\n"
        "while not os.path.exists(os.environ['MUSTER_SUSPEND_FILE']): time.sleep(0.01)\n"
        "raise SystemExit(9)\n"
    )
    job = muster.start("--", sys.executable, "-c", script, report=True)
    job.out.wait_for("ready")

    assert command(job, "suspend").code == 0

    assert job.end() == 9, job.words()
    assert job.report["first_failure"]["global_rank"] == 0


def test_a_program_may_suspend_its_job(muster):
    job = muster.run("--", sys.executable, "-c", "import muster; muster.go_suspend()", env=WITH_MODULE, report=True)

    assert job.code == 85, job.words()
    assert "rank 0 saved its work and asked for it" in job.report["reason"]


def test_a_rank_that_does_not_exist_has_saved_nothing(listening):
    _, path = listening

    assert b"the job has no rank 1" in ask(path, b'{"control":1,"request":"saved","rank":1}\n')


# --- Signals -------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1])
def test_a_signal_may_be_a_notice(muster, tmp_path, number):
    name = number.name.removeprefix("SIG")
    job = muster.start(
        f"--suspend-signal={name}", "--", TRAINING, tmp_path / "checkpoint", 40, 17, env=WITH_MODULE, report=True
    )
    job.out.wait_for("going on")

    job.signal(number)

    assert job.end() == 85, job.words()
    assert job.report["reason"].startswith(f"suspended (SIG{name}): rank 0 saved ")


def test_time_to_save_after_a_signal_is_less_than_the_grace(muster, worker):
    job = muster.start("--suspend-signal=TERM", "--grace=30", "--suspend-timeout=3600", "--", worker("echo_signals"), 3)
    job.out.wait_for("ready")

    job.signal(signal.SIGTERM)

    job.err.wait_for("the workers have 26.00 s to save")
    job.signal(signal.SIGINT)
    assert job.end() == 130


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1])
def test_workers_may_get_a_notice_by_a_signal(muster, command, worker, number):
    name = number.name.removeprefix("SIG")
    job = muster.start(f"--tell-workers-by={name}", "--", worker("echo_signals"), 3, report=True)
    job.out.wait_for("ready")

    assert command(job, "suspend", "--within=1").code == 0

    assert job.end() == 85, job.words()
    assert f"got {name}" in job.out.lines
    assert job.report["first_failure"] is None


CATCHES_IT_LATER = """
import os, signal, sys, time
print("ready", flush=True)
while not os.path.exists(sys.argv[1]):
    time.sleep(0.01)
signal.signal(signal.SIGUSR1, lambda *_: sys.exit(0))
print("catches it", flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize(
    ("codes", "last", "shown"),
    [
        ((0, None), "start the job again to go on from its last checkpoint", "succeeded: rank 0"),
        ((3, None), "no worker ended with exit code 0 or said that it had saved", "ended with an error after the notice: rank 0"),
        ((0, 1), "start the job again to go on from its last checkpoint", "ended with an error after the notice: rank 1"),
        ((3, 1), "no worker ended with exit code 0 or said that it had saved", "ended with an error after the notice: ranks 0-1"),
        ((143, 143), "start the job again to go on from its last checkpoint", " s after the notice"),
    ],
)
def test_the_report_tells_who_ended_well_after_a_notice_by_signal(muster, command, codes, last, shown):
    script = (
        "import os, signal, sys, time\n"
        f"code = {codes}[int(os.environ['RANK'])]\n"
        "def told(*_):\n"
        "    print('told', flush=True)\n"
        "    if code is not None: sys.exit(code)\n"
        "signal.signal(signal.SIGUSR1, told)\n"
        "print('ready', flush=True)\n"
        "while True: time.sleep(0.05)\n"
    )
    job = muster.start("--nproc-per-node=2", "--tell-workers-by=USR1", "--", sys.executable, "-c", script, report=True)
    job.out.wait_for("ready", times=2)

    assert command(job, "suspend", "--within=5").code == 0

    assert job.end() == 85, job.words()
    assert last in job.said[-1], job.words()
    assert any(line.endswith(shown) for line in job.said), job.words()


def test_a_signal_that_would_end_a_worker_is_not_sent(muster, command):
    script = "import time; print('ready', flush=True); time.sleep(600)"
    job = muster.start("--nproc-per-node=2", "--tell-workers-by=USR1", "--", sys.executable, "-c", script, report=True)
    job.out.wait_for("ready", times=2)

    done = command(job, "suspend", "--within=1")

    assert done.code == 0
    assert "no program of this node catches SIGUSR1 yet" in done.out.text
    job.err.wait_for("ranks 0-1 do not catch SIGUSR1 yet, which would end them: muster sends it once there is a handler")
    assert job.end() == 85, job.words()
    assert "nobody had saved or ended" in job.report["reason"], "they lived until the deadline"
    assert "suspended, but no worker ended with exit code 0 or said that it had saved" in job.said[-1]


def test_a_worker_that_catches_the_signal_later_gets_it_then(muster, command, tmp_path):
    job = muster.start("--tell-workers-by=USR1", "--", sys.executable, "-c", CATCHES_IT_LATER, tmp_path / "go", report=True)
    job.out.wait_for("ready")
    assert command(job, "suspend").code == 0
    job.err.wait_for("rank 0 does not catch SIGUSR1")

    (tmp_path / "go").touch()

    assert job.end() == 85, job.words()
    assert "all processes" in job.report["reason"]


def test_suspend_says_how_the_workers_were_told(muster, command):
    silent = muster.start("--", sys.executable, "-c", "print('ready', flush=True); input()", stdin=subprocess.PIPE)
    asking = muster.start(
        "--", sys.executable, "-c",
        "import muster, time; muster.receive_suspend_command(); print('ready', flush=True); time.sleep(600)",
        env=WITH_MODULE,
    )
    for job in (silent, asking):
        job.out.wait_for("ready")

    assert "no worker of this node has asked through the library yet" in command(silent, "suspend", "--within=0.2").out.text
    assert "a worker of this node asks for it" in command(asking, "suspend", "--within=0.2").out.text
    for job in (silent, asking):
        assert job.end() == 85, job.words()


def test_the_status_lists_the_jobs_where_several_run(muster, tmp_path):
    (tmp_path / "folder").mkdir()
    endless = ("--", "sh", "-c", "exec sleep 600", "sh")
    one = muster.start("--job-id=train", "--nproc-per-node=2", *endless, "--token=secret", cwd=tmp_path / "folder")
    other = muster.start(*endless)
    # TMPDIR of the test, where another test's jobs are not.
    jobs = {}

    def both_are_listed():
        answer = muster.run("status", "--json")
        assert answer.code == 0, answer.words()
        jobs.update({job["pid"]: job for job in json.loads(answer.out.text).get("jobs", [])})
        return {one.guard(), other.guard()} <= {pid for pid, job in jobs.items() if job["state"] == "running"}

    wait_until(both_are_listed, lambda: f"both jobs in {jobs}")

    listed = jobs[one.guard()]
    assert (listed["id"], listed["nodes"]) == ("train", 1)
    assert listed["program"] == "sh -c exec sleep 600 sh --token=***"
    assert listed["folder"] == str(tmp_path / "folder")
    table = muster.run("status").out.lines
    assert re.match(r"JOB +PID +STATE +NODES +SINCE +PROGRAM +FOLDER$", table[0])
    assert any(re.match(rf"train +{one.guard()} +running +1 +\S+ +sh -c exec sleep 600", row) for row in table)
    choice = muster.run("stop")
    assert choice.code == 64, "one has to be named"
    assert re.search(r"jobs run here; choose one with --job PID:$", choice.said[0])
    assert any(re.match(rf"train +{one.guard()} +running +1 +\S+ +sh -c exec sleep 600 sh --token", row) for row in choice.said)
    for job in (one, other):
        job.signal(signal.SIGTERM)
        job.end()


def test_a_job_that_does_not_answer_hides_no_other_one(muster, worker):
    """Else 'muster stop' for the silent job would end the healthy one."""
    healthy, silent = (muster.start("--", worker("echo_signals"), 3) for _ in range(2))
    for job in (healthy, silent):
        job.out.wait_for("ready")
    agent = silent.agent()
    os.kill(agent, signal.SIGSTOP)
    try:
        listed = {job["pid"]: job for job in json.loads(muster.run("status", "--json").out.text)["jobs"]}
        assert listed[silent.guard()]["state"] == "does not answer"
        assert listed[healthy.guard()]["state"] == "running"
        listed = muster.run("status").out.text
        assert re.search(rf"^- +{silent.guard()} +does not answer +- ", listed, re.MULTILINE)
        assert listed.endswith("\nA job that does not answer ends by 'kill PID', also one that stands still\n")
        for command in ("stop", "suspend", "stacks"):
            choice = muster.run(command)
            assert choice.code == 64, choice.words()
            assert any(re.match(rf"- +{silent.guard()} +does not answer +- ", row) for row in choice.said), choice.words()
    finally:
        os.kill(agent, signal.SIGCONT)
    assert muster.run("stop", f"--job={silent.guard()}").code == 0
    assert (silent.end(), healthy.process.poll()) == (143, None)
    healthy.signal(signal.SIGTERM)
    assert healthy.end() == 143


def test_what_a_dead_muster_has_left_is_no_job(muster, tmp_path):
    (tmp_path / "muster_dead").mkdir()
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(tmp_path / "muster_dead" / "control"))
        left.listen()

    job = muster.run("status", "--job=nobody")

    assert job.code == 75
    silent = [line for line in job.err.text.splitlines() if "does not answer" in line]
    assert all(re.search(r"\d  does not answer", line) for line in silent), "a job of another test, which stands still, has a pid"
    assert "muster_dead" not in job.err.text


def test_two_agents_of_one_job_are_one_job_whatever_they_call_the_machine(muster, port):
    nodes = [
        muster.start(
            "--nnodes=2", f"--node-rank={node}", f"--master-addr={name}", f"--gang-port={port}", "--job-id=of-two-names",
            "--", "sh", "-c", "echo ready; exec sleep 600",
        )
        for node, name in enumerate(("localhost", "127.0.0.1"))
    ]
    for node in nodes:
        node.out.wait_for("ready")

    assert muster.run("stop", "--job=of-two-names").code == 0

    assert [node.end() for node in nodes] == [143, 143]
    for node in nodes:
        node.said_about("stopped by SIGTERM: muster stop on node 0 (user ")


def test_suspend_says_why_the_time_is_less_than_was_asked_for(muster, command, worker):
    job = muster.start("--suspend-timeout=5", "--", worker("echo_signals"), 3)
    job.out.wait_for("ready")

    done = command(job, "suspend", "--within=120")

    assert re.match(
        r"the workers have [45]\.\d\d s to save, not 120\.00: the job's --suspend-timeout, or an earlier notice, is shorter; ",
        done.out.text,
    )
    assert command(job, "stop").code == 0
    assert job.end() == 143


SAVES_FOR_25_SECONDS = """
import os, signal, sys, time
asked = []
signal.signal(signal.SIGTERM, lambda *_: asked.append(time.monotonic()))
print("ready", flush=True)
while not asked:
    time.sleep(0.01)
with open(sys.argv[1] + ".new", "wb") as file:
    for part in range(50):
        file.write(bytes([part]) * 100_000)
        time.sleep(max(0.0, asked[0] + (part + 1) / 2 - time.monotonic()))
os.rename(sys.argv[1] + ".new", sys.argv[1])
"""


@pytest.mark.full
def test_a_long_save_completes_within_the_grace(muster, tmp_path):
    options = ["--suspend-signal=TERM", "--tell-workers-by=TERM"]
    job = muster.start(*options, "--", sys.executable, "-c", SAVES_FOR_25_SECONDS, tmp_path / "checkpoint", report=True)
    job.out.wait_for("ready")

    job.signal(signal.SIGTERM)

    assert job.end() == 85, job.words()
    assert (tmp_path / "checkpoint").read_bytes() == b"".join(bytes([part]) * 100_000 for part in range(50))
    assert job.report["reason"] == "suspended (SIGTERM): all processes ended with exit code 0 after the notice"
    assert job.report["first_failure"] is None


@pytest.mark.full
def test_a_program_that_never_answers_is_killed_before_the_grace_is_over(muster):
    """Nothing of it is left when muster ends, nor of a process that has left its session."""
    script = (
        "import os, signal, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "if os.fork() == 0: os.setsid()\n"
        "os.write(1, os.fsencode(os.environ['MUSTER_CONTROL_SOCKET'] + '\\n'))\n"  # print writes the line end by itself
        "time.sleep(600)\n"
    )
    job = muster.start("--suspend-signal=TERM", "--nproc-per-node=2", "--", sys.executable, "-c", script, report=True)
    job.out.wait_for("/control", times=4)
    folder = Path(job.out.lines[0].rpartition(" ")[2]).parent
    assert folder.is_dir()

    began = time.monotonic()
    job.signal(signal.SIGTERM)

    assert job.end() == 85, job.words()
    promise("the end before the platform's KILL", 30.0, time.monotonic() - began)
    assert re.fullmatch(r"suspended \(SIGTERM\): nobody had saved or ended with exit code 0, [\d.]+ s after the notice", job.report["reason"])
    assert not folder.exists()
    muster.assert_no_survivors()


def test_status_watch_shows_what_has_room(muster, terminal):
    job = muster.start("--nproc-per-node=6", "--", "sh", "-c", "echo ready; exec sleep 600")
    wait_until(lambda: job.out.text.count("ready") == 6, "six workers")
    command = f"stty rows 6 cols 20; exec {binary()} status --watch --job={job.guard()}"
    shown, plain = (terminal("sh", "-c", command, env={"TERM": kind}) for kind in ("xterm", "dumb"))

    shown.screen.wait_for("more")
    wait_until(lambda: plain.screen.text.count("running") > 12, "two tables")

    job.signal(signal.SIGTERM)
    job.end()
    first = shown.screen.text.split("\033[H\033[J")[1].split("\r\n")
    assert first[4:] == ["... 5 more lines", ""] and max(map(len, first)) <= 20, first
    assert "\033" not in plain.screen.text and "more" not in plain.screen.text
    wait_until(lambda: "the job has ended" in shown.screen.text and "the job has ended" in plain.screen.text, "the end")
    assert shown.screen.text.rpartition("\033[H\033[J")[2].strip() == "the job has ended; 'muster last' shows how"


def test_status_watch_into_a_pipe_writes_no_escape_sequences(muster):
    job = muster.start("--", sys.executable, "-c", TELLS_ITS_SOCKET)
    job.out.wait_for("/control")
    watching = muster.start("status", "--watch", f"--job={job.guard()}")
    watching.out.wait_for("running")

    assert muster.run("stop", f"--job={job.guard()}").code == 0

    assert (job.end(), watching.end()) == (143, 0)
    assert "\033" not in watching.out.text
    assert watching.out.lines[-1] == "the job has ended; 'muster last' shows how"


def test_an_allocation_that_ends_is_a_notice(muster, tmp_path):
    env = {**WITH_MODULE, "SLURM_JOB_END_TIME": "1000000"}  # it is over: there is no time left
    job = muster.run("--suspend-before-end=60", "--", sys.executable, "-c", ANSWERS_NOTHING, env=env, report=True)

    assert job.code == 85
    assert job.report["reason"].startswith("suspended (the end of the allocation): ")


@pytest.mark.parametrize(
    "program, answer, variable", [("flux", "59", "FLUX_JOB_ID=f3"), ("bjobs", "0:01 L", "LSB_JOBID=4711")]
)
def test_the_end_of_the_allocation_is_queried_from_the_batch_system(muster, tmp_path, program, answer, variable):
    asked = tmp_path / "asked"
    (tmp_path / program).write_text(f'#!/bin/sh\necho "$@" >{asked}\necho "{answer}"\n')
    (tmp_path / program).chmod(0o755)
    name, value = variable.split("=")
    env = {**WITH_MODULE, "PATH": f"{tmp_path}:{os.environ['PATH']}", name: value}
    saves_when_told = "import muster, time\nwhile not muster.receive_suspend_command(): time.sleep(0.01)\nmuster.go_suspend()"
    line = ["--nnodes=1", "--suspend-before-end=60", "--", sys.executable, "-c", saves_when_told]

    job = muster.run(*line, env=env, report=True)

    assert job.code == 85, job.words()
    assert job.report["reason"].startswith("suspended (the end of the allocation): rank 0 saved ")
    assert asked.read_text() == {"flux": "job timeleft\n", "bjobs": "-noheader -o time_left 4711\n"}[program]


# --- The next run --------------------------------------------------------------------------------

TELLS_ITS_PAST = "import os; print(*(os.environ.get('MUSTER_' + name) for name in ('RESTART_COUNT', 'LAST_VERDICT', 'JOB_STATE_DIR')))"


def past_of(muster, *options, code=0, script=TELLS_ITS_PAST, **more):
    job = muster.run("--job-id=llama", *options, "--", sys.executable, "-c", script, **more)
    assert job.code == code, job.words()
    return job.out.lines[-1]


def test_a_run_gets_the_verdict_of_the_previous_run(muster, tmp_path):
    keeping = f"--state-dir={tmp_path}/states"
    folder = f"{tmp_path}/states/llama"
    fails = TELLS_ITS_PAST + "; raise SystemExit(3)"

    assert past_of(muster, keeping) == f"0 None {folder}"
    assert past_of(muster, keeping, script=fails, code=3) == f"1 succeeded {folder}"
    assert past_of(muster, keeping) == f"2 failed {folder}"
    state = json.loads(Path(folder, "muster.json").read_text())
    assert (state["runs"], state["verdict"], state["exit_code"]) == (3, "succeeded", 0)


def test_an_attempt_gets_the_verdict_of_the_previous_attempt(muster):
    fails_once = TELLS_ITS_PAST + "; raise SystemExit(os.environ['MUSTER_RESTART_COUNT'] == '0')"

    assert past_of(muster, "--max-restarts=1", script=fails_once) == "1 failed None"


def test_earlier_runs_counted_by_the_platform_are_used(muster):
    env = {
        "AWS_BATCH_JOB_ID": "4711",
        "AWS_BATCH_JOB_ATTEMPT": 3,  # from 1
        "AWS_BATCH_JOB_NUM_NODES": 1,
        "AWS_BATCH_JOB_NODE_INDEX": 0,
        "AWS_BATCH_JOB_MAIN_NODE_INDEX": 0,
    }

    assert past_of(muster, env=env) == "2 None None"


def test_a_state_that_cannot_be_kept_costs_a_warning(muster, tmp_path):
    (tmp_path / "file").touch()
    job = muster.run(f"--state-dir={tmp_path}/file", "--", "true")

    assert job.code == 0
    assert "going on without it" in job.said_about("cannot make the state folder")


def test_an_invalid_state_file_is_ignored(muster, tmp_path):
    folder = tmp_path / "llama"
    folder.mkdir()
    for text in ("", "{", "[]", '{"runs":-1,"verdict":"failed"}', '{"runs":1,"verdict":"won"}', "x" * 5000):
        (folder / "muster.json").write_text(text)
        assert past_of(muster, f"--state-dir={tmp_path}").startswith("0 None")


def test_a_pipe_in_the_place_of_the_new_state_file_is_not_waited_for(muster, tmp_path):
    (tmp_path / "llama").mkdir()
    os.mkfifo(tmp_path / "llama" / "muster.json.new")
    assert past_of(muster, f"--state-dir={tmp_path}").startswith("0 None")
    assert past_of(muster, f"--state-dir={tmp_path}").startswith("1 succeeded")


# --- What bad input gets -------------------------------------------------------------------------


# Python catches INT, and its faulthandler those of faults, and none goes on afterwards.
CAUGHT_AND_KILLING = ("SEGV", "ABRT", "FPE", "BUS", "ILL", "TRAP", "SYS", "INT", "QUIT")


@pytest.mark.parametrize(
    "options, words",
    [
        (["--suspend-signal=USR1", "--signals-to-handle=USR1"], "names it as a signal that ends the job"),
        (["--suspend-signal=KILL"], "a signal that can be a notice, not SIGKILL"),
        (["--suspend-signal=SIGNAL"], "a signal such as TERM or USR1"),
        (["--tell-workers-by=CHLD"], "not SIGCHLD"),
        *((["--tell-workers-by=" + name], f"not SIG{name}") for name in CAUGHT_AND_KILLING),
        (["--suspend-signal=SEGV"], "a signal that can be a notice, not SIGSEGV"),
        (["--suspend-timeout=soon"], "--suspend-timeout"),
        (["--suspend-before-end=60"], "SLURM_JOB_END_TIME"),
    ],
)
def test_invalid_option_values_are_refused(muster, options, words):
    job = muster.run(*options, "--", "true")

    assert job.code == 64
    assert words in job.err.text


def test_a_job_that_does_not_exist_is_named(muster):
    job = muster.run("status", "--job=no-such-job")

    assert job.code == 75
    assert "no-such-job" in job.err.text or "no job of muster runs here" in job.err.text


@pytest.mark.parametrize("words", [["status", "train"], ["stop", "--within=3"], ["suspend", "--cancel", "--within=3"]])
def test_commands_refuse_unknown_arguments(muster, words):
    assert muster.run(*words).code == 64


def test_jobs_of_one_name_are_distinguished(muster, command, worker):
    jobs = [muster.start("--job-id=twice-here", "--", worker("echo_signals"), 3) for _ in range(2)]
    for job in jobs:
        job.out.wait_for("ready")

    choice = muster.run("status", "--job=twice-here")

    assert choice.code == 64
    assert all(any(row.startswith(f"twice-here  {job.guard()} ") for row in choice.said) for job in jobs), choice.words()
    for job in jobs:
        assert command(job, "stop").code == 0
        assert job.end() == 143


@pytest.mark.needs("namespaces")
def test_another_user_cannot_send_requests(muster, listening):
    job, path = listening
    os.chmod(Path(path).parent, 0o711)  # as if somebody had opened the folder
    os.chmod(path, 0o666)

    through = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    script = (
        "import socket, sys\n"
        "client = socket.socket(socket.AF_UNIX)\n"
        "client.connect(sys.argv[1])\n"
        "client.sendall(b'{\"control\":1,\"request\":\"stop\"}\\n')\n"
        "print(client.recv(100))\n"
    )
    stranger = muster.run("-c", script, path, program=sys.executable, through=through)

    assert stranger.out.lines == ["b''"] or "Reset" in stranger.err.text or "Broken" in stranger.err.text
    os.chmod(Path(path).parent, 0o700)
    assert muster.run("status", f"--job={job.guard()}").code == 0


# --- Sockets of others ---------------------------------------------------------------------------

# A process of another user that listens in a folder of its own, and says what it is told to say; LISTENER stands for
# its own pid. "silent" says nothing. It prints every other request that it gets.
STRANGER = """
import os, socket, sys, threading
folder, user, says, crowd = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
os.setgroups([])
os.setgid(user)
os.setuid(user)
os.mkdir(folder, 0o755)
listener = socket.socket(socket.AF_UNIX)
listener.bind(folder + "/control")
listener.listen(1000)
for number in range(crowd):
    os.symlink(folder, f"{folder}_{number}")
print("listening", flush=True)
def serve(client):
    with client, client.makefile("rb") as lines:
        for line in lines:
            if b'"hello"' not in line:
                print("was asked:", line.decode().strip(), flush=True)
            if says != "silent":
                client.sendall(says.replace("LISTENER", str(os.getpid())).encode() + b"\\n")
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
"""
NOBODY = 65534


@pytest.fixture
def stranger(muster, tmp_path):
    """Starts a process of another user that listens as a muster does, where root looks for jobs."""
    if os.geteuid() != 0:
        pytest.skip("needs root")
    for folder in (tmp_path, *tmp_path.parents):  # as /tmp is open to all
        if not folder.stat().st_mode & 0o001:
            folder.chmod(folder.stat().st_mode | 0o011)
    tmp_path.chmod(0o1777)
    started = []

    def start(says, crowd=0):
        folder = f"{tmp_path}/muster_{len(started)}"
        answer = says if isinstance(says, str) else json.dumps({"control": 1, "ok": True, **says})
        answer = answer.replace('"LISTENER"', "LISTENER")
        process = muster.start("-c", STRANGER, folder, NOBODY, answer, crowd, program=sys.executable)
        process.out.wait_for("listening")
        started.append(process)
        return process

    yield start
    for process in started:
        process.signal(signal.SIGKILL)
        process.end()


@pytest.mark.parametrize("pid", [-7, 0, 1, "guard", "LISTENER", 2**22 + 5, None])
def test_a_request_of_root_is_not_taken_by_another_users_folder(muster, worker, stranger, pid):
    job = muster.start("--job-id=ours", "--", worker("echo_signals"), 3)
    job.out.wait_for("ready")
    document = {"id": "ours", "pid": job.guard() if pid == "guard" else pid}
    other = stranger(document)

    done = muster.run("stop", "--job=ours")

    assert (done.code, job.end()) == (0, 143), done.words()
    assert other.out.lines == ["listening"]


def test_a_folder_that_names_a_job_of_root_is_no_job(muster, worker, stranger, tmp_path):
    job = muster.start("--", worker("echo_signals"), 3)
    job.out.wait_for("ready")
    stranger({"id": "theirs", "pid": job.guard()})

    done = muster.run("stop", "--job=theirs")

    assert done.code == 75
    assert "/muster_0/control' does not belong to the muster that it names" in done.err.text
    job.signal(signal.SIGTERM)
    assert job.end() == 143


def test_root_reaches_the_job_of_another_user(muster, worker, tmp_path):
    through = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    job = muster.start("--job-id=theirs", "--", "sh", "-c", "echo ready; exec sleep 600", through=through)
    job.out.wait_for("ready")

    for chosen in ("theirs", job.guard()):
        assert muster.run("status", f"--job={chosen}").code == 0
    assert muster.run("stop", f"--job={job.guard()}").code == 0

    assert job.end() == 143


def test_status_lists_root_the_jobs_of_all_users(muster, worker):
    through = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    own = muster.start("--", worker("echo_signals"), 3)
    other = muster.start("--", "sh", "-c", "echo ready; exec sleep 600", through=through)
    for job in (own, other):
        job.out.wait_for("ready")

    listed = json.loads(muster.run("status", "--json").out.text)["jobs"]

    assert {(own.guard(), 0), (other.guard(), NOBODY)} <= {(job["pid"], job["user"]) for job in listed}
    seen = json.loads(muster.run("status", "--json", through=through).out.text)
    assert {job["user"] for job in seen.get("jobs", [])} <= {NOBODY}, "another user sees only their own"
    for job in (own, other):
        job.signal(signal.SIGTERM)
        assert job.end() == 143


def test_root_reaches_a_job_in_a_pid_namespace_of_its_own(muster, worker):
    through = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]
    job = muster.start("--job-id=inside", "--", worker("echo_signals"), 3, through=through)
    job.out.wait_for("ready")

    for chosen in ("inside", job.guard()):
        assert muster.run("status", f"--job={chosen}").code == 0
    assert muster.run("stop", f"--job={job.guard()}").code == 0

    assert job.end() == 143


def test_silent_folders_are_asked_side_by_side(muster, worker, stranger):
    """One after the other, at two seconds each, they would take longer than any test may."""
    job = muster.start("--", worker("echo_signals"), 3)
    job.out.wait_for("ready")
    other = stranger("silent", crowd=500)

    assert muster.run("stop", f"--job={job.guard()}").code == 0

    assert job.end() == 143
    assert other.out.lines == ["listening"]


# --- Jobs that end while they are asked ----------------------------------------------------------


def listen_until(folder, last):
    """Answers a hello as a muster does, and is gone at the next step: before it takes a connection, before it reads
    there, after it has read, or within its answer."""
    (folder / "muster_own").mkdir()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(folder / "muster_own" / "control"))
    listener.listen()

    def serve():
        client, _ = listener.accept()
        with client:
            client.recv(4096)
            if last == "connection":
                listener.close()
            client.sendall(json.dumps({"control": 1, "ok": True, "id": "own", "pid": os.getpid()}).encode() + b"\n")
        if last == "connection":
            return
        with listener, listener.accept()[0] as again:
            if last != "request":
                again.recv(4096)
            if last == "answer":
                again.sendall(b'{"control":1,')

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    return thread


@pytest.mark.parametrize("last", ["connection", "request", "reading", "answer"])
@pytest.mark.parametrize("command", ["status", "stacks", "stop", "suspend"])
def test_a_job_that_ends_while_it_is_asked_gives_75(muster, tmp_path, command, last):
    thread = listen_until(tmp_path, last)

    done = muster.run(command, "--job=own")

    assert done.code == 75, done.words()
    assert "/muster_own/control' " in done.err.text
    thread.join()


# --- Hostile clients -----------------------------------------------------------------------------


def test_each_request_line_gets_one_reply_line(listening):
    _, path = listening
    with connect(path) as client, client.makefile("rb") as answers:
        for line, words in [
            (b"GET / HTTP/1.1\r\n", "one object of JSON"),
            (b"\n", "one object of JSON"),
            (b'{"control":2,"request":"status"}\n', "version 2"),
            (b'{"control":1,"request":"hello"}\n', '"ok":true'),
            (b'{"control":1,"request":"status"}\n', '"missing":0'),
            (b"\xff\xfe\x00\n", "one object of JSON"),
        ]:
            client.sendall(line)
            assert words in answers.readline().decode()


def test_the_control_socket_is_private_to_its_user(listening):
    _, path = listening
    assert os.stat(path).st_mode & 0o777 == 0o600
    assert os.stat(Path(path).parent).st_mode & 0o777 == 0o700


def test_a_line_without_an_end_is_cut(listening):
    _, path = listening
    with connect(path) as client, client.makefile("rb") as answers:
        sent = 0
        try:
            while sent < 1 << 30:
                sent += client.send(b"x" * 65536)
        except (BrokenPipeError, ConnectionResetError):
            pass
        assert sent < 1 << 24, "the job does not read what it will not use"
        try:
            assert b"at most 4096 bytes" in answers.readline()
        except ConnectionResetError:
            pass
    assert b'"ok":true' in ask(path, b'{"control":1,"request":"hello"}\n')


def test_silent_connections_do_not_block_other_clients(listening):
    _, path = listening
    silent = [connect(path) for _ in range(40)]
    try:
        for _ in range(100):
            connect(path).close()
        assert b'"ok":true' in ask(path, b'{"control":1,"request":"hello"}\n')
    finally:
        for client in silent:
            client.close()


def test_clients_that_never_read_do_not_block_others(listening):
    _, path = listening
    with contextlib.ExitStack() as clients:
        for _ in range(20):
            client = clients.enter_context(connect(path))
            with contextlib.suppress(ConnectionError):  # its place may be another's by now
                client.sendall(b'{"control":1,"request":"hello"}\n' * 120)
        assert b'"ok":true' in ask(path, b'{"control":1,"request":"status"}\n')

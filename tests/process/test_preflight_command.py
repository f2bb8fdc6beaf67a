"""The command of --preflight-command on a job of one node (docs/preflight.md)."""

import signal
import sys
import time

import pytest

from support.deadlines import wait_until
from support.processes import is_alive

WORKER = ["--", "echo", "started"]


def is_gone(file):
    """The process whose pid the file has."""
    return not is_alive(int(file.read_text()))


def test_the_command_runs_once_before_the_workers_with_what_is_known(muster, tmp_path):
    said = tmp_path / "said"
    command = f'read line || echo no input; echo "{{node_rank}} {{nodes}} {{attempt}} {{local_world_size}} {{host_name}} [{{devices}}] {{run_dir}} {{x}} $MINE" >> {said}'
    job = muster.run("--nproc-per-node=2", f"--preflight-command={command}", "--", "cat", said, env={"MINE": "mine"})

    assert job.code == 0, job.words()
    [line] = said.read_text().splitlines()
    assert line.startswith("0 1 0 2 "), line
    assert line.endswith("[] {run_dir} {x} mine"), line
    assert job.out.text.count(line) == 2
    assert "preflight" not in job.err.text, job.words()


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("echo fine; echo 'GPU 4: DBE' >&2; exit 3", 'ended with exit code 3: "GPU 4: DBE"'),
        ("no_such_program_here", "ended with exit code 127"),
        ("kill -9 $$", "ended with signal SIGKILL"),
        ("echo https://me:secret@host API_TOKEN=secret; false", '"https://***@host API_TOKEN=***"'),
        (r"printf 'a\033[2Jb\n\n'; false", r'"a\x1b[2Jb"'),
        (f"{sys.executable} -c 'print(\"x\" * 5000)'; false", f'"{"x" * 100}'),
        ("head -c 1000000000 /dev/zero | tr '\\0' '\\n'; echo the last line; false", '"the last line"'),
    ],
    ids=["code", "missing", "killed", "secrets", "escapes", "long line", "one gigabyte"],
)
def test_a_failing_command_ends_the_job_before_any_worker_starts(muster, command, why):
    job = muster.run(f"--preflight-command={command}", *WORKER, report=True)

    assert job.code == 69, job.words()
    assert "started" not in job.out.text
    last = job.said[-1]
    assert last.startswith("exit code 69: node 0 ("), job.words()
    assert why in last and len(last) < 450, last
    assert why.strip('"') in job.report["reason"]
    assert "secret" not in job.err.text.replace("https://me:secret@host API_TOKEN=secret", ""), job.words()


def test_the_last_lines_of_a_failing_command_are_on_the_console(muster):
    job = muster.run("--preflight-command=seq 30; false", *WORKER)

    assert [line for line in job.said if line.startswith("preflight: ")] == [f"preflight: {n}" for n in range(11, 31)]


def test_the_output_of_a_command_is_in_the_log_folder(muster, tmp_path):
    job = muster.run(f"--log-dir={tmp_path}/logs", "--preflight-command=echo out; echo err >&2", *WORKER)

    assert job.code == 0, job.words()
    assert (tmp_path / "logs/attempt_0/preflight.log").read_text() == "out\nerr\n"


def test_a_command_over_its_limit_is_asked_to_end_and_its_node_is_unfit(muster, tmp_path):
    command = f"cd {tmp_path}; trap 'touch asked; exit 0' TERM; sleep 600 & echo $! > below; wait"
    job = muster.run("--preflight-timeout=0.3", f"--preflight-command={command}", *WORKER)

    assert job.code == 69, job.words()
    assert "the preflight command has not ended in time, and was killed" in job.said[-1]
    assert (tmp_path / "asked").exists()
    wait_until(lambda: is_gone(tmp_path / "below"), "what the command started to be gone")


def test_a_command_whose_process_of_muster_is_killed_is_not_late(muster):
    job = muster.run("--preflight-command=kill -KILL $PPID", *WORKER)

    assert job.code == 69, job.words()
    assert "the preflight command has not reported how it ended: the process of muster that ran it was killed" in job.said[-1]


def test_what_a_command_leaves_behind_is_ended_and_not_awaited(muster, tmp_path):
    command = f"cd {tmp_path}; setsid sh -c 'echo $$ > daemon; exec sleep 600' & while [ ! -s daemon ]; do sleep 0.01; done"
    began = time.monotonic()
    job = muster.run(f"--preflight-command={command}", *WORKER)

    assert job.code == 0, job.words()
    assert "started" in job.out.text
    assert is_gone(tmp_path / "daemon")
    assert time.monotonic() - began < 60


@pytest.mark.parametrize(
    ("stop", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGUSR1, 85)], ids=["TERM", "INT", "notice"]
)
def test_a_stop_ends_the_command_and_the_job(muster, tmp_path, stop, code):
    command = f"cd {tmp_path}; trap '' TERM INT; sleep 600 & echo $! > below; setsid sleep 600 & echo $! > apart; echo $$ > pid; wait"
    job = muster.start("--suspend-signal=USR1", f"--preflight-command={command}", *WORKER)
    wait_until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text(), "the command to run")
    job.signal(stop)

    assert job.end() == code, job.words()
    assert "started" not in job.out.text
    for name in ("pid", "below", "apart"):
        wait_until(lambda name=name: is_gone(tmp_path / name), f"{name} to be gone")


def test_a_killed_agent_leaves_no_command_behind(muster, tmp_path):
    job = muster.start(f"--preflight-command=cd {tmp_path}; setsid sleep 600 & echo $! > apart; echo $$ > pid; wait", *WORKER)
    wait_until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text(), "the command to run")
    job.signal(signal.SIGKILL)
    job.end()

    for name in ("pid", "apart"):
        wait_until(lambda name=name: is_gone(tmp_path / name), f"{name} to be gone")


def test_the_command_runs_again_after_a_failure(muster, tmp_path):
    """A node that the first attempt has broken does not take part in the second one."""
    command = f"echo {{attempt}} >> {tmp_path}/runs; test ! -e {tmp_path}/broken"
    job = muster.run(
        "--max-restarts=3", "--last-call=0", f"--preflight-command={command}", "--", "sh", "-c", f"touch {tmp_path}/broken; exit 1"
    )

    assert job.code == 69, job.words()
    assert (tmp_path / "runs").read_text().split() == ["0", "1"]
    assert "exit code 69: node 0 (" in job.said[-1]


def test_a_command_that_takes_longer_than_a_second_is_worth_a_line(muster):
    job = muster.run("--preflight-command=sleep 1", *WORKER)

    assert job.code == 0
    assert job.said_about("the preflight command took 1."), job.words()

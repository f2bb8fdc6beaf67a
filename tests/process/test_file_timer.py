"""Timers that workers set with torch.distributed.elastic.timer, by a plain client of its pipe."""

import pytest

from support.muster import binary

ENABLED = {"TORCHELASTIC_ENABLE_FILE_TIMER": "1"}
# As FileTimerClient of torch 2.13 writes it: `ask SECONDS SIGNAL`, of the process itself.
CLIENT = """
import json, os, sys, time
def request_of(scope, after, signal=9, pid=None):
    expires = time.time() + after if after >= 0 else -1
    request = {"version": 1, "pid": pid or os.getpid(), "scope_id": scope, "expiration_time": expires, "signal": signal}
    return json.dumps(request) + "\\n"
def send(text):
    pipe = os.open(os.environ["TORCHELASTIC_TIMER_FILE"], os.O_WRONLY | os.O_NONBLOCK)
    os.write(pipe, text.encode())
    os.close(pipe)
def ask(*request, **more):
    send(request_of(*request, **more))
attempt, rank = os.environ["TORCHELASTIC_RESTART_COUNT"], os.environ["RANK"]
"""
HANG = "time.sleep(1000)\n"


@pytest.fixture
def run(muster, tmp_path):
    def run(script, *options, env=None, **more):
        (tmp_path / "train.py").write_text(CLIENT + script)
        return muster.run("torchrun", *options, "train.py", env=ENABLED | (env or {}), **more)

    return run


def test_a_worker_whose_timer_expires_is_killed_and_named(run):
    script = "if rank == '1': ask('a step', 0.2)\n" + HANG
    job = run(script, "--nproc-per-node=2", report=True)

    assert job.code == 137
    pid = job.report["first_failure"]["pid"]
    told = f"the timer 'a step' of process {pid} has expired, sent it SIGKILL"
    assert job.report["first_failure"]["global_rank"] == 1
    assert job.report["first_failure"]["start_error"] == told
    assert told in job.said_about("rank 1 failed first")


def test_a_released_timer_kills_no_worker(run):
    script = """
import signal
def end(*_):
    print("well")
    sys.exit(0)
signal.signal(signal.SIGUSR1, end)
send(request_of("x", 0.3) + request_of("x", -1, 0))  # at once, so that it cannot expire in between
ask("later", 0.6, signal.SIGUSR1)
"""
    job = run(script + HANG)

    assert job.code == 0, job.err.text
    assert job.out.text == "well\n"


def test_an_expired_timer_sends_the_requested_signal(run):
    script = "import signal\nsignal.signal(15, lambda *_: sys.exit(5))\nask('x', 0.1, 15)\n" + HANG
    job = run(script, report=True)

    assert job.code == 5
    assert "sent it SIGTERM" in job.report["first_failure"]["start_error"]


def test_the_timer_of_a_workers_child_names_the_worker(run):
    script = f"""
import subprocess
child = subprocess.Popen(["sleep", "1000"])
ask("load", 0.1, pid=child.pid)
sys.exit(3 if child.wait() == -9 else 4)
"""
    job = run(script, report=True)

    assert job.code == 3
    assert job.report["first_failure"]["start_error"].startswith("the timer 'load' of process")


def test_a_process_outside_the_job_is_not_killed(run, muster):
    with_stranger = muster.start("--", "sleep", "1000")
    with_stranger.err.wait_for("1 worker")
    job = run(f"ask('x', 0, pid={with_stranger.pid})\nask('own', 0.2)\n" + HANG)

    assert job.code == 137
    assert with_stranger.process.poll() is None, "it came first, and is none of that job's"
    with_stranger.signal(15)
    assert with_stranger.end() == 143


OTHER = """
if rank == "1":
    send(request_of("other", 0, pid=int(open("zero").read())))
    ask("own", 0.3)
else:
    open("zero.new", "w").write(str(os.getpid()))
    os.rename("zero.new", "zero")
time.sleep(1000)
"""
AFTER_ZERO = """
while rank == "1" and not os.path.exists("zero"):
    time.sleep(0.01)
"""


@pytest.mark.parametrize("given", [False, True])
def test_a_request_ends_processes_of_its_own_worker_alone(run, tmp_path, given):
    """A pipe that the user has named is one for all workers."""
    env = {"TORCHELASTIC_TIMER_FILE": tmp_path / "mine"} if given else {}
    job = run(AFTER_ZERO + OTHER, "--nproc-per-node=2", env=env, report=True)

    assert job.code == 137
    assert job.report["first_failure"]["global_rank"] == (0 if given else 1)
    assert f"the timer '{'other' if given else 'own'}'" in job.report["first_failure"]["start_error"]


def test_each_attempt_has_its_timers(run):
    script = "ask('x', 0.2 if attempt == '0' else 1000)\nif attempt == '0': time.sleep(1000)\n"
    job = run(script, "--max-restarts=1")

    assert job.code == 0
    assert job.said_about("attempt 0 ended")


def test_a_given_pipe_path_is_used_and_removed_at_the_end(run, tmp_path):
    (tmp_path / "mine").write_text("of an older job")
    script = "import stat\nprint(stat.S_ISFIFO(os.stat('mine').st_mode), os.environ['TORCHELASTIC_TIMER_FILE'])\n"
    job = run(script, env={"TORCHELASTIC_TIMER_FILE": tmp_path / "mine"})

    assert job.code == 0
    assert job.out.text == f"True {tmp_path / 'mine'}\n"
    assert not (tmp_path / "mine").exists()


def test_a_pipe_that_cannot_be_made_fails_the_job(run):
    job = run(HANG, env={"TORCHELASTIC_TIMER_FILE": "/nosuch/timers"})

    assert job.code == 71
    assert "cannot make the pipe '/nosuch/timers': No such file or directory" in job.said_about(
        "service 'file_timer' failed first"
    )


def test_invalid_data_in_the_pipe_is_reported_once(run):
    script = """
for text in (b"hello\\n", b"{\\n", b"x" * 4096, b"x" * 4096, b"\\n"):
    pipe = os.open(os.environ["TORCHELASTIC_TIMER_FILE"], os.O_WRONLY)
    os.write(pipe, text)
    os.close(pipe)
ask('x', 0.1)
""" + HANG
    job = run(script)

    assert job.code == 137
    assert len([line for line in job.said if "expected a request for a timer" in line]) == 1


def test_invalid_requests_signal_no_other_process(run):
    """Muster's two processes, the one above them and the first of all are alive after that; so is a worker without a timer."""
    script = """
if rank == "0":
    agent = os.getppid()
    guard = int(open(f"/proc/{agent}/stat").read().rpartition(")")[2].split()[1])
    for pid in (agent, guard, 1, 2**22 + 7, 2**31 - 1):
        ask("x", 0, pid=pid)
    pipe = os.open(os.environ["TORCHELASTIC_TIMER_FILE"], os.O_WRONLY)
    for pid in (0, -1, -agent, -os.getpid(), 2**32 + os.getpid(), 1.5, "1", None, [1]):
        request = {"pid": pid, "scope_id": "x", "expiration_time": 1, "signal": 9}
        os.write(pipe, (json.dumps(request) + "\\n").encode())
    os.close(pipe)
    ask("own", 0.2)
    time.sleep(1000)
"""
    job = run(script, "--nproc-per-node=2", report=True)

    assert job.code == 137
    assert "the timer 'own'" in job.report["first_failure"]["start_error"]
    assert job.report["first_failure"]["global_rank"] == 0


def test_a_flood_of_requests_does_not_delay_other_timers(run):
    script = """
if rank == "0":
    for i in range(20000):
        ask_line = {"pid": 100000 + i, "scope_id": str(i), "expiration_time": 1, "signal": 9}
        text = (json.dumps(ask_line) + "\\n").encode()
        with open(os.environ["TORCHELASTIC_TIMER_FILE"], "ab", buffering=0) as pipe:
            pipe.write(text)
    sys.exit(7)
time.sleep(1000)
"""
    job = run(script, "--nproc-per-node=2")

    assert job.code == 7
    assert "timer" not in job.err.text


def test_nested_launchers_have_separate_pipes(run):
    script = """
if "INNER" in os.environ:
    ask("inner", 0.2)
    time.sleep(1000)
else:
    import subprocess
    line = [os.environ["LAUNCHER"], "torchrun", "--standalone", "train.py"]
    ended = subprocess.run(line, env=dict(os.environ, INNER="1"), stderr=subprocess.PIPE, text=True)
    assert ended.returncode == 137 and "the timer 'inner' of process" in ended.stderr, ended.stderr
    ask("outer", 0.1)
    time.sleep(1000)
"""
    job = run(script, env={"LAUNCHER": binary()}, report=True)

    assert job.code == 137, job.err.text
    assert "the timer 'outer' of process" in job.report["first_failure"]["start_error"]


def test_a_removed_pipe_does_not_affect_the_job(run, tmp_path):
    job = run("ask('x', 0.3)\nos.remove(os.environ['TORCHELASTIC_TIMER_FILE'])\n" + HANG, env={
        "TORCHELASTIC_TIMER_FILE": tmp_path / "mine"
    })

    assert job.code == 137
    assert "sent it SIGKILL" in job.err.text

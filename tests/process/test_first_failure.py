"""The first failure of many workers is named by the order in which they ended."""

import os
import signal
import sys

import pytest

from support.repetitions import default_or_soak, soaking

REPETITIONS = default_or_soak(3, 100)


def assert_rank_17_is_named(muster, worker, *how_others_end):
    """Always, where that is counted; else wherever muster says that it knows the order."""
    for repetition in range(REPETITIONS):
        job = muster.run(
            "--nproc-per-node=64",
            "--",
            worker("lose_a_peer"),
            17,
            50,
            *how_others_end,
            seconds=30,
            report=True,
        )
        first = job.report["first_failure"]
        assert job.code == (first["exit_code"] or 128 + signal.Signals[first["signal"]]), job.words()
        if soaking() or first["order_known"]:
            line = job.said_about("failed first")
            assert job.code == 134, (repetition, job.words())
            assert "rank 17 " in line and "SIGABRT" in line, (repetition, line)


@pytest.mark.soak
def test_rank_17_is_named_when_the_others_get_sigterm(muster, worker):
    assert_rank_17_is_named(muster, worker)


@pytest.mark.soak
def test_rank_17_is_named_when_the_others_exit(muster, worker):
    assert_rank_17_is_named(muster, worker, "stubborn")


@pytest.mark.soak
@pytest.mark.full
def test_rank_17_is_named_while_both_cores_are_busy(muster, worker, busy_cores):
    assert_rank_17_is_named(muster, worker)


@pytest.mark.soak
@pytest.mark.full
def test_rank_17_is_named_on_busy_cores_when_the_others_exit(
    muster, worker, busy_cores
):
    assert_rank_17_is_named(muster, worker, "stubborn")


@pytest.mark.kernel
def test_the_report_names_the_failure_and_lists_stopped_workers(muster, worker, tmp_path):
    job = muster.start("--nproc-per-node=64", "--", worker("fail_on_rank"), 17, 3, tmp_path / "go")
    job.out.wait_for("waiting", times=63)

    (tmp_path / "go").touch()

    assert job.end() == 3
    first = job.said_about("failed first")
    for part in ("rank 17 ", "node 0 (", "local rank 17", "pid ", "exit code 3", "attempt 0"):
        assert part in first
    assert job.said_about("stopped by muster").endswith("ranks 0-16, 18-63")
    assert job.said[-1] == "exit code 3: that of rank 17, the first failure"


def test_workers_not_yet_started_at_a_failure_are_listed(muster):
    job = muster.run("--nproc-per-node=500", "--", "sh", "-c", "exit 3")

    named = job.said_about("failed first")
    listed = [line for line in job.said if line.startswith(("stopped by muster", "never started"))]
    assert job.code == 3
    assert "rank " in named and listed


def test_the_report_shows_only_the_failed_workers_last_20_lines(muster, worker):
    crash = f"{worker('crash_after_ready')} 30 'the very last words'"
    script = f"""if [ $RANK = 1 ]; then exec {crash}; fi
                 for i in 1 2 3 4 5; do echo noise >&2; done; exec {worker("ignore_term")}"""

    job = muster.run("--nproc-per-node=2", "--grace=0.1", "--", "sh", "-c", script)

    shown = [line.removeprefix("  | ") for line in job.said if line.startswith("  | ")]
    assert job.code == 134
    assert shown == [f"line {number} of 30" for number in range(12, 31)] + ["the very last words"]


def test_the_last_lines_on_standard_error_are_the_report(muster, worker):
    job = muster.run("--nproc-per-node=4", "--", worker("fail_on_rank"), 0, 5)

    beginning = next(i for i, line in enumerate(job.err.lines) if "failed first" in line)
    assert all(line.startswith("muster: ") for line in job.err.lines[beginning:])
    assert job.err.lines[-1].startswith("muster: exit code 5: ")


# What torch.distributed.monitored_barrier does: rank 0 names the rank that did not come, and is still printing, or
# closing its connections, when another one dies of it. Each rank waits for the one before it by a pipe.
MONITORED_BARRIER = """
import os, signal, sys

def answer(*_):
    print("Traceback (most recent call last):\\nSignalException: got SIGTERM", file=sys.stderr, flush=True)
    os._exit(1)

rank = int(os.environ["RANK"])
if rank == 0:
    print("Traceback (most recent call last):\\n  File \\"train.py\\", line 7, in <module>", file=sys.stderr)
    print(sys.argv[1], file=sys.stderr, flush=True)
    open("written", "w").close()
    signal.pause()
elif rank == 1:
    open("heeds").close()
    open("written").close()
    sys.exit("RuntimeError: Connection closed by peer [127.0.0.1]:4711")
elif rank == 2:
    signal.signal(signal.SIGTERM, answer)
    open("heeds", "w").close()
signal.pause()
"""


def end_of_monitored_barrier(muster, tmp_path, words):
    os.mkfifo(tmp_path / "written")
    os.mkfifo(tmp_path / "heeds")
    command = [sys.executable, "-c", MONITORED_BARRIER, words]
    job = muster.run("--nproc-per-node=4", "--", *command, report=True)
    assert job.code == 1
    assert "rank 1 " in job.said_about("failed first")
    return job


def test_an_error_that_a_stopped_rank_had_written_before_is_shown(muster, tmp_path):
    words = "RuntimeError: Rank 3 failed to pass monitoredBarrier in 2000 ms\n Original: Connection closed by peer"

    job = end_of_monitored_barrier(muster, tmp_path, words)

    at = job.said.index(job.said_about("rank 0, node 0", "had written an error of its own before"))
    assert job.said[at + 3 : at + 5] == [f"  | {line}" for line in words.split("\n")]
    assert sum("had written an error" in line for line in job.said) == 1  # rank 2 has only answered the signal
    (asked,) = job.report["also_failed"]
    assert asked["asked_to_end"] and asked["global_rank"] == 0
    assert not any("SignalException" in line for line in job.said)


# Rank 0 fails, and takes longer to end than its victim: it closes its connection, and waits in an exit handler.
SLOW_EXIT = """
import atexit, os, signal, sys

def upload():
    open("closed", "w").close()
    signal.pause()

if os.environ["RANK"] == "0":
    atexit.register(upload)
    raise KeyError("missing_key")
open("closed").close()
sys.exit("RuntimeError: Connection closed by peer [127.0.0.1]:4711")
"""


def test_a_rank_that_ends_after_its_victims_is_named(muster, tmp_path):
    os.mkfifo(tmp_path / "closed")

    job = muster.run("--nproc-per-node=2", "--", sys.executable, "-c", SLOW_EXIT, report=True)

    assert job.code == 1
    assert job.said_about("rank 0 probably failed first", "signal SIGTERM")
    assert job.said_about("only because of a lost peer: rank 1")
    assert "  | KeyError: 'missing_key'" in job.said
    assert job.said[-1] == "exit code 1: rank 0 is probably the first failure"
    assert job.report["first_failure"]["global_rank"] == 0


def test_a_stopped_rank_that_only_lost_its_peer_is_not_accused(muster, tmp_path):
    job = end_of_monitored_barrier(muster, tmp_path, "RuntimeError: [gloo] Connection reset by peer")

    assert not any("had written an error" in line for line in job.said)
    assert job.report["also_failed"] == []


# Rank 1 fails, and rank 0 fails because the socket between them is closed, which it is when rank 1 ends. Both show a
# traceback. `before` runs on rank 0 first, and `cause` on rank 1.
VICTIM_OF_A_SOCKET = """
import os, socket, sys, time

def listening():
    server = socket.socket(socket.AF_UNIX)
    server.bind("socket")
    server.listen()
    os.rename("socket", "listens")
    return server

if os.environ["RANK"] == "0":
    {before}
    peer, _ = listening().accept()
    assert peer.recv(1)
while not os.path.exists("listens"):
    time.sleep(0.01)
peer = socket.socket(socket.AF_UNIX)
peer.connect("listens")
{cause}
"""
CUDA_ERROR = "raise RuntimeError('CUDA error: an illegal memory access was encountered')"


def start_victim(muster, before="pass", cause=CUDA_ERROR):
    script = VICTIM_OF_A_SOCKET.format(before=before, cause=cause)
    return muster.start("--nproc-per-node=2", "--", sys.executable, "-c", script, report=True)


def assert_rank_1_is_named(job):
    assert job.report["first_failure"]["global_rank"] == 1, job.words()
    assert any(line.startswith("  | RuntimeError: CUDA error") for line in job.said), job.words()


@pytest.mark.soak
def test_of_two_tracebacks_the_one_written_first_names_the_rank(muster, tmp_path, busy_cores):
    for _ in range(default_or_soak(4, 40)):
        (tmp_path / "listens").unlink(missing_ok=True)
        job = start_victim(muster)
        assert job.end() == 1, job.words()
        assert_rank_1_is_named(job)
        if not job.report["first_failure"]["order_known"]:
            assert "it had written its error before the others" in job.said_about("it is named")


@pytest.mark.parametrize(
    ("shown", "before"),
    [
        ("ZeroDivisionError", "import traceback\n    try: 1 / 0\n    except ArithmeticError: traceback.print_exc()"),
        ("no checkpoint", "print('ERROR: no checkpoint yet', file=sys.stderr, flush=True)"),
    ],
)
def test_an_error_that_a_rank_survived_does_not_name_it(muster, tmp_path, shown, before):
    wait = "while not os.path.exists('go'): time.sleep(0.01)\n"
    job = start_victim(muster, before, wait + CUDA_ERROR)
    job.err.wait_for(shown)
    (tmp_path / "go").touch()

    assert job.end() == 1, job.words()
    assert_rank_1_is_named(job)


def test_the_others_that_may_have_failed_first_are_kept_over_a_restart(muster, tmp_path):
    wait = f"touch {tmp_path}/$RANK; until [ -e {tmp_path}/0 ] && [ -e {tmp_path}/1 ]; do :; done"
    script = f"""
        [ $TORCHELASTIC_RESTART_COUNT = 0 ] || exit 0
        {wait}; echo 'ValueError: of rank '$RANK >&2; exit $((3 + RANK))"""
    job = muster.run(
        "--nproc-per-node=2", "--max-restarts=1", "--restart-backoff=0", "--", "sh", "-c", script, report=True
    )

    assert job.code == 0
    (past,) = job.report["past_attempts"]
    if "probably" in past["reason"]:  # else one of them was asked to end before it failed
        (other,) = past["also_failed"]
        assert job.said_about(f"also failed in attempt 0: {other}")
        assert "ValueError: of rank" in other


def test_a_living_rank_with_an_error_does_not_delay_the_end(muster):
    script = """
        if [ $RANK = 0 ]; then echo 'ERROR: will try again' >&2; exec sleep 60; fi
        sleep 0.3; exit 3"""
    job = muster.run("--nproc-per-node=2", "--", "sh", "-c", script, report=True)

    assert job.code == 3
    assert job.said_about("rank 1 failed first")

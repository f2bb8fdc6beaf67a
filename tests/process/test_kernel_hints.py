"""Hints of the kernel about an exit: out of memory, CPU time, file size, a seccomp filter."""

import contextlib
import os
import re
import signal
from pathlib import Path

import pytest
from support import processes
from support.deadlines import wait_until


def hints_of(job):
    return job.report["first_failure"]["hints"]


def memory_home():
    """The folder in which groups with a memory limit can be made, and the name of the limit's file."""
    root = Path("/sys/fs/cgroup")
    if (root / "memory" / "cgroup.procs").exists():
        return root / "memory", "memory.limit_in_bytes"
    handed_down = root / "cgroup.subtree_control"
    has_memory = handed_down.exists() and "memory" in handed_down.read_text().split()
    return (root, "memory.max") if has_memory else None


@contextlib.contextmanager
def limited_memory(name, limit_in_bytes):
    """A command that runs what follows in a group with so much memory."""
    home, limit = memory_home()
    folder = home / f"muster-test-{os.getpid()}-{name}"
    folder.mkdir()
    try:
        (folder / limit).write_text(str(limit_in_bytes))
        yield ["sh", "-c", f'echo $$ >{folder}/cgroup.procs && exec "$@"', "sh"]
    finally:
        wait_until(lambda: not (folder / "cgroup.procs").read_text(), f"{folder} to be empty")
        folder.rmdir()


@pytest.mark.skipif(
    os.geteuid() != 0 or memory_home() is None, reason="needs root and groups with limits of memory"
)
def test_a_worker_killed_by_the_oom_killer_is_reported_so(muster):
    greedy = "test $RANK = 1 || exec sleep 60; exec python3 -c 'x = bytearray(400 << 20)'"
    with limited_memory("oom", 128 << 20) as inside:
        job = muster.run(
            *("--nproc-per-node=2", "--", "sh", "-c", greedy), through=inside, report=True
        )

    assert job.code == 137, job.words()
    assert job.report["first_failure"]["global_rank"] == 1
    (hint,) = hints_of(job)
    assert hint.startswith("the kernel killed it because memory ran out: oom_kill in '"), hint
    assert re.search(r"went from 0 to 1; the limit is 128 MiB(, and the most that was used 12[78] MiB)?; raise", hint), hint


@pytest.mark.skipif(
    os.geteuid() != 0 or memory_home() is None, reason="needs root and groups with limits of memory"
)
def test_a_child_killed_by_the_oom_killer_is_reported_with_its_rank(muster):
    with limited_memory("child", 128 << 20) as inside:
        script = "python3 -c 'x = bytearray(400 << 20)'; exit 3"
        job = muster.run("--", "sh", "-c", script, through=inside, report=True)

    assert job.code == 3, job.words()
    (hint,) = hints_of(job)
    assert hint.startswith("the kernel killed a process here because memory ran out: oom_kill in '"), hint


@pytest.mark.skipif(
    os.geteuid() != 0 or memory_home() is None, reason="needs root and groups with limits of memory"
)
def test_a_worker_killed_from_outside_is_not_called_out_of_memory(muster):
    with limited_memory("killed", 512 << 20) as inside:
        job = muster.run("--", "sh", "-c", "kill -KILL $$", through=inside, report=True)

    assert job.code == 137
    (hint,) = hints_of(job)
    assert hint.startswith("muster did not send this SIGKILL, and the kernel's OOM killer did not either"), hint
    assert "is 0 as before" in hint


@pytest.mark.parametrize("limit, name", [("-St", "SIGXCPU"), pytest.param("-t", "SIGKILL", marks=pytest.mark.full)])
def test_a_worker_killed_by_rlimit_cpu_is_reported_so(muster, worker, limit, name):
    job = muster.run(
        "--", "sh", "-c", f"ulimit {limit} 1; exec {worker('spin')}", report=True, seconds=30
    )

    assert job.report["first_failure"]["signal"] == name
    (hint,) = hints_of(job)
    assert hint.endswith("s of CPU time, which is all that its limit allows (RLIMIT_CPU, ulimit -t)"), hint


def test_a_file_that_is_too_large_is_named(muster, tmp_path):
    script = f"ulimit -f 1; exec dd if=/dev/zero of={tmp_path}/file bs=4096 count=4"

    job = muster.run("--", "sh", "-c", script, report=True)

    assert job.report["first_failure"]["signal"] == "SIGXFSZ", job.words()
    (hint,) = hints_of(job)
    assert hint.endswith("bytes (RLIMIT_FSIZE, ulimit -f)"), hint


@pytest.mark.kernel
def test_a_filter_of_system_calls_is_named(muster, worker):
    job = muster.run("--", worker("raise_signal"), signal.SIGSYS.value, report=True)

    (hint,) = hints_of(job)
    assert "(seccomp)" in hint


def test_a_memory_limit_is_named_when_last_lines_mention_memory(muster):
    script = "ulimit -v 300000; exec python3 -c 'x = bytearray(400 << 20)'"

    job = muster.run("--", "sh", "-c", script, report=True)

    assert job.code == 1
    (hint,) = hints_of(job)
    assert hint.startswith("its last lines mention memory, and its limit is 307200000 bytes"), hint


def test_an_exit_begun_before_the_signal_does_not_answer_it(muster, disk, worker, tmp_path):
    """The kernel is taking it down when it is asked to end, and can do so when the disk answers."""
    crash, leave = tmp_path / "crash", tmp_path / "leave"
    crashes = f"echo ready; while [ ! -e {crash} ]; do sleep 0.01; done; kill -SEGV $$"
    leaves = f"exec {worker('exit_on_disk')} {disk.folder}/lock {leave} 9"
    job = muster.start(
        "--nproc-per-node=2",
        *("--", "sh", "-c", f"if [ $RANK = 0 ]; then {crashes}; else {leaves}; fi"),
        report=True,
    )
    job.out.wait_for("ready", times=2)
    (leaving,) = [int(line.split()[-1]) for line in job.out.lines if line.startswith("[1]")]

    disk.freeze()
    leave.touch()
    wait_until(lambda: processes.look_at(leaving).state == "D", "rank 1 to wait for the disk")
    crash.touch()
    job.err.wait_for("asking 1 worker to end")
    disk.thaw()

    assert job.end() == 139, job.words()
    assert job.report["first_failure"]["global_rank"] == 0
    assert not job.report["first_failure"]["order_known"], "rank 1 began to end before"
    assert [other["exit_code"] for other in job.report["also_failed"]] == [9]


def test_an_exit_code_of_a_handler_is_an_answer(muster):
    script = "trap 'exit 9' TERM; test $RANK = 0 && kill -SEGV $$; while :; do sleep 0.01; done"

    job = muster.run("--nproc-per-node=2", "--", "sh", "-c", script, report=True)

    assert job.report["also_failed"] == []

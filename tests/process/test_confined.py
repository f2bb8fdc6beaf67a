"""Jobs run without /proc, without a temporary directory, without PATH and in a read-only file system."""

import os
import re
import signal

import pytest

WITHOUT_PROC = ["unshare", "--mount", "sh", "-c", 'umount --lazy /proc && exec "$@"', "sh"]
# A process namespace of its own, but the /proc of another one: every pid in it means nothing.
WITH_FOREIGN_PROC = ["unshare", "--pid", "--fork", "sh", "-c", '"$@"; exit $?', "sh"]
# Nothing can be written anywhere but in a directory that does not look like a temporary one.
READ_ONLY = ["unshare", "--mount", "sh", "-c", 'mount -o remount,bind,ro / / && exec "$@"', "sh"]

PLACES = pytest.mark.parametrize(
    "place",
    [
        pytest.param(WITHOUT_PROC, id="none", marks=pytest.mark.plain_build),
        pytest.param(WITH_FOREIGN_PROC, id="foreign"),
    ],
)

KILL_LIMIT = 5  # so long muster waits for what it killed, and sees


def end_what_is_left(muster, job):
    left = int(re.search(r"left (\d+)", job.out.text)[1])
    assert left in {process.pid for process in muster.survivors()}
    os.kill(left, signal.SIGKILL)


@PLACES
def test_without_proc_exit_codes_pass_through(muster, place):
    codes = (0, 3)

    ends = {
        code: muster.run("--", "sh", "-c", f"exit {code}", through=place).code for code in codes
    }

    assert ends == {code: code for code in codes}


@PLACES
def test_without_proc_a_failure_is_named_and_the_others_stopped(
    muster, worker, place
):
    job = muster.run("--nproc-per-node=4", "--", worker("fail_on_rank"), 2, 5, through=place)

    assert job.code == 5
    assert "rank 2 " in job.said_about("failed first")


@PLACES
@pytest.mark.kernel
def test_without_proc_workers_that_ignore_sigterm_are_killed(muster, worker, place):
    script = f"""if [ $RANK = 0 ]; then exec {worker("ignore_term")}; fi
                 exec {worker("fail_on_rank")} 1 5 go"""
    job = muster.start("--nproc-per-node=2", "--grace=0.2", "--", "sh", "-c", script, through=place)
    job.out.wait_for("ready")

    (muster.folder / "go").touch()

    assert job.end(2) == 5


@pytest.mark.parametrize("kind", ["session", "stubborn"])
def test_a_success_does_not_wait_for_invisible_processes(muster, worker, kind):
    job = muster.run(
        "--grace=60", "--", worker("leave_a_grandchild"), kind, through=WITHOUT_PROC, seconds=30
    )

    end_what_is_left(muster, job)
    assert job.code == 0
    assert job.said_about("could not kill a process that /proc does not show")


def test_a_stop_does_not_wait_long_for_invisible_processes(muster, worker):
    script = f"{worker('leave_a_grandchild')} stubborn; exec {worker('echo_signals')} 0"
    job = muster.start("--grace=0.2", "--", "sh", "-c", script, through=WITHOUT_PROC)
    job.out.wait_for("ready")

    job.signal(signal.SIGTERM)

    assert job.end(KILL_LIMIT) == 143
    end_what_is_left(muster, job)
    assert job.said_about("could not kill a process that /proc does not show")


@pytest.mark.plain_build
def test_term_ends_the_job_without_proc(muster, worker):
    job = muster.start("--nproc-per-node=2", "--", worker("echo_signals"), 0, through=WITHOUT_PROC)
    job.out.wait_for("ready", times=2)

    job.signal(signal.SIGTERM)

    assert job.end(2) == 143


def test_without_path_the_default_search_path_is_used(muster):
    job = muster.run("--", "true", through=["env", "--unset=PATH"])

    assert job.code == 0


def test_the_working_directory_is_not_searched_for_programs(muster, tmp_path):
    (tmp_path / "mine").write_text("#!/bin/sh\n")
    (tmp_path / "mine").chmod(0o755)

    assert muster.run("--", "mine").code == 127


@pytest.mark.kernel
def test_an_empty_environment_is_enough(muster):
    job = muster.run("--", "/bin/sh", "-c", "exit 3", through=["env", "--ignore-environment"])

    assert job.code == 3


def test_a_read_only_file_system_is_enough(muster):
    job = muster.run(
        "--nproc-per-node=2", "--", "sh", "-c", "exit 3", through=READ_ONLY, env={"TMPDIR": "/tmp"}
    )

    assert job.code == 3, job.words()

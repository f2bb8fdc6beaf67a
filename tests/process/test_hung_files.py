"""Files on a hung disk: the job runs and ends without them, and missing bytes are reported."""

import os
import re
import signal

import pytest

from support.deadlines import wait_until
from support.frozen import unanswered
from support.processes import children_of, is_alive, program_of
from support.repetitions import default_or_soak

GRACE = 0.5
LIMIT = GRACE + 2  # seconds from a signal, or from a failure, to the end of the job
# Each writes until it is killed.
STUBBORN = "trap '' TERM; while :; do echo line; echo line >&2; sleep 0.01; done"

TIMES = range(default_or_soak(1, 20))
ON_DISK = [pytest.param(("logs",), marks=pytest.mark.full), ("logs", "stdout", "stderr")]


@pytest.fixture
def start(muster, disk):
    """Starts a job of two shells that has these things on the disk, and waits until all of them are there."""

    def start_with(on_disk, script, *options):
        streams = {name: open(disk.folder / name, "wb") for name in on_disk if name != "logs"}
        logs = [f"--log-dir={disk.folder}/logs"] if "logs" in on_disk else []
        job = muster.start(
            f"--grace={GRACE}", "--nproc-per-node=2", *logs, *options, "--", "sh", "-c", script, **streams
        )
        for stream in streams.values():
            stream.close()
        for name in on_disk:
            wait_for_bytes(disk, "logs/attempt_0/worker_1.out" if name == "logs" else name)
        return job

    return start_with


def wait_for_bytes(disk, name, more_than=0):
    file = disk.folder / name
    wait_until(
        lambda: file.exists() and file.stat().st_size > more_than, f"more bytes in {file}"
    )


def wait_for_text(file, text):
    wait_until(lambda: file.exists() and text in file.read_text(), f"'{text}' in {file}")


def wait_for_file_work(job):
    wait_until(
        lambda: "muster-files" in [child.name for child in children_of(job.agent())],
        "a process that works on files for the agent",
    )


def wait_for_more_lines(job):
    """Several of each of two workers."""

    def lines():
        return [job.out.text.count(f"[{rank}] line") for rank in (0, 1)]

    before = lines()
    wait_until(lambda: all(now >= then + 5 for now, then in zip(lines(), before)), "more lines")


def dropped(job):
    """The number of dropped lines of log files that the job reports."""
    return int(re.match(r"(\d+) log lines? dropped", job.said_about("log line", "dropped"))[1])


@pytest.mark.soak
@pytest.mark.parametrize("_", TIMES)
@pytest.mark.parametrize("on_disk", ON_DISK, ids="+".join)
def test_a_stop_waits_for_the_grace_and_not_for_the_disk(start, disk, on_disk, _):
    job = start(on_disk, STUBBORN)
    disk.freeze()

    job.signal(signal.SIGTERM)

    assert job.end(LIMIT) == 143


@pytest.mark.soak
@pytest.mark.parametrize("_", TIMES)
@pytest.mark.parametrize("on_disk", ON_DISK, ids="+".join)
@pytest.mark.full
def test_a_failure_ends_the_job_without_the_disk(muster, start, disk, on_disk, _):
    go = muster.folder / "go"
    fails = f"echo line; echo line >&2; while ! [ -e {go} ]; do sleep 0.01; done; exit 7"
    job = start(on_disk, f"if [ $RANK = 1 ]; then {fails}; else {STUBBORN}; fi")
    disk.freeze()

    go.touch()

    assert job.end(LIMIT) == 7


def test_lines_missing_in_a_log_file_are_reported(start, disk):
    job = start(("logs",), STUBBORN)
    disk.freeze()
    wait_for_more_lines(job)

    job.signal(signal.SIGTERM)

    assert job.end(LIMIT) == 143
    for rank in (0, 1):
        file = f"logs/attempt_0/worker_{rank}.out"
        lacks = job.said_about(file, "lacks", "that could not be written")
        missing = int(re.search(r"lacks (\d+) bytes", lacks)[1])
        shown = job.out.text.count(f"[{rank}] line")
        assert missing > 0
        assert missing <= shown * len("line\n")


@pytest.mark.full
def test_missing_log_lines_are_reported_after_ctrl_c(start, disk):
    job = start(("logs",), STUBBORN, "-v")
    disk.freeze()
    wait_for_more_lines(job)
    job.signal(signal.SIGTERM)
    job.err.wait_for("the last lines for")

    job.signal(signal.SIGINT)

    assert job.end(LIMIT) == 143
    for rank in (0, 1):
        assert job.said_about(f"logs/attempt_0/worker_{rank}.out", "lacks", "could not be written")


@pytest.mark.full
def test_lines_a_stalled_console_did_not_take_are_in_the_report(muster, disk):
    with open(disk.folder / "stdout", "wb") as stream:
        job = muster.start("--grace=0.1", "--", "sh", "-c", STUBBORN, stdout=stream, report=True)
    wait_for_bytes(disk, "stdout")
    disk.freeze()
    job.err.wait_for("line", times=job.err.text.count("line") + 5)

    job.signal(signal.SIGTERM)

    assert job.end(LIMIT) == 143
    assert job.said_about("console lines dropped: standard output")


def test_the_next_attempt_has_log_files_after_the_writers_kill(muster, tmp_path):
    go = muster.folder / "go"
    script = f"echo up; [ -e {go} ] && exit 0; {ends_by(muster, 7)[1]}"
    job = muster.start("--max-restarts=1", f"--log-dir={tmp_path}/logs", "--", "sh", "-c", script)
    wait_for_text(tmp_path / "logs/attempt_0/worker_0.out", "up")

    def writers():
        return [one.pid for one in children_of(job.agent()) if one.name == "muster-files"]

    # Others of that name, which do one thing, have ended then.
    wait_until(lambda: len(writers()) == 1, "one process that writes files")
    (writer,) = writers()

    os.kill(writer, signal.SIGKILL)
    wait_until(lambda: not is_alive(writer), "the end of the writer")
    go.touch()

    assert job.end() == 0
    assert (tmp_path / "logs/attempt_1/worker_0.out").read_text() == "up\n"
    assert "does not respond" not in job.err.text


@pytest.mark.full
def test_a_job_starts_again_while_its_disk_hangs(muster, start, disk):
    go = muster.folder / "go"
    first = f"while ! [ -e {go} ]; do sleep 0.01; done; exit 7"
    script = f"echo up; if ! [ -e {go} ]; then {first}; fi; while :; do sleep 0.01; done"
    job = start(("logs",), script, "--max-restarts=1", "--console-stall=3600")
    disk.freeze()

    go.touch()

    job.out.wait_for("up", times=4)  # the second attempt has not waited for its files
    job.signal(signal.SIGTERM)
    assert job.end() == 143
    assert job.said_about("log files could not be made in time", "attempt_1")
    assert job.said_about("attempt_1/worker_0.out", "lacks 3 bytes")


@pytest.mark.full
def test_log_lines_for_a_hung_disk_are_dropped_and_counted(
    muster, start, disk, worker
):
    go, last = muster.folder / "go", muster.folder / "last"
    script = f"""echo first; while ! [ -e {go} ]; do sleep 0.01; done; {worker('fill_the_pipe')} 8000000
                 while ! [ -e {last} ]; do sleep 0.01; done; echo at the end"""
    job = start(("logs",), script, "--console-stall=10", "--redirects=1")
    disk.freeze()
    go.touch()
    job.err.wait_for("written", times=2)  # both came through, so lines are dropped by now

    disk.thaw()
    job.err.wait_for("dropped: log files accepted no output")
    last.touch()

    assert job.end() == 0
    texts = [(disk.folder / f"logs/attempt_0/worker_{rank}.out").read_text() for rank in (0, 1)]
    assert all(text.startswith("first\n") and text.endswith("\nat the end\n") for text in texts)
    kept = sum(text.count("\n") for text in texts) - 4
    assert 0 < kept == 2 * (8_000_000 // 64) - dropped(job)


# The start, on a disk that hangs already.


@pytest.mark.full
def test_a_report_that_cannot_be_tried_does_not_hold_up_the_start(muster, disk):
    disk.freeze()
    job = muster.start("--console-stall=0.5", "--", "true", report=disk.folder / "report.json")

    assert job.end() == 0
    assert job.said_about("cannot try whether the report", "its file system does not answer")
    assert job.said_about("the report is not written")


@pytest.mark.full
def test_a_hung_report_check_does_not_exempt_descendants_from_cleanup(muster, disk):
    """The process that hangs is a child that the guard had before, as `exec muster` keeps those of a shell."""
    disk.freeze()
    job = muster.start(
        "--console-stall=0.5",
        "--",
        "sh",
        "-c",
        "env -i sleep 100 & echo $! $PPID; wait",
        report=disk.folder / "report.json",
    )
    job.out.wait_for("\n")
    unmarked, agent = map(int, job.out.lines[0].split())
    wait_until(lambda: (program_of(unmarked) or "").endswith("sleep"), "the environment to be gone")

    os.kill(agent, signal.SIGKILL)

    assert job.end() == 137
    assert not is_alive(unmarked)


def test_a_report_is_written_though_its_check_timed_out(muster, disk):
    report = disk.folder / "report.json"
    report.write_text("an older one")
    go, script = ends_by(muster, 0)
    disk.freeze()
    job = muster.start("--", "sh", "-c", script, report=report)
    job.err.wait_for("cannot try whether the report")

    disk.thaw()
    go.touch()

    assert job.end() == 0
    assert job.report["exit_code"] == 0


def test_the_run_folder_does_not_need_a_disk(muster, disk):
    disk.freeze()

    job = muster.start("--", "sh", "-c", "exit 7", env={"TMPDIR": disk.folder})

    assert job.end() == 7
    assert "TMPDIR" not in job.err.text


def test_logs_without_a_log_dir_are_refused_on_a_hung_tmpdir(muster, disk):
    disk.freeze()

    job = muster.start("--tee=3", "--", "true", env={"TMPDIR": disk.folder})

    assert job.end() == 71
    assert job.said_about(f"below '{disk.folder}': its file system does not answer", "--log-dir")


@pytest.mark.full
def test_log_files_not_created_in_time_are_reported_and_waited_for_once(muster, disk):
    stall = 0.5
    disk.freeze()
    job = muster.start(
        f"--console-stall={stall}", "--nproc-per-node=2", f"--log-dir={disk.folder}/logs", "--", "true"
    )

    assert job.end(stall + 2) == 0
    assert job.said_about("4 log files could not be made in time, such as", "worker_0.out")


@pytest.mark.parametrize("option, code", (("--grace=0.1", 0), ("--nproc-per-node=none", 64)))
def test_a_hung_console_delays_neither_a_start_nor_a_refusal(muster, disk, option, code):
    with open(disk.folder / "stderr", "wb") as stream:
        disk.freeze()
        job = muster.start(option, "--console-stall=0.5", "--", "true", stderr=stream)

        assert job.end() == code


@pytest.mark.full
def test_a_stop_ends_a_start_with_all_files_hung(muster, disk):
    with open(disk.folder / "stderr", "wb") as stream:
        disk.freeze()
        job = muster.start(
            f"--grace={GRACE}",
            f"--log-dir={disk.folder}/logs",
            "--",
            "sleep",
            "100",
            stderr=stream,
            report=disk.folder / "report.json",
            env={"TMPDIR": disk.folder},
        )
    # The guard has children more than usual: they hang in the trials of the log folder and of the report.
    wait_until(
        lambda: "muster-files"
        in [one.name for child in children_of(job.pid) for one in children_of(child.pid)],
        "a process that writes for the agent",
    )

    job.signal(signal.SIGTERM)

    assert job.end(LIMIT) == 143


# The template's files.


@pytest.fixture
def start_with_file(muster, disk):
    """Starts a job whose template has a private file on the disk, and perhaps one more before it."""

    def start(*command, first=None):
        template = muster.folder / "own.yaml"
        paths = [first] if first else []
        template.write_text(
            "mode: own\nroles:\n  - name: worker\nfiles:\n"
            + "".join(
                f"  - {{path: {path}, content: x, private: true}}\n"
                for path in [*paths, disk.folder / "planned"]
            ),
        )
        return muster.start(f"--template={template}", f"--grace={GRACE}", *command)

    return start


def test_a_planned_file_that_cannot_be_written_in_time_is_a_failure(start_with_file, disk):
    disk.freeze()

    job = start_with_file("--console-stall=0.5", "--", "true")

    assert job.end() == 71
    assert job.said_about(f"cannot write '{disk.folder}/planned': its file system does not answer")


@pytest.mark.full
def test_a_planned_file_is_waited_for_within_the_stall_limit(start_with_file, disk):
    disk.freeze()
    job = start_with_file("--console-stall=60", "--", "cat", f"{disk.folder}/planned")
    job.err.wait_for(f"waiting for '{disk.folder}/planned' to be written")

    disk.thaw()

    assert job.end() == 0
    assert job.out.lines == ["x"]


@pytest.mark.soak
@pytest.mark.parametrize("_", TIMES)
def test_a_stop_does_not_wait_for_a_planned_file(start_with_file, disk, _):
    disk.freeze()
    job = start_with_file("--console-stall=60", "--", "true")
    wait_for_file_work(job)

    job.signal(signal.SIGTERM)

    assert job.end(LIMIT) == 143


@pytest.mark.full
def test_the_end_does_not_wait_for_the_removal_of_a_planned_file(muster, start_with_file, disk):
    go, script = ends_by(muster, 0)
    job = start_with_file("--", "sh", "-c", f"echo up; {script}")
    job.out.wait_for("up")
    disk.freeze()

    go.touch()

    assert job.end(LIMIT) == 0


@pytest.mark.full
def test_a_private_file_is_removed_when_the_next_one_hangs(muster, start_with_file, disk):
    first = muster.folder / "first"
    disk.freeze()

    job = start_with_file("--console-stall=0.5", "--", "true", first=first)

    assert job.end() == 71
    assert not first.exists()


def test_a_private_file_is_removed_when_the_job_is_stopped(muster, start_with_file, disk):
    first = muster.folder / "first"
    disk.freeze()
    job = start_with_file("--console-stall=60", "--", "true", first=first)
    wait_until(first.exists, "the first file")

    job.signal(signal.SIGTERM)

    assert job.end(LIMIT) == 143
    assert not first.exists()


def test_a_planned_file_half_written_at_a_stop_is_removed(start_with_file, disk):
    before = set(os.listdir(disk.folder))
    with unanswered(disk.folder):
        job = start_with_file("--console-stall=60", "--", "true")
        wait_until(lambda: set(os.listdir(disk.folder)) > before, "a file that is being written")

        job.signal(signal.SIGTERM)

        assert job.end(LIMIT) == 143

    assert set(os.listdir(disk.folder)) == before


# The workers' error files.


@pytest.fixture
def start_with_error_file(muster, disk):
    """Starts a job whose worker has an error file on the disk, with the script that it runs."""

    def start(script, *options):
        template = muster.folder / "own.yaml"
        file = f"{disk.folder}/error"
        template.write_text(f"mode: own\nroles:\n  - {{name: worker, error_file: {file}}}\n")
        job = muster.start(f"--template={template}", *options, "--", "sh", "-c", script, report=True)
        job.out.wait_for("up")
        return job

    return start


@pytest.mark.soak
@pytest.mark.parametrize("_", TIMES)
@pytest.mark.full
def test_a_job_restarts_and_fails_while_error_files_hang(
    muster, start_with_error_file, disk, _
):
    """The old ones are waited for, for a second."""
    go, script = ends_by(muster, 7)
    error = disk.folder / "error"
    writes = f"""[ -e {error} ] || echo '{{"message": "of the first one"}}' > {error}"""
    job = start_with_error_file(f"{writes}; echo up; {script}", "--max-restarts=1")
    disk.freeze()

    go.touch()

    assert job.end(LIMIT + 1) == 7
    assert job.said_about("the workers' error files are not read")
    assert job.report["first_failure"]["error_file"] is None


def test_a_hung_error_file_is_not_waited_for(
    muster, start_with_error_file, disk
):
    go, script = ends_by(muster, 7)
    error = disk.folder / "error"
    job = start_with_error_file(f"""echo '{{"message": "x"}}' > {error}; echo up; {script}""")

    with unanswered(error):
        go.touch()

        assert job.end(LIMIT) == 7

    assert job.said_about("the workers' error files are not read")


# The report.


@pytest.fixture
def start_with_report(muster, disk):
    """Starts a job of two shells with a report on the disk, and waits until it runs."""

    def start(script, *options):
        job = muster.start(
            f"--grace={GRACE}",
            "--nproc-per-node=2",
            *options,
            "--",
            "sh",
            "-c",
            f"echo up; {script}",
            report=str(disk.folder / "report.json"),
        )
        job.out.wait_for("up", times=2)
        return job

    return start


def ends_by(muster, code):
    """Runs until the disk has been frozen."""
    go = muster.folder / "go"
    return go, f"while ! [ -e {go} ]; do sleep 0.01; done; exit {code}"


@pytest.mark.soak
@pytest.mark.parametrize("_", TIMES)
def test_a_stop_does_not_wait_for_the_report(start_with_report, disk, _):
    job = start_with_report(STUBBORN)
    disk.freeze()

    job.signal(signal.SIGTERM)

    assert job.end(LIMIT) == 143
    assert job.said_about("the report is not written: its file system does not answer")


@pytest.mark.soak
@pytest.mark.parametrize("_", TIMES)
@pytest.mark.parametrize("code", (0, pytest.param(7, marks=pytest.mark.full)))
def test_the_end_does_not_wait_for_the_report(muster, start_with_report, disk, code, _):
    go, script = ends_by(muster, code)
    job = start_with_report(script, "--console-stall=0.5")
    disk.freeze()

    go.touch()

    assert job.end(LIMIT) == code
    assert job.said_about("the report is not written: its file system does not answer")


def test_a_stop_signal_waits_a_moment_for_the_report(muster, start_with_report, disk):
    go, script = ends_by(muster, 0)
    job = start_with_report(script, "--console-stall=60")
    disk.freeze()
    go.touch()
    wait_for_file_work(job)

    job.signal(signal.SIGTERM)

    assert job.end(LIMIT) == 0

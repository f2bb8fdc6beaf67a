"""Jobs where the kernel refuses system calls. Tests marked with `kernel` elsewhere run under such filters, too."""

import os
import signal

import pytest

from support import processes
from support.deadlines import wait_until


@pytest.fixture
def old_kernel(worker):
    return [worker("refuse"), "linux-4.18"]


def test_exit_codes_pass_through(muster, old_kernel):
    codes = (0, 1, 3, 255)

    ends = {
        code: muster.run("--", "sh", "-c", f"exit {code}", through=old_kernel).code
        for code in codes
    }

    assert ends == {code: code for code in codes}


def test_a_failure_is_named_and_the_others_are_stopped(muster, worker, old_kernel):
    job = muster.run("--nproc-per-node=16", "--", worker("fail_on_rank"), 7, 5, through=old_kernel)

    assert job.code == 5
    assert "rank 7 " in job.said_about("failed first")


def test_an_abort_is_named(muster, worker, old_kernel):
    job = muster.run("--", worker("raise_signal"), 6, through=old_kernel)

    assert job.code == 134
    assert "SIGABRT" in job.said_about("failed first")


def test_the_report_says_that_the_order_within_one_wake_up_is_unknown(muster, old_kernel):
    script = f"echo ready $$; while ! [ -e {muster.folder}/go ]; do sleep 0.01; done; exit 5"
    job = muster.start(
        "--nproc-per-node=4", "--prefix=never", "--", "sh", "-c", script, through=old_kernel
    )
    job.out.wait_for("ready", times=4)
    workers = [int(line.split()[-1]) for line in job.out.lines]
    agent = job.agent()
    os.kill(agent, signal.SIGSTOP)
    wait_until(lambda: processes.look_at(agent).state == "T", "the agent to be stopped")
    (muster.folder / "go").touch()
    wait_until(lambda: not any(map(processes.is_alive, workers)), "all workers to be dead")
    os.kill(agent, signal.SIGCONT)

    assert job.end() == 5
    assert job.said_about("probably failed first")


@pytest.mark.needs("pidfds")
def test_with_pidfds_the_order_is_known(muster, worker):
    job = muster.run("--nproc-per-node=4", "--", worker("fail_on_rank"), 1, 5)

    assert "probably" not in job.said_about("failed first")


def test_term_ends_the_job(muster, worker, old_kernel):
    job = muster.start("--nproc-per-node=4", "--", worker("echo_signals"), 0, through=old_kernel)
    job.out.wait_for("ready", times=4)

    job.signal(signal.SIGTERM)

    assert job.end(2) == 143


def test_nothing_of_a_stubborn_tree_is_left(muster, worker, old_kernel):
    job = muster.start("--grace=0.3", "--", worker("stubborn_tree"), 3, through=old_kernel)

    assert job.end(2) == 3
    muster.assert_no_survivors()


@pytest.mark.parametrize("victim", ["guard", "agent"])
def test_nothing_of_a_stubborn_tree_is_left_after_kill(muster, worker, old_kernel, victim):
    job = muster.start("--grace=0.3", "--", worker("stubborn_tree"), through=old_kernel)
    job.out.wait_for("ready\n")

    job.signal(signal.SIGKILL) if victim == "guard" else job.kill_agent()

    muster.assert_no_survivors(seconds=1)
    assert job.end() in (-signal.SIGKILL, 137)


@pytest.mark.parametrize("system", ["linux-4.18", "old-docker", "gvisor"])
def test_a_failure_is_passed_through_under_each_filter(muster, worker, system):
    job = muster.run(
        "--nproc-per-node=2",
        "--",
        worker("fail_on_rank"),
        1,
        5,
        through=[worker("refuse"), system],
    )

    assert job.code == 5
    assert "rank 1 " in job.said_about("failed first")


def test_a_refused_prctl_is_reported_once(muster, worker):
    job = muster.run("--nproc-per-node=3", "--", "true", through=[worker("refuse"), "prctl"])

    assert job.code == 0
    assert job.said_about("PR_SET_CHILD_SUBREAPER") == (
        "muster neither finds nor ends a process of the job whose parent has ended: "
        "PR_SET_CHILD_SUBREAPER: Operation not permitted"
    )
    assert job.said_about("PR_SET_PDEATHSIG") == (
        "if both processes of muster are killed at once, the workers run on: "
        "PR_SET_PDEATHSIG: Operation not permitted"
    )


@pytest.mark.parametrize("victim", ["guard", "agent"])
def test_without_pdeathsig_workers_end_with_guard_or_agent(muster, worker, victim):
    job = muster.start(
        "--nproc-per-node=2",
        "--",
        worker("ignore_term"),
        through=[worker("refuse"), "death-signal"],
    )
    job.out.wait_for("ready", times=2)

    job.signal(signal.SIGKILL) if victim == "guard" else job.kill_agent()

    muster.assert_no_survivors(seconds=1)
    assert job.end() in (-signal.SIGKILL, 137)


def test_a_refused_setrlimit_does_not_fail_the_job(muster, worker):
    job = muster.run("--nproc-per-node=2", "--", "true", through=[worker("refuse"), "limits"])

    assert job.code == 0


def test_a_refused_signal_by_pidfd_is_sent_by_number(muster, worker):
    job = muster.start(
        "--grace=0.3", "--", worker("stubborn_tree"), 3, through=[worker("refuse"), "pidfd-signals"]
    )

    assert job.end(2) == 3
    muster.assert_no_survivors()


def test_a_named_pipe_takes_a_report_under_the_filter_of_old_docker(muster, worker):
    """There the system's own question whether it can be written is refused."""
    pipe = muster.folder / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDWR)  # it takes more than a report before anybody reads

    job = muster.run(f"--report={pipe}", "--", "true", through=[worker("refuse"), "old-docker"])

    assert job.code == 0, job.words()
    assert b'"verdict"' in os.read(reader, 65536)
    os.close(reader)


@pytest.mark.parametrize(
    ("word", "near"),
    [
        ("statsu", "status"), ("torchrn", "torchrun"), ("mpirn", "mpirun"), ("lst", "last"), ("dmp", "dump"), ("helpp", "--help"),
        ("accelerat", "accelerate launch"), ("nosuch", None), ("xyz", None),
    ],
)  # fmt: skip
def test_a_slip_in_a_command_gets_the_nearest_one(muster, word, near):
    job = muster.run(word)

    assert job.code == 127
    said = f"cannot run '{word}': not found in PATH; did you mean 'muster {near}'?" if near else "did you mean 'muster"
    assert (said in job.err.text) == (near is not None), job.err.text


@pytest.mark.parametrize(
    ("words", "end"),
    [
        (["suspend", "--timeout", "3"], "unknown option '--timeout'; did you mean '--within'?"),
        (["suspend", "--timeout=3"], "unknown option '--timeout'; did you mean '--within'?"),
        (["stop", "--timeout=3"], "unknown option '--timeout'; did you mean '--grace'?"),
        (["stop", "--now"], "unknown option '--now'; 'muster stop --grace 0' kills the workers at once"),
        (["last", "--n", "3"], "unknown option '--n'; did you mean 'muster last N'?"),
        (["status", "--foo", "x"], "unknown option '--foo'; 'muster status --help' lists them"),
        (["doctor", "--foo"], "unknown option '--foo'; 'muster doctor --help' lists them"),
        (["status", "x"], "'x' is not a word that muster status takes; it has only options"),
        (["--foo"], "unknown option '--foo'; 'muster --help' lists them, and a program that begins with a dash goes after '--'"),
    ],
)
def test_an_unknown_option_of_a_command_gets_the_one_that_is_meant(muster, words, end):
    job = muster.run(*words)

    assert job.code == 64
    assert job.said == [end]


@pytest.mark.parametrize("word", ["trian.py", "train"])
def test_a_slip_in_the_name_of_a_script_gets_the_script_that_is_there(muster, word):
    (muster.folder / "train.py").write_text("")
    job = muster.run(word)

    assert job.code == 127
    assert "; did you mean 'train.py'?" in job.err.text


def test_another_name_gets_no_script(muster):
    (muster.folder / "train.py").write_text("")

    for word in ("nosuch.py", "nosuch"):
        job = muster.run(word)
        assert job.code == 127 and "did you mean" not in job.err.text


def test_a_machine_without_python_names_the_python_that_it_has(muster, tmp_path):
    job = muster.run("python", "x.py", env={"PATH": str(tmp_path)})
    assert job.code == 127 and "python3" not in job.err.text

    (tmp_path / "python3").symlink_to("/usr/bin/python3")
    job = muster.run("python", "x.py", env={"PATH": str(tmp_path)})
    assert job.code == 127 and "cannot run 'python': not found in PATH; python3 is there" in job.err.text


@pytest.mark.parametrize(("folder", "why"), [("/proc/nosuch", "No such file or directory"), ("file/logs", "Not a directory")])
@pytest.mark.parametrize("form", ["--log-dir", "MUSTER_LOG_DIR"])
def test_a_log_folder_that_cannot_be_made_is_refused_at_the_start(muster, form, folder, why):
    (muster.folder / "file").write_text("")
    given = {"env": {form: folder}} if form.startswith("MUSTER") else {}
    job = muster.run(*([f"{form}={folder}"] if not given else []), "--", "touch", "ran", **given)

    assert job.code == 71
    assert job.said_about(f"cannot write into the log folder '{folder}' ({form}): {why}")
    assert not (muster.folder / "ran").exists()

"""A stopped agent delays nothing: the guard ends the job in its place."""

import ctypes
import os
import signal

import pytest

from support import processes
from support.deadlines import wait_until
from support.freezer import Freezer
from support.frozen import Disk
from support.idleness import wait_until_asleep
from support.repetitions import default_or_soak

GRACE = 0.3
LIMIT = GRACE + 2  # seconds after which a job that was asked to stop is over, whatever hangs
REPETITIONS = default_or_soak(1, 20)
STUCK = "has not moved for"
PTRACE_DETACH = 17
PTRACE_SEIZE = 0x4206
PTRACE_INTERRUPT = 0x4207


def start_stubborn(muster, worker, *options, workers=2):
    job = muster.start(
        f"--grace={GRACE}", f"--nproc-per-node={workers}", *options, "--", worker("ignore_term")
    )
    job.out.wait_for("ready", times=workers)
    return job


def stop(pid):
    os.kill(pid, signal.SIGSTOP)
    wait_until(lambda: processes.look_at(pid).state == "T", f"{pid} to be stopped")


@pytest.mark.soak
@pytest.mark.parametrize(
    "number",
    [
        pytest.param(signal.SIGTERM, marks=pytest.mark.kernel),
        pytest.param(signal.SIGINT, marks=pytest.mark.full),
    ],
)
def test_a_signal_ends_the_job_although_the_agent_is_stopped(muster, worker, number):
    for _ in range(REPETITIONS):
        job = start_stubborn(muster, worker)
        agent = job.agent()
        stop(agent)

        job.signal(number)

        assert job.end(LIMIT) == 69
        assert job.said_about(f"the agent (pid {agent})", STUCK, "killed every process of the job")
        muster.assert_no_survivors()


def test_the_guard_sends_sigterm_when_the_agent_is_stopped(muster, worker):
    job = muster.start("--grace=30", "--", worker("save_for_seconds_on_term"), "0.1")
    job.out.wait_for("ready")
    (saver,) = [one.pid for one in processes.workers_of(job.agent())]
    stop(job.agent())

    job.signal(signal.SIGTERM)
    wait_until(lambda: processes.look_at(saver).state == "Z", "the worker to have saved")
    os.kill(job.agent(), signal.SIGCONT)

    job.end()
    assert "saved" in job.out.text
    assert not any(STUCK in line for line in job.said), "the agent came back within the grace"


ANSWERS = 'trap "echo asked; exit 0" TERM; echo ready; while :; do sleep 0.05; done'


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.full)])
def test_workers_that_exit_0_after_the_guards_sigterm_were_stopped(muster, number):
    script = ANSWERS.replace("TERM", number.name[len("SIG") :])
    options = ["--grace=30", "--nproc-per-node=2"]
    job = muster.start(*options, "--", "sh", "-c", script, report=True)
    job.out.wait_for("ready", times=2)
    workers = [one.pid for one in processes.workers_of(job.agent())]
    stop(job.agent())

    job.signal(number)
    wait_until(lambda: all(have_ended(workers)), "the workers to have answered the guard")
    os.kill(job.agent(), signal.SIGCONT)

    assert job.end() == 128 + number
    assert job.report["verdict"] == "stopped"
    assert [one["outcome"] for one in job.report["workers"]] == ["stopped", "stopped"]
    assert job.out.text.count("asked") == 2, "each is asked once"


@pytest.mark.parametrize("code", [0, 3])
@pytest.mark.full
def test_a_worker_that_exited_before_the_guards_sigterm_was_not_stopped(muster, code):
    script = f'if [ "$RANK" = 0 ]; then echo ready; read line; exit {code}; fi; {ANSWERS}'
    options = ["--nproc-per-node=2", "--stdin=0", "--grace=30"]
    job = muster.start(*options, "--", "sh", "-c", script, stdin=-1, report=True)
    job.out.wait_for("ready", times=2)
    workers = [one.pid for one in processes.workers_of(job.agent())]
    stop(job.agent())
    job.process.stdin.close()
    wait_until(lambda: any(have_ended(workers)), "the first worker to have ended")

    job.signal(signal.SIGTERM)
    wait_until(lambda: all(have_ended(workers)), "the other one to have answered the guard")
    os.kill(job.agent(), signal.SIGCONT)

    assert job.end() == (code or 143)
    by_itself = "failed" if code else "succeeded"
    assert [one["outcome"] for one in job.report["workers"]] == [by_itself, "stopped"]


def test_a_worker_gets_no_second_sigterm_after_the_guards(muster, worker):
    job = muster.start("--grace=30", "--", worker("echo_signals"))
    job.out.wait_for("ready")
    stop(job.agent())
    job.signal(signal.SIGTERM)
    (echo,) = processes.workers_of(job.agent())
    heard = len("ready\ngot TERM\ngot CONT\n")
    wait_until(lambda: written_by(echo.pid) == heard, "the worker to have heard the guard")

    os.kill(job.agent(), signal.SIGCONT)

    job.err.wait_for("asking 1 worker to end")
    job.out.wait_for("got CONT", times=2)  # sent last by each, and read last
    assert job.out.text.count("got TERM") == 1
    job.signal(signal.SIGKILL)
    job.end()


def written_by(pid):
    """In bytes; nobody may have read them yet."""
    for line in open(f"/proc/{pid}/io", encoding="utf-8"):
        if line.startswith("wchar:"):
            return int(line.split()[1])
    return 0


def have_ended(pids):
    return [processes.look_at(pid).state == "Z" for pid in pids]


@pytest.mark.soak
def test_ctrl_c_after_a_request_ends_the_job_while_the_agent_is_stopped(muster, worker):
    for _ in range(REPETITIONS):
        job = muster.start("--grace=30", "--", worker("ignore_term"))
        job.out.wait_for("ready")
        stop(job.agent())
        job.signal(signal.SIGTERM)
        wait_until(lambda: not processes.is_pending(job.pid, signal.SIGTERM), "the guard to have heard")

        job.signal(signal.SIGINT)

        assert job.end(2) == 69
        muster.assert_no_survivors()


@pytest.mark.full
def test_a_decided_verdict_stays_though_the_agent_is_stopped_afterwards(muster):
    lines = "for i in $(seq 4000); do echo a line that is so long that they fill every pipe; done"
    reading, writing = os.pipe()
    job = muster.start(
        "--verbose",
        f"--grace={GRACE}",
        "--console-stall=60",
        "--",
        "sh",
        "-c",
        f"{lines}; exit 3",
        stdout=writing,
    )
    os.close(writing)
    job.err.wait_for("the end waits for: the last lines")
    stop(job.agent())

    job.signal(signal.SIGTERM)

    assert job.end(LIMIT) == 3
    os.close(reading)
    assert job.said_about(STUCK, "killed every process of the job")


@pytest.mark.soak
@pytest.mark.parametrize("version", [pytest.param(1, marks=pytest.mark.full), 2])
def test_a_signal_ends_the_job_although_the_agent_is_frozen(muster, worker, version):
    for number in range(REPETITIONS):
        with Freezer(f"agent-{number}", version) as freezer:
            job = start_stubborn(muster, worker)
            agent = job.agent()
            freezer.add(agent)
            freezer.freeze()

            job.signal(signal.SIGTERM)

            assert processes.wait_for_end(job.process, LIMIT, job) == 69
            left = [one for one in muster.survivors() if one.pid != agent]
            assert not left, "nobody but the agent, which version 1 lets nobody kill"
        job.end()
        assert job.said_about(f"the agent (pid {agent})", STUCK)
        muster.assert_no_survivors(seconds=1)


@pytest.mark.soak
@pytest.mark.kernel
def test_a_failure_ends_the_job_although_the_guard_is_stopped(muster, worker):
    for _ in range(REPETITIONS):
        job = muster.start("--", "sh", "-c", "echo ready; read line; exit 7", stdin=-1)
        job.out.wait_for("ready")
        stop(job.guard())

        job.process.stdin.close()

        assert job.end() == 7
        muster.assert_no_survivors()


@pytest.mark.soak
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_job_although_the_guard_is_stopped(muster, worker, number):
    for _ in range(REPETITIONS):
        job = start_stubborn(muster, worker)

        stop(job.guard())

        job.signal(number)

        assert job.end(LIMIT) == 128 + number
        muster.assert_no_survivors()


@pytest.mark.soak
@pytest.mark.parametrize("is_stopped_first", [True, False])
def test_a_guard_stopped_together_with_sigterm_ends_the_job(muster, worker, is_stopped_first):
    both = (signal.SIGSTOP, signal.SIGTERM)
    for _ in range(REPETITIONS):
        job = start_stubborn(muster, worker)

        for number in both if is_stopped_first else reversed(both):
            job.signal(number)

        assert job.end(LIMIT) == 143
        muster.assert_no_survivors()


@pytest.mark.soak
@pytest.mark.full
def test_a_guard_with_hung_standard_error_ends_the_job(muster, worker, tmp_path):
    """And whose run folder does: all that it has to do with files is on a disk that stops answering."""
    for number in range(REPETITIONS):
        with Disk(tmp_path / f"disk-{number}") as disk:
            with open(disk.folder / "errors", "w", encoding="utf-8") as errors:
                job = muster.start(
                    f"--grace={GRACE}",
                    "--",
                    worker("ignore_term"),
                    stderr=errors,
                    env={"TMPDIR": disk.folder},
                )
                job.out.wait_for("ready")
                stop(job.agent())
                disk.freeze()

                job.signal(signal.SIGTERM)

                assert processes.wait_for_end(job.process, LIMIT, job) == 69
            job.out.wait_for_end()
        muster.assert_no_survivors(seconds=2)


@pytest.mark.soak
@pytest.mark.full
def test_an_unkillable_worker_delays_the_end_once(muster, tmp_path):
    """In state D, as on a file server that is gone. What is said and what is left, and seven seconds."""
    for number in range(REPETITIONS):
        with Disk(tmp_path / f"disk-{number}") as disk:
            script = f"echo ready; while :; do echo line; done >>{disk.folder}/data"
            job = muster.start(f"--grace={GRACE}", "--", "sh", "-c", script)
            job.out.wait_for("ready")
            agent = job.agent()
            (writer,) = [one.pid for one in processes.workers_of(agent)]
            disk.freeze()
            wait_until(lambda: processes.look_at(writer).state == "D", "the worker to hang")

            job.signal(signal.SIGTERM)

            assert processes.wait_for_end(job.process, GRACE + 7, job) == 143
            job.err.wait_for(f"could not kill pid {writer} (sh)")
        job.end()
        muster.assert_no_survivors(seconds=2)
        assert not groups_of(job.pid, agent), "an empty control group is left"


def groups_of(*pids):
    """Control groups that these have made and not removed."""
    # Not by rglob, which fails where somebody else removes a group meanwhile.
    folders = (folder for _, folders, _ in os.walk("/sys/fs/cgroup") for folder in folders)
    return [folder for folder in folders if folder in {f"muster-{pid}" for pid in pids}]


@pytest.mark.plain_build
@pytest.mark.parametrize("restarts", [0, pytest.param(1, marks=pytest.mark.full)])
def test_a_traced_zombie_counts_as_a_failed_worker(muster, restarts):
    waits = '[ "$RANK" = 0 ] && mkdir first'
    # Ready when no child of it ends any more: SIGCHLD would stop a process that is traced.
    script = f'if {waits}; then echo ready; read line; exit 7; fi; echo ready; exec sleep "$1"'
    job = muster.start(
        "--nproc-per-node=2",
        "--stdin=0",
        f"--max-restarts={restarts}",
        "--",
        "sh",
        "-c",
        script,
        "sh",
        "1" if restarts else "60",
        stdin=-1,
    )
    job.out.wait_for("ready", times=2)

    def shells():
        return [one.pid for one in processes.children_of(job.agent()) if one.name == "sh"]

    wait_until(lambda: len(shells()) == 1, "the other worker to be 'sleep'")
    (held,) = shells()
    trace(held)
    job.process.stdin.close()

    line = f"(pid {held}) has ended, and the process that traces it (pid {os.getpid()}) holds it"
    job.err.wait_for(line)
    assert job.end() == (0 if restarts else 7)

    os.waitpid(held, 0)
    assert not job.words().count("could not kill")


@pytest.mark.plain_build
def test_an_agent_sleeps_while_a_debugger_stops_the_guard(muster, worker):
    job = start_stubborn(muster, worker, "--hang-report=0")
    agent = job.agent()
    trace(job.pid)
    ask_kernel(PTRACE_INTERRUPT, job.pid)
    os.waitpid(job.pid, 0)  # until it is held
    wait_until_asleep(agent)
    before = processes.context_switches_of(agent)

    job.signal(signal.SIGTERM)
    wait_until(lambda: processes.context_switches_of(agent) > before, "the agent to hear the bell")

    wait_until_asleep(agent)
    ask_kernel(PTRACE_DETACH, job.pid)
    assert job.end() == 143


def trace(pid):
    ask_kernel(PTRACE_SEIZE, pid)


def ask_kernel(request, pid):
    tracer = ctypes.CDLL(None, use_errno=True)
    assert tracer.ptrace(request, pid, None, None) == 0, os.strerror(ctypes.get_errno())


def test_log_output_already_read_is_written_after_the_agents_kill(muster, tmp_path):
    job = muster.start(
        f"--log-dir={tmp_path}", "--tee=3", "--", "sh", "-c", "read line; echo a last line; sleep 60",
        stdin=-1,
    )
    wait_until(lambda: log_files(tmp_path), "the log file")
    # Others of that name, which do one thing, have ended then.
    wait_until(lambda: len(writers_of(job.agent())) == 1, "one process that writes files")
    (writer,) = writers_of(job.agent())
    stop(writer)
    job.process.stdin.write(b"go\n")
    job.process.stdin.close()
    job.out.wait_for("a last line")

    job.kill_agent()
    os.kill(writer, signal.SIGCONT)

    assert job.end() == 137
    assert any("a last line" in one.read_text() for one in log_files(tmp_path))


def log_files(folder):
    return [one for one in folder.rglob("*") if one.name.startswith("worker_")]


def writers_of(agent):
    return [one.pid for one in processes.children_of(agent) if one.name == "muster-files"]


@pytest.mark.parametrize("options", [[], ["--mode=mpirun", "--mpi-start=pmix"]], ids=" ".join)
def test_the_token_is_not_in_a_readable_environment(muster, worker, options):
    job = muster.start(
        *options, "--", worker("ignore_term"), env={"MUSTER_TOKEN": "a token of the test"}
    )
    job.out.wait_for("ready")

    children = processes.children_of(job.agent())
    assert len(children) == 1 + len(options) // 2, "the worker, and what serves it"
    for pid in (job.guard(), job.agent(), *[one.pid for one in children]):
        assert "a token of the test" not in processes.environment_of(pid).values()
    job.signal(signal.SIGKILL)
    job.end()

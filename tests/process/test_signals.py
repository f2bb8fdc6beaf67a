"""Signals to muster: their effect on the workers, and on its exit code."""

import os
import re
import signal
import time

import pytest

from support import processes
from support.deadlines import wait_until
from support.muster import binary
from support.repetitions import default_or_soak

ENDING = [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT]
PASSING = [signal.SIGUSR1, signal.SIGUSR2, signal.SIGWINCH, signal.SIGCONT]
AS_FIRST_PROCESS = ["unshare", "--pid", "--fork", "--mount-proc"]


def short_name(number):
    return number.name.removeprefix("SIG")


def ids(number):
    return number.name


@pytest.mark.parametrize("number", ENDING, ids=ids)
def test_a_signal_is_forwarded_and_muster_exits_with_128_plus_it(
    muster, worker, number
):
    job = muster.start("--nproc-per-node=2", "--", worker("echo_signals"), 0)
    job.out.wait_for("ready", times=2)

    job.signal(number)

    assert job.end(2) == 128 + number
    assert job.out.text.count(f"got {short_name(number)}") == 2
    assert job.out.text.count("got TERM") == (2 if number == signal.SIGTERM else 0)


@pytest.mark.parametrize("number", ENDING, ids=ids)
def test_a_signal_ends_workers_that_have_no_handler(muster, number):
    job = muster.start("--nproc-per-node=2", "--", "sh", "-c", "echo ready; exec sleep 100")
    job.out.wait_for("ready", times=2)

    job.signal(number)

    assert job.end(2) == 128 + number


def test_the_workers_own_codes_do_not_matter_after_a_signal(muster, worker):
    job = muster.start("--nproc-per-node=2", "--", worker("echo_signals"), 3)
    job.out.wait_for("ready", times=2)

    job.signal(signal.SIGTERM)

    assert job.end(2) == 143


@pytest.mark.parametrize("number", PASSING, ids=ids)
@pytest.mark.kernel
def test_an_informational_signal_is_forwarded_and_the_job_continues(muster, worker, number):
    job = muster.start("--nproc-per-node=2", "--", worker("echo_signals"), 0)
    job.out.wait_for("ready", times=2)

    job.signal(number)
    job.out.wait_for(f"got {short_name(number)}", times=2)
    job.signal(signal.SIGTERM)

    assert job.end(2) == 143


class TestSignalsToHandle:
    """Schedulers that give notice with a signal of their own: Slurm's --signal=USR1@120."""

    # It ends as a program does that saves its state when it is told to.
    SAVE = """trap 'echo got %s; exit 0' %s; echo ready; while :; do sleep 0.05; done"""

    def start(self, muster, *arguments, name="USR1", count=2, **options):
        script = self.SAVE % (name, name)
        options_of_muster = [f"--nproc-per-node={count}", *arguments]
        job = muster.start(*options_of_muster, "--", "bash", "-c", script, **options)
        job.out.wait_for("ready", times=count)
        return job

    @pytest.mark.parametrize(
        ("names", "number"),
        [
            ("SIGUSR1,SIGUSR2", signal.SIGUSR1),
            ("USR2", signal.SIGUSR2),
            ("SIGTERM,sigxcpu", signal.SIGXCPU),
            ("SIGALRM", signal.SIGALRM),
        ],
    )
    def test_a_listed_signal_stops_the_job(self, muster, names, number):
        name = short_name(number)
        job = self.start(muster, f"--signals-to-handle={names}", name=name)

        job.signal(number)

        assert job.end(2) == 128 + number
        assert job.out.text.count(f"got {name}") == 2
        assert job.said_about(f"SIG{name} received: asking 2 workers to end (SIG{name})")
        assert job.said_about(f"stopped by SIG{name}")

    def test_the_list_can_be_a_variable(self, muster):
        job = self.start(muster, env={"MUSTER_SIGNALS_TO_HANDLE": "SIGUSR1"})

        job.signal(signal.SIGUSR1)

        assert job.end(2) == 128 + signal.SIGUSR1

    def test_a_worker_that_ignores_a_listed_signal_is_killed(self, muster, worker):
        job = muster.start(
            "--signals-to-handle=SIGUSR1", "--grace=0.3", "--", worker("echo_signals"), 0
        )
        job.out.wait_for("ready")

        job.signal(signal.SIGUSR1)

        assert job.end(2) == 128 + signal.SIGUSR1
        assert "got USR1" in job.out.text
        assert job.said_about("did not end within 0.30 s of SIGUSR1")

    @pytest.mark.kernel
    def test_ctrl_c_after_it_kills_at_once(self, muster, worker):
        job = muster.start("--signals-to-handle=SIGUSR1", "--", worker("echo_signals"))
        job.out.wait_for("ready")
        job.signal(signal.SIGUSR1)
        job.out.wait_for("got USR1")

        job.signal(signal.SIGINT)

        assert job.end() == 128 + signal.SIGUSR1

    @pytest.mark.parametrize("second", [signal.SIGUSR1, signal.SIGTERM], ids=ids)
    def test_it_counts_as_term_before_and_after_another_request(self, muster, second, tmp_path):
        job = start_saving(muster, tmp_path, "--signals-to-handle=SIGUSR1")
        job.signal(signal.SIGUSR1)
        job.out.wait_for("got USR1")

        repeat(job, second)
        (tmp_path / "saved").touch()

        assert job.end() == 128 + signal.SIGUSR1
        assert job.out.text.count("got ") == 1
        assert "done" in job.out.text

    @pytest.mark.parametrize("number", ENDING, ids=ids)
    def test_the_four_stop_signals_end_the_job_despite_the_list(self, muster, worker, number):
        job = muster.start("--signals-to-handle=SIGUSR1", "--", worker("echo_signals"), 0)
        job.out.wait_for("ready")

        job.signal(number)

        assert job.end(2) == 128 + number
        assert f"got {short_name(number)}" in job.out.text

    def test_signals_not_listed_are_forwarded(self, muster, worker):
        job = muster.start("--signals-to-handle=SIGUSR1", "--", worker("echo_signals"), 0)
        job.out.wait_for("ready")

        job.signal(signal.SIGUSR2)
        job.out.wait_for("got USR2")
        job.signal(signal.SIGTERM)

        assert job.end(2) == 143

    def test_a_listed_signal_stops_the_job_as_pid_1(self, muster):
        job = self.start(muster, "--signals-to-handle=ALRM", name="ALRM", through=AS_FIRST_PROCESS)

        os.kill(job.guard(), signal.SIGALRM)

        assert job.end(2) == 128 + signal.SIGALRM
        assert job.out.text.count("got ALRM") == 2

    def test_workers_find_no_signal_blocked(self, muster):
        blocked = ["--", "grep", "SigBlk", "/proc/self/status"]
        lists = [[], ["--signals-to-handle=SIGALRM,SIGUSR1,RTMIN+3"]]

        assert len({muster.run(*names, *blocked).out.text for names in lists}) == 1

    @pytest.mark.parametrize(
        "value", ["", "SIGFOO", "SIGUSR1,", "10", "SIGKILL", "USR1,STOP", "SIGCHLD", "SIGPIPE"]
    )
    def test_a_list_that_makes_no_sense_is_refused(self, muster, value):
        job = muster.run(f"--signals-to-handle={value}", "--", "true")

        assert job.code == 64
        assert job.said_about("--signals-to-handle", f"'{value}'" if value else "value")


@pytest.mark.soak
def test_a_worker_that_saves_after_term_is_given_the_time(muster, worker):
    seconds = default_or_soak(0.5, 25)
    job = muster.start("--nproc-per-node=2", "--", worker("save_for_seconds_on_term"), seconds)
    job.out.wait_for("ready", times=2)

    job.signal(signal.SIGTERM)

    assert job.end(seconds + 3) == 143
    assert job.out.text.count("saved") == 2


def test_workers_stopped_after_a_failure_have_the_grace(
    muster, worker, tmp_path
):
    script = f"""if [ $RANK = 1 ]; then exec {worker("fail_on_rank")} 1 7 {tmp_path}/go; fi
                 exec {worker("save_for_seconds_on_term")} 0.5"""
    job = muster.start("--nproc-per-node=2", "--", "sh", "-c", script)
    job.out.wait_for("ready")

    (tmp_path / "go").touch()

    assert job.end(3) == 7
    assert "saved" in job.out.text


# It saves at the first request, which takes until a file is there, and notes each request.
SAVING = r"""
import os, signal, sys, time
asked = []
def ask(number, frame):
    asked.append(number)
    os.write(1, f"got {signal.Signals(number).name[3:]}\n".encode())
for name in ("TERM", "HUP", "INT", "QUIT", "USR1"):
    signal.signal(getattr(signal, "SIG" + name), ask)
os.write(1, b"ready\n")
while not asked or not os.path.exists(sys.argv[1]):
    time.sleep(0.01)
os.write(1, b"done\n")
"""


def start_saving(muster, folder, *options):
    job = muster.start(*options, "--", "python3", "-c", SAVING, folder / "saved")
    job.out.wait_for("ready")
    return job


def repeat(job, number):
    """Asks until it is a request of its own: the same signal within a tenth of a second is none."""
    said = f"{number.name} received again"

    def heard():
        job.signal(number)
        return said in job.err.text

    wait_until(heard, "the repeated request to be said")


@pytest.mark.parametrize("second", [signal.SIGINT, signal.SIGQUIT], ids=ids)
def test_a_request_from_a_keyboard_after_another_one_kills_at_once(muster, worker, second):
    job = muster.start("--", worker("echo_signals"))
    job.out.wait_for("ready")
    job.signal(signal.SIGTERM)
    job.out.wait_for("got TERM")

    job.signal(second)

    assert job.end() == 143


@pytest.mark.kernel
@pytest.mark.parametrize("second", [signal.SIGTERM, signal.SIGHUP], ids=ids)
@pytest.mark.parametrize("first", [signal.SIGTERM, signal.SIGINT], ids=ids)
def test_a_repeated_request_leaves_the_time_to_save_as_it_was(muster, first, second, tmp_path):
    job = start_saving(muster, tmp_path, "--grace=600")
    job.signal(first)
    job.out.wait_for(f"got {short_name(first)}")

    repeat(job, second)
    (tmp_path / "saved").touch()

    assert job.end() == 128 + first
    assert job.out.text.count("got ") == 1, "the program is asked once"
    assert "done" in job.out.text
    (left,) = re.findall(r"keep their time, (\d+\.\d+) s left; SIGINT \(Ctrl-C\) kills now", job.err.text)[:1]
    assert 300 < float(left) <= 600


def test_stop_without_a_grace_kills_after_a_request(muster, tmp_path):
    job = start_saving(muster, tmp_path)
    job.signal(signal.SIGTERM)
    job.out.wait_for("got TERM")

    assert muster.run("stop", "--job", job.guard(), "--grace", "0").code == 0

    assert job.end() == 143
    assert "done" not in job.out.text


def test_ctrl_c_logs_that_a_second_one_kills(muster, worker):
    job = muster.start("--nproc-per-node=2", "--", worker("echo_signals"))
    job.out.wait_for("ready", times=2)

    job.signal(signal.SIGINT)
    job.out.wait_for("got INT", times=2)
    job.err.wait_for("SIGINT received: ")
    said = job.said_about("SIGINT received: asking 2 workers to end (SIGINT)")
    assert said.endswith("killing what is left after 30.00 s, or at a second Ctrl-C")
    job.signal(signal.SIGHUP)  # the next Ctrl-C is then no echo of the first
    job.err.wait_for("SIGHUP received again")
    job.signal(signal.SIGINT)

    assert job.end(2) == 130


def test_sigterm_after_success_of_all_workers_is_still_success(muster, worker):
    """The worker has ended with 0; only a process that it left behind keeps muster busy."""
    job = muster.start("--grace=0.5", "--", worker("leave_a_grandchild"), "stubborn")
    job.err.wait_for("left behind")

    job.signal(signal.SIGTERM)

    assert job.end(5) == 0


def test_a_hangup_that_was_ignored_at_the_start_stays_ignored(muster, worker):
    job = muster.start("--", worker("echo_signals"), 0, through=["env", "--ignore-signal=HUP"])
    job.out.wait_for("ready")

    job.signal(signal.SIGHUP)
    job.signal(signal.SIGUSR1)
    job.out.wait_for("got USR1")
    job.signal(signal.SIGTERM)

    assert job.end(2) == 143
    assert "got HUP" not in job.out.text


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGQUIT], ids=ids)
def test_a_request_from_a_keyboard_that_was_ignored_at_the_start_is_said_once(muster, worker, number):
    job = muster.start("--", worker("echo_signals"), 0, through=["env", f"--ignore-signal={short_name(number)}"])
    job.out.wait_for("ready")

    for _ in range(3):
        job.signal(number)
        job.signal(signal.SIGUSR1)
        job.out.wait_for("got USR1")
    job.err.wait_for("has no effect")
    job.signal(signal.SIGTERM)

    assert job.end() == 143
    assert job.err.text.count(f"{number.name} has no effect: it was ignored when muster was started") == 1
    assert f"got {short_name(number)}" not in job.out.text


def test_muster_works_under_nohup(muster):
    job = muster.run("--", "sh", "-c", "kill -HUP $$; echo alive", through=["nohup"])

    assert job.code == 0
    assert "alive" in job.out.text


@pytest.mark.kernel
def test_an_ignored_sigchld_at_the_start_does_not_hide_how_workers_end(muster, worker):
    job = muster.run(
        "--nproc-per-node=2",
        "--",
        worker("fail_on_rank"),
        1,
        3,
        through=["env", "--ignore-signal=CHLD"],
    )

    assert job.code == 3


@pytest.mark.kernel
def test_signals_that_were_blocked_at_the_start_still_reach_muster(muster, worker):
    blocked = "--block-signal=TERM,INT,HUP,QUIT,CHLD,USR1,ALRM,PIPE"
    job = muster.start("--grace=0.2", "--", worker("echo_signals"), 0, through=["env", blocked])
    job.out.wait_for("ready")

    job.signal(signal.SIGTERM)

    assert job.end(2) == 143


def test_signals_blocked_at_the_start_do_not_hide_exit_statuses(muster):
    job = muster.run("--", "sh", "-c", "exit 9", through=["env", "--block-signal"])

    assert job.code == 9


@pytest.mark.soak
def test_a_signal_at_any_moment_of_the_start_ends_the_job(muster):
    for number in ENDING:
        for moment in range(0, default_or_soak(10, 100), default_or_soak(2, 1)):
            job = muster.start("--nproc-per-node=2", "--grace=0.5", "--", "sleep", "100")
            time.sleep(moment % 10 * 0.0005)  # not to wait for anything: to hit every moment

            job.signal(number)

            # Before the first instruction of the program the signal's default still holds.
            assert job.end(3) in (128 + number, -number)
            muster.assert_no_survivors(seconds=0.5)


@pytest.mark.parametrize("number", ENDING, ids=ids)
def test_a_signal_ends_muster_as_pid_1(muster, worker, number):
    job = muster.start(
        "--nproc-per-node=2", "--", worker("echo_signals"), 0, through=AS_FIRST_PROCESS
    )
    job.out.wait_for("ready", times=2)

    os.kill(job.guard(), number)

    assert job.end(2) == 128 + number
    assert job.out.text.count(f"got {short_name(number)}") == 2


@pytest.mark.kernel
def test_exit_codes_pass_through_as_pid_1(muster, worker):
    codes = {
        code: muster.run("--", "sh", "-c", f"exit {code}", through=AS_FIRST_PROCESS).code
        for code in (0, 1, 77)
    }
    abort = muster.run("--", worker("raise_signal"), 6, through=AS_FIRST_PROCESS)

    assert codes == {0: 0, 1: 1, 77: 77}
    assert abort.code == 134


def terminate_until_it_ends(pid):
    """The kernel drops a signal to a first process that has no handler yet."""

    def ended():
        if not processes.is_alive(pid):
            return True
        os.kill(pid, signal.SIGTERM)
        time.sleep(0.005)
        return False

    wait_until(ended, "the end of the job", 2)


@pytest.mark.soak
def test_as_pid_1_a_signal_during_the_start_ends_the_job(muster):
    for moment in range(default_or_soak(5, 50)):
        job = muster.start("--grace=0.5", "--", "sleep", "100", through=AS_FIRST_PROCESS)
        guard = job.guard()
        time.sleep(moment % 10 * 0.0003)  # not to wait for anything: to hit every moment

        terminate_until_it_ends(guard)

        assert job.end(1) == 143


@pytest.mark.parametrize("kind", ["single", "several"])
@pytest.mark.kernel
def test_tstp_stops_the_workers_and_muster_and_cont_starts_all_again(muster, kind):
    count = 1 if kind == "single" else 2
    job = muster.start(f"--nproc-per-node={count}", "--", "sh", "-c", "echo pid $$; exec sleep 100")
    job.out.wait_for("pid ", times=count)
    workers = [int(line.split()[-1]) for line in job.out.lines]

    def states():
        return [processes.look_at(pid).state for pid in [job.pid, *workers]]

    job.signal(signal.SIGTSTP)
    wait_until(lambda: set(states()) == {"T"}, lambda: f"all to stop: {states()}", 2)
    job.signal(signal.SIGCONT)
    wait_until(lambda: "T" not in states(), lambda: f"all to go on: {states()}", 2)
    job.signal(signal.SIGTERM)

    assert job.end(2) == 143
    assert "was stopped" not in job.err.text, "nobody else has stopped them"


def test_a_worker_that_handles_tstp_does_so_before_it_stops(muster):
    # A shell in a loop of commands would be stopped while it waits in vfork for one that was stopped before.
    script = "trap 'echo handled' TSTP; sleep 1000 & echo pid $$; while :; do wait; done"
    job = muster.start("--nproc-per-node=2", "--prefix=never", "--", "sh", "-c", script)
    job.out.wait_for("pid ", times=2)
    workers = [int(line.split()[-1]) for line in job.out.lines if line.startswith("pid ")]

    def states():
        return {processes.look_at(pid).state for pid in workers}

    job.signal(signal.SIGTSTP)
    wait_until(lambda: states() == {"T"}, lambda: f"both to stop: {states()}", 2)
    job.signal(signal.SIGCONT)
    job.out.wait_for("handled", times=2)  # the shell may have come to write it only now
    job.signal(signal.SIGTSTP)
    wait_until(lambda: states() == {"T"}, lambda: f"both to stop again: {states()}", 2)
    job.signal(signal.SIGTERM)  # who is stopped goes on to end

    assert job.end(2) == 143


def test_sigtstp_stops_workers_of_a_nested_muster(muster):
    inner = [binary(), "--nproc-per-node=2", "--prefix=never", "--", "sh", "-c", "echo pid $$; exec sleep 100"]
    job = muster.start("--prefix=never", "--", *inner)
    job.out.wait_for("pid ", times=2)
    workers = [int(line.split()[-1]) for line in job.out.lines if line.startswith("pid ")]

    def states():
        return {processes.look_at(pid).state for pid in workers}

    job.signal(signal.SIGTSTP)
    wait_until(lambda: states() == {"T"}, lambda: f"both to stop: {states()}", 2)
    job.signal(signal.SIGCONT)
    wait_until(lambda: "T" not in states(), lambda: f"both to go on: {states()}", 2)
    job.signal(signal.SIGTERM)

    assert job.end(2) == 143


def test_a_stopped_worker_is_named_and_resumes_with_sigcont(muster, worker):
    job = muster.start("--nproc-per-node=2", "--prefix=never", "--", worker("stop_itself"))
    job.out.wait_for("stopping", times=2)
    pids = [int(line.split()[1]) for line in job.out.lines]
    job.err.wait_for("stopped by SIGSTOP", times=2)

    for pid in pids:
        assert f"kill -CONT {pid}" in job.err.text
        os.kill(pid, signal.SIGCONT)

    assert job.end(2) == 0
    assert job.out.text.count("continued") == 2


def all_pids(job):
    """The guard, the agent and the workers."""
    agent = job.agent()
    return [job.pid, agent, *(worker.pid for worker in processes.workers_of(agent))]


@pytest.mark.kernel
def test_sigterm_to_every_process_counts_once_and_keeps_the_grace(muster, worker):
    """As systemd, Slurm and many a script do: they signal all that they find."""
    job = muster.start("--nproc-per-node=2", "--", worker("save_for_seconds_on_term"), 0.5)
    job.out.wait_for("ready", times=2)

    for pid in all_pids(job):
        os.kill(pid, signal.SIGTERM)

    assert job.end(2) == 143
    assert job.out.text.count("saved") == 2


def test_term_to_the_agent_alone_ends_the_job(muster, worker):
    """By mistake, for its name is that of muster."""
    job = muster.start("--nproc-per-node=2", "--", worker("save_for_seconds_on_term"), 0.2)
    job.out.wait_for("ready", times=2)

    os.kill(job.agent(), signal.SIGTERM)
    os.kill(job.pid, signal.SIGTERM)

    assert job.end(2) == 143
    assert job.out.text.count("saved") == 2


def test_two_sigterms_from_timeout_count_once_and_keep_the_grace(muster, worker):
    """The program of that name signals its child, and then the group that they share: at its end, and when it is asked to."""
    job = muster.start(
        "--nproc-per-node=2",
        "--",
        worker("save_for_seconds_on_term"),
        0.5,
        through=["timeout", "--preserve-status", "1000"],
    )
    job.out.wait_for("ready", times=2)

    job.signal(signal.SIGTERM)

    assert job.end(3) == 143
    assert job.out.text.count("saved") == 2


def test_ctrl_c_after_a_request_kills_what_a_failed_job_left_at_once(muster, worker, tmp_path):
    script = f"""if [ $RANK = 1 ]; then exec {worker("fail_on_rank")} 1 7 {tmp_path}/go; fi
                 exec {worker("echo_signals")}"""
    job = muster.start("--nproc-per-node=2", "--prefix=never", "--", "sh", "-c", script)
    job.out.wait_for("ready")
    (tmp_path / "go").touch()
    job.out.wait_for("got TERM")

    job.signal(signal.SIGUSR1)
    job.out.wait_for("got USR1")  # what only informs passes through in this state, too
    repeat(job, signal.SIGTERM)
    job.signal(signal.SIGINT)

    assert job.end() == 7


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=ids)
def test_a_stop_signal_ends_muster_while_it_reads_an_idle_pipe(
    muster, tmp_path, number
):
    path = tmp_path / "hosts"
    os.mkfifo(path)
    job = muster.start(f"--hostfile={path}", "--", "true")
    with open(path, "w", encoding="ascii"):  # waits for a reader
        job.signal(number)
        assert job.end() == -number

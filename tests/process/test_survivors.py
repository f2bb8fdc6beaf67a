"""No process of a job outlives it, however muster ends."""

import contextlib
import os
import signal
import subprocess
import sys
import time

import pytest

from support import processes
from support.deadlines import promise, wait_until
from support.repetitions import default_or_soak

GRACE = 0.2
REPETITIONS = default_or_soak(2, 50)
AS_FIRST_PROCESS = ["unshare", "--pid", "--fork", "--mount-proc"]


def processes_of(job):
    """The pids that a stubborn tree said it has."""
    text = job.out.wait_for("ready\n")
    return [int(line.split()[0]) for line in text.splitlines() if line[:1].isdigit()]


def start_stubborn_tree(muster, worker, *arguments, **options):
    job = muster.start(f"--grace={GRACE}", "--", worker("stubborn_tree"), *arguments, **options)
    pids = processes_of(job)
    assert len(pids) == 7
    return job, pids


def assert_gone(pids, seconds):
    wait_until(
        lambda: not any(map(processes.is_alive, pids)),
        lambda: "all to be gone, but: "
        + ", ".join(str(processes.look_at(pid)) for pid in pids if processes.is_alive(pid)),
        seconds,
    )


@pytest.mark.soak
@pytest.mark.kernel
def test_nothing_of_a_stubborn_tree_is_left_when_the_worker_fails(muster, worker):
    for _ in range(REPETITIONS):
        job, pids = start_stubborn_tree(muster, worker, 3)

        assert job.end(GRACE + 1) == 3
        assert_gone(pids, seconds=0)
        muster.assert_no_survivors()


@pytest.mark.soak
def test_nothing_of_a_stubborn_tree_is_left_when_another_worker_fails(muster, worker, tmp_path):
    script = f"""if [ $RANK = 0 ]; then exec {worker("stubborn_tree")}; fi
                 exec {worker("fail_on_rank")} 1 7 {tmp_path}/go"""
    for _ in range(REPETITIONS):
        job = muster.start(
            "--nproc-per-node=2", "--prefix=never", f"--grace={GRACE}", "--", "sh", "-c", script
        )
        pids = processes_of(job)
        (tmp_path / "go").touch()

        assert job.end(GRACE + 1) == 7
        assert_gone(pids, seconds=0)
        muster.assert_no_survivors()
        (tmp_path / "go").unlink()


@pytest.mark.soak
def test_nothing_of_a_stubborn_tree_is_left_when_the_worker_succeeds(muster, worker):
    for _ in range(REPETITIONS):
        job, pids = start_stubborn_tree(muster, worker, 0)

        assert job.end(GRACE + 1) == 0
        assert_gone(pids, seconds=0)
        muster.assert_no_survivors()


@pytest.mark.soak
@pytest.mark.parametrize("number", [pytest.param(signal.SIGTERM, marks=pytest.mark.kernel), signal.SIGINT])
def test_nothing_of_a_stubborn_tree_is_left_after_a_signal_to_muster(muster, worker, number):
    for _ in range(REPETITIONS):
        job, pids = start_stubborn_tree(muster, worker)

        job.signal(number)

        assert job.end(GRACE + 1) == 128 + number
        assert_gone(pids, seconds=0)
        muster.assert_no_survivors()


@pytest.mark.soak
@pytest.mark.kernel
def test_nothing_of_a_stubborn_tree_is_left_one_second_after_kill_of_muster(muster, worker):
    for _ in range(REPETITIONS):
        job, pids = start_stubborn_tree(muster, worker)

        job.signal(signal.SIGKILL)

        assert_gone(pids, seconds=1)
        muster.assert_no_survivors(seconds=0.5)
        assert job.end() == -signal.SIGKILL


@pytest.mark.soak
@pytest.mark.kernel
def test_nothing_of_a_stubborn_tree_is_left_after_kill_of_the_agent(muster, worker):
    for _ in range(REPETITIONS):
        job, pids = start_stubborn_tree(muster, worker)

        job.kill_agent()

        assert job.end(1) == 128 + signal.SIGKILL
        assert_gone(pids, seconds=0)
        muster.assert_no_survivors()


@pytest.mark.soak
def test_kill_at_any_moment_of_the_start_leaves_nothing(muster, worker):
    for moment in range(0, default_or_soak(20, 200), default_or_soak(4, 1)):
        job = muster.start("--nproc-per-node=8", "--", worker("stubborn_tree"))
        time.sleep(moment % 20 * 0.0005)  # not to wait for anything: to hit every moment

        job.signal(signal.SIGKILL)

        muster.assert_no_survivors(seconds=1)
        job.end()


@pytest.mark.soak
def test_kill_of_the_agent_at_any_moment_of_the_start_leaves_nothing(muster, worker):
    for moment in range(0, default_or_soak(10, 100), default_or_soak(2, 1)):
        job = muster.start("--nproc-per-node=8", "--", worker("stubborn_tree"))
        agent = job.agent()
        time.sleep(moment % 10 * 0.0005)  # not to wait for anything: to hit every moment

        os.kill(agent, signal.SIGKILL)

        assert job.end(1) == 137
        muster.assert_no_survivors()


@pytest.mark.kernel
def test_no_direct_worker_is_left_when_guard_and_agent_are_killed_together(muster, worker):
    job = muster.start("--nproc-per-node=4", "--", worker("ignore_term"))
    job.out.wait_for("ready", times=4)
    guard, agent = job.guard(), job.agent()

    os.kill(guard, signal.SIGSTOP)  # so that it cannot notice the end of the other
    os.kill(agent, signal.SIGKILL)
    os.kill(guard, signal.SIGKILL)

    muster.assert_no_survivors(seconds=1)
    job.end()


@pytest.mark.needs("namespaces")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_nothing_of_a_stubborn_tree_in_a_pid_namespace_is_left(muster, worker, number):
    job = muster.start(f"--grace={GRACE}", "--", *AS_FIRST_PROCESS, worker("stubborn_tree"))
    job.out.wait_for("ready\n")

    job.signal(number)

    muster.assert_no_survivors(seconds=GRACE + 1)
    job.end(1)


class TestAsFirstProcess:
    """As the first process of a container, where orphans come to muster anyway."""

    def grow(self, muster, worker, *arguments):
        # The pids that the pids print are those of the inner namespace: of no use out here.
        return start_stubborn_tree(muster, worker, *arguments, through=AS_FIRST_PROCESS)[0]

    @pytest.mark.soak
    def test_nothing_of_a_stubborn_tree_is_left_when_the_worker_fails(self, muster, worker):
        for _ in range(REPETITIONS):
            job = self.grow(muster, worker, 3)

            assert job.end(GRACE + 1) == 3
            muster.assert_no_survivors()

    @pytest.mark.soak
    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
    def test_nothing_of_a_stubborn_tree_is_left_after_a_signal_to_muster(self, muster, worker, number):
        for _ in range(REPETITIONS):
            job = self.grow(muster, worker)

            os.kill(job.guard(), number)

            assert job.end(GRACE + 1) == 128 + number
            muster.assert_no_survivors()

    @pytest.mark.soak
    def test_nothing_of_a_stubborn_tree_is_left_after_kill_of_muster(self, muster, worker):
        for _ in range(REPETITIONS):
            job = self.grow(muster, worker)

            os.kill(job.guard(), signal.SIGKILL)

            assert job.end(1) != 0  # what unshare makes of a killed child differs
            muster.assert_no_survivors(seconds=0.5)

    @pytest.mark.soak
    def test_nothing_of_a_stubborn_tree_is_left_after_kill_of_the_agent(self, muster, worker):
        for _ in range(REPETITIONS):
            job = self.grow(muster, worker)

            job.kill_agent()

            assert job.end(1) == 128 + signal.SIGKILL
            muster.assert_no_survivors()

    @pytest.mark.kernel
    def test_orphans_of_the_container_are_reaped(self, muster, worker):
        """Zombies that come to the first process do not pile up while the job runs."""
        orphans = "for i in 1 2 3 4 5 6 7 8; do (exec setsid sh -c 'exit 0' & ); done"
        script = f"{orphans}; echo ready; exec sleep 100"
        job = muster.start("--", "sh", "-c", script, through=AS_FIRST_PROCESS)
        job.out.wait_for("ready")
        ours = {job.guard(), job.agent()}

        def zombies():
            return [p for p in processes.all_processes() if p.parent in ours and p.state == "Z"]

        wait_until(lambda: not zombies(), lambda: f"burial of {zombies()}", 1)
        os.kill(job.guard(), signal.SIGTERM)
        assert job.end() == 143


@pytest.mark.parametrize("kind", [[], ["session"]])
@pytest.mark.kernel
def test_an_orphan_of_a_worker_is_ended_and_the_job_succeeds(muster, worker, kind):
    job = muster.run("--", worker("leave_a_grandchild"), *kind, seconds=2)

    left = job.out.text.split()[1]
    assert job.code == 0
    assert f"pid {left} (leave_a_grandc" in job.said_about("1 process", "left behind")
    muster.assert_no_survivors()


def test_an_orphan_that_exits_within_a_moment_is_not_reported(muster):
    """Python's resource tracker lives a few milliseconds longer than whoever used mp.spawn."""
    (muster.folder / "spawn.py").write_text(
        "import multiprocessing\n"
        "if __name__ == '__main__':\n"
        "    process = multiprocessing.get_context('spawn').Process(target=print)\n"
        "    process.start()\n"
        "    process.join()\n"
    )
    job = muster.run("spawn.py")

    assert job.code == 0
    moment = 0.5  # seconds that muster gives it, which is more than it takes
    promise("the end of Python's resource tracker", moment, 2 * moment if "left behind" in job.err.text else 0)


def test_an_orphan_that_ignores_sigterm_is_killed_after_the_grace(muster, worker):
    job = muster.run(
        f"--grace={GRACE}", "--", worker("leave_a_grandchild"), "stubborn", seconds=GRACE + 1
    )

    assert job.code == 0
    assert GRACE <= job.seconds
    muster.assert_no_survivors()


@pytest.mark.parametrize("arguments", [[], ["without its first thread"]], ids=" ".join)
@pytest.mark.kernel
def test_a_daemon_is_ended_with_the_job_and_named(muster, worker, arguments):
    options = ["--nproc-per-node=2", "--prefix=never"]
    job = muster.run(*options, "--", worker("daemonise"), *arguments)

    daemons = [line.split()[1] for line in job.out.lines]
    assert job.code == 0
    assert len(daemons) == 2
    for daemon in daemons:
        assert any(f"pid {daemon} " in line for line in job.said)
        assert not processes.look_at(daemon)
    muster.assert_no_survivors()


@pytest.mark.kernel
def test_a_worker_that_ignores_term_is_killed_after_the_grace_and_named(muster, worker):
    job = muster.start(f"--grace={GRACE}", "--", worker("ignore_term"))
    job.out.wait_for("ready")

    asked_at = time.monotonic()
    job.signal(signal.SIGTERM)

    assert job.end(GRACE + 1) == 143
    assert GRACE <= time.monotonic() - asked_at
    assert "killing it" in job.said_about("rank 0 (pid ", "SIGTERM")


def test_a_stopped_worker_ends_at_sigterm(muster, worker):
    job = muster.start("--nproc-per-node=2", "--", "sh", "-c", "echo pid $$; exec sleep 100")
    job.out.wait_for("pid ", times=2)
    stopped = int(job.out.lines[0].split()[-1])
    os.kill(stopped, signal.SIGSTOP)
    wait_until(lambda: processes.look_at(stopped).state == "T", "the worker to stop")

    job.signal(signal.SIGTERM)

    assert job.end(1) == 143


@pytest.mark.soak
def test_a_process_that_runs_away_from_session_to_session_is_caught(muster, worker):
    for _ in range(default_or_soak(2, 20)):
        job = muster.start(f"--grace={GRACE}", "--", worker("keep_hopping"), 20)

        assert job.end(GRACE + 2) == 0
        muster.assert_no_survivors()


@pytest.mark.parametrize("victim", ["guard", "agent"])
def test_a_fast_forking_worker_does_not_survive_a_kill(muster, worker, victim):
    for _ in range(REPETITIONS):
        job = muster.start("--grace=60", "--nproc-per-node=3", "--", worker("keep_hopping"), 1)
        job.out.wait_for("ready", times=3)

        os.kill(getattr(job, victim)(), signal.SIGKILL)

        job.end(2)
        muster.assert_no_survivors(seconds=2)


@contextlib.contextmanager
def many_processes(count):
    """That are nobody's business, and make a look at all processes last."""
    fork = f"for _ in range({count}): os.fork() or signal.pause()"
    crowd = processes.start(
        [sys.executable, "-c", f"import os, signal\n{fork}\nprint(flush=True)\nsignal.pause()"],
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        crowd.stdout.readline()
        yield
    finally:
        os.killpg(crowd.pid, signal.SIGKILL)
        crowd.wait()
        crowd.stdout.close()


@pytest.mark.full
def test_short_lived_children_do_not_delay_the_kill_of_others(muster, worker):
    script = f"trap '' TERM; (sleep 0.5; echo late) & exec {worker('keep_hopping')} 1"
    with many_processes(1000):
        job = muster.start("--grace=60", "--nproc-per-node=3", "--", "sh", "-c", script)

        job.out.wait_for("late", times=3)

        job.signal(signal.SIGKILL)
        job.end()
        muster.assert_no_survivors(seconds=2)


@pytest.fixture
def keyboard():
    """A terminal to read from. Only who reads one can leave its process group: others lead sessions."""
    ours, theirs = os.openpty()
    yield theirs
    os.close(ours)
    os.close(theirs)


@pytest.mark.kernel
def test_a_worker_that_left_its_process_group_gets_sigterm(muster, worker, keyboard):
    """It is in the group of the agent, which must not be signalled as a whole either."""
    job = muster.start("--", worker("join_the_parents_group"), stdin=keyboard)
    job.out.wait_for("ready ")

    job.signal(signal.SIGTERM)

    assert job.end(1) == 143


def test_a_worker_that_left_its_process_group_is_ended_when_another_fails(
    muster, worker, tmp_path, keyboard
):
    script = f"""if [ $RANK = 0 ]; then exec {worker("join_the_parents_group")}; fi
                 exec {worker("fail_on_rank")} 1 7 {tmp_path}/go"""
    options = ["--nproc-per-node=2", "--stdin=0"]
    job = muster.start(*options, "--", "sh", "-c", script, stdin=keyboard)
    job.out.wait_for("ready ")

    (tmp_path / "go").touch()

    assert job.end(1) == 7


def test_orphans_of_a_worker_run_on_until_the_job_ends(muster, worker, tmp_path):
    """A server that rank 0 starts for all of them, such as a dashboard."""
    script = f"""if [ $RANK = 0 ]; then exec {worker("leave_a_grandchild")} session; fi
                 while ! [ -e {tmp_path}/go ]; do sleep 0.01; done"""
    job = muster.start("--nproc-per-node=2", "--prefix=never", "--", "sh", "-c", script)
    server = int(job.out.wait_for("\n").split()[1])
    (former,) = {p.parent for p in processes.all_processes() if p.pid == server} - {
        job.agent()
    } or {0}
    wait_until(lambda: former == 0 or not processes.is_alive(former), "the end of rank 0")

    assert processes.is_alive(server)
    (tmp_path / "go").touch()

    assert job.end(2) == 0
    assert not processes.is_alive(server)


@pytest.mark.kernel
def test_orphans_are_reaped_while_the_job_runs(muster):
    orphans = "for i in 1 2 3 4 5 6 7 8; do (exec setsid sh -c 'exit 0' & ); done"
    job = muster.start("--", "sh", "-c", f"{orphans}; echo ready; exec sleep 100")
    job.out.wait_for("ready")
    ours = {job.guard(), job.agent()}

    def zombies():
        return [p for p in processes.all_processes() if p.parent in ours and p.state == "Z"]

    wait_until(lambda: not zombies(), lambda: f"burial of {zombies()}", 1)
    job.signal(signal.SIGTERM)
    assert job.end() == 143

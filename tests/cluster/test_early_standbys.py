"""A node that waits for others imports meanwhile what its workers will import (docs/standby.md)."""

import os
import re
import signal
from pathlib import Path

import pytest
from support import processes
from support.deadlines import wait_until

pytestmark = [pytest.mark.needs("pidfds"), pytest.mark.plain_build]

PYTHON = "/usr/bin/python3"
PACED = ("chrt", "--batch", "0")  # as in tests/process/test_standby.py
PROGRAM = """
import decimal, json
import os
print("rank", os.environ["RANK"], "of", os.environ["WORLD_SIZE"], "meets at", os.environ["MASTER_PORT"], flush=True)
if os.environ["RANK"] == "0" and "stand_by" in open("/proc/self/environ").read():
    print("it was a standby", flush=True)
"""
READY = "can start without importing"


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return path


@pytest.fixture
def environment(tmp_path):
    return {"XDG_CACHE_HOME": tmp_path / "cache"}


@pytest.fixture
def kept(muster, program, environment, tmp_path):
    """Runs a job of the program that keeps its imports, and returns their file."""

    def run(python=PYTHON):
        slow = program.read_text()
        wait = f"\nimport time\nwhile not os.path.exists({str(tmp_path / 'go')!r}): time.sleep(0.01)\n"
        program.write_text(slow + wait)
        job = muster.start("--max-restarts=1", "--standby=auto", "--standby-after=0", "--", python, program, env=environment, through=PACED, stdin=None)
        found = wait_until(lambda: [one for one in (tmp_path / "cache").glob("muster/imports/*") if one.suffix != ".new"], "the imports to be kept")
        (tmp_path / "go").touch()
        assert job.end() == 0
        return found[0]

    return run


@pytest.fixture
def waiting(gang, program, environment):
    """The first of two nodes."""

    def start(*options):
        job = gang(2, "--standby=auto", "--heartbeat-timeout=60", *options, command=[PYTHON, program])
        return job, job.start(0, env=environment, through=PACED)

    return start


def test_the_first_node_imports_while_it_waits(kept, waiting, environment):
    file = kept()
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o022) == (0o600, 0)
    job, first = waiting()

    wait_for_standby(first)
    job.start(1, env=environment)
    assert [one.end() for one in job.jobs.values()] == [0, 0]
    assert "rank 0 of 2 meets at" in first.out.text and first.out.text.count("it was a standby") == 1
    assert any(re.match(r"attempt 0: 1 of 1 rank from standby, first line after [0-9.]+ s$", line) for line in first.said), first.err.text


def standbys_of(job):
    """The pids of the agent's children that are standbys."""
    children = processes.children_of(job.agent())
    return [one.pid for one in children if "_MUSTER_STANDBY=stand_by" in Path(f"/proc/{one.pid}/environ").read_text()]


def wait_for_standby(job):
    """Until it waits for its order: it says before that it is ready."""
    job.err.wait_for(READY)
    wait_until(lambda: [processes.look_at(pid).state for pid in standbys_of(job)] == ["S"], "the standby to wait")


def start_cold(waiting, environment):
    """Both nodes, of which the first has got no standby by the time at which one would be there."""
    job, first = waiting("--verbose")
    first.err.wait_for("no imports are kept of")
    assert not standbys_of(first)
    job.start(1, env=environment)
    assert [one.end() for one in job.jobs.values()] == [0, 0]
    assert "from standby" not in first.err.text


def a_link(file):
    file.rename(file.with_suffix(".moved"))
    file.symlink_to(file.with_suffix(".moved"))


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda file: file.unlink(), id="removed"),
        pytest.param(lambda file: os.chown(file, 12345, -1), id="of another user"),
        pytest.param(lambda file: file.chmod(0o622), id="writable for others"),
        pytest.param(a_link, id="a link"),
        pytest.param(lambda file: (file.unlink(), os.mkfifo(file)), id="a FIFO"),
        pytest.param(lambda file: file.write_text("muster imports 2" + file.read_text()[16:]), id="of another version"),
        pytest.param(lambda file: file.write_text(re.sub("=.*\\n", "", file.read_text())), id="without the files it depends on"),
        pytest.param(lambda file: file.write_bytes(os.urandom(1 << 20)), id="garbage"),
    ],
)
def test_a_list_that_may_be_somebody_elses_is_left_alone(kept, waiting, environment, change):
    change(kept())
    start_cold(waiting, environment)


def test_a_program_that_has_changed_is_learned_anew(kept, waiting, environment, program):
    kept()
    program.write_text(PROGRAM + "\n# changed")
    start_cold(waiting, environment)


def test_a_job_that_ends_while_it_waits_leaves_no_standby(kept, waiting, muster):
    kept()
    _, first = waiting("--gang-timeout=10")

    wait_for_standby(first)
    standbys = standbys_of(first)
    assert len(standbys) == 1
    assert first.end() == 75
    assert not any(processes.is_alive(pid) for pid in standbys)
    muster.assert_no_survivors()


def test_a_node_without_a_rank_of_its_own_waits_without_standbys(kept, gang, environment, program):
    """Its ranks follow from the order in which the nodes come."""
    kept()
    job = gang(2, "--standby=auto", "--verbose", command=[PYTHON, program])
    first = job.start(0, rank="none", env=environment, through=PACED)
    first.err.wait_for("the ranks of this node are not known")

    assert not standbys_of(first)
    job.start(1, rank="none", env=environment)
    assert [one.end() for one in job.jobs.values()] == [0, 0]


def test_no_second_copy_runs_where_python_has_changed(kept, gang, program, environment, tmp_path):
    """A wrapper that gives Python another option, after an earlier job has kept the imports."""
    wrapper = tmp_path / "python3"
    wrapper.write_text(f'#!/bin/sh\nexec {PYTHON} $WRAPPER_OPTION "$@"\n')
    wrapper.chmod(0o755)
    program.write_text(f"open({str(tmp_path / 'ran')!r}, 'a').write('x')\n".join(("import decimal, json\n", PROGRAM)))
    kept(wrapper)
    job = gang(2, "--standby=auto", "--gang-timeout=10", command=[wrapper, program])
    first = job.start(0, env={**environment, "WRAPPER_OPTION": "-I"}, through=PACED)

    assert first.end() == 75
    assert "its Python does not import sitecustomize from PYTHONPATH" in first.err.text
    assert (tmp_path / "ran").read_text() == "x"


def test_a_program_that_changes_while_its_node_waits_is_started_cold(kept, waiting, environment, program):
    kept()
    job, first = waiting()
    wait_for_standby(first)
    program.write_text(PROGRAM + "\nprint('changed')")

    job.start(1, env=environment)
    assert [one.end() for one in job.jobs.values()] == [0, 0]
    assert f"rank 0 started cold: {program} has changed" in first.err.text and "changed" in first.out.text


DAEMON = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        with open({folder!r} + "/daemons", "a") as file:
            file.write("%d\\n" % os.getpid())
        time.sleep(1000)
    os._exit(0)
os.wait()
"""


@pytest.mark.parametrize("end", ["KILL of the agent", "KILL of the guard", "TERM"])
def test_a_daemon_that_an_import_starts_does_not_outlive_the_job(kept, waiting, program, environment, tmp_path, end):
    folder = tmp_path / "site-packages"
    folder.mkdir()
    (folder / "starts_a_daemon.py").write_text(DAEMON.format(folder=str(tmp_path)))
    program.write_text("import starts_a_daemon, decimal, json\n" + program.read_text())
    environment["PYTHONPATH"] = folder
    kept()
    daemons = tmp_path / "daemons"
    known = daemons.read_text()
    job, first = waiting()
    made = wait_until(lambda: daemons.read_text().removeprefix(known).split(), "a daemon of a standby")
    if end == "TERM":
        first.signal(signal.SIGTERM)
    else:
        os.kill(first.agent() if end == "KILL of the agent" else first.guard(), signal.SIGKILL)
    first.end()
    wait_until(lambda: not any(processes.is_alive(int(pid)) for pid in made), "the daemon to end")

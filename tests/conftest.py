"""Fixtures of the process and cluster tests.

With $REFUSE, such as REFUSE=old-docker, every muster runs under that filter of tests/workers/refuse.c.
"""

import atexit
import itertools
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp

import pytest

from support import gang as gangs
from support import processes
from support.frozen import Disk
from support.muster import Muster, is_sanitized
from support.network import Network
from support.terminal import Terminal
from support.workers import Workers

sys.path.insert(0, str(Path(__file__).resolve().parent / "hosts"))

_TEST_SECONDS = 240  # more than one wait of a test that hangs, so that the wait says what was missing
_SOAK_SECONDS = 3600
_numbers = itertools.count()
# Features that each filter of tests/workers/refuse.c takes away, by their names in the mark `needs`.
_MISSING = {
    "": set(),
    "linux-4.18": {"pidfds", "measures"},
    "old-docker": {"pidfds", "measures", "threads", "posix_spawn", "memory policies", "namespaces"},
    "gvisor": {"pidfds", "measures"},
}


def pytest_configure(config):
    processes.heed_signals()
    if not hasattr(config, "workerinput"):
        give_own_folder(config)


def give_own_folder(config):
    """Each session makes /tmp/pytest-of-root private again, and programs of other users may run in the folders of another session."""
    folder = mkdtemp(prefix="tests-")
    os.chmod(folder, 0o711)
    os.environ["PYTEST_DEBUG_TEMPROOT"] = folder
    atexit.register(lambda: getattr(config, "has_passed", False) and shutil.rmtree(folder))  # after what pytest does there


def pytest_sessionfinish(session, exitstatus):
    session.config.has_passed = exitstatus == 0


def pytest_collection_modifyitems(config, items):
    """A sanitized build is not asked for what its sanitizers cannot do, nor a filter for what it refuses."""
    missing = _MISSING[_refused()]
    impossible = [
        item
        for item in items
        if (item.get_closest_marker("plain_build") and is_sanitized())
        or any(missing.intersection(marker.args) for marker in item.iter_markers("needs"))
    ]
    if impossible:
        items[:] = [item for item in items if item not in impossible]
        config.hook.pytest_deselected(items=impossible)


def _refused():
    return os.environ.get("REFUSE", "")


@pytest.fixture(scope="session")
def worker(tmp_path_factory):
    """The path of a program of tests/workers, by its name."""
    return Workers(tmp_path_factory.mktemp("workers"))


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 64 KiB."""
    if os.geteuid() != 0:
        pytest.skip("needs root")
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)], check=True)
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


@pytest.fixture
def deadline():
    """The last resort: no test runs for ever, whatever it waits for."""

    def end_the_test(_number, _frame):
        pytest.fail(f"the test did not end within {seconds} s")

    seconds = _SOAK_SECONDS if os.environ.get("SOAK") else _TEST_SECONDS
    before = signal.signal(signal.SIGALRM, end_the_test)
    signal.alarm(seconds)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="session")
def under(worker):
    """The command that every muster runs under: a system call filter, or nothing."""
    if not _refused():
        yield []
        return
    with TemporaryDirectory(dir="/tmp") as folder:  # where every user can execute it
        os.chmod(folder, 0o755)
        yield [shutil.copy(worker("refuse"), folder), _refused()]


@pytest.fixture
def muster(tmp_path, deadline, under):
    """Starts muster; afterwards nothing of the test may be left."""
    processes.become_subreaper()
    launcher = Muster(tmp_path, f"{os.getpid()}-{next(_numbers)}", under)
    yield launcher
    try:
        launcher.assert_no_survivors(seconds=1.0)
    finally:
        processes.kill_all(launcher.tag)


@pytest.fixture
def busy_cores(worker):
    """Two processes that compute all the time."""
    spinning = [processes.start([worker("spin")]) for _ in range(2)]
    yield
    for process in spinning:
        process.kill()
        processes.wait_for_end(process, 10, "a busy process")


@pytest.fixture
def disk(muster, tmp_path):
    """A disk that can be made to answer nothing."""
    with Disk(tmp_path / "disk") as disk:
        yield disk
        disk.thaw()
        muster.assert_no_survivors(5)  # who hung there was killed, and hears of it now


@pytest.fixture
def terminal(muster):
    """Starts a command in a terminal of its own, with the environment of the test; `entering` leads to its host."""
    opened = []

    def open_terminal(*command, entering=(), env=None):
        command = [*entering, *muster.under, *command]
        opened.append(Terminal(command, env=muster.environment({"TERM": "xterm", **(env or {})})))
        return opened[-1]

    yield open_terminal
    for one in opened:
        one.close()


@pytest.fixture
def shell(terminal):
    """An interactive bash, with job control, that has said its first prompt."""
    one = terminal("bash", "--norc", "--noprofile", "-i", env={"PS1": "prompt> "})
    one.screen.wait_for("prompt> ")
    return one


@pytest.fixture
def port():
    return gangs.free_port()


@pytest.fixture(scope="session")
def all_hosts(number_of_hosts):
    """As many as the ring's conftest.py says."""
    from hosts import Hosts  # here, so that only tests that use it need root

    with Hosts(number_of_hosts) as hosts:
        yield hosts


@pytest.fixture
def hosts(all_hosts, muster):
    """Whatever a test does to their network is undone after it."""
    all_hosts.network = Network(all_hosts)
    yield all_hosts
    all_hosts.network.heal()

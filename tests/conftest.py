"""What every test of the process and cluster rings is given."""

import itertools
import os
import signal

import pytest

from support import processes
from support.muster import Muster, is_sanitized
from support.terminal import Terminal
from support.workers import Workers

_TEST_SECONDS = 120
_SOAK_SECONDS = 3600
_numbers = itertools.count()


def pytest_configure():
    """A shell makes its background jobs ignore these, nohup HUP, and muster respects what it inherits."""
    for number, action in (
        (signal.SIGHUP, signal.SIG_DFL),
        (signal.SIGINT, signal.default_int_handler),
        (signal.SIGQUIT, signal.SIG_DFL),
    ):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, action)


def pytest_collection_modifyitems(config, items):
    """A sanitized build is not asked for what its sanitizers cannot do."""
    plain = [item for item in items if item.get_closest_marker("plain_build")]
    if plain and is_sanitized():
        items[:] = [item for item in items if item not in plain]
        config.hook.pytest_deselected(items=plain)


@pytest.fixture(scope="session")
def worker(tmp_path_factory):
    """The path of a program of tests/workers, by its name."""
    return Workers(tmp_path_factory.mktemp("workers"))


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


@pytest.fixture
def muster(tmp_path, deadline):
    """Starts muster; afterwards nothing of the test may be left."""
    processes.become_subreaper()
    launcher = Muster(tmp_path, f"{os.getpid()}-{next(_numbers)}")
    yield launcher
    try:
        launcher.assert_no_survivors(seconds=1.0)
    finally:
        processes.kill_all(launcher.tag)


@pytest.fixture
def terminal(muster):
    """Starts a command in a terminal of its own, with the environment of the test."""
    opened = []

    def open_terminal(*command, env=None):
        opened.append(Terminal(command, env=muster.environment({"TERM": "xterm", **(env or {})})))
        return opened[-1]

    yield open_terminal
    for one in opened:
        one.close()

"""A pytest plugin: a test that is skipped counts as failed, unless its reason is an accepted one; three tests that hang end the run.

A skipped test is a promise that nobody checks. scripts/test installs what the tests need, so
there is little left that may be missing; what may be, is listed here.

Loaded by scripts/test with `-p pytest_no_skip`. Without it, pytest skips as it always does. Where TEST_IDS names a file, each test
that ends is a line of it, since a report in XML does not have the ids by which pytest knows tests.
"""

import os

import pytest

MARKERS = (
    "debian: runs with the packages of Debian 12 alone",
    "framework: needs a framework from PyPI; scripts/test --full frameworks makes its environment",
    "soak: what it repeats is repeated in full by scripts/dev/soak (SOAK=1), and a tenth of it otherwise",
)


def is_accepted(reason):
    """True for a reason that the machine, and not the suite, is answerable for."""
    return "needs root" in reason and os.geteuid() != 0


def pytest_configure(config):
    is_worker = hasattr(config, "workerinput")
    if not is_worker:  # a pytest that a test starts is none of this run
        os.environ[_IDS] = os.environ.pop("TEST_IDS", "")
        config.pluginmanager.register(Listener())
    elif config.workerinput["workerid"] == "gw0":  # all of them leave out the same tests
        config.pluginmanager.register(Deselected())
    for marker in MARKERS:
        config.addinivalue_line("markers", marker)


HANGS_FOR = 100  # seconds
MOST_HANGS = 3
_hung = set()
_IDS = "PYTEST_NO_SKIP_IDS"


class Listener:
    """Hears of each test in the process that runs the session, not in those that xdist starts for it."""

    _session = None

    def pytest_sessionstart(self, session):
        self._session = session

    def pytest_deselected(self, items):
        note(f"deselected {len(items)}")

    def pytest_runtest_logreport(self, report):
        if report.failed or report.skipped or report.when == "call":
            word = "failed" if report.failed else "skipped" if report.skipped and not hasattr(report, "wasxfail") else "passed"
            note(f"{word} {report.nodeid}")
        if report.failed and report.duration > HANGS_FOR:
            _hung.add(report.nodeid)
            if len(_hung) >= MOST_HANGS:
                self._session.shouldstop = f"{len(_hung)} tests hang"


class Deselected:
    """Hears in a process of xdist's which tests are left out, since the session's own is not told."""

    def pytest_deselected(self, items):
        note(f"deselected {len(items)}")


def note(line):
    if os.environ.get(_IDS):
        with open(os.environ[_IDS], "a", encoding="utf-8") as file:
            file.write(line + "\n")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    refuse(outcome.get_result())


@pytest.hookimpl(hookwrapper=True)
def pytest_make_collect_report(collector):
    outcome = yield
    refuse(outcome.get_result())


def refuse(report):
    """Turns a skip into a failure that names the reason. An expected failure stays what it is."""
    if not report.skipped or hasattr(report, "wasxfail"):
        return
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    if is_accepted(reason):
        return
    report.outcome = "failed"
    report.longrepr = f"{report.nodeid} was skipped, and here everything must run: {reason}"

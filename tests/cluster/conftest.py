"""Fixtures of the tests of several agents."""

import threading

import pytest

from support import gang as gangs
from support.deadlines import wait_until
from support.repetitions import soaking
from support.worker_events import WorkerEvents


def pytest_collection_modifyitems(config, items):
    """Leaves tests that take a minute even once to scripts/dev/soak."""
    long = [item for item in items if item.get_closest_marker("soak_only")]
    for item in long:
        item.add_marker("soak")
    if long and not soaking():
        items[:] = [item for item in items if item not in long]
        config.hook.pytest_deselected(items=long)


@pytest.fixture(autouse=True)
def no_thread_is_left():
    """One that turns would be the load under which all tests behind it run."""
    before = set(threading.enumerate())
    yield
    wait_until(
        lambda: before.issuperset(threading.enumerate()),
        lambda: f"threads to end: {set(threading.enumerate()) - before}",
    )


@pytest.fixture(scope="session")
def number_of_hosts():
    return 4


@pytest.fixture
def worker_events(tmp_path):
    return WorkerEvents(tmp_path / "worker-events")


@pytest.fixture
def gang(muster, worker_events, worker):
    """Makes a job whose workers are worker_events; its agents are started by the test."""

    def make(nodes, *options, on=None, workers=1, command=None, stubborn=False):
        event_worker = [worker("event_worker"), worker_events.folder, *(["stubborn"] if stubborn else [])]
        return gangs.Gang(muster, worker_events, command or event_worker, nodes, options, on, workers)

    return make

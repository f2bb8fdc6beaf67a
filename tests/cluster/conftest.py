"""What the tests of several agents are given."""

import sys
from pathlib import Path

import pytest

from support import gang as gangs
from support.network import Network
from support.repetitions import soaking
from support.witnesses import Witnesses

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "hosts"))


def pytest_collection_modifyitems(config, items):
    """What takes a minute even once is left to scripts/soak."""
    long = [item for item in items if item.get_closest_marker("soak_only")]
    for item in long:
        item.add_marker("soak")
    if long and not soaking():
        items[:] = [item for item in items if item not in long]
        config.hook.pytest_deselected(items=long)


@pytest.fixture
def port():
    return gangs.free_port()


@pytest.fixture(scope="session")
def all_hosts():
    from hosts import Hosts  # here, so that only tests that use it need root

    with Hosts(4) as hosts:
        yield hosts


@pytest.fixture
def hosts(all_hosts, muster):
    """Four hosts. Whatever a test does to their network is undone after it."""
    all_hosts.network = Network(all_hosts)
    yield all_hosts
    all_hosts.network.heal()


@pytest.fixture
def witnesses(tmp_path):
    return Witnesses(tmp_path / "witnesses")


@pytest.fixture
def gang(muster, witnesses, worker):
    """Makes a job whose workers are witnesses; its agents are started by the test."""

    def make(nodes, *options, on=None, workers=1, command=None, stubborn=False):
        witness = [worker("witness"), witnesses.folder, *(["stubborn"] if stubborn else [])]
        return gangs.Gang(muster, witnesses, command or witness, nodes, options, on, workers)

    return make

"""Fixtures of the tests of the program for Arm: the program, its workers, and QEMU, which runs both here.

Nothing depends on the kernel running Arm programs by itself (binfmt_misc): each is started through
QEMU, by its name.
"""

import pytest

from support import gang as gangs
from support.muster import ROOT
from support.worker_events import WorkerEvents
from support.workers import Workers

_EMULATOR = "qemu-aarch64-static"
_BUILD = ROOT / "build-aarch64"


@pytest.fixture(scope="session")
def build():
    """The folder of `scripts/build --target aarch64`."""
    return _BUILD


@pytest.fixture
def arm():
    """Arguments of Muster.start and Gang.start that make the agent one for Arm."""
    return {"program": _BUILD / "muster", "through": [_EMULATOR]}


@pytest.fixture
def arm_of_64_kib(arm):
    """The same, where a page of memory has 64 KiB, as with the kernels of some distributions."""
    return {**arm, "through": [*arm["through"], "-p", "65536"]}


@pytest.fixture(scope="session")
def arm_worker(tmp_path_factory):
    """The command of a program of tests/workers that is compiled for Arm, by its name."""
    compiled = Workers(tmp_path_factory.mktemp("arm-workers"), "aarch64-linux-gnu-gcc")
    return lambda name: (_EMULATOR, compiled(name))


@pytest.fixture
def gang(muster, arm_worker, tmp_path):
    """A job of two nodes with one worker each, an Arm program; its agents are started by the test."""
    worker_events = WorkerEvents(tmp_path / "worker-events")
    command = [*arm_worker("event_worker"), worker_events.folder]
    return gangs.Gang(muster, worker_events, command, 2, ["--max-restarts=1"], workers=1)

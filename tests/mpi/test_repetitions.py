"""MPI jobs repeated many times: rare hangs of mpirun must not occur, and a kill leaves no process."""

import contextlib
import os
import random
import signal
import time

import pytest

from support import processes
from support.deadlines import wait_until
from support.mpi import MEETINGS, SECONDS
from support.repetitions import default_or_soak

NODES = 3
SOON = 20  # seconds from a kill to the end of all: who waits for a node gives up, a grace
UNHARMED = 10  # seconds that all ranks have to be there, and everybody to go on: what was killed had done its part
_RANK = "end_as_told"
_NO_PART = {"unshare", "sleep"}  # what makes the container, and what ranks leave behind


@pytest.mark.soak
def test_many_ranks_on_one_host_exit_at_once(mpi, way):
    for _ in range(default_or_soak(5 if way == "pmix" else 2, 100)):  # mpirun hangs in 8 of 10
        job = mpi(["/bin/true"], nodes=1, ranks=64)

        assert job.run() == [0], job.words()


def parts_on(hosts, node):
    """Processes whose exit has to end the job: no orphan of a rank, not even before it has its own name."""
    found = processes.on_host(hosts.name(node))
    ranks = {process.pid for process in found if process.name == _RANK}
    left_by_ranks = {process.pid for process in found if process.parent in ranks}
    return [one for one in found if one.name not in _NO_PART and one.pid not in left_by_ranks]


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(default_or_soak(3, 40)))
def test_a_kill_at_any_time_leaves_no_process(mpi, hosts, seed):
    chance = random.Random(seed)
    node, enough = chance.randrange(NODES), chance.randint(2, 7)
    job = mpi(_RANK, MEETINGS, nodes=NODES, options=["--gang-timeout=5"]).start_all()
    guards = [job.jobs[other].guard() for other in range(NODES)]

    def far_enough():
        return len(parts_on(hosts, node)) >= enough or job.all_ranks_are_here()

    wait_until(far_enough, lambda: f"{enough} processes on node {node}; {job.words()}", SECONDS)
    victim = kill_one(chance, hosts, node)
    if victim.pid == guards[node]:  # the first process of the container
        job.lose(node)

    if is_harmed(job):
        codes = job.end(SOON)
        assert 0 not in codes.values(), f"{victim}: {codes}\n{job.words()}"
    else:  # it had done its part, like the shell that mpirun sends ahead
        job.tell(*range(NODES))
        assert set(job.end(SOON).values()) == {0}, f"{victim}: {job.words()}"


def kill_one(chance, hosts, node):
    """Some end while they are looked at."""
    while True:
        victim = chance.choice(parts_on(hosts, node))
        with contextlib.suppress(ProcessLookupError):
            os.kill(victim.pid, signal.SIGKILL)
            return victim


def is_harmed(job):
    """True once an agent ends; otherwise all ranks are there, and stay."""
    here_since = None

    def verdict():
        nonlocal here_since
        if any(one.process.poll() is not None for one in job.jobs.values()):
            return "harmed"
        if here_since is None and job.all_ranks_are_here():
            here_since = time.monotonic()
        return "unharmed" if here_since and time.monotonic() - here_since > UNHARMED else None

    return wait_until(verdict, lambda: f"an end, or all ranks; {job.words()}") == "harmed"

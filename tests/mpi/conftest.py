"""Fixtures of the tests of MPI jobs: each test runs with each way of starting such a job."""

import pytest

from support.mpi import WAYS, MpiJob, Programs


@pytest.fixture(scope="session")
def number_of_hosts():
    return 4


@pytest.fixture(params=WAYS)
def way(request):
    return request.param


@pytest.fixture(scope="session")
def program(tmp_path_factory):
    return Programs(tmp_path_factory.mktemp("programs"))


@pytest.fixture
def mpi(muster, hosts, way, program):
    """Makes a job of the test. Of its ranks, and of what helped them, nothing may be left when the next begins."""
    made = []

    def make(name, *words, nodes=4, ranks=1, options=(), through=None):
        if made:
            made.pop().assert_nothing_is_left()
        command = program(name) if isinstance(name, str) else name
        job = MpiJob(muster, hosts, through or way, [*command, *words], nodes, ranks, options)
        made.append(job)
        return job

    yield make
    try:
        for job in made:
            job.assert_nothing_is_left()
    finally:
        hosts.apart = None

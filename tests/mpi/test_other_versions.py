"""MPI jobs by the Open MPI of a virtual environment, whose mpirun is on PATH: the system's libpmix cannot be loaded."""

import os
import pathlib
import signal

import pytest

from support.mpi import MEETINGS, Programs

pytestmark = pytest.mark.framework
VENVS = {"4.1.8": "OPENMPI_4_VENV", "5.0.11": "OPENMPI_5_VENV"}
PMIX = {"4.1.8": "PMIx server of 3.2.5", "5.0.11": "PMIx server of OpenPMIx 5.0.11"}
DAEMON = {"4.1.8": "orted", "5.0.11": "prted"}
# A container has mounts of its own; Debian's mpirun is nowhere, nor what belongs to it.
WITHOUT_PMIX = 'mount --bind /dev/null "$0" && exec "$@"'
LIBPMIX = "/usr/lib/x86_64-linux-gnu/libpmix.so.2"


@pytest.fixture(params=VENVS)
def version(request):
    return request.param


@pytest.fixture
def folder(version):
    variable = VENVS[version]
    assert variable in os.environ, f"{variable} is not set: run scripts/test --full frameworks"
    return pathlib.Path(os.environ[variable]) / "bin"


@pytest.fixture
def program(folder, tmp_path):
    return Programs(tmp_path, python=folder / "python3", compiler=folder / "mpicc")


def of(folder):
    """For a job: what finds this Open MPI, and no libpmix but its own."""
    path = f"{folder}:/usr/sbin:/usr/bin:/sbin:/bin"
    return {"env": {"PATH": path}, "through": ["sh", "-c", WITHOUT_PMIX, LIBPMIX]}


def test_ranks_in_python_compute_together(mpi, folder):
    job = mpi("collectives", nodes=2, ranks=2)

    assert job.run(**of(folder)) == [0, 0], job.words()

    right = [f"rank {rank} of 4 on 2 hosts: all is right" for rank in range(4)]
    assert [line for line in job.lines if "all is right" in line] == right, job.words()


def test_ranks_in_c_meet(mpi, folder):
    job = mpi("init_thread", nodes=2, ranks=1)

    assert job.run(**of(folder)) == [0, 0], job.words()

    assert job.lines == [f"rank {rank} of 2: threads multiple" for rank in range(2)]


@pytest.mark.parametrize("way", ["pmix"])
def test_the_libpmix_is_that_of_the_mpirun_on_path(mpi, folder, version):
    job = mpi("init_thread", nodes=2, ranks=1, options=["--verbose"], through="auto")

    assert job.run(**of(folder)) == [0, 0], job.words()

    assert all(PMIX[version] in job.jobs[node].err.text for node in range(2)), job.words()


@pytest.mark.parametrize(("how", "code"), [("abort5", 5), ("exit7", 7)])
def test_the_code_is_that_of_the_rank(mpi, folder, how, code):
    job = mpi("end_as_told", MEETINGS, f"1={how}", nodes=2)
    job.start_all(**of(folder)).wait_for_ranks()

    codes, _ = job.ends(job.tell(1))

    assert codes == {0: code, 1: code}, job.words()


@pytest.mark.parametrize("way", ["agent", "ssh"])
def test_a_daemon_that_is_killed_is_a_failure(mpi, folder, version):
    job = mpi("end_as_told", MEETINGS, nodes=2)
    job.start_all(**of(folder)).wait_for_ranks()
    os.kill(job.helper(1, DAEMON[version]), signal.SIGKILL)

    codes = job.end(60)

    assert codes[0] == codes[1] != 0, job.words()

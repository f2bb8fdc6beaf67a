"""Fixtures of the tests with real frameworks: the program, the Pythons, the hosts."""

import itertools
import os
import pathlib
import sys

import pytest

from support import processes
from support.muster import Muster

_numbers = itertools.count()
REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "tests" / "hosts"))


def pytest_configure(config):
    config.addinivalue_line("markers", "debian: runs with the packages of Debian 12 alone")
    config.addinivalue_line("markers", "framework: needs a virtual environment of requirements/")


@pytest.fixture(scope="session")
def muster():
    program = pathlib.Path(os.environ.get("MUSTER", REPOSITORY / "build" / "muster")).resolve()
    assert program.exists(), f"{program} does not exist: run scripts/build"
    return str(program)


def venv_of(variable):
    """The bin folder of the virtual environment that a variable names."""
    assert variable in os.environ, f"{variable} is not set: run scripts/test --full frameworks"
    return pathlib.Path(os.environ[variable]) / "bin"


@pytest.fixture(scope="session")
def torch_venv():
    """The torch that requirements/torch.txt pins; each of the next has a file there as well."""
    return venv_of("TORCH_VENV")


@pytest.fixture(scope="session")
def mindspore_venv():
    return venv_of("MINDSPORE_VENV")


@pytest.fixture(scope="session")
def tensorflow_venv():
    return venv_of("TENSORFLOW_VENV")


@pytest.fixture(scope="session")
def jax_venv():
    return venv_of("JAX_VENV")


@pytest.fixture(scope="session")
def torch_others_venv():
    return venv_of("TORCH_OTHERS_VENV")


@pytest.fixture(scope="session")
def horovod_venv():
    return venv_of("HOROVOD_VENV")


@pytest.fixture(scope="session")
def paddle_venv():
    return venv_of("PADDLE_VENV")


@pytest.fixture(scope="session")
def uv_venv():
    return venv_of("UV_VENV")


@pytest.fixture(
    scope="session",
    params=[
        pytest.param("debian", marks=pytest.mark.debian),
        pytest.param("venv", marks=pytest.mark.framework),
    ],
)
def python(request):
    """A Python that has torch: Debian's, and that of the virtual environment."""
    if request.param == "debian":
        return "/usr/bin/python3"
    return str(request.getfixturevalue("torch_venv") / "python3")


@pytest.fixture(scope="module")
def two_hosts():
    if os.geteuid() != 0:
        pytest.skip("needs root: it makes network namespaces")
    from hosts import Hosts

    with Hosts(2) as hosts:
        yield hosts


@pytest.fixture
def launcher(tmp_path, deadline):
    """Starts muster; afterwards nothing of the test may be left."""
    processes.become_subreaper()
    one = Muster(tmp_path, f"{os.getpid()}-framework-{next(_numbers)}")
    yield one
    try:
        one.assert_no_survivors(seconds=5.0)
    finally:
        processes.kill_all(one.tag)


@pytest.fixture
def clean_environment():
    """This process's environment without what another launcher or job may have left in it."""
    foreign = ("MUSTER_", "TORCHELASTIC_", "PET_", "OMPI_", "VC_", "VK_", "MARSV2_")
    workers = {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}
    return {
        "MUSTER_CONSOLE_TIME": "off",  # whole lines are compared
        **{
            name: value
            for name, value in os.environ.items()
            if not name.startswith(foreign) and name not in workers
        },
    }


@pytest.fixture(scope="module")
def four_hosts():
    if os.geteuid() != 0:
        pytest.skip("needs root: it makes network namespaces")
    from hosts import Hosts

    with Hosts(4) as hosts:
        yield hosts

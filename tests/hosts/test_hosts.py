"""scripts/dev/hosts keeps its promises to the tests that use it."""

import os
import pathlib
import shutil
import signal
import subprocess
import tempfile

import pytest
from hosts import SCRIPT, Hosts

from support.deadlines import HANG, wait_until

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: it makes network namespaces")

LISTEN = """
import socket
listener = socket.create_server(("", 0))
print(listener.getsockname()[1], flush=True)
connection, peer = listener.accept()
connection.sendall(peer[0].encode())
"""
CONNECT = """
import socket, sys
connection = socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=120)
print(connection.recv(100).decode())
"""
# It left its session and its parent, ignores TERM and is stopped.
LEAVE_A_STUBBORN_PROCESS = """
import signal, subprocess
signal.signal(signal.SIGTERM, signal.SIG_IGN)
quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
stubborn = subprocess.Popen(["sleep", "600"], start_new_session=True, **quiet)
stubborn.send_signal(signal.SIGSTOP)
print(stubborn.pid)
"""


@pytest.fixture(scope="module")
def two_hosts():
    with Hosts(2) as hosts:
        yield hosts


def traces_of(prefix):
    """Everything that a set of hosts may leave on this machine."""
    return [
        str(path)
        for folder in ("/run/netns", "/etc/netns")
        for path in pathlib.Path(folder).glob(f"{prefix}-*")
    ]


def is_alive(pid):
    """False for a process that is gone and for one that only waits to be reaped."""
    try:
        state = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


@pytest.mark.parametrize("by_name", [True, False], ids=["name", "address"])
def test_one_host_reaches_another_from_its_own_address(two_hosts, by_name):
    listener = two_hosts.start(1, "python3", "-c", LISTEN)
    port = listener.stdout.readline().strip()
    target = two_hosts.name(1) if by_name else two_hosts.address(1)

    answer = two_hosts.run(0, "python3", "-c", CONNECT, target, port)

    assert answer.stdout.strip() == two_hosts.address(0), answer.stderr
    assert listener.wait(timeout=HANG) == 0


def test_a_host_has_its_own_name_and_reaches_itself(two_hosts):
    assert two_hosts.run(1, "hostname").stdout.strip() == two_hosts.name(1)
    assert two_hosts.address(1) in two_hosts.run(1, "getent", "hosts", two_hosts.name(1)).stdout
    assert "127.0.0.1" in two_hosts.run(1, "getent", "ahostsv4", "localhost").stdout
    assert subprocess.check_output(["hostname"], text=True).strip() != two_hosts.name(1)


def test_a_host_has_no_way_outside(two_hosts):
    routes = two_hosts.run(0, "ip", "-4", "route").stdout.split("\n")

    assert [route.split()[0] for route in routes if route] == ["10.77.0.0/24"]


def test_exec_becomes_the_command_and_passes_its_exit_code_on(two_hosts):
    command = two_hosts.start(0, "python3", "-c", "import os; print(os.getpid(), flush=True); os._exit(7)")

    assert int(command.stdout.readline()) == command.pid
    assert command.wait(timeout=HANG) == 7


def test_a_command_can_have_separate_pid_and_shared_memory_namespaces(two_hosts, tmp_path):
    # The shell counts by itself: a pipeline would be counted while it is being forked.
    script = 'test $$ = 1 && echo mine >/dev/shm/file && set -- /proc/[0-9]* && echo $# && exit 7'
    two_hosts.apart = tmp_path
    try:
        done = two_hosts.run(1, "sh", "-c", script)
    finally:
        two_hosts.apart = None

    assert (done.returncode, int(done.stdout)) == (7, 1), done.stderr
    assert (tmp_path / two_hosts.name(1) / "file").read_text() == "mine\n"
    assert not pathlib.Path("/dev/shm/file").exists()


def test_a_second_up_changes_nothing(two_hosts):
    sleeper = two_hosts.start(0, "sleep", "60")

    two_hosts.script("up", "2")

    assert sleeper.poll() is None
    names = [line.split()[:2] for line in two_hosts.script("list").splitlines()]
    assert names == [[two_hosts.name(i), two_hosts.address(i)] for i in (0, 1)]
    sleeper.kill()
    sleeper.wait(timeout=HANG)


def test_down_kills_running_processes_and_leaves_nothing():
    with Hosts(2, prefix=f"down{os.getpid()}") as hosts:
        pid = int(hosts.run(1, "python3", "-c", LEAVE_A_STUBBORN_PROCESS).stdout)
        assert is_alive(pid)

        hosts.script("down")

        assert not is_alive(pid)
        assert traces_of(hosts.prefix) == []
        assert hosts.script("list") == ""


def test_two_sets_of_hosts_know_nothing_of_each_other(two_hosts):
    with Hosts(1, prefix=f"other{os.getpid()}") as others:
        sleeper = two_hosts.start(0, "sleep", "60")

        assert others.run(0, "getent", "hosts", two_hosts.name(0)).returncode != 0
        others.script("down")

        assert sleeper.poll() is None
        assert two_hosts.run(0, "hostname").stdout.strip() == two_hosts.name(0)
        sleeper.kill()
        sleeper.wait(timeout=HANG)


def test_more_hosts_can_join_those_that_exist():
    with Hosts(1, prefix=f"more{os.getpid()}") as hosts:
        hosts.script("up", "2")

        assert hosts.address(1) in hosts.run(0, "getent", "hosts", hosts.name(1)).stdout


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["up"], "the number of hosts"),
        (["up", "0"], "'0' is no number of hosts"),
        (["up", "9999"], "'9999' is no number of hosts"),
        (["sideways"], "unknown 'sideways'"),
        ([], "no command"),
        (["--name", "No Name", "list"], "'No Name' is no prefix"),
        (["--net", "10.0.0.0", "list"], "'10.0.0.0' is no net"),
        (["exec", "7", "true"], "there is no host"),
    ],
)
def test_bad_input_is_named(arguments, complaint):
    done = subprocess.run(
        [str(SCRIPT), *arguments], capture_output=True, text=True, timeout=HANG, check=False
    )

    assert done.returncode != 0
    assert complaint in done.stderr


def test_without_root_the_script_names_what_it_needs():
    with tempfile.TemporaryDirectory() as folder:  # one that anybody may read
        os.chmod(folder, 0o755)
        scripts = pathlib.Path(folder, "scripts", "dev")
        scripts.mkdir(parents=True)
        shutil.copy(SCRIPT, scripts)
        shutil.copy(SCRIPT.parent.parent / "common.bash", scripts.parent)
        nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]

        done = subprocess.run(
            [*nobody, f"{scripts}/hosts", "up", "1"],
            cwd="/",
            capture_output=True,
            text=True,
            timeout=HANG,
            check=False,
        )

    assert done.returncode == 1
    assert "needs root" in done.stderr


def test_down_without_hosts_is_no_error():
    hosts = Hosts(1, prefix=f"none{os.getpid()}")

    hosts.script("down")

    assert traces_of(hosts.prefix) == []


def test_a_command_on_a_host_gets_signals(two_hosts):
    sleeper = two_hosts.start(0, "sleep", "60")
    name = pathlib.Path(f"/proc/{sleeper.pid}/comm")
    wait_until(lambda: "sleep" in name.read_text(), "the command to start")

    sleeper.terminate()

    assert sleeper.wait(timeout=HANG) == -signal.SIGTERM

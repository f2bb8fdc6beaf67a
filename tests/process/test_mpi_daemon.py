"""The daemon that waits for mpirun on the other nodes: it executes one command, for a client that knows the job's secret."""

import contextlib
import hashlib
import hmac
import os
import socket
import subprocess
import time

import pytest

from support.deadlines import HANG, promise
from support.gang import free_port
from support.muster import binary
from support.repetitions import default_or_soak

SECRET = "0123456789abcdef0123456789abcdef"


def proof(secret, text):
    return hmac.new(secret.encode(), text, hashlib.sha256).hexdigest().encode()


def framed(payload):
    return len(payload).to_bytes(4, "big") + payload


class Daemon:
    def __init__(self):
        self.port = free_port()
        names = {"MUSTER_MPI_SECRET": SECRET, "MUSTER_MPI_ENDPOINT": f"127.0.0.1:{self.port}"}
        self.process = subprocess.Popen(
            [binary(), "--mpi-daemon"],
            env={"PATH": os.environ["PATH"], "TEXT": "a b;\n'\"", **names},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def connect(self):
        """Its port is known before it listens there."""
        while self.process.poll() is None:
            try:
                return socket.create_connection(("127.0.0.1", self.port), HANG)
            except ConnectionRefusedError:
                time.sleep(0.01)
        raise AssertionError(self.process.communicate())


@pytest.fixture
def daemon():
    made = Daemon()
    yield made
    made.process.kill()
    made.process.communicate()


def whole(link, count):
    """As much as comes: it closes the link before all is read that is nothing to it."""
    got = b""
    with contextlib.suppress(ConnectionResetError):
        while len(got) < count and (more := link.recv(count - len(got))):
            got += more
    return got


def ask(link, command, secret=SECRET):
    """The daemon's answer, and the digits that it wanted a proof of."""
    digits = whole(link, 32)
    text = command.encode()
    link.sendall(framed(proof(secret, digits + text) + text))
    return whole(link, 64), digits


def test_the_daemon_executes_the_command_and_closes_the_link(daemon):
    with daemon.connect() as link:
        answer, digits = ask(link, 'printf %s "$TEXT"; env | grep -c MUSTER_MPI; exit 7')

        assert answer == proof(SECRET, digits)
        assert link.recv(1) == b""
    out, _ = daemon.process.communicate(timeout=HANG)
    assert (daemon.process.returncode, out) == (7, "a b;\n'\"0\n")


def test_a_client_without_the_secret_is_refused_and_the_next_served(daemon):
    with daemon.connect() as link:
        assert ask(link, "echo wrong", secret="f" * 32)[0] == b""
    with daemon.connect() as link:
        link.sendall(b"GET / HTTP/1.1\r\n" + b"x" * 100)
        assert whole(link, 1000)[32:] == b""
    with daemon.connect() as link:
        assert ask(link, "echo right")[0]
    out, err = daemon.process.communicate(timeout=HANG)
    assert (daemon.process.returncode, out) == (0, "right\n")
    assert err.count("refusing a connection") == 2


def test_slow_clients_do_not_delay_others(daemon):
    with contextlib.ExitStack() as others:
        slow = [others.enter_context(daemon.connect()) for _ in range(70)]
        slow[-1].sendall(b"\0\0\0")  # a byte is missing until the length is known
        began = time.monotonic()
        with daemon.connect() as link:
            assert ask(link, "echo right")[0]
        out, err = daemon.process.communicate(timeout=HANG)

    assert (daemon.process.returncode, out) == (0, "right\n")
    promise("an answer beside 70 slow ones", 5, time.monotonic() - began)  # one alone has ten seconds
    assert err.count("refusing a connection to the daemon of mpirun: too many others have come") == 7


def test_a_command_may_come_byte_by_byte(daemon):
    with daemon.connect() as link:
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        text = b"echo right"
        for byte in framed(proof(SECRET, whole(link, 32) + text) + text):
            link.sendall(bytes([byte]))
        assert whole(link, 64)

    assert daemon.process.communicate(timeout=HANG)[0] == "right\n"


@pytest.mark.parametrize("length", [64 + 128 * 1024 + 1, 0, 2**32 - 1])
def test_an_invalid_command_length_is_refused_at_once(daemon, length):
    with daemon.connect() as link:
        whole(link, 32)
        link.sendall(length.to_bytes(4, "big"))
        assert whole(link, 1) == b""

    daemon.process.terminate()
    assert "the message is not a command" in daemon.process.communicate(timeout=HANG)[1]


def test_the_secret_is_in_no_command_line(daemon):
    with daemon.connect() as link:
        ask(link, "cat /proc/self/cmdline /proc/$PPID/cmdline; :")
        link.recv(1)

    assert SECRET not in daemon.process.communicate(timeout=HANG)[0]


def test_the_daemon_ends_at_sigterm(daemon):
    daemon.connect().close()

    daemon.process.terminate()

    assert daemon.process.wait(HANG) == -15


# --- mpirun's remote shell, which asks for the command ------------------------------------------------


def call_agent(folder, host, port, *command):
    (folder / "hostfile").write_text("w-0 slots=1\nw-1.job slots=1\n")
    names = {
        "MUSTER_MPI_SECRET": SECRET,
        "MUSTER_MPI_DAEMONS": f"127.0.0.1:{port}",
        "MUSTER_MPI_HOSTFILE": str(folder / "hostfile"),
    }
    words = [binary(), "--mpi-agent", "-x", host, *(command or ["true"])]
    return subprocess.Popen(words, env=names, stderr=subprocess.PIPE, text=True)


def answer(link, how):
    """Answers like a listener that is not the daemon; True: it keeps the link."""
    if how != "closes":
        link.sendall(b"0" * 32)
        if how == "lies":
            link.sendall(b"f" * 64)
        return True
    return False


AT_ONCE = [
    ("closes", "the other end has closed the link"),
    ("lies", "the program that listens there does not know the job's secret"),
]
AFTER_HALF_A_MINUTE = [("says nothing more", "nothing came in time")]


@pytest.mark.parametrize(
    ("how", "said"), default_or_soak(AT_ONCE, AT_ONCE + AFTER_HALF_A_MINUTE)
)
def test_a_listener_that_is_not_the_daemon_is_detected(tmp_path, how, said):
    with socket.create_server(("127.0.0.1", 0)) as somebody:
        agent = call_agent(tmp_path, "w-1.job", somebody.getsockname()[1])
        link, _ = somebody.accept()
        with link:
            if not answer(link, how):
                link.close()
            _, err = agent.communicate(timeout=HANG)

    assert agent.returncode == 71
    assert f"cannot start mpirun's daemon on 'w-1.job': {said}" in err


@pytest.mark.parametrize("host", ["w-1", "w-0", "w-2", ""])
def test_a_host_that_is_no_other_node_is_refused(tmp_path, host):
    agent = call_agent(tmp_path, host, free_port())

    _, err = agent.communicate(timeout=HANG)

    assert agent.returncode == 71
    assert f"cannot start mpirun's daemon on '{host}': it is not one of the other nodes" in err


def test_a_command_that_no_shell_takes_is_refused(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as daemon:
        port = daemon.getsockname()[1]
        agent = call_agent(tmp_path, "w-1.job", port, "orted", "x" * 100_000, "y" * 100_000)
        _, err = agent.communicate(timeout=HANG)

    assert agent.returncode == 64
    assert "a command of 200012 bytes is too long for a shell" in err


@pytest.mark.parametrize("word", ["--mpi-agent", "--mpi-daemon", "--mpi-rank"])
def test_without_musters_variables_the_internal_commands_fail(word):
    job = subprocess.run([binary(), word, "host", "true"], capture_output=True, env={})

    assert job.returncode == {"--mpi-rank": 127}.get(word, 64)

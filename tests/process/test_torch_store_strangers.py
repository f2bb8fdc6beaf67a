"""Clients that send nonsense to the store, read nothing or exhaust its connections, beside ranks that train by it.

With SOAK=1 there are 71,000 connections of nonsense.
"""

import collections
import contextlib
import os
import random
import resource
import socket
import struct
import sys
from pathlib import Path

import pytest

from support.deadlines import HANG, wait_until
from support.repetitions import default_or_soak
from support.torch_store import Client

RANK = Path(__file__).resolve().parents[1] / "support" / "torch_store.py"
RANKS = 4
CONNECTIONS = default_or_soak(7_100, 71_000)
AT_ONCE = 200
SOURCES = 8
MIB = 1 << 20

GREETING = bytes.fromhex("00cef7853c")
KEY = struct.pack("<Q", 2) + b"/n"
# A value that is only there until the client has read it.
KEEP_AN_ANSWER = b"\x01" + KEY + struct.pack("<Q", 8 * MIB) + bytes(8 * MIB) + b"\x03" + KEY + b"\x08" + KEY
NONSENSE = {
    "a browser": b"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
    "a handshake of TLS": bytes.fromhex("16030100d7010000d30303"),
    "another magic": bytes.fromhex("00cef7853d") + bytes(4),
    "a greeting twice": GREETING * 2,
    "an unknown operation": GREETING + b"\x13",
    "the highest operation": GREETING + b"\xff",
    "a key that is too long": GREETING + b"\x03" + struct.pack("<Q", 1 << 63),
    "a value that is too long": GREETING + b"\x01" + KEY + struct.pack("<Q", (8 << 20) + 1),
    "too many keys": GREETING + b"\x06" + struct.pack("<Q", (1 << 64) - 1),
    "a stray byte of another release": b"\x4d",
    "a watch": b"\x07" + KEY,
    "a number that is none": GREETING + b"\x01" + KEY + struct.pack("<Q", 1) + b"x" + b"\x04" + KEY + bytes(8),
}  # fmt: skip
UNFINISHED = {
    "silence": b"",
    "a code of 2.1": b"\x0b",
    "half a greeting": GREETING[:3],
    "half a key": GREETING + b"\x03" + KEY[:9],
    "half a value": GREETING + b"\x01" + KEY + struct.pack("<Q", 8 << 20) + bytes(1000),
    "a deletion of 1.13": b"\x08" + KEY,
}


class Training:
    """A job whose ranks train by the store until they are told that it is enough."""

    def __init__(self, muster, ranks=RANKS, **more):
        self.muster = muster
        command = ["torchrun", f"--nproc-per-node={ranks}", "--no-python", sys.executable]
        self.ranks = ranks
        self.job = muster.start(*command, RANK, "meet", "train", report=True, **more)
        self.wait_for_a_step()
        self.port = int(self.job.out.text.split("step 0 at port ")[1].split()[0])

    def steps(self):
        return self.job.out.text.count("step ") // self.ranks

    def wait_for_a_step(self):
        """One more of all ranks, from its beginning to its end."""
        steps = self.steps()
        wait_until(lambda: self.steps() >= steps + 2, "another step of the ranks")

    def store(self):
        return next(one.pid for one in self.muster.survivors() if one.name == "muster-store")

    def client(self, **more):
        return Client("127.0.0.1", self.port, **more)

    def connect(self, number=0):
        source = f"127.9.0.{number % SOURCES + 1}"
        return socket.create_connection(("127.0.0.1", self.port), HANG, (source, 0))

    def said_of_the_store(self):
        return [line for line in self.job.said if "closed the store's connection" in line]

    def end(self):
        with self.client() as client:
            client.set(b"/enough", b"")
            with contextlib.suppress(ConnectionError):  # the job may be over by then
                client.has(b"/enough")
        assert self.job.end() == 0, self.job.words()
        assert self.job.out.text.count("has taken") == self.ranks
        assert self.job.report["first_failure"] is None


def open_files_of(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def is_closed(connection):
    try:
        while connection.recv(4096):
            pass
    except ConnectionResetError:
        pass
    return True


def speeches(seed):
    """Data of unknown clients, and whether the store closes them for it."""
    random_of_seed = random.Random(seed)
    known = [(said, True) for said in NONSENSE.values()]
    known += [(said, False) for said in UNFINISHED.values()]
    while True:
        yield random_of_seed.choice(known)
        size = random_of_seed.randrange(1, 200)
        yield GREETING + b"\x13" + random_of_seed.randbytes(size), True
        yield random_of_seed.randbytes(size), False  # it may be a request


def talk(training, said, number):
    connection = training.connect(number)
    with contextlib.suppress(ConnectionError):  # it is closed before all of it is sent
        connection.sendall(said)
    return connection


@pytest.mark.soak
def test_invalid_data_on_thousands_of_connections_does_not_affect_ranks(muster):
    training = Training(muster)
    store = training.store()
    steps, open_files = training.steps(), open_files_of(store)
    held = collections.deque()
    for number, (said, is_refused) in zip(range(CONNECTIONS), speeches(71), strict=False):
        held.append((talk(training, said, number), is_refused))
        if len(held) == AT_ONCE:
            connection, is_refused = held.popleft()
            with connection:
                assert not is_refused or is_closed(connection)
    wait_until(lambda: training.steps() > steps, "the ranks to go on")
    training.wait_for_a_step()
    for connection, _ in held:
        connection.close()
    wait_until(
        lambda: open_files_of(store) == open_files, "the store to close what it had open"
    )
    training.end()
    assert 1 <= len(training.said_of_the_store()) <= 16
    assert any(line.endswith("(the last message of this kind)") for line in training.said_of_the_store())


def test_invalid_requests_are_closed_and_unfinished_ones_stay_open(muster):
    training = Training(muster, ranks=2)
    for said in NONSENSE.values():
        with talk(training, said, 0) as connection:
            assert is_closed(connection)
    with contextlib.ExitStack() as all_held:
        for said in UNFINISHED.values():
            all_held.enter_context(talk(training, said, 0))
        training.wait_for_a_step()
    training.end()


def test_a_client_that_never_reads_is_closed_and_named(muster):
    training = Training(muster, ranks=2)
    with training.client() as setter, training.client(pid=4711) as greedy:
        setter.set(b"/big", bytes(8 * MIB))
        assert setter.has(b"/big")
        question = b"\x03" + struct.pack("<Q", 4) + b"/big"
        for _ in range(9):  # eight are 64 MiB, and their lengths
            with contextlib.suppress(ConnectionError):
                greedy.say(question)
        training.job.err.wait_for("bytes that it has not read")
        training.wait_for_a_step()
    assert training.job.said_about("closed the store's connection to 127.0.0.1, pid 4711: ", "it asked for")
    training.end()


def test_of_several_nonreading_clients_the_most_backlogged_is_closed(muster):
    """Each leaves less than it may, the first one most; what they leave together is too much."""
    training = Training(muster, ranks=2)
    with contextlib.ExitStack() as stack:
        for number in range(8):
            client = stack.enter_context(training.client(pid=4711 + number))
            for _ in range(7 if number == 0 else 6):
                with contextlib.suppress(ConnectionError):
                    client.say(KEEP_AN_ANSWER)
        training.job.err.wait_for("bytes of unread answers it has the most")
        training.wait_for_a_step()
    assert training.job.said_about("closed the store's connection to 127.0.0.1, pid 4711: of '")
    training.end()


def test_connections_that_exhaust_descriptors_are_closed_for_a_rank(muster):
    training = Training(muster, ranks=2, through=("prlimit", "--nofile=120:120"))
    limit = resource.prlimit(training.store(), resource.RLIMIT_NOFILE)[0]
    with contextlib.ExitStack() as stack:
        for number in range(limit):
            stack.enter_context(talk(training, b"", 0))
        with training.client(pid=4711) as rank:
            assert rank.add(b"/n", 1) == 1
        training.wait_for_a_step()
    assert training.job.said_about("closed the store's connection to 127.0.0.1: of all processes it has the most")
    assert "no descriptor is left" not in training.job.err.text
    training.end()

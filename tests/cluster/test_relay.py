"""The relay between an agent and its leader (tests/support/relay.py) leaves no thread and no connection, whenever it is closed."""

import socket
import threading

import pytest

from support.deadlines import wait_until
from support.relay import Relay


@pytest.fixture
def leader():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener


@pytest.fixture
def linked(leader):
    """A relay, and both ends of a connection through it."""
    with Relay(leader.getsockname()) as relay, socket.create_connection(("127.0.0.1", relay.port)) as near:
        far, _ = leader.accept()
        with far:
            near.sendall(b"hello")
            assert far.recv(5, socket.MSG_WAITALL) == b"hello"
            yield relay, near, far


def close_the_agent(relay, near, _far):
    near.close()
    wait_until(lambda: relay.wires[0].agent_closed_at, "the relay to notice")


def reset_the_agent(relay, near, _far):
    near.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    close_the_agent(relay, near, _far)


def hold_up(relay, near, _far):
    relay.hold_up()
    near.sendall(b"held up")


def fill(relay, near, _far):
    """Fills the connection, because the other end does not read."""
    near.setblocking(False)
    with pytest.raises(BlockingIOError):
        while True:
            near.send(bytes(1 << 20))


EVENTS = [
    close_the_agent,
    reset_the_agent,
    hold_up,
    fill,
    lambda relay, *_: relay.fall_silent(),
    lambda relay, *_: relay.reset(),
    lambda *_: None,
]


@pytest.mark.parametrize("event", EVENTS, ids="closed reset held-up full silent cut none".split())
def test_a_closed_relay_leaves_no_thread(linked, event):
    relay = linked[0]
    wait_until(lambda: len(threads_of_relays()) == 3, "one that accepts and two that forward")
    event(*linked)

    relay.__exit__()

    assert threads_of_relays() == []


def test_a_relay_without_a_target_ends():
    with Relay(("127.0.0.1", 1)) as relay, socket.create_connection(("127.0.0.1", relay.port)) as near:
        assert near.recv(1) == b""

    assert threads_of_relays() == []


def threads_of_relays():
    return [one for one in threading.enumerate() if one.name.startswith("relay")]

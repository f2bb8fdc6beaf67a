"""Speaks the agents' protocol by hand: frames of a four-byte length and JSON."""

import contextlib
import json
import socket
import struct

from .deadlines import HANG, limit_of


def frame(message):
    payload = message if isinstance(message, bytes) else json.dumps(message).encode()
    return struct.pack(">I", len(payload)) + payload


# The fields of the two parts of a join.
FACTS = {
    "job": {"job_id", "mode", "template_digest", "least_nodes", "most_nodes", "total_slots"},
    "node": {"rank", "slots", "host", "grace_seconds"},
}


def join(**changes):
    """A join as agent 1 of a job of two nodes sends it; what is given differs."""
    message = {
        "type": "join",
        "protocol": 4,
        "version": "0.2.0",
        "incarnation": "00000000deadbeef",
        "job": {"job_id": "none", "mode": "torchrun", "least_nodes": 2, "most_nodes": 2},
        "node": {"rank": 1, "slots": 2, "host": "by-hand", "grace_seconds": 1.0},
        "waited_seconds": 0.0,
    }
    for name, value in changes.items():
        part = next((message[part] for part in ("job", "node") if name in FACTS[part]), message)
        part[name] = value
        if value is None:
            del part[name]
    return message


class Peer:
    """A connection to a leader, without muster at this end."""

    def __init__(self, port, address="127.0.0.1"):
        self._socket = socket.create_connection((address, port), HANG)
        self.received = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._socket.close()

    def send(self, data):
        self._socket.sendall(data)

    def say(self, message):
        self.send(frame(message))

    def messages(self):
        """The messages that the leader has sent completely so far."""
        found, rest = [], self.received
        while len(rest) >= 4 and len(rest) >= 4 + struct.unpack(">I", rest[:4])[0]:
            size = struct.unpack(">I", rest[:4])[0]
            found.append(json.loads(rest[4 : 4 + size]))
            rest = rest[4 + size :]
        return found

    def wait_for(self, kind, seconds=HANG):
        """The first message of that type."""
        self._socket.settimeout(limit_of(seconds))
        while True:
            for message in self.messages():
                if message["type"] == kind:
                    return message
            piece = self._socket.recv(1 << 16)
            assert piece, f"the leader closed before it sent '{kind}', after {self.messages()}"
            self.received += piece

    def wait_for_end(self, seconds=HANG):
        """Everything that came until the leader closed the connection."""
        self._socket.settimeout(limit_of(seconds))
        try:
            while piece := self._socket.recv(1 << 16):
                self.received += piece
        except ConnectionResetError:
            pass
        return self.received


def is_open(port):
    """True if a process listens there: a leader does a moment after its start."""
    with contextlib.suppress(ConnectionRefusedError), Peer(port):
        return True
    return False

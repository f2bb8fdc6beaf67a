"""A client of torch's TCPStore that speaks as torch 2.5 and later does; as a program, a rank that meets the others.

usage: torch_store.py [DO...]     what a rank does, one after the other:
  meet       arrives as init_process_group does, and waits for the others' keys
  wait-R     the rank R waits for a key /enough
  end-R      the rank R ends with 0
  fail-R-A   the rank R fails in attempt A
  count      adds 1 to a counter, and says what it is
  train      adds up numbers with the others by the store, step by step, until there is a key /enough
  stay       stays for good, and waits for a key
  rest       stays for good, and does not notice that the store is gone
"""

import os
import signal
import socket
import struct
import sys

_MAGIC = 0x3C85F7CE
_SET, _GET, _ADD, _CHECK, _WAIT, _PING = 1, 3, 4, 5, 6, 13


def _text(value):
    return struct.pack("<Q", len(value)) + value


class Client:
    """One connection. Keys are bytes."""

    def __init__(self, host, port, pid=None, source="", seconds=120):
        source_address = (source, 0) if source else None
        self.socket = socket.create_connection((host, port), seconds, source_address)
        self.socket.sendall(b"\0" + struct.pack("<I", _MAGIC))
        nonce = struct.pack("<I", os.getpid() if pid is None else pid)
        self.socket.sendall(bytes([_PING]) + nonce)
        assert self._read(4) == nonce

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def _read(self, count):
        data = b""
        while len(data) < count:
            piece = self.socket.recv(count - len(data))
            if not piece:
                raise ConnectionResetError("the store has closed the connection")
            data += piece
        return data

    def say(self, data):
        self.socket.sendall(data)

    def arrive(self):
        return self.add(b"init/", 1)

    def set(self, key, value):
        self.say(bytes([_SET]) + _text(key) + _text(value))

    def get(self, key):
        self.say(bytes([_GET]) + _text(key))
        (length,) = struct.unpack("<Q", self._read(8))
        return self._read(length)

    def add(self, key, amount):
        self.say(bytes([_ADD]) + _text(key) + struct.pack("<q", amount))
        return struct.unpack("<q", self._read(8))[0]

    def has(self, *keys):
        self.say(bytes([_CHECK]) + struct.pack("<Q", len(keys)) + b"".join(map(_text, keys)))
        return self._read(1) == b"\0"

    def ask_to_wait(self, *keys):
        self.say(bytes([_WAIT]) + struct.pack("<Q", len(keys)) + b"".join(map(_text, keys)))

    def has_come(self):
        assert self._read(1) == b"\0"

    def wait(self, *keys):
        self.ask_to_wait(*keys)
        self.socket.settimeout(None)
        self.has_come()

    def is_closed(self):
        try:
            return self.socket.recv(1) == b""
        except ConnectionResetError:
            return True


def _train(store, rank, size):
    """Each step is wrong if the store has lost or changed anything that a rank has put there."""
    step = 0
    while True:
        print("step", step, "at port", os.environ["MASTER_PORT"], flush=True)
        part = step * size + rank
        if rank == 0:
            store.set(b"/goes_on_%d" % step, b"no" if store.has(b"/enough") else b"yes")
        store.set(b"/part_%d_%d" % (step, rank), b"%d" % part * 1000)
        keys = [b"/part_%d_%d" % (step, other) for other in range(size)]
        store.wait(b"/goes_on_%d" % step, *keys)
        expected = [b"%d" % (step * size + other) * 1000 for other in range(size)]
        assert [store.get(key) for key in keys] == expected
        step += 1
        if store.get(b"/goes_on_%d" % (step - 1)) == b"no":
            return step


def _run(rank, size, attempt, todo):
    store = Client(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
    for what in todo:
        name, *numbers = what.split("-")
        if name == "meet":
            print("arrived", store.arrive(), "left over:", store.has(b"/rank_0"), flush=True)
            store.set(b"/rank_%d" % rank, b"here")
            store.wait(*(b"/rank_%d" % other for other in range(size)))
            print(f"rank {rank} of {size} has met the others", flush=True)
        elif name == "wait" and rank == int(numbers[0]):
            store.wait(b"/enough")
        elif name == "end" and rank == int(numbers[0]):
            return 0
        elif name == "fail" and (rank, attempt) == tuple(map(int, numbers)):
            return 3
        elif name == "count":
            print("count", store.add(b"/count", 1), flush=True)
        elif name == "train":
            print(f"rank {rank} has taken {_train(store, rank, size)} steps", flush=True)
        elif name == "stay":
            store.ask_to_wait(b"/never")
            # In one piece: who waits for its beginning has all of it.
            os.write(1, f"stays at port {os.environ['MASTER_PORT']}\n".encode())
            store.socket.settimeout(None)
            store.has_come()
        elif name == "rest":
            os.write(1, b"rests\n")
            signal.pause()
    return 0


if __name__ == "__main__":
    numbers = [int(os.environ[n]) for n in ("RANK", "WORLD_SIZE", "TORCHELASTIC_RESTART_COUNT")]
    sys.exit(_run(*numbers, sys.argv[1:]))

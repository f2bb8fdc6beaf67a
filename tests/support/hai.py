"""HAI's surroundings of a task's first node: the suspend flag in shared memory, and the task's manager.

As a program it is both of them: it takes orders from standard input, and writes what it sees as lines of JSON. It has the shared memory in
an IPC namespace of its own, which muster enters.
"""

import ctypes
import json
import os
import pickle
import select
import socket
import subprocess
import sys
import time

KEY = ctypes.c_int(7123378543 & 0xFFFFFFFF).value
PORT = 7000
# As docs/control.md has it; the user's name has an underscore, the manager's host none.
TASK = {"MARSV2_USER": "alice_b", "MARSV2_TASK_ID": "4711", "MARSV2_TASK_TYPE": "training"}
MANAGER = "alice-b-4711-manager-0"
CLEARED_AFTER = 5.0  # seconds after the flag was set, whatever the task does

# --- For tests -----------------------------------------------------------------------------------


class Pod:
    """The first pod of a task, on a test host. `manager` is one of proper, rubbish, silent, absent."""

    def __init__(self, hosts, index, folder, environment, manager="proper"):
        from . import processes  # here, as the program has no package around it
        from .streams import Stream

        self._processes = processes
        self._host = hosts.command("exec", str(index))
        self._process = processes.start(
            [*self._host, "unshare", "--ipc", sys.executable, "-B", __file__, manager],
            env=environment,
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        with self._process.stdout as pipe:
            self._seen = Stream("HAI", os.dup(pipe.fileno()))
        self.wait_for("ready")

    @property
    def entering(self):
        """The command that leads to its host and its shared memory."""
        return [*self._host, "nsenter", f"--ipc=/proc/{self._process.pid}/ns/ipc"]

    def suspend(self):
        """Sets the flag, and returns when that was, as time.monotonic() has it."""
        self._order("suspend")
        return self.wait_for("suspend")["at"]

    def clear(self):
        self._order("clear")
        self.wait_for("clear")

    def remake(self):
        """There is another segment now, as when its server was started again."""
        self._order("remake")
        self.wait_for("remake")

    def wait_for(self, what):
        from .deadlines import wait_until

        return wait_until(
            lambda: next((one for one in self.seen() if one["what"] == what), None),
            lambda: f"HAI to see '{what}', and it saw {self.seen()}",
        )

    def seen(self):
        return [json.loads(line) for line in self._seen.lines]

    def requests(self):
        """The requests of muster to the manager, in order."""
        return [one["request"] for one in self.seen() if one["what"] == "request"]

    def end(self):
        from .deadlines import HANG

        self._process.stdin.close()
        self._processes.wait_for_end(self._process, HANG, "HAI")
        self._seen.wait_for_end()

    def _order(self, word):
        self._process.stdin.write(word.encode() + b"\n")
        self._process.stdin.flush()


# --- The program ---------------------------------------------------------------------------------


class Flag:
    """The byte, in a segment that everybody may change."""

    def __init__(self):
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._libc.shmat.restype = ctypes.c_void_p
        ipc_creat, ipc_excl = 0o1000, 0o2000
        self._id = self._libc.shmget(KEY, 1, ipc_creat | ipc_excl | 0o777)
        assert self._id != -1, ctypes.get_errno()
        self._byte = ctypes.c_char.from_address(self._libc.shmat(self._id, None, 0))
        self._byte.value = b"0"

    def set(self, value):
        self._byte.value = value

    def remove(self):
        ipc_rmid = 0
        self._libc.shmctl(self._id, ipc_rmid, None)


def say(what, **more):
    print(json.dumps({"what": what, "at": time.monotonic(), **more}), flush=True)


def receive(connection):
    """One request: 8 characters with the length of all of it, and a pickle."""
    length = b""
    while len(length) < 8:
        length += connection.recv(8 - len(length)) or length.ljust(8)
    body = b""
    while len(body) < int(length) - 8:
        part = connection.recv(int(length) - 8 - len(body))
        if not part:
            raise EOFError(body)
        body += part
    return pickle.loads(body)


def send(connection, answer):
    body = pickle.dumps(answer)
    connection.sendall(str(len(body) + 8).rjust(8).encode() + body)


def serve(listener, manager, kept):
    """One request to a connection; the manager of a task answers it and closes."""
    connection, _ = listener.accept()
    if manager == "silent":
        say("connection")
        kept.append(connection)
        return
    with connection:
        say("request", request=receive(connection))
        if manager == "rubbish":
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        else:
            send(connection, {"success": True, "msg": "ok"})


def main(manager):
    flag = Flag()
    kept = []
    listener = None if manager == "absent" else socket.create_server(("", PORT))
    clear_at = None
    say("ready")
    while True:
        left = None if clear_at is None else max(0, clear_at - time.monotonic())
        readable, _, _ = select.select([sys.stdin, *([listener] if listener else [])], [], [], left)
        if clear_at is not None and time.monotonic() >= clear_at:
            clear_at = None
            flag.set(b"0")
            say("clear")
        if listener in readable:
            serve(listener, manager, kept)
        if sys.stdin in readable:
            order = sys.stdin.readline().strip()
            if not order:
                break
            if order == "remake":
                flag.remove()
                flag = Flag()
            flag.set(b"1" if order == "suspend" else b"0")
            clear_at = time.monotonic() + CLEARED_AFTER if order == "suspend" else None
            say(order)
    flag.remove()


if __name__ == "__main__":
    main(sys.argv[1])

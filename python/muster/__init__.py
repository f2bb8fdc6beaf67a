# SPDX-License-Identifier: Apache-2.0
"""Calls for a program that muster started: suspend notices, heartbeats, progress.

    import muster

    for step in range(first, last):
        loss = train(step)
        muster.progress(step, loss=loss)
        if muster.receive_suspend_command():
            save(step)
            muster.go_suspend()

Each function does nothing where muster did not start the program, and where its files cannot be had: a job is not lost
because a disk is full. All times are unix time in seconds, as time.time() gives it.

The functions find everything through environment variables, at their first use. A process that multiprocessing spawns
finds the same; a forked one goes on with what its parent has opened. They may be called by any thread.
Python 3.7 or newer, nothing but the standard library.
"""

import math
import mmap
import operator
import os
import struct
import threading
import time

__all__ = ["receive_suspend_command", "suspend_deadline", "go_suspend", "heartbeat", "progress"]

_ANSWER_SECONDS = 5.0  # the longest that go_suspend() waits for muster
_ANSWER_BYTES = 65536

# The file of heartbeats: see progress() for how the numbers are written.
_BYTES = 4096
_MAGIC = b"MUSTERH1"
_EMPTY = struct.Struct("=8sddqII").pack(_MAGIC, 0.0, 0.0, -1, 0, 0).ljust(_BYTES, b"\0")
_HEARTBEAT, _PROGRESS, _STEP, _SEQUENCE, _LENGTH = 1, 2, 3, 8, 9  # as indices of values of their size
_TEXT = 40
_TEXT_BYTES = 1024

_flag = None  # one byte that is 1 while a notice stands
_record = None  # the mapped file of heartbeats, and the same as numbers
_times = None


def receive_suspend_command():
    # type: () -> bool
    """True while a notice stands: the job is to save and end. Costs less than a microsecond, so ask at each step.

    Every rank of every node is told. A notice may be withdrawn: then the answer is False again.
    """
    if _flag is None:
        _open_flag()
    return _flag[0] == 1


def suspend_deadline():
    # type: () -> Optional[float]
    """The unix time in seconds at which the processes that still run are killed; None while no notice stands.

    Reads a file while a notice stands, and costs what receive_suspend_command() does otherwise.
    """
    if not receive_suspend_command():
        return None
    import json  # here, as most programs never need it

    try:
        with open(os.environ["MUSTER_SUSPEND_FILE"], "rb") as file:
            deadline = float(json.loads(file.read(1 << 20).decode())["deadline"])
    except (OSError, KeyError, TypeError, ValueError, OverflowError, RecursionError):
        return None  # withdrawn just now
    return deadline if math.isfinite(deadline) else None


def go_suspend():
    # type: () -> None
    """Tells muster that everything is saved, and does not return: muster ends the job with 85 on all nodes.

    One rank speaks for the job. Without a notice the job is suspended at the program's own wish.
    Raises RuntimeError where muster cannot be reached within 5 s, or refuses. Outside of muster it returns None at once.
    """
    path = os.environ.get("MUSTER_CONTROL_SOCKET")
    if not path:
        return
    request = {"control": 1, "request": "saved"}
    rank = os.environ.get("RANK", "")
    if rank.isdigit() and rank.isascii() and len(rank) < 19:
        request["rank"] = int(rank)
    answer = _ask(path, request)
    if answer.get("ok") is not True:
        reason = _visible(str(answer.get("error", "no reason")))
        raise RuntimeError("muster did not accept that the job is saved: {}".format(reason))
    while True:
        time.sleep(3600)  # until muster ends the process


def heartbeat():
    # type: () -> None
    """Tells muster that the program is alive. Costs less than five microseconds: one write into memory."""
    if _times is None:
        _open_record()
    _times[_HEARTBEAT] = time.time()


def progress(step, **numbers):
    # type: (int, **float) -> None
    """Tells muster the step that the program has reached, and numbers such as loss=0.25. It is a heartbeat, too.

    One process of each worker should call it. Numbers that are not finite are left out, and the last ones where all of
    them are longer than 1024 bytes as JSON. Raises TypeError where the step is no integer, ValueError where it is
    negative or has more than 63 bits, the same outside of muster.
    """
    step = operator.index(step)
    if not 0 <= step < 1 << 63:
        raise ValueError("step {} is not in 0 to 2**63 - 1".format(step))
    text = _text_of(numbers) if numbers else b"{}"
    if _times is None:
        _open_record()
    # The lock is taken only when a signal handler or another thread calls this in the middle of a write; the numbers of
    # that write are as new as these.
    if _writing.acquire(False):
        try:
            _write(step, text)
        finally:
            _writing.release()
    heartbeat()


# -- the flag


def _open_flag():
    """Maps the flag. Without one the answer is no, for good."""
    global _flag
    _flag = b"\0"
    path = os.environ.get("MUSTER_SUSPEND_FILE")
    if not path:
        return
    try:
        file = os.open(
            os.path.join(os.path.dirname(path), "suspend.flag"), os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600
        )
        try:
            if os.fstat(file).st_size == 0:
                os.write(file, b"\0")  # behind a 1 that muster writes just now, not over it: hence O_APPEND
            _flag = mmap.mmap(file, 1, access=mmap.ACCESS_READ)
        finally:
            os.close(file)
    except (OSError, ValueError):
        pass


# -- heartbeats


_writing = threading.Lock()
_barrier = threading.Lock()
_barrier.acquire()


def _renew_locks():
    """In a forked child: a thread that had the lock does not exist there."""
    global _writing, _barrier
    _writing, _barrier = threading.Lock(), threading.Lock()
    _barrier.acquire()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_locks)


def _open_record():
    """Maps the file of heartbeats, or memory that nobody reads."""
    global _record, _times
    page = bytearray(_BYTES)
    path = os.environ.get("MUSTER_HEARTBEAT_FILE")
    if path:
        try:
            page = _map_record(path)
        except (OSError, ValueError):
            pass
    _record = memoryview(page)
    _times = _record.cast("d")


def _map_record(path):
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if os.fstat(file).st_size < _BYTES:
            # Written and not only made longer: where the disk is full, this fails, and not a later write into memory.
            if os.pwrite(file, _EMPTY, 0) != _BYTES:
                raise OSError("no room for {}".format(path))
        page = mmap.mmap(file, _BYTES)
    finally:
        os.close(file)
    if page[: len(_MAGIC)] != _MAGIC:
        raise ValueError("{} has another form".format(path))
    return page


def _write(step, text):
    """Writes the numbers. The sequence is odd meanwhile, so that a reader in another process knows to read again."""
    words = _record.cast("I")
    odd = (words[_SEQUENCE] + 1) | 1  # odd already where a process died here
    words[_SEQUENCE] = odd & 0xFFFFFFFF
    _order_writes()
    _times[_PROGRESS] = time.time()
    _record.cast("q")[_STEP] = step
    words[_LENGTH] = len(text)
    _record[_TEXT : _TEXT + len(text)] = text
    _order_writes()
    words[_SEQUENCE] = (odd + 1) & 0xFFFFFFFF


def _order_writes():
    """A memory barrier: to release and to acquire again orders writes on every processor, Arm's too."""
    _barrier.release()
    _barrier.acquire()


def _text_of(numbers):
    """The JSON object of as many of the first numbers as fit."""
    import json

    parts = []
    free = _TEXT_BYTES - 1  # each has a brace or a comma before it, and the last a brace behind it
    for name, value in numbers.items():
        number = _number_of(value)
        if number is None or not name.isprintable():
            continue
        part = "{}:{}".format(json.dumps(name), number)
        free -= len(part) + 1
        if free < 0:
            break
        parts.append(part)
    return ("{" + ",".join(parts) + "}").encode("ascii")


def _number_of(value):
    """As JSON has it; None for what is no finite number. Scalars of NumPy and PyTorch are numbers."""
    if isinstance(value, int) and abs(value) < 1 << 63:
        return repr(int(value))
    if not hasattr(value, "__float__"):
        return None
    try:
        number = float(value)
    except Exception:  # whatever another library raises for one that is none, such as an array
        return None
    return repr(number) if math.isfinite(number) else None


# -- the socket


def _visible(text):
    """The text with what a terminal would act upon as escapes: it goes to a console, and another process wrote it."""
    shown = (character if character.isprintable() else ascii(character)[1:-1] for character in text[:500])
    return "".join(shown)


def _ask(path, request):
    """The answer to one request. Raises RuntimeError where there is none in time."""
    import json
    import socket

    deadline = time.monotonic() + _ANSWER_SECONDS
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            _connect(connection, path, deadline)
            connection.sendall(json.dumps(request).encode() + b"\n")
            answer = json.loads(_read_line(connection, deadline).decode())
    except (OSError, ValueError, RecursionError) as error:
        raise RuntimeError("muster cannot be told that the job is saved, at '{}': {}".format(path, error)) from error
    if not isinstance(answer, dict):
        raise RuntimeError("muster cannot be told that the job is saved, at '{}': no object came back".format(path))
    return answer


def _connect(connection, path, deadline):
    """Connects, and tries again while too many others do."""
    while True:
        connection.settimeout(_seconds_until(deadline))
        try:
            return connection.connect(path)
        except BlockingIOError:
            time.sleep(0.01)


def _read_line(connection, deadline):
    line = b""
    while not line.endswith(b"\n"):
        connection.settimeout(_seconds_until(deadline))
        part = connection.recv(4096)
        if not part:
            raise OSError("it closed the connection without an answer")
        line += part
        if len(line) > _ANSWER_BYTES:
            raise OSError("its answer has no end")
    return line


def _seconds_until(deadline):
    left = deadline - time.monotonic()
    if left <= 0:
        raise OSError("no answer within {:g} s".format(_ANSWER_SECONDS))
    return left

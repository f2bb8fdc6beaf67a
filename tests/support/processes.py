"""Looks at processes through /proc, and finds those that belong to a test.

Two things tell whose a process is: the variable TEST_TAG, which every process of a test inherits,
and, for one that dropped its environment, its parent: the test runner is a subreaper, so whatever
outlives its own launcher becomes a child of the runner.
"""

import contextlib
import ctypes
import os
import select
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from .deadlines import HANG, Missed, limit_of, promise, wait_until

_PR_SET_CHILD_SUBREAPER = 36
_own_children = {}


def heed_signals():
    """A shell makes its background jobs ignore these, nohup HUP, and muster respects what it inherits."""
    for number, action in (
        (signal.SIGHUP, signal.SIG_DFL),
        (signal.SIGINT, signal.default_int_handler),
        (signal.SIGQUIT, signal.SIG_DFL),
    ):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, action)


def become_subreaper():
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")


@dataclass(frozen=True)
class Process:
    """One line of /proc, as it was when it was read."""

    pid: int
    name: str
    state: str
    parent: int
    group: int
    session: int
    cpu_ticks: int

    def __str__(self):
        return f"{self.pid} ({self.name}, state {self.state}, parent {self.parent})"


def look_at(pid):
    """The process of that pid, or None."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    name = text[text.index("(") + 1 : text.rindex(")")]
    fields = text[text.rindex(")") + 2 :].split()
    return Process(
        pid=int(pid),
        name=name,
        state=fields[0],
        parent=int(fields[1]),
        group=int(fields[2]),
        session=int(fields[3]),
        cpu_ticks=int(fields[11]) + int(fields[12]),
    )


def all_processes():
    processes = (look_at(entry) for entry in os.listdir("/proc") if entry.isdigit())
    return [process for process in processes if process is not None]


def is_alive(pid):
    """True while the process exists and is no zombie."""
    process = look_at(pid)
    return process is not None and process.state not in "ZX"


def on_host(name):
    """All processes on a test host, whatever their parents."""
    command = ["ip", "netns", "pids", name]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=HANG)
    found = [look_at(pid) for pid in done.stdout.split()]
    return [process for process in found if process and process.state not in "ZX"]


def children_of(pid):
    return [
        process for process in all_processes() if process.parent == pid and process.state != "Z"
    ]


def workers_of(agent):
    """Its children but for those that serve the workers or do something with files for it, for a moment or for good."""
    return [process for process in children_of(agent) if not process.name.startswith("muster")]


def program_of(pid):
    """The file that the process runs, or None."""
    try:
        return os.readlink(f"/proc/{pid}/exe")
    except OSError:
        return None


def environment_of(pid):
    try:
        text = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return {}
    pairs = (entry.partition(b"=") for entry in text.split(b"\0") if entry)
    return {os.fsdecode(name): os.fsdecode(value) for name, _, value in pairs}


def status_of(pid, field):
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1])
    raise Missed(f"/proc/{pid}/status has no {field}")


def context_switches_of(pid):
    """The number of voluntary context switches, which an idle process does not make."""
    return status_of(pid, "voluntary_ctxt_switches")


def peak_memory_of(pid):
    """The most bytes of memory that the process ever had at once."""
    return status_of(pid, "VmHWM") * 1024


def start(arguments, **options):
    """Like Popen; the process is known as a child of ours from then on."""
    process = subprocess.Popen([str(argument) for argument in arguments], **options)
    _own_children[process.pid] = process
    return process


def wait_for_end(process, seconds, what):
    """Waits for a process of `start` by its pidfd, and returns its exit status as Popen does."""
    if process.returncode is not None:  # Popen's own send_signal found that it had ended
        _own_children.pop(process.pid, None)
        return process.returncode
    began = time.monotonic()
    fd = os.pidfd_open(process.pid)
    try:
        poller = select.poll()
        poller.register(fd, select.POLLIN)
        if not poller.poll(limit_of(seconds) * 1000):
            raise Missed(f"waited {limit_of(seconds):g} s for the end of {what}")
    finally:
        os.close(fd)
    promise(f"the end of {what}", seconds, time.monotonic() - began)
    _own_children.pop(process.pid, None)
    return process.wait()


def _bury_adopted_zombies():
    for process in all_processes():
        if (
            process.parent == os.getpid()
            and process.state == "Z"
            and process.pid not in _own_children
        ):
            with contextlib.suppress(ChildProcessError):
                os.waitpid(process.pid, os.WNOHANG)


def belonging_to(tag):
    """All living processes that carry the tag, or that nobody but the test runner looks after."""
    _bury_adopted_zombies()
    wanted = f"TEST_TAG={tag}".encode()
    found = []
    for process in all_processes():
        if process.state in "ZX" or process.pid == os.getpid():
            continue
        adopted = process.parent == os.getpid() and process.pid not in _own_children
        if adopted or _carries(process.pid, wanted):
            found.append(process)
    return found


def _carries(pid, wanted):
    try:
        return wanted in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return False


def kill_all(tag):
    """Clears up after a test, whatever it left."""
    for process in list(_own_children.values()):
        process.kill()
        process.wait()
    _own_children.clear()
    for _ in range(100):
        left = belonging_to(tag)
        if not left:
            return
        for process in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)


def is_pending(pid, number):
    """True if the signal was sent to the process, and the process has not taken it."""
    for line in open(f"/proc/{pid}/status", encoding="utf-8"):
        if line.startswith("ShdPnd:"):
            return bool(int(line.split()[1], 16) >> (number - 1) & 1)
    return False

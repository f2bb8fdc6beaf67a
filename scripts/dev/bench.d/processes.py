"""A started launcher and its own processes, as /proc shows them."""

import contextlib
import ctypes
import json
import os
import pathlib
import signal
import subprocess
import time

from contenders import environment

WORKER = "/bin/sleep"
LAUNCHERS = set()  # the pids of those that run


class Started:
    """A launcher with sleeping workers; all of it is ended at the end of the `with`."""

    def __init__(self, contender, copies, limit):
        self.copies = copies
        self.limit = limit
        self.process = subprocess.Popen(
            contender.command(copies, WORKER, "3600"),
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self.workers = []
        LAUNCHERS.add(self.process.pid)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        LAUNCHERS.remove(self.process.pid)
        kill_orphans()

    def wait_for_workers(self):
        """True once every worker runs its program; false if the launcher ended or took too long."""
        deadline = time.monotonic() + self.limit
        while self.process.poll() is None and time.monotonic() < deadline:
            tree = descendants(self.process.pid)
            self.workers = [pid for pid in tree if is_worker(pid)]
            if len(self.workers) >= self.copies:
                return True
            time.sleep(0.05)
        return False

    def own(self):
        """The launcher's own processes: those below it, and itself, that are no worker."""
        return [pid for pid in descendants(self.process.pid) if not is_worker(pid)]


def run_measured(command, limit):
    """Runs the ruler and returns what it measured, with the last line that was said on standard
    error; or a sentence if it took longer than the limit, all of it being killed then."""
    process = subprocess.Popen(
        command,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        out, err = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        for pid in descendants(process.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.communicate()
        kill_orphans()
        return f"did not end within {limit} s"
    said = [line for line in err.splitlines() if line.strip(" -*")]
    return {**json.loads(out), "last_line": said[-1][:100] if said else ""}


def adopt_orphans():
    """Makes this process the parent of orphans, so that processes left by a launcher are found."""
    pr_set_child_subreaper = 36  # linux/prctl.h
    ctypes.CDLL(None).prctl(pr_set_child_subreaper, 1, 0, 0, 0)


def kill_orphans():
    """Ends what launchers have left behind: a thousand sleepers would disturb the next one, and all that comes
    after. It is what has become our child; launchers that still run stay."""
    while orphans := [pid for pid in children_of_all().get(os.getpid(), []) if pid not in LAUNCHERS]:
        for pid in orphans:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)  # its own children are ours then


def children_of_all():
    """{pid: pids of its children}."""
    children = {}
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                children.setdefault(int(fields[1]), []).append(int(entry.name))
    return children


def descendants(root):
    """The pids of a process and of all below it."""
    children = children_of_all()
    found = [root]
    for pid in found:  # grows while it is walked
        found += children.get(pid, [])
    return found


def program_of(pid):
    try:
        return os.readlink(f"/proc/{pid}/exe")
    except OSError:
        return None


def is_worker(pid):
    return program_of(pid) == os.path.realpath(WORKER)


def kilobytes(pid, file, field):
    """A figure such as VmHWM of /proc/<pid>/status."""
    for line in pathlib.Path(f"/proc/{pid}/{file}").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1])
    return 0


def cpu_seconds(pid):
    """CPU time of all threads of a process, to the nanosecond where the kernel counts so."""
    total = 0
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(OSError):
            total += int((task / "schedstat").read_text().split()[0])
    return total / 1e9


def wake_ups(pid):
    """The number of times that the threads of a process stopped waiting for something."""
    total = 0
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(OSError):
            for line in (task / "status").read_text().splitlines():
                if line.startswith("voluntary_ctxt_switches:"):
                    total += int(line.split()[1])
    return total

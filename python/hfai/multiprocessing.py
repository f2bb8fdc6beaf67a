# SPDX-License-Identifier: Apache-2.0
"""hfai.multiprocessing.spawn, without PyTorch: a process for each GPU, bound to the CPUs of its NUMA node."""

import multiprocessing
import multiprocessing.connection
import os
import sys
import time
import traceback

_GRACE_SECONDS = 30  # between TERM and KILL for the others, when one has failed
_TRACEBACK_CHARACTERS = 8000  # so that it fits into a pipe that nobody reads yet
_NODES = "/sys/devices/system/node"


class ChildFailed(RuntimeError):
    """An exception ended a process; its traceback is the text of this one."""


def spawn(fn, args=(), nprocs=1, bind_numa=False, join=True, daemon=False, start_method="spawn"):
    """Runs fn(index, *args) in nprocs processes, index from 0.

    With join, waits for them and returns None. When one fails, the others are ended: ChildFailed is raised with its
    traceback, or SystemExit with the code that it ended with (128 more than the signal that killed it).
    Without join, returns an object with processes, pids() and join(timeout=None).
    With bind_numa each is bound to the CPUs of its share of the NUMA nodes, as far as that is possible.
    """
    context = multiprocessing.get_context(start_method)
    children = Children()
    for index in range(nprocs):
        reader, writer = context.Pipe(duplex=False)
        share = (index, nprocs) if bind_numa else None
        process = context.Process(target=_run, args=(fn, index, args, share, writer), daemon=daemon)
        process.start()
        writer.close()
        children.processes.append(process)
        children.readers.append(reader)
    if not join:
        return children
    while not children.join():
        pass
    return None


class Children:
    """Processes that run. The first failure of one of them ends the others."""

    def __init__(self):
        self.processes = []
        self.readers = []

    def pids(self):
        return [process.pid for process in self.processes]

    def join(self, timeout=None):
        """Waits for one more to end, at most `timeout` seconds. Returns whether all have; raises what spawn() does."""
        running = [process.sentinel for process in self.processes if process.exitcode is None]
        has_failed = any(process.exitcode for process in self.processes)  # perhaps since the last look: nobody is waited for
        ended = multiprocessing.connection.wait(running, timeout) if running and not has_failed else []
        for process in self.processes:
            if process.sentinel in ended:
                process.join()
        for index, process in enumerate(self.processes):
            if process.exitcode:
                self._end()
                self._raise_failure(index, process.exitcode)
        return all(process.exitcode == 0 for process in self.processes)

    def _end(self):
        for process in self.processes:
            if process.is_alive():
                process.terminate()
        limit = time.monotonic() + _GRACE_SECONDS
        for process in self.processes:
            process.join(max(0, limit - time.monotonic()))
            if process.is_alive():
                process.kill()
                process.join()

    def _raise_failure(self, index, code):
        text = _received(self.readers[index])
        if text:
            raise ChildFailed("process {} raised an exception\n\n{}".format(index, text))
        how = "signal {}".format(-code) if code < 0 else "exit code {}".format(code)
        print("hfai: process {} ended with {}".format(index, how), file=sys.stderr)
        raise SystemExit(code if code > 0 else 128 - code)


def _received(reader):
    """The message that the process sent before its end, if any."""
    try:
        return reader.recv() if reader.poll() else ""
    except (EOFError, OSError):
        return ""


def _run(fn, index, args, share, writer):
    """The process: an exception of fn goes to the parent, an exit is the process's own."""
    try:
        if share:
            _bind(*share)
        fn(index, *args)
    except Exception:
        writer.send(traceback.format_exc()[-_TRACEBACK_CHARACTERS:])
        sys.exit(1)


# -- NUMA


def _bind(index, count):
    try:
        cpus = cpus_of_share(index, count, numa_nodes(), os.sched_getaffinity(0))
        if cpus:
            os.sched_setaffinity(0, cpus)
    except (OSError, ValueError, AttributeError):
        pass  # a job is not lost because its processes run unbound


def numa_nodes(folder=_NODES):
    """The CPUs of each NUMA node, in the nodes' order."""
    numbers = sorted(int(name[4:]) for name in os.listdir(folder) if name.startswith("node") and name[4:].isdigit())
    nodes = []
    for number in numbers:
        with open(os.path.join(folder, "node{}".format(number), "cpulist"), encoding="ascii") as file:
            nodes.append(_cpus_in(file.read()))
    return nodes


def _cpus_in(text):
    """{0, 1, 2, 8} of "0-2,8"."""
    cpus = set()
    for part in text.strip().split(","):
        if part:
            first, _, last = part.partition("-")
            cpus.update(range(int(first), int(last or first) + 1))
    return cpus


def cpus_of_share(index, count, nodes, allowed):
    """The allowed CPUs of the NUMA nodes that are for process `index` of `count`: some processes to a node, or nodes to a
    process."""
    usable = [node & allowed for node in nodes if node & allowed]
    first = index * len(usable) // count
    last = max(first + 1, (index + 1) * len(usable) // count)
    return set().union(*usable[first:last])

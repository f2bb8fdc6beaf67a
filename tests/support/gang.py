"""Starts the agents of one job, on loopback or on test hosts, and looks at them together."""

import itertools
import socket
import threading

from .deadlines import HANG, Missed

LOOPBACK = "127.0.0.1"


def _ports_of_this_run():
    """A thousand that no other run of the suite takes while this one lasts, and nothing takes by itself: they are below
    the ephemeral range. An agent that comes late must not meet another run's leader."""
    for first in range(21000, 32000, 1000):
        taken = socket.socket(socket.AF_UNIX)
        try:
            taken.bind(f"\0muster-test-ports-{first}")  # a name without a file, gone with this process
        except OSError:
            taken.close()
            continue
        return taken, itertools.cycle(range(first, first + 1000))
    raise AssertionError("eleven runs of the suite go on already")


def free_port(address=LOOPBACK):
    """A port that is free, and that was not given for a long time. May be asked for by several threads."""
    with free_port.turn:
        if free_port.candidates is None:
            free_port.taken, free_port.candidates = _ports_of_this_run()
        for candidate in itertools.islice(free_port.candidates, 1000):
            if _is_free(address, candidate):
                return candidate
    raise AssertionError("no free port")


free_port.turn = threading.Lock()
free_port.candidates = None


def _is_free(address, port):
    with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
        except OSError:
            return False
    return True


class Gang:
    """One job. `nodes` is a number or a text such as "2:4"; `options` are for every agent.

    On `hosts` agent i runs on host i, else all of them run here.
    """

    def __init__(self, muster, worker_events, command, nodes, options, hosts=None, workers=2):
        self.muster = muster
        self.worker_events = worker_events
        self.nodes = nodes
        self.options = options
        self.hosts = hosts
        self.workers = workers
        self.command = command
        self.address = hosts.address(0) if hosts else LOOPBACK
        self.port = free_port()
        self.jobs = {}

    def start(
        self,
        node,
        *more,
        rank="given",
        workers=None,
        host=None,
        address=None,
        port=None,
        through=(),
        name=None,
        command=None,
        **options,
    ):
        """Starts one agent. It is known as `name`, by default its node's number, from then on."""
        host = node if host is None else host
        entering = self.hosts.command("exec", str(host)) if self.hosts else []
        ranking = [f"--node-rank={node}"] if rank == "given" else []
        job = self.muster.start(
            f"--nnodes={self.nodes}",
            *ranking,
            f"--master-addr={address or self.address}",
            f"--master-port={port or self.port}",
            f"--nproc-per-node={workers or self.workers}",
            *self.options,
            *more,
            "--",
            *(command or self.command),
            through=(*entering, *through),
            report=True,
            **options,
        )
        self.jobs[node if name is None else name] = job
        return job

    def start_all(self, *more, count=None, **options):
        count = count or int(str(self.nodes).rpartition(":")[2])
        for node in range(count):
            self.start(node, *more, **options)
        return list(self.jobs.values())

    def wait_for_start(self, workers=None, attempt=0, seconds=HANG):
        workers = workers or self.workers * len(self.jobs)
        try:
            return self.worker_events.wait_for_start(workers, attempt, seconds)
        except Missed as missed:
            raise Missed(f"{missed}\n{self.words()}") from None

    def succeed(self, workers=None, attempt=0):
        """All workers end with 0, and so must all agents."""
        workers = workers or self.workers * len(self.jobs)
        self.wait_for_start(workers, attempt)
        self.worker_events.end_all(workers, 0, attempt)
        self.assert_codes(0)

    def end(self, seconds=HANG):
        """Waits for all agents; by their names, their exit codes."""
        try:
            return {
                name: job.end(seconds) if job.code is None else job.code
                for name, job in self.jobs.items()
            }
        except Missed as missed:
            raise Missed(f"{missed}\n{self.words()}") from None

    def assert_codes(self, code, seconds=HANG, **exceptions):
        """All agents end with that code, but for those named in `exceptions` as node_1=137."""
        expected = {name: exceptions.get(f"node_{name}", code) for name in self.jobs}
        assert self.end(seconds) == expected, self.words()

    def reports(self):
        return {name: job.report for name, job in self.jobs.items()}

    def words(self):
        """Everything that all agents wrote, for messages."""
        return "\n".join(f"--- agent {name}:\n{job.words()}" for name, job in self.jobs.items())

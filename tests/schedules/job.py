"""The job of a schedule: its agents, and the folders, disks and links that they use."""

import contextlib
import secrets
import subprocess

from support import processes
from support.deadlines import Missed, wait_until
from support.freezer import Freezer
from support.frozen import Disk
from support.gang import LOOPBACK, free_port
from support.network import Network
from support.relay import Relay
from support.wire import is_open

_LINKS = ("cut link", "hold up link")


class ScheduledJob:
    """Starts the agents of a schedule as they are due. Use it with `with`: afterwards nothing is left of it."""

    def __init__(self, schedule, muster, worker_events, programs, hosts=None):
        self.schedule = schedule
        self.muster = muster
        self.worker_events = worker_events
        self.programs = programs
        self.hosts = hosts if schedule.on_hosts else None
        self.network = Network(hosts) if self.hosts else None
        self.port = free_port()
        self.address = hosts.address(0) if self.hosts else LOOPBACK
        self.folder = muster.folder
        self.agents = {}
        self.disk = None
        self.relays = {}
        self.freezers = {}
        self._consoles = {}
        self._token = secrets.token_hex(16) if schedule.token else None
        self._stack = contextlib.ExitStack()

    def __enter__(self):
        with self._stack:
            if self.schedule.on_disk:
                self.disk = self._stack.enter_context(Disk(self.folder / "disk"))
            if self.network:
                self._stack.callback(self.network.heal)
            for number, fault in enumerate(self.schedule.faults):
                self._prepare(number, fault)
            self._stack.callback(self._kill_all)
            self._open_consoles()
            self._tell_the_workers()
            self._stack = self._stack.pop_all()
        return self

    def __exit__(self, *_):
        self._stack.close()

    def _prepare(self, number, fault):
        if fault.kind in _LINKS and not self.hosts and fault.agent not in self.relays:
            relay = Relay((LOOPBACK, self.port))
            self.relays[fault.agent] = self._stack.enter_context(relay)
        if fault.kind in ("freeze agent", "freeze node"):
            freezer = Freezer(f"{self.schedule.seed}-{number}", int(fault.how))
            self.freezers[number] = self._stack.enter_context(freezer)

    def _open_consoles(self):
        """All of them now: who opens one on a disk that hangs would hang itself."""
        if "console" in self.schedule.on_disk:
            for agent in self.schedule.disk_agents:
                file = open(self.disk.folder / f"console-{agent}", "ab", buffering=0)
                self._consoles[agent] = self._stack.enter_context(file)

    def _tell_the_workers(self):
        for attempt in range(self.schedule.restarts + 1):
            for rank in range(sum(self.schedule.workers)):
                ending = self.schedule.ending(attempt, rank)
                self.worker_events.end(rank, ending.code, attempt, after=ending.at)

    def _kill_all(self):
        for freezer in self.freezers.values():
            freezer.thaw()
        if self.disk:
            self.disk.thaw()
        processes.kill_all(self.muster.tag)

    def start(self, agent):
        if agent > 0 and self.schedule.by_arrival and not self.hosts:
            with contextlib.suppress(
                Missed
            ):  # the leader is who takes the port; it may have ended already
                wait_until(lambda: is_open(self.port), "the leader to listen", 2)
        console = {}
        if agent in self._consoles:
            console = {"stdout": self._consoles[agent], "stderr": subprocess.STDOUT}
        self.agents[agent] = self.muster.start(
            *self._options(agent),
            "--",
            self.programs("event_worker"),
            self.worker_events.folder,
            *self.schedule.manners,
            through=self._through(agent),
            report=self._place("report", agent) / f"report-{agent}.json",
            env=self._environment(agent),
            **console,
        )

    def _place(self, what, agent):
        on_disk = what in self.schedule.on_disk and agent in self.schedule.disk_agents
        return self.disk.folder if on_disk else self.folder

    def _options(self, agent):
        schedule = self.schedule
        options = [
            f"--nnodes={schedule.nodes}",
            f"--nproc-per-node={schedule.workers[agent]}",
            f"--max-restarts={schedule.restarts}",
            f"--heartbeat-timeout={schedule.heartbeat:g}",
            f"--grace={schedule.grace:g}",
            f"--console-stall={schedule.stall:g}",
            f"--gang-timeout={schedule.gang_timeout:g}",
            "--last-call=1",
            "--restart-backoff=0.1",
            *schedule.options,
        ]
        if schedule.agents > 1:
            options += [f"--master-addr={self.address}", f"--master-port={self._port_of(agent)}"]
            options += [] if schedule.by_arrival else [f"--node-rank={agent}"]
        if "logs" in schedule.on_disk:
            options.append(f"--log-dir={self._place('logs', agent) / 'logs'}")
        if "progress" in schedule.on_disk:
            options.append(f"--progress-file={self._place('progress', agent) / 'progress'}")
        return options

    def _port_of(self, agent):
        return self.relays[agent].port if agent in self.relays else self.port

    def _environment(self, agent):
        token = {"MUSTER_TOKEN": self._token} if self._token else {}
        return {"TEST_AGENT": agent, **token}

    def _through(self, agent):
        """The wrapper commands of the agent: its host, a group that freezes the whole node, few descriptors, a filter."""
        words = []
        for number, freezer in self.freezers.items():
            fault = self.schedule.faults[number]
            if fault.kind == "freeze node" and fault.agent == agent:
                words += freezer.through()
        if self.hosts:
            words += self.hosts.command("exec", str(agent))
        if self.schedule.has("flood") and agent == 0:
            words += ["prlimit", "--nofile=256:256"]
        if self.schedule.filters[agent]:
            words += [self.programs("refuse"), self.schedule.filters[agent]]
        return words

    def is_alive(self, agent):
        return agent in self.agents and processes.is_alive(self.agents[agent].pid)

    def pid_of_agent(self, agent):
        """Of the agent proper, the guard's child; None if it is not there."""
        if not self.is_alive(agent):
            return None
        guard = self.agents[agent].pid
        program = processes.program_of(guard)
        children = [
            child.pid
            for child in processes.children_of(guard)
            if processes.program_of(child.pid) == program
        ]
        return children[0] if len(children) == 1 else None

    def living_workers(self, agent):
        """Of that agent, the pids of those that were started and live."""
        return [
            one.pid
            for one in self.worker_events.told("started")
            if one.agent == str(agent) and processes.is_alive(one.pid)
        ]

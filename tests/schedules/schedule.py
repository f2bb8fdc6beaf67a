"""A schedule: one job, what its workers do, and the faults injected into it with their times.

Times are in seconds. Those of faults count from the start of the first agent, those of workers from their own start.
"""

from dataclasses import dataclass, field

# Kinds of faults, with their targets. Those that last are undone in the end, if not before.
AT_ONCE = ("ask", "kill guard", "kill agent", "kill worker", "pass on", "cut link")
LASTING = (
    "stop guard",
    "stop agent",
    "stop worker",
    "freeze agent",
    "freeze node",
    "hang disk",
    "fill disk",
    "flood",
    "hold up link",
    "lose packets",
)
# After these, if they last, others must think that the node is lost.
TAKES_THE_NODE_AWAY = ("stop agent", "freeze agent", "freeze node", "hold up link", "lose packets")


@dataclass(frozen=True)
class Fault:
    """`lasts` is None for ever. `how` is the signal, the version of the control group, the kind of flood, per cent."""

    kind: str
    agent: int
    at: float
    lasts: float | None = None
    how: str = ""

    def __str__(self):
        how = f" ({self.how})" if self.how else ""
        lasting = f" for {self.lasts:.2f} s" if self.lasts else " for ever"
        return (
            f"{self.at:.2f} s: {self.kind}{how} of agent {self.agent}"
            f"{lasting if self.kind in LASTING else ''}"
        )


@dataclass(frozen=True)
class Ending:
    """The way a worker ends by itself: by a code, or by a signal if that is below 0."""

    code: int
    at: float


@dataclass(frozen=True)
class Schedule:
    """Everything that the seed decides."""

    seed: int
    on_hosts: bool  # each agent has a network namespace, else all are on loopback
    nodes: str  # as --nnodes has it
    workers: tuple  # of each agent
    delays: tuple  # of each agent's start, after the first one's
    by_arrival: bool  # no node ranks are given
    restarts: int
    heartbeat: float
    grace: float
    stall: float
    gang_timeout: float
    token: bool
    options: tuple  # more of them, the same for all agents
    on_disk: (
        frozenset  # of "logs", "console", "report", "progress": what is on the disk that may hang
    )
    disk_agents: frozenset  # whose
    filters: tuple  # of each agent: what refuses its system calls, or ""
    manners: tuple  # words for the event_worker
    endings: dict = field(hash=False)  # by attempt and rank
    faults: tuple = ()

    @property
    def agents(self):
        return len(self.workers)

    @property
    def least(self):
        return int(self.nodes.partition(":")[0])

    @property
    def most(self):
        return int(self.nodes.rpartition(":")[2])

    @property
    def fence(self):
        """Seconds for which a lost node's place is not given away."""
        return 2 * self.heartbeat + 2

    def ending(self, attempt, rank):
        last = max(of for of, _ in self.endings)
        return self.endings[min(attempt, last), rank]

    def lasts_at_most(self, attempt):
        last = max(of for of, _ in self.endings)
        return max(one.at for (of, _), one in self.endings.items() if of == min(attempt, last))

    def has(self, *kinds):
        return any(fault.kind in kinds for fault in self.faults)

    def __str__(self):
        where = "network namespaces" if self.on_hosts else "loopback"
        lines = [
            f"{self.agents} agents on {where}, --nnodes={self.nodes}, workers {self.workers}, starts {self.delays}, "
            f"{'ranks by arrival' if self.by_arrival else 'ranks given'}",
            f"--max-restarts={self.restarts} --heartbeat-timeout={self.heartbeat:g} --grace={self.grace:g} "
            f"--console-stall={self.stall:g} --gang-timeout={self.gang_timeout:g} {' '.join(self.options)}"
            f"{', a token' if self.token else ''}",
            f"on the disk of agents {sorted(self.disk_agents)}: {', '.join(sorted(self.on_disk)) or 'nothing'}; "
            f"filters {self.filters}; workers are {', '.join(self.manners)}",
        ]
        for attempt in sorted({attempt for attempt, _ in self.endings}):
            ends = [
                f"rank {rank}: {one.code} at {one.at:.2f}"
                for (of, rank), one in sorted(self.endings.items())
                if of == attempt and one.code != 0
            ]
            lasts = self.lasts_at_most(attempt)
            lines.append(
                f"attempt {attempt} lasts {lasts:.2f} s: {', '.join(ends) or 'all end with 0'}"
            )
        return "\n".join([*lines, *map(str, self.faults)])

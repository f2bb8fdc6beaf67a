"""Draws a schedule from a seed. The same seed always gives the same one."""

import random
from dataclasses import replace

from .schedule import LASTING, Ending, Fault, Schedule

_MANNERS = ("stubborn", "sour", "chatty", "silent", "parent", "daemons")
_FILTERS = (
    "old-docker",
    "gvisor",
    "linux-4.18",
    "prctl",
    "death-signal",
    "pidfd-signals",
    "limits",
    "inotify",
    "threads",
)
_CODES = (1, 3, 23, 70, 71, 75, 255, -6, -9, -11)
# Not claims on any seat: without a token a stranger may have one that is free.
_FLOODS = ("silence", "half a message", "the leader's seat")
_MOST_RANKS = 32
MOST_AGENTS = 4


def draw(seed):
    chance = random.Random(seed)
    workers = _workers(chance)
    agents = len(workers)
    nodes, by_arrival = _nodes(chance, agents)
    on_hosts = agents > 1 and chance.random() < 0.35
    restarts = chance.choice([0, 0, 1, 2])
    on_disk, disk_agents = _disk(chance, agents)
    lasts = chance.uniform(0.5, 3.0)
    schedule = Schedule(
        seed=seed,
        on_hosts=on_hosts,
        nodes=nodes,
        workers=workers,
        delays=_delays(chance, agents),
        by_arrival=by_arrival,
        restarts=restarts,
        heartbeat=chance.choice([1.0, 2.0, 2.0]),
        grace=chance.choice([0.0, 0.5, 0.5, 1.5]),
        stall=chance.choice([0.5, 1.0]),
        gang_timeout=chance.choice([5.0, 7.0]),
        token=chance.random() < 0.3,
        options=_options(chance),
        on_disk=on_disk,
        disk_agents=disk_agents,
        filters=tuple(
            chance.choice(_FILTERS) if chance.random() < 0.12 else "" for _ in range(agents)
        ),
        manners=("calm", *(word for word in _MANNERS if chance.random() < 0.2)),
        endings=_endings(chance, restarts, lasts),
        faults=(),
    )
    return _with_faults(schedule, chance, lasts)


def _workers(chance):
    agents = chance.choice([1, 2, 2, 3, 3, 4])
    most = chance.choice([1, 2, 4, 8])
    return tuple(chance.randint(1, most) for _ in range(agents))


def _nodes(chance, agents):
    """--nnodes, and whether ranks go by arrival. With fewer nodes than agents the others are spares."""
    if agents == 1:
        return "1", False
    kind = chance.choice(["all", "all", "range", "spares"])
    if kind == "range":
        return f"{chance.randint(1, agents - 1)}:{agents}", chance.random() < 0.5
    if kind == "spares" and agents > 2:
        return str(agents - 1), True
    return str(agents), chance.random() < 0.3


def _delays(chance, agents):
    return (0.0, *(chance.choice([0.0, 0.0, chance.uniform(0, 1)]) for _ in range(agents - 1)))


def _options(chance):
    options = []
    if chance.random() < 0.2:
        options.append("--verbose")
    if chance.random() < 0.15:
        options.append("--no-progress-limit=2")
    return tuple(options)


def _disk(chance, agents):
    if chance.random() < 0.4:
        return frozenset(), frozenset()
    names = ["logs", "console", "report", "progress"]
    on_disk = frozenset(chance.sample(names, chance.choice([1, 1, 2, 4])))
    whose = range(agents) if chance.random() < 0.5 else [chance.randrange(agents)]
    return on_disk, frozenset(whose)


def _endings(chance, restarts, lasts):
    """For more ranks than the job may have: how many it has is known when it starts."""
    endings = {}
    for attempt in range(restarts + 1):
        for rank in range(_MOST_RANKS):
            endings[attempt, rank] = Ending(0, lasts * chance.uniform(0.8, 1.0))
        if chance.random() < (0.3 if attempt == restarts else 0.6):
            culprit = chance.choice([0, 0, 1, 2, 5])
            code = chance.choice(_CODES)
            at = lasts * chance.uniform(0.0, 0.7)
            endings[attempt, culprit] = Ending(code, at)
            if chance.random() < 0.3:  # an echo, as peers die of the broken connection
                endings[attempt, (culprit + 1) % 3] = Ending(1, at + chance.uniform(0.0, 0.1))
    return endings


def _kinds(schedule):
    kinds = ["ask", "ask", "kill guard", "kill agent", "kill worker", "stop worker"]
    kinds += ["stop guard", "stop agent", "freeze agent", "freeze node", "pass on"]
    if schedule.on_disk:
        kinds += ["hang disk"] * 5 + ["fill disk"]
    if schedule.agents > 1:
        kinds += ["cut link", "hold up link"]
        kinds += ["lose packets"] if schedule.on_hosts else ["flood"] * 3
    return kinds


def _with_faults(schedule, chance, lasts):
    kinds = _kinds(schedule)
    faults = [
        _fault(chance, chance.choice(kinds), schedule, lasts)
        for _ in range(chance.choice([1, 1, 2, 2, 3, 4, 5]))
    ]
    if chance.random() < 0.3:
        faults += [
            replace(one, at=one.at + chance.uniform(0.05, 0.6))
            for one in faults
            if one.kind == "ask"
        ]
    faults.sort(key=lambda fault: fault.at)
    return replace(schedule, faults=tuple(faults))


def _fault(chance, kind, schedule, lasts):
    agent = chance.randrange(schedule.agents)
    if kind in ("cut link", "hold up link") and not schedule.on_hosts:
        agent = max(agent, 1)  # on loopback it is the link of one agent to the leader
    how = {
        "ask": ("TERM", "INT", "HUP"),
        "kill worker": ("KILL", "SEGV"),
        "pass on": ("USR1", "USR2"),
        "freeze agent": ("1", "2"),
        "freeze node": ("1", "2"),
        "flood": _FLOODS,
        "lose packets": ("10", "20"),
    }.get(kind, ("",))
    return Fault(
        kind=kind,
        agent=agent,
        at=chance.uniform(0.0, 1.2 * lasts + 0.4),
        lasts=_how_long(chance, kind, schedule) if kind in LASTING else None,
        how=chance.choice(how),
    )


def _how_long(chance, kind, schedule):
    short = chance.uniform(0.05, 0.2) * schedule.heartbeat
    long = chance.uniform(0.5, 3.0) * schedule.heartbeat
    if kind in ("stop worker", "flood"):
        return long
    return chance.choice([short, long, None])

"""Observations of a schedule: everything that the oracle may judge by."""

from dataclasses import dataclass, field

from .schedule import Fault


@dataclass
class Strike:
    """A fault that was carried out."""

    fault: Fault
    at: float
    struck: bool = True  # else there was nobody left whom it could strike
    pid: int | None = None  # of the worker
    was_running: bool = False  # the agent had workers
    healed_at: float | None = None


@dataclass
class Seen:
    """Times are those of time.monotonic()."""

    began: float = 0.0
    codes: dict = field(default_factory=dict)  # by agent
    ended_at: dict = field(default_factory=dict)  # by agent
    reports: dict = field(default_factory=dict)  # by agent, where there is one that can be read
    consoles: dict = field(default_factory=dict)  # by agent
    events: list = field(default_factory=list)
    strikes: list = field(default_factory=list)
    asked_at: dict = field(
        default_factory=dict
    )  # by agent: when it was asked, as nothing else would end it
    late: list = field(default_factory=list)  # sentences: what had not ended in time
    forsaken: list = field(
        default_factory=list
    )  # agents that had ended, and pids of their living workers
    survivors: list = field(default_factory=list)  # after all was well again
    lag: float = 0.0  # how late this machine woke somebody up at worst

    def struck(self, *kinds, agent=None):
        return [
            one
            for one in self.strikes
            if one.struck and one.fault.kind in kinds and agent in (None, one.fault.agent)
        ]

    def told(self, what):
        return [one for one in self.events if one.what == what]

    def started(self, pid):
        return next((one for one in self.told("started") if one.pid == pid), None)

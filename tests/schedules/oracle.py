"""Judges the observations of a schedule. The rules:

Nobody hangs: everything has ended within the time that the options allow. Nothing survives. The workers of two
attempts are never alive together. Every verdict has a cause that was really there:

    0             all workers of the last attempt have ended with 0 by themselves
    a worker's    the worker that is named first has ended so, by itself or by a fault that hit it
    128 + signal  an agent was asked so to end
    69            a node was out of reach for long enough to be missed
    75            the same, or an agent that had gone before the job began
    71            a disk was full
    78            there was no seat
    93            attempts failed one after the other

All agents that nothing has cut off from the job, and their reports, say the same.
"""

import signal
from dataclasses import dataclass, replace

from .bounds import after_being_asked
from .schedule import TAKES_THE_NODE_AWAY

# A machine that wakes up its processes later than this share of the heartbeat timeout loses heartbeats by itself.
_LATE = 0.2
_CUTS_OFF = (*TAKES_THE_NODE_AWAY, "kill guard", "kill agent", "cut link")
# After these a death, or what is said of it, may be late.
_HOLDS_UP = ("stop guard", "stop worker")
_ASKS = ("TERM", "INT", "HUP", "QUIT")
_NO_SEAT = 78
_LOST, _SYSTEM, _INCOMPLETE, _NO_PROGRESS = 69, 71, 75, 93


def complaints(schedule, seen):
    """The violations, as sentences; none if all is well."""
    judge = Judge(schedule, seen)
    wrong = list(seen.late)
    wrong += judge.survivors()
    wrong += judge.overlaps()
    for agent in seen.codes:
        wrong += judge.code(agent)
        wrong += judge.report(agent)
        wrong += judge.promptness(agent)
        wrong += judge.watch(agent)
    wrong += judge.agreement()
    return wrong


def code_of(ended):
    """An exit code, or a signal as a number below 0, of a worker or failure in a report."""
    if ended["signal"] is not None:
        return -getattr(signal, ended["signal"]).value
    return ended["exit_code"]


def exit_code_of(code):
    """The exit code that muster derives from it."""
    return code if code >= 0 else 128 - code


@dataclass(frozen=True)
class Failure:
    """Of a worker that nobody had asked to end. It ended with one of `codes`, which are signals if they are below 0."""

    attempt: int
    codes: frozenset
    at: float
    is_certain: bool = True  # else it may also have lived on

    def or_by(self, code):
        """Several signals that wait for a worker that is stopped are delivered in an order of the kernel's own."""
        return replace(self, codes=self.codes | {code})


def _signal_of(strike):
    return -getattr(signal, f"SIG{strike.fault.how}").value


class Judge:
    """Of one schedule."""

    def __init__(self, schedule, seen):
        self.schedule = schedule
        self.seen = seen
        self.failures = self._failures()

    def _failures(self):
        """Workers that failed without a stop signal, by rank and pid."""
        found = {}
        for one in self.seen.told("told"):
            code = int(one.details[0])
            if code != 0:
                found[one.rank, one.pid] = Failure(one.attempt, frozenset({code}), one.at)
        for strike in self.seen.struck("kill worker"):
            started = self.seen.started(strike.pid)
            failure = Failure(started.attempt, frozenset({_signal_of(strike)}), strike.at)
            found.setdefault((started.rank, started.pid), failure)
        for strike in self.seen.struck("pass on"):
            for one in self._alive_at(strike.at, strike.fault.agent):
                who = (one.rank, one.pid)
                failure = Failure(one.attempt, frozenset(), strike.at, is_certain=False)
                found[who] = found.get(who, failure).or_by(_signal_of(strike))
        return found

    def _alive_at(self, moment, agent):
        """The workers of an agent that may have been alive then: a signal to it arrives a little later."""
        ended = {one.pid for one in self.seen.told("told") if one.at < moment}
        return [
            one
            for one in self.seen.told("started")
            if one.agent == str(agent)
            and one.at < moment + 0.5 + self.seen.lag
            and one.pid not in ended
        ]

    # Agents that are out of reach.

    def _is_busy(self):
        """The machine may lose a node by itself."""
        return self.seen.lag > _LATE * self.schedule.heartbeat

    def _may_be_missed(self, strike):
        lasts = strike.fault.lasts
        return lasts is None or lasts > self.schedule.heartbeat / 4

    def _is_held(self, agent):
        """Its guard, which people see, stood still for a while."""
        return bool(self.seen.struck("stop guard", "freeze node", agent=agent))

    def cut_off(self, agent):
        """Faults after which the others may think that the agent is lost, or it that they are."""
        return [
            one for one in self.seen.struck(*_CUTS_OFF, agent=agent) if self._may_be_missed(one)
        ]

    def _somebody_is_cut_off(self):
        return self._is_busy() or any(self.cut_off(agent) for agent in range(self.schedule.agents))

    def _asked(self, agent=None):
        """The signals that asked."""
        numbers = {
            getattr(signal, f"SIG{one.fault.how}") for one in self.seen.struck("ask", agent=agent)
        }
        by_us = [agent] if agent is not None else list(self.seen.asked_at)
        return numbers | (
            {signal.SIGTERM} if any(one in self.seen.asked_at for one in by_us) else set()
        )

    # Each verdict's cause.

    def code(self, agent):
        code = self.seen.codes[agent]
        if self._has_a_cause(agent, code):
            return []
        return [f"agent {agent} ended with {code}, of which nothing is the cause"]

    def _has_a_cause(self, agent, code):
        if code == 0:
            return self._all_succeeded()
        if code < 0:
            return self._was_killed(agent, -code)
        if code - 128 in self._asked():
            return True
        if code in {exit_code_of(one) for failure in self.failures.values() for one in failure.codes}:
            return True
        if any(self._names_one_that_had_not_begun(report) for report in self.seen.reports.values()):
            return True
        causes = {
            137: lambda: self.seen.struck("kill agent", agent=agent),
            _LOST: self._somebody_is_cut_off,
            _INCOMPLETE: lambda: self._somebody_is_cut_off()
            or self._asked()
            or self._may_lack_a_seat(agent),
            _SYSTEM: lambda: self.seen.struck("fill disk") and "logs" in self.schedule.on_disk,
            _NO_SEAT: lambda: self._may_lack_a_seat(agent),
            _NO_PROGRESS: lambda: any(one.attempt > 0 for one in self.seen.told("started")),
        }
        return bool(causes.get(code, lambda: False)())

    def _was_killed(self, agent, number):
        if number == signal.SIGKILL:
            return bool(self.seen.struck("kill guard", agent=agent))
        # A signal that came before the program had taken itself over has its default effect.
        had_begun = "muster: " in self.seen.consoles[agent]
        return number in self._asked(agent) | self._passed_on(agent) and not had_begun

    def _passed_on(self, agent=None):
        return {-_signal_of(one) for one in self.seen.struck("pass on", agent=agent)}

    def _ended_before_it_began(self, pid, code):
        """A signal that was passed on met it before its program had taken that over, or said anything."""
        is_known = pid is not None and code is not None  # else it could not even be started
        return is_known and self.seen.started(pid) is None and -code in self._passed_on()

    def _names_one_that_had_not_begun(self, report):
        first = report and report["first_failure"]
        return bool(first) and self._ended_before_it_began(first["pid"], code_of(first))

    def _may_lack_a_seat(self, agent):
        schedule = self.schedule
        return agent > 0 and (
            schedule.least < schedule.agents or schedule.by_arrival or self._somebody_is_cut_off()
        )

    def _all_succeeded(self):
        last = max((one.attempt for one in self.seen.told("started")), default=None)
        started = [one for one in self.seen.told("started") if one.attempt == last]
        succeeded = {
            one.rank
            for one in self.seen.told("told")
            if one.attempt == last and one.details == ("0",)
        }
        return bool(started) and set(range(started[0].world_size)) <= succeeded

    # Reports.

    def report(self, agent):
        report = self.seen.reports.get(agent)
        if report is None:
            return self._missing_report(agent)
        wrong = []
        if report["exit_code"] != self.seen.codes[agent] and not self._outlived_its_report(agent):
            wrong.append(f"the report of agent {agent} says {report['exit_code']}")
        wrong += self._first_failure(agent, report)
        wrong += [
            f"agent {agent} says that rank {worker['global_rank']} {worker['outcome']}, which is not so"
            for worker in report["workers"]
            if not self._is_true(worker)
        ]
        return wrong

    def _missing_report(self, agent):
        """One that succeeded has written it, unless its disk was in the way, or its guard ended it for standing still."""
        on_disk = "report" in self.schedule.on_disk and agent in self.schedule.disk_agents
        stood_still = self.seen.struck("stop agent", "freeze agent", agent=agent)
        if self.seen.codes[agent] != 0 or stood_still:
            return []
        if on_disk and self.seen.struck("hang disk", "fill disk"):
            return []
        return [f"agent {agent} succeeded without a report"]

    def _outlived_its_report(self, agent):
        """Guard or agent were struck when it was written."""
        return bool(self.cut_off(agent) or self._is_held(agent))

    def _first_failure(self, agent, report):
        first = report["first_failure"]
        if first is None or first["global_rank"] is None or first["start_error"] is not None:
            return []
        who = (first["global_rank"], first["pid"])
        name = f"rank {first['global_rank']} (pid {first['pid']})"
        if self._ended_before_it_began(first["pid"], code_of(first)):
            return []
        if who not in self.failures:
            return [f"agent {agent} names {name} first, which did not fail by itself"]
        failure = self.failures[who]
        if code_of(first) not in failure.codes:
            codes = " or ".join(map(str, sorted(failure.codes)))
            return [f"agent {agent} says of {name} {code_of(first)}, and it was {codes}"]
        earliest = min(
            one.at
            for one in self.failures.values()
            if one.attempt == failure.attempt and (one.is_certain or one == failure)
        )
        late = failure.at - earliest
        if late > 0.1 + 10 * self.seen.lag and not self.seen.struck(*_CUTS_OFF, *_HOLDS_UP):
            return [f"agent {agent} names {name} first, {late:.3f} s after another one had failed"]
        if report["verdict"] == "failed" and report["exit_code"] not in (
            exit_code_of(code_of(first)),
            _NO_PROGRESS,
        ):
            return [f"agent {agent} says that {name} failed first and ends with another code"]
        return []

    def _is_true(self, worker):
        told = {(one.rank, one.pid): one.details for one in self.seen.told("told")}
        who = (worker["global_rank"], worker["pid"])
        if worker["outcome"] == "succeeded":
            return told.get(who) == ("0",)
        if worker["outcome"] == "failed":
            return who in self.failures or self._ended_before_it_began(
                worker["pid"], code_of(worker)
            )
        if worker["outcome"] == "stopped":
            return not self._failed_before_it_was_asked(*who)
        return True

    def _failed_before_it_was_asked(self, rank, pid):
        """And so long before the first of its neighbours was that no signal can have been on its way."""
        failure = self.failures.get((rank, pid))
        started = self.seen.started(pid)
        if failure is None or not failure.is_certain or self.seen.struck(*_CUTS_OFF, *_HOLDS_UP):
            return False
        neighbours = {one.pid for one in self.seen.told("started") if one.agent == started.agent}
        asked = [one.at for one in self.seen.events if one.what in _ASKS and one.pid in neighbours]
        later = [moment for moment in asked if moment > failure.at - 1]
        return bool(later) and failure.at + 0.05 + self.seen.lag < min(later)

    # The verdicts of all agents.

    def agreement(self):
        linked = [agent for agent in self.seen.codes if self._is_linked(agent)]
        if self._is_busy() or not self._is_linked(0):
            return []
        codes = {agent: self.seen.codes[agent] for agent in linked}
        if len(set(codes.values())) > 1:
            return [f"agents that nothing cut off disagree: {codes}"]
        firsts = {self._named_first(agent) for agent in linked if self.seen.reports.get(agent)}
        return [f"reports name several first failures: {firsts}"] if len(firsts) > 1 else []

    def _is_linked(self, agent):
        if self.cut_off(agent) or self._asked(agent) or agent not in self.seen.codes:
            return False
        if self._is_held(agent):
            return False
        code = self.seen.codes[agent]
        if code < 0 and self._was_killed(agent, -code):
            return False
        lacks_a_seat = code in (_NO_SEAT, _INCOMPLETE, _LOST)
        return not (lacks_a_seat and self._may_lack_a_seat(agent))

    def _named_first(self, agent):
        first = self.seen.reports[agent]["first_failure"]
        return first and (first["node"], first["global_rank"], first["pid"])

    # Ends and attempts.

    def survivors(self):
        if any(self._loses_orphans(agent) for agent in range(self.schedule.agents)):
            return []
        forsaken = [
            f"worker {pid} outlived agent {agent}"
            for agent, pid in self.seen.forsaken
            if self._could_act(agent)
        ]
        return forsaken + [f"survived: {one}" for one in self.seen.survivors]

    def promptness(self, agent):
        """An agent that got a stop signal and can run has ended within the grace and two seconds."""
        asked = [one.at for one in self.seen.struck("ask", agent=agent)]
        if not asked or self._is_held(agent):
            return []
        took = self.seen.ended_at[agent] - max(min(asked), self.seen.began)
        if took <= after_being_asked(self.schedule) + 1 + 20 * self.seen.lag:
            return []
        return [f"agent {agent} ended {took:.2f} s after it had been asked to"]

    def watch(self, agent):
        """Before others go on without a node, the guard of an agent that stands still there has ended all."""
        frozen = [
            one.at
            for one in self.seen.struck("stop agent", "freeze agent", agent=agent)
            if one.was_running and one.fault.lasts is None
        ]
        if self.schedule.least == 1 or self._is_held(agent) or not frozen:
            return []
        took = self.seen.ended_at[agent] - min(frozen)
        if took <= self.schedule.fence + 20 * self.seen.lag:
            return []
        return [f"agent {agent} ended {took:.2f} s after it had been frozen"]

    def overlaps(self):
        return [
            f"worker {one.details[0]} was alive when attempt {one.attempt} began"
            for one in self.seen.told("overlap")
            if self._could_act(self._agent_of(one)) and not self._loses_orphans(self._agent_of(one))
        ]

    def _loses_orphans(self, agent):
        """Without subreapers muster finds no orphan, which it reports at the start."""
        has_orphans = {"parent", "daemons"}.intersection(self.schedule.manners)
        return bool(has_orphans) and self.schedule.filters[agent] == "prctl"

    def _could_act(self, agent):
        """One half of muster on that node, at least: else nobody is there who could end its workers."""
        if self.seen.struck("freeze node", agent=agent):
            return False
        guard = self.seen.struck("stop guard", "kill guard", agent=agent)
        return not (guard and self.seen.struck("stop agent", "freeze agent", agent=agent))

    def _agent_of(self, overlap):
        pid = int(overlap.details[0].rpartition(".")[2])
        return int(self.seen.started(pid).agent)

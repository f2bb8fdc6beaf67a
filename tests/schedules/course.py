"""Runs one schedule: starts its agents, injects its faults in time, heals them, and waits for the end."""

import heapq
import json
import time
from itertools import count

from support import lag
from support.deadlines import Missed, wait_until

from .bounds import after_being_asked, until_something_happens
from .seen import Seen
from .strikes import Striker

_BETWEEN_LOOKS = 0.02  # seconds


class Course:
    """One schedule, once."""

    def __init__(self, job):
        self._job = job
        self._schedule = job.schedule
        self._striker = Striker(job)
        self._due = []
        self._order = count()
        self.seen = Seen()

    def run(self):
        """Runs the schedule and returns its observations."""
        self.seen.began = time.monotonic()
        for agent, delay in enumerate(self._schedule.delays):
            self._at(delay, self._start, agent)
        for number, fault in enumerate(self._schedule.faults):
            self._at(fault.at, self._strike, number)
        while self._due and not self._is_over():
            self._wait_for_the_next()
        self._wait_for_the_end()
        self._look()
        return self.seen

    def _at(self, seconds, action, *arguments):
        due = self.seen.began + seconds
        heapq.heappush(self._due, (due, next(self._order), action, arguments))

    def _wait_for_the_next(self):
        due, _, action, arguments = heapq.heappop(self._due)
        self._watch(lambda: time.monotonic() >= due or self._is_over(), due)
        if not self._is_over():
            action(*arguments)

    def _watch(self, is_over, until):
        """Notes who has ended meanwhile. Whether it was over in time."""
        while not is_over():
            self._note_ends()
            if time.monotonic() > until + _BETWEEN_LOOKS:
                return False
            time.sleep(_BETWEEN_LOOKS)
        self._note_ends()
        return True

    def _is_over(self):
        return len(self._job.agents) == self._schedule.agents and not self._alive()

    def _note_ends(self):
        for agent in self._job.agents:
            if agent not in self.seen.ended_at and not self._job.is_alive(agent):
                self.seen.ended_at[agent] = time.monotonic()

    def _start(self, agent):
        self._job.start(agent)

    def _strike(self, number):
        strike = self._striker.strike(number)
        self.seen.strikes = self._striker.strikes
        if strike.struck and strike.fault.lasts is not None:
            due = strike.at - self.seen.began + strike.fault.lasts
            self._at(due, self._striker.heal, number, strike)

    def _wait_for_the_end(self):
        """First by itself, then as somebody asks for it, then as everything that lasted is over."""
        self._wait_for(
            self._who_ends_alone(), until_something_happens(self._schedule), "by themselves"
        )
        for agent in self._alive():
            self.seen.asked_at[agent] = time.monotonic()
            self._job.agents[agent].signal(15)
        asked = [agent for agent in self._alive() if not self._holds_the_guard(agent)]
        self._wait_for(asked, after_being_asked(self._schedule), "when they were asked to")
        self._look_for_the_forsaken()
        for number, strike in enumerate(self._striker.strikes):
            self._striker.heal(number, strike)
        self._wait_for(self._alive(), after_being_asked(self._schedule), "after all was well again")

    def _look_for_the_forsaken(self):
        """Workers that outlive their agent, while whatever is wrong is still so."""

        def forsaken():
            return [
                (agent, pid)
                for agent in self.seen.ended_at
                for pid in self._job.living_workers(agent)
            ]

        try:
            wait_until(lambda: not forsaken(), "the workers to be gone", self._scaled(1))
        except Missed:
            self.seen.forsaken = forsaken()

    def _wait_for(self, agents, seconds, when):
        """At most so long after the last that happened."""
        while True:
            told = len(self._job.worker_events.all())
            if self._watch(
                lambda: not self._any_alive(agents), time.monotonic() + self._scaled(seconds)
            ):
                return
            if len(self._job.worker_events.all()) == told:
                break
        left = [agent for agent in agents if self._job.is_alive(agent)]
        self.seen.late.append(f"agents {left} have not ended {when} within {seconds:.1f} s")

    def _any_alive(self, agents):
        return any(self._job.is_alive(agent) for agent in agents)

    def _scaled(self, seconds):
        """A machine that is busy with something else is allowed for."""
        return seconds + 20 * self._lag()

    def _lag(self):
        """The worst delay of a wake-up since the beginning."""
        return lag.worst_since(self.seen.began)

    def _alive(self):
        return [agent for agent in self._job.agents if self._job.is_alive(agent)]

    def _for_ever(self, *kinds, agent):
        return any(one.fault.lasts is None for one in self.seen.struck(*kinds, agent=agent))

    def _holds_the_guard(self, agent):
        return self._for_ever("stop guard", "freeze node", agent=agent)

    def _who_ends_alone(self):
        return [agent for agent in self._job.agents if not self._waits_to_be_asked(agent)]

    def _waits_to_be_asked(self, agent):
        """A frozen agent is missed by its guard only where other nodes would go on without it."""
        if self._holds_the_guard(agent):
            return True
        frozen = [
            one
            for one in self.seen.struck("stop agent", "freeze agent", agent=agent)
            if one.fault.lasts is None
        ]
        alone = self._schedule.agents == 1
        return any(alone or not one.was_running for one in frozen)

    def _look(self):
        """Everything else that is to be seen."""
        seen = self.seen
        for agent, job in self._job.agents.items():
            if self._job.is_alive(agent):
                continue
            seen.codes[agent] = job.end(5)
            seen.reports[agent] = self._report_of(job)
            seen.consoles[agent] = self._console_of(agent, job)
        try:
            wait_until(lambda: not self._left(), "nothing to be left", self._scaled(1))
        except Missed:
            seen.survivors = [str(one) for one in self._left()]
        seen.events = self._job.worker_events.all()  # of workers that outlived their agent, too
        seen.lag = self._lag()

    def _left(self):
        """The processes that ended agents have left; agents that have not ended are another complaint."""
        alive = {self._job.agents[agent].pid for agent in self._alive()}
        return [one for one in self._job.muster.survivors() if one.pid not in alive]

    @staticmethod
    def _report_of(job):
        try:
            return job.report
        except (FileNotFoundError, json.JSONDecodeError):
            return None

    def _console_of(self, agent, job):
        if job.err is not None:
            return job.words()
        return (self._job.disk.folder / f"console-{agent}").read_text(errors="backslashreplace")

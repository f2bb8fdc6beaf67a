"""Injects faults, and undoes those that last."""

import contextlib
import os
import signal
import time

from support.deadlines import Missed
from support.flood import MANY_ADDRESSES, ONE_ADDRESS, Flood

from .seen import Strike

_STOPPED = {"stop guard", "stop agent", "stop worker"}
_OF_A_WORKER = {"kill worker", "stop worker"}


class Striker:
    """Injects faults and notes them in `strikes`."""

    def __init__(self, job):
        self._job = job
        self._schedule = job.schedule
        self.strikes = []
        self._floods = {}
        self._stopped = {}

    def strike(self, number):
        fault = self._schedule.faults[number]
        strike = Strike(fault, time.monotonic())
        strike.was_running = bool(self._job.living_workers(fault.agent))
        self.strikes.append(strike)
        with contextlib.suppress(ProcessLookupError):
            strike.struck = False
            strike.struck = self._carry_out(number, fault, strike)
        # A freeze takes a moment, in which the last worker may end: then nobody counts on the agent any more.
        strike.was_running = strike.was_running and bool(self._job.living_workers(fault.agent))
        return strike

    def heal(self, number, strike):
        """Once, although it may be asked for twice: when it is due, and in the end."""
        if strike.healed_at is not None or not strike.struck:
            return
        self._undo(number, strike.fault)
        strike.healed_at = time.monotonic()

    def _undo(self, number, fault):
        if fault.kind in _STOPPED:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._stopped[number], signal.SIGCONT)
        elif fault.kind in ("freeze agent", "freeze node"):
            self._job.freezers[number].thaw()
        elif fault.kind == "hang disk":
            self._job.disk.thaw()
        elif fault.kind == "fill disk":
            self._job.disk.thaw()  # else this would hang as well
            self._job.disk.empty()
        elif fault.kind == "flood":
            self._floods[number].__exit__()
        elif fault.kind in ("cut link", "hold up link"):
            self._heal_link(fault)
        elif fault.kind == "lose packets":
            self._job.network.heal_loss(fault.agent)

    def _heal_link(self, fault):
        if self._job.hosts:
            self._job.network.bring_up(fault.agent)
        else:
            self._job.relays[fault.agent].let_through()

    def _carry_out(self, number, fault, strike):
        """True if there was a process that it could strike."""
        if fault.kind in _OF_A_WORKER:
            return self._strike_worker(number, fault, strike)
        if fault.kind in ("hang disk", "fill disk"):
            return self._strike_disk(fault)
        if fault.kind == "flood":
            self._floods[number] = self._flood(number, fault)
            return True
        if fault.kind in ("cut link", "hold up link"):
            return self._strike_link(fault)
        if fault.kind == "lose packets":
            self._job.network.lose(fault.agent, percent=int(fault.how))
            return True
        return self._job.is_alive(fault.agent) and self._strike_agent(number, fault)

    def _flood(self, number, fault):
        sources = MANY_ADDRESSES if number % 2 else ONE_ADDRESS
        folder = self._job.folder / f"flood-{number}"
        folder.mkdir()
        program = self._job.programs("flood")
        return Flood(program, folder, self._job.port, 5000, 1000, sources, fault.how)

    def _strike_worker(self, number, fault, strike):
        workers = self._job.living_workers(fault.agent)
        if not workers:
            return False
        strike.pid = workers[number % len(workers)]
        name = "STOP" if fault.kind == "stop worker" else fault.how
        self._stopped[number] = strike.pid
        os.kill(strike.pid, getattr(signal, f"SIG{name}"))
        return True

    def _strike_disk(self, fault):
        disk = self._job.disk
        if disk.is_frozen:
            return False  # nothing is written to it, not even here
        if fault.kind == "hang disk":
            disk.freeze()
        else:
            disk.fill()
        return True

    def _strike_link(self, fault):
        if self._job.hosts:
            self._job.network.take_down(fault.agent)
        elif fault.kind == "cut link":
            self._job.relays[fault.agent].reset()
        else:
            self._job.relays[fault.agent].hold_up()
        return True

    def _strike_agent(self, number, fault):
        guard = self._job.agents[fault.agent].pid
        agent = self._job.pid_of_agent(fault.agent)
        if fault.kind in ("kill agent", "stop agent", "freeze agent") and agent is None:
            return False
        if fault.kind in ("ask", "pass on"):
            os.kill(guard, getattr(signal, f"SIG{fault.how}"))
        elif fault.kind in ("kill guard", "kill agent"):
            os.kill(guard if fault.kind == "kill guard" else agent, signal.SIGKILL)
        elif fault.kind in ("stop guard", "stop agent"):
            self._stopped[number] = guard if fault.kind == "stop guard" else agent
            os.kill(self._stopped[number], signal.SIGSTOP)
        else:
            self._freeze(number, fault, agent)
        return True

    def _freeze(self, number, fault, agent):
        freezer = self._job.freezers[number]
        if fault.kind == "freeze agent":
            freezer.add(agent)
        with contextlib.suppress(Missed):  # who waits for a disk is not frozen before that answers
            freezer.freeze(seconds=0.3)

"""A TCP relay between an agent and its leader that can delay, stall, fall silent, cut and record."""

import contextlib
import socket
import threading
import time

from .deadlines import HANG, Missed


class Wire:
    """One connection through the relay."""

    def __init__(self, agent, leader):
        self.agent = agent
        self.leader = leader
        self.to_leader = bytearray()
        self.to_agent = bytearray()
        self.agent_closed_at = None
        self.leader_closed_at = None


class Relay:
    """Listens on a port of its own. Use it with `with`.

    Without a target it is half-open: it accepts, and is silent for ever.
    """

    def __init__(self, target=None, delay=0.0):
        self._target = target
        self.delay = delay
        self._silent = {"to_leader": threading.Event(), "to_agent": threading.Event()}
        self._flows = threading.Event()
        self._flows.set()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self._listener.getsockname()[1]
        self.wires = []
        self.accepted = []
        self._over = threading.Event()
        self._threads = []

    def __enter__(self):
        self._run(self._accept)
        return self

    def __exit__(self, *_):
        """Nothing of it runs any more afterwards."""
        self._over.set()
        self._flows.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._join(self._threads[0])  # so that no connection comes any more
        self._listener.close()
        for one in self.accepted:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)  # which wakes whoever reads or writes it
        for thread in self._threads:
            self._join(thread)
        for one in self.accepted:
            one.close()

    def _run(self, target, *arguments):
        self._threads.append(threading.Thread(target=target, args=arguments, name=f"relay {self.port}", daemon=True))
        self._threads[-1].start()

    @staticmethod
    def _join(thread):
        thread.join(HANG)
        if thread.is_alive():
            raise Missed(f"waited {HANG:g} s for the end of {thread.name}")

    def fall_silent(self, direction="both"):
        """Stops forwarding, without closing anything: to_leader, to_agent or both."""
        for name, event in self._silent.items():
            if direction in (name, "both"):
                event.set()

    def hold_up(self):
        """Delays data that arrives from now on, as on a network that is gone for a while."""
        self._flows.clear()

    def let_through(self):
        """Forwards the delayed data, and all that follows."""
        self._flows.set()

    def reset(self):
        """Both ends of every connection see a reset."""
        for wire in self.wires:
            for end in (wire.agent, wire.leader):
                with contextlib.suppress(OSError):
                    linger = b"\1\0\0\0\0\0\0\0"  # on, zero seconds: closing resets
                    end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                    end.shutdown(socket.SHUT_RD)
                    end.close()

    def _accept(self):
        while not self._over.is_set():
            try:
                agent, _ = self._listener.accept()
            except OSError:
                return
            self.accepted.append(agent)
            if self._target is None:
                continue
            try:
                leader = socket.create_connection(self._target, HANG)
                leader.settimeout(None)
            except OSError:
                agent.close()
                continue
            self.accepted.append(leader)
            wire = Wire(agent, leader)
            self.wires.append(wire)
            self._run(self._forward, wire, agent, leader, wire.to_leader, "to_leader", "agent_closed_at")
            self._run(self._forward, wire, leader, agent, wire.to_agent, "to_agent", "leader_closed_at")

    def _forward(self, wire, source, sink, captured, direction, closed):
        while True:
            try:
                piece = source.recv(1 << 16)
            except OSError:
                piece = b""
            if not piece:
                setattr(wire, closed, getattr(wire, closed) or time.monotonic())
            if self.delay:
                self._over.wait(self.delay)
            self._flows.wait()
            if self._silent[direction].is_set():
                if not piece:
                    return
                continue
            captured += piece
            with contextlib.suppress(OSError):  # the other end may be gone
                if piece:
                    sink.sendall(piece)
                else:
                    sink.shutdown(socket.SHUT_WR)
            if not piece:
                return

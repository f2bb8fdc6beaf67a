"""Strangers at the leader's port: connections that are held, garbage, and claims on taken ranks."""

import contextlib
import os
import random
import socket
import threading

from support.wire import frame, join

_MOST_HELD = 400
_BETWEEN = 0.004  # seconds


class Flood:
    """Until it is stopped. From many addresses of this machine, as it were from many hosts."""

    def __init__(self, port, kind, schedule):
        self._port = port
        self._kind = kind
        self._schedule = schedule
        self._chance = random.Random(schedule.seed)
        self._held = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self):
        self._thread.start()

    def stop(self):
        self._over.set()
        self._thread.join()
        for one in self._held:
            one.close()

    def _run(self):
        while not self._over.wait(_BETWEEN):
            with contextlib.suppress(OSError):
                self._connect()

    def _connect(self):
        source = f"127.0.{self._chance.randrange(4)}.{self._chance.randrange(1, 200)}"
        stranger = socket.create_connection(("127.0.0.1", self._port), 0.2, (source, 0))
        stranger.setblocking(False)
        if self._kind == "held":
            self._held.append(stranger)
            if len(self._held) > _MOST_HELD:
                self._held.pop(0).close()
            return
        with stranger:
            if self._kind == "garbage":
                stranger.send(os.urandom(self._chance.choice([1, 4, 100, 4000])))
            else:
                stranger.send(frame(self._claim()))
                self._held.append(stranger.dup())
                if len(self._held) > 20:
                    self._held.pop(0).close()

    def _claim(self):
        """On the leader's rank, which is taken at any time: without a token a stranger may have a free one."""
        return join(
            rank=0,
            least_nodes=self._schedule.least,
            most_nodes=self._schedule.most,
            incarnation=f"{self._chance.getrandbits(64):016x}",
        )

"""Captures the packets on a network interface, as an eavesdropper could."""

import signal
import subprocess
import time

from . import processes
from .deadlines import HANG, wait_until


class Quiet:
    """Tells if a file has not changed for some time."""

    def __init__(self, file, seconds):
        self._file = file
        self._seconds = seconds
        self._size = None
        self._since = 0.0

    def has_lasted(self):
        size, now = self._file.stat().st_size, time.monotonic()
        if size != self._size:
            self._size, self._since = size, now
        return now - self._since >= self._seconds


class Capture:
    """Use it with `with`; afterwards the packets are in `file`. `through` enters a host."""

    def __init__(self, file, interface, port, through=(), protocol="tls"):
        self.file = file
        self._port = port
        self._protocol = protocol
        self._command = [*through, "dumpcap", "-q", "-i", interface, "-f", f"tcp port {port}"]
        self._process = None

    def __enter__(self):
        self._process = processes.start(
            [*self._command, "-w", self.file],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        # It opens the file when the capture runs.
        wait_until(
            lambda: self.file.exists() and self.file.stat().st_size > 0, "the capture to run"
        )
        return self

    def __exit__(self, *_):
        # The kernel hands packets over in blocks, late by a fraction of a second.
        quiet = Quiet(self.file, seconds=1.0)
        wait_until(quiet.has_lasted, "the last packets to be recorded")
        self._process.send_signal(signal.SIGINT)
        processes.wait_for_end(self._process, HANG, "dumpcap")

    @property
    def bytes(self):
        return self.file.read_bytes()

    def fields(self, shown, *names):
        """Fields that tshark prints of the packets selected by its filter, one list a packet."""
        command = ["tshark", "-r", self.file, "-d", f"tcp.port=={self._port},{self._protocol}"]
        command += ["-Y", shown, "-T", "fields"]
        for name in names:
            command += ["-e", name]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=HANG)
        return [line.split("\t") for line in done.stdout.splitlines()]

"""Collects what a process writes, while a test waits for parts of it."""

import os
import threading
import time

from .deadlines import HANG, Missed, limit_of, promise


class Stream:
    """Everything that came through one pipe or terminal so far.

    Owns the descriptor and closes it at its end. Read by a thread of its own.
    """

    def __init__(self, name, fd):
        self._name = name
        self._fd = fd
        self._bytes = bytearray()
        self._ended = False
        self._news = threading.Condition()
        self._thread = threading.Thread(target=self._collect, daemon=True)
        self._thread.start()

    def _collect(self):
        while True:
            try:
                piece = os.read(self._fd, 1 << 16)
            except OSError:  # a terminal whose last user left
                piece = b""
            with self._news:
                self._bytes += piece
                self._ended = not piece
                self._news.notify_all()
            if not piece:
                os.close(self._fd)
                return

    @property
    def bytes(self):
        with self._news:
            return bytes(self._bytes)

    @property
    def text(self):
        return self.bytes.decode(errors="backslashreplace")

    @property
    def lines(self):
        return self.text.splitlines()

    def wait_for(self, text, times=1, seconds=HANG):
        """Waits until the text, which may begin or end anywhere, has come that many times."""
        wanted = text if isinstance(text, bytes) else text.encode()
        self._wait(
            lambda: self._bytes.count(wanted) >= times,
            lambda: f"'{text}' {times} times on {self._name}",
            seconds,
        )
        return self.text

    def wait_for_end(self, seconds=HANG):
        self._wait(lambda: self._ended, lambda: f"the end of {self._name}", seconds)
        self._thread.join()
        return self.bytes

    def _wait(self, happened, what, seconds):
        began = time.monotonic()
        with self._news:
            while not happened():
                left = began + limit_of(seconds) - time.monotonic()
                if left <= 0 or self._ended:
                    state = "it has ended" if self._ended else "it is still open"
                    tail = bytes(self._bytes[-2000:]).decode(errors="backslashreplace")
                    raise Missed(f"waited {time.monotonic() - began:.3g} s for {what()}; {state}, with:\n{tail}")
                self._news.wait(left)
        promise(self._name, seconds, time.monotonic() - began)

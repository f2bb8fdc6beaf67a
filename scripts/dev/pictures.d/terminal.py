"""A command on a pseudo-terminal of its own, and what a person sees there."""

import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
import time

import pyte

DEADLINE = 60  # seconds
QUIET = 0.6


class Terminal:
    """Starts `command`; `hide` is a piece of its output, and what stands there in its place."""

    def __init__(self, command, rows, columns, hide, **options):
        self.screen = pyte.Screen(columns, rows)
        self.screen.write_process_input = self.press  # as terminals answer what they are asked for
        self._stream = pyte.ByteStream(self.screen)
        self._hidden, self._shown = (text.encode() for text in hide)
        self._keyboard, its_side = pty.openpty()
        fcntl.ioctl(its_side, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self._process = subprocess.Popen(
            command,
            stdin=its_side,
            stdout=its_side,
            stderr=its_side,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
            **options,
        )
        os.close(its_side)

    def show(self, text):
        self._stream.feed(text.encode())

    def press(self, keys):
        os.write(self._keyboard, keys.encode())

    def text(self):
        return "\n".join(row.rstrip() for row in self.screen.display)

    def wait_for(self, holds, what):
        """Until `holds` says so of the text, and that has stayed the same for a moment, however often it is drawn."""
        deadline = time.monotonic() + DEADLINE
        last, since = "", time.monotonic()
        while not (holds(last) and time.monotonic() > since + QUIET):
            self._read(QUIET / 10)
            if self.text() != last:
                last, since = self.text(), time.monotonic()
            if time.monotonic() > deadline:
                raise TimeoutError(f"waited for {what}; the terminal shows\n{last}")

    def end(self):
        """The exit code."""
        deadline = time.monotonic() + DEADLINE
        while self._process.poll() is None:
            self._read(0.1)
            if time.monotonic() > deadline:
                self._process.kill()
                raise TimeoutError(f"waited for the end; the terminal shows\n{self.text()}")
        os.close(self._keyboard)
        return self._process.returncode

    def _read(self, seconds):
        if not select.select([self._keyboard], [], [], seconds)[0]:
            return
        try:
            data = os.read(self._keyboard, 1 << 16)
        except OSError:  # its other side is closed
            time.sleep(seconds)
            return
        self._stream.feed(data.replace(self._hidden, self._shown))

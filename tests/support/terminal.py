"""A pseudo-terminal in which the program, or a shell, is started: its output, and keys to press."""

import fcntl
import os
import pty
import struct
import termios

from . import processes
from .deadlines import HANG
from .streams import Stream

CTRL_C = b"\x03"
CTRL_S = b"\x13"
CTRL_Z = b"\x1a"
CTRL_BACKSLASH = b"\x1c"


class Terminal:
    """Runs a command as the leader of a session that has this terminal."""

    def __init__(self, command, **options):
        self._keyboard, screen_side = pty.openpty()
        self.resize(rows=40, columns=200)
        self.process = processes.start(
            command,
            stdin=screen_side,
            stdout=screen_side,
            stderr=screen_side,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
            **options,
        )
        self.pid = self.process.pid
        os.close(screen_side)
        self.screen = Stream(f"the terminal of {command}", os.dup(self._keyboard))

    def press(self, keys):
        os.write(self._keyboard, keys if isinstance(keys, bytes) else keys.encode())

    def resize(self, rows, columns):
        """The kernel tells the foreground group about it by WINCH."""
        size = struct.pack("HHHH", rows, columns, 0, 0)
        fcntl.ioctl(self._keyboard, termios.TIOCSWINSZ, size)

    def foreground(self):
        """The process group that the keys go to."""
        return os.tcgetpgrp(self._keyboard)

    def end(self, seconds=HANG):
        code = processes.wait_for_end(self.process, seconds, self.process.args)
        self.screen.wait_for_end()
        return code

    def close(self):
        os.close(self._keyboard)

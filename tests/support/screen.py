"""Shows what a person sees: runs a command in tmux, which interprets terminal sequences."""

import subprocess

from .deadlines import HANG, wait_until

# A terminal whose command has ended reads what is there, and may be a moment too early for what is still on its way in the kernel.
# So the command ends when the terminal has answered a question that was asked behind everything else; a terminal that was brought to
# take it for something else has a second.
_AND_ALL_OF_IT_SHOWN = r"""
"$@"
stty raw -echo min 0 time 10
printf '\033[5n'
head --bytes=4 >/dev/null
"""


class Screen:
    """Runs a command in a terminal of its own, without anybody's configuration. Its end removes all of it."""

    def __init__(self, folder, command, environment, columns=120, rows=60):
        self._socket = folder / "tmux"
        self._tmux("-f", "/dev/null", "start-server", ";", "set", "-g", "remain-on-exit", "on", ";",
                   "new-session", "-d", "-x", str(columns), "-y", str(rows), "--",
                   "env", *(f"{name}={value}" for name, value in environment.items()),
                   "sh", "-c", _AND_ALL_OF_IT_SHOWN, "sh", *map(str, command))  # fmt: skip

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._tmux("kill-server")

    def rows(self, seconds=HANG):
        """Everything that stands there, and above it, once the command has ended and all of it was shown."""
        wait_until(
            lambda: self._tmux("display", "-p", "#{pane_dead}") == "1\n",
            lambda: f"the end of the command; so far the terminal shows:\n{self._captured()}",
            seconds,
        )
        return [row.rstrip() for row in self._captured().splitlines() if row.strip()]

    def visible_rows(self):
        """The same without those that are written in invisible letters."""
        shown = self._captured("-e")
        return [row for row in shown.splitlines() if row.strip() and "\x1b[8m" not in row]

    def _captured(self, *how):
        return self._tmux("capture-pane", "-p", *how, "-S", "-", "-E", "-")

    def _tmux(self, *arguments):
        done = subprocess.run(
            ["tmux", "-S", self._socket, *arguments],
            capture_output=True,
            check=True,
            timeout=HANG,
            env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "TERM": "xterm-256color"},
        )
        return done.stdout.decode(errors="backslashreplace")

"""Real sshd on test hosts, with separate keys and settings: the user's are neither read nor changed."""

import os
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

from . import processes
from .deadlines import HANG, wait_until
from .streams import Stream

PORT = 2222
_SERVER = """
Port {port}
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/authorized_keys
StrictModes no
UsePAM no
PidFile none
PasswordAuthentication yes
KbdInteractiveAuthentication no
"""
_CLIENT = """
Port {port}
IdentityFile {folder}/{key}
IdentitiesOnly yes
IdentityAgent none
HostKeyAlias test
UserKnownHostsFile {folder}/known_hosts
GlobalKnownHostsFile /dev/null
StrictHostKeyChecking yes
"""


class Ssh:
    """Servers on some hosts, and the command that logs in there."""

    def __init__(self, hosts, folder, more=""):
        self.hosts = hosts
        self.folder = Path(folder)
        self._servers = []
        self._served = []
        for key in ("host_key", "user_key", "other_key"):
            self._make_key(key)
        (self.folder / "authorized_keys").write_text(self._public("user_key"))
        (self.folder / "known_hosts").write_text(f"test {self._public('host_key')}")
        self._write("sshd_config", _SERVER + more)
        for key in ("user_key", "other_key"):
            self._write(f"config_{key}", _CLIENT, key=key)
        Path("/run/sshd").mkdir(exist_ok=True)  # where Debian's sshd wants to be able to shut itself in

    def _make_key(self, name):
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.folder / name]
        subprocess.run(command, check=True, timeout=HANG)

    def _public(self, name):
        return (self.folder / f"{name}.pub").read_text()

    def _write(self, name, text, **values):
        (self.folder / name).write_text(text.format(port=PORT, folder=self.folder, **values))

    def serve(self, *indexes):
        for index in indexes:
            server = ["/usr/sbin/sshd", "-D", "-e", "-f", self.folder / "sshd_config"]
            command = self.hosts.command("exec", str(index), *map(str, server))
            process = processes.start(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
            words = Stream(f"sshd on host {index}", process.stderr.fileno())
            words.wait_for("Server listening on")
            self._servers.append((process, words))
            self._served.append(index)

    def shell(self, key="user_key"):
        """For --remote-shell."""
        return f"ssh -F {self.folder}/config_{key}"

    def stop(self):
        """A session outlives its server where the network was cut."""
        for index in self._served:
            for process in processes.on_host(self.hosts.name(index)):
                with suppress(ProcessLookupError):
                    os.kill(process.pid, signal.SIGKILL)
        for process, _ in self._servers:
            process.wait()

    def leavings(self, index):
        """Processes on a host that do not serve logins."""
        return [
            one for one in processes.on_host(self.hosts.name(index)) if one.name != "sshd"
        ]

    def assert_nothing_is_left(self, *indexes, seconds=5.0):
        wait_until(
            lambda: not [one for index in indexes for one in self.leavings(index)],
            lambda: "nothing to be left on the hosts, but these are: "
            + ", ".join(str(one) for index in indexes for one in self.leavings(index)),
            seconds,
        )

"""Breaks the network of test hosts, and heals it."""

import subprocess
import sys
from pathlib import Path

from .deadlines import HANG

FAR_LINK = str(Path(__file__).with_name("far_link.py"))


class Network:
    """The links of some hosts (tests/hosts)."""

    def __init__(self, hosts):
        self._hosts = hosts
        self._harmed = set()
        self._slowed = set()
        self._down = set()
        self._served = {}
        self._dual = set()
        self._bridged = set()
        self._names = {}
        self._far = {}
        self._lossy = set()

    def take_down(self, index):
        """As when the cable is pulled: nothing is refused, nothing arrives."""
        self._on(index, "ip", "link", "set", "eth0", "down")
        self._down.add(index)

    def bring_up(self, index):
        self._on(index, "ip", "link", "set", "eth0", "up")
        self._down.discard(index)

    def lose(self, index, percent):
        """That share of the packets that come to the host or leave it is lost."""
        self.heal_loss(index)
        chances = f"numgen random mod 100 < {percent} drop;"
        rules = (
            f"chain input {{ type filter hook input priority 0; iif lo accept; {chances} }}\n"
            f"chain output {{ type filter hook output priority 0; oif lo accept; {chances} }}\n"
        )
        self._on(index, "nft", "-f", "-", text=f"table inet faults {{\n{rules}}}\n")
        self._harmed.add(index)

    def lose_on_wire(self, index, percent):
        """Likewise, but the kernel of the sender does not notice, which would send such a packet again."""
        for namespace, device in ((self._hosts.name(index), "eth0"), (f"{self._hosts.prefix}-net", f"h{index}")):
            rule = f"type filter hook ingress device {device} priority 0; numgen random mod 100 < {percent} drop;"
            self._nft(namespace, f"table netdev faults {{\nchain ingress {{ {rule} }}\n}}\n")
        self._lossy.add(index)

    def _heal_wire(self, index):
        for namespace in (self._hosts.name(index), f"{self._hosts.prefix}-net"):
            self._nft(namespace, "delete table netdev faults\n")
        self._lossy.discard(index)

    @staticmethod
    def _nft(namespace, text):
        command = ["ip", "netns", "exec", namespace, "nft", "-f", "-"]
        subprocess.run(command, input=text, text=True, check=True, timeout=HANG)

    def drop_port(self, index, port, protocol="tcp", ways=("input",)):
        """Whatever comes to that port of the host is lost: a firewall that says nothing. With the way `output`, also what the
        host sends to that port of others."""
        self.heal_loss(index)
        rules = "\n".join(
            f"chain {way} {{ type filter hook {way} priority 0; {protocol} dport {port} drop; }}" for way in ways
        )
        self._on(index, "nft", "-f", "-", text=f"table inet faults {{\n{rules}\n}}\n")
        self._harmed.add(index)

    def heal_loss(self, index):
        if index in self._harmed:
            self._on(index, "nft", "delete", "table", "inet", "faults")
            self._harmed.discard(index)

    def slow_down(self, index, rate):
        """Limits the outgoing traffic of the host to that rate, such as 64kbit."""
        self._on(
            index,
            *f"tc qdisc replace dev eth0 root tbf rate {rate}".split(),
            *"burst 4kb latency 400ms".split(),
        )
        self._slowed.add(index)

    def move_away(self, index, milliseconds):
        """Whatever the host sends or receives takes so much longer."""
        self._far[index] = subprocess.Popen(
            ["ip", "netns", "exec", f"{self._hosts.prefix}-net", sys.executable, "-B", FAR_LINK, f"h{index}", str(milliseconds)],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._far[index].stdout.readline() == "relaying\n"

    def _bring_back(self, index):
        relay = self._far.pop(index)
        relay.kill()
        relay.communicate(timeout=HANG)
        bridge = f"ip -n {self._hosts.prefix}-net link set h{index} master br0"
        subprocess.run(bridge.split(), check=True, timeout=HANG)

    def serve(self, index, service, target, port):
        """On that host the service address leads to the target, at that port only: kube-proxy."""
        family = "ip6" if ":" in service else "ip"
        self._on(index, "ip", "route", "replace", service, "dev", "eth0")
        rule = f"{family} daddr {service} tcp dport {port} dnat to {target};"
        hook = "type nat hook output priority -100;"
        text = f"table {family} service {{\nchain output {{ {hook} {rule} }}\n}}\n"
        self._on(index, "nft", "-f", "-", text=text)
        self._served[index] = (family, service)

    def add_version_six(self, index):
        """Gives the host an address of version 6 too, and returns it."""
        address = f"fd77::{10 + index}"
        self._on(index, "ip", "addr", "replace", f"{address}/64", "dev", "eth0", "nodad")
        self._dual.add(index)
        return address

    def add_bridge(self, index):
        """One with an address that each host's has, as Docker makes it: it leads to no other host."""
        self._on(index, *"ip link add docker0 type bridge".split())
        self._bridged.add(index)
        self._on(index, *"ip addr add 172.17.0.1/16 dev docker0".split())
        self._on(index, *"ip link set docker0 up".split())

    def add_name(self, index, name, address):
        """Lets processes that start on that host from now on resolve the name to the address."""
        file = Path("/etc/netns", self._hosts.name(index), "hosts")
        before = file.read_text()
        self._names.setdefault(file, before)
        file.write_text(f"{before}{address} {name}\n")

    def heal(self):
        for file, text in self._names.items():
            file.write_text(text)
        self._names.clear()
        for index in list(self._far):
            self._bring_back(index)
        for index in list(self._lossy):
            self._heal_wire(index)
        for index in list(self._harmed):
            self.heal_loss(index)
        for index in list(self._down):
            self.bring_up(index)
        for index in list(self._slowed):
            self._on(index, *"tc qdisc delete dev eth0 root".split())
            self._slowed.discard(index)
        for index, (family, service) in self._served.items():
            self._on(index, "nft", "delete", "table", family, "service")
            self._on(index, "ip", "route", "delete", service, "dev", "eth0")
        self._served.clear()
        for index in self._dual:
            self._on(index, "ip", "addr", "delete", f"fd77::{10 + index}/64", "dev", "eth0")
        self._dual.clear()
        for index in self._bridged:
            self._on(index, *"ip link delete docker0".split())
        self._bridged.clear()

    def _on(self, index, *command, text=None):
        # Not scripts/dev/hosts: this is on the way of what is measured.
        subprocess.run(
            ["ip", "netns", "exec", self._hosts.name(index), *command],
            input=text,
            text=True,
            check=True,
            timeout=HANG,
        )

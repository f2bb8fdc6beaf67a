"""Delays whatever a test host sends and receives: a relay between its end in the network of the bridge and the bridge, for
kernels without tc's netem.

usage: far_link.py INTERFACE MILLISECONDS, where the bridge is, with INTERFACE as one of its ports; prints a line when it relays
"""

import collections
import fcntl
import os
import select
import socket
import struct
import subprocess
import sys
import time

MOST_BYTES = 70_000  # a frame as the kernel passes it on before it is cut into packets, and its header
OUTGOING = 4  # PACKET_OUTGOING: our own frames


def open_port(name):
    """A port of the bridge whose frames come here, each with the header that says how to cut it (struct virtio_net_hdr)."""
    set_interface, set_offload = 0x400454CA, 0x400454D0
    tap, no_information, with_header = 0x0002, 0x1000, 0x4000
    port = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(port, set_interface, struct.pack("16sH22x", name.encode(), tap | no_information | with_header))
    fcntl.ioctl(port, set_offload, 3)  # checksums, and frames of TCP that are not cut
    return port


def open_wire(name):
    packets, header_option = 263, 15  # SOL_PACKET, PACKET_VNET_HDR
    wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    wire.setsockopt(packets, header_option, 1)
    wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 24)
    wire.bind((name, 0))
    wire.setblocking(False)
    return wire


def relay(wire, port, delay):
    waiting = {wire.fileno(): collections.deque(), port: collections.deque()}  # by where it goes: time, frame
    while True:
        now = time.monotonic()
        for to, frames in waiting.items():
            while frames and frames[0][0] <= now:
                try:
                    os.write(to, frames.popleft()[1])
                except OSError:
                    pass  # a frame that is too long, or there is no room: it is lost, as others are
        dues = [frames[0][0] for frames in waiting.values() if frames]
        ready, _, _ = select.select([wire, port], [], [], max(0, min(dues) - now) if dues else None)
        due = time.monotonic() + delay
        if port in ready:
            waiting[wire.fileno()].append((due, os.read(port, MOST_BYTES)))
        if wire in ready:
            frame, source = wire.recvfrom(MOST_BYTES)
            if source[2] != OUTGOING:
                waiting[port].append((due, frame))


def main():
    name, milliseconds = sys.argv[1:]
    wire = open_wire(name)
    port = open_port(f"far-{name}")
    for words in (f"{name} nomaster", f"{name} promisc on", f"far-{name} master br0 up"):
        subprocess.run(["ip", "link", "set", *words.split()], check=True)
    print("relaying", flush=True)
    relay(wire, port, float(milliseconds) / 1000)


if __name__ == "__main__":
    main()

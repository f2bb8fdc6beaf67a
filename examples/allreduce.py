#!/usr/bin/env python3
"""Sums the ranks of a job, with nothing but Python's standard library.

The smallest program that needs what a launcher must provide: every worker learns from its
environment who it is (RANK), how many there are (WORLD_SIZE) and where to meet (MASTER_ADDR and
MASTER_PORT). Rank 0 listens there, the others send it their rank, and all get the sum back.

    muster --nproc-per-node 4 examples/allreduce.py
"""

import os
import socket
import sys
import time

DEADLINE = 30.0  # seconds for everybody to come; nodes of a real job may start minutes apart


def main():
    rank = int(os.environ["RANK"])
    world_size = int(os.environ["WORLD_SIZE"])
    address = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))

    total = lead(rank, world_size, address) if rank == 0 else follow(rank, address)

    expected = world_size * (world_size - 1) // 2
    if total != expected:
        sys.exit(f"rank {rank} of {world_size}: sum {total}, expected {expected}")
    print(f"rank {rank} of {world_size}: sum {total}, as expected", flush=True)


def lead(rank, world_size, address):
    """Collects one number from every other worker, and sends all of them the sum."""
    deadline = time.monotonic() + DEADLINE
    total = rank
    followers = []
    with listen(address) as listener:
        while len(followers) < world_size - 1:
            listener.settimeout(time_left(deadline, f"{len(followers) + 1} of {world_size} came"))
            try:
                connection, _ = listener.accept()
            except TimeoutError:
                continue  # and say who was missing
            connection.settimeout(DEADLINE)
            followers.append(connection)
            total += int(read_line(connection))
    for connection in followers:
        with connection:
            connection.sendall(b"%d\n" % total)
    return total


def listen(address):
    """A socket on our side of the address, whichever of our network interfaces it names."""
    family = socket.getaddrinfo(*address, type=socket.SOCK_STREAM)[0][0]
    # SO_REUSEADDR, which create_server sets: an earlier job may have used the port a moment ago,
    # and the launcher holds it for us.
    return socket.create_server(("", address[1]), family=family, backlog=1024)


def follow(rank, address):
    """Sends our rank to rank 0, as soon as that listens, and waits for the sum."""
    deadline = time.monotonic() + DEADLINE
    while True:
        try:
            connection = socket.create_connection(address, timeout=DEADLINE)
            break
        except OSError as error:
            time_left(deadline, f"rank 0 cannot be reached at {address[0]}:{address[1]}: {error}")
            time.sleep(0.05)
    with connection:
        connection.sendall(b"%d\n" % rank)
        return int(read_line(connection))


def read_line(connection):
    with connection.makefile("rb") as stream:
        return stream.readline(32)


def time_left(deadline, state):
    """The seconds until the deadline; ends this worker, saying the state, once it has passed."""
    left = deadline - time.monotonic()
    if left <= 0:
        sys.exit(f"rank {os.environ['RANK']}: gave up after {DEADLINE:.0f} s: {state}")
    return left


if __name__ == "__main__":
    main()

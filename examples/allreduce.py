#!/usr/bin/env python3
"""Sums the ranks of a job, with nothing but Python's standard library.

The smallest program that needs what a launcher must provide: every worker learns from its
environment who it is (RANK), how many there are (WORLD_SIZE) and where to meet (MASTER_ADDR and
MASTER_PORT). Rank 0 listens there, the others send it their rank, and all get the sum back.

    muster --nproc-per-node 4 examples/allreduce.py
    muster torchrun --nproc-per-node 4 examples/allreduce.py
"""

import os
import socket
import sys
import time

DEADLINE = 30.0  # seconds for everybody to come; nodes of a real job may start minutes apart
GREETING = b"allreduce of %s\n" % os.environ.get("TORCHELASTIC_RUN_ID", "muster").encode()


def main():
    rank = int(os.environ["RANK"])
    world_size = int(os.environ["WORLD_SIZE"])
    host = os.environ["MASTER_ADDR"]

    total = lead(rank, world_size, host) if rank == 0 else follow(rank, host)

    expected = world_size * (world_size - 1) // 2
    if total != expected:
        sys.exit(f"rank {rank} of {world_size}: sum {total}, expected {expected}")
    print(f"rank {rank} of {world_size}: sum {total}, as expected", flush=True)


def ports():
    """Where rank 0 may listen: at MASTER_PORT, unless the launcher's own store is there, as torchrun says."""
    first = int(os.environ["MASTER_PORT"])
    has_store = os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"
    return range(first + 1, first + 10) if has_store else range(first, first + 1)


def lead(rank, world_size, host):
    """Collects one number from every other worker, and sends all of them the sum."""
    deadline = time.monotonic() + DEADLINE
    total = rank
    followers = []
    with listen(host) as listener:
        while len(followers) < world_size - 1:
            listener.settimeout(time_left(deadline, f"{len(followers) + 1} of {world_size} came"))
            try:
                connection, _ = listener.accept()
            except TimeoutError:
                continue  # and say who was missing
            connection.settimeout(DEADLINE)
            followers.append(connection)
            connection.sendall(GREETING)
            total += int(read_line(connection))
    for connection in followers:
        with connection:
            connection.sendall(b"%d\n" % total)
    return total


def listen(host):
    """A socket on our side of the address, whichever of our network interfaces it names."""
    for port in ports():
        try:
            family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
            # SO_REUSEADDR, which create_server sets: an earlier job may have used the port a moment
            # ago, and the launcher holds it for us.
            return socket.create_server(("", port), family=family, backlog=1024)
        except OSError as error:
            problem = error
    raise problem


def follow(rank, host):
    """Sends our rank to rank 0, as soon as that listens, and waits for the sum."""
    deadline = time.monotonic() + DEADLINE
    while True:
        for port in ports():
            try:
                with socket.create_connection((host, port), timeout=DEADLINE) as connection:
                    return exchange(rank, connection)
            except (OSError, NotRankZero) as error:
                problem = f"{host}:{port}: {error}"
        time_left(deadline, f"rank 0 cannot be reached at {problem}")
        time.sleep(0.05)


class NotRankZero(Exception):
    """Another program listens at this port."""


def exchange(rank, connection):
    with connection.makefile("rb") as stream:
        if stream.readline(256) != GREETING:
            raise NotRankZero("something else answers")
        connection.sendall(b"%d\n" % rank)
        return int(stream.readline(32))


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

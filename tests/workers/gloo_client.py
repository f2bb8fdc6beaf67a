"""Speaks with Horovod's store exactly as gloo's http_store.cc and rendezvous/context.cc do (Horovod 0.28), without Horovod.

For each of the three scopes: tell the own host and addresses, read those of all others (a GET every 10 ms until it is
there, a connection for each), and after a barrier DELETE the own rank. Where gloo connects to the others this prints
what it has read; its barrier is a scope of its own here.
"""

import os
import socket
import time

ADDRESS = os.environ["HOROVOD_GLOO_RENDEZVOUS_ADDR"], int(os.environ["HOROVOD_GLOO_RENDEZVOUS_PORT"])
TIMEOUT = int(os.environ.get("HOROVOD_GLOO_TIMEOUT_SECONDS", "30"))


def number(name):
    return int(os.environ[f"HOROVOD_{name}"])


def perform(method, path, body=b""):
    """HTTPRequest.hpp: no persistent connection, Content-Length by that very name."""
    with socket.create_connection(ADDRESS) as connection:
        head = f"{method} {path} HTTP/1.1\r\nHost: {ADDRESS[0]}\r\nContent-Length: {len(body)}\r\n\r\n"
        connection.sendall(head.encode() + body)
        answer = b""
        while b"\r\n\r\n" not in answer:
            answer += connection.recv(4096) or exit("torn answer")
        head, _, content = answer.partition(b"\r\n\r\n")
        lines = head.decode().split("\r\n")
        length = next(int(line[16:]) for line in lines if line.startswith("Content-Length: "))
        while len(content) < length:
            content += connection.recv(4096) or exit("torn answer")
    return int(lines[0].split()[1]), content


def put(scope, key, value):
    assert perform("PUT", f"/{scope}/{key}", value)[0] == 200


def wait(scope, key):
    end = time.monotonic() + TIMEOUT
    while perform("GET", f"/{scope}/{key}")[0] == 404:
        assert time.monotonic() < end, f"Wait timeout for key {scope}/{key}"
        time.sleep(0.01)
    status, value = perform("GET", f"/{scope}/{key}")
    assert status == 200
    return value


def rendezvous(scope, rank, size):
    put(scope, f"rank_{rank}", socket.gethostname().encode())
    for other in range(rank):
        perform("GET", f"/{scope}/rank_{other}")
    own = bytes([rank, 0, 255]) * max(size - 1, 0)  # any bytes
    put(scope, rank, own)
    seen = [wait(scope, other) for other in range(size) if other != rank]
    assert seen == [bytes([o, 0, 255]) * (size - 1) for o in range(size) if o != rank], seen
    put(f"{scope}_barrier", f"{rank}", b"")
    for other in range(size):
        wait(f"{scope}_barrier", other)
    assert perform("DELETE", f"/{scope}/{rank}")[0] == 200
    print(f"{os.environ['RANK']}: {scope} {rank} of {size}", flush=True)


rendezvous("global", number("RANK"), number("SIZE"))
rendezvous("local_" + os.environ["HOROVOD_HOSTNAME"], number("LOCAL_RANK"), number("LOCAL_SIZE"))
rendezvous(f"cross_{number('LOCAL_RANK')}", number("CROSS_RANK"), number("CROSS_SIZE"))

# The store is on the node of rank 0, which trains on with the others in real life: it leaves last.
put("left", number("RANK"), b"")
for other in range(number("SIZE") if number("RANK") == 0 else 0):
    wait("left", other)

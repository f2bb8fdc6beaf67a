"""NCCL is asked at a hang what it knows of the ranks (docs/hangs.md). Rank 0 is a server in its place."""

import json
import signal
import socket
import sys
import time
from pathlib import Path

import pytest

from support.deadlines import wait_until

ANSWERS = Path(__file__).parents[1] / "unit" / "hang" / "data" / "nccl_ras"

# Speaks NCCL's protocol line by line, and prints what it was asked. Binds as NCCL does.
SERVER = """
import os, signal, socket, sys

kind, answer = sys.argv[1:]
if os.environ["RANK"] != "0":
    signal.pause()
host, port = os.environ["NCCL_RAS_ADDR"].rsplit(":", 1)
server = socket.socket()
server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
server.bind((host, int(port)))
server.listen()
print("listening", flush=True)
while True:
    client, _ = server.accept()
    answers = client.makefile("w", newline="\\n")
    for line in client.makefile("r", newline="\\n"):
        print("asked", line.strip(), flush=True)
        if kind == "silent":
            continue
        if line.startswith("CLIENT PROTOCOL"):
            answers.write("SERVER PROTOCOL 2\\n")
        elif line.startswith("TIMEOUT") or (kind == "new" and line.startswith("SET FORMAT")):
            answers.write("OK\\n")
        elif line.startswith("VERBOSE STATUS"):
            answers.write(open(answer).read())
            answers.flush()
            break
        else:
            answers.write("ERROR: Unknown command " + line)
        answers.flush()
    answers.close()
    client.close()
"""

ASKED = ["CLIENT PROTOCOL 2", "TIMEOUT 1", "SET FORMAT json", "VERBOSE STATUS"]


def asked_of(job):
    return [line.split("asked ", 1)[1] for line in job.out.lines if "asked " in line]


@pytest.mark.parametrize(("kind", "answer"), [("new", "behind.json.txt"), ("old", "behind.txt"), ("silent", "")])
def test_nccl_is_asked_and_need_not_answer(muster, kind, answer):
    job = muster.start(
        "--nproc-per-node=2", "--hang-report=0", "--", sys.executable, "-c", SERVER, kind, ANSWERS / answer
    )
    job.out.wait_for("listening")
    begun = time.monotonic()
    told = muster.run("stacks", f"--job={job.guard()}", "--json")

    assert told.code == 0, told.words()
    assert time.monotonic() - begun < 4
    document = json.loads(told.out.text)
    assert sorted(rank for group in document["stacks"] for rank in group["ranks"]) == [0, 1]
    assert document["missing"] == 0
    wait_until(lambda: asked_of(job)[:4] == ASKED, "the questions to NCCL")
    job.signal(signal.SIGTERM)
    assert job.end() == 143


def test_the_rank_that_has_launched_fewer_collectives_is_named(muster):
    answer = ANSWERS / "behind.json.txt"
    job = muster.start("--nproc-per-node=8", "--hang-report=0", "--", sys.executable, "-c", SERVER, "new", answer)
    job.out.wait_for("listening")

    verdict = json.loads(muster.run("stacks", f"--job={job.guard()}", "--json").out.text)["verdict"]

    assert verdict[0].endswith("for rank 7"), verdict
    job.signal(signal.SIGTERM)
    assert job.end() == 143


def addresses_of(muster, *options, env=None):
    words = "import os; print(os.environ.get('NCCL_RAS_ADDR'))"
    ended = muster.run("--nproc-per-node=2", "--prefix=never", *options, "--", sys.executable, "-c", words, env=env)
    assert ended.code == 0, ended.words()
    return ended.out.text.split()


def test_the_workers_of_a_node_have_one_port_that_is_free(muster):
    one, other = addresses_of(muster)
    assert one == other
    host, port = one.rsplit(":", 1)
    assert host == "127.0.0.1"
    with socket.socket() as free:
        free.bind((host, int(port)))


@pytest.mark.parametrize(
    ("variables", "address"),
    [({"NCCL_RAS_ADDR": "localhost:7"}, "localhost:7"), ({"NCCL_RAS_ENABLE": "0"}, "None")],
)
def test_the_user_chooses_the_address_or_none(muster, variables, address):
    assert addresses_of(muster, env=variables) == [address] * 2


def test_other_modes_without_accelerators_have_no_address(muster):
    assert set(addresses_of(muster, "--mode=msrun")) == {"None"}

"""NCCL is asked what it knows of the ranks where a person wishes it, and never else (docs/hangs.md). Rank 0 is a server
in its place."""

import json
import signal
import socket
import sys
import time
from pathlib import Path

import pytest

from support.deadlines import wait_until

ANSWERS = Path(__file__).parents[1] / "unit" / "hang" / "data" / "nccl_ras"

# Speaks NCCL's protocol line by line, and prints what it was asked. Binds as NCCL does, and maps a file as its library.
SERVER = """
import mmap, os, signal, socket, sys, threading

kind, library, answer = sys.argv[1:]
with open(library, "rb") as file:
    mapped = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)

def serve():
    host, port = os.environ["NCCL_RAS_ADDR"].rsplit(":", 1)
    server = socket.socket()
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    server.bind((host, int(port)))
    server.listen()
    print("listening", flush=True)
    while True:
        client, _ = server.accept()
        print("asked by a connection", flush=True)
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

if os.environ["RANK"] == "0":
    threading.Thread(target=serve, daemon=True).start()
if os.environ["RANK"] == "1" and kind == "hangs":
    os.kill(os.getpid(), signal.SIGSTOP)
signal.pause()
"""

GREETING = ["by a connection", "CLIENT PROTOCOL 2", "TIMEOUT 1", "SET FORMAT json"]
ASKED = [*GREETING, "VERBOSE STATUS"]
SOUND = "2.29.3"


def asked_of(job):
    return [line.split("asked ", 1)[1] for line in job.out.lines if "asked " in line]


@pytest.fixture
def start(muster, tmp_path):
    """Starts a job whose rank 0 is NCCL of a version, as a wheel has it; "": its library is of no wheel."""

    def start_server(kind, *options, version=SOUND, answer="behind.json.txt"):
        library = tmp_path / "site-packages/nvidia/nccl/lib/libnccl.so.2"
        library.parent.mkdir(parents=True)
        library.write_bytes(bytes(4096))
        if version:
            (tmp_path / f"site-packages/nvidia_nccl_cu12-{version}.dist-info").mkdir()
        options = options or ("--nproc-per-node=2", "--hang-report=0")
        options = (*options, "--hang-ask=stacks,py-spy,recorder,nccl")
        job = muster.start(*options, "--", sys.executable, "-c", SERVER, kind, library, ANSWERS / answer)
        job.out.wait_for("listening")
        return job

    return start_server


@pytest.fixture
def stacks(muster):
    """The answer of `muster stacks` about a job."""

    def ask(job, *options):
        told = muster.run("stacks", f"--job={job.guard()}", "--json", *options)
        assert told.code == 0, told.words()
        return json.loads(told.out.text)

    return ask


def end(job):
    job.signal(signal.SIGTERM)
    assert job.end() == 143


def test_a_job_that_hangs_asks_nothing_of_nccl_by_itself(start, stacks):
    job = start("hangs", "--nproc-per-node=4", "--hang-report=1")
    job.err.wait_for("muster: rank 1 (")
    without = stacks(job)

    assert "nccl" not in without
    assert asked_of(job) == []
    end(job)


@pytest.mark.parametrize(
    ("version", "careful", "always"),
    [
        (SOUND, "NCCL 2.29.3 was asked", "NCCL 2.29.3 was asked"),
        ("2.28.9", "NCCL 2.28.9 is not asked: it reads wrong memory", "NCCL 2.28.9 was asked"),
        ("2.30.7", "NCCL 2.30.7 is not asked: it may crash", "NCCL 2.30.7 was asked"),
        ("2.27.3", "NCCL 2.27.3 is not asked: it cannot answer in JSON", "NCCL 2.27.3 is not asked: it cannot"),
        ("", "NCCL is not asked: its version is not known", "NCCL was asked"),
    ],
)
def test_a_person_may_ask_nccl_of_a_sound_version_and_confirms_others(start, stacks, version, careful, always):
    job = start("new", version=version)

    assert stacks(job, "--ask-nccl")["nccl"].startswith(careful)
    asked = ASKED if "was asked" in careful else []
    wait_until(lambda: asked_of(job) == asked, "what NCCL was asked to be on the console")
    assert stacks(job, "--ask-nccl=yes")["nccl"].startswith(always)
    asked = asked + (ASKED if "was asked" in always else [])
    wait_until(lambda: asked_of(job) == asked, "what NCCL was asked then to be on the console")
    end(job)


@pytest.mark.parametrize("kind", ["old", "silent"])
def test_nccl_need_not_answer(start, stacks, kind):
    job = start(kind)
    begun = time.monotonic()
    document = stacks(job, "--ask-nccl")

    assert time.monotonic() - begun < 4
    assert sorted(rank for group in document["stacks"] for rank in group["ranks"]) == [0, 1]
    assert document["missing"] == 0
    assert document["nccl"] == "NCCL 2.29.3 was asked, and has not answered"
    wait_until(lambda: asked_of(job)[:4] == GREETING, "the questions to NCCL")
    assert "VERBOSE STATUS" not in asked_of(job), "it has not said that it writes JSON"
    end(job)


def test_the_rank_that_has_launched_fewer_collectives_is_named(muster, start, stacks):
    job = start("new", "--nproc-per-node=8", "--hang-report=0")

    verdict = stacks(job, "--ask-nccl")["verdict"]
    text = muster.run("stacks", f"--job={job.guard()}", "--ask-nccl").out.text

    assert verdict[0].endswith("for rank 7"), verdict
    assert text.endswith("\nNCCL 2.29.3 was asked\n")
    end(job)


def test_nccl_is_not_asked_in_a_job_that_was_started_without_its_variable(muster, stacks):
    words = "import signal; print('ready', flush=True); signal.pause()"
    job = muster.start("--nproc-per-node=2", "--hang-report=0", "--", sys.executable, "-c", words)
    job.out.wait_for("ready")

    assert stacks(job, "--ask-nccl=yes")["nccl"].startswith("NCCL is not asked: muster has given its workers no NCCL_RAS")
    end(job)


def test_another_value_is_refused(muster):
    told = muster.run("stacks", "--ask-nccl=no")
    assert told.code == 64
    assert "--ask-nccl is 'no', expected no value, or yes" in told.err.text


def addresses_of(muster, *options, env=None):
    words = "import os; print(os.environ.get('NCCL_RAS_ADDR'))"
    ended = muster.run("--nproc-per-node=2", "--prefix=never", *options, "--", sys.executable, "-c", words, env=env)
    assert ended.code == 0, ended.words()
    return ended.out.text.split()


def test_the_workers_of_a_node_have_one_port_that_is_free_if_that_is_wished(muster):
    one, other = addresses_of(muster, "--hang-ask=nccl")
    assert one == other
    host, port = one.rsplit(":", 1)
    assert host == "127.0.0.1"
    with socket.socket() as free:
        free.bind((host, int(port)))


def test_else_they_have_no_address(muster):
    assert set(addresses_of(muster)) == {"None"}


def test_an_address_of_the_user_stays(muster):
    assert addresses_of(muster, "--hang-ask=nccl", env={"NCCL_RAS_ADDR": "localhost:7"}) == ["localhost:7"] * 2

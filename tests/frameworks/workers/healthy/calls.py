"""Rank 0 is in calls that take long, while the others are in a barrier."""

import gc
import hashlib
import io
import json
import multiprocessing
import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
import zlib

from job import compute, while_others_wait

_CHUNK = 1 << 20


def _peer(job, request):
    """A connection to what is outside the job, a part of the test."""
    peer = socket.create_connection(("127.0.0.1", int((job.folder / "port").read_text())))
    peer.sendall(request)
    return peer


def _state():
    import torch

    return {str(number): torch.zeros(1 << 18) for number in range(4)}


@while_others_wait
def upload(job):
    with _peer(job, b"up") as peer:
        while job.goes_on():
            peer.sendall(bytes(8 * _CHUNK))


@while_others_wait
def download(job):
    with _peer(job, b"dn") as peer:
        while job.goes_on():
            peer.recv(_CHUNK)


@while_others_wait
def checkpoint_to_object_store(job):
    import torch

    with _peer(job, b"ck") as peer:
        while job.goes_on():
            whole = io.BytesIO()
            torch.save(_state(), whole)
            for part in range(len(whole.getbuffer()) // _CHUNK):
                peer.sendall(whole.getbuffer()[part * _CHUNK : (part + 1) * _CHUNK])
                peer.recv(1, socket.MSG_WAITALL)


@while_others_wait
def checkpoint_to_slow_disk(job):
    """The pipe's reader takes half a megabyte a second."""
    with open(job.folder / "slow", "wb", buffering=0) as file:
        while job.goes_on():
            file.write(bytes(_CHUNK))


@while_others_wait
def checkpoint_in_pieces(job):
    """A file system with a limit for each writer makes it pause."""
    with open(job.folder / "pieces", "wb", buffering=0) as file:
        while job.goes_on():
            file.seek(0)
            file.write(bytes(1 << 16))
            time.sleep(0.2)


@while_others_wait
def slow_fsync(job):
    with open(job.folder / "synced", "wb", buffering=0) as file:
        while job.goes_on():
            file.write(bytes(4096))
            os.fsync(file.fileno())
            time.sleep(0.02)


@while_others_wait
def sqlite_query(job):
    """One call of C without Python's lock."""
    base = sqlite3.connect(":memory:", check_same_thread=False)
    threading.Timer(job.left(), base.interrupt).start()
    try:
        base.execute("with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n").fetchone()
    except sqlite3.OperationalError:
        assert not job.goes_on()


@while_others_wait
def matmul(job):
    """Calls of C, each of which takes longer than the limit."""
    import numpy

    began = time.monotonic()
    small = numpy.ones((1000, 1000))
    small @ small
    size = int(1000 * min(8, (job.long / (time.monotonic() - began)) ** (1 / 3)))
    large = numpy.ones((size, size))
    while job.goes_on():
        large @ large


@while_others_wait
def sort(job):
    import numpy

    values = numpy.random.default_rng(0).random(30_000_000)
    while job.goes_on():
        numpy.argsort(values, kind="stable")


@while_others_wait
def compress(job):
    data = os.urandom(1 << 14) * 16384
    while job.goes_on():
        zlib.compress(data, 9)


@while_others_wait
def json_dumps(job):
    """One call of C that holds Python's lock."""
    document = [{"key": number, "value": [str(number)] * 20} for number in range(300_000)]
    while job.goes_on():
        json.dumps(document)


@while_others_wait
def collect_garbage(job):
    document = [[number] for number in range(5_000_000)]
    while job.goes_on():
        gc.collect()
    del document


@while_others_wait
def sha256_with_pauses(job):
    data = bytes(64 * _CHUNK)
    while job.goes_on():
        hashlib.sha256(data).digest()
        time.sleep(0.5)


@while_others_wait
def tokenize(job):
    text = "the quick brown fox's 12 jumps, over: the lazy dog! " * 20
    vocabulary, pairs = {}, re.compile(r"\w+|[^\w\s]")
    while job.goes_on():
        for word in pairs.findall(text):
            vocabulary.setdefault(word, len(vocabulary))


@while_others_wait
def tokenize_in_processes(job):
    with multiprocessing.get_context("fork").Pool(2) as pool:
        pool.map(compute, [job.left()] * 2)


@while_others_wait
def subprocess_that_computes(job):
    code = "import sys, time\nend = time.monotonic() + float(sys.argv[1])\nwhile time.monotonic() < end: pass"
    subprocess.run([sys.executable, "-c", code, str(job.left())], check=True)


@while_others_wait
def subprocess_that_waits(job):
    subprocess.run(["sleep", str(job.left())], check=True)


@while_others_wait
def subprocess_that_is_polled(job):
    with subprocess.Popen(["sleep", str(job.left())]) as child:
        while child.poll() is None:
            time.sleep(4)


@while_others_wait
def lines_of_a_subprocess(job):
    with subprocess.Popen(["sh", "-c", f"sleep {job.left()}; echo done"], stdout=subprocess.PIPE) as child:
        for _line in child.stdout:
            pass


@while_others_wait
def message_of_a_child(job):
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    child = context.Process(target=lambda: (time.sleep(job.left()), theirs.send(1)))
    child.start()
    ours.recv()
    child.join()


@while_others_wait
def pool_that_waits(job):
    with multiprocessing.get_context("fork").Pool(2) as pool:
        pool.map(time.sleep, [job.left()] * 2)


@while_others_wait
def wait_for_a_signal(job):
    """Such as the notice of a spot machine."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
    timer = threading.Timer(job.left(), os.kill, [os.getpid(), signal.SIGUSR1])
    timer.start()
    signal.sigwait([signal.SIGUSR1])
    timer.join()


@while_others_wait
def thread_that_computes(job):
    """The main thread waits for a signal of it."""
    signal.signal(signal.SIGUSR1, lambda *_: None)

    def work():
        compute(job.left())
        os.kill(os.getpid(), signal.SIGUSR1)

    thread = threading.Thread(target=work)
    thread.start()
    signal.pause()
    thread.join()


@while_others_wait
def thread_that_is_polled(job):
    thread = threading.Thread(target=compute, args=[job.left()])
    thread.start()
    while thread.is_alive():
        time.sleep(4)


@while_others_wait
def look_every_few_seconds(job):
    while job.goes_on():
        time.sleep(3)


@while_others_wait
def read_mapped_file(job):
    import numpy

    with open(job.folder / "mapped", "wb") as file:
        file.truncate(1 << 28)
    while job.goes_on():
        numpy.memmap(job.folder / "mapped", mode="r").sum()


@while_others_wait
def retry_with_pauses(job):
    """The server that it wants to reach is not up yet."""
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        while job.goes_on():
            try:
                socket.create_connection(closed.getsockname()).close()
            except ConnectionRefusedError:
                time.sleep(1)


def _read_line_later(job, reader, writer):
    """A line comes at the end."""
    os.dup2(reader, 0)
    sys.stdin = open(0, encoding="utf-8")
    timer = threading.Timer(job.left(), os.write, [writer, b"\n"])
    timer.start()
    input()
    timer.join()


@while_others_wait
def terminal_input(job):
    """A person who debugs rank 0 has not typed anything yet."""
    terminal, typing = os.openpty()[::-1]
    _read_line_later(job, terminal, typing)


@while_others_wait
def piped_input(job):
    _read_line_later(job, *os.pipe())


@while_others_wait
def evaluate(job):
    import torch

    model = torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.GELU(), torch.nn.LayerNorm(512))
    with torch.no_grad():
        while job.goes_on():
            model(torch.randn(64, 512)).mean().item()


@while_others_wait
def evaluate_in_one_function(job):
    """Rank 0 calls no function of Python, and is at the same line at most looks."""
    total = 0
    while job.goes_on():
        for number in range(1_000_000):
            total += number * number % 7


@while_others_wait
def compile_models(job):
    import torch

    number = 0
    while job.goes_on():
        number += 1
        torch._dynamo.reset()
        torch.compile(lambda x, number=number: (x.sin() * number + x.cos() ** 2).sum())(torch.ones(32 + number))


@while_others_wait
def warm_up(job):
    compute(job.left())

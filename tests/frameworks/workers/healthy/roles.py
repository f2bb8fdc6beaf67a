"""Ranks with different work, which do not wait for each other by collectives."""

import fcntl
import importlib.util
import os
import socket
import subprocess
import sys
import time

from job import compute


def _wait_for_file(path):
    while not path.exists():
        time.sleep(0.5)


def _accept(job, name):
    """One connection to the socket of that name."""
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(job.folder / f"{name}.new"))
        server.listen()
        os.rename(job.folder / f"{name}.new", job.folder / name)
        return server.accept()[0]


def _connect(job, name):
    _wait_for_file(job.folder / name)
    peer = socket.socket(socket.AF_UNIX)
    peer.connect(str(job.folder / name))
    return peer


def pipeline_by_sockets(job):
    """Each rank gives the next one what it has computed; the first computes longer than the limit."""
    before = _accept(job, f"stage-{job.rank}") if job.rank > 0 else None
    after = _connect(job, f"stage-{job.rank + 1}") if job.rank + 1 < job.world else None
    job.begin()
    while job.goes_on() if before is None else before.recv(1):
        compute(min(job.long, job.left()) if before is None else 0.1)
        if after is not None:
            after.sendall(b"x")
    if after is not None:
        after.close()


def others_wait_for_a_lock(job):
    """One rank of a host fetches the data, the others take the lock after it."""
    job.begin()
    if job.rank > 0:
        _wait_for_file(job.folder / "lock")
    with open(job.folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if job.rank == 0:
            compute(job.left())


def others_wait_for_a_file(job):
    job.begin()
    if job.rank == 0:
        compute(job.left())
        (job.folder / "done").touch()
    _wait_for_file(job.folder / "done")


def trainer_evaluator_and_server(job):
    """The trainer works, the evaluator waits for its checkpoint, and the server for requests."""
    job.begin()
    checkpoint = job.folder / "checkpoint"
    if job.rank == 0:
        compute(job.left())
        checkpoint.touch()
    elif job.rank == 1:
        _wait_for_file(checkpoint)
    else:
        with socket.create_server(("127.0.0.1", 0)) as server:
            server.settimeout(job.left())
            try:
                server.accept()
            except TimeoutError:
                pass


class _SlowPlace:
    """Finds modules in a folder, each of which takes a while to open."""

    def __init__(self, folder):
        self._folder = folder

    def find_spec(self, name, _path=None, _target=None):
        file = self._folder / f"{name}.py"
        if not name.startswith("slow_"):
            return None
        time.sleep(0.3)
        return importlib.util.spec_from_file_location(name, file)


def slow_imports(job):
    """Before the ranks meet, all of them import; rank 0 has more to import."""
    folder = job.folder / f"modules-{job.rank}"
    folder.mkdir()
    sys.meta_path.insert(0, _SlowPlace(folder))
    job.begin()
    number = 0
    while job.left() > (0 if job.rank == 0 else job.limit):
        (folder / f"slow_{number}.py").write_text(f"VALUE = {number}\n")
        importlib.import_module(f"slow_{number}")
        number += 1
    job.join()
    job.distributed.barrier()


def one_has_done_its_part(job):
    """The last rank ends; of the others, which meet in a group of their own, one waits for its subprocess."""
    job.join()
    group = job.distributed.new_group(list(range(job.world - 1)))
    job.distributed.barrier()
    job.begin()
    (job.folder / f"out-{job.rank}").touch()  # of the barrier, which would fail if one ended meanwhile
    if job.rank == job.world - 1:
        for rank in range(job.world):
            _wait_for_file(job.folder / f"out-{rank}")
        os._exit(0)  # at once, as a program without an exit handler does
    if job.rank == 0:
        subprocess.run(["sleep", str(job.left())], check=True)
    job.distributed.barrier(group=group)
    job.distributed = None  # nobody meets all others any more

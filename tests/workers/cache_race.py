"""Compiles and loads one library in each round, as Inductor does for CPUs: the source under a name of its content, the library in its place
under a lock, and no build where it is there. Prints the rounds that failed.

usage: cache_race.py ROUNDS PROCESSES NUMBER FILE    FILE: shared by the PROCESSES, for meeting before each round
"""

import ctypes
import fcntl
import mmap
import os
import pathlib
import struct
import subprocess
import sys

rounds, processes, number = map(int, sys.argv[1:4])
number += int(os.environ["LOCAL_RANK"])
folder = pathlib.Path(os.environ["TORCHINDUCTOR_CACHE_DIR"])
(folder / "locks").mkdir(parents=True, exist_ok=True)
with open(sys.argv[4], "r+b") as file:
    met = mmap.mmap(file.fileno(), 4 * processes)


def meet(count):
    struct.pack_into("i", met, 4 * number, count)
    while min(struct.unpack_from(f"{processes}i", met)) < count:
        os.sched_yield()


def build(name, answer):
    source, library = folder / f"{name}.c", folder / f"{name}.so"
    if not source.exists():
        own = folder / f".{name}.{number}.tmp"
        own.write_text(f"char as_large_as_an_extension[8 << 20] = {{1}};\nint answer(void) {{ return {answer}; }}\n")
        own.rename(source)
    with open(folder / "locks" / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not library.exists():
            subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True, capture_output=True)
    return library


for count in range(1, rounds + 1):
    meet(count)
    (folder / f"round{count - 1}.so").unlink(missing_ok=True)  # all have it
    try:
        assert ctypes.CDLL(build(f"round{count}", count)).answer() == count
    except (OSError, subprocess.CalledProcessError, AttributeError) as failure:
        print(f"failed {count} {failure}", flush=True)

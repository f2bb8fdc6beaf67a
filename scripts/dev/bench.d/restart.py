"""How long a restart takes until all ranks run again: each imports torch, with and without standbys, beside torchrun."""

import os
import re
import statistics
import subprocess
import sys
import time

from contenders import environment
from tables import milliseconds

RANKS = 4
ROUNDS = 3
PROGRAM = """
import os, pathlib, sys, time
import torch
folder, rank = pathlib.Path(sys.argv[1]), os.environ["RANK"]
attempt = os.environ["TORCHELASTIC_RESTART_COUNT"]
stamp = "%r %r" % (time.monotonic(), time.process_time())
folder.joinpath("up-%s-%s" % (attempt, rank)).write_text(stamp)
while attempt == "0":
    if rank == "0" and folder.joinpath("go").exists():
        folder.joinpath("crash").write_text(repr(time.monotonic()))
        sys.exit(3)
    time.sleep(0.01)
"""


def measure(options, contenders, report):
    """Needs a torchrun: its Python has torch."""
    del contenders
    if not options.torchrun:
        report.note("restart: not measured, since no --torchrun was given")
        return
    python = options.torchrun.resolve().parent / "python3"
    program = options.scratch / "restart.py"
    program.write_text(PROGRAM)
    muster = [options.muster, "torchrun", "--nproc-per-node", RANKS, "--max-restarts", 1]
    commands = {
        "muster --standby auto": [*muster, "--standby", "auto", "--standby-after", 1, program],
        "muster": [*muster, program],
        "torchrun": [options.torchrun, "--nproc-per-node", RANKS, "--max-restarts", 1, program],
    }
    found = {name: [] for name in commands}
    for number in range(ROUNDS):
        for name, command in commands.items():
            folder = options.scratch / f"{number}-{len(found[name])}-{name.replace(' ', '')}"
            folder.mkdir()
            found[name].append(one_restart([*map(str, command), str(folder)], folder, python, "standby" in name))
    ours = statistics.median(seconds for seconds, _ in found["muster --standby auto"])
    cpu = statistics.median(cpu for _, cpu in found["muster --standby auto"])
    rows = [
        [
            name,
            milliseconds(statistics.median(seconds for seconds, _ in times)),
            f"{statistics.median(seconds for seconds, _ in times) / ours:.1f} x",
            milliseconds(statistics.median(cpu for _, cpu in times)),
        ]
        for name, times in found.items()
    ]
    header = ["launcher", "from the crash to the last rank", "ratio", "CPU of a rank after the order"]
    report.table(f"Restart of {RANKS} ranks that import torch", header, rows)
    report.judge("restart from standbys, wall time", ours * 1000, 500, "ms")
    report.judge("CPU of a rank after the order", cpu * 1000, 200, "ms")


def one_restart(command, folder, python, has_standbys):
    """Seconds from the crash of rank 0 until the last rank has torch again, and the most CPU that one has used for that."""
    path = f"{python.parent}:{os.environ['PATH']}"
    job = subprocess.Popen(
        command, env={**environment(), "PATH": path}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    wait_for(job, lambda: len(list(folder.glob("up-0-*"))) == RANKS)
    before = {}
    if has_standbys:
        for line in job.stderr:
            if re.search("can restart without importing", line):
                break
        before = {rank: cpu_of_standby(job.pid, rank) for rank in range(RANKS)}
    (folder / "go").touch()
    job.communicate(timeout=300)
    crashed = float((folder / "crash").read_text())
    stamps = {rank: (folder / f"up-1-{rank}").read_text().split() for rank in range(RANKS)}
    last = max(float(at) for at, _ in stamps.values())
    return last - crashed, max(float(cpu) - before.get(rank, 0) for rank, (_, cpu) in stamps.items())


def cpu_of_standby(guard, rank):
    """CPU seconds of the standby of that rank."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", encoding="utf-8", errors="replace") as file:
                variables = file.read().split("\0")
            with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
                fields = file.read().rsplit(")", 1)[1].split()
        except OSError:
            continue
        is_ours = any(one.startswith("_MUSTER_STANDBY=stand_by") for one in variables) and descends_from(pid, guard)
        if is_ours and f"RANK={rank}" in variables:
            return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return 0


def descends_from(pid, ancestor):
    while int(pid) > 1:
        if int(pid) == ancestor:
            return True
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            pid = file.read().rsplit(")", 1)[1].split()[1]
    return False


def wait_for(job, happened):
    end = time.monotonic() + 300
    while not happened():
        if job.poll() is not None or time.monotonic() > end:
            sys.exit(f"bench: {job.args} did not get there")
        time.sleep(0.02)

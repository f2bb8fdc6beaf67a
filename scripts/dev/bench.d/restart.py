"""How long a restart takes until all ranks run again: each imports torch, with and without standbys, beside torchrun; and
what it costs a job that uses all CPUs when its standbys are made."""

import os
import re
import statistics
import subprocess
import sys
import time

from contenders import environment
from tables import milliseconds

RANKS = 8
ROUNDS = 3
PROGRAM = """
import os, pathlib, signal, sys, time
import torch
folder, rank = pathlib.Path(sys.argv[1]), os.environ["RANK"]
attempt = os.environ["TORCHELASTIC_RESTART_COUNT"]
stamp = "%r %r" % (time.monotonic(), time.process_time())
folder.joinpath("up-%s-%s" % (attempt, rank)).write_text(stamp)
while attempt == "0":
    if rank == "0" and folder.joinpath("go").exists():
        folder.joinpath("crash").write_text(repr(time.monotonic()))
        os.kill(os.getpid(), signal.SIGKILL)  # by sys.exit, Python takes another 0.7 s to end, under each launcher
    time.sleep(0.01)
"""

PAIRS = 30
TRAINS = """
import os, time
import torch
import torch.distributed as dist
dist.init_process_group("gloo")
torch.set_num_threads(1)
model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.Tanh(), torch.nn.Linear(512, 256))
model = torch.nn.parallel.DistributedDataParallel(model)
optimizer = torch.optim.SGD(model.parameters(), 0.01)
given = torch.randn(64, 256)
def steps_until(end):
    steps = 0
    is_over = torch.zeros(1)
    while not is_over:
        for _ in range(20):
            optimizer.zero_grad()
            model(given).square().mean().backward()
            optimizer.step()
        steps += 20
        is_over[0] = time.monotonic() > end
        dist.broadcast(is_over, 0)
    return steps
steps_until(time.monotonic() + 2.5)  # until the first standby is being made
began = time.monotonic()
steps = steps_until(began + 6)
if dist.get_rank() == 0:
    print("rate", steps / (time.monotonic() - began), flush=True)
os._exit(0)
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
    report.table(*steps_while_standbys_are_made(options, python, muster))


def steps_while_standbys_are_made(options, python, muster):
    """The table of a job of two ranks on gloo, by pairs of jobs whose order alternates."""
    program = options.scratch / "trains.py"
    program.write_text(TRAINS)
    command = [*map(str, muster[:2]), "--nproc-per-node=2", "--max-restarts=1"]
    ways = {"made": ["--standby=torch", "--standby-after=1"], "none": []}
    rates = {way: [] for way in ways}
    path = f"{python.parent}:{os.environ['PATH']}"
    for number in range(PAIRS):
        for way in sorted(ways, reverse=number % 2 == 0):
            job = subprocess.run([*command, *ways[way], str(program)], env={**environment(), "PATH": path}, capture_output=True, text=True)
            rates[way].append(float(re.search(r"rate ([\d.]+)", job.stdout)[1]))
    ratios = sorted(made / none for made, none in zip(rates["made"], rates["none"]))
    row = [*(f"{statistics.median(rates[way]):.0f}" for way in ("none", "made")), f"{statistics.median(ratios):.2f}"]
    row.append(f"{ratios[PAIRS // 4]:.2f} to {ratios[-PAIRS // 4]:.2f}")
    header = ["without", "while standbys are made", "ratio", "middle half of the pairs"]
    return f"Steps a second of two ranks on gloo, {PAIRS} pairs", header, [row]


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

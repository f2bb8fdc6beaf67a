"""Start time of MPI jobs: on hosts of one rank each, beside mpirun by ssh and srun; and many ranks on one.

Cost of messages once they have started, by mpi4py.bench, beside plain mpirun.

Hosts are containers (scripts/dev/hosts --apart). Where a command is needed it waits, all are let go at once, and the
time is that until the last has ended. Needs root.
"""

import contextlib
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time

from contenders import environment
from tables import milliseconds

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path += [str(ROOT / "tests"), str(ROOT / "tests" / "hosts")]

from hosts import Hosts  # noqa: E402  its folder has to be known first
from support.mpi import WAYS, token_of  # noqa: E402
from support.slurm import Slurm  # noqa: E402
from support.ssh import Ssh  # noqa: E402

HOSTS = (4, 16, 64)
PLAIN = "mpirun by ssh"
TRUE, MPI = "/bin/true", "MPI program"
TARGETS = {(64, TRUE): 0.93, (64, MPI): 3.3}  # seconds, of the way pmix
PORT = 29500
TOKEN = "0123456789abcdef0123456789abcdef"  # without one, other nodes are asked for nothing but ranks
RANKS = 64  # on one host
ONE_HOST_TARGET = 0.1  # seconds
ONE_HOST_RUNS = {"muster": 100, "mpirun": 10, "Hydra": 10}
BENCH = ["/usr/bin/python3", "-B", "-m", "mpi4py.bench"]
RINGS = {"1 B": ["-n", "1", "-s", "100", "-l", "5000"], "1 MiB": ["-n", str(1 << 20), "-s", "5", "-l", "200"]}
PLACES = ((1, 2), (2, 1))  # hosts, and ranks on each: a core for every rank, since they poll
HANGS = 10  # seconds after which a run is one that does not end
WAIT = 'echo here; read go; exec "$@" </dev/null'


def measure(options, _contenders, report):
    """All hosts share one table of neighbours: by default it is full at 1,024, and connections hang."""
    if os.geteuid() != 0:
        report.note("Hosts need root: MPI is left out.")
        return
    program = options.scratch / "init_thread"
    source = ROOT / "tests" / "workers" / "mpi" / "init_thread.c"
    subprocess.run(["mpicc.openmpi", "-O2", "-o", program, source], check=True)
    programs = {TRUE: [TRUE], MPI: [str(program)]}
    with room_for_neighbours():
        measure_hosts(options, programs, report)
    measure_messages(options, report)
    measure_one_host(options, report)


def measure_hosts(options, programs, report):
    for count in HOSTS:
        with Slurm(options.scratch / f"slurm-{count}", count) as slurm:
            with bench_hosts(options, count) as hosts, ssh_on(hosts, options.scratch / f"ssh-{count}", count) as ssh:
                starters = starters_of(options, hosts, ssh, slurm, count)
                report_hosts(options, report, count, programs, starters)


@contextlib.contextmanager
def room_for_neighbours():
    limits = [pathlib.Path(f"/proc/sys/net/ipv4/neigh/default/gc_thresh{i}") for i in (3, 2, 1)]
    before = [limit.read_text() for limit in limits]
    try:
        for limit in limits:
            limit.write_text("65536")
        yield
    finally:
        for limit, text in zip(limits, before):
            limit.write_text(text)


@contextlib.contextmanager
def bench_hosts(options, count):
    with Hosts(count, prefix=f"bench{os.getpid()}") as hosts:
        hosts.apart = options.scratch / "shm"
        yield hosts


@contextlib.contextmanager
def ssh_on(hosts, folder, count):
    """A server on each host, none of whose shells reads the files of this machine's user."""
    home = folder / "home"
    home.mkdir(parents=True)
    ssh = Ssh(hosts, folder, more=f"SetEnv HOME={home}\n")
    try:
        ssh.serve(*range(count))
        yield ssh
    finally:
        ssh.stop()


def starters_of(options, hosts, ssh, slurm, count, ranks=1):
    """{name: a function that makes, for a program, the command lines that are to be let go together}."""
    hostfile = options.scratch / f"hostfile-{count}"
    hostfile.write_text("".join(f"{hosts.name(i)} slots={ranks}\n" for i in range(count)))

    def muster(way):
        # env is there and gone in a millisecond.
        secret = ["env", *(f"{name}={text}" for name, text in token_of(way).items())]

        def commands(program):
            return [
                hosts.command(
                    *("exec", str(node), *secret, str(options.muster), f"--nnodes={count}"),
                    *(f"--node-rank={node}", f"--master-addr={hosts.address(0)}"),
                    *(f"--master-port={PORT}", f"--nproc-per-node={ranks}"),
                    *("--mode=mpirun", f"--mpi-start={way}", "--", *program),
                )
                for node in range(count)
            ]

        return commands

    def mpirun(program):
        by_ssh = ["--allow-run-as-root", "--mca", "plm_rsh_agent", ssh.shell()]
        placed = ["-np", str(count * ranks), "--hostfile", str(hostfile)]
        return [hosts.command("exec", "0", "mpirun.openmpi", *by_ssh, *placed, *program)]

    def srun(program):
        return [slurm.command("srun", "--mpi=pmix", f"-N{count}", f"-n{count}", *program)]

    ours = {f"muster, {way}": muster(way) for way in WAYS}
    theirs = {PLAIN: mpirun, "srun --mpi=pmix": srun} if slurm else {PLAIN: mpirun}
    return {**ours, **theirs}


def report_hosts(options, report, count, programs, starters):
    rows = []
    for what, program in programs.items():
        samples = {name: [] for name in starters}
        for _ in range(options.rounds):
            for name, commands in starters.items():
                said = count if what == MPI else 0
                samples[name].append(time_of(commands(program), options.slow_limit, said))
        rows += rows_of(count, what, samples, report)
    report.table(
        f"MPI: {count} hosts with one rank each, from the word to start until all has ended",
        ["hosts", "program", "launcher", "wall", "rounds", "target"],
        rows,
    )


def rows_of(count, what, samples, report):
    walls = {name: median(taken) for name, taken in samples.items()}
    for name, taken in samples.items():
        wall, target = walls[name], ""
        if name == "muster, pmix" and wall is not None:
            if (count, what) in TARGETS:
                target = report.judge(f"{what}, {count} hosts", wall, TARGETS[count, what], "s")
            if walls[PLAIN]:
                times = wall / walls[PLAIN]
                report.judge(f"{what}, {count} hosts, beside mpirun by ssh", times, 1)
        shown = "-" if wall is None else milliseconds(wall)
        yield [count, what, name, shown, remarks(taken), target]


def median(taken):
    measured = [sample for sample in taken if not isinstance(sample, str)]
    return statistics.median(measured) if measured else None


def remarks(taken):
    failures = [sample for sample in taken if isinstance(sample, str)]
    return f"{len(taken)}, of which {len(failures)} {failures[0]}" if failures else len(taken)


def time_of(commands, limit, ranks=0):
    """Seconds until all of these have ended with 0, or a sentence. As many ranks have to say that they met."""
    ended = run_together(commands, limit)
    if isinstance(ended, str):
        return ended
    seconds, said = ended
    met = len([line for line in said if f"of {ranks}: threads" in line])
    return seconds if met == ranks else f"failed: {met} ranks"


def run_together(commands, limit):
    """Seconds until all of these had ended with 0, and their lines; or a sentence."""
    read_end, write_end = os.pipe()
    waiting = [start_waiting(command, read_end) for command in commands]
    os.close(read_end)
    for process in waiting:
        assert process.stdout.readline() == "here\n", process.args
    began = time.monotonic()
    os.close(write_end)  # all of them go
    try:
        said = []
        for process in waiting:
            left = max(0.1, began + limit - time.monotonic())
            said += process.communicate(timeout=left)[0].splitlines()
        seconds = time.monotonic() - began
    except subprocess.TimeoutExpired:
        return f"did not end within {limit} s"
    finally:
        for process in waiting:
            process.kill()
            process.wait()
    codes = {process.returncode for process in waiting}
    return (seconds, said) if codes == {0} else f"failed: codes {codes}"


def start_waiting(command, stdin):
    """In the words of scripts/dev/hosts, and of Slurm's `on`, the command begins after the number of the host."""
    place = next(i for i, word in enumerate(command) if word == "exec" or word.endswith("/on")) + 2
    command = [*command[:place], "sh", "-c", WAIT, "sh", *command[place:]]
    return subprocess.Popen(
        command,
        env={**environment(), "MUSTER_TOKEN": TOKEN},
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


# --- Messages ------------------------------------------------------------------------------------


def measure_messages(options, report):
    rows = []
    for count, ranks in PLACES:
        folder = options.scratch / f"messages-{count}"
        with bench_hosts(options, count) as hosts, ssh_on(hosts, folder, count) as ssh:
            starters = starters_of(options, hosts, ssh, None, count, ranks)
            rows += rows_of_messages(options, count, ranks, starters)
    report.table(
        "MPI: python3 -m mpi4py.bench; of ringtest, once around",
        ["hosts", "ranks", "benchmark", *starters, f"muster, pmix / {PLAIN}"],
        rows,
    )


def rows_of_messages(options, count, ranks, starters):
    """Helloworld is measured from the word to start; a ring says itself how long it took."""
    benchmarks = {"helloworld": ["helloworld"]}
    benchmarks |= {f"ringtest, {size}": ["ringtest", *words] for size, words in RINGS.items()}
    for name, words in benchmarks.items():
        samples = {launcher: [] for launcher in starters}
        for _ in range(options.rounds):
            for launcher, commands in starters.items():
                ended = run_together(commands([*BENCH, *words]), options.slow_limit)
                samples[launcher].append(ended if isinstance(ended, str) else seconds_of(*ended))
        taken = {launcher: median(each) for launcher, each in samples.items()}
        shown = [brief(one) for one in taken.values()]
        ours, theirs = taken["muster, pmix"], taken[PLAIN]
        times = f"{ours / theirs:.2f}" if ours and theirs else "-"
        yield [count, count * ranks, name, *shown, times]


def brief(seconds):
    if seconds is None:
        return "-"
    return milliseconds(seconds) if seconds >= 0.01 else f"{seconds * 1e6:,.1f} µs"


def seconds_of(wall, lines):
    """As the benchmark says, else the wall time."""
    said = re.search(r"time for (\d+) loops = ([\d.e-]+) seconds", "\n".join(lines))
    return float(said[2]) / int(said[1]) if said else wall


# --- One host ------------------------------------------------------------------------------------


def measure_one_host(options, report):
    """Many ranks that end at once: where mpirun loses some of their ends and hangs."""
    count = str(RANKS)
    ours = ["--mode=mpirun", "--mpi-start=pmix", f"--nproc-per-node={count}"]
    commands = {
        "muster": [str(options.muster), *ours],
        "mpirun": ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-np", count],
        "Hydra": ["mpiexec.hydra", "-np", count],
    }
    rows = []
    with bench_hosts(options, 1) as hosts:
        for name, command in commands.items():
            runs = ONE_HOST_RUNS[name]
            there = hosts.command("exec", "0", *command, TRUE)
            taken = [time_of([there], HANGS) for _ in range(runs)]
            ended = len([sample for sample in taken if not isinstance(sample, str)])
            wall = median(taken)
            target = judge_one_host(report, wall, ended, runs) if name == "muster" else ""
            shown = "-" if wall is None else milliseconds(wall)
            rows.append([name, shown, f"{ended} of {runs}", target])
    report.table(
        f"MPI: {RANKS} ranks of {TRUE} on one host",
        ["launcher", "wall of those that end", f"ended within {HANGS} s", "target"],
        rows,
    )


def judge_one_host(report, wall, ended, runs):
    what = f"{RANKS} ranks on one host"
    report.judge(f"{what}, runs that end", ended, runs, "runs", at_least=True)
    return report.judge(what, wall or HANGS, ONE_HOST_TARGET, "s")

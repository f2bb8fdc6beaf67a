"""Launchers' reactions to equal faults: two hosts with two workers each, one fault a run.

Every host is a network namespace (scripts/dev/hosts, needs root). The workers only wait: whatever ends
them is the launcher's doing. Times begin with the fault. What has not happened when the limit is
over is "never"; a run in which that is so is not repeated.
"""

import os
import pathlib
import re
import signal
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, field

from contenders import environment

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests" / "hosts"))

from hosts import Hosts  # noqa: E402  its folder has to be known first

WORKER = ROOT / "scripts" / "dev" / "bench.d" / "fault_worker.py"
NODES = (0, 1)
WORKERS = 2  # on each node
PORT = 29500
QUIET = "-"


def launchers(options):
    """{name: a function that makes the command line of a node}."""

    def muster(node, address, restarts):
        return [
            *(str(options.muster), "--nnodes=2", f"--node-rank={node}"),
            *(f"--master-addr={address}", f"--master-port={PORT}"),
            *(f"--nproc-per-node={WORKERS}", f"--max-restarts={restarts}", "--"),
        ]

    def c10d(_node, address, restarts):
        return [
            *(str(options.torchrun), "--no-python", "--nnodes=2", "--rdzv-backend=c10d"),
            *("--rdzv-id=faults", f"--rdzv-endpoint={address}:{PORT}"),
            *(f"--nproc-per-node={WORKERS}", f"--max-restarts={restarts}"),
        ]

    def static(node, address, restarts):
        return [
            *(str(options.torchrun), "--no-python", "--nnodes=2", f"--node-rank={node}"),
            *(f"--master-addr={address}", f"--master-port={PORT}"),
            *(f"--nproc-per-node={WORKERS}", f"--max-restarts={restarts}"),
        ]

    if not options.torchrun:
        return {"muster": muster}
    return {"muster": muster, "torchrun c10d": c10d, "torchrun static": static}


class Job:
    """One job on two hosts, which are there for it alone."""

    def __init__(self, launcher, hosts, folder):
        self.launcher = launcher
        self.hosts = hosts
        self.folder = folder
        self.agents = {}
        self.started_at = {}
        folder.mkdir()

    def start(self, node, address=None, restarts=0):
        command = self.launcher(node, address or self.hosts.address(0), restarts)
        self.started_at[node] = time.monotonic()
        with (self.folder / f"agent-{node}").open("wb") as words:
            self.agents[node] = subprocess.Popen(
                self.hosts.command(
                    "exec", str(node), *command, sys.executable, str(WORKER), str(self.file)
                ),
                env=environment(),
                stdin=subprocess.DEVNULL,
                stdout=words,
                stderr=subprocess.STDOUT,
            )

    @property
    def file(self):
        return self.folder / "workers"

    def words(self, node):
        return (self.folder / f"agent-{node}").read_text(errors="replace")

    def workers(self, since=0.0):
        """{node: {local rank: (pid, when it started)}} of those that started after that moment."""
        found = {node: {} for node in NODES}
        lines = self.file.read_text().splitlines() if self.file.exists() else []
        for line in lines:
            at, host, rank, pid = line.split()
            if float(at) > since:
                node = int(host.rpartition("-h")[2])
                found[node][int(rank) % WORKERS] = (int(pid), float(at))
        return found

    def last_start(self, since=0.0):
        """When the last worker of all started, or None as long as some are missing."""
        found = self.workers(since)
        if any(len(found[node]) < WORKERS for node in NODES):
            return None
        return max(at for node in NODES for _, at in found[node].values())

    def has_ended(self):
        return all(agent.poll() is not None for agent in self.agents.values())

    def wait_for_start(self, seconds):
        wait_for(lambda: self.last_start() or self.has_ended() or None, seconds)
        if self.last_start() is None:
            codes = [agent.poll() for agent in self.agents.values()]
            words = "\n".join(self.words(node)[-2000:] for node in self.agents)
            raise SystemExit(f"bench: the workers did not start (codes {codes}):\n{words}")


@dataclass
class Seen:
    """Outcome of a fault: seconds after it, by event; an event without an entry never happened."""

    seconds: dict = field(default_factory=dict)
    codes: dict = field(default_factory=dict)
    named: str = QUIET


def watch(job, fault, at, limit):
    """Watches workers and agents until all are gone or the limit is over."""
    workers = {
        node: [pid for pid, _ in of_node.values()] for node, of_node in job.workers().items()
    }
    seen = Seen()
    while len(seen.seconds) < 2 * len(NODES) and time.monotonic() < at + limit:
        for node in NODES:
            if not any(is_alive(pid) for pid in workers[node]):
                seen.seconds.setdefault(f"workers {node}", time.monotonic() - at)
            if job.agents[node].poll() is not None:
                seen.seconds.setdefault(f"agent {node}", time.monotonic() - at)
                seen.codes[node] = job.agents[node].returncode
        time.sleep(0.002)
    if fault.names and 0 in seen.codes:
        seen.named = named_by(job.words(0))
    return seen


def named_by(words):
    """The first failure, in the words of node 0."""
    failed = re.search(r"rank (\d+) failed first", words)
    if failed is None:
        failed = re.search(r"Root Cause .*?rank +: (\d+)", words, re.DOTALL)
    if failed is not None:
        return f"rank {failed[1]}"
    lost = re.search(r"^muster: .*?(node \d+), .*?(?:lost|silent|closed)", words, re.MULTILINE)
    if lost is not None:
        return lost[1]
    error = r"^(?:\[\w+\]: *)?([\w.]+(?:Error|Exception|Timeout))\b"
    errors = re.findall(error, words, re.MULTILINE)
    return f"`{errors[-1].rpartition('.')[2]}`" if errors else "nobody"


def is_alive(pid):
    try:
        text = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return text.rpartition(")")[2].split()[0] not in "ZX"


def wait_for(happened, seconds):
    deadline = time.monotonic() + seconds
    while (value := happened()) is None and time.monotonic() < deadline:
        time.sleep(0.002)
    return value


# --- The faults. Each function is given a job of which nothing runs, and returns what was seen. ---


def second_node_late(job, options, fault):
    return come_late(job, options, 0)


def first_node_late(job, options, fault):
    return come_late(job, options, 1)


def come_late(job, options, first):
    """One node comes later than the other; the time begins when it is started."""
    job.start(first)
    waited = run_until(time.monotonic() + options.late, job)
    at = time.monotonic()
    job.start(1 - first)
    return run_late(job, at, waited, options)


def name_late(job, options, fault):
    """Node 1 knows the leader by a name that does not exist for a while."""
    name = "leader.faults.test"
    job.start(0)
    job.start(1, address=name)
    waited = run_until(time.monotonic() + options.late, job)
    at = time.monotonic()
    # In place: it is what `ip netns exec` shows on the host as /etc/hosts.
    with open(f"/etc/netns/{job.hosts.name(1)}/hosts", "a") as file:
        file.write(f"{job.hosts.address(0)} {name}\n")
    return run_late(job, at, waited, options)


def run_late(job, at, waited, options):
    """Waits for all workers, or for both agents to give up."""
    seen = run_until(at + options.fault_limit, job, waited)
    started = job.last_start()
    if started is not None:
        return Seen({"all run": started - at})
    if 0 in seen.codes:
        seen.named = named_by(job.words(0))
    return seen


def run_until(deadline, job, seen=None):
    """Waits for a moment, or for all workers, and notes which agents ended how long after their
    own start."""
    seen = seen or Seen()
    while time.monotonic() < deadline and job.last_start() is None:
        for node, agent in job.agents.items():
            if node not in seen.codes and agent.poll() is not None:
                seen.seconds[f"agent {node}"] = time.monotonic() - job.started_at[node]
                seen.codes[node] = agent.returncode
        if len(seen.codes) == len(NODES):
            break
        time.sleep(0.002)
    return seen


def kill_worker(job, options, fault):
    start_both(job, options)
    pid, _ = job.workers()[1][1]
    return watch(job, fault, kill(pid), options.fault_limit)


def kill_agent_1(job, options, fault):
    start_both(job, options)
    return watch(job, fault, kill(job.agents[1].pid), options.fault_limit)


def kill_agent_0(job, options, fault):
    start_both(job, options)
    return watch(job, fault, kill(job.agents[0].pid), options.fault_limit)


def cut_the_link(job, options, fault):
    start_both(job, options)
    at = time.monotonic()
    link = ["ip", "-n", job.hosts.name(1), "link", "set", "eth0", "down"]
    subprocess.run(link, check=True)
    return watch(job, fault, at, options.fault_limit)


def restart(job, options, _fault):
    """The time is that of the last worker of the next attempt, on any node."""
    start_both(job, options, restarts=1)
    pid, _ = job.workers()[1][1]
    at = kill(pid)
    started = wait_for(lambda: job.last_start(since=at), options.fault_limit)
    return Seen() if started is None else Seen({"all run": started - at})


def start_both(job, options, restarts=0):
    for node in NODES:
        job.start(node, restarts=restarts)
    job.wait_for_start(options.slow_limit)
    time.sleep(1)  # agents that poll have seen that all is well


def kill(pid):
    at = time.monotonic()
    os.kill(pid, signal.SIGKILL)
    return at


@dataclass(frozen=True)
class Fault:
    title: str
    inflict: object
    ends_job: bool = True
    names: bool = True  # whether node 0 could say who it was


FAULTS = {
    "second-late": Fault("node 1 comes {late:g} s late", second_node_late, ends_job=False),
    "first-late": Fault("node 0 comes {late:g} s late", first_node_late, ends_job=False),
    "name-late": Fault("the leader's name appears after {late:g} s", name_late, ends_job=False),
    "worker": Fault("SIGKILL to rank 3, on node 1", kill_worker),
    "agent": Fault("SIGKILL to the agent of node 1", kill_agent_1),
    "link": Fault("the link of node 1 goes down", cut_the_link),
    "leader": Fault("SIGKILL to the agent of node 0", kill_agent_0, names=False),
    "restart": Fault("SIGKILL to rank 3, one restart allowed", restart, ends_job=False),
}


def measure(options, _contenders, report):
    rows = []
    for name, fault in FAULTS.items():
        if options.faults and name not in options.faults.split(","):
            continue
        rows += rows_of(name, fault, options)
    report.table(
        f"Faults on two hosts with {WORKERS} workers each",
        [
            *("fault", "launcher", "workers of node 0 gone", "of node 1"),
            *("agent of node 0 ended", "of node 1", "all workers run", "node 0 names", "runs"),
        ],
        rows,
    )


def rows_of(name, fault, options):
    for launcher_name, launcher in launchers(options).items():
        print(f"== bench: faults: {name}, {launcher_name}", flush=True)
        runs = []
        while len(runs) < options.fault_rounds:
            # A set of hosts for each run: whatever the last one left has nothing to do with it.
            with Hosts(len(NODES), prefix=f"bench{os.getpid()}") as hosts:
                number = len(list(options.scratch.iterdir()))
                job = Job(launcher, hosts, options.scratch / f"{number}-{name}")
                runs.append(fault.inflict(job, options, fault))
            for agent in job.agents.values():
                agent.wait()
            if is_slow(runs[-1], fault, options):
                break
        yield row_of(fault, launcher_name, runs, options)


def is_slow(run, fault, options):
    """True if one run is enough: something never happened, or the wait alone takes minutes."""
    expected = 2 * len(NODES) if fault.ends_job else 1
    happened = len(run.seconds) if fault.ends_job else int("all run" in run.seconds)
    return happened < expected or options.late > 10


def row_of(fault, launcher_name, runs, options):
    never = f"never ({options.fault_limit:g} s)"

    def cell(what, is_expected):
        values = [run.seconds[what] for run in runs if what in run.seconds]
        if not values:
            return never if is_expected else QUIET
        return seconds(statistics.median(values))

    def agent(node):
        text = cell(f"agent {node}", fault.ends_job)
        codes = sorted({run.codes[node] for run in runs if node in run.codes})
        return f"{text}, code {'/'.join(map(str, map(shown_code, codes)))}" if codes else text

    named = sorted({run.named for run in runs} - {QUIET})
    return [
        fault.title.format(late=options.late),
        launcher_name,
        *(cell(f"workers {node}", fault.ends_job) for node in NODES),
        *(agent(node) for node in NODES),
        cell("all run", not fault.ends_job),
        ", ".join(named) or (QUIET if not fault.ends_job or not fault.names else "nobody"),
        len(runs),
    ]


def shown_code(code):
    """As a shell shows it."""
    return 128 - code if code < 0 else code


def seconds(value):
    return f"{value * 1000:.0f} ms" if value < 1 else f"{value:.1f} s"

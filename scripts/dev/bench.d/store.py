"""The store by which ranks of PyTorch meet, beside the two servers of torch: the same clients come to each.

Muster's is that of a real job: a leader, and one simulated agent that says it has all the other workers. Torch's
look up the name of each client's address; here they find it in files, and no DNS server's time is in the figures.
"""

import contextlib
import json
import pathlib
import statistics
import subprocess
import sys
import threading

from contenders import Contender, environment, musters
from gang import python_of
from processes import cpu_seconds, descendants, kilobytes, run_measured
from tables import milliseconds

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests"))

from support.deadlines import wait_until  # noqa: E402  where it is has to be known first
from support.gang import free_port  # noqa: E402
from support.torch_store import Client  # noqa: E402
from support.wire import Peer, is_open, join  # noqa: E402

COUNTS = (64, 512, 2048, 8192)
LIBUV, LEGACY = "torch libuv", "torch legacy"
OPERATIONS = ("set", "get", "add", "wait", "compare_set")
# Operations of a few milliseconds are repeated: a round has their median.
LEAST_CLIENTS = 2048
CLIENTS_OF_LOAD = 8
SECONDS_OF_LOAD = "0.2"
LOADS = 5
LIMIT = 300
ONLY_FILES = (  # in a mount namespace of its own
    'echo "hosts: files" >"$0" && mount --bind "$0" /etc/nsswitch.conf && exec "$@"'
)


def measure(options, _contenders, report):
    report_start(options, report)
    clients = options.muster.parent / "tests" / "store_clients"
    python = python_of(options.torchrun)
    if not clients.exists():
        report.note(f"{clients} does not exist: the store is left out.")
        return
    servers = {one.name: MusterStore(one.arguments[0]) for one in musters(options)}
    if python is None:
        report.note("No torchrun was given: torch's servers are left out.")
    else:
        servers |= {LIBUV: TorchStore(python, "libuv", options), LEGACY: TorchStore(python, "legacy", options)}  # fmt: skip
    report_joins(servers, clients, options, report)
    report_operations(servers, clients, options, report)


class MusterStore:
    """The leader of a job of so many ranks, whose store listens at a port of its own."""

    def __init__(self, program):
        self.program = program

    @contextlib.contextmanager
    def serve(self, ranks):
        port, store_port = free_port(), free_port()
        command = [self.program, "--store=agent", "--nnodes=2", "--node-rank=0", "--restart-backoff=0"]  # fmt: skip
        command += ["--master-addr=127.0.0.1", f"--master-port={port}", "--nproc-per-node=1"]
        command += [f"--worker-port={store_port}"]
        with started([*command, "--", "/bin/sleep", "3600"]) as leader:
            wait_until(lambda: is_open(port), f"a leader on port {port}")
            with Peer(port) as peer:
                peer.say(join(mode=self.mode(), slots=ranks - 1, host="simulated"))
                peer.wait_for("start")
                with beating(peer):
                    yield store_port, lambda: store_process(leader.pid)

    def mode(self):
        done = subprocess.run(
            [self.program, "plan", "--json", "--nproc-per-node=1", "--", "true"],
            env=environment(), capture_output=True, check=True,
        )  # fmt: skip
        return json.loads(done.stdout)["mode"]


class TorchStore:
    def __init__(self, python, kind, options):
        self.kind = kind
        script = pathlib.Path(__file__).with_name("torch_store.py")
        self.command = ["unshare", "--map-root-user", "--mount", "sh", "-c", ONLY_FILES]
        self.command += [str(options.scratch / "nsswitch.conf"), python, "-B", str(script), kind]

    @contextlib.contextmanager
    def serve(self, _ranks):
        with started(self.command, stdout=subprocess.PIPE) as server:
            port = int(server.stdout.readline())
            yield port, lambda: server.pid


@contextlib.contextmanager
def started(command, **more):
    process = subprocess.Popen(
        command, env=environment(), stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, **more
    )
    try:
        yield process
    finally:
        process.terminate()
        with process:
            process.wait(timeout=60)


@contextlib.contextmanager
def beating(peer):
    """The simulated agent says that it lives, as others do."""
    over = threading.Event()

    def beat():
        while not over.wait(1):
            peer.say({"type": "beat"})

    thread = threading.Thread(target=beat)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def store_process(leader):
    name = "muster-store"
    return next(
        pid
        for pid in descendants(leader)
        if pathlib.Path(f"/proc/{pid}/comm").read_text().strip() == name
    )


# --- Joins ----------------------------------------------------------------------------------------


def report_joins(servers, clients, options, report):
    rows = []
    for count in COUNTS:
        samples = {name: [] for name in servers}
        for _ in range(options.rounds):
            for name, server in servers.items():
                samples[name].append(join_once(server, clients, count))
        medians = {name: medians_of(taken) for name, taken in samples.items()}
        rows += [row_of_joins(count, name, medians, report) for name in servers]
    report.table(
        "Clients of PyTorch's store that come at once",
        ["clients", "server", "all have arrived after", "× libuv", "target",
         "then all have read what one sets", "× libuv", "server's CPU", "its memory per client"],  # fmt: skip
        rows,
    )


def join_once(server, clients, count):
    with server.serve(count) as (port, pid_of):
        warm_up(port)
        pid = pid_of()
        times = max(1, LEAST_CLIENTS // count)
        return medians_of([figures_of_join(clients, port, pid, count) for _ in range(times)])


def warm_up(port):
    """The server's process is there then. Nobody arrives: to muster a rank would have."""
    with Client("127.0.0.1", port):  # which says its pid, and is answered
        pass


def figures_of_join(clients, port, pid, count):
    cpu, memory = cpu_seconds(pid), kilobytes(pid, "status", "RssAnon")
    command = [clients, str(port), "join", str(count)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        figures = json.loads(process.stdout.readline())
        figures["cpu_seconds"] = cpu_seconds(pid) - cpu
        figures["kilobytes"] = (kilobytes(pid, "status", "RssAnon") - memory) / count
        process.stdin.close()
    return figures


def row_of_joins(count, name, medians, report):
    figures, beside = medians[name], medians.get(LIBUV)
    joined = figures["join_seconds"] / beside["join_seconds"] if beside else None
    met = figures["meet_seconds"] / beside["meet_seconds"] if beside else None
    is_judged = joined and name == "muster"
    return [
        f"{count:,}",
        name,
        milliseconds(figures["join_seconds"]),
        f"{joined:.2f}" if joined else "",
        report.judge(f"store, {count:,} clients arrive", joined, 1, "× libuv") if is_judged else "",
        milliseconds(figures["meet_seconds"]),
        f"{met:.2f}" if met else "",
        milliseconds(figures["cpu_seconds"]),
        f"{figures['kilobytes']:.1f} KiB" if count == COUNTS[-1] else "",
    ]


def medians_of(taken):
    return {name: statistics.median(sample[name] for sample in taken) for name in taken[0]}


# --- Operations -----------------------------------------------------------------------------------


def report_operations(servers, clients, options, report):
    """All servers are there and take short turns: what else the machine does hits each of them."""
    samples = {name: [] for name in servers}
    with contextlib.ExitStack() as stack:
        ports = {name: stack.enter_context(one.serve(CLIENTS_OF_LOAD))[0] for name, one in servers.items()}
        for _ in range(options.rounds * LOADS):
            for name, port in ports.items():
                samples[name].append(load_once(clients, port))
    medians = {name: medians_of(taken) for name, taken in samples.items()}
    rows = []
    for operation in OPERATIONS:
        for name in servers:
            figure = medians[name][operation]
            times = figure / medians[LIBUV][operation] if LIBUV in medians else None
            rows.append([operation, name, f"{figure:,.0f}", f"{times:.2f}" if times else ""])
    report.table(
        f"Operations that {CLIENTS_OF_LOAD} clients of the store are answered in a second",
        ["operation", "server", "a second", "× libuv"],
        rows,
    )


def load_once(clients, port):
    command = [clients, str(port), "load", str(CLIENTS_OF_LOAD), SECONDS_OF_LOAD]
    done = subprocess.run(command, capture_output=True, check=True, timeout=LIMIT)
    return json.loads(done.stdout)


# --- Without torch --------------------------------------------------------------------------------


def report_start(options, report):
    """The cost of the store for a program that never uses it."""
    ways = ("worker", "agent")
    contenders = [
        Contender(way, (str(options.muster), f"--store={way}", "--nproc-per-node", "{n}", "--"))
        for way in ways
    ]
    walls = {way: [] for way in ways}
    for _ in range(options.rounds * 40):
        for one in contenders:
            command = [str(options.spawn_loop), "1", *one.command(1, "/bin/true")]
            walls[one.name].append(run_measured(command, options.slow_limit)["wall"])
    medians = {way: statistics.median(walls[way]) for way in ways}
    ratio = medians["agent"] / medians["worker"]
    report.table(
        "Starting one process of /bin/true with the store, and without",
        ["--store", "wall", "× without", "target"],
        [
            ["worker", milliseconds(medians["worker"]), "", ""],
            ["agent", milliseconds(medians["agent"]), f"{ratio:.2f}",
             report.judge("start with a store that nobody uses", ratio, 1.05)],
        ],  # fmt: skip
    )


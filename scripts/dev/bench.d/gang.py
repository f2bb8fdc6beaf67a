"""A gang of thousands: how long it takes to meet, to stop and to start again, and what its leader
costs. Simulated agents speak the real protocol to a real leader; torchrun's rendezvous beside it.
"""

import json
import pathlib
import re
import resource
import shutil
import statistics
import subprocess

import plots
from contenders import environment
from processes import run_measured

BESIDE_TORCHRUN = (2, 8, 32, 64, 128)
AGENTS = (100, 300, 1000, 2000, 4000, 10000)
JOIN_TARGETS = {1000: 1.0, 4000: 4.0, 10000: 10.0}  # seconds after the last one arrived
TLS_FACTOR = 3
RESTART_TARGETS = {1000: 5.0}  # seconds
NOTICE_TARGETS = {1000: 0.02, 10000: 0.1}  # seconds, plain
LINKS = ("plain", "TLS")
HOLD_SECONDS = "8"  # four heartbeats of each agent
# Nodes, bytes of each, who gets what; the one without is its yardstick.
EXCHANGES = ((10000, 0, False), (10000, 1024, False), (1000, 0, False), (1000, 1045, True))
EXCHANGE_FACTOR = 3
RANK_TABLE = (1000, 8)  # nodes, devices of each
RANK_TABLE_TARGET = 20.0  # seconds
PORT_OF_TORCHRUN = 31999  # below the ephemeral ports


def measure(options, _contenders, report):
    simulate = simulator_of(options.muster)
    if not simulate.exists():
        report.note(f"{simulate} does not exist: the gang is left out.")
        return
    counts = [count for count in AGENTS if has_descriptors(count, report)]
    samples = {(count, link): [] for count in counts for link in LINKS}
    other = {key: [] for key in samples if options.beside and key[0] in JOIN_TARGETS}
    for turn in range(options.rounds):
        for (count, link), taken in samples.items():
            if turn == 0 or count <= 2000 or turn < 3:
                taken.append(run_once(simulate, options, count, link))
                if (count, link) in other:
                    simulator = simulator_of(options.beside[0])
                    other[count, link].append(run_once(simulator, options, count, link))
    medians = {key: median_of(taken) for key, taken in samples.items()}
    report_times(medians, samples, report)
    report_costs(medians, report)
    if other:
        report_beside(medians, {key: median_of(taken) for key, taken in other.items()}, report)
    report_exchange(simulate, options, report)
    report_rank_table(simulate, options, report)
    beside_torchrun(simulate, options, report)
    if options.plot:
        options.plot.write_text(plot(medians))
        report.note(f"The plot is {options.plot}.")


def simulator_of(muster):
    """Each build's own: it speaks the protocol of its leader."""
    return muster.parent / "tests" / "simulate_agents"


def has_descriptors(count, report):
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    enough = hard == resource.RLIM_INFINITY or hard >= count + 100
    if not enough:
        report.note(f"{count:,} agents are left out: at most {hard} descriptors are allowed here.")
    return enough


def run_once(simulate, options, count, link, *more):
    muster = simulate.parent.parent / "muster"
    command = [simulate, "--muster", muster, "--agents", str(count), *more]
    command += [] if "--hold" in more else ["--hold", HOLD_SECONDS]
    encrypted = ["--encrypted"] if link == "TLS" else []
    done = subprocess.run(
        [*command, *encrypted], env=environment(), capture_output=True, text=True, timeout=300
    )
    if done.returncode != 0:
        raise SystemExit(f"bench: {count} simulated agents, {link}: {done.stderr[-2000:]}")
    return json.loads(done.stdout)


def median_of(taken):
    return {name: statistics.median(sample[name] for sample in taken) for name in taken[0]}


def report_times(medians, samples, report):
    rows = []
    for (count, link), figures in medians.items():
        factor = TLS_FACTOR if link == "TLS" else 1
        join = judge(report, f"join {count:,}, {link}", figures["join_seconds"],
                     JOIN_TARGETS.get(count), factor)  # fmt: skip
        notice = judge(report, f"notice {count:,}, {link}", figures["notice_seconds"],
                       NOTICE_TARGETS.get(count) if link == "plain" else None)  # fmt: skip
        restart = judge(report, f"restart {count:,}, {link}", figures["restart_seconds"],
                        RESTART_TARGETS.get(count))  # fmt: skip
        rows.append(
            [
                f"{count:,}",
                link,
                f"{figures['join_seconds']:.3f} s",
                join,
                f"{figures['notice_seconds']:.3f} s",
                notice,
                f"{figures['stop_seconds']:.3f} s",
                f"{figures['restart_seconds']:.3f} s",
                restart,
                f"{figures['join_cpu_seconds']:.2f} s",
                f"{figures['own_cpu_seconds']:.2f} s",
                len(samples[count, link]),
            ]
        )
    report.table(
        "Simulated agents of one gang, all arriving at once",
        ["agents", "link", "start after the last arrival", "target", "all told of a notice", "target",
         "stop after a failure",
         "start again after it", "target", "leader's CPU until the start", "agents' CPU, whole run",
         "rounds"],  # fmt: skip
        rows,
    )


def judge(report, what, value, target, factor=1):
    return report.judge(what, value, target * factor, "s") if target else ""


def report_costs(medians, report):
    rows = [
        [
            f"{count:,}",
            link,
            f"{figures['join_cpu_seconds'] / count * 1e6:.0f} µs",
            f"{figures['join_bytes_per_agent']:.0f}",
            f"{figures['restart_bytes_per_agent']:.0f}",
            f"{figures['idle_bytes_per_agent_and_second']:.0f}",
            f"{figures['pss_bytes_per_agent'] / 1024:.1f} KiB",
            f"{figures['rss_kilobytes'] / 1024:.0f} MB",
            f"{figures['peak_rss_kilobytes'] / 1024:.0f} MB",
            f"{figures['idle_cpu_seconds_per_minute']:.2f} s",
        ]
        for (count, link), figures in medians.items()
    ]
    report.table(
        "What a gang costs its leader",
        ["agents", "link", "CPU to join, per agent", "bytes to join, per agent",
         "bytes to start again, per agent", "bytes a second of heartbeats, per agent",
         "memory (PSS), per agent", "RSS", "peak", "idle CPU a minute"],  # fmt: skip
        rows,
    )


def report_beside(medians, others, report):
    rows = [
        [
            f"{count:,}",
            link,
            *(
                f"{medians[count, link][name]:.3f} s, beside {other[name]:.3f} s"
                for name in ("join_seconds", "stop_seconds", "restart_seconds", "join_cpu_seconds")
            ),
            *(
                f"{medians[count, link][name] / 1024:.0f} MB, beside {other[name] / 1024:.0f} MB"
                for name in ("rss_kilobytes", "peak_rss_kilobytes")
            ),
        ]
        for (count, link), other in others.items()
    ]
    report.table(
        "The same beside the other build",
        ["agents", "link", "start after the last arrival", "stop after a failure",
         "start again after it", "leader's CPU until the start", "RSS", "peak"],  # fmt: skip
        rows,
    )


def report_exchange(simulate, options, report):
    """The cost of an exchange of values between nodes before the start."""
    forms = [form for form in EXCHANGES if has_descriptors(form[0], report)]
    samples = {(link, *form): [] for link in LINKS for form in forms}
    for _ in range(min(options.rounds, 3)):
        for (link, count, size, is_whole), taken in samples.items():
            what = ["--contribute", str(size), *(["--all-parts"] if is_whole else [])]
            taken.append(run_once(simulate, options, count, link, *what, "--hold", "1"))
    medians = {key: median_of(taken) for key, taken in samples.items()}
    rows = []
    for (link, count, size, is_whole), figures in medians.items():
        without = medians[link, count, 0, False]
        times = figures["join_seconds"] / without["join_seconds"]
        target = EXCHANGE_FACTOR if size and not is_whole else None
        rows.append(
            [
                f"{count:,}",
                link,
                f"{size:,}",
                f"{figures.get('merged_bytes', 0):,.0f}",
                f"{figures['join_seconds']:.3f} s",
                f"{times:.1f}" if size else "",
                report.judge(f"exchange {count:,}, {link}", times, target) if target else "",
                f"{figures['restart_seconds']:.3f} s",
                f"{figures['join_cpu_seconds']:.2f} s",
                f"{figures['rss_kilobytes'] / 1024:.0f} MB",
                f"{figures['peak_rss_kilobytes'] / 1024:.0f} MB",
            ]
        )
    report.table(
        "Values that all nodes bring together before the start",
        ["agents", "link", "bytes of each", "bytes that everybody gets",
         "start after the last arrival", "times that without", "target", "start again after a failure",
         "leader's CPU until the start", "leader's memory (RSS)", "peak"],  # fmt: skip
        rows,
    )


def report_rank_table(simulate, options, report):
    """Nodes that say which devices they have, and all get the rank table that is made of them."""
    count, devices = RANK_TABLE
    if not has_descriptors(count, report):
        return
    rows = []
    for link in LINKS:
        figures = median_of(
            [
                run_once(simulate, options, count, link, "--devices", str(devices), "--hold", "1")
                for _ in range(min(options.rounds, 3))
            ]
        )
        seconds = figures["join_seconds"]
        rows.append(
            [
                f"{count:,}",
                link,
                f"{(count + 1) * devices:,}",
                f"{figures['merged_bytes']:,.0f}",
                f"{seconds:.3f} s",
                report.judge(f"rank table, {link}", seconds, RANK_TABLE_TARGET, "s"),
                f"{figures['restart_seconds']:.3f} s",
                f"{figures['join_cpu_seconds']:.2f} s",
                f"{figures['rss_kilobytes'] / 1024:.0f} MB",
                f"{figures['peak_rss_kilobytes'] / 1024:.0f} MB",
            ]
        )
    report.table(
        "A rank table that is made of what all nodes have",
        ["agents", "link", "devices", "bytes that everybody gets", "start after the last arrival",
         "target", "start again after a failure", "leader's CPU until the start",
         "leader's memory (RSS)", "peak"],  # fmt: skip
        rows,
    )


# --- The peer -------------------------------------------------------------------------------------


def beside_torchrun(simulate, options, report):
    python = python_of(options.torchrun)
    if python is None:
        report.note("No torchrun was given: its rendezvous is left out.")
        return
    rows = []
    for count in BESIDE_TORCHRUN:
        rounds = min(options.rounds, 3)
        peer = measure_peer(python, options, count, rounds)
        ours = [run_once(simulate, options, count, "plain") for _ in range(rounds)]
        joined = statistics.median(sample["join_seconds"] for sample in ours)
        theirs = statistics.median(peer) if peer else None
        rows.append(
            [
                f"{count:,}",
                f"{theirs:.2f} s" if theirs else f"not within {options.slow_limit} s",
                f"{joined:.3f} s",
                f"{theirs / joined:.0f}" if theirs else "",
            ]
        )
    report.table(
        "Joining beside torchrun's c10d rendezvous, agents released all at once",
        ["agents", "torchrun", "muster", "times"],
        rows,
    )


def measure_peer(python, options, count, rounds):
    """Seconds of each round; what is not there within the limit once is not tried again."""
    measured = []
    for _ in range(rounds):
        seconds = join_by_c10d(python, options, count)
        if seconds is None:
            break
        measured.append(seconds)
    return measured


def python_of(torchrun):
    """The interpreter of a torchrun, which is a script."""
    found = shutil.which(torchrun) if torchrun else None
    if found is None:
        return None
    match = re.match(r"#!\s*(\S+)", pathlib.Path(found).read_text())
    return match.group(1) if match else None


def join_by_c10d(python, options, count):
    """Seconds; none if not all of them joined in time."""
    script = pathlib.Path(__file__).with_name("join_by_c10d.py")
    command = [python, "-B", str(script), str(count), str(PORT_OF_TORCHRUN)]
    sample = run_measured(command, options.slow_limit)
    return None if isinstance(sample, str) or sample["joined"] < count else sample["seconds"]


# --- The plot -------------------------------------------------------------------------------------


def plot(medians):
    """The cost of one agent more; flat is good."""

    def panel(title, cost):
        curves = {
            link: [(count, cost(of, count)) for (count, by), of in medians.items() if by == link]
            for link in LINKS
        }
        return plots.Panel(title, curves)

    return plots.draw(
        [
            panel("time until the start, µs per agent", lambda of, n: of["join_seconds"] / n * 1e6),
            panel("leader's CPU, µs per agent", lambda of, n: of["join_cpu_seconds"] / n * 1e6),
            panel("bytes until the start, per agent", lambda of, _: of["join_bytes_per_agent"]),
            panel("leader's memory, KiB per agent", lambda of, _: of["pss_bytes_per_agent"] / 1024),
        ],
        "agents",
    )

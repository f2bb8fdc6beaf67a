"""Time to start processes that end at once, which is the launcher's own cost alone."""

import json
import os
import shutil
import statistics
import subprocess

from contenders import environment
from processes import run_measured
from tables import milliseconds

PROGRAM = "/bin/true"
COUNTS = (1, 64, 1000)
TARGETS = {1: 4.0, 1000: 1.3}  # times the bare loop, wall
LIMITS = {"page faults": 300, "page faults of --version": 90, "system calls": 300}
COUNTING_ROUNDS = 5
QUICK_ROUNDS = {1: 40, 64: 3, 1000: 1}  # times the rounds that were asked for


def measure(options, contenders, report):
    report_files(contenders, report)
    rows = []
    for count in COUNTS:
        samples = take_turns(options, contenders, count)
        rows += rows_of(count, samples, report)
    report.table(
        f"Starting processes of {PROGRAM}",
        ["processes", "launcher", "wall", "× bare", "CPU", "× bare", "rounds", "target"],
        rows,
    )
    count_costs(options, contenders, report)
    measure_by_hyperfine(options, contenders, report)


def report_files(contenders, report):
    """Files that an image has to take in, and those that it has to have besides."""
    report.table(
        "The program as a file",
        ["launcher", "bytes", "libraries of the image"],
        [
            [one.name, f"{os.stat(one.arguments[0]).st_size:,}", libraries(one.arguments[0])]
            for one in contenders
            if one.is_muster
        ],
    )


def libraries(program):
    listing = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
    return ", ".join(line.split()[0] for line in listing.splitlines() if "=>" in line) or "none"


def take_turns(options, contenders, count):
    """{name: [sample...]}; a sample that is a sentence says why there is no figure."""
    rounds = max(1, options.rounds * QUICK_ROUNDS[count])
    samples = {contender.name: [] for contender in contenders}
    for turn in range(rounds):
        for contender in contenders:
            so_far = samples[contender.name]
            if turn < rounds_of(contender, options, so_far, rounds):
                so_far.append(run_once(options, contender, count))
    return samples


def rounds_of(contender, options, so_far, rounds):
    """Fewer for those that take long: three of ten seconds say as much as forty of a millisecond."""
    measured = [sample for sample in so_far if not isinstance(sample, str)]
    if len(so_far) - len(measured) >= 2:
        return 0  # it fails, and not by chance
    quickest = min((sample["wall"] for sample in measured), default=0)
    if quickest > 5:
        return min(rounds, 2)
    if contender.is_slow:
        return min(rounds, 3)
    if quickest > 0.02:
        return min(rounds, options.rounds * 3)
    return rounds


def run_once(options, contender, count):
    if contender.is_loop:
        command = contender.command(count, PROGRAM)
    else:
        command = [str(options.spawn_loop), "1", *contender.command(count, PROGRAM)]
    sample = run_measured(command, options.slow_limit)
    if isinstance(sample, str) or not sample["failed"]:
        return sample
    return f"failed: {sample['last_line'] or 'it said nothing'}"


def rows_of(count, samples, report):
    bare = next(iter(samples.values()))
    bare_wall, bare_cpu = median(bare, "wall"), median(bare, "cpu")
    for name, taken in samples.items():
        measured = [sample for sample in taken if not isinstance(sample, str)]
        rounds = remarks(taken)
        if not measured:
            yield [f"{count:,}", name, "-", "", "", "", rounds, ""]
            continue
        wall, cpu = median(measured, "wall"), median(measured, "cpu")
        target = ""
        if name == "muster" and count in TARGETS:
            target = report.judge(f"start {count:,}, wall", wall / bare_wall, TARGETS[count])
        yield [
            f"{count:,}",
            name,
            milliseconds(wall),
            f"{wall / bare_wall:.2f}",
            milliseconds(cpu),
            f"{cpu / bare_cpu:.2f}",
            rounds,
            target,
        ]


def remarks(taken):
    """The number of rounds, and the outcome of those without a figure."""
    failures = [sample for sample in taken if isinstance(sample, str)]
    if not failures:
        return len(taken)
    return f"{len(taken)}, of which {len(failures)} {failures[0]}"


def median(samples, what):
    return statistics.median(sample[what] for sample in samples)


def count_costs(options, contenders, report):
    """Page faults and system calls of one process. Unlike times they are the same on a busy machine."""
    if not shutil.which("strace"):
        report.note("strace is not here: system calls are not counted.")
    rows = [
        [one.name, *cells_of(one, counts_of(options, one), report)]
        for one in contenders
        if one.is_loop or one.is_muster
    ]
    report.table(f"What one process of {PROGRAM} costs", ["launcher", *LIMITS, "limits"], rows)


def counts_of(options, contender):
    """A figure for each of LIMITS; None where there is none."""
    command = contender.command(1, PROGRAM)
    ruler = [] if contender.is_loop else [str(options.spawn_loop), "1"]
    figures = [faults_of([*ruler, *command], options), None, calls_of(command, options)]
    if contender.is_muster:
        figures[1] = faults_of([*ruler, command[0], "--version"], options)
    return figures


def faults_of(ruled, options):
    samples = [run_measured(ruled, options.slow_limit) for _ in range(COUNTING_ROUNDS)]
    return median([sample for sample in samples if not isinstance(sample, str)], "faults")


def calls_of(command, options):
    """The command's, its children's, and so on."""
    if not shutil.which("strace"):
        return None
    counts = []
    for _ in range(COUNTING_ROUNDS):
        counted = options.scratch / "strace"
        subprocess.run(
            ["strace", "-f", "-c", "-o", counted, *command],
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=True,
        )
        counts.append(total_of(counted.read_text()))
    return statistics.median(counts)


def total_of(table):
    """Of a line such as "100.00    0.004087           9       412        35 total" the calls."""
    (total,) = [line.split() for line in table.splitlines() if line.endswith(" total")]
    return int(total[3])


def cells_of(contender, figures, report):
    cells = ["-" if figure is None else f"{figure:,.0f}" for figure in figures]
    verdicts = [
        report.judge("start 1, counts", figure, limit, what)
        for (what, limit), figure in zip(LIMITS.items(), figures)
        if contender.name == "muster" and figure is not None
    ]
    return [*cells, "; ".join(verdicts)]


def measure_by_hyperfine(options, contenders, report):
    """The same for one process with a ruler that is not ours."""
    if not shutil.which("hyperfine"):
        report.note("hyperfine is not here: its table is left out.")
        return
    musters = [one for one in contenders if one.is_muster]
    names = [f"{PROGRAM} alone", *(one.name for one in musters)]
    commands = [PROGRAM, *(" ".join(one.command(1, PROGRAM)) for one in musters)]
    exported = options.scratch / "hyperfine.json"
    subprocess.run(
        ["hyperfine", "-N", "--warmup", "5", "--runs", str(options.rounds * 20)]
        + ["--export-json", exported, *commands],
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=True,
    )
    results = json.loads(exported.read_text())["results"]
    bare = results[0]["median"]
    report.table(
        "Starting one process, by hyperfine -N",
        ["launcher", "median", "fastest", "× alone"],
        [
            [
                name,
                milliseconds(result["median"]),
                milliseconds(result["min"]),
                f"{result['median'] / bare:.2f}",
            ]
            for name, result in zip(names, results)
        ],
    )

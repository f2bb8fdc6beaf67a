"""Speed at which lines of workers reach the console, and files as well, against `cat`.

Every route moves the same bytes from a file to a pipe that `cat` reads into /dev/null; what is in
between differs. With several workers each writes its share. The file is read once before.
"""

import shutil
import statistics

from processes import run_measured

LINE = b"step 00000000 loss 0.123456 lr 0.000300 grad_norm 1.234567 tokens/s 123456 mem 71.3GB eta 1:23:45\n"
TARGET = 0.5  # times `cat`


def measure(options, contenders, report):
    routes = routes_of(options, [one for one in contenders if one.is_muster])
    samples = {name: [] for name, *_ in routes}
    for _ in range(options.rounds):
        for name, pipeline, _ in routes:
            samples[name].append(run_once(options, pipeline))
    report.table(
        f"Throughput of {options.megabytes} MB in lines of {len(LINE)} bytes",
        ["route", "speed", "× cat", "CPU", "target"],
        list(rows_of(options, routes, samples, report)),
    )


def routes_of(options, musters):
    """[(name, shell command line, has a target)]; the first is what the others are compared with."""
    whole = lines_file(options, 1)
    share = lines_file(options, 64)
    logs = options.scratch / "logs"

    def launched(muster, workers, *more):
        command = muster.command(workers)
        command[1:1] = more
        file = whole if workers == 1 else share
        return f"{' '.join(command)} cat {file} 2>{options.scratch}/stderr | cat >/dev/null"

    always = ("--prefix", "always")
    files = ("--log-dir", str(logs))
    forms = [
        ("1 worker, console", 1, ()),
        ("1 worker, console with prefix", 1, always),
        ("1 worker, console and files", 1, files),
        ("1 worker, console with prefix and files", 1, (*always, *files)),
        ("64 workers, console", 64, ()),
        ("64 workers, console and files", 64, files),
    ]
    return [
        ("cat | cat", f"cat {whole} | cat | cat >/dev/null", False),
        ("cat | tee FILE | cat", f"mkdir {logs}; cat {whole} | tee {logs}/1 | cat >/dev/null", False),
        *(
            (name if muster.name == "muster" else f"{muster.name}: {name}",
             launched(muster, workers, *more), muster.name == "muster")
            for name, workers, more in forms
            for muster in musters
        ),  # fmt: skip
    ]


def lines_file(options, shares):
    """A file of lines, of the size of one of so many equal shares."""
    path = options.scratch / f"lines-{shares}"
    count = options.megabytes * 1_000_000 // shares // len(LINE)
    with path.open("wb") as file:
        for begin in range(0, count, 10_000):
            file.write(LINE * min(10_000, count - begin))
    return path


def run_once(options, pipeline):
    """Through the ruler, whose clock is finer than that of a wait with a timeout."""
    bash = [str(options.spawn_loop), "1", "bash", "-o", "pipefail", "-c", pipeline]
    sample = run_measured(bash, options.slow_limit)
    shutil.rmtree(options.scratch / "logs", ignore_errors=True)
    if isinstance(sample, str) or sample["failed"]:
        raise SystemExit(f"bench: `{pipeline}` failed: {sample}")
    return sample


def rows_of(options, routes, samples, report):
    def median(name, what):
        return statistics.median(sample[what] for sample in samples[name])

    yardstick = median(routes[0][0], "wall")
    for name, _, has_target in routes:
        wall = median(name, "wall")
        ratio = yardstick / wall
        target = ""
        if has_target:
            target = report.judge(f"throughput, {name}", ratio, TARGET, at_least=True)
        speed = f"{options.megabytes / wall:,.0f} MB/s"
        yield [name, speed, f"{ratio:.2f}", f"{median(name, 'cpu'):.2f} s", target]

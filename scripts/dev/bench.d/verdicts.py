"""Counts how often the worker that crashed is named, of 64 that die at almost the same moment."""

import contextlib
import json
import pathlib
import subprocess
import tempfile

from contenders import environment, musters

ROOT = pathlib.Path(__file__).resolve().parents[3]
WORKERS = 64
CULPRIT = 17
DELAYS_US = (0, 300, 1_000, 10_000, 50_000)
AT_ONCE_US = 300  # up to here the order is anybody's guess
SIGSEGV = "SIGSEGV"


def measure(options, _contenders, report):
    programs = {name: compiled(name, options.scratch) for name in ("die_together", "spin")}
    rows = []
    for is_busy in (False, True):
        with busy_cores(programs["spin"] if is_busy else None):
            cores = "busy" if is_busy else "idle"
            for delay in DELAYS_US:
                rows.append([cores, f"{delay / 1000:g} ms"])
                for contender in musters(options):
                    runs = runs_of(contender, programs["die_together"], delay, options)
                    rows[-1] += cells(contender, runs, (delay, cores), report)
    names = [contender.name for contender in musters(options)]
    report.table(
        f"The worker that crashed is named, of {options.verdict_runs} jobs of {WORKERS} workers",
        ["cores", "the others end after", *(c for name in names for c in (name, "certain", ""))],
        rows,
    )


def runs_of(contender, program, delay, options):
    return [first_failure(contender, program, delay) for _ in range(options.verdict_runs)]


def cells(contender, runs, case, report):
    """Shares of runs that name it, with certainty or not, and their comparison with the target."""
    delay, cores = case
    what = f"at {delay / 1000:g} ms, {cores}"
    named = [run for run in runs if run["global_rank"] == CULPRIT and run["signal"] == SIGSEGV]
    certain_but_wrong = [run for run in runs if run not in named and run["order_known"]]
    share = 100 * len(named) / len(runs)
    target = ""
    if contender.name == "muster":
        least = 90 if delay <= AT_ONCE_US else 95
        target = report.judge(f"named {what}", share, least, "%", at_least=True)
        report.judge(f"wrong, and sure of it, {what}", len(certain_but_wrong), 0, "jobs")
    return [f"{share:.0f} %", sum(run["order_known"] for run in named), target]


def first_failure(contender, program, delay):
    with tempfile.TemporaryDirectory(prefix="muster-verdict-") as folder:
        path = pathlib.Path(folder, "report.json")
        words = contender.command(WORKERS, str(program), str(CULPRIT), str(delay), f"{folder}/meet")
        words[1:1] = ["--report", str(path)]
        subprocess.run(words, env=environment(), capture_output=True, timeout=60, check=False)
        return json.loads(path.read_text())["first_failure"]


def compiled(name, folder):
    program = folder / name
    source = ROOT / "tests" / "workers" / f"{name}.c"
    subprocess.run(["gcc", "-O2", "-o", program, source], check=True)
    return program


@contextlib.contextmanager
def busy_cores(program):
    """Two processes that compute all the time, if there is a program that does."""
    spinning = [subprocess.Popen([program]) for _ in range(2)] if program else []
    try:
        yield
    finally:
        for process in spinning:
            process.kill()
            process.wait()

"""`muster explain` in the environment of each golden case, beside the start of a program that does nothing."""

import pathlib
import statistics
import subprocess
import time

from tables import milliseconds

GOLDEN = pathlib.Path(__file__).resolve().parents[3] / "tests" / "golden"
TARGET_MILLISECONDS = 10.0


def measure(options, contenders, report):
    del contenders
    cases = {name: case for name, case in environments().items() if is_plain(case)}
    ours, bare = {name: [] for name in cases}, []
    for _ in range(options.rounds):
        for name, lines in cases.items():
            ours[name].append(seconds_of([options.muster, "explain"], variables_of(lines)))
            bare.append(seconds_of(["/bin/true"], {}))
    medians = {name: statistics.median(times) for name, times in ours.items()}
    slowest = max(medians, key=medians.get)
    target = report.judge("explain, slowest", medians[slowest] * 1000, TARGET_MILLISECONDS, "ms")
    report.table(
        f"muster explain in {len(cases)} golden environments",
        ["what", "median", "target"],
        [
            ["/bin/true", milliseconds(statistics.median(bare)), ""],
            ["all environments", milliseconds(statistics.median(medians.values())), ""],
            [f"the slowest: {slowest}", milliseconds(medians[slowest]), target],
        ],
    )


def seconds_of(command, environment):
    began = time.perf_counter()
    subprocess.run(
        command,
        env={"PATH": "/usr/bin:/bin", **environment},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    return time.perf_counter() - began


def environments():
    """Input lines of each case, with those of the case that it is like; docs/contributing.md has the format."""
    cases = {}
    for path in sorted(GOLDEN.glob("*.txt")):
        for block in path.read_text().split("\n\n"):
            lines = [line for line in block.splitlines() if not line.startswith("#")]
            if not lines:
                continue
            name, _, parent = lines[0].partition(" like ")
            own = [line[2:] for line in lines[1:] if line[2:3] not in (">", "!")]
            inherited = cases.get(f"{path.stem}, {parent}", [])
            replaced = {line.removeprefix("without ").split("=")[0] for line in own}
            kept = [line for line in inherited if line.split("=")[0] not in replaced]
            cases[f"{path.stem}, {name}"] = kept + [
                line for line in own if not line.startswith("without ")
            ]
    return cases


def is_plain(lines):
    """Nothing but variables, devices and the host's name."""
    return all(not line.startswith(("--", "$", "@")) for line in lines)


def variables_of(lines):
    pairs = (line.split("=", 1) for line in lines if not line.startswith(("devices:", "host:")))
    return {pair[0]: pair[1].strip('"') for pair in pairs if len(pair) == 2}

"""The cost of each call of the module for programs: inside of muster, with files in memory, and outside. Also runs by itself."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
CALLS = {  # and at most how many nanoseconds inside
    "receive_suspend_command()": 1000,
    "heartbeat()": 5000,
    "progress(7)": None,
    "progress(7, loss=0.25, rate=0.001)": None,
}
PROGRAM = """
import json, sys, timeit, muster
def cost(call):
    timer = timeit.Timer(call, "import muster")
    number, _ = timer.autorange()
    return min(timer.repeat(repeat=5, number=number)) / number * 1e9
json.dump([cost("muster." + call) for call in sys.argv[1:]], sys.stdout)
"""


def measure(options, contenders, report):
    del contenders
    inside, outside = costs(options.scratch), costs(None)
    rows = []
    for call, limit in CALLS.items():
        target = report.judge(f"Python, {call}", inside[call], limit, "ns") if limit else ""
        rows.append([call, f"{inside[call]:.0f} ns", target, f"{outside[call]:.0f} ns"])
    report.table("The module for programs", ["call", "inside", "target", "outside"], rows)


def costs(folder):
    """Nanoseconds of each call, the quickest of five times, in a program whose run folder that is."""
    files = {"MUSTER_SUSPEND_FILE": "suspend.json", "MUSTER_HEARTBEAT_FILE": "heartbeat.0"}
    run_folder = {name: str(folder / file) for name, file in files.items()} if folder else {}
    inherited = {name: value for name, value in os.environ.items() if name not in files}
    done = subprocess.run(
        [sys.executable, "-B", "-c", PROGRAM, *CALLS],
        env={**inherited, **run_folder, "PYTHONPATH": str(ROOT / "python")},
        stdout=subprocess.PIPE,
        check=True,
    )
    return dict(zip(CALLS, json.loads(done.stdout)))


def main():
    with tempfile.TemporaryDirectory() as folder:
        inside = costs(pathlib.Path(folder))
    for call, outside in costs(None).items():
        print(f"{call:36} {inside[call]:6.0f} ns   outside of muster {outside:6.0f} ns")


if __name__ == "__main__":
    main()

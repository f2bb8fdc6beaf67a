"""Two hundred command lines of public projects, planned by torchrun's own parser and by `muster plan`.

What would be started must be the same: the nodes, the workers, where they meet, each worker's program, the job's name.
A line that muster means to treat otherwise is in DIFFERENT, with the row of docs/launcher-differences.md that says why.
"""

import json
import os
import pathlib
import shlex
import subprocess
import sys
from typing import NamedTuple

import pytest

import differences

pytestmark = pytest.mark.framework
HERE = pathlib.Path(__file__).parent
PAGE = differences.Section("torchrun")
LINES = HERE / "data" / "public_command_lines.txt"
LAUNCHERS = ("torch.distributed.launch", "torch.distributed.run")

# The beginning of a line -> the name of the row.
DIFFERENT = {
    "torchrun --nproc_per_node=4 --nnodes=1 --node_rank=3": "a node rank that is not below `--nnodes`",
    "torchrun --standalone --nnodes 2": "`--standalone` with several nodes",
}


class Line(NamedTuple):
    project: str
    text: str
    environment: dict
    launcher: str
    arguments: list


def read_line(project, text):
    """Variables, then torchrun or `python -m` a launcher of torch, then arguments."""
    words = shlex.split(text)
    environment = {}
    while "=" in words[0]:
        name, value = words.pop(0).split("=", 1)
        environment[name] = value
    if words[0].endswith("torchrun"):
        return Line(project, text, environment, "torchrun", words[1:])
    [at] = [i for i, word in enumerate(words[:6]) if word in LAUNCHERS]
    assert words[0].startswith("python") and words[at - 1] == "-m", text
    return Line(project, text, environment, words[at], words[at + 1 :])


def read_lines():
    lines = []
    project = ""
    for text in LINES.read_text(encoding="utf-8").splitlines():
        if text.startswith("## "):
            project = text.removeprefix("## ")
        elif text and not text.startswith("#"):
            lines.append(read_line(project, text))
    return lines


def environment_of(line, folder):
    """Without CUDA_VISIBLE_DEVICES, which makes up for devices that this machine may not have."""
    own = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "TMPDIR": str(folder)}
    own.update(line.environment)
    own.pop("CUDA_VISIBLE_DEVICES", None)
    return own


def torch_plans(torch_venv, lines, folder):
    """Torchrun's plan of each line, all made in one process."""
    asked = [
        {
            "module": line.launcher,
            "argv": line.arguments,
            "environment": environment_of(line, folder),
        }
        for line in lines
    ]
    printed = subprocess.run(
        [torch_venv / "python3", HERE / "torch_plans.py"],
        input=json.dumps(asked),
        cwd=folder,
        stdout=subprocess.PIPE,
        text=True,
        timeout=120,
        check=True,
    ).stdout
    return json.loads(printed)


def least_nodes(plan):
    found = [d["value"] for d in plan["decisions"] if d["field"] == "nodes.least"]
    return int(found[0]) if found else plan["nodes"]["count"]


def endpoint_of(plan):
    """As torch_plans.py gives it."""
    port = plan["rendezvous"]["port"]
    if plan["nodes"]["count"] == 1:
        return [None, 0 if port == "{worker_port}" else port]
    return [plan["rendezvous"]["address"], port]


def program_of(argv):
    name = "python" if argv[0] == "python3" else argv[0]
    return [name, *(word for word in argv[1:] if word != "-u")]


def log_dir_of(process, theirs):
    """The folder of the log files, if it is not below the one given to torchrun."""
    log = os.path.normpath(os.path.join(process["cwd"], process["log"][0]))
    if theirs is not None and log.startswith(theirs + "/"):
        return theirs
    return log if os.path.isabs(process["log"][0]) else None


def muster_plan(muster, line, folder, log_dir):
    """The same of muster: `log_dir` is where torchrun would write."""
    done = subprocess.run(
        [muster, "plan", "--json", line.launcher, *line.arguments],
        env=environment_of(line, folder),
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    if done.returncode != 0:
        assert done.returncode in (64, 78), f"{line.text}: {done.returncode} {done.stderr}"
        return {"refused": done.stderr.strip()}
    plan = json.loads(done.stdout)
    first = plan["processes"][0]
    run_id = first["env"]["TORCHELASTIC_RUN_ID"]
    return {
        "nodes": [least_nodes(plan), plan["nodes"]["count"]],
        "workers": len(plan["processes"]),
        "node_rank": plan["nodes"]["rank"],
        "endpoint": endpoint_of(plan),
        "programs": [program_of(process["argv"]) for process in plan["processes"]],
        "max_restarts": int(first["env"]["TORCHELASTIC_MAX_RESTARTS"]),
        "run_id": "random" if run_id == "{run_id}" else run_id,
        "role": first["env"]["ROLE_NAME"],
        "log_dir": log_dir_of(first, log_dir),
    }


def is_listed(name, theirs, ours):
    """True for a difference that all lines have.

    c10d ranks nodes by arrival, and one that is alone is node 0 to muster; a job of one node has a name of its own,
    by the row TORCHELASTIC_RUN_ID of the page.
    """
    if name == "node_rank":
        return theirs[name] is None
    return name == "run_id" and theirs["nodes"] == [1, 1] and theirs[name] == "none"


def between(theirs, ours):
    """The differences, a text each."""
    if "refused" in theirs or "refused" in ours:
        return [] if theirs.keys() == ours.keys() else [f"{theirs} and {ours}"]
    return [
        f"{name}: {theirs[name]} and {ours[name]}"
        for name in theirs
        if theirs[name] != ours[name] and not is_listed(name, theirs, ours)
    ]


def row_of(line):
    """The row that says why the line is treated otherwise, or None."""
    return next((row for start, row in DIFFERENT.items() if line.text.startswith(start)), None)


@pytest.fixture(scope="module")
def compared(muster, torch_venv, tmp_path_factory):
    """[(line, differences)] of all lines."""
    folder = tmp_path_factory.mktemp("lines")
    lines = read_lines()
    found = []
    for line, theirs in zip(lines, torch_plans(torch_venv, lines, folder), strict=True):
        ours = muster_plan(muster, line, folder, theirs.get("log_dir"))
        found.append((line, between(theirs, ours)))
    return found


def test_there_are_two_hundred_lines_of_a_hundred_projects():
    lines = read_lines()

    assert len(lines) >= 200
    assert len({line.project for line in lines}) >= 100


def test_each_line_is_planned_like_by_torchrun(compared):
    alike = sum(not found for _, found in compared)
    sys.stdout.write(f"{alike} of {len(compared)} lines are planned alike\n")
    surprises = [
        f"{line.project}: {line.text}: torchrun and muster: {'; '.join(found)}"
        for line, found in compared
        if found and row_of(line) is None
    ]

    assert not surprises, "\n".join(surprises)


def test_each_line_listed_as_different_differs(compared):
    unneeded = [line.text for line, found in compared if row_of(line) and not found]

    assert not unneeded
    assert set(DIFFERENT.values()) <= set(differences.listed_behaviours(PAGE))

"""What Inductor has compiled is found on other nodes (docs/first-step.md), on four hosts with disks of their own. With SOAK=1 beside torchrun."""

import os
import pathlib
import re
import shutil
import subprocess

import pytest

from support.repetitions import default_or_soak

pytestmark = pytest.mark.framework
PROGRAM = pathlib.Path(__file__).parent / "workers" / "compiled.py"
NODES = 4
SECONDS = 1200  # four compilers on two busy cores
STEP = re.compile(r"loss (\S+) gradient (\S+) first step (\S+) s with (\S+) s of CPU")


@pytest.fixture
def environment_of(torch_venv, tmp_path):
    """Of a node with a disk of its own; `disks` is where those of all nodes are."""

    def environment(disks, node):
        disk = tmp_path / disks / str(node)
        disk.mkdir(parents=True, exist_ok=True)
        own = {"TMPDIR": str(disk), "HOME": str(disk), "PYTHON_EXEC": str(torch_venv / "python3")}
        return {"PATH": f"{torch_venv}:{os.environ['PATH']}", "CUDA_VISIBLE_DEVICES": "", **own}

    return environment


@pytest.fixture
def first_steps(launcher, four_hosts, environment_of):
    """Runs a job; returns the results of its ranks, the longest first step of each attempt, and what muster said."""

    def run(disks, *options, **more):
        agents = [
            launcher.start(
                *[f"--nnodes={NODES}", f"--node-rank={node}", "--nproc-per-node=1", f"--master-addr={four_hosts.address(0)}", *options, PROGRAM],
                through=four_hosts.command("exec", str(node)),
                env=environment_of(disks, node) | more,
            )
            for node in range(NODES)
        ]
        for agent in agents:
            assert agent.end(SECONDS) == 0, agent.words()
        return *steps_of([agent.out.text for agent in agents]), "".join(agent.err.text for agent in agents)

    return run


@pytest.fixture
def first_steps_of_torchrun(torch_venv, four_hosts, environment_of):
    def run(disks):
        rendezvous = [f"--nnodes={NODES}", "--nproc-per-node=1", f"--master-addr={four_hosts.address(0)}", "--master-port=29611"]
        agents = [
            subprocess.Popen(
                four_hosts.command("exec", str(node), torch_venv / "torchrun", *rendezvous, f"--node-rank={node}", PROGRAM),
                **{"env": environment_of(disks, node), "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True},
            )
            for node in range(NODES)
        ]
        return steps_of([agent.communicate(timeout=SECONDS)[0] for agent in agents])[1]

    return run


def steps_of(texts):
    """(results, ["4.2 s with 5.1 s of CPU" of the rank that took longest, for each attempt])"""
    steps = [STEP.findall(text) for text in texts]
    attempts = [max(of, key=lambda step: float(step[2])) for of in zip(*steps, strict=True)]
    return [step[:2] for of in steps for step in of], [f"{seconds} s with {cpu} s of CPU" for _, _, seconds, cpu in attempts]


def test_the_first_step_is_warm_on_empty_nodes_and_after_a_restart(first_steps, first_steps_of_torchrun, tmp_path, capsys):
    store = ("--compile-cache", tmp_path / "store")
    (tmp_path / "together").mkdir()
    results, (cold, restarted), said = first_steps("a", "--max-restarts=1", *store, FAIL_TOGETHER=str(tmp_path / "together"))
    assert "compile caches: kept " in said
    headers = headers_on(tmp_path / "a" / "0")
    again, (warm,), said = first_steps("a", *store)
    assert "kept" not in said
    shutil.rmtree(tmp_path / "a")

    elsewhere, (from_pack,), said = first_steps("b", *store)

    assert len(re.findall(r"compile caches: \d+ entries \(.*\) from", said)) == NODES
    assert "kept" not in said, "nothing was compiled anew"
    assert {*results, *again, *elsewhere} == {results[0]}
    assert headers_on(tmp_path / "b" / "0") == headers != {}, "nor were headers"
    theirs = [first_steps_of_torchrun(disks)[0] for disks in default_or_soak((), ("c", "c", "d"))]
    with capsys.disabled():
        print(f"\nfirst step: cold {cold}, after a restart {restarted}, warm {warm}, on empty nodes {from_pack}")
        print("torchrun: cold, warm, on empty nodes:", *theirs, sep="\n  ")
        print(re.search(r"compile caches: .*", said)[0])


def headers_on(disk):
    """Precompiled headers, with the times when they were made."""
    return {path.name: path.stat().st_mtime_ns for path in disk.rglob("*.gch")}

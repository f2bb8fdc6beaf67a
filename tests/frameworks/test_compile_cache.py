"""What Inductor has compiled is found on another node (docs/first-step.md)."""

import os
import pathlib
import re
import shutil
import subprocess

import pytest

pytestmark = pytest.mark.framework
PROGRAM = pathlib.Path(__file__).parent / "workers" / "compiled.py"
SECONDS = 600  # a compiler on two busy cores
STEP = re.compile(r"loss (\S+) gradient (\S+) first step (.* of CPU)")


@pytest.fixture
def environment_of(torch_venv, tmp_path):
    """Of a node with a disk of its own."""

    def environment(node):
        disk = tmp_path / node
        disk.mkdir(exist_ok=True)
        return {"PATH": f"{torch_venv}:{os.environ['PATH']}", "TMPDIR": str(disk), "CUDA_VISIBLE_DEVICES": "", "HOME": str(disk)}

    return environment


@pytest.fixture
def first_step(launcher, environment_of):
    """Runs a job on a node; returns its results, the time of its first step, and what muster said."""

    def run(node, *options):
        job = launcher.start(*options, "torchrun", PROGRAM, env=environment_of(node))
        assert job.end(SECONDS) == 0, job.words()
        *results, step = STEP.search(job.out.text).groups()
        return results, step, job.err.text

    return run


@pytest.fixture
def first_step_of_torchrun(torch_venv, environment_of):
    def run(node):
        done = subprocess.run([torch_venv / "torchrun", PROGRAM], env=environment_of(node), capture_output=True, text=True, timeout=SECONDS, check=True)
        return STEP.search(done.stdout)[3]

    return run


def test_the_first_step_is_warm_when_the_node_is_empty(first_step, first_step_of_torchrun, tmp_path, capsys):
    store = ("--compile-cache", tmp_path / "store")
    results, cold, said = first_step("a", *store)
    assert "compile caches: kept " in said
    headers = headers_on(tmp_path / "a")
    again, warm, said = first_step("a", *store)
    assert "kept" not in said
    shutil.rmtree(tmp_path / "a")

    elsewhere, from_pack, said = first_step("b", *store)

    assert re.search(r"compile caches: \d+ entries \(.*\) from", said)
    assert "kept" not in said, "nothing was compiled anew"
    assert results == again == elsewhere
    assert headers_on(tmp_path / "b") == headers != {}, "nor were headers"
    theirs = [first_step_of_torchrun(node) for node in ("c", "c", "d")]
    with capsys.disabled():
        print(f"\nfirst step: cold {cold}, warm {warm}, on an empty node {from_pack}")
        print("torchrun: cold {}, warm {}, on an empty node {}".format(*theirs))
        print(re.search(r"compile caches: .*", said)[0])


def headers_on(disk):
    """Precompiled headers, with the times when they were made."""
    return {path.name: path.stat().st_mtime_ns for path in disk.rglob("*.gch")}

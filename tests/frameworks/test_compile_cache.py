"""What Inductor has compiled is found on another node (docs/first-step.md)."""

import os
import pathlib
import re
import shutil

import pytest

pytestmark = pytest.mark.framework
PROGRAM = pathlib.Path(__file__).parent / "workers" / "compiled.py"
SECONDS = 600  # a compiler on two busy cores
STEP = re.compile(r"loss (\S+) gradient (\S+) first step (.* of CPU)")


@pytest.fixture
def first_step(launcher, torch_venv, tmp_path):
    """Runs a job on a node; returns its results, the time of its first step, and what muster said."""

    def run(node, *options):
        disk = tmp_path / node
        disk.mkdir(exist_ok=True)
        job = launcher.start(
            *options,
            "torchrun",
            PROGRAM,
            env={"PATH": f"{torch_venv}:{os.environ['PATH']}", "TMPDIR": disk, "CUDA_VISIBLE_DEVICES": "", "HOME": disk},
        )
        assert job.end(SECONDS) == 0, job.words()
        *results, step = STEP.search(job.out.text).groups()
        return results, step, job.err.text

    return run


def test_the_first_step_is_warm_when_the_node_is_empty(first_step, tmp_path, capsys):
    store = ("--compile-cache", tmp_path / "store")
    results, cold, said = first_step("a", *store)
    assert "compile caches: kept " in said
    again, warm, said = first_step("a", *store)
    assert "kept" not in said
    shutil.rmtree(tmp_path / "a")

    elsewhere, from_pack, said = first_step("a", *store)

    assert re.search(r"compile caches: \d+ entries \(.*\) from", said)
    assert "kept" not in said, "nothing was compiled anew"
    assert results == again == elsewhere
    with capsys.disabled():
        print(f"\nfirst step: cold {cold}, warm {warm}, from a pack {from_pack}")

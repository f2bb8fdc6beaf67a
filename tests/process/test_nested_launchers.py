"""Programs that start processes themselves are warned of where they would be started several times."""

import os

import pytest

SPAWNING = """
import torch.multiprocessing as mp

if __name__ == "__main__":
    mp.spawn(print, nprocs=4)
"""
# Not torch, but imported and called as torch is.
STAND_IN = 'def spawn(function, nprocs):\n    print("spawned", nprocs, flush=True)\n'


@pytest.fixture
def script(tmp_path):
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").touch()
    (tmp_path / "torch" / "multiprocessing.py").write_text(STAND_IN)
    path = tmp_path / "train.py"
    path.write_text(SPAWNING)
    return path


SAID = ("'train.py' may start processes itself", "line 5", "each of the 2 copies", "--mode once")


def test_a_script_that_spawns_runs_per_worker_with_a_warning(muster, script):
    job = muster.run("--nproc-per-node=2", "--prefix=never", script)

    assert job.code == 0, job.words()
    assert job.out.lines == ["spawned 4"] * 2
    assert job.said_about(*SAID)


@pytest.mark.parametrize("question", ["plan", "explain"])
def test_plan_and_explain_warn_of_a_spawning_script(muster, script, question):
    job = muster.run(question, "--nproc-per-node=2", script)

    assert job.code == 0, job.words()
    assert job.said_about(*SAID)


def test_mode_once_runs_a_spawning_script_without_a_warning(muster, script):
    job = muster.run("--mode=once", "--nproc-per-node=8", "--template-arguments=never", script)

    assert job.code == 0, job.words()
    assert job.out.text == "spawned 4\n"
    assert not any("itself" in line for line in job.said)


def test_with_an_explicit_mode_a_spawning_script_runs_without_a_warning(muster, script):
    env = {"MUSTER_MODE": "torchrun"}
    job = muster.run("--nproc-per-node=2", "--prefix=never", script, env=env)

    assert job.code == 0, job.words()
    assert job.out.lines == ["spawned 4"] * 2
    assert not any("itself" in line for line in job.said)


@pytest.mark.parametrize("mode", [[], ["--mode=torchrun"]])
def test_a_launcher_is_started_by_each_worker_with_a_warning(muster, tmp_path, mode):
    launcher = tmp_path / "torchrun"
    launcher.write_text("#!/bin/sh\necho launched\n")
    launcher.chmod(0o755)

    job = muster.run(*mode, "--nproc-per-node=2", "--prefix=never", "--", launcher, "--nproc-per-node=4", "train.py")

    assert job.code == 0, job.words()
    assert job.out.lines == ["launched"] * 2
    meant = "'muster torchrun --nproc-per-node=4 train.py'"
    assert job.said_about("'torchrun' starts processes itself", "each of the 2 copies", meant)


def test_a_launcher_that_reads_variables_is_started_once_and_told_of_the_job(muster, tmp_path):
    """As llamafactory-cli does, which gives them to a torchrun of its own."""
    launcher = tmp_path / "llamafactory-cli"
    names = ["NNODES", "NODE_RANK", "NPROC_PER_NODE", "MASTER_ADDR"]
    launcher.write_text("#!/bin/sh\necho $@ " + " ".join(f"{name}=${name}" for name in names) + " port $MASTER_PORT\n")
    launcher.chmod(0o755)

    job = muster.run("--nproc-per-node=2", launcher, "train", "sft.yaml")

    assert job.code == 0, job.words()
    said, port = job.out.text.rsplit(" ", 1)
    assert said == "train sft.yaml NNODES=1 NODE_RANK=0 NPROC_PER_NODE=2 MASTER_ADDR=127.0.0.1 port"
    assert int(port) > 0
    assert not any("itself" in line for line in job.said)


def test_only_the_start_of_a_regular_script_is_read(muster, tmp_path):
    long = tmp_path / "long.py"
    long.write_text("#" * (1 << 20) + "\n" + SPAWNING)
    pipe = tmp_path / "pipe.py"
    os.mkfifo(pipe)

    for script in (long, pipe):
        job = muster.run("plan", "--nproc-per-node=2", script)
        assert job.code == 0
        assert not any("itself" in line for line in job.said)

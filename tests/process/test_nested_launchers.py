"""Programs that start processes themselves run once per node, and once per worker only on request."""

import os

import pytest

SPAWNING = """
import torch.multiprocessing as mp

if __name__ == "__main__":
    mp.spawn(print, nprocs=4)
"""
UNDER_A_CONDITION = """
import os, torch.multiprocessing as mp
if os.path.exists("not there"):
    mp.spawn(print, nprocs=4)
print("trained")
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


def test_a_script_that_spawns_is_not_started_eight_times(muster, script):
    job = muster.run("--nproc-per-node=8", script)

    assert job.code == 64
    assert job.out.text == ""
    assert job.said_about("'train.py' starts processes itself", "line 5", "each of the 8 copies", "--mode once")


@pytest.mark.parametrize("question", ["plan", "explain"])
def test_plan_and_explain_refuse_a_spawning_script(muster, script, question):
    assert muster.run(question, "--nproc-per-node=8", script).code == 64


def test_mode_once_runs_a_spawning_script_without_a_warning(muster, script):
    job = muster.run("--mode=once", "--nproc-per-node=8", "--template-arguments=never", script)

    assert job.code == 0, job.words()
    assert job.out.text == "spawned 4\n"
    assert not any("itself" in line for line in job.said)


def test_with_an_explicit_mode_a_spawning_script_runs_per_worker(muster, script):
    env = {"MUSTER_MODE": "torchrun"}
    job = muster.run("--nproc-per-node=2", "--prefix=never", script, env=env)

    assert job.code == 0, job.words()
    assert job.out.lines == ["spawned 4"] * 2
    assert job.said_about("'train.py' starts processes itself", "'torchrun' was asked for")


def test_a_script_that_spawns_conditionally_runs_with_a_warning(muster, script):
    script.write_text(UNDER_A_CONDITION)
    job = muster.run("--nproc-per-node=2", "--prefix=never", script)

    assert job.code == 0, job.words()
    assert job.out.lines == ["trained"] * 2
    assert job.said_about("may start processes itself", "line 4", "--mode once")


@pytest.mark.parametrize("question", ["plan", "explain"])
def test_plan_and_explain_warn_about_conditional_spawning(muster, script, question):
    script.write_text(UNDER_A_CONDITION)
    job = muster.run(question, "--nproc-per-node=2", script)

    assert job.code == 0, job.words()
    assert job.said_about("may start processes itself", "line 4", "--mode once")


def test_a_launcher_is_not_started_by_each_worker(muster):
    job = muster.run("--nproc-per-node=4", "--", "torchrun", "--nproc-per-node=4", "train.py")

    assert job.code == 64
    meant = "'muster torchrun --nproc-per-node=4 train.py'"
    assert job.said_about("'torchrun' starts processes itself", meant)


def test_a_launcher_in_a_shell_script_is_found(muster, tmp_path):
    script = tmp_path / "run.sh"
    script.write_text("set -e\ntorchrun --nproc-per-node 4 train.py\n")

    job = muster.run("--nproc-per-node=4", "--", "bash", script)

    assert job.code == 64
    assert job.said_about("'run.sh' starts processes itself", "line 2 runs torchrun")


def test_only_the_start_of_a_regular_script_is_read(muster, tmp_path):
    long = tmp_path / "long.py"
    long.write_text("#" * (1 << 20) + "\n" + SPAWNING.replace("mp.spawn(", "str("))
    pipe = tmp_path / "pipe.py"
    os.mkfifo(pipe)

    assert muster.run("plan", "--nproc-per-node=2", long).code == 0
    assert muster.run("plan", "--nproc-per-node=2", pipe).code == 0

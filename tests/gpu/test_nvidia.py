"""A real NVIDIA GPU: counted, shared, shown to workers, and free again however a job ends."""

import json
import os
import re
import signal
import time

import pytest

from support import processes
from support.deadlines import wait_until

HELD = 1000  # MiB and more, of each worker of hold_memory
GRACE = 1
START = 120  # seconds until CUDA is ready


def pids_that_hold(job, count):
    wait_until(
        lambda: job.out.text.count("holding ") == count or job.process.poll() is not None,
        lambda: f"{count} workers to hold memory\n{job.words()}",
        START,
    )
    pids = [int(pid) for pid in re.findall(r"holding (\d+)", job.out.text)]
    assert len(pids) == count, job.words()
    return pids


def assert_free(gpus, before):
    """The driver needs a moment after the process is gone."""
    wait_until(
        lambda: max(now - was for now, was in zip(gpus.used(), before)) < HELD // 2,
        lambda: f"the memory of the GPUs to be free again: {before} before, {gpus.used()} MiB now",
        5,
    )


def test_every_gpu_gets_a_worker(muster, gpus):
    planned = json.loads(muster.run("plan", "--json", "--", "true").out.text)

    assert planned["nodes"]["slots"] == [len(gpus.uuids())]


def test_a_job_trains_with_nccl(muster, gpus, script):
    job = muster.run("--", *script("train", "nccl"), seconds=START)

    assert job.code == 0, job.words()
    assert f"rank 0 of {len(gpus.uuids())}: weight " in job.out.text


def test_muster_torchrun_takes_the_number_of_gpus_from_the_word_gpu(muster, gpus, script):
    train = script("train", "nccl")
    job = muster.run("torchrun", "--nproc-per-node=gpu", *train[1:], seconds=START)

    assert job.code == 0, job.words()
    assert f"rank 0 of {len(gpus.uuids())}: weight " in job.out.text


def test_workers_that_share_a_gpu_agree_about_the_weights(muster, script):
    job = muster.run("--nproc-per-node=3", "--", *script("train", "gloo"), seconds=START)

    assert job.code == 0, job.words()
    weights = re.findall(r"rank (\d) of 3: weight (\S+)", job.out.text)
    assert sorted(rank for rank, _ in weights) == ["0", "1", "2"]
    assert len({weight for _, weight in weights}) == 1


@pytest.mark.parametrize("option", [[], ["--devices=0"]])
def test_a_worker_sees_gpus_by_the_name_that_the_list_gives(muster, gpus, script, option):
    uuid = gpus.uuids()[0]
    job = muster.run(
        *option, "--", *script("show_devices"), env={"CUDA_VISIBLE_DEVICES": uuid}, seconds=START
    )

    assert job.code == 0, job.words()
    assert f"sees 1 {uuid.removeprefix('GPU-')}" in job.out.text


def test_a_hidden_gpu_is_not_counted(muster):
    job = muster.run("--nproc-per-node=gpu", "--", "true", env={"CUDA_VISIBLE_DEVICES": ""})

    assert job.code == 64, job.words()
    job.said_about("no GPU on this node", "CUDA_VISIBLE_DEVICES")


@pytest.mark.parametrize("whom", ["asked", "guard", "agent", "worker"])
def test_a_gpu_is_free_again_after_a_death(muster, gpus, script, whom):
    before = gpus.used()
    job = muster.start(
        f"--grace={GRACE}", "--nproc-per-node=2", "--", *script("hold_memory", "ignore")
    )
    pids = pids_that_hold(job, 2)
    assert max(now - was for now, was in zip(gpus.used(), before)) > 2 * HELD
    victims = {"asked": job.pid, "guard": job.pid, "agent": job.agent(), "worker": pids[1]}
    os.kill(victims[whom], signal.SIGTERM if whom == "asked" else signal.SIGKILL)
    begin = time.monotonic()

    job.end(seconds=GRACE + 20)
    wait_until(
        lambda: not any(map(processes.is_alive, pids)), lambda: "both workers to be gone", 5
    )
    print(f"{whom}: gone {time.monotonic() - begin:.2f} s later")
    assert_free(gpus, before)
    if whom == "worker":
        assert "rank 1" in job.err.text and "SIGKILL" in job.err.text


def test_a_kernel_that_fails_names_its_rank_and_what_cuda_said(muster, gpus, script, tmp_path):
    before = gpus.used()
    job = muster.start(
        f"--grace={GRACE}",
        "--nproc-per-node=2",
        "--",
        *script("hold_memory", "fail", tmp_path / "go"),
        report=True,
    )
    pids_that_hold(job, 2)
    (tmp_path / "go").touch()

    job.end(seconds=60)
    first = job.report["first_failure"]
    assert first["global_rank"] == 0
    assert any("device-side assert" in line for line in first["stderr_tail"])
    assert_free(gpus, before)

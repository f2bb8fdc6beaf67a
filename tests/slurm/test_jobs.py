"""Jobs of a real Slurm: started, requeued, cancelled, at their time limit."""

import re
import subprocess

import pytest

from support.deadlines import HANG
from support.muster import ROOT

EXAMPLES = ROOT / "examples"
TRAINING = EXAMPLES / "ddp.py"


def test_the_rendered_script_trains_on_two_nodes(jobs):
    script = jobs.render(
        *"--name ddp --nodes 2 --devices 2".split(), "--", "/usr/bin/python3", TRAINING
    )

    job = jobs.submit(script)

    assert job.end()["ExitCode"] == "0:0", job.output
    assert re.search(r"4 workers: loss .* all agree on the parameters", job.output), job.output
    assert "slurm: node 0 of 2" in job.output


def test_the_worked_example_trains_on_two_nodes(jobs, tmp_path):
    """Its numbers and folders are changed as its page says, and nothing else."""
    python = "/usr/bin/python3"
    subprocess.run([python, EXAMPLES / "make_data.py", tmp_path / "data"], check=True, timeout=HANG)
    script = (EXAMPLES / "train.sbatch").read_text()
    for shown, here in {
        "--gres=gpu:8": "--gres=gpu:1",
        "MUSTER_NPROC_PER_NODE=8": "MUSTER_NPROC_PER_NODE=1",
        "/shared/train/train.py": f"{python} {EXAMPLES}/train.py",
        "/shared/train": str(tmp_path),
    }.items():
        assert shown in script
        script = script.replace(shown, here)

    job = jobs.submit(script)

    assert job.end()["ExitCode"] == "0:0", job.output
    assert "slurm: node 0 of 2" in job.output
    assert "epoch 4 of 4: loss" in job.output and (tmp_path / "checkpoints" / "last.pt").exists()


def test_variables_resources_and_a_patch_reach_the_job(jobs, tmp_path):
    (tmp_path / "patch").write_text("#SBATCH --comment=patched\nexport FROM_PATCH=yes\n")
    script = jobs.render(
        *"--name added --nodes 2 --devices 1 --env".split(), "GREETING=it's me", "--patch", tmp_path / "patch", "--",
        "sh", "-c", 'echo "$GREETING, $FROM_PATCH"',
    )  # fmt: skip

    job = jobs.submit(script)
    ended = job.end()

    assert (ended["ExitCode"], ended["Comment"]) == ("0:0", "patched"), job.output
    assert job.output.count("it's me, yes") == 2, job.output


def test_retryable_exit_codes_are_requeued(jobs):
    """First a node is missing (75), then the program asks for it (85), then all is well."""
    enough = "test $SLURM_RESTART_COUNT -ge 2"
    program = f"{enough} || exit 85; echo worker of restart $SLURM_RESTART_COUNT"
    script = jobs.render(*"--name again --nodes 2 --devices 1 --".split(), "sh", "-c", program)
    missing = "export MUSTER_NNODES=3 MUSTER_GANG_TIMEOUT=1"
    first = f"if [[ -z ${{SLURM_RESTART_COUNT:-}} ]]; then {missing}; fi\n"
    explain = "muster explain --nnodes 1 | grep platform.restarts\n"
    assert script.count("\nexport ") == 1
    script = script.replace("\nexport ", "\n" + first + explain + "export ")

    job = jobs.submit(script)
    job.wait_for_line("exit code 75: queued again, restart 1 of")
    job.wait_for_line("exit code 85: queued again, restart 2 of")
    ended = job.end()

    assert (ended["ExitCode"], ended["Restarts"]) == ("0:0", "2"), job.output
    assert job.output.count("worker of restart 2\n") == 2
    assert re.findall(r"platform.restarts +(\d)", job.output) == ["1", "2"], job.output


def test_scancel_ends_the_job_in_order(jobs, worker, muster):
    """Slurm sends SIGTERM to the workers as well, but these take a while to save."""
    script = jobs.render(
        *"--name cancelled --nodes 2 --devices 2 --".split(), worker("save_for_seconds_on_term"), 1
    )

    job = jobs.submit(script)
    job.wait_for_line(r"\[0:1\] ready")
    job.wait_for_line(r"\[1:3\] ready")
    jobs.run("scancel", job.number)

    assert job.end()["JobState"] == "CANCELLED"
    job.wait_for_line("^muster: exit code 143:")
    muster.assert_no_survivors(seconds=10.0)
    assert "muster: stopped by SIGTERM" in job.output
    assert "could not be killed" not in job.output


def test_the_signal_before_the_time_limit_ends_the_job_in_order(jobs, worker):
    """Slurm counts a limit in minutes, and sends TERM@55 five seconds after the start or sooner: even before the step."""
    script = jobs.render(
        *"--name limit --nodes 2 --devices 1 --time-limit 60 --grace 40 --".split(),
        worker("save_for_seconds_on_term"),
        1,
    )
    assert "--signal=TERM@55" in script

    for _ in range(3):
        job = jobs.submit(script)
        ended = job.end()
        assert ended["ExitCode"] == "143:0", job.output
        if job.output.count("] ready") == 2:
            break

    assert "muster: stopped by SIGTERM" in job.output, job.output
    assert job.output.count("] saved") == 2, job.output


@pytest.mark.parametrize("asked", ["", "--ntasks-per-node=2"])
def test_a_batch_script_without_srun_is_refused_with_the_line_that_works(jobs, worker, asked):
    options = ["--nodes=2", "--gpus-per-node=2", *asked.split()]
    program = worker("print_rank")

    refused = jobs.submit(f"#!/bin/bash\nmuster {program}\n", *options)
    assert refused.end()["ExitCode"] == "78:0", refused.output
    line = re.search(r"start one on each by: (srun .*)$", refused.output, re.MULTILINE).group(1)
    job = jobs.submit(f"#!/bin/bash\n{line}\n", *options)

    assert job.end()["ExitCode"] == "0:0", job.output
    assert ranks(job.output) == [
        "rank 0 of 4, local rank 0 of 2, node 0 of 2",
        "rank 1 of 4, local rank 1 of 2, node 0 of 2",
        "rank 2 of 4, local rank 0 of 2, node 1 of 2",
        "rank 3 of 4, local rank 1 of 2, node 1 of 2",
    ]


@pytest.mark.parametrize(
    "options, wanted",
    [
        ("--distribution=block", [(0, 0), (1, 0), (0, 1), (1, 1)]),
        ("--distribution=cyclic", [(0, 0), (0, 1), (1, 0), (1, 1)]),
        ("--gpus-per-task=1", [(0, 0), (0, 0), (0, 1), (0, 1)]),
    ],
    ids=["block", "cyclic", "a device each"],
)
def test_a_task_for_each_gpu_is_a_worker_each(jobs, worker, options, wanted):
    """(local rank, node) by rank. Cyclic ranks of a node do not follow each other; a task that sees one
    device has that as its first."""
    srun = f"srun --nodes=2 --ntasks-per-node=2 {options}"
    script = f"#!/bin/bash\n{srun} muster {worker('print_rank')}\n"

    job = jobs.submit(script, "--nodes=2", "--ntasks-per-node=2", "--gpus-per-node=2")

    assert job.end()["ExitCode"] == "0:0", job.output
    places = re.findall(r"rank (\d) of 4, local rank (\d) of 2, node (\d) of 2", job.output)
    expected = [(str(rank), str(local), str(node)) for rank, (local, node) in enumerate(wanted)]
    assert sorted(places) == expected, job.output


def test_a_step_smaller_than_its_allocation_is_a_whole_job(jobs, worker):
    script = f"#!/bin/bash\nsrun --nodes=1 --ntasks=1 muster {worker('print_rank')}\n"

    job = jobs.submit(script, "--nodes=2", "--gpus-per-node=2")

    assert job.end()["ExitCode"] == "0:0", job.output
    assert ranks(job.output) == [
        "rank 0 of 2, local rank 0 of 2, node 0 of 1",
        "rank 1 of 2, local rank 1 of 2, node 0 of 1",
    ]


def ranks(output):
    return sorted(re.findall(r"rank \d+ of \d+, local rank .*", output))

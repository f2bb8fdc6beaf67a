"""Jobs that Slurm pre-empts are told by a signal to their batch script, save, are queued again, and go on where they were."""

import re

import pytest

from support.muster import ROOT

TRAINING = ROOT / "tests" / "workers" / "train_and_save.py"
STEPS = 40
HELD = 17  # the step at which the first run waits for the notice


@pytest.fixture
def program(muster):
    return f"{TRAINING} {muster.folder}/checkpoint {STEPS} {HELD}"


@pytest.fixture
def by_front(program):
    """One muster in the batch script, which starts the others: it is passed the signal."""
    of_page = re.search(r"^```bash\n(trap .*?)^```$", (ROOT / "docs" / "suspend.md").read_text(), re.DOTALL | re.MULTILINE)[1]
    script, replaced = re.subn(
        '"\\$SLURM_JOB_NODELIST" (.*) 100 -- train.py', lambda line: f'"$SLURM_JOB_NODELIST:2" {line[1]} 50 -- {program}', of_page
    )
    assert replaced == 1
    return f"#!/bin/bash\n{script}"


@pytest.fixture
def by_srun(jobs, program):
    """The script of `muster render slurm`: the muster of this node is asked."""
    return jobs.render(*"--name pre-empted --nodes 2 --devices 2 --".split(), "--suspend-timeout=50", *program.split())


@pytest.mark.parametrize("way", ["by_front", "by_srun"])
def test_a_pre_empted_job_goes_on_from_where_it_saved(jobs, muster, request, way):
    jobs.environment["PYTHONPATH"] = str(ROOT / "python")
    options = ["--nodes=2", "--ntasks-per-node=1", "--exclusive"]
    signal = ["--requeue", "--open-mode=append", "--signal=B:USR1@60"]
    job = jobs.submit(request.getfixturevalue(way), *options, *signal)
    for rank in range(4):
        job.wait_for_line(rf":{rank}\] going on from step 0$")

    urgent = jobs.submit("#!/bin/bash\n", "--partition=urgent", *options)

    assert urgent.end()["ExitCode"] == "0:0", job.output
    job.wait_for_line(r"suspended \((SIGUSR1|muster suspend)\): rank 0 saved [\d.]+ s after the notice$")
    ended = job.end()
    assert (ended["ExitCode"], ended["Restarts"]) == ("0:0", "1"), job.output
    assert job.output.count(f"] saved step {HELD}\n") == 1
    assert job.output.count(f"] going on from step {HELD}\n") == 4, job.output
    undisturbed = muster.run("--", TRAINING, muster.folder / "other", STEPS, env={"PYTHONPATH": ROOT / "python"})
    assert undisturbed.code == 0
    learned = re.findall(r"\] (learned .*)$", job.output, re.MULTILINE)
    assert learned == [undisturbed.out.lines[-1]] * 4

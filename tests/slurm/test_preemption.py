"""Jobs that Slurm preempts get a signal by their batch script, save, are requeued, and resume from their checkpoint."""

import re

import pytest

from support.muster import ROOT

TRAINING = ROOT / "tests" / "workers" / "train_and_save.py"
HAIS_TRAINING = ROOT / "tests" / "workers" / "train_as_hai_has_it.py"
OPTIONS = ["--nodes=2", "--ntasks-per-node=1", "--exclusive"]
SIGNAL = ["--requeue", "--open-mode=append", "--signal=B:USR1@60"]
COMPARE = (
    "import sys, torch; one, other = map(torch.load, sys.argv[1:])\n"
    "assert len(one) == 4 and all(torch.equal(one[name], other[name]) for name in one)"
)
STEPS = 40
HELD = 17  # the step at which the first run waits for the notice


@pytest.fixture
def program(muster):
    return f"{TRAINING} {muster.folder}/checkpoint {STEPS} {HELD}"


def script_of_page(options_and_program):
    """The batch script of docs/control.md with that job: one muster, which starts the others, is passed the signal."""
    of_page = re.search(r"^```bash\n(trap .*?)^```$", (ROOT / "docs" / "control.md").read_text(), re.DOTALL | re.MULTILINE)[1]
    script, replaced = re.subn(
        '"\\$SLURM_JOB_NODELIST" (.*) 100 -- train.py', lambda line: f'"$SLURM_JOB_NODELIST:2" {line[1]} 50 {options_and_program}', of_page
    )
    assert replaced == 1
    return f"#!/bin/bash\n{script}"


@pytest.fixture
def by_front(program):
    return script_of_page(f"-- {program}")


@pytest.fixture
def by_srun(jobs, program):
    """The script of `muster render slurm`: the muster of this node is asked."""
    return jobs.render(*"--name pre-empted --nodes 2 --devices 2 --".split(), "--suspend-timeout=50", *program.split())


@pytest.mark.parametrize("way", ["by_front", "by_srun"])
def test_a_preempted_job_resumes_from_its_checkpoint(jobs, muster, request, way):
    jobs.environment["PYTHONPATH"] = str(ROOT / "python")
    job = jobs.submit(request.getfixturevalue(way), *OPTIONS, *SIGNAL)
    for rank in range(4):
        job.wait_for_line(rf":{rank}\] going on from step 0$")

    urgent = jobs.submit("#!/bin/bash\n", "--partition=urgent", *OPTIONS)

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


def test_a_preempted_hai_script_resumes_from_its_checkpoint(jobs, muster):
    for name in ("disturbed", "calm"):
        (muster.folder / name).mkdir()
    (muster.folder / "calm" / "go").touch()
    options = "--mode once --template-arguments never --compat-hfai always -- /usr/bin/python3 -B"
    script = script_of_page(f"{options} {HAIS_TRAINING} {muster.folder}/disturbed 0")
    # After the first run nothing is to hold the script up.
    script = script.replace("muster --hosts", f"((${{SLURM_RESTART_COUNT:-0}} == 0)) || touch {muster.folder}/disturbed/go\nmuster --hosts")
    job = jobs.submit(script, *OPTIONS, *SIGNAL)
    job.wait_for_line(r"\] holding$")

    urgent = jobs.submit("#!/bin/bash\n", "--partition=urgent", *OPTIONS)

    assert urgent.end()["ExitCode"] == "0:0", job.output
    ended = job.end()
    assert (ended["ExitCode"], ended["Restarts"]) == ("0:0", "1"), job.output
    assert job.output.count("] saved epoch 0 step 8\n") == 1
    assert job.output.count("] going on at epoch 0 step 8\n") == 4, job.output
    calm = jobs.submit(script.replace("/disturbed", "/calm"), *OPTIONS)
    assert calm.end()["ExitCode"] == "0:0", calm.output
    one, other = (muster.folder / name / "final" for name in ("disturbed", "calm"))
    compared = muster.run("-c", COMPARE, one, other, program="/usr/bin/python3")
    assert compared.code == 0, compared.words()

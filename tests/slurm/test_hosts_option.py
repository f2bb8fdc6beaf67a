"""--hosts inside an allocation: the remote launcher starts the other nodes by srun, and needs no keys."""

import re

TELL = 'echo rank $RANK of $WORLD_SIZE on $(hostname)'


def test_a_remote_launcher_in_a_batch_script_starts_agents_by_srun(jobs):
    script = f"""#!/bin/bash
muster --hosts "$SLURM_JOB_NODELIST:2" --report front.json -- sh -c '{TELL}'
"""

    job = jobs.submit(script, "--nodes=2", "--gpus-per-node=2")

    assert job.end()["ExitCode"] == "0:0", job.output
    assert sorted(re.findall(r"rank (\d) of 4 on (\S+)", job.output)) == [
        ("0", "slurm-h0"),
        ("1", "slurm-h0"),
        ("2", "slurm-h1"),
        ("3", "slurm-h1"),
    ]
    assert "starting 2 nodes with 'srun" in job.output


def test_scancel_ends_agents_of_a_remote_launcher(jobs, worker, muster):
    script = f"""#!/bin/bash
exec muster --hosts "$SLURM_JOB_NODELIST:1" -- {worker("echo_signals")} 0
"""
    job = jobs.submit(script, "--nodes=2")
    job.wait_for_line(r"\[0:0\] ready")
    job.wait_for_line(r"\[1:1\] ready")

    jobs.run("scancel", "--batch", "--signal=TERM", job.number)

    assert job.end()["ExitCode"] == "143:0", job.output
    assert job.output.count("got TERM") == 2, job.output


def test_hosts_in_each_task_of_a_step_is_refused(jobs):
    script = "#!/bin/bash\nsrun --ntasks-per-node=1 muster --hosts a,b -- true\n"

    job = jobs.submit(script, "--nodes=2")

    assert job.end()["ExitCode"] == "64:0", job.output
    assert "slurm, which starts muster on each node" in job.output

"""A run says where its line and the platform differ about this node, and nothing where they agree."""

import pytest

BATCH = {
    "SLURM_JOB_ID": 4711,
    "SLURM_JOB_NUM_NODES": 2,
    "SLURM_NNODES": 2,
    "SLURM_JOB_NODELIST": "gpu[1-2]",
    "SLURM_NODELIST": "gpu[1-2]",
    "SLURM_PROCID": 0,
    "SLURM_NODEID": 0,
    "SLURM_LOCALID": 0,
}
STEP = {
    **BATCH,
    "SLURM_STEP_ID": 0,
    "SLURM_STEP_NUM_NODES": 2,
    "SLURM_STEP_NUM_TASKS": 2,
    "SLURM_STEP_TASKS_PER_NODE": "1(x2)",
    "SLURM_STEP_NODELIST": "gpu[1-2]",
}
ONE_NODE = {
    **STEP,
    "SLURM_STEP_NUM_NODES": 1,
    "SLURM_STEP_NUM_TASKS": 1,
    "SLURM_STEP_TASKS_PER_NODE": "1",
    "SLURM_STEP_NODELIST": "gpu1",
}
SECOND = {"SLURM_PROCID": 1, "SLURM_NODEID": 1}
TWO = ["--nnodes=2", "--nproc_per_node=1"]
LEADS = [*TWO, "--node_rank=0", "--master_addr=127.0.0.1"]


def test_a_rank_that_the_batch_script_expanded_is_refused_where_another_node_leads(muster):
    job = muster.run("torchrun", *TWO, "--node_rank=0", "--master_addr=gpu1", "-m", "site", env={**STEP, **SECOND})

    assert job.code == 64
    assert job.said_about("--node_rank is '0'", "SLURM_NODEID is '1'", "--master_addr is 'gpu1'")


@pytest.mark.parametrize(
    ("line", "environment", "words"),
    [
        (LEADS, {**STEP, **SECOND}, ["--node_rank is '0' but SLURM_NODEID is '1'"]),
        (LEADS, BATCH, ["not started by srun", "srun --nodes=2", "without --node_rank"]),
        ([*TWO, "--rdzv-backend=c10d", "--rdzv-endpoint=127.0.0.1:PORT"], BATCH, ["not started by srun"]),
        (
            [*TWO, "--rdzv-backend=c10d", "--rdzv-endpoint=127.0.0.1:PORT"],
            {**STEP, "SLURM_STEP_NODELIST": "garbage["},
            ["SLURM_STEP_NODELIST is 'garbage['", "does not compare the command line with what slurm"],
        ),
    ],
)
def test_a_difference_that_may_be_meant_is_said_among_the_first_lines(muster, port, line, environment, words):
    options = ["--gang-timeout=1", f"--master-port={port}"]
    line = [word.replace("PORT", str(port)) for word in line]
    job = muster.run(*options, "torchrun", *line, "-m", "site", env=environment)

    assert job.code == 75, job.words()
    assert job.said_about(*words) in job.said[:2]


@pytest.mark.parametrize(
    ("line", "environment"),
    [
        (LEADS, STEP),
        (["--nnodes=1", "--nproc_per_node=1"], BATCH),
        (["--nnodes=1", "--nproc_per_node=1"], ONE_NODE),
        ([*LEADS[1:], "--nnodes=1:4"], STEP),
    ],
)
def test_where_both_agree_nothing_is_said(muster, port, line, environment):
    options = ["--gang-timeout=1", f"--master-port={port}"]
    job = muster.run(*options, "torchrun", *line, "-m", "site", env=environment)

    assert not any("SLURM" in said for said in job.said), job.words()

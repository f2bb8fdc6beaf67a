"""DeepSpeed and accelerate on CPUs: the same loss under muster as under their own launchers."""

import re

import pytest

import jobs

pytestmark = pytest.mark.framework
DEEPSPEED = jobs.script("deepspeed_train.py")
ACCELERATE = jobs.script("accelerate_train.py")
LOSS = re.compile(r"2 workers: (loss [0-9.]+ -> [0-9.]+)")


@pytest.fixture
def settings(torch_others_venv, tmp_path):
    return jobs.environment(torch_others_venv, tmp_path, DS_ACCELERATOR="cpu")


def loss_of(results):
    assert [result.code for result in results] == [0] * len(results)
    found = LOSS.search("".join(result.out for result in results))
    assert found, [result.out for result in results]
    return found[1]


def on_two_hosts(muster, hosts, settings, mode, script):
    options = ["--mode", mode, "--nnodes", "2", "--nproc-per-node", "1"]
    options += ["--master-addr", hosts.address(0)]
    return jobs.run(
        hosts,
        settings,
        [(node, muster, *options, "--node-rank", node, script) for node in (1, 0)],
    )


def test_deepspeed_trains_alike(muster, two_hosts, settings):
    line = ["--num_accelerators", "2", "--master_port", "29701", DEEPSPEED]
    original = jobs.run(two_hosts, settings, [(0, "deepspeed", *line)])
    agents = on_two_hosts(muster, two_hosts, settings, "deepspeed", DEEPSPEED)

    jobs.note("DeepSpeed, 2 workers, 1 host", "deepspeed", original)
    jobs.note("DeepSpeed, 2 workers, 2 hosts", "muster --mode deepspeed", agents)
    assert loss_of(agents) == loss_of(original)


def test_accelerate_trains_alike(muster, two_hosts, settings):
    # With --cpu it starts one process; this form gives its environment to two.
    line = ["launch", "--multi_gpu", "--num_processes", "2", "--num_machines", "1"]
    line += ["--mixed_precision", "no", "--dynamo_backend", "no", ACCELERATE]
    original = jobs.run(two_hosts, settings, [(0, "accelerate", *line)])
    agents = on_two_hosts(muster, two_hosts, settings, "accelerate", ACCELERATE)

    jobs.note("accelerate, 2 workers, 1 host", "accelerate launch", original)
    jobs.note("accelerate, 2 workers, 2 hosts", "muster --mode accelerate", agents)
    assert loss_of(agents) == loss_of(original)
    assert "DistributedType.MULTI_CPU" in "".join(agent.out for agent in agents)

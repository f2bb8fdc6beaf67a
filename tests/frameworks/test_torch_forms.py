"""PyTorch's own training programs, started in the ways in which torchrun's users start them."""

import pathlib
import re

import pytest

import jobs

pytestmark = pytest.mark.framework
REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
DDP = str(REPOSITORY / "examples" / "ddp.py")
FSDP = jobs.script("torch_fsdp.py")


@pytest.fixture
def settings(torch_venv, tmp_path):
    return jobs.environment(torch_venv, tmp_path)


def assert_trained(agents, workers, loss=r"loss .* all agree on the parameters"):
    """All is well, and whoever ran them printed one loss."""
    assert [agent.code for agent in agents] == [0] * len(agents)
    printed = "".join(agent.out for agent in agents)
    assert re.search(rf"^(\[.*\] )?{workers} workers: {loss}", printed, re.MULTILINE), printed


def test_modelarts_runs_torchrun_on_two_hosts(muster, two_hosts, settings):
    """The Ascend engine's form; the extra parameters stand last and win."""
    names = [two_hosts.name(0), two_hosts.name(1)]
    modelarts = {
        "MA_RUN_METHOD": "torchrun",
        "MA_NUM_HOSTS": "2",
        "MA_NUM_GPUS": "4",
        "MA_VJ_NAME": "ma-job-0",
        "MA_TASK_NAME": "worker",
        "MA_TORCHRUN_MASTER_PORT": "18999",
        "MA_EXTRA_TORCHRUN_PARAMS": "--nproc_per_node=2 --rdzv_conf=timeout=120",
        "VC_WORKER_HOSTS": ",".join(names),
        "VC_WORKER_NUM": "2",
    }
    job = jobs.Job(two_hosts, {**settings, **modelarts})
    for node in (1, 0):
        job.start(node, muster, DDP, VC_TASK_INDEX=str(node))

    agents = job.finish()

    jobs.note("DDP, 2 hosts, 4 workers", "MA_RUN_METHOD=torchrun", agents)
    assert_trained(agents, 4)


def test_the_symlink_takes_torchruns_own_line(muster, two_hosts, settings, torch_venv, tmp_path):
    link = tmp_path / "bin" / "torchrun"
    link.parent.mkdir()
    link.symlink_to(muster)

    def of_both(program, port):
        line = ["--nnodes=2", "--nproc_per_node=2", "--rdzv-backend=static"]
        line += [f"--master_addr={two_hosts.address(0)}", f"--master_port={port}"]
        return jobs.run(
            two_hosts,
            settings,
            [(node, program, *line, f"--node_rank={node}", DDP) for node in (1, 0)],
        )

    originals = of_both(torch_venv / "torchrun", 29601)
    agents = of_both(link, 29602)

    jobs.note("DDP, 2 hosts, 4 workers", "torchrun", originals)
    jobs.note("DDP, 2 hosts, 4 workers", "symlink torchrun", agents)
    assert_trained(originals, 4)
    assert_trained(agents, 4)


def test_the_c10d_form_has_no_node_ranks(muster, two_hosts, settings):
    line = ["--nnodes", "2", "--nproc-per-node", "2", "--rdzv-id", "job-7"]
    line += ["--rdzv-backend", "c10d", "--rdzv-endpoint", f"{two_hosts.address(0)}:29603"]

    agents = jobs.run(
        two_hosts, settings, [(node, muster, "torchrun", *line, DDP) for node in (1, 0)]
    )

    jobs.note("DDP, 2 hosts, 4 workers", "muster torchrun, c10d", agents)
    assert_trained(agents, 4)
    for agent in agents:  # and it was muster, not a torchrun that it found and started
        assert "muster: 2 workers here and the others of 2 nodes succeeded" in agent.err


def test_fsdp_trains_on_two_hosts_as_under_torchrun(muster, two_hosts, settings, torch_venv):
    original = jobs.run(
        two_hosts, settings, [(0, torch_venv / "torchrun", "--nproc-per-node", "2", FSDP)]
    )

    options = ["--nnodes", "2", "--nproc-per-node", "1", "--master-addr", two_hosts.address(0)]
    agents = jobs.run(
        two_hosts,
        settings,
        [(node, muster, *options, "--node-rank", node, FSDP) for node in (1, 0)],
    )

    jobs.note("FSDP, 2 workers, 1 host", "torchrun", original)
    jobs.note("FSDP, 2 workers, 2 hosts", "muster", agents)
    loss = r"(loss .* parameters here)"
    assert_trained(original, 2, loss)
    assert_trained(agents, 2, loss)
    found = [re.search(loss, "".join(r.out for r in results))[1] for results in (original, agents)]
    assert found[0] == found[1]


def test_options_of_a_script_reach_it_unchanged(muster, two_hosts, settings, tmp_path):
    """torchrun would take --nnodes and --master_port of the script, or abbreviations, for its own."""
    prints = tmp_path / "prints.py"
    prints.write_text("import sys\nprint('got', sys.argv[1:])\n")
    own = ["--nnodes", "9", "--d", "3", "--master_port", "5"]

    [agent] = jobs.run(
        two_hosts, settings, [(0, muster, "torchrun", "--nproc-per-node", "1", prints, *own)]
    )

    assert agent.code == 0
    assert f"got {own}" in agent.out

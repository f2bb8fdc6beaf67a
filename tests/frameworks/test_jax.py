"""JAX on two hosts: `jax.distributed.initialize()` without arguments, and a psum over both."""

import pytest

import jobs

pytestmark = pytest.mark.framework
SUM = jobs.script("jax_psum.py")


def by_hand(rank, count, coordinator):
    """JAX has no launcher: these are the variables that one sets by hand, of Open MPI's names."""
    return {
        "JAX_COORDINATOR_ADDRESS": coordinator,
        "OMPI_MCA_orte_hnp_uri": "by hand",
        "OMPI_COMM_WORLD_SIZE": str(count),
        "OMPI_COMM_WORLD_RANK": str(rank),
        "OMPI_COMM_WORLD_LOCAL_RANK": "0",
    }


def test_two_processes_on_two_hosts_add_up(muster, jax_venv, two_hosts, tmp_path):
    settings = jobs.environment(jax_venv, tmp_path)
    job = jobs.Job(two_hosts, settings)
    for rank in (0, 1):
        job.start(rank, "python", SUM, **by_hand(rank, 2, f"{two_hosts.address(0)}:18601"))
    originals = job.finish()

    options = ["--mode", "jax", "--nnodes", "2", "--nproc-per-node", "1"]
    options += ["--master-addr", two_hosts.name(0)]
    agents = jobs.run(
        two_hosts,
        settings,
        [(node, muster, *options, "--node-rank", node, SUM) for node in (1, 0)],
    )

    jobs.note("JAX psum, 2 hosts", "by hand", originals)
    jobs.note("JAX psum, 2 hosts", "muster --mode jax", agents)
    assert [result.code for result in originals + agents] == [0, 0, 0, 0]
    for results in (originals, agents):
        printed = "".join(result.out for result in results)
        for process in (0, 1):
            assert f"process {process} of 2: psum 3 over 2 devices" in printed


def test_a_process_that_dies_ends_the_job_with_its_code(muster, jax_venv, two_hosts, tmp_path):
    """JAX's own heartbeat would take 100 s to say so."""
    dies = tmp_path / "dies.py"
    dies.write_text(
        "import os, time, jax\n"
        "jax.distributed.initialize()\n"
        "if jax.process_index() == 1:\n"
        "    os._exit(7)\n"
        "time.sleep(600)\n"
    )
    settings = jobs.environment(jax_venv, tmp_path, JAX_PLATFORMS="cpu")
    options = ["--mode", "jax", "--nnodes", "2", "--nproc-per-node", "1", "--grace", "3"]
    options += ["--master-addr", two_hosts.address(0)]

    agents = jobs.run(
        two_hosts,
        settings,
        [(node, muster, *options, "--node-rank", node, dies) for node in (0, 1)],
    )

    assert [agent.code for agent in agents] == [7, 7]
    assert "muster: rank 1 failed first" in agents[0].err

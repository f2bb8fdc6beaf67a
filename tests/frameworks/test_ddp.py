"""Real training with PyTorch under muster: an unmodified env:// script, on one node and on two."""

import pathlib
import re
import subprocess
import sys

import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
TRAINING = str(REPOSITORY / "examples" / "ddp.py")
FAILING = str(pathlib.Path(__file__).parent / "workers" / "fail_in_training.py")
DEADLINE = 120  # seconds; four imports of torch take ten on two slow cores


def finish(agents):
    """Waits for all agents and returns (exit code, stdout, stderr) of each."""
    results = []
    try:
        for agent in agents:
            out, err = agent.communicate(timeout=DEADLINE)
            results.append((agent.returncode, out, err))
    finally:
        for agent in agents:
            agent.kill()
            agent.wait()
    for _, _, err in results:
        sys.stderr.write(err)  # pytest shows it when the test fails
    return results


def start(command, environment):
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_four_workers_on_one_node_train_and_agree(muster, python, clean_environment):
    environment = {**clean_environment, "PYTHON_EXEC": python}

    [(code, out, err)] = finish(
        [start([muster, "--nproc-per-node", "4", TRAINING], environment)]
    )

    assert code == 0
    assert re.search(r"^\[0\] 4 workers: loss .* all agree on the parameters", out, re.MULTILINE)
    assert re.search(r"^muster: 4 workers succeeded in ", err, re.MULTILINE)


@pytest.mark.parametrize("master_by", ["name", "address"])
def test_two_hosts_with_two_workers_each_train_and_agree(
    muster, python, two_hosts, clean_environment, master_by
):
    environment = {**clean_environment, "PYTHON_EXEC": python}
    master = two_hosts.name(0) if master_by == "name" else two_hosts.address(0)
    job = ["--nnodes", "2", "--nproc-per-node", "2", "--master-addr", master]

    agents = [
        two_hosts.start(
            node,
            *[muster, *job, "--master-port", "29500", "--node-rank", str(node), TRAINING],
            env=environment,
        )
        for node in (1, 0)
    ]
    (other_code, other_out, _), (code, out, _) = finish(agents)

    assert (code, other_code) == (0, 0)
    assert re.search(r"^\[0:0\] 4 workers: loss .* all agree on the parameters", out, re.MULTILINE)
    assert "workers: loss" not in other_out


def test_the_failed_training_rank_is_named_and_not_its_peers(
    muster, python, clean_environment
):
    environment = {**clean_environment, "PYTHON_EXEC": python}

    [(code, _, err)] = finish([start([muster, "--nproc-per-node", "4", FAILING], environment)])

    assert code == 23
    assert re.search(r"^muster: rank 2 failed first: .* exit code 23", err, re.MULTILINE)
    assert "muster:   | RuntimeError: the loss is not a number any more" in err
    assert err.rstrip().endswith("muster: exit code 23: that of rank 2, the first failure")

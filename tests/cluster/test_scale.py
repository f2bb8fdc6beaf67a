"""Gangs of hundreds of agents: a real leader, and one process that simulates all other agents."""

import json
import subprocess

import pytest

from support.deadlines import promise
from support.muster import binary, built
from support.repetitions import default_or_soak, soaking

pytestmark = pytest.mark.full


def simulate(muster, *options):
    """Joins so many agents, fails one of them, restarts and ends; what was measured meanwhile."""
    simulator = built().parent / "tests" / "simulate_agents"
    done = subprocess.run(
        [*muster.under, simulator, "--muster", binary(), "--hold", "1", *options],
        env=muster.environment(),
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout)


@pytest.mark.soak
@pytest.mark.needs("posix_spawn")
def test_hundreds_of_nodes_get_one_rank_table_of_all_their_devices(muster):
    nodes = default_or_soak(100, 1000)
    figures = simulate(muster, "--agents", str(nodes), "--devices", "8")
    assert figures["merged_bytes"] > (nodes + 1) * 8 * 50  # each device with its address and its rank
    promise("from the last node to the start of all, with the table", 20, figures["join_seconds"])


@pytest.mark.soak
@pytest.mark.needs("posix_spawn")  # which the player of the agents starts the leader with
@pytest.mark.parametrize(
    "more", [[], ["--encrypted"], ["--by-arrival"]], ids=["plain", "encrypted", "by arrival"]
)
def test_hundreds_of_agents_join_fail_restart_and_succeed(muster, capsys, more):
    figures = simulate(muster, "--agents", str(default_or_soak(200, 1000)), *more)

    if soaking():
        with capsys.disabled():
            print(f"\n{json.dumps(figures, indent=1)}")
    promise("from the question to where all ranks are", 5, figures["stacks_seconds"])
    assert figures["join_bytes_per_agent"] < 4000  # no agent is told about all others
    assert figures["restart_bytes_per_agent"] < 4000

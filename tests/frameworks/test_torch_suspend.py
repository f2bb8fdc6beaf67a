"""Training loops that save at a signal and do not know muster: they are suspended, and resume bit for bit from their checkpoint."""

import re
import signal

import jobs
import pytest

from support.gang import free_port

TRAINING = jobs.script("agree_and_save.py")
ENDLESS = 10**9
RANKS = 4


@pytest.fixture
def training(launcher, python, tmp_path):
    """Starts the loop, by one agent or by two that share the ranks; all ranks train when it returns."""

    def start(name, folder, steps, *options, nodes=1):
        (tmp_path / folder).mkdir(exist_ok=True)
        port = free_port()
        agents = []
        for node in range(nodes):
            where = [f"--nnodes={nodes}", f"--node-rank={node}", "--master-addr=127.0.0.1", f"--master-port={port}"]
            line = [f"--nproc-per-node={RANKS // nodes}", *(where if nodes > 1 else []), *options]
            program = [python, TRAINING, name, tmp_path / folder, steps]
            agents.append(launcher.start(*line, "--", *program, report=True))
        for agent in agents:
            agent.out.wait_for("going on from step", times=RANKS // nodes)
        return agents

    return start


def last_step(folder, agents):
    """The step of the checkpoint, as rank 0 told it once."""
    (step,) = re.findall(r"saved step (\d+)$", "".join(agent.out.text for agent in agents), re.MULTILINE)
    assert (folder / "checkpoint").exists()
    return int(step)


def assert_suspended(agents):
    for agent in agents:
        assert agent.end() == 85, agent.words()
        assert agent.report["verdict"] == "suspended"
        assert agent.report["first_failure"] is None
        assert [worker["exit_code"] for worker in agent.report["workers"]] == [0] * (RANKS // len(agents))


def assert_goes_on(launcher, python, training, folder, name, step):
    """The next run goes on from that step, and ends with the parameters of a run that nobody disturbed."""
    (again,) = training(name, "disturbed", step + 40)
    assert again.end() == 0, again.words()
    assert again.out.text.count(f"going on from step {step}\n") == RANKS
    (calm,) = training(name, "calm", step + 40)
    assert calm.end() == 0, calm.words()
    jobs.assert_same_tensors(python, folder / "disturbed" / "final", folder / "calm" / "final")


@pytest.mark.parametrize("nodes", [1, 2])
@pytest.mark.parametrize("name", ["TERM", "USR1"])
def test_a_loop_that_saves_at_a_signal_is_suspended_by_a_command(launcher, python, training, tmp_path, name, nodes):
    agents = training(name, "disturbed", ENDLESS, f"--tell-workers-by={name}", nodes=nodes)

    assert launcher.run("suspend", f"--job={agents[-1].guard()}").code == 0

    assert_suspended(agents)
    assert_goes_on(launcher, python, training, tmp_path, name, last_step(tmp_path / "disturbed", agents))


@pytest.mark.parametrize("name", ["TERM", "USR1"])
def test_a_loop_that_saves_at_a_signal_is_suspended_by_that_signal(launcher, python, training, tmp_path, name):
    (agent,) = training(name, "disturbed", ENDLESS, f"--suspend-signal={name}", f"--tell-workers-by={name}")

    agent.signal(signal.Signals[f"SIG{name}"])

    assert_suspended([agent])
    assert_goes_on(launcher, python, training, tmp_path, name, last_step(tmp_path / "disturbed", [agent]))

"""One of 16 ranks on four hosts hangs, and is named (docs/hangs.md). With SOAK=1 ten times in each way."""

import json
import pathlib
import random
import re
import signal
import time

import pytest

from support.frozen import Disk
from support.repetitions import default_or_soak

WORKER = pathlib.Path(__file__).parent / "workers" / "hang.py"
PHASES = WORKER.with_name("long_phases.py")
NODES = 4
WORKERS = 4  # of each node
MOST_NAMED = 2
LIMIT = 10  # seconds of quiet; 60 by default
START = 200  # seconds until 16 ranks have imported torch on two slow cores
NAMED = re.compile(r"^(?:muster: )?rank (\d+) \(", re.MULTILINE)

pytestmark = pytest.mark.framework


@pytest.fixture
def disk(tmp_path):
    with Disk(tmp_path / "disk") as one:
        yield one


@pytest.fixture
def start(launcher, torch_venv, four_hosts, disk):
    """Starts a job whose rank hangs in that way, and returns its agents."""

    def start_agent(node, kind, rank):
        return launcher.start(
            *[f"--nnodes={NODES}", f"--node-rank={node}", f"--nproc-per-node={WORKERS}", "--grace=1"],
            *[f"--master-addr={four_hosts.address(0)}", f"--hang-report={LIMIT}"],
            *[WORKER, kind, rank, disk.folder],
            through=four_hosts.command("exec", str(node)),
            env={"PYTHON_EXEC": torch_venv / "python3", "OMP_NUM_THREADS": 1, "CUDA_VISIBLE_DEVICES": ""},
        )

    return lambda kind, rank: [start_agent(node, kind, rank) for node in range(NODES)]


def named(text):
    return {int(rank) for rank in NAMED.findall(text)}


@pytest.mark.parametrize("repetition", range(default_or_soak(1, 10)))
@pytest.mark.parametrize(
    "kind",
    [
        "asleep",
        "prints",
        "stale lock",
        "thread",
        "coroutine",
        "executor",
        "interpreter lock",
        "stopped",
        "frozen disk",
        "mismatch",
        "loader",
        "module",
        "compiled",
        "async wait",
        "setup",
        "buffers",
        "store",
        "ended",
        "teardown",
        "never came",
    ],
)
def test_the_rank_that_hangs_is_named(start, launcher, disk, kind, repetition):
    rank = random.Random(f"{kind} {repetition}").randrange(NODES * WORKERS)
    agents = start(kind, rank)
    own = agents[rank // WORKERS]
    own.out.wait_for("hangs now", seconds=START)
    if kind == "frozen disk":
        disk.freeze()
    for agent in agents:
        agent.err.wait_for("the job has not moved for", seconds=START)
        agent.err.wait_for(" is at " if kind != "ended" else f"rank {rank} (", seconds=START)
    reports = [agent.err.text for agent in agents]
    began = time.monotonic()
    answer = launcher.run("stacks", f"--job={own.guard()}", "--json")
    seconds = time.monotonic() - began
    document = json.loads(answer.out.text)
    print(f"{kind}, rank {rank}, in {seconds:.2f} s:", *document["verdict"], sep="\n  ")
    disk.thaw()
    end(agents)

    assert document["missing"] == 0
    for text in [*reports, "\n".join(document["verdict"])]:
        assert rank in named(text)
        assert len(named(text)) <= MOST_NAMED


@pytest.mark.parametrize("repetition", range(default_or_soak(1, 10)))
def test_a_rank_in_an_endless_loop_is_said_to_work(start, repetition):
    """Nobody knows of a loop that it never ends: the rank is no culprit before five limits have passed, and then not at once."""
    rank = random.Random(f"loop {repetition}").randrange(NODES * WORKERS)
    agents = start("loop", rank)
    agents[rank // WORKERS].out.wait_for("hangs now", seconds=START)
    for agent in agents:
        agent.err.wait_for(f"the job waits for rank {rank}, which ", seconds=START)
    reports = [agent.err.text for agent in agents]
    end(agents)

    for text in reports:
        before = text[: text.index("the job waits for")]
        assert "has not moved" not in before
        assert named(before) == set()


def end(agents):
    for agent in agents:
        agent.signal(signal.SIGTERM)
    for agent in agents:
        agent.end(START)


def test_nobody_is_named_while_a_single_rank_compiles_evaluates_or_saves(launcher, torch_venv, tmp_path):
    """With SOAK=1 as long as in real jobs, and ten jobs side by side: ten minutes in all, and the limit by default."""
    scale, jobs = default_or_soak((0.1, 1), (1, 10))
    limit, phase = 60 * scale, 140 * scale
    running = []
    for number in range(jobs):
        folder = tmp_path / str(number)
        folder.mkdir()
        running.append(
            launcher.start(
                "--nproc-per-node=4",
                f"--hang-report={limit}",
                PHASES,
                phase,
                folder,
                env={"PYTHON_EXEC": torch_venv / "python3", "OMP_NUM_THREADS": 1, "CUDA_VISIBLE_DEVICES": ""},
            )
        )
    for job in running:
        job.out.wait_for("trained", times=4, seconds=4 * phase + START)
        job.end()

        assert job.code == 0
        assert "has not moved" not in job.err.text

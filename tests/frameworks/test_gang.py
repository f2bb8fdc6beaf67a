"""Real training with PyTorch on two hosts that join, fail, restart and shrink as one job."""

import json
import os
import pathlib
import re
import signal
import time

import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
TRAINING = str(REPOSITORY / "examples" / "ddp.py")
WORKERS = pathlib.Path(__file__).parent / "workers"
JOIN = str(WORKERS / "join_uneven.py")
RESUME = str(WORKERS / "resume.py")
STEPS = 23
DEADLINE = 120  # seconds; four imports of torch take ten on two slow cores, and some runs need more
ADDRESS_IN_USE = re.compile("address already in use|EADDRINUSE", re.IGNORECASE)

pytestmark = pytest.mark.framework


class Agents:
    """Starts the agents of one job, one on each host, and collects what they leave."""

    def __init__(self, muster, torch_venv, hosts, environment, folder):
        self.muster = muster
        self.hosts = hosts
        self.folder = folder
        self.environment = {
            **environment,
            "PYTHON_EXEC": str(torch_venv / "python3"),
            "OMP_NUM_THREADS": "1",
        }
        self.processes = {}

    def start(self, *command, options=(), nodes="2", workers=2, ranked=True):
        """The same command line on both hosts, but for the node rank."""
        job = [f"--nnodes={nodes}", f"--nproc-per-node={workers}", "--master-port=29500"]
        for node in (1, 0):
            rank = [f"--node-rank={node}"] if ranked else []
            report = f"--report={self.report_file(node)}"
            master = f"--master-addr={self.hosts.address(0)}"
            self.processes[node] = self.hosts.start(
                node,
                *[self.muster, *job, master, *rank, report, *options, *map(str, command)],
                env=self.environment,
            )
        return self

    def report_file(self, node):
        return self.folder / f"report-{node}.json"

    def end(self, nodes=(0, 1)):
        """Waits for these agents; their exit codes, what they printed, what they said."""
        ended = {}
        for node in nodes:
            out, err = self.processes[node].communicate(timeout=DEADLINE)
            print(f"--- agent {node}:\n{out}{err}")  # pytest shows it when the test fails
            ended[node] = (self.processes[node].returncode, out, err)
        assert not any(ADDRESS_IN_USE.search(out + err) for _, out, err in ended.values())
        return ended

    def reports(self):
        return [json.loads(self.report_file(node).read_text()) for node in (0, 1)]

    def kill_all(self):
        for process in self.processes.values():
            process.kill()
            process.wait()


@pytest.fixture
def agents(muster, torch_venv, two_hosts, clean_environment, tmp_path):
    """Makes the agents of a job, and ends those that a failed test leaves."""
    made = []

    def make():
        folder = tmp_path / f"job-{len(made)}"
        folder.mkdir()
        made.append(Agents(muster, torch_venv, two_hosts, clean_environment, folder))
        return made[-1]

    yield make
    for job in made:
        job.kill_all()


def codes(ended):
    return [code for code, _, _ in ended.values()]


def beginnings(out):
    """(attempt, step, ranks, port) of each attempt that began to train."""
    lines = re.findall(r"attempt (\d+): from step (\d+), (\d+) ranks, port (\d+)", out)
    return [tuple(map(int, line)) for line in lines]


def test_two_hosts_without_node_ranks_train_and_agree(agents):
    """As torchrun's c10d form: both are told the same."""
    ended = agents().start(TRAINING, ranked=False).end()

    assert codes(ended) == [0, 0]
    line = r"^\[0:0\] 4 workers: loss .* all agree on the parameters"
    assert re.search(line, ended[0][1], re.MULTILINE), "the leader is on the host of the address"


def test_ranks_with_uneven_inputs_end_one_after_the_other(agents):
    job = agents()
    ended = job.start(JOIN).end()

    assert codes(ended) == [0, 0]
    for rank in range(4):
        host = job.hosts.name(rank // 2)
        assert f"rank {rank} of 4 on {host} leaves" in ended[rank // 2][1]
    reports = job.reports()
    assert [report["verdict"] for report in reports] == ["succeeded", "succeeded"]
    run_times = [worker["run_time_s"] for report in reports for worker in report["workers"]]
    assert max(run_times) - min(run_times) > 1
    assert len(run_times) == 4


def test_a_run_that_loses_a_worker_ends_with_the_same_parameters(agents, tmp_path):
    (tmp_path / "calm").mkdir()
    (tmp_path / "lossy").mkdir()
    calm = agents().start(RESUME, tmp_path / "calm", STEPS).end()

    job = agents()
    faults = ["0:3:13", "1:3:18"]
    restarting = ["--max-restarts=2", "--restart-backoff=0.1"]
    lossy = job.start(RESUME, tmp_path / "lossy", STEPS, *faults, options=restarting).end()

    assert codes(calm) == codes(lossy) == [0, 0]
    assert [begin[:3] for begin in beginnings(lossy[0][1])] == [(0, 0, 4), (1, 10, 4), (2, 15, 4)]
    last = re.compile(r"done at step .*")
    assert last.search(lossy[0][1])[0] == last.search(calm[0][1])[0]
    for report in job.reports():
        assert report["attempt"] == 2
        assert all("rank 3 on node 1" in past["reason"] for past in report["past_attempts"])


def test_three_restarts_meet_at_three_new_ports(agents, tmp_path):
    faults = ["0:1:1", "1:0:2", "2:1:3"]
    options = ["--max-restarts=3", "--restart-backoff=0.1"]
    ended = agents().start(RESUME, tmp_path, 4, *faults, options=options, workers=1).end()

    assert codes(ended) == [0, 0]
    began = beginnings(ended[0][1])
    assert [attempt for attempt, *_ in began] == [0, 1, 2, 3]
    assert len({port for *_, port in began}) == 4


def test_an_elastic_job_continues_without_a_lost_agent(agents, tmp_path):
    job = agents()
    job.start(
        *[RESUME, tmp_path, STEPS, "0:-:12"],
        options=["--max-restarts=1", "--heartbeat-timeout=3", "--grace=2"],
        nodes="1:2",
    )
    wait_for(lambda: len(list(tmp_path.glob("waits.*"))) == 4, "all ranks to train")

    os.kill(job.processes[1].pid, signal.SIGKILL)
    ended = job.end([0])

    assert codes(ended) == [0]
    assert [begin[:3] for begin in beginnings(ended[0][1])] == [(0, 0, 4), (1, 10, 2)]
    assert re.search(rf"done at step {STEPS} with 2 ranks", ended[0][1])


def wait_for(happened, what):
    deadline = time.monotonic() + DEADLINE
    while not happened():
        assert time.monotonic() < deadline, f"waited {DEADLINE} s for {what}"
        time.sleep(0.01)

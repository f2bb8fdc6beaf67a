"""MindSpore's dynamic cluster on two hosts: under muster, and under the real msrun beside it."""

import json
import os
import pathlib
import re
import signal

import pytest

import jobs

pytestmark = pytest.mark.framework
TRAINING = jobs.script("mindspore_dp.py")
LOSS = re.compile(r"(\d workers: loss [0-9.]+)")


@pytest.fixture(scope="module")
def settings(mindspore_venv, tmp_path_factory):
    return jobs.environment(mindspore_venv, tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="module")
def loss_under_msrun(mindspore_venv, two_hosts, settings, tmp_path_factory):
    """The output of the four workers of one node under the real msrun."""
    folder = tmp_path_factory.mktemp("msrun")
    line = ["--worker_num=4", "--local_worker_num=4", "--join=True"]
    line += [f"--log_dir={folder / 'logs'}", TRAINING, folder]

    results = jobs.run(two_hosts, settings, [(0, mindspore_venv / "msrun", *line)])

    jobs.note("MindSpore, 4 workers, 1 host", "msrun", results)
    return loss_of(results)


def loss_of(results):
    assert [result.code for result in results] == [0] * len(results)
    found = LOSS.search("".join(result.out for result in results))
    assert found, "no worker printed a loss"
    return found[1]


def test_the_same_loss_on_two_hosts_as_under_msrun_on_one(
    muster, two_hosts, settings, loss_under_msrun, tmp_path
):
    options = ["--mode", "msrun", "--nnodes", "2", "--nproc-per-node", "2"]
    options += ["--master-addr", two_hosts.name(0), "--log-dir", tmp_path / "logs"]

    agents = jobs.run(
        two_hosts,
        settings,
        [
            (node, muster, *options, "--node-rank", node, "--", "python", TRAINING, tmp_path)
            for node in (1, 0)
        ],
    )

    jobs.note("MindSpore, 4 workers, 2 hosts", "muster --mode msrun", agents)
    assert loss_of(agents) == loss_under_msrun
    assert (tmp_path / "scheduler.json").exists()  # it ran, and on one node only
    for rank in range(4):
        seen = json.loads((tmp_path / f"worker-{rank}.json").read_text())
        assert (seen["MS_ROLE"], seen["RANK_ID"]) == ("MS_WORKER", str(rank))


def test_msruns_own_line_trains_on_uneven_nodes(
    muster, two_hosts, settings, loss_under_msrun, tmp_path
):
    """The real msrun ends with "Repeated registration node" there."""
    logs = tmp_path / "logs"
    line = ["--worker_num=4", f"--master_addr={two_hosts.name(0)}", "--master_port=8131"]
    line += ["--join=True", f"--log_dir={logs}"]

    agents = jobs.run(
        two_hosts,
        settings,
        [
            (
                node,
                *[muster, "msrun", *line, f"--local_worker_num={workers}"],
                *[f"--node_rank={node}", TRAINING, tmp_path],
            )
            for node, workers in ((0, 3), (1, 1))
        ],
    )

    jobs.note("MindSpore, 3 + 1 workers, 2 hosts", "muster msrun", agents)
    assert loss_of(agents) == loss_under_msrun
    files = {path.name for path in logs.rglob("*.log")}
    assert {"scheduler.log", *(f"worker_{rank}.log" for rank in range(4))} <= files


def test_modelarts_starts_msrun_by_environment_variables(muster, two_hosts, settings, tmp_path):
    modelarts = {
        "MA_RUN_METHOD": "msrun",
        "MA_NUM_HOSTS": "2",
        "MA_NUM_GPUS": "1",
        "MA_VJ_NAME": "ma-job-0",
        "MA_TASK_NAME": "worker",
        "VC_WORKER_HOSTS": f"{two_hosts.name(0)},{two_hosts.name(1)}",
        "VC_WORKER_NUM": "2",
        "MSRUN_WORKER_NUM": "2",
        "MSRUN_MASTER_ADDR": two_hosts.name(0),
        "MSRUN_MASTER_PORT": "8132",
        "MSRUN_LOG_DIR": str(tmp_path / "logs"),
        "MSRUN_CLUSTER_TIME_OUT": "300",
    }
    job = jobs.Job(two_hosts, {**settings, **modelarts})
    for node in (1, 0):
        job.start(node, muster, TRAINING, tmp_path, VC_TASK_INDEX=str(node))

    agents = job.finish()

    jobs.note("MindSpore, 2 workers, 2 hosts", "MA_RUN_METHOD=msrun", agents)
    assert loss_of(agents).startswith("2 workers")
    assert json.loads((tmp_path / "worker-1.json").read_text())["MS_TOPO_TIMEOUT"] == "300"


class Faulty:
    """A job of two workers on one host that something happens to, under either launcher."""

    def __init__(self, hosts, host, settings, launcher, folder, fault, port):
        folder.mkdir()
        self.folder = folder
        self.fault = fault
        line = ["--worker_num=2", "--local_worker_num=2", "--join=True"]
        line += [f"--master_port={port}", f"--log_dir={folder / 'logs'}"]
        in_program = "wait" if fault == "scheduler" else fault
        self.job = jobs.Job(hosts, settings)
        self.job.start(host, *launcher, *line, TRAINING, folder, in_program)

    def harm(self):
        """Kills the scheduler of a job that trains; the other faults are the program's own."""
        if self.fault == "scheduler":
            trains = [self.folder / f"trains-{rank}" for rank in (0, 1)]
            jobs.wait_for(lambda: all(file.exists() for file in trains), "both workers train", 90)
            os.kill(int((self.folder / "scheduler.pid").read_text()), signal.SIGKILL)

    def end(self):
        return self.job.finish()[0]


@pytest.fixture(scope="module")
def faults(muster, mindspore_venv, two_hosts, settings, tmp_path_factory):
    """{fault: (how msrun ended, how muster ended)}.

    Those under msrun wait half a minute for a heartbeat. They do it all at the same time, and while
    those under muster have their turn.
    """
    scratch = tmp_path_factory.mktemp("faults")
    settings = {**settings, "MUSTER_GRACE": "5"}
    ports = {"exit:1": 8141, "kill:1": 8142, "scheduler": 8143}

    def start(launcher, fault):
        folder = scratch / f"{pathlib.Path(launcher[0]).name}-{ports[fault]}"
        host = int(launcher[-1] == "msrun")  # what is left of one does not meet the other
        return Faulty(two_hosts, host, settings, launcher, folder, fault, ports[fault])

    originals = {fault: start([mindspore_venv / "msrun"], fault) for fault in ports}
    ours = {}
    try:
        for original in originals.values():
            original.harm()
        for fault in ports:
            faulty = start([muster, "msrun"], fault)
            try:
                faulty.harm()
                ours[fault] = faulty.end()
            finally:
                faulty.job.end()
        return {fault: (original.end(), ours[fault]) for fault, original in originals.items()}
    finally:
        for original in originals.values():
            original.job.end()


def beside_each_other(what, original, ours):
    """Prints both, for those who read the log, and returns muster's own lines."""
    lines = [line for line in ours.err.splitlines() if re.match("muster: (?!  \\|)", line)]
    jobs.note(what, "msrun", [original])
    for line in original.err.splitlines()[-1:]:
        print(f"    {line}")
    jobs.note(what, "muster msrun", [ours])
    for line in lines:
        print(f"    {line}")
    return "\n".join(lines)


def test_an_exit_code_of_a_worker_ends_the_job(faults):
    original, ours = faults["exit:1"]

    said = beside_each_other("MindSpore, worker 1 exits 7", original, ours)

    assert original.code == 1
    assert ours.code == 7
    assert re.search(r"rank 1 failed first: .*exit code 7", said)


def test_a_killed_worker_ends_the_job(faults):
    original, ours = faults["kill:1"]

    said = beside_each_other("MindSpore, worker 1 is killed", original, ours)

    assert original.code == 1
    assert ours.code == 128 + signal.SIGKILL
    assert re.search(r"rank 1 failed first: .*SIGKILL", said)


def test_a_dead_scheduler_ends_the_job(faults):
    """Under msrun the workers go on for 20 s, and nobody says that it was the scheduler."""
    original, ours = faults["scheduler"]

    said = beside_each_other("MindSpore, the scheduler is killed", original, ours)

    assert original.code == 1
    assert ours.code == 128 + signal.SIGKILL
    assert re.search(r"rank 2 \(scheduler\) failed first: .*SIGKILL", said)

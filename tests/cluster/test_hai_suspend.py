"""HAI suspends a job: by a byte in the first node's shared memory and the task's manager, with scripts as HAI's users write them."""

import json
import sys
import time

import pytest

from support.deadlines import promise, wait_until
from support.gang import free_port
from support.hai import MANAGER, TASK, Pod
from support.muster import built

SUSPENDED = 85
PROMISED = 5.0  # seconds from the flag to the end of the job on all nodes
HELD = 7  # the step at which the first run is interrupted

# HAI's own example (分时调度) with numbers where it has a model. A step that the test holds up goes on when the job is to end: the script looks
# for that once a step.
TRAIN = f"""
import json
import sys
import time
from pathlib import Path

import hfai

save_path, pause = Path(sys.argv[1]), float(sys.argv[2])
epochs, steps = 2, 10


def train(model, index):
    model["weight"] = (model["weight"] * 1103515245 + 12345 + index) % 2**31
    model["bias"] = model["bias"] / 3 + index
    if index == {HELD}:
        sys.stdout.write("holding\\n")
        sys.stdout.flush()
        while not (save_path / "go").exists() and not hfai.client.receive_suspend_command():
            time.sleep(0.01)


def main(gpu_id):
    state = {{"model": {{"weight": 1, "bias": 0.1}}, "epoch": 0, "step": 0}}
    if (save_path / "latest.json").exists():
        state = json.loads((save_path / "latest.json").read_text())
        # In one piece: the processes of a node share the stream.
        sys.stdout.write(f"going on at epoch {{state['epoch']}} step {{state['step']}}\\n")
        sys.stdout.flush()
    model, start = state["model"], state["step"]
    for epoch in range(state["epoch"], epochs):
        for step in range(start, steps):
            train(model, epoch * steps + step)
            if hfai.distributed.get_rank() == 0 and gpu_id == 0 and hfai.client.receive_suspend_command():
                state = {{"model": model, "epoch": epoch, "step": step + 1}}
                (save_path / "latest.json").write_text(json.dumps(state))
                time.sleep(pause)
                hfai.client.go_suspend()
        start = 0
    if hfai.distributed.get_rank() == 0 and gpu_id == 0:
        (save_path / "final.json").write_text(json.dumps(model))


if __name__ == "__main__":
    hfai.multiprocessing.spawn(main, args=(), nprocs=2, bind_numa=True)
"""
# A program that saves as soon as it is asked to; one that never looks.
SAVE = "import hfai, time\nprint('running', flush=True)\nwhile not hfai.client.receive_suspend_command(): time.sleep(0.01)\nhfai.client.go_suspend()"
WAIT = "import time\nprint('running', flush=True)\ntime.sleep(3600)"


@pytest.fixture
def pod(muster, hosts, tmp_path):
    """Makes the first pod of a task, whose manager is like that."""
    made = []

    def make(manager="proper"):
        made.append(Pod(hosts, 0, tmp_path, muster.environment(), manager))
        return made[-1]

    for index in (0, 1):
        hosts.network.add_name(index, MANAGER, hosts.address(0))
    yield make
    for one in made:
        one.end()


@pytest.fixture
def start(muster, hosts):
    """Starts the agents of a task as HAI's pods do, the first one in its own."""

    def start_nodes(pod, command, nodes=1, count=None, **variables):
        port = free_port()
        jobs = []
        for rank in range(count or nodes):
            place = {"RANK": rank, "WORLD_SIZE": nodes, "MASTER_PORT": port}
            address = {"MASTER_IP": hosts.address(0), "MASTER_ADDR": hosts.address(0)}
            jobs.append(
                muster.start(
                    *("--mode=once", "--template-arguments=never", "--", sys.executable, "-B"),
                    *command,
                    env={**TASK, **place, **address, **variables},
                    through=pod.entering if rank == 0 else hosts.command("exec", str(rank)),
                    program=built(),
                    report=True,
                )
            )
        return jobs

    return start_nodes


def wait_for_steps(jobs, words):
    for job in jobs:
        job.out.wait_for(words)


def end_suspended(jobs, since):
    """All end with 85; returns how long that took."""
    codes = [job.end() for job in jobs]
    took = time.monotonic() - since
    assert codes == [SUSPENDED] * len(jobs), "\n".join(job.words() for job in jobs)
    promise("from HAI's flag to the end of all nodes", PROMISED, took)
    print(f"from the flag to 85 on {len(jobs)} nodes: {took:.3f} s")
    return took


@pytest.mark.parametrize("pause", [0, 5])  # the example of HAI waits for five seconds behind its save
def test_a_hai_script_resumes_where_it_was_suspended(pod, start, tmp_path, pause):
    (tmp_path / "train.py").write_text(TRAIN)
    for folder in ("whole", "parted"):
        (tmp_path / folder).mkdir()
    (tmp_path / "whole/go").touch()
    hai = pod()

    for job in start(hai, ["train.py", "whole", 0], nodes=2):
        assert job.end() == 0, job.words()
    first = start(hai, ["train.py", "parted", pause], nodes=2)
    for job in first:
        job.out.wait_for("holding", times=2)  # also the process that saves
    end_suspended(first, hai.suspend())
    saved = json.loads((tmp_path / "parted/latest.json").read_text())
    (tmp_path / "parted/go").touch()
    hai.clear()
    second = start(hai, ["train.py", "parted", 0], nodes=2)
    for job in second:
        assert job.end() == 0, job.words()

    assert (saved["epoch"], saved["step"]) == (0, HELD + 1)
    assert f"going on at epoch 0 step {HELD + 1}" in second[0].out.text
    assert (tmp_path / "parted/final.json").read_text() == (tmp_path / "whole/final.json").read_text()
    assert hai.requests() == [{"source": "receive_suspend_command"}, {"source": "go_suspend"}]
    assert {job.report["verdict"] for job in first} == {"suspended"}
    assert "suspended (HAI's suspend command): " in first[1].report["reason"]
    assert ("rank 0 saved" in first[1].report["reason"]) == (pause == 0)


@pytest.mark.parametrize("manager", ["absent", "rubbish", "silent"])
def test_a_manager_that_does_not_answer_changes_nothing(pod, start, manager):
    hai = pod(manager)

    jobs = start(hai, ["-c", SAVE])
    wait_for_steps(jobs, "running")
    end_suspended(jobs, hai.suspend())

    assert "rank 0 saved" in jobs[0].report["reason"]
    assert jobs[0].said_about("HAI's manager", "not start it again")


def test_a_program_that_ignores_the_notice_is_killed_before_hais_deadline(pod, start):
    hai = pod()

    jobs = start(hai, ["-c", WAIT])
    wait_for_steps(jobs, "running")
    end_suspended(jobs, hai.suspend())

    assert "nobody had saved" in jobs[0].report["reason"]
    assert {"source": "go_suspend"} in hai.requests()


def test_clearing_the_suspend_flag_does_not_withdraw_the_notice(pod, start):
    hai = pod()

    jobs = start(hai, ["-c", WAIT])
    wait_for_steps(jobs, "running")
    since = hai.suspend()
    jobs[0].err.wait_for("is to be suspended")
    hai.clear()
    end_suspended(jobs, since)


def test_recreated_shared_memory_is_found(pod, start):
    hai = pod()

    jobs = start(hai, ["-c", SAVE])
    wait_for_steps(jobs, "running")
    hai.remake()
    end_suspended(jobs, hai.suspend())

    assert "rank 0 saved" in jobs[0].report["reason"]


def test_a_command_before_the_nodes_have_met_is_confirmed_at_the_end(pod, start):
    hai = pod()

    first = start(hai, ["-c", WAIT], nodes=2, count=1)
    first[0].err.wait_for("node 0 of 2")
    end_suspended(first, hai.suspend())

    assert hai.requests() == [{"source": "go_suspend"}]


def test_a_task_that_does_no_training_only_confirms(pod, start, tmp_path):
    hai = pod()
    told = tmp_path / "told"  # a job that ends at once may end before it has confirmed
    held = f"import pathlib\nwhile not pathlib.Path({str(told)!r}).exists(): time.sleep(0.01)\nhfai.client.go_suspend()"

    jobs = start(hai, ["-c", SAVE.replace("hfai.client.go_suspend()", held)], MARSV2_TASK_TYPE="jupyter")
    wait_for_steps(jobs, "running")
    began = hai.suspend()
    wait_until(hai.requests, "the confirmation")
    told.touch()
    end_suspended(jobs, began)

    assert hai.requests() == [{"source": "receive_suspend_command"}]


def test_on_other_platforms_the_suspend_flag_is_not_read(muster, pod):
    hai = pod()
    hai.suspend()

    job = muster.run("--nproc-per-node=1", "--no-python", "true", through=hai.entering)

    assert job.code == 0, job.words()
    assert hai.requests() == []

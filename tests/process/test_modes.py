"""Each mode gives its processes their environment and decides which roles determine success: real processes on one node."""

import json
import os
import signal

import pytest

from support.deadlines import wait_until


def environments(folder):
    """By file name, what `env -0` wrote."""
    read = {}
    for file in folder.iterdir():
        pairs = (entry.partition("=") for entry in file.read_text().split("\0") if "=" in entry)
        read[file.name] = {name: value for name, _, value in pairs}
    return read


def run_and_read(muster, name, *options, arguments=(), **more):
    """Runs a job whose processes each save their environment under `name`, a text of the shell."""
    folder = muster.folder / "environments"
    folder.mkdir()
    script = f'env -0 >"{folder}/{name}"'
    job = muster.run(*options, "--", "sh", "-c", script, "sh", *arguments, **more)
    assert job.code == 0, job.words()
    return environments(folder)


# Else the scheduler is stopped before it has said what it found.
WAIT_FOR_ALL = "--success-roles=worker,scheduler"


# --- msrun -----------------------------------------------------------------------------------------


def test_msrun_starts_a_scheduler_beside_the_workers(muster):
    processes = run_and_read(
        muster,
        "$MS_ROLE-$RANK_ID",
        *["--mode=msrun", "--nproc-per-node=2", "--set=cluster_time_out=50", WAIT_FOR_ALL],
    )

    assert sorted(processes) == ["MS_SCHED-0", "MS_WORKER-0", "MS_WORKER-1"]
    ports = {one["MS_SCHED_PORT"] for one in processes.values()}
    assert len(ports) == 1 and ports.pop().isdigit()
    for one in processes.values():
        assert one["MS_WORKER_NUM"] == one["RANK_SIZE"] == "2"
        assert one["MS_SCHED_HOST"] == "127.0.0.1"
        assert one["MS_TOPO_TIMEOUT"] == "50"


def test_nothing_of_another_launcher_reaches_a_process_of_msrun(muster):
    stale = {
        "MS_ROLE": "MS_PSERVER",
        "MS_NODE_ID": "7",
        "RANK_ID": "9",
        "RANK_TABLE_FILE": "/user/config",
        "MS_SIMULATION_LEVEL": "1",
        "MS_NODE_TIMEOUT": "77",
    }
    processes = run_and_read(
        muster,
        "$MS_ROLE-$RANK_ID",
        *["--mode=msrun", "--nproc-per-node=2", WAIT_FOR_ALL],
        env=stale,
    )

    assert sorted(processes) == ["MS_SCHED-0", "MS_WORKER-0", "MS_WORKER-1"]
    assert "MS_NODE_ID" not in processes["MS_SCHED-0"]
    assert "DEVICE_ID" not in processes["MS_SCHED-0"]
    for rank in (0, 1):
        assert processes[f"MS_WORKER-{rank}"]["MS_NODE_ID"] == str(rank)
    for one in processes.values():
        assert "RANK_TABLE_FILE" not in one
        assert "MS_SIMULATION_LEVEL" not in one
        assert one["MS_NODE_TIMEOUT"] == "77", "a setting of the user's stays"


def test_the_workers_end_decides_and_the_scheduler_is_stopped(muster):
    program = 'test "$MS_ROLE" = MS_WORKER || exec sleep 1000'
    job = muster.run("--mode=msrun", "--nproc-per-node=2", "--", "sh", "-c", program, report=True)

    assert job.code == 0, job.words()
    outcomes = {one["role"]: one["outcome"] for one in job.report["workers"]}
    assert outcomes == {"worker": "succeeded", "scheduler": "stopped"}


@pytest.mark.parametrize(
    ("ending", "code", "role"),
    [
        ("test $MS_ROLE-$RANK_ID != MS_WORKER-1 || exit 7", 7, "worker"),
        ("test $MS_ROLE-$RANK_ID != MS_WORKER-1 || kill -KILL $$", 137, "worker"),
        ("test $MS_ROLE != MS_SCHED || exit 5", 5, "scheduler"),
        ("test $MS_ROLE != MS_SCHED || kill -SEGV $$", 139, "scheduler"),
    ],
)
def test_the_role_that_fails_first_is_named(muster, ending, code, role):
    program = f"{ending}; exec sleep 1000"
    job = muster.run("--mode=msrun", "--nproc-per-node=2", "--", "sh", "-c", program, report=True)

    assert job.code == code, job.words()
    assert job.report["first_failure"]["role"] == role


def test_msruns_log_files_hold_both_streams(muster):
    folder = muster.folder / "logs"
    program = 'echo "out of $MS_ROLE"; echo "err of $MS_ROLE" >&2'
    ending = "test $MS_ROLE = MS_WORKER || exec sleep 1000"
    job = muster.run(
        *["--mode=msrun", "--nproc-per-node=1", "--tee=3", f"--log-dir={folder}"],
        *["--set=worker_log_name=w", "--", "sh", "-c", f"{program}; {ending}"],
    )

    assert job.code == 0, job.words()
    assert (folder / "w_0.log").read_text() == "out of MS_WORKER\nerr of MS_WORKER\n"
    assert (folder / "scheduler.log").exists()


# --- Parameter servers -----------------------------------------------------------------------------


def test_every_task_gets_the_whole_cluster(muster):
    folder = muster.folder / "tasks"
    folder.mkdir()
    program = f'printf "%s\\n" "$TF_CONFIG" "$@" >"{folder}/$$"'
    job = muster.run(
        *["--mode=ps", "--roles=chief=1,worker=2,ps=1", "--success-roles=chief,worker,ps"],
        *["--", "sh", "-c", program, "sh"],
    )

    assert job.code == 0, job.words()
    tasks = {}
    for file in folder.iterdir():
        config, *arguments = file.read_text().splitlines()
        config = json.loads(config)
        tasks[config["task"]["type"], config["task"]["index"]] = config["cluster"], arguments
    assert set(tasks) == {("chief", 0), ("worker", 0), ("worker", 1), ("ps", 0)}
    cluster = tasks["ps", 0][0]
    assert {role: len(hosts) for role, hosts in cluster.items()} == {"chief": 1, "worker": 2, "ps": 1}
    ports = [int(host.rpartition(":")[2]) for hosts in cluster.values() for host in hosts]
    assert len(set(ports)) == 4 and all(5000 <= port <= 10000 for port in ports)
    for (role, index), (seen, arguments) in tasks.items():
        assert seen == cluster
        assert arguments == [
            f"--task_index={index}",
            f"--ps_hosts={cluster['ps'][0]}",
            f"--worker_hosts={','.join(cluster['worker'])}",
            f"--job_name={role}",
        ]


ROLE = 'role=$(echo "$TF_CONFIG" | sed "s/.*type\\":\\"\\([a-z]*\\).*/\\1/"); '


@pytest.mark.parametrize(
    ("roles", "enders", "succeeded"),
    [
        ("chief=1,worker=2,ps=2", "chief", {"chief"}),
        ("worker=2,ps=1", "worker", {"worker"}),
    ],
)
def test_servers_are_stopped_when_the_deciding_roles_have_succeeded(muster, roles, enders, succeeded):
    program = f'{ROLE} test "$role" = {enders} || exec sleep 1000'
    job = muster.run(
        "--mode=ps", f"--roles={roles}", "--", "sh", "-c", program, "sh", report=True
    )

    assert job.code == 0, job.words()
    ended_well = {one["role"] for one in job.report["workers"] if one["outcome"] == "succeeded"}
    assert ended_well == succeeded
    assert job.said_about(f"the processes that decide ({enders}) have ended: asking ")


def test_servers_are_not_counted_as_workers(muster):
    job = muster.run("--mode=ps", "--roles=worker=1,ps=1", "--", "true")

    assert job.code == 0, job.words()
    assert job.said_about("2 processes succeeded in")
    assert "2 workers" not in job.err.text


@pytest.mark.full
def test_a_server_that_ends_early_with_0_is_noticed(muster):
    program = f'{ROLE} test "$role" = ps || exec sleep 1000'
    options = ["--mode=ps", "--roles=worker=1,ps=1"]
    job = muster.start(*options, "--", "sh", "-c", program, "sh")

    job.err.wait_for("while workers that it serves run on")
    job.signal(signal.SIGTERM)

    assert job.end(2) == 143
    assert job.said_about("(ps 0) (pid ", "ended with exit code 0 while workers that it serves run on")


def test_a_server_that_dies_before_the_end_fails_the_job(muster):
    program = f'{ROLE} test "$role" != ps || exit 3; exec sleep 1000'
    job = muster.run("--mode=ps", "--", "sh", "-c", program, "sh", report=True)

    assert job.code == 3
    assert job.report["first_failure"]["role"] == "ps"


def test_an_evaluator_may_be_waited_for(muster):
    ready = muster.folder / "chief-is-done"
    program = (
        f'{ROLE} case "$role" in chief) : >"{ready}";; '
        f'evaluator) while [ ! -e "{ready}" ]; do :; done; echo evaluated;; *) exec sleep 1000;; esac'
    )
    job = muster.run(
        *["--mode=ps", "--roles=chief=1,ps=1,evaluator=1", "--success-roles=chief,evaluator"],
        *["--", "sh", "-c", program, "sh"],
        report=True,
    )

    assert job.code == 0, job.words()
    assert "evaluated" in job.out.text
    assert job.said_about("the processes that decide (chief, evaluator) have ended: asking 1 process")


def test_a_reserved_port_can_be_bound_by_its_process(muster):
    """As a server of gRPC does: it binds beside the reservation."""
    program = (
        "import json, os, socket\n"
        "config = json.loads(os.environ['TF_CONFIG'])\n"
        "task = config['task']\n"
        "port = int(config['cluster'][task['type']][task['index']].rpartition(':')[2])\n"
        "server = socket.socket()\n"
        "server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)\n"
        "server.bind(('', port))\n"
        "server.listen()\n"
        "print('listening', flush=True)\n"
    )
    job = muster.run("--mode=ps", "--success-roles=worker,ps", "--", "python3", "-c", program)

    assert job.code == 0, job.words()
    assert job.out.text.count("listening") == 2


# --- Arguments -------------------------------------------------------------------------------------


def test_mode_once_appends_the_init_method(muster):
    job = muster.run("--mode=once", "--nproc-per-node=8", "--", "echo", "train", "--lr=1")

    assert job.code == 0
    words = job.out.text.split()
    assert words[:3] == ["train", "--lr=1", "--init_method"]
    assert words[3].startswith("tcp://127.0.0.1:") and len(words) == 4


def test_placeholders_in_program_arguments_are_filled_with_fill_arguments(muster):
    arguments = ["--rank={global_rank}", "--url=tcp://{leader_address}:{worker_port}", '{"a": {}}']
    asked = muster.run("--nproc-per-node=1", "--fill-arguments", "--", "echo", *arguments)
    unasked = muster.run("--nproc-per-node=1", "--", "echo", *arguments)

    assert unasked.out.text == " ".join(arguments) + "\n"
    rank, url, rest = asked.out.text.split(" ", 2)
    assert rank == "--rank=0"
    assert url.startswith("--url=tcp://127.0.0.1:") and url.rpartition(":")[2].isdigit()
    assert rest == '{"a": {}}\n'


def test_each_worker_sees_one_device(muster):
    processes = run_and_read(
        muster,
        "$RANK",
        *["--nproc-per-node=2", "--virtual-local-rank"],
        env={"CUDA_VISIBLE_DEVICES": "3,5"},
    )

    assert [processes[rank]["CUDA_VISIBLE_DEVICES"] for rank in "01"] == ["3", "5"]
    assert [processes[rank]["LOCAL_RANK"] for rank in "01"] == ["0", "0"]


def test_every_mode_runs(muster):
    modes = ["torchrun", "msrun-simulation", "once", "jax", "deepspeed", "accelerate", "paddle"]
    for mode in [*modes, "accelerate-single"]:
        job = muster.run(f"--mode={mode}", "--nproc-per-node=2", "--", "true")
        assert job.code == 0, f"{mode}: {job.words()}"


def test_a_stop_reaches_every_role(muster):
    job = muster.start("--mode=msrun", "--nproc-per-node=2", "--", "sleep", "1000")
    wait_until(lambda: len(muster.survivors()) >= 5, "guard, agent and three processes")
    os.kill(job.pid, signal.SIGTERM)
    job.end()

    assert job.code == 143
    muster.assert_no_survivors()

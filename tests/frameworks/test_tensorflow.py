"""TensorFlow on two hosts: parameter servers in each form that muster reads, and workers that mirror."""

import json
import re

import pytest

import jobs

pytestmark = pytest.mark.framework
COORDINATED = jobs.script("tf_ps.py")
BY_ARGUMENTS = jobs.script("tf_ps_arguments.py")
MIRRORED = jobs.script("tf_multi_worker.py")
ROLES = ["--roles", "chief=1,worker=2,ps=2"]
TRAINED = r'{"chief": 1, "ps": 2, "worker": 2}: loss [0-9.]+ -> 0\.0'


@pytest.fixture
def settings(tensorflow_venv, tmp_path):
    return jobs.environment(tensorflow_venv, tmp_path)


def tasks_on(hosts, first_port, *places):
    """(cluster, [(host, type, index)]) of tasks, each given as type and number of its host."""
    cluster, tasks = {}, []
    for position, (role, host) in enumerate(places):
        others = cluster.setdefault(role, [])
        tasks.append((host, role, len(others)))
        others.append(f"{hosts.name(host)}:{first_port + position}")
    return cluster, tasks


def task_config(cluster, role, index):
    return json.dumps({"cluster": cluster, "task": {"type": role, "index": index}})


def start_by_hand(hosts, settings, script, cluster, tasks):
    """TensorFlow has no launcher: one process per task, each with its TF_CONFIG."""
    job = jobs.Job(hosts, settings)
    for host, role, index in tasks:
        job.start(host, "python", script, TF_CONFIG=task_config(cluster, role, index))
    return job


def on_two_hosts(muster, hosts, settings, roles, *program):
    options = ["--mode", "ps", *roles, "--nnodes", "2", "--master-addr", hosts.name(0)]
    return jobs.run(
        hosts,
        settings,
        [(node, muster, *options, "--node-rank", node, "--", *program) for node in (1, 0)],
    )


def printed(results):
    return "".join(result.out for result in results)


def test_a_chief_trains_with_servers_and_workers_on_two_hosts(muster, two_hosts, settings):
    places = [("chief", 0), ("worker", 0), ("worker", 1), ("ps", 0), ("ps", 1)]
    cluster, tasks = tasks_on(two_hosts, 12200, *places)
    originals = start_by_hand(two_hosts, settings, COORDINATED, cluster, tasks).finish(only=[0])

    agents = on_two_hosts(muster, two_hosts, settings, ROLES, "python", COORDINATED)

    jobs.note("PS: chief, 2 workers, 2 ps, 2 hosts", "by hand", originals)
    jobs.note("PS: chief, 2 workers, 2 ps, 2 hosts", "muster --mode ps", agents)
    assert re.search(TRAINED, printed(originals))
    assert [agent.code for agent in agents] == [0, 0]
    assert re.search(TRAINED, printed(agents))


def test_one_agent_per_task_trains_from_tf_config(muster, two_hosts, settings):
    """As an operator gives it: every container has its own TF_CONFIG, and muster as entry point."""
    places = [("chief", 0), ("worker", 0), ("worker", 1), ("ps", 0), ("ps", 1)]
    cluster, tasks = tasks_on(two_hosts, 12210, *places)
    job = jobs.Job(two_hosts, settings)
    for host, role, index in reversed(tasks):
        config = task_config(cluster, role, index)
        job.start(host, muster, "--mode", "ps", "--", "python", COORDINATED, TF_CONFIG=config)

    agents = job.finish()

    jobs.note("PS: chief, 2 workers, 2 ps, 5 agents", "muster, TF_CONFIG", agents)
    assert [agent.code for agent in agents] == [0] * 5
    assert re.search(TRAINED, printed(agents))


def test_modelarts_variables_start_a_program_that_takes_arguments(muster, two_hosts, settings):
    """A server and a worker in containers of their own on each of two nodes; there is no chief."""
    places = [("worker", 0), ("worker", 1), ("ps", 0), ("ps", 1)]
    cluster, tasks = tasks_on(two_hosts, 12220, *places)
    modelarts = {
        "TF_PS_HOSTS": f"[{','.join(cluster['ps'])}]",
        "TF_WORKER_HOSTS": ",".join(cluster["worker"]),
    }
    job = jobs.Job(two_hosts, {**settings, **modelarts})
    for host, role, index in tasks:
        job.start(
            host,
            *[muster, "--", "python", BY_ARGUMENTS],
            MA_TASK_NAME=role,
            VC_TASK_INDEX=str(index),
        )

    agents = job.finish()

    jobs.note("PS: 2 workers, 2 ps, 4 agents", "muster, TF_PS_HOSTS", agents)
    assert [agent.code for agent in agents] == [0] * 4
    for index in (0, 1):
        assert re.search(rf"worker {index} of 2: loss [0-9.]+ -> 0\.0", printed(agents))


def test_each_node_has_a_server_and_a_worker_by_default(muster, two_hosts, settings):
    agents = on_two_hosts(muster, two_hosts, settings, [], "python", BY_ARGUMENTS)

    jobs.note("PS: 2 workers, 2 ps, 2 hosts", "muster --mode ps", agents)
    assert [agent.code for agent in agents] == [0, 0]
    for index in (0, 1):
        assert re.search(rf"worker {index} of 2: loss [0-9.]+ -> 0\.0", printed(agents))


def test_mirrored_workers_train_on_two_hosts(muster, two_hosts, settings):
    cluster, tasks = tasks_on(two_hosts, 12230, ("worker", 0), ("worker", 1))
    originals = start_by_hand(two_hosts, settings, MIRRORED, cluster, tasks).finish()

    agents = on_two_hosts(muster, two_hosts, settings, ["--roles", "worker=2"], "python", MIRRORED)

    jobs.note("MultiWorkerMirrored, 2 hosts", "by hand", originals)
    jobs.note("MultiWorkerMirrored, 2 hosts", "muster --mode ps", agents)
    assert [result.code for result in originals + agents] == [0] * 4
    losses = [set(re.findall(r"loss .*", printed(results))) for results in (originals, agents)]
    assert len(losses[0]) == 1  # all workers print the same one
    assert losses[0] == losses[1]


def test_a_server_that_dies_before_the_chief_is_done_fails_the_job(muster, two_hosts, settings):
    """The chief alone would wait for that server for ever."""
    program = ["python", COORDINATED, "--wait", "--fail", "ps:1"]

    agents = on_two_hosts(muster, two_hosts, settings, [*ROLES, "--grace", "5"], *program)

    jobs.note("PS: a server exits 7", "muster --mode ps", agents)
    assert [agent.code for agent in agents] == [7, 7]
    # chief 0, workers 1 and 2, servers 3 and 4
    assert re.search(r"^muster: .*(ps 1|rank 4).* failed first", agents[1].err, re.MULTILINE)

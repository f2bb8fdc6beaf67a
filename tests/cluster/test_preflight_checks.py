"""The command of --preflight-command on several nodes: a bad node is left out, or the job does not start."""

import signal
from pathlib import Path

import pytest

from support.deadlines import wait_until
from support.wire import is_open

CHECK = """--preflight-command=test "$BAD" != yes || { echo "GPU 4: DBE"; exit 3; }"""
WHY = 'the preflight command ended with exit code 3: "GPU 4: DBE"'


BAD_LATER = CHECK.replace("test ", "test {attempt} = 0 || test ")
RESTARTING = ["--max-restarts=1", "--restart-backoff=0"]


def start(gang, nodes, *options):
    """Node 1 is bad."""
    agents = gang(nodes, CHECK, *options)
    agents.start(0)
    wait_until(lambda: is_open(agents.port), "the leader to listen")
    agents.start(1, name="bad", env={"BAD": "yes"})
    return agents


def test_healthy_nodes_say_nothing_and_start(gang):
    agents = gang(3, CHECK)
    agents.start_all()
    agents.succeed()

    assert not any("preflight" in job.err.text for job in agents.jobs.values()), agents.words()


def test_a_job_without_a_spare_ends_before_any_worker_starts(gang):
    agents = start(gang, 3)
    agents.start(2)
    agents.assert_codes(69)

    assert agents.worker_events.all() == []
    for job in agents.jobs.values():
        last = job.said[-1]
        assert last.startswith("exit code 69: node 1 (") and WHY in last, job.words()
        assert last.endswith("; start the job again without unfit nodes"), job.words()
    assert all(WHY in report["reason"] for report in agents.reports().values())


def test_of_two_nodes_the_bad_one_is_known(gang):
    agents = start(gang, 2)
    agents.assert_codes(69)

    assert agents.worker_events.all() == []
    assert all("exit code 69: node 1 (" in job.said[-1] for job in agents.jobs.values()), agents.words()


def test_a_spare_takes_the_seat_of_a_bad_node(gang):
    agents = start(gang, 3, "-v", "--max-restarts=1")
    agents.jobs[0].err.wait_for("is here: 2 of 3 nodes")
    agents.start(2, rank=None)
    agents.start(3, rank=None)
    started = agents.wait_for_start(3)
    agents.worker_events.end_all(3)
    agents.assert_codes(0, node_bad=69)

    bad = agents.jobs["bad"]
    assert bad.pid not in {one.pid for one in started.values()}
    assert bad.said[-1].startswith("exit code 69: node 1 (") and WHY in bad.said[-1], bad.words()
    assert agents.jobs[0].said_about("node 1,", "left: it failed the preflight command")


def test_a_smaller_job_starts_without_the_bad_node(gang):
    agents = start(gang, "2:3", "--last-call=0.5")
    agents.start(2)
    agents.wait_for_start(2)
    agents.worker_events.end_all(2)
    agents.assert_codes(0, node_bad=69)


def test_each_node_runs_its_own_command_and_one_without_is_named(gang):
    agents = gang(2)
    agents.start(0, CHECK)
    agents.start(1, env={"BAD": "yes"})
    agents.succeed()

    assert agents.jobs[0].said_about("node 1 (", "has no --preflight-command: it starts without that check")


def test_a_command_of_one_node_alone_does_not_run_and_says_so(gang):
    agents = gang(2)
    agents.start(0)
    agents.start(1, CHECK, env={"BAD": "yes"})
    agents.succeed()

    assert agents.jobs[1].said_about("the preflight command has not run on this node: the leader did not ask")


def test_the_command_runs_on_all_nodes_again_after_a_failure(gang, tmp_path):
    agents = gang(2, "--max-restarts=1", f"--preflight-command=echo {{attempt}} >> {tmp_path}/{{node_rank}}")
    agents.start_all()
    agents.wait_for_start()
    agents.worker_events.end(0, 1)
    agents.succeed(attempt=1)

    assert [(tmp_path / node).read_text().split() for node in ("0", "1")] == [["0", "1"]] * 2


def start_with_a_second_attempt(gang, nodes, *options, spares=0):
    """Node 1 is bad from the second attempt on, which has begun; no worker of it runs."""
    agents = start(gang, nodes, "-v", *RESTARTING, *options)
    for node in range(2, nodes):
        agents.start(node)
    agents.wait_for_start(nodes)
    for spare in range(spares):
        agents.start(nodes + spare, rank=None)
        agents.jobs[nodes + spare].err.wait_for("this node is a spare")
    agents.worker_events.end(0, 1)
    return agents


def lines_about(agents, name, *words):
    return [line for line in agents.jobs[name].said if all(word in line for word in words)]


def test_a_spare_takes_the_seat_of_a_node_that_fails_before_a_restart(gang):
    agents = start_with_a_second_attempt(gang, 3, BAD_LATER, spares=1)
    agents.wait_for_start(3, attempt=1)
    agents.worker_events.end_all(3, 0, attempt=1)
    agents.assert_codes(0, node_bad=69)

    for name in (0, 2, 3):
        assert len(lines_about(agents, name, "node 1 (", WHY)) == 1, agents.jobs[name].words()
    assert agents.jobs["bad"].said[-1].startswith("exit code 69: node 1 ("), agents.jobs["bad"].words()


def test_a_smaller_job_goes_on_without_a_node_that_fails_before_a_restart(gang):
    agents = start(gang, "2:3", "--last-call=0.5", *RESTARTING, BAD_LATER)
    agents.start(2)
    agents.wait_for_start(3)
    agents.worker_events.end(0, 1)
    agents.wait_for_start(2, attempt=1)
    agents.worker_events.end_all(2, 0, attempt=1)
    agents.assert_codes(0, node_bad=69)


def test_without_a_spare_the_job_ends_before_a_restart(gang):
    agents = start_with_a_second_attempt(gang, 3, BAD_LATER, "--last-call=0.5")
    agents.assert_codes(69)

    assert not [one for one in agents.worker_events.all() if one.attempt == 1]
    for job in agents.jobs.values():
        assert job.said[-1].startswith("exit code 69: node 1 (") and WHY in job.said[-1], job.words()
        assert len([line for line in job.said[:-1] if line.startswith("node 1 (") and WHY in line]) == 1, job.words()


@pytest.mark.parametrize(
    ("way", "successor"),
    [(signal.SIGKILL, "a spare"), (signal.SIGKILL, "a newcomer"), (signal.SIGTERM, "a spare"), (signal.SIGTERM, "nobody")],
    ids=["killed-spare", "killed-newcomer", "stopped-spare", "stopped-nobody"],
)
def test_a_node_that_goes_while_the_command_runs_before_a_restart(gang, tmp_path, way, successor):
    pid = tmp_path / "pid"
    command = f"""--preflight-command=test {{attempt}} = 0 || test "$BAD" != yes || {{ echo $$ > {pid}; sleep 600; }}"""
    agents = start_with_a_second_attempt(gang, 2, command, spares=1 if successor == "a spare" else 0)
    wait_until(lambda: pid.exists() and pid.read_text(), "the command to run")
    if way == signal.SIGKILL:
        agents.jobs["bad"].kill_agent()
    else:
        agents.jobs["bad"].signal(way)
    code = agents.jobs["bad"].end()
    wait_until(lambda: not Path("/proc", pid.read_text().strip()).exists(), "the command to be gone")

    if successor == "nobody":  # the job cannot go on without the node
        assert code == 143
        agents.assert_codes(143)
        return
    if successor == "a newcomer":
        agents.start(2, rank=None)
    agents.wait_for_start(2, attempt=1)
    agents.worker_events.end_all(2, 0, attempt=1)
    agents.assert_codes(0, node_bad=code)
    assert len(lines_about(agents, 0, "node 1,", "left:")) == 1, agents.jobs[0].words()


def test_a_node_that_is_stopped_meanwhile_leaves_nothing_behind(gang, tmp_path):
    agents = gang(2, f"--preflight-command=echo $$ > {tmp_path}/new{{node_rank}}; mv {tmp_path}/new{{node_rank}} {tmp_path}/{{node_rank}}; sleep 600")
    agents.start_all()
    files = [tmp_path / "0", tmp_path / "1"]
    wait_until(lambda: all(file.exists() for file in files), "both commands to run")
    agents.jobs[1].signal(signal.SIGTERM)
    assert agents.jobs[1].end() == 143
    agents.jobs[0].signal(signal.SIGTERM)
    agents.assert_codes(143)

    for file in files:
        pid = file.read_text().strip()
        wait_until(lambda pid=pid: not Path("/proc", pid).exists(), "the command to be gone")

"""All nodes report one verdict: the same first failure and the same node that got the stop signal."""

import os
import signal

import pytest
from support import processes
from support.deadlines import wait_until


def pid_of_worker(job):
    job.out.wait_for("ready")
    (line,) = [line for line in job.out.lines if "ready" in line]
    return int(line.split()[-1])


@pytest.fixture
def two_that_fail(gang, tmp_path):
    """A job whose node 1 sees its worker's death after node 0 has told of its own."""

    def run(script_of_0, script_of_1):
        wait = f"while [ ! -e {tmp_path}/go ]; do sleep 0.01; done"
        script = f"echo ready $$; {wait}; case $RANK in 0) {script_of_0};; 1) {script_of_1};; esac"
        job = gang(2, "--heartbeat-timeout=60", command=["sh", "-c", script])
        job.start_all()
        workers = [pid_of_worker(job.jobs[node]) for node in (0, 1)]
        agent = job.jobs[1].agent()
        os.kill(agent, signal.SIGSTOP)
        (tmp_path / "go").touch()
        wait_until(
            lambda: not any(map(processes.is_alive, workers)), lambda: f"{workers} to be dead"
        )
        wait_until(lambda: not processes.look_at(workers[0]), "node 0 to bury its worker")
        os.kill(agent, signal.SIGCONT)
        return job

    return run


def assert_same_verdict(job):
    reports = job.reports()
    fields = ("verdict", "exit_code", "reason", "first_failure", "also_failed", "also_failed_count")
    first, second = ({field: reports[node][field] for field in fields} for node in (0, 1))
    assert first == second
    return first


def test_a_crash_outranks_a_lost_peer_reported_earlier(two_that_fail):
    job = two_that_fail(
        "echo 'read: Connection reset by peer' >&2; exit 5",
        "kill -SEGV $$",
    )

    job.assert_codes(139)
    verdict = assert_same_verdict(job)
    first = verdict["first_failure"]
    assert (first["global_rank"], first["signal"], first["order_known"]) == (1, "SIGSEGV", False)
    (other,) = verdict["also_failed"]
    assert (other["global_rank"], other["exit_code"], other["order_known"]) == (0, 5, False)
    for agent in job.jobs.values():
        assert agent.said_about("rank 1 probably failed first: node 1")
        assert agent.said_about("also failed: rank 0, node 0")


def test_of_similar_failures_the_leader_names_the_one_reported_first(two_that_fail):
    job = two_that_fail("exit 5", "exit 6")

    job.assert_codes(5)
    first = assert_same_verdict(job)["first_failure"]
    assert (first["global_rank"], first["order_known"]) == (0, False)


def test_which_of_two_errors_on_two_nodes_was_first_is_not_known(two_that_fail):
    error = "echo 'Traceback (most recent call last):' >&2; exit"
    job = two_that_fail(f"{error} 5", f"{error} 6")

    job.assert_codes(5)
    assert_same_verdict(job)
    for agent in job.jobs.values():
        assert agent.said_about("ranks 0-1 each show an error of their own; which was first is not known")


def test_one_failure_on_one_node_is_named_with_certainty_on_all(gang):
    job = gang(2, command=["sh", "-c", "test $RANK = 0 && exec sleep 60; exit 7"])
    job.start_all()

    job.assert_codes(7)
    verdict = assert_same_verdict(job)
    assert verdict["first_failure"]["order_known"]
    assert verdict["also_failed"] == []


@pytest.mark.parametrize("asked", [0, 1])
def test_every_report_names_the_node_that_got_the_signal(gang, asked):
    job = gang(2)
    job.start_all()
    job.wait_for_start()

    job.jobs[asked].signal(signal.SIGTERM)

    job.assert_codes(143)
    request = f"node {asked} was asked to stop (SIGTERM)"
    assert assert_same_verdict(job)["reason"] == f"stopped by SIGTERM: {request}"
    for agent in job.jobs.values():
        assert agent.said_about(f"stopped by SIGTERM: {request}")
    assert job.jobs[1 - asked].said_about(f"{request}: asking 1 worker to end")


@pytest.mark.parametrize("asked", [0, 1])
def test_a_stop_sent_by_the_guard_counts_as_that_nodes_stop(gang, asked):
    """Its agent stood still, and finds them ended with 0 when it goes on."""
    script = 'trap "exit 0" TERM; echo ready $$; while :; do sleep 0.05; done'
    job = gang(2, "--heartbeat-timeout=60", "--grace=100", command=["sh", "-c", script])
    job.start_all()
    workers = [pid_of_worker(job.jobs[node]) for node in (0, 1)]
    agent = job.jobs[asked].agent()
    os.kill(agent, signal.SIGSTOP)

    job.jobs[asked].signal(signal.SIGTERM)
    wait_until(
        lambda: processes.look_at(workers[asked]).state == "Z", "the worker to answer the guard"
    )
    os.kill(agent, signal.SIGCONT)

    job.assert_codes(143)
    request = f"node {asked} was asked to stop (SIGTERM)"
    assert assert_same_verdict(job)["reason"] == f"stopped by SIGTERM: {request}"
    for report in job.reports().values():
        assert {one["outcome"] for one in report["workers"]} == {"stopped"}


def ends_after_a_leaver(gang, tmp_path, last_words):
    """Runs a job whose rank 1 leaves with 0, and whose rank 0 then fails with these words."""
    script = f"""
        [ $RANK = 1 ] && {{ echo $$ >{tmp_path}/pid; exit 0; }}
        until [ -s {tmp_path}/pid ]; do sleep 0.01; done
        while kill -0 "$(cat {tmp_path}/pid)" 2>/dev/null; do sleep 0.01; done
        echo '{last_words}' >&2
        exit 1"""
    job = gang(2, command=["sh", "-c", script])
    job.start_all()
    job.assert_codes(1)
    return job


def test_a_rank_that_had_left_is_named_beside_its_victim_on_every_node(gang, tmp_path):
    job = ends_after_a_leaver(gang, tmp_path, "RuntimeError: Connection closed by peer")
    for agent in job.jobs.values():
        agent.said_about("hint: rank 1, node 1 (", "had ended with exit code 0 after")


def test_a_rank_that_had_left_is_not_named_beside_an_error_of_its_own(gang, tmp_path):
    job = ends_after_a_leaver(gang, tmp_path, "ValueError: no such file")
    for agent in job.jobs.values():
        assert not [line for line in agent.said if "had ended with exit code 0" in line]

"""A job restarts as a whole, with no process of the previous attempt left."""

import contextlib
import os
import signal

import pytest

from support import processes
from support.relay import Relay

PATIENT = ["--heartbeat-timeout=60", "--grace=0.5"]  # nobody is lost because the machine is busy
SILENCE = 5  # seconds, where a node is lost
HEEDFUL = [f"--heartbeat-timeout={SILENCE}", "--grace=0.5"]
FENCED = 2 * SILENCE + 6.0  # seconds: a lost node is given the time to notice that it is lost
LAST_CALL = 10  # seconds: time for the third of three agents to come, on any machine


def kill(pid):
    os.kill(pid, signal.SIGKILL)


def where(started):
    """The hosts by global rank."""
    return [started[rank].host for rank in sorted(started)]


def assert_restarted(job, attempt=1):
    """Checks every report after the last attempt, and that attempts never overlapped."""
    job.worker_events.assert_attempts_never_met()
    for report in job.reports().values():
        assert report["attempt"] == attempt
        assert [past["attempt"] for past in report["past_attempts"]] == list(range(attempt))


@pytest.mark.kernel
def test_a_restart_has_the_same_ranks_a_new_port_and_new_logs(gang, hosts, tmp_path):
    job = gang(2, "--max-restarts=1", f"--log-dir={tmp_path / 'logs'}", on=hosts, workers=2)
    job.start_all()
    first = job.wait_for_start()

    job.worker_events.end(3, 7)
    second = job.wait_for_start(attempt=1)
    job.succeed(attempt=1)

    assert where(first) == where(second)
    assert len({one.master for one in first.values()}) == 1
    assert len({one.master for one in second.values()}) == 1
    assert first[0].master[1] != second[0].master[1]
    assert first[0].master[0] == second[0].master[0] == hosts.address(0)
    for rank in range(4):
        logs = [tmp_path / f"logs/attempt_{attempt}/worker_{rank}.err" for attempt in (0, 1)]
        assert all(f"rank {rank} runs on" in log.read_text() for log in logs)
    assert "rank 3 ends with 7" in (tmp_path / "logs/attempt_0/worker_3.err").read_text()
    assert_restarted(job)
    for report in job.reports().values():
        assert "rank 3 on node 1" in report["past_attempts"][0]["reason"]


def test_a_worker_killed_on_any_node_restarts_all(gang, hosts):
    job = gang(3, "--max-restarts=3", "--restart-backoff=0.1", on=hosts)
    job.start_all()
    for attempt in range(3):
        started = job.wait_for_start(attempt=attempt)
        kill(started[attempt].pid)

    job.succeed(attempt=3)

    assert_restarted(job, 3)


@pytest.mark.kernel
def test_nothing_of_the_old_attempt_lives_when_the_new_one_starts(gang, hosts, worker):
    """Workers that ignore TERM are there until the grace ends, and then they are killed."""
    job = gang(2, "--max-restarts=2", "--restart-backoff=0.1", "--grace=0.5", on=hosts, workers=2)
    job.start(0)
    job.start(1, command=[*job.command, "stubborn"])
    started = job.wait_for_start()

    kill(started[0].pid)
    again = job.wait_for_start(attempt=1)
    assert not any(processes.is_alive(one.pid) for one in started.values())
    kill(again[3].pid)
    job.wait_for_start(attempt=2)
    assert not any(processes.is_alive(one.pid) for one in again.values())

    job.succeed(attempt=2)
    assert_restarted(job, 2)


def test_workers_of_a_restart_meet_at_the_new_port(gang, worker, worker_events):
    script = f"""test $TORCHELASTIC_RESTART_COUNT = 1 && exec {worker("meet_at_master")}
                 test $RANK != 2 || exit 3; exec sleep 100"""
    job = gang(2, "--max-restarts=1", command=["sh", "-c", script], workers=2)
    job.start_all()

    job.assert_codes(0)

    lines = sorted(line.split("] ")[1] for one in job.jobs.values() for line in one.out.lines)
    assert lines == [f"rank {rank}: sum 6" for rank in range(4)]


def test_failures_on_all_nodes_at_once_are_one_restart(gang):
    job = gang(3, "--max-restarts=1")
    job.start_all()
    started = job.wait_for_start()
    for one in started.values():
        with contextlib.suppress(ProcessLookupError):  # it was asked to end because of the first
            kill(one.pid)

    job.succeed(attempt=1)

    assert_restarted(job)


def test_when_the_budget_is_spent_the_last_failure_is_the_end(gang):
    job = gang(2, "--max-restarts=1")
    job.start_all()
    job.wait_for_start()
    job.worker_events.end(0, 11)
    job.wait_for_start(attempt=1)
    job.worker_events.end(1, 12, attempt=1)

    job.assert_codes(12)

    assert_restarted(job)
    for report in job.reports().values():
        assert report["first_failure"]["global_rank"] == 1
        assert report["first_failure"]["exit_code"] == 12


def test_the_wait_before_a_restart_grows(gang):
    """The exact backoff times are tested in tests/unit/gang/protocol."""
    job = gang(2, "--max-restarts=3", "--restart-backoff=0.2", "--no-progress-limit=0")
    job.start_all()
    waits = []
    for attempt in range(3):
        job.wait_for_start(attempt=attempt)
        job.worker_events.end(1, 5, attempt)
        (told,) = job.worker_events.wait_for("told", attempt=attempt)
        started = job.worker_events.wait_for("started", 2, attempt=attempt + 1)
        waits.append(min(one.at for one in started) - told.at)

    job.succeed(attempt=3)

    assert waits[1] >= 0.2 and waits[2] >= 0.4, waits


def test_the_same_quick_failure_three_times_is_no_progress(gang):
    job = gang(2, "--max-restarts=10", "--restart-backoff=0.05")
    job.start_all()
    for attempt in range(3):
        job.wait_for_start(attempt=attempt)
        job.worker_events.end(1, 9, attempt)

    job.assert_codes(93)

    for report in job.reports().values():
        assert "no progress over 3 attempts" in report["reason"]
        assert report["first_failure"]["global_rank"] == 1
        assert report["attempt"] == 2
    for agent in job.jobs.values():
        assert agent.said_about("rank 1 failed first")


@pytest.mark.parametrize("moves", [True, False], ids=["that changes", "that stays as it is"])
def test_a_progress_file_decides_whether_there_is_progress(gang, tmp_path, moves):
    """On one node it changes, or on none: however the attempts fail."""
    file = tmp_path / "checkpoint"
    file.touch()
    job = gang(
        2,
        "--max-restarts=4",
        "--restart-backoff=0.05",
        "--no-progress-limit=2",
    )
    job.start(0, f"--progress-file={tmp_path / 'other'}")
    job.start(1, f"--progress-file={file}")
    for attempt in range(4 if moves else 2):
        job.wait_for_start(attempt=attempt)
        if moves:
            file.write_text(f"step {'x' * attempt}")
        job.worker_events.end(attempt % 2, attempt + 1, attempt)

    if moves:
        job.succeed(attempt=4)
    else:
        job.assert_codes(93)


def start_three_of_two(gang, hosts, patience):
    """A job of two nodes, and a third agent that is a spare."""
    job = gang(2, "--max-restarts=3", "--restart-backoff=0.1", *patience, on=hosts)
    job.start(0, rank="by arrival")
    job.start(1, rank="by arrival")
    job.wait_for_start(2)
    spare = job.start(2, rank="by arrival")
    spare.err.wait_for("this node is a spare")
    return job


@pytest.mark.soak_only
def test_a_spare_takes_the_place_of_a_node_whose_agent_was_killed(gang, hosts):
    job = start_three_of_two(gang, hosts, HEEDFUL)

    job.jobs[1].kill_agent()
    started = job.wait_for_start(2, attempt=1, seconds=FENCED)

    assert where(started) == [hosts.name(0), hosts.name(2)]
    job.worker_events.end_all(2, attempt=1)
    job.assert_codes(0, node_1=137)
    job.worker_events.assert_attempts_never_met()


@pytest.mark.full
def test_a_spare_takes_the_place_of_a_node_that_fell_silent(gang, hosts):
    job = start_three_of_two(gang, hosts, HEEDFUL)

    hosts.network.take_down(1)
    started = job.wait_for_start(2, attempt=1, seconds=FENCED)

    assert where(started) == [hosts.name(0), hosts.name(2)]
    job.worker_events.end_all(2, attempt=1)
    job.assert_codes(0, node_1=69)
    job.worker_events.assert_attempts_never_met()


def test_a_spare_that_is_never_needed_ends_with_the_job(gang, hosts):
    job = start_three_of_two(gang, hosts, PATIENT)

    job.worker_events.end_all(2)

    job.assert_codes(0)
    assert {one["outcome"] for one in job.jobs[2].report["workers"]} == {"never started"}


@pytest.mark.full
def test_a_spare_that_loses_its_leader_ends_like_all_nodes(gang, hosts):
    job = start_three_of_two(gang, hosts, HEEDFUL)

    job.jobs[0].kill_agent()

    job.assert_codes(69, node_0=137)
    assert "was lost" in job.jobs[2].report["reason"]


def test_a_spare_that_leaves_does_not_affect_the_job(gang, hosts):
    job = start_three_of_two(gang, hosts, PATIENT)
    job.jobs[2].kill_agent()
    job.jobs[2].end()

    job.worker_events.end_all(2)

    job.assert_codes(0, node_2=137)


@pytest.mark.full
def test_workers_of_a_lost_node_are_dead_before_the_restart(gang, hosts):
    """The leader cannot reach a host that is cut off, so it waits as long as that agent needs to kill its workers."""
    job = gang("2:3", "--max-restarts=1", f"--last-call={LAST_CALL}", *HEEDFUL, on=hosts, stubborn=True)
    job.start_all()
    started = job.wait_for_start(3)

    hosts.network.take_down(2)
    job.wait_for_start(2, attempt=1, seconds=FENCED + LAST_CALL)

    assert not processes.is_alive(started[2].pid)
    job.worker_events.end_all(2, attempt=1)
    job.assert_codes(0, node_2=69)
    job.worker_events.assert_attempts_never_met()


@pytest.mark.full
def test_the_world_shrinks_and_grows_again_when_a_node_returns(gang, hosts):
    options = ["--max-restarts=3", "--restart-backoff=0.1", f"--last-call={LAST_CALL}", *HEEDFUL]
    job = gang("2:3", *options, on=hosts, workers=2)
    job.start_all()
    job.wait_for_start(6)

    hosts.network.take_down(1)
    started = job.wait_for_start(4, attempt=1, seconds=FENCED + LAST_CALL)
    assert where(started) == [hosts.name(0)] * 2 + [hosts.name(2)] * 2
    assert {(one.nodes, one.world_size) for one in started.values()} == {(2, 4)}
    assert [started[rank].node for rank in range(4)] == [0, 0, 1, 1]
    assert job.jobs[1].end() == 69

    hosts.network.bring_up(1)
    returned = job.start(1)
    returned.err.wait_for("this node is a spare")
    job.worker_events.end(0, 3, attempt=1)
    started = job.wait_for_start(6, attempt=2)
    assert where(started) == [hosts.name(node) for node in (0, 0, 1, 1, 2, 2)]

    job.worker_events.end_all(6, attempt=2)
    job.assert_codes(0)
    job.worker_events.assert_attempts_never_met()


@pytest.mark.soak_only
def test_below_the_minimum_of_nodes_the_job_waits_for_a_node(gang, hosts):
    job = gang(2, "--max-restarts=1", *HEEDFUL, on=hosts)
    job.start_all()
    first = job.wait_for_start()

    job.jobs[1].kill_agent()
    job.jobs[1].end()
    job.jobs[0].err.wait_for("1 of 2 nodes are here", seconds=FENCED)
    job.start(1)

    second = job.wait_for_start(attempt=1)
    assert where(first) == where(second)
    job.succeed(attempt=1)
    job.worker_events.assert_attempts_never_met()


@pytest.mark.soak_only
def test_a_node_that_returns_before_its_loss_is_noticed_rejoins(gang):
    """Its old link is half-open: the leader hears nothing, and does not know why."""
    job = gang(2, "--max-restarts=1", *HEEDFUL)
    job.start(0)
    with Relay(("127.0.0.1", job.port)) as relay:
        job.start(1, port=relay.port)
        job.wait_for_start()
        relay.fall_silent()
        job.jobs[1].kill_agent()
        job.jobs[1].end()

        job.start(1)

        job.wait_for_start(attempt=1, seconds=FENCED)
        job.succeed(attempt=1)


@pytest.mark.soak_only
def test_a_node_that_does_not_return_is_lost_in_the_end(gang):
    job = gang(2, "--max-restarts=1", "--gang-timeout=10", *HEEDFUL)
    job.start_all()
    job.wait_for_start()

    job.jobs[1].kill_agent()

    job.assert_codes(69, node_1=137)
    assert "1 of 2 nodes came within 10 s" in job.jobs[0].report["reason"]


@pytest.mark.full
def test_each_console_names_a_lost_node_once_also_with_a_restart(gang):
    job = gang("2:3", "--max-restarts=1", f"--last-call={LAST_CALL}", *HEEDFUL)
    job.start_all()
    job.wait_for_start(3)

    job.jobs[1].kill_agent()
    job.wait_for_start(2, attempt=1, seconds=FENCED + LAST_CALL)
    job.worker_events.end_all(2, attempt=1)

    job.assert_codes(0, node_1=137)
    for node in (0, 2):
        assert "node 1" in job.jobs[node].said_about("was lost")


def test_an_excess_agent_is_refused_in_a_job_without_restarts(gang):
    job = gang(2)
    for node in range(2):
        job.start(node, rank="by arrival")
    job.wait_for_start()

    third = job.start(2, rank="by arrival")

    assert third.end() == 78
    assert third.said_about("refused this node", "all 2 nodes of the job are here already")
    job.worker_events.end_all(2)
    job.assert_codes(0, node_2=78)


def test_a_spare_replaces_a_stopped_node(gang, hosts):
    job = start_three_of_two(gang, hosts, PATIENT)

    job.jobs[1].signal(signal.SIGTERM)
    started = job.wait_for_start(2, attempt=1)

    assert where(started) == [hosts.name(0), hosts.name(2)]
    job.worker_events.end_all(2, attempt=1)
    job.assert_codes(0, node_1=143)
    job.worker_events.assert_attempts_never_met()


def test_the_loss_of_the_leader_is_no_reason_to_restart(gang):
    job = gang(2, "--max-restarts=5", "--grace=0.5")
    job.start_all()
    job.wait_for_start()

    job.jobs[0].kill_agent()

    job.assert_codes(69, node_0=137)

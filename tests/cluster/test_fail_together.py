"""A failure on one node ends the job on all nodes at once, with one report."""

import os
import re
import signal
import time

import pytest

from support import processes
from support.deadlines import promise, wait_until
from support.relay import Relay
from support.repetitions import default_or_soak

PATIENT = "--heartbeat-timeout=60"  # nobody is lost because the machine is busy
SILENCE = 5  # seconds, where silence is what the test is about
HEEDFUL = [f"--heartbeat-timeout={SILENCE}", "--grace=1"]
GONE = "(closed|reset) the connection"  # as an agent that is killed leaves: reset where it has not read all


def kill(pid):
    """Returns when."""
    at = time.monotonic()
    os.kill(pid, signal.SIGKILL)
    return at


def what_failed(report):
    """The parts of a report that all nodes must agree about."""
    first = report["first_failure"]
    return (
        report["verdict"],
        report["exit_code"],
        report["reason"],
        first
        and (
            first["global_rank"],
            first["node"],
            first["host"],
            first["local_rank"],
            first["pid"],
            first["signal"],
            first["exit_code"],
            first["stderr_tail"],
        ),
    )


def assert_all_report_the_same(job, *agents):
    reports = [job.jobs[agent].report for agent in agents or job.jobs]
    assert len({str(what_failed(report)) for report in reports}) == 1, reports
    return reports[0]


def seconds_until_term_elsewhere(gang, hosts):
    job = gang(2, on=hosts, workers=2)
    job.start_all()
    started = job.wait_for_start()

    killed = kill(started[3].pid)
    terms = job.worker_events.wait_for("TERM", times=2, ranks=[0, 1])

    job.assert_codes(137)
    report = assert_all_report_the_same(job)
    first = report["first_failure"]
    assert (first["global_rank"], first["host"]) == (3, hosts.name(1))
    assert (first["signal"], first["pid"]) == ("SIGKILL", started[3].pid)
    assert first["stderr_tail"] == [f"rank 3 runs on {hosts.name(1)}"]
    return max(one.at for one in terms) - killed


@pytest.mark.soak
def test_a_killed_worker_ends_those_of_the_other_host(gang, hosts, tmp_path):
    seconds = []
    for number in range(default_or_soak(1, 20)):
        seconds.append(seconds_until_term_elsewhere(gang, hosts))
        job_folder = tmp_path / "worker-events"
        job_folder.rename(tmp_path / f"worker-events-{number}")
        job_folder.mkdir()

    print(f"KILL of a worker until TERM on the other host, ms: {[round(s * 1e3) for s in seconds]}")
    promise("TERM on the other host after KILL of a worker, in the median", 0.1, sorted(seconds)[len(seconds) // 2])


def test_every_agent_exits_with_the_failed_workers_exit_code(gang, hosts):
    job = gang(3, on=hosts)
    job.start_all()
    job.wait_for_start()

    job.worker_events.end(2, 41)

    job.assert_codes(41)
    report = assert_all_report_the_same(job)
    assert report["first_failure"]["global_rank"] == 2
    assert report["first_failure"]["stderr_tail"][-1] == "rank 2 ends with 41"
    for agent in job.jobs.values():
        line = agent.said_about("rank 2 failed first")
        assert f"node 2 ({hosts.name(2)})" in line and "exit code 41" in line
        assert agent.said_about("  | rank 2 ends with 41")


def test_the_first_failure_is_reported_not_its_consequences_on_other_nodes(gang, worker, muster):
    """All others lose their connection to rank 2, and fail by themselves after it."""
    job = gang(3, command=[worker("lose_a_peer"), 2, 200, "stubborn"], workers=2)
    job.start_all()

    job.assert_codes(134)

    report = assert_all_report_the_same(job)
    assert report["first_failure"]["global_rank"] == 2
    assert report["first_failure"]["signal"] == "SIGABRT"


@pytest.mark.kernel
def test_a_worker_that_cannot_be_started_on_one_node_ends_all(gang):
    job = gang(2)
    job.start(0)
    job.start(1, command=["/nowhere/program"])

    job.assert_codes(127)

    report = assert_all_report_the_same(job)
    assert report["reason"] == "worker not started"
    assert report["first_failure"]["global_rank"] == 1


@pytest.mark.soak
@pytest.mark.full
def test_a_host_that_falls_silent_is_noticed_on_both_sides(gang, hosts):
    options = default_or_soak(HEEDFUL, ["--grace=1"])
    job = gang(2, *options, on=hosts)
    job.start_all()
    job.wait_for_start()

    down = time.monotonic()
    hosts.network.take_down(1)
    terms = job.worker_events.wait_for("TERM", times=2)

    print("link down until TERM, s:", [round(one.at - down, 2) for one in terms])
    promise("the silence of a host", default_or_soak(SILENCE + 1, 10.0), max(one.at for one in terms) - down)
    job.assert_codes(69)
    job.muster.assert_no_survivors(seconds=0.5)
    leader, lost = job.jobs[0].report, job.jobs[1].report
    assert leader["verdict"] == lost["verdict"] == "lost"
    assert f"node 1, {hosts.name(1)}" in leader["reason"]
    assert "was silent for" in leader["reason"]
    assert "the leader" in lost["reason"] and "was silent for" in lost["reason"]


@pytest.mark.parametrize("direction", ["to_leader", pytest.param("to_agent", marks=pytest.mark.full)])
def test_silence_in_one_direction_is_a_lost_node(gang, direction):
    job = gang(2, *HEEDFUL)
    job.start(0)
    with Relay(("127.0.0.1", job.port)) as relay:
        job.start(1, port=relay.port)
        job.wait_for_start()

        silent = time.monotonic()
        relay.fall_silent(direction)
        terms = job.worker_events.wait_for("TERM", times=2)

        promise("silence in one direction", 2 * SILENCE + 1.5, max(one.at for one in terms) - silent)
        job.assert_codes(69)


def test_a_reset_connection_is_a_loss_at_once(gang):
    job = gang(2, PATIENT, "--grace=1")
    job.start(0)
    with Relay(("127.0.0.1", job.port)) as relay:
        job.start(1, port=relay.port)
        job.wait_for_start()

        cut = time.monotonic()
        relay.reset()
        terms = job.worker_events.wait_for("TERM", times=2)

        promise("a link that is reset", 0.5, max(one.at for one in terms) - cut)
        job.assert_codes(69)


@pytest.mark.full
def test_a_slow_link_is_no_loss(gang):
    job = gang(2, *HEEDFUL)
    job.start(0)
    with Relay(("127.0.0.1", job.port), delay=1.0) as relay:
        job.start(1, port=relay.port)
        job.succeed()


@pytest.mark.soak
@pytest.mark.full
def test_lost_packets_are_no_loss_of_a_node(gang, hosts):
    job = gang(2, on=hosts)
    hosts.network.lose(1, 20)
    hosts.network.slow_down(0, "64kbit")
    job.start_all()
    job.wait_for_start(seconds=20)
    wait_here(default_or_soak(1, 30))

    job.worker_events.end_all(2)

    job.assert_codes(0, seconds=20)


def wait_here(seconds):
    began = time.monotonic()
    wait_until(lambda: time.monotonic() - began > seconds, "time to pass", seconds + 1)


@pytest.mark.kernel
@pytest.mark.parametrize("whose", ["leader", "other"])
def test_a_killed_agent_ends_the_job_everywhere_with_69(gang, hosts, whose):
    victim, survivor = (0, 1) if whose == "leader" else (1, 0)
    job = gang(2, "--grace=1", on=hosts)
    job.start_all()
    started = job.wait_for_start()

    killed = time.monotonic()
    job.jobs[victim].kill_agent()
    (term,) = job.worker_events.wait_for("TERM", ranks=[survivor])

    promise("TERM elsewhere after KILL of an agent", 0.5, term.at - killed)
    job.assert_codes(69, **{f"node_{victim}": 137})
    assert not processes.is_alive(started[victim].pid)
    job.muster.assert_no_survivors(seconds=0.5)
    report = job.jobs[survivor].report
    assert report["verdict"] == "lost"
    lost = "the leader at" if whose == "leader" else f"node 1, {hosts.name(1)}"
    assert lost in report["reason"] and re.search(GONE, report["reason"])


@pytest.mark.parametrize("whose", ["leader", "other"])
def test_a_lost_node_is_reported_once(gang, whose):
    victim, survivor = (0, 1) if whose == "leader" else (1, 0)
    job = gang(2, "--grace=1")
    job.start_all()
    job.wait_for_start()

    job.jobs[victim].kill_agent()
    job.assert_codes(69, **{f"node_{victim}": 137})

    told = job.jobs[survivor].said_about("was lost: ")
    assert re.search(f"was lost: it {GONE}", told)
    assert "a node was lost; start the job again elsewhere" in job.jobs[survivor].said_about("exit code 69")
    assert "lost" not in job.jobs[survivor].said_about("asking 1 worker to end")


@pytest.mark.kernel
@pytest.mark.parametrize("whose", ["leader", "other"])
def test_a_killed_guard_ends_the_job_everywhere(gang, hosts, whose):
    victim, survivor = (0, 1) if whose == "leader" else (1, 0)
    job = gang(2, "--grace=1", on=hosts)
    job.start_all()
    job.wait_for_start()

    killed = kill(job.jobs[victim].guard())
    (term,) = job.worker_events.wait_for("TERM", ranks=[survivor])

    promise("TERM elsewhere after KILL of a guard", 0.5, term.at - killed)
    job.assert_codes(69, **{f"node_{victim}": -signal.SIGKILL})
    job.muster.assert_no_survivors(seconds=1)


def test_a_killed_leader_with_stubborn_workers_leaves_nothing_alive_after_the_grace(gang, hosts):
    job = gang(3, "--grace=0.5", on=hosts, workers=2, stubborn=True)
    job.start_all()
    job.wait_for_start()

    killed = time.monotonic()
    job.jobs[0].kill_agent()
    job.assert_codes(69, node_0=137)

    job.muster.assert_no_survivors(seconds=0.5)
    promise("the end of all after KILL of the leader", 3, time.monotonic() - killed)


@pytest.mark.full
@pytest.mark.parametrize("whose", ["leader", "other"])
def test_a_stopped_agent_is_lost_and_its_guard_ends_its_workers(gang, whose):
    victim, survivor = (0, 1) if whose == "leader" else (1, 0)
    job = gang(2, *HEEDFUL)
    job.start_all()
    job.wait_for_start()
    stopped = job.jobs[victim].agent()

    os.kill(stopped, signal.SIGSTOP)
    assert job.jobs[survivor].end(SILENCE + 3) == 69
    assert "was lost" in job.jobs[survivor].report["reason"]

    assert job.jobs[victim].end() == 69
    assert job.jobs[victim].said_about(f"the agent (pid {stopped}) has not moved for {SILENCE} s")
    job.muster.assert_no_survivors()


@pytest.mark.full
def test_an_agent_stopped_for_less_than_the_heartbeat_timeout_is_not_lost(gang):
    job = gang(2, "--heartbeat-timeout=10")
    job.start_all()
    job.wait_for_start()
    for node in (0, 1):
        agent = job.jobs[node].agent()
        os.kill(agent, signal.SIGSTOP)
        wait_here(3)
        os.kill(agent, signal.SIGCONT)

    job.succeed()


def test_the_job_has_succeeded_only_when_the_last_worker_anywhere_has(gang, hosts):
    job = gang(2, on=hosts)
    job.start_all()
    job.wait_for_start()

    job.worker_events.end(1, 0)
    job.worker_events.wait_for("told", ranks=[1])
    wait_here(0.5)
    assert all(processes.is_alive(agent.pid) for agent in job.jobs.values())
    job.worker_events.end(0, 0)

    job.assert_codes(0)
    assert {report["verdict"] for report in job.reports().values()} == {"succeeded"}


@pytest.mark.parametrize("last", [0, 1])
def test_a_rank_that_fails_after_others_succeeded_fails_the_job_everywhere(gang, last):
    job = gang(2)
    job.start_all()
    job.wait_for_start()
    first = job.jobs[1 - last].agent()
    job.worker_events.end(1 - last, 0)
    wait_until(lambda: processes.children_of(first) == [], "its agent to bury the first")

    job.worker_events.end(last, 5)

    job.assert_codes(5)
    report = assert_all_report_the_same(job)
    assert report["first_failure"]["global_rank"] == last
    assert "PyTorch" not in " ".join(report["first_failure"]["hints"]), "the workers are no programs of PyTorch"


def test_a_forbidden_early_exit_ends_the_job_and_names_the_rank(gang):
    job = gang(2, "--on-early-exit=fail", "--early-exit-timeout=0.5")
    job.start_all()
    job.wait_for_start()

    job.worker_events.end(1, 0)

    job.assert_codes(1)
    report = assert_all_report_the_same(job)
    assert report["first_failure"]["global_rank"] == 1
    assert re.fullmatch(r"rank 1 ended early: 0\.\d+ s later rank 0 has not ended", report["reason"])
    for agent in job.jobs.values():
        assert agent.said_about("rank 1 ended while others worked on")
        assert agent.said_about("(rank 0 has not ended)")


def test_ranks_that_run_too_long_after_an_early_exit_are_a_hang(gang):
    job = gang(2, "--early-exit-timeout=0.5")
    job.start_all()
    job.wait_for_start()

    job.worker_events.end(0, 0)

    job.assert_codes(86)
    report = assert_all_report_the_same(job)
    assert report["verdict"] == "hung"
    assert "rank 0 ended with exit code 0" in report["reason"]


@pytest.mark.parametrize("how", ["success", "failure", "signal"])
def test_the_leader_leaves_last(gang, how):
    job = gang(2)
    leader = job.start(0)
    with Relay(("127.0.0.1", job.port)) as relay:
        job.start(1, port=relay.port)
        job.wait_for_start()
        if how == "signal":
            leader.signal(signal.SIGTERM)  # the workers end by it
        else:
            job.worker_events.end(1, 3 if how == "failure" else 0)
            job.worker_events.end(0, 0)
        job.assert_codes({"success": 0, "failure": 3, "signal": 143}[how])

        (wire,) = relay.wires
        wait_until(lambda: wire.leader_closed_at and wire.agent_closed_at, "both ends of the link to close")
        assert wire.agent_closed_at < wire.leader_closed_at


@pytest.mark.kernel
def test_no_worker_outlives_the_agents_of_any_node(gang, worker):
    job = gang(2, "--grace=0.3", command=[worker("stubborn_tree")], workers=2)
    job.start_all()
    for agent in job.jobs.values():
        agent.out.wait_for("ready", times=2)

    kill(job.jobs[1].guard())

    job.assert_codes(69, node_1=-signal.SIGKILL)
    job.muster.assert_no_survivors(seconds=1)


def test_agents_on_one_host_with_one_log_folder_keep_their_logs_apart(gang, tmp_path):
    job = gang(2, f"--log-dir={tmp_path / 'logs'}")
    job.start_all()
    job.wait_for_start()
    job.worker_events.end(1, 9)

    job.assert_codes(9)
    assert "rank 1 ends with 9" in (tmp_path / "logs/attempt_0/worker_1.err").read_text()
    assert "ends with" not in (tmp_path / "logs/attempt_0/worker_0.err").read_text()

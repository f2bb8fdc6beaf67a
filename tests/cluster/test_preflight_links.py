"""Nodes measure the links between them (--preflight links): one with bad links is named, or takes no part."""

import os
import re
import signal

import pytest

from hosts import Hosts
from support.network import Network
from support.repetitions import default_or_soak

ODD = 2
ROUNDS = default_or_soak(1, 30)
MANY = 16
HARMS = {
    "far": lambda network: network.move_away(ODD, 10),
    "slow": lambda network: network.slow_down(ODD, "5mbit"),
    "lossy": lambda network: network.lose_on_wire(ODD, 10),
}


def links_said(job):
    return [line for line in job.said if "differs from" in line and ("link " in line or "links " in line)]


def named(agents):
    """The one line about links that all agents print."""
    lines = {line for job in agents.jobs.values() for line in links_said(job)}
    assert len(lines) == 1, agents.words()
    [line] = lines
    return line


def test_a_far_node_is_named_and_the_workers_start(gang, hosts):
    hosts.network.move_away(ODD, 10)
    agents = gang(4, "--preflight=links", on=hosts)
    agents.start_all()
    agents.succeed()

    line = named(agents)
    assert re.match(rf"node {ODD} \(.*\) differs from 3 others: link latency 2\d\.\d\d ms \(\d\.\d\d ms\) in 3 of 3 rounds", line), line
    for report in agents.reports().values():
        assert [one["node"] for one in report["gang"]["outliers"] if "link latency" in one["differs"]] == [ODD]


def test_equal_nodes_are_silent(gang, hosts):
    agents = gang(4, "-v", "--preflight=links,full", on=hosts)
    agents.start_all()
    agents.succeed()

    assert agents.jobs[0].said_about("compared the links of 4 nodes in 3 rounds: 0 differ")
    assert "firewall" not in agents.jobs[0].err.text
    assert not any("link" in line and "differ from" in line for job in agents.jobs.values() for line in job.said)
    assert all(report["gang"]["outliers"] == [] for report in agents.reports().values())


def test_nodes_of_one_host_have_no_link_to_measure(gang):
    agents = gang(4, "-v", "--preflight=links")
    agents.start_all()
    agents.succeed()

    assert agents.jobs[0].said_about("all nodes are on one host: --preflight links has no link to measure")
    assert "compared the links" not in agents.jobs[0].err.text


def test_links_are_measured_again_before_a_restart(gang, hosts):
    agents = gang(3, "-v", "--preflight=links", "--max-restarts=1", on=hosts)
    agents.start_all()
    agents.wait_for_start()
    agents.worker_events.end(0, 1)
    agents.succeed(attempt=1)

    assert agents.jobs[0].err.text.count("compared the links of 3 nodes in 3 rounds: 0 differ") == 2, agents.words()


def test_a_spare_takes_the_seat_of_a_far_node(gang, hosts):
    hosts.network.move_away(ODD, 10)
    agents = gang(3, "-v", "--preflight=links,strict", "--max-restarts=1", on=hosts)
    agents.start(0)
    agents.start(1)
    agents.start(ODD, name="far")
    agents.jobs["far"].err.wait_for("link latency")
    agents.start(3, rank=None)
    started = agents.wait_for_start(3)
    agents.worker_events.end_all(3)
    agents.assert_codes(0, node_far=69)

    assert agents.jobs["far"].pid not in {one.pid for one in started.values()}
    assert agents.jobs[0].said_about(f"node {ODD},", "left: it differs from the others")


def test_a_strict_job_without_a_spare_starts_no_worker(gang, hosts):
    hosts.network.move_away(ODD, 10)
    agents = gang(3, "--preflight=strict,links", on=hosts)
    agents.start_all()
    agents.assert_codes(69)

    assert agents.worker_events.all() == []
    last = agents.jobs[0].said[-1]
    assert last.startswith(f"exit code 69: node {ODD} (") and "link latency" in last, last


def test_a_node_that_tells_nothing_starts_without_the_check(gang, hosts):
    agents = gang(4, "--preflight=links", on=hosts)
    for node in range(4):
        agents.start(node, *(["--preflight=off"] if node == ODD else []))
    agents.succeed()

    assert agents.jobs[0].said_about(f"node {ODD} (", "cannot measure its links: it starts without that check")


def test_a_firewall_costs_a_few_seconds_and_is_said(gang, hosts):
    for node in range(4):
        hosts.network.drop_port(node, "5000-10000")
    agents = gang(4, "--preflight=links,strict", on=hosts)
    agents.start_all()
    agents.succeed()

    assert agents.jobs[0].said_about("no node has reached another one to measure the link")
    assert not any(links_said(job) for job in agents.jobs.values()), agents.words()


def test_a_node_behind_a_firewall_is_named(gang, hosts):
    hosts.network.drop_port(ODD, "5000-10000", ways=("input", "output"))
    agents = gang(4, "--preflight=links", on=hosts)
    agents.start_all()
    agents.succeed()

    line = named(agents)
    assert re.match(rf"node {ODD} \(.*\) differs from 3 others: links do not answer in 3 of 3 rounds", line), line


def test_a_stopped_node_does_not_hold_up_the_others(gang, hosts):
    agents = gang(4, "-v", "--preflight=links", "--heartbeat-timeout=60", on=hosts)
    for node in range(3):
        agents.start(node)
    agents.jobs[0].err.wait_for("is here: 3 of 4 nodes")
    agent = agents.jobs[ODD].agent()
    os.kill(agent, signal.SIGSTOP)
    agents.start(3)
    agents.jobs[0].err.wait_for("compared the links of 3 nodes")
    os.kill(agent, signal.SIGCONT)
    agents.succeed()

    assert agents.jobs[0].said_about(f"node {ODD} (", "cannot measure its links: it starts without that check")


@pytest.fixture
def many_hosts(muster):
    with Hosts(MANY) as made:
        made.network = Network(made)
        yield made
        made.network.heal()


@pytest.mark.soak_only
@pytest.mark.parametrize("harm", [None, *HARMS], ids=str)
def test_of_sixteen_hosts_the_bad_one_alone_is_named_each_time(gang, many_hosts, harm):
    if harm:
        HARMS[harm](many_hosts.network)
    wrong = []
    for attempt in range(ROUNDS):
        agents = gang(MANY, "-v", "--preflight=links", on=many_hosts)
        agents.start_all()
        agents.jobs[0].err.wait_for("compared the links of 16 nodes in 4 rounds")
        agents.jobs[0].signal(signal.SIGTERM)
        agents.end()
        said = links_said(agents.jobs[0])
        if [line.startswith(f"node {ODD} (") for line in said] != ([True] if harm else []):
            wrong.append((attempt, said, [line for line in agents.jobs[0].said if "links" in line or "rounds" in line]))
    assert wrong == []

"""Signals to one agent of a gang, in every phase of its life, end the job without a timeout."""

import os
import signal
import time

import pytest

from support import processes
from support.deadlines import promise, wait_until
from support.gang import Gang
from support.relay import Relay
from support.wire import is_open

AS_FIRST_PROCESS = ["unshare", "--pid", "--fork", "--mount-proc"]
AT_ONCE = 0.1  # seconds


def signal_and_time(job, number=signal.SIGTERM):
    """Sends the signal to muster, and returns how long muster took to end."""
    return time_to_end(job, job.guard(), number)


def time_to_end(job, guard, number=signal.SIGTERM):
    began = time.monotonic()
    os.kill(guard, number)
    job.end()
    return time.monotonic() - began


# Each brings an agent into a phase in which nothing runs yet, and names the agent to be signalled.


def resolving(gang, hosts, _relay):
    """The name server takes questions and does not answer."""
    job = gang(2, on=hosts)
    folder = f"/etc/netns/{hosts.name(1)}"
    with open(f"{folder}/resolv.conf", "w") as file:
        file.write(f"nameserver {hosts.address(2)}\noptions timeout:30\n")
    hosts.network.drop_port(2, 53, "udp")
    job.start(1, "--verbose", address="leader.test")
    wait_until(lambda: threads_of(job.jobs[1].agent()) > 1, "the look-up to begin")
    os.unlink(f"{folder}/resolv.conf")
    return job.jobs[1]


def threads_of(pid):
    return len(os.listdir(f"/proc/{pid}/task"))


def dialling(gang, hosts, _relay):
    job = gang(2, on=hosts)
    hosts.network.drop_port(0, job.port)
    job.start(1)
    wait_until(lambda: "SYN-SENT" in sockets(hosts, 1, job.port), "the agent to dial")
    return job.jobs[1]


def sockets(hosts, index, port):
    return hosts.run(index, "ss", "-tan", "dport", f"= :{port}").stdout


def refused(gang, _hosts, _relay):
    job = gang(2)
    job.start(1)
    job.jobs[1].err.wait_for("connection refused")
    return job.jobs[1]


def joining(gang, _hosts, relay):
    """It has a connection, and nobody answers it."""
    job = gang(2)
    job.start(1, port=relay.port)
    wait_until(lambda: relay.accepted, "the agent to connect")
    return job.jobs[1]


def admitted(gang, _hosts, _relay):
    job = gang(3)
    job.start(0, "--verbose")
    job.start(1)
    job.jobs[0].err.wait_for("is here: 2 of 3 nodes")
    return job.jobs[1]


def gathering(gang, _hosts, _relay):
    """The leader itself."""
    job = gang(3)
    job.start(0, "--verbose")
    job.start(1)
    job.jobs[0].err.wait_for("is here: 2 of 3 nodes")
    return job.jobs[0]


def without_a_port(gang, _hosts, relay):
    """The leader, while somebody else has its port."""
    job = gang(2)
    job.start(0, port=relay.port)
    job.jobs[0].err.wait_for("held by")
    return job.jobs[0]


BEFORE_THE_START = [
    pytest.param(resolving, signal.SIGTERM, marks=pytest.mark.needs("threads")),
    (dialling, signal.SIGINT),
    (refused, signal.SIGTERM),
    (joining, signal.SIGTERM),
    (admitted, signal.SIGINT),
    (gathering, signal.SIGTERM),
    (without_a_port, signal.SIGTERM),
]


@pytest.fixture
def half_open():
    with Relay() as relay:
        yield relay


@pytest.mark.parametrize(
    "phase, number", BEFORE_THE_START, ids=lambda one: one.name if isinstance(one, signal.Signals) else one.__name__
)
def test_before_the_start_a_signal_ends_an_agent_at_once(gang, hosts, half_open, phase, number):
    agent = phase(gang, hosts, half_open)

    seconds = signal_and_time(agent, number)

    assert agent.code == 128 + number, agent.words()
    promise("the end after a signal before the start", AT_ONCE, seconds)
    report = agent.report
    assert report["verdict"] == "stopped"
    end_the_others(gang.jobs_started)


def end_the_others(gangs):
    for job in gangs:
        for agent in job.jobs.values():
            if agent.code is None:
                os.kill(agent.pid, signal.SIGTERM)  # it is at least a zombie
                agent.end()


@pytest.fixture
def gang(gang):
    """As everywhere, and it remembers what it made."""

    def make(*arguments, **options) -> Gang:
        make.jobs_started.append(gang(*arguments, **options))
        return make.jobs_started[-1]

    make.jobs_started = []
    return make


def test_a_signal_to_a_waiting_leader_ends_all_joined_nodes(gang):
    job = gang(3)
    leader = job.start(0, "--verbose")
    job.start(1)
    leader.err.wait_for("is here: 2 of 3 nodes")

    leader.signal(signal.SIGTERM)

    job.assert_codes(143)
    assert job.worker_events.all() == []


def test_after_a_signal_to_a_waiting_agent_the_others_keep_waiting(gang):
    job = gang(3)
    leader = job.start(0, "--verbose")
    second = job.start(1)
    leader.err.wait_for("is here: 2 of 3 nodes")
    second.signal(signal.SIGTERM)
    assert second.end() == 143

    job.start(1)
    job.start(2)

    job.succeed()


@pytest.mark.kernel
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda one: one.name)
@pytest.mark.parametrize("whom", [0, 1], ids=["the leader", "another"])
def test_a_signal_to_one_agent_reaches_the_workers_of_all_nodes(gang, whom, number):
    job = gang(2, workers=2)
    job.start_all()
    job.wait_for_start()

    began = time.monotonic()
    job.jobs[whom].signal(number)
    name = number.name.removeprefix("SIG")
    asked = job.worker_events.wait_for(name, times=4)

    promise("a signal for all workers", AT_ONCE, max(one.at for one in asked) - began)
    job.assert_codes(128 + number)
    for report in job.reports().values():
        assert report["verdict"] == "stopped"


@pytest.mark.parametrize("whom", [0, 1], ids=["the leader", "another"])
def test_a_signal_that_one_agent_handles_ends_all_nodes_with_it(gang, whom):
    save = "trap 'echo got USR1; exit 0' USR1; echo ready; while :; do sleep 0.05; done"
    job = gang(2, command=["bash", "-c", save], workers=2)
    for node in (0, 1):
        job.start(node, *(["--signals-to-handle=SIGUSR1"] if node == whom else []))
    for agent in job.jobs.values():
        agent.out.wait_for("ready", times=2)

    job.jobs[whom].signal(signal.SIGUSR1)

    job.assert_codes(128 + signal.SIGUSR1)
    assert [agent.out.text.count("got USR1") for agent in job.jobs.values()] == [2, 2]


@pytest.mark.parametrize("whom", [0, 1], ids=["the leader", "another"])
def test_a_signal_in_the_moment_of_the_start_leaves_nothing_behind(gang, whom):
    job = gang(2, workers=4)
    leader, _ = job.start_all()
    leader.err.wait_for("workers meet at")

    job.jobs[whom].signal(signal.SIGTERM)

    job.assert_codes(143, seconds=3)
    job.muster.assert_no_survivors()


@pytest.mark.parametrize("whom", [0, 1], ids=["the leader", "another"])
def test_a_signal_during_the_restart_backoff_ends_the_job_at_once(gang, whom):
    job = gang(2, "--max-restarts=3", "--restart-backoff=30")
    job.start_all()
    for attempt in (0, 1):
        job.wait_for_start(attempt=attempt)
        job.worker_events.end(0, 4 + attempt, attempt)
    job.jobs[0].err.wait_for("starting attempt 2")

    began = time.monotonic()
    job.jobs[whom].signal(signal.SIGTERM)

    job.assert_codes(143)
    promise("the end after a signal between attempts", AT_ONCE + 0.2, time.monotonic() - began)


@pytest.mark.parametrize("whom", [0, 1], ids=["the leader", "another"])
def test_a_signal_while_a_restart_ends_the_old_workers_is_the_end(gang, whom):
    job = gang(2, "--max-restarts=3", "--grace=60", stubborn=True)
    job.start_all()
    started = job.wait_for_start()
    os.kill(started[0].pid, signal.SIGKILL)
    job.worker_events.wait_for("TERM", ranks=[1])

    agent = job.jobs[whom]
    agent.signal(signal.SIGTERM)
    for pid in (agent.guard(), agent.agent()):  # of two that are pending the lower number is taken first
        wait_until(lambda pid=pid: not processes.is_pending(pid, signal.SIGTERM), "the request to be heard")
    agent.signal(signal.SIGINT)  # so that nobody has to wait for the grace

    job.assert_codes(143)
    assert job.worker_events.told("started", attempt=1) == []


@pytest.mark.parametrize("whom", [0, 1], ids=["the leader", "another"])
def test_a_signal_to_a_finished_node_ends_the_running_nodes(gang, whom):
    """The workers of the agent that is signalled have succeeded; it waits for the others'."""
    job = gang(2)
    job.start_all()
    job.wait_for_start()
    job.worker_events.end(whom, 0)
    job.jobs[whom].err.wait_for("ends with 0")
    wait_until(lambda: processes.children_of(job.jobs[whom].agent()) == [], "its worker to be gone")

    began = time.monotonic()
    job.jobs[whom].signal(signal.SIGTERM)
    (asked,) = job.worker_events.wait_for("TERM", ranks=[1 - whom])

    promise("a signal for the workers of others", AT_ONCE, asked.at - began)
    job.assert_codes(143)


def test_a_signal_ends_a_leader_that_waits_for_the_last_goodbye(gang):
    job = gang(2, "--heartbeat-timeout=60")
    leader = job.start(0)
    with Relay(("127.0.0.1", job.port)) as relay:
        other = job.start(1, port=relay.port)
        job.wait_for_start()
        guard = leader.guard()
        job.worker_events.end(1, 0)
        other.err.wait_for("ends with 0")
        wait_until(lambda: b"is_last" in relay.wires[0].to_leader, "its success to be told")
        job.worker_events.end(0, 0)
        wait_until(lambda: b'"stop"' in relay.wires[0].to_agent, "the leader to end the attempt")
        wait_until(lambda: b'"finish"' in relay.wires[0].to_agent, "the leader to say the end")
        # Messages of the agent are not received any more, not even its goodbye.
        relay.fall_silent("to_leader")
        seconds = time_to_end(leader, guard)  # one that has ended already can be signalled: nobody buried it

    promise("the end of a leader that waits for a goodbye", AT_ONCE, seconds)
    assert leader.code == 0


@pytest.mark.kernel
@pytest.mark.parametrize("whom", [0, 1], ids=["the leader", "another"])
@pytest.mark.parametrize("second", [0, 1], ids=["the leader again", "another again"])
def test_ctrl_c_after_a_request_kills_workers_on_every_node(gang, whom, second):
    """Also where the request came from another node."""
    job = gang(2, "--grace=60", stubborn=True)
    job.start_all()
    job.wait_for_start()
    job.jobs[whom].signal(signal.SIGTERM)
    job.worker_events.wait_for("TERM", times=2)

    job.jobs[second].signal(signal.SIGINT)

    job.assert_codes(143)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda one: one.name)
def test_a_request_to_every_node_is_one_request(gang, number):
    """As a scheduler sends it."""
    job = gang(2, "--grace=60", stubborn=True)
    agents = job.start_all()
    job.wait_for_start()

    for agent in agents:
        agent.signal(number)
    job.worker_events.wait_for(number.name.removeprefix("SIG"), times=2)
    for agent in agents:
        agent.signal(signal.SIGHUP)
        agent.err.wait_for("SIGHUP received")  # again, or before the first signal: both are pending

    assert len(job.worker_events.told(number.name.removeprefix("SIG"))) == 2
    assert job.worker_events.told("HUP") == []
    agents[1].signal(signal.SIGQUIT)
    job.assert_codes(128 + number)


@pytest.mark.parametrize("phase, whom", [("dial", 1), ("gather", 0), ("run", 0), ("run", 1)])
def test_as_pid_1_an_agent_handles_signals(gang, phase, whom):
    job = gang(2)
    for node in [0, 1] if phase == "run" else [whom]:
        job.start(node, through=AS_FIRST_PROCESS)
    victim = job.jobs[whom]
    if phase == "run":
        job.wait_for_start()
    elif phase == "dial":
        victim.err.wait_for("connection refused")
    else:
        wait_until(lambda: is_open(job.port), "the leader to listen")

    seconds = signal_and_time(victim)

    assert victim.code == 143
    promise("the end after a signal to a first process", AT_ONCE + 0.2, seconds)  # unshare goes last
    job.assert_codes(143)

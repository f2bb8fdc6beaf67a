"""Agents of a job join their leader, and log what they wait for."""

import json
import os
import re
import socket
import time

import pytest

from support import gang as gangs
from support.deadlines import promise, wait_until
from support.relay import Relay
from support.repetitions import default_or_soak
from support.wire import Peer, is_open, join

PLENTY = 10  # seconds: time for several agents to come, on any machine


def wait_here(seconds):
    """Waits for a fixed time, because the test is about an agent that comes late."""
    began = time.monotonic()
    wait_until(lambda: time.monotonic() - began > seconds, "time to pass", seconds + 1)


def assert_never_started(gang, *agents):
    """No worker ran, and the report of each of these agents says so."""
    assert gang.worker_events.all() == []
    for agent in agents:
        outcomes = {one["outcome"] for one in gang.jobs[agent].report["workers"]}
        assert outcomes == {"never started"}


@pytest.mark.soak
def test_a_second_agent_that_comes_late_is_waited_for(gang, hosts):
    late = default_or_soak(1, 120)
    job = gang(2, on=hosts, workers=2)
    leader = job.start(0)
    wait_until(lambda: is_listening(hosts, 0, job.port), f"{leader} to listen")
    wait_here(late)
    assert job.worker_events.all() == []

    job.start(1)
    job.succeed()

    for report in job.reports().values():
        assert report["gang"]["arrival_skew_s"] >= late
        promise("the arrival of an agent", late + 5, report["gang"]["arrival_skew_s"])
        assert report["gang"]["slowest"][0]["node"] == 1
        assert report["gang"]["slowest"][0]["host"] == hosts.name(1)


@pytest.mark.soak
def test_a_leader_that_comes_last_finds_the_others_waiting(gang, hosts):
    job = gang(3, on=hosts)
    job.start(2)
    job.start(1)
    for node in (1, 2):
        job.jobs[node].err.wait_for(f"connection refused by {hosts.address(0)}:{job.port}")
    wait_here(default_or_soak(0, 120))

    job.start(0)
    began = time.monotonic()
    started = job.wait_for_start()
    promise("a start after the leader has come", 3, time.monotonic() - began)  # who waits tries again every second or so

    assert [started[rank].host for rank in range(3)] == [hosts.name(node) for node in range(3)]
    job.succeed()


def is_listening(hosts, index, port):
    return hosts.run(index, "ss", "-tlnH", "sport", f"= :{port}").stdout != ""


def append_name(hosts, host, name, address):
    """In place: what `ip netns exec` shows on the host is this very file."""
    with open(f"/etc/netns/{hosts.name(host)}/hosts", "a") as file:
        file.write(f"{address} {name}\n")


@pytest.mark.soak
@pytest.mark.kernel
def test_a_name_that_appears_later_is_found(gang, hosts):
    name = f"late-{os.getpid()}.test"
    job = gang(2, on=hosts)
    job.start(0, address=hosts.address(0))
    second = job.start(1, address=name)
    second.err.wait_for(f"'{name}' does not resolve")
    wait_here(default_or_soak(0.3, 60))

    append_name(hosts, 1, name, hosts.address(0))

    job.succeed()


MEET = """
import os, socket, time
where = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
family = socket.AF_INET6 if ":" in where[0] else socket.AF_INET
if os.environ["RANK"] == "0":
    with socket.create_server(where, family=family) as server:
        server.settimeout(120)
        server.accept()[0].sendall(b"met")
else:
    for _ in range(2400):
        try:
            link = socket.create_connection(where, 120)
            break
        except ConnectionRefusedError:
            time.sleep(0.05)
    assert link.recv(3) == b"met"
print("rank", os.environ["RANK"], "met at", where[0], flush=True)
"""


@pytest.mark.parametrize("version", [4, 6])
def test_behind_a_service_address_the_workers_meet_at_the_leaders_own(gang, hosts, version):
    """As in Kubernetes: nobody has the service's address, and it forwards one port only."""
    if version == 6:
        service = "fd77:1::1"
        own = [hosts.network.add_version_six(node) for node in (0, 1)][0]
    else:
        service, own = "10.77.1.1", hosts.address(0)
    job = gang(2, on=hosts, command=["python3", "-c", MEET])
    for node in (0, 1):
        hosts.network.serve(node, service, own, job.port)
    for node in (0, 1):
        job.start(node, address=service)

    job.assert_codes(0)

    for node in (0, 1):
        assert f"rank {node} met at {own}" in job.jobs[node].words()


def test_mindspore_workers_get_the_address_that_faces_the_leader(gang, hosts):
    """The leader, too: as the others reach it."""
    script = 'echo "$MS_ROLE is at $MS_WORKER_IP"'
    job = gang(2, "--mode=msrun", on=hosts, command=["sh", "-c", script])
    for node in (0, 1):
        job.start(node)

    job.assert_codes(0)

    for node in (0, 1):
        assert f"MS_WORKER is at {hosts.address(node)}" in job.jobs[node].words()


@pytest.mark.needs("threads")  # it is nice to know, and nobody waits for the look-up
def test_a_leader_warns_when_its_address_belongs_to_another_host(gang, hosts):
    """And waits: it might be a forwarder's."""
    job = gang(2, on=hosts)
    leader = job.start(0, host=1, address=hosts.name(0))

    leader.err.wait_for(
        f"--master-addr is '{hosts.name(0)}', which is {hosts.address(0)}: no address of this host"
    )

    leader.signal(15)
    job.assert_codes(143)


def test_behind_a_service_the_leader_warns_about_the_foreign_address(gang, hosts):
    service = "10.77.1.1"
    job = gang(2, on=hosts, command=["true"])
    for node in (0, 1):
        hosts.network.serve(node, service, hosts.address(0), job.port)
        job.start(node, address=service)

    job.assert_codes(0)

    assert job.jobs[0].said_about(f"--master-addr is '{service}': no address of this host")
    assert not any("no address of this host" in line for line in job.jobs[1].said)


# The agent that leads (claims rank 0), the host whose address is said to be the leader's, and the words of the agent on host 1. With
# its own address it leads in peace; the line about other hosts' addresses is no error behind a Service.
@pytest.mark.parametrize(
    ("rank", "owner", "said"),
    [
        (0, 1, "1 of 2 nodes"),
        (0, 0, "no address of this host, which leads and listens"),
        (1, 1, "which is this host; --master-addr must name the host of node 0, and this is another node"),
        (1, 0, "cannot reach the leader yet: connection refused by"),
        ("by arrival", 1, "is this host's own: leading the job"),
        ("by arrival", 0, "cannot reach the leader yet: connection refused by"),
    ],
)
def test_an_agent_alone_says_what_its_rank_and_the_leaders_address_mean(gang, hosts, rank, owner, said):
    job = gang(2, on=hosts)
    by_arrival = {"rank": rank} if rank == "by arrival" else {}
    agent = job.start(0 if by_arrival else rank, host=1, address=hosts.address(owner), **by_arrival)

    agent.err.wait_for(said)

    is_own = (rank, owner) == (1, 1)
    assert said in agent.said[1] or said == "1 of 2 nodes", "the cause stands in the second line"
    assert is_own == any("which is this host" in line for line in agent.said), agent.words()
    assert not any("another node 0" in line for line in agent.said), agent.words()
    agent.signal(15)
    assert agent.end() == 143


INTERFACES = 'echo "nccl <$NCCL_SOCKET_IFNAME> gloo <$GLOO_SOCKET_IFNAME>"'


@pytest.mark.parametrize("version", [4, 6])
def test_workers_get_the_interface_that_faces_the_leader(gang, hosts, version):
    """On the leader the one that the others reach."""
    job = gang(2, on=hosts, command=["sh", "-c", INTERFACES])
    address = hosts.address(0)
    if version == 6:
        address = [hosts.network.add_version_six(node) for node in (0, 1)][0]
    for node in (0, 1):
        job.start(node, address=address)

    job.assert_codes(0)

    for node in (0, 1):
        words = job.jobs[node].words()
        assert "nccl <=eth0> gloo <eth0>" in words
        assert re.search(r"the workers meet at \S+, from here by eth0$", words, re.MULTILINE)


def test_agents_on_one_machine_use_the_loopback_interface(gang):
    job = gang(2, command=["sh", "-c", INTERFACES])
    for node in (0, 1):
        job.start(node)

    job.assert_codes(0)

    assert "nccl <=lo> gloo <lo>" in job.jobs[1].words()


def test_an_interface_set_by_the_user_is_kept(gang, hosts):
    job = gang(2, on=hosts, command=["sh", "-c", INTERFACES])
    for node in (0, 1):
        job.start(node, env={"NCCL_SOCKET_IFNAME": "^docker", "GLOO_SOCKET_IFNAME": ""})

    job.assert_codes(0)

    assert "nccl <^docker> gloo <>" in job.jobs[1].words()


def test_an_oversized_contribution_is_refused_with_its_key_and_size(gang):
    job = gang(2)
    job.start(0)
    wait_until(lambda: is_open(job.port), f"the leader to listen on port {job.port}")
    piece = {"type": "contribute", "key": "ports", "attempt": 0, "offset": 0}
    with Peer(job.port) as peer:
        peer.say(join(contributes=["ports"]))
        peer.wait_for("admitted")
        peer.say(json.dumps({**piece, "size": 10**6, "packed": 10**6}).encode() + b"\0" + b"x" * 999)
        peer.wait_for_end()

    job.jobs[0].err.wait_for("left: it sent 1000000 bytes under 'ports', expected at most")
    job.jobs[0].signal(15)
    job.assert_codes(143)


def test_ranks_follow_the_slots_of_each_node(gang):
    slots = [1, 3, 2]
    job = gang(3)
    for node in (2, 1, 0):
        job.start(node, workers=slots[node])

    started = job.wait_for_start(sum(slots))

    nodes = [node for node, count in enumerate(slots) for _ in range(count)]
    local = [number for count in slots for number in range(count)]
    assert [started[rank].node for rank in range(6)] == nodes
    assert [started[rank].local_rank for rank in range(6)] == local
    assert {one.world_size for one in started.values()} == {6}
    job.succeed(sum(slots))


def test_without_node_ranks_the_owner_of_the_address_leads(gang, hosts):
    job = gang(3, on=hosts, workers=2)
    for node in (2, 0, 1):
        job.start(node, rank="by arrival")

    started = job.wait_for_start()

    assert started[0].host == started[1].host == hosts.name(0)
    assert {one.host for one in started.values()} == {hosts.name(node) for node in range(3)}
    assert {one.master[0] for one in started.values()} == {hosts.address(0)}
    job.succeed()


@pytest.mark.parametrize("reaches_itself", [True, False])
def test_behind_a_service_the_node_reached_by_it_leads(gang, hosts, reaches_itself):
    """The service leads to the second host, and where its own packets are not turned round, that host alone does not get through."""
    service = "10.77.1.1"
    job = gang(3, on=hosts)
    for node in (0, 1, 2) if reaches_itself else (0, 2):
        hosts.network.serve(node, service, hosts.address(1), job.port)
    job.start(1, "--lead=reached", rank="by arrival", address=service)
    for node in (0, 2):
        job.start(node, rank="by arrival", address=service)

    started = job.wait_for_start()

    assert started[0].host == hosts.name(1)
    assert {one.host for one in started.values()} == {hosts.name(node) for node in range(3)}
    assert {one.master[0] for one in started.values()} == {hosts.address(1)}
    job.succeed()


def test_with_lead_reached_a_node_joins_the_owner_of_the_address(gang, hosts):
    job = gang(2, on=hosts)
    job.start(1, "--lead=reached", rank="by arrival")
    job.jobs[1].err.wait_for("cannot reach the leader yet")
    job.start(0, "--lead=reached", rank="by arrival")

    started = job.wait_for_start()

    assert started[0].host == hosts.name(0)
    job.succeed()


def test_without_node_ranks_one_of_several_agents_on_one_host_leads(gang):
    job = gang(4)
    for node in range(4):
        job.start(node, rank="by arrival")

    started = job.wait_for_start()

    assert sorted(one.node for one in started.values()) == [0, 1, 2, 3]
    job.succeed()


def test_with_a_range_the_last_call_ends_the_wait(gang):
    job = gang("3:4", "--last-call=0.5")
    leader = job.start(0, "--verbose")
    job.start(1)
    leader.err.wait_for("is here: 2 of 3")
    began = time.monotonic()
    job.start(2)

    started = job.wait_for_start(3)

    assert min(one.at for one in started.values()) - began >= 0.5
    assert {one.nodes for one in started.values()} == {3}
    job.succeed()


def test_with_a_range_of_nodes_a_complete_gang_starts_at_once(gang):
    job = gang("2:3", "--last-call=60")
    job.start_all()
    job.succeed(3)


def test_with_a_range_and_without_node_ranks_the_ranks_have_no_gap(gang, hosts):
    job = gang("2:4", "--last-call=0.5", on=hosts)
    for node in (0, 3):
        job.start(node, rank="by arrival")

    started = job.wait_for_start(2)

    assert [started[rank].host for rank in (0, 1)] == [hosts.name(0), hosts.name(3)]
    job.succeed()


@pytest.mark.soak
@pytest.mark.full
def test_when_one_of_four_nodes_is_missing_the_others_exit_75(gang, hosts):
    limit = default_or_soak(PLENTY, 20)
    job = gang(4, f"--gang-timeout={limit}", on=hosts)
    for node in (0, 1, 3):
        job.start(node)

    job.assert_codes(75, seconds=limit + 5)

    assert_never_started(job, 0, 1, 3)
    for node in (0, 1, 3):
        assert f"3 of 4 nodes came within {limit} s: node 2 never connected" in job.words()
        report = job.jobs[node].report
        assert report["verdict"] == "incomplete"
        assert "node 2 never connected" in report["reason"]
        promise("giving up", limit + 2, job.jobs[node].seconds)


def volcano(node, hosts, port):
    return {
        "VC_TASK_INDEX": node,
        "VK_TASK_INDEX": node,
        "VC_WORKER_HOSTS": ",".join(hosts),
        "VC_WORKER_NUM": len(hosts),
        "MASTER_PORT": port,
    }


@pytest.mark.needs("threads")
def test_missing_nodes_are_named_by_host_with_their_name_resolution(muster, port, worker):
    hosts = ["127.0.0.1", "nowhere.invalid", "127.0.0.3"]
    job = muster.start(
        "--gang-timeout=1",
        "--",
        worker("print_rank"),
        env=volcano(0, hosts, port),
    )

    assert job.end() == 75
    line = job.said_about("1 of 3 nodes came")
    assert "node 1 (nowhere.invalid, a name that does not resolve) never connected" in line
    assert "node 2 (127.0.0.3) never connected" in line


@pytest.mark.full
def test_a_node_that_was_refused_is_named_with_the_reason(gang):
    job = gang(3, f"--gang-timeout={PLENTY}")
    job.start(0)
    job.start(1, "--job-id=another")

    job.assert_codes(75, node_1=78)
    reason = job.jobs[0].report["reason"]
    assert "node 2 never connected; node 1 (" in reason
    assert ") was refused: its job is 'another', the leader's is '" in reason
    assert "never started" not in job.words(), "it is not known which ranks they have"


@pytest.mark.full
def test_a_node_that_left_is_distinguished_from_one_that_never_connected(gang):
    job = gang(3, f"--gang-timeout={PLENTY}")
    leader = job.start(0, "--verbose")
    gone = job.start(1)
    leader.err.wait_for("is here: 2 of 3 nodes")

    gone.kill_agent()

    gone.end()
    assert leader.end() == 75
    line = leader.said_about(f"came within {PLENTY} s")
    assert re.search(r"node 1 \(.*\) left: (closed|reset) the connection", line), line  # reset: it had not read all
    assert "node 2 never connected" in line


def test_a_node_that_came_back_before_the_start_takes_part(gang):
    job = gang(3)
    leader = job.start(0, "--verbose")
    first = job.start(1)
    leader.err.wait_for("is here: 2 of 3 nodes")
    first.kill_agent()
    first.end()

    job.start(1)
    job.start(2)

    job.succeed()


def test_an_absent_leader_is_reported_as_connection_refused(gang):
    job = gang(2, "--gang-timeout=1")
    job.start(1)

    job.assert_codes(75)

    line = job.jobs[1].said_about("did not reach the leader", "within 1 s")
    assert f"connection refused by 127.0.0.1:{job.port}" in line
    assert_never_started(job, 1)


def test_an_unresolvable_leader_name_is_reported(gang, hosts):
    job = gang(2, "--gang-timeout=1", on=hosts)
    job.start(1, address="nowhere.invalid")

    job.assert_codes(75)

    line = job.jobs[1].said_about("did not reach the leader", "within 1 s")
    assert "name 'nowhere.invalid' does not resolve" in line
    assert_never_started(job, 1)


@pytest.mark.soak
def test_a_leader_behind_a_silent_firewall_is_reported_as_not_answering(gang, hosts):
    limit = default_or_soak(1, 20)
    job = gang(2, f"--gang-timeout={limit}", on=hosts)
    hosts.network.drop_port(0, job.port)
    job.start(1)

    job.assert_codes(75, seconds=limit + 10)

    line = job.jobs[1].said_about("did not reach the leader", f"{hosts.address(0)}:{job.port}")
    assert re.search("no answer|has not answered", line), line
    promise("giving up", limit + 1, job.jobs[1].seconds)
    assert_never_started(job, 1)


@pytest.mark.soak_only
def test_a_leader_on_an_absent_host_is_reported_as_unreachable(gang, hosts):
    job = gang(2, "--gang-timeout=20", on=hosts)
    job.start(1, address="10.77.0.99")

    job.assert_codes(75, seconds=30)

    line = job.jobs[1].said_about("did not reach the leader")
    assert re.search(rf"(no route to|no answer from) 10.77.0.99:{job.port}", line), line
    assert_never_started(job, 1)


def test_a_silent_listener_is_not_taken_for_the_leader(gang):
    job = gang(2, "--gang-timeout=1", "--heartbeat-timeout=1")  # so that silence is soon noticed
    with Relay() as half_open:
        job.start(1, port=half_open.port)

        job.assert_codes(75)

    line = job.jobs[1].said_about("did not reach the leader")
    assert "took the connection and does not answer" in line
    assert_never_started(job, 1)


@pytest.mark.soak_only
def test_a_waiting_leader_logs_the_node_count_and_the_missing_nodes(gang):
    job = gang(3)
    leader = job.start(0)
    job.start(2)

    for node in (0, 2):
        job.jobs[node].err.wait_for("2 of 3 nodes are here after 5 s: node 1 never connected")

    leader.signal(15)
    job.assert_codes(143)


@pytest.mark.soak_only
def test_a_long_wait_is_reported_every_half_minute(gang):
    job = gang(3)
    leader = job.start(0)
    second = job.start(2, port=job.port)
    lonely = job.start(1, port=gangs.free_port())

    for job_of_gang in (leader, second):
        job_of_gang.err.wait_for("nodes are here after", times=3, seconds=70)
    lonely.err.wait_for("waiting for the leader at", times=2, seconds=70)

    leader.signal(15)
    lonely.signal(15)
    job.assert_codes(143)


def test_a_port_in_use_is_reported_with_the_process_using_it(gang):
    job = gang(2, "--gang-timeout=8")
    with socket.create_server(("127.0.0.1", job.port)):
        job.start(0)
        job.assert_codes(75)

    job.jobs[0].said_about("cannot lead the job yet", "trying again for up to 4 s")
    line = job.jobs[0].said_about("cannot listen on", f"{job.port}", "held by", "which keeps it")
    assert f"pid {os.getpid()} (" in line and line.endswith("; give all nodes another one by --master-port")
    assert "mend what the line above names" in job.jobs[0].said[-1]
    assert_never_started(job, 0)


def test_a_port_in_use_is_reported_with_the_option_that_gave_it(muster, port):
    with socket.create_server(("127.0.0.1", port)):
        job = muster.run("--nnodes=2", "--node-rank=0", "--master-addr=127.0.0.1", f"--gang-port={port}", "--gang-timeout=6", "true")

    assert job.code == 75
    job.said_about("which keeps it; give all nodes another one by --gang-port")


def test_a_port_that_another_program_keeps_is_not_waited_for(gang):
    job = gang(2)
    with socket.create_server(("127.0.0.1", job.port)):
        job.start(0)
        job.assert_codes(75)

    job.jobs[0].said_about("held by", f"pid {os.getpid()} (", "give all nodes another one by --master-port")
    assert "cannot reach the leader" not in job.jobs[0].err.text, "this node is to lead"
    assert_never_started(job, 0)


def test_a_port_that_becomes_free_is_taken(gang):
    job = gang(2)
    with socket.create_server(("127.0.0.1", job.port)):
        leader = job.start(0)
        leader.err.wait_for("held by")

    job.start(1)

    job.succeed()


def test_agents_meet_over_ipv6(gang):
    job = gang(2)
    job.start_all(address="::1")

    started = job.wait_for_start()

    assert {one.master[0] for one in started.values()} == {"::1"}
    job.succeed()


def test_hosts_whose_own_names_do_not_resolve_form_a_gang(gang):
    job = gang(2)
    for node in (0, 1):
        strange = f'hostname nowhere-{node}.invalid && exec "$@"'
        job.start(node, through=["unshare", "--uts", "sh", "-c", strange, "sh"])

    started = job.wait_for_start()

    assert [started[rank].host for rank in (0, 1)] == ["nowhere-0.invalid", "nowhere-1.invalid"]
    assert {one.master[0] for one in started.values()} == {"127.0.0.1"}
    job.succeed()


@pytest.mark.parametrize(
    "options",
    [["--nnodes=3"], ["--mode=torchrun", "--nnodes=2:3"]],
    ids=["another number of nodes", "a range"],
)
def test_an_agent_with_another_gang_size_is_refused_and_the_wait_continues(gang, options):
    job = gang(2)
    job.start(0)
    stranger = job.muster.start(
        *options,
        "--node-rank=1",
        f"--master-addr={job.address}",
        f"--master-port={job.port}",
        "--nproc-per-node=1",
        "--",
        *job.command,
    )
    assert stranger.end() == 78
    assert stranger.said_about("refused this node", "its number of nodes is '3', the leader's is '2'")

    job.start(1)

    job.succeed()

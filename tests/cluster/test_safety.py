"""Unknown clients at the leader's port, and secrets: the gang continues each time."""

import contextlib
import json
import random
import re

import pytest

from support.capture import Capture
from support.deadlines import wait_until
from support.relay import Relay
from support.wire import Peer, frame, is_open, join

TOKEN = "correct horse battery staple"
JOB = "recognisable-job-4711"


@pytest.fixture
def waiting(gang):
    """A job of two nodes whose leader waits for the other one."""
    job = gang(2)
    job.start(0)
    # It listens: a connection is accepted.
    wait_until(lambda: is_open(job.port), f"the leader to listen on port {job.port}")
    return job


def assert_goes_on(job, *, env=None):
    """The agent that was waited for comes, and the job runs to its end."""
    job.start(1, env=env)
    job.wait_for_start(2)
    job.worker_events.end_all(2)
    codes = {name: code for name, code in job.end().items() if name in (0, 1)}
    assert codes == {0: 0, 1: 0}, job.words()


def refusals(job):
    return [line for line in job.jobs[0].said if line.startswith("refused a")]


GARBAGE = {
    "noise": random.Random(4711).randbytes(4096),
    "a question of the web": b"GET / HTTP/1.1\r\nHost: leader\r\n\r\n",
    "a greeting of TLS": bytes.fromhex("16030100ff010000fb0303") + random.Random(1).randbytes(244),
    "a length of four gibibytes": b"\xff\xff\xff\xff" + b"x" * 100,
    "a join that is too long": frame(join(host="x" * 5000)),
    "a deep object": frame(b'{"a":' * 400 + b"1" + b"}" * 400),
    "a join with a line break": frame(join(host="one\ntwo")),
    "a finish before the join": frame({"type": "finish", "end": {}}),
}


@pytest.mark.parametrize("data", GARBAGE.values(), ids=GARBAGE.keys())
def test_data_that_is_no_join_is_refused_and_the_gang_continues(waiting, data):
    with Peer(waiting.port) as peer:
        peer.send(data)
        peer.wait_for_end()

    leader = waiting.jobs[0]
    leader.err.wait_for("refused a connection from 127.0.0.1: it ")
    assert all(line.isprintable() for line in leader.err.lines)
    assert_goes_on(waiting)


STRANGERS = {
    "another version": (
        {"protocol": 5, "version": "9.9.9"},
        r"muster 9\.9\.9 speaks version 5 of the protocol, the leader version 4",
    ),
    "another job": ({"job_id": "somebody's"}, r"its job is 'somebody's', the leader's is 'none'"),
    "the leader's own rank": ({"rank": 0}, r"node rank 0 is taken by \S+, the leader"),
    "another mode": ({"mode": "mpi"}, r"its mode is 'mpi', the leader's is 'torchrun'"),
}


@pytest.mark.parametrize("changes, reason", STRANGERS.values(), ids=STRANGERS.keys())
def test_an_incompatible_agent_is_refused_with_a_reason(waiting, changes, reason):
    with Peer(waiting.port) as peer:
        peer.say(join(**changes))
        answer = peer.wait_for("refused")
        peer.wait_for_end()

    assert re.search(reason, answer["reason"]), answer
    waiting.jobs[0].err.wait_for(": " + answer["reason"])
    assert re.search(reason, waiting.jobs[0].err.text)
    assert_goes_on(waiting)


def by_pet(job, node, job_id, name=None, env=None, through=()):
    """As an operator sets it, with a name for the job."""
    variables = {
        "PET_NNODES": 2,
        "PET_NODE_RANK": node,
        "PET_MASTER_ADDR": job.address,
        "PET_MASTER_PORT": job.port,
        "PET_RDZV_ID": job_id,
        **(env or {}),
    }
    job.jobs[name or node] = job.muster.start(
        "--nproc-per-node=1",
        *job.options,
        "--",
        *job.command,
        env=variables,
        through=through,
        report=True,
    )


def test_an_agent_of_another_job_is_refused_and_reports_it(gang):
    job = gang(2)
    by_pet(job, 0, "mine")
    by_pet(job, 1, "yours", name="stranger")
    assert job.jobs["stranger"].end() == 78
    assert job.jobs["stranger"].said_about(
        "refused this node", "its job is 'yours'", "the leader's is 'mine'"
    )

    by_pet(job, 1, "mine")

    job.wait_for_start(2)
    job.worker_events.end_all(2)
    assert [job.jobs[node].end() for node in (0, 1)] == [0, 0]


def test_agents_with_different_templates_are_refused(gang, tmp_path):
    job = gang(2, "--gang-timeout=60")
    for node in (0, 1):
        worker = f"{{name: worker, environment: {{NODE_TOLD: 'v{node}'}}}}"
        template = f"mode: mine\ninherits: torchrun\nroles: [{worker}]\n"
        (tmp_path / f"{node}.yaml").write_text(template)
    job.start(0, f"--template={tmp_path}/0.yaml")
    job.start(1, f"--template={tmp_path}/1.yaml", name="other")
    assert job.jobs["other"].end() == 78
    assert re.search(
        r"refused this node: its template is 'mine, digest ([0-9a-f]{16})', "
        r"the leader's is 'mine, digest (?!\1)[0-9a-f]{16}': give all nodes the same file",
        job.jobs["other"].err.text,
    )

    job.start(1, f"--template={tmp_path}/0.yaml")

    job.wait_for_start(2 * job.workers)
    job.worker_events.end_all(2 * job.workers)
    assert [job.jobs[node].end() for node in (0, 1)] == [0, 0]


def test_a_taken_rank_is_refused_and_both_consoles_name_the_hosts(gang, hosts):
    """Once its holder shows that it is alive, which it does four times in a heartbeat timeout."""
    job = gang(3, "--heartbeat-timeout=10", on=hosts)
    leader = job.start(0, "--verbose")
    job.start(1)
    leader.err.wait_for("is here: 2 of 3 nodes")
    second = job.start(1, host=2, name="second")

    assert second.end() == 78
    holder = f"{hosts.name(1)} ({hosts.address(1)})"
    newcomer = f"{hosts.name(2)} ({hosts.address(2)})"
    assert second.said_about(f"refused this node: node rank 1 is taken by {holder}")
    assert leader.said_about(f"refused {newcomer}: node rank 1 is taken by {holder}")
    job.start(2)
    job.wait_for_start(3)
    job.worker_events.end_all(3)
    assert [job.jobs[node].end() for node in (0, 1, 2)] == [0, 0, 0]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["first", "last"])
def test_a_second_node_zero_on_another_host_finds_the_leader(gang, hosts, order):
    """Whichever comes first, and the leader names it where it tells who does not come."""
    job = gang(2, on=hosts)
    both = {}
    for host in order:
        both[host] = job.start(0, host=host, name=host)
        both[host].err.wait_for("flags: ")

    both[1].err.wait_for("no address of this host, which leads and listens")
    both[1].err.wait_for("give each node its own --node-rank")
    refused = both[1].said_about("another node 0 leads at", "node rank 0 is taken by")
    if order == (0, 1):
        assert both[1].said.index(refused) == 1, "the cause stands in the second line"
    both[0].err.wait_for(f"refused {hosts.name(1)}")

    for one in both.values():
        one.signal(15)
        assert one.end() == 143
    assert not any("another node 0" in line for line in both[0].said)


def test_a_second_leader_fails_on_the_taken_port(waiting):
    second = waiting.start(0, "--gang-timeout=1", name="second")
    assert second.end() == 75
    assert "held by pid" in second.err.text
    assert second.said_about("another node 0 leads at", "node rank 0 is taken by", "--node-rank")

    assert_goes_on(waiting)


def test_a_join_that_is_sent_again_is_refused(gang):
    job = gang(3)
    leader = job.start(0, "--verbose")
    with Relay(("127.0.0.1", job.port)) as relay:
        job.start(1, port=relay.port)
        leader.err.wait_for("is here: 2 of 3 nodes")
        recorded = bytes(relay.wires[0].to_leader)
        assert b'"join"' in recorded

        with Peer(job.port) as peer:
            peer.send(recorded)
            answer = peer.wait_for("refused")

        assert answer["reason"] == "its message has been received before"
        job.start(2)
        job.succeed()


def test_a_replayed_connection_with_a_token_is_not_admitted(gang):
    env = {"MUSTER_TOKEN": TOKEN}
    job = gang(3)
    leader = job.start(0, "--verbose", env=env)
    with Relay(("127.0.0.1", job.port)) as relay:
        job.start(1, port=relay.port, env=env)
        leader.err.wait_for("is here: 2 of 3 nodes")
        recorded = bytes(relay.wires[0].to_leader)

        with Peer(job.port) as peer:
            peer.send(recorded)
            received = peer.wait_for_end()

        assert b"{" not in received[:1] and b"refused" not in received
        leader.err.wait_for("refused a connection from 127.0.0.1: it ")
        job.start(2, env=env)
        job.succeed()


@pytest.mark.soak
def test_silent_and_slow_connections_do_not_keep_agents_out(waiting):
    with contextlib.ExitStack() as stack:
        crowd = [stack.enter_context(Peer(waiting.port)) for _ in range(200)]
        half = frame(join())[:-1]
        for number, peer in enumerate(crowd):
            peer.send(half[: number % len(half)])

        assert_goes_on(waiting)


@pytest.mark.soak_only
def test_a_connection_that_sends_no_join_in_time_is_refused(waiting):
    with Peer(waiting.port) as silent, Peer(waiting.port) as slow:
        slow.send(b"\0\0\1")
        silent.wait_for_end(seconds=15)
        slow.wait_for_end(seconds=15)
        waiting.jobs[0].err.wait_for("sent no join within 10 s")

    # Said once of an address, however often it comes.
    assert waiting.jobs[0].said_about("refused a connection", "sent no join within 10 s")
    assert_goes_on(waiting)


def test_a_scan_of_the_port_does_not_fill_the_log(waiting):
    for _ in range(100):
        with Peer(waiting.port) as peer:
            peer.send(b"hello?\n\n\n")

    assert_goes_on(waiting)
    assert len(refusals(waiting)) <= 21


def admitted(job, **changes):
    peer = Peer(job.port)
    peer.say(join(mode=mode_of(job), **changes))
    peer.wait_for("start")
    return peer


def mode_of(job):
    done = job.muster.run("plan", "--json", *job.options, "--nproc-per-node=1", "--", "true")
    return json.loads(done.out.text)["mode"]


FAILURE = {
    "node": 1,
    "host": "by-hand",
    "role": "worker",
    "global_rank": 1,
    "local_rank": 0,
    "pid": 1,
    "status": {"code": 3, "core": False},
    "exit_code": 3,
    "run_time_seconds": 0.5,
    "start_error": "",
    "error_message": "",
    "last_lines": [],
    "is_early_exit": False,
    "knows_order": True,
}


@pytest.mark.parametrize("attempt", [1, 7])
def test_messages_about_another_attempt_are_ignored(waiting, attempt):
    with admitted(waiting, slots=1) as peer:
        waiting.wait_for_start(1)
        peer.say({"type": "failed", "attempt": attempt, "failure": FAILURE})
        peer.say({"type": "ended", "attempt": attempt, "gave_up": False})
        peer.say({"type": "beat"})
        peer.wait_for("beat")
        assert waiting.worker_events.told("TERM") == []

        waiting.worker_events.end(0, 0)
        worker = {"global_rank": 1, "local_rank": 0, "role": "worker", "pid": 1}
        success = {**worker, "run_time_seconds": 0.5}
        peer.say({"type": "succeeded", "attempt": 0, **success, "is_last": True})
        peer.wait_for("stop")
        peer.say({"type": "ended", "attempt": 0, "gave_up": False})
        end = peer.wait_for("finish")["end"]

    assert (end["verdict"], end["exit_code"]) == ("succeeded", 0)
    waiting.assert_codes(0)


def test_the_leader_logs_which_nodes_goodbye_it_waits_for(gang):
    job = gang(2, "--verbose")
    job.start(0)
    wait_until(lambda: is_open(job.port), f"the leader to listen on port {job.port}")
    with admitted(job, slots=1) as peer:
        job.wait_for_start(1)
        peer.say({"type": "failed", "attempt": 0, "failure": FAILURE})
        peer.wait_for("stop")
        peer.say({"type": "ended", "attempt": 0, "gave_up": False})
        peer.wait_for("finish")
        job.jobs[0].err.wait_for("the end waits for: goodbye of node 1\n")

    job.assert_codes(3)


@pytest.mark.parametrize("kind", ["start", "join", "admitted", "finish"])
def test_a_member_that_sends_an_invalid_message_is_lost(waiting, kind):
    with admitted(waiting, slots=1) as peer:
        waiting.wait_for_start(1)
        peer.say(join(incarnation="1" * 16) if kind == "join" else {"type": kind, "end": {}})
        peer.wait_for_end()

    waiting.assert_codes(69)
    assert "was lost" in waiting.jobs[0].report["reason"]


# --- With a token -------------------------------------------------------------------------------


@pytest.mark.parametrize("by", ["variable", "file"])
def test_agents_with_the_same_token_form_a_gang(gang, tmp_path, by):
    file = tmp_path / "token"
    file.write_text(TOKEN + "\n")
    file.chmod(0o600)
    job = gang(2, *([f"--token-file={file}"] if by == "file" else []), "--max-restarts=1")
    job.start_all(env={"MUSTER_TOKEN": TOKEN} if by == "variable" else None)
    job.wait_for_start()
    job.worker_events.end(1, 3)

    job.succeed(attempt=1)

    assert TOKEN not in job.words()


@pytest.mark.full
def test_a_leader_that_times_out_names_the_node_with_another_token(gang):
    job = gang(2, "--gang-timeout=10")
    leader = job.start(0, env={"MUSTER_TOKEN": TOKEN})
    other = job.start(1, env={"MUSTER_TOKEN": TOKEN + "!"})

    assert (leader.end(), other.end()) == (75, 75)
    assert "never joined; 127.0.0.1 was refused: it has another token" in leader.said_about("1 of 2", "within 10 s")
    assert "; compare the tokens of the nodes (--token-file, MUSTER_TOKEN)" in other.said_about("did not reach the leader")


MISMATCHES = {
    "another token": ({"MUSTER_TOKEN": TOKEN}, {"MUSTER_TOKEN": TOKEN + "!"}),
    "no token at the leader": ({}, {"MUSTER_TOKEN": TOKEN}),
    "no token at the agent": ({"MUSTER_TOKEN": TOKEN}, {}),
}


@pytest.mark.parametrize("leaders, agents", MISMATCHES.values(), ids=MISMATCHES.keys())
def test_a_peer_with_a_wrong_token_gets_no_message_through(gang, leaders, agents):
    job = gang(2)
    job.start(0, env=leaders)
    wait_until(lambda: is_open(job.port), f"the leader to listen on port {job.port}")
    with Relay(("127.0.0.1", job.port)) as relay:
        stranger = job.start(1, port=relay.port, name="stranger", env=agents)
        stranger.err.wait_for("trying again for up to")
        said = stranger.said_about("cannot reach the leader yet")
        stranger.signal(15)
        assert stranger.end() == 143
        told = b"".join(bytes(wire.to_agent) for wire in relay.wires)

    assert "token" in said
    assert b"admitted" not in told and b"refused" not in told and b"waiting" not in told
    assert "token" in " ".join(refusals(job))
    assert_goes_on(job, env=leaders)


@pytest.mark.parametrize("by", ["variable", "file"])
@pytest.mark.parametrize("token", ["", "fifteen bytes.."], ids=["empty", "15 bytes"])
def test_a_token_that_is_too_short_is_refused_before_anything_begins(gang, tmp_path, token, by):
    file = tmp_path / "token"
    file.write_text(token)
    file.chmod(0o600)
    job = gang(2, *([f"--token-file={file}"] if by == "file" else []))

    job.start(0, env={"MUSTER_TOKEN": token} if by == "variable" else None)

    assert job.jobs[0].end() in (64, 78)
    assert "token" in job.jobs[0].err.text
    assert token == "" or token not in job.jobs[0].err.text
    assert not is_open(job.port)


def test_a_token_of_16_bytes_is_long_enough(gang):
    job = gang(2)
    job.start_all(env={"MUSTER_TOKEN": "x" * 16})
    job.succeed()


def test_workers_do_not_get_the_token(gang, worker, tmp_path):
    folder = tmp_path / "descriptions"
    folder.mkdir()
    job = gang(2, command=[worker("describe_itself"), folder])
    job.start_all(env={"MUSTER_TOKEN": TOKEN})

    job.assert_codes(0)

    texts = [file.read_text() for file in folder.iterdir()]
    assert len(texts) == 2
    assert all(TOKEN not in text and "MUSTER_TOKEN" not in text for text in texts)


@pytest.mark.parametrize("question", [["plan"], ["plan", "--json"], ["explain"]], ids=" ".join)
def test_replies_do_not_contain_the_token(muster, question):
    command = [] if question == ["explain"] else ["--", "true"]
    job = muster.run(
        *question,
        "--nnodes=2",
        "--node-rank=0",
        "--master-addr=10.0.0.1",
        *command,
        env={"MUSTER_TOKEN": TOKEN},
    )

    assert job.code == 0
    assert TOKEN not in job.out.text + job.err.text


@pytest.mark.parametrize("env", [{}, {"MUSTER_TOKEN": TOKEN}], ids=["without", "with"])
def test_a_token_encrypts_the_traffic_of_a_link(gang, env):
    job = gang(2, f"--job-id={JOB}")
    job.start(0, env=env)
    with Relay(("127.0.0.1", job.port)) as relay:
        job.start(1, port=relay.port, env=env)
        job.succeed()
        shown = b"".join(bytes(wire.to_leader + wire.to_agent) for wire in relay.wires)

    words = [JOB, "slots", "join", "admitted", "start", "worker"]
    assert [word for word in words if word.encode() in shown] == ([] if env else words)


def run_and_capture(gang, hosts, tmp_path, env):
    job = gang(2, "--max-restarts=1", on=hosts)
    file = tmp_path / f"link-{len(env)}.pcap"
    with Capture(file, "eth0", job.port, hosts.command("exec", "0")) as capture:
        for node in (0, 1):
            by_pet(job, node, JOB, env=env, through=hosts.command("exec", str(node)))
        job.wait_for_start(2)
        job.worker_events.end(1, 3)
        job.wait_for_start(2, attempt=1)
        job.worker_events.end_all(2, attempt=1)
        job.assert_codes(0)
    return capture


@pytest.mark.full
def test_with_a_token_the_link_shows_nothing_of_the_job(gang, hosts, tmp_path, worker_events):
    capture = run_and_capture(gang, hosts, tmp_path, {"MUSTER_TOKEN": TOKEN})

    shown = capture.bytes
    words = [JOB, TOKEN, hosts.name(1), "slots", "join", "admitted", "start", "rank 1", "worker"]
    assert [word for word in words if word.encode() in shown] == []
    packets = capture.fields(
        "tls",
        "tls.handshake.type",
        "tls.handshake.extensions.supported_version",
        "tls.handshake.extensions.psk.identity.selected",
        "tls.handshake.extensions_key_share_group",
    )
    kinds = {kind for packet in packets for kind in packet[0].split(",") if kind}
    assert kinds == {"1", "2"}, "of the handshake only both hellos are plain"
    hellos = [packet[1:] for packet in packets if packet[0] == "2"]
    assert hellos and all(hello[0] == "0x0304" and all(hello) for hello in hellos), hellos


@pytest.mark.full
def test_without_a_token_the_link_is_plain(gang, hosts, tmp_path, worker_events):
    """Shows that the test above would see what it looks for."""
    capture = run_and_capture(gang, hosts, tmp_path, {})

    shown = capture.bytes
    words = [JOB, hosts.name(1), "slots", "join", "admitted", "start", "rank 1", "worker"]
    assert [word for word in words if word.encode() not in shown] == []

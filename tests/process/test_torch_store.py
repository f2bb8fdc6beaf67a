"""The store by which ranks of PyTorch meet, served by the agent on one node."""

import os
import resource
import signal
import socket
import sys
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from support import processes
from support.deadlines import HANG, wait_until
from support.torch_store import Client

RANK = Path(__file__).resolve().parents[1] / "support" / "torch_store.py"


def start(muster, *todo, workers=2, options=(), **more):
    options = ["torchrun", f"--nproc-per-node={workers}", *options, "--no-python"]
    return muster.start(*options, sys.executable, RANK, *todo, **more)


def start_and_find_port(muster, *todo, **more):
    job = start(muster, *todo, "stay", **more)
    job.out.wait_for("stays at port")
    return job, int(job.out.text.split("stays at port")[1].split()[0])


def store_processes(muster):
    return [one for one in muster.survivors() if one.name == "muster-store"]


def hold_ranks(job):
    """Until they are asked to end. Else they end by themselves when they have lost the store, and may be found first."""
    ranks = [one.pid for one in processes.workers_of(job.agent())]
    for rank in ranks:
        os.kill(rank, signal.SIGSTOP)
    wait_until(lambda: all(processes.look_at(rank).state == "T" for rank in ranks), "ranks that stand still")


def stop(job):
    job.signal(signal.SIGTERM)
    assert job.end() == 143, job.words()


def test_ranks_meet_though_rank_0_exits_first(muster):
    job = start(muster, "meet", "end-0", "count", workers=3)

    assert job.end() == 0, job.words()
    for rank in range(3):
        assert f"rank {rank} of 3 has met the others" in job.out.text
    assert "count 2" in job.out.text


def test_options_decide_whether_muster_serves_the_store(muster):
    def says(*arguments, **env):
        job = muster.run(*arguments, "sh", "-c", "echo $TORCHELASTIC_USE_AGENT_STORE", env=env)
        assert job.code == 0, job.words()
        return job.out.text.split()[-1]

    assert says("torchrun", "--no-python") == "True"
    assert says("torchrun", "--no-python", MUSTER_STORE="worker") == "False"
    assert says("--store=worker", "torchrun", "--no-python") == "False"
    assert says("--") == "False"
    assert says("--store=agent", "--") == "True"
    assert says("--platform=single", "--", MA_RUN_METHOD="torchrun") == "True"


def test_a_mode_without_a_store_refuses_only_store_agent(muster):
    job = muster.run("--mode=once", "--store=agent", "--", "true")
    assert job.code == 64
    assert job.said == [
        "--store is 'agent', expected worker, as the mode 'once' has no store of PyTorch"
    ]
    assert muster.run("--mode=once", "--store=worker", "--", "true").code == 0
    job = muster.run("--store=leader", "--", "true")
    assert job.code == 64
    assert job.said == ["--store is 'leader', expected agent or worker"]


def test_the_store_process_starts_with_a_client_and_ends_with_the_job(muster):
    quiet = muster.start("torchrun", "--no-python", "sh", "-c", "echo here; exec sleep 1000")
    quiet.out.wait_for("here")
    assert store_processes(muster) == []
    stop(quiet)

    job, port = start_and_find_port(muster, "meet")
    assert len(store_processes(muster)) == 1
    stop(job)
    muster.assert_no_survivors(1)
    with socket.socket() as after:
        assert after.connect_ex(("127.0.0.1", port)) != 0


@pytest.mark.kernel
def test_no_store_process_survives_a_killed_guard_or_agent(muster):
    for victim in ("guard", "agent"):
        job, _ = start_and_find_port(muster, "meet")
        os.kill(getattr(job, victim)(), signal.SIGKILL)
        job.end()
        muster.assert_no_survivors(5)


@pytest.mark.parametrize("is_fixed", [False, pytest.param(True, marks=pytest.mark.full)])
def test_each_attempt_has_an_empty_store_also_at_a_fixed_port(muster, port, is_fixed):
    options = ["--max-restarts=2", *([f"--master-port={port}"] if is_fixed else [])]
    job = start(muster, "meet", "fail-1-0", "fail-0-1", "count", workers=3, options=options)

    assert job.end() == 0, job.words()
    assert job.out.text.count("arrived 1") == 3, job.out.text
    assert job.out.text.count("count 3") >= 1, job.out.text
    assert not any("may not be able to meet" in line for line in job.said), job.words()


def test_a_killed_store_process_is_named_as_the_first_failure(muster):
    job, _ = start_and_find_port(muster, "meet", report=True)
    hold_ranks(job)
    os.kill(store_processes(muster)[0].pid, signal.SIGKILL)

    assert job.end() == 71, job.words()
    assert job.said_about("torch_store", "its process has ended")
    assert job.report["first_failure"]["service"] == "torch_store"


def test_a_store_without_free_memory_reports_it(muster):
    job, port = start_and_find_port(muster, "meet", report=True)
    store = store_processes(muster)[0].pid
    hold_ranks(job)
    with Client("127.0.0.1", port) as client:
        resource.prlimit(store, resource.RLIMIT_AS, (64 << 20, 64 << 20))
        with suppress(ConnectionError):  # somewhere in between it ends
            for number in range(16):
                client.set(b"/big_%d" % number, bytes(8 << 20))

        assert job.end() == 71, job.words()
    assert job.said_about("torch_store", "it has no memory left for what the ranks keep in it")


def test_a_port_in_use_is_named_before_the_start(muster, port):
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", port))
        holder.listen()
        job = start(muster, "meet", options=[f"--master-port={port}"])

        assert job.end() == 71, job.words()
    assert job.said_about("torch_store", f"cannot listen on port {port}", "Address already in use", "by --master-port")
    assert job.out.text == ""


def test_a_client_that_sends_nonsense_is_closed_and_named(muster):
    job, port = start_and_find_port(muster, "meet")
    with socket.create_connection(("127.0.0.1", port)) as web:
        web.sendall(b"GET / HTTP/1.1\r\n\r\n")
        web.settimeout(HANG)
        assert web.recv(1) == b""
    with Client("127.0.0.1", port, pid=4711) as client:
        client.say(b"\xff")
        assert client.is_closed()
    job.err.wait_for("pid 4711")
    assert job.said_about("closed the store's connection to 127.0.0.1, pid 4711: ")
    with Client("127.0.0.1", port) as client:
        assert client.get(b"/rank_0") == b"here"
        client.set(b"/never", b"")
    assert job.end() == 0, job.words()


def test_a_client_that_does_not_read_does_not_delay_others(muster):
    job, port = start_and_find_port(muster, "meet")
    with Client("127.0.0.1", port) as greedy, Client("127.0.0.1", port) as other:
        other.set(b"/big", bytes(4 << 20))
        assert other.has(b"/big")
        for _ in range(14):
            greedy.say(b"\x03" + (4).to_bytes(8, "little") + b"/big")
        assert other.add(b"/n", 1) == 1
        assert len(other.get(b"/big")) == 4 << 20
    stop(job)


def test_many_waiters_for_a_key_wake_and_excess_connections_are_refused(muster):
    job, port = start_and_find_port(muster, "meet")  # two workers: 192 connections, of which they have two
    with ExitStack() as all_clients:
        clients = [
            all_clients.enter_context(Client("127.0.0.1", port, pid=1_000 + number % 3))
            for number in range(189)  # none of the three has more than 64
        ]
        for client in clients:
            client.ask_to_wait(b"/gate")
        with Client("127.0.0.1", port) as opener:
            with socket.create_connection(("127.0.0.1", port)) as one_more:
                one_more.settimeout(HANG)
                assert one_more.recv(1) == b""
            opener.set(b"/gate", b"")
            for client in clients:
                client.has_come()
    job.err.wait_for("expected at most 192")
    stop(job)


def test_excess_connections_of_the_largest_process_are_closed(muster):
    job, port = start_and_find_port(muster, "meet")
    with ExitStack() as all_clients:
        greedy = [all_clients.enter_context(Client("127.0.0.1", port, pid=4711)) for _ in range(190)]
        greedy[0].set(b"/kept", b"1")
        with Client("127.0.0.1", port) as other:
            assert other.get(b"/kept") == b"1"
        assert greedy[0].get(b"/kept") == b"1"
        assert greedy[95].is_closed()
    assert job.said_about("127.0.0.1, pid 4711: of all processes it has the most, '190'")
    stop(job)


def wait_until_waiting(job, port, ranks):
    """Requests sent earlier have been read once another client is answered."""
    wait_until(lambda: job.out.text.count("stays at port") == ranks, "the ranks to wait")
    with Client("127.0.0.1", port, pid=1) as client:
        assert client.has(b"/rank_0")


def test_a_hang_report_names_the_awaited_store_keys(muster):
    job, port = start_and_find_port(
        *(muster, "meet", "wait-0", "end-0"), workers=3, options=["--early-exit-timeout=0.2"], report=True
    )
    wait_until_waiting(job, port, 2)
    with Client("127.0.0.1", port, pid=1) as client:
        client.set(b"/enough", b"")
        with suppress(ConnectionError):  # the job may be over by then
            client.has(b"/enough")

    assert job.end() == 86, job.words()
    waited = "in the store of the ranks '/never' was waited for by ranks 1-2"
    assert job.said_about(waited), job.words()
    assert job.report["remarks"] == [waited]


def test_a_stop_report_names_the_awaited_store_keys(muster):
    job, port = start_and_find_port(muster, "meet", workers=1, report=True)
    wait_until_waiting(job, port, 1)
    stop(job)
    waited = "in the store of the ranks '/never' was waited for by rank 0"
    assert job.report["remarks"] == [waited]


def test_a_hung_store_does_not_delay_the_report(muster):
    job, port = start_and_find_port(muster, "meet", workers=1, report=True)
    wait_until_waiting(job, port, 1)
    (store,) = store_processes(muster)
    os.kill(store.pid, signal.SIGSTOP)
    stop(job)
    assert job.report["remarks"] == []


def test_the_agents_memory_does_not_grow_with_the_store(muster):
    job, port = start_and_find_port(muster, "meet")
    agent = job.agent()
    before = processes.peak_memory_of(agent)
    with Client("127.0.0.1", port) as client:
        for number in range(8):
            client.set(b"/big_%d" % number, bytes(8 << 20))
        assert client.has(b"/big_7")
    grown = processes.peak_memory_of(agent) - before
    stop(job)
    # All of that is more; its own program, which it reads page by page, is less.
    assert grown < 32 << 20

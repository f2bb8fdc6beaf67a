"""Name look-ups where no thread can be started: they run synchronously and delay nothing for long."""

import signal
import time
from pathlib import Path

import pytest

from support.deadlines import promise, wait_until

GANG_TIMEOUT = 10
SERVERS = 2  # that say nothing, for a second each
NAMES = 2  # that are asked for: that of the first search domain, and the one that was given


@pytest.fixture
def silent(hosts, request):
    """Hosts 0 and 1 ask name servers that take questions and do not answer. A parameter is options."""
    options = getattr(request, "param", "")
    hosts.network.drop_port(2, 53, "udp")
    files = [Path(f"/etc/netns/{hosts.name(index)}/resolv.conf") for index in (0, 1)]
    for file in files:
        servers = f"nameserver {hosts.address(2)}\n" * SERVERS
        file.write_text(f"{servers}search one.test two.test\noptions ndots:5 {options}\n")
    yield hosts
    for file in files:
        file.unlink()


@pytest.mark.kernel
@pytest.mark.parametrize("system", ["threads", "old-docker"])
def test_a_gang_meets_at_a_name(gang, worker, system):
    job = gang(2)
    job.start_all(address="localhost", through=[worker("refuse"), system])

    job.succeed()


def questions(hosts):
    """The number of look-ups under way on host 1: one socket each."""
    return hosts.run(1, "ss", "-uanH").stdout.count(":53")


def wait_for_look_up(silent, number):
    """Waits until this look-up of the agent on host 1 has begun, the first one being 1."""
    for _ in range(number - 1):
        wait_until(lambda: questions(silent) > 0, "a look-up to begin")
        wait_until(lambda: questions(silent) == 0, "it to end", NAMES * SERVERS + 5)
    wait_until(lambda: questions(silent) > 0, "the look-up to begin")


@pytest.mark.full
@pytest.mark.parametrize(
    "number, look_up, silent",
    [(signal.SIGINT, 1, "timeout:30 attempts:5"), (signal.SIGTERM, 2, "")],
    indirect=["silent"],
    ids=["the first, with times of its own", "the second, with those of the C library"],
)
def test_a_signal_waits_at_most_for_one_synchronous_look_up(gang, worker, silent, number, look_up):
    agent = gang(2, on=silent).start(
        1, address="leader.test", through=[worker("refuse"), "threads"]
    )
    wait_for_look_up(silent, look_up)
    began = time.monotonic()

    agent.signal(number)

    assert agent.end() == 128 + number
    promise("the end after a signal while a name is looked up", NAMES * SERVERS + 1, time.monotonic() - began)


@pytest.mark.full
def test_a_leader_whose_look_ups_hang_keeps_its_links(
    muster, worker, silent, port
):
    names = [silent.address(0), silent.address(1), "a.test", "b.test", "c.test", "d.test"]
    agents = [
        muster.start(
            f"--gang-timeout={GANG_TIMEOUT}",
            "--heartbeat-timeout=5",
            "--",
            "true",
            through=[*silent.command("exec", str(node)), worker("refuse"), "threads"],
            env={
                "VC_TASK_INDEX": node,
                "VK_TASK_INDEX": node,
                "VC_WORKER_HOSTS": ",".join(names),
                "VC_WORKER_NUM": len(names),
                "MASTER_PORT": port,
            },
        )
        for node in (0, 1)
    ]

    assert [agent.end() for agent in agents] == [75, 75]
    assert "node 2 (a.test) never connected" in agents[0].said_about("2 of 6 nodes came")
    assert not any("lost the leader" in line for line in agents[1].said)
    promise("giving up", GANG_TIMEOUT + 1, agents[0].seconds)

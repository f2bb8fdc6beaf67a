"""Rank tables on three hosts: a controller writes them at different times, or the nodes generate one."""

import itertools
import json
import os
import signal
import time

import pytest

from support.deadlines import promise
from support.repetitions import default_or_soak

NODES = 3
TURNS = [pytest.param(turn, marks=[pytest.mark.full] if turn > 1 else []) for turn in range(default_or_soak(5, 50))]
DEVICES = (1, 3, 2)  # of each node

# Checks what it was told against the table that it was told to read.
CHECK = """
import json, os, sys
rank, size, device = (os.environ[name] for name in ("RANK_ID", "RANK_SIZE", "DEVICE_ID"))
table = json.load(open(os.environ["RANK_TABLE_FILE"]))
devices = [(server["server_id"], one) for server in table["server_list"] for one in server["device"]]
assert table["status"] == "completed" and table["version"] == "1.0", table
assert size == str(len(devices)), (size, devices)
[(server, own)] = [(server, one) for server, one in devices if one["rank_id"] == rank]
assert server == os.environ["HOST_ADDRESS"], (server, rank)
assert own["device_id"] == device == os.environ["ASCEND_DEVICE_ID"], (own, device)
sys.stdout.write(f"right {rank} of {size}, device {device} at {own['device_ip']}\\n")
"""


def device_ip(node, device):
    return f"192.168.{node}.{device}"


def table_of_groups(hosts):
    """As ModelArts' controller writes it, the pods in no order."""
    instances = [
        {
            "pod_name": f"job-worker-{node}",
            "server_id": hosts.address(node),
            "devices": [
                {"device_id": str(device), "device_ip": device_ip(node, device)}
                for device in range(DEVICES[node])
            ],
        }
        for node in (2, 0, 1)
    ]
    group = {
        "group_name": "job-worker",
        "device_count": str(sum(DEVICES)),
        "instance_count": str(NODES),
        "instance_list": instances,
    }
    return {"status": "completed", "group_count": "1", "group_list": [group]}


def table_of_servers(hosts):
    """Its ranks are those of no placement."""
    ranks = {0: [5], 1: [2, 0, 4], 2: [3, 1]}
    servers = [
        {
            "server_id": hosts.address(node),
            "device": [
                {
                    "device_id": str(device),
                    "device_ip": device_ip(node, device),
                    "rank_id": str(rank),
                }
                for device, rank in enumerate(ranks[node])
            ],
        }
        for node in range(NODES)
    ]
    return {
        "status": "completed",
        "version": "1.0",
        "server_count": str(NODES),
        "server_list": servers,
    }


class Controller:
    """Writes the table of each host, in place: a reader may see any state of it."""

    def __init__(self, folder, table):
        self.text = json.dumps(table)
        self.files = [folder / f"host-{node}" / "jobstart_hccl.json" for node in range(NODES)]
        for file in self.files:
            file.parent.mkdir(parents=True)

    def count(self, node, version):
        (self.files[node].parent / "version").write_text(str(version))

    def write(self, node, state):
        texts = {
            "initializing": json.dumps({"status": "initializing"}),
            "torn": self.text[: len(self.text) // 2],
            "completed": self.text,
        }
        self.files[node].write_text(texts[state])


class Agents:
    """The agents of a job in the mode ranktable, each on its host."""

    def __init__(self, gang, hosts, *options, command=("python3", "-c", CHECK)):
        self.hosts = hosts
        self.gang = gang(NODES, "--mode=ranktable", *options, on=hosts, command=list(command))

    def start(self, node, *more, env=None):
        env = {"HOST_ADDRESS": self.hosts.address(node), **(env or {})}
        return self.gang.start(node, *more, workers=DEVICES[node], env=env)

    def assert_right(self):
        """All workers found in the table what they were told."""
        self.gang.assert_codes(0)
        said = [line for job in self.gang.jobs.values() for line in job.out.lines]
        right = sorted(line.partition("right ")[2] for line in said if "right " in line)
        assert len(right) == sum(DEVICES), self.gang.words()
        assert [line.split(",")[0] for line in right] == [f"{rank} of 6" for rank in range(6)]
        return right


@pytest.fixture
def agents(gang, hosts):
    return lambda *options, **more: Agents(gang, hosts, *options, **more)


# In each turn the hosts go through these states in another order.
ORDERS = list(itertools.permutations(range(NODES)))


@pytest.mark.soak
@pytest.mark.parametrize("make", [table_of_groups, table_of_servers])
@pytest.mark.parametrize("turn", TURNS)
def test_workers_get_their_ranks_from_the_table_whenever_it_arrives(agents, hosts, tmp_path, turn, make):
    controller = Controller(tmp_path, make(hosts))
    first, second, third = ORDERS[turn % len(ORDERS)]
    controller.write(first, "initializing")
    job = agents()
    started = [
        job.start(node, f"--set=rank_table_file={file}")
        for node, file in enumerate(controller.files)
    ]

    def write(node, state, seen):
        controller.write(node, state)
        if seen:
            started[node].err.wait_for(seen)

    started[first].err.wait_for("initializing")
    started[second].err.wait_for("missing")
    write(first, "torn", "ends in the middle")
    write(second, "initializing", "initializing")
    write(first, "completed", "all inputs are here")
    write(third, "initializing", "initializing")
    write(third, "torn", "ends in the middle")
    write(second, "torn", "ends in the middle")
    assert not any(one.out.text for one in started), "nothing starts before all have the table"
    write(third, "completed", "all inputs are here")
    write(second, "completed", "")

    right = job.assert_right()
    if make is table_of_servers:
        assert f"5 of 6, device 0 at {device_ip(0, 0)}" in right


@pytest.mark.full
def test_the_leader_logs_which_node_waits_for_which_file(agents, hosts, tmp_path):
    controller = Controller(tmp_path, table_of_groups(hosts))
    controller.text = controller.text.replace('"completed"', '"initializing"')
    controller.write(1, "completed")
    controller.text = json.dumps(table_of_groups(hosts))
    controller.write(0, "completed")
    job = agents()
    started = [
        job.start(node, f"--set=rank_table_file={file}")
        for node, file in enumerate(controller.files)
    ]

    started[0].err.wait_for(
        "3 of 3 nodes are here after 5 s: "
        f"node 1 waits for its rank table '{controller.files[1]}': initializing: 3 of 3 instances "
        "are there (job-worker-2, job-worker-0, job-worker-1); "
        f"node 2 waits for its rank table '{controller.files[2]}': missing; giving up in at most"
    )
    for node in (1, 2):
        controller.write(node, "completed")

    job.assert_right()


@pytest.mark.soak
def test_a_stop_during_the_wait_ends_all_nodes(agents, tmp_path):
    seconds = []
    for turn in range(default_or_soak(1, 50)):
        controller = Controller(tmp_path / str(turn), {})
        job = agents("--verbose")
        started = [
            job.start(node, f"--set=rank_table_file={file}")
            for node, file in enumerate(controller.files)
        ]
        controller.write(1, "initializing")
        started[0].err.wait_for("waiting for the rank table")
        started[1].err.wait_for("initializing")
        started[2].err.wait_for("missing")
        for other in started[1:]:
            other.err.wait_for("knows this node as node")  # so it has joined

        asked = time.monotonic()
        started[0].signal(signal.SIGTERM)
        job.gang.assert_codes(143)
        seconds.append(time.monotonic() - asked)
    print(f"TERM while waiting until all have ended, ms: {[round(s * 1e3) for s in seconds]}")
    promise("TERM while waiting until all have ended, in the median", 0.1, sorted(seconds)[len(seconds) // 2])


def test_two_nodes_with_different_tables_end_with_the_first_difference(agents, hosts, tmp_path):
    controller = Controller(tmp_path, table_of_servers(hosts))
    for node in (0, 1):
        controller.write(node, "completed")
    controller.text = controller.text.replace(device_ip(1, 2), "192.168.9.9")
    controller.write(2, "completed")
    job = agents()
    for node, file in enumerate(controller.files):
        job.start(node, f"--set=rank_table_file={file}")

    job.gang.assert_codes(65)

    own = f"device 2 of {hosts.address(1)}"
    for report in job.gang.reports().values():
        assert report["reason"] == (
            f"node 0 ({hosts.address(0)}) and node 2 ({hosts.address(2)}) have different "
            "rank tables: "
            f"rank 4 is {own} ({device_ip(1, 2)}) on node 0 and {own} (192.168.9.9) on node 2"
        )
    assert not any("right" in one.out.text for one in job.gang.jobs.values())


# Fails once when it is told to; checks in the next attempt.
FAIL_ONCE = '''
if test "$1" = 0; then
  test $RANK_ID = 0 && read -r line <"$2" && exit 1
  exec sleep 1000
fi
exec python3 "$3"
'''


def test_a_restart_waits_until_all_nodes_have_the_newest_table(agents, hosts, tmp_path):
    go, check = tmp_path / "go", tmp_path / "check.py"
    os.mkfifo(go)
    check.write_text(CHECK)
    controller = Controller(tmp_path, table_of_groups(hosts))
    command = ["sh", "-c", FAIL_ONCE, "sh", "{attempt}", go, check]
    job = agents("--max-restarts=1", "--fill-arguments", command=command)
    started = []
    for node, file in enumerate(controller.files):
        controller.write(node, "completed")
        controller.count(node, 1)
        started.append(job.start(node, f"--set=rank_table_file={file}"))
    for one in started:
        one.err.wait_for("attempt 0: node")

    controller.text = controller.text.replace("192.168.", "172.16.")
    for node in (1, 2):
        controller.write(node, "completed")
        controller.count(node, 2)
    go.write_text("now\n")
    started[0].err.wait_for("has version 2 of the rank table")
    started[1].err.wait_for(f"node 0 ({hosts.address(0)}) still has version 1")
    controller.write(0, "completed")
    controller.count(0, 2)

    assert all(" at 172.16." in line for line in job.assert_right())


def hccn_file(folder, node):
    file = folder / f"hccn-{node}.conf"
    lines = [f"address_{device}={device_ip(node, device)}\n" for device in range(4)]
    file.write_text("".join(lines) + "netmask_0=255.255.255.0\n")
    return file


def test_the_nodes_generate_one_table_from_their_devices(agents, tmp_path):
    job = agents("--rank-table=generate")
    for node in range(NODES):
        job.start(
            node,
            f"--hccn-conf={hccn_file(tmp_path, node)}",
            env={"ASCEND_VISIBLE_DEVICES": "0-3"},
        )

    assert job.assert_right() == [
        f"{rank} of 6, device {device} at {device_ip(node, device)}"
        for rank, (node, device) in enumerate(
            (node, device) for node in range(NODES) for device in range(DEVICES[node])
        )
    ]


def test_nodes_with_given_and_generated_rank_tables_do_not_start(agents, hosts, tmp_path):
    controller = Controller(tmp_path, table_of_groups(hosts))
    controller.write(1, "completed")
    job = agents()
    for node in range(NODES):
        table = [f"--set=rank_table_file={controller.files[1]}"]
        generate = ["--rank-table=generate", f"--hccn-conf={hccn_file(tmp_path, node)}"]
        job.start(node, *(table if node == 1 else generate), env={"ASCEND_VISIBLE_DEVICES": "0-3"})

    job.gang.assert_codes(65)

    reason = job.gang.reports()[2]["reason"]
    assert f"node 1 ({hosts.address(1)}) has a rank table" in reason

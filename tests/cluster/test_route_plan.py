"""Ranks ordered by the switches between the nodes: all nodes use the new order, or none does."""

import base64
import gzip
import json
import os
import signal

import pytest

DEVICES = 8
SHOW = 'echo "rank $RANK_ID of $RANK_SIZE on $DEVICE_ID"; cp "$RANK_TABLE_FILE" "$COPY.$RANK_ID"'


def table_of(nodes):
    return {
        "status": "completed",
        "group_count": "1",
        "group_list": [
            {
                "group_name": "worker",
                "device_count": str(nodes * DEVICES),
                "instance_count": str(nodes),
                "instance_list": [
                    {
                        "pod_name": f"job-worker-{node}",
                        "server_id": f"10.0.0.{node}",
                        "devices": [
                            {"device_id": str(i), "device_ip": f"192.168.{node}.{i + 1}"}
                            for i in range(DEVICES)
                        ],
                    }
                    for node in range(nodes)
                ],
            }
        ],
    }


def topology_of(switches):
    """The topology file of the platform: the switch of each server."""
    servers = [
        {
            "server_id": f"10.0.0.{node}",
            "device": [{"device_id": str(i), "tor_ip": switch} for i in range(DEVICES)],
        }
        for node, switch in enumerate(switches)
    ]
    document = json.dumps({"status": "completed", "server_list": servers})
    return base64.b64encode(gzip.compress(document.encode())).decode()


@pytest.fixture
def ranked(gang, tmp_path):
    """Makes a job by a rank table of so many nodes; each has its own folder, as a pod has."""

    def make(nodes, *options):
        job = gang(nodes, "--mode=ranktable", *options, workers=DEVICES, command=["sh", "-c", SHOW])
        job.folders = [tmp_path / f"node-{node}" for node in range(nodes)]
        for folder in job.folders:
            folder.mkdir()
            (folder / "jobstart_hccl.json").write_text(json.dumps(table_of(nodes)))
        return job

    return make


def start(job, node, **variables):
    folder = job.folders[node]
    variables = {
        "RANK_TABLE_FILE": str(folder),
        "TOPO_FILE_PATH": str(folder / "ranktable_tor.json"),
        "COPY": str(folder / "seen"),
        **variables,
    }
    return job.start(node, env=variables)


def ranks_of(job):
    """By node, the ranks that its workers say they have; each has its own device."""
    ranks = {}
    for node, one in job.jobs.items():
        said = sorted(
            tuple(int(word) for word in line.split("rank ")[1].split() if word.isdigit())
            for line in one.out.text.splitlines()
            if "rank " in line
        )
        assert [device for _, _, device in said] == list(range(DEVICES))
        assert {size for _, size, _ in said} == {DEVICES * len(job.jobs)}
        ranks[node] = [rank for rank, _, _ in said]
        for rank in ranks[node]:
            servers = json.loads((job.folders[node] / f"seen.{rank}").read_text())["server_list"]
            listed = {int(d["rank_id"]): s["server_id"] for s in servers for d in s["device"]}
            assert listed[rank] == f"10.0.0.{node}"
    return ranks


def block(place):
    return list(range(place * DEVICES, (place + 1) * DEVICES))


def test_nodes_of_one_switch_get_ranks_in_a_row(ranked):
    job = ranked(4)
    for node, folder in enumerate(job.folders):
        if node != 2:
            (folder / "ranktable_tor.json").write_text(topology_of("abab"))
        start(job, node, ROUTE_PLAN="true")
    late = job.folders[2] / "ranktable_tor.json"
    job.jobs[2].err.wait_for(f"waiting for the topology '{late}': missing")
    late.write_text(topology_of("abab"))

    job.assert_codes(0)
    assert ranks_of(job) == {0: block(0), 1: block(2), 2: block(1), 3: block(3)}
    assert all(one.said_about("the ranks are those of the route plan") for one in job.jobs.values())


def planned_table(places):
    """The file of the platform's planner beside the rank table: version 1.0 with other ranks."""
    pods = table_of(len(places))["group_list"][0]["instance_list"]
    servers = [
        {
            "server_id": pod["server_id"],
            "device": [
                {**device, "rank_id": str(rank)}
                for device, rank in zip(pod["devices"], block(place), strict=True)
            ],
        }
        for pod, place in zip(pods, places, strict=True)
    ]
    return {
        "status": "completed",
        "version": "1.0",
        "server_count": str(len(servers)),
        "server_list": servers,
    }


def test_a_planned_table_beside_the_rank_table_counts(ranked):
    job = ranked(3)
    for node, folder in enumerate(job.folders):
        (folder / "jobstart_routeplan.json").write_text(json.dumps(planned_table([2, 0, 1])))
        start(job, node, ROUTE_PLAN="true")

    job.assert_codes(0)
    assert ranks_of(job) == {0: block(2), 1: block(0), 2: block(1)}


FAIL_FIRST = """
if test "$1" = 0; then
  test $RANK_ID = 0 && read -r line <"$GO" && exit 1
  exec sleep 300
fi
"""


def test_a_restart_uses_the_current_topology_plan(ranked, tmp_path):
    """The rank table stays as it is; the platform has planned anew."""
    pipe = tmp_path / "go"
    os.mkfifo(pipe)
    job = ranked(3, "--max-restarts=1", "--fill-arguments")
    job.command = ["sh", "-c", FAIL_FIRST + SHOW, "sh", "{attempt}"]

    def plan(*places):
        for folder in job.folders:
            (folder / "jobstart_routeplan.json").write_text(json.dumps(planned_table(places)))

    plan(2, 0, 1)
    for node in range(3):
        start(job, node, ROUTE_PLAN="true", GO=str(pipe))
    with pipe.open("w") as go:  # waits for a worker
        plan(1, 0, 2)
        go.write("now\n")

    job.assert_codes(0)
    assert ranks_of(job) == {0: block(1), 1: block(0), 2: block(2)}


def test_two_nodes_keep_their_ranks(ranked):
    job = ranked(2)
    for node, folder in enumerate(job.folders):
        (folder / "ranktable_tor.json").write_text(topology_of("ab"))
        start(job, node, ROUTE_PLAN="true")

    job.assert_codes(0)
    assert ranks_of(job) == {0: block(0), 1: block(1)}
    for one in job.jobs.values():
        assert one.said_about("all nodes start without the route plan, because of node ", "at least 3 servers")


def test_platform_topology_makes_a_plan(ranked):
    job = ranked(3)
    for node, place in enumerate([2, 0, 1]):
        start(job, node, ROUTE_PLAN="true", RANK_AFTER_ACC=str(place), MA_MASTER_INDEX="1")

    job.assert_codes(0)
    assert ranks_of(job) == {0: block(2), 1: block(0), 2: block(1)}


@pytest.mark.parametrize(
    ("variables", "why"),
    [
        ({}, "of node 2: ROUTE_PLAN is not true"),
        (
            {"ROUTE_PLAN": "true", "ROUTE_TOPO_WAIT_TIME": "0"},
            "of node 2: waited 0 s in vain: topology '{topology}': missing",
        ),
        (
            {"ROUTE_PLAN": "true", "RANK_AFTER_ACC": "2"},
            "node 2 has another plan than node 0",
        ),
    ],
)
def test_unless_all_nodes_agree_the_ranks_of_the_table_stay(ranked, variables, why):
    job = ranked(3)
    for node in range(2):
        (job.folders[node] / "ranktable_tor.json").write_text(topology_of("aba"))
        start(job, node, ROUTE_PLAN="true")
    start(job, 2, **variables)

    job.assert_codes(0)
    assert ranks_of(job) == {0: block(0), 1: block(1), 2: block(2)}
    why = why.format(topology=job.folders[2] / "ranktable_tor.json")
    for node in range(2):
        assert job.jobs[node].said_about(
            f"all nodes start without the route plan, because {why}"
        )


def test_the_topology_timeout_is_separate_from_the_rank_table_timeout(ranked):
    job = ranked(3, "--rank-table-timeout=0.1")
    for node in range(3):
        start(job, node, ROUTE_PLAN="true", ROUTE_TOPO_WAIT_TIME="1")

    job.assert_codes(0)
    assert ranks_of(job) == {0: block(0), 1: block(1), 2: block(2)}
    assert all(one.said_about("waited 1 s in vain: topology") for one in job.jobs.values())


def test_a_signal_ends_the_wait_for_the_topology(ranked):
    job = ranked(3)
    for node in range(3):
        start(job, node, ROUTE_PLAN="true").err.wait_for("waiting for the topology")
    for one in job.jobs.values():
        one.signal(signal.SIGTERM)

    job.assert_codes(143)
    assert all(one.out.text == "" for one in job.jobs.values())


def test_a_topology_file_of_muster_reorders_ranks(ranked, tmp_path):
    switches = tmp_path / "switches.txt"
    switches.write_text(
        "".join(f"job-worker-{node} core/{leaf}\n" for node, leaf in enumerate("abab"))
    )
    job = ranked(4, f"--topology={switches}")
    for node in range(4):
        start(job, node, ROUTE_PLAN="true")

    job.assert_codes(0)
    assert ranks_of(job) == {0: block(0), 1: block(2), 2: block(1), 3: block(3)}

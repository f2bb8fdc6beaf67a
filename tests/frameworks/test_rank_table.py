"""MindSpore's real scheduler with a rank table that a controller wrote in another form."""

import json
import re

import pytest

import jobs

pytestmark = pytest.mark.framework
TRAINING = jobs.script("mindspore_dp.py")
REASSIGNED = re.compile(
    r"Reassign rank id from rank table file.*"
    r"with host ip: (\S+), device id: (\d+),.*new rank id: (\d+)"
)


@pytest.fixture
def settings(mindspore_venv, tmp_path):
    return jobs.environment(mindspore_venv, tmp_path, TMPDIR=str(tmp_path))


def write_table(folder, instances):
    """As ModelArts' controller does: groups, no ranks, no pod_ip."""
    group = {
        "group_name": "job-worker",
        "device_count": "4",
        "instance_count": "2",
        "instance_list": [
            {
                "pod_name": f"job-worker-{number}",
                "server_id": server,
                "devices": [
                    {"device_id": str(device), "device_ip": f"192.168.{number}.{device}"}
                    for device in range(2)
                ],
            }
            for number, server in instances
        ],
    }
    table = folder / "jobstart_hccl.json"
    table.write_text(json.dumps({"status": "completed", "group_count": "1", "group_list": [group]}))
    return table


def test_the_scheduler_assigns_ranks_by_a_converted_table(
    muster, two_hosts, settings, tmp_path
):
    """Node 0 is the pod with the higher number: by their place its workers would be 0 and 1."""
    names = ["job-worker-1", "job-worker-0"]
    table = write_table(tmp_path, [(1, two_hosts.address(0)), (0, two_hosts.address(1))])
    options = ["--mode", "msrun", "--nnodes", "2", "--nproc-per-node", "2"]
    options += ["--master-addr", two_hosts.name(0), "--rank-table", table]
    job = jobs.Job(two_hosts, settings)
    for node in (1, 0):
        line = [*options, "--node-rank", node, "--", "python", TRAINING, tmp_path]
        job.start(node, muster, *line, POD_NAME=names[node])

    agents = job.finish()

    jobs.note("MindSpore, 4 workers, rank table", "muster --mode msrun", agents)
    assert [agent.code for agent in agents] == [0, 0]
    assert "Won't reassign" not in agents[1].err + agents[1].out
    said = REASSIGNED.findall(agents[1].err + agents[1].out)  # the scheduler is on node 0
    assert sorted(said) == sorted(
        (two_hosts.address(node), str(device), str(rank))
        for rank, (node, device) in enumerate([(1, 0), (1, 1), (0, 0), (0, 1)])
    )
    for rank, (node, device) in enumerate([(1, 0), (1, 1), (0, 0), (0, 1)]):
        seen = json.loads((tmp_path / f"worker-{rank}.json").read_text())
        assert seen["RANK_ID"] == str(rank)
        assert seen["DEVICE_ID"] == str(device)
        assert seen["MS_WORKER_IP"] == two_hosts.address(node)
    workers_table = seen["RANK_TABLE_FILE"]
    assert workers_table != str(table)

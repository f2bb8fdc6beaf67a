"""Rank tables of 131,072 devices in each form: `muster check ranktable` and `muster plan`, time and memory."""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

from tables import milliseconds

SERVERS, DEVICES = 16384, 8
TARGET_MILLISECONDS = 1000
TARGET_MEGABYTES = 300
PLAN = ("--mode=ranktable", f"--nnodes={SERVERS}", "--node-rank=3", "--master-addr=10.0.0.1")


def measure(options, contenders, report):
    del contenders
    rows = []
    table = options.scratch / "hccl.json"
    for form in FORMS:
        write(form, table)
        for name, command in commands(options.muster, table).items():
            runs = [run(command, table) for _ in range(options.rounds)]
            rows.append(row_of(form, name, table.stat().st_size, runs, report))
    report.table(
        f"Rank tables of {SERVERS * DEVICES:,} devices",
        ["form", "size", "command", "wall", "CPU", "target", "peak RSS", "target"],
        rows,
    )


def write(form, path):
    """In a process of its own: what this one has taken would count as memory of those that it starts."""
    subprocess.run([sys.executable, "-B", __file__, form, path], check=True)


def main():
    make, blanks = FORMS[sys.argv[1]]
    pathlib.Path(sys.argv[2]).write_text(json.dumps(make(), **blanks))


def commands(muster, table):
    return {
        "check ranktable": [muster, "check", "ranktable", table],
        "plan --mode ranktable": [muster, "plan", *PLAN, "--json", "true"],
    }


def run(command, table):
    """Seconds on the wall and of CPU, and megabytes at most."""
    began = time.perf_counter()
    child = subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        env={"PATH": os.environ["PATH"], "RANK_TABLE_FILE": str(table)},
    )
    _, status, usage = os.wait4(child.pid, 0)
    wall = time.perf_counter() - began
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        raise SystemExit(f"{command[1]} of a rank table ended with {child.returncode}")
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def row_of(form, name, size, runs, report):
    wall, cpu, memory = (statistics.median(figures) for figures in zip(*runs))
    what = f"{name.split()[0]}, {form}"
    return [
        form,
        f"{size / 1e6:.0f} MB",
        name,
        milliseconds(wall),
        milliseconds(cpu),
        report.judge(f"{what}, CPU", cpu * 1000, TARGET_MILLISECONDS, "ms"),
        f"{memory:.0f} MB",
        report.judge(f"{what}, memory", memory, TARGET_MEGABYTES, "MB"),
    ]


def address(first, server):
    return f"{first}.{server >> 16}.{server >> 8 & 255}.{server & 255}"


def device(server, number, **more):
    return {"device_id": str(number), "device_ip": address(11 + number, server), **more}


def rank_of(server, number):
    return str(server * DEVICES + number)


def groups():
    """v0.1, as hccl-controller writes it."""
    instances = [
        {
            "devices": [device(server, number) for number in range(DEVICES)],
            "pod_name": f"job-worker-{server}",
            "server_id": address(10, server),
        }
        for server in range(SERVERS)
    ]
    return {
        "group_count": "1",
        "group_list": [
            {
                "device_count": str(SERVERS * DEVICES),
                "group_name": "worker",
                "instance_count": str(SERVERS),
                "instance_list": instances,
            }
        ],
        "status": "completed",
    }


def standard():
    """Without a version: an instance for each device."""
    instances = [
        {
            "devices": [device(server, number)],
            "rank_id": rank_of(server, number),
            "server_id": address(10, server),
        }
        for server in range(SERVERS)
        for number in range(DEVICES)
    ]
    return {
        "group_count": "1",
        "group_list": [
            {
                "device_num": str(SERVERS * DEVICES),
                "server_num": str(SERVERS),
                "group_name": "",
                "instance_count": str(SERVERS * DEVICES),
                "instance_list": instances,
            }
        ],
        "status": "completed",
    }


def servers(version="1.0", **more_of_device):
    return {
        "status": "completed",
        "version": version,
        "server_count": str(SERVERS),
        "server_list": [
            {
                "server_id": address(10, server),
                "device": [
                    device(
                        server,
                        number,
                        rank_id=rank_of(server, number),
                        **{key: make(server, number) for key, make in more_of_device.items()},
                    )
                    for number in range(DEVICES)
                ],
            }
            for server in range(SERVERS)
        ],
    }


def super_pods(of=64):
    """1.2: `of` servers to a super pod."""
    table = servers("1.2", super_device_id=lambda server, number: str(server % of * DEVICES + number))
    table["super_pod_list"] = [
        {
            "super_pod_id": str(first // of),
            "server_list": [
                {"server_id": address(10, server)} for server in range(first, first + of)
            ],
        }
        for first in range(0, SERVERS, of)
    ]
    return table


def ranks():
    """2.0: two layers of network for each rank."""
    return {
        "status": "completed",
        "version": "2.0",
        "rank_count": SERVERS * DEVICES,
        "rank_list": [
            {
                "rank_id": server * DEVICES + number,
                "local_id": number,
                "device_id": number,
                "level_list": [
                    level(0, f"superpod-{address(10, server)}", "TOPO_FILE_DESC", []),
                    level(1, "cluster", "CLOS", [own_address(server, number)]),
                ],
            }
            for server in range(SERVERS)
            for number in range(DEVICES)
        ],
    }


def level(number, network, kind, addresses):
    return {
        "net_layer": number,
        "net_instance_id": network,
        "net_type": kind,
        "net_attr": "",
        "rank_addr_list": addresses,
    }


def own_address(server, number):
    return {
        "addr_type": "EID",
        "addr": f"000000000000002000100000{server * DEVICES + number:08x}",
        "ports": ["0/0", "0/1"],
        "plane_id": "0",
    }


# The blanks that the writers of a form make.
CONTROLLER = {"separators": (",", ":")}
TOOL = {"indent": 4}  # hccl_tools.py
FORMS = {
    "v0.1": (groups, CONTROLLER),
    "no version": (standard, TOOL),
    "1.0": (servers, TOOL),
    "1.2": (super_pods, CONTROLLER),
    "2.0": (ranks, CONTROLLER),
}


if __name__ == "__main__":
    main()

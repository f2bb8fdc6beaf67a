"""Programs that start their own processes, with real torch, on two hosts that HAI describes."""

import pathlib
import re

from jobs import environment, run, script

SAMPLE = script("hai_spawn.py")
LINE = re.compile(r"rank (\d) of 4 on node (\d): sum 15 by port (\d+)")


def of_hai(two_hosts, node):
    """The variables that HAI sets on a node; on the first one the leader's name is a different one."""
    leader = two_hosts.address(0)
    return {
        "MARSV2_RANK": str(node),
        "MARSV2_TASK_TYPE": "training",
        "RANK": str(node),
        "WORLD_SIZE": "2",
        "MASTER_ADDR": leader if node else "localhost",
        "MASTER_IP": leader,
        "MASTER_PORT": "2222",
    }


def run_sample(muster, python, hosts, home, *options):
    settings = environment(pathlib.Path(python).parent, home)
    commands = []
    for node in (1, 0):
        variables = [f"{name}={value}" for name, value in of_hai(hosts, node).items()]
        command = [muster, *options, "--", python, SAMPLE]
        commands.append((node, "env", *variables, *command))
    return run(hosts, settings, commands)


def test_the_sample_of_hai_runs_unchanged(muster, python, two_hosts, tmp_path):
    ended = run_sample(muster, python, two_hosts, tmp_path, "--mode", "once")

    assert [one.code for one in ended] == [0, 0], [one.err for one in ended]
    lines = sorted(LINE.findall("".join(one.out for one in ended)))
    assert lines == [
        ("0", "0", "2222"),
        ("1", "0", "2222"),
        ("2", "1", "2222"),
        ("3", "1", "2222"),
    ], "the program keeps the platform's port, and numbers its own processes"
    assert "leader 10.77.0.10:2223" in ended[0].err, "the agents meet beside it"


def test_without_mode_once_a_spawning_script_per_device_is_warned_of(muster, python, two_hosts, tmp_path):
    ended = run_sample(muster, python, two_hosts, tmp_path, "plan", "--nproc-per-node=8")

    assert [one.code for one in ended] == [0, 0]
    for one in ended:
        assert "in each of the 8 copies on this node; for one job write 'muster --mode once" in one.err


def test_with_one_slot_per_node_a_spawning_script_runs(
    muster, python, two_hosts, tmp_path
):
    ended = run_sample(muster, python, two_hosts, tmp_path)

    assert [one.code for one in ended] == [0, 0], [one.err for one in ended]
    lines = LINE.findall("".join(one.out for one in ended))
    assert sorted(line[:2] for line in lines) == [("0", "0"), ("1", "0"), ("2", "1"), ("3", "1")]

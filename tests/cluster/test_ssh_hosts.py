"""--hosts by real sshd on three hosts with separate addresses; the remote launcher is on a fourth one."""

import json
import os
import signal

import pytest

from support import processes
from support.muster import binary
from support.ssh import Ssh
from support.terminal import CTRL_C

FRONT = 3
NODES = (0, 1, 2)
TORTURE = ["two words", "it's", '"', "$HOME;`id`", "back\\slash", "line\nend", "né", "", "!x", "*"]
TELL = """
import json, os, socket, sys
with open(f"told.{os.environ['RANK']}", "w") as file:
    json.dump({"argv": sys.argv[1:], "host": socket.gethostname(), "x": os.environ["NCCL_X"]}, file)
"""
PORT = 29511


@pytest.fixture
def ssh(hosts, tmp_path):
    servers = Ssh(hosts, tmp_path)
    yield servers
    servers.stop()


@pytest.fixture
def front(muster, hosts, ssh):
    """Starts a job on the first three hosts from the fourth."""

    def start(*arguments, key="user_key", slots=1, **options):
        names = ",".join(f"{hosts.name(index)}:{slots}" for index in NODES)
        return muster.start(
            f"--hosts={names}",
            f"--remote-shell={ssh.shell(key)}",
            f"--master-port={PORT}",
            "--forward-env=TEST_TAG",
            *arguments,
            through=hosts.command("exec", str(FRONT)),
            **options,
        )

    return start


def remote_shell_to(hosts, index, job):
    """The pid of the ssh that leads to a host."""
    for child in processes.children_of(job.agent()):
        words = open(f"/proc/{child.pid}/cmdline", "rb").read().split(b"\0")
        if hosts.name(index).encode() in words:
            return child.pid
    raise AssertionError(f"no remote shell to {hosts.name(index)}")


def test_a_job_on_three_hosts_gets_arguments_and_environment_unchanged(front, hosts, ssh, tmp_path):
    value = "a b'c\"d\\e$f`g;h\ni\x01é"
    ssh.serve(*NODES)

    job = front(
        "--no-python", "--", "python3", "-c", TELL, *TORTURE, slots=2, env={"NCCL_X": value}
    )

    assert job.end() == 0, job.words()
    told = [json.loads((tmp_path / f"told.{rank}").read_text()) for rank in range(6)]
    assert [one["host"] for one in told] == [hosts.name(rank // 2) for rank in range(6)]
    assert all(one["argv"] == TORTURE and one["x"] == value for one in told)
    ssh.assert_nothing_is_left(*NODES, FRONT)


def test_addresses_of_version_six_stand_in_brackets(muster, hosts, ssh):
    addresses = [hosts.network.add_version_six(index) for index in (0, 1, FRONT)]
    ssh.serve(0, 1)

    job = muster.run(
        f"--hosts=[{addresses[0]}]:1,[{addresses[1]}]:2",
        *[f"--remote-shell={ssh.shell()}", f"--master-port={PORT}", "--", "sh", "-c", "hostname"],
        through=hosts.command("exec", str(FRONT)),
    )

    assert job.code == 0, job.words()
    assert sorted(job.out.lines) == [
        f"[0:0] {hosts.name(0)}",
        f"[1:1] {hosts.name(1)}",
        f"[1:2] {hosts.name(1)}",
    ]


@pytest.mark.kernel
def test_the_code_and_the_report_are_those_of_the_job(front, ssh):
    ssh.serve(*NODES)

    job = front("--", "sh", "-c", "test $RANK != 1 || exit 7; sleep 100", report=True)

    assert job.end() == 7, job.words()
    assert job.report["first_failure"]["global_rank"] == 1
    assert job.err.text.count("muster: exit code 7") == 1
    ssh.assert_nothing_is_left(*NODES, FRONT)


def test_a_key_that_is_refused_is_named_at_once(front, ssh):
    ssh.serve(*NODES)

    job = front("--", "sleep", 100, key="other_key")

    assert job.end(20) == 75
    assert "Permission denied (publickey,password)" in job.said_about("did not come", "ending the other")
    ssh.assert_nothing_is_left(*NODES, FRONT)


def test_ssh_does_not_prompt_for_a_password(terminal, hosts, ssh):
    ssh.serve(0)
    entering = hosts.command("exec", str(FRONT))
    options = [f"--hosts={hosts.name(0)}:1", f"--remote-shell={ssh.shell('other_key')}"]

    one = terminal(binary(), *options, "--", "true", entering=entering)

    assert one.end(30) == 75
    assert "Permission denied" in one.screen.text
    assert "password:" not in one.screen.text


def test_ctrl_c_ends_the_job_on_every_host(terminal, hosts, ssh, worker):
    ssh.serve(0, 1)
    entering = hosts.command("exec", str(FRONT))
    names = f"{hosts.name(0)}:1,{hosts.name(1)}:1"
    options = [f"--hosts={names}", f"--remote-shell={ssh.shell()}", f"--master-port={PORT}"]
    one = terminal(binary(), *options, "--", worker("echo_signals"), 0, entering=entering)
    one.screen.wait_for("ready", times=2)

    one.press(CTRL_C)

    assert one.end(30) == 130
    assert one.screen.text.count("got INT") == 2
    ssh.assert_nothing_is_left(0, 1, FRONT)


def test_a_host_without_sshd_ends_the_others(front, hosts, ssh):
    ssh.serve(0, 2)

    job = front("--", "sleep", 100)

    assert job.end(20) == 75
    assert "Connection refused" in job.said_about(
        f"node 1 ({hosts.name(1)}) did not come", "ending the other"
    )
    ssh.assert_nothing_is_left(*NODES, FRONT)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_reaches_every_host(front, ssh, worker, number):
    ssh.serve(*NODES)
    job = front("--", worker("echo_signals"), 0)
    job.out.wait_for("ready", times=3)

    os.kill(job.guard(), signal.SIGUSR1)
    job.out.wait_for("got USR1", times=3)
    os.kill(job.guard(), number)

    assert job.end() == 128 + number, job.words()
    assert job.out.text.count(f"got {number.name.removeprefix('SIG')}") == 3
    ssh.assert_nothing_is_left(*NODES, FRONT)


def test_a_killed_remote_launcher_leaves_no_process_on_any_host(front, ssh, worker):
    ssh.serve(*NODES)
    job = front("--grace=0.5", "--", worker("ignore_term"))
    job.out.wait_for("ready", times=3)

    guard, agent = job.guard(), job.agent()
    os.kill(guard, signal.SIGKILL)
    os.kill(agent, signal.SIGKILL)

    job.end(10)
    ssh.assert_nothing_is_left(*NODES, FRONT, seconds=10)


def test_a_killed_remote_shell_loses_its_node_and_ends_the_others(front, hosts, ssh, worker):
    ssh.serve(*NODES)
    job = front("--", worker("echo_signals"), 0)
    job.out.wait_for("ready", times=3)

    os.kill(remote_shell_to(hosts, 1, job), signal.SIGKILL)

    assert job.end(20) == 69, job.words()
    assert any(f"node 1 ({hosts.name(1)}) was lost" in line for line in job.said)
    assert job.said[-1].startswith("exit code 69: ")
    ssh.assert_nothing_is_left(*NODES, FRONT)


@pytest.mark.full
def test_a_node_whose_network_is_cut_is_lost_and_leaves_nothing(front, hosts, ssh, worker):
    ssh.serve(*NODES)
    job = front("--grace=1", "--heartbeat-timeout=10", "--", worker("echo_signals"), 0)
    job.out.wait_for("ready", times=3)

    hosts.network.take_down(2)

    assert job.end(40) == 69, job.words()
    assert job.said_about("waiting for the remote shell to", f"({hosts.name(2)})")
    ssh.assert_nothing_is_left(*NODES, FRONT, seconds=10)


@pytest.mark.full
def test_a_remote_launcher_cut_off_is_lost_for_every_node(front, hosts, ssh, worker):
    ssh.serve(*NODES)
    job = front("--grace=1", "--", worker("echo_signals"), 0)
    job.out.wait_for("ready", times=3)

    hosts.network.take_down(FRONT)

    ssh.assert_nothing_is_left(*NODES, seconds=40)
    hosts.network.bring_up(FRONT)
    assert job.end(60) != 0

"""--hosts: the remote launcher starts an agent on each host. Here the remote shell is a script, and all hosts are
this one; tests/cluster/test_ssh_hosts.py has real ones."""

import json
import os
import re
import signal
from pathlib import Path

import pytest

from support import processes

TORTURE = ["two words", "it's", '"', "$HOME;`id`", "back\\slash", "line\nend", "né", "", "!x", "*"]

TELL = """
import json, os, sys
with open(f"told.{os.environ['RANK']}", "w") as file:
    json.dump({"argv": sys.argv[1:], "environment": dict(os.environ), "folder": os.getcwd()}, file)
"""
FAIL = "import os, sys; sys.exit(7 if os.environ['RANK'] == '1' else 0)"
# Its remote shell, but for hosts that have a fault of their own.
REMOTE_SHELL = """#!/bin/sh
case $1 in
  refusing) echo "ssh: connect to host refusing port 22: Connection refused" >&2; exit 255 ;;
  noisy) echo "welcome to noisy"; echo "mind the gap" >&2 ;;
  bare) PATH=/nowhere; export PATH; exec /bin/sh -c "exec muster --agent-of-front" ;;
  away) exec unshare --mount sh -c 'mount -t tmpfs none "$0"; exec sh -c "$1"' "${PWD%/*}" "$2" ;;
  *sh) exec ${1#in-} -c "$2" ;;
  slow*) exec sleep 1000 ;;
esac
exec /bin/sh -c "$2"
"""


@pytest.fixture
def front(muster, port, tmp_path):
    """Starts a front whose remote shell is a script."""
    script = tmp_path / "remote-shell"
    script.write_text(REMOTE_SHELL)
    script.chmod(0o755)

    def start(hosts, *arguments, env=None, **options):
        meeting = ["--master-addr=127.0.0.1", f"--master-port={port}"]
        return muster.start(
            *[f"--hosts={hosts}", f"--remote-shell={script}", *meeting, *arguments],
            env=env,
            **options,
        )

    return start


def told_by(folder, rank):
    return json.loads((folder / f"told.{rank}").read_text())


def python(text, *arguments):
    return ["--no-python", "--", "python3", "-c", text, *arguments]


def test_each_host_runs_its_share_of_one_job(front, tmp_path):
    job = front("a:1,b:2", *python(TELL))

    assert job.end() == 0, job.words()
    of = [told_by(tmp_path, rank)["environment"] for rank in range(3)]
    assert [one["GROUP_RANK"] for one in of] == ["0", "1", "1"]
    assert [one["WORLD_SIZE"] for one in of] == ["3", "3", "3"]
    assert {told_by(tmp_path, rank)["folder"] for rank in range(3)} == {str(tmp_path)}


def test_arguments_and_variables_arrive_byte_for_byte(front, tmp_path):
    value = "a b'c\"d\\e$f`g;h\ni\x01é"

    job = front("a:1,b:1", *python(TELL, *TORTURE), env={"NCCL_TORTURE": value, "OTHER": "x"})

    assert job.end() == 0, job.words()
    for rank in range(2):
        assert told_by(tmp_path, rank)["argv"] == TORTURE
        assert told_by(tmp_path, rank)["environment"]["NCCL_TORTURE"] == value


def test_the_token_is_in_no_argument_no_environment_and_no_file(front, muster, tmp_path):
    job = front("a:1,b:1", *python("import time; print('ready', flush=True); time.sleep(100)"))
    job.out.wait_for("ready", times=2)

    assert "not encrypted" not in job.err.text
    for process in processes.belonging_to(muster.tag):
        for what in ("cmdline", "environ"):
            text = Path(f"/proc/{process.pid}/{what}").read_bytes()
            assert b"MUSTER_TOKEN" not in text, f"{what} of {process}"
    assert not [path for path in tmp_path.rglob("*") if "token" in path.name]
    job.signal(signal.SIGTERM)
    assert job.end() == 143


@pytest.mark.full
def test_the_end_does_not_wait_for_a_report_whose_disk_hangs(front, disk, tmp_path):
    wait = f"echo up; while ! [ -e {tmp_path}/go ]; do sleep 0.01; done; exit 7"
    job = front("a:1", "--", "sh", "-c", wait, report=disk.folder / "report.json")
    job.out.wait_for("up")
    disk.freeze()

    (tmp_path / "go").touch()

    assert job.end() == 7
    assert job.said_about("the report is not written: its file system does not answer")


def test_the_remote_launcher_exits_with_the_jobs_code_and_report(front):
    job = front("a:1,b:2", *python(FAIL), report=True)

    assert job.end() == 7, job.words()
    assert job.report["first_failure"]["global_rank"] == 1
    assert job.err.text.count("exit code 7, after") == 1
    assert job.err.text.count("muster: exit code 7") == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_reaches_the_workers_of_every_host(front, worker, number):
    job = front("a:1,b:2", "--", worker("echo_signals"), 0)
    job.out.wait_for("ready", times=3)

    job.signal(number)

    assert job.end() == 128 + number, job.words()
    assert job.out.text.count(f"got {number.name.removeprefix('SIG')}") == 3


def test_sigusr1_is_forwarded_to_every_host(front, worker):
    job = front("a:1,b:1", "--", worker("echo_signals"), 0)
    job.out.wait_for("ready", times=2)

    job.signal(signal.SIGUSR1)
    job.out.wait_for("got USR1", times=2)
    job.signal(signal.SIGTERM)

    assert job.end() == 143


def test_ctrl_c_after_a_request_kills_the_job_at_once(front, worker):
    job = front("a:1,b:1", "--", worker("ignore_term"))
    job.out.wait_for("ready", times=2)

    job.signal(signal.SIGTERM)
    job.err.wait_for("asking 1 worker to end")
    job.signal(signal.SIGHUP)
    job.err.wait_for("asked to end again: the processes that were asked to end keep their time")
    job.signal(signal.SIGINT)

    assert job.end(10) == 143


def test_a_host_that_refuses_is_named_and_the_others_end(front):
    job = front("a:1,refusing:1,b:1", "--", "sleep", 100, report=True)

    assert job.end(10) == 75
    assert "ssh: connect to host refusing port 22: Connection refused" in job.said_about(
        "node 1 (refusing) did not come", "ending the other nodes"
    )
    assert job.report["verdict"] == "incomplete"
    assert job.said[-1].startswith("exit code 75: ")


def test_a_host_without_muster_is_named(front):
    job = front("a:1,bare:1", "--", "sleep", 100)

    assert job.end(10) == 127
    assert "not found" in job.said_about("node 1 (bare) did not come", "ending the other nodes")


def test_output_of_a_login_shell_is_prefixed_with_its_host(front):
    job = front("a:1,noisy:1", *python("print('mine')"))

    assert job.end() == 0
    assert "[noisy] welcome to noisy" in job.out.lines
    assert "[noisy] mind the gap" in job.err.lines
    assert "[1:1] mine" in job.out.lines


@pytest.mark.needs("namespaces")
def test_a_host_without_the_folder_is_named(front, tmp_path):
    if os.geteuid() != 0:
        pytest.skip("needs root")
    job = front("a:1,away:1", "--", "sleep", 100, cwd=tmp_path)

    assert job.end(10) == 78
    assert f"cannot run the job in '{tmp_path}' on 'away'" in job.said_about(
        "node 1 (away) did not come", "ending the other"
    )


@pytest.mark.parametrize("shell", ["bash", "dash", "zsh", "tcsh", "fish"])
def test_arguments_arrive_through_any_login_shell(front, tmp_path, shell):
    job = front(f"in-{shell}:1", *python(TELL, *TORTURE))

    assert job.end() == 0, job.words()
    assert told_by(tmp_path, 0)["argv"] == TORTURE


def test_the_local_host_needs_no_remote_shell(muster, tmp_path):
    job = muster.run("--hosts=localhost:2", *python(TELL), env={"PATH": "/usr/bin:/bin"})

    assert job.code == 0, job.words()
    assert told_by(tmp_path, 1)["environment"]["WORLD_SIZE"] == "2"


def test_the_last_lines_of_a_job_on_hosts_are_kept(front, muster):
    job = front("a:1,b:1", "--history=1", "--report=report.json", *python(FAIL))
    assert job.end() == 7, job.words()

    shown = muster.run("last").out.lines[:-1]

    said = [line.split("muster: ", 1)[1] for line in job.err.lines if "muster: " in line]
    assert len(shown) > 2 and shown[1:] == [f"  {line}" for line in said[1 - len(shown) :]], job.err.text
    (saved,) = json.loads(muster.run("last", "--json").out.text)
    assert "lines" not in saved["report"]
    assert "lines" not in json.loads((muster.folder / "report.json").read_text())


def test_hosts_are_refused_where_the_platform_starts_each_node(front):
    bare = {"WORLD_SIZE": 2, "RANK": 0, "MASTER_ADDR": "10.0.0.1", "MASTER_PORT": 29500}

    refused = front("a:1,b:1", "--", "true", env=bare)
    insisted = front("a:1,b:1", "--platform=flags", "--", "true", env=bare)

    assert refused.end() == 64
    assert "which starts muster on each node" in refused.err.text
    assert insisted.end() == 0, insisted.words()


def test_a_hostfile_of_deepspeed_starts_its_hosts(muster, front, tmp_path, port):
    (tmp_path / "hosts").write_text("a slots=2\nb slots=4\nc slots=2\n")
    (tmp_path / "train.py").write_text(TELL)
    (tmp_path / "remote-shell").chmod(0o755)

    job = muster.run(
        *["deepspeed", "--hostfile=hosts", "--include=a@b", "--master_addr=127.0.0.1"],
        *["--launcher_args=-p 2222", f"--master_port={port}", "train.py", *TORTURE],
        env={"MUSTER_REMOTE_SHELL": tmp_path / "remote-shell"},
    )

    assert job.code == 0, job.words()
    told = [told_by(tmp_path, rank) for rank in range(6)]
    assert job.err.text.count("ignoring --launcher_args: ") == 1
    assert [one["environment"]["MASTER_PORT"] for one in told] == [str(port)] * 6
    assert [one["environment"]["WORLD_SIZE"] for one in told] == ["6"] * 6
    assert [one["environment"]["CROSS_RANK"] for one in told] == ["0", "0", "1", "1", "1", "1"]
    assert told[3]["argv"] == ["--local_rank=1", *TORTURE]


@pytest.mark.parametrize(
    "line",
    [
        ["--hosts=a:1,slow:1", "--", "true"],
        ["deepspeed", "--hostfile=hosts", "train.py"],
        ["horovodrun", "-np", 2, "-H", "a:1,slow:1", "true"],
        ["mpirun", "-np", 2, "-H", "a:1,slow:1", "true"],
        ["colossalai", "run", "--nproc_per_node=1", "--host=a,slow", "train.py"],
    ],
    ids=["hosts", "deepspeed", "horovodrun", "mpirun", "colossalai"],
)
def test_a_node_that_does_not_come_is_named_by_its_host(muster, front, tmp_path, port, line):
    (tmp_path / "hosts").write_text("a slots=1\nslow slots=1\n")
    (tmp_path / "train.py").touch()
    env = {
        "MUSTER_REMOTE_SHELL": tmp_path / "remote-shell",
        "MUSTER_MASTER_ADDR": "127.0.0.1",
        "MUSTER_MASTER_PORT": port,
        "MUSTER_GANG_TIMEOUT": 1,
    }

    job = muster.run(*line, env=env)

    assert job.code == 75, job.words()
    assert re.search(r"node 1 \(slow.*\) never connected", job.err.text), job.words()


def test_a_host_that_does_not_answer_does_not_delay_a_stop(front):
    job = front("a:1,slow:1", "--", "sleep", 100)
    job.err.wait_for("node 0 of 2")

    job.signal(signal.SIGTERM)

    assert job.end(10) == 143


def test_hosts_that_never_answer_end_the_job_after_the_gang_timeout(front, muster):
    job = front("slow:1,slow-too:1", "--gang-timeout=1", "--", "true", report=True)

    assert job.end() == 75, job.words()
    reason = "no node came in time (--gang-timeout): node 0 (slow), node 1 (slow-too)"
    assert job.said_about(reason, "; ending the remote shells")
    assert (job.report["verdict"], job.report["reason"]) == ("incomplete", reason)
    muster.assert_no_survivors()


@pytest.mark.full
def test_hosts_that_have_not_answered_are_named_after_ten_seconds(front):
    job = front("a:1,slow:1", "--", "true")

    job.err.wait_for("no answer after 10.00 s from node 1 (slow); waiting for their remote shells")

    job.signal(signal.SIGTERM)
    assert job.end() == 143, job.words()


@pytest.mark.parametrize("half", ["guard", "agent"])
def test_a_killed_remote_launcher_leaves_no_process(front, worker, muster, half):
    job = front("a:1,b:1", "--grace=2", "--", worker("echo_signals"), 0)
    job.out.wait_for("ready", times=2)

    os.kill(job.guard() if half == "guard" else job.agent(), signal.SIGKILL)

    job.end(10)
    muster.assert_no_survivors(seconds=10)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--hosts=a:0"], "--hosts is 'a:0', expected a number of slots after 'a:', not '0'"),
        (["--hosts=a,a"], "'a' is listed twice"),
        (["--hosts=-oProxyCommand=x"], "expected hosts such as a:8,b:8"),
        (["--hosts=a", "--node-rank=0"], "the list of hosts says who the nodes are"),
        (["--hosts=a", "--stdin=0"], "standard input does not go along to other hosts"),
        (["--hosts=a", "--hostfile=x"], "one of them lists the hosts"),
        (["--hosts=a,b", "--nnodes=3"], "a number up to 2"),
        (["--hosts=a:2", "--nproc-per-node=3"], "at most 2, the slots of 'a'"),
        (["--hosts=a", "--remote-shell= "], "a command such as 'ssh -p 2222'"),
        (["--hosts=a", "--forward-env=A B"], "names of variables such as MY_KEY,MY_APP_*"),
        (["--hostfile=nowhere"], "a file that lists hosts and can be read"),
    ],
)
def test_invalid_host_lists_are_refused_before_the_start(muster, options, complaint):
    job = muster.run(*options, "--", "true")

    assert job.code == 64
    assert complaint in job.err.text


def test_a_hostfile_names_the_line_that_is_wrong(muster, tmp_path):
    (tmp_path / "hosts").write_text("a slots=2\nb slots=none\n")

    job = muster.run("--hostfile=hosts", "--", "true")

    assert job.code == 64
    assert "line 2 of 'hosts'" in job.err.text


def test_an_agent_without_a_remote_launcher_logs_what_it_waits_for(muster):
    job = muster.run("--agent-of-front")

    assert job.code == 71
    assert "the launcher is gone" in job.err.text


def order(*frames):
    """What a front sends, in frames that one of another version may send too."""
    return b"".join(len(frame).to_bytes(4, "big") + frame for frame in frames)


@pytest.mark.parametrize(
    ("sent", "code", "said"),
    [
        (b"muster 5\n9.9.9host 1\nb", 65, "standard input says 'must', expected what the launcher of a job sends"),
        (
            order(b"muster 9.9.9", b"host b", b"wish x"),
            65,
            "the launcher of the job, muster 9.9.9, sends 'wish', which this muster cannot read",
        ),
    ],
)
def test_an_order_of_another_version_is_refused_by_its_words(muster, tmp_path, sent, code, said):
    (tmp_path / "sent").write_bytes(sent)
    with (tmp_path / "sent").open("rb") as sent_file:
        job = muster.run("--agent-of-front", stdin=sent_file)

    assert job.code == code
    assert said in job.err.text

"""Where the ranks are: `muster stacks`, and what is said by itself when a job hangs (docs/hangs.md)."""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from support import waiting_ranks
from support.deadlines import wait_until

# Rank 1 says its pid and is stopped as soon as it waits; the others wait, too.
ONE_IS_STOPPED = """
import os, signal
if os.environ["RANK"] == "1":
    print("pid", os.getpid(), flush=True)
    os.kill(os.getpid(), signal.SIGSTOP)
    print("continued", flush=True)
all_reduce()
"""

WAITS_IN_A_FUNCTION = """
import os, sys, time

def load_shard():
    time.sleep(600)

def train():
    time.sleep(600)

print("ready", flush=True)
load_shard() if os.environ["RANK"] == "2" else train()
"""


# Prints what the real one has printed, about the process that it is asked about; of rank 3 nothing, in time.
PY_SPY = """#!/bin/sh
test "$1 $2 $3 $4" = "dump --json --nonblocking --pid" || exit 1
if tr "\\0" "\\n" < "/proc/$5/environ" | grep -qx RANK=3; then
    echo $$ > '{folder}/late'
    exec sleep 600
fi
line=8
tr "\\0" "\\n" < "/proc/$5/environ" | grep -qx RANK=2 && line=5
sed "s/7535/$5/; s/\\"line\\": 3,/\\"line\\": $line,/" '{recorded}'
"""

RECORDED = Path(__file__).parent.parent / "unit/hang/data/py-spy-0.4.3.json"


def newer_pythons():
    """The interpreters of this machine that describe themselves; one is recorded for tests/unit/hang."""
    found = {}
    folders = [Path(folder) for folder in os.environ["PATH"].split(os.pathsep)]
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    for folder in [*folders, *sorted(pyenv.glob("versions/3.*/bin"))]:
        for path in sorted(folder.glob("python3.1[34]")) if os.access(folder, os.R_OK) else ():
            if subprocess.run([path, "-c", "pass"], capture_output=True, check=False).returncode == 0:
                found.setdefault(path.name, path)
    return list(found.values())


# Rank 1 sleeps until its child, as a worker of a data loader does, has received what comes in small pieces. recv(2) is not
# among the bytes that the kernel counts for a process.
LOADS = """
import os, socket, sys, threading, time
ours, theirs = socket.socketpair()
def send():
    while True:
        ours.send(bytes(4096))
        time.sleep(0.005)
if os.environ["RANK"] == "1":
    for _ in range(16 if sys.argv[1] == "polls" else 0):
        if os.fork() == 0:  # looks whether its parent lives, as workers of a compiler do
            while True:
                time.sleep(1)
    if os.fork() == 0:
        ours.close()
        while theirs.recv(4096):
            pass
        os._exit(0)
    if sys.argv[1] == "sends":
        threading.Thread(target=send, daemon=True).start()
    time.sleep(8 if sys.argv[1] == "sends" else 600)
    print("loaded", flush=True)
all_reduce()
"""


@pytest.fixture
def stacks(muster):
    """Asks `muster stacks` about a job."""

    def ask(job, *options):
        return muster.run("stacks", f"--job={job.guard()}", *options)

    return ask


def pid_of(job):
    job.out.wait_for("pid ")
    job.out.wait_for("\n")
    return int(job.out.lines[0].split()[-1])


def document_of(answer):
    assert answer.code == 0, answer.words()
    return json.loads(answer.out.text)


def test_stacks_groups_the_ranks_and_names_the_one_that_is_stopped(muster, stacks, tmp_path):
    job = muster.start("--nproc-per-node=4", "--hang-report=0", "--no-python", *waiting_ranks.program(tmp_path, ONE_IS_STOPPED))
    pid = pid_of(job)

    def found():
        document = document_of(stacks(job, "--json"))
        places = sorted((group["ranks"], group["state"]) for group in document["stacks"])
        return document if places == [([0, 2, 3], "S"), ([1], "T")] else None

    document = wait_until(found, "three ranks that wait and one that is stopped")
    text = stacks(job).out.text

    assert document["missing"] == 0
    assert re.fullmatch(
        rf"3 of 4 ranks wait in all_reduce for rank 1\nrank 1 \(\S+, pid {pid}\) is at \S+:4 in all_reduce, state T.*\n"
        r"3 ranks are alike: \S+:4 in all_reduce",
        "\n".join(document["verdict"]),
    )
    assert "ranks 0, 2-3: state S" in text
    assert "distributed_c10d.py:4 in all_reduce\n" in text
    job.signal(signal.SIGTERM)
    assert job.end() == 143


def test_a_hang_is_reported_once_and_so_is_its_end(muster, tmp_path):
    events = tmp_path / "events.jsonl"
    job = muster.start("--nproc-per-node=4", "--hang-report=1", f"--events={events}", "--no-python", *waiting_ranks.program(tmp_path, ONE_IS_STOPPED))
    pid = pid_of(job)

    job.err.wait_for("3 of 4 ranks wait in all_reduce for rank 1")
    job.err.wait_for("3 ranks are alike: ")
    os.kill(pid, signal.SIGCONT)
    job.err.wait_for("the job moves again after ")
    job.signal(signal.SIGTERM)

    assert job.end() == 143
    lines = [line for line in job.err.lines if "rank" in line or "moved" in line]
    assert len(re.findall(r"the job has not moved for \d+ s: 3 of 4 ranks wait in all_reduce for rank 1", job.err.text)) == 1
    assert any(re.search(rf"rank 1 \(\S+, pid {pid}\) is at .* state T", line) for line in lines), job.words()
    stalls = [event for event in map(json.loads, events.read_text().splitlines()) if event["event"] == "stalled"]
    assert [event["text"] for event in stalls] == ["rank 1"]


def with_ports(folder):
    """The folder shows itself as the RDMA devices of the host."""
    return ["unshare", "--mount", "sh", "-c", f'mount -t tmpfs tmpfs /sys/class && cp -r {folder}/* /sys/class && exec "$@"', "sh"]


def test_what_the_fabric_carries_is_said(muster, tmp_path):
    counters = tmp_path / "infiniband/mlx5_0/ports/1/counters"
    counters.mkdir(parents=True)
    (counters / "port_xmit_data").write_text("1000\n")
    job = muster.start(
        *["--nproc-per-node=4", "--hang-report=1", "--no-python", *waiting_ranks.program(tmp_path, ONE_IS_STOPPED)],
        through=with_ports(tmp_path),
    )

    job.err.wait_for("3 of 4 ranks wait in all_reduce for rank 1")
    job.err.wait_for("the RDMA ports of its hosts carry nothing")
    job.signal(signal.SIGTERM)
    assert job.end() == 143


def test_a_job_that_hangs_is_ended_and_the_report_names_the_rank(muster, tmp_path):
    job = muster.run(
        *["--nproc-per-node=4", "--hang-report=0", "--hang-timeout=2", "--grace=5", "--no-python"],
        *waiting_ranks.program(tmp_path, ONE_IS_STOPPED),
        report=True,
    )

    assert job.code == 86, job.words()
    first = job.report["first_failure"]
    assert (job.report["verdict"], job.report["reason"]) == ("hung", "hang")
    assert (first["global_rank"], first["signal"], first["core_dumped"]) == (1, "SIGABRT", False)
    assert re.fullmatch(r"the job has not moved for \d+ s: 3 of 4 ranks wait in all_reduce for rank 1", first["start_error"])
    assert any("in <module>" in line for line in first["stderr_tail"]), "Python says where it was"
    assert [worker["signal"] for worker in job.report["workers"]].count("SIGTERM") == 3
    assert job.said_about("rank 1 hung: node 0")


def loading(folder, sends):
    """A job whose rank 1 is not in `all_reduce`."""
    command = [*waiting_ranks.program(folder, LOADS), sends]
    others = (folder / "py-spy").read_text()
    at_sleep = others.replace("all_reduce", "load").replace("/torch/distributed/distributed_c10d.py", "/train.py")
    rank_one = 'tr "\\0" "\\n" < "/proc/$5/environ" | grep -qx RANK=1'
    (folder / "py-spy").write_text(f"#!/bin/sh\nif {rank_one}; then\n{at_sleep}exit\nfi\n{others}")
    return ["--nproc-per-node=4", "--hang-report=1", "--hang-timeout=3", "--grace=1", "--no-python", *command]


def test_a_rank_whose_child_receives_data_is_left_alone(muster, tmp_path):
    job = muster.start(*loading(tmp_path, "sends"))

    job.out.wait_for("loaded")

    assert "has not moved" not in job.err.text
    job.signal(signal.SIGTERM)
    assert job.end() == 143


@pytest.mark.parametrize("child", ["sleeps", "polls"])
def test_a_rank_whose_children_do_nothing_hangs(muster, tmp_path, child):
    job = muster.run(*loading(tmp_path, child), report=True)

    assert job.code == 86, job.words()
    assert job.report["first_failure"]["global_rank"] == 1


def test_a_job_that_hangs_everywhere_is_ended_and_nobody_is_named(muster, tmp_path):
    command = waiting_ranks.program(tmp_path, "all_reduce()")
    job = muster.run("--nproc-per-node=2", "--hang-timeout=2", "--no-python", *command, report=True)

    assert job.code == 86, job.words()
    assert job.report["first_failure"] is None
    assert re.match(r"the job has not moved for \d+ s: all ranks are at \S+:4 in all_reduce", job.report["reason"])
    assert [worker["signal"] for worker in job.report["workers"]] == ["SIGABRT"] * 2


def test_a_job_that_hangs_is_started_again_where_that_is_allowed(muster, tmp_path):
    command = waiting_ranks.program(tmp_path, "import os\nif os.environ['MUSTER_RESTART_COUNT'] == '0': all_reduce()")
    job = muster.run("--nproc-per-node=2", "--hang-timeout=2", "--max-restarts=1", "--no-python", *command)

    assert job.code == 0, job.words()


@pytest.mark.parametrize(("given", "seen"), [(None, "1"), ("", ""), ("0", "0")])
def test_python_says_where_it_crashes_unless_the_user_chose(muster, given, seen):
    crash = "import os, signal; print(os.environ['PYTHONFAULTHANDLER'] + '.', flush=True); os.kill(os.getpid(), signal.SIGSEGV)"
    job = muster.run("--", sys.executable, "-c", crash, env={} if given is None else {"PYTHONFAULTHANDLER": given})

    assert seen + "." in job.out.text
    assert ("Fatal Python error: Segmentation fault" in job.err.text) == (seen != "")


def test_before_a_worker_is_killed_it_is_said_where_it_is(muster):
    ignores = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready', flush=True); signal.pause()"
    job = muster.start("--nproc-per-node=1", "--grace=0.3", "--", sys.executable, "-c", ignores)
    job.out.wait_for("ready")
    job.signal(signal.SIGTERM)

    assert job.end() == 143
    assert re.search(r"did not end within 0\.30 s of SIGTERM; it is (in state S|at <string>:1)", job.err.text)


def test_ranks_that_are_alike_accuse_nobody(muster, tmp_path):
    command = waiting_ranks.program(tmp_path, "all_reduce()")
    job = muster.start("--nproc-per-node=2", "--hang-report=1", "--no-python", *command)

    job.err.wait_for(" s: all ranks are at ")
    job.signal(signal.SIGTERM)

    assert job.end() == 143
    assert "for rank" not in job.err.text


def test_what_cannot_be_read_accuses_nobody(muster):
    stops = "import os, signal\nif os.environ['RANK'] == '1': os.kill(os.getpid(), signal.SIGSTOP)\nsignal.pause()"
    job = muster.start("-v", "--nproc-per-node=4", "--hang-report=1", "--hang-timeout=1", "--", "/usr/bin/python3", "-c", stops)

    job.err.wait_for("and whether the job hangs cannot be seen: rank ")
    job.err.wait_for("asked about the ranks of this node so far: nccl 0, py-spy 0, recorder 0, stacks 0")
    status = muster.run("status", f"--job={job.guard()}")
    job.signal(signal.SIGTERM)

    assert job.end() == 143, job.words()
    assert status.code == 0, status.words()
    assert job.err.text.count("cannot be seen") == 1
    assert "has not moved" not in job.err.text


def test_a_python_that_describes_itself_is_named_by_its_line(muster, stacks, tmp_path):
    script = tmp_path / "train.py"
    script.write_text(WAITS_IN_A_FUNCTION)
    for python in newer_pythons():
        job = muster.start("--nproc-per-node=4", "--hang-report=0", "--no-python", python, script)
        wait_until(lambda job=job: job.out.text.count("ready") == 4, "all ranks to wait")
        text = stacks(job).out.text
        assert "ranks 0-1, 3: state S" in text
        assert f"    {script}:8 in train\n    {script}:11 in <module>\n" in text
        job.signal(signal.SIGTERM)
        assert job.end() == 143


def test_an_older_python_is_read_by_py_spy_beside_it(muster, stacks, tmp_path):
    (tmp_path / "python3").symlink_to("/usr/bin/python3")  # as in a virtual environment
    py_spy = tmp_path / "py-spy"
    py_spy.write_text(PY_SPY.format(folder=tmp_path, recorded=RECORDED))
    py_spy.chmod(0o755)
    script = tmp_path / "train.py"
    script.write_text(WAITS_IN_A_FUNCTION)
    job = muster.start("--nproc-per-node=4", "--hang-report=0", "--no-python", tmp_path / "python3", script)
    wait_until(lambda: job.out.text.count("ready") == 4, "all ranks to wait")

    document = document_of(stacks(job, "--json"))

    found = {tuple(group["ranks"]): group for group in document["stacks"]}
    assert found[(0, 1)]["stack"][0] == ["/home/me/train.py", "load_shard", 8]
    assert [line for _, _, line in found[(2,)]["stack"]] == [5, 5, 7]
    assert found[(3,)]["no_stack"] == "py-spy has not answered in time"
    late = int((tmp_path / "late").read_text())
    wait_until(lambda: not Path(f"/proc/{late}").exists(), "py-spy to be ended with its helper process")
    job.signal(signal.SIGTERM)
    assert job.end() == 143


# Counts how many of it run, this one included.
COUNTS_ITSELF = """#!/bin/sh
mkdir '{folder}/runs/'$$
ls '{folder}/runs' | wc -l >> '{folder}/counts'
sleep 0.1
rmdir '{folder}/runs/'$$
sed "s/7535/$5/" '{recorded}'
"""


def test_at_most_four_py_spy_run_at_once(muster, stacks, tmp_path):
    (tmp_path / "runs").mkdir()
    (tmp_path / "python3").symlink_to("/usr/bin/python3")
    (tmp_path / "py-spy").write_text(COUNTS_ITSELF.format(folder=tmp_path, recorded=RECORDED))
    (tmp_path / "py-spy").chmod(0o755)
    (tmp_path / "train.py").write_text(WAITS_IN_A_FUNCTION)
    options = ("--nproc-per-node=8", "--hang-report=0", "--no-python")
    job = muster.start(*options, tmp_path / "python3", tmp_path / "train.py")
    wait_until(lambda: job.out.text.count("ready") == 8, "all ranks to wait")

    document = document_of(stacks(job, "--json"))

    counts = [int(count) for count in (tmp_path / "counts").read_text().split()]
    assert 1 <= max(counts) <= 4
    assert any("stack" in group for group in document["stacks"])
    job.signal(signal.SIGTERM)
    assert job.end() == 143


def test_a_job_is_asked_what_hang_ask_says_and_nothing_else(muster, stacks, tmp_path):
    (tmp_path / "python3").symlink_to("/usr/bin/python3")
    (tmp_path / "py-spy").write_text(PY_SPY.format(folder=tmp_path, recorded=RECORDED))
    (tmp_path / "py-spy").chmod(0o755)
    (tmp_path / "train.py").write_text(WAITS_IN_A_FUNCTION)

    def place_of(python, asks):
        options = ("--nproc-per-node=1", "--hang-report=0", f"--hang-ask={asks}", "--no-python")
        job = muster.start(*options, python, tmp_path / "train.py")
        job.out.wait_for("ready")
        (group,) = document_of(stacks(job, "--json"))["stacks"]
        job.signal(signal.SIGTERM)
        assert job.end() == 143
        return group

    for python in (tmp_path / "python3", *newer_pythons()):
        assert place_of(python, "none")["no_stack"] == "--hang-ask has no stacks"
    assert "stack" not in place_of(tmp_path / "python3", "stacks"), "py-spy is here"
    assert "stack" in place_of(tmp_path / "python3", "py-spy")
    for python in newer_pythons():
        assert "stack" in place_of(python, "stacks")


def test_an_older_python_without_py_spy_says_what_it_lacks(muster, stacks):
    job = muster.start("--nproc-per-node=2", "--hang-report=0", "--no-python", "/usr/bin/python3", "-c", WAITS_IN_A_FUNCTION)
    wait_until(lambda: job.out.text.count("ready") == 2, "all ranks to wait")
    text = stacks(job).out.text
    assert "ranks 0-1: state S" in text, "ranks without a stack are alike"
    assert "no Python stack: " in text
    assert "as Python 3.13 and later do; cannot run 'py-spy': not found in PATH" in text
    job.signal(signal.SIGTERM)
    assert job.end() == 143


# Rank 1 maps a file that looks like a Python of its own, and whoever reads the page of its description waits for ever.
BLOCKS_READERS = """
import ctypes, fcntl, mmap, os, signal, struct, sys

def block_readers(path, size=1 << 16, address=1 << 28):
    names = b"\\0.PyRuntime\\0.names\\0"
    def section(name, offset, length):
        return struct.pack("<IIQQQQIIQQ", name, 1, 0, 0, offset, length, 0, 0, 1, 0)
    head = b"\\x7fELF\\x02\\x01\\x01" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 0, 64, 0, 64, 0, 0, 64, 3, 2)
    sections = bytes(64) + section(1, size, size) + section(12, 256, len(names))
    with open(path, "w+b") as file:
        file.write(head + sections + names)
        file.truncate(2 * size)  # a hole
        libc = ctypes.CDLL(None)
        libc.mmap.argtypes = [ctypes.c_size_t, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_size_t]
        libc.mmap(address, size, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED | 0x10, file.fileno(), size)
    fault = libc.syscall(323 if os.uname().machine == "x86_64" else 282, os.O_CLOEXEC)
    fcntl.ioctl(fault, 0xC018AA3F, struct.pack("<QQQ", 0xAA, 0, 0))
    fcntl.ioctl(fault, 0xC020AA00, struct.pack("<QQQQ", address, size, 1, 0))

def train():
    print("ready", flush=True)
    while True:
        signal.pause()

signal.signal(signal.SIGTERM, signal.SIG_IGN if "stubborn" in sys.argv else signal.SIG_DFL)
if os.environ["RANK"] == "1":
    block_readers(sys.argv[1])
train()
"""


@pytest.fixture
def blocked_job(muster, tmp_path):
    """Starts a job of three ranks, of which one makes those wait who read its memory."""
    if os.geteuid() != 0 or not Path("/dev/userfaultfd").exists():
        pytest.skip("needs root and userfaultfd(2)")
    script = tmp_path / "train.py"
    script.write_text(BLOCKS_READERS)

    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:

        def start(python, *options):
            worker = ["--no-python", python, script, f"{folder}/python3", *options]
            job = muster.start("--nproc-per-node=3", "--hang-report=0", "--grace=0.3", *worker)
            wait_until(lambda: job.out.text.count("ready") == 3, "all ranks to wait")
            return job

        yield start


def test_a_rank_whose_memory_cannot_be_read_hides_no_other(blocked_job, stacks):
    for python in newer_pythons():
        job = blocked_job(python)

        def found(job=job):
            groups = {tuple(group["ranks"]): group for group in document_of(stacks(job, "--json"))["stacks"]}
            return groups if (0, 2) in groups else None

        groups = wait_until(found, "the other ranks to be at one place")
        assert [function for _, function, _ in groups[(0, 2)]["stack"]] == ["train", "<module>"]
        assert (groups[(1,)]["state"], groups[(1,)]["no_stack"]) == ("S", "its memory could not be read in time")
        job.signal(signal.SIGTERM)
        assert job.end() == 143


def test_such_a_rank_does_not_hide_where_others_are_that_do_not_end(blocked_job):
    for python in newer_pythons():
        job = blocked_job(python, "stubborn")
        job.signal(signal.SIGTERM)
        assert job.end() == 143
        assert job.err.text.count("did not end within 0.30 s of SIGTERM; it is at train.py:") == 2
        assert job.err.text.count("did not end within 0.30 s of SIGTERM; it is in state S") == 1


# Each rank has a thread that makes a pipe as the monitor thread of PyTorch's recorder does, looks at it, writes a line as that does, and
# answers with a recording.
HAS_A_RECORDER = """
import os, shutil, signal, sys, threading, time
rank, data = int(os.environ["RANK"]), sys.argv[1]
assert os.environ["TORCH_HCCL_DEBUG_INFO_PIPE_FILE"] == os.environ["TORCH_FR_DEBUG_INFO_PIPE_FILE"]
name = os.environ["TORCH_NCCL_DEBUG_INFO_PIPE_FILE"] + f"{rank}.pipe"
os.mkfifo(name)
pipe = os.open(name, os.O_RDONLY | os.O_NONBLOCK)
def monitor():
    while True:
        if os.read(pipe, 128):
            print("ProcessGroupNCCL preparing to dump debug info.", file=sys.stderr, flush=True)
            case = "absent" if rank == 2 else "waiting"
            shutil.copy(f"{data}/torch-2.13.0-{case}.bin", os.environ["TORCH_FR_DUMP_TEMP_FILE"] + str(rank))
        time.sleep(0.1)
threading.Thread(target=monitor).start()
signal.pause()
"""
RECORDINGS = Path(__file__).parents[1] / "unit/hang/data"
RECORDER_VARIABLES = ("TORCH_NCCL_DEBUG_INFO_PIPE_FILE", "TORCH_HCCL_DEBUG_INFO_PIPE_FILE", "TORCH_FR_DEBUG_INFO_PIPE_FILE")
RECORDER_VARIABLES += ("TORCH_FR_DUMP_TEMP_FILE", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE", "TORCH_HCCL_DEBUG_INFO_TEMP_FILE")


def test_the_rank_that_has_not_come_to_a_collective_is_named_by_the_recorders(muster, stacks):
    job = muster.start("--nproc-per-node=4", "--hang-report=4", "--", sys.executable, "-c", HAS_A_RECORDER, RECORDINGS)

    job.err.wait_for("3 of 4 ranks wait in all_gather 3 of group 'default_pg' for rank 2")
    job.err.wait_for(" last entered collective 2; it is in state S")
    assert job.err.text.count("preparing to dump") == 4 * 2, "the lines are no sign of life"
    text = stacks(job).out.text
    assert "3 of 4 ranks wait in all_gather 3 of group 'default_pg' for rank 2" in text
    job.signal(signal.SIGTERM)
    assert job.end() == 143


# Files with the names of pipes and dumps that are none, and a dump that never comes.
HAS_NO_RECORDER = """
import os, signal
rank, name = int(os.environ["RANK"]), os.environ["TORCH_NCCL_DEBUG_INFO_PIPE_FILE"]
pipe, dump = name + f"{rank}.pipe", os.environ["TORCH_FR_DUMP_TEMP_FILE"] + str(rank)
if rank == 0:
    open(pipe, "w").close()
elif rank == 1:
    os.symlink("/dev/zero", pipe)
else:
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    os.mkdir(dump) if rank == 2 else os.symlink("/dev/zero", dump)
print("ready", flush=True)
signal.pause()
"""


def test_a_recorder_that_does_not_answer_hides_nothing(muster, stacks):
    job = muster.start("--nproc-per-node=4", "--", sys.executable, "-c", HAS_NO_RECORDER)
    wait_until(lambda: job.out.text.count("ready") == 4, "four ranks")

    document = document_of(stacks(job, "--json"))

    assert sorted(rank for group in document["stacks"] for rank in group["ranks"]) == [0, 1, 2, 3]
    job.signal(signal.SIGTERM)
    assert job.end() == 143


@pytest.mark.parametrize(
    ("options", "own"),
    [((), {}), ((), {RECORDER_VARIABLES[0]: "/mine/pipe_"}), (("--hang-report=0",), {}), (("--hang-ask=stacks,py-spy",), {})],
    ids=["given", "of the user", "off", "not to be asked"],
)
def test_the_recorders_are_told_where_to_listen(muster, options, own):
    names = "from os import environ; print(sorted(n for n in environ if 'INFO_PIPE' in n or 'TEMP_FILE' in n))"
    job = muster.run("--nproc-per-node=1", *options, "--", sys.executable, "-c", names, env=own)

    assert job.code == 0, job.words()
    expected = sorted(own or (() if options else RECORDER_VARIABLES))
    assert str(expected) in job.out.text


# Half of --hang-report is the time after which a worker is named that stays in one call.
def test_a_worker_in_one_uninterruptible_call_is_named_once_and_so_is_its_end(muster, worker):
    job = muster.start("--nproc-per-node=2", "--hang-report=2", "--", worker("stay_in_one_call"), "4")

    job.err.wait_for(": its disk or device does not answer")
    job.err.wait_for(" goes on after ")
    job.signal(signal.SIGTERM)

    assert job.end() == 143
    said = [line for line in job.err.lines if "uninterruptible" in line or "goes on" in line]
    assert len(said) == 2, said
    assert re.search(r"rank 1 \(pid \d+\) has been in an uninterruptible system call for [12] s( \(\w+\))?: its", said[0])
    assert re.search(r"rank 1 \(pid \d+\) goes on after [2-6] s$", said[1])


def test_nothing_is_said_of_such_a_worker_where_reports_are_off(muster, worker):
    job = muster.run("--nproc-per-node=2", "--hang-report=0", "--", "sh", "-c", 'timeout 3 "$1" 2; true', "sh", worker("stay_in_one_call"))

    assert job.code == 0, job.words()
    assert "uninterruptible" not in job.err.text


def test_torchruns_limit_ends_the_job_without_a_restart(muster, worker, tmp_path):
    limit = {"TORCHELASTIC_UNINTERRUPTIBLE_STATE_TIMEOUT": "1"}
    report = tmp_path / "report.json"

    job = muster.run(
        "--nproc-per-node=2", "--hang-report=0", "--max-restarts=3", "--grace=1", f"--report={report}", "--",
        worker("stay_in_one_call"), "600", env=limit,
    )

    assert job.code == 86, job.words()
    assert "has been in an uninterruptible system call for 1 s" in job.err.text
    assert (
        "no restart: rank 1 is in an uninterruptible system call and may still hold its device" in job.err.text
    ), job.err.text
    end = json.loads(report.read_text())
    assert end["verdict"] == "hung"
    assert job.out.text.count("waits") == 1


def test_a_limit_of_torchrun_that_is_no_time_is_refused(muster):
    limit = {"TORCHELASTIC_UNINTERRUPTIBLE_STATE_TIMEOUT": "soon"}

    job = muster.run("--", "true", env=limit)

    assert job.code == 78
    assert "TORCHELASTIC_UNINTERRUPTIBLE_STATE_TIMEOUT is 'soon', expected seconds such as 30 or 0.5" in job.err.text

"""Muster as each rank of mpirun: Open MPI's and Hydra's, both from Debian."""

import shutil
import signal
import subprocess

import pytest

from support.gang import free_port
from support.muster import ROOT, binary

OPEN_MPI = {
    "mpirun": "mpirun.openmpi",
    "mpicc": "mpicc.openmpi",
    "options": ["--allow-run-as-root", "--oversubscribe"],
}
HYDRA = {"mpirun": "mpirun.mpich", "mpicc": "mpicc.mpich", "options": []}

# The MPIs themselves are installed for scripts/test --full.
each_mpi = pytest.mark.parametrize(
    "mpi",
    [pytest.param(OPEN_MPI, marks=pytest.mark.full), pytest.param(HYDRA, marks=pytest.mark.full)],
    ids=["open-mpi", "hydra"],
)


def ranks(mpi, number):
    assert shutil.which(mpi["mpirun"]), f"{mpi['mpirun']} is not installed"
    return [mpi["mpirun"], *mpi["options"], "-np", str(number)]


def lines_of(job):
    return sorted(line.split(" ", 1)[1] for line in job.out.lines)


@each_mpi
def test_each_rank_is_one_worker_of_one_job(muster, mpi):
    words = 'echo "$RANK/$WORLD_SIZE $LOCAL_RANK/$LOCAL_WORLD_SIZE $GROUP_RANK/$GROUP_WORLD_SIZE"'

    job = muster.run("--color=never", "--", "sh", "-c", words, through=ranks(mpi, 4))

    assert job.code == 0, job.words()
    assert lines_of(job) == [f"{rank}/4 {rank}/4 0/1" for rank in range(4)]
    assert job.said_about("task 0 of 4 (0 of 4 on this host)").startswith("mpirun: ")


@each_mpi
def test_the_workers_meet(muster, worker, mpi):
    job = muster.run("--color=never", "--", worker("meet_at_master"), through=ranks(mpi, 4))

    assert job.code == 0, job.words()
    assert lines_of(job) == [f"rank {rank}: sum 6" for rank in range(4)]


@each_mpi
def test_two_jobs_of_one_host_do_not_meet(muster, worker, mpi):
    jobs = []
    for name in ("one", "other"):  # Open MPI's sessions in one folder fall over each other
        folder = muster.folder / name
        folder.mkdir()
        command = ["--color=never", "--", worker("meet_at_master")]
        jobs.append(muster.start(*command, through=ranks(mpi, 2), env={"TMPDIR": folder}))

    for job in jobs:
        assert job.end() == 0, job.words()
        assert lines_of(job) == ["rank 0: sum 1", "rank 1: sum 1"]


@each_mpi
def test_a_failure_ends_all_ranks_and_is_mpiruns_exit_code(muster, mpi):
    script = "test $RANK != 2 || exit 7; exec sleep 60"

    job = muster.run("--", "sh", "-c", script, through=ranks(mpi, 4))

    assert job.code == 7, job.words()
    muster.assert_no_survivors(seconds=1.0)
    assert job.said_about("rank 2 failed first").startswith("rank 2 failed first: node 2 (")


@each_mpi
def test_a_stop_of_mpirun_leaves_nothing(muster, mpi):
    # A shell that ignores it, so that it is muster that must end it.
    script = 'trap "" TERM; echo here; while :; do sleep 60; done'
    job = muster.start("--grace=1", "--", "sh", "-c", script, through=ranks(mpi, 2))
    job.out.wait_for("here")

    job.signal(signal.SIGTERM)

    job.end()  # Hydra's mpirun may end with 0 even so
    muster.assert_no_survivors(seconds=10.0)


@each_mpi
def test_a_program_without_mpi_is_restarted(muster, mpi):
    attempt = "$TORCHELASTIC_RESTART_COUNT"
    script = f"test $RANK{attempt} != 10 || exit 3; echo run {attempt}"

    job = muster.run(
        "--color=never", "--max-restarts=1", "--", "sh", "-c", script, through=ranks(mpi, 2)
    )

    assert job.code == 0, job.words()
    assert lines_of(job).count("run 1") == 2


@each_mpi
def test_each_rank_has_a_log_file(muster, tmp_path, mpi):
    options = ["--log-dir=logs", "--redirects=3"]

    job = muster.run(*options, "--", "sh", "-c", "echo out of $RANK", through=ranks(mpi, 3))

    assert job.code == 0, job.words()
    for rank in range(3):
        file = tmp_path / "logs" / "attempt_0" / f"worker_{rank}.out"
        assert file.read_text() == f"out of {rank}\n"


@each_mpi
def test_a_worker_may_be_an_mpi_program(muster, tmp_path, mpi):
    program = tmp_path / "sum_of_ranks"
    source = ROOT / "tests" / "workers" / "mpi" / "sum_of_ranks.c"
    subprocess.run([mpi["mpicc"], "-o", program, source], check=True)

    job = muster.run("--color=never", "--", program, through=ranks(mpi, 3))

    assert job.code == 0, job.words()
    assert lines_of(job) == [f"rank {rank} of 3: sum 3" for rank in range(3)]


def of_open_mpi(rank, size, local_rank, local_size, port):
    """As on several hosts, of which this machine plays all."""
    return {
        "OMPI_COMM_WORLD_RANK": rank,
        "OMPI_COMM_WORLD_SIZE": size,
        "OMPI_COMM_WORLD_LOCAL_RANK": local_rank,
        "OMPI_COMM_WORLD_LOCAL_SIZE": local_size,
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": port,
    }


def named(host):
    """A command that runs another one on a host of this name."""
    return ["unshare", "--uts", "sh", "-c", f'hostname {host}; exec "$@"', "--"] if host else []


def start_tasks(muster, places, *words, hosts=None):
    """`places`: local rank and local size of each task, in the order of ranks."""
    port = free_port()
    return [
        muster.start(
            *words, env=of_open_mpi(rank, len(places), *place, port), through=named(host)
        )
        for rank, (place, host) in enumerate(zip(places, hosts or [None] * len(places)))
    ]


def test_tasks_of_two_hosts_get_their_ranks(muster):
    # In no order of hosts, as by --map-by node.
    hosts = ["host-a", "host-b", "host-a", "host-b", "host-b"]
    places = [(0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    words = 'echo "$RANK $LOCAL_RANK/$LOCAL_WORLD_SIZE $GROUP_RANK/$GROUP_WORLD_SIZE"'

    tasks = start_tasks(muster, places, "--prefix=never", "--", "sh", "-c", words, hosts=hosts)

    assert [task.end() for task in tasks] == [0] * 5, "\n".join(task.words() for task in tasks)
    said = [line for task in tasks for line in task.out.lines]
    assert said == ["0 0/2 0/2", "1 0/3 1/2", "2 1/2 0/2", "3 1/3 1/2", "4 2/3 1/2"]


def test_a_task_that_claims_its_whole_host_is_refused(muster):
    tasks = start_tasks(
        muster, [(0, 2), (1, 2), (0, 1)], "--gang-timeout=60", "--", "sh", "-c", "echo started"
    )

    assert tasks[2].end() == 78, tasks[2].words()
    assert tasks[2].said_about("its part of a host is 'the whole host'")
    for task in tasks[:2]:
        task.signal(signal.SIGTERM)
    assert [task.end() for task in tasks[:2]] == [143, 143]
    assert not any(task.out.lines for task in tasks)


def test_a_task_alone_on_its_host_may_have_one_worker(muster):
    tasks = start_tasks(
        muster,
        [(0, 2), (1, 2), (0, 1)],
        *("--prefix=never", "--nproc-per-node=1", "--", "sh", "-c", "echo $RANK of $WORLD_SIZE"),
    )

    assert [task.end() for task in tasks] == [0] * 3, "\n".join(task.words() for task in tasks)
    assert [task.out.text for task in tasks] == ["0 of 3\n", "1 of 3\n", "2 of 3\n"]


# Without mpirun: muster reads its command line and starts the ranks itself.

ALL = """
import os, sys
from mpi4py import MPI
world = MPI.COMM_WORLD
values = [os.environ.get(name) for name in sys.argv[1:]]
# In one piece: mpirun passes on what it reads, and PYTHONUNBUFFERED makes a write of each word.
os.write(1, f"{world.allreduce(world.rank)} {world.size} {values}\\n".encode())
"""


@pytest.mark.full  # with mpi4py
def test_an_mpirun_command_line_starts_ranks_without_mpirun(muster):
    value = "1 2; '3' \\ {\"4\": 5}\n6"
    line = ["-np", "3", "-x", f"ONE={value}", "-x", "TWO", "-mca", "btl", "self,tcp"]
    program = ["/usr/bin/python3", "-c", ALL, "ONE", "TWO", "OMPI_MCA_btl"]

    job = muster.run("--color=never", "mpirun", *line, *program, env={"TWO": ""})

    assert job.code == 0, job.words()
    assert lines_of(job) == [f"3 3 {[value, '', 'self,tcp']}"] * 3


@pytest.mark.full  # with mpi4py
@pytest.mark.parametrize("only_mpirun", [[], ["--timeout", "60"]], ids=["muster", "mpirun"])
def test_each_host_of_a_hostfile_gets_a_rank_per_slot(
    muster, port, tmp_path, only_mpirun
):
    (tmp_path / "hosts").write_text("a slots=2 # two\nb count=2 max_slots=4\nc slots=2\n")
    (tmp_path / "remote-shell").write_text('#!/bin/sh\nexec /bin/sh -c "$2"\n')
    (tmp_path / "remote-shell").chmod(0o755)
    meeting = ["--master-addr", "127.0.0.1", "--master-port", str(port)]
    shell = ["--remote-shell", str(tmp_path / "remote-shell")]
    program = ["/usr/bin/python3", "-c", ALL, "OMPI_COMM_WORLD_LOCAL_SIZE", "ONE"]
    line = ["-np", "3", "-hostfile", "hosts", "-x", "ONE=1 2", *only_mpirun, *program]

    job = muster.run("--color=never", "--prefix=never", *shell, *meeting, "mpirun", *line)

    assert job.code == 0, job.words()
    assert sorted(job.out.lines) == ["3 3 ['1', '1 2']", "3 3 ['2', '1 2']", "3 3 ['2', '1 2']"]


def show(*names):
    return ["sh", "-c", "echo " + " ".join(f"${name}" for name in names)]


@pytest.fixture
def on_hosts(muster, port, tmp_path):
    """Runs a line of mpirun's on hosts that this machine plays."""
    (tmp_path / "remote-shell").write_text('#!/bin/sh\nexec /bin/sh -c "$2"\n')
    (tmp_path / "remote-shell").chmod(0o755)
    options = ["--remote-shell", str(tmp_path / "remote-shell"), "--master-addr", "127.0.0.1"]

    def run(*line):
        return muster.run(
            *("--color=never", "--prefix=never", *options, "--master-port", str(port)),
            *("mpirun", *line),
        )

    return run


PLACES = show("RANK", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "WORLD_SIZE")


@pytest.mark.parametrize("mapping", [["--map-by", "node"], ["-bynode"]], ids=["map", "old"])
@pytest.mark.full
def test_ranks_are_mapped_by_mpirun_where_the_line_requests_it(on_hosts, mapping):
    job = on_hosts("-np", "4", "-H", "a:4,b:4", *mapping, *PLACES)

    assert job.code == 0, job.words()
    places = [line for line in job.out.lines if line.endswith(" 2 4")]
    assert sorted(places) == ["0 0 2 4", "1 0 2 4", "2 1 2 4", "3 1 2 4"]


@pytest.mark.full
def test_several_programs_are_one_job(on_hosts, tmp_path):
    (tmp_path / "sub").mkdir()
    first = ["-np", "1", "-H", "a:2,b:1", "sh", "-c", "echo first $RANK/$WORLD_SIZE"]
    second = ["-np", "2", "-wdir", "sub", "-x", "ONE=1 2", "sh", "-c", "echo $ONE $RANK ${PWD##*/}"]

    job = on_hosts(*first, ":", *second)

    assert job.code == 0, job.words()
    assert sorted(job.out.lines) == ["1 2 1 sub", "1 2 2 sub", "first 0/3"]
    assert "start by way of agent, because only mpirun understands ':'" in job.words()


@pytest.mark.parametrize("way", ["pmix", pytest.param("agent", marks=pytest.mark.full)])
def test_ranks_start_in_the_folder_that_the_line_names(muster, tmp_path, way):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "program").write_text("#!/bin/sh\necho in ${PWD##*/}\n")
    (tmp_path / "sub" / "program").chmod(0o755)
    line = ["--mpi-start", way, "-np", "2", "--wdir", "sub", "./program"]

    job = muster.run("--color=never", "--prefix=never", "mpirun", *line)

    assert job.code == 0, job.words()
    assert job.out.lines == ["in sub", "in sub"]


@pytest.mark.full
def test_a_copy_by_the_name_of_mpirun_never_finds_itself(muster, tmp_path):
    shutil.copy(binary(), tmp_path / "mpirun")

    job = muster.run("--", "mpirun", "--version", env={"PATH": f"{tmp_path}:/usr/bin:/bin"})

    assert job.code == 0, job.words()
    assert job.out.text.startswith("mpirun (Open MPI)")


def test_a_script_by_the_name_of_mpirun_leads_back_only_once(muster, tmp_path):
    (tmp_path / "mpirun").write_text(f'#!/bin/sh\nexec {binary()} mpirun "$@"\n')
    (tmp_path / "mpirun").chmod(0o755)

    line = ["--mpi-start", "agent", "-np", "2", "true"]
    job = muster.run("mpirun", *line, env={"PATH": f"{tmp_path}:/usr/bin:/bin"})

    assert job.code == 126, job.words()
    assert "leads back to muster" in job.words()


@pytest.mark.full
def test_a_symlink_by_the_name_of_mpirun_never_finds_itself(muster, tmp_path):
    (tmp_path / "mpirun").symlink_to(binary())

    alone = muster.run("--", "mpirun", "--version", env={"PATH": tmp_path})
    with_another = muster.run("--", "mpirun", "--version", env={"PATH": f"{tmp_path}:/usr/bin:/bin"})

    assert alone.code == 126
    assert alone.said_about(
        "cannot run 'mpirun': it is muster under another name, and PATH has no other one: rank 0"
    )
    assert with_another.code == 0
    assert "Open MPI" in with_another.out.text

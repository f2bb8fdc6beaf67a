"""Each way in which an MPI job ends early: its exit code, its duration, and that no process is left.

mpirun's own behaviour, by which these were chosen: hangs, codes of 0 or 1, ranks that stay.
"""

import json
import os
import re
import signal
import time

import pytest

from support.deadlines import promise
from support.mpi import MEETINGS, WAYS, path_without
from support.repetitions import default_or_soak

NODES = 4
SOON = 5  # seconds from what happened to the end on all nodes, one of grace in it
BY_MPIRUN = 10  # where mpirun ends the ranks: it takes three to four by itself
LOST = 10  # until the loss of a machine is known, and acted on
# Helper processes of the ranks on a node other than the first, by start method, and on the first.
HELPERS = {
    "pmix": [(1, "muster-pmix"), (0, "muster-pmix")],
    "agent": [(1, "orted"), (0, "mpirun"), (0, "--mpi-agent")],
    "ssh": [(1, "orted"), (1, "sshd"), (0, "mpirun"), (0, "ssh")],
}

# mpirun deals in the same way with its ranks whoever starts its daemons, and takes seconds for each of these.
of_mpirun = pytest.mark.parametrize("way", default_or_soak(["pmix", "agent"], WAYS))


@pytest.fixture
def measured(request, way):
    """Notes what a row of the table came to, where $MPI_TIMES names a file."""

    def note(codes, seconds):
        if os.environ.get("MPI_TIMES"):
            row = {"way": way, "what": request.node.name, "codes": codes, "seconds": seconds}
            with open(os.environ["MPI_TIMES"], "a") as file:
                file.write(json.dumps(row) + "\n")

    return note


@pytest.fixture
def waiting(mpi):
    """A job of which all ranks are there; what they do when they are told is given."""

    def start(*hows, options=(), ranks=1):
        job = mpi("end_as_told", MEETINGS, *hows, nodes=NODES, options=options, ranks=ranks)
        return job.start_all().wait_for_ranks()

    return start


def soon(job):
    return SOON if job.way == "pmix" else BY_MPIRUN


def promise_end(within, seconds):
    promise("the end on all nodes", within, seconds)


def assert_all(job, began, expected, measured, within=None):
    codes, seconds = job.ends(began)
    measured(codes, seconds)
    assert codes == {node: expected for node in range(NODES)}, job.words()
    promise_end(within or soon(job), seconds)


@pytest.mark.soak
@of_mpirun
@pytest.mark.parametrize(
    ("how", "code"), [("exit7", 7), ("abort5", 5), ("segv", 139)], ids=["exit", "abort", "segv"]
)
def test_a_rank_that_fails_ends_all_with_its_code(waiting, measured, how, code):
    job = waiting(f"2={how}")

    assert_all(job, job.tell(2), code, measured)
    who = "rank 2" if job.way == "pmix" else "mpirun"
    assert job.jobs[0].said_about("failed first").startswith(f"{who} failed first: ")


@pytest.mark.soak
@of_mpirun
def test_of_two_simultaneous_failures_one_is_reported(waiting, measured):
    job = waiting("1=exit3", "2=exit5")

    codes, seconds = job.ends(job.tell(1, 2))

    measured(codes, seconds)
    assert set(codes.values()) in ({3}, {5}), job.words()
    promise_end(soon(job), seconds)


@pytest.mark.soak
@of_mpirun
def test_a_killed_rank_ends_the_job(waiting, measured):
    job = waiting()

    os.kill(job.helper(2, "end_as_told"), signal.SIGKILL)

    assert_all(job, time.monotonic(), 137, measured)


@pytest.mark.parametrize("way", ["agent", "ssh"])
def test_a_timeout_of_mpirun_ends_the_job(mpi, measured):
    began = time.monotonic()
    job = mpi("end_as_told", MEETINGS, nodes=NODES, options=["--mpirun-options=--timeout 4"])

    job.start_all()

    assert_all(job, began, 110, measured, within=4 + 2 * BY_MPIRUN)


@pytest.mark.parametrize("node", [0, 2])
def test_sigterm_to_muster_ends_the_job(waiting, measured, node):
    job = waiting()

    os.kill(job.jobs[node].guard(), signal.SIGTERM)

    assert_all(job, time.monotonic(), 143, measured)


@pytest.mark.parametrize("way", ["pmix", "agent"])
def test_ranks_have_the_whole_grace(mpi):
    job = mpi("save_when_asked", MEETINGS, nodes=2, options=["--grace=20"])
    job.start_all().wait_for_ranks()

    os.kill(job.jobs[0].guard(), signal.SIGTERM)

    codes, seconds = job.ends(time.monotonic())
    assert codes == {0: 143, 1: 143}, job.words()
    assert job.lines == ["rank 0 has saved", "rank 1 has saved"]
    promise_end(4 + BY_MPIRUN, seconds)


@pytest.mark.soak
@of_mpirun
def test_ranks_that_ignore_sigterm_are_killed(waiting, measured):
    job = waiting("0=ignore", "2=ignore")

    os.kill(job.jobs[0].guard(), signal.SIGTERM)

    assert_all(job, time.monotonic(), 143, measured)


@pytest.mark.parametrize(
    ("way", "node", "name"),
    [(way, *helper) for way in WAYS for helper in HELPERS[way]],
)
def test_a_killed_mpi_helper_process_ends_the_job(waiting, measured, node, name):
    job = waiting()

    os.kill(job.helper(node, name), signal.SIGKILL)

    codes, seconds = job.ends(time.monotonic())
    measured(codes, seconds)
    assert len(set(codes.values())) == 1 and 0 not in codes.values(), job.words()
    promise_end(soon(job), seconds)


@pytest.mark.parametrize("way", ["agent", "ssh"])
def test_sigterm_to_mpirun_ends_the_job(waiting, measured):
    job = waiting()

    os.kill(job.helper(0, "mpirun"), signal.SIGTERM)

    assert_all(job, time.monotonic(), 1, measured)


@pytest.mark.parametrize(
    ("way", "name"), [("pmix", "muster-pmix"), ("agent", "orted"), ("ssh", "orted")]
)
def test_sigterm_ends_the_job_while_an_mpi_helper_hangs(waiting, measured, name):
    job = waiting()
    os.kill(job.helper(1, name), signal.SIGSTOP)

    os.kill(job.jobs[0].guard(), signal.SIGTERM)

    assert_all(job, time.monotonic(), 143, measured)


@pytest.mark.parametrize("way", ["agent", "ssh"])
def test_a_host_without_mpiruns_daemon_ends_the_job(mpi, measured, tmp_path):
    path = path_without(tmp_path / "bin", "orted")
    job = mpi("init_thread", nodes=NODES)
    began = time.monotonic()

    job.start_all(on={2: {"PATH": path}})

    codes, seconds = job.ends(began)
    measured(codes, seconds)
    assert len(set(codes.values())) == 1 and 0 not in codes.values(), job.words()
    promise_end(soon(job), seconds)


@pytest.mark.parametrize("node", [0, 2])
def test_a_killed_agent_ends_the_job(waiting, measured, node):
    job = waiting()

    job.jobs[node].kill_agent()

    codes, seconds = job.ends(time.monotonic())
    measured(codes, seconds)
    assert codes == {other: 137 if other == node else 69 for other in range(NODES)}, job.words()
    promise_end(LOST, seconds)


@pytest.mark.parametrize("node", [0, 2])
def test_a_lost_host_ends_the_job(waiting, measured, node):
    job = waiting()
    job.lose(node)

    os.kill(job.jobs[node].guard(), signal.SIGKILL)  # the first process of a container

    codes, seconds = job.ends(time.monotonic())
    measured(codes, seconds)
    killed = codes.pop(node)
    assert killed not in (0, 69)
    assert set(codes.values()) == {69}, job.words()
    promise_end(LOST, seconds)


@pytest.mark.soak
@pytest.mark.parametrize("way", default_or_soak(["pmix", "ssh"], WAYS))
def test_a_cut_network_link_ends_the_job(waiting, hosts, measured):
    job = waiting()

    hosts.network.take_down(2)

    assert_all(job, time.monotonic(), 69, measured, within=LOST)


@pytest.mark.soak
@of_mpirun
@pytest.mark.parametrize(("mode", "code"), [(None, 127), (0o644, 126)], ids=["missing", "no program"])
def test_a_program_that_cannot_be_executed_ends_the_job(mpi, measured, tmp_path, mode, code):
    program = tmp_path / "program"
    if mode is not None:
        program.write_text("#!/bin/sh\n")
        program.chmod(mode)
    job = mpi([program], nodes=NODES)
    began = time.monotonic()

    job.start_all()

    assert_all(job, began, code, measured)


# --- The way pmix alone ---------------------------------------------------------------------------

# Singletons: ranks that were built with another MPI, or that lost their environment.
ALONE = """
for name in $(env | grep -o '^PMIX_[A-Z0-9_]*'); do unset $name; done
unset OMPI_MCA_orte_local_daemon_uri
exec "$0"
"""


@pytest.mark.parametrize("way", ["pmix"])
def test_ranks_that_run_as_singletons_are_reported(mpi, program):
    job = mpi(["sh", "-c", ALONE, *program("init_thread")], nodes=2)

    assert job.run() == [0, 0], job.words()

    assert job.lines == ["rank 0 of 1: threads multiple"] * 2
    for node in range(2):
        job.jobs[node].said_about("each rank ran alone, with size 1")


@pytest.mark.parametrize("way", ["pmix"])
@pytest.mark.parametrize(
    ("how", "why"),
    [("exit0", "ended without MPI_Finalize"), ("abort0", "called MPI_Abort(0)")],
    ids=["exit", "abort"],
)
def test_a_rank_that_exits_0_before_mpi_finalize_has_failed(waiting, measured, how, why):
    job = waiting(f"2={how}")

    assert_all(job, job.tell(2), 1, measured)

    assert f"exit code 0 ({why})" in job.jobs[2].err.text, job.words()


@pytest.mark.parametrize("way", ["pmix"])
def test_error_messages_of_mpi_about_a_rank_are_shown(mpi, program):
    job = mpi(program("init_thread"), nodes=2)

    codes = set(job.run(env={"OMPI_MCA_btl": "self,nosuch"}))

    assert 0 not in codes, job.words()
    # The other one may be asked to end before it has said anything.
    first = int(re.search(r"rank (\d) (probably )?failed first", job.words())[1])
    assert f"[{first}:{first}] Component: nosuch" in job.jobs[first].err.lines, job.words()
    assert "  | Component: nosuch" in "".join(job.words()), job.words()


@pytest.mark.parametrize("way", ["pmix"])
@pytest.mark.parametrize(("own", "code"), [(0, 71), (7, 7)])
def test_a_rank_that_exits_without_mpi_does_not_block_the_others(mpi, measured, program, own, code):
    script = f'test $RANK != 2 || exit {own}; exec "$0"'
    job = mpi(["sh", "-c", script, *program("init_thread")], nodes=NODES)
    began = time.monotonic()

    codes, seconds = job.start_all().ends(began)

    measured(codes, seconds)
    assert set(codes.values()) == {code}, job.words()
    promise_end(soon(job), seconds)
    said = "rank 2 has ended without MPI_Init, in which others wait for it" in job.words()
    assert said or own != 0, job.words()

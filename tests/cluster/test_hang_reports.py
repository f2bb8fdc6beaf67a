"""A hang is reported on the consoles of all nodes, whichever node has the rank that causes it (docs/hangs.md)."""

import json
import os
import signal
import sys

import pytest

from support import waiting_ranks

# The rank of the first argument is stopped; the others wait.
ONE_IS_STOPPED = """
import os, signal, sys
print("ready", flush=True)
if os.environ["RANK"] == sys.argv[1]:
    os.kill(os.getpid(), signal.SIGSTOP)
all_reduce()
"""


@pytest.mark.parametrize("rank", [0, 3])
def test_every_node_names_the_rank_for_which_the_others_wait(gang, tmp_path, rank):
    command = [*waiting_ranks.program(tmp_path, ONE_IS_STOPPED), str(rank)]
    hook = "--on-hang=echo node $MUSTER_HANG_NODE, ranks $MUSTER_HANG_RANKS"
    job = gang(2, "--hang-report=1", hook, workers=2, command=command)
    job.start_all()

    for one in job.jobs.values():
        one.err.wait_for(f" s: 3 of 4 ranks wait in all_reduce for rank {rank}")
        one.err.wait_for("3 ranks are alike: ")
        one.err.wait_for("on-hang: node ")
        one.err.wait_for(f", ranks {rank}\n")
    answer = job.muster.run("stacks", f"--job={job.jobs[1].guard()}", "--json")
    document = json.loads(answer.out.text)

    assert document["missing"] == 0
    assert [group["ranks"] for group in document["stacks"]] == [[one for one in range(4) if one != rank], [rank]]
    job.jobs[0].signal(signal.SIGTERM)
    job.assert_codes(143)


# The ranks of node 0 end; of the others, that of the first argument does not.
ONE_GOES_ON = """
import os, signal, sys
if os.environ["RANK"] == sys.argv[1]:
    signal.pause()
"""


def test_a_rank_that_does_not_end_is_named_when_the_first_node_has_none_left(gang):
    command = [sys.executable, "-c", ONE_GOES_ON, "3"]
    job = gang(2, "--hang-report=1", workers=2, command=command)
    job.start_all()

    for one in job.jobs.values():
        one.err.wait_for(" s: 3 of 4 ranks have ended, and not rank 3")
    job.jobs[1].signal(signal.SIGTERM)
    job.assert_codes(143)


@pytest.mark.parametrize("program", [ONE_IS_STOPPED, ONE_GOES_ON], ids=["one-is-stopped", "the-first-node-has-none-left"])
def test_a_hang_on_one_node_ends_the_job_on_all(gang, tmp_path, program):
    command = [*waiting_ranks.program(tmp_path, program), "3"]
    job = gang(2, "--hang-report=0", "--hang-timeout=2", workers=2, command=command)
    job.start_all()

    job.assert_codes(86)
    for one in job.jobs.values():
        assert "rank 3 hung: node 1" in one.err.text, one.words()


# The ranks of node 0 end; the last rank of node 1 prints lines for three times the limit, and then ends.
ONE_PRINTS_ON = """
import os, signal, sys, time
if os.environ["RANK"] == "3":
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
    signal.setitimer(signal.ITIMER_REAL, 0.2, 0.2)
    end = time.monotonic() + 6
    while time.monotonic() < end:
        signal.sigwait([signal.SIGALRM])
        print("a line", flush=True)
"""


@pytest.mark.full
def test_a_rank_that_prints_is_left_alone_when_the_first_node_has_none_left(gang):
    job = gang(2, "--hang-report=1", "--hang-timeout=2", workers=2, command=[sys.executable, "-c", ONE_PRINTS_ON])
    job.start_all()

    job.assert_codes(0)
    for one in job.jobs.values():
        assert "has not moved" not in one.err.text, one.words()


def test_stacks_fails_where_nobody_answers(gang, tmp_path):
    command = [*waiting_ranks.program(tmp_path, ONE_IS_STOPPED), "none"]
    job = gang(2, "--heartbeat-timeout=60", workers=1, command=command)
    job.start_all()
    for one in job.jobs.values():
        one.out.wait_for("ready")
    leader = job.jobs[0].agent()
    os.kill(leader, signal.SIGSTOP)

    answer = job.muster.run("stacks", f"--job={job.jobs[1].guard()}")

    os.kill(leader, signal.SIGCONT)
    assert answer.code == 75, answer.words()
    assert answer.said_about("no node has answered in time, not even this one: node 0, which asks all, may hang")
    job.jobs[0].signal(signal.SIGTERM)
    job.assert_codes(143)

"""On kernels, and under filters, that know no pidfd and no clone3."""

import signal

import pytest


@pytest.fixture
def old_kernel(worker):
    return [worker("without_pidfd")]


def test_exit_codes_pass_through(muster, old_kernel):
    codes = (0, 1, 3, 255)

    ends = {
        code: muster.run("--", "sh", "-c", f"exit {code}", through=old_kernel).code
        for code in codes
    }

    assert ends == {code: code for code in codes}


def test_a_failure_is_named_and_the_others_are_stopped(muster, worker, old_kernel):
    job = muster.run("--nproc-per-node=16", "--", worker("fail_on_rank"), 7, 5, through=old_kernel)

    assert job.code == 5
    assert "rank 7 " in job.said_about("failed first")


def test_an_abort_is_named(muster, worker, old_kernel):
    job = muster.run("--", worker("raise_signal"), 6, through=old_kernel)

    assert job.code == 134
    assert "SIGABRT" in job.said_about("failed first")


def test_the_report_says_that_the_order_within_one_wake_up_is_unknown(muster, worker, old_kernel):
    job = muster.run("--nproc-per-node=4", "--", worker("fail_on_rank"), 1, 5, through=old_kernel)

    assert job.said_about("order", "unknown")


def test_with_pidfds_the_order_is_known(muster, worker):
    job = muster.run("--nproc-per-node=4", "--", worker("fail_on_rank"), 1, 5)

    assert not any("order" in line and "unknown" in line for line in job.said)


def test_term_ends_the_job(muster, worker, old_kernel):
    job = muster.start("--nproc-per-node=4", "--", worker("echo_signals"), 0, through=old_kernel)
    job.out.wait_for("ready", times=4)

    job.signal(signal.SIGTERM)

    assert job.end(2) == 143


def test_nothing_of_a_hydra_is_left(muster, worker, old_kernel):
    job = muster.start("--grace=0.3", "--", worker("hydra"), 3, through=old_kernel)

    assert job.end(2) == 3
    muster.assert_no_survivors()


@pytest.mark.parametrize("victim", ["guard", "agent"])
def test_nothing_of_a_hydra_is_left_after_kill(muster, worker, old_kernel, victim):
    job = muster.start("--grace=0.3", "--", worker("hydra"), through=old_kernel)
    job.out.wait_for("ready\n")

    job.signal(signal.SIGKILL) if victim == "guard" else job.kill_agent()

    muster.assert_no_survivors(seconds=1)
    assert job.end() in (-signal.SIGKILL, 137)

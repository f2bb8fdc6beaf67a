"""Nodes that join while the job runs: the job restarts with them, or they wait for the next restart."""

import pytest

OPTIONS = ["--heartbeat-timeout=60", "--grace=0.5", "--last-call=0.2"]


@pytest.fixture
def growing(gang, hosts, worker_events, worker):
    """A job of one to `most` nodes with a worker each, whose attempts are told by the size of the world: none of them is a
    restart, which its workers check."""

    def make(most, *options):
        script = """
            test "$TORCHELASTIC_RESTART_COUNT $TORCHELASTIC_MAX_RESTARTS" = "0 0" || exit 9
            TORCHELASTIC_RESTART_COUNT=$((WORLD_SIZE - 1)) exec "$@"
        """
        command = ["sh", "-c", script, "sh", worker("event_worker"), worker_events.folder]
        return gang(f"1:{most}", *OPTIONS, *options, on=hosts, command=command)

    return make


def test_a_late_node_joins_at_once_without_using_a_restart(growing, hosts):
    job = growing(2, "--scale-up=now")
    job.start(0, rank="by arrival")
    job.wait_for_start(1)

    job.start(1, rank="by arrival")
    started = job.wait_for_start(2, attempt=1)

    assert [started[rank].host for rank in (0, 1)] == [hosts.name(0), hosts.name(1)]
    assert {(one.nodes, one.world_size) for one in started.values()} == {(2, 2)}
    job.worker_events.end_all(2, attempt=1)
    job.assert_codes(0)
    joins = f"{hosts.name(1)} ({hosts.address(1)}) joins the job"
    assert job.jobs[0].said_about(f"{joins}: starting attempt 1 (no restart is counted)")
    for report in job.reports().values():
        assert (report["attempt"], report["gang"]["nodes"]) == (1, 2)
        assert report["past_attempts"] == [{"attempt": 0, "reason": joins, "stderr_tail": [], "also_failed": []}]
    job.worker_events.assert_attempts_never_met()


@pytest.mark.full
def test_several_nodes_that_come_together_join_together(growing):
    job = growing(4, "--scale-up=now", "--last-call=10")
    job.start(0)
    job.wait_for_start(1)

    for node in (3, 1):
        job.start(node)
    job.wait_for_start(3, attempt=2)

    job.worker_events.end_all(3, attempt=2)
    job.assert_codes(0)
    assert job.reports()[0]["attempt"] == 1
    assert job.jobs[0].said_about("2 nodes join the job: starting attempt 1")
    job.worker_events.assert_attempts_never_met()


def test_without_scale_up_a_late_node_is_refused_and_the_job_continues(growing):
    job = growing(2)
    job.start(0)
    job.wait_for_start(1)

    late = job.start(1)

    assert late.end() == 78
    assert late.said_about("refused this node", "the job runs already, and it cannot restart")
    job.worker_events.end_all(1)
    job.assert_codes(0, node_1=78)

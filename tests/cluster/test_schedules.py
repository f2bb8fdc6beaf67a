"""Random schedules of faults (tests/schedules): no process hangs or survives, and every verdict has its cause.

Some that are over soon; scripts/dev/soak --schedules N carries out as many as one likes, and --seed repeats one.
"""

import random
from dataclasses import replace
from pathlib import Path

import pytest
from schedules.draw import draw
from schedules.lanes import Lanes
from schedules.oracle import complaints
from schedules.schedule import Fault
from schedules.seen import Seen, Strike

from support.repetitions import default_or_soak
from support.worker_events import WorkerEvent

SEEDS = [6, 8, 12, 13, 19, 20, 23, 28, 40, 44, 49, 52]  # with SOAK=1 as many others


@pytest.mark.full
def test_random_schedules_end_without_a_hang_a_survivor_or_a_wrong_verdict(tmp_path):
    lanes = Lanes(5, tmp_path, tmp_path / "results")
    fresh = random.sample(range(1 << 31), len(SEEDS))

    lanes.run(default_or_soak(SEEDS, fresh))

    accounts = [Path(tmp_path / "results" / f"{seed}.txt").read_text() for seed in lanes.wrong]
    assert not lanes.wrong, "\n".join([lanes.summary(), *accounts])


def test_a_seed_makes_the_same_schedule_each_time():
    assert str(draw(4711)) == str(draw(4711))
    assert str(draw(4711)) != str(draw(4712))


# The oracle sees what is wrong: a job of two nodes, a worker each, that nothing happens to.


@pytest.fixture
def schedule():
    changes = {
        "nodes": "2",
        "workers": (1, 1),
        "delays": (0.0, 0.0),
        "by_arrival": False,
        "on_disk": frozenset(),
        "filters": ("", ""),
        "faults": (),
    }
    return replace(draw(1), **changes)


def told(what, attempt, rank, *details):
    return WorkerEvent(1.0 + rank, what, attempt, rank, 100 + 10 * attempt + rank, details)


def started(attempt, rank):
    return told(
        "started", attempt, rank, "vm", "0", str(rank), "2", "2", "localhost", "1", str(rank)
    )


def report(code, rank, outcome, first=None):
    ended = {"exit_code": code, "signal": None}
    worker = {"global_rank": rank, "pid": 100 + rank, "outcome": outcome, **ended}
    return {
        "verdict": "failed" if first else "succeeded",
        "exit_code": code,
        "attempt": 0,
        "first_failure": first,
        "workers": [worker],
    }


def failure(rank, code):
    return {
        "node": rank,
        "global_rank": rank,
        "pid": 100 + rank,
        "exit_code": code,
        "signal": None,
        "start_error": None,
    }


def seen_of(code, endings, first=None):
    """Two agents that end with that code, whose workers end as they say."""
    outcomes = ["succeeded" if ending == 0 else "failed" for ending in endings]
    return Seen(
        codes={0: code, 1: code},
        ended_at={0: 5.0, 1: 5.0},
        consoles={0: "muster: flags", 1: "muster: flags"},
        reports={rank: report(code, rank, outcomes[rank], first) for rank in range(2)},
        events=[
            *(started(0, rank) for rank in range(2)),
            *(told("told", 0, rank, str(ending)) for rank, ending in enumerate(endings)),
        ],
    )


def test_success_and_a_failure_that_is_named_right_are_well(schedule):
    assert complaints(schedule, seen_of(0, [0, 0])) == []
    assert complaints(schedule, seen_of(3, [0, 3], failure(1, 3))) == []


def test_success_without_all_workers_is_wrong(schedule):
    assert "agent 0 ended with 0, of which nothing is the cause" in complaints(
        schedule, seen_of(0, [0, 3])
    )


@pytest.mark.parametrize("code", [3, 69, 71, 75, 78, 93, 137, 143, -15])
def test_a_code_without_a_cause_is_wrong(schedule, code):
    wrong = complaints(schedule, seen_of(code, [0, 0]))

    assert f"agent 1 ended with {code}, of which nothing is the cause" in wrong


def test_a_first_failure_that_did_not_fail_is_wrong(schedule):
    wrong = complaints(schedule, seen_of(3, [0, 3], failure(0, 3)))

    assert "agent 1 names rank 0 (pid 100) first, which did not fail by itself" in wrong


def test_a_first_failure_with_another_code_is_wrong(schedule):
    wrong = complaints(schedule, seen_of(3, [0, 3], failure(1, 4)))

    assert "agent 0 says of rank 1 (pid 101) 4, and it was 3" in wrong


def passed_on(agent, name):
    return Strike(Fault("pass on", agent, 0.5, how=name), 0.5)


def by_signal(rank, name):
    return failure(rank, None) | {"signal": f"SIG{name}"}


def test_any_of_several_forwarded_signals_may_have_ended_a_worker(schedule):
    """Of those that wait for a stopped process the kernel delivers the lowest first."""
    seen = seen_of(138, [0, 0], by_signal(1, "USR1"))
    seen.events = [one for one in seen.events if one.what != "told" or one.rank == 0]
    seen.reports[1]["workers"][0]["outcome"] = "failed"
    seen.strikes = [passed_on(1, "USR2"), passed_on(1, "USR1")]
    seen.events[1] = replace(
        seen.events[1], details=(*seen.events[1].details[:7], "1"), at=seen.strikes[0].at
    )

    assert complaints(schedule, seen) == []
    seen.strikes.pop()
    assert "agent 0 says of rank 1 (pid 101) -10, and it was -12" in complaints(schedule, seen)


def test_a_signal_may_end_a_worker_before_its_first_event(schedule):
    seen = seen_of(140, [0, 0], by_signal(1, "USR2"))
    seen.events = [one for one in seen.events if one.rank == 0]
    seen.reports[1]["workers"] = [
        by_signal(1, "USR2") | {"outcome": "failed"},
    ]
    seen.strikes = [passed_on(1, "USR2")]

    assert complaints(schedule, seen) == []
    seen.strikes = []
    assert "agent 1 names rank 1 (pid 101) first, which did not fail by itself" in complaints(
        schedule, seen
    )


def test_a_failed_worker_reported_as_stopped_is_wrong(schedule):
    seen = seen_of(3, [0, 3], failure(1, 3))
    neighbour = replace(started(0, 1), pid=99)
    seen.events += [neighbour, replace(told("TERM", 0, 1), pid=99, at=3.0)]
    seen.reports[1]["workers"][0]["outcome"] = "stopped"

    assert "agent 1 says that rank 1 stopped, which is not so" in complaints(schedule, seen)


def test_agents_that_disagree_are_wrong(schedule):
    seen = seen_of(3, [0, 3], failure(1, 3))
    seen.reports[1]["first_failure"] = None

    assert any("several first failures" in one for one in complaints(schedule, seen))
    seen.codes[1] = 0
    assert any("disagree" in one for one in complaints(schedule, seen))


def test_workers_of_two_attempts_at_once_are_wrong(schedule):
    seen = seen_of(0, [0, 0])
    seen.events.append(told("overlap", 1, 0, "alive.0.1.101"))

    assert "worker alive.0.1.101 was alive when attempt 1 began" in complaints(schedule, seen)


def test_hangs_and_survivors_are_wrong(schedule):
    seen = seen_of(0, [0, 0])
    seen.late = ["agents [1] have not ended"]
    seen.forsaken = [(1, 101)]
    seen.survivors = ["4711 (event_worker)"]

    assert complaints(schedule, seen) == [
        "agents [1] have not ended",
        "worker 101 outlived agent 1",
        "survived: 4711 (event_worker)",
    ]


def test_only_a_long_stop_explains_a_lost_node(schedule):
    seen = seen_of(69, [0, 0])
    long = Strike(Fault("stop agent", 1, 1.0, lasts=10.0), 1.0)
    short = Strike(Fault("stop agent", 1, 1.0, lasts=0.1), 1.0)

    seen.strikes = [long]
    assert complaints(schedule, seen) == []
    seen.strikes = [short]
    assert len(complaints(schedule, seen)) == 2


def test_an_agent_that_ends_late_after_a_signal_is_wrong(schedule):
    seen = seen_of(143, [0, 0])
    seen.strikes = [Strike(Fault("ask", 0, 1.0, how="TERM"), 1.0)]
    assert complaints(schedule, seen) == []

    seen.ended_at[0] = 60.0
    assert complaints(schedule, seen) == ["agent 0 ended 59.00 s after it had been asked to"]


def test_a_guard_that_does_not_notice_a_stopped_agent_is_wrong(schedule):
    seen = seen_of(69, [0, 0])
    seen.strikes = [Strike(Fault("stop agent", 1, 1.0, lasts=None), 1.0, was_running=True)]
    assert complaints(schedule, seen) == []

    seen.ended_at[1] = 60.0
    assert complaints(schedule, seen) == ["agent 1 ended 59.00 s after it had been frozen"]

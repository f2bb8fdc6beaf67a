"""Floods of connections to the leader's port: agents still join, and the job keeps its descriptors.

With SOAK=1 the whole table with 50,000 connections each, which `-s` shows.
"""

import time

import pytest

from support.deadlines import promise, wait_until
from support.flood import MANY_ADDRESSES, ONE_ADDRESS, THE_AGENTS_ADDRESS, Flood
from support.repetitions import default_or_soak, soaking
from support.wire import Peer, is_open

TOKEN = {"MUSTER_TOKEN": "correct horse battery staple"}
FEW_DESCRIPTORS = ("prlimit", "--nofile=400:400")
THE_LEAST = 72  # 32 for muster, 3 for each of 2 workers, 2 links, and 32 for strangers
CONNECTIONS = default_or_soak(3_000, 50_000)
PER_SECOND = 5_000
WORKERS = 2
PAUSE = 0.3  # seconds before the second restart: what the workers had is free meanwhile
LONG = default_or_soak(10.0, 60.0)

SOURCES = {"one": ONE_ADDRESS, "many": MANY_ADDRESSES, "the agents'": THE_AGENTS_ADDRESS}
WIRES = {"plain": None, "token": TOKEN}


@pytest.fixture
def flooded(gang, worker, tmp_path):
    """A job of two nodes whose leader has few descriptors, and a way to flood it."""

    class Flooded:
        def __init__(self, wire, through=FEW_DESCRIPTORS):
            self.job = gang(2, "--max-restarts=2", f"--restart-backoff={PAUSE}", workers=WORKERS)
            self.environment = WIRES[wire]
            self.job.start(0, env=self.environment, through=through)
            wait_until(lambda: is_open(self.job.port), f"a leader on port {self.job.port}")

        def flood(self, sources, speech):
            return Flood(
                worker("flood"),
                tmp_path,
                self.job.port,
                CONNECTIONS,
                PER_SECOND,
                SOURCES[sources],
                speech,
            )

        def join(self):
            self.job.start(1, env=self.environment)
            self.job.wait_for_start(2 * WORKERS, seconds=LONG)

        def restart(self, attempt):
            """Seconds from the failure to the last start of a worker."""
            self.job.worker_events.end(1, 3, attempt - 1)
            started = self.job.wait_for_start(2 * WORKERS, attempt, LONG)
            failed = self.job.worker_events.wait_for("told", attempt=attempt - 1, ranks={1})[0]
            return max(one.at for one in started.values()) - failed.at

        def succeed(self, attempt):
            self.job.worker_events.end_all(2 * WORKERS, 0, attempt)
            self.job.assert_codes(0, seconds=LONG)

    return Flooded


def combinations(speeches):
    """The whole table by night; by day of each wire one case of each kind, or of the two most different ones in a hurry."""
    table = [(wire, sources, speech) for wire in WIRES for sources in SOURCES for speech in speeches]
    handshakes = [("token", sources, "a handshake") for sources in SOURCES]
    if soaking():
        return table + handshakes
    by_day = [("plain", "one", speeches[0]), ("token", "the agents'", speeches[0]), ("token", "many", speeches[-1])]
    return [handshakes[0], ("plain", "many", speeches[-1]), *(pytest.param(*one, marks=pytest.mark.full) for one in by_day)]


def note(phase, wire, sources, speech, seconds):
    if soaking():
        print(f"| {phase} | {wire} | {sources} | {speech} | {seconds:.2f} s |")


@pytest.mark.parametrize(("wire", "sources", "speech"), combinations(["silence", "half a message"]))
def test_agents_join_during_a_flood_of_connections(flooded, wire, sources, speech):
    it = flooded(wire)
    with it.flood(sources, speech) as flood:
        flood.wait_until_half()
        began = time.monotonic()
        it.join()
        note("before the join", wire, sources, speech, time.monotonic() - began)
        flood.wait_until_open()
        it.succeed(attempt=0)


@pytest.mark.parametrize(("wire", "sources", "speech"), combinations(["silence", "claim"]))
def test_a_restart_in_a_flood_takes_no_longer(flooded, wire, sources, speech):
    it = flooded(wire)
    it.join()
    it.restart(attempt=1)
    with it.flood(sources, speech) as flood:
        flood.wait_until_half()
        seconds = it.restart(attempt=2)
        note("at a restart", wire, sources, speech, seconds)
        flood.wait_until_open()
        it.succeed(attempt=2)

    promise("a restart in a flood", PAUSE + 1, seconds)
    lines = [line for line in it.job.jobs[0].said if line.startswith("refused ")]
    assert len(lines) < 20, lines


@pytest.mark.parametrize(("wire", "sources", "speech"), combinations(["silence", "claim"]))
def test_a_flood_while_workers_run_is_a_line_with_numbers(flooded, wire, sources, speech):
    it = flooded(wire)
    it.join()
    with it.flood(sources, speech) as flood:
        flood.wait_until_open()
        it.succeed(attempt=0)

    leader = it.job.jobs[0]
    assert any(
        line.startswith("refused ") and " connections from " in line for line in leader.said
    ), leader.said
    assert "succeeded" in leader.said[-1], leader.said[-5:]
    assert "cannot accept connections" not in leader.err.text


def test_a_refused_connection_kept_open_is_evicted_first(flooded):
    """Links that linger after the last word come out of the budget, too."""
    it = flooded("plain")
    it.join()
    with it.flood("one", "the leader's seat") as flood:
        flood.wait_until_open()
        with Peer(it.job.port) as peer:
            peer.send(b"\0\0\0\0")
            peer.wait_for_end()
        it.succeed(attempt=0)


def test_the_least_that_a_job_may_have_is_enough_in_a_flood(flooded, gang):
    """Descriptors for unknown clients are reserved at the start, beside those that a restart needs."""
    too_few = f"--nofile={THE_LEAST - 1}:{THE_LEAST - 1}"
    refused = gang(2, workers=WORKERS).start(0, through=("prlimit", too_few))
    refused.end()
    assert refused.code == 71, refused.words()
    assert f"takes {THE_LEAST}" in refused.words(), refused.words()

    it = flooded("plain", through=("prlimit", f"--nofile={THE_LEAST}:{THE_LEAST}"))
    it.join()
    with it.flood("many", "claim") as flood:
        flood.wait_until_half()
        it.restart(attempt=1)
        flood.wait_until_open()
        it.succeed(attempt=1)

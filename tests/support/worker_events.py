"""Reads the events of the worker `event_worker`, and orders it to end."""

from dataclasses import dataclass

from .deadlines import HANG, wait_until


@dataclass(frozen=True)
class WorkerEvent:
    """One thing that happened to one worker. `at` is a moment of time.monotonic()."""

    __test__ = False  # not one of pytest's

    at: float
    what: str
    attempt: int
    rank: int
    pid: int
    details: tuple

    def __str__(self):
        words = (self.what, f"attempt {self.attempt}", f"rank {self.rank}", f"pid {self.pid}")
        return f"{self.at:.6f} {', '.join((*words, *self.details))}"

    # Of "started" only.
    @property
    def host(self):
        return self.details[0]

    @property
    def local_rank(self):
        return int(self.details[1])

    @property
    def node(self):
        return int(self.details[2])

    @property
    def nodes(self):
        return int(self.details[3])

    @property
    def world_size(self):
        return int(self.details[4])

    @property
    def master(self):
        return self.details[5], int(self.details[6])

    @property
    def agent(self):
        """The value of $TEST_AGENT in the worker's environment."""
        return self.details[7]


def _worker_event(line):
    at, what, attempt, rank, pid, *details = line.split()
    return WorkerEvent(float(at), what, int(attempt), int(rank), int(pid), tuple(details))


class WorkerEvents:
    """All workers that use one folder: those of all attempts on all nodes."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir()

    def all(self):
        file = self.folder / "events"
        if not file.exists():
            return []
        whole_lines, _, _ = file.read_text().rpartition("\n")
        return [_worker_event(line) for line in whole_lines.splitlines()]

    def told(self, what, attempt=None, ranks=None):
        return [
            one
            for one in self.all()
            if one.what == what
            and attempt in (None, one.attempt)
            and (ranks is None or one.rank in ranks)
        ]

    def wait_for(self, what, times=1, attempt=None, ranks=None, seconds=HANG):
        """The events, once there are that many. By default of any attempt and any rank."""
        wait_until(
            lambda: len(self.told(what, attempt, ranks)) >= times,
            lambda: f"'{what}' {times} times (attempt {attempt}, ranks {ranks}) among:\n"
            + "\n".join(map(str, self.all())),
            seconds,
        )
        return self.told(what, attempt, ranks)

    def wait_for_start(self, workers, attempt=0, seconds=HANG):
        """By global rank, how the workers of that attempt were started."""
        started = self.wait_for("started", workers, attempt, seconds=seconds)
        by_rank = {one.rank: one for one in started}
        assert sorted(by_rank) == list(range(workers)) and len(started) == workers, started
        return by_rank

    def end(self, rank, code, attempt=0, after=0.0):
        """The worker ends by itself with that code, or by signal -code, once it has run for so long."""
        whole = self.folder / f"end.{attempt}.{rank}"
        half = whole.with_name(f"half-{whole.name}")
        half.write_text(f"{code} {after}")
        half.rename(whole)

    def end_all(self, workers, code=0, attempt=0):
        for rank in range(workers):
            self.end(rank, code, attempt)

    def forget(self):
        """For the next job in the same folder."""
        for file in self.folder.iterdir():
            file.unlink()

    def assert_attempts_never_met(self):
        overlaps = self.told("overlap")
        assert overlaps == [], "workers of an older attempt were alive:\n" + "\n".join(
            map(str, overlaps)
        )

"""Runs the schedule of a seed in this process, and judges it."""

import json
import os
import sys
import tempfile
from pathlib import Path

from support import processes
from support.muster import Muster
from support.worker_events import WorkerEvents
from support.workers import Workers

from hosts import Hosts

from .course import Course
from .draw import MOST_AGENTS, draw
from .job import ScheduledJob
from .oracle import complaints


def run_seed(seed, folder, programs, hosts=None):
    """The schedule, what was seen, and what is wrong with that. `folder` is empty; nothing of it is removed."""
    processes.become_subreaper()
    schedule = draw(seed)
    refused = os.environ.get("REFUSE")
    under = [programs("refuse"), refused] if refused else []
    muster = Muster(folder, f"schedule-{os.getpid()}-{seed}", under)
    worker_events = WorkerEvents(folder / "worker-events")
    with ScheduledJob(schedule, muster, worker_events, programs, hosts) as job:
        seen = Course(job).run()
    return schedule, seen, complaints(schedule, seen)


def account(schedule, seen, wrong):
    """All that somebody needs who looks for the reason."""
    strikes = [
        f"{one.at - seen.began:7.3f} {one.fault}{'' if one.struck else ': nobody was there'}"
        for one in seen.strikes
    ]
    ends = [
        f"agent {agent} ended with {seen.codes.get(agent)} after {at - seen.began:.3f} s"
        for agent, at in seen.ended_at.items()
    ]
    asked = [
        f"agent {agent} was asked after {at - seen.began:.3f} s"
        for agent, at in seen.asked_at.items()
    ]
    events = [f"{one.at - seen.began:7.3f} {str(one).partition(' ')[2]}" for one in seen.events]
    consoles = [f"--- agent {agent}:\n{text}" for agent, text in seen.consoles.items()]
    parts = {
        f"seed {schedule.seed}": [str(schedule)],
        "what was wrong": wrong,
        "faults": strikes,
        "ends": [*ends, *asked, f"the machine was late by {seen.lag:.3f} s at worst"],
        "workers": events,
        "consoles": consoles,
    }
    return "\n".join(f"== {title}\n" + "\n".join(lines) for title, lines in parts.items())


class GivenHosts(Hosts):
    """Those that somebody else has made, and takes down."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


def main():
    """once SEED PROGRAMS PREFIX: a line of JSON, then the account."""
    seed, programs, prefix = int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    hosts = GivenHosts(MOST_AGENTS, prefix)
    with tempfile.TemporaryDirectory(prefix=f"schedule-{seed}-", dir="/tmp") as folder:
        schedule, seen, wrong = run_seed(seed, Path(folder), Workers(programs), hosts)
    struck = [one.fault.kind for one in seen.strikes if one.struck]
    print(json.dumps({"wrong": wrong, "struck": struck, "lag": seen.lag}))
    print(account(schedule, seen, wrong))


if __name__ == "__main__":
    main()

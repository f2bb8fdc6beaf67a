"""Many jobs run at once on one machine: only the rendezvous port has to be chosen."""

import re

import pytest

from support.gang import free_port
from support.repetitions import default_or_soak

LIMIT = default_or_soak(30, 180)  # seconds; each gang is eight processes


def start_agent(muster, port, node, worker, *options):
    return muster.start(
        "--nnodes=2",
        f"--node-rank={node}",
        "--master-addr=127.0.0.1",
        f"--master-port={port}",
        "--nproc-per-node=2",
        *options,
        "--",
        *worker,
    )


@pytest.mark.soak
def test_gangs_starting_at_once_on_one_machine_never_share_a_port(muster, worker):
    gangs = default_or_soak(10, 50)
    ports = [free_port() for _ in range(gangs)]

    jobs = [
        (start_agent(muster, port, node, [worker("meet_at_master")]), port)
        for node in (1, 0)
        for port in ports
    ]

    codes = [job.end(LIMIT) for job, _ in jobs]
    said = "\n".join(job.words() for job, _ in jobs)
    assert re.findall(r".*(?:in use|cannot listen|bind:).*", said) == []
    assert codes == [0] * len(jobs)
    for job, _ in jobs:
        assert [line.split(": ")[1] for line in job.out.lines] == ["sum 6"] * 2


@pytest.mark.soak
def test_gangs_restarting_at_once_on_one_machine_never_share_a_port(muster, worker):
    gangs = default_or_soak(5, 50)
    ports = [free_port() for _ in range(gangs)]
    script = f"""test $TORCHELASTIC_RESTART_COUNT = 2 || exit $((RANK + 1))
                 exec {worker("meet_at_master")}"""
    options = ["--max-restarts=2", "--restart-backoff=0.05", "--no-progress-limit=0"]

    jobs = [
        start_agent(muster, port, node, ["sh", "-c", script], *options)
        for port in ports
        for node in (0, 1)
    ]

    codes = [job.end(LIMIT) for job in jobs]
    said = "\n".join(job.words() for job in jobs)
    assert re.findall(r".*(?:in use|cannot listen|bind:).*", said) == []
    assert codes == [0] * len(jobs), said[-4000:]

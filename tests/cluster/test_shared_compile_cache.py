"""Caches of compilers on two nodes: each fills its own, and node 0 alone keeps what is new (docs/first-step.md)."""

import os

import pytest

from support.frozen import unanswered

PYTHON = "/usr/bin/python3"
# Rank 0 compiles for all, as far as nobody has compiled before; each rank compiles something of its own, too.
COMPILES = """
import os, pathlib, time
folder = pathlib.Path(os.environ["TORCHINDUCTOR_CACHE_DIR"])
folder.mkdir(parents=True, exist_ok=True)
for name in ("shared.py", "own%s.py" % os.environ["RANK"]):
    entry = folder / name
    print("found" if entry.exists() else "made", name, flush=True)
    if not entry.exists():
        entry.write_text(name)
        os.utime(entry, (1_700_000_000,) * 2)
"""


@pytest.fixture
def run(gang, tmp_path):
    """Runs a job on two nodes, whose disks have this name; returns what each has printed, and said."""
    program = tmp_path / "compiles.py"
    program.write_text(COMPILES)

    def start(name, *options):
        job = gang(2, "--compile-cache", tmp_path / "store", *options, command=[PYTHON, program])
        for node in (0, 1):
            disk = tmp_path / f"{name}{node}"
            disk.mkdir(exist_ok=True)
            job.start(node, env={"TMPDIR": disk})
        return job

    def run_to_end(name, *options):
        job = start(name, *options)
        assert job.end() == {0: 0, 1: 0}
        return [job.jobs[node].out.text.splitlines() for node in (0, 1)], [job.jobs[node].err.text for node in (0, 1)]

    run_to_end.start = start
    return run_to_end


def test_each_node_is_filled_and_node_0_keeps(run, tmp_path):
    printed, said = run("first")
    assert "compile caches: kept 2 new entries" in said[0] and "kept" not in said[1]
    assert len(list((tmp_path / "store").glob("*.pack"))) == 1

    printed, said = run("second")

    assert [[line.split()[-2] for line in lines] for lines in printed] == [["found", "found"], ["found", "made"]]
    assert all("compile caches: 2 entries" in text for text in said)


@pytest.mark.full
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_a_node_whose_store_does_not_answer_holds_up_the_others_for_half_a_minute(run, tmp_path):
    run("first")
    with unanswered(tmp_path / "store"):
        job = run.start("second")
        for node in (0, 1):
            job.jobs[node].err.wait_for("has not given all entries within 30 s")
        assert job.end() == {0: 0, 1: 0}

"""Nodes race for one shared folder where locks hold on each node alone, as on NFS with local_lock or nolock: tvm-ffi#667 has it of another
compiler. With --compile-cache each node has a folder of its own.
"""

import os
import pathlib
import re

import pytest
from support.compiler_caches import PYTHON
from support.repetitions import default_or_soak, soaking

PROGRAM = pathlib.Path(__file__).parents[1] / "workers" / "cache_race.py"
NODES, WORKERS = 3, 2
# Locks of this node alone, in a folder that all nodes share.
LOCAL_LOCKS = 'mount --bind "$LOCKS" "$SHARED/locks" && exec "$@"'


def failed_rounds(muster, folder, rounds, with_option):
    shared = folder / "shared"
    (shared / "locks").mkdir(parents=True)
    meeting = folder / "meeting"
    meeting.write_bytes(bytes(4 * NODES * WORKERS))
    jobs = []
    for node in range(NODES):
        disk = folder / f"node-{node}"
        locks = disk / "locks"
        locks.mkdir(parents=True)
        env = {"TMPDIR": disk, "LOCKS": locks, "SHARED": shared, **({} if with_option else {"TORCHINDUCTOR_CACHE_DIR": shared})}
        options = ["--compile-cache", folder / "store"] if with_option else []
        program = [PYTHON, PROGRAM, rounds, NODES * WORKERS, node * WORKERS, meeting]
        through = ["unshare", "--mount", "sh", "-c", LOCAL_LOCKS, "sh"]
        jobs.append(muster.start(*options, "--nproc-per-node", WORKERS, *program, env=env, through=through))
    for job in jobs:
        assert job.end(1800) == 0, job.words()
    return {int(count) for job in jobs for count in re.findall(r"failed (\d+)", job.out.text)}


@pytest.mark.soak
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: each node has mounts of its own")
def test_nodes_do_not_race_for_what_compilers_keep(muster, tmp_path, capsys):
    rounds = default_or_soak(20, 500)
    shared = failed_rounds(muster, tmp_path / "without", rounds, with_option=False)
    own = failed_rounds(muster, tmp_path / "with", rounds, with_option=True)
    with capsys.disabled():
        print(f"\nof {rounds} rounds failed: {len(shared)} without --compile-cache, {len(own)} with it")
    assert own == set()
    assert shared or not soaking(), "the race was not to be seen"

"""The examples that need Python alone."""

import pytest

from support.muster import ROOT

ALLREDUCE = ROOT / "examples" / "allreduce.py"


@pytest.mark.parametrize("launcher", [[], ["torchrun"]], ids=["muster", "torchrun"])
def test_allreduce_sums_the_ranks(launcher, muster):
    """Behind torchrun the launcher has a store at MASTER_PORT, so that rank 0 listens elsewhere."""
    done = muster.run(*launcher, "--nproc-per-node", "3", ALLREDUCE)

    assert done.code == 0, done.words()
    assert sorted(line.split("] ")[-1] for line in done.out.lines) == [
        f"rank {rank} of 3: sum 3, as expected" for rank in range(3)
    ]

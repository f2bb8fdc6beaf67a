"""The stacks of ranks of real PyTorch on Python 3.11, which py-spy reads, and what the store knows of them."""

import json

import jobs
import pytest

WAITS = jobs.script("wait_for_one.py")


@pytest.mark.framework
def test_py_spy_reads_the_ranks_and_the_store_says_for_which_key_they_wait(launcher, torch_venv):
    job = launcher.start("--nproc-per-node=3", "--store=agent", "--hang-report=8", "--", torch_venv / "python3", WAITS)

    job.err.wait_for("2 of 3 ranks wait in init_process_group for rank 2")
    job.err.wait_for("wait_for_one.py:11 in load_shard")
    job.err.wait_for("in the store of the ranks '/default_pg/0//cpu//0/2' was waited for by ranks 0-1")
    answer = launcher.run("stacks", f"--job={job.guard()}", "--json")

    groups = {tuple(group["ranks"]): group["stack"] for group in json.loads(answer.out.text)["stacks"]}
    assert [line for _, _, line in groups[(2,)]] == [11, 15]
    assert any(function == "init_process_group" for _, function, _ in groups[(0, 1)])
    job.signal(15)
    assert job.end() == 143

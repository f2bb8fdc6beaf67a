"""NCCL ranks of which one hangs: PyTorch's flight recorder and the stacks name it, and NCCL's RAS threads where a person
asks them (docs/hangs.md)."""

import json
import re
import signal
import socket

import pytest

WORKERS = 4
HUNG = 2
LIMIT = 6  # seconds of quiet; 60 by default
START = 120  # seconds until CUDA is ready
NAMED = re.compile(r"^(?:.*muster: )?rank (\d+) \(.*, pid", re.MULTILINE)
SOURCES = {
    "recorder": {"NCCL_RAS_ENABLE": 0, "PATH": "/usr/bin:/bin"},  # without py-spy, unless it is beside the interpreter
    "ras": {"TORCH_FR_BUFFER_SIZE": 0, "TORCH_NCCL_TRACE_BUFFER_SIZE": 0},
}
ASKS = "--hang-ask=stacks,py-spy,recorder,nccl"


def named(text):
    return {int(rank) for rank in NAMED.findall(text)}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("kind", ["asleep", "half", "loop", "stopped"])
def test_the_rank_that_others_wait_for_on_the_gpu_is_named(muster, script, kind, source):
    job = muster.start(
        *["--grace=1", ASKS, f"--nproc-per-node={WORKERS}", f"--hang-report={LIMIT}"],
        *["--", *script("hang", kind, HUNG)],
        env=SOURCES[source],
    )
    job.out.wait_for("hangs now", seconds=START)
    job.err.wait_for(f"{WORKERS - 1} of {WORKERS} ranks ", seconds=START)
    job.err.wait_for(f"muster: rank {HUNG} ({socket.gethostname()}, pid ", seconds=START)
    reported = job.err.text
    wish = ["--ask-nccl=yes"] if source == "ras" else []
    answer = json.loads(muster.run("stacks", f"--job={job.guard()}", "--json", *wish).out.text)
    print(f"{kind}, by {source}:", reported, *answer["verdict"], sep="\n  ")
    job.signal(signal.SIGTERM)
    job.end(START)

    assert job.code == 143
    assert named(reported) == {HUNG}
    assert named("\n".join(answer["verdict"])) == {HUNG}
    assert source != "ras" or "preparing to dump" not in reported


@pytest.mark.parametrize("source", SOURCES)
def test_a_job_that_trains_in_silence_is_left_alone(muster, script, source):
    job = muster.run(
        *["--grace=1", f"--nproc-per-node={WORKERS}", f"--hang-report={LIMIT}"],
        *["--", *script("hang", "silent", HUNG)],
        env=SOURCES[source],
        seconds=START,
    )

    assert job.code == 0, job.words()
    after = job.err.text.partition("trains now")[2]
    assert after
    assert "has not moved" not in after
    assert source == "recorder" or "preparing to dump" not in after

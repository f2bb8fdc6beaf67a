"""The watchdog of torch.distributed.elastic, with torch's own client."""

import re
import subprocess

import pytest

import jobs

pytestmark = pytest.mark.framework


def test_a_worker_that_hangs_in_a_timer_is_killed(muster, torch_venv, tmp_path):
    settings = jobs.environment(torch_venv, tmp_path, TORCHELASTIC_ENABLE_FILE_TIMER="1")
    line = [muster, "torchrun", "--nproc-per-node=2", jobs.script("torch_timer.py")]
    job = subprocess.run(
        line,
        env=settings,
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=jobs.DEADLINE,
        check=False,
    )

    assert job.returncode == 137, job.stderr
    assert set(job.stdout.split()) == {"well"}, "nobody comes out of the scope in which it hangs"
    told = r"failed first: .* \(the timer 'a step' of process [0-9]+ has expired, sent it SIGKILL\)"
    assert re.search(told, job.stderr), job.stderr

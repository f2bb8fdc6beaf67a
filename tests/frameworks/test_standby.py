"""Ranks that begin from standbys compute what ranks compute that were started (docs/standby.md)."""

import os
import pathlib
import re

import pytest

from support.repetitions import default_or_soak

pytestmark = pytest.mark.framework
PROGRAM = pathlib.Path(__file__).parent / "workers" / "restarted.py"
RESULT = re.compile(r"^(?:\[\d\] )?attempt (\d) rank (\d) has (\w+), drew (\w+)$", re.MULTILINE)
READY = "can restart without importing again"
SECONDS = 200  # each rank imports torch at a quarter of a CPU, one after the other


@pytest.fixture
def train(launcher, torch_venv, tmp_path):
    """Starts a node of a job, with standbys or without."""

    def start(kind, folder, crashes, *options, standby="auto", through=(), ranks=2):
        return launcher.start(
            *("torchrun", f"--nproc-per-node={ranks}", f"--max-restarts={crashes}", "--grace=2", f"--standby={standby}"),
            *("--standby-after=1", *options, PROGRAM, kind, folder, crashes),
            through=(*through, "chrt", "--batch", "0"),  # paced: both cores are busy
            env={"PATH": f"{torch_venv}:{os.environ['PATH']}", "OMP_NUM_THREADS": 1, "CUDA_VISIBLE_DEVICES": "", "XDG_CACHE_HOME": tmp_path / "cache"},
        )

    return start


def run(jobs, folder, crashes, has_standbys, ranks=1):
    """Lets the job crash in each attempt as soon as it can restart; returns {(attempt, rank): (parameters, drawn)}."""
    for attempt in range(crashes):
        for job in jobs if has_standbys else ():
            job.err.wait_for(READY, times=attempt + 1, seconds=SECONDS)
        for job in jobs:
            job.out.wait_for(f"attempt {attempt} rank", times=ranks, seconds=SECONDS)
        (folder / f"go{attempt}").touch()
    assert [job.end(SECONDS) for job in jobs] == [0] * len(jobs), jobs[0].words()
    found = RESULT.findall("".join(job.out.text for job in jobs))
    return {(int(attempt), int(rank)): (parameters, drawn) for attempt, rank, parameters, drawn in found}


@pytest.mark.parametrize("kind", ["loaders", "spawned loaders", "spawn", "compile", "fsdp"])
def test_a_restart_from_standbys_computes_the_same(train, tmp_path, kind):
    results = {}
    for standby in ("off", "auto"):
        folder = tmp_path / standby
        folder.mkdir()
        job = train(kind, folder, 1, standby=standby)
        results[standby] = run([job], folder, 1, standby == "auto")
    assert "attempt 1: 2 of 2 ranks from standby" in job.err.text

    learned = {standby: {of: one[0] for of, one in found.items()} for standby, found in results.items()}
    assert len(learned["off"]) == 4 and learned["auto"] == learned["off"]
    drawn = [one[1] for found in results.values() for one in found.values()]
    assert len(set(drawn)) == len(drawn), "each process draws for itself"


def test_two_nodes_with_many_restarts_end_with_the_same_parameters(train, two_hosts, tmp_path):
    crashes = default_or_soak(1, 20)
    results = {}
    for standby in ("off", "auto"):
        folder = tmp_path / standby
        folder.mkdir()
        jobs = [
            train("ddp", folder, crashes, "--nnodes=2", f"--node-rank={node}", f"--master-addr={two_hosts.address(0)}",
                  "--restart-backoff=0", standby=standby, ranks=1, through=two_hosts.command("exec", str(node)))
            for node in (0, 1)
        ]
        results[standby] = run(jobs, folder, crashes, standby == "auto")
    for attempt in range(1, crashes + 1):
        assert all(f"attempt {attempt}: 1 of 1 rank from standby" in job.err.text for job in jobs)
    assert {of: one[0] for of, one in results["auto"].items()} == {of: one[0] for of, one in results["off"].items()}


def test_a_first_start_from_standbys_computes_the_same(train, two_hosts, tmp_path):
    """The second job knows the imports by the first one, and does them while its first node waits."""
    results = []
    for crashes in (1, 0):
        folder = tmp_path / str(crashes)
        folder.mkdir()

        def start(node):
            return train("ddp", folder, crashes, "--nnodes=2", f"--node-rank={node}", f"--master-addr={two_hosts.address(0)}",
                         ranks=1, through=two_hosts.command("exec", str(node)))

        first = start(0)
        if crashes == 0:
            first.err.wait_for("can start without importing", seconds=SECONDS)
        results.append(run([first, start(1)], folder, crashes, crashes > 0))

    assert "attempt 0: 1 of 1 rank from standby" in first.err.text
    learned, started = ({of: one[0] for of, one in found.items() if of[0] == 0} for found in results)
    assert len(learned) == 2 and started == learned


OTHERS = {
    "jax": """
import jax
import jax.numpy as jnp
def learn():
    values = jax.random.normal(jax.random.key(7), (16, 16))
    return jax.jit(lambda one: jnp.tanh(one @ one.T))(values)
""",
    "tensorflow": """
import tensorflow as tf
def learn():
    tf.keras.utils.set_random_seed(1)
    model = tf.keras.Sequential([tf.keras.layers.Dense(4, activation="tanh"), tf.keras.layers.Dense(1)])
    model.compile(optimizer="sgd", loss="mse")
    inputs = numpy.arange(64, dtype="float32").reshape(16, 4) / 64
    model.fit(inputs, inputs.sum(1), epochs=2, shuffle=False, verbose=0)
    return model.get_weights()[0]
""",
    "mindspore": """
import mindspore
from mindspore import Tensor, nn
def learn():
    mindspore.set_seed(1)
    return nn.Dense(4, 4)(Tensor(numpy.arange(16, dtype="float32").reshape(4, 4))).asnumpy()
""",
    "torch_others": """
import torch
from transformers import BertConfig, BertModel
def learn():
    torch.manual_seed(1)
    model = BertModel(BertConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, vocab_size=99)).eval()
    return model(torch.arange(12).reshape(2, 6)).last_hidden_state.detach().numpy()
""",
}
WAITS_AND_CRASHES = """
attempt = int(os.environ["MUSTER_RESTART_COUNT"])
learned = hashlib.sha256(numpy.asarray(learn()).tobytes()).hexdigest()[:16]
drawn = f"{random.random()} {numpy.random.random()} {hash('muster')}"
print(f"attempt {attempt} rank {os.environ['RANK']} has {learned}, drew {hashlib.md5(drawn.encode()).hexdigest()}", flush=True)
while attempt == 0 and not pathlib.Path(sys.argv[1], "go0").exists():
    time.sleep(0.01)
os._exit(3 if attempt == 0 and os.environ["RANK"] == "0" else 0)
"""


@pytest.mark.parametrize("kind", OTHERS)
def test_other_frameworks_compute_the_same(launcher, request, kind, tmp_path):
    venv = request.getfixturevalue(f"{kind}_venv")
    program = tmp_path / "program.py"
    imports = "import hashlib, os, pathlib, random, sys, time\nimport numpy\n"
    program.write_text(imports + OTHERS[kind] + WAITS_AND_CRASHES)
    results = {}
    for standby in ("off", "auto"):
        folder = tmp_path / standby
        folder.mkdir()
        job = launcher.start(
            *("torchrun", "--nproc-per-node=2", "--max-restarts=1", "--grace=2", f"--standby={standby}", "--standby-after=1"),
            *(program, folder),
            through=("chrt", "--batch", "0"),
            env={"PATH": f"{venv}:{os.environ['PATH']}", "OMP_NUM_THREADS": 1, "CUDA_VISIBLE_DEVICES": "", "XDG_CACHE_HOME": tmp_path / "cache"},
        )
        results[standby] = run([job], folder, 1, standby == "auto", ranks=2)
    assert "attempt 1: 2 of 2 ranks from standby" in job.err.text

    learned = {standby: {of: one[0] for of, one in found.items()} for standby, found in results.items()}
    assert len(learned["off"]) == 4 and learned["auto"] == learned["off"]
    drawn = [one[1] for found in results.values() for one in found.values()]
    assert len(set(drawn)) == len(drawn)

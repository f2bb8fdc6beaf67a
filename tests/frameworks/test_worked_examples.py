"""The worked examples of examples/ train with PyTorch, each as far as it can run without its cluster."""

import os
import pathlib
import re
import subprocess
import sys

import pytest
import yaml

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = REPOSITORY / "examples"
sys.path.insert(0, str(REPOSITORY / "tests" / "manifests"))

from clusters import pods_of  # noqa: E402

DEADLINE = 300  # seconds; imports of torch on two cores that others use, too


@pytest.fixture
def job(tmp_path, python, clean_environment):
    """The environment of a job, and the data beside its folder of checkpoints."""
    environment = {**clean_environment, "PYTHON_EXEC": python, "MUSTER_NPROC_PER_NODE": "1", "PYTHONWARNINGS": "ignore"}
    command = [python, EXAMPLES / "make_data.py", tmp_path / "data", "--files", "2", "--samples", "32"]
    subprocess.run(command, env=environment, check=True, timeout=DEADLINE)
    return environment


def run(command, environment, folder, **options):
    return subprocess.Popen(
        command, env=environment, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options
    )


def train(muster, *options):
    words = [EXAMPLES / "train.py", "--data", "data", "--checkpoints", "checkpoints", *options]
    return [muster, *map(str, words)]


def test_a_training_that_is_ended_goes_on_from_its_checkpoint(muster, job, tmp_path):
    job["MUSTER_NPROC_PER_NODE"] = "2"
    first = run(train(muster, "--epochs", "1000000"), job, tmp_path)
    try:
        for line in first.stdout:
            if "epoch 1 of" in line:
                break
        first.terminate()
        said, _ = first.communicate(timeout=DEADLINE)
    finally:
        first.kill()
    assert first.returncode == 143, said
    saved = re.search(r"epoch (\d+) of 1000000: asked to end, saved checkpoints/last.pt", said)
    assert saved, said

    second = run(train(muster, "--epochs", str(int(saved[1]) + 1)), job, tmp_path)
    said, _ = second.communicate(timeout=DEADLINE)

    assert second.returncode == 0, said
    assert f"going on after epoch {saved[1]} from checkpoints/last.pt" in said
    assert f"epoch {int(saved[1]) + 1} of {int(saved[1]) + 1}: loss" in said


@pytest.mark.parametrize("kind", ["jobset", "volcano"])
def test_the_pods_of_a_manifest_train(kind, muster, job, tmp_path):
    """Each pod as its controller would start it, but all here: names of pods lead to this host."""
    if os.geteuid() != 0:
        pytest.skip("needs root: it mounts a list of hosts")
    documents = list(yaml.safe_load_all((EXAMPLES / f"train-{kind}.yaml").read_text()))
    pods = pods_of(kind, documents)
    names = " ".join({pod.leader for pod in pods} | {f"train-worker-{i}.train" for i in range(2)})
    (tmp_path / "hosts").write_text(f"127.0.0.1 localhost {names}\n")
    places = {"/workspace": str(EXAMPLES), "/data": str(tmp_path / "data"), "/checkpoints": str(tmp_path)}

    agents = []
    for pod in pods:
        words = [re.sub("^(/workspace|/data|/checkpoints)", lambda at: places[at[0]], one) for one in pod.arguments]
        words += ["--epochs", "2"]
        environment = {**pod.environment, **job}
        script = 'mount --bind hosts /etc/hosts && exec "$@"'
        agents.append(run(["unshare", "-m", "sh", "-c", script, "sh", muster, *words], environment, tmp_path))
    said = []
    try:
        for agent in agents:
            said.append(agent.communicate(timeout=DEADLINE)[0])
    finally:
        for agent in agents:
            agent.kill()

    assert [agent.returncode for agent in agents] == [0, 0], said
    assert "epoch 2 of 2: loss" in said[0], said
    assert "node 1 of 2" in said[1], said


def test_two_machines_train(muster, job, tmp_path):
    """The second machine is this one, by a shell in the place of ssh."""
    (tmp_path / "shell").write_text('#!/bin/sh\nexec /bin/sh -c "$2"\n')
    (tmp_path / "shell").chmod(0o755)
    job |= {
        "PATH": f"{pathlib.Path(muster).parent}:{os.environ['PATH']}", "MUSTER_REMOTE_SHELL": str(tmp_path / "shell"),
        "MUSTER_MASTER_ADDR": "127.0.0.1", "MUSTER_FORWARD_ENV": "PYTHON_EXEC",
    }  # fmt: skip

    launcher = run([EXAMPLES / "two-machines", "gpu-01", "gpu-02", "--epochs", "2"], job, tmp_path)
    said, _ = launcher.communicate(timeout=DEADLINE)

    assert launcher.returncode == 0, said
    assert "epoch 2 of 2: loss" in said
    assert (tmp_path / "checkpoints" / "last.pt").exists() and (tmp_path / "report.json").exists()

"""`muster render --check-fit`: its answer, its exit code, and the input that it refuses."""

import json

import pytest


def node(number, devices=8):
    return {
        "kind": "Node",
        "metadata": {"name": f"node-{number}"},
        "spec": {},
        "status": {
            "allocatable": {"cpu": "72", "memory": "788815132Ki", "nvidia.com/gpu": str(devices), "pods": "110"},
            "conditions": [{"type": "MemoryPressure", "status": "False"}, {"type": "Ready", "status": "True"}],
        },
    }  # fmt: skip


def pod(where, devices):
    resources = {"requests": {"cpu": "1", "nvidia.com/gpu": str(devices)}}
    return {
        "kind": "Pod",
        "metadata": {"name": "other", "namespace": "team"},
        "spec": {"nodeName": where, "containers": [{"name": "c", "resources": resources}]},
        "status": {"phase": "Running"},
    }


def a_list(*items):
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items})


NODES = [node(number) for number in range(100)]
SAID = "99 of 100 fit: 1 pod with 8 nvidia.com/gpu is missing; largest free node has 4 nvidia.com/gpu\n"


def test_a_pod_that_does_not_fit_is_reported_with_75(muster, tmp_path):
    (tmp_path / "nodes.json").write_text(a_list(*NODES))
    (tmp_path / "pods.json").write_text(a_list(pod("node-3", 4)))
    wanted = ("--nodes", "100", "--devices", "8")

    full = muster("render", "--check-fit", "nodes.json", "--pods", "pods.json", *wanted)
    empty = muster("render", "--check-fit", "nodes.json", *wanted)

    assert (full.returncode, full.stdout.splitlines(keepends=True)[0], full.stderr) == (75, SAID, "")
    assert empty.returncode == 0
    assert empty.stdout.startswith("100 of 100 fit; there is room for 100\n")
    assert "no pods were given" in empty.stdout


def test_nodes_and_pods_are_read_from_one_stream(muster):
    stream = a_list(pod("node-3", 4), *NODES)

    done = muster("render", "--check-fit", "-", "--nodes", "100", stdin=stream)
    fewer = muster("render", "--check-fit=-", "--nodes", "99", stdin=stream)

    assert (done.returncode, done.stdout.splitlines(keepends=True)[0]) == (75, SAID)
    assert fewer.returncode == 0


def test_check_fit_takes_the_options_of_the_manifest(muster):
    """The same line answers, and then renders."""
    stream = a_list(node(1), node(2))
    line = ("jobset", "--name", "a", "--image", "b", "--nodes", "3", "--devices", "4", "--cpus", "40", "--", "x.py")

    done = muster("render", "--check-fit", "-", *line[1:], stdin=stream)

    assert done.returncode == 75
    assert done.stdout.startswith("2 of 3 fit: 1 pod with 4 nvidia.com/gpu, 40 cpu is missing")
    assert muster("render", *line).returncode == 0


@pytest.mark.parametrize(
    "text, code, said",
    [
        ("", 65, "standard input is no JSON (incomplete JSON), expected what 'kubectl get nodes -o json' prints"),
        ("no json", 65, "standard input is no JSON ("),
        ('{"kind": "List", "items": []}', 65, "standard input: it holds no node"),
        ('{"kind": "Secret"}', 65, "standard input: it holds something of the kind 'Secret', expected nodes and pods"),
        (a_list(node(1, "lots")), 65, "of the node 'node-1' nvidia.com/gpu is 'lots', expected a quantity"),
    ],
)  # fmt: skip
def test_text_that_is_no_cluster_is_refused(text, code, said, muster):
    done = muster("render", "--check-fit", "-", stdin=text)

    assert (done.returncode, done.stdout) == (code, "")
    assert said in done.stderr


@pytest.mark.parametrize(
    "line, code, said",
    [
        ("--check-fit nowhere.json", 65, "--check-fit is 'nowhere.json': No such file or directory"),
        ("--check-fit - --pods -", 64, "there is one standard input"),
        ("volcano --name a --image b --pods p.json -- x", 64, "--check-fit is missing"),
        ("--check-fit - --nodes many", 64, "--nodes is 'many', expected a number of nodes from 1 to 100000"),
        ("slurm --check-fit -", 64, "the kind of manifest is 'slurm', expected one that Kubernetes is given"),
    ],
)
def test_invalid_check_fit_options_are_refused(line, code, said, muster):
    done = muster("render", *line.split())

    assert (done.returncode, done.stdout) == (code, "")
    assert said in done.stderr

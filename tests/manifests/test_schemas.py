"""The manifests against kubectl, and against the schemas that their projects publish."""

import itertools
import json
import os
import re
import subprocess
from pathlib import Path

import pytest
import yaml
from clusters import ALL_OF_PODS

NAMED = ("--name", "train", "--image", "train:1.0", "--nodes", "3")
EVERYTHING = (
    "--namespace", "team", "--cpus", "16", "--memory", "512Gi", "--shared-memory", "64Gi", "--queue", "q",
    "--node-selector", "pool=a", "--tolerations", "nvidia.com/gpu,a=b:NoSchedule", "--port", "7",
    "--env", "A=$(B)", "--volume", "data:/data:ro", "--volume", "/scratch:/scratch", "--resource", "rdma/hca=1",
    "--image-pull-secret", "one", "--service-account", "two", "--label", "team=a", "--priority-class", "high",
    "--toleration", "30",
)  # fmt: skip

LIMITS = ("--time-limit", "3600", "--ttl", "60")
COSCHEDULING = ("--scheduler", "coscheduling")


@pytest.fixture
def files(render, tmp_path):
    """Every kind, with little and with everything that can be given."""
    (tmp_path / "patch.yaml").write_text("spec: {hostNetwork: true, containers: [{name: muster, stdin: true}]}")
    patch = ("--patch", str(tmp_path / "patch.yaml"))
    little = ((), patch, ("--no-token", "--devices", "0", "--scheduler", "volcano"))
    found = []
    for kind, options in itertools.product(ALL_OF_PODS, (*little, EVERYTHING, (*EVERYTHING, *COSCHEDULING))):
        if kind != "volcano" or options[-2:] != COSCHEDULING:  # which alone starts its Jobs
            file = tmp_path / f"{kind}-{len(found)}.yaml"
            limits = {"leaderworkerset": (), "trainjob": LIMITS[:2]}.get(kind, LIMITS) if "--env" in options else ()
            options = (*limits, *(one for one in options if kind != "mpijob" or one != "--no-token"))
            file.write_text(render(kind, *NAMED, *options, "--", "a.py", "$x", "é\n"))
            found.append(file)
    return found


def run(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, **options)


def check(*files):
    venv = os.environ.get("MANIFESTS_VENV")
    assert venv, "MANIFESTS_VENV is not set: scripts/test --full manifests makes it"
    return run(Path(venv) / "bin/python", Path(__file__).with_name("check_schemas.py"), *files)


def test_kubectl_reads_the_manifests(files):
    """--local asks no server. kubectl reads YAML as an API server does; PyYAML is another reader."""
    for file in files:
        done = run("kubectl", "annotate", "--local", "-f", file, "checked=yes", "-o", "json")
        assert done.returncode == 0, f"{file.name}: {done.stderr}"
        decoder, text, seen = json.JSONDecoder(), done.stdout.strip(), []
        while text:
            document, end = decoder.raw_decode(text)
            seen.append(document)
            text = text[end:].strip()
        for document in seen:
            annotations = document["metadata"].pop("annotations")
            assert annotations == {"checked": "yes"}
        assert seen == list(yaml.safe_load_all(file.read_text()))


def test_the_schemas_know_every_field(files):
    done = check(*files)

    assert done.returncode == 0, done.stdout + done.stderr


def test_the_schemas_reject_an_unknown_field(files, tmp_path):
    bad = [tmp_path / f"bad-{kind}.yaml" for kind in ALL_OF_PODS]
    for kind, file in zip(ALL_OF_PODS, bad, strict=True):
        text = next(one for one in files if one.name.startswith(kind)).read_text()
        assert "terminationGracePeriodSeconds" in text
        file.write_text(text.replace("terminationGracePeriodSeconds", "terminationGrace"))

    done = check(*bad)

    assert done.returncode == 1
    for file in bad:
        assert re.search(rf"{file}: .*terminationGrace\b", done.stdout), done.stdout

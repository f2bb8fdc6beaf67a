"""Manifests with the file of --patch are what Kubernetes and a shell accept."""

import json
import subprocess

import pytest
from clusters import ALL_OF_PODS, SCRIPTS, documents_of, job_of, without_advice
from support.muster import binary

NAMED = ("--name", "train", "--image", "train:1.0")


@pytest.fixture
def patched(muster, tmp_path):
    """What `muster render` prints and how it ends, with the text as its patch."""

    def run(text, kind, *options):
        (tmp_path / "p.yaml").write_text(text, newline="")
        return muster("render", kind, *options, "--patch", "p.yaml", "--", "x")

    return run


@pytest.fixture
def pod_of(patched):
    """The patched pod's spec."""

    def run(text, *options, kind="jobset"):
        done = patched(text, kind, *NAMED, *options)
        assert (done.returncode, without_advice(done.stderr)) == (0, "")
        return job_of(kind, documents_of(done.stdout))[1]["spec"]

    return run


def limits(**amounts):
    return muster_with(f"resources: {{limits: {json.dumps(amounts)}}}")


def muster_with(fields):
    return f"spec: {{containers: [{{name: muster, {fields}}}]}}"


@pytest.mark.parametrize("kind", ALL_OF_PODS)
def test_a_limit_of_the_patch_is_the_request_that_nobody_gave(kind, pod_of):
    (container,) = pod_of(limits(memory="512Mi"), "--devices", "0", kind=kind)["containers"]

    assert container["resources"] == {"requests": {"cpu": "1"}, "limits": {"memory": "512Mi"}}


def test_a_limit_of_the_patch_leaves_what_was_given(pod_of):
    (container,) = pod_of(limits(cpu=4, memory="4Gi"), "--devices", "0", "--cpus", "3500m")["containers"]
    assert container["resources"] == {"requests": {"cpu": "3500m"}, "limits": {"cpu": 4, "memory": "4Gi"}}
    (container,) = pod_of(limits(memory=None), "--devices", "0")["containers"]
    assert container["resources"]["requests"] == {"cpu": "1", "memory": "1Gi"}


@pytest.mark.parametrize(
    "text, options, said",
    [
        (limits(memory="4Gi"), ("--memory", "8Gi"), "the limit of memory is '4Gi', expected at least the request of '8Gi'"),
        (limits(cpu=2), ("--cpus", "2500m"), "the limit of cpu is '2', expected at least the request of '2500m'"),
        (limits(memory="4Gi").replace("limits", "requests"), ("--memory", "2Gi"), "the limit of memory is '2Gi', expected"),
        ("spec: {containers: 5}", (), "its 'spec.containers' is '5', expected a list of containers, each with a name"),
        ("spec: {containers: null}", (), "its 'spec.containers' is 'null', expected a list of containers"),
        ("spec: {containers: [{image: a}]}", (), "its 'spec.containers' is '[{\"image\":\"a\"}]', expected a list"),
        (limits(**{"nvidia.com/gpu": 4}), (), "nvidia.com/gpu is '4', expected the '8' of --devices"),
        (limits(**{"nvidia.com/gpu": 4}).replace("limits", "requests"), (), "nvidia.com/gpu is '4', expected the '8' of"),
        (limits(**{"rdma/hca": 1}).replace("limits", "requests"), (), "the request of rdma/hca is '1', expected a limit of the same"),
        (muster_with("volumeMounts: [{name: nope, mountPath: /x}]"), (), "the container 'muster' mounts the volume 'nope', expected"),
        (muster_with("ports: [{name: a, containerPort: 29500}]"), (), "the container 'muster' has the containerPort 29500, expected"),
        ("spec: {restartPolicy: OnFailure}", (), "spec.restartPolicy is 'OnFailure', expected 'Never', the only one"),
        ("metadata: {labels: {job-name: a}}", (), "metadata.labels has 'job-name', expected labels that no controller"),
    ],
)  # fmt: skip
def test_a_patch_that_kubernetes_would_refuse_is_bad_data(text, options, said, patched):
    done = patched(text, "jobset", *NAMED, *options)

    assert (done.returncode, done.stdout) == (65, "")
    assert f"p.yaml: {said}" in done.stderr


def test_a_directive_of_another_patch_is_bad_data(patched):
    done = patched("spec:\n  containers:\n    - name: muster\n      $patch: delete\n", "jobset", *NAMED)

    assert (done.returncode, done.stdout) == (65, "")
    assert "p.yaml:4: it has '$patch', expected fields of a pod alone" in done.stderr


@pytest.mark.parametrize("kind", ALL_OF_PODS)
def test_what_kubernetes_takes_as_text_alone_is_quoted(kind, pod_of):
    text = "spec: {priority: 5, nodeSelector: {a: true}, containers: [{name: muster, env: [{name: A, value: 0755}]}]}"

    spec = pod_of(text, kind=kind)

    assert (spec["priority"], spec["nodeSelector"]) == (5, {"a": "true"})
    assert {"name": "A", "value": "0755"} in spec["containers"][0]["env"]


@pytest.mark.parametrize("kind", ALL_OF_PODS)
def test_sidecars_with_volumes_and_ports_are_left_alone(kind, pod_of):
    spec = pod_of("""
spec:
  volumes: [{name: logs, emptyDir: {}}]
  initContainers:
    - {name: native, image: a, restartPolicy: Always, ports: [{containerPort: 9100}], volumeMounts: [{name: logs, mountPath: /l}]}
  containers:
    - {name: muster, volumeMounts: [{name: logs, mountPath: /logs}], ports: [{name: metrics, containerPort: 9400}]}
    - {name: sidecar, image: b, ports: [{containerPort: 8080}], resources: {limits: {memory: 1Gi, rdma/hca: 1}}}
""", kind=kind)  # fmt: skip

    assert spec["initContainers"][0]["restartPolicy"] == "Always"
    ours, sidecar = spec["containers"]
    assert {"name": "logs", "mountPath": "/logs"} in ours["volumeMounts"]
    assert [one["containerPort"] for one in ours["ports"]] == [29500, 9400]
    assert sidecar["resources"]["limits"] == {"memory": "1Gi", "rdma/hca": 1}


@pytest.mark.parametrize(
    "kind, refused, accepted",
    [("indexed-job", "Always", "Never"), ("trainjob", "OnFailure", "Never"), ("leaderworkerset", "Never", "Always")],
)
def test_a_restart_policy_is_one_that_the_controller_accepts(kind, refused, accepted, patched, pod_of):
    done = patched(f"spec: {{restartPolicy: {refused}}}", kind, *NAMED)
    assert (done.returncode, done.stdout) == (65, "")
    assert f"spec.restartPolicy is '{refused}', expected '{accepted}'" in done.stderr

    assert pod_of(f"spec: {{restartPolicy: {accepted}}}", kind=kind)["restartPolicy"] == accepted
    assert pod_of("spec: {restartPolicy: OnFailure}", kind="volcano")["restartPolicy"] == "OnFailure"


def test_the_launcher_of_an_mpijob_gets_no_devices(patched):
    done = patched(limits(**{"nvidia.com/gpu": 8, "rdma/hca": 1, "memory": "2Gi"}), "mpijob", *NAMED, "--memory", "2Gi")

    assert (done.returncode, done.stderr) == (0, "")
    replicas = documents_of(done.stdout)[0]["spec"]["mpiReplicaSpecs"]
    resources = [replicas[role]["template"]["spec"]["containers"][0]["resources"] for role in ("Launcher", "Worker")]
    assert resources[0]["limits"] == {"memory": "2Gi"}
    assert resources[1]["limits"] == {"memory": "2Gi", "nvidia.com/gpu": 8, "rdma/hca": 1}
    done = patched(limits(**{"nvidia.com/gpu": 4}), "mpijob", *NAMED)
    assert (done.returncode, done.stdout) == (65, "") and "give --devices instead" in done.stderr


def test_a_grace_of_the_patch_below_that_of_muster_is_told(patched):
    def said(seconds, *options):
        done = patched(f"spec: {{terminationGracePeriodSeconds: {seconds}}}", "volcano", *NAMED, *options)
        assert done.returncode == 0 and f"terminationGracePeriodSeconds: {seconds}\n" in done.stdout
        return done.stderr

    assert "p.yaml: terminationGracePeriodSeconds is 10, less than the 30 s of --grace" in said(10)
    assert said(30) == "" and said(10, "--grace", "10") == ""


def test_another_source_of_a_variable_or_a_volume_replaces_the_old_one(pod_of):
    spec = pod_of("""
spec:
  containers:
    - name: muster
      env:
        - {name: MUSTER_TOKEN, value: secret}
        - {name: JOBSET_NAME, valueFrom: {configMapKeyRef: {name: a, key: b}}}
        - {name: A, value: null, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}
  volumes: [{name: shared-memory, hostPath: {path: /dev/shm}}]
""", "--env", "A=b", "--shared-memory", "1Gi")  # fmt: skip

    sources = {one["name"]: one for one in spec["containers"][0]["env"]}
    assert sources["MUSTER_TOKEN"] == {"name": "MUSTER_TOKEN", "value": "secret"}
    assert sources["JOBSET_NAME"]["valueFrom"] == {"configMapKeyRef": {"name": "a", "key": "b"}}
    assert sources["A"] == {"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}
    assert spec["volumes"] == [{"name": "shared-memory", "hostPath": {"path": "/dev/shm"}}]


def test_the_same_source_of_a_variable_or_a_volume_is_merged(pod_of):
    spec = pod_of("""
spec:
  containers: [{name: muster, env: [{name: MUSTER_TOKEN, valueFrom: {secretKeyRef: {name: ours}}}]}]
  volumes: [{name: shared-memory, emptyDir: {sizeLimit: 2Gi}}]
""")

    (token,) = [one for one in spec["containers"][0]["env"] if one["name"] == "MUSTER_TOKEN"]
    assert token["valueFrom"] == {"secretKeyRef": {"name": "ours", "key": "token"}}
    assert spec["volumes"] == [{"name": "shared-memory", "emptyDir": {"medium": "Memory", "sizeLimit": "2Gi"}}]


def test_tolerations_of_a_patch_are_added(pod_of):
    mine = [{"key": "a", "operator": "Exists", "effect": "NoExecute"}, {"operator": "Exists"}]

    spec = pod_of(f"spec: {{tolerations: {mine}}}", "--tolerations", "a:NoSchedule")

    assert spec["tolerations"] == [{"key": "a", "operator": "Exists", "effect": "NoSchedule"}, *mine]
    assert pod_of(f"spec: {{tolerations: {mine}}}")["tolerations"] == mine


def test_a_mount_of_a_patch_replaces_the_one_at_its_path(pod_of):
    text = "spec: {containers: [{name: muster, volumeMounts: [{name: volume-0, mountPath: /d/, subPath: a}]}]}"

    (container,) = pod_of(text, "--volume", "c:/d")["containers"]

    assert container["volumeMounts"][1:] == [{"name": "volume-0", "mountPath": "/d/", "subPath": "a"}]


@pytest.mark.parametrize("kind", SCRIPTS)
def test_a_script_has_no_carriage_returns_of_a_patch(kind, tmp_path):
    (tmp_path / "patch").write_bytes(b"module load cuda\r\nexport A=b\r\n")
    line = [binary(), "render", kind, "--name", "train", "--patch", tmp_path / "patch", "--", "x"]
    script = subprocess.run(line, capture_output=True, timeout=20, check=True).stdout

    assert b"\nmodule load cuda\nexport A=b\n" in script and b"\r" not in script


def test_a_patch_of_a_pod_may_have_carriage_returns(pod_of):
    assert pod_of("spec:\r\n  hostNetwork: true\r\n  runtimeClassName: a\r\n")["runtimeClassName"] == "a"

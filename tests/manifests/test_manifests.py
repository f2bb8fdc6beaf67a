"""Manifests of `muster render` are valid, complete and repeatable for each platform."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from clusters import ALL_OF_PODS, KINDS, MACHINE, SCRIPTS, documents_of, job_of, pods_of

ROOT = Path(__file__).resolve().parents[2]
NAMED = ("--name", "train", "--image", "train:1.0")
# Texts that YAML, Kubernetes or a shell might take for something else.
HARD = [
    "", " ", "a b", "it's", '"quoted"', "$HOME", "$(HOME)", "$$(HOME)", "$$", "`id`", "#no comment", "key: value",
    "- item", "yes", "null", "0755", "1e3", "~", "*", "&anchor", "!tag", "%x", "{a}", "{{b}}", "{name}", "[c]", "|", ">",
    "back\\slash", "two\nlines", "\n#SBATCH --wrong\n", "tab\t", "\r\n", "\x01\x7f", "é日本🙂", "\u0085\u2028\ufeff",
    "--option=value", "-x", "--", "; exit 1", "&& false", "\\", "'", "!!", "EOF",
]  # fmt: skip


# --- What the controllers make of it, muster reads ------------------------------------------------


@pytest.mark.parametrize("nodes", [1, 3, 12])
@pytest.mark.parametrize("kind", KINDS)
def test_each_pod_gets_its_node_rank(kind, nodes, render, muster):
    text = render(kind, *NAMED, "--nodes", str(nodes), "--devices", "4", "--", "true")
    pods = pods_of(kind, documents_of(text))

    assert len(pods) == nodes
    for rank, pod in enumerate(pods):
        done = muster("plan", "--json", *pod.arguments, env=pod.environment)
        assert done.returncode == 0, done.stderr
        plan = json.loads(done.stdout)
        assert (plan["nodes"]["count"], plan["nodes"]["rank"]) == (nodes, rank)
        assert plan["nodes"]["slots"] == [4] * nodes
        assert plan["world_size"] == 4 * nodes
        if nodes > 1:
            assert plan["rendezvous"] == {"address": pod.leader, "port": 29500}


@pytest.mark.parametrize("kind", KINDS)
def test_a_given_port_is_used(kind, render, muster):
    text = render(kind, *NAMED, "--nodes", "2", "--port", "3456", "--", "true")

    for pod in pods_of(kind, documents_of(text)):
        done = muster("plan", "--json", *pod.arguments, env=pod.environment)
        assert json.loads(done.stdout)["rendezvous"]["port"] == 3456, done.stderr
        assert pod.spec["containers"][0]["ports"][0]["containerPort"] == 3456


@pytest.mark.parametrize("kind", KINDS)
def test_arguments_arrive_byte_for_byte(kind, render):
    text = render(kind, *NAMED, "--", "program", *HARD)

    (pod,) = pods_of(kind, documents_of(text))
    assert pod.arguments == ["--grace", "30", "program", *HARD]


@pytest.mark.parametrize("kind", KINDS)
def test_arguments_that_are_not_utf8_are_refused(kind, muster):
    done = muster("render", kind, *NAMED, "--", "program", b"a\xff")

    assert done.returncode == 64
    assert "is no UTF-8" in done.stderr


# --- All or nothing -------------------------------------------------------------------------------


def test_volcano_starts_all_pods_or_none(render):
    job, _ = job_of("volcano", documents_of(render("volcano", *NAMED, "--nodes", "5", "--", "true")))

    spec = job["spec"]
    assert spec["schedulerName"] == "volcano"
    assert spec["minAvailable"] == sum(task["replicas"] for task in spec["tasks"]) == 5
    assert "--publish-not-ready-addresses=true" in spec["plugins"]["svc"]
    assert spec["plugins"]["ssh"] == []


@pytest.mark.parametrize("kind", ["indexed-job", "jobset"])
def test_a_pod_group_holds_all_pods(kind, render):
    for scheduler, version in (
        ("coscheduling", "scheduling.x-k8s.io/v1alpha1"),
        ("volcano", "scheduling.volcano.sh/v1beta1"),
    ):
        documents = documents_of(
            render(kind, *NAMED, "--nodes", "5", "--scheduler", scheduler, "--", "true")
        )
        (group,) = [one for one in documents if one["kind"] == "PodGroup"]
        _, template = job_of(kind, documents)

        assert (group["apiVersion"], group["spec"]["minMember"]) == (version, 5)
        labels = template["metadata"]["labels"] | template["metadata"]["annotations"]
        key = {"coscheduling": "scheduling.x-k8s.io/pod-group", "volcano": "scheduling.k8s.io/group-name"}
        assert labels[key[scheduler]] == group["metadata"]["name"]
        assert scheduler[:4] in template["spec"]["schedulerName"].replace("scheduler-plugins", "cosc")


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "volcano"])
def test_pods_say_how_many_belong_together(kind, render):
    documents = documents_of(render(kind, *NAMED, "--nodes", "100", "--", "true"))

    annotations = job_of(kind, documents)[1]["metadata"]["annotations"]
    assert annotations["scheduling.k8s.io/group-name"] == "train"
    assert annotations["scheduling.k8s.io/group-pod-num"] == "100"


@pytest.mark.parametrize("kind", [kind for kind in ALL_OF_PODS if kind != "volcano"])
def test_a_queue_is_kueues(kind, render):
    documents = documents_of(render(kind, *NAMED, "--queue", "team-a", "--", "true"))

    job = documents[-1]
    assert job["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "team-a"
    suspend = job["spec"].get("suspend", job["spec"].get("runPolicy", {}).get("suspend"))
    assert suspend is (None if kind == "leaderworkerset" else True)  # Kueue gates the pods of that one


def test_a_queue_is_set_for_volcano_where_it_schedules(render):
    def volcanos(kind):
        arguments = (*NAMED, "--scheduler", "volcano", "--queue", "q", "--", "true")
        return json.dumps(documents_of(render(kind, *arguments)))

    assert all('"queue": "q"' in volcanos(kind) for kind in ("volcano", "kubeflow", "jobset", "mpijob"))
    assert all("suspend" not in volcanos(kind) for kind in KINDS)


# --- Ends -----------------------------------------------------------------------------------------


def codes_with(*advices):
    """The codes of docs/interfaces.md for which a scheduler should do this."""
    rows = re.findall(r"^\| (\d+) \|.*\| ([^|]+) \|$", (ROOT / "docs/interfaces.md").read_text(), re.M)
    return {int(code) for code, advice in rows if advice in advices}


def test_retried_exit_codes_match_the_documentation(render):
    again = codes_with("requeue", "retry", "retry elsewhere")
    texts = {kind: render(kind, *NAMED, "--nodes", "2", "--", "true") for kind in KINDS}
    jobs = {kind: job_of(kind, documents_of(text))[0]["spec"] for kind, text in texts.items()}

    policies = jobs["volcano"]["policies"]
    codes = {one["exitCode"] for one in policies if one.get("exitCode")}
    assert codes == again | {143}
    assert {one["action"] for one in policies if one.get("exitCode")} == {"RestartJob"}
    assert [one["action"] for one in policies if one.get("event") == "PodFailed"] == ["TerminateJob"]
    replicated = [jobs["jobset"]["replicatedJobs"], jobs["trainjob"]["template"]["spec"]["replicatedJobs"]]
    for spec in (jobs["indexed-job"], *(one["template"]["spec"] for (one,) in replicated)):
        moved, rule = spec["podFailurePolicy"]["rules"]
        assert moved["action"] == ("Ignore" if spec is jobs["indexed-job"] else "Count")
        assert moved["onPodConditions"] == [{"type": "DisruptionTarget", "status": "True"}]
        assert (rule["action"], rule["onExitCodes"]["operator"]) == ("FailJob", "NotIn")
        assert set(rule["onExitCodes"]["values"]) == again | {143}
        (container,) = spec["template"]["spec"]["containers"]
        assert rule["onExitCodes"]["containerName"] == container["name"]
        assert spec["template"]["spec"]["restartPolicy"] == "Never"  # or there may be no such rule
    slurm = render("slurm", "--name", "train", "--", "true")
    assert set(map(int, re.search(r"^  ([\d |]+)\)$", slurm, re.M)[1].split("|"))) == again


def test_restarts_are_converted_to_the_controllers_counting(render):
    def spec(kind):
        text = render(kind, *NAMED, "--nodes", "4", "--restarts", "2", "--", "true")
        return job_of(kind, documents_of(text))[0]["spec"]

    assert spec("volcano")["maxRetry"] == 2
    assert spec("jobset")["failurePolicy"]["maxRestarts"] == 2
    assert spec("trainjob")["template"]["spec"]["failurePolicy"]["maxRestarts"] == 2
    assert spec("indexed-job")["backoffLimit"] == 8
    assert spec("kubeflow")["runPolicy"]["backoffLimit"] == 9  # fails when it has counted so many
    assert spec("mpijob")["runPolicy"]["backoffLimit"] == 2


def test_zero_restarts_disable_restarting(render):
    """To Volcano a maxRetry of 0 is none that was given, and it takes 3."""

    def spec(kind):
        text = render(kind, *NAMED, "--nodes", "2", "--restarts", "0", "--", "true")
        return job_of(kind, documents_of(text))[0]["spec"]

    assert "maxRetry" not in spec("volcano")
    assert {one["action"] for one in spec("volcano")["policies"]} == {"TerminateJob", "CompleteJob"}
    replicas = spec("kubeflow")["pytorchReplicaSpecs"].values()
    assert {one["restartPolicy"] for one in replicas} == {"Never"}
    assert spec("indexed-job")["backoffLimit"] == 0
    assert spec("jobset")["failurePolicy"]["maxRestarts"] == 0


def test_no_placeholder_is_left(render):
    for kind in [*ALL_OF_PODS, *SCRIPTS, "dockerfile"]:
        line = NAMED[:2] if kind in SCRIPTS else NAMED
        assert re.findall(r"(?<!\$)\{[a-z_]+\}", render(kind, *line, "--", "true")) == []


@pytest.mark.parametrize("kind", KINDS)
def test_the_grace_of_the_pod_is_longer_than_musters(kind, render):
    for grace in (0, 30, 600):
        (pod,) = pods_of(kind, documents_of(render(kind, *NAMED, "--grace", str(grace), "--", "true")))

        assert pod.arguments[:2] == ["--grace", str(grace)]
        assert pod.spec["terminationGracePeriodSeconds"] == grace + 15


def test_a_time_limit_is_the_platforms(render):
    for kind in ALL_OF_PODS:
        if kind == "leaderworkerset":  # which has none
            continue
        text = render(kind, *NAMED, "--time-limit", "86400", "--", "true")
        assert re.search(r"activeDeadlineSeconds: 86400$", text, re.M), kind
        if kind == "volcano":  # whose pods alone have one, and end with 143
            assert "exitCode: 143" not in text
    assert "#SBATCH --time=1-02:03:04\n" in render(
        "slurm", "--name", "a", "--time-limit", str(86400 + 7384), "--", "true"
    )


@pytest.mark.parametrize(
    "image, written",
    [
        ("team/train:1.0", "team/train:1.0"),
        ("registry.example/team/train:1.0", "'registry.example#team/train:1.0'"),
        ("registry.example:5000/train", "'registry.example:5000#train'"),
        ("registry.example#team/train", "'registry.example#team/train'"),
        ("/data/train.sqsh", "/data/train.sqsh"),
    ],
)
def test_slurm_gets_the_image_in_the_form_of_pyxis(image, written, render):
    text = render("slurm", "--name", "a", "--image", image, "--", "true")

    assert f"--container-image={written} " in text


# --- The pod --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_a_pod_has_the_requested_resources(kind, render):
    text = render(
        kind, *NAMED, "--devices", "2", "--device-kind", "ascend", "--cpus", "1.5", "--memory", "8Gi",
        "--shared-memory", "2Gi", "--node-selector", "pool=train,zone=", "--namespace", "team",
        "--tolerations", "huawei.com/npu,pool=train:NoSchedule", "--", "true",
    )  # fmt: skip
    documents = documents_of(text)
    (pod,) = pods_of(kind, documents)

    (container,) = pod.spec["containers"]
    assert container["image"] == "train:1.0"
    assert container["command"] == ["muster"]
    assert container["resources"] == {
        "requests": {"cpu": "1.5", "memory": "8Gi"},
        "limits": {"memory": "8Gi", "huawei.com/Ascend910": "2"},
    }
    assert container["volumeMounts"] == [{"name": "shared-memory", "mountPath": "/dev/shm"}]
    assert pod.spec["volumes"] == [
        {"name": "shared-memory", "emptyDir": {"medium": "Memory", "sizeLimit": "2Gi"}}
    ]
    assert pod.spec["nodeSelector"] == {"pool": "train", "zone": ""}
    assert pod.spec["tolerations"] == [
        {"key": "huawei.com/npu", "operator": "Exists"},
        {"key": "pool", "value": "train", "effect": "NoSchedule"},
    ]
    assert {one["metadata"]["namespace"] for one in documents} == {"team"}


def test_a_pod_has_no_limits_that_were_not_given(render):
    """Without any request a pod is the first to be evicted; a limit of memory that nobody asked for kills jobs."""

    def resources(*line):
        (pod,) = pods_of("jobset", documents_of(render("jobset", *NAMED, *line)))
        return pod.spec["containers"][0]["resources"]

    assert resources("--devices", "0", "--", "x") == {"requests": {"cpu": "1", "memory": "1Gi"}}
    assert resources("--devices", "0", "--", "--nproc-per-node", "3", "x")["requests"] == {"cpu": "3", "memory": "3Gi"}
    assert resources("--devices", "0", "--", "torchrun", "--nproc_per_node=2", "x.py")["requests"]["cpu"] == "2"
    assert resources("--", "x") == {"requests": {"cpu": "8", "memory": "8Gi"}, "limits": {"nvidia.com/gpu": "8"}}

    (pod,) = pods_of("indexed-job", documents_of(render("indexed-job", *NAMED, "--devices", "0", "--", "x")))
    assert "MUSTER_NPROC_PER_NODE" not in pod.environment
    assert not {"nodeSelector", "tolerations", "schedulerName"} & set(pod.spec)


@pytest.mark.parametrize("kind", KINDS)
def test_a_pod_knows_the_name_of_its_machine(kind, render, muster, tmp_path):
    def render_it(*own):
        text = render(kind, *NAMED, "--nodes", "2", *own, "--", "true")
        pods = pods_of(kind, documents_of(text))
        (variable,) = [one for one in pods[1].spec["containers"][0]["env"] if one["name"] == "MUSTER_MACHINE"]
        assert text.count("MUSTER_MACHINE") == text.count("terminationGracePeriodSeconds")  # once in each template
        return pods[1], variable

    pod, variable = render_it()
    assert variable == {"name": "MUSTER_MACHINE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}
    assert pod.environment["MUSTER_MACHINE"] == MACHINE
    assert muster("plan", *pod.arguments, env=pod.environment).returncode == 0

    (tmp_path / "patch.yaml").write_text("spec: {containers: [{name: muster, env: [{name: MUSTER_MACHINE, value: mine}]}]}")
    for own in (("--env", "MUSTER_MACHINE=mine"), ("--patch", tmp_path / "patch.yaml")):
        assert render_it(*own)[1] == {"name": "MUSTER_MACHINE", "value": "mine"}


@pytest.mark.parametrize("kind", ["mpijob", *SCRIPTS])
def test_a_manifest_whose_agents_start_through_a_host_names_no_machine(kind, render):
    """There the host name is that of the machine, or the launcher does not know it."""
    assert "MUSTER_MACHINE" not in render(kind, *(NAMED[:2] if kind in SCRIPTS else NAMED), "--", "true")


def test_no_manifest_holds_the_token(render):
    for kind in KINDS:
        text = render(kind, *NAMED, "--token-secret", "my-secret", "--", "true")
        (pod,) = pods_of(kind, documents_of(text))
        assert "MUSTER_TOKEN" in pod.environment
        assert "kubectl create secret generic my-secret --from-literal=token=" in text
        assert "ssh:" not in text
        without = render(kind, *NAMED, "--no-token", "--", "true")
        assert not re.search("token|ssh:", without)
    assert "train-token" in render("jobset", *NAMED, "--", "true")


def test_the_command_that_makes_the_secret_is_told_where_nobody_reads_the_manifest(muster):
    def said(kind, *options):
        done = muster("render", kind, *NAMED[: 2 if kind in SCRIPTS else 4], *options, "--", "true")
        assert done.returncode == 0
        return done.stderr, done.stdout

    made = 'kubectl create secret generic train-token --from-literal=token="$(muster token)"'
    for options, command in {(): made, ("--namespace", "team"): f"{made} -n team"}.items():
        told, text = said("jobset", *options)
        assert told == f"muster: before the first job: {command}\n"
        assert f"\n#   {command}\n" in text
    for without in (("jobset", "--no-token"), ("volcano",), ("mpijob",), ("slurm",)):
        assert said(*without)[0] == ""


def test_a_terminal_shows_the_comment_of_the_manifest(tmp_path):
    line = [os.environ["MUSTER"], "render", "jobset", *NAMED, "--", "true"]
    ours, terminal = os.openpty()
    done = subprocess.run(line, stdout=terminal, stderr=subprocess.PIPE, text=True, timeout=20, check=True)
    os.close(terminal)
    os.close(ours)

    assert done.stderr == ""


def test_the_same_line_prints_the_same_text(muster):
    for kind in [*ALL_OF_PODS, *SCRIPTS, "dockerfile"]:
        line = ("render", kind, *(NAMED[:2] if kind in SCRIPTS else NAMED), "--", "a.py")
        texts = {
            muster(*line).stdout,
            muster(*line, env={"RANK": "1", "WORLD_SIZE": "2", "MUSTER_GRACE": "9"}).stdout,
        }
        assert len(texts) == 1


# --- What the user adds ---------------------------------------------------------------------------

ADDED = (
    "--env", "NCCL_DEBUG=INFO", "--env", "HARD=$(HOME) 'a' \"b\" $$", "--volume", "my-claim:/data:ro", "--volume",
    "/mnt/scratch:/scratch", "--resource", "rdma/hca=1", "--image-pull-secret", "one", "--image-pull-secret", "two",
    "--service-account", "trainer", "--label", "team=vision", "--label", "example.com/run=7", "--priority-class", "high",
    "--toleration", "30",
)  # fmt: skip


@pytest.mark.parametrize("kind", ALL_OF_PODS)
def test_all_pods_have_what_the_user_adds(kind, render):
    documents = documents_of(render(kind, *NAMED, *ADDED, "--", "true"))

    job, template = job_of(kind, documents)
    spec = template["spec"]
    (container,) = spec["containers"]
    if kind != "mpijob":  # its launcher hands them on
        variables = {one["name"]: one.get("value") for one in container["env"]}
        assert (variables["NCCL_DEBUG"], variables["HARD"]) == ("INFO", "$$(HOME) 'a' \"b\" $$$$")
    assert {"name": "volume-0", "persistentVolumeClaim": {"claimName": "my-claim"}} in spec["volumes"]
    assert {"name": "volume-1", "hostPath": {"path": "/mnt/scratch"}} in spec["volumes"]
    assert container["volumeMounts"][1:] == [
        {"name": "volume-0", "mountPath": "/data", "readOnly": True},
        {"name": "volume-1", "mountPath": "/scratch"},
    ]
    assert container["resources"]["limits"] == {"nvidia.com/gpu": "8", "rdma/hca": "1"}
    assert spec["imagePullSecrets"] == [{"name": "one"}, {"name": "two"}]
    assert (spec["serviceAccountName"], spec["priorityClassName"]) == ("trainer", "high")
    assert spec["tolerations"] == [
        {"key": f"node.kubernetes.io/{state}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 30}
        for state in ("not-ready", "unreachable")
    ]
    of_job = documents[-1] if kind == "trainjob" else job
    for labels in (template["metadata"]["labels"], of_job["metadata"]["labels"]):
        wanted = {"team": "vision", "example.com/run": "7", "app.kubernetes.io/name": "train"}
        assert wanted.items() <= labels.items()


def test_a_ttl_stands_where_each_controller_reads_it(render, refuse):
    def spec(kind):
        return job_of(kind, documents_of(render(kind, *NAMED, "--ttl", "600", "--", "true")))[0]["spec"]

    for kind in ("volcano", "indexed-job", "jobset"):
        assert spec(kind)["ttlSecondsAfterFinished"] == 600
    for kind in ("kubeflow", "mpijob"):
        assert spec(kind)["runPolicy"]["ttlSecondsAfterFinished"] == 600
    assert "ttl" not in render("jobset", *NAMED, "--", "true").lower()
    for kind in ("trainjob", "leaderworkerset"):
        assert refuse(kind, *NAMED, "--ttl", "600", "--", "true") == f"--ttl has no place in a manifest of the kind {kind}"


@pytest.mark.parametrize("kind", ALL_OF_PODS)
def test_a_patch_is_merged_into_each_pod(kind, render, tmp_path):
    (tmp_path / "patch.yaml").write_text("""
metadata: {annotations: {sidecar.istio.io/inject: "false"}}
spec:
  hostNetwork: true
  terminationGracePeriodSeconds: 99
  containers:
    - name: muster
      env: [{name: NCCL_DEBUG, value: WARN}]
      securityContext: {capabilities: {add: [IPC_LOCK]}}
  volumes: [{name: keys, secret: {secretName: keys, defaultMode: 0400}}]
""")
    line = (kind, *NAMED, "--nodes", "2", "--env", "NCCL_DEBUG=INFO", "--patch", tmp_path / "patch.yaml")
    documents = documents_of(render(*line, "--", "a.py", *HARD))

    template = job_of(kind, documents)[1]
    assert template["metadata"]["annotations"]["sidecar.istio.io/inject"] == "false"
    spec = template["spec"]
    (container,) = spec["containers"]
    assert (spec["hostNetwork"], spec["terminationGracePeriodSeconds"]) == (True, 99)
    assert {"name": "NCCL_DEBUG", "value": "WARN"} in container["env"]
    assert container["securityContext"] == {"capabilities": {"add": ["IPC_LOCK"]}}
    assert [one["name"] for one in spec["volumes"]] == ["shared-memory", "keys"]
    assert spec["volumes"][1]["secret"]["defaultMode"] == 0o400
    assert container["ports"][0]["containerPort"] == 29500
    if kind in KINDS:
        assert pods_of(kind, documents)[0].arguments == ["--grace", "30", "a.py", *HARD]


@pytest.mark.parametrize("kind", SCRIPTS)
def test_a_patch_stands_behind_the_directives_of_a_script(kind, render, tmp_path):
    (tmp_path / "patch").write_text("#SBATCH --constraint=ib\nmodule load cuda\n")
    text = render(kind, "--name", "train", "--patch", tmp_path / "patch", "--", "a.py")

    before, _, after = text.partition("\n#SBATCH --constraint=ib\nmodule load cuda\n\n")
    directive = {"slurm": "#SBATCH ", "pbs": "#PBS ", "lsf": "#BSUB "}[kind]
    assert before.splitlines()[-1].startswith(directive)
    assert directive not in after


def test_two_creates_do_not_share_a_name_that_is_drawn(render):
    line = ("jobset", "--name", "train-", "--image", "train:1.0", "--", "true")
    jobs = [documents_of(render(*line)) for _ in range(2)]

    names = [one[0]["metadata"]["name"] for one in jobs]
    assert all(re.fullmatch("train-[a-z0-9]{5}", name) for name in names)
    assert names[0] != names[1]
    assert all("name: \"train-token\"" in render(*line) for _ in range(2))


@pytest.mark.parametrize("kind", ["volcano", "kubeflow", "leaderworkerset"])
def test_a_kind_without_a_job_takes_the_labels_of_jobs(kind, render, tmp_path):
    (tmp_path / "p.yaml").write_text("metadata: {labels: {controller-uid: b}}")
    text = render(kind, *NAMED, "--label", "job-name=a", "--patch", tmp_path / "p.yaml", "--", "true")
    _, template = job_of(kind, documents_of(text))
    assert {"job-name": "a", "controller-uid": "b"}.items() <= template["metadata"]["labels"].items()


def test_another_name_of_a_kind_is_that_kind(render):
    assert render("pytorchjob", *NAMED, "--", "x") == render("kubeflow", *NAMED, "--", "x")
    assert render("lws", *NAMED, "--", "x") == render("leaderworkerset", *NAMED, "--", "x")


def test_the_launcher_of_an_mpijob_starts_all_hosts(render, muster, tmp_path):
    line = ("mpijob", *NAMED, "--nodes", "2", "--devices", "4", "--env", "A=b")
    job, worker = job_of("mpijob", documents_of(render(*line, "--", "program", *HARD)))
    replicas = job["spec"]["mpiReplicaSpecs"]
    (launcher,) = replicas["Launcher"]["template"]["spec"]["containers"]

    # Source: pkg/controller/mpi_job_controller.go, newConfigMap.
    hosts = "".join(f"train-worker-{i}.train.default.svc slots={job['spec']['slotsPerWorker']}\n" for i in range(2))
    (tmp_path / "hostfile").write_text(hosts)
    arguments = [str(tmp_path / "hostfile") if one == "/etc/mpi/hostfile" else one for one in launcher["args"]]
    environment = {one["name"]: one.get("value", "") for one in launcher["env"]}
    environment |= {"K_MPI_JOB_ROLE": "launcher", "KUBERNETES_SERVICE_HOST": "10.0.0.1"}
    done = muster("plan", *arguments[:6], "program", env=environment)

    assert done.returncode == 0, done.stderr
    assert "train-worker-1.train.default.svc" in done.stdout
    assert environment["MUSTER_FORWARD_ENV"] == "A"
    assert "nvidia.com/gpu" not in json.dumps(launcher)
    assert replicas["Worker"]["replicas"] == job["spec"]["runPolicy"]["schedulingPolicy"]["minAvailable"] == 2
    assert not {"command", "args", "env"} & set(worker["spec"]["containers"][0])  # the operator starts sshd


# --- The script for Slurm -------------------------------------------------------------------------


def run_script(folder, text, code=0, **environment):
    """Runs it with an srun that only writes down what it is given."""
    tools = folder / "tools"
    tools.mkdir(exist_ok=True)
    (tools / "srun").write_text(
        f"#!/bin/bash\nprintf '%s\\0' \"$@\" >{folder}/srun\nenv >{folder}/env\nexit {code}\n"
    )
    (tools / "scontrol").write_text(f"#!/bin/bash\necho \"$@\" >>{folder}/scontrol\n")
    for tool in tools.iterdir():
        tool.chmod(0o755)
    (folder / "scontrol").write_text("")
    (folder / "script").write_bytes(os.fsencode(text))
    done = subprocess.run(
        ["bash", folder / "script"],
        env={"PATH": f"{tools}:{os.environ['PATH']}", "SLURM_JOB_ID": "123456", **environment},
        capture_output=True, text=True, timeout=20, check=False,
    )  # fmt: skip
    words = os.fsdecode((folder / "srun").read_bytes()).split("\0")[:-1]
    return done, words, (folder / "scontrol").read_text()


def test_the_script_hands_on_each_argument(muster, tmp_path):
    hard = [*HARD, os.fsdecode(b"\xff\xfe")]
    done = subprocess.run(
        [os.environ["MUSTER"], "render", "slurm", "--name", "train", "--", "program", *hard],
        capture_output=True, timeout=20, check=True,
    )  # fmt: skip

    ended, words, _ = run_script(tmp_path, os.fsdecode(done.stdout))

    assert (ended.returncode, ended.stderr) == (0, "")
    assert words[words.index("muster") :] == ["muster", "program", *hard]
    assert {"--ntasks-per-node=1", "--kill-on-bad-exit=0", "--wait=0"} <= set(words)
    environment = (tmp_path / "env").read_text()
    assert "MUSTER_MASTER_PORT=" not in environment  # muster takes one of the step's own
    assert re.search(r"^MUSTER_TOKEN=[0-9a-f]{64}$", environment, re.M)


@pytest.mark.parametrize("code", [1, 64, 69, 75, 78, 85, 86, 93, 137, 143])
def test_the_script_requeues_retryable_exit_codes(code, render, tmp_path):
    text = render("slurm", "--name", "train", "--restarts", "2", "--", "program")
    for count in ("", "1", "2"):
        ended, _, said = run_script(tmp_path, text, code, SLURM_RESTART_COUNT=count)

        assert ended.returncode == code
        is_wanted = code in (69, 75, 85, 86) and count != "2"
        assert said == ("requeue 123456\n" if is_wanted else "")


def test_the_script_names_missing_requirements(render):
    text = render(
        "slurm", "--name", "train", "--nodes", "4", "--device-resource", "gpu:a100", "--cpus", "7.5",
        "--memory", "100Gi", "--queue", "long", "--grace", "100", "--image", "train:1.0", "--port", "7", "--", "x",
    )  # fmt: skip

    wanted = {
        "--job-name=train", "--nodes=4", "--ntasks-per-node=1", "--gres=gpu:a100:8", "--cpus-per-task=8",
        "--mem=102400M", "--partition=long", "--signal=TERM@115", "--requeue",
    }  # fmt: skip
    assert wanted <= set(re.findall(r"^#SBATCH (\S+)$", text, re.M))
    assert "--exclusive" not in text
    assert "  --container-image=train:1.0 \\\n  muster --grace 100 x &\n" in text
    assert "export MUSTER_MASTER_PORT=7\n" in text


def test_a_queue_of_a_batch_system_has_capitals(render):
    assert "\n#SBATCH --partition=tEam\n" in render("slurm", "--name", "train", "--queue", "tEam", "--", "x")


def test_a_job_is_requeued_at_the_front_on_request(render):
    text = render("slurm", "--name", "train", "--requeue", "expedite", "--", "x")

    assert "\n#SBATCH --requeue=expedite\n" in text
    assert "\n#SBATCH --requeue\n" not in text


def test_the_script_for_slurm_has_what_the_user_adds(render, tmp_path):
    text = render(
        "slurm", "--name", "train", "--image", "train:1.0", "--env", "A=it's", "--volume", "/mnt/data:/data:ro",
        "--resource", "rdma=2", "--priority-class", "high", "--", "x",
    )  # fmt: skip
    ended, words, _ = run_script(tmp_path, text)

    assert "#SBATCH --qos=high\n" in text and "#SBATCH --gres=gpu:8,rdma:2\n" in text
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "--container-mounts=/mnt/data:/data:ro" in words
    assert "A=it's\n" in (tmp_path / "env").read_text()


# --- The scripts for PBS and LSF ------------------------------------------------------------------


def run_with_a_muster(folder, text, program, **environment):
    """Starts the script with a muster that runs these lines of a shell."""
    (folder / "tools").mkdir()
    (folder / "tools" / "muster").write_text(f"#!/bin/bash\nprintf '%s\\0' \"$@\" >{folder}/words\nenv >{folder}/env\n{program}\n")
    (folder / "tools" / "muster").chmod(0o755)
    (folder / "script").write_bytes(os.fsencode(text))
    return subprocess.Popen(
        ["bash", folder / "script"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={"PATH": f"{folder}/tools:{os.environ['PATH']}", "PBS_O_WORKDIR": str(folder), **environment},
    )  # fmt: skip


BATCH = {
    "pbs": ("PBS_NODEFILE", []),
    "lsf": ("LSB_DJOB_HOSTFILE", ["--remote-shell", "blaunch"]),
}


@pytest.mark.parametrize("kind", BATCH)
def test_a_batch_script_starts_muster_with_the_list_of_hosts(kind, tmp_path):
    variable, more = BATCH[kind]
    rendered = subprocess.run(
        [os.environ["MUSTER"], "render", kind, *"--name train --nodes 2 --env A=it's -- program".split(), *HARD],
        capture_output=True, timeout=20, check=True,
    )  # fmt: skip

    running = run_with_a_muster(tmp_path, os.fsdecode(rendered.stdout), "exit 69", **{variable: "/hosts"})

    assert (*running.communicate(timeout=20), running.returncode) == ("", "", 69)
    words = os.fsdecode((tmp_path / "words").read_bytes()).split("\0")[:-1]
    assert words == ["--grace", "30", "--hostfile", "/hosts", *more, "program", *HARD]
    environment = (tmp_path / "env").read_text()
    assert "A=it's\n" in environment and "MUSTER_FORWARD_ENV=A\n" in environment
    assert "MUSTER_NPROC_PER_NODE=8\n" in environment and "MUSTER_MASTER_PORT" not in environment


@pytest.mark.parametrize("kind", BATCH)
def test_a_batch_script_hands_a_stop_on_and_waits(kind, render, tmp_path):
    text = render(kind, "--name", "train", "--", "program")
    program = "trap 'echo stopped; exit 143' TERM; echo ready; while :; do sleep 0.05; done"

    running = run_with_a_muster(tmp_path, text, program, **{BATCH[kind][0]: "/hosts"})
    assert running.stdout.readline() == "ready\n"
    running.terminate()

    assert running.communicate(timeout=20)[0] == "stopped\n"
    assert running.returncode == 143


def test_the_script_for_pbs_asks_for_what_is_needed(render):
    def lines(*options):
        return re.findall(r"^#PBS (.+)$", render("pbs", "--name", "train", "--nodes", "4", *options, "--", "x"), re.M)

    assert lines() == [
        "-N train", "-l select=4:ncpus=8:mpiprocs=1:ngpus=8", "-l place=scatter:excl", "-r y", "-j oe",
    ]  # fmt: skip
    more = ("--cpus", "15.5", "--memory", "1Gi", "--queue", "long", "--time-limit", "90", "--resource", "rdma=1")
    assert lines(*more, "--device-kind", "ascend") == [
        "-N train", "-q long", "-l select=4:ncpus=16:mpiprocs=1:mem=1024mb:nnpus=8:rdma=1", "-l place=scatter",
        "-l walltime=90", "-r y", "-j oe",
    ]  # fmt: skip


def test_the_script_for_lsf_asks_for_what_is_needed(render):
    def lines(*options):
        return re.findall(r"^#BSUB (.+)$", render("lsf", "--name", "train", "--nodes", "4", *options, "--", "x"), re.M)

    assert lines() == [
        "-J train", "-n 4", '-R "span[ptile=1]"', '-gpu "num=8"', "-x", '-Q "69 75 85 86"', "-r", "-o %J.out",
    ]  # fmt: skip
    more = ("--cpus", "16", "--memory", "1Gi", "--queue", "long", "--time-limit", "90", "--resource", "rdma=1")
    assert lines(*more, "--device-kind", "ascend") == [
        "-J train", "-q long", "-n 4", '-R "span[ptile=1] affinity[core(16)] rusage[npu=8:rdma=1:mem=1024MB]"',
        "-W 2", "-wa TERM -wt 1", '-Q "69 75 85 86"', "-r", "-o %J.out",
    ]  # fmt: skip


@pytest.mark.parametrize("kind", BATCH)
def test_muster_reads_the_hosts_of_a_batch_system(kind, render, muster, tmp_path):
    """Each host once, as with mpiprocs=1 and ptile=1: how many workers it has the script says."""
    (tmp_path / "hosts").write_text("gpu-a\ngpu-b\n")
    running = run_with_a_muster(
        tmp_path, render(kind, "--name", "a", "--nodes", "2", "--devices", "4", "--", "x"), "", **{BATCH[kind][0]: tmp_path / "hosts"}
    )
    running.communicate(timeout=20)
    words = (tmp_path / "words").read_text().split("\0")[:-1]

    done = muster("plan", "--json", *words, env={"MUSTER_NPROC_PER_NODE": "4"})

    assert done.returncode == 0, done.stderr
    assert "gpu-b" in done.stdout


def test_a_token_set_by_the_user_is_kept(render, tmp_path):
    text = render("slurm", "--name", "train", "--", "program")
    run_script(tmp_path, text, MUSTER_TOKEN_FILE="/my/token")

    assert "MUSTER_TOKEN=" not in (tmp_path / "env").read_text()


def test_the_dockerfile_holds_the_program(render):
    hard = [one for one in HARD if "\x00" not in one]
    text = render("dockerfile", "--image", "base:1", "--", "a.py", *hard)

    lines = text.splitlines()
    assert "FROM base:1" in lines and 'ENTRYPOINT ["muster"]' in lines
    assert "COPY --chmod=755 muster /usr/local/bin/muster" in lines
    assert "--stop-timeout 45" in text
    (command,) = [line.removeprefix("CMD ") for line in lines if line.startswith("CMD ")]
    assert json.loads(command) == ["a.py", *hard]


def test_the_command_of_the_dockerfile_sends_the_program_alone(render, tmp_path):
    """The folder may have an ignore file of its own, and data that no image should have."""
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "muster").write_text("muster")
    (tools / "docker").write_text('#!/bin/sh\necho "$@" && ls -A "$6" && cat\n')
    for tool in tools.iterdir():
        tool.chmod(0o755)
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / ".dockerignore").write_text("mine")
    (folder / "Dockerfile").write_text(text := render("dockerfile", "--image", "base:1", "--", "a.py"))
    (command,) = [line.removeprefix("#   ") for line in text.splitlines() if "docker build" in line]

    for _ in range(2):
        done = subprocess.run(
            ["sh", "-c", command], cwd=folder, env={"PATH": f"{tools}:{os.environ['PATH']}"},
            capture_output=True, text=True, timeout=20, check=True,
        )  # fmt: skip
        assert done.stdout == f"build -t train -f - muster-image\nmuster\n{text}"
    assert (folder / ".dockerignore").read_text() == "mine"


def test_more_shared_memory_than_memory_is_told(muster):
    def said(memory):
        done = muster("render", "jobset", *NAMED, "--memory", memory, "--shared-memory", "2Gi", "--no-token", "--", "x")
        assert done.returncode == 0 and "sizeLimit" in done.stdout
        return done.stderr

    assert "--shared-memory is '2Gi', more than the '1Gi' of --memory" in said("1Gi")
    assert said("2Gi") == ""


def test_a_secret_that_is_given_twice_stands_there_once(render):
    line = ("jobset", *NAMED, "--image-pull-secret", "b", "--image-pull-secret", "a", "--image-pull-secret", "b")
    spec = job_of("jobset", documents_of(render(*line, "--", "x")))[1]["spec"]

    assert spec["imagePullSecrets"] == [{"name": "b"}, {"name": "a"}]


def test_resources_of_kubernetes_keep_their_units(render):
    line = ("jobset", *NAMED, "--resource", "hugepages-2Mi=1Gi", "--resource", "ephemeral-storage=10Gi")
    spec = job_of("jobset", documents_of(render(*line, "--", "x")))[1]["spec"]

    wanted = {"hugepages-2Mi": "1Gi", "ephemeral-storage": "10Gi"}
    assert wanted.items() <= spec["containers"][0]["resources"]["limits"].items()


# --- What is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [*KINDS, "slurm"])
@pytest.mark.parametrize("name", ["", "Train", "1a", "a_b", "a.b", "-a", "-", "a--", "a b", "a\nb", "a'", "ä", "a" * 64])
def test_an_invalid_name_is_refused(kind, name, refuse):
    said = refuse(kind, f"--name={name}" if name else "--name", *([] if name else [""]), *NAMED[2:], "--", "x")

    assert said.startswith("--name")


def test_a_name_is_as_long_as_its_last_pod_allows(render, refuse):
    for kind, suffix in {
        "volcano": "-worker-99", "kubeflow": "-worker-99", "indexed-job": "-99-abcde", "jobset": "-node-99-0-abcde",
        "trainjob": "-node-0-99-abcde", "leaderworkerset": "-0-99", "mpijob": "-worker-99", "slurm": "", "lsf": "",
    }.items():  # fmt: skip
        room = 63 - len(suffix)
        line = (kind, *(() if kind in SCRIPTS else ("--image", "a:1")), "--nodes", "100", "--name")
        render(*line, "a" * room, "--", "x")
        assert f"at most {room} characters" in refuse(*line, "a" * (room + 1), "--", "x")


def test_a_script_of_lsf_speaks_of_a_limit_only_where_it_has_one(render):
    line = ("lsf", "--name=a")
    assert "time limit" not in render(*line, "--", "x")
    limited = render(*line, "--time-limit=3600", "--", "x")
    assert "# Before the time limit of 60 minutes the job gets SIGTERM" in limited and "#BSUB -wa TERM -wt 1" in limited


@pytest.mark.parametrize(
    "line, said",
    [
        ("", "the kind of manifest is missing: write one of volcano, kubeflow"),
        ("volcana --name a", "the kind of manifest is 'volcana', expected one of"),
        ("volcana --name a", "did you mean 'volcano'?"),
        ("volcano --name a -- x", "--image is missing"),
        ("slurm -- x", "--name is missing"),
        ("slurm --name a", "the program is missing"),
        ("slurm --name a --nodes 0 -- x", "--nodes is '0', expected a number of nodes from 1 to 100000"),
        ("slurm --name a --nodes 2:4 -- x", "--nodes is '2:4'"),
        ("slurm --name a --nnodes 2 -- x", "unknown option '--nnodes'; did you mean '--nodes'?"),
        ("slurm --name a --devices -1 -- x", "--devices is '-1'"),
        ("slurm --name a --memory 8GB -- x", "--memory is '8GB', expected an amount of memory"),
        ("slurm --name a --volume /a:/b -- x", "--image is missing: --volume is a folder of the container"),
        ("slurm --name a --image b --volume claim:/b -- x", "--volume is 'claim:/b', expected a folder of the node as its source"),
        ("slurm --name a --resource rdma/hca=1 -- x", "--resource is 'rdma/hca=1', expected NAME=NUMBER with a name of the site's"),
        ("slurm --name a --label a=b -- x", "--label has no place in a manifest of the kind slurm"),
        ("pbs --name a --image b -- x", "--image has no place in a manifest of the kind pbs"),
        ("pbs --name a --no-token -- x", "--no-token has no place in a manifest of the kind pbs"),
        ("mpijob --name a --image b --no-token -- x", "--no-token has no place in a manifest of the kind mpijob"),
        ("lsf --name a --restarts 2 -- x", "--restarts has no place in a manifest of the kind lsf"),
        ("leaderworkerset --name a --image b --restarts 2 -- x", "--restarts has no place in a manifest of the kind leaderworkerset"),
        ("jobset --name a --image b --requeue expedite -- x", "--requeue has no place in a manifest of the kind jobset"),
        ("dockerfile --image a --env A=b", "--env has no place in a manifest of the kind dockerfile"),
        ("jobset --name a --image b --env A -- x", "--env is 'A', expected NAME=VALUE"),
        ("jobset --name a --image b --env A=1 --env A=2 -- x", "--env 'A' is given twice, or set by the manifest itself"),
        ("jobset --name a --image b --env MASTER_ADDR=c -- x", "--env 'MASTER_ADDR' is given twice, or set by the manifest"),
        ("jobset --name a --image b --label app.kubernetes.io/name=c -- x", "--label 'app.kubernetes.io/name' is given twice"),
        ("jobset --name a --image b --resource nvidia.com/gpu=2 -- x", "--resource 'nvidia.com/gpu' is given twice, or set"),
        ("jobset --name a --image b --resource cpu=2 -- x", "--resource is 'cpu=2', expected NAME=AMOUNT"),
        ("jobset --name a --image b --resource foo=1 -- x", "--resource is 'foo=1', expected DOMAIN/NAME=NUMBER with a whole number"),
        ("jobset --name a --image b --resource rdma/hca=1.5 -- x", "--resource is 'rdma/hca=1.5', expected DOMAIN/NAME=NUMBER"),
        ("jobset --name a --image b --resource rdma/hca=500m -- x", "--resource is 'rdma/hca=500m', expected DOMAIN/NAME=NUMBER"),
        ("jobset --name a --image b --resource c.d/foo=1Gi -- x", "--resource is 'c.d/foo=1Gi', expected DOMAIN/NAME=NUMBER"),
        ("--check-fit nodes --resource foo=1", "--resource is 'foo=1', expected DOMAIN/NAME=NUMBER"),
        ("jobset --name a --image b --volume /x/../y:/data -- x", "--volume is '/x/../y:/data', expected a SOURCE and a PATH without '..'"),
        ("jobset --name a --image b --volume c:/data/.. -- x", "--volume is 'c:/data/..', expected a SOURCE and a PATH without '..'"),
        ("jobset --name a --image b --volume data -- x", "--volume is 'data', expected SOURCE:PATH or SOURCE:PATH:ro"),
        ("jobset --name a --image b --volume c:/ -- x", "--volume is 'c:/', expected a PATH where the container has no other mount, unlike '/'"),
        ("jobset --name a --image b --volume c:/dev/shm/ -- x", "no other mount, unlike '/dev/shm'"),
        ("jobset --name a --image b --volume c:/d --volume e:/d/ -- x", "--volume is 'e:/d/', expected a PATH where"),
        ("slurm --name a --image b --volume /c:/d --volume /e:/d -- x", "--volume is '/e:/d', expected a PATH where"),
        ("jobset --name a --image b --label team -- x", "--label is 'team', expected a label such as team=vision"),
        ("indexed-job --name a --image b --label job-name=c -- x", "--label is 'job-name=c', expected a label that no controller"),
        ("jobset --name a --image b --queue tEam -- x", "--queue is 'tEam', expected a name of Kubernetes"),
        ("pbs --name a --device-resource gpu:a100 -- x", "--device-resource is 'gpu:a100', expected a resource of the site without ':'"),
        ("lsf --name a --device-resource gpu:a100 -- x", "--device-resource is 'gpu:a100', expected a resource of the site"),
        ("jobset --name a --image b --priority-class A -- x", "--priority-class is 'A', expected a name of Kubernetes"),
        ("jobset --name a --image b --toleration -1 -- x", "--toleration is '-1', expected whole seconds"),
        ("slurm --name a --namespace b -- x", "--namespace has no place in a manifest of the kind slurm"),
        ("slurm --name a --device-resource a;b -- x", "--device-resource is 'a;b'"),
        ("dockerfile --image a --nodes 2", "--nodes has no place in a manifest of the kind dockerfile"),
        ("volcano --name a --image b --scheduler coscheduling -- x", "--scheduler is 'coscheduling', expected volcano"),
        ("jobset --name a --image b;c -- x", "--image is 'b;c', expected an image"),
        ("jobset --name a --image b --device-resource gpu -- x", "--device-resource is 'gpu', expected a resource"),
        ("jobset --name a --image b --device-kind tpu -- x", "--device-kind is 'tpu', expected nvidia, ascend or amd"),
        ("jobset --name a --image b --tolerations a:b -- x", "--tolerations is 'a:b', expected taints"),
        ("jobset --name a --image b --node-selector a -- x", "--node-selector is 'a', expected labels"),
        ("jobset --name a --image b --no-token --token-secret c -- x", "--no-token is given, but --token-secret"),
        ("slurm --name a -- --grace 5 x", "--grace stands after '--', but the manifest has to agree with it"),
        ("slurm --name a --time-limit 45 -- x", "--time-limit is '45', expected more than 45 seconds"),
        ("jobset --name a --image b --nodes 4 -- torchrun --nnodes 1 x.py", "after '--' the job has 1 node by --nnodes, but --nodes is '4'"),
        ("slurm --name a --nodes 4 -- torchrun --nnodes=1:2 x.py", "after '--' the job has 1:2 nodes by --nnodes, but"),
        ("slurm --name a --nodes 4 -- torchrun --standalone x.py", "after '--' the job has 1 node by --standalone, but"),
        ("slurm --name a --nodes 4 -- msrun --worker_num 8 --local_worker_num 8 x.py", "after '--' the job has 1 node by --local_worker_num, but"),
        ("slurm --name a -- --grace 5 torchrun x.py", "--grace stands after '--', but the manifest"),
        ("slurm --name a --nodes 4 -- --platform single x.py", "after '--' the job has 1 node by --platform, but --nodes is '4'"),
        ("slurm --name a --image a;b -- x", "--image is 'a;b', expected an image such as train:1.0 or registry.example/train:1.0"),
        ("jobset --name a --image b -- --node-rank 0 x.py", "--node-rank stands after '--', but the platform tells each node that"),
        ("slurm --name a -- torchrun --node_rank 0 x.py", "--node_rank stands after '--', but the platform tells each node that"),
        ("jobset --name a --image b -- --token-file f x.py", "--token-file stands after '--', but the platform tells"),
        ("slurm --name a -- --nodes 5 x", "after '--': unknown option '--nodes'; did you mean '--nnodes'?"),
    ],
)  # fmt: skip
def test_a_refusal_names_the_value(line, said, refuse):
    assert said in refuse(*line.split())


def test_a_wrong_patch_is_bad_data(muster, tmp_path):
    for text, said in {
        "": "is empty",
        "containers: []": "it has 'containers', expected 'metadata' or 'spec' of a pod at its root",
        "spec: [": ":1: ",
    }.items():
        (tmp_path / "patch.yaml").write_text(text)
        done = muster("render", "jobset", *NAMED, "--patch", "patch.yaml", "--", "x")
        assert (done.returncode, done.stdout) == (65, "") and said in done.stderr and "patch.yaml" in done.stderr
    done = muster("render", "jobset", *NAMED, "--patch", "no.yaml", "--", "x")
    assert done.returncode == 65 and "--patch is 'no.yaml', expected a file that can be read" in done.stderr


@pytest.mark.parametrize(
    "behind",
    [
        "torchrun --nnodes 4 x.py",
        "torchrun --nnodes 1:4 x.py",
        "torchrun x.py --nnodes 1",
        "msrun --worker_num 32 --local_worker_num 8 x.py",
    ],
)
def test_node_counts_of_an_inner_launcher_may_match(behind, render):
    assert f"  muster {behind} &" in render(*"slurm --name a --nodes 4 --".split(), *behind.split())


def test_help_teaches_each_kind_and_option(muster):
    text = muster("render", "--help").stdout

    for kind in [*ALL_OF_PODS, *SCRIPTS, "dockerfile"]:
        assert f"\n  {kind} " in text
    assert muster("render", "slurm", "-h").stdout == text
    assert "muster render" in muster("--help").stdout
    assert "--device-resource" not in muster("--help").stdout
    assert max(map(len, text.splitlines())) <= 101


def test_the_manual_page_and_the_completions_have_render(muster, tmp_path):
    options = set(re.findall(r"^ +(?:-h, )?(--[a-z-]+)", muster("render", "--help").stdout, re.M))
    page = muster("--print-man").stdout.replace("\\-", "-")
    assert options <= set(re.findall(r"^\.B (?:-h, )?(--[a-z-]+)", page, re.M))

    (tmp_path / "completion").write_text(muster("--print-completion", "bash").stdout)

    def completed(*words):
        line = f"COMP_WORDS=({' '.join(words)}) COMP_CWORD={len(words) - 1}"
        script = f'. ./completion; {line}; _muster; echo "${{COMPREPLY[@]}}"'
        done = subprocess.run(
            ["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=20, check=True
        )
        return set(done.stdout.split())

    assert "render" in completed("muster", "re")
    assert completed("muster", "render", "vol") == {"volcano"}
    assert completed("muster", "render", "volcano", "--device-kind", "a") == {"ascend", "amd"}
    assert completed("muster", "render", "--device") == {"--devices", "--device-kind", "--device-resource"}
    assert "--device-kind" not in completed("muster", "--device")
    assert options <= set(re.findall(r"--[a-z-]+", muster("--print-completion", "zsh").stdout))

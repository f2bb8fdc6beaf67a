"""Simulates what the platforms make of a manifest: the pods, and the environment of each.

Written from the sources of the controllers, not from what muster reads.
"""

import re
from dataclasses import dataclass

import yaml

SECRET = "a secret of the job, long enough"
MACHINE = "gpu-37"
# Kinds whose pods all run an agent. The pods of an MPIJob run sshd, and its launcher runs muster.
KINDS = ["volcano", "kubeflow", "trainjob", "indexed-job", "jobset", "leaderworkerset"]
ALL_OF_PODS = [*KINDS, "mpijob"]
SCRIPTS = ["slurm", "pbs", "lsf"]


@dataclass
class Pod:
    """A pod as the kubelet would start it."""

    arguments: list
    environment: dict
    spec: dict
    leader: str


def without_advice(said):
    """What muster says on standard error, but for the command that makes the Secret of a manifest."""
    return re.sub(r"^muster: before the first job: kubectl create secret generic .*\n", "", said, flags=re.MULTILINE)


def documents_of(text):
    return list(yaml.safe_load_all(text))


def job_of(kind, documents):
    """The document that names the number of nodes, and the template of its pods."""
    names = {"volcano": "Job", "kubeflow": "PyTorchJob", "trainjob": "TrainingRuntime",
             "indexed-job": "Job", "jobset": "JobSet", "leaderworkerset": "LeaderWorkerSet",
             "mpijob": "MPIJob"}  # fmt: skip
    (job,) = [one for one in documents if one["kind"] == names[kind]]
    spec = job["spec"]
    template = {
        "volcano": lambda: spec["tasks"][0]["template"],
        "kubeflow": lambda: spec["pytorchReplicaSpecs"]["Master"]["template"],
        "trainjob": lambda: spec["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"],
        "indexed-job": lambda: spec["template"],
        "jobset": lambda: spec["replicatedJobs"][0]["template"]["spec"]["template"],
        "leaderworkerset": lambda: spec["leaderWorkerTemplate"]["workerTemplate"],
        "mpijob": lambda: spec["mpiReplicaSpecs"]["Worker"]["template"],
    }[kind]()
    return job, template


def expanded(text, environment):
    """Arguments as the kubelet fills them: "$$" is "$", "$(NAME)" a variable if there is one."""

    def value(match):
        if match.group(0) == "$$":
            return "$"
        return environment.get(match.group(1), match.group(0))

    return re.sub(r"\$\$|\$\(([^)]*)\)", value, text)


def pods_of(kind, documents):
    job, template = job_of(kind, documents)
    name = job["metadata"]["name"]
    spec = template["spec"]
    (container,) = spec["containers"]
    pods = []
    for labels, variables, leader in _NODES[kind](job["spec"], name, container):
        environment = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", **variables}
        for variable in container.get("env", []):
            environment[variable["name"]] = _value(variable, labels)
        arguments = [expanded(argument, environment) for argument in container["args"]]
        pods.append(Pod(arguments, environment, spec, leader))
    return pods


def _value(variable, labels):
    if "value" in variable:
        return variable["value"]
    source = variable["valueFrom"]
    if "secretKeyRef" in source:
        assert source["secretKeyRef"]["key"] == "token"
        return SECRET
    field = source["fieldRef"]["fieldPath"]
    return MACHINE if field == "spec.nodeName" else labels[re.fullmatch(r"metadata\.labels\['(.*)'\]", field)[1]]


def _volcano(spec, name, _container):
    """Plugins svc and env. Source: pkg/controllers/job/plugins."""
    (task,) = spec["tasks"]
    assert set(spec["plugins"]) >= {"svc", "env"}
    pods = [f"{name}-{task['name']}-{i}" for i in range(task["replicas"])]
    hosts = [f"{pod}.{name}" for pod in pods]
    key = task["name"].replace("-", "_").upper()
    for i in range(task["replicas"]):
        index = {"VC_TASK_INDEX": str(i), "VK_TASK_INDEX": str(i)}
        yield {}, {f"VC_{key}_HOSTS": ",".join(hosts), f"VC_{key}_NUM": str(len(hosts)), **index}, hosts[0]


def _pytorchjob(spec, name, container):
    """Version 1.9. Source: pkg/controller.v1/pytorch/envvar.go."""
    replicas = {role: one["replicas"] for role, one in spec["pytorchReplicaSpecs"].items()}
    (port,) = [one["containerPort"] for one in container["ports"] if one["name"] == "pytorchjob-port"]
    assert container["name"] == "pytorch"
    nodes = sum(replicas.values())
    master = f"{name}-master-0"
    for rank in range(nodes):
        yield {}, {
            "PYTHONUNBUFFERED": "1", "MASTER_ADDR": master, "MASTER_PORT": str(port),
            "WORLD_SIZE": str(nodes), "RANK": str(rank), "PET_NODE_RANK": str(rank),
            "PET_NNODES": str(nodes), "PET_MASTER_ADDR": master, "PET_MASTER_PORT": str(port),
        }, master  # fmt: skip


def _trainjob(spec, name, _container):
    """Source: pkg/runtime/framework/plugins/torch/torch.go."""
    nodes = spec["mlPolicy"]["numNodes"]
    leader = f"{name}-node-0-0.{name}"
    for rank in range(nodes):
        yield {}, {
            "PET_NNODES": str(nodes), "PET_NPROC_PER_NODE": "auto", "PET_NODE_RANK": str(rank),
            "PET_MASTER_ADDR": leader, "PET_MASTER_PORT": "29500", "JOB_COMPLETION_INDEX": str(rank),
        }, leader  # fmt: skip


def _indexed_job(spec, name, _container):
    assert spec["completionMode"] == "Indexed"
    assert spec["completions"] == spec["parallelism"]
    subdomain = spec["template"]["spec"]["subdomain"]
    for index in range(spec["completions"]):
        yield {}, {"JOB_COMPLETION_INDEX": str(index)}, f"{name}-0.{subdomain}"


def _jobset(spec, name, _container):
    """Source: pkg/controllers/jobset_controller.go, labelAndAnnotateObject."""
    (replicated,) = spec["replicatedJobs"]
    leader = f"{name}-{replicated['name']}-0-0.{name}"
    for job in range(replicated["replicas"]):
        labels = {
            "jobset-name": name, "replicatedjob-name": replicated["name"], "restart-attempt": "0",
            "global-replicas": str(replicated["replicas"]), "job-global-index": str(job),
        }  # fmt: skip
        labels = {f"jobset.sigs.k8s.io/{key}": value for key, value in labels.items()}
        yield labels, {"JOB_COMPLETION_INDEX": "0"}, leader


def _leaderworkerset(spec, name, _container):
    """Source: pkg/utils/pod/pod_utils.go, AddLWSVariables."""
    assert spec["replicas"] == 1
    size = spec["leaderWorkerTemplate"]["size"]
    leader = f"{name}-0.{name}.default"
    for index in range(size):
        yield {}, {
            "LWS_LEADER_ADDRESS": leader, "LWS_GROUP_SIZE": str(size), "LWS_WORKER_INDEX": str(index),
        }, leader  # fmt: skip


_NODES = {
    "volcano": _volcano, "kubeflow": _pytorchjob, "trainjob": _trainjob,
    "indexed-job": _indexed_job, "jobset": _jobset, "leaderworkerset": _leaderworkerset,
}  # fmt: skip

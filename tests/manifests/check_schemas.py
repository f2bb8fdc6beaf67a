"""Holds manifests against the schemas that their projects publish: check_schemas.py FILE...

Run by the Python of the virtual environment of requirements/manifests.txt. Prints what is wrong, and fails.
No package has the schemas of Volcano, of the MPI Operator, of LeaderWorkerSet and of scheduler-plugins: what of these a
manifest may use is in FIELDS, by hand, from the sources of the projects.
"""

import re
import sys

import kubernetes_validate
import yaml
from kubeflow.training import models as training
from kubeflow_trainer_api import models as trainer
from kubernetes.client import models as kubernetes

OLDEST, NEWEST = "1.27", "1.37"

RUN_POLICY = {
    "suspend": bool, "backoffLimit": int, "activeDeadlineSeconds": int, "ttlSecondsAfterFinished": int,
    "cleanPodPolicy": {"All", "Running", "None"}, "schedulingPolicy": {"minAvailable": int, "queue": str},
}  # fmt: skip
REPLICAS = {"replicas": int, "restartPolicy": {"Never", "OnFailure"}, "template": "pod"}
POLICY = {
    "exitCode": int, "event": {"PodEvicted", "PodFailed", "TaskCompleted"},
    "action": {"RestartJob", "TerminateJob", "CompleteJob"},
}  # fmt: skip
# By version and kind: the type of each field, the words that it may have, or the fields in it.
FIELDS = {
    # volcano-sh/volcano, staging/src/volcano.sh/apis/pkg/apis/batch/v1alpha1/job.go at 233ca8bd (2025)
    ("batch.volcano.sh/v1alpha1", "Job"): {
        "schedulerName": str, "queue": str, "priorityClassName": str, "minAvailable": int, "maxRetry": int,
        "ttlSecondsAfterFinished": int, "plugins": {"svc": [str], "env": [str], "ssh": [str]}, "policies": [POLICY],
        "tasks": [{"name": str, "replicas": int, "template": "pod"}],
    },
    # the same, scheduling/v1beta1/types.go
    ("scheduling.volcano.sh/v1beta1", "PodGroup"): {"minMember": int, "queue": str},
    # kubernetes-sigs/scheduler-plugins, apis/scheduling/v1alpha1/types.go
    ("scheduling.x-k8s.io/v1alpha1", "PodGroup"): {"minMember": int},
    # kubernetes-sigs/lws, api/leaderworkerset/v1/leaderworkerset_types.go at 024af084
    ("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet"): {
        "replicas": int, "startupPolicy": {"LeaderCreated", "LeaderReady"},
        "leaderWorkerTemplate": {
            "size": int, "workerTemplate": "pod",
            "restartPolicy": {"RecreateGroupOnPodRestart", "RecreateGroupAfterStart", "None"},
        },
    },
    # kubeflow/mpi-operator, pkg/apis/kubeflow/v2beta1/types.go at e229bd8b
    ("kubeflow.org/v2beta1", "MPIJob"): {
        "slotsPerWorker": int, "launcherCreationPolicy": {"AtStartup", "WaitForWorkersReady"}, "runPolicy": RUN_POLICY,
        "mpiReplicaSpecs": {"Launcher": REPLICAS, "Worker": REPLICAS},
    },
}  # fmt: skip


def check_fields(fields, value, path="spec"):
    if isinstance(fields, dict):
        for key, item in value.items():
            assert key in fields, f"{path}.{key} is unknown"
            check_fields(fields[key], item, f"{path}.{key}")
    elif isinstance(fields, list):
        for index, item in enumerate(value):
            check_fields(fields[0], item, f"{path}[{index}]")
    elif isinstance(fields, set):
        assert value in fields, f"{path} is {value!r}, expected one of {fields}"
    elif fields != "pod":  # which is held against Kubernetes' own schema
        assert type(value) is fields, f"{path} is {value!r}, expected {fields.__name__}"


def check_kubernetes(document):
    for version in (OLDEST, NEWEST):
        kubernetes_validate.validate(document, version, strict=True)


def check_model(model, document):
    """A field that the model does not know is lost on the way through it."""
    there_and_back = model.from_dict(document).to_dict()
    lost = sorted(set(paths_of(document)) - set(paths_of(there_and_back)))  # defaults come back
    assert not lost, f"fields that are unknown: {lost}"


def paths_of(value, path=""):
    if isinstance(value, dict):
        for key, item in value.items():
            yield from paths_of(item, f"{path}.{key}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from paths_of(item, f"{path}[{index}]")
    elif value is not None:
        yield path


PLAIN = {"str": str, "int": int, "bool": bool, "object": object, "Quantity": str}


def check_type(type_name, value, path=""):
    """The models of Kubeflow's operator are tables of types, by attributes with names of their own."""
    if kind := re.fullmatch(r"list\[(.*)\]", type_name):
        for index, item in enumerate(value):
            check_type(kind[1], item, f"{path}[{index}]")
    elif kind := re.fullmatch(r"dict\(str, (.*)\)", type_name):
        for key, item in value.items():
            check_type(kind[1], item, f"{path}.{key}")
    elif type_name in PLAIN:
        assert isinstance(value, PLAIN[type_name]), f"{path} is {value!r}, expected {type_name}"
    else:
        model = getattr(training, type_name, None) or getattr(kubernetes, type_name)
        types = {name: model.openapi_types[key] for key, name in model.attribute_map.items()}
        for key, item in value.items():
            assert key in types, f"{path}.{key} is unknown to {type_name}"
            check_type(types[key], item, f"{path}.{key}")


def templates_in(value):
    """Each template of a pod."""
    if isinstance(value, dict):
        if "containers" in value.get("spec", {}):
            yield value
        for item in value.values():
            yield from templates_in(item)
    elif isinstance(value, list):
        for item in value:
            yield from templates_in(item)


def check(document):
    kind = document["kind"]
    if document["apiVersion"] in ("v1", "batch/v1"):
        check_kubernetes(document)
    elif kind == "PyTorchJob":
        check_type("KubeflowOrgV1PyTorchJob", document)
    elif kind in ("TrainJob", "TrainingRuntime"):
        check_model(getattr(trainer, f"TrainerV1alpha1{kind}"), document)
    elif kind == "JobSet":
        check_model(trainer.JobsetV1alpha2JobSet, document)
    else:
        assert set(document) == {"apiVersion", "kind", "metadata", "spec"}
        check_fields(FIELDS[document["apiVersion"], kind], document["spec"])
    for template in templates_in(document):
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": template["spec"]}
        check_kubernetes(pod)


def main():
    failed = 0
    for file in sys.argv[1:]:
        for document in yaml.safe_load_all(open(file)):
            try:
                check(document)
            except Exception as error:  # of four libraries
                print(f"{file}: {document['kind']}: {error}")
                failed = 1
    sys.exit(failed)


main()

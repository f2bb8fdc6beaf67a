"""Manifests of `muster render` are valid, complete and repeatable for each platform."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from clusters import KINDS, documents_of, job_of, pods_of

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


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "volcano"])
def test_a_queue_is_kueues(kind, render):
    documents = documents_of(render(kind, *NAMED, "--queue", "team-a", "--", "true"))

    job = documents[-1]
    assert job["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "team-a"
    assert job["spec"].get("suspend", job["spec"].get("runPolicy", {}).get("suspend")) is True


def test_a_queue_is_set_for_volcano_where_it_schedules(render):
    def volcanos(kind):
        arguments = (*NAMED, "--scheduler", "volcano", "--queue", "q", "--", "true")
        return json.dumps(documents_of(render(kind, *arguments)))

    assert all('"queue": "q"' in volcanos(kind) for kind in ("volcano", "kubeflow", "jobset"))
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
        rule = spec["podFailurePolicy"]["rules"][-1]
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
    for kind in [*KINDS, "slurm", "dockerfile"]:
        assert re.findall(r"(?<!\$)\{[a-z_]+\}", render(kind, *NAMED, "--", "true")) == []


@pytest.mark.parametrize("kind", KINDS)
def test_the_grace_of_the_pod_is_longer_than_musters(kind, render):
    for grace in (0, 30, 600):
        (pod,) = pods_of(kind, documents_of(render(kind, *NAMED, "--grace", str(grace), "--", "true")))

        assert pod.arguments[:2] == ["--grace", str(grace)]
        assert pod.spec["terminationGracePeriodSeconds"] == grace + 15


def test_a_time_limit_is_the_platforms(render):
    for kind in KINDS:
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


def test_a_pod_has_no_resources_that_were_not_requested(render):
    (pod,) = pods_of("indexed-job", documents_of(render("indexed-job", *NAMED, "--devices", "0", "--", "x")))

    (container,) = pod.spec["containers"]
    assert "resources" not in container
    assert "MUSTER_NPROC_PER_NODE" not in pod.environment
    assert not {"nodeSelector", "tolerations", "schedulerName"} & set(pod.spec)


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


def test_the_same_line_prints_the_same_text(muster):
    for kind in [*KINDS, "slurm", "dockerfile"]:
        line = ("render", kind, *NAMED, "--", "a.py")
        texts = {
            muster(*line).stdout,
            muster(*line, env={"RANK": "1", "WORLD_SIZE": "2", "MUSTER_GRACE": "9"}).stdout,
        }
        assert len(texts) == 1


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
    assert words[words.index("muster") :] == ["muster", "--grace", "30", "program", *hard]
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
    assert "  --container-image=train:1.0 \\\n" in text
    assert "export MUSTER_MASTER_PORT=7\n" in text


def test_a_job_is_requeued_at_the_front_on_request(render):
    text = render("slurm", "--name", "train", "--requeue", "expedite", "--", "x")

    assert "\n#SBATCH --requeue=expedite\n" in text
    assert "\n#SBATCH --requeue\n" not in text


def test_a_token_set_by_the_user_is_kept(render, tmp_path):
    text = render("slurm", "--name", "train", "--", "program")
    run_script(tmp_path, text, MUSTER_TOKEN_FILE="/my/token")

    assert "MUSTER_TOKEN=" not in (tmp_path / "env").read_text()


def test_the_dockerfile_holds_the_program(render):
    hard = [one for one in HARD if "\x00" not in one]
    text = render("dockerfile", "--image", "base:1", "--", "a.py", *hard)

    lines = text.splitlines()
    assert "FROM base:1" in lines and 'ENTRYPOINT ["muster"]' in lines
    (command,) = [line.removeprefix("CMD ") for line in lines if line.startswith("CMD ")]
    assert json.loads(command) == ["a.py", *hard]


# --- What is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [*KINDS, "slurm"])
@pytest.mark.parametrize("name", ["", "Train", "1a", "a_b", "a.b", "-a", "a-", "a b", "a\nb", "a'", "ä", "a" * 64])
def test_an_invalid_name_is_refused(kind, name, refuse):
    said = refuse(kind, f"--name={name}" if name else "--name", *([] if name else [""]), *NAMED[2:], "--", "x")

    assert said.startswith("--name")


def test_a_name_is_as_long_as_its_last_pod_allows(render, refuse):
    for kind, suffix in {
        "volcano": "-worker-99", "kubeflow": "-worker-99", "indexed-job": "-99-abcde", "jobset": "-node-99-0-abcde",
        "trainjob": "-node-0-99-abcde", "slurm": "",
    }.items():  # fmt: skip
        room = 63 - len(suffix)
        line = (kind, "--image", "a:1", "--nodes", "100", "--name")
        render(*line, "a" * room, "--", "x")
        assert f"at most {room} characters" in refuse(*line, "a" * (room + 1), "--", "x")


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
        ("slurm --name a --memory 8GB -- x", "--memory is '8GB', expected a quantity above 0"),
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
        ("slurm --name a -- --grace 5 x", "--grace stands behind '--', but the manifest has to agree with it"),
        ("slurm --name a --time-limit 45 -- x", "--time-limit is '45', expected more than 45 seconds"),
        ("jobset --name a --image b --nodes 4 -- torchrun --nnodes 1 x.py", "behind '--' the job has 1 node by --nnodes, but --nodes is '4'"),
        ("slurm --name a --nodes 4 -- torchrun --nnodes=1:2 x.py", "behind '--' the job has 1:2 nodes by --nnodes, but"),
        ("slurm --name a --nodes 4 -- torchrun --standalone x.py", "behind '--' the job has 1 node by --standalone, but"),
        ("slurm --name a --nodes 4 -- msrun --worker_num 8 --local_worker_num 8 x.py", "behind '--' the job has 1 node by --local_worker_num, but"),
        ("slurm --name a -- --grace 5 torchrun x.py", "--grace stands behind '--', but the manifest"),
        ("slurm --name a --nodes 4 -- --platform single x.py", "behind '--' the job has 1 node by --platform, but --nodes is '4'"),
        ("slurm --name a --image a;b -- x", "--image is 'a;b', expected an image such as train:1.0 or registry.example/train:1.0"),
        ("jobset --name a --image b -- --node-rank 0 x.py", "--node-rank stands behind '--', but the platform tells each node that"),
        ("slurm --name a -- torchrun --node_rank 0 x.py", "--node_rank stands behind '--', but the platform tells each node that"),
        ("jobset --name a --image b -- --token-file f x.py", "--token-file stands behind '--', but the platform tells"),
        ("slurm --name a -- --nodes 5 x", "behind '--': unknown option '--nodes'; did you mean '--nnodes'?"),
    ],
)  # fmt: skip
def test_a_refusal_names_the_value(line, said, refuse):
    assert said in refuse(*line.split())


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
    assert f"muster --grace 30 {behind}" in render(*"slurm --name a --nodes 4 --".split(), *behind.split())


def test_help_teaches_each_kind_and_option(muster):
    text = muster("render", "--help").stdout

    for kind in [*KINDS, "slurm", "dockerfile"]:
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

"""The environment of a worker under muster and under the real `accelerate launch`, variable by variable.

docs/launcher-differences.md lists every intended difference, and is read here: a difference that
is not on the page fails, and so does a line of the page that describes none.
"""

import json

import pytest

import differences
import jobs

PAGE = differences.Section("accelerate launch")
WORKER = jobs.script("write_environment.py")

pytestmark = pytest.mark.framework

TWO = ["--num_processes", "2"]
LINES = {
    "several": ["--multi_gpu", *TWO, "--role", "trainer"],
    "a given port": ["--multi_gpu", *TWO, "--main_process_port", "29521", "--mixed_precision=bf16"],
    "dynamo": ["--multi_gpu", *TWO, "--dynamo_backend", "inductor", "--dynamo_use_dynamic"]
    + ["--num_cpu_threads_per_process", "3", "--enable_cpu_affinity", "--debug", "--gpu_ids=0,1"],
    "fsdp": ["--use_fsdp", *TWO, "--fsdp_auto_wrap_policy=TRANSFORMER_BASED_WRAP"]
    + ["--fsdp_transformer_layer_cls_to_wrap", "A,B", "--fsdp_offload_params", "True"],
    "parallelism": ["--use_fsdp", "--fsdp_version", "2", "--use_parallelism_config", *TWO]
    + ["--parallelism_config_cp_size", "2", "--parallelism_config_sp_size=2"],
    "megatron": ["--use_megatron_lm", *TWO, "--megatron_lm_tp_degree", "2"]
    + ["--megatron_lm_no_load_optim", "False", "--megatron_lm_gradient_clipping", "2"]
    + ["--megatron_lm_sequence_parallelism", "true", "--megatron_lm_hidden_dropout=1e-5"],
    "deepspeed": ["--use_deepspeed", *TWO, "--zero_stage", "3", "--zero3_init_flag", "True"]
    + ["--gradient_accumulation_steps", "04", "--gradient_clipping", "1"]
    + ["--offload_param_device", "CPU"],
    "one": [],
    "one on the CPU": ["--cpu", "--num_processes", "1"],
}
FILES = {
    "a file": """
compute_environment: LOCAL_MACHINE
distributed_type: MULTI_GPU
debug: true
machine_rank: 0
main_training_function: main
mixed_precision: bf16
num_machines: 1
num_processes: 2
rdzv_backend: c10d
same_network: true
enable_cpu_affinity: true
dynamo_config:
  dynamo_backend: INDUCTOR
  dynamo_mode: reduce-overhead
  dynamo_use_fullgraph: true
tpu_env: []
use_cpu: false
""",
    "a file of fsdp": """
distributed_type: FSDP
num_processes: 2
mixed_precision: 'no'
fsdp_config:
  fsdp_version: 2
  fsdp_auto_wrap_policy: SIZE_BASED_WRAP
  fsdp_min_num_params: 2000
  fsdp_offload_params: true
  fsdp_reshard_after_forward: false
  state_dict_type: SHARDED_STATE_DICT
parallelism_config:
  parallelism_config_dp_shard_size: 2
""",
    "a file of deepspeed": """
{"distributed_type": "DEEPSPEED", "num_processes": 2, "mixed_precision": "bf16",
 "deepspeed_config": {"gradient_accumulation_steps": "auto", "gradient_clipping": 1.0,
  "zero3_init_flag": true, "zero_stage": 2, "offload_optimizer_device": "none"}}
""",
    "a file of megatron": """
distributed_type: MEGATRON_LM
num_processes: 2
megatron_lm_config:
  megatron_lm_gradient_clipping: 1
  megatron_lm_pp_degree: 2
  megatron_lm_sequence_parallelism: true
  megatron_lm_use_distributed_optimizer: 'true'
""",
    "a file of one process": """
distributed_type: 'NO'
use_cpu: true
num_processes: 1
""",
}


class Launchers:
    """Runs the worker under both launchers, in the same environment on the same hosts."""

    def __init__(self, muster, venv, hosts, scratch):
        self.programs = {"accelerate": ["accelerate"], "muster": [muster, "accelerate"]}
        self.settings = jobs.environment(venv, scratch, DS_ACCELERATOR="cpu", PYTHONPATH="/x:")
        self.hosts = hosts
        self.scratch = scratch
        self.runs = 0

    def compare(self, options, nodes=1):
        """{(rank, variable): (accelerate's value, muster's value)} for all that differ."""
        return differences.between(
            self.environments("accelerate", options, nodes),
            self.environments("muster", options, nodes),
        )

    def environments(self, launcher, options, nodes):
        """The environment of each worker, by global rank."""
        self.runs += 1
        folder = self.scratch / f"{self.runs}-{launcher}"
        folder.mkdir()
        agents = []
        for node in reversed(range(nodes)):
            place = ["--machine_rank", node] if nodes > 1 else []
            line = [*self.programs[launcher], "launch", *options, *place]
            agents.append((node, *line, WORKER, folder))
        for ended in jobs.run(self.hosts, self.settings, agents):
            assert ended.code == 0, f"{launcher} {options}: {ended.err}"
        return {file.stem: json.loads(file.read_text()) for file in folder.iterdir()}


@pytest.fixture(scope="module")
def all_differences(muster, torch_others_venv, two_hosts, tmp_path_factory):
    scratch = tmp_path_factory.mktemp("environments")
    launchers = Launchers(muster, torch_others_venv, two_hosts, scratch)
    found = {name: launchers.compare(line) for name, line in LINES.items()}
    for number, (name, text) in enumerate(FILES.items()):
        file = scratch / f"{number}.yaml"
        file.write_text(text)
        found[name] = launchers.compare(["--config_file", str(file)])
    several = ["--num_machines", "2", "--num_processes", "4", "--multi_gpu"]
    several += ["--main_process_ip", two_hosts.address(0), "--main_process_port", "29522"]
    found["two nodes"] = launchers.compare(several, nodes=2)
    return found


def test_every_difference_is_on_the_page(all_differences):
    surprises = differences.surprises(PAGE, "accelerate launch", all_differences)

    assert not surprises, "\n".join(surprises)


def test_every_line_of_the_page_describes_a_difference(all_differences):
    assert differences.not_occurring(PAGE, all_differences) == []

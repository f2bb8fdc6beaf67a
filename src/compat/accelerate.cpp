// Translates `accelerate launch`, which calls torch's launcher, and lists the variables that tell its workers how to
// train. Facts: accelerate/commands/launch.py and accelerate/utils/launch.py of accelerate 1.15.
#include "compat/accelerate.hpp"

#include "base/text.hpp"
#include "compat/host_placing.hpp"
#include "environment/accelerators.hpp"
#include "platforms/cluster.hpp"
#include "platforms/given_hosts.hpp"

#include <array>
#include <limits>

namespace muster {
namespace {

using accelerate::Launch;

constexpr const char* kDefaultPort = "29500";

std::optional<int> read_count(const std::string& text) {
  return parse_integer(text, 1, std::numeric_limits<int>::max());
}

bool is_one_machine(const Translation& t) {
  const auto machines = t.find("num-machines");
  return machines && machines->value == "1";
}

/// Adds notices with the options about hosts that are not used, and why.
void name_unused_hosts(Translation& t, const Launch& launch, const std::string& why) {
  for (const char* const name : {"deepspeed-hostfile", "deepspeed-inclusion-filter", "deepspeed-exclusion-filter",
                                 "deepspeed-multinode-launcher"}) {
    if (!launch.is_deepspeed || !why.empty()) {
      t.ignore_flag(name, launch.is_deepspeed ? why : "it needs --use_deepspeed");
    }
  }
  if (launch.is_deepspeed || !why.empty()) {
    t.ignore_flag("mpirun-hostfile", launch.is_deepspeed ? "DeepSpeed's is --deepspeed_hostfile" : why);
  }
}

/// Sets the hostfile if muster is to start the hosts; a notice says why the file is ignored otherwise.
Result<> translate_hostfile(Translation& t, const Launch& launch) {
  const auto file = t.find(launch.is_deepspeed ? "deepspeed-hostfile" : "mpirun-hostfile");
  const bool is_one = is_one_machine(t);
  name_unused_hosts(t, launch, is_one ? "the job has one machine" : file ? "" : "there is no hostfile");
  if (!file || is_one) {
    return {};
  }
  const auto launcher = t.find("deepspeed-multinode-launcher");
  const Settings choice = choice_of_hosts(t.find("deepspeed-inclusion-filter"), t.find("deepspeed-exclusion-filter"));
  const bool is_by_itself =
      launch.is_deepspeed && launcher && (launcher->value == "standard" || launcher->value == "nossh");
  TRY(is_by_itself ? Result<>() : choose_node_source(t, *file, choice));
  const auto starter = find_starter(t);
  if (is_by_itself || starter) {
    t.line.notices.push_back(
        "ignoring " + file->source.name + ": " +
        (starter ? starter->platform + " starts muster on each node"
                 : "with " + launcher->source.name + " " + launcher->value + " you start muster on each node"));
    return {};
  }
  t.set("hostfile", *file);
  choice.for_each([&](const std::string& name, const Sourced<std::string>& value) { t.set(name, value); });
  return {};
}

/// Gives options the names that torch's launcher has for them. A single machine has no rank and no rendezvous.
void rename_options(Translation& t) {
  const auto give = [&](const char* theirs, const char* torchs) {
    if (const auto value = t.find(theirs)) {
      t.given[torchs] = *value;
      t.set(torchs, *value);
    }
  };
  const auto address = t.find("main-process-ip");
  const auto port = t.find("main-process-port");
  const auto backend = t.find("rdzv-backend");
  if (!t.settings.contains("hostfile")) {
    give("num-machines", "nnodes");
    if (is_one_machine(t)) {
      t.ignore_flag("machine-rank", "the job has one machine");
      t.ignore_flag("main-process-ip", "the job has one machine");
    } else {
      give("machine-rank", "node-rank");
      if (address && backend && backend->value == "c10d" && !t.has("same-network")) {
        t.given["rdzv-endpoint"] = {address->value + ":" + (port ? port->value : kDefaultPort), address->source};
        return;
      }
      give("main-process-ip", "master-addr");
    }
  }
  give("main-process-port", "master-port");
}

/// Number of nodes in the job, as far as it is known on this node.
int count_machines(const Translation& t) {
  const auto given = t.find("num-machines");
  const std::string nodes = given ? given->value : value_at(t.settings, "nnodes").value;
  if (!nodes.empty()) {
    return read_count(nodes).value_or(1);
  }
  if (value_at(t.settings, "platform").value == "single") {
    return 1;
  }
  const auto cluster = describe_cluster(t.snapshot, t.line.settings);
  return cluster ? cluster->job.most_nodes : 1;
}

/// True if the launcher starts only one process. It decides by the devices that drivers show; if they show none, or a
/// kind that muster does not know, by the requested number.
bool is_simple(const Translation& t, const Launch& launch, int machines) {
  if (launch.is_distributed() || machines > 1 || t.settings.contains("hostfile")) {
    return false;
  }
  const auto processes = t.find("num-processes");
  const int wanted = processes ? read_count(processes->value).value_or(1) : 1;
  if (launch.is_multi_cpu || launch.is_cpu) {
    const bool is_asked = launch.is_multi_cpu || (processes && processes->source.kind == SourceKind::Flag);
    return wanted == 1 || !is_asked;
  }
  const int devices = count_visible_devices(t.snapshot);
  if (launch.has_file) {
    return true;
  }
  return processes ? wanted == 1 || devices == 1 : devices < 2;
}

/// Starts one process that is no rank.
void translate_simple(Translation& t) {
  const auto processes = t.find("num-processes");
  const Source source = processes ? processes->source : default_of("accelerate launch");
  t.set("mode", {"accelerate-single", source});
  t.set("nproc-per-node", {"1", source});
  const int wanted = processes ? read_count(processes->value).value_or(1) : 1;
  if (wanted > 1) {
    t.line.notices.push_back("starting one process and not the " + processes->value + " of " + processes->source.name +
                             ", as accelerate launch does here: --multi_gpu starts them all");
  }
}

/// Divides --num_processes, which is for all machines, equally among them.
Result<> translate_processes(Translation& t, int machines) {
  const auto processes = t.find("num-processes");
  if (!processes) {
    t.set("nproc-per-node", {"auto", default_of("accelerate launch")});
    return {};
  }
  const int share = read_count(processes->value).value_or(0) / machines;
  if (share == 0) {
    return wrong_value(*processes, "at least one process for each of the " + std::to_string(machines) + " machines");
  }
  if (share * machines != read_count(processes->value)) {
    t.line.notices.push_back(processes->source.name + " is " + processes->value + ", of which each of the " +
                             std::to_string(machines) + " machines starts " + std::to_string(share) +
                             ", as with accelerate launch");
  }
  t.set("nproc-per-node", {std::to_string(share), processes->source});
  return {};
}

Result<> check_counts(const Translation& t) {
  for (const auto& [name, least] :
       {std::pair("num-processes", 0), std::pair("num-machines", 1), std::pair("num-cpu-threads-per-process", 1)}) {
    const auto count = t.find(name);
    if (count && !parse_integer(count->value, least, std::numeric_limits<int>::max())) {
      return wrong_value(*count, least == 0 ? "a number" : "a number above 0");
    }
  }
  return {};
}

}  // namespace

Result<> translate_accelerate(Translation& t) {
  const auto launch = TRY(accelerate::read_launch(t));
  TRY(check_counts(t));
  TRY(translate_hostfile(t, launch));
  rename_options(t);
  TRY(translate_torchrun(t));
  const int machines = count_machines(t);
  const bool is_one = is_simple(t, launch, machines);
  if (is_one) {
    translate_simple(t);
  } else {
    TRY(translate_processes(t, machines));
  }
  auto exported = accelerate::export_environment(t, launch, is_one);
  // Values from a file that an option names count as options of the user.
  for (auto& [name, value] : t.settings) {
    if (value.source.kind == SourceKind::File) {
      value.source.kind = SourceKind::Option;
    }
  }
  return exported;
}

}  // namespace muster

namespace muster::accelerate {

// Tables of the workers' variables: option, variable and the launcher's default. Facts: accelerate/commands/launch.py
// and accelerate/utils/launch.py of accelerate 1.15.

namespace {

using enum Spelling;

constexpr auto kDynamo = std::to_array<WorkerVariable>({
    {"dynamo_backend", "NAME", "ACCELERATE_DYNAMO_BACKEND", "NO", Upper,
     "no eager aot_eager inductor aot_ts_nvfuser nvprims_nvfuser cudagraphs ofi fx2trt onnxrt "
     "tensorrt aot_torchxla_trace_once torhchxla_trace_once tvm"},
    {"dynamo_mode", "NAME", "ACCELERATE_DYNAMO_MODE", "default", Text, "default reduce-overhead max-autotune"},
    {"dynamo_use_fullgraph", nullptr, "ACCELERATE_DYNAMO_USE_FULLGRAPH", "False"},
    {"dynamo_use_dynamic", nullptr, "ACCELERATE_DYNAMO_USE_DYNAMIC", "False"},
    {"dynamo_use_regional_compilation", nullptr, "ACCELERATE_DYNAMO_USE_REGIONAL_COMPILATION", "False"},
});

constexpr auto kFp8 = std::to_array<WorkerVariable>({
    {"fp8_backend", "NAME", "ACCELERATE_FP8_BACKEND", nullptr, Text, "ao te msamp"},
    {"fp8_use_autocast_during_eval", nullptr, "ACCELERATE_FP8_USE_AUTOCAST_DURING_EVAL", "False"},
    {"fp8_margin", "N", "ACCELERATE_FP8_MARGIN", "0"},
    {"fp8_interval", "N", "ACCELERATE_FP8_INTERVAL", "1"},
    {"fp8_format", "NAME", "ACCELERATE_FP8_FORMAT", "HYBRID", Text, "HYBRID E4M3 E5M2"},
    {"fp8_amax_history_len", "N", "ACCELERATE_FP8_AMAX_HISTORY_LEN", "1024"},
    {"fp8_amax_compute_algo", "NAME", "ACCELERATE_FP8_AMAX_COMPUTE_ALGO", "most_recent", Text, "max most_recent"},
    {"fp8_opt_level", "NAME", "ACCELERATE_FP8_OPT_LEVEL", "O2", Text, "O1 O2"},
    {"fp8_enable_fsdp_float8_all_gather", "WHETHER", "ACCELERATE_FP8_ENABLE_FSDP_FLOAT8_ALL_GATHER", "1", Bit},
    {"fp8_pad_inner_dim", "WHETHER", "ACCELERATE_FP8_PAD_INNER_DIM", "1", Bit},
});

constexpr auto kFsdp = std::to_array<WorkerVariable>({
    {"fsdp_version", "N", "FSDP_VERSION", "1", Text, "1 2"},
    {"fsdp_sharding_strategy", "NAME", "FSDP_SHARDING_STRATEGY", "FULL_SHARD"},
    {"fsdp_reshard_after_forward", "HOW", "FSDP_RESHARD_AFTER_FORWARD", "true", Lower},
    {"fsdp_offload_params", "WHETHER", "FSDP_OFFLOAD_PARAMS", "false", Lower},
    {"fsdp_min_num_params", "N", "FSDP_MIN_NUM_PARAMS", "100000000"},
    {"fsdp_auto_wrap_policy", "NAME", "FSDP_AUTO_WRAP_POLICY", nullptr},
    {"fsdp_transformer_layer_cls_to_wrap", "NAMES", "FSDP_TRANSFORMER_CLS_TO_WRAP", nullptr},
    {"fsdp_backward_prefetch", "NAME", "FSDP_BACKWARD_PREFETCH", nullptr},
    {"fsdp_state_dict_type", "NAME", "FSDP_STATE_DICT_TYPE", nullptr},
    {"fsdp_forward_prefetch", "WHETHER", "FSDP_FORWARD_PREFETCH", "false", Lower},
    {"fsdp_use_orig_params", "WHETHER", "FSDP_USE_ORIG_PARAMS", "true", Lower},
    {"fsdp_cpu_ram_efficient_loading", "WHETHER", "FSDP_CPU_RAM_EFFICIENT_LOADING", "true", Lower},
    {"fsdp_sync_module_states", "WHETHER", "FSDP_SYNC_MODULE_STATES", "true", Lower},
    {"fsdp_activation_checkpointing", "WHETHER", "FSDP_ACTIVATION_CHECKPOINTING", "false", Lower},
    {"fsdp_activation_checkpointing_offload", "WHETHER", "FSDP_ACTIVATION_CHECKPOINTING_OFFLOAD", "false", Lower},
});

constexpr auto kDeepSpeed = std::to_array<WorkerVariable>({
    {"deepspeed_config_file", "FILE", "ACCELERATE_DEEPSPEED_CONFIG_FILE", nullptr},
    {"zero_stage", "N", "ACCELERATE_DEEPSPEED_ZERO_STAGE", nullptr},
    {"offload_optimizer_device", "NAME", "ACCELERATE_DEEPSPEED_OFFLOAD_OPTIMIZER_DEVICE", nullptr, Lower},
    {"offload_param_device", "NAME", "ACCELERATE_DEEPSPEED_OFFLOAD_PARAM_DEVICE", nullptr, Lower},
    {"offload_optimizer_nvme_path", "FOLDER", "ACCELERATE_DEEPSPEED_OFFLOAD_OPTIMIZER_NVME_PATH", nullptr},
    {"offload_param_nvme_path", "FOLDER", "ACCELERATE_DEEPSPEED_OFFLOAD_PARAM_NVME_PATH", nullptr},
    {"gradient_accumulation_steps", "N", "ACCELERATE_GRADIENT_ACCUMULATION_STEPS", nullptr},
    {"gradient_clipping", "NORM", "ACCELERATE_GRADIENT_CLIPPING", nullptr, Decimal},
    {"zero3_init_flag", "WHETHER", "ACCELERATE_DEEPSPEED_ZERO3_INIT", nullptr, Lower},
    {"zero3_save_16bit_model", "WHETHER", "ACCELERATE_DEEPSPEED_ZERO3_SAVE_16BIT_MODEL", nullptr, Lower},
    {"deepspeed_moe_layer_cls_names", "NAMES", "ACCELERATE_DEEPSPEED_MOE_LAYER_CLS_NAMES", nullptr},
});

constexpr auto kMegatronLm = std::to_array<WorkerVariable>({
    {"megatron_lm_tp_degree", "N", "MEGATRON_LM_TP_DEGREE", "1"},
    {"megatron_lm_use_custom_fsdp", "WHETHER", "MEGATRON_LM_USE_CUSTOM_FSDP", "False", Nonempty},
    {"megatron_lm_no_load_optim", "WHETHER", "MEGATRON_LM_NO_LOAD_OPTIM", "False", Nonempty},
    {"megatron_lm_eod_mask_loss", "WHETHER", "MEGATRON_LM_EOD_MASK_LOSS", "False", Nonempty},
    {"megatron_lm_overlap_cpu_optimizer_d2h_h2d", "WHETHER", "MEGATRON_LM_OVERLAP_CPU_OPTIMIZER_D2H_H2D", "False",
     Nonempty},
    {"megatron_lm_no_save_optim", "WHETHER", "MEGATRON_LM_NO_SAVE_OPTIM", "False", Nonempty},
    {"megatron_lm_optimizer_cpu_offload", "WHETHER", "MEGATRON_LM_OPTIMIZER_CPU_OFFLOAD", "False", Nonempty},
    {"megatron_lm_use_precision_aware_optimizer", "WHETHER", "MEGATRON_LM_USE_PRECISION_AWARE_OPTIMIZER", "False",
     Nonempty},
    {"megatron_lm_decoder_last_pipeline_num_layers", "N", "MEGATRON_LM_DECODER_LAST_PIPELINE_NUM_LAYERS", nullptr},
    {"megatron_lm_pp_degree", "N", "MEGATRON_LM_PP_DEGREE", "1"},
    {"megatron_lm_num_micro_batches", "N", "MEGATRON_LM_NUM_MICRO_BATCHES", nullptr},
    {"megatron_lm_sequence_parallelism", "WHETHER", "MEGATRON_LM_SEQUENCE_PARALLELISM", nullptr, Truth},
    {"megatron_lm_recompute_activations", "WHETHER", "MEGATRON_LM_RECOMPUTE_ACTIVATIONS", nullptr, Truth},
    {"megatron_lm_use_distributed_optimizer", "WHETHER", "MEGATRON_LM_USE_DISTRIBUTED_OPTIMIZER", nullptr, Truth},
    {"megatron_lm_gradient_clipping", "NORM", "MEGATRON_LM_GRADIENT_CLIPPING", "1.0", Decimal},
    {"megatron_lm_recompute_granularity", "NAME", "MEGATRON_LM_RECOMPUTE_GRANULARITY", nullptr},
    {"megatron_lm_recompute_method", "NAME", "MEGATRON_LM_RECOMPUTE_METHOD", nullptr},
    {"megatron_lm_recompute_num_layers", "N", "MEGATRON_LM_RECOMPUTE_NUM_LAYERS", nullptr},
    {"megatron_lm_attention_backend", "WHETHER", "MEGATRON_LM_ATTENTION_BACKEND", nullptr, Truth},
    {"megatron_lm_expert_model_parallel_size", "N", "MEGATRON_LM_EXPERT_MODEL_PARALLEL_SIZE", nullptr},
    {"megatron_lm_context_parallel_size", "N", "MEGATRON_LM_CONTEXT_PARALLEL_SIZE", nullptr},
    {"megatron_lm_attention_dropout", "RATE", "MEGATRON_LM_ATTENTION_DROPOUT", nullptr, Decimal},
    {"megatron_lm_hidden_dropout", "RATE", "MEGATRON_LM_HIDDEN_DROPOUT", nullptr, Decimal},
    {"megatron_lm_attention_softmax_in_fp32", "WHETHER", "MEGATRON_LM_ATTENTION_SOFTMAX_IN_FP32", nullptr, Truth},
    {"megatron_lm_expert_tensor_parallel_size", "N", "MEGATRON_LM_EXPERT_TENSOR_PARALLEL_SIZE", nullptr},
    {"megatron_lm_calculate_per_token_loss", "WHETHER", "MEGATRON_LM_CALCULATE_PER_TOKEN_LOSS", nullptr, Truth},
    {"megatron_lm_use_rotary_position_embeddings", "WHETHER", "MEGATRON_LM_USE_ROTARY_POSITION_EMBEDDINGS", nullptr,
     Truth},
});

constexpr auto kParallelism = std::to_array<WorkerVariable>({
    {"parallelism_config_dp_replicate_size", "N", "PARALLELISM_CONFIG_DP_REPLICATE_SIZE", "1"},
    {"parallelism_config_dp_shard_size", "N", "PARALLELISM_CONFIG_DP_SHARD_SIZE", "1"},
    {"parallelism_config_tp_size", "N", "PARALLELISM_CONFIG_TP_SIZE", "1"},
    {"parallelism_config_cp_size", "N", "PARALLELISM_CONFIG_CP_SIZE", "1"},
    {"parallelism_config_cp_backend", "NAME", "PARALLELISM_CONFIG_CP_BACKEND", "torch", Text, "torch"},
    {"parallelism_config_sp_size", "N", "PARALLELISM_CONFIG_SP_SIZE", "1"},
    {"parallelism_config_sp_backend", "NAME", "PARALLELISM_CONFIG_SP_BACKEND", "deepspeed", Text, "deepspeed"},
});

constexpr auto kContextParallelism = std::to_array<WorkerVariable>({
    {"parallelism_config_cp_comm_strategy", "NAME", "PARALLELISM_CONFIG_CP_COMM_STRATEGY", "allgather"},
});

constexpr auto kSequenceParallelism = std::to_array<WorkerVariable>({
    {"parallelism_config_sp_seq_length", "N", "PARALLELISM_CONFIG_SP_SEQ_LENGTH", "None"},
    {"parallelism_config_sp_seq_length_is_variable", "WHETHER", "PARALLELISM_CONFIG_SP_SEQ_LENGTH_IS_VARIABLE", "True",
     Nonempty},
    {"parallelism_config_sp_attn_implementation", "NAME", "PARALLELISM_CONFIG_SP_ATTN_IMPLEMENTATION", "sdpa"},
});

constexpr std::array<std::span<const WorkerVariable>, 8> kGroups = {
    kDynamo, kFp8, kFsdp, kDeepSpeed, kMegatronLm, kParallelism, kContextParallelism, kSequenceParallelism};

}  // namespace

std::span<const WorkerVariable> variables_of(Group group) {
  return kGroups.at(static_cast<std::size_t>(group));
}

std::vector<CompatOption> variable_options() {
  std::vector<CompatOption> rows;
  for (const auto& group : kGroups) {
    for (const WorkerVariable& variable : group) {
      rows.push_back({.name = variable.option,
                      .letter = '\0',
                      .argument = variable.argument,
                      .support = OptionSupport::Same,
                      .note = variable.variable,
                      .choices = variable.choices,
                      .is_strict = variable.choices != nullptr});
    }
  }
  return rows;
}

}  // namespace muster::accelerate

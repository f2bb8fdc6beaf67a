// Reads accelerate's configuration file, decides the kind of launch and sets the workers' variables. Facts:
// accelerate 1.15, ClusterConfig in accelerate/commands/config/config_args.py, and accelerate/commands/launch.py.
#include "base/lists.hpp"
#include "base/text.hpp"
#include "base/yaml.hpp"
#include "compat/accelerate.hpp"
#include "compat/tokens.hpp"
#include "environment/accelerators.hpp"
#include "modes/mpi_request.hpp"

#include <algorithm>
#include <array>

namespace muster::accelerate {
namespace {

struct Section {
  const char* key;
  const char* prefix;  ///< in front of a key to form the option, unless the key begins with it
};

constexpr auto kSections = std::to_array<Section>({
    {"deepspeed_config", ""},
    {"dynamo_config", "dynamo_"},
    {"fp8_config", "fp8_"},
    {"fsdp_config", "fsdp_"},
    {"megatron_lm_config", ""},
    {"mpirun_config", ""},
    {"parallelism_config", ""},
});

constexpr auto kKeys = std::to_array<std::string_view>({
    "command_file",
    "commands",
    "compute_environment",
    "debug",
    "distributed_type",
    "downcast_bf16",
    "dynamo_backend",
    "enable_cpu_affinity",
    "fp16",
    "gpu_ids",
    "machine_rank",
    "main_process_ip",
    "main_process_port",
    "mixed_precision",
    "num_machines",
    "num_processes",
    "rdzv_backend",
    "same_network",
    "tpu_env",
    "tpu_name",
    "tpu_use_cluster",
    "tpu_use_sudo",
    "tpu_vm",
    "tpu_zone",
    "main_training_function",
    "use_cpu",
});

const Section* find_section(std::string_view key) {
  return first_of(kSections, [&](const Section& section) { return key == section.key; });
}

/// The value as text. Empty for null, and for a list or an object.
std::optional<std::string> scalar_of(const json::value& value) {
  if (const json::string* const text = value.if_string()) {
    return std::string(*text);
  }
  const json::array* const list = value.if_array();
  if (list == nullptr) {
    return std::nullopt;
  }
  return join(mapped(*list, [](const json::value& item) { return std::string(muster::text_of(&item)); }), ",");
}

struct Reader {
  Configuration& configuration;

  Source source_of(const std::string& key) const { return {SourceKind::File, configuration.name + " " + key}; }

  void read_section(const Section& section, const json::object& members) {
    for (const auto& [name, value] : members) {
      const std::string key(name);
      if (std::string_view(section.key) == "deepspeed_config") {
        configuration.deepspeed_fields.push_back(key);
      }
      const std::string option = dashed(key.starts_with(std::string_view(section.prefix)) ? key : section.prefix + key);
      if (auto text = scalar_of(value)) {
        configuration.members[option] = {std::move(*text), source_of(key)};
      }
    }
  }

  Result<> read_member(const std::string& key, const json::value& value) {
    if (const Section* const section = find_section(key)) {
      if (const json::object* const members = value.if_object()) {
        read_section(*section, *members);
        configuration.has_parallelism =
            configuration.has_parallelism || (key == "parallelism_config" && !members->empty());
      }
      return {};
    }
    if (!contains(kKeys, key)) {
      return Error{ErrorKind::BadData, configuration.name + ": '" + key + "' is no key of accelerate's configuration"};
    }
    if (auto text = scalar_of(value)) {
      configuration.values[dashed(key)] = {std::move(*text), source_of(key)};
    }
    return {};
  }
};

/// Renames keys that files of older releases have.
void renew(Configuration& configuration) {
  const auto backend = configuration.find("dynamo-backend");
  if (backend && backend->value != "NO") {
    configuration.members["dynamo-backend"] = *backend;
  }
  const auto fp16 = configuration.find("fp16");
  if (fp16 && fp16->value == "true" && !configuration.values.contains("mixed-precision")) {
    configuration.values["mixed-precision"] = {"fp16", fp16->source};
  }
}

}  // namespace

std::optional<Sourced<std::string>> Configuration::find(const std::string& key) const {
  const auto at = values.find(key);
  return at == values.end() || at->second.value.empty() ? std::nullopt : std::optional(at->second);
}

Result<Configuration> read_configuration(const std::string& text, const std::string& name) {
  const auto document = TRY(parse_yaml(text, name));
  const json::object* const root = document.root.if_object();
  if (root == nullptr) {
    return Error{ErrorKind::BadData, name + ": expected keys and values of accelerate's configuration"};
  }
  const json::value* const environment = root->if_contains("compute_environment");
  if (environment != nullptr && scalar_of(*environment) == "AMAZON_SAGEMAKER") {
    return Error{ErrorKind::BadData, name +
                                         ": compute_environment is 'AMAZON_SAGEMAKER', expected LOCAL_MACHINE: "
                                         "accelerate itself starts jobs at Amazon"};
  }
  Configuration configuration;
  configuration.name = name;
  Reader reader{configuration};
  for (const auto& [key, value] : *root) {
    TRY(reader.read_member(std::string(key), value));
  }
  renew(configuration);
  return configuration;
}

// The variables of workers, group by group. Facts: prepare_simple_launcher_cmd_env, prepare_multi_gpu_env and
// prepare_deepspeed_cmd_env in accelerate/utils/launch.py of accelerate 1.15.

namespace {

/// Sets a variable that follows from other options.
void give(Translation& t, const std::string& variable, const std::string& value) {
  t.export_variable(variable, {value, default_of("accelerate launch")});
}

std::string python_bool(bool value) {
  return value ? "True" : "False";
}

Result<> give_group(Translation& t, Group group) {
  for (const WorkerVariable& variable : variables_of(group)) {
    if (const auto given = t.find(dashed(variable.option))) {
      auto text = TRY(text_of(variable, *given));
      t.export_variable(variable.variable, {std::move(text), given->source});
    } else if (variable.otherwise != nullptr) {
      give(t, variable.variable, variable.otherwise);
    }
  }
  return {};
}

/// Sets --fp8_override_linear_precision as three variables, and the file's other FP8 values.
Result<> give_fp8(Translation& t) {
  constexpr const char* kOverride = "fp8-override-linear-precision";
  const auto words = t.find(kOverride);
  const std::vector<std::string> values = split(words ? words->value : "False,False,False", ',');
  const std::vector<const char*> variables = {"FPROP", "DGRAD", "WGRAD"};
  if (values.size() != variables.size()) {
    return wrong_value(*words, "three of true or false, with commas");
  }
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const auto truth = parse_boolean(std::string(trim(values[i])));
    if (!truth) {
      return wrong_value(*words, "three of true or false, with commas");
    }
    const bool is_flag = words && words->source.kind == SourceKind::Flag;
    give(t, std::string("ACCELERATE_FP8_OVERRIDE_") + variables[i],
         is_flag ? (*truth ? "1" : "0") : python_bool(*truth));
  }
  return give_group(t, Group::Fp8);
}

Result<> give_parallelism(Translation& t) {
  give(t, "ACCELERATE_USE_PARALLELISM_CONFIG", "true");
  TRY(give_group(t, Group::Parallelism));
  for (const auto& [option, group] : {std::pair("parallelism-config-cp-size", Group::ContextParallelism),
                                      std::pair("parallelism-config-sp-size", Group::SequenceParallelism)}) {
    const auto size = t.find(option);
    const bool is_several = size && size->value != "1" && size->value != "0";
    TRY(is_several ? give_group(t, group) : Result<>());
  }
  return {};
}

Result<> give_fsdp(Translation& t) {
  give(t, "ACCELERATE_USE_FSDP", "true");
  if (const auto modules = t.find("fsdp-ignored-modules")) {  // only the file has it
    t.export_variable("FSDP_IGNORED_MODULES", *modules);
  }
  return give_group(t, Group::Fsdp);
}

/// Sets the variables of DeepSpeed. PYTHONPATH gets the working directory, from which DeepSpeed's ranks import.
Result<> give_deepspeed(Translation& t, const Launch& launch) {
  give(t, "ACCELERATE_USE_DEEPSPEED", "true");
  give(t, "ACCELERATE_CONFIG_DS_FIELDS", lower_case(launch.deepspeed_fields));
  std::vector<std::string> paths = split(t.snapshot.variable("PYTHONPATH").value_or(""), ':');
  std::erase(paths, "");
  paths.push_back(t.snapshot.working_directory);
  give(t, "PYTHONPATH", join(paths, ":"));
  return give_group(t, Group::DeepSpeed);
}

/// Sets the variables that all kinds of launch have.
Result<> give_common(Translation& t, const Launch& launch) {
  t.export_variable("ACCELERATE_MIXED_PRECISION", launch.mixed_precision);
  if (launch.is_debugged) {
    give(t, "ACCELERATE_DEBUG_MODE", "true");
  }
  if (t.has("enable-cpu-affinity")) {
    give(t, "ACCELERATE_CPU_AFFINITY", "1");
  }
  if (const auto threads = t.find("num-cpu-threads-per-process")) {
    t.export_variable("OMP_NUM_THREADS", *threads);
  }
  if (const auto devices = t.find("gpu-ids"); devices && devices->value != "all") {
    t.export_variable(find_device_mask(t.snapshot).variable, *devices);
  }
  return launch.mixed_precision.value == "fp8" ? give_fp8(t) : Result<>();
}

/// Sets the variables of a launch of one process. Source: prepare_simple_launcher_cmd_env.
void give_simple(Translation& t, const Launch& launch) {
  give(t, "ACCELERATE_USE_CPU", python_bool(launch.uses_cpu));
  if (launch.uses_cpu) {
    give(t, "KMP_AFFINITY", "granularity=fine,compact,1,0");
    give(t, "KMP_BLOCKTIME", "1");
  }
}

/// Sets the variables of one kind of training, and the groups that belong to it.
Result<> give_kind(Translation& t, const Launch& launch) {
  if (launch.is_deepspeed) {
    t.ignore_flag("use-megatron-lm", "the launch is DeepSpeed's");
    return give_deepspeed(t, launch);
  }
  TRY(give_group(t, Group::Dynamo));
  TRY(launch.is_fsdp ? give_fsdp(t) : Result<>());
  if (!launch.is_megatron_lm) {
    return {};
  }
  give(t, "ACCELERATE_USE_MEGATRON_LM", "true");
  return give_group(t, Group::MegatronLm);
}

}  // namespace

namespace {

/// Names the options of features whose variables are not set: they are off, and accelerate ignores them in silence.
void name_unused(Translation& t) {
  static constexpr std::array<std::pair<Group, const char*>, 8> kFeatures = {
      {{Group::Dynamo, "a launch without --use_deepspeed"},
       {Group::Fp8, "--mixed_precision fp8"},
       {Group::Fsdp, "--use_fsdp"},
       {Group::DeepSpeed, "--use_deepspeed"},
       {Group::MegatronLm, "--use_megatron_lm"},
       {Group::Parallelism, "--use_parallelism_config"},
       {Group::ContextParallelism, "--parallelism_config_cp_size above 1"},
       {Group::SequenceParallelism, "--parallelism_config_sp_size above 1"}}};
  const auto name_without = [&](const std::string& option, const char* variable, const std::string& feature) {
    if (!t.settings.contains(kExportPrefix + std::string(variable))) {
      t.ignore_flag(option, "it needs " + feature);
    }
  };
  for (const auto& [group, feature] : kFeatures) {
    for (const WorkerVariable& one : variables_of(group)) {
      name_without(dashed(one.option), one.variable, feature);
    }
  }
  name_without("fp8-override-linear-precision", "ACCELERATE_FP8_OVERRIDE_FPROP", "--mixed_precision fp8");
}

Result<> give_environment(Translation& t, const Launch& launch, bool is_simple) {
  TRY(give_common(t, launch));
  if (is_simple || launch.is_cpu || launch.is_multi_cpu) {
    give_simple(t, launch);
    return give_group(t, Group::Dynamo);
  }
  TRY(give_kind(t, launch));
  return launch.has_parallelism ? give_parallelism(t) : Result<>();
}

}  // namespace

Result<> export_environment(Translation& t, const Launch& launch, bool is_simple) {
  TRY(give_environment(t, launch, is_simple));
  name_unused(t);
  return {};
}

// Decides how `accelerate launch` would launch: by flags, then the configuration file, then defaults. Facts:
// _validate_launch_command in accelerate/commands/launch.py of accelerate 1.15.

namespace {

/// Fails if more than one kind of launch is given.
Result<> check_kinds(const Translation& t) {
  std::vector<std::string> given;
  for (const char* const name : {"cpu", "multi-gpu", "use-deepspeed", "use-fsdp"}) {
    if (t.has(name)) {
      given.push_back(t.given.at(name).source.name);
    }
  }
  if (given.size() > 1) {
    return Error{ErrorKind::BadUsage, given[0] + " and " + given[1] + " contradict each other: a job is one of them"};
  }
  if (t.has("use-parallelism-config") && !t.has("use-fsdp")) {
    return Error{ErrorKind::BadUsage, t.given.at("use-parallelism-config").source.name + " needs --use_fsdp as well"};
  }
  const auto processes = t.find("num-processes");
  return t.has("multi-gpu") && processes && processes->value == "1"
             ? wrong_value(*processes, "2 or more with --multi_gpu")
             : Result<>();
}

/// Path of the configuration file if no option names one; empty if the user has no home directory.
/// Source: accelerate/commands/config/config_args.py.
std::string default_place(const Snapshot& snapshot) {
  const std::string home = snapshot.variable("HOME").value_or("");
  std::string cache =
      snapshot.variable("HF_HOME").value_or(snapshot.variable("XDG_CACHE_HOME").value_or("~/.cache") + "/huggingface");
  if (cache.starts_with("~")) {
    if (home.empty() || (cache.size() > 1 && cache[1] != '/')) {
      return "";
    }
    cache = home + cache.substr(1);
  }
  return cache + "/accelerate/default_config.yaml";
}

/// Reads the configuration file. Empty if it is the default one, and is missing or not used because of --cpu.
Result<std::optional<Configuration>> find_configuration(const Translation& t) {
  const auto given = t.find("config-file");
  const std::string place = given ? given->value : default_place(t.snapshot);
  if (!given && (t.has("cpu") || place.empty())) {
    return std::optional<Configuration>();
  }
  const auto text = t.read_text(place);
  if (!text) {
    return given ? Result<std::optional<Configuration>>(wrong_value(*given, "a YAML or JSON file that can be read"))
                 : std::optional<Configuration>();
  }
  return std::optional(TRY(read_configuration(*text, place)));
}

/// Takes the file's value for options without a flag, as the launcher does. An option with a default of its own, such
/// as --rdzv_backend, keeps its default. Members of sections replace defaults as well.
void take_over(Translation& t, const Configuration& file) {
  for (const char* const name :
       {"num-processes", "num-machines", "machine-rank", "main-process-ip", "main-process-port", "gpu-ids"}) {
    const auto value = file.find(name);
    if (value && value->value != "-1") {
      t.given.try_emplace(name, *value);
    }
  }
  for (const auto& [name, value] : file.members) {
    t.given.try_emplace(name, value);
  }
}

/// The file's values of distributed_type that mean several processes.
constexpr auto kMultiGpu = std::to_array<std::string_view>(
    {"MULTI_GPU", "MULTI_NPU", "MULTI_MLU", "MULTI_SDAA", "MULTI_MUSA", "MULTI_XPU", "MULTI_HPU", "MULTI_NEURON"});

Result<> take_kind(Launch& launch, const Configuration& file) {
  const auto type = file.find("distributed-type");
  if (!type) {
    return Error{ErrorKind::BadData, file.name + ": there is no distributed_type, expected one such as MULTI_GPU"};
  }
  launch.is_multi_gpu = contains(kMultiGpu, type->value);
  launch.is_multi_cpu = type->value == "MULTI_CPU";
  launch.is_deepspeed = type->value == "DEEPSPEED";
  launch.is_fsdp = type->value == "FSDP";
  launch.is_megatron_lm = type->value == "MEGATRON_LM";
  launch.has_parallelism = file.has_parallelism;
  const bool is_known = launch.is_multi_gpu || launch.is_multi_cpu || launch.is_deepspeed || launch.is_fsdp ||
                        launch.is_megatron_lm || parse_boolean(type->value) == false;
  return is_known ? Result<>()
                  : wrong_value(*type,
                                "NO, MULTI_CPU, MULTI_GPU or the like, DEEPSPEED, FSDP or "
                                "MEGATRON_LM: start anything else by accelerate itself");
}

/// Reads --mixed_precision. A word that Python's YAML reader takes for false means "no".
Result<> take_precision(Launch& launch, Sourced<std::string> value) {
  static constexpr std::array<std::string_view, 4> kKnown = {"no", "fp16", "bf16", "fp8"};
  value.value = lower_case(value.value);
  if (parse_boolean(value.value) == false) {
    value.value = "no";
  }
  launch.mixed_precision = value;
  return contains(kKnown, value.value) ? Result<>() : wrong_value(value, "no, fp16, bf16 or fp8");
}

bool is_true(const Configuration& file, const char* key) {
  const auto value = file.find(key);
  return value && parse_boolean(value->value) == true;
}

/// Takes the file's values; its kind of launch counts only if no flag sets one.
Result<> take_file(Launch& launch, const Translation& t, const Configuration& file) {
  static constexpr std::array<const char*, 4> kKinds = {"multi-gpu", "use-deepspeed", "use-fsdp", "use-megatron-lm"};
  launch.has_file = true;
  if (std::ranges::none_of(kKinds, [&](const char* kind) { return t.has(kind); })) {
    TRY(take_kind(launch, file));
  }
  launch.uses_cpu = launch.uses_cpu || is_true(file, "use-cpu");
  launch.is_debugged = launch.is_debugged || is_true(file, "debug");
  std::vector<std::string> fields = file.deepspeed_fields;
  const auto precision = file.find("mixed-precision");
  if (precision && !t.find("mixed-precision")) {
    fields.emplace_back("mixed_precision");
    TRY(take_precision(launch, *precision));
  }
  launch.deepspeed_fields = join(fields, ",");
  return {};
}

Result<> check_devices(const Launch& launch, const Translation& t) {
  const auto devices = t.find("gpu-ids");
  const auto machines = t.find("num-machines");
  const bool is_one = devices && devices->value != "all" && devices->value.find(',') == std::string::npos;
  const bool is_alone = !machines || machines->value == "1";
  return launch.has_file && launch.is_multi_gpu && is_one && is_alone
             ? wrong_value(*devices, "several devices for several processes on one node, or all")
             : Result<>();
}

}  // namespace

Result<Launch> read_launch(Translation& t) {
  TRY(check_kinds(t));
  Launch launch;
  launch.is_cpu = t.has("cpu");
  launch.uses_cpu = launch.is_cpu;
  launch.is_multi_gpu = t.has("multi-gpu");
  launch.is_deepspeed = t.has("use-deepspeed");
  launch.is_fsdp = t.has("use-fsdp");
  launch.is_megatron_lm = t.has("use-megatron-lm");
  launch.has_parallelism = t.has("use-parallelism-config");
  launch.is_debugged = t.has("debug");
  if (const auto precision = t.find("mixed-precision")) {
    launch.mixed_precision = *precision;
  }
  const auto file = TRY(find_configuration(t));
  if (file) {
    TRY(take_file(launch, t, *file));
    take_over(t, *file);
  }
  TRY(check_devices(launch, t));
  return launch;
}

}  // namespace muster::accelerate

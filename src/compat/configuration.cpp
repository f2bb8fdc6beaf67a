// Reads the configuration file of accelerate. Facts: ClusterConfig in accelerate/commands/config/config_args.py of
// accelerate 1.15, and what accelerate/commands/launch.py makes of it.
#include "compat/configuration.hpp"

#include "compat/tokens.hpp"

#include "base/text.hpp"
#include "base/yaml.hpp"

#include <algorithm>
#include <array>

namespace muster::accelerate {
namespace {

struct Section {
  const char* key;
  const char* prefix;  ///< its keys are options with this in front, where they do not begin so
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
  const auto at = std::find_if(kSections.begin(), kSections.end(), [&](const Section& section) {
    return key == section.key;
  });
  return at == kSections.end() ? nullptr : &*at;
}

/// Empty: null, or more than a value.
std::optional<std::string> scalar_of(const json::value& value) {
  if (const json::string* const text = value.if_string()) {
    return std::string(*text);
  }
  const json::array* const list = value.if_array();
  if (list == nullptr) {
    return std::nullopt;
  }
  std::vector<std::string> items;
  for (const json::value& item : *list) {
    items.push_back(item.is_string() ? std::string(item.get_string()) : "");
  }
  return join(items, ",");
}

struct Reader {
  Configuration& configuration;

  Source source_of(const std::string& key) const {
    return {SourceKind::File, configuration.name + " " + key};
  }

  void read_section(const Section& section, const json::object& members) {
    for (const auto& [name, value] : members) {
      const std::string key(name);
      if (std::string_view(section.key) == "deepspeed_config") {
        configuration.deepspeed_fields.push_back(key);
      }
      const std::string option =
          dashed(key.starts_with(std::string_view(section.prefix)) ? key : section.prefix + key);
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
    if (std::find(kKeys.begin(), kKeys.end(), key) == kKeys.end()) {
      return Error{ErrorKind::BadData,
                   configuration.name + ": '" + key + "' is no key of accelerate's configuration"};
    }
    if (auto text = scalar_of(value)) {
      configuration.values[dashed(key)] = {std::move(*text), source_of(key)};
    }
    return {};
  }
};

/// Files of older releases.
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

std::string default_place(const Snapshot& snapshot) {
  const std::string home = snapshot.variable("HOME").value_or("");
  std::string cache = snapshot.variable("HF_HOME").value_or(
      snapshot.variable("XDG_CACHE_HOME").value_or("~/.cache") + "/huggingface");
  if (cache.starts_with("~")) {
    if (home.empty() || (cache.size() > 1 && cache[1] != '/')) {
      return "";
    }
    cache = home + cache.substr(1);
  }
  return cache + "/accelerate/default_config.yaml";
}

Result<Configuration> read_configuration(const std::string& text, const std::string& name) {
  const auto document = parse_yaml(text, name);
  if (!document) {
    return document.error();
  }
  const json::object* const root = document->root.if_object();
  if (root == nullptr) {
    return Error{ErrorKind::BadData,
                 name + ": expected keys and values of accelerate's configuration"};
  }
  const json::value* const environment = root->if_contains("compute_environment");
  if (environment != nullptr && scalar_of(*environment) == "AMAZON_SAGEMAKER") {
    return Error{ErrorKind::BadData,
                 name +
                     ": compute_environment is 'AMAZON_SAGEMAKER', expected LOCAL_MACHINE: jobs "
                     "at Amazon are started by accelerate itself"};
  }
  Configuration configuration;
  configuration.name = name;
  Reader reader{configuration};
  for (const auto& [key, value] : *root) {
    if (auto read = reader.read_member(std::string(key), value); !read) {
      return read.error();
    }
  }
  renew(configuration);
  return configuration;
}

}  // namespace muster::accelerate

// How `accelerate launch` would launch: flags, then the configuration file, then defaults. Facts:
// _validate_launch_command in accelerate/commands/launch.py of accelerate 1.15.
#include "compat/launch.hpp"

#include "compat/configuration.hpp"
#include "compat/variables.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <array>

namespace muster::accelerate {
namespace {

/// At most one of these can be given.
Result<> check_kinds(const Translation& t) {
  std::vector<std::string> given;
  for (const char* const name : {"cpu", "multi-gpu", "use-deepspeed", "use-fsdp"}) {
    if (t.is_on(name)) {
      given.push_back(t.given.at(name).source.name);
    }
  }
  if (given.size() > 1) {
    return Error{ErrorKind::BadUsage,
                 given[0] + " and " + given[1] + " contradict each other: a job is one of them"};
  }
  if (t.is_on("use-parallelism-config") && !t.is_on("use-fsdp")) {
    return Error{ErrorKind::BadUsage,
                 t.given.at("use-parallelism-config").source.name + " needs --use_fsdp as well"};
  }
  const auto processes = t.find("num-processes");
  return t.is_on("multi-gpu") && processes && processes->value == "1"
             ? wrong_value(*processes, "2 or more with --multi_gpu")
             : Result<>();
}

/// Nothing where no option names a file and the default one is not there, or is not asked with --cpu.
Result<std::optional<Configuration>> find_configuration(const Translation& t) {
  const auto given = t.find("config-file");
  const std::string place = given ? given->value : default_place(t.snapshot);
  if (!given && (t.is_on("cpu") || place.empty())) {
    return std::optional<Configuration>();
  }
  const auto text = t.read_text(place);
  if (!text) {
    return given ? Result<std::optional<Configuration>>(
                       wrong_value(*given, "a YAML or JSON file that can be read"))
                 : std::optional<Configuration>();
  }
  auto read = read_configuration(*text, place);
  return read ? Result<std::optional<Configuration>>(std::move(*read)) : read.error();
}

/// The launcher gives these the file's value where no flag has one; what has a default of its own, such as --rdzv_backend,
/// keeps that. Members of sections replace defaults as well.
void take_over(Translation& t, const Configuration& file) {
  for (const char* const name : {"num-processes",
                                 "num-machines",
                                 "machine-rank",
                                 "main-process-ip",
                                 "main-process-port",
                                 "gpu-ids"}) {
    const auto value = file.find(name);
    if (value && value->value != "-1") {
      t.given.try_emplace(name, *value);
    }
  }
  for (const auto& [name, value] : file.members) {
    t.given.try_emplace(name, value);
  }
}

/// What the file calls several processes.
constexpr auto kMultiGpu = std::to_array<std::string_view>({"MULTI_GPU",
                                                            "MULTI_NPU",
                                                            "MULTI_MLU",
                                                            "MULTI_SDAA",
                                                            "MULTI_MUSA",
                                                            "MULTI_XPU",
                                                            "MULTI_HPU",
                                                            "MULTI_NEURON"});

Result<> take_kind(Launch& launch, const Configuration& file) {
  const auto type = file.find("distributed-type");
  if (!type) {
    return Error{ErrorKind::BadData,
                 file.name + ": there is no distributed_type, expected one such as MULTI_GPU"};
  }
  launch.is_multi_gpu =
      std::find(kMultiGpu.begin(), kMultiGpu.end(), type->value) != kMultiGpu.end();
  launch.is_multi_cpu = type->value == "MULTI_CPU";
  launch.is_deepspeed = type->value == "DEEPSPEED";
  launch.is_fsdp = type->value == "FSDP";
  launch.is_megatron_lm = type->value == "MEGATRON_LM";
  launch.has_parallelism = file.has_parallelism;
  const bool is_known = launch.is_multi_gpu || launch.is_multi_cpu || launch.is_deepspeed ||
                        launch.is_fsdp || launch.is_megatron_lm || read_truth(type->value) == false;
  return is_known ? Result<>()
                  : wrong_value(*type,
                                "NO, MULTI_CPU, MULTI_GPU or the like, DEEPSPEED, FSDP or "
                                "MEGATRON_LM: all else only accelerate itself starts");
}

/// A word that Python's YAML reader takes for false is what is meant by it.
Result<> take_precision(Launch& launch, Sourced<std::string> value) {
  static constexpr std::array<std::string_view, 4> kKnown = {"no", "fp16", "bf16", "fp8"};
  std::transform(value.value.begin(), value.value.end(), value.value.begin(), [](unsigned char c) {
    return static_cast<char>(std::tolower(c));
  });
  if (read_truth(value.value) == false) {
    value.value = "no";
  }
  launch.mixed_precision = value;
  return std::find(kKnown.begin(), kKnown.end(), value.value) != kKnown.end()
             ? Result<>()
             : wrong_value(value, "no, fp16, bf16 or fp8");
}

bool is_true(const Configuration& file, const char* key) {
  const auto value = file.find(key);
  return value && read_truth(value->value) == true;
}

/// The kind is the file's where no flag says one.
Result<> take_file(Launch& launch, const Translation& t, const Configuration& file) {
  static constexpr std::array<const char*, 4> kKinds = {
      "multi-gpu", "use-deepspeed", "use-fsdp", "use-megatron-lm"};
  launch.has_file = true;
  if (std::none_of(kKinds.begin(), kKinds.end(), [&](const char* kind) { return t.is_on(kind); })) {
    if (auto taken = take_kind(launch, file); !taken) {
      return taken;
    }
  }
  launch.uses_cpu = launch.uses_cpu || is_true(file, "use-cpu");
  launch.is_debugged = launch.is_debugged || is_true(file, "debug");
  std::vector<std::string> fields = file.deepspeed_fields;
  const auto precision = file.find("mixed-precision");
  if (precision && !t.find("mixed-precision")) {
    fields.emplace_back("mixed_precision");
    if (auto taken = take_precision(launch, *precision); !taken) {
      return taken;
    }
  }
  launch.deepspeed_fields = join(fields, ",");
  return {};
}

Result<> check_devices(const Launch& launch, const Translation& t) {
  const auto devices = t.find("gpu-ids");
  const auto machines = t.find("num-machines");
  const bool is_one =
      devices && devices->value != "all" && devices->value.find(',') == std::string::npos;
  const bool is_alone = !machines || machines->value == "1";
  return launch.has_file && launch.is_multi_gpu && is_one && is_alone
             ? wrong_value(*devices, "several devices for several processes on one node, or all")
             : Result<>();
}

}  // namespace

Result<Launch> read_launch(Translation& t) {
  if (auto checked = check_kinds(t); !checked) {
    return checked.error();
  }
  Launch launch;
  launch.is_cpu = t.is_on("cpu");
  launch.uses_cpu = launch.is_cpu;
  launch.is_multi_gpu = t.is_on("multi-gpu");
  launch.is_deepspeed = t.is_on("use-deepspeed");
  launch.is_fsdp = t.is_on("use-fsdp");
  launch.is_megatron_lm = t.is_on("use-megatron-lm");
  launch.has_parallelism = t.is_on("use-parallelism-config");
  launch.is_debugged = t.is_on("debug");
  if (const auto precision = t.find("mixed-precision")) {
    launch.mixed_precision = *precision;
  }
  const auto file = find_configuration(t);
  if (!file) {
    return file.error();
  }
  if (*file) {
    if (auto taken = take_file(launch, t, **file); !taken) {
      return taken.error();
    }
    take_over(t, **file);
  }
  auto checked = check_devices(launch, t);
  return checked ? Result<Launch>(std::move(launch)) : checked.error();
}

}  // namespace muster::accelerate

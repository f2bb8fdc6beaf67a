// The variables of workers, group by group. Facts: prepare_simple_launcher_cmd_env, prepare_multi_gpu_env and
// prepare_deepspeed_cmd_env in accelerate/utils/launch.py of accelerate 1.15.
#include "compat/environment.hpp"

#include "compat/tokens.hpp"
#include "compat/variables.hpp"

#include "base/text.hpp"
#include "environment/accelerators.hpp"
#include "modes/mpi_request.hpp"

#include <algorithm>

namespace muster::accelerate {
namespace {

void give(Translation& t, const std::string& variable, Sourced<std::string> value) {
  t.set(kExportPrefix + variable, std::move(value));
}

/// As a consequence of what else was said.
void give(Translation& t, const std::string& variable, const std::string& value) {
  give(t, variable, {value, default_of("accelerate launch")});
}

std::string python_bool(bool value) {
  return value ? "True" : "False";
}

Result<> give_variable(Translation& t, const WorkerVariable& variable) {
  const auto given = t.find(dashed(variable.option));
  if (given) {
    auto text = text_of(variable, *given);
    if (!text) {
      return text.error();
    }
    give(t, variable.variable, {std::move(*text), given->source});
  } else if (variable.otherwise != nullptr) {
    give(t, variable.variable, std::string(variable.otherwise));
  }
  return {};
}

Result<> give_group(Translation& t, Group group) {
  for (const WorkerVariable& variable : variables_of(group)) {
    if (auto given = give_variable(t, variable); !given) {
      return given;
    }
  }
  return {};
}

/// Three words that stand for three variables; and whatever else the file has of FP8.
Result<> give_fp8(Translation& t) {
  constexpr const char* kOverride = "fp8-override-linear-precision";
  const auto words = t.find(kOverride);
  const std::vector<std::string> values = split(words ? words->value : "False,False,False", ',');
  const std::vector<const char*> variables = {"FPROP", "DGRAD", "WGRAD"};
  if (values.size() != variables.size()) {
    return wrong_value(*words, "three of true or false, with commas");
  }
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const auto truth = read_truth(trim(values[i]));
    if (!truth) {
      return wrong_value(*words, "three of true or false, with commas");
    }
    const bool is_flag = words && words->source.kind == SourceKind::Flag;
    give(t,
         std::string("ACCELERATE_FP8_OVERRIDE_") + variables[i],
         is_flag ? (*truth ? "1" : "0") : python_bool(*truth));
  }
  return give_group(t, Group::Fp8);
}

Result<> give_parallelism(Translation& t) {
  give(t, "ACCELERATE_USE_PARALLELISM_CONFIG", "true");
  if (auto given = give_group(t, Group::Parallelism); !given) {
    return given;
  }
  for (const auto& [option, group] :
       {std::pair("parallelism-config-cp-size", Group::ContextParallelism),
        std::pair("parallelism-config-sp-size", Group::SequenceParallelism)}) {
    const auto size = t.find(option);
    const bool is_several = size && size->value != "1" && size->value != "0";
    if (auto given = is_several ? give_group(t, group) : Result<>(); !given) {
      return given;
    }
  }
  return {};
}

Result<> give_fsdp(Translation& t) {
  give(t, "ACCELERATE_USE_FSDP", "true");
  if (const auto modules = t.find("fsdp-ignored-modules")) {  // of the file alone
    give(t, "FSDP_IGNORED_MODULES", *modules);
  }
  return give_group(t, Group::Fsdp);
}

/// DeepSpeed's ranks import what lies in the working directory.
Result<> give_deepspeed(Translation& t, const Launch& launch) {
  give(t, "ACCELERATE_USE_DEEPSPEED", "true");
  std::string fields = launch.deepspeed_fields;
  std::transform(fields.begin(), fields.end(), fields.begin(), [](unsigned char c) {
    return static_cast<char>(std::tolower(c));
  });
  give(t, "ACCELERATE_CONFIG_DS_FIELDS", fields);
  std::vector<std::string> paths = split(t.snapshot.variable("PYTHONPATH").value_or(""), ':');
  std::erase(paths, "");
  paths.push_back(t.snapshot.working_directory);
  give(t, "PYTHONPATH", join(paths, ":"));
  return give_group(t, Group::DeepSpeed);
}

/// What all kinds have.
Result<> give_common(Translation& t, const Launch& launch) {
  give(t, "ACCELERATE_MIXED_PRECISION", launch.mixed_precision);
  if (launch.is_debugged) {
    give(t, "ACCELERATE_DEBUG_MODE", "true");
  }
  if (t.is_on("enable-cpu-affinity")) {
    give(t, "ACCELERATE_CPU_AFFINITY", "1");
  }
  if (const auto threads = t.find("num-cpu-threads-per-process")) {
    give(t, "OMP_NUM_THREADS", *threads);
  }
  if (const auto devices = t.find("gpu-ids"); devices && devices->value != "all") {
    give(t, find_device_mask(t.snapshot).variable, *devices);
  }
  return launch.mixed_precision.value == "fp8" ? give_fp8(t) : Result<>();
}

/// Source: prepare_simple_launcher_cmd_env.
void give_simple(Translation& t, const Launch& launch) {
  give(t, "ACCELERATE_USE_CPU", python_bool(launch.uses_cpu));
  if (launch.uses_cpu) {
    give(t, "KMP_AFFINITY", "granularity=fine,compact,1,0");
    give(t, "KMP_BLOCKTIME", "1");
  }
}

/// One of the ways to train, and the groups that belong to it.
Result<> give_kind(Translation& t, const Launch& launch) {
  if (launch.is_deepspeed) {
    return give_deepspeed(t, launch);
  }
  if (auto given = give_group(t, Group::Dynamo); !given) {
    return given;
  }
  if (auto given = launch.is_fsdp ? give_fsdp(t) : Result<>(); !given) {
    return given;
  }
  if (!launch.is_megatron_lm) {
    return {};
  }
  give(t, "ACCELERATE_USE_MEGATRON_LM", "true");
  return give_group(t, Group::MegatronLm);
}

}  // namespace

Result<> export_environment(Translation& t, const Launch& launch, bool is_simple) {
  if (auto given = give_common(t, launch); !given) {
    return given;
  }
  if (is_simple || launch.is_cpu || launch.is_multi_cpu) {
    give_simple(t, launch);
    return give_group(t, Group::Dynamo);
  }
  if (auto given = give_kind(t, launch); !given) {
    return given;
  }
  return launch.has_parallelism ? give_parallelism(t) : Result<>();
}

}  // namespace muster::accelerate

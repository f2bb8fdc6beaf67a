// Sources: Huawei Cloud, ModelArts, "Preset images: how the boot file is started"; Ascend/mind-cluster,
// ascend-operator/pkg/controllers/v1/env.go.
#include "platforms/run_method.hpp"

#include <array>

namespace muster {
namespace {

constexpr const char* kVariable = "MA_RUN_METHOD";

constexpr std::array<RunMethod, 2> kMethods = {{
    {.mode = "torchrun",
     .master_address = nullptr,
     .master_port = "MA_TORCHRUN_MASTER_PORT",
     .usual_port = 18'888,
     .workers = nullptr,
     .log_dir = nullptr,
     .cluster_time_out = nullptr,
     .more_options = "MA_EXTRA_TORCHRUN_PARAMS"},
    {.mode = "msrun",
     .master_address = "MSRUN_MASTER_ADDR",
     .master_port = "MSRUN_MASTER_PORT",
     .usual_port = 0,
     .workers = "MSRUN_WORKER_NUM",
     .log_dir = "MSRUN_LOG_DIR",
     .cluster_time_out = "MSRUN_CLUSTER_TIME_OUT",
     .more_options = nullptr},
}};

}  // namespace

const RunMethod* find_run_method(const Snapshot& snapshot) {
  const auto word = snapshot.variable(kVariable);
  for (const RunMethod& method : kMethods) {
    if (word == method.mode) {
      return &method;
    }
  }
  return nullptr;
}

Result<std::optional<Sourced<std::string>>> mode_of_run_method(const Snapshot& snapshot) {
  const auto word = snapshot.variable(kVariable);
  if (!word || word->empty()) {
    return std::optional<Sourced<std::string>>();
  }
  Sourced<std::string> mode{*word, from_variable(kVariable)};
  if (find_run_method(snapshot) == nullptr) {
    return wrong_value(mode, "torchrun or msrun");
  }
  return std::optional(std::move(mode));
}

std::optional<Source> find_mindspore_pod(const Snapshot& snapshot) {
  for (const char* const name : {"MS_ROLE", "MS_WORKER_NUM", "MS_LOCAL_WORKER", "MS_NODE_RANK"}) {
    if (snapshot.variable(name).value_or("").empty()) {
      return std::nullopt;
    }
  }
  return from_variable("MS_ROLE and MS_LOCAL_WORKER");
}

}  // namespace muster

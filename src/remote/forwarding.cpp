// The list of variables that go along, which docs/hosts.md shows.
#include "base/text.hpp"
#include "remote/forwarding.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace muster {
namespace {

/// Where programs are found, what libraries of communication and frameworks are told, and the keys of
/// services. Not what belongs to one host: devices that are visible, addresses, interfaces' places.
constexpr auto kUsual = std::to_array<std::string_view>({
    "PATH",
    "LD_LIBRARY_PATH",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "LANG",
    "LC_*",
    "PYTHON*",
    "NCCL_*",
    "RCCL_*",
    "HCCL_*",
    "GLOO_*",
    "UCX_*",
    "FI_*",
    "MV2_*",
    "TORCH_*",
    "PYTORCH_*",
    "CUDA_HOME",
    "CUDA_LAUNCH_BLOCKING",
    "CUDA_DEVICE_ORDER",
    "CUDA_DEVICE_MAX_CONNECTIONS",
    "ASCEND_*_PATH",
    "ASCEND_GLOBAL_*",
    "ASCEND_LAUNCH_BLOCKING",
    "TASK_QUEUE_ENABLE",
    "MS_*",
    "GLOG_*",
    "TF_*",
    "XLA_*",
    "JAX_*",
    "DS_*",
    "OMP_*",
    "MKL_*",
    "KMP_*",
    "HF_*",
    "TRANSFORMERS_*",
    "TOKENIZERS_*",
    "WANDB_*",
    "MLFLOW_*",
});

/// What tells one process or host who it is: true of this one only.
constexpr auto kOwnOfHost = std::to_array<std::string_view>({
    "TF_CONFIG",
    "HCCL_IF_IP",
    "MS_ROLE",
    "MS_NODE_ID",
    "MS_WORKER_IP",
    "MS_WORKER_NUM",
    "MS_SCHED_HOST",
    "MS_SCHED_PORT",
    "JAX_PROCESS_ID",
    "JAX_NUM_PROCESSES",
    "JAX_COORDINATOR_ADDRESS",
});

constexpr std::string_view kNone = "none";
constexpr std::string_view kOwn = "MUSTER_";

bool is_name(std::string_view text) {
  return !text.empty() && text != "*" && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '*' || c == '.' || c == '-';
  });
}

}  // namespace

std::span<const std::string_view> usual_variables() {
  return kUsual;
}

Result<std::vector<std::string>> read_forwarding(const std::optional<Sourced<std::string>>& given) {
  std::vector<std::string> names(kUsual.begin(), kUsual.end());
  if (!given) {
    return names;
  }
  std::vector<std::string> wanted = split(given->value, ',');
  if (!wanted.empty() && wanted.front() == kNone) {
    names.clear();
    wanted.erase(wanted.begin());
  } else if (wanted.empty()) {
    return wrong_value(*given, "names of variables such as MY_KEY,MY_APP_*, or none");
  }
  for (const std::string& name : wanted) {
    if (!is_name(name) || std::count(name.begin(), name.end(), '*') > 1) {
      return wrong_value(*given, "names of variables such as MY_KEY,MY_APP_*, or none");
    }
    names.push_back(name);
  }
  return names;
}

std::map<std::string, std::string> choose_variables(
    const std::map<std::string, std::string>& variables, const std::vector<std::string>& names) {
  std::map<std::string, std::string> chosen;
  for (const auto& variable : variables) {
    const std::string& name = variable.first;
    const bool is_own = std::find(kOwnOfHost.begin(), kOwnOfHost.end(), name) != kOwnOfHost.end();
    const bool is_wanted = std::any_of(names.begin(), names.end(), [&](const std::string& pattern) {
      return is_own ? name == pattern : matches_pattern(name, pattern);
    });
    if (is_wanted && !name.starts_with(kOwn)) {
      chosen.insert(variable);
    }
  }
  return chosen;
}

}  // namespace muster

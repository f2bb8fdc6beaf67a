// Lists the options of `accelerate launch`, of accelerate 1.15, and what each becomes; writes values as Python does.
// Facts: accelerate/commands/launch.py.
#include "base/text.hpp"
#include "compat/accelerate.hpp"
#include "compat/stale_variables.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace muster {
namespace {

using enum OptionSupport;

constexpr const char* kTpu = "this option is for TPUs, and torch_xla starts the processes of TPUs";
constexpr const char* kAmazon = "this option is for jobs at Amazon SageMaker, and accelerate itself starts these jobs";
constexpr const char* kOld = "accelerate itself finds the device";

constexpr auto kAccelerateOptions = std::to_array<CompatOption>({
    {"config_file", '\0', "FILE", Same,
     "A value of the file applies if no option on the line gives it. Without this option muster reads the "
     "default file, if it exists."},
    {"num_processes", '\0', "N", Better,
     "Number of workers of the whole job, over all machines. Without this option, each machine starts one worker for "
     "each of its accelerators."},
    {"num_machines", '\0', "N", Better, "If neither the line nor the file gives the number, the platform gives it."},
    {"machine_rank", '\0', "R", Better,
     "If neither the line nor the file gives the rank, the platform gives it, else the order in which the "
     "nodes arrive."},
    {"main_process_ip", '\0', "HOST", Same, "Where the nodes meet."},
    {"main_process_port", '\0', "PORT", Same,
     "Port at which the workers meet. The nodes meet at the next port. Without this option, a job of one node takes a "
     "free port."},
    {"same_network", '\0', nullptr, Same, "The nodes meet at the same place with and without this option."},
    {"rdzv_backend", '\0', "NAME", Better, "Does the same as torchrun's --rdzv-backend.", nullptr,
     "static c10d etcd etcd-v2"},
    {"rdzv_conf", '\0', "KEY=VALUE,...", Better, "Does the same as torchrun's --rdzv-conf."},
    {"max_restarts", '\0', "N", Better,
     "The number applies to the whole job and not to each agent; all nodes restart together.", "max-restarts"},
    {"monitor_interval", '\0', "SECONDS", Ignored, "muster does not poll; it sees at once that a worker ends"},
    {"tee", 't', "WHAT", Better, "Does the same as torchrun's --tee. muster always writes whole lines.", "tee"},
    {"log_dir", '\0', "DIR", Same,
     "Does the same as torchrun's --log-dir: the folder of the files of --tee, and of the error files.", "log-dir"},
    {"role", '\0', "NAME", Same, "muster sets ROLE_NAME to this name.", "set:role_name"},
    {"module", 'm', nullptr, Same, "The script is the name of a Python module."},
    {"no_python", '\0', nullptr, Same, "muster executes the script directly, without Python.", "no-python"},
    {"cpu", '\0', nullptr, Better,
     "The workers use no accelerator. With --num_processes above 1, muster starts that many workers, without mpirun."},
    {"multi_gpu", '\0', nullptr, Same,
     "muster starts several workers, with --num_processes even without accelerators."},
    {"use_deepspeed", '\0', nullptr, Same,
     "muster sets ACCELERATE_USE_DEEPSPEED and accelerate's other variables for DeepSpeed."},
    {"use_fsdp", '\0', nullptr, Same, "muster sets ACCELERATE_USE_FSDP and accelerate's other variables for FSDP."},
    {"use_megatron_lm", '\0', nullptr, Same,
     "muster sets ACCELERATE_USE_MEGATRON_LM and accelerate's other variables for Megatron-LM."},
    {"use_parallelism_config", '\0', nullptr, Same,
     "muster sets ACCELERATE_USE_PARALLELISM_CONFIG and accelerate's other variables for parallelism."},
    {"mixed_precision", '\0', "NAME", Same, "ACCELERATE_MIXED_PRECISION", nullptr, "no fp16 bf16 fp8", true},
    {"gpu_ids", '\0', "LIST", Same,
     "muster sets CUDA_VISIBLE_DEVICES, or the same variable for this node's accelerators, to this list. With all, "
     "muster does not set it."},
    {"num_cpu_threads_per_process", '\0', "N", Same, "OMP_NUM_THREADS"},
    {"enable_cpu_affinity", '\0', nullptr, Same, "ACCELERATE_CPU_AFFINITY"},
    {"debug", '\0', nullptr, Same, "ACCELERATE_DEBUG_MODE"},
    {"quiet", 'q', nullptr, Ignored, "muster prints little even without this option"},
    {"fp8_override_linear_precision", '\0', "WHETHER,WHETHER,WHETHER", Same,
     "ACCELERATE_FP8_OVERRIDE_FPROP, ACCELERATE_FP8_OVERRIDE_DGRAD, ACCELERATE_FP8_OVERRIDE_WGRAD"},
    {"deepspeed_hostfile", '\0', "FILE", Better,
     "muster starts one agent on each of these hosts, through ssh. muster ignores the file with "
     "--deepspeed_multinode_launcher standard or nossh, and if a platform already starts muster on as many nodes as "
     "the "
     "file has hosts."},
    {"deepspeed_inclusion_filter", '\0', "NODES", Same, "The job uses only these hosts and devices of the hostfile."},
    {"deepspeed_exclusion_filter", '\0', "NODES", Same,
     "The job does not use these hosts and devices of the hostfile."},
    {"deepspeed_multinode_launcher", '\0', "NAME", Better,
     "With standard or nossh, you start muster on each node yourself. With any other value, muster starts one agent "
     "on each host of the hostfile, through ssh or --remote-shell."},
    {"mpirun_hostfile", '\0', "FILE", Better,
     "muster starts one agent on each of these hosts, through ssh and without mpirun. If a platform already starts "
     "muster on as many nodes as the file has hosts, muster ignores the file."},
    {"use_xpu", '\0', nullptr, Ignored, kOld},
    {"use_mps_device", '\0', nullptr, Ignored, kOld},
    {"ipex", '\0', nullptr, Ignored, "accelerate 1.15 no longer has this option"},
    {"main_training_function", '\0', "NAME", Ignored, kTpu},
    {"downcast_bf16", '\0', nullptr, Ignored, kTpu},
    {"tpu_cluster", '\0', nullptr, Ignored, kTpu},
    {"no_tpu_cluster", '\0', nullptr, Ignored, kTpu},
    {"tpu_use_sudo", '\0', nullptr, Ignored, kTpu},
    {"vm", '\0', "NAME", Ignored, kTpu},
    {"env", '\0', "NAME=VALUE", Ignored, kTpu},
    {"aws_access_key_id", '\0', "ID", Ignored, kAmazon},
    {"aws_secret_access_key", '\0', "KEY", Ignored, kAmazon},
    {"tpu", '\0', nullptr, Refused, kTpu},
});

/// The options of the launcher itself, then those that only set a variable of the workers.
std::vector<CompatOption> all_options() {
  std::vector<CompatOption> options = accelerate::variable_options();
  options.insert(options.begin(), kAccelerateOptions.begin(), kAccelerateOptions.end());
  return options;
}

}  // namespace

std::span<const CompatOption> accelerate_options() {
  static const std::vector<CompatOption> options = all_options();
  return options;
}

}  // namespace muster

namespace muster::accelerate {

// Writes values of variables as Python writes what it has read.

namespace {

/// Writes a number as repr() writes a float: the fewest digits that read back as it, and a point. Empty: no number.
/// Source: Python's "Floating Point Arithmetic"; float_repr_style "short", exponents below -4 and from 16 on.
std::optional<std::string> find_python_float(std::string_view text) {
  constexpr double kSmallest = 1e-4;
  constexpr double kLargest = 1e16;
  constexpr std::size_t kLongest = 32;
  double number = 0;
  text = trim(text);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) {
    return std::nullopt;
  }
  const double size = std::fabs(number);
  const bool is_plain = size == 0 || (size >= kSmallest && size < kLargest);
  std::array<char, kLongest> digits{};
  const auto written = std::to_chars(digits.begin(), digits.end(), number,
                                     is_plain ? std::chars_format::fixed : std::chars_format::scientific);
  const std::string result(digits.begin(), written.ptr);
  return is_plain && result.find('.') == std::string::npos ? result + ".0" : result;
}

/// "True" or "False" for a boolean of YAML, else the text. YAML takes no single letter or digit for a boolean.
/// Source: YAML 1.1, "Boolean Language-Independent Type".
std::string truth_text(const Sourced<std::string>& value) {
  const auto truth = value.value.size() > 1 ? parse_boolean(value.value) : std::nullopt;
  return truth ? (*truth ? "True" : "False") : value.value;
}

Result<std::string> decimal_text(const Sourced<std::string>& value) {
  const auto number = find_python_float(value.value);
  if (!number && value.source.kind == SourceKind::Flag) {
    return wrong_value(value, "a number");
  }
  const bool is_integer =
      value.source.kind == SourceKind::File && value.value.find_first_of(".eE") == std::string::npos;
  return is_integer ? value.value : number.value_or(value.value);
}

Result<std::string> bit_text(const Sourced<std::string>& value) {
  const auto truth = parse_boolean(value.value);
  return truth ? Result<std::string>(*truth ? "1" : "0") : wrong_value(value, "true or false");
}

Result<std::string> flag_text(const WorkerVariable& variable, const Sourced<std::string>& value) {
  if (variable.spelling == Spelling::Nonempty) {
    return std::string("True");
  }
  if (variable.spelling == Spelling::Bit) {
    return bit_text(value);
  }
  const bool is_number = std::string_view(variable.argument) == "N";
  const bool is_wrong = is_number && variable.choices == nullptr && value.source.kind != SourceKind::File &&
                        !find_python_integer(value.value);
  return is_wrong ? wrong_value(value, "a number") : Result<std::string>(value.value);
}

}  // namespace

Result<std::string> text_of(const WorkerVariable& variable, const Sourced<std::string>& value) {
  const bool is_of_file = value.source.kind == SourceKind::File;
  if (variable.argument == nullptr) {
    return is_of_file ? truth_text(value) : std::string("True");
  }
  if (variable.spelling == Spelling::Decimal) {
    return decimal_text(value);
  }
  if (variable.spelling == Spelling::Lower) {
    return lower_case(value.value);
  }
  if (variable.spelling == Spelling::Upper) {
    return to_upper(value.value);
  }
  const bool is_truth = variable.spelling != Spelling::Text;
  if (is_of_file) {
    return is_truth ? truth_text(value) : value.value;
  }
  return flag_text(variable, value);
}

}  // namespace muster::accelerate

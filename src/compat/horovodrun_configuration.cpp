// Reads the configuration file of horovodrun and sets the variables of the ranks. Facts: set_args_from_config in
// horovod/runner/common/util/config_parser.py of Horovod 0.28.
#include "base/lists.hpp"
#include "base/text.hpp"
#include "base/yaml.hpp"
#include "compat/horovodrun.hpp"
#include "compat/tokens.hpp"

#include <algorithm>
#include <array>
#include <limits>

namespace muster::horovodrun {
namespace {

constexpr const char* kController = "controller";
constexpr const char* kStallCheck = "stall_check";  ///< its other keys turn the check on

Error no_configuration(const std::string& name) {
  return Error{ErrorKind::BadData, name + ": expected keys and values of horovodrun's configuration"};
}

constexpr auto kTunings = std::to_array<Tuning>({
    {"fusion-threshold-mb", "HOROVOD_FUSION_THRESHOLD", Kind::Mebibytes, "params.fusion_threshold_mb"},
    {"cycle-time-ms", "HOROVOD_CYCLE_TIME", Kind::Number, "params.cycle_time_ms"},
    {"cache-capacity", "HOROVOD_CACHE_CAPACITY", Kind::Count, "params.cache_capacity"},
    {"hierarchical-allreduce", "HOROVOD_HIERARCHICAL_ALLREDUCE", Kind::Switch, "params.hierarchical_allreduce",
     "no-hierarchical-allreduce"},
    {"hierarchical-allgather", "HOROVOD_HIERARCHICAL_ALLGATHER", Kind::Switch, "params.hierarchical_allgather",
     "no-hierarchical-allgather"},
    {"torus-allreduce", "HOROVOD_TORUS_ALLREDUCE", Kind::Switch, "params.torus_allreduce", "no-torus-allreduce"},
    {"autotune", "HOROVOD_AUTOTUNE", Kind::Switch, "autotune.enabled", "no-autotune", "autotune"},
    {"autotune-log-file", "HOROVOD_AUTOTUNE_LOG", Kind::Text, "autotune.log_file", nullptr, "autotune"},
    {"autotune-warmup-samples", "HOROVOD_AUTOTUNE_WARMUP_SAMPLES", Kind::Count, "autotune.warmup_samples", nullptr,
     "autotune"},
    {"autotune-steps-per-sample", "HOROVOD_AUTOTUNE_STEPS_PER_SAMPLE", Kind::Count, "autotune.steps_per_sample",
     nullptr, "autotune"},
    {"autotune-bayes-opt-max-samples", "HOROVOD_AUTOTUNE_BAYES_OPT_MAX_SAMPLES", Kind::Count,
     "autotune.bayes_opt_max_samples", nullptr, "autotune"},
    {"autotune-gaussian-process-noise", "HOROVOD_AUTOTUNE_GAUSSIAN_PROCESS_NOISE", Kind::Share,
     "autotune.gaussian_process_noise", nullptr, "autotune"},
    {"timeline-filename", "HOROVOD_TIMELINE", Kind::Text, "timeline.filename"},
    {"timeline-mark-cycles", "HOROVOD_TIMELINE_MARK_CYCLES", Kind::Switch, "timeline.mark_cycles",
     "no-timeline-mark-cycles", "timeline-filename"},
    {"no-stall-check", "HOROVOD_STALL_CHECK_DISABLE", Kind::Switch, "stall_check.enabled", "stall-check", nullptr,
     true},
    {"stall-check-warning-time-seconds", "HOROVOD_STALL_CHECK_TIME_SECONDS", Kind::Count,
     "stall_check.warning_time_seconds"},
    {"stall-check-shutdown-time-seconds", "HOROVOD_STALL_SHUTDOWN_TIME_SECONDS", Kind::Count,
     "stall_check.shutdown_time_seconds"},
    {"mpi-threads-disable", "HOROVOD_MPI_THREADS_DISABLE", Kind::Switch, "library_options.mpi_threads_disable",
     "no-mpi-threads-disable"},
    {"num-nccl-streams", "HOROVOD_NUM_NCCL_STREAMS", Kind::Count, "library_options.num_nccl_streams"},
    {"tcp", "NCCL_IB_DISABLE", Kind::Switch},
    {"thread-affinity", "HOROVOD_THREAD_AFFINITY", Kind::Count, "library_options.thread_affinity"},
    {"gloo-timeout-seconds", "HOROVOD_GLOO_TIMEOUT_SECONDS", Kind::Count, "library_options.gloo_timeout_seconds"},
    {"log-level", "HOROVOD_LOG_LEVEL", Kind::Text, "logging.level"},
    {"log-without-timestamp", "HOROVOD_LOG_HIDE_TIME", Kind::Switch, "logging.with_timestamp", "log-with-timestamp",
     nullptr, true},
});

/// nullptr if horovodrun has no such key.
const Tuning* find_tuning(std::string_view key) {
  return first_of(kTunings, [&](const Tuning& tuning) { return tuning.key != nullptr && key == tuning.key; });
}

struct Reader {
  Translation& t;
  const std::string& name;  ///< name of the file

  /// Gives the option or its contrary, unless a flag gives one of them.
  void take(const Tuning& tuning, const Sourced<std::string>& value) const {
    const bool has_contrary = tuning.off != nullptr;
    if (t.has(tuning.option) || (has_contrary && t.has(tuning.off))) {
      return;
    }
    if (tuning.kind != Kind::Switch) {
      t.given[tuning.option] = value;
      return;
    }
    const std::string word = lower_case(value.value);  // true or false as for Python
    const bool is_true = word != "false" && word != "no" && word != "off" && word != "0" && !word.empty();
    const bool is_on = is_true != tuning.is_off_where_true;
    t.given[is_on ? tuning.option : tuning.off] = {"1", value.source};
  }

  void read_member(const std::string& key, const json::value& value) const {
    const Source source{SourceKind::File, name + " " + key};
    const Tuning* const tuning = find_tuning(key);
    if (tuning == nullptr) {
      t.line.notices.push_back("ignoring " + source.name + ": horovodrun has no such key");
    } else if (const json::string* const text = value.if_string()) {
      take(*tuning, {std::string(*text), source});
    }
  }

  /// Fails for another controller than MPI, unless --mpi is given.
  Result<> read_controller(const Sourced<std::string>& value) const {
    const bool is_mpi = lower_case(value.value) == "mpi" || t.has("mpi");
    return is_mpi ? Result<>() : wrong_value(value, "mpi: muster starts Horovod's ranks as ranks of MPI");
  }

  Result<> read_section(const std::string& key, const json::value& value) const {
    const json::string* const text = value.if_string();
    if (key == kController && text != nullptr) {
      return read_controller({std::string(*text), {SourceKind::File, name + " " + key}});
    }
    const json::object* const members = value.if_object();
    if (members == nullptr) {
      return value.is_null() ? Result<>() : Result<>(no_configuration(name + " " + key));
    }
    for (const auto& [member, its_value] : *members) {
      read_member(key + "." + std::string(member), its_value);
    }
    if (key == kStallCheck && !members->empty() && !members->contains("enabled")) {
      take(*find_tuning("stall_check.enabled"), {"true", {SourceKind::File, name + " " + key}});
    }
    return {};
  }
};

}  // namespace

Result<> take_configuration(Translation& t) {
  const auto file = t.find("config-file");
  if (!file) {
    return {};
  }
  const auto text = t.read_text(file->value);
  if (!text) {
    return wrong_value(*file, "a YAML or JSON file that can be read");
  }
  const auto document = TRY(parse_yaml(*text, file->value));
  const json::object* const root = document.root.if_object();
  if (root == nullptr) {
    return no_configuration(file->value);
  }
  const Reader reader{t, file->value};
  for (const auto& [key, value] : *root) {
    TRY(reader.read_section(std::string(key), value));
  }
  return {};
}

// Sets the variables of the ranks. Facts: set_env_from_args and validate_config_args in
// horovod/runner/common/util/config_parser.py of Horovod 0.28.

namespace {

Result<std::string> read_count(const Sourced<std::string>& value, long long unit) {
  return std::to_string(TRY(read_integer(value, 0, std::numeric_limits<int>::max(), "an integer of at least 0")) *
                        unit);
}

Result<std::string> read_number(const Sourced<std::string>& value, double most) {
  const auto number = parse_seconds(value.value);
  return number && *number <= most ? Result<std::string>(value.value)
                                   : wrong_value(value, most == 1 ? "a number from 0 to 1" : "a number of at least 0");
}

/// The value as the ranks read it.
Result<std::string> read_for_ranks(Kind kind, const Sourced<std::string>& value) {
  constexpr long long kMebibyte = 1024LL * 1024;
  switch (kind) {
    case Kind::Count:
      return read_count(value, 1);
    case Kind::Mebibytes:
      return read_count(value, kMebibyte);
    case Kind::Number:
      return read_number(value, std::numeric_limits<double>::max());
    case Kind::Share:
      return read_number(value, 1);
    case Kind::Switch:
      return std::string("1");
    case Kind::Text:
      break;
  }
  return value.value;
}

/// Sets the variable to on, off or a value; leaves it alone if no option is given.
Result<> export_one(Translation& t, const Tuning& tuning) {
  const auto value = t.find(tuning.option);
  const auto contrary = tuning.off == nullptr ? std::nullopt : t.find(tuning.off);
  if (value && contrary) {
    return contradiction(*value, *contrary);
  }
  const auto read = TRY(value ? read_for_ranks(tuning.kind, *value) : Result<std::string>("0"));
  const bool is_given = tuning.needs == nullptr || t.find(tuning.needs);
  if (is_given && (value || contrary)) {
    t.export_variable(tuning.variable, {read, value ? value->source : contrary->source});
  } else if (!is_given) {
    t.ignore_flag(tuning.option, std::string("it needs --") + tuning.needs);
  }
  return {};
}

}  // namespace

Result<> export_tuning(Translation& t) {
  for (const Tuning& tuning : kTunings) {
    TRY(export_one(t, tuning));
  }
  return {};
}

}  // namespace muster::horovodrun

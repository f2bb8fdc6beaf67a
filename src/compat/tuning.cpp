// What horovodrun tells the ranks. Facts: set_env_from_args and validate_config_args in
// horovod/runner/common/util/config_parser.py of Horovod 0.28.
#include "compat/tuning.hpp"

#include "compat/tokens.hpp"

#include "base/text.hpp"

#include <array>
#include <limits>

namespace muster::horovodrun {
namespace {

constexpr auto kTunings = std::to_array<Tuning>({
    {"fusion-threshold-mb",
     "HOROVOD_FUSION_THRESHOLD",
     Kind::Mebibytes,
     "params.fusion_threshold_mb"},
    {"cycle-time-ms", "HOROVOD_CYCLE_TIME", Kind::Number, "params.cycle_time_ms"},
    {"cache-capacity", "HOROVOD_CACHE_CAPACITY", Kind::Count, "params.cache_capacity"},
    {"hierarchical-allreduce",
     "HOROVOD_HIERARCHICAL_ALLREDUCE",
     Kind::Switch,
     "params.hierarchical_allreduce",
     "no-hierarchical-allreduce"},
    {"hierarchical-allgather",
     "HOROVOD_HIERARCHICAL_ALLGATHER",
     Kind::Switch,
     "params.hierarchical_allgather",
     "no-hierarchical-allgather"},
    {"torus-allreduce",
     "HOROVOD_TORUS_ALLREDUCE",
     Kind::Switch,
     "params.torus_allreduce",
     "no-torus-allreduce"},
    {"autotune", "HOROVOD_AUTOTUNE", Kind::Switch, "autotune.enabled", "no-autotune", "autotune"},
    {"autotune-log-file",
     "HOROVOD_AUTOTUNE_LOG",
     Kind::Text,
     "autotune.log_file",
     nullptr,
     "autotune"},
    {"autotune-warmup-samples",
     "HOROVOD_AUTOTUNE_WARMUP_SAMPLES",
     Kind::Count,
     "autotune.warmup_samples",
     nullptr,
     "autotune"},
    {"autotune-steps-per-sample",
     "HOROVOD_AUTOTUNE_STEPS_PER_SAMPLE",
     Kind::Count,
     "autotune.steps_per_sample",
     nullptr,
     "autotune"},
    {"autotune-bayes-opt-max-samples",
     "HOROVOD_AUTOTUNE_BAYES_OPT_MAX_SAMPLES",
     Kind::Count,
     "autotune.bayes_opt_max_samples",
     nullptr,
     "autotune"},
    {"autotune-gaussian-process-noise",
     "HOROVOD_AUTOTUNE_GAUSSIAN_PROCESS_NOISE",
     Kind::Share,
     "autotune.gaussian_process_noise",
     nullptr,
     "autotune"},
    {"timeline-filename", "HOROVOD_TIMELINE", Kind::Text, "timeline.filename"},
    {"timeline-mark-cycles",
     "HOROVOD_TIMELINE_MARK_CYCLES",
     Kind::Switch,
     "timeline.mark_cycles",
     "no-timeline-mark-cycles",
     "timeline-filename"},
    {"no-stall-check",
     "HOROVOD_STALL_CHECK_DISABLE",
     Kind::Switch,
     "stall_check.enabled",
     "stall-check",
     nullptr,
     true},
    {"stall-check-warning-time-seconds",
     "HOROVOD_STALL_CHECK_TIME_SECONDS",
     Kind::Count,
     "stall_check.warning_time_seconds"},
    {"stall-check-shutdown-time-seconds",
     "HOROVOD_STALL_SHUTDOWN_TIME_SECONDS",
     Kind::Count,
     "stall_check.shutdown_time_seconds"},
    {"mpi-threads-disable",
     "HOROVOD_MPI_THREADS_DISABLE",
     Kind::Switch,
     "library_options.mpi_threads_disable",
     "no-mpi-threads-disable"},
    {"num-nccl-streams",
     "HOROVOD_NUM_NCCL_STREAMS",
     Kind::Count,
     "library_options.num_nccl_streams"},
    {"tcp", "NCCL_IB_DISABLE", Kind::Switch},
    {"thread-affinity", "HOROVOD_THREAD_AFFINITY", Kind::Count, "library_options.thread_affinity"},
    {"gloo-timeout-seconds",
     "HOROVOD_GLOO_TIMEOUT_SECONDS",
     Kind::Count,
     "library_options.gloo_timeout_seconds"},
    {"log-level", "HOROVOD_LOG_LEVEL", Kind::Text, "logging.level"},
    {"log-without-timestamp",
     "HOROVOD_LOG_HIDE_TIME",
     Kind::Switch,
     "logging.with_timestamp",
     "log-with-timestamp",
     nullptr,
     true},
});

Result<std::string> read_count(const Sourced<std::string>& value, long long unit) {
  const auto count = parse_integer(value.value, 0, std::numeric_limits<int>::max());
  return count ? Result<std::string>(std::to_string(*count * unit))
               : wrong_value(value, "an integer of at least 0");
}

Result<std::string> read_number(const Sourced<std::string>& value, double most) {
  const auto number = parse_seconds(value.value);
  return number && *number <= most
             ? Result<std::string>(value.value)
             : wrong_value(value, most == 1 ? "a number from 0 to 1" : "a number of at least 0");
}

/// As the ranks read it.
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

/// On, off, a value, or nothing where the line says nothing of it.
Result<> export_one(Translation& t, const Tuning& tuning) {
  const auto value = t.find(tuning.option);
  const auto contrary = tuning.off == nullptr ? std::nullopt : t.find(tuning.off);
  if (value && contrary) {
    return contradiction(*value, *contrary);
  }
  const auto read = value ? read_for_ranks(tuning.kind, *value) : Result<std::string>("0");
  if (!read) {
    return read.error();
  }
  const bool is_said = tuning.needs == nullptr || t.find(tuning.needs);
  if (is_said && (value || contrary)) {
    t.export_variable(tuning.variable, {*read, value ? value->source : contrary->source});
  }
  return {};
}

}  // namespace

std::span<const Tuning> tunings() {
  return kTunings;
}

Result<> export_tuning(Translation& t) {
  for (const Tuning& tuning : kTunings) {
    if (auto exported = export_one(t, tuning); !exported) {
      return exported;
    }
  }
  return {};
}

}  // namespace muster::horovodrun

// The options of horovodrun, of Horovod 0.28, and what becomes of each.
// Facts: horovod/runner/launch.py and horovod/runner/common/util/config_parser.py.
#include "compat/front_end.hpp"

#include <array>

namespace muster {
namespace {

constexpr const char* kElastic =
    "muster starts no elastic Horovod; --nnodes MIN:MAX with --max-restarts starts the job again "
    "with the nodes that are there";

constexpr const char* kOfElastic = "it is of elastic jobs";

constexpr const char* kNoTime = "lines begin with their rank and no time";

constexpr const char* kBuild = "it starts nothing, and horovodrun itself knows how it was built";

constexpr const char* kWithMpi = "With --mpi, options of mpirun, as 'muster mpirun' has them.";

constexpr CompatOption option(
    const char* name, char letter, const char* argument, OptionSupport fate, const char* note) {
  return {name, letter, argument, fate, note};
}

/// The variable that tells the ranks.
constexpr CompatOption told(const char* name, const char* argument, const char* variable) {
  return option(name, '\0', argument, OptionSupport::Same, variable);
}

constexpr CompatOption set(CompatOption row, const char* setting) {
  row.setting = setting;
  return row;
}

/// Another name of an option, which has the same fate.
constexpr CompatOption alias(CompatOption row, const char* same_as) {
  row.same_as = same_as;
  return row;
}

constexpr CompatOption behind_one_dash(CompatOption row, const char* same_as) {
  row.same_as = same_as;
  row.has_one_dash = true;
  return row;
}

constexpr CompatOption chosen(CompatOption row, const char* choices) {
  row.choices = choices;
  row.is_strict = true;
  return row;
}

constexpr auto kTable = std::to_array<CompatOption>({
    option("num-proc",
           '\0',
           "N",
           OptionSupport::Better,
           "Processes of the job: the slots of the hosts are filled in their order. Without it, "
           "all slots."),
    behind_one_dash(option("np", 'n', "N", OptionSupport::Better, "As --num-proc."), "num-proc"),
    option("hosts",
           'H',
           "HOSTS",
           OptionSupport::Better,
           "The hosts are started, through ssh. Where the platform starts each node, it is "
           "ignored."),
    option("hostfile", '\0', "FILE", OptionSupport::Better, "The same, a host on each line."),
    behind_one_dash(option("hostfile", '\0', "FILE", OptionSupport::Better, "As --hostfile."),
                    "hostfile"),
    option("gloo", '\0', nullptr, OptionSupport::Same, "So it is anyway."),
    option(
        "mpi", '\0', nullptr, OptionSupport::Same, "Ranks of MPI, as 'muster mpirun' starts them."),
    option("jsrun",
           '\0',
           nullptr,
           OptionSupport::Refused,
           "start muster by jsrun, one process on each node, and leave --jsrun out"),
    option("ssh-port", 'p', "PORT", OptionSupport::Same, "As --remote-shell 'ssh -p PORT'."),
    option(
        "ssh-identity-file", 'i', "FILE", OptionSupport::Same, "As --remote-shell 'ssh -i FILE'."),
    set(option("start-timeout",
               '\0',
               "SECONDS",
               OptionSupport::Better,
               "How long all nodes are waited for. Else HOROVOD_START_TIMEOUT, and not 30 if "
               "neither is given."),
        "gang-timeout"),
    option("network-interfaces",
           '\0',
           "LIST",
           OptionSupport::Same,
           "HOROVOD_GLOO_IFACE, which is the first, and NCCL_SOCKET_IFNAME."),
    alias(option("network-interface",
                 '\0',
                 "LIST",
                 OptionSupport::Same,
                 "The same, and may be given several times."),
          "network-interfaces"),
    set(option(
            "output-filename",
            '\0',
            "DIR",
            OptionSupport::Better,
            "Files are named by attempt and global rank, and the console has the lines as well."),
        "log-dir"),
    set(option("verbose", '\0', nullptr, OptionSupport::Same, "muster says more."), "verbose"),
    set(option("version", 'v', nullptr, OptionSupport::Better, "The version of muster."),
        "version"),
    option("config-file",
           '\0',
           "FILE",
           OptionSupport::Same,
           "YAML or JSON. What a flag says wins over it, wherever that stands."),
    option("mpi-args", '\0', "OPTIONS", OptionSupport::Same, kWithMpi),
    option("binding-args", '\0', "OPTIONS", OptionSupport::Same, kWithMpi),
    told("tcp", nullptr, "NCCL_IB_DISABLE"),
    told("fusion-threshold-mb", "N", "HOROVOD_FUSION_THRESHOLD, in bytes"),
    told("cycle-time-ms", "MILLISECONDS", "HOROVOD_CYCLE_TIME"),
    told("cache-capacity", "N", "HOROVOD_CACHE_CAPACITY"),
    told("hierarchical-allreduce", nullptr, "HOROVOD_HIERARCHICAL_ALLREDUCE"),
    told("no-hierarchical-allreduce", nullptr, "HOROVOD_HIERARCHICAL_ALLREDUCE, 0"),
    told("hierarchical-allgather", nullptr, "HOROVOD_HIERARCHICAL_ALLGATHER"),
    told("no-hierarchical-allgather", nullptr, "HOROVOD_HIERARCHICAL_ALLGATHER, 0"),
    told("torus-allreduce", nullptr, "HOROVOD_TORUS_ALLREDUCE"),
    told("no-torus-allreduce", nullptr, "HOROVOD_TORUS_ALLREDUCE, 0"),
    told("autotune", nullptr, "HOROVOD_AUTOTUNE"),
    option("no-autotune", '\0', nullptr, OptionSupport::Same, "Not by the file either."),
    told("autotune-log-file", "FILE", "HOROVOD_AUTOTUNE_LOG, with --autotune, as the next four"),
    told("autotune-warmup-samples", "N", "HOROVOD_AUTOTUNE_WARMUP_SAMPLES"),
    told("autotune-steps-per-sample", "N", "HOROVOD_AUTOTUNE_STEPS_PER_SAMPLE"),
    told("autotune-bayes-opt-max-samples", "N", "HOROVOD_AUTOTUNE_BAYES_OPT_MAX_SAMPLES"),
    told("autotune-gaussian-process-noise", "VALUE", "HOROVOD_AUTOTUNE_GAUSSIAN_PROCESS_NOISE"),
    told("timeline-filename", "FILE", "HOROVOD_TIMELINE"),
    told("timeline-mark-cycles",
         nullptr,
         "HOROVOD_TIMELINE_MARK_CYCLES, with --timeline-filename, as the next"),
    told("no-timeline-mark-cycles", nullptr, "HOROVOD_TIMELINE_MARK_CYCLES, 0"),
    told("no-stall-check", nullptr, "HOROVOD_STALL_CHECK_DISABLE"),
    told("stall-check", nullptr, "HOROVOD_STALL_CHECK_DISABLE, 0"),
    told("stall-check-warning-time-seconds", "N", "HOROVOD_STALL_CHECK_TIME_SECONDS"),
    told("stall-check-shutdown-time-seconds", "N", "HOROVOD_STALL_SHUTDOWN_TIME_SECONDS"),
    told("mpi-threads-disable", nullptr, "HOROVOD_MPI_THREADS_DISABLE"),
    told("no-mpi-threads-disable", nullptr, "HOROVOD_MPI_THREADS_DISABLE, 0"),
    told("num-nccl-streams", "N", "HOROVOD_NUM_NCCL_STREAMS"),
    told("thread-affinity", "N", "HOROVOD_THREAD_AFFINITY"),
    told("gloo-timeout-seconds", "N", "HOROVOD_GLOO_TIMEOUT_SECONDS"),
    chosen(told("log-level", "LEVEL", "HOROVOD_LOG_LEVEL"), "TRACE DEBUG INFO WARNING ERROR FATAL"),
    told("log-without-timestamp", nullptr, "HOROVOD_LOG_HIDE_TIME"),
    alias(told("log-hide-timestamp", nullptr, "HOROVOD_LOG_HIDE_TIME"), "log-without-timestamp"),
    told("log-with-timestamp", nullptr, "HOROVOD_LOG_HIDE_TIME, 0"),
    alias(told("no-log-hide-timestamp", nullptr, "HOROVOD_LOG_HIDE_TIME, 0"), "log-with-timestamp"),
    option("disable-cache",
           '\0',
           nullptr,
           OptionSupport::Ignored,
           "nothing is tried beforehand, who cannot be reached is named"),
    option("prefix-output-with-timestamp", '\0', nullptr, OptionSupport::Ignored, kNoTime),
    behind_one_dash(option("prefix-timestamp", '\0', nullptr, OptionSupport::Ignored, kNoTime),
                    "prefix-output-with-timestamp"),
    option("max-np", '\0', "N", OptionSupport::Ignored, kOfElastic),
    alias(option("max-num-proc", '\0', "N", OptionSupport::Ignored, kOfElastic), "max-np"),
    option("slots-per-host", '\0', "N", OptionSupport::Ignored, kOfElastic),
    option("elastic-timeout", '\0', "SECONDS", OptionSupport::Ignored, kOfElastic),
    option("reset-limit", '\0', "N", OptionSupport::Ignored, kOfElastic),
    option("blacklist-cooldown-range", '\0', "LEAST MOST", OptionSupport::Ignored, kOfElastic),
    option("min-np", '\0', "N", OptionSupport::Refused, kElastic),
    alias(option("min-num-proc", '\0', "N", OptionSupport::Refused, kElastic), "min-np"),
    option("host-discovery-script", '\0', "FILE", OptionSupport::Refused, kElastic),
    option("check-build", '\0', nullptr, OptionSupport::Refused, kBuild),
    behind_one_dash(option("cb", '\0', nullptr, OptionSupport::Refused, kBuild), "check-build"),
});

}  // namespace

std::span<const CompatOption> horovodrun_options() {
  return kTable;
}

}  // namespace muster

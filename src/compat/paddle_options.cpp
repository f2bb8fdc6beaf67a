// The options of `python -m paddle.distributed.launch`, of PaddlePaddle 2.3 to 3.0, with those of its old launcher, for which it
// still starts that, and what becomes of each. Facts: paddle/distributed/launch/context/args_envs.py and
// paddle/distributed/fleet/launch.py of Paddle 3.0, python/paddle/distributed/launch.py of 1.8.
#include "compat/front_end.hpp"

#include <array>

namespace muster {
namespace {

constexpr const char* kServers =
    "muster starts Paddle's collective training; parameter servers only Paddle's own launcher "
    "starts";

constexpr const char* kMapping =
    "muster numbers ranks by their nodes; by a topology file only Paddle's own launcher does";

constexpr const char* kScale =
    "a job that runs is not told another number of nodes; --nnodes MIN:MAX lets nodes come and go";

constexpr const char* kOfServers = "it is of parameter servers";

constexpr const char* kTuner =
    "only Paddle's own launcher runs its tuner; start what it has found by muster";

constexpr CompatOption option(const char* name,
                              const char* argument,
                              OptionSupport fate,
                              const char* note,
                              const char* setting = nullptr) {
  return {name, '\0', argument, fate, note, setting};
}

/// For which Paddle reads no variable, or one of another name.
constexpr CompatOption without_variable(CompatOption row) {
  row.may_be_variable = false;
  return row;
}

/// Another name of an option.
constexpr CompatOption alias(const char* name,
                             const char* argument,
                             const char* same_as,
                             const char* note) {
  CompatOption row = without_variable(option(name, argument, OptionSupport::Same, note));
  row.same_as = same_as;
  return row;
}

constexpr CompatOption device_name(const char* name) {
  return alias(name, "LIST", "devices", "As --devices.");
}

/// Of parameter servers, and only Paddle's own launcher starts them.
constexpr CompatOption of_servers(const char* name, const char* argument) {
  return without_variable(option(name, argument, OptionSupport::Refused, kServers));
}

constexpr auto kTable = std::to_array<CompatOption>({
    option("master",
           "HOST:PORT",
           OptionSupport::Better,
           "Where the nodes meet. If it is not given, the platform says it. etcd://HOST:PORT is "
           "ignored: muster needs no etcd, but an address to meet at."),
    option(
        "rank", "R", OptionSupport::Better, "-1 or not given: by the platform, else by arrival."),
    option("nnodes",
           "N|MIN:MAX",
           OptionSupport::Better,
           "If it is not given, the platform says how many there are. MIN:MAX needs no etcd.",
           "nnodes"),
    option("nproc_per_node",
           "N",
           OptionSupport::Same,
           "Workers on this node, one for each device if it is not given.",
           "nproc-per-node"),
    option(
        "devices",
        "LIST",
        OptionSupport::Same,
        "Devices of this node by their numbers in CUDA_VISIBLE_DEVICES or the like, a worker for "
        "each unless --nproc_per_node says another number."),
    device_name("gpus"),
    device_name("npus"),
    device_name("xpus"),
    device_name("selected_gpus"),
    device_name("selected_xpus"),
    option(
        "log_dir",
        "DIR",
        OptionSupport::Better,
        "log if it is not given. Files are named by attempt and global rank, and the console has "
        "the lines of all workers, not of the first alone.",
        "log-dir"),
    option("job_id",
           "NAME",
           OptionSupport::Better,
           "Nodes that name another job do not join.",
           "job-id"),
    option("run_mode", "NAME", OptionSupport::Same, "collective; others are refused."),
    option("ips",
           "LIST",
           OptionSupport::Same,
           "Addresses of the nodes in the order of their ranks; the first is where they meet."),
    alias("cluster_node_ips", "LIST", "ips", "As --ips."),
    without_variable(option("host",
                            "IP",
                            OptionSupport::Same,
                            "Else POD_IP, which wins: which of --ips this node is. Without --ips "
                            "each node is known by its "
                            "address on the way to the leader.")),
    alias("node_ip", "IP", "host", "As --host."),
    option("start_port",
           "PORT",
           OptionSupport::Better,
           "With --ips, where the agents meet, 6070 if it is not given. Workers listen at ports "
           "that "
           "are free."),
    option("max_restart",
           "N",
           OptionSupport::Better,
           "With --elastic_level 0 or 1, how often all workers are started again, 3 if it is not "
           "given. It needs no etcd."),
    option(
        "elastic_level", "LEVEL", OptionSupport::Better, "0 and 1: a failed job is started again."),
    option("elastic_timeout",
           "SECONDS",
           OptionSupport::Same,
           "With --nnodes MIN:MAX, how long to wait for more nodes, 30 if it is not given."),
    without_variable(option("auto_cluster_config",
                            "BOOL",
                            OptionSupport::Same,
                            "Workers find it as PADDLE_AUTO_CLUSTER, which wins over it.")),
    without_variable(option("backend",
                            "NAME",
                            OptionSupport::Same,
                            "auto, nccl, bkcl or gloo. Workers find it as PADDLE_DISTRI_BACKEND.")),
    alias("np", "N", "nnodes", "As --nnodes."),
    without_variable(option("elastic_server",
                            "HOST:PORT",
                            OptionSupport::Ignored,
                            "it names an etcd server, and muster needs none")),
    option("sort_ip",
           "BOOL",
           OptionSupport::Ignored,
           "nodes without --rank are numbered as they come"),
    option("log_level", "LEVEL", OptionSupport::Ignored, "--verbose says more"),
    option("log_overwrite", "BOOL", OptionSupport::Ignored, "an existing file is renamed"),
    without_variable(
        option("enable_gpu_log", "BOOL", OptionSupport::Ignored, "muster samples no accelerators")),
    option("gloo_port", "PORT", OptionSupport::Ignored, kOfServers),
    option("with_gloo", "BOOL", OptionSupport::Ignored, kOfServers),
    without_variable(
        option("legacy", "BOOL", OptionSupport::Same, "False; the old launcher is refused.")),
    option("auto_parallel_config", "FILE", OptionSupport::Refused, kTuner),
    without_variable(option("auto_tuner_json", "FILE", OptionSupport::Refused, kTuner)),
    without_variable(option("elastic_pre_hook",
                            "COMMAND",
                            OptionSupport::Refused,
                            "let the program itself run it before it trains")),
    without_variable(option("scale", "N", OptionSupport::Refused, kScale)),
    without_variable(option("force", "BOOL", OptionSupport::Refused, kScale)),
    without_variable(option("cluster_topo_path", "FILE", OptionSupport::Refused, kMapping)),
    without_variable(option("rank_mapping_path", "FILE", OptionSupport::Refused, kMapping)),
    without_variable(option("enable_auto_mapping", "BOOL", OptionSupport::Refused, kMapping)),
    of_servers("servers", "LIST"),
    of_servers("trainers", "LIST"),
    option("server_num", "N", OptionSupport::Refused, kServers),
    option("trainer_num", "N", OptionSupport::Refused, kServers),
    of_servers("workers", "LIST"),
    of_servers("worker_num", "N"),
    of_servers("heter_workers", "LIST"),
    of_servers("heter_worker_num", "N"),
    of_servers("heter_devices", "LIST"),
    of_servers("coordinators", "LIST"),
    of_servers("coordinator_num", "N"),
    of_servers("http_port", "PORT"),
});

}  // namespace

std::span<const CompatOption> paddle_options() {
  return kTable;
}

}  // namespace muster

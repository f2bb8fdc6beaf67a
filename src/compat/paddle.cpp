// Lists and translates the options of `python -m paddle.distributed.launch`, of PaddlePaddle 2.3 to 3.0, with those
// of the old launcher that it still starts. Facts: paddle/distributed/launch/context/args_envs.py,
// paddle/distributed/fleet/launch.py of Paddle 3.0, python/paddle/distributed/launch.py of 1.8.
#include "base/endpoint.hpp"
#include "base/text.hpp"
#include "compat/compat_launcher.hpp"
#include "compat/stale_variables.hpp"
#include "environment/accelerators.hpp"
#include "environment/local_host.hpp"

#include <algorithm>
#include <array>
#include <filesystem>

namespace muster {
namespace {

using enum OptionSupport;

constexpr const char* kServers =
    "muster starts only Paddle's collective training; to start parameter servers, use Paddle's own launcher";

constexpr const char* kMapping =
    "muster numbers ranks by their nodes; to number them by a topology file, use Paddle's own launcher";

constexpr const char* kScale =
    "you cannot give a running job another number of nodes; with --nnodes MIN:MAX, nodes can join and leave";

constexpr const char* kOfServers = "this option is for parameter servers only";

constexpr const char* kTuner =
    "run the tuner with Paddle's own launcher; then start the job by muster, with the values that the tuner has found";

constexpr CompatOption option(const char* name, const char* argument, OptionSupport support, const char* note,
                              const char* setting = nullptr) {
  return {name, '\0', argument, support, note, setting};
}

/// Changes a row: the option has no variable, or one of another name.
constexpr CompatOption without_variable(CompatOption row) {
  row.may_be_variable = false;
  return row;
}

/// Another name of an option.
constexpr CompatOption alias(const char* name, const char* argument, const char* same_as, const char* note) {
  CompatOption row = without_variable(option(name, argument, Same, note));
  row.same_as = same_as;
  return row;
}

constexpr CompatOption device_name(const char* name) {
  return alias(name, "LIST", "devices", "Does the same as --devices.");
}

/// An option of parameter servers, which only Paddle's own launcher starts.
constexpr CompatOption of_servers(const char* name, const char* argument) {
  return without_variable(option(name, argument, Refused, kServers));
}

constexpr auto kPaddleOptions = std::to_array<CompatOption>({
    option("master", "HOST:PORT", Better,
           "Where the nodes meet. Without this option, muster takes the address from the platform. muster ignores "
           "etcd://HOST:PORT: it needs no etcd, only an address where the nodes meet."),
    option("rank", "R", Better,
           "With -1, or without this option, the platform gives the rank. If it gives none, nodes get ranks in the "
           "order in which they arrive."),
    option("nnodes", "N|MIN:MAX", Better,
           "Without this option, muster takes the number of nodes from the platform. MIN:MAX needs no etcd.", "nnodes"),
    option("nproc_per_node", "N", Same,
           "Number of workers on this node. Without this option, muster starts one worker for each device.",
           "nproc-per-node"),
    option("devices", "LIST", Same,
           "Devices of this node, with the numbers that CUDA_VISIBLE_DEVICES (or the same variable for other devices) "
           "has. Each device gets a worker unless --nproc_per_node gives another number."),
    device_name("gpus"),
    device_name("npus"),
    device_name("xpus"),
    device_name("selected_gpus"),
    device_name("selected_xpus"),
    option("log_dir", "DIR", Better,
           "The default is the folder log. The name of a file has the attempt and the global rank. The console shows "
           "the lines of all "
           "workers, not only of the first worker.",
           "log-dir"),
    option("job_id", "NAME", Better, "muster refuses nodes that name another job.", "job-id"),
    option("run_mode", "NAME", Same, "muster accepts only collective, and refuses other values."),
    option("ips", "LIST", Same,
           "Addresses of the nodes, in the order of their ranks. The nodes meet at the first address."),
    alias("cluster_node_ips", "LIST", "ips", "Does the same as --ips."),
    without_variable(option("host", "IP", Same,
                            "Says which address of --ips is this node. Without this option muster reads POD_IP. If "
                            "both are set, POD_IP takes precedence. Without --ips muster ignores this option.")),
    alias("node_ip", "IP", "host", "Does the same as --host."),
    option("start_port", "PORT", Better,
           "With --ips, the port at which the agents meet. Default: 6070. Workers listen at free ports."),
    option("max_restart", "N", Better,
           "With --elastic_level 0 or 1, how many times muster starts all workers again. Default: 3. muster needs no "
           "etcd for this."),
    option("elastic_level", "LEVEL", Better,
           "With 0 or 1, muster starts a failed job again. With -1, the default, it does not."),
    option("elastic_timeout", "SECONDS", Same,
           "With --nnodes MIN:MAX, how long muster waits for more nodes after MIN nodes have come. Default: 30."),
    without_variable(option(
        "auto_cluster_config", "BOOL", Same,
        "muster gives the value to the workers as PADDLE_AUTO_CLUSTER. If this variable is set, it takes precedence.")),
    without_variable(option("backend", "NAME", Same,
                            "auto, nccl, bkcl or gloo. Unless the value is auto, muster gives it to the workers as "
                            "PADDLE_DISTRI_BACKEND.")),
    alias("np", "N", "nnodes", "Does the same as --nnodes."),
    without_variable(
        option("elastic_server", "HOST:PORT", Ignored, "this option names an etcd server, and muster needs none")),
    option("sort_ip", "BOOL", Ignored, "nodes without --rank get their ranks in the order in which they arrive"),
    option("log_level", "LEVEL", Ignored, "--verbose says more"),
    option("log_overwrite", "BOOL", Ignored, "muster renames a log file that already exists"),
    without_variable(option("enable_gpu_log", "BOOL", Ignored, "muster does not log the load of accelerators")),
    option("gloo_port", "PORT", Ignored, kOfServers),
    option("with_gloo", "BOOL", Ignored, kOfServers),
    without_variable(option("legacy", "BOOL", Same, "muster accepts only False, and refuses Paddle's old launcher.")),
    option("auto_parallel_config", "FILE", Refused, kTuner),
    without_variable(option("auto_tuner_json", "FILE", Refused, kTuner)),
    without_variable(
        option("elastic_pre_hook", "COMMAND", Refused, "let the program itself run this command before it trains")),
    without_variable(option("scale", "N", Refused, kScale)),
    without_variable(option("force", "BOOL", Refused, kScale)),
    without_variable(option("cluster_topo_path", "FILE", Refused, kMapping)),
    without_variable(option("rank_mapping_path", "FILE", Refused, kMapping)),
    without_variable(option("enable_auto_mapping", "BOOL", Refused, kMapping)),
    of_servers("servers", "LIST"),
    of_servers("trainers", "LIST"),
    option("server_num", "N", Refused, kServers),
    option("trainer_num", "N", Refused, kServers),
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
  return kPaddleOptions;
}

// Translates the options of Paddle's launcher. Facts: paddle/distributed/launch/context/args_envs.py,
// controllers/collective.py, controllers/controller.py and controllers/master.py of Paddle 3.0.

namespace {

constexpr const char* kLaunch = "paddle.distributed.launch";
constexpr const char* kRestarts = "3";
constexpr const char* kPort = "6070";
constexpr const char* kLastCall = "30";
constexpr const char* kOneNode = "the job has one node";
constexpr const char* kPlugin = "PADDLE_XCCL_BACKEND";  ///< names the devices of a plugin: "npu"

Error only_original(const Sourced<std::string>& value, const std::string& expected) {
  return wrong_value(value, expected + ": start anything else by Paddle's own launcher");
}

/// Fails for devices that muster cannot give to single workers.
Result<> check_accelerators(const Translation& t) {
  for (const char* const name : {kPlugin, "XPU_VISIBLE_DEVICES", "XPULINK_VISIBLE_DEVICES"}) {
    const auto sign = find_given(t.snapshot, name);
    if (sign && sign->value != "npu") {
      return only_original(*sign, "devices of NVIDIA, Ascend or AMD");
    }
  }
  return {};
}

/// Fails for the features that only Paddle's own launcher has.
Result<> check_kind(const Translation& t) {
  const auto mode = t.find("run-mode");
  if (mode && mode->value != "collective") {
    return only_original(*mode, "collective");
  }
  const auto legacy = t.find("legacy");
  if (legacy && parse_boolean(legacy->value) != false) {
    return only_original(*legacy, "False");
  }
  if (!t.line.program.empty() && t.line.program.front() == "run_check") {
    return Error{ErrorKind::BadUsage,
                 "the script is 'run_check', which is a test of Paddle's own launcher: start it without muster"};
  }
  for (const char* const name : {"PADDLE_SERVERS_ENDPOINTS", "PADDLE_TRAINERS_ENDPOINTS"}) {
    if (const auto servers = find_given(t.snapshot, name)) {
      return only_original(*servers, "no parameter servers");
    }
  }
  return {};
}

/// The node's rank. PADDLE_TRAINER_ID wins over --rank, and the variable of --rank wins over both.
std::optional<Sourced<std::string>> find_rank(Translation& t) {
  auto rank = t.find("rank");
  auto trainer = find_given(t.snapshot, "PADDLE_TRAINER_ID");
  const bool is_stronger = rank && rank->source.kind == SourceKind::Variable;
  if (trainer && !is_stronger && !trainer->value.starts_with('-')) {
    if (rank && rank->value != trainer->value) {
      t.line.notices.push_back(trainer->source.name + " is '" + trainer->value + "' and wins over " +
                               rank->source.name + ", as in " + original_of(*t.line.compat));
    }
    return trainer;
  }
  return rank && rank->value.starts_with('-') ? std::nullopt : rank;
}

/// Sets the rendezvous address. Fails if it is no address with a port.
Result<> translate_paddle_master(Translation& t) {
  const auto master = t.find("master");
  if (!master) {
    return {};
  }
  if (master->value.starts_with("etcd://")) {
    t.line.notices.push_back("ignoring " + master->source.name + ": it names an etcd server, and muster needs none");
    return {};
  }
  const Endpoint endpoint = split_endpoint(master->value);
  if (!endpoint.port || !is_host_or_address(endpoint.host) || !parse_integer(*endpoint.port, 1, kMostPort)) {
    return wrong_value(*master, "HOST:PORT" + describe_host_mistake(master->value));
  }
  t.set("master-addr", {endpoint.host, master->source});
  t.set("master-port", {*endpoint.port, master->source});
  return {};
}

/// Index of this node in a list: by POD_IP or --host, else by its own addresses.
std::optional<std::size_t> find_place(const Translation& t, const std::vector<std::string>& ips) {
  const auto pod = find_given(t.snapshot, "POD_IP");
  const auto host = pod ? pod : t.find("host");
  auto here = std::ranges::find(ips, host ? host->value : t.snapshot.host_name);
  if (here == ips.end()) {
    here = std::ranges::find_if(
        ips, [&](const std::string& ip) { return !is_loopback(ip) && is_this_host(ip, t.snapshot); });
  }
  return here == ips.end() ? std::nullopt : std::optional(static_cast<std::size_t>(here - ips.begin()));
}

/// Takes the nodes from a list of addresses; all nodes have the same list.
Result<> translate_ips(Translation& t, const Sourced<std::string>& list) {
  std::vector<std::string> ips = split(with_plain_blanks(list.value), ',');
  for (std::string& ip : ips) {
    ip = trim(ip);
    if (!ip.empty() && !is_host_or_address(ip)) {
      return wrong_value(list, "addresses with commas between them" + describe_host_mistake(ip));
    }
  }
  t.set("nnodes", {std::to_string(ips.size()), list.source});
  if (ips.size() < 2) {
    t.ignore_flag("host", kOneNode);
    t.ignore_flag("start-port", kOneNode);
    return {};
  }
  if (const auto place = find_place(t, ips)) {
    t.set("node-rank", {std::to_string(*place), list.source});
  } else {
    t.ignore_flag("host", list.source.name + " does not have it");
  }
  t.set(kHostsOfNodes, {join(ips, ","), list.source});
  t.set("master-addr", {ips.front(), list.source});
  t.set("master-port", t.find("start-port").value_or(Sourced<std::string>{kPort, default_of(kLaunch)}));
  return {};
}

/// Sets the nodes. Without their number, an option about nodes means one node, as for Paddle.
Result<> translate_nodes(Translation& t) {
  const auto ips = t.find("ips");
  if (ips && !t.find("master")) {
    t.ignore_flag("nnodes", "--ips counts the nodes");
    t.ignore_flag("rank", "--ips has the nodes in the order of their ranks");
    return translate_ips(t, *ips);
  }
  t.ignore_flag("ips", "--master says where the nodes meet");
  for (const char* const name : {"host", "start-port"}) {
    t.ignore_flag(name, "there is no --ips");
  }
  const auto rank = find_rank(t);
  if (!t.find("nnodes") && !t.line.settings.has("nnodes") && (rank || t.find("master"))) {
    t.set("nnodes", {"1", default_of(kLaunch)});
  }
  if (value_at(t.settings, "nnodes").value == "1") {
    t.ignore_flag("master", kOneNode);
    t.ignore_flag("rank", kOneNode);
    return {};
  }
  if (rank) {
    t.set("node-rank", *rank);
  }
  return translate_paddle_master(t);
}

void translate_paddle_restarts(Translation& t) {
  const auto level = t.find("elastic-level");
  if (level && !level->value.starts_with('-')) {
    t.set("max-restarts", t.find("max-restart").value_or(Sourced<std::string>{kRestarts, level->source}));
  } else {
    t.ignore_flag("max-restart", "without --elastic_level nothing is started again");
  }
  if (value_at(t.settings, "nnodes").value.find(':') != std::string::npos) {
    t.set("last-call", t.find("elastic-timeout").value_or(Sourced<std::string>{kLastCall, default_of(kLaunch)}));
  } else {
    t.ignore_flag("elastic-timeout", "it needs --nnodes MIN:MAX");
  }
}

/// Translates device names. They are the names in the list of visible devices.
Result<> translate_devices(Translation& t, const Sourced<std::string>& listed) {
  std::vector<std::string> names = split(listed.value, ',');
  for (std::string& name : names) {
    name = trim(name);
  }
  const auto places = TRY(places_of_devices(names, listed, t.snapshot));
  t.set("devices", places);
  return {};
}

/// Names all devices in a variable if there is one worker.
void export_all_devices(Translation& t, int count) {
  const auto workers = t.find("nproc-per-node");
  if (!workers || workers->value != "1" || count < 2) {
    return;
  }
  t.export_variable(has_ascend_devices(t.snapshot) ? "FLAGS_selected_npus" : "FLAGS_selected_gpus",
                    {join(device_numbers(count), ","), workers->source});
}

/// Exports the backend. Without devices workers use gloo, and with devices of a plugin xccl.
Result<> export_backend(Translation& t, int count) {
  const auto backend = t.find("backend");
  const bool is_auto = !backend || backend->value == "auto";
  static constexpr std::array<std::string_view, 3> kBackends = {"nccl", "bkcl", "gloo"};
  if (!is_auto && !contains(kBackends, backend->value)) {
    return only_original(*backend, "auto, nccl, bkcl or gloo");
  }
  if (!is_auto) {
    t.export_variable("PADDLE_DISTRI_BACKEND", *backend);
  } else if (count == 0) {
    t.export_variable("PADDLE_DISTRI_BACKEND", {"gloo", default_of(kLaunch)});
  } else if (const auto plugin = find_given(t.snapshot, kPlugin)) {
    t.export_variable("PADDLE_DISTRI_BACKEND", {"xccl", plugin->source});
  }
  return {};
}

Result<> export_devices(Translation& t) {
  const auto listed = t.find("devices");
  TRY(listed ? translate_devices(t, *listed) : Result<>());
  const int count = listed ? static_cast<int>(split(listed->value, ',').size()) : count_visible_devices(t.snapshot);
  export_all_devices(t, count);
  if (!t.settings.contains("nproc-per-node") && !listed) {
    t.set("nproc-per-node", {"auto", default_of(kLaunch)});
  }
  return export_backend(t, count);
}

Result<> export_rest(Translation& t) {
  const auto variable = find_given(t.snapshot, "PADDLE_AUTO_CLUSTER");
  const auto cluster = variable ? variable : t.find("auto-cluster-config");
  const auto is_on = cluster ? parse_boolean(cluster->value) : std::optional(false);
  if (!is_on) {
    return wrong_value(*cluster, "True or False");
  }
  const std::string text = *is_on ? "True" : "False";
  t.export_variable("PADDLE_AUTO_CLUSTER", cluster ? Sourced<std::string>{text, cluster->source}
                                                   : Sourced<std::string>{"0", default_of(kLaunch)});
  if (!t.given.contains("log-dir")) {
    t.set("log-dir", {"log", default_of(kLaunch)});
  }
  const Sourced<std::string> folder = t.settings.at("log-dir");
  const std::filesystem::path here(t.snapshot.working_directory);
  const bool has_files = !folder.value.empty();
  const std::filesystem::path place = has_files ? here / folder.value : here;
  t.export_variable("PADDLE_LOG_DIR", {place.lexically_normal().string(), folder.source});
  if (!has_files) {
    t.settings.erase("log-dir");
  }
  return {};
}

}  // namespace

Result<> translate_paddle(Translation& t) {
  for (const auto check : {check_kind, check_accelerators}) {
    TRY(check(t));
  }
  TRY(translate_nodes(t));
  drop_stale_variables(t, t.settings.contains("nnodes"));
  translate_paddle_restarts(t);
  TRY(export_devices(t));
  return export_rest(t);
}

}  // namespace muster

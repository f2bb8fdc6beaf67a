// Reads the options of `muster render` strictly, and refuses those that the manifest would lose.
#include "base/text.hpp"
#include "options/settings.hpp"
#include "render/pod.hpp"
#include "subcommands.hpp"

#include <algorithm>
#include <array>

namespace muster {

// The options of `muster render`. No other command has them.

namespace {

constexpr auto kTable = std::to_array<Option>({
    {"name", '\0', "NAME", "Job", "Name of the job, and what its pods' names begin with."},
    {"image", '\0', "IMAGE", "Job", "Image that holds muster and the program."},
    {"nodes", '\0', "N", "Job", "Nodes of the job, each a pod. Default: 1."},
    {"grace", '\0', "SECONDS", "Job",
     "Time between asking workers to end and killing them. The platform is told to leave 15 s "
     "more. Default: 30."},
    {"restarts", '\0', "N", "Job",
     "How often the platform may start the whole job again where muster's exit code says that it "
     "may help. Default: 3."},
    {"time-limit", '\0', "SECONDS", "Job", "When the platform ends the job. Default: its own limit."},
    {"port", '\0', "PORT", "Job",
     "Port on the first node where the agents meet. Default: 29500; for slurm one made of the "
     "job's number."},
    {"token-secret", '\0', "NAME", "Job",
     "Secret of Kubernetes whose key 'token' the agents share. Default: the job's name with "
     "-token; for volcano the key of its ssh plugin, for slurm one that the script draws."},
    {"no-token", '\0', nullptr, "Job", "Agents share no secret: whoever reaches the port can join."},
    {"namespace", '\0', "NAME", "Job", "Namespace of Kubernetes. Default: kubectl's."},
    {"devices", '\0', "N", "Each node", "Accelerators, and so many workers. Default: 8."},
    {"device-kind", '\0', "KIND", "Each node", "Whose: nvidia (the default), ascend or amd.", "nvidia ascend amd"},
    {"device-resource", '\0', "NAME", "Each node",
     "What the cluster calls them, such as huawei.com/ascend-1980, or gpu:a100 for slurm. Default: "
     "nvidia.com/gpu, huawei.com/Ascend910, amd.com/gpu; for slurm gpu or npu."},
    {"cpus", '\0', "N", "Each node", "CPUs. Default: not said; for slurm the whole node."},
    {"memory", '\0', "SIZE", "Each node", "Memory, such as 512Gi. Default: as for CPUs."},
    {"shared-memory", '\0', "SIZE", "Each node",
     "Most that /dev/shm may hold, such as 64Gi; it counts as memory. Default: what the node "
     "allows."},
    {"scheduler", '\0', "NAME", "Scheduling",
     "Who starts all pods or none: coscheduling or volcano. Default: volcano for volcano, else the "
     "cluster's own scheduler and --queue.",
     "coscheduling volcano"},
    {"queue", '\0', "NAME", "Scheduling",
     "Queue that admits the job: a partition for slurm, Volcano's where that schedules, else a "
     "LocalQueue of Kueue."},
    {"requeue", '\0', "HOW", "Scheduling",
     "How Slurm queues the job again after a node has failed: usual (the default), or expedite: at "
     "once and before all "
     "others, on the nodes that it had (Slurm 25.11).",
     "usual expedite"},
    {"node-selector", '\0', "LABELS", "Scheduling",
     "Labels of the nodes that may be used, such as pool=train,disk=ssd."},
    {"tolerations", '\0', "TAINTS", "Scheduling",
     "Taints of nodes that may be used all the same, such as "
     "nvidia.com/gpu,pool=train:NoSchedule."},
    {"check-fit", '\0', "FILE", "Does it fit?",
     "Print no manifest, but whether all pods fit into the cluster now: FILE is what 'kubectl get "
     "nodes -o json' prints, - is standard input. Ends with 0 if they do, else with 75."},
    {"pods", '\0', "FILE", "Does it fit?",
     "What 'kubectl get pods -A -o json' prints, unless the first FILE holds it too."},
    {"help", 'h', nullptr, "Help", "Print this text."},
});

/// Names in muster's other commands, sbatch, kubectl and others.
constexpr auto kOtherNames = std::to_array<OtherName>({
    {"nnodes", "nodes"},
    {"N", "nodes"},
    {"n", "namespace"},
    {"nproc-per-node", "devices"},
    {"gpus", "devices"},
    {"gres", "device-resource"},
    {"partition", "queue"},
    {"mem", "memory"},
    {"time", "time-limit"},
    {"shm-size", "shared-memory"},
});

}  // namespace

OptionTable render_options() {
  return {kTable, {}, kOtherNames, "muster render"};
}

namespace {

using render::ManifestRequest;
using render::PodNeeds;

constexpr int kMostNodes = 100'000;
constexpr int kMostDevices = 4'096;
constexpr int kMostRestarts = 1'000;
constexpr int kMostPort = 65'535;
constexpr int kMostSeconds = 365 * 24 * 60 * 60;
constexpr std::size_t kMostOfHostName = 63;

/// Default resource names of each kind of accelerator.
struct DeviceNames {
  std::string_view kind;
  const char* of_kubernetes;
  const char* of_slurm;
};
constexpr auto kDeviceNames = std::to_array<DeviceNames>({
    {"nvidia", "nvidia.com/gpu", "gpu"},
    {"ascend", "huawei.com/Ascend910", "npu"},
    {"amd", "amd.com/gpu", "gpu"},
});

/// Range of a whole number, and its name in messages.
struct Bounds {
  int least;
  int most;
  const char* what;
};

Error missing(const std::string& option, const std::string& what) {
  return Error{ErrorKind::BadUsage, option + " is missing: " + what};
}

/// Reads options into a request. A target keeps its value if the option is not given. The first error is kept.
class Reader {
 public:
  explicit Reader(const Settings& settings) : settings_(settings) {}

  template <typename Target>
  Reader& number(Target& target, const char* name, const Bounds& bounds) {
    return text(target, name, [&](const Sourced<std::string>& given) -> Result<int> {
      const auto number = parse_integer(given.value, bounds.least, bounds.most);
      if (!number) {
        return wrong_value(given, std::string(bounds.what) + " from " + std::to_string(bounds.least) + " to " +
                                      std::to_string(bounds.most));
      }
      return *number;
    });
  }

  template <typename Target, typename Read>
  Reader& text(Target& target, const char* name, Read read) {
    const auto given = settings_.find(name);
    if (!given || !result_) {
      return *this;
    }
    auto value = read(*given);
    if (value) {
      target = std::move(*value);
    } else {
      result_ = value.error();
    }
    return *this;
  }

  [[nodiscard]] Result<> result() const { return result_; }

 private:
  const Settings& settings_;
  Result<> result_;
};

Result<std::string> read_kind(const Settings& settings) {
  const auto& kinds = render::manifest_kinds();
  const auto kind = settings.find(kRenderKind);
  if (!kind) {
    return missing(kRenderKind, "write one of " + join(kinds, ", ") + " behind 'muster render'");
  }
  if (std::find(kinds.begin(), kinds.end(), kind->value) == kinds.end()) {
    return wrong_value(*kind, "one of " + join(kinds, ", ") + did_you_mean(kind->value, kinds));
  }
  return kind->value;
}

Result<> read_names(ManifestRequest& request, const Settings& settings) {
  if (!settings.has("name") && request.kind != "dockerfile") {
    return missing("--name", "the name of the job, such as --name train");
  }
  if (!settings.has("image") && request.kind != "slurm") {
    return missing("--image", "the image that holds muster and the program");
  }
  request.name = "train";
  const std::size_t suffix = render::last_suffix(request.kind, request.nodes).size();
  return Reader(settings)
      .text(request.name, "name", [&](const auto& text) { return render::read_name(text, kMostOfHostName - suffix); })
      .text(request.image, "image", request.kind == "slurm" ? render::read_slurm_image : render::read_image)
      .text(request.name_space, "namespace", [](const auto& text) { return render::read_name(text, kMostOfHostName); })
      .result();
}

Result<> read_token(ManifestRequest& request, const Settings& settings) {
  const auto secret = settings.find("token-secret");
  if (is_on(settings, "no-token")) {
    return secret ? Error{ErrorKind::BadUsage,
                          "--no-token is given, but --token-secret is '" + secret->value + "'; leave one of them out"}
                  : Result<>();
  }
  if (!secret && render::brings_token(request.kind)) {
    request.token = render::TokenFrom::Platform;
    return {};
  }
  request.token = render::TokenFrom::Secret;
  request.token_secret = request.name + "-token";
  return Reader(settings).text(request.token_secret, "token-secret", render::read_object_name).result();
}

Result<std::string> read_scheduler(const Sourced<std::string>& text) {
  const auto& known = render::gang_schedulers();
  if (std::find(known.begin(), known.end(), text.value) == known.end()) {
    return wrong_value(text, "one of " + join(known, ", "));
  }
  return text.value;
}

Result<> read_scheduling(ManifestRequest& request, const Settings& settings) {
  const auto requeue = settings.find("requeue");
  request.is_expedited = requeue && requeue->value == "expedite";
  if (requeue && !request.is_expedited && requeue->value != "usual") {
    return wrong_value(*requeue, "usual or expedite");
  }
  const bool is_volcano = request.kind == "volcano";
  request.scheduler = is_volcano ? "volcano" : "";
  auto read = Reader(settings)
                  .text(request.scheduler, "scheduler", read_scheduler)
                  .text(request.queue, "queue", render::read_queue)
                  .result();
  if (read && is_volcano && request.scheduler != "volcano") {
    return wrong_value(*settings.find("scheduler"), "volcano, which alone starts its Jobs");
  }
  return read;
}

Result<std::string> device_resource(const Settings& settings, bool is_of_kubernetes) {
  const auto kind = settings.find("device-kind").value_or(Sourced<std::string>{"nvidia", Source()});
  for (const DeviceNames& names : kDeviceNames) {
    if (names.kind == kind.value) {
      return std::string(is_of_kubernetes ? names.of_kubernetes : names.of_slurm);
    }
  }
  return wrong_value(kind, "nvidia, ascend or amd");
}

Result<> read_numbers(ManifestRequest& request, const Settings& settings) {
  return Reader(settings)
      .number(request.grace, "grace", {0, kMostSeconds, "whole seconds"})
      .number(request.restarts, "restarts", {0, kMostRestarts, "a number of restarts"})
      .number(request.port, "port", {1, kMostPort, "a port"})
      .number(request.time_limit, "time-limit", {1, kMostSeconds, "whole seconds"})
      .text(request.shared_memory, "shared-memory", render::read_quantity)
      .result();
}

/// Fails if the time limit is shorter than the notice that Slurm sends before it.
Result<> check_time_limit(const ManifestRequest& request, const Settings& settings) {
  const int notice = request.grace + render::kGraceMargin;
  if (request.kind != "slurm" || !request.time_limit || *request.time_limit > notice) {
    return {};
  }
  return wrong_value(
      *settings.find("time-limit"),
      "more than " + std::to_string(notice) + " seconds: so long before it the job is asked to end, by --grace");
}

/// Fails if the arguments behind '--' make each node a job of its own.
Result<> check_nodes_behind(const Settings& settings, int nodes) {
  const auto count = settings.find("nnodes");
  const auto platform = settings.find("platform");
  const std::string wanted = std::to_string(nodes);
  const auto refusal = [&](const Sourced<std::string>& given, const std::string& what) {
    return Error{ErrorKind::BadUsage,
                 "behind '--' the job has " + what + " by " + given.source.name + ", but --nodes is '" + wanted + "'"};
  };
  if (count && split(count->value, ':').back() != wanted) {
    return refusal(*count, count->value + (count->value == "1" ? " node" : " nodes"));
  }
  if (platform && platform->value == "single" && nodes > 1) {
    return refusal(*platform, "1 node");
  }
  return {};
}

/// Fails for options that describe a single node, or need what no pod has.
Result<> check_alike(const Settings& settings) {
  for (const char* const name : {"node-rank", "master-addr", "hosts", "hostfile", "token-file"}) {
    if (const auto given = settings.find(name)) {
      return Error{ErrorKind::BadUsage,
                   given->source.name + " stands behind '--', but the platform tells each node that; leave it out"};
    }
  }
  return {};
}

/// Fails if the arguments behind '--' repeat what the manifest sets.
Result<> check_words(const ManifestRequest& request) {
  if (request.arguments.empty()) {
    return request.kind == "dockerfile" ? Result<>()
                                        : missing("the program", "it stands behind '--', with its arguments");
  }
  const auto settings = read_settings_of(request.arguments);
  if (!settings) {
    return Error{ErrorKind::BadUsage, "behind '--': " + settings.error().message};
  }
  constexpr auto kRenderOptions = std::to_array<std::pair<const char*, const char*>>(
      {{"grace", "--grace"}, {"nnodes", "--nodes"}, {"master-port", "--port"}});
  for (const auto& [theirs, ours] : kRenderOptions) {
    if (const auto given = settings->find(theirs)) {
      return Error{ErrorKind::BadUsage, given->source.name +
                                            " stands behind '--', but the manifest has to agree with it; give " + ours +
                                            " in front of '--'"};
    }
  }
  const auto all = read_all_settings_of(request.arguments);
  if (!all || request.kind == "dockerfile") {
    return {};
  }
  const auto checked = check_alike(*all);
  return checked ? check_nodes_behind(*all, request.nodes) : checked;
}

/// Fails for options that this kind of manifest would silently lose.
Result<> check_use(const ManifestRequest& request, const Settings& settings) {
  constexpr auto kOfPods = std::to_array<const char*>(
      {"namespace", "token-secret", "shared-memory", "scheduler", "node-selector", "tolerations"});
  constexpr auto kOfImages = std::to_array<const char*>({"name", "image"});
  if (settings.has("pods")) {
    return missing("--check-fit", "it names the nodes, and --pods what they run");
  }
  for (const Option& option : render_options().options) {
    const std::string_view name = option.name;
    const auto is_name = [&](const char* one) { return name == one; };
    const bool is_of_pods = std::any_of(kOfPods.begin(), kOfPods.end(), is_name);
    const bool is_of_images = std::any_of(kOfImages.begin(), kOfImages.end(), is_name);
    const bool is_of_kubernetes = render::is_of_kubernetes(request.kind);
    const bool has_place = request.kind == "dockerfile" ? is_of_images
                           : name == "requeue"          ? !is_of_kubernetes
                                                        : !is_of_pods || is_of_kubernetes;
    if (settings.has(name) && !has_place) {
      return Error{ErrorKind::BadUsage,
                   "--" + std::string(name) + " has no place in a manifest of the kind " + request.kind};
    }
  }
  return {};
}

}  // namespace

Result<> read_needs(PodNeeds& needs, const Settings& settings, bool is_of_kubernetes) {
  constexpr int kUsualDevices = 8;
  needs.devices = kUsualDevices;
  const auto resource = TRY(device_resource(settings, is_of_kubernetes));
  needs.device_resource = resource;
  return Reader(settings)
      .number(needs.devices, "devices", {0, kMostDevices, "a number of accelerators"})
      .text(needs.device_resource, "device-resource", is_of_kubernetes ? render::read_resource : render::read_gres)
      .text(needs.cpus, "cpus", render::read_quantity)
      .text(needs.memory, "memory", render::read_quantity)
      .text(needs.node_selector, "node-selector", render::read_selector)
      .text(needs.tolerations, "tolerations", render::read_tolerations)
      .result();
}

Result<> read_nodes(int& nodes, const Settings& settings) {
  return Reader(settings).number(nodes, "nodes", {1, kMostNodes, "a number of nodes"}).result();
}

Result<ManifestRequest> read_manifest_request(const CommandLine& line) {
  const Settings& settings = line.settings;
  const auto kind = TRY(read_kind(settings));
  ManifestRequest request;
  request.kind = kind;
  request.arguments = line.program;
  for (const Result<>& read : {
           check_use(request, settings),
           read_nodes(request.nodes, settings),
           read_numbers(request, settings),
           read_names(request, settings),
           read_token(request, settings),
           read_scheduling(request, settings),
           read_needs(request.needs, settings, render::is_of_kubernetes(request.kind)),
           check_time_limit(request, settings),
           check_words(request),
       }) {
    if (!read) {
      return read.error();
    }
  }
  return request;
}

}  // namespace muster

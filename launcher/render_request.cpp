// Reads the options of `muster render` strictly, and refuses those that the manifest would lose.
#include "base/file_io.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "options/settings.hpp"
#include "render/pod.hpp"
#include "subcommands.hpp"

#include <algorithm>
#include <array>
#include <filesystem>

namespace muster {

// The options of `muster render`. No other command has them.

namespace {

using render::ManifestRequest;
using render::PodNeeds;

constexpr int kMostSeconds = 365 * 24 * 60 * 60;

Result<std::string> read_name_space(const Sourced<std::string>& given);
Result<std::string> read_scheduler(const Sourced<std::string>& given);

constexpr auto kTable = std::to_array<Option>({
    {"name", "NAME", "Job",
     "Name of the job, and what its pods' names begin with. Behind a '-' at its end muster puts five random letters "
     "or digits, such as train-x7k2p, so that two creates do not share a name."},
    {"image", "IMAGE", "Job", "Image that holds muster and the program; for dockerfile the one to put muster into."},
    {"nodes", "N", "Job", "Nodes of the job, each a pod. Default: 1."},
    {"grace", "SECONDS", "Job",
     "Time between asking workers to end and killing them. The platform is told to leave 15 s more. Default: 30; for "
     "slurm what muster chooses there, below Slurm's KillWait.",
     kInto<&ManifestRequest::grace, read_number<0, kMostSeconds, "whole seconds">>},
    {"restarts", "N", "Job",
     "How often the platform may start the whole job again where muster's exit code says that it may help. Default: 3.",
     kInto<&ManifestRequest::restarts, read_number<0, 1'000, "a number of restarts">>},
    {"time-limit", "SECONDS", "Job", "When the platform ends the job. Default: its own limit.",
     kInto<&ManifestRequest::time_limit, read_number<1, kMostSeconds, "whole seconds">>},
    {"ttl", "SECONDS", "Job",
     "When the platform deletes the job and its pods, counted from its end. It cleans up by itself, but with the pods "
     "go their logs and muster's report, unless they are kept elsewhere. Default: off.",
     kInto<&ManifestRequest::ttl, read_number<0, kMostSeconds, "whole seconds">>},
    {"label", "KEY=VALUE ...", "Job", "Label of the job and its pods.",
     kAppend<&ManifestRequest::labels, render::read_label>},
    {"port", "PORT", "Job",
     "Port on the first node where the agents meet. Default: 29500; for slurm, pbs and lsf one made of the job's "
     "number.",
     kInto<&ManifestRequest::port, read_number<1, 65'535, "a port">>},
    {"token-secret", "NAME", "Job",
     "Secret of Kubernetes whose key 'token' the agents share. Default: the job's name with -token; for volcano the "
     "key of its ssh plugin, for slurm a random one of the script, for mpijob, pbs and lsf a random one of muster.",
     kInto<&ManifestRequest::token_secret, render::read_object_name>},
    {"no-token", nullptr, "Job", "Agents share no secret: whoever reaches the port can join."},
    {"namespace", "NAME", "Job", "Namespace of Kubernetes. Default: kubectl's.",
     kInto<&ManifestRequest::name_space, read_name_space>},
    {"patch", "FILE", "Job",
     "For all else: YAML with 'metadata' or 'spec' of a pod, merged into each pod. Maps merge, and null takes a key "
     "away; lists of things with a name merge by it (volume mounts by their path), tolerations are added, other lists "
     "are replaced; another source of a variable or volume replaces the old one; the container is 'muster' in each "
     "kind. For a script: lines, put after its directives.",
     kInto<&ManifestRequest::patch_name, read_file_name>},
    {"env", "NAME=VALUE ...", "Each node", "Variable of the agents and the workers.",
     kAppend<&ManifestRequest::environment, render::read_variable>},
    {"volume", "SOURCE:PATH[:ro] ...", "Each node",
     "Folder PATH in the container: from a PersistentVolumeClaim, or from a folder of the node, such as my-claim:/data "
     "or /scratch:/scratch:ro. For slurm a folder, and with --image.",
     kAppend<&ManifestRequest::volumes, render::read_volume>},
    {"resource", "NAME=AMOUNT ...", "Each node",
     "Further resource, such as rdma/hca=1 (a whole number), ephemeral-storage=100Gi or hugepages-2Mi=1Gi; for slurm a "
     "generic one, for pbs and lsf the site's, such as rdma=1.",
     kAppend<&PodNeeds::resources, render::read_amount>},
    {"image-pull-secret", "NAME ...", "Each node", "Secret of Kubernetes with which the image is fetched.",
     kAppend<&ManifestRequest::image_pull_secrets, render::read_object_name>},
    {"service-account", "NAME", "Each node", "Service account of the pods. Default: the namespace's.",
     kInto<&ManifestRequest::service_account, render::read_object_name>},
    {"devices", "N", "Each node", "Accelerators, and workers: one for each. Default: 8.",
     kInto<&PodNeeds::devices, read_number<0, 4'096, "a number of accelerators">>},
    {"device-kind", "KIND", "Each node", "Whose: nvidia (the default), ascend or amd.", kReadByCode,
     "nvidia ascend amd"},
    {"device-resource", "NAME", "Each node",
     "What the cluster calls them, such as huawei.com/ascend-1980, or gpu:a100 for slurm. Default: nvidia.com/gpu, "
     "huawei.com/Ascend910, amd.com/gpu; for slurm and lsf gpu or npu, for pbs ngpus or nnpus."},
    {"cpus", "N", "Each node",
     "CPUs. Default: one for each worker, so that a pod is not the first to be evicted; for slurm, pbs and lsf the "
     "whole node.",
     kInto<&PodNeeds::cpus, render::read_quantity>},
    {"memory", "SIZE", "Each node",
     "Memory, such as 512Gi, which is the limit, too. Default: 1Gi for each worker and no limit; for slurm all "
     "memory of the node, for pbs and lsf what the site gives.",
     kInto<&PodNeeds::memory, render::read_memory>},
    {"shared-memory", "SIZE", "Each node",
     "Most that /dev/shm may hold, such as 64Gi; it counts as memory. Default: what the node allows.",
     kInto<&ManifestRequest::shared_memory, render::read_memory>},
    {"scheduler", "NAME", "Scheduling",
     "Who starts all pods or none: coscheduling or volcano. Default: volcano for volcano, else the cluster's own "
     "scheduler and --queue.",
     kInto<&ManifestRequest::scheduler, read_scheduler>, "coscheduling volcano"},
    {"queue", "NAME", "Scheduling",
     "Queue that admits the job: a partition for slurm, a queue for pbs and lsf, Volcano's where that schedules, else "
     "a LocalQueue of Kueue.",
     kInto<&ManifestRequest::queue, render::read_queue>},
    {"priority-class", "NAME", "Scheduling", "PriorityClass of the pods; for slurm a QOS.",
     kInto<&ManifestRequest::priority_class, render::read_object_name>},
    {"requeue", "HOW", "Scheduling",
     "How Slurm queues the job again after a node has failed: usual (the default), or expedite: at once and before all "
     "others, on the nodes that it had (Slurm 25.11).",
     kInto<&ManifestRequest::is_expedited, read_word<"usual or expedite", false, true>>, "usual expedite"},
    {"node-selector", "LABELS", "Scheduling", "Labels of the nodes that may be used, such as pool=train,disk=ssd.",
     kInto<&PodNeeds::node_selector, render::read_selector>},
    {"tolerations", "TAINTS", "Scheduling",
     "Taints of nodes that may be used all the same, such as nvidia.com/gpu,pool=train:NoSchedule.",
     kInto<&PodNeeds::tolerations, render::read_tolerations>},
    {"toleration", "SECONDS", "Scheduling",
     "How long pods stay on a node that is not ready or unreachable. A lost node blocks a restart for the 300 s that "
     "Kubernetes waits by default; 30 frees the job sooner, but evicts healthy pods whenever a kubelet is away for "
     "longer than that, as at its upgrade. Default: off.",
     kInto<&ManifestRequest::toleration, read_number<0, kMostSeconds, "whole seconds">>},
    {"check-fit", "FILE", "Does it fit?",
     "Print no manifest, but whether all pods fit into the cluster now: FILE is what 'kubectl get nodes -o json' "
     "prints, - is standard input. Ends with 0 if they do, else with 75."},
    {"pods", "FILE", "Does it fit?", "What 'kubectl get pods -A -o json' prints, unless the first FILE holds it too."},
    {"help", nullptr, "Help", "Print this text.", kReadByCode, nullptr, 'h'},
});

/// Option names that users know from other commands of muster, sbatch and kubectl, each with its name here.
constexpr auto kOtherRenderNames = std::to_array<OtherName>({
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

const OptionTable kRenderOptions{kTable, {}, kOtherRenderNames, "muster render"};

namespace {

constexpr std::size_t kMostOfHostName = 63;

/// Default resource names of each kind of accelerator.
struct DeviceNames {
  std::string_view kind;
  const char* of_kubernetes;
  const char* of_slurm;  ///< and of LSF
  const char* of_pbs;
};
constexpr auto kDeviceNames = std::to_array<DeviceNames>({
    {"nvidia", "nvidia.com/gpu", "gpu", "ngpus"},
    {"ascend", "huawei.com/Ascend910", "npu", "nnpus"},
    {"amd", "amd.com/gpu", "gpu", "ngpus"},
});

Error missing(const std::string& option, const std::string& what) {
  return Error{ErrorKind::BadUsage, option + " is missing: " + what};
}

Result<std::string> read_kind(const Settings& settings) {
  const auto& kinds = render::manifest_kinds();
  const auto kind = settings.find(kRenderKind);
  if (!kind) {
    return missing(kRenderKind, "write one of " + join(kinds, ", ") + " after 'muster render'");
  }
  const std::string found = render::kind_of(kind->value);
  if (found.empty()) {
    return wrong_value(*kind, "one of " + join(kinds, ", ") + did_you_mean(kind->value, kinds));
  }
  return found;
}

/// Reads the job's name; a '-' at its end stands for a random ending, as in generateName of Kubernetes.
Result<> read_job_name(ManifestRequest& request, const Sourced<std::string>& given) {
  const bool is_drawn = given.value.size() > 1 && given.value.ends_with('-');
  // The characters that Kubernetes uses for random endings: without vowels, so that they form no word.
  const std::string ending = is_drawn ? "-" + TRY(random_word("bcdfghjklmnpqrstvwxz2456789", 5)) : std::string();
  const std::size_t most = kMostOfHostName - render::last_suffix(request.kind, request.nodes).size() - ending.size();
  request.name = TRY(
      render::read_name({is_drawn ? given.value.substr(0, given.value.size() - 1) : given.value, given.source}, most));
  request.token_secret = request.name + "-token";  // without the random ending: all these jobs use one Secret
  request.name += ending;
  return {};
}

Result<> read_names(ManifestRequest& request, const Settings& settings) {
  if (!settings.has("name") && request.kind != "dockerfile") {
    return missing("--name", "the name of the job, such as --name train");
  }
  if (!settings.has("image") && !render::is_script(request.kind)) {
    return missing("--image", "the image that holds muster and the program");
  }
  request.name = "train";
  if (const auto name = settings.find("name")) {
    TRY(read_job_name(request, *name));
  }
  if (const auto image = settings.find("image")) {
    request.image = TRY(request.kind == "slurm" ? render::read_slurm_image(*image) : render::read_image(*image));
  }
  return {};
}

Result<std::string> read_name_space(const Sourced<std::string>& given) {
  return render::read_name(given, kMostOfHostName);
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
  request.token_secret = secret ? secret->value : request.token_secret;
  return {};
}

Result<std::string> read_scheduler(const Sourced<std::string>& given) {
  const auto& known = render::gang_schedulers();
  if (!contains(known, given.value)) {
    return wrong_value(given, "one of " + join(known, ", "));
  }
  return given.value;
}

/// Fails for another scheduler than volcano in volcano's own manifest.
Result<> check_scheduler(const ManifestRequest& request, const Settings& settings) {
  if (request.kind == "volcano" && request.scheduler != "volcano") {
    return wrong_value(*settings.find("scheduler"), "volcano, which alone starts its Jobs");
  }
  return {};
}

Result<std::string> device_resource(const Settings& settings, std::string_view kind_of_manifest) {
  const auto kind = settings.find("device-kind").value_or(Sourced<std::string>{"nvidia", Source()});
  for (const DeviceNames& names : kDeviceNames) {
    if (names.kind == kind.value) {
      return std::string(kind_of_manifest == "pbs"             ? names.of_pbs
                         : render::is_script(kind_of_manifest) ? names.of_slurm
                                                               : names.of_kubernetes);
    }
  }
  return wrong_value(kind, "nvidia, ascend or amd");
}

/// Fails if the time limit is shorter than the notice that comes before it.
Result<> check_time_limit(const ManifestRequest& request, const Settings& settings) {
  const int notice = render::grace_of(request) + render::kGraceMargin;
  if (!render::is_script(request.kind) || !request.time_limit || *request.time_limit > notice) {
    return {};
  }
  return wrong_value(*settings.find("time-limit"),
                     "more than " + std::to_string(notice) +
                         " seconds: muster asks the job to end that long before the limit (--grace)");
}

/// Fails if the arguments behind '--' make each node a job of its own.
Result<> check_nodes_behind(const Settings& settings, int nodes) {
  const auto count = settings.find("nnodes");
  const auto platform = settings.find("platform");
  const std::string wanted = std::to_string(nodes);
  const auto refusal = [&](const Sourced<std::string>& given, const std::string& what) {
    return Error{ErrorKind::BadUsage,
                 "after '--' the job has " + what + " by " + given.source.name + ", but --nodes is '" + wanted + "'"};
  };
  if (count && split(count->value, ':').back() != wanted) {
    return refusal(*count, count->value + (count->value == "1" ? " node" : " nodes"));
  }
  if (platform && platform->value == "single" && nodes > 1) {
    return refusal(*platform, "1 node");
  }
  return {};
}

/// Fails for options that describe a single node, or that need what a pod does not have.
Result<> check_alike(const Settings& settings) {
  for (const char* const name : {"node-rank", "master-addr", "hosts", "hostfile", "token-file"}) {
    if (const auto given = settings.find(name)) {
      return Error{ErrorKind::BadUsage,
                   given->source.name + " stands after '--', but the platform tells each node that; leave it out"};
    }
  }
  return {};
}

/// Fails if the arguments behind '--' repeat what the manifest sets.
Result<> check_words(const ManifestRequest& request) {
  if (request.arguments.empty()) {
    return request.kind == "dockerfile" ? Result<>()
                                        : missing("the program", "it stands after '--', with its arguments");
  }
  const auto settings = read_settings_of(request.arguments);
  if (!settings) {
    return Error{ErrorKind::BadUsage, "after '--': " + settings.error().message};
  }
  constexpr auto kRenderOptions = std::to_array<std::pair<const char*, const char*>>(
      {{"grace", "--grace"}, {"nnodes", "--nodes"}, {"master-port", "--port"}});
  for (const auto& [theirs, ours] : kRenderOptions) {
    if (const auto given = settings->find(theirs)) {
      return Error{ErrorKind::BadUsage, given->source.name +
                                            " stands after '--', but the manifest has to agree with it; give " + ours +
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
  if (settings.has("pods")) {
    return missing("--check-fit", "it names the nodes, and --pods what they run");
  }
  for (const Option& option : kRenderOptions.options) {
    if (settings.has(option.name) && !render::has_place(request.kind, option.name)) {
      return Error{ErrorKind::BadUsage,
                   "--" + std::string(option.name) + " has no place in a manifest of the kind " + request.kind};
    }
  }
  return {};
}

/// Fails for a name that is given twice, or that the manifest sets itself.
Result<> check_once(const std::vector<render::NamedText>& given, const std::string& option,
                    std::vector<std::string> names) {
  for (const render::NamedText& one : given) {
    if (contains(names, one.name)) {
      return Error{ErrorKind::BadUsage, option + " '" + one.name + "' is given twice, or set by the manifest itself"};
    }
    names.push_back(one.name);
  }
  return {};
}

/// Fails for a label that the controllers of this kind set themselves.
Result<> check_labels(const ManifestRequest& request) {
  for (const render::NamedText& one : request.labels) {
    if (render::is_of_jobs(request.kind) && render::is_of_controller(one.name)) {
      return wrong_value({one.name + "=" + one.value, from_flag("--label")},
                         "a label that no controller of Kubernetes sets itself");
    }
  }
  return {};
}

Result<> check_given_names(const ManifestRequest& request) {
  TRY(check_once(request.environment, "--env",
                 {"MUSTER_NNODES", "MUSTER_NPROC_PER_NODE", "MUSTER_MASTER_PORT", "MUSTER_TOKEN", "MUSTER_FORWARD_ENV",
                  "MUSTER_GRACE", "MASTER_ADDR", "MASTER_PORT", "JOBSET_NAME", "JOBSET_GLOBAL_REPLICAS",
                  "JOBSET_JOB_GLOBAL_INDEX", "JOBSET_RESTART_ATTEMPT", "JOBSET_PODS_PER_JOB"}));
  TRY(check_once(request.labels, "--label",
                 {"app.kubernetes.io/name", "kueue.x-k8s.io/queue-name", "scheduling.x-k8s.io/pod-group"}));
  return check_once(request.needs.resources, "--resource", {request.needs.device_resource});
}

/// Fails for a queue that Kueue or Volcano cannot have: there queues are objects of Kubernetes.
Result<> check_queue(const ManifestRequest& request) {
  if (!render::is_of_kubernetes(request.kind) || request.queue.empty()) {
    return {};
  }
  const auto queue = render::read_object_name({request.queue, from_flag("--queue")});
  return queue ? Result<>() : queue.error();
}

/// Fails for two volumes at one path, where one would hide the other, and for a path that is used already.
Result<> check_volumes(const ManifestRequest& request) {
  std::vector<std::string> taken{"/"};
  if (!render::is_script(request.kind)) {
    taken.emplace_back("/dev/shm");  // for --shared-memory
  }
  for (const render::Volume& one : request.volumes) {
    const std::string path = (std::filesystem::path(one.path) / "").lexically_normal().parent_path().string();
    if (contains(taken, path)) {
      return wrong_value({one.source + ":" + one.path, from_flag("--volume")},
                         "a PATH where the container has no other mount, unlike '" + path + "'");
    }
    taken.push_back(path);
  }
  return {};
}

/// Fails for volumes and resources that a batch system cannot have.
Result<> check_script(const ManifestRequest& request) {
  if (!render::is_script(request.kind)) {
    return {};
  }
  if (!request.volumes.empty() && request.image.empty()) {
    return missing("--image", "--volume is a folder of the container that it starts");
  }
  for (const render::Volume& one : request.volumes) {
    if (!one.source.starts_with('/')) {
      return wrong_value({one.source + ":" + one.path, from_flag("--volume")},
                         "a folder of the node as its source: no batch system has a PersistentVolumeClaim");
    }
  }
  for (const render::NamedText& one : request.needs.resources) {
    if (!render::read_gres({one.name, from_flag("--resource")}) || !parse_integer(one.value, 1, kMostSeconds)) {
      return wrong_value({one.name + "=" + one.value, from_flag("--resource")},
                         "NAME=NUMBER with a name of the site's resources, such as rdma=1");
    }
  }
  return {};
}

/// Workers of each node if no devices count them: the number given behind '--', else 1.
int workers_behind(const ManifestRequest& request) {
  constexpr int kMost = 4'096;
  const auto settings = read_all_settings_of(request.arguments);
  const auto given = settings ? settings->find("nproc-per-node") : std::nullopt;
  return given ? parse_integer(given->value, 1, kMost).value_or(1) : 1;
}

Result<> read_patch(ManifestRequest& request) {
  if (request.patch_name.empty()) {
    return {};
  }
  auto text = read_regular_file(request.patch_name);
  if (!text) {
    return Error{ErrorKind::BadData, "--patch is '" + request.patch_name + "', expected a file that can be read"};
  }
  request.patch = std::move(*text);
  return trim(request.patch).empty() ? Error{ErrorKind::BadData, request.patch_name + " is empty"} : Result<>();
}

}  // namespace

Result<> read_needs(PodNeeds& needs, const Settings& settings, std::string_view kind) {
  const bool is_of_kubernetes = render::is_of_kubernetes(kind);
  constexpr int kUsualDevices = 8;
  needs.devices = kUsualDevices;
  needs.device_resource = TRY(device_resource(settings, kind));
  if (const auto given = settings.find("device-resource")) {
    needs.device_resource = TRY(is_of_kubernetes  ? render::read_resource(*given)
                                : kind == "slurm" ? render::read_gres(*given)
                                                  : render::read_batch_resource(*given));
  }
  TRY(read_rows(needs, kTable, settings));
  for (const render::NamedText& one : needs.resources) {
    TRY(is_of_kubernetes ? render::check_amount_of_pod(one) : Result<>());
  }
  return {};
}

Result<int> read_nodes(const Settings& settings) {
  const auto given = settings.find("nodes");
  return given ? read_number<1, 100'000, "a number of nodes">(*given) : Result<int>(1);
}

Result<ManifestRequest> read_manifest_request(const CommandLine& line) {
  const Settings& settings = line.settings;
  ManifestRequest request;
  request.kind = TRY(read_kind(settings));
  request.arguments = line.program;
  request.scheduler = request.kind == "volcano" ? "volcano" : "";
  TRY(check_use(request, settings));
  request.nodes = TRY(read_nodes(settings));
  TRY(read_rows(request, kTable, settings));
  TRY(read_names(request, settings));
  TRY(read_token(request, settings));
  TRY(check_scheduler(request, settings));
  TRY(read_needs(request.needs, settings, request.kind));
  TRY(check_time_limit(request, settings));
  TRY(check_words(request));
  request.needs.workers = workers_behind(request);
  TRY(check_labels(request));
  TRY(check_given_names(request));
  TRY(check_queue(request));
  TRY(check_volumes(request));
  TRY(check_script(request));
  TRY(read_patch(request));
  return request;
}

}  // namespace muster

// Fills the values of manifests for Kubernetes. Every pod of every kind is made by `pod_of`.
#include "base/endpoint.hpp"
#include "base/lists.hpp"
#include "base/text.hpp"
#include "render/manifest.hpp"
#include "render/patch.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace muster::render {
namespace {

using Variables = std::vector<std::pair<std::string, std::string>>;

/// A heading with indented lines below it; empty without lines.
std::string block(const std::string& heading, const std::string& lines) {
  if (lines.empty()) {
    return "";
  }
  std::string text = heading;
  for (const std::string& line : split(lines, '\n')) {
    text += "\n  " + line;
  }
  return text;
}

void add_line(std::string& lines, const std::string& line) {
  lines += (lines.empty() ? "" : "\n") + line;
}

std::string items_of(const std::vector<std::string>& arguments) {
  std::string items;
  for (const std::string& argument : arguments) {
    add_line(items, "- " + quoted_argument(argument));
  }
  return items;
}

/// Adds limits only if the user gave them, and for devices, which Kubernetes limits anyway: an unwanted limit would
/// kill the job.
std::string resources_of(const PodNeeds& needs) {
  const std::string memory = "memory: " + quoted_text(requested_memory(needs));
  std::string requests = "cpu: " + quoted_text(requested_cpus(needs));
  add_line(requests, memory);
  std::string limits = needs.memory.empty() ? "" : memory;
  if (needs.devices > 0) {
    add_line(limits, quoted_text(needs.device_resource) + ": \"" + std::to_string(needs.devices) + "\"");
  }
  for (const NamedText& one : needs.resources) {
    add_line(limits, quoted_text(one.name) + ": " + quoted_text(one.value));
  }
  std::string both = block("requests:", requests);
  if (!limits.empty()) {
    add_line(both, block("limits:", limits));
  }
  return block("resources:", both);
}

std::string selector_of(const PodNeeds& needs) {
  std::string lines;
  for (const auto& [key, value] : needs.node_selector) {
    add_line(lines, quoted_text(key) + ": " + quoted_text(value));
  }
  return block("nodeSelector:", lines);
}

std::string tolerations_of(const ManifestRequest& request) {
  std::string lines;
  for (const Toleration& one : request.needs.tolerations) {
    add_line(lines, "- key: " + quoted_text(one.key));
    add_line(lines, one.value.empty() ? "  operator: Exists" : "  value: " + quoted_text(one.value));
    if (!one.effect.empty()) {
      add_line(lines, "  effect: " + one.effect);
    }
  }
  for (const char* const state : {"not-ready", "unreachable"}) {
    if (request.toleration) {
      add_line(lines, "- key: node.kubernetes.io/" + std::string(state));
      add_line(lines, "  operator: Exists");
      add_line(lines, "  effect: NoExecute");
      add_line(lines, "  tolerationSeconds: " + std::to_string(*request.toleration));
    }
  }
  return block("tolerations:", lines);
}

std::string pull_secrets_of(const ManifestRequest& request) {
  std::string lines;
  for (const std::string& one : request.image_pull_secrets) {
    const std::string line = "- name: " + quoted_text(one);
    if (!contains(split(lines, '\n'), line)) {
      add_line(lines, line);
    }
  }
  return block("imagePullSecrets:", lines);
}

/// The user's labels below those that muster sets.
std::string labels_of(const ManifestRequest& request, const Variables& own) {
  std::string lines = "app.kubernetes.io/name: " + quoted_text(request.name);
  for (const auto& [name, value] : own) {
    if (!value.empty()) {
      add_line(lines, name + ": " + quoted_text(value));
    }
  }
  for (const NamedText& one : request.labels) {
    add_line(lines, quoted_text(one.name) + ": " + quoted_text(one.value));
  }
  return block("labels:", lines);
}

/// Sets the user's volumes, and where the container has them.
void add_volumes(Values& values, const ManifestRequest& request) {
  std::string volumes;
  std::string mounts;
  int number = 0;
  for (const Volume& one : request.volumes) {
    const std::string name = "volume-" + std::to_string(number++);
    const bool is_folder = one.source.starts_with('/');
    add_line(volumes, "- name: " + name +
                          (is_folder ? "\n  hostPath:\n    path: " : "\n  persistentVolumeClaim:\n    claimName: ") +
                          quoted_text(one.source));
    add_line(mounts, "- name: " + name + "\n  mountPath: " + quoted_text(one.path) +
                         (one.is_read_only ? "\n  readOnly: true" : ""));
  }
  values["volumes"] = volumes;
  values["mounts"] = mounts;
}

/// The labels of a JobSet's pod, by the variables that the reader of this platform uses.
const Variables& labels_of_jobset() {
  static const Variables labels = {
      {"JOBSET_NAME", "jobset.sigs.k8s.io/jobset-name"},
      {"JOBSET_GLOBAL_REPLICAS", "jobset.sigs.k8s.io/global-replicas"},
      {"JOBSET_JOB_GLOBAL_INDEX", "jobset.sigs.k8s.io/job-global-index"},
      {"JOBSET_RESTART_ATTEMPT", "jobset.sigs.k8s.io/restart-attempt"},
  };
  return labels;
}

/// The variables that muster's reader of this platform needs, and that the platform does not set by itself.
Variables variables_of(const ManifestRequest& request) {
  Variables variables;
  if (request.kind == "indexed-job") {
    variables.emplace_back("MUSTER_NNODES", std::to_string(request.nodes));
    variables.emplace_back("MASTER_ADDR", request.name + "-0." + request.name);
  }
  if (request.kind == "jobset") {
    variables.emplace_back("JOBSET_PODS_PER_JOB", "1");
    variables.emplace_back("MASTER_ADDR", request.name + "-node-0-0." + request.name);
  }
  if (request.port && request.kind != "kubeflow") {  // Kubeflow's operator reads the container's port
    variables.emplace_back("MUSTER_MASTER_PORT", std::to_string(*request.port));
  }
  if (request.kind == "mpijob") {  // the file of hosts has their slots, and the launcher hands on what it is told
    variables.emplace_back("MUSTER_FORWARD_ENV", names_of(request.environment));
  } else if (request.needs.devices > 0) {
    variables.emplace_back("MUSTER_NPROC_PER_NODE", std::to_string(request.needs.devices));
  }
  return variables;
}

/// A variable with the value of a field of the pod.
void add_field(std::string& lines, const std::string& name, const std::string& path) {
  add_line(lines, "- name: " + name);
  add_line(lines, "  valueFrom:\n    fieldRef:");
  add_line(lines, "      fieldPath: " + path);
}

/// The variables of a pod; MUSTER_MACHINE is its node, because its host name is not the machine's. The launcher of an
/// MPIJob does not know the machines of its agents.
std::string environment_of(const ManifestRequest& request) {
  constexpr const char* kMachine = "MUSTER_MACHINE";
  std::string lines;
  if (request.kind == "jobset") {
    for (const auto& [name, label] : labels_of_jobset()) {
      add_field(lines, name, "\"metadata.labels['" + label + "']\"");
    }
  }
  for (const auto& [name, value] : variables_of(request)) {
    if (!value.empty()) {
      add_line(lines, "- name: " + name);
      add_line(lines, "  value: " + quoted_text(value));
    }
  }
  const bool has_own = std::ranges::find(request.environment, kMachine, &NamedText::name) != request.environment.end();
  if (request.kind != "mpijob" && !has_own) {
    add_field(lines, kMachine, "spec.nodeName");
  }
  for (const NamedText& one : request.environment) {
    add_line(lines, "- name: " + one.name);
    add_line(lines, "  value: " + quoted_argument(one.value));
  }
  if (request.token == TokenFrom::Secret) {
    add_line(lines, "- name: MUSTER_TOKEN");
    add_line(lines, "  valueFrom:\n    secretKeyRef:");
    add_line(lines, "      name: " + quoted_text(request.token_secret));
    add_line(lines, "      key: token");
  }
  return block("env:", lines);
}

void add_scheduling(Values& values, const ManifestRequest& request) {
  const bool is_volcano = request.scheduler == "volcano";
  values["volcano_queue"] = is_volcano ? request.queue : "";
  values["kueue_queue"] = is_volcano ? "" : request.queue;
  values["suspend"] = values["kueue_queue"].empty() ? "" : "true";
  values["scheduler_name"] = request.scheduler == "coscheduling" ? "scheduler-plugins-scheduler" : request.scheduler;
  values["pod_group_policy"] =
      request.scheduler.empty()
          ? ""
          : block("podGroupPolicy:", is_volcano ? "volcano: {}" : "coscheduling:\n  scheduleTimeoutSeconds: 120");
}

/// Sets the exit codes and events that restart a job. All agents exit with the job's code; 143 means that the pod was
/// evicted or out of time. Volcano has no time limit but that of the pods, so with a limit 143 does not restart.
void add_policies(Values& values, const ManifestRequest& request) {
  std::vector<std::string> codes = restart_codes();
  if (values["pod_time_limit"].empty()) {
    codes.emplace_back("143");
  }
  values["restart_values"] = join(codes, ", ");
  std::string policies;
  for (const std::string& code : codes) {
    add_line(policies, "- exitCode: " + code + "\n  action: RestartJob");
  }
  add_line(policies, "- event: PodEvicted\n  action: RestartJob");
  // Volcano treats a maxRetry of 0 as missing, and Kubeflow counts a restart after it has happened.
  const bool may_restart = request.restarts > 0;
  values["restart_policies"] = may_restart ? policies : "";
  values["max_retry"] = may_restart ? std::to_string(request.restarts) : "";
  values["replica_restarts"] = may_restart ? "OnFailure" : "Never";
  const int least_of_too_many = request.kind == "kubeflow" && may_restart ? 1 : 0;
  values["backoff_limit"] = std::to_string(request.nodes * request.restarts + least_of_too_many);
}

/// The pod's template: metadata and spec, with the patch in it.
Result<std::string> pod_of(const Values& values, const ManifestRequest& request, const PodNames& names) {
  std::string pod = fill_file("pod.yaml", values);
  if (request.patch.empty()) {
    return pod;
  }
  PodPatch patch{request.patch, request.patch_name, names.container};
  if (request.needs.cpus.empty()) {
    patch.defaults.emplace_back("cpu");
  }
  if (request.needs.memory.empty()) {
    patch.defaults.emplace_back("memory");
  }
  patch.device_resource = request.needs.device_resource;
  patch.devices = request.needs.devices;
  patch.is_of_jobs = is_of_jobs(request.kind);
  // Those of a LeaderWorkerSet are the pods of a StatefulSet. Volcano accepts any policy.
  patch.restart_policy = request.kind == "leaderworkerset" ? "Always"
                         : request.kind == "volcano"       ? ""
                                                           : names.restart_policy;
  return patched_pod(pod, patch);
}

/// Sets what all pods of the job have.
void add_common_values(Values& values, const ManifestRequest& request, const PodNames& names) {
  values["container"] = names.container;
  values["port_name"] = names.port;
  values["restart_policy"] = names.restart_policy;
  values["subdomain"] = request.kind == "indexed-job" ? request.name : "";
  values["pod_time_limit"] = request.kind == "volcano" ? values["time_limit"] : "";
  values["margin"] = std::to_string(kGraceMargin);
  values["pod_grace"] = std::to_string(grace_of(request) + kGraceMargin);
  values["ttl"] = request.ttl ? std::to_string(*request.ttl) : "";
  values["shared_memory"] = request.shared_memory;
  values["port"] = std::to_string(request.port.value_or(kUsualPort));
  values["priority_class"] = request.priority_class;
  values["service_account"] = request.service_account;
  values["pull_secrets"] = pull_secrets_of(request);
  values["environment"] = environment_of(request);
  values["resources"] = resources_of(request.needs);
  values["node_selector"] = selector_of(request.needs);
  values["tolerations"] = tolerations_of(request);
  add_volumes(values, request);
}

/// The pods of an MPIJob's hosts run sshd, which the operator starts; its launcher runs muster and has no device.
Result<> add_pods_of_mpijob(Values& values, const ManifestRequest& request, const PodNames& names) {
  values["slots"] = std::to_string(request.needs.devices > 0 ? request.needs.devices : request.needs.workers);
  Values of_worker = values;
  for (const char* const name : {"command", "args", "environment"}) {
    of_worker[name] = "";
  }
  values["worker_pod"] = TRY(pod_of(of_worker, request, names));
  ManifestRequest of_launcher = request;
  of_launcher.needs = PodNeeds();
  values["resources"] = resources_of(of_launcher.needs);
  values["pod"] = TRY(pod_of(values, of_launcher, names));
  return {};
}

}  // namespace

std::string names_of(const std::vector<NamedText>& variables) {
  return join(mapped(variables, &NamedText::name), ",");
}

std::string token_command(const ManifestRequest& request) {
  const std::string in_namespace = request.name_space.empty() ? "" : " -n " + request.name_space;
  return request.token == TokenFrom::Secret ? "kubectl create secret generic " + request.token_secret +
                                                  " --from-literal=token=\"$(muster token)\"" + in_namespace
                                            : "";
}

Result<> add_pod_values(Values& values, const ManifestRequest& request, const PodNames& names) {
  std::vector<std::string> arguments = {"--grace", std::to_string(grace_of(request))};
  if (request.kind == "mpijob") {
    arguments.insert(arguments.end(), {"--hostfile", "/etc/mpi/hostfile", "--remote-shell",
                                       "ssh -oStrictHostKeyChecking=no -oUserKnownHostsFile=/dev/null"});
  }
  arguments.insert(arguments.end(), request.arguments.begin(), request.arguments.end());
  values["command"] = "[\"muster\"]";
  values["args"] = block("args:", items_of(arguments));
  values["token"] = request.token == TokenFrom::Secret ? request.token_secret : "";
  values["ssh_arguments"] = request.token == TokenFrom::Platform ? "[]" : "";
  values["nodes_but_one"] = std::to_string(request.nodes - 1);
  add_common_values(values, request, names);
  add_scheduling(values, request);
  const bool is_volcanos_job = request.kind == "volcano";  // Volcano sets these annotations itself
  values["namespace"] = request.name_space;
  values["job_labels"] = labels_of(request, {{"kueue.x-k8s.io/queue-name", values["kueue_queue"]}});
  values["pod_labels"] =
      labels_of(request, {{"scheduling.x-k8s.io/pod-group", request.scheduler == "coscheduling" ? request.name : ""}});
  values["annotations"] = is_volcanos_job ? "" : fill_file("pod-annotations.yaml", values);
  values["pod_group"] = request.scheduler.empty() ? "" : fill_file("pod-group-" + request.scheduler + ".yaml", values);
  add_policies(values, request);
  values["token_command"] = token_command(request);
  values["token_advice"] = request.token == TokenFrom::Secret ? fill_file("token.yaml", values) : "";
  if (request.kind == "mpijob") {
    return add_pods_of_mpijob(values, request, names);
  }
  values["pod"] = TRY(pod_of(values, request, names));
  values["workers"] = request.nodes > 1 ? fill_file("kubeflow-workers.yaml", values) : "";
  return {};
}

}  // namespace muster::render

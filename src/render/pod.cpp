// What the pods of a job are, for each of the kinds that Kubernetes is given.
#include "render/kinds.hpp"
#include "render/words.hpp"

#include "base/endpoint.hpp"
#include "base/text.hpp"

#include <utility>

namespace muster::render {
namespace {

using Variables = std::vector<std::pair<std::string, std::string>>;

/// A heading and what stands below it, indented; nothing where that is nothing.
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

std::string resources_of(const PodNeeds& needs) {
  const std::string memory = needs.memory.empty() ? "" : "memory: " + quoted_text(needs.memory);
  std::string requests = needs.cpus.empty() ? "" : "cpu: " + quoted_text(needs.cpus);
  std::string limits = memory;
  if (!memory.empty()) {
    add_line(requests, memory);
  }
  if (needs.devices > 0) {
    add_line(limits,
             quoted_text(needs.device_resource) + ": \"" + std::to_string(needs.devices) + "\"");
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

std::string tolerations_of(const PodNeeds& needs) {
  std::string lines;
  for (const Toleration& one : needs.tolerations) {
    add_line(lines, "- key: " + quoted_text(one.key));
    add_line(lines,
             one.value.empty() ? "  operator: Exists" : "  value: " + quoted_text(one.value));
    if (!one.effect.empty()) {
      add_line(lines, "  effect: " + one.effect);
    }
  }
  return block("tolerations:", lines);
}

/// The label of a pod in a JobSet, by the variable as which the reader of that platform looks for it.
const Variables& labels_of_jobset() {
  static const Variables labels = {
      {"JOBSET_NAME", "jobset.sigs.k8s.io/jobset-name"},
      {"JOBSET_GLOBAL_REPLICAS", "jobset.sigs.k8s.io/global-replicas"},
      {"JOBSET_JOB_GLOBAL_INDEX", "jobset.sigs.k8s.io/job-global-index"},
      {"JOBSET_RESTART_ATTEMPT", "jobset.sigs.k8s.io/restart-attempt"},
  };
  return labels;
}

/// What the platform does not say by itself, and its reader wants to know.
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
  if (request.port &&
      request.kind != "kubeflow") {  // there the operator reads the container's port
    variables.emplace_back("MUSTER_MASTER_PORT", std::to_string(*request.port));
  }
  if (request.needs.devices > 0) {
    variables.emplace_back("MUSTER_NPROC_PER_NODE", std::to_string(request.needs.devices));
  }
  return variables;
}

std::string environment_of(const ManifestRequest& request) {
  std::string lines;
  if (request.kind == "jobset") {
    for (const auto& [name, label] : labels_of_jobset()) {
      add_line(lines, "- name: " + name);
      add_line(lines, "  valueFrom:\n    fieldRef:");
      add_line(lines, "      fieldPath: \"metadata.labels['" + label + "']\"");
    }
  }
  for (const auto& [name, value] : variables_of(request)) {
    add_line(lines, "- name: " + name);
    add_line(lines, "  value: " + quoted_text(value));
  }
  if (request.token == TokenFrom::Secret) {
    add_line(lines, "- name: MUSTER_TOKEN");
    add_line(lines, "  valueFrom:\n    secretKeyRef:");
    add_line(lines, "      name: " + quoted_text(request.token_secret));
    add_line(lines, "      key: token");
  }
  return block("env:", lines);
}

std::string without_end(const std::string& text) {
  return std::string(trim(text));
}

void add_scheduling(Values& values, const ManifestRequest& request) {
  const bool is_volcano = request.scheduler == "volcano";
  values["volcano_queue"] = is_volcano ? request.queue : "";
  values["kueue_queue"] = is_volcano ? "" : request.queue;
  values["suspend"] = values["kueue_queue"].empty() ? "" : "true";
  values["scheduler_name"] =
      request.scheduler == "coscheduling" ? "scheduler-plugins-scheduler" : request.scheduler;
  values["coscheduling_group"] = request.scheduler == "coscheduling" ? request.name : "";
  values["pod_group"] = "";
  values["pod_group_policy"] = "";
  if (!request.scheduler.empty()) {
    values["pod_group"] =
        without_end(fill_file("pod-group-" + request.scheduler + ".yaml", values));
    values["pod_group_policy"] =
        block("podGroupPolicy:",
              is_volcano ? "volcano: {}" : "coscheduling:\n  scheduleTimeoutSeconds: 120");
  }
}

/// All agents end with the job's code; 143 is that of one whose pod was taken away, or is out of time: a
/// job of Volcano's has no time limit but that of its pods.
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
  // Volcano takes a maxRetry of 0 for none that was given, and Kubeflow counts a restart when it has happened.
  const bool may_restart = request.restarts > 0;
  values["restart_policies"] = may_restart ? policies : "";
  values["max_retry"] = may_restart ? std::to_string(request.restarts) : "";
  values["replica_restarts"] = may_restart ? "OnFailure" : "Never";
  const int least_of_too_many = request.kind == "kubeflow" && may_restart ? 1 : 0;
  values["backoff_limit"] = std::to_string(request.nodes * request.restarts + least_of_too_many);
}

/// Names that the controllers of Kubeflow look for.
void add_names(Values& values, const ManifestRequest& request) {
  const bool is_pytorchjob = request.kind == "kubeflow";
  values["container"] = is_pytorchjob ? "pytorch" : request.kind == "trainjob" ? "node" : "muster";
  values["port_name"] = is_pytorchjob ? "pytorchjob-port" : "muster";
  values["subdomain"] = request.kind == "indexed-job" ? request.name : "";
  // A controller that restarts pods in place says so itself.
  values["restart_policy"] = is_pytorchjob ? "" : "Never";
  values["pod_time_limit"] = request.kind == "volcano" ? values["time_limit"] : "";
}

}  // namespace

void add_pod_values(Values& values, const ManifestRequest& request) {
  std::vector<std::string> arguments = {"--grace", std::to_string(request.grace)};
  arguments.insert(arguments.end(), request.arguments.begin(), request.arguments.end());
  values["namespace"] = request.name_space;
  values["in_namespace"] = request.name_space.empty() ? " " : " -n " + request.name_space;
  values["token"] = request.token == TokenFrom::Secret ? request.token_secret : "";
  values["ssh_arguments"] = request.token == TokenFrom::Platform ? "[]" : "";
  values["port"] = std::to_string(request.port.value_or(kUsualPort));
  values["margin"] = std::to_string(kGraceMargin);
  values["pod_grace"] = std::to_string(request.grace + kGraceMargin);
  values["shared_memory"] = request.shared_memory;
  values["nodes_but_one"] = std::to_string(request.nodes - 1);
  values["args"] = items_of(arguments);
  values["environment"] = environment_of(request);
  values["resources"] = resources_of(request.needs);
  values["node_selector"] = selector_of(request.needs);
  values["tolerations"] = tolerations_of(request.needs);
  add_names(values, request);
  add_scheduling(values, request);
  add_policies(values, request);
  values["token_advice"] =
      request.token == TokenFrom::Secret ? without_end(fill_file("token.yaml", values)) : "";
  values["pod"] = without_end(fill_file("pod.yaml", values));
  values["pod_metadata"] = without_end(fill_file("pod-metadata.yaml", values));
  values["workers"] =
      request.nodes > 1 ? without_end(fill_file("kubeflow-workers.yaml", values)) : "";
}

}  // namespace muster::render

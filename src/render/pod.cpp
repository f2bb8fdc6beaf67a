// Reads the needs and names of pods, and fills the values of manifests for Kubernetes.
#include "render/pod.hpp"

#include "base/endpoint.hpp"
#include "base/text.hpp"
#include "render/check_fit.hpp"
#include "render/manifest.hpp"

#include <algorithm>
#include <utility>

namespace muster::render {

// Reads names strictly, because a manifest holds them without quotes.
// Source: kubernetes.io, "Object Names and IDs", "Labels and Selectors", "Taints and Tolerations".

namespace {

constexpr std::string_view kSmall = "abcdefghijklmnopqrstuvwxyz";
constexpr std::size_t kMostOfLabel = 63;
constexpr std::size_t kMostOfName = 253;

bool has_only(std::string_view text, std::string_view signs, bool with_capitals) {
  return std::ranges::all_of(text, [&](char c) {
    const bool is_capital = c >= 'A' && c <= 'Z';
    return (is_letter_or_digit(c) && (with_capitals || !is_capital)) || signs.find(c) != std::string_view::npos;
  });
}

/// True for at most `most` letters, digits and `signs` that begin and end with a letter or digit.
bool is_word(std::string_view text, std::string_view signs, std::size_t most) {
  return !text.empty() && text.size() <= most && is_letter_or_digit(text.front()) && is_letter_or_digit(text.back()) &&
         has_only(text, signs, true);
}

/// True for words of lower-case letters between dots.
bool is_domain(std::string_view text) {
  const auto words = split(text, '.');
  return !words.empty() && text.size() <= kMostOfName && std::ranges::all_of(words, [](const std::string& word) {
    return is_word(word, "-", kMostOfLabel) && has_only(word, "-", false);
  });
}

/// True for "name" or "domain/name", as keys of labels and taints.
bool is_key(std::string_view text) {
  const std::size_t slash = text.find('/');
  const bool has_domain = slash != std::string_view::npos;
  return is_word(text.substr(has_domain ? slash + 1 : 0), "-_.", kMostOfLabel) &&
         (!has_domain || is_domain(text.substr(0, slash)));
}

bool is_label_value(std::string_view text) {
  return text.empty() || is_word(text, "-_.", kMostOfLabel);
}

/// Splits at commas; at least one piece.
std::vector<std::string> pieces_of(const std::string& text) {
  return text.empty() ? std::vector<std::string>{""} : split(text, ',');
}

/// Splits "key=value:effect".
Toleration cut_toleration(std::string_view text) {
  Toleration toleration;
  const std::size_t colon = text.find(':');
  if (colon != std::string_view::npos) {
    toleration.effect = text.substr(colon + 1);
    text = text.substr(0, colon);
  }
  const std::size_t equals = text.find('=');
  toleration.key = text.substr(0, equals);
  toleration.value = equals == std::string_view::npos ? "" : text.substr(equals + 1);
  return toleration;
}

/// The text, which the message shows in part where it is wrong.
Result<std::string> accept(bool is_right, const Sourced<std::string>& text, std::string_view expected,
                           std::size_t shown = kMostOfName) {
  return is_right ? Result<std::string>(text.value) : wrong_value({one_line(text.value, shown), text.source}, expected);
}

bool is_effect(std::string_view text) {
  return text == "NoSchedule" || text == "NoExecute" || text == "PreferNoSchedule";
}

}  // namespace

Result<std::string> read_name(const Sourced<std::string>& text, std::size_t most) {
  const std::string& name = text.value;
  if (is_word(name, "-", most) && has_only(name, "-", false) && kSmall.find(name.front()) != std::string_view::npos) {
    return name;
  }
  return wrong_value({one_line(name, 2 * kMostOfLabel), text.source},
                     "a name of small letters, digits and '-' that begins with a letter, ends with a letter or digit, "
                     "and has at most " +
                         std::to_string(most) + " characters");
}

Result<std::string> read_object_name(const Sourced<std::string>& text) {
  return accept(is_domain(text.value), text, "a name of Kubernetes: small letters, digits, '-' and '.'");
}

Result<std::string> read_queue(const Sourced<std::string>& text) {
  return accept(is_word(text.value, "-_.", kMostOfLabel), text,
                "a name of letters, digits, '-', '_' and '.' with at most 63 characters");
}

Result<std::string> read_image(const Sourced<std::string>& text) {
  const bool is_image =
      !text.value.empty() && is_letter_or_digit(text.value.front()) && has_only(text.value, "-_./:@", true);
  return accept(is_image, text, "an image such as train:1.0: letters, digits and any of -_./:@");
}

Result<std::string> read_slurm_image(const Sourced<std::string>& text) {
  const bool is_path = text.value.starts_with('/') || text.value.starts_with("./");
  const std::size_t hash = text.value.find('#');
  std::string image = text.value;
  if (hash != std::string::npos) {
    image[hash] = '/';
  }
  const auto read = is_path ? text.value : read_image({image, text.source});
  if (!read) {
    return wrong_value({one_line(text.value, kMostOfName), text.source},
                       "an image such as train:1.0 or registry.example/train:1.0, or the path of a squashfs file");
  }
  const std::size_t slash = image.find('/');
  const std::string first = image.substr(0, slash);
  const bool is_registry =
      slash != std::string::npos && !is_path && (first.find_first_of(".:") != std::string::npos || slash == hash);
  return is_registry ? first + "#" + image.substr(slash + 1) : *read;
}

Result<std::string> read_resource(const Sourced<std::string>& text) {
  return accept(text.value.find('/') != std::string::npos && is_key(text.value), text,
                "a resource of Kubernetes such as nvidia.com/gpu");
}

Result<std::string> read_gres(const Sourced<std::string>& text) {
  return accept(is_word(text.value, "-_.:", kMostOfLabel), text, "a generic resource of Slurm such as gpu or gpu:a100");
}

Result<std::string> read_quantity(const Sourced<std::string>& text) {
  const auto quantity = parse_quantity(text.value);
  return accept(quantity && *quantity > 0, text,
                "a quantity above 0 as Kubernetes writes it, such as 16, 500m, 64Gi or 1.5Ti", kMostOfLabel);
}

Result<std::map<std::string, std::string>> read_selector(const Sourced<std::string>& text) {
  std::map<std::string, std::string> selector;
  for (const std::string& piece : pieces_of(text.value)) {
    const std::size_t equals = piece.find('=');
    if (equals == std::string::npos || !is_key(piece.substr(0, equals)) || !is_label_value(piece.substr(equals + 1)) ||
        !selector.emplace(piece.substr(0, equals), piece.substr(equals + 1)).second) {
      return wrong_value({one_line(text.value, kMostOfName), text.source},
                         "labels of nodes such as pool=train,disk=ssd, each key once");
    }
  }
  return selector;
}

Result<std::vector<Toleration>> read_tolerations(const Sourced<std::string>& text) {
  std::vector<Toleration> tolerations;
  for (const std::string& piece : pieces_of(text.value)) {
    const Toleration toleration = cut_toleration(piece);
    const bool has_effect = piece.find(':') != std::string::npos;
    if (!is_key(toleration.key) || !is_label_value(toleration.value) || (has_effect && !is_effect(toleration.effect))) {
      return wrong_value({one_line(text.value, kMostOfName), text.source},
                         "taints such as nvidia.com/gpu,pool=train:NoSchedule");
    }
    tolerations.push_back(toleration);
  }
  return tolerations;
}

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

std::string resources_of(const PodNeeds& needs) {
  const std::string memory = needs.memory.empty() ? "" : "memory: " + quoted_text(needs.memory);
  std::string requests = needs.cpus.empty() ? "" : "cpu: " + quoted_text(needs.cpus);
  std::string limits = memory;
  if (!memory.empty()) {
    add_line(requests, memory);
  }
  if (needs.devices > 0) {
    add_line(limits, quoted_text(needs.device_resource) + ": \"" + std::to_string(needs.devices) + "\"");
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
    add_line(lines, one.value.empty() ? "  operator: Exists" : "  value: " + quoted_text(one.value));
    if (!one.effect.empty()) {
      add_line(lines, "  effect: " + one.effect);
    }
  }
  return block("tolerations:", lines);
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

/// The variables that the reader of the platform needs and the platform does not set.
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

void add_scheduling(Values& values, const ManifestRequest& request) {
  const bool is_volcano = request.scheduler == "volcano";
  values["volcano_queue"] = is_volcano ? request.queue : "";
  values["kueue_queue"] = is_volcano ? "" : request.queue;
  values["suspend"] = values["kueue_queue"].empty() ? "" : "true";
  values["scheduler_name"] = request.scheduler == "coscheduling" ? "scheduler-plugins-scheduler" : request.scheduler;
  values["coscheduling_group"] = request.scheduler == "coscheduling" ? request.name : "";
  values["pod_group"] = "";
  values["pod_group_policy"] = "";
  if (!request.scheduler.empty()) {
    values["pod_group"] = fill_file("pod-group-" + request.scheduler + ".yaml", values);
    values["pod_group_policy"] =
        block("podGroupPolicy:", is_volcano ? "volcano: {}" : "coscheduling:\n  scheduleTimeoutSeconds: 120");
  }
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

/// Adds names that Kubeflow's controllers require.
void add_names(Values& values, const ManifestRequest& request) {
  const bool is_pytorchjob = request.kind == "kubeflow";
  values["container"] = is_pytorchjob ? "pytorch" : request.kind == "trainjob" ? "node" : "muster";
  values["port_name"] = is_pytorchjob ? "pytorchjob-port" : "muster";
  values["subdomain"] = request.kind == "indexed-job" ? request.name : "";
  // A controller that restarts pods in place sets this itself.
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
  values["token_advice"] = request.token == TokenFrom::Secret ? fill_file("token.yaml", values) : "";
  values["pod"] = fill_file("pod.yaml", values);
  values["pod_metadata"] = fill_file("pod-metadata.yaml", values);
  values["workers"] = request.nodes > 1 ? fill_file("kubeflow-workers.yaml", values) : "";
}

}  // namespace muster::render

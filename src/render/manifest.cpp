// Chooses the file of templates/manifests, and fills it. Pure.
#include "render/fill.hpp"
#include "render/kinds.hpp"
#include "render/manifest_texts.hpp"
#include "render/words.hpp"

#include "base/text.hpp"
#include "render/manifest.hpp"

#include <algorithm>
#include <array>

namespace muster::render {
namespace {

struct Kind {
  const char* name;
  const char* file;        ///< in templates/manifests
  const char* pod_prefix;  ///< between the job's name and the number of a pod; nullptr: no pods
  const char* pod_suffix;  ///< behind the number
  bool brings_token;
};

constexpr auto kKinds = std::to_array<Kind>({
    {"volcano", "volcano.yaml", "-worker-", "", true},
    {"kubeflow", "kubeflow.yaml", "-worker-", "", false},
    {"trainjob", "trainjob.yaml", "-node-0-", "-abcde", false},
    {"indexed-job", "indexed-job.yaml", "-", "-abcde", false},
    {"jobset", "jobset.yaml", "-node-", "-0-abcde", false},
    {"slurm", "slurm.sh", nullptr, nullptr, true},
    {"dockerfile", "Dockerfile", nullptr, nullptr, false},
});

const Kind& find_kind(std::string_view name) {
  return *std::find_if(
      kKinds.begin(), kKinds.end(), [&](const Kind& kind) { return name == kind.name; });
}

Result<> check_arguments(const ManifestRequest& request) {
  if (request.kind == "slurm") {
    return {};  // a shell takes any byte
  }
  const auto bad = std::find_if(request.arguments.begin(),
                                request.arguments.end(),
                                [](const auto& argument) { return !is_utf8(argument); });
  if (bad == request.arguments.end()) {
    return {};
  }
  return Error{ErrorKind::BadUsage,
               "the argument '" + one_line(*bad, 80) +
                   "' is no UTF-8, and a manifest of the kind " + request.kind +
                   " holds nothing else"};
}

std::string json_list(const std::vector<std::string>& words) {
  std::string list;
  for (const std::string& word : words) {
    list += (list.empty() ? "[" : ", ") + quoted_text(word);
  }
  return list.empty() ? list : list + "]";
}

Values common_values(const ManifestRequest& request) {
  Values values;
  values["name"] = request.name;
  values["image"] = request.image;
  values["nodes"] = std::to_string(request.nodes);
  values["queue"] = request.queue;
  values["time_limit"] = request.time_limit ? std::to_string(*request.time_limit) : "";
  values["grace"] = std::to_string(request.grace);
  values["restarts"] = std::to_string(request.restarts);
  return values;
}

}  // namespace

const std::vector<std::string>& manifest_kinds() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> result;
    result.reserve(kKinds.size());
    for (const Kind& kind : kKinds) {
      result.emplace_back(kind.name);
    }
    return result;
  }();
  return names;
}

const std::vector<std::string>& gang_schedulers() {
  static const std::vector<std::string> names = {"coscheduling", "volcano"};
  return names;
}

bool brings_token(std::string_view kind) {
  return find_kind(kind).brings_token;
}

bool is_of_kubernetes(std::string_view kind) {
  return std::any_of(kKinds.begin(), kKinds.end(), [&](const Kind& one) {
    return kind == one.name && one.pod_prefix != nullptr;
  });
}

std::string last_suffix(std::string_view kind, int nodes) {
  const Kind& found = find_kind(kind);
  return found.pod_prefix == nullptr
             ? ""
             : found.pod_prefix + std::to_string(nodes - 1) + found.pod_suffix;
}

const std::vector<std::string>& restart_codes() {
  static const std::vector<std::string> codes = {"69", "75", "85", "86"};
  return codes;
}

std::string fill_file(std::string_view file, const Values& values) {
  const auto texts = manifest_texts();
  const auto text = std::find_if(
      texts.begin(), texts.end(), [&](const ManifestText& one) { return one.name == file; });
  return fill_lines(text->text, values);
}

Result<std::string> render_manifest(const ManifestRequest& request) {
  if (auto checked = check_arguments(request); !checked) {
    return checked.error();
  }
  Values values = common_values(request);
  values["program"] = json_list(request.arguments);
  if (request.kind == "slurm") {
    add_slurm_values(values, request);
  }
  if (is_of_kubernetes(request.kind)) {
    add_pod_values(values, request);
  }
  return fill_file(find_kind(request.kind).file, values);
}

}  // namespace muster::render

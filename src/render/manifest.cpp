// Chooses the file of templates/manifests, and fills it. Pure.
#include "render/fill.hpp"
#include "render/kinds.hpp"
#include "render/manifest_texts.hpp"
#include "render/words.hpp"

#include <muster/base/text.hpp>
#include <muster/render/manifest.hpp>

#include <algorithm>
#include <array>

namespace muster::render {
namespace {

struct Kind {
  const char* name;
  const char* file;        ///< in templates/manifests
  const char* pod_prefix;  ///< between the job's name and the number of a pod; nullptr: no pods
  const char* pod_suffix;  ///< behind the number
};

constexpr auto kKinds = std::to_array<Kind>({
    {"slurm", "slurm.sh", nullptr, nullptr},
    {"dockerfile", "Dockerfile", nullptr, nullptr},
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
  std::vector<std::string> pieces;
  for (const std::string& word : words) {
    pieces.push_back(quoted_text(word));
  }
  return "[" + join(pieces, ", ") + "]";
}

Values common_values(const ManifestRequest& request) {
  Values values;
  values["name"] = request.name;
  values["image"] = request.image;
  values["nodes"] = std::to_string(request.nodes);
  values["queue"] = request.queue;
  values["grace"] = std::to_string(request.grace);
  values["restarts"] = std::to_string(request.restarts);
  return values;
}

}  // namespace

const std::vector<std::string>& manifest_kinds() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> result;
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

bool is_of_kubernetes(std::string_view kind) {
  return find_kind(kind).pod_prefix != nullptr;
}

std::string last_suffix(std::string_view kind, int nodes) {
  const Kind& found = find_kind(kind);
  return found.pod_prefix == nullptr
             ? ""
             : found.pod_prefix + std::to_string(nodes - 1) + found.pod_suffix;
}

std::string restart_codes(std::string_view separator) {
  // docs/exit-codes.md: what a scheduler should start again.
  const std::vector<std::string> codes = {"69", "75", "85", "86"};
  return join(codes, separator);
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
  if (request.kind == "slurm") {
    add_slurm_values(values, request);
  }
  values["program"] = request.arguments.empty() ? "" : json_list(request.arguments);
  return fill_file(find_kind(request.kind).file, values);
}

}  // namespace muster::render

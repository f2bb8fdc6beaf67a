// Renders a manifest from a file of templates/manifests: the table of kinds, lines, and the user's texts.
// Pure.
#include "render/manifest.hpp"

#include "base/lists.hpp"
#include "base/text.hpp"
#include "modes/mode_template.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace muster::render {
namespace {

enum class Form {
  Pods,    ///< objects of Kubernetes
  Script,  ///< a batch system's
  Image    ///< a Dockerfile
};

struct Kind {
  const char* name;
  const char* file;  ///< in templates/manifests
  Form form;
  const char* pod_prefix;  ///< between the job's name and the number of a pod
  const char* pod_suffix;  ///< behind that number
  PodNames names;
  bool brings_token;
  std::string_view lacks;  ///< options without a place in this kind, besides those that its form lacks; between commas
};

constexpr PodNames kNames = {"muster", "muster", "Never"};
constexpr PodNames kNamesOfKubeflow = {"pytorch", "pytorchjob-port", ""};
constexpr PodNames kNamesOfTrainer = {"node", "muster", "Never"};
/// For kinds whose controller, or its StatefulSet, restarts pods in place.
constexpr PodNames kNamesOfOthers = {"muster", "muster", ""};

constexpr auto kKinds = std::to_array<Kind>({
    {"volcano", "volcano.yaml", Form::Pods, "-worker-", "", kNames, true, ""},
    {"kubeflow", "kubeflow.yaml", Form::Pods, "-worker-", "", kNamesOfKubeflow, false, ""},
    {"trainjob", "trainjob.yaml", Form::Pods, "-node-0-", "-abcde", kNamesOfTrainer, false, "ttl"},
    {"indexed-job", "indexed-job.yaml", Form::Pods, "-", "-abcde", kNames, false, ""},
    {"jobset", "jobset.yaml", Form::Pods, "-node-", "-0-abcde", kNames, false, ""},
    {"leaderworkerset", "leaderworkerset.yaml", Form::Pods, "-0-", "", kNamesOfOthers, false,
     "ttl,restarts,time-limit"},
    {"mpijob", "mpijob.yaml", Form::Pods, "-worker-", "", kNamesOfOthers, true, "no-token"},
    {"slurm", "slurm.sh", Form::Script, "", "", kNames, true, ""},
    {"pbs", "pbs.sh", Form::Script, "", "", kNames, true, "image,volume,priority-class,requeue,restarts,no-token"},
    {"lsf", "lsf.sh", Form::Script, "", "", kNames, true, "image,volume,priority-class,requeue,restarts,no-token"},
    {"dockerfile", "Dockerfile", Form::Image, "", "", kNames, false, ""},
});

/// Other names of kinds.
constexpr auto kOtherNames =
    std::to_array<std::pair<std::string_view, const char*>>({{"pytorchjob", "kubeflow"}, {"lws", "leaderworkerset"}});

constexpr std::string_view kNotInPods = "requeue";
constexpr std::string_view kNotInScripts =
    "namespace,token-secret,shared-memory,scheduler,node-selector,tolerations,toleration,image-pull-secret,"
    "service-account,label,ttl";
constexpr std::string_view kInImages = "name,image,help";

const Kind& find_kind(std::string_view name) {
  return *std::ranges::find_if(kKinds, [&](const Kind& kind) { return name == kind.name; });
}

Result<> check_arguments(const ManifestRequest& request) {
  if (is_script(request.kind)) {
    return {};  // a shell accepts any byte
  }
  const auto bad = std::ranges::find_if(request.arguments, [](const auto& argument) { return !is_utf8(argument); });
  if (bad == request.arguments.end()) {
    return {};
  }
  return Error{ErrorKind::BadUsage, "the argument '" + one_line(*bad, 80) +
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
  values["grace"] = std::to_string(grace_of(request));
  values["stop_timeout"] = std::to_string(grace_of(request) + kGraceMargin);
  values["restarts"] = std::to_string(request.restarts);
  return values;
}

}  // namespace

const std::vector<std::string>& manifest_kinds() {
  static const auto names = mapped(kKinds, [](const Kind& kind) { return std::string(kind.name); });
  return names;
}

const std::vector<std::string>& gang_schedulers() {
  static const std::vector<std::string> names = {"coscheduling", "volcano"};
  return names;
}

int grace_of(const ManifestRequest& request) {
  constexpr int kUsualGrace = 30;
  return request.grace.value_or(kUsualGrace);
}

bool brings_token(std::string_view kind) {
  return find_kind(kind).brings_token;
}

bool is_of_kubernetes(std::string_view kind) {
  return find_kind(kind).form == Form::Pods;
}

bool is_script(std::string_view kind) {
  return find_kind(kind).form == Form::Script;
}

std::string kind_of(std::string_view word) {
  const auto other = std::ranges::find_if(kOtherNames, [&](const auto& one) { return one.first == word; });
  const std::string name(other == kOtherNames.end() ? word : other->second);
  return contains(manifest_kinds(), name) ? name : "";
}

bool is_of_jobs(std::string_view kind) {
  return is_of_kubernetes(kind) && kind != "volcano" && kind != "kubeflow" && kind != "leaderworkerset";
}

bool has_place(std::string_view kind, std::string_view option) {
  const Kind& found = find_kind(kind);
  const auto is_in = [&](std::string_view list) { return contains(split(list, ','), option); };
  return found.form == Form::Image
             ? is_in(kInImages)
             : !is_in(found.lacks) && !is_in(found.form == Form::Pods ? kNotInPods : kNotInScripts);
}

std::string last_suffix(std::string_view kind, int nodes) {
  const Kind& found = find_kind(kind);
  return found.form == Form::Pods ? found.pod_prefix + std::to_string(nodes - 1) + found.pod_suffix : "";
}

const std::vector<std::string>& restart_codes() {
  static const std::vector<std::string> codes = {"69", "75", "85", "86"};
  return codes;
}

std::string fill_file(std::string_view file, const Values& values) {
  const auto texts = manifest_texts();
  const auto text = std::ranges::find_if(texts, [&](const ManifestText& one) { return one.name == file; });
  return std::string(trim(fill_lines(text->text, values)));
}

Result<std::string> render_manifest(const ManifestRequest& request) {
  TRY(check_arguments(request));
  Values values = common_values(request);
  values["program"] = json_list(request.arguments);
  const Kind& kind = find_kind(request.kind);
  if (kind.form == Form::Script) {
    add_script_values(values, request);
  }
  if (kind.form == Form::Pods) {
    TRY(add_pod_values(values, request, kind.names));
  }
  return fill_file(kind.file, values) + "\n";
}

// Fills the lines of a manifest.

namespace {

/// Indents the further lines of each value as far as the line itself.
Values indented(const Values& values, std::string_view line) {
  const std::string blanks(std::min(line.find_first_not_of(' '), line.size()), ' ');
  Values result;
  for (const auto& [name, value] : values) {
    if (line.find("{" + name + "}") == std::string_view::npos) {
      continue;  // skips values that the line does not use
    }
    std::string& text = result[name];
    for (const char c : value) {
      text += c;
      text += c == '\n' ? blanks : "";
    }
  }
  return result;
}

}  // namespace

std::string fill_lines(std::string_view text, const Values& values) {
  std::string filled;
  for (const std::string& line : split(text.substr(0, text.find_last_not_of('\n') + 1), '\n')) {
    const bool needs_empty_value = std::ranges::any_of(values, [&](const auto& value) {
      return value.second.empty() && line.find("{" + value.first + "}") != std::string::npos;
    });
    if (!needs_empty_value) {
      filled += fill_placeholders(line, indented(values, line)) + "\n";
    }
  }
  return filled;
}

// Quotes the user's texts so that they arrive byte for byte.

namespace {

/// False for characters that some YAML reader takes for a line end or refuses: they are escaped.
bool is_plain(std::uint32_t code) {
  const bool is_break = code == 0x2028 || code == 0x2029 || code == 0xfeff;
  return (code >= 0x20 && code < 0x7f) || (code >= 0xa0 && !is_break && code < 0xfffe) || code >= 0x10000;
}

std::string escaped(std::uint32_t code) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text = "\\u";
  for (const unsigned shift : {12U, 8U, 4U, 0U}) {
    text += kDigits[code >> shift & 0xfU];
  }
  return text;
}

}  // namespace

bool is_utf8(std::string_view text) {
  return valid_utf8(text) == text;
}

std::string quoted_text(std::string_view text) {
  std::string result = "\"";
  for (std::size_t at = 0; at < text.size();) {
    const auto sequence = text.substr(at, std::max<std::size_t>(1, utf8_sequence(text.substr(at))));
    const char32_t code = utf8_character(sequence);
    if (code == '"' || code == '\\') {
      result += '\\';
      result += static_cast<char>(code);
    } else if (code == '\n') {
      result += "\\n";
    } else if (code == '\t') {
      result += "\\t";
    } else if (is_plain(code)) {
      result += sequence;
    } else {
      result += escaped(code);
    }
    at += sequence.size();
  }
  return result + '"';
}

std::string quoted_argument(std::string_view text) {
  std::string doubled;
  for (const char c : text) {
    doubled.append(c == '$' ? 2 : 1, c);
  }
  return quoted_text(doubled);
}

}  // namespace muster::render

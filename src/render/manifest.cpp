// Renders a manifest from a file of templates/manifests: fills lines, quotes the user's texts, adds Slurm's values.
// Pure.
#include "render/manifest.hpp"

#include "base/text.hpp"
#include "modes/mode_template.hpp"
#include "render/check_fit.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace muster::render {
namespace {

struct Kind {
  const char* name;
  const char* file;        ///< in templates/manifests
  const char* pod_prefix;  ///< between the job's name and the number of a pod; nullptr: no pods
  const char* pod_suffix;  ///< behind that number
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
  return *std::ranges::find_if(kKinds, [&](const Kind& kind) { return name == kind.name; });
}

Result<> check_arguments(const ManifestRequest& request) {
  if (request.kind == "slurm") {
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
  return std::ranges::any_of(kKinds, [&](const Kind& one) { return kind == one.name && one.pod_prefix != nullptr; });
}

std::string last_suffix(std::string_view kind, int nodes) {
  const Kind& found = find_kind(kind);
  return found.pod_prefix == nullptr ? "" : found.pod_prefix + std::to_string(nodes - 1) + found.pod_suffix;
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
  if (request.kind == "slurm") {
    add_slurm_values(values, request);
  }
  if (is_of_kubernetes(request.kind)) {
    add_pod_values(values, request);
  }
  return fill_file(find_kind(request.kind).file, values) + "\n";
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

// Values of a script for sbatch: numbers in Slurm's notation, and words of a shell.

namespace {

constexpr std::int64_t kThousandths = 1000;

/// Rounds up to whole CPUs.
std::string cpus_of(const std::string& quantity) {
  const auto cpus = parse_quantity(quantity);
  return cpus ? std::to_string((*cpus + kThousandths - 1) / kThousandths) : "";
}

/// Rounds up to mebibytes, Slurm's M.
std::string memory_of(const std::string& quantity) {
  constexpr std::int64_t kMebibyte = kThousandths << 20U;
  const auto bytes = parse_quantity(quantity);
  return bytes ? std::to_string((*bytes - 1) / kMebibyte + 1) + "M" : "";
}

/// Slurm's notation of a duration: "1-02:03:04".
std::string time_of(int seconds) {
  constexpr int kMinute = 60;
  constexpr int kHour = 60 * kMinute;
  constexpr int kDay = 24 * kHour;
  const auto two = [](int number) { return (number < 10 ? "0" : "") + std::to_string(number); };
  return std::to_string(seconds / kDay) + "-" + two(seconds % kDay / kHour) + ":" + two(seconds % kHour / kMinute) +
         ":" + two(seconds % kMinute);
}

}  // namespace

void add_slurm_values(Values& values, const ManifestRequest& request) {
  const PodNeeds& needs = request.needs;
  values["gres"] = needs.devices > 0 ? needs.device_resource + ":" + std::to_string(needs.devices) : "";
  values["workers"] = needs.devices > 0 ? std::to_string(needs.devices) : "";
  values["cpus"] = cpus_of(needs.cpus);
  values["memory"] = memory_of(needs.memory);
  values["whole_node"] = needs.cpus.empty() ? "exclusive" : "";
  values["all_memory"] = needs.memory.empty() ? "0" : "";
  values["time"] = request.time_limit ? time_of(*request.time_limit) : "";
  values["requeue"] = request.is_expedited ? "requeue=expedite" : "requeue";
  values["notice"] = std::to_string(request.grace + kGraceMargin);
  // Without a port muster uses one from the Slurm step.
  values["port"] = request.port ? std::to_string(*request.port) : "";
  values["container"] = request.image.empty() ? "" : shell_word(request.image);
  values["token"] = request.token == TokenFrom::Platform ? fill_file("slurm-token.sh", {}) : "";
  values["restart_codes"] = join(restart_codes(), " | ");
  values["words"] = shell_line(request.arguments);
}

}  // namespace muster::render

// Reads the needs and names of pods.
#include "render/pod.hpp"

#include "base/text.hpp"
#include "render/check_fit.hpp"
#include "render/manifest.hpp"

#include <algorithm>
#include <climits>
#include <optional>

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

/// Accepts a value, or fails with a message that shows a part of the wrong text.
template <typename Value>
Result<Value> accept_value(bool is_right, const Value& value, const Sourced<std::string>& text,
                           std::string_view expected, std::size_t shown = kMostOfName) {
  return is_right ? Result<Value>(value) : wrong_value({one_line(text.value, shown), text.source}, expected);
}

Result<std::string> accept(bool is_right, const Sourced<std::string>& text, std::string_view expected,
                           std::size_t shown = kMostOfName) {
  return accept_value(is_right, text.value, text, expected, shown);
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

Result<std::string> read_batch_resource(const Sourced<std::string>& text) {
  return accept(is_word(text.value, "-_.", kMostOfLabel), text, "a resource of the site without ':', such as ngpus");
}

Result<std::string> read_quantity(const Sourced<std::string>& text) {
  const auto quantity = parse_quantity(text.value);
  return accept(quantity && *quantity > 0, text,
                "a quantity above 0 as Kubernetes writes it, such as 16, 500m, 64Gi or 1.5Ti", kMostOfLabel);
}

Result<std::string> read_memory(const Sourced<std::string>& text) {
  constexpr std::int64_t kMebibyte = 1'000 * (std::int64_t{1} << 20U);  // in thousandths
  const auto quantity = parse_quantity(text.value);
  return accept(quantity && *quantity >= kMebibyte, text,  // 512 is meant as mebibytes or gibibytes
                "an amount of memory of 1Mi or more with its unit, such as 512Gi or 1.5Ti", kMostOfLabel);
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

/// Cuts "NAME=VALUE"; empty for text without '='.
std::optional<NamedText> cut_at_equals(const std::string& text) {
  const std::size_t equals = text.find('=');
  return equals == std::string::npos ? std::nullopt
                                     : std::optional(NamedText{text.substr(0, equals), text.substr(equals + 1)});
}

bool is_variable_name(std::string_view name) {
  return !name.empty() && has_only(name, "_", true) && (name.front() < '0' || name.front() > '9');
}

/// True for a path from the root, without what would mean something in "SOURCE:PATH" or in a list of mounts.
bool is_mount_path(std::string_view path) {
  return path.starts_with('/') && path.size() <= kMostOfName && has_only(path, "/-_.+@", true);
}

}  // namespace

Result<NamedText> read_variable(const Sourced<std::string>& text) {
  const NamedText variable = cut_at_equals(text.value).value_or(NamedText());
  const bool is_right =
      is_variable_name(variable.name) && is_utf8(variable.value) && variable.value.find('\0') == std::string::npos;
  return accept_value(is_right, variable, text, "NAME=VALUE, such as NCCL_DEBUG=INFO");
}

bool is_of_controller(std::string_view label) {
  return label == "job-name" || label == "controller-uid" || label.starts_with("batch.kubernetes.io/") ||
         label.starts_with("jobset.sigs.k8s.io/");
}

bool is_extended(std::string_view resource) {
  return resource.find('/') != std::string_view::npos && resource.find("kubernetes.io/") == std::string_view::npos;
}

Result<NamedText> read_label(const Sourced<std::string>& text) {
  const NamedText label = cut_at_equals(text.value).value_or(NamedText());
  return accept_value(is_key(label.name) && is_label_value(label.value), label, text,
                      "a label such as team=vision: KEY=VALUE as Kubernetes takes them");
}

Result<NamedText> read_amount(const Sourced<std::string>& text) {
  const NamedText resource = cut_at_equals(text.value).value_or(NamedText());
  const bool is_own_option = resource.name == "cpu" || resource.name == "memory";
  const bool is_right = is_key(resource.name) && !is_own_option && parse_quantity(resource.value).value_or(0) > 0;
  return accept_value(
      is_right, resource, text,
      "NAME=AMOUNT, such as rdma/hca=1 or ephemeral-storage=100Gi (CPUs by --cpus, memory by --memory)");
}

Result<> check_amount_of_pod(const NamedText& resource) {
  const bool is_extended = resource.name.find('/') != std::string::npos;
  const bool is_known = resource.name == "ephemeral-storage" || resource.name.starts_with("hugepages-");
  if (is_extended ? parse_integer(resource.value, 1, INT_MAX).has_value() : is_known) {
    return {};
  }
  return wrong_value({resource.name + "=" + resource.value, from_flag("--resource")},
                     "DOMAIN/NAME=NUMBER with a whole number, such as rdma/hca=1, or an amount of ephemeral-storage or "
                     "of hugepages, such as hugepages-2Mi=1Gi");
}

Result<Volume> read_volume(const Sourced<std::string>& text) {
  const auto parts = split(text.value, ':');
  if (std::ranges::any_of(parts, [](const std::string& part) { return contains(split(part, '/'), ".."); })) {
    return wrong_value({one_line(text.value, kMostOfName), text.source},
                       "a SOURCE and a PATH without '..', which Kubernetes refuses");
  }
  const bool is_read_only = parts.size() == 3 && parts[2] == "ro";
  const bool is_right = (parts.size() == 2 || is_read_only) && (is_domain(parts[0]) || is_mount_path(parts[0])) &&
                        is_mount_path(parts[1]);
  return accept_value(is_right, is_right ? Volume{parts[0], parts[1], is_read_only} : Volume(), text,
                      "SOURCE:PATH or SOURCE:PATH:ro, where SOURCE is a PersistentVolumeClaim or a folder of the node, "
                      "such as my-claim:/data");
}

std::string requested_cpus(const PodNeeds& needs) {
  return needs.cpus.empty() ? std::to_string(std::max(needs.devices > 0 ? needs.devices : needs.workers, 1))
                            : needs.cpus;
}

std::string requested_memory(const PodNeeds& needs) {
  return needs.memory.empty() ? std::to_string(std::max(needs.devices > 0 ? needs.devices : needs.workers, 1)) + "Gi"
                              : needs.memory;
}

}  // namespace muster::render

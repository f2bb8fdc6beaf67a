// Reads names strictly: whatever a manifest holds without quotes has been here.
// Source: kubernetes.io, "Object Names and IDs", "Labels and Selectors", "Taints and Tolerations".
#include "base/text.hpp"
#include "render/names.hpp"
#include "render/quantity.hpp"

#include <algorithm>

namespace muster::render {
namespace {

constexpr std::string_view kSmall = "abcdefghijklmnopqrstuvwxyz";
constexpr std::size_t kMostOfLabel = 63;
constexpr std::size_t kMostOfName = 253;

bool has_only(std::string_view text, std::string_view signs, bool with_capitals) {
  return std::all_of(text.begin(), text.end(), [&](char c) {
    const bool is_capital = c >= 'A' && c <= 'Z';
    return (is_letter_or_digit(c) && (with_capitals || !is_capital)) ||
           signs.find(c) != std::string_view::npos;
  });
}

/// Begins and ends with a letter or digit, has nothing but these and `signs` between, and is no longer than `most`.
bool is_word(std::string_view text, std::string_view signs, std::size_t most) {
  return !text.empty() && text.size() <= most && is_letter_or_digit(text.front()) &&
         is_letter_or_digit(text.back()) && has_only(text, signs, true);
}

/// Words of small letters between dots.
bool is_domain(std::string_view text) {
  const auto words = split(text, '.');
  return !words.empty() && text.size() <= kMostOfName &&
         std::all_of(words.begin(), words.end(), [](const std::string& word) {
           return is_word(word, "-", kMostOfLabel) && has_only(word, "-", false);
         });
}

/// "name" or "domain/name", as keys of labels and taints are.
bool is_key(std::string_view text) {
  const std::size_t slash = text.find('/');
  const bool has_domain = slash != std::string_view::npos;
  return is_word(text.substr(has_domain ? slash + 1 : 0), "-_.", kMostOfLabel) &&
         (!has_domain || is_domain(text.substr(0, slash)));
}

bool is_label_value(std::string_view text) {
  return text.empty() || is_word(text, "-_.", kMostOfLabel);
}

/// Between the commas, one at least.
std::vector<std::string> pieces_of(const std::string& text) {
  return text.empty() ? std::vector<std::string>{""} : split(text, ',');
}

/// "key=value:effect" in three.
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

bool is_effect(std::string_view text) {
  return text == "NoSchedule" || text == "NoExecute" || text == "PreferNoSchedule";
}

}  // namespace

Result<std::string> read_name(const Sourced<std::string>& text, std::size_t most) {
  const std::string& name = text.value;
  if (is_word(name, "-", most) && has_only(name, "-", false) &&
      kSmall.find(name.front()) != std::string_view::npos) {
    return name;
  }
  return wrong_value(
      {one_line(name, 2 * kMostOfLabel), text.source},
      "a name of small letters, digits and '-' that begins with a letter, ends with a "
      "letter or digit, and has at most " +
          std::to_string(most) + " characters");
}

Result<std::string> read_object_name(const Sourced<std::string>& text) {
  if (is_domain(text.value)) {
    return text.value;
  }
  return wrong_value({one_line(text.value, kMostOfName), text.source},
                     "a name of Kubernetes: small letters, digits, '-' and '.'");
}

Result<std::string> read_queue(const Sourced<std::string>& text) {
  if (is_word(text.value, "-_.", kMostOfLabel)) {
    return text.value;
  }
  return wrong_value({one_line(text.value, kMostOfName), text.source},
                     "a name of letters, digits, '-', '_' and '.' with at most 63 characters");
}

Result<std::string> read_image(const Sourced<std::string>& text) {
  const bool is_image = !text.value.empty() && is_letter_or_digit(text.value.front()) &&
                        has_only(text.value, "-_./:@", true);
  if (is_image) {
    return text.value;
  }
  return wrong_value({one_line(text.value, kMostOfName), text.source},
                     "an image such as train:1.0: letters, digits and any of -_./:@");
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
                       "an image such as train:1.0 or registry.example/train:1.0, or the path of a "
                       "squashfs file");
  }
  const std::size_t slash = image.find('/');
  const std::string first = image.substr(0, slash);
  const bool is_registry = slash != std::string::npos && !is_path &&
                           (first.find_first_of(".:") != std::string::npos || slash == hash);
  return is_registry ? first + "#" + image.substr(slash + 1) : *read;
}

Result<std::string> read_resource(const Sourced<std::string>& text) {
  if (text.value.find('/') != std::string::npos && is_key(text.value)) {
    return text.value;
  }
  return wrong_value({one_line(text.value, kMostOfName), text.source},
                     "a resource of Kubernetes such as nvidia.com/gpu");
}

Result<std::string> read_gres(const Sourced<std::string>& text) {
  if (is_word(text.value, "-_.:", kMostOfLabel)) {
    return text.value;
  }
  return wrong_value({one_line(text.value, kMostOfName), text.source},
                     "a generic resource of Slurm such as gpu or gpu:a100");
}

Result<std::string> read_quantity(const Sourced<std::string>& text) {
  const auto quantity = parse_quantity(text.value);
  if (quantity && *quantity > 0) {
    return text.value;
  }
  return wrong_value({one_line(text.value, kMostOfLabel), text.source},
                     "a quantity above 0 as Kubernetes writes it, such as 16, 500m, 64Gi or 1.5Ti");
}

Result<std::map<std::string, std::string>> read_selector(const Sourced<std::string>& text) {
  std::map<std::string, std::string> selector;
  for (const std::string& piece : pieces_of(text.value)) {
    const std::size_t equals = piece.find('=');
    if (equals == std::string::npos || !is_key(piece.substr(0, equals)) ||
        !is_label_value(piece.substr(equals + 1)) ||
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
    if (!is_key(toleration.key) || !is_label_value(toleration.value) ||
        (has_effect && !is_effect(toleration.effect))) {
      return wrong_value({one_line(text.value, kMostOfName), text.source},
                         "taints such as nvidia.com/gpu,pool=train:NoSchedule");
    }
    tolerations.push_back(toleration);
  }
  return tolerations;
}

}  // namespace muster::render

// Fills {placeholders}. Pure.
#include "modes/placeholders.hpp"

#include <algorithm>
#include <array>
#include <optional>

namespace muster {
namespace {

/// What only the system knows, and only at start.
constexpr std::array<std::string_view, 9> kLateNames = {"job_secret",
                                                        "muster",
                                                        "own_address",
                                                        "own_interface",
                                                        "run_dir",
                                                        "run_id",
                                                        "shm_dir",
                                                        "store_port",
                                                        "worker_port"};

/// Stands before a placeholder that is still to be filled. Templates, variables and arguments cannot
/// hold this byte, so nothing else looks like one.
constexpr char kLateMark = '\0';

bool is_late(std::string_view name) {
  return std::find(kLateNames.begin(), kLateNames.end(), name) != kLateNames.end();
}

/// What stands for this placeholder until the start; nothing when the name is unknown.
std::optional<std::string> value_or_mark(std::string_view name,
                                         const std::map<std::string, std::string>& values) {
  const auto value = values.find(std::string(name));
  if (value != values.end()) {
    return value->second;
  }
  return is_late(name) ? std::optional(mark_deferred(name)) : std::nullopt;
}

/// What "{{" and "}}" are.
enum class Braces {
  Escaped,  ///< one brace, as in a template
  Text      ///< two, as in an argument of the user's
};

std::string fill(std::string_view text,
                 const std::map<std::string, std::string>& values,
                 Braces braces) {
  std::string filled;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    const bool is_double = (c == '{' || c == '}') && at + 1 < text.size() && text[at + 1] == c;
    if (is_double && braces == Braces::Escaped) {
      filled += c;
      at += 2;
      continue;
    }
    const std::size_t end = c == '{' ? text.find('}', at) : std::string_view::npos;
    const auto value = end == std::string_view::npos
                           ? std::nullopt
                           : value_or_mark(text.substr(at + 1, end - at - 1), values);
    filled += value.value_or(std::string(1, c));
    at = value ? end + 1 : at + 1;
  }
  return filled;
}

}  // namespace

std::string fill_placeholders(std::string_view text,
                              const std::map<std::string, std::string>& values) {
  return fill(text, values, Braces::Escaped);
}

std::string fill_known(std::string_view text, const std::map<std::string, std::string>& values) {
  return fill(text, values, Braces::Text);
}

std::string mark_deferred(std::string_view name) {
  return kLateMark + ("{" + std::string(name) + "}");
}

std::string fill_late(std::string_view text, const std::map<std::string, std::string>& values) {
  std::string filled;
  std::size_t at = 0;
  for (std::size_t mark = text.find(kLateMark); mark != std::string_view::npos;
       mark = text.find(kLateMark, at)) {
    filled += text.substr(at, mark - at);
    const std::size_t end = std::min(text.find('}', mark), text.size() - 1);
    const std::string_view placeholder = text.substr(mark, end + 1 - mark);
    const auto value = std::find_if(values.begin(), values.end(), [&](const auto& one) {
      return placeholder == mark_deferred(one.first);
    });
    if (value != values.end() && value->second.empty()) {
      return {};
    }
    filled += value == values.end() ? placeholder : std::string_view(value->second);
    at = end + 1;
  }
  return filled.append(text.substr(at));
}

std::string readable(std::string text) {
  text.erase(std::remove(text.begin(), text.end(), kLateMark), text.end());
  return text;
}

}  // namespace muster

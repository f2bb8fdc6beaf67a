// Fills the lines of a manifest. Pure.
#include "render/fill.hpp"

#include "base/text.hpp"
#include "modes/placeholders.hpp"

#include <algorithm>

namespace muster::render {
namespace {

using Values = std::map<std::string, std::string>;

bool needs_what_is_empty(std::string_view line, const Values& values) {
  return std::any_of(values.begin(), values.end(), [&](const auto& value) {
    return value.second.empty() && line.find("{" + value.first + "}") != std::string_view::npos;
  });
}

/// The values with their further lines as far to the right as the line begins.
Values indented(const Values& values, std::string_view line) {
  const std::string blanks(std::min(line.find_first_not_of(' '), line.size()), ' ');
  Values result;
  for (const auto& [name, value] : values) {
    if (line.find("{" + name + "}") == std::string_view::npos) {
      continue;  // most lines need few of them
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
    if (!needs_what_is_empty(line, values)) {
      filled += fill_placeholders(line, indented(values, line)) + "\n";
    }
  }
  return filled;
}

}  // namespace muster::render

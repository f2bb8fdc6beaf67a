// Fills {placeholders} of templates.
#include <muster/plan/launch_plan.hpp>

namespace muster {

std::string fill_placeholders(std::string_view text,
                              const std::map<std::string, std::string>& values) {
  std::string filled;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if ((c == '{' || c == '}') && at + 1 < text.size() && text[at + 1] == c) {
      filled += c;
      at += 2;
      continue;
    }
    const std::size_t end = c == '{' ? text.find('}', at) : std::string_view::npos;
    const auto value = end == std::string_view::npos
                           ? values.end()
                           : values.find(std::string(text.substr(at + 1, end - at - 1)));
    if (value == values.end()) {
      filled += c;
      ++at;
    } else {
      filled += value->second;
      at = end + 1;
    }
  }
  return filled;
}

}  // namespace muster

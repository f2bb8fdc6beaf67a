// Fills {placeholders} of templates.
#include <muster/plan/launch_plan.hpp>

namespace muster {
namespace {

/// Calls `visit` with each text that the template wrote into a plan, which may be const.
template <typename Plan, typename Visit>
void for_each_template_text(Plan& plan, const Visit& visit) {
  for (auto& file : plan.files) {
    visit(file.path);
    visit(file.content);
  }
  for (auto& worker : plan.workers) {
    for (auto& [name, value] : worker.environment) {
      visit(value);
    }
    for (std::size_t i = worker.argv.size() - worker.template_arguments; i < worker.argv.size();
         ++i) {
      visit(worker.argv[i]);
    }
    visit(worker.error_file);
  }
}

std::string written(const std::string& name) {
  return "{" + name + "}";
}

void replace_all(std::string& text, const std::string& placeholder, const std::string& value) {
  for (std::size_t at = text.find(placeholder); at != std::string::npos;
       at = text.find(placeholder, at)) {
    if (value.empty()) {
      text.clear();
      return;
    }
    text.replace(at, placeholder.size(), value);
    at += value.size();
  }
}

}  // namespace

void fill_late_values(LaunchPlan& plan, const std::map<std::string, std::string>& values) {
  for_each_template_text(plan, [&](std::string& text) {
    for (const auto& [name, value] : values) {
      replace_all(text, written(name), value);
    }
  });
}

bool needs_late_value(const LaunchPlan& plan, const std::string& name) {
  bool is_needed = false;
  for_each_template_text(plan, [&](const std::string& text) {
    is_needed = is_needed || text.find(written(name)) != std::string::npos;
  });
  return is_needed;
}

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

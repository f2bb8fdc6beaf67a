// Everything that answers a question instead of running a job.
#include "explain.hpp"

#include "render.hpp"
#include "version.hpp"

#include <muster/base/yaml.hpp>
#include <muster/front_end/front_end.hpp>
#include <muster/logs/messages.hpp>
#include <muster/options/typed_settings.hpp>

#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace muster {
namespace {

std::string table_of(const std::vector<Decision>& decisions) {
  std::vector<Decision> rows = {{"FIELD", "VALUE", "SOURCE"}};
  rows.insert(rows.end(), decisions.begin(), decisions.end());
  std::size_t field_width = 0;
  std::size_t value_width = 0;
  for (const Decision& row : rows) {
    field_width = std::max(field_width, row.field.size());
    value_width = std::max(value_width, row.value.size());
  }
  std::string text;
  for (const Decision& row : rows) {
    std::string line = row.field;
    line.resize(field_width + 2, ' ');
    line += row.value;
    line.resize(field_width + 2 + value_width + 2, ' ');
    text += line + row.source + "\n";
  }
  return text;
}

}  // namespace

std::optional<Result<std::string>> asked_for_text(const CommandLine& line) {
  const Settings& settings = line.settings;
  if (line.front_end != nullptr && settings.has(kPrintOptions)) {
    return front_end_table(*line.front_end);
  }
  if (is_on(settings, "help")) {
    return line.front_end != nullptr         ? front_end_help(*line.front_end)
           : line.command == Command::Render ? render_help()
                                             : help_text();
  }
  if (is_on(settings, "version")) {
    return is_on(settings, "verbose") ? version_details() : version_text();
  }
  if (is_on(settings, "print-man")) {
    return man_page();
  }
  if (const auto shell = settings.find("print-completion")) {
    return line.front_end != nullptr ? front_end_completion(*line.front_end, *shell)
                                     : completion_script(*shell);
  }
  return std::nullopt;
}

Result<int> print(const Result<std::string>& text) {
  if (!text) {
    return text.error();
  }
  std::string_view rest(*text);
  while (!rest.empty()) {
    const ssize_t taken = ::write(STDOUT_FILENO, rest.data(), rest.size());
    if (taken < 0 && errno == EPIPE) {
      return 0;  // the reader, such as `head`, has seen enough
    }
    if (taken < 0 && errno != EINTR) {
      return system_error("cannot write to standard output", errno);
    }
    rest.remove_prefix(taken > 0 ? static_cast<std::size_t>(taken) : 0);
  }
  return 0;
}

void say_notices(const CommandLine& line) {
  if (line.command == Command::Run) {
    return;
  }
  for (const std::string& notice : line.notices) {
    say_info(notice);
  }
}

Result<int> show_plan(const LaunchPlan& plan, bool is_json) {
  const json::value document = to_document(plan);
  return print(is_json ? pretty_json(document) : to_yaml(document));
}

Result<int> explain(const LaunchPlan& plan) {
  const std::string note = plan.is_transparent ? "\n" + plan.remarks.front() + "\n" : "";
  return print(table_of(plan.decisions) + note);
}

}  // namespace muster

// Everything that answers a question instead of running a job.
#include "explain.hpp"

#include "check_table.hpp"
#include "control.hpp"
#include "doctor.hpp"
#include "render.hpp"
#include "token.hpp"
#include "version.hpp"

#include "base/text.hpp"
#include "base/visible.hpp"
#include "base/yaml.hpp"
#include "compat/front_end.hpp"
#include "base/log.hpp"
#include "options/typed_settings.hpp"
#include "process/inherited.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace muster {
namespace {

/// Rows of three columns, each as wide as it must be. A very long value does not push the others away.
std::string table_of(std::vector<Decision> rows) {
  constexpr std::size_t kWidest = 40;
  std::size_t field_width = 0;
  std::size_t value_width = 0;
  for (Decision& row : rows) {
    row = {row.field, visible_line(row.value), visible_line(row.source)};
    field_width = std::max(field_width, row.field.size());
    value_width = std::max(value_width, std::min(row.value.size(), kWidest));
  }
  std::string text;
  for (const Decision& row : rows) {
    std::string line = row.field;
    line.resize(field_width + 2, ' ');
    line += row.value;
    line.resize(std::max(line.size(), field_width + 2 + value_width) + 2, ' ');
    text += line + row.source + "\n";
  }
  return text;
}

/// What else was seen for a field, below it; or of no one field.
void add_lost(std::vector<Decision>& rows, const LaunchPlan& plan, const std::string& field) {
  for (const UnusedValue& lost : plan.lost) {
    if (lost.field == field) {
      const std::string& name = lost.seen.source.name;
      rows.push_back({field.empty() ? name : "",
                      one_line(masked(name, lost.seen.value), 200),
                      (field.empty() ? "" : "not by " + name + ": ") + lost.why});
    }
  }
}

std::string decisions_of(const LaunchPlan& plan) {
  std::vector<Decision> rows = {{"FIELD", "VALUE", "SOURCE"}};
  for (const Decision& decision : plan.decisions) {
    rows.push_back({decision.field, masked(decision.field, decision.value), decision.source});
    add_lost(rows, plan, decision.field);
  }
  return table_of(rows);
}

/// Why there is nothing to explain, and what was seen all the same.
LaunchPlan plan_without(const Snapshot& snapshot) {
  LaunchPlan plan;
  plan.lost = seen_of_nodes(snapshot, "nothing was decided");
  return plan;
}

/// What looked relevant and was not used.
std::string unused_of(const LaunchPlan& plan) {
  std::vector<Decision> rows = {{"NOT USED", "VALUE", "WHY"}};
  add_lost(rows, plan, "");
  return rows.size() == 1 ? "" : "\n" + table_of(rows);
}

std::string help_of(const CommandLine& line) {
  if (line.compat != nullptr) {
    return compat_help(*line.compat);
  }
  switch (line.command) {
    case Command::Render:
      return render_help();
    case Command::Check:
      return check_help();
    case Command::Doctor:
      return doctor_help();
    case Command::Status:
    case Command::Stop:
    case Command::Suspend:
      return control_help(line.command);
    case Command::Token:
      return token_help();
    default:
      return help_text();
  }
}

}  // namespace

std::optional<Result<std::string>> requested_text(const CommandLine& line) {
  const Settings& settings = line.settings;
  if (line.compat != nullptr && settings.has(kPrintOptions)) {
    return compat_table(*line.compat);
  }
  if (is_on(settings, "help")) {
    return help_of(line);
  }
  if (is_on(settings, "version")) {
    return is_on(settings, "verbose") ? version_details() : version_text(line.compat);
  }
  if (is_on(settings, "print-man")) {
    return man_page();
  }
  if (const auto shell = settings.find("print-completion")) {
    return line.compat != nullptr ? compat_completion(*line.compat, *shell)
                                  : completion_script(*shell);
  }
  return std::nullopt;
}

Result<int> print(const Result<std::string>& text) {
  if (!text) {
    return text.error();
  }
  if (was_closed(STDOUT_FILENO)) {  // what is there now would take everything
    return system_error("cannot write to standard output", EBADF);
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

void log_notices(const CommandLine& line) {
  if (line.command == Command::Run) {
    return;
  }
  for (const std::string& notice : line.notices) {
    log_info(notice);
  }
}

Result<int> show_plan(const LaunchPlan& plan, bool is_json) {
  const json::value document = to_document(plan);
  return print(is_json ? pretty_json(document) : to_yaml(document));
}

Result<int> explain(const LaunchPlan& plan, bool is_json) {
  if (is_json) {
    return print(pretty_json(to_explanation(plan)));
  }
  const std::string note = plan.is_transparent ? "\n" + plan.notices.front() + "\n" : "";
  return print(decisions_of(plan) + unused_of(plan) + note);
}

Error explain_refusal(Error error, const Snapshot& snapshot, bool is_json) {
  return explain_refusal(std::move(error), plan_without(snapshot), is_json);
}

Error explain_refusal(Error error, const LaunchPlan& plan, bool is_json) {
  json::value document = to_explanation(plan);
  document.as_object()["error"] = valid_utf8(error.message);
  const std::string decided = plan.decisions.empty() ? "" : decisions_of(plan);
  const auto printed = print(is_json ? pretty_json(document) : decided + unused_of(plan));
  return printed ? std::move(error) : printed.error();
}

}  // namespace muster

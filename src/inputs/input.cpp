// What an input is, and when it is there. Pure.
#include "base/json.hpp"
#include "base/text.hpp"
#include "inputs/input.hpp"
#include "modes/placeholders.hpp"
#include "rank_table/read.hpp"

#include <algorithm>
#include <cerrno>
#include <map>

namespace muster {
namespace {

/// Fit for a console, whatever the path is.
std::string name_of(const Input& input) {
  constexpr std::size_t kMost = 1'024;
  return one_line(input.what + " '" + input.path, kMost) + "'";
}

Pending pending(const Input& input, const std::string& reason) {
  return Pending{name_of(input) + ": " + reason};
}

/// What the system says about a file that cannot be read.
Answer judge_error(const Input& input, int error_number) {
  switch (error_number) {
    case ENOENT:
    case ENOTDIR:
      return pending(input, "missing");
    case EISDIR:  // whoever is told a folder knows what to look for in it
      return Ready{};
    case ENOTSUP:
    case EFBIG:
    case ELOOP:
      return Error{ErrorKind::BadData,
                   system_error("cannot read the " + name_of(input), error_number).message};
    default:  // a network file system may recover
      return pending(input, system_error("cannot be read", error_number).message);
  }
}

/// A field may be a number or a word; both are compared as they are written.
std::string text_of(const json::value& value) {
  return value.is_string() ? std::string(value.get_string()) : json::serialize(value);
}

Answer judge_field(const Input& input, const std::string& content) {
  boost::system::error_code torn;
  const json::value document = json::parse(content, torn);
  if (torn) {
    return pending(input, "torn");
  }
  if (!document.is_object()) {
    return Error{ErrorKind::BadData, "the " + name_of(input) + " is no JSON object"};
  }
  const json::value* const value = document.get_object().if_contains(input.field);
  if (value == nullptr || text_of(*value) == input.wanted) {
    return Ready{};
  }
  return pending(input, one_line(text_of(*value), 60));
}

/// "... and 3 more; 'muster check ranktable FILE' shows them": the first is what people mend first.
Error describe_breaches(const Input& input, const std::vector<rank_table::Breach>& breaches) {
  std::string message = "the " + name_of(input) + " is invalid: " + describe(breaches.front());
  if (breaches.size() > 1) {
    message += "; there is more, which 'muster check ranktable " + input.path + "' shows";
  }
  return Error{ErrorKind::BadData, std::move(message)};
}

/// Takes the text, which may be large.
Answer judge_table(const Input& input, FileContent found) {
  found.content = rank_table::without_indentation(std::move(found.content));
  auto [reading, breaches, notices] =
      rank_table::inspect(found.content, one_line(input.path, 1'024), input.rules);
  if (const auto* const unfinished = std::get_if<rank_table::Unfinished>(&reading)) {
    return pending(input, one_line(unfinished->reason, 200));
  }
  if (auto* const error = std::get_if<Error>(&reading)) {
    return std::move(*error);
  }
  auto& table = std::get<rank_table::Table>(reading);
  if (!breaches.empty()) {
    return describe_breaches(input, breaches);
  }
  return Ready{
      rank_table::TableFile{input.path, std::move(found.content), std::move(table), found.version}};
}

bool is_given(const std::string& text, const ChosenMode& chosen) {
  return std::all_of(chosen.parameters.begin(), chosen.parameters.end(), [&](const auto& one) {
    return !one.second.value.empty() || !use_placeholder({text}, one.first);
  });
}

}  // namespace

std::vector<Input> find_inputs(const ChosenMode& chosen,
                               const Cluster& cluster,
                               const Snapshot& snapshot) {
  std::map<std::string, std::string> values = {{"host_name", snapshot.host_name},
                                               {"job_id", cluster.job.job_id}};
  for (const auto& [name, parameter] : chosen.parameters) {
    values[name] = parameter.value;
  }
  rank_table::Rules rules = rank_table::find_rules(snapshot);
  rules.most = 2;  // the first is said, and whether there are more
  rules.wants_remarks = false;
  std::vector<Input> inputs;
  for (const InputTemplate& wanted : chosen.mode.inputs) {
    if (is_given(wanted.file, chosen)) {
      inputs.push_back({fill_placeholders(wanted.what, values),
                        fill_placeholders(wanted.file, values),
                        wanted.field,
                        fill_placeholders(wanted.wanted, values),
                        wanted.is_rank_table,
                        rules});
    }
  }
  return inputs;
}

Answer judge(const Input& input, FileContent found) {
  Input named = input;
  named.path = found.path.empty() ? input.path : found.path;
  if (found.error_number != 0) {
    return judge_error(named, found.error_number);
  }
  if (named.is_rank_table) {
    return judge_table(named, std::move(found));
  }
  if (found.content.empty()) {
    return pending(named, "empty");
  }
  return named.field.empty() ? Answer(Ready{}) : judge_field(named, found.content);
}

Answer poll(const std::vector<Input>& inputs, const InputReader& look) {
  std::vector<std::string> reasons;
  Ready here;
  for (const Input& input : inputs) {
    Answer answer = judge(input, look(input));
    if (std::holds_alternative<Error>(answer)) {
      return answer;
    }
    if (auto* const missing = std::get_if<Pending>(&answer)) {
      reasons.push_back(std::move(missing->reason));
    } else if (auto& table = std::get<Ready>(answer).table) {
      here.table = std::move(table);
    }
  }
  return reasons.empty() ? Answer(std::move(here)) : Answer(Pending{join(reasons, ", ")});
}

Answer poll(const std::vector<Input>& inputs) {
  return poll(inputs, [](const Input& input) { return look_at(input); });
}

}  // namespace muster

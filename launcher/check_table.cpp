// Answers `muster check ranktable FILE`.
#include "check_table.hpp"

#include "explain.hpp"

#include "base/json.hpp"
#include "base/text.hpp"
#include "inputs/input.hpp"
#include "base/log.hpp"
#include "options/syntax.hpp"
#include "options/typed_settings.hpp"
#include "rank_table/read.hpp"

#include <array>
#include <filesystem>
#include <limits>
#include <set>
#include <utility>

namespace muster {
namespace {

/// Where the words behind `check` are kept.
constexpr const char* kKind = "what to check";
constexpr const char* kFile = "the file to check";

constexpr auto kTable = std::to_array<Option>({
    {"json", '\0', nullptr, "Check", "Print JSON."},
    {"help", 'h', nullptr, "Check", "Print this text."},
});

using rank_table::Breach;
using rank_table::Inspection;

/// Such as /dev/stdin, or what the shell makes of <(...).
bool is_stream(const std::string& file) {
  std::error_code failed;  // then it cannot be read either
  const auto kind = std::filesystem::status(file, failed).type();
  return kind == std::filesystem::file_type::fifo || kind == std::filesystem::file_type::character;
}

Inspection inspect_file(const std::string& file,
                        const std::string& text,
                        const Snapshot& snapshot) {
  rank_table::Rules rules = rank_table::find_rules(snapshot);
  rules.most = std::numeric_limits<std::size_t>::max();
  Inspection verdict = rank_table::inspect(text, file, rules);
  if (!file.ends_with(".json") && !is_stream(file)) {
    verdict.notices.push_back({"the file's name", "", "one that ends with .json", "EI0004"});
    verdict.notices.back().value = json::serialize(json::string(file));
  }
  return verdict;
}

std::size_t count_servers(const rank_table::Table& table) {
  std::set<std::string_view> ids;
  for (const rank_table::Instance& instance : table.instances) {
    ids.insert(instance.server_id);
  }
  return table.form == rank_table::Form::Version2 ? table.instances.size() : ids.size();
}

std::string row(std::string name, const std::string& value) {
  name.resize(11, ' ');
  return name + value + "\n";
}

std::string text_of(const rank_table::Table& table) {
  return row("form", std::string(name_of(table.form))) + row("status", "completed") +
         row("servers", std::to_string(count_servers(table))) +
         row("instances", std::to_string(table.instances.size())) +
         row("devices", std::to_string(table.size));
}

json::array array_of(const std::vector<Breach>& breaches) {
  json::array array;
  for (const Breach& breach : breaches) {
    json::value value = json::object{{"path", breach.path},
                                     {"value", breach.value},
                                     {"expected", breach.expected},
                                     {"code", breach.code}};
    make_valid_utf8(value);
    array.push_back(std::move(value));
  }
  return array;
}

json::value document_of(const std::string& file, const Inspection& verdict) {
  const auto* table = std::get_if<rank_table::Table>(&verdict.reading);
  const auto* unfinished = std::get_if<rank_table::Unfinished>(&verdict.reading);
  json::object document = {{"file", valid_utf8(file)}, {"status", "invalid"}};
  if (unfinished != nullptr) {
    document["status"] = "unfinished";
    document["reason"] = unfinished->reason;
  }
  if (table != nullptr) {
    document["status"] = "completed";
    document["form"] = name_of(table->form);
    document["servers"] = count_servers(*table);
    document["instances"] = table->instances.size();
    document["devices"] = table->size;
  }
  document["breaches"] = array_of(verdict.breaches);
  document["remarks"] = array_of(verdict.notices);
  return document;
}

Error no_table(const std::string& file, const std::string& why) {
  return {ErrorKind::BadData, "rank table '" + file + "': " + why};
}

/// The lines on standard error; the exit code.
Result<int> speak(const std::string& file, const Inspection& verdict) {
  for (const Breach& breach : verdict.breaches) {
    log_error("rank table '" + file + "': " + describe(breach));
  }
  for (const Breach& remark : verdict.notices) {
    log_info("note: " + describe(remark));
  }
  if (const auto* unfinished = std::get_if<rank_table::Unfinished>(&verdict.reading)) {
    return no_table(file, unfinished->reason);
  }
  if (const auto* error = std::get_if<Error>(&verdict.reading);
      error != nullptr && verdict.breaches.empty()) {
    return *error;
  }
  return verdict.breaches.empty() ? 0 : static_cast<int>(ErrorKind::BadData);
}

}  // namespace

OptionTable check_options() {
  return {kTable, {}, {}};
}

Result<> read_check_line(CommandLine& line, std::span<const std::string> tokens) {
  std::vector<std::string> flags;
  std::vector<std::string> words;
  for (const std::string& token : tokens) {
    const bool is_flag = token.size() > 1 && token.front() == '-';
    (is_flag ? flags : words).push_back(is_flag ? with_dashes(token) : token);
  }
  if (words.size() > 2) {
    return Error{ErrorKind::BadUsage, "'" + words[2] + "' is one file too many to check"};
  }
  const std::array<const char*, 2> names = {kKind, kFile};
  for (std::size_t i = 0; i < words.size(); ++i) {
    line.settings.set(names.at(i), {words[i], from_flag(names.at(i))});
  }
  return read_flags(flags, check_options(), line.settings);
}

Result<int> run_check(const CommandLine& line, const Snapshot& snapshot) {
  const auto kind = line.settings.find(kKind);
  const auto file = line.settings.find(kFile);
  if (!kind || !file) {
    return Error{ErrorKind::BadUsage,
                 "there is nothing to check; write 'muster check ranktable FILE'"};
  }
  if (kind->value != "ranktable") {
    return wrong_value(*kind, "ranktable");
  }
  FileContent found = is_stream(file->value) ? read_stream(file->value)
                                             : look_at({"rank table", file->value, "", "", true});
  const std::string path = found.path.empty() ? file->value : found.path;
  if (found.error_number != 0) {
    return Error{ErrorKind::BadData,
                 system_error("rank table '" + path + "'", found.error_number).message};
  }
  const std::string text = rank_table::without_indentation(std::move(found.content));
  const Inspection verdict = inspect_file(path, text, snapshot);
  const auto* table = std::get_if<rank_table::Table>(&verdict.reading);
  if (is_on(line.settings, "json")) {
    if (auto printed = print(pretty_json(document_of(path, verdict))); !printed) {
      return printed;
    }
  } else if (table != nullptr) {
    if (auto printed = print(text_of(*table)); !printed) {
      return printed;
    }
  }
  return speak(path, verdict);
}

}  // namespace muster

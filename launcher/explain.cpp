// Answers commands and options that print something and run no job: explain, plan, doctor, version, token, check.
#include "agent/facts_reporter.hpp"
#include "base/display_text.hpp"
#include "base/file_io.hpp"
#include "base/json.hpp"
#include "base/log.hpp"
#include "base/random.hpp"
#include "base/secrets.hpp"
#include "base/text.hpp"
#include "base/yaml.hpp"
#include "carried.hpp"
#include "environment/cgroups.hpp"
#include "gang/net/token.hpp"
#include "inputs/input_files.hpp"
#include "options/settings.hpp"
#include "options/syntax.hpp"
#include "preflight/read_facts.hpp"
#include "process/inherited.hpp"
#include "process/spawn.hpp"
#include "rank_table/read.hpp"
#include "start_job.hpp"
#include "subcommands.hpp"

#include <gnu/libc-version.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <limits>
#include <set>
#include <utility>
#include <vector>

namespace muster {
namespace {

/// Table of three columns, each as wide as its texts. A very long value does not widen its column.
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

/// Adds the unused values of this field, which stand below its own row; empty `field`: those of no particular field.
void add_unused_values(std::vector<Decision>& rows, const LaunchPlan& plan, const std::string& field) {
  for (const UnusedValue& lost : plan.cluster.lost) {
    if (lost.field == field) {
      const std::string& name = lost.seen.source.name;
      rows.push_back({field.empty() ? name : "", one_line(masked(name, lost.seen.value), 200),
                      (field.empty() ? "" : "not by " + name + ": ") + lost.why});
    }
  }
}

std::string decisions_of(const LaunchPlan& plan) {
  std::vector<Decision> rows = {{"FIELD", "VALUE", "SOURCE"}};
  for (const Decision& decision : plan.cluster.decisions) {
    rows.push_back({decision.field, masked(decision.field, decision.value), decision.source});
    add_unused_values(rows, plan, decision.field);
  }
  return table_of(rows);
}

/// Table of values that looked relevant and were not used.
std::string unused_of(const LaunchPlan& plan) {
  std::vector<Decision> rows = {{"NOT USED", "VALUE", "WHY"}};
  add_unused_values(rows, plan, "");
  return rows.size() == 1 ? "" : "\n" + table_of(rows);
}

std::string help_of(const CommandLine& line) {
  if (line.compat != nullptr) {
    return compat_help(*line.compat);
  }
  const Subcommand* const subcommand = find_subcommand(line.command);
  return subcommand == nullptr ? help_text() : help_of(*subcommand);
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
    return line.compat != nullptr ? compat_completion(*line.compat, *shell) : completion_script(*shell);
  }
  return std::nullopt;
}

Result<int> print(const Result<std::string>& result) {
  if (!result) {
    return result.error();
  }
  if (was_closed(STDOUT_FILENO)) {  // this number may now belong to another file, which accepts everything
    return system_error("cannot write to standard output", EBADF);
  }
  const int error_number = write_all(STDOUT_FILENO, *result).error_number;
  const bool is_read = error_number == 0 || error_number == EPIPE;  // the reader, such as `head`, may have seen enough
  return is_read ? Result<int>(0) : system_error("cannot write to standard output", error_number);
}

void log_notices(const CommandLine& line) {
  if (line.command == Command::Run && !lists_hosts(line)) {
    return;  // a job logs the notices with its plan
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
  LaunchPlan plan;
  plan.cluster.lost = seen_of_nodes(snapshot, "nothing was decided");
  return explain_refusal(std::move(error), plan, is_json);
}

Error explain_refusal(Error error, const LaunchPlan& plan, bool is_json) {
  json::value document = to_explanation(plan);
  document.as_object()["error"] = valid_utf8(error.message);
  const std::string decided = plan.cluster.decisions.empty() ? "" : decisions_of(plan);
  TRY(print(is_json ? pretty_json(document) : decided + unused_of(plan)));
  return error;
}

// Answers `muster doctor`: prints the table of guarantees, as text or as JSON. guarantees.cpp decides its content.

namespace {

constexpr auto kDoctorTable = std::to_array<Option>({
    {"json", nullptr, "Doctor", "Print JSON."},
    {"help", nullptr, "Doctor", "Print this text.", kReadByCode, nullptr, 'h'},
});

const char* name_of(Support hold) {
  switch (hold) {
    case Support::Whole:
      return "yes";
    case Support::InPart:
      return "in part";
    case Support::Not:
      return "no";
  }
  return "";
}

std::string kernel_release() {
  utsname names{};
  return ::uname(&names) == 0 ? names.release : "unknown";
}

/// One line with the properties of the system that explain missing guarantees.
std::string describe_surroundings(const SystemCapabilities& answers) {
  return "Linux " + kernel_release() + ", user " + std::to_string(::geteuid()) + ", system calls " +
         (answers.is_filtered ? "filtered (seccomp)" : "not filtered") +
         (answers.gains_nothing ? ", programs gain no rights (no_new_privs)" : "") + ", up to " +
         std::to_string(answers.descriptors) + " file descriptors\n";
}

/// One line on whether the stack of a hanging rank can be read, by the names of the files in `search_path`: nothing is
/// started.
std::string describe_stacks(const std::string& search_path) {
  constexpr int kDescribesItself = 13;
  constexpr std::string_view kName = "python3.";
  const auto python = find_executable("python3", search_path);
  std::error_code failed;  // on failure the name stays as it is
  const auto target = python ? std::filesystem::canonical(*python, failed) : std::filesystem::path();
  const std::string file = target.filename().string();
  const auto minor = file.starts_with(kName) ? parse_integer(file.substr(kName.size()), 0, 1000) : std::nullopt;
  if (minor && *minor >= kDescribesItself) {
    return "where ranks hang is known: Python 3." + std::to_string(*minor) + " describes itself\n";
  }
  if (const auto spy = find_executable("py-spy", search_path)) {
    return "where ranks hang is known by " + *spy + "\n";
  }
  const std::string version = minor ? "Python is 3." + std::to_string(*minor)
                                    : std::string(python ? "the version of python3" : "python3") + " is not found";
  return "where ranks hang is not known: " + version + ", and there is no py-spy in PATH (pip install py-spy)\n";
}

std::string row(std::string name, std::string hold, const std::string& by) {
  constexpr std::size_t kNameWidth = 49;
  constexpr std::size_t kHoldWidth = 9;
  name.resize(kNameWidth, ' ');
  hold.resize(kHoldWidth, ' ');
  return name + hold + by + "\n";
}

std::string text_of(const std::vector<Guarantee>& all) {
  std::string text = row("GUARANTEE", "HOLDS", "BY");
  for (const Guarantee& guarantee : all) {
    text += row(guarantee.name, name_of(guarantee.hold), guarantee.by);
    if (guarantee.hold != Support::Whole) {
      text += "  because  " + guarantee.because + "\n  means    " + guarantee.means + "\n  remedy   " +
              guarantee.remedy + "\n";
    }
  }
  return text;
}

/// The facts of this node by which a job would compare it with the others (docs/preflight.md), in the order of their
/// table. Without the clock: it is measured between nodes.
std::vector<std::pair<std::string, std::string>> read_own_facts(const Snapshot& snapshot, const Inherited& inherited) {
  preflight::FactSources sources = local_sources(inherited, "python3", snapshot.variable("PATH").value_or(""));
  sources.version = MUSTER_VERSION;
  sources.memory_limit = find_memory_group().limit;
  const preflight::Facts facts = preflight::parse_facts(preflight::to_line(preflight::read_facts(sources)));
  std::vector<std::pair<std::string, std::string>> described;
  for (const preflight::FactRow& row : preflight::fact_rows()) {
    std::string text = preflight::describe_fact(row, facts);
    if (!text.empty() && row.compare != preflight::Compare::Clock) {
      described.emplace_back(row.name, std::move(text));
    }
  }
  return described;
}

std::string text_of(const std::vector<std::pair<std::string, std::string>>& facts) {
  constexpr std::size_t kNameWidth = 18;
  std::string text = "FACT              VALUE\n";
  for (auto [name, value] : facts) {
    name.resize(kNameWidth, ' ');
    text += name + value + "\n";
  }
  return text;
}

json::object document_of(const std::vector<std::pair<std::string, std::string>>& facts) {
  json::object document;
  for (const auto& [name, value] : facts) {
    document[name] = value;
  }
  return document;
}

json::object document_of(const SystemCapabilities& answers, const std::vector<Guarantee>& all) {
  json::array array;
  for (const Guarantee& guarantee : all) {
    json::object one = {{"name", guarantee.name}, {"by", guarantee.by}, {"holds", name_of(guarantee.hold)}};
    if (guarantee.hold != Support::Whole) {
      one["because"] = guarantee.because;
      one["means"] = guarantee.means;
      one["remedy"] = guarantee.remedy;
    }
    array.push_back(std::move(one));
  }
  return json::object{{"kernel", kernel_release()},         {"user", ::geteuid()},
                      {"is_filtered", answers.is_filtered}, {"no_new_privs", answers.gains_nothing},
                      {"descriptors", answers.descriptors}, {"guarantees", std::move(array)}};
}

}  // namespace

const OptionTable kDoctorOptions{kDoctorTable, {}, {}, "muster doctor"};

Result<int> run_doctor(const CommandLine& line, const Snapshot& snapshot, const Inherited& inherited) {
  const SystemCapabilities answers = probe_system();
  const std::vector<Guarantee> all = guarantees(answers);
  const std::string stacks = describe_stacks(snapshot.variable("PATH").value_or(""));
  const auto facts = read_own_facts(snapshot, inherited);
  json::object document = document_of(answers, all);
  document["facts"] = document_of(facts);
  TRY(print(is_on(line.settings, "json")
                ? pretty_json(document)
                : describe_surroundings(answers) + stacks + "\n" + text_of(all) + "\n" + text_of(facts)));
  const bool is_lost =
      std::ranges::any_of(all, [](const Guarantee& guarantee) { return guarantee.hold == Support::Not; });
  return is_lost ? static_cast<int>(ErrorKind::System) : 0;
}

// Prints --version, and with --verbose the libraries in the program: they show who must rebuild after a fix in
// OpenSSL or the C library.

namespace {

std::string line_of(const std::string& name, const std::string& version, const std::string& package) {
  const std::string from = package.empty() ? "" : " (Debian package " + package + ")";
  return name + " " + version + from + "\n";
}

}  // namespace

std::string version_text(const CompatLauncher* compat) {
  const bool has_product = compat != nullptr && compat->product != nullptr;
  const std::string place = has_product ? std::string(", in the place of ") + compat->product : "";
  return "muster " MUSTER_VERSION + place + "\n";
}

std::string version_details() {
  std::string text = version_text();
  if (*kCommit != '\0') {
    text += std::string("commit ") + kCommit + "\n";
  }
  text += std::string("built for ") + kTarget + " by " + kCompiler +
          (kIsStatic ? ", linked statically\n" : ", linked with the machine's C library\n");
  text += line_of("OpenSSL", gang::openssl_version(), kOpensslPackage);
  // A static program has the glibc of its build, any other that of the machine.
  const std::string glibc = ::gnu_get_libc_version();
  text += kIsStatic ? line_of("glibc", glibc, kGlibcPackage) : "glibc " + glibc + " (of this machine)\n";
  for (const Carried& part : kCarried) {
    text += line_of(part.name, part.version, part.package);
  }
  return text;
}

// Answers `muster token`: prints an unguessable secret on one line.

namespace {

constexpr auto kTokenTable = std::to_array<Option>({
    {"help", nullptr, "Token", "Print this text.", kReadByCode, nullptr, 'h'},
});

}  // namespace

const OptionTable kTokenOptions{kTokenTable, {}, {}, "muster token"};

Result<int> run_token(const CommandLine& /*line*/, const Snapshot& /*snapshot*/, const Inherited& /*inherited*/) {
  return print(TRY(random_digits(gang::kGoodTokenBytes)) + "\n");
}

// Answers `muster check ranktable FILE`.

namespace {

/// Names of the settings that hold the words behind `check`.
constexpr const char* kKind = "what to check";
constexpr const char* kFile = "the file to check";

constexpr auto kCheckTable = std::to_array<Option>({
    {"json", nullptr, "Check", "Print JSON."},
    {"help", nullptr, "Check", "Print this text.", kReadByCode, nullptr, 'h'},
});

using rank_table::Breach;
using rank_table::Inspection;

/// True for a stream such as /dev/stdin, or the shell's <(...).
bool is_stream(const std::string& file) {
  std::error_code failed;  // on failure the file cannot be read either
  const auto kind = std::filesystem::status(file, failed).type();
  return kind == std::filesystem::file_type::fifo || kind == std::filesystem::file_type::character;
}

Inspection inspect_file(const std::string& file, const std::string& text, const Snapshot& snapshot) {
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
         row("instances", std::to_string(table.instances.size())) + row("devices", std::to_string(table.size));
}

json::array array_of(const std::vector<Breach>& breaches) {
  json::array array;
  for (const Breach& breach : breaches) {
    json::value value = json::object{
        {"path", breach.path}, {"value", breach.value}, {"expected", breach.expected}, {"code", breach.code}};
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

/// Prints the verdict on standard error; returns the exit code.
Result<int> print_verdict(const std::string& file, const Inspection& verdict) {
  for (const Breach& breach : verdict.breaches) {
    log_error("rank table '" + file + "': " + describe(breach));
  }
  for (const Breach& breach : verdict.notices) {
    log_info("note: " + describe(breach));
  }
  if (const auto* unfinished = std::get_if<rank_table::Unfinished>(&verdict.reading)) {
    return Error{ErrorKind::BadData, "rank table '" + file + "': " + unfinished->reason};
  }
  if (const auto* error = std::get_if<Error>(&verdict.reading); error != nullptr && verdict.breaches.empty()) {
    return *error;
  }
  return verdict.breaches.empty() ? 0 : static_cast<int>(ErrorKind::BadData);
}

}  // namespace

const OptionTable kCheckOptions{kCheckTable, {}, {}, "muster check"};

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
  return read_flags(flags, kCheckOptions, line.settings);
}

Result<int> run_check(const CommandLine& line, const Snapshot& snapshot, const Inherited& /*inherited*/) {
  const auto kind = line.settings.find(kKind);
  const auto file = line.settings.find(kFile);
  if (!kind || !file) {
    return Error{ErrorKind::BadUsage, "there is nothing to check; write 'muster check ranktable FILE'"};
  }
  if (kind->value != "ranktable") {
    return wrong_value(*kind, "ranktable");
  }
  FileContent found =
      is_stream(file->value) ? read_stream(file->value) : read_input_file({"rank table", file->value, "", "", true});
  const std::string path = found.path.empty() ? file->value : found.path;
  if (found.error_number != 0) {
    return Error{ErrorKind::BadData, system_error("rank table '" + path + "'", found.error_number).message};
  }
  const std::string text = rank_table::without_indentation(std::move(found.content));
  const Inspection verdict = inspect_file(path, text, snapshot);
  const auto* table = std::get_if<rank_table::Table>(&verdict.reading);
  if (is_on(line.settings, "json")) {
    TRY(print(pretty_json(document_of(path, verdict))));
  } else if (table != nullptr) {
    TRY(print(text_of(*table)));
  }
  return print_verdict(path, verdict);
}

}  // namespace muster

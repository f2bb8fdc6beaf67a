// Reads the command line of another launcher: options up to the script, its variables, and muster's own options. Then
// turns the options into settings.
#include "compat/compat_launcher.hpp"

#include "base/lists.hpp"
#include "base/text.hpp"
#include "compat/tokens.hpp"
#include "options/settings.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>

namespace muster {
namespace {

/// Applies the table's row to a given option.
Result<> translate_one(const CompatOption& option, const Sourced<std::string>& value, Translation& translation) {
  const auto choices = option.is_strict ? split(option.choices, ' ') : std::vector<std::string>();
  if (option.is_strict && !contains(choices, value.value)) {
    return wrong_value(value, "one of " + join(choices, ", "));
  }
  if (option.support == OptionSupport::Refused && !value.value.empty()) {
    return Error{error_kind(value.source), value.source.name + " is refused: " + option.note};
  }
  if (option.support == OptionSupport::Ignored) {
    translation.line.notices.push_back("ignoring " + value.source.name + ": " + option.note);
    // Checks a number of seconds even though the option is ignored: an invalid value is an error as with the original.
    const bool is_number = option.argument != nullptr && std::string_view(option.argument) == "SECONDS";
    double seconds = 0;
    const std::string_view text = trim(value.value);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
    const bool is_right = error == std::errc() && end == text.data() + text.size();
    const bool is_given = !text.empty() || value.source.kind == SourceKind::Flag;
    return is_number && is_given && !is_right ? wrong_value(value, "a number of seconds") : Result<>();
  }
  if (option.setting != nullptr) {
    translation.set(option.setting, value);
  }
  return {};
}

/// Applies the table to all options, then the front end's own function.
Result<> translate(const CompatLauncher& compat, Translation& translation) {
  for (const CompatOption& option : compat.options()) {
    const auto given = translation.given.find(dashed(option.name));
    TRY(given == translation.given.end() ? Result<>() : translate_one(option, given->second, translation));
  }
  return compat.translate(translation);
}

Error started_otherwise(const Sourced<std::string>& setting, const CompatNames& words) {
  return Error{error_kind(setting.source), setting.source.name + " is '" + setting.value + "' but '" + words.called +
                                               "' starts workers by '" + words.compat.mode +
                                               "'; leave one of them out"};
}

/// Fails if --mode or --template contradicts the launcher's name, which decides how workers are started.
Result<> check_mode(const Settings& settings, const CompatNames& words) {
  const auto mode = settings.find("mode");
  if (mode && mode->value != words.compat.mode && mode->value != "auto") {
    return started_otherwise(*mode, words);
  }
  const auto file = settings.find("template");
  return file ? Result<>(started_otherwise(*file, words)) : Result<>();
}

/// The option's name as the original spells it; empty if the original does not have it.
std::optional<std::string> find_name(const CompatLauncher& compat, std::string_view name) {
  for (const CompatOption& option : compat.options()) {
    if (dashed(option.name) == name) {
      return option.name;
    }
  }
  return std::nullopt;
}

/// Adds a notice for an option of the original behind the script: it is the script's, unless "--" sets it apart.
void notice_options_behind(CommandLine& line, const CompatLauncher& compat) {
  auto notice = describe_option_behind(line.program, original_of(compat),
                                       [&](const std::string& typed) { return find_name(compat, typed); });
  if (notice) {
    line.notices.push_back(std::move(*notice));
  }
}

/// True if the required subcommand is there, or none is required.
bool has_subcommand(const CompatNames& words) {
  const char* const wanted = words.compat.subcommand;
  return wanted == nullptr || (!words.tokens.empty() && words.tokens.front() == wanted);
}

/// Fails for the original's other subcommands, which do not launch and are left to the original.
Result<> check_subcommand(const CompatNames& words) {
  if (has_subcommand(words)) {
    return {};
  }
  const std::string name = words.compat.name;
  const bool is_other = !words.tokens.empty() && !words.tokens.front().starts_with('-');
  return Error{ErrorKind::BadUsage, "'muster " + name + "' knows only the command '" + words.compat.subcommand + "': " +
                                        (is_other ? "for '" + words.tokens.front() + "' start " + name + " itself"
                                                  : "write 'muster " + command_of(words.compat) + "'")};
}

}  // namespace

Result<> translate_as(const CompatLauncher& compat, Translation& translation, Tokens tokens) {
  Translation other{translation.snapshot,           translation.line,        translation.read_text,
                    translation.is_whole,           std::move(tokens.given), std::move(tokens.typed),
                    std::move(translation.settings)};
  auto translated = translate(compat, other);
  translation.settings = std::move(other.settings);
  return translated;
}

Error contradiction(const Sourced<std::string>& one, const Sourced<std::string>& other) {
  return Error{ErrorKind::BadUsage,
               one.source.name + " and " + other.source.name + " contradict each other: leave one of them out"};
}

bool requests_text(const Settings& settings) {
  return is_on(settings, "help") || is_on(settings, "version") || is_on(settings, "print-man") ||
         settings.has("print-completion") || settings.has(kPrintOptions);
}

std::optional<Sourced<std::string>> Translation::find(const std::string& name) const {
  const auto at = given.find(name);
  return at == given.end() || at->second.value.empty() ? std::nullopt : std::optional(at->second);
}

void Translation::ignore(const std::string& name, const std::string& setting, const std::string& why) {
  if (const auto value = find(name)) {
    line.notices.push_back("ignoring " + value->source.name + ": " + why);
  }
  settings.erase(setting);
}

void Translation::ignore_flag(const std::string& name, const std::string& why) {
  const auto at = given.find(name);
  if (at != given.end() && at->second.source.kind == SourceKind::Flag) {
    line.notices.push_back("ignoring " + at->second.source.name + ": " + why);
  }
}

Result<const CompatLauncher*> compat_of(std::string_view argv0) {
  std::string name = std::filesystem::path(argv0).filename();
  if (name.starts_with('-')) {  // a login shell's
    name.erase(0, 1);
  }
  if (name.empty() || name.starts_with("muster")) {
    return nullptr;
  }
  if (const CompatLauncher* const compat = find_compat(name)) {
    return compat;
  }
  const auto known = mapped(compat_launchers(), [](const CompatLauncher& one) { return std::string(one.name); });
  return Error{ErrorKind::BadUsage, "this program was started as '" + name + "', expected a name that begins with " +
                                        "muster, or one of " + join(known, ", ")};
}

Result<> read_compat(CommandLine& line, const CompatNames& words, const OptionTable& own_options,
                     const Snapshot& snapshot, const ReadText& read_text) {
  const CompatLauncher& compat = words.compat;
  const bool is_behind_word = compat.subcommand != nullptr && has_subcommand(words);
  auto read = TRY(read_tokens(compat, words.tokens.subspan(is_behind_word ? 1 : 0), &own_options));
  line.compat = &compat;
  read.own.for_each(
      [&](const std::string& name, const Sourced<std::string>& value) { line.settings.set(name, value); });
  if (auto own = read_own_variables(snapshot.variables, own_options, line.settings);
      !own || requests_text(line.settings)) {
    return own;
  }
  TRY(check_subcommand(words));
  TRY(check_mode(line.settings, words));
  line.settings.set("mode", {compat.mode, from_flag(words.called)});
  TRY(read_variables(compat, snapshot, read.given, line.notices));
  line.program = std::move(read.program);
  if (!read.is_set_apart) {
    notice_options_behind(line, compat);
  }
  Translation translation{snapshot, line, read_text, true, std::move(read.given), std::move(read.typed), {}};
  TRY(translate(compat, translation));
  for (const auto& [name, value] : translation.settings) {
    const auto own = line.settings.find(name);
    if (!own || value.source.kind == SourceKind::Flag || name == "mode") {
      line.settings.set(name, value);
    }
  }
  return {};
}

Result<> read_extra_options(CommandLine& line, const CompatLauncher& compat, const Sourced<std::string>& words,
                            const Snapshot& snapshot) {
  const auto pieces = TRY(split_words(words));
  auto read = TRY(read_words_of(compat, words, pieces, "options of " + original_of(compat) + " and no program"));
  const ReadText no_files = [](const std::string& /*path*/) { return std::nullopt; };
  Translation translation{snapshot, line, no_files, false, std::move(read.given), std::move(read.typed), {}};
  TRY(translate(compat, translation));
  for (const auto& [name, value] : translation.settings) {
    line.settings.set(name, value);
  }
  return {};
}

std::string spelled(const CommandLine& line, std::string_view name) {
  if (line.compat == nullptr) {
    return "--" + std::string(name);
  }
  // The names that launchers have for options, where they differ from muster's, which messages use.
  constexpr auto kOtherNames = std::to_array<std::pair<std::string_view, std::string_view>>({
      {"nnodes", "num-nodes"},
      {"nnodes", "num-machines"},
      {"node-rank", "machine-rank"},
      {"node-rank", "rank"},
      {"master-addr", "main-process-ip"},
      {"master-addr", "master"},
  });
  auto own = find_name(*line.compat, name);
  for (const auto& [ours, theirs] : kOtherNames) {
    own = !own && ours == name ? find_name(*line.compat, theirs) : own;
  }
  return "--" + own.value_or(std::string(name));
}

void add_worker_arguments(ModeTemplate& mode, const CommandLine& line) {
  for (RoleTemplate& role : mode.roles) {
    role.arguments.insert(role.arguments.end(), line.worker_arguments.begin(), line.worker_arguments.end());
    role.arguments_first = role.arguments_first || !line.worker_arguments.empty();
  }
}

std::vector<std::string> compat_notices(const CommandLine& line, const Cluster& cluster) {
  std::vector<std::string> notices = line.notices;
  const bool is_counted = line.settings.has("nnodes") || line.settings.has("total-workers");
  if (line.compat == nullptr || is_counted || cluster.job.most_nodes == 1) {
    return notices;
  }
  for (const Decision& decision : cluster.decisions) {
    if (decision.field == "nodes.count") {
      notices.push_back(original_of(*line.compat) + " itself would run on one node: taking " + decision.value +
                        " from " + decision.source);
    }
  }
  return notices;
}

}  // namespace muster

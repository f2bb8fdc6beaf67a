// --help, the completions and the table for the documentation, from the options of a front end.
#include <muster/front_end/front_end.hpp>
#include <muster/options/texts.hpp>

#include <algorithm>

namespace muster {
namespace {

constexpr const char* kOwnOptions =
    R"(
muster's own options can be given here as well, such as --report FILE, --gang-timeout SECONDS or
--verbose; 'muster --help' lists them. 'muster plan' in front prints what would be started, and
'muster explain' what was detected. )";

const char* rules_of(Syntax syntax) {
  switch (syntax) {
    case Syntax::Argparse:
      return "Nothing behind the script is read as an option. A beginning\n"
             "that only one option has is that option.\n";
    case Syntax::Click:
      return "An option behind the script is still one, unless '--' stands\n"
             "before it; options cannot be abbreviated.\n";
    case Syntax::OpenMpi:
      break;
  }
  return "Nothing behind the program is read as an option, and an\n"
         "option cannot be abbreviated.\n";
}

std::string spelled(const FrontOption& option) {
  std::string text = (option.has_one_dash ? "-" : "--") + std::string(option.name);
  const bool is_letter = text == std::string("-") + option.letter;
  if (option.letter != '\0' && !is_letter) {
    text = std::string("-") + option.letter + ", " + text;
  }
  return option.argument == nullptr ? text : text + " " + option.argument;
}

const char* heading_of(Fate fate) {
  switch (fate) {
    case Fate::Same:
      return "The same:";
    case Fate::Better:
      return "Better, and how:";
    case Fate::Passed:
      return "Given to the original, which muster starts for it:";
    case Fate::Ignored:
      return "Ignored, and why:";
    default:
      return "Refused, and why:";
  }
}

const char* word_of(Fate fate) {
  switch (fate) {
    case Fate::Same:
      return "same";
    case Fate::Better:
      return "better";
    case Fate::Passed:
      return "passed";
    case Fate::Ignored:
      return "ignored";
    default:
      return "refused";
  }
}

std::string row_of(const std::string& option, const FrontOption& row) {
  std::string setting;
  if (row.setting != nullptr) {
    const std::string name(row.setting);
    const bool is_parameter = name.starts_with(kParameterPrefix);
    setting = is_parameter ? "`--set " + name.substr(4) + "`" : "`--" + name + "`";
  }
  return "| `" + option + "` | " + word_of(row.fate) + " | " + row.note + " | " + setting + " |\n";
}

/// The options as completions take them, which know a name behind two dashes only.
std::vector<Option> as_options(const FrontEnd& front_end) {
  std::vector<Option> options;
  for (const FrontOption& option : front_end.options()) {
    if (!option.has_one_dash) {
      options.push_back(
          {option.name, option.letter, option.argument, "", option.note, option.choices});
    }
  }
  return options;
}

}  // namespace

std::string front_end_help(const FrontEnd& front_end) {
  const std::string name = command_of(front_end);
  std::string text = "Usage: muster " + name + " [options] " + front_end.program + "\n       " +
                     name + " [options] " + front_end.program + "   (a symlink to muster)\n\n";
  for (const std::string& line : wrap(front_end.summary, 98)) {
    text += line + "\n";
  }
  for (const Fate fate : {Fate::Same, Fate::Better, Fate::Passed, Fate::Ignored, Fate::Refused}) {
    std::string entries;
    for (const FrontOption& option : front_end.options()) {
      entries += option.fate == fate ? help_entry(spelled(option), option.note) : "";
    }
    text += entries.empty() ? "" : std::string("\n") + heading_of(fate) + "\n" + entries;
  }
  if (front_end.variables != nullptr) {
    const char* const wins = front_end.variables_win ? ". It wins over the flag, and a\n"
                                                     : ". A flag wins, and so does a\n";
    text += std::string("\nEach option can be given as a variable: --log-dir is ") +
            front_end.variables + "LOG_DIR" + wins + "MUSTER_* variable" +
            (front_end.variables_win ? " over both.\n" : ".\n");
  }
  return text + kOwnOptions + rules_of(front_end.syntax);
}

std::string front_end_table(const FrontEnd& front_end) {
  constexpr const char* kRule = "|---|---|---|---|\n";
  std::string text = "| Option of " + original_of(front_end) +
                     " | muster | How, or why not | muster's own |\n" + kRule;
  for (const FrontOption& option : front_end.options()) {
    text += row_of(spelled(option), option);
  }
  if (front_end.translate == translate_torchrun) {
    text += "\n| Key of `--rdzv-conf` | muster | How, or why not | muster's own |\n";
    text += kRule;
    for (const FrontOption& key : rendezvous_keys()) {
      text += row_of(std::string(key.name) + "=" + key.argument, key);
    }
  }
  return text;
}

Result<std::string> front_end_completion(const FrontEnd& front_end,
                                         const Sourced<std::string>& shell) {
  const std::vector<Option> options = as_options(front_end);
  const std::string words = front_end.subcommand == nullptr ? "" : front_end.subcommand;
  return completion_script(shell, CompletedCommand{front_end.name, options, words});
}

}  // namespace muster

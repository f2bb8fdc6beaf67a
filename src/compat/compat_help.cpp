// Prints the help, the completions and the table for the documentation of the launchers that muster stands in for.
#include "base/lists.hpp"
#include "base/text.hpp"
#include "compat/compat_launcher.hpp"
#include "compat/tokens.hpp"
#include "modes/mpi_request.hpp"
#include "options/help_text.hpp"
#include "options/settings.hpp"
#include "options/syntax.hpp"

#include <algorithm>
#include <array>

namespace muster {

// Lists the launchers that muster stands in for.

namespace {

constexpr const char* kTogether =
    "Nodes meet before anything starts, fail and restart together; the first failure is named, and its exit code is "
    "the job's.";

constexpr auto kCompatLaunchers = std::to_array<CompatLauncher>({
    {"torchrun", "torchrun", "script.py [arguments...]", kTogether, "PET_", torchrun_options, translate_torchrun},
    {"torch.distributed.run", "torchrun", "script.py [arguments...]",
     "The same as torchrun, for lines that begin with 'python -m torch.distributed.run'.", "PET_", torchrun_options,
     translate_torchrun},
    {"torch.distributed.launch", "torchrun", "script.py [arguments...]",
     "torchrun for scripts that read --local-rank, for lines that begin with 'python -m torch.distributed.launch'.",
     "PET_", torch_launch_options, translate_torch_launch},
    {"msrun", "msrun", "script.py [arguments...]",
     "Nodes may have different numbers of workers; the first failure is named, and its exit code is the job's; no "
     "process outlives the job.",
     nullptr, msrun_options, translate_msrun},
    {"deepspeed", "deepspeed", "script.py [arguments...]",
     "Hosts of a hostfile are reached without pdsh, by ssh alone. The first failure is named, its exit code is the "
     "job's, and nothing is left behind on any host.",
     nullptr, deepspeed_options, translate_deepspeed},
    {"mpirun", "mpirun", "program [arguments...]",
     "Ranks start without mpirun and without ssh where muster can do all that is asked for. Else muster starts mpirun, "
     "which gets its own options as they are. The first failure is named, its exit code is the job's, and nothing is "
     "left behind on any host.",
     nullptr, mpirun_options, translate_mpirun, Syntax::OpenMpi,
     "mpiexec orterun prterun mpirun.openmpi mpiexec.openmpi", "mpirun (Open MPI)"},
    {.name = "accelerate",
     .mode = "accelerate",
     .program = "script.py [arguments...]",
     .summary = kTogether,
     .options = accelerate_options,
     .translate = translate_accelerate,
     .aliases = "accelerate.commands.accelerate_cli",
     .subcommand = "launch",
     .original = "accelerate launch"},
    {.name = "accelerate-launch",
     .mode = "accelerate",
     .program = "script.py [arguments...]",
     .summary = kTogether,
     .options = accelerate_options,
     .translate = translate_accelerate,
     .aliases = "accelerate.commands.launch",
     .original = "accelerate launch"},
    {.name = "paddle.distributed.launch",
     .mode = "paddle",
     .program = "script.py [arguments...]",
     .summary = "Nodes meet before anything starts, and need no etcd for that; the first failure is "
                "named, its exit code is the job's, and no process outlives the job.",
     .variables = "PADDLE_",
     .options = paddle_options,
     .translate = translate_paddle,
     .aliases = "fleetrun",
     .variables_win = true},
    {.name = "colossalai",
     .mode = "torchrun",
     .program = "script.py [arguments...]",
     .summary = "Hosts are reached by ssh alone, without fabric, and arguments arrive as they are. The "
                "first failure is named, its exit code is the job's, and nothing is left behind on "
                "any host.",
     .options = colossalai_options,
     .translate = translate_colossalai,
     .syntax = Syntax::Click,
     .subcommand = "run",
     .original = "colossalai run"},
    {.name = "horovodrun",
     .mode = "mpirun",
     .program = "program [arguments...]",
     .summary = "The ranks are those of MPI, as 'muster mpirun' starts them. The first failure is named, its "
                "exit code is the job's, and nothing is left behind on any host.",
     .options = horovodrun_options,
     .translate = translate_horovodrun,
     .aliases = "horovod.runner horovod.runner.launch"},
});

}  // namespace

std::span<const CompatLauncher> compat_launchers() {
  return kCompatLaunchers;
}

const CompatLauncher* find_compat(std::string_view name) {
  return first_of(kCompatLaunchers, [&](const CompatLauncher& one) {
    const std::vector<std::string> aliases = split(one.aliases == nullptr ? "" : one.aliases, ' ');
    return name == one.name || contains(aliases, name);
  });
}

std::string command_of(const CompatLauncher& compat) {
  const std::string name = compat.name;
  return compat.subcommand == nullptr ? name : name + " " + compat.subcommand;
}

std::string original_of(const CompatLauncher& compat) {
  return compat.original == nullptr ? compat.name : compat.original;
}

// Makes --help, the completions and the documentation's table from the options of a launcher.

namespace {

constexpr const char* kOwnOptions =
    R"(
muster's own options can be given here as well, such as --report FILE, --gang-timeout SECONDS or
--verbose; 'muster --help' lists them. 'muster plan' in front prints what would be started, and
'muster explain' what was detected. )";

const char* rules_of(Syntax syntax) {
  switch (syntax) {
    case Syntax::Argparse:
      return "Nothing after the script is read as an option. A beginning\n"
             "that only one option has is that option.\n";
    case Syntax::Click:
      return "An option after the script is still one, unless '--' stands\n"
             "before it; options cannot be abbreviated.\n";
    case Syntax::OpenMpi:
      break;
  }
  return "Nothing after the program is read as an option, and an\n"
         "option cannot be abbreviated.\n";
}

std::string spelled(const CompatOption& option) {
  std::string text = (option.has_one_dash ? "-" : "--") + std::string(option.name);
  const bool is_letter = text == std::string("-") + option.letter;
  if (option.letter != '\0' && !is_letter) {
    text = std::string("-") + option.letter + ", " + text;
  }
  return option.argument == nullptr ? text : text + " " + option.argument;
}

/// The words for each `OptionSupport`.
struct SupportWords {
  const char* word;     ///< in the documentation's table
  const char* heading;  ///< in --help
};
constexpr std::array<SupportWords, 5> kSupportWords = {{
    {"same", "The same:"},
    {"better", "Better, and how:"},
    {"passed", "Given to the original, which muster starts for it:"},
    {"ignored", "Ignored, and why:"},
    {"refused", "Refused, and why:"},
}};

std::string row_of(const std::string& option, const CompatOption& row) {
  std::string setting;
  if (row.setting != nullptr) {
    const std::string name(row.setting);
    const bool is_parameter = name.starts_with(kParameterPrefix);
    setting = is_parameter ? "`--set " + name.substr(4) + "`" : "`--" + name + "`";
  }
  return "| `" + option + "` | " + kSupportWords.at(static_cast<std::size_t>(row.support)).word + " | " + row.note +
         " | " + setting + " |\n";
}

/// The options for completions, which know names behind two dashes only.
std::vector<Option> as_options(const CompatLauncher& compat) {
  std::vector<Option> options;
  for (const CompatOption& option : compat.options()) {
    if (!option.has_one_dash) {
      options.push_back({option.name, option.argument, "", option.note, kReadByCode, option.choices, option.letter});
    }
  }
  return options;
}

}  // namespace

std::string compat_help(const CompatLauncher& compat) {
  const std::string name = command_of(compat);
  std::string text = "Usage: muster " + name + " [options] " + compat.program + "\n       " + name + " [options] " +
                     compat.program + "   (a symlink to muster)\n\n";
  for (const std::string& line : wrap(compat.summary, 98)) {
    text += line + "\n";
  }
  for (std::size_t i = 0; i < kSupportWords.size(); ++i) {
    std::string entries;
    for (const CompatOption& option : compat.options()) {
      entries += static_cast<std::size_t>(option.support) == i ? help_entry(spelled(option), option.note) : "";
    }
    text += entries.empty() ? "" : std::string("\n") + kSupportWords.at(i).heading + "\n" + entries;
  }
  if (compat.variables != nullptr) {
    const char* const wins =
        compat.variables_win ? ". It wins over the flag, and a\n" : ". A flag wins, and so does a\n";
    text += std::string("\nEach option can be given as a variable: --log-dir is ") + compat.variables + "LOG_DIR" +
            wins + "MUSTER_* variable" + (compat.variables_win ? " over both.\n" : ".\n");
  }
  return text + kOwnOptions + rules_of(compat.syntax);
}

std::string compat_table(const CompatLauncher& compat) {
  constexpr const char* kRule = "|---|---|---|---|\n";
  std::string text = "| Option of " + original_of(compat) + " | muster | How, or why not | muster's own |\n" + kRule;
  for (const CompatOption& option : compat.options()) {
    text += row_of(spelled(option), option);
  }
  if (compat.translate == translate_torchrun) {
    text += "\n| Key of `--rdzv-conf` | muster | How, or why not | muster's own |\n";
    text += kRule;
    for (const CompatOption& key : rendezvous_keys()) {
      text += row_of(std::string(key.name) + "=" + key.argument, key);
    }
  }
  return text;
}

Result<std::string> compat_completion(const CompatLauncher& compat, const Sourced<std::string>& shell) {
  const std::vector<Option> options = as_options(compat);
  const std::string words = compat.subcommand == nullptr ? "" : compat.subcommand;
  return completion_script(shell, CompletedCommand{compat.name, options, words});
}
}  // namespace muster

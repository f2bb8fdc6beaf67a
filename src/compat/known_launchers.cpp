// Lists the launchers that are known by name, with their replacements, and reads the options of Python and of shells.
#include "compat/known_launchers.hpp"

#include "base/lists.hpp"
#include "compat/compat_launcher.hpp"

#include <algorithm>
#include <array>

namespace muster {
namespace {

/// Ways in which muster replaces a launcher.
enum class Replacement {
  CompatLauncher,  ///< muster reads its command line: `word` is the launcher's name
  Script,          ///< muster runs the script behind its options
  Module,          ///< muster runs the Python module `word` with its arguments
  Workers,         ///< muster runs it in each worker, without its options in front of the program
  Inside,          ///< the launcher starts muster in its processes
  Once,            ///< muster starts it once on each node, with `variables`
  Alone            ///< it hands the job to other machines, so that there is nothing to launch here
};

using Variables = std::span<const LauncherVariable>;

constexpr LauncherVariable kNodes = {"NNODES", "{nodes}"};
constexpr LauncherVariable kNodeRank = {"NODE_RANK", "{node_rank}"};
constexpr LauncherVariable kProcesses = {"NPROC_PER_NODE", "{node_slots}"};
// MASTER_ADDR and MASTER_PORT are variables of the mode `once`.
constexpr std::array kOfSwift = {kNodes, kNodeRank, kProcesses};
/// With one device on each node it would ignore the other nodes without the last.
constexpr std::array kOfLlamaFactory = {kNodes, kNodeRank, kProcesses, LauncherVariable{"FORCE_TORCHRUN", "1", true}};
constexpr std::array kOfXtuner = {kNodes, kNodeRank, kProcesses, LauncherVariable{"ADDR", "{master_address}"},
                                  LauncherVariable{"PORT", "{worker_port}"}};

struct KnownLauncher {
  std::string_view name;
  std::string_view commands;  ///< its subcommands that launch, with commas between them; empty: it needs none
  Replacement instead;
  std::string_view word = {};
  std::string_view nodes_option = {};  ///< names the number of nodes for a launcher that is started on each node
  std::string_view nodes_variable = {};
  Variables variables = {};
};

/// Sources: the launchers' manuals, and for those that start torchrun themselves LLaMA-Factory 0.9 (cli.py and
/// launcher.py), ms-swift 3 (swift/cli/main.py), xtuner 0.2 (entry_point.py), axolotl 0.13 (cli/utils/train.py),
/// torchtune 0.6 (_cli/run.py), Lightning 2.5 (fabric/cli.py), trl 0.20 (cli.py).
constexpr auto kLaunchers = std::to_array<KnownLauncher>({
    {"torchrun", "", Replacement::CompatLauncher, "torchrun", "nnodes", "PET_NNODES"},
    {"torch.distributed.run", "", Replacement::CompatLauncher, "torchrun", "nnodes", "PET_NNODES"},
    {"torch.distributed.launch", "", Replacement::CompatLauncher, "torch.distributed.launch", "nnodes", "PET_NNODES"},
    {"msrun", "", Replacement::CompatLauncher, "msrun", "master_addr"},
    {"mindspore.parallel.cluster.run", "", Replacement::CompatLauncher, "msrun", "master_addr"},
    {"deepspeed", "", Replacement::CompatLauncher, "deepspeed", "no_ssh"},
    {"deepspeed.launcher.runner", "", Replacement::CompatLauncher, "deepspeed", "no_ssh"},
    {"accelerate", "launch", Replacement::CompatLauncher, "accelerate", "num_machines"},
    {"accelerate.commands.accelerate_cli", "launch", Replacement::CompatLauncher, "accelerate", "num_machines"},
    {"accelerate.commands.launch", "", Replacement::CompatLauncher, "accelerate", "num_machines"},
    {"accelerate-launch", "", Replacement::CompatLauncher, "accelerate", "num_machines"},
    {"colossalai", "run", Replacement::CompatLauncher, "colossalai", "extra_launch_args"},
    {"fleetrun", "", Replacement::CompatLauncher, "fleetrun", "nnodes", "PADDLE_NNODES"},
    {"paddle.distributed.launch", "", Replacement::CompatLauncher, "fleetrun", "nnodes", "PADDLE_NNODES"},
    {"oneflow.distributed.launch", "", Replacement::Script, "", "nnodes"},
    {"horovodrun", "", Replacement::CompatLauncher, "horovodrun"},
    {"horovod.runner", "", Replacement::CompatLauncher, "horovodrun"},
    {"horovod.runner.launch", "", Replacement::CompatLauncher, "horovodrun"},
    {"composer", "", Replacement::Script},
    {"lightning", "run", Replacement::Script, "", "num_nodes"},
    {"fabric", "run", Replacement::Script, "", "num_nodes"},
    {"axolotl", "train", Replacement::Module, "axolotl.cli.train"},
    {"axolotl", "evaluate", Replacement::Module, "axolotl.cli.evaluate"},
    {"trl", "sft", Replacement::Module, "trl.scripts.sft"},
    {"trl", "dpo", Replacement::Module, "trl.scripts.dpo"},
    {"trl", "grpo", Replacement::Module, "trl.scripts.grpo"},
    {"trl", "kto", Replacement::Module, "trl.scripts.kto"},
    {"trl", "reward", Replacement::Module, "trl.scripts.reward"},
    {"trl", "rloo", Replacement::Module, "trl.scripts.rloo"},
    {"tune", "run", Replacement::Workers, "tune run", "nnodes", "PET_NNODES"},
    {"mpirun", "", Replacement::Inside},
    {"mpiexec", "", Replacement::Inside},
    {"mpiexec.hydra", "", Replacement::Inside},
    {"orterun", "", Replacement::Inside},
    {"prterun", "", Replacement::Inside},
    {"srun", "", Replacement::Inside},
    {"flux", "run", Replacement::Inside},
    {"jsrun", "", Replacement::Inside},
    {"aprun", "", Replacement::Inside},
    {"llamafactory-cli", "train", Replacement::Once, "", "", "", kOfLlamaFactory},
    {"lmf", "train", Replacement::Once, "", "", "", kOfLlamaFactory},
    {"llamafactory.cli", "train", Replacement::Once, "", "", "", kOfLlamaFactory},
    {"swift", "pt,sft,rlhf,infer,dpo,orpo,simpo", Replacement::Once, "", "", "", kOfSwift},
    {"megatron", "pt,sft,rlhf", Replacement::Once, "", "", "", kOfSwift},
    {"swift.cli.main", "pt,sft,rlhf,infer,dpo,orpo,simpo", Replacement::Once, "", "", "", kOfSwift},
    {"xtuner", "train,test", Replacement::Once, "", "", "", kOfXtuner},
    {"verl.trainer.main_ppo", "", Replacement::Once},
    {"verl.trainer.main_generation", "", Replacement::Once},
    {"openrlhf.cli.train_ppo_ray", "", Replacement::Once},
    {"oumi", "distributed", Replacement::Once},
    {"vllm", "serve", Replacement::Once},
    {"vllm.entrypoints.openai.api_server", "", Replacement::Once},
    {"sglang.launch_server", "", Replacement::Once},
    {"ray", "job", Replacement::Alone},
    {"torchx", "run", Replacement::Alone},
    {"sky", "launch,exec", Replacement::Alone},
});

using Strings = std::span<const std::string>;

/// Index of the program among a launcher's words; the number of words if it cannot be found.
std::size_t find_script(Strings words) {
  const auto at =
      std::ranges::find_if(words, [](const std::string& word) { return word.ends_with(".py") || is_python(word); });
  return static_cast<std::size_t>(at - words.begin());
}

std::string behind(const std::string& start, Strings words) {
  return words.empty() ? start : start + " " + as_command_line(words);
}

/// Index of the first word that is no option; a word behind an option without "=" counts as its value.
std::size_t find_operand(Strings words) {
  std::size_t at = 0;
  while (at < words.size() && words[at].starts_with('-')) {
    at += words[at].find('=') == std::string::npos && words[at] != "--standalone" ? 2 : 1;
  }
  return std::min(at, words.size());
}

std::string line_inside(std::string_view name, Strings arguments) {
  const bool is_inside =
      std::ranges::any_of(arguments, [](const std::string& word) { return base_name(word) == "muster"; });
  if (is_inside) {
    return behind(std::string(name), arguments);
  }
  const std::size_t script = find_script(arguments);
  if (script == arguments.size()) {
    return std::string(name) + " ... muster PROGRAM";
  }
  const std::string start = behind(std::string(name), arguments.first(script));
  return behind(start + " muster", arguments.subspan(script));
}

std::string line_of(const KnownLauncher& launcher, Strings typed, Strings arguments) {
  const std::string word(launcher.word);
  switch (launcher.instead) {
    case Replacement::CompatLauncher:
      return behind("muster " + command_of(*find_compat(word)), arguments);
    case Replacement::Script: {
      const Strings script = arguments.subspan(find_script(arguments));
      return script.empty() ? "muster SCRIPT" : behind("muster", script);
    }
    case Replacement::Module:
      return behind("muster -m " + word, arguments);
    case Replacement::Workers:
      return behind("muster " + word, arguments.subspan(find_operand(arguments)));
    case Replacement::Once: {
      const bool is_module = launcher.name.find('.') != std::string_view::npos;
      return behind(std::string(is_module ? "muster -m " : "muster ") + std::string(launcher.name), typed);
    }
    case Replacement::Alone:
      return behind(std::string(launcher.name), typed);
    case Replacement::Inside:
      break;
  }
  return line_inside(launcher.name, arguments);
}

const KnownLauncher* find_launcher(std::string_view name, Strings arguments) {
  const auto has_command = [&](std::string_view commands) {
    return commands.empty() || (!arguments.empty() && contains(split(commands, ','), arguments.front()));
  };
  return first_of(kLaunchers, [&](const KnownLauncher& one) { return one.name == name && has_command(one.commands); });
}

/// True if the option sets another number of nodes than 1, the default: --nnodes 2, --nnodes=$N, --num-machines 2.
bool sets_nodes(Strings words, std::string_view option) {
  for (std::size_t i = 0; i < words.size() && !option.empty(); ++i) {
    std::string word = words[i].substr(0, words[i].find('='));
    std::ranges::replace(word, '-', '_');
    if (word != "__" + std::string(option)) {
      continue;
    }
    const bool is_joined = word.size() < words[i].size();
    const std::string value = is_joined ? words[i].substr(word.size() + 1) : i + 1 < words.size() ? words[i + 1] : "";
    return value != "1" && value != "1:1";
  }
  return false;
}

/// True if the launcher only prints a text and starts nothing.
bool requests_text(Strings words) {
  return std::ranges::any_of(words, [](const std::string& word) {
    return word == "--help" || word == "-h" || word == "--version" || word == "-V";
  });
}

std::string quoted(const std::string& word) {
  const bool is_plain = !word.empty() && std::ranges::all_of(word, [](char c) {
    constexpr std::string_view kSigns = "%+,-./:=@_{}";
    return is_letter_or_digit(c) || kSigns.find(c) != std::string_view::npos;
  });
  // A redirection of the shell, as far as the word shows it: ">", "2>&1", ">>log".
  const bool is_redirection = word.find_first_of("<>") == word.find_first_not_of("0123456789&");
  return is_plain || is_redirection ? word : '"' + word + '"';
}

}  // namespace

std::optional<StartedOnce> find_started_once(std::string_view name, Strings arguments) {
  const KnownLauncher* const launcher = find_launcher(name, arguments);
  if (launcher == nullptr || launcher->instead != Replacement::Once) {
    return std::nullopt;
  }
  const std::string command = launcher->commands.empty() ? "" : " " + arguments.front();
  return StartedOnce{std::string(name) + command, launcher->variables};
}

std::optional<SuggestedCommand> suggest_command(std::string_view name, Strings arguments) {
  const KnownLauncher* const launcher = find_launcher(name, arguments);
  if (launcher == nullptr) {
    return std::nullopt;
  }
  const Strings own = arguments.subspan(launcher->commands.empty() ? 0 : 1);
  const Strings options = own.first(find_script(own));
  if (requests_text(options)) {
    return std::nullopt;
  }
  SuggestedCommand instead{line_of(*launcher, arguments, own), "", "", false, std::string(launcher->nodes_variable)};
  instead.knows_nodes = sets_nodes(options, launcher->nodes_option);
  switch (launcher->instead) {
    case Replacement::Inside:  // it starts the other nodes itself
      instead.on_nodes = "'" + instead.line + "' on one node, with all hosts";
      break;
    case Replacement::Workers:  // without options of torchrun it runs its recipe in each worker
      return find_operand(own) > 0 ? std::optional(instead) : std::nullopt;
    case Replacement::Once:
      instead.knows_nodes = !launcher->variables.empty();
      instead.on_nodes = "'" + instead.line + "' on one node, with --nnodes 1";
      break;
    case Replacement::Alone:
      instead.where = " without muster";
      instead.on_nodes = "'" + instead.line + "' on one node, without muster";
      break;
    default:
      break;
  }
  return instead;
}

std::string as_command_line(Strings words) {
  constexpr std::size_t kMost = 200;
  std::string line;
  for (const std::string& word : words) {
    if (line.size() > kMost) {
      return line + " ...";
    }
    line += (line.empty() ? "" : " ") + quoted(word);
  }
  return line;
}

bool is_python(std::string_view word) {
  const std::string_view name = base_name(word);
  for (const std::string_view start : {std::string_view("python"), std::string_view("pypy")}) {
    if (name.starts_with(start) && name.find_first_not_of("0123456789.", start.size()) == std::string_view::npos) {
      return true;
    }
  }
  return false;
}

std::string_view base_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

// Reads the options of Python and of shells that name what is run.

namespace {

/// The options -m and -c name what is run, as in "-um module" and "-cprint()". Other options do not matter here.
struct PythonOption {
  char letter = '\0';
  bool takes_next = false;  ///< its value is the next word
  std::string value{};      ///< the value in the same word
};

PythonOption read_python_option(const std::string& word) {
  const std::size_t at = word.starts_with("--") ? std::string::npos : word.find_first_of("mcWX");
  return at == std::string::npos ? PythonOption() : PythonOption{word[at], at + 1 == word.size(), word.substr(at + 1)};
}

PythonRun read_options(Strings words) {
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word.size() < 2 || word.front() != '-') {
      return {word == "-" ? "" : word, "", "", words.subspan(i + 1)};
    }
    PythonOption option = read_python_option(word);
    if (option.takes_next && ++i < words.size()) {
      option.value = words[i];
    }
    const Strings arguments = words.subspan(std::min(i + 1, words.size()));
    if (option.letter == 'm') {
      return {"", option.value, "", arguments};
    }
    if (option.letter == 'c') {
      return {"", "", option.value, arguments};
    }
  }
  return {};
}

}  // namespace

// Source: python(1).
PythonRun read_python_words(Strings words) {
  // Finds what `python3 -m pdb train.py` runs in the end.
  PythonRun run = read_options(words);
  const auto script =
      std::ranges::find_if(run.arguments, [](const std::string& word) { return word.ends_with(".py"); });
  constexpr auto kModules = std::to_array<std::string_view>({"cProfile", "pdb", "profile", "trace", "viztracer"});
  if (!contains(kModules, run.module) || script == run.arguments.end()) {
    return run;
  }
  const auto behind = static_cast<std::size_t>(script - run.arguments.begin()) + 1;
  return {*script, "", "", run.arguments.subspan(behind)};
}

ShellWords read_shell_words(Strings words) {
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word.size() < 2 || (word.front() != '-' && word.front() != '+')) {
      return {i, 0};
    }
    if (word.starts_with("--")) {
      continue;
    }
    if (word.ends_with('c')) {  // -c, -lc
      return {0, (i + 1) % words.size()};
    }
    if (word.front() == '-' && word.find('s') != std::string::npos) {
      return {};  // -s: the script comes from standard input, and the other words are its arguments
    }
    i += word.ends_with('o') ? 1 : 0;  // -o pipefail, -euo pipefail
  }
  return {};
}

}  // namespace muster

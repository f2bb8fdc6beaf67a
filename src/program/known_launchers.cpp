// The launchers that are known by name, and what to write instead of each.
#include "known_launchers.hpp"

#include <muster/front_end/front_end.hpp>

#include <algorithm>
#include <array>

namespace muster {
namespace {

/// What does under muster what the launcher did.
enum class Instead {
  FrontEnd,  ///< muster reads its command line: `word` is the front end's name
  Mode,      ///< the script behind its options, in the mode `word`; empty: the usual one
  Inside     ///< the other way round: its processes are musters
};

struct KnownLauncher {
  std::string_view name;
  std::string_view command;  ///< which of its commands launches; empty: it has none
  Instead instead;
  std::string_view word;
  std::string_view nodes_option = {};  ///< tells it of the other nodes: where each node starts one
  std::string_view nodes_variable = {};
};

constexpr auto kLaunchers = std::to_array<KnownLauncher>({
    {"torchrun", "", Instead::FrontEnd, "torchrun", "nnodes", "PET_NNODES"},
    {"torch.distributed.run", "", Instead::FrontEnd, "torchrun", "nnodes", "PET_NNODES"},
    {"torch.distributed.launch",
     "",
     Instead::FrontEnd,
     "torch.distributed.launch",
     "nnodes",
     "PET_NNODES"},
    {"msrun", "", Instead::FrontEnd, "msrun", "master_addr"},
    {"mindspore.parallel.cluster.run", "", Instead::FrontEnd, "msrun", "master_addr"},
    {"deepspeed", "", Instead::FrontEnd, "deepspeed", "no_ssh"},
    {"deepspeed.launcher.runner", "", Instead::FrontEnd, "deepspeed", "no_ssh"},
    {"accelerate", "launch", Instead::FrontEnd, "accelerate", "num_machines"},
    {"accelerate.commands.accelerate_cli",
     "launch",
     Instead::FrontEnd,
     "accelerate",
     "num_machines"},
    {"accelerate.commands.launch", "", Instead::FrontEnd, "accelerate", "num_machines"},
    {"accelerate-launch", "", Instead::FrontEnd, "accelerate", "num_machines"},
    {"colossalai", "run", Instead::FrontEnd, "colossalai", "extra_launch_args"},
    {"fleetrun", "", Instead::FrontEnd, "fleetrun", "nnodes", "PADDLE_NNODES"},
    {"paddle.distributed.launch", "", Instead::FrontEnd, "fleetrun", "nnodes", "PADDLE_NNODES"},
    {"oneflow.distributed.launch", "", Instead::Mode, "oneflow", "nnodes"},
    {"horovodrun", "", Instead::FrontEnd, "horovodrun"},
    {"horovod.runner", "", Instead::FrontEnd, "horovodrun"},
    {"horovod.runner.launch", "", Instead::FrontEnd, "horovodrun"},
    {"composer", "", Instead::Mode, ""},
    {"mpirun", "", Instead::Inside, ""},
    {"mpiexec", "", Instead::Inside, ""},
    {"mpiexec.hydra", "", Instead::Inside, ""},
    {"orterun", "", Instead::Inside, ""},
    {"prterun", "", Instead::Inside, ""},
    {"srun", "", Instead::Inside, ""},
    {"flux", "run", Instead::Inside, ""},
    {"jsrun", "", Instead::Inside, ""},
    {"aprun", "", Instead::Inside, ""},
});

using Strings = std::span<const std::string>;

/// Where the program stands among a launcher's words; their number if that cannot be seen.
std::size_t find_script(Strings words) {
  const auto at = std::find_if(words.begin(), words.end(), [](const std::string& word) {
    return word.ends_with(".py") || is_python(word);
  });
  return static_cast<std::size_t>(at - words.begin());
}

std::string behind(const std::string& start, Strings words) {
  return words.empty() ? start : start + " " + as_command_line(words);
}

std::string line_of_mode(std::string_view mode, Strings arguments) {
  const Strings script = arguments.subspan(find_script(arguments));
  const std::string start = mode.empty() ? "muster" : "muster --mode " + std::string(mode);
  return script.empty() ? start + " SCRIPT" : behind(start, script);
}

std::string line_inside(std::string_view name, Strings arguments) {
  const bool is_inside =
      std::any_of(arguments.begin(), arguments.end(), [](const std::string& word) {
        return base_name(word) == "muster";
      });
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

std::string line_of(const KnownLauncher& launcher, Strings arguments) {
  const FrontEnd* const front_end = find_front_end(launcher.word);
  switch (launcher.instead) {
    case Instead::FrontEnd:
      return behind(
          "muster " + (front_end != nullptr ? command_of(*front_end) : std::string(launcher.name)),
          arguments);
    case Instead::Mode:
      return line_of_mode(launcher.word, arguments);
    case Instead::Inside:
      break;
  }
  return line_inside(launcher.name, arguments);
}

/// --nnodes 2, --nnodes=$N, --num-machines 2. One node is what they take without it.
bool tells_of_nodes(Strings words, std::string_view option) {
  for (std::size_t i = 0; i < words.size() && !option.empty(); ++i) {
    std::string word = words[i].substr(0, words[i].find('='));
    std::replace(word.begin(), word.end(), '-', '_');
    if (word != "__" + std::string(option)) {
      continue;
    }
    const bool is_joined = word.size() < words[i].size();
    const std::string value = is_joined              ? words[i].substr(word.size() + 1)
                              : i + 1 < words.size() ? words[i + 1]
                                                     : "";
    return value != "1" && value != "1:1";
  }
  return false;
}

/// It prints something, and starts nothing.
bool asks_for_text(Strings words) {
  return std::any_of(words.begin(), words.end(), [](const std::string& word) {
    return word == "--help" || word == "-h" || word == "--version" || word == "-V";
  });
}

/// A redirection of the shell's, as far as that can be seen: ">", "2>&1", ">>log".
bool is_redirection(const std::string& word) {
  return word.find_first_of("<>") == word.find_first_not_of("0123456789&");
}

std::string quoted(const std::string& word) {
  const bool is_plain = !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
    constexpr std::string_view kSigns = "%+,-./:=@_{}";
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           kSigns.find(c) != std::string_view::npos;
  });
  return is_plain || is_redirection(word) ? word : '"' + word + '"';
}

}  // namespace

std::optional<LineInstead> line_instead_of(std::string_view name, Strings arguments) {
  const auto at = std::find_if(kLaunchers.begin(), kLaunchers.end(), [&](const auto& one) {
    return one.name == name &&
           (one.command.empty() || (!arguments.empty() && arguments.front() == one.command));
  });
  if (at == kLaunchers.end()) {
    return std::nullopt;
  }
  const Strings own = arguments.subspan(at->command.empty() ? 0 : 1);
  if (asks_for_text(own.first(find_script(own)))) {
    return std::nullopt;
  }
  LineInstead instead{line_of(*at, own), "", false, std::string(at->nodes_variable)};
  instead.knows_nodes = tells_of_nodes(own.first(find_script(own)), at->nodes_option);
  if (at->instead == Instead::Inside) {  // it reaches the other nodes itself
    instead.on_nodes = "'" + instead.line + "' on one node, with all hosts";
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
    if (name.starts_with(start) &&
        name.find_first_not_of("0123456789.", start.size()) == std::string_view::npos) {
      return true;
    }
  }
  return false;
}

std::string_view base_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

}  // namespace muster

// Lists the options of `colossalai run`, of ColossalAI 0.5, and what each becomes.
// Facts: colossalai/cli/launcher/__init__.py.
#include "base/lists.hpp"
#include "base/text.hpp"
#include "compat/compat_launcher.hpp"
#include "compat/host_placing.hpp"
#include "compat/tokens.hpp"

#include <algorithm>
#include <array>
#include <limits>

namespace muster {
namespace {

using enum OptionSupport;

constexpr const char* kHostOptions =
    "muster starts one agent on each of these hosts, through ssh. If a platform already starts muster on as many nodes "
    "as the list has hosts, muster ignores the list.";

constexpr CompatOption naming_program(CompatOption row) {
  row.has_one_dash = true;
  row.names_program = true;
  return row;
}

constexpr auto kColossalaiOptions = std::to_array<CompatOption>({
    option("host", 'H', "HOSTS", Same, kHostOptions),
    behind_one_dash(option("host", '\0', "HOSTS", Same, "Does the same as --host."), "host"),
    option("hostfile", '\0', "FILE", Better,
           "Each line of the file has one host. muster starts one agent on each of these hosts, through ssh. If a "
           "platform already starts muster on as many nodes as the file has hosts, muster ignores the file."),
    option("include", '\0', "HOSTS", Same, "The job uses only these hosts of the hostfile, in the order of this list."),
    option("exclude", '\0', "HOSTS", Same, "The job uses all hosts of the hostfile except these."),
    option("num_nodes", '\0', "N", Same, "The job uses only the first N hosts of the hostfile."),
    option("nproc_per_node", '\0', "N", Better,
           "Number of workers on each node. Without this option, muster starts one worker for each accelerator."),
    option("master_addr", '\0', "HOST", Same,
           "Where the nodes meet. Without this option, they meet at the first host."),
    option("master_port", '\0', "PORT", Same, "Where the workers meet."),
    option("extra_launch_args", '\0', "NAME=VALUE,...", Same,
           "Options of torchrun. They take precedence over the options above."),
    option("ssh-port", '\0', "PORT", Same, "Does the same as --remote-shell 'ssh -p PORT'."),
    naming_program(option("m", 'm', "MODULE", Same, "muster runs this Python module.")),
});

}  // namespace

std::span<const CompatOption> colossalai_options() {
  return kColossalaiOptions;
}

// Translates the options of `colossalai run`: the hosts, and torchrun options for each of them.
// Facts: colossalai/cli/launcher/run.py of ColossalAI 0.5.

namespace {

constexpr const char* kRun = "colossalai run";
constexpr const char* kNoAddress = "127.0.0.1";  ///< the option's default, which stands for the first host

/// Keeps the named hosts, in the order of their names; with `is_exclusion`, all hosts but those.
Result<> choose(HostList& list, const Sourced<std::string>& names, bool is_exclusion) {
  std::vector<ListedHost> chosen;
  for (const std::string& name : split(names.value, ',')) {
    const auto at = std::ranges::find_if(list.entries, [&](const ListedHost& one) { return one.host == name; });
    if (at == list.entries.end()) {
      return wrong_value(names, "hosts of " + list.source.name + ", and '" + name + "' is not one of them");
    }
    chosen.push_back(*at);
    if (is_exclusion) {
      list.entries.erase(at);
    }
  }
  if (!is_exclusion) {
    list.entries = std::move(chosen);
  }
  return list.entries.empty() ? wrong_value(names, "a host that is left") : Result<>();
}

/// Keeps the first --num_nodes hosts of the file; -1, the default, keeps all.
Result<> count_nodes(const Translation& t, HostList& list) {
  const auto wanted = t.find("num-nodes");
  const int nodes = wanted ? TRY(read_integer(*wanted, -1, std::numeric_limits<int>::max(), "a number of nodes")) : -1;
  if (nodes > 0 && static_cast<std::size_t>(nodes) < list.entries.size()) {
    list.entries.resize(static_cast<std::size_t>(nodes));
  }
  return {};
}

Result<HostList> read_file(const Translation& t, const Sourced<std::string>& file) {
  const auto text = t.read_text(file.value);
  if (!text) {
    return wrong_value(file, "a file with a host on each line that can be read");
  }
  auto list = hosts_of_file({*text, file.source}, 0);
  const auto included = t.find("include");
  const auto excluded = t.find("exclude");
  if (!list || (included && excluded)) {
    return list ? contradiction(*included, *excluded) : list.error();
  }
  for (const auto& names : {included, excluded}) {
    TRY(names ? choose(*list, *names, names == excluded) : Result<>());
  }
  TRY(count_nodes(t, *list));
  return list;
}

Result<HostList> read_hosts(Translation& t) {
  const auto file = t.find("hostfile");
  const auto hosts = t.find("host");
  if (file) {
    return hosts ? contradiction(*hosts, *file) : read_file(t, *file);
  }
  for (const char* const name : {"include", "exclude", "num-nodes"}) {
    t.ignore(name, name, "there is no --hostfile");
  }
  if (!hosts) {
    return HostList();
  }
  const auto open = [](const std::string& host) { return ListedHost{host, 0, true}; };
  HostList list{mapped(split(trim(hosts->value), ','), open), hosts->source};
  const bool is_list = std::ranges::none_of(list.entries, [](const auto& one) { return one.host.empty(); });
  return is_list ? Result<HostList>(std::move(list)) : wrong_value(*hosts, "hosts such as a,b");
}

/// Reads --extra_launch_args as options of torchrun: "a=1,b" is "--a=1 --b".
Result<Given> read_extra(const Translation& t) {
  const auto extra = t.find("extra-launch-args");
  if (!extra) {
    return Given();
  }
  const auto words = mapped(split(extra->value, ','), [](const std::string& word) {
    return "--" + (word.ends_with('=') ? word.substr(0, word.size() - 1) : word);
  });
  auto read = TRY(
      read_words_of(*find_compat("torchrun"), *extra, words, "options of torchrun such as standalone,max_restarts=3"));
  return std::move(read.given);
}

/// Puts a module's name in front of its arguments. Fails if a script's name does not end with .py.
Result<> check_script(Translation& t) {
  std::vector<std::string>& program = t.line.program;
  const auto module = t.find("m");
  if (module) {
    program.insert(program.begin(), module->value);
  }
  const bool is_script = !program.empty() && program.front().ends_with(".py");
  if (program.empty() || is_script != module.has_value()) {
    return {};
  }
  return module ? wrong_value(*module, "the name of a module, and no file")
                : Error{ErrorKind::BadUsage,
                        "the script is '" + program.front() + "', expected one that ends with .py, or -m MODULE"};
}

/// The options for torchrun.
Result<Given> torchrun_options_of(const Translation& t, const HostList& hosts, Placed placed) {
  auto given = TRY(read_extra(t));
  for (const char* const name : {"nproc-per-node", "master-addr", "master-port"}) {
    const auto value = t.find(name);
    const bool is_default = value && value->value == kNoAddress && placed != Placed::Here;
    if (value && !is_default) {
      given.try_emplace(name, *value);
    }
  }
  if (placed == Placed::OnList) {
    given.try_emplace("nnodes", Sourced<std::string>{std::to_string(hosts.entries.size()), hosts.source});
  }
  if (const auto module = t.find("m")) {
    given.try_emplace("module", Sourced<std::string>{"1", module->source});
  }
  return given;
}

}  // namespace

Result<> translate_colossalai(Translation& t) {
  TRY(check_script(t));
  const auto hosts = TRY(read_hosts(t));
  const auto placed = TRY(place_on_hosts(t, {{}, {}, hosts, {}}));
  set_ssh(t, t.find("ssh-port"));
  auto given = TRY(torchrun_options_of(t, hosts, placed));
  const bool is_counted = given.contains("nproc-per-node");
  TRY(translate_as(*find_compat("torchrun"), t, {.given = std::move(given)}));
  if (!is_counted) {
    t.set("nproc-per-node", {"auto", default_of(kRun)});
  }
  return {};
}

}  // namespace muster

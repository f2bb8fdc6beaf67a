// What the options of horovodrun mean together: how many ranks on which hosts, and what they find.
// Facts: horovod/runner/launch.py and gloo_run.py of Horovod 0.28.
#include "compat/host_placing.hpp"
#include "compat/leftovers.hpp"
#include "compat/tokens.hpp"
#include "compat/horovodrun_configuration.hpp"
#include "compat/mpi_line.hpp"
#include "compat/tuning.hpp"

#include "base/text.hpp"
#include "options/syntax.hpp"

#include <algorithm>
#include <cctype>
#include <limits>

namespace muster {
namespace {

constexpr const char* kRun = "horovodrun";
constexpr const char* kStartTimeout = "HOROVOD_START_TIMEOUT";

/// Of each pair one can be given.
Result<> check_pairs(const Translation& t) {
  for (const auto& [one, other] : {std::pair("hosts", "hostfile"), std::pair("gloo", "mpi")}) {
    const auto first = t.find(one);
    const auto second = t.find(other);
    if (first && second) {
      return contradiction(*first, *second);
    }
  }
  return {};
}

Result<> check_count(const Translation& t) {
  const auto count = t.find("num-proc");
  return !count || parse_integer(count->value, 1, std::numeric_limits<int>::max())
             ? Result<>()
             : wrong_value(*count, "a number of processes of at least 1");
}

Result<HostList> read_hosts(const Translation& t) {
  const auto hosts = t.find("hosts");
  HostList list;
  if (!hosts) {
    return list;
  }
  list.source = hosts->source;
  const auto added = add_hosts(list, *hosts);
  return added ? Result<HostList>(std::move(list)) : added.error();
}

void add_once(std::vector<std::string>& all, const std::string& name) {
  if (std::find(all.begin(), all.end(), name) == all.end()) {
    all.push_back(name);
  }
}

/// All interfaces that are named, each once, in their order.
std::vector<std::string> interfaces_of(const Translation& t) {
  std::vector<std::string> all;
  for (const TypedOption& typed : t.typed) {
    if (typed.name != "network-interfaces") {
      continue;
    }
    for (const std::string& name : split(typed.values.front(), ',')) {
      add_once(all, name);
    }
  }
  return all;
}

void export_interfaces(Translation& t) {
  const std::vector<std::string> interfaces = interfaces_of(t);
  if (interfaces.empty()) {
    return;
  }
  const Source source = t.given.at("network-interfaces").source;
  t.export_variable("NCCL_SOCKET_IFNAME", {join(interfaces, ","), source});
  if (t.is_on("mpi")) {
    t.export_variable("OMPI_MCA_btl_tcp_if_include", {join(interfaces, ","), source});
  } else {
    t.export_variable("HOROVOD_GLOO_IFACE", {interfaces.front(), source});
  }
}

void translate_start(Translation& t) {
  const auto seconds = sourced_variable(t.snapshot, kStartTimeout);
  if (seconds && !seconds->value.empty() && !t.settings.contains("gang-timeout")) {
    t.set("gang-timeout", *seconds);
  }
  t.set("no-python", {"1", default_of(kRun)});
}

bool is_variable_name(std::string_view name) {
  return !name.empty() && std::isdigit(static_cast<unsigned char>(name.front())) == 0 &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) {
           return std::isalnum(c) != 0 || c == '_';
         });
}

/// The original starts ranks by `env`, which takes "NAME=value" in front of the program for a variable of it.
void take_assignments(Translation& t) {
  std::vector<std::string>& program = t.line.program;
  const auto is_assignment = [](const std::string& word) {
    const std::string name = word.substr(0, word.find('='));
    return name != word && is_variable_name(name);
  };
  const auto first = std::find_if_not(program.begin(), program.end(), is_assignment);
  for (auto word = program.begin(); word != first; ++word) {
    const std::size_t equals = word->find('=');
    t.export_variable(word->substr(0, equals),
                      {word->substr(equals + 1), from_flag(word->substr(0, equals))});
  }
  program.erase(program.begin(), first);
}

/// By gloo, whose ranks muster starts itself.
Result<> translate_gloo(Translation& t) {
  for (const char* const name : {"mpi-args", "binding-args"}) {
    t.ignore(name, name, "it is of --mpi, and ranks meet through gloo without that");
  }
  const auto hosts = read_hosts(t);
  if (!hosts) {
    return hosts.error();
  }
  const auto count = t.find("num-proc");
  const auto placed = place_on_hosts(t, {count, {}, *hosts, t.find("hostfile")});
  if (!placed) {
    return placed.error();
  }
  if (!count && *placed != Placed::OnList && !t.settings.contains("nproc-per-node")) {
    t.set("nproc-per-node", {"auto", default_of(kRun)});
  }
  return {};
}

}  // namespace

Result<> translate_horovodrun(Translation& t) {
  if (auto taken = horovodrun::take_configuration(t); !taken) {
    return taken;
  }
  for (const auto check : {check_pairs, check_count}) {
    if (auto checked = check(t); !checked) {
      return checked;
    }
  }
  if (auto exported = horovodrun::export_tuning(t); !exported) {
    return exported;
  }
  export_interfaces(t);
  set_ssh(t, t.find("ssh-port"), t.find("ssh-identity-file"));
  translate_start(t);
  take_assignments(t);
  const auto mpi = t.find("mpi");
  if (auto translated = mpi ? horovodrun::translate_mpi(t, *mpi) : translate_gloo(t); !translated) {
    return translated;
  }
  if (!t.settings.contains("hosts") && !t.settings.contains("hostfile")) {
    leave_out_leftovers(t, false);
  }
  return {};
}

}  // namespace muster

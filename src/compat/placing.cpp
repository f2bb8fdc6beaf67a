// How many processes of mpirun's there are, and on which hosts.
#include "compat/placing.hpp"

#include "compat/host_placing.hpp"
#include "compat/mapping.hpp"
#include "compat/meaning.hpp"

#include "base/text.hpp"
#include "modes/mpi_request.hpp"

#include <algorithm>
#include <array>

namespace muster {
namespace {

using Text = Sourced<std::string>;

constexpr int kMostProcesses = 10'000'000;

/// The later one of several wins, as for mpirun.
std::optional<Text> last_typed(const Translation& t, std::span<const std::string_view> names) {
  for (auto typed = t.typed.rbegin(); typed != t.typed.rend(); ++typed) {
    if (std::find(names.begin(), names.end(), typed->name) != names.end()) {
      return Text{typed->values.empty() ? "1" : typed->values.back(), from_flag(typed->source)};
    }
  }
  return std::nullopt;
}

std::optional<Text> find_per_node(const Translation& t) {
  static constexpr std::array<std::string_view, 3> kNames = {"npernode", "N", "pernode"};
  if (auto given = last_typed(t, kNames)) {
    return given;
  }
  for (const TypedOption& typed : t.typed) {
    const Mapping mapping = typed.name == "map-by" ? read_mapping(typed.values.front()) : Mapping();
    if (mapping.per_node) {
      return Text{std::to_string(*mapping.per_node), from_flag(typed.source)};
    }
  }
  return std::nullopt;
}

/// Where the MPI Operator and others say it to mpirun of Open MPI, of Intel's MPI and of MPICH.
constexpr std::array<const char*, 4> kHostfiles = {"OMPI_MCA_orte_default_hostfile",
                                                   "PRTE_MCA_prte_default_hostfile",
                                                   "I_MPI_HYDRA_HOST_FILE",
                                                   "HYDRA_HOST_FILE"};
constexpr std::array<const char*, 4> kShellWords = {"OMPI_MCA_plm_rsh_args",
                                                    "PRTE_MCA_plm_ssh_args",
                                                    "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS",
                                                    "HYDRA_LAUNCH_EXTRA_ARGS"};

std::optional<Text> first_variable(const Translation& t, std::span<const char* const> names) {
  for (const char* const name : names) {
    const auto value = t.snapshot.variable(name);
    if (value && !value->empty()) {
      return Text{*value, from_variable(name)};
    }
  }
  return std::nullopt;
}

/// A hostfile as option, as parameter, or as the variable of the parameter.
std::optional<Text> find_hostfile(const Translation& t) {
  static constexpr std::array<std::string_view, 3> kNames = {
      "hostfile", "machinefile", "default-hostfile"};
  if (auto given = last_typed(t, kNames)) {
    return given;
  }
  for (const TypedOption& typed : t.typed) {
    if (typed.values.size() == 2 && is_hostfile_parameter(typed.values.front())) {
      return Text{typed.values.back(), from_flag(typed.source + " " + typed.values.front())};
    }
  }
  return first_variable(t, kHostfiles);
}

Result<HostList> read_hosts(const Translation& t) {
  HostList hosts;
  for (const TypedOption& typed : t.typed) {
    if (typed.name != "host") {
      continue;
    }
    hosts.source = from_flag(typed.source);
    if (auto added = add_hosts(hosts, {typed.values.front(), hosts.source}); !added) {
      return added.error();
    }
  }
  return hosts;
}

struct Counts {
  std::optional<Text> all;
  std::optional<Text> per_node;
};

int number_of(const Text& count) {
  return parse_integer(count.value, 1, kMostProcesses).value_or(1);
}

/// Of options that say how many there are on what only the machine knows.
bool needs_count(const TypedOption& typed) {
  return typed.name == "ppr" || typed.name == "npersocket" || typed.name == "rankfile" ||
         typed.name == "rf" ||
         (typed.name == "map-by" && read_mapping(typed.values.front()).counts_objects);
}

/// Whether there is a number of processes where muster needs one.
Result<> check_counts(const Translation& t, const Counts& counts, int others) {
  if (!counts.all && others > 0) {
    return Error{ErrorKind::BadUsage,
                 "the first program has no number of processes, expected -np N for each program "
                 "where there are several"};
  }
  const auto one = std::find_if(t.typed.begin(), t.typed.end(), needs_count);
  return counts.all || one == t.typed.end()
             ? Result<>()
             : Error{ErrorKind::BadUsage,
                     one->source +
                         " needs -np beside it: muster does not see how many ranks it makes"};
}

/// mpirun is told of its first program, everybody else of all of them.
void count_others(Translation& t, Counts& counts, int others) {
  const TypedOption* const placing = counts.per_node ? nullptr : find_own_placing(t);
  if (placing != nullptr) {
    t.set(kDealtByMpirun, {"1", from_flag(placing->source)});
  }
  if (counts.all && (placing != nullptr || others > 0)) {
    t.set(kMpirunProcesses, *counts.all);
    counts.all->value = std::to_string(number_of(*counts.all) + others);
  }
}

Result<Counts> read_counts(const Translation& t) {
  static constexpr std::array<std::string_view, 2> kNames = {"np", "n"};
  Counts counts{last_typed(t, kNames), find_per_node(t)};
  for (const auto& count : {counts.all, counts.per_node}) {
    if (count && !parse_integer(count->value, 1, kMostProcesses)) {
      return wrong_value(*count, "a number of processes of at least 1");
    }
  }
  return counts;
}

/// mpirun's words for ssh go along with it.
void translate_shell(Translation& t) {
  const auto words = first_variable(t, kShellWords);
  if (words && !t.line.settings.has("remote-shell")) {
    t.set("remote-shell", {"ssh " + words->value, words->source});
  }
}

}  // namespace

bool is_hostfile_parameter(std::string_view name) {
  return name == "orte_default_hostfile" || name == "prte_default_hostfile";
}

Result<> translate_placing(Translation& t, int others) {
  auto counts = read_counts(t);
  const auto hosts = read_hosts(t);
  if (!counts || !hosts) {
    return counts ? hosts.error() : counts.error();
  }
  if (auto checked = check_counts(t, *counts, others); !checked) {
    return checked;
  }
  count_others(t, *counts, others);
  const auto placed = place_on_hosts(
      t, {counts->all, counts->per_node, *hosts, find_hostfile(t), find_oversubscription(t)});
  if (!placed) {
    return placed.error();
  }
  if (*placed == Placed::OnList) {
    translate_shell(t);
  } else if (*placed == Placed::Here && !t.given.contains("stdin")) {
    t.set("stdin", {"0", default_of("mpirun")});
  }
  return {};
}

}  // namespace muster

// Translates mpirun's mapping, its single options, and its counts and hosts.
#include "base/lists.hpp"
#include "base/text.hpp"
#include "compat/host_placing.hpp"
#include "compat/mpirun.hpp"
#include "compat/stale_variables.hpp"
#include "modes/mpi_request.hpp"
#include "options/syntax.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <vector>

namespace muster {
namespace {

struct Mapping {
  std::optional<int> per_node;     ///< the number in "ppr:2:node"
  bool counts_objects = false;     ///< "ppr:2:socket": the number depends on the machine
  bool may_oversubscribe = false;  ///< ":OVERSUBSCRIBE"
  bool is_own = false;             ///< muster places its own ranks in the same way
};

constexpr std::size_t kWordsOfCount = 3;  ///< "ppr", "2" and "node"

/// The modifiers behind the policy, separated by colons and commas.
std::vector<std::string> modifiers_of(const std::vector<std::string>& words, std::size_t first) {
  std::vector<std::string> modifiers;
  for (std::size_t i = first; i < words.size(); ++i) {
    const std::vector<std::string> some = split(words[i], ',');
    modifiers.insert(modifiers.end(), some.begin(), some.end());
  }
  return modifiers;
}

/// Reads "socket", "slot:PE=2", "ppr:2:node:OVERSUBSCRIBE", ":OVERSUBSCRIBE", in upper or lower case.
/// Source: Open MPI 4.1, orte/mca/rmaps/base/rmaps_base_frame.c; PRRTE 3, src/mca/rmaps/base.
Mapping read_mapping(std::string_view text) {
  Mapping mapping;
  const std::vector<std::string> words = split(lower_case(std::string(text)), ':');
  const bool is_count = words.size() >= kWordsOfCount && words[0] == "ppr";
  if (is_count && words[2] == "node") {
    mapping.per_node = parse_integer(words[1], 1, kMostProcesses);
  }
  mapping.counts_objects = is_count && !mapping.per_node;
  const auto modifiers = modifiers_of(words, is_count ? kWordsOfCount : 1);
  mapping.may_oversubscribe = contains(modifiers, "oversubscribe");
  const bool is_by_slot = words.empty() || words[0].empty() || words[0] == "slot";
  mapping.is_own = (is_by_slot || mapping.per_node) && std::ranges::all_of(modifiers, [](const std::string& modifier) {
                     return modifier == "oversubscribe" || modifier == "nooversubscribe";
                   });
  return mapping;
}

// Translates each option of mpirun into settings and words for mpirun.

/// A value of an option that muster implements, and the setting for it; nullptr: none is needed.
struct OwnSetting {
  std::string_view option;
  std::string_view value;
  const char* setting = nullptr;
  const char* its_value = nullptr;
};

constexpr auto kOwnValues = std::to_array<OwnSetting>({
    {"bind-to", "none"},
    {"bind-to", "core", "numa-binding", "exclusive"},
    {"bind-to", "numa", "numa-binding", "node"},
    {"bind-to", "socket", "numa-binding", "socket"},
    {"bind-to", "l3cache", "numa-binding", "core-complex"},
    {"rank-by", "slot"},
});

/// Old names of options. mpirun refuses them if the environment sets something else.
/// Source: Open MPI 4.1, "mpirun(1)".
constexpr std::pair<std::string_view, const char*> kOldNames[] = {
    {"bind-to-core", "core"},
    {"bind-to-socket", "socket"},
};

/// Options that decide, in addition to --map-by, which slots are filled.
constexpr auto kPlacing = std::to_array<std::string_view>(
    {"bynode", "bycore", "npersocket", "ppr", "rankfile", "rf", "cpus-per-proc", "cpus-per-rank"});

/// Parameters with the remote shell, and with its arguments.
/// Source: orte/mca/plm/rsh of Open MPI 4.1, and prte's plm/ssh.
constexpr auto kAgentParameters = std::to_array<std::string_view>({"plm_rsh_agent", "pls_rsh_agent", "plm_ssh_agent"});
constexpr auto kShellParameters = std::to_array<std::string_view>({"plm_rsh_args", "plm_ssh_args"});

constexpr const char* kDaemons = ": muster itself decides how daemons start";

constexpr std::string_view kMappingParameter = "rmaps_base_mapping_policy";
constexpr std::string_view kOversubscribeParameter = "rmaps_base_oversubscribe";

/// True for "orte_default_hostfile" and its name in Open MPI 5.
bool is_hostfile_parameter(std::string_view name) {
  return name == "orte_default_hostfile" || name == "prte_default_hostfile";
}

/// True for options of which muster implements only some values.
bool has_own_values(const std::string& name) {
  return std::ranges::any_of(kOwnValues, [&](const OwnSetting& own) { return name == own.option; });
}

Sourced<std::string> last_of(const TypedOption& typed) {
  return {typed.values.empty() ? "1" : typed.values.back(), from_flag(typed.source)};
}

/// Result of one option: whether mpirun gets it, and whether only mpirun can do it.
struct OptionMeaning {
  bool is_passed = false;
  bool is_only_mpirun = false;
};

/// True for parameters about the start of daemons: muster starts them.
bool is_of_daemons(std::string_view name) {
  return name.starts_with("plm") || name == "orte_launch_agent" || name == "prte_launch_agent";
}

/// Translates "--mca btl self": a variable for ranks that muster starts, and the option for mpirun.
OptionMeaning translate_parameter(Translation& t, const TypedOption& typed) {
  const std::string& name = typed.values.front();
  const Source source = from_flag(typed.source + " " + name);
  if (contains(kShellParameters, name) || contains(kAgentParameters, name)) {
    return {};  // see translate_shell
  }
  if (is_of_daemons(name)) {
    t.line.notices.push_back("ignoring " + source.name + kDaemons);
    return {};
  }
  if (is_hostfile_parameter(name)) {
    return {};  // it only lists the hosts
  }
  const bool is_mpiruns_own = typed.name == "prtemca" || name.starts_with("hwloc_") ||
                              (name.starts_with("rmaps_") && name != kOversubscribeParameter);
  if (is_mpiruns_own) {
    return {true, true};
  }
  t.export_variable((typed.name == "pmixmca" ? "PMIX_MCA_" : "OMPI_MCA_") + name, {typed.values.back(), source});
  return {true, false};
}

/// Exports a variable: "-x NAME" takes its value from this environment.
OptionMeaning translate_variable(Translation& t, const TypedOption& typed) {
  const std::string& text = typed.values.front();
  const std::size_t equals = text.find('=');
  const std::string name = text.substr(0, equals);
  const Source source = from_flag(typed.source + " " + name);
  const auto value = equals == std::string::npos ? t.snapshot.variable(name) : std::optional(text.substr(equals + 1));
  if (value && !name.empty()) {
    t.export_variable(name, {*value, source});
  } else {
    t.line.notices.push_back("ignoring " + source.name + ": there is no such variable here");
  }
  return {};
}

/// Makes a directory absolute: a relative one is relative to where mpirun is started.
std::string whole_folder(const Translation& t, const TypedOption& typed) {
  const std::filesystem::path here(t.snapshot.working_directory);
  return (here / typed.values.front()).lexically_normal().string();
}

bool is_folder(const TypedOption& typed) {
  return typed.name == "wdir" || typed.name == "wd";
}

/// Translates options whose value decides how they are handled.
OptionMeaning translate_value(Translation& t, const TypedOption& typed) {
  const auto* const own = std::find_if(std::begin(kOwnValues), std::end(kOwnValues), [&](const OwnSetting& one) {
    return typed.name == one.option && typed.values.front() == one.value;
  });
  if (own == std::end(kOwnValues)) {
    return {true, true};
  }
  if (own->setting != nullptr) {
    t.set(own->setting, {own->its_value, from_flag(typed.source)});
  }
  return {true, false};
}

OptionMeaning meaning_of(Translation& t, const TypedOption& typed) {
  if (typed.name == "x") {
    return translate_variable(t, typed);
  }
  if (typed.name == "mca" || typed.name == "gmca" || typed.name == "pmixmca" || typed.name == "prtemca") {
    return translate_parameter(t, typed);
  }
  if (typed.name == "map-by") {
    const Mapping mapping = read_mapping(typed.values.front());
    return {!mapping.is_own || !mapping.per_node, !mapping.is_own};  // without mpirun if the slots express the same
  }
  if (is_folder(typed)) {
    t.set(kProgramFolder, {whole_folder(t, typed), from_flag(typed.source)});
  }
  if (has_own_values(typed.name)) {
    return translate_value(t, typed);
  }
  if (typed.name == "stdin") {
    const Sourced<std::string> who = last_of(typed);
    if (who.value == "none" || parse_integer(who.value, 0, 10'000'000)) {
      t.set("stdin", who);
    }
    return {true, who.value == "all"};
  }
  if (typed.name == "output-filename") {
    const Sourced<std::string> folder = last_of(typed);
    t.set("log-dir", {folder.value.substr(0, folder.value.find(':')), folder.source});
  }
  return {typed.option->is_passed, typed.option->support == OptionSupport::Passed};
}

/// The option as it was typed, with old names replaced and the directory absolute.
std::vector<std::string> as_words(const Translation& t, const TypedOption& typed) {
  const auto* const old = std::find_if(std::begin(kOldNames), std::end(kOldNames),
                                       [&](const auto& one) { return typed.name == one.first; });
  if (old != std::end(kOldNames)) {
    return {"--bind-to", old->second};
  }
  if (is_folder(typed)) {
    return {typed.source, whole_folder(t, typed)};
  }
  std::vector<std::string> words{typed.source};
  words.insert(words.end(), typed.values.begin(), typed.values.end());
  return words;
}

bool is_parameter(const TypedOption& typed, std::string_view name) {
  return typed.values.size() == 2 && typed.values.front() == name;
}

bool places(const TypedOption& typed) {
  if (typed.name == "map-by" || is_parameter(typed, kMappingParameter)) {
    const Mapping mapping = read_mapping(typed.values.back());
    return !mapping.is_own && !mapping.per_node;
  }
  return contains(kPlacing, typed.name);
}

bool may_oversubscribe(const TypedOption& typed) {
  if (typed.name == "map-by" || is_parameter(typed, kMappingParameter)) {
    return read_mapping(typed.values.back()).may_oversubscribe;
  }
  const bool is_parameter_on = is_parameter(typed, kOversubscribeParameter) &&
                               (typed.values.back() == "1" || lower_case(typed.values.back()) == "true");
  return typed.name == "oversubscribe" || is_parameter_on;
}

}  // namespace

std::vector<std::string> mpirun_words_of(Translation& t, const TypedOption& typed) {
  const OptionMeaning meaning = meaning_of(t, typed);
  if (meaning.is_only_mpirun && !t.settings.contains(kOnlyMpirun)) {
    t.set(kOnlyMpirun, {typed.source, from_flag(typed.source)});
  }
  return meaning.is_passed ? as_words(t, typed) : std::vector<std::string>();
}

namespace {

/// The given option, if any, that allows more processes than slots.
std::optional<Sourced<std::string>> find_oversubscription(const Translation& t) {
  const auto one = std::ranges::find_if(t.typed, may_oversubscribe);
  if (one != t.typed.end()) {
    return Sourced<std::string>{"1", from_flag(one->source)};
  }
  for (const char* const name : {"OMPI_MCA_rmaps_base_mapping_policy", "PRTE_MCA_rmaps_default_mapping_policy"}) {
    if (read_mapping(t.snapshot.variable(name).value_or("")).may_oversubscribe) {
      return Sourced<std::string>{"1", from_variable(name)};
    }
  }
  constexpr const char* kVariable = "OMPI_MCA_rmaps_base_oversubscribe";
  const bool is_on = parse_boolean(t.snapshot.variable(kVariable).value_or("0")).value_or(false);
  return is_on ? std::optional(Sourced<std::string>{"1", from_variable(kVariable)}) : std::nullopt;
}

/// The option, if one is given, by which mpirun fills the slots in a way that muster does not have.
const TypedOption* find_own_placing(const Translation& t) {
  return first_of(t.typed, places);
}

// Reads the number of mpirun's processes and their hosts.

using Text = Sourced<std::string>;

/// The last value of these options, which wins as for mpirun.
std::optional<Text> last_typed(const Translation& t, std::span<const std::string_view> names) {
  for (auto typed = t.typed.rbegin(); typed != t.typed.rend(); ++typed) {
    if (contains(names, typed->name)) {
      return last_of(*typed);
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

/// Variables by which the MPI Operator and others pass a hostfile to mpirun of Open MPI, of Intel's MPI and of MPICH.
constexpr std::array<const char*, 4> kHostfiles = {"OMPI_MCA_orte_default_hostfile", "PRTE_MCA_prte_default_hostfile",
                                                   "I_MPI_HYDRA_HOST_FILE", "HYDRA_HOST_FILE"};
constexpr std::array<const char*, 4> kShellWords = {"OMPI_MCA_plm_rsh_args", "PRTE_MCA_plm_ssh_args",
                                                    "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS", "HYDRA_LAUNCH_EXTRA_ARGS"};
constexpr std::array<const char*, 4> kAgents = {"OMPI_MCA_plm_rsh_agent", "PRTE_MCA_plm_ssh_agent",
                                                "I_MPI_HYDRA_BOOTSTRAP_EXEC", "HYDRA_LAUNCHER_EXEC"};

std::optional<Text> first_variable(const Translation& t, std::span<const char* const> names) {
  for (const char* const name : names) {
    if (auto value = find_given(t.snapshot, name)) {
      return value;
    }
  }
  return std::nullopt;
}

/// The hostfile of an option, a parameter, or the parameter's variable.
std::optional<Text> find_hostfile(const Translation& t) {
  static constexpr std::array<std::string_view, 3> kNames = {"hostfile", "machinefile", "default-hostfile"};
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
    TRY(add_hosts(hosts, {typed.values.front(), hosts.source}));
  }
  return hosts;
}

struct Counts {
  std::optional<Text> all;
  std::optional<Text> per_node;
};

/// True for options whose number of processes depends on the machine.
bool needs_count(const TypedOption& typed) {
  return typed.name == "ppr" || typed.name == "npersocket" || typed.name == "rankfile" || typed.name == "rf" ||
         (typed.name == "map-by" && read_mapping(typed.values.front()).counts_objects);
}

/// Fails if the number of processes is missing where muster needs it.
Result<> check_counts(const Translation& t, const Counts& counts, int others) {
  if (!counts.all && others > 0) {
    return Error{ErrorKind::BadUsage,
                 "the first program has no number of processes, expected -np N for each program "
                 "where there are several"};
  }
  const auto one = std::ranges::find_if(t.typed, needs_count);
  return counts.all || one == t.typed.end()
             ? Result<>()
             : Error{ErrorKind::BadUsage,
                     one->source + " needs -np as well: muster does not see how many ranks it makes"};
}

Result<Counts> read_counts(const Translation& t) {
  static constexpr std::array<std::string_view, 2> kNames = {"np", "n"};
  Counts counts{last_typed(t, kNames), find_per_node(t)};
  for (const auto& count : {counts.all, counts.per_node}) {
    TRY(count ? read_integer(*count, 1, kMostProcesses, "a number of processes of at least 1") : Result<int>(0));
  }
  return counts;
}

/// The value of these parameters: the last one on the line, otherwise a variable's.
std::optional<Text> find_parameter(const Translation& t, std::span<const std::string_view> names,
                                   std::span<const char* const> variables) {
  for (auto typed = t.typed.rbegin(); typed != t.typed.rend(); ++typed) {
    if (typed->values.size() == 2 && contains(names, typed->values.front())) {
      return Text{typed->values.back(), from_flag(typed->source + " " + typed->values.front())};
    }
  }
  return first_variable(t, variables);
}

/// Takes mpirun's remote shell and its arguments. From "ssh : rsh" takes the first one, where mpirun takes the first
/// that is installed.
void translate_shell(Translation& t) {
  const auto agent = find_parameter(t, kAgentParameters, kAgents);
  const auto words = find_parameter(t, kShellParameters, kShellWords);
  if (agent || words) {
    const std::string shell(agent ? trim(agent->value.substr(0, agent->value.find(':'))) : "ssh");
    set_remote_shell(t, {shell + (words ? " " + words->value : ""), (words ? words : agent)->source});
  }
}

/// Adds notices about variables for parameters that are ignored on the line, too.
void ignore_daemon_variables(Translation& t) {
  for (const auto& [variable, value] : t.snapshot.variables) {
    const std::string_view name(variable);
    const bool is_parameter = name.starts_with("OMPI_MCA_") || name.starts_with("PRTE_MCA_");
    const bool is_used = contains(kShellWords, name) || contains(kAgents, name);
    if (is_parameter && !is_used && is_of_daemons(name.substr(std::string_view("OMPI_MCA_").size()))) {
      t.line.notices.push_back("ignoring " + variable + kDaemons);
    }
  }
}

/// Adds notices about parameters of a remote shell if none is needed.
void ignore_shell(Translation& t) {
  for (const TypedOption& typed : t.typed) {
    const bool is_one = typed.values.size() == 2 && (contains(kAgentParameters, typed.values.front()) ||
                                                     contains(kShellParameters, typed.values.front()));
    if (is_one) {
      t.line.notices.push_back("ignoring " + typed.source + " " + typed.values.front() +
                               ": muster starts no other host");
    }
  }
}

}  // namespace

Result<> translate_placing(Translation& t, int others) {
  auto counts = TRY(read_counts(t));
  const auto hosts = TRY(read_hosts(t));
  TRY(check_counts(t, counts, others));
  ignore_daemon_variables(t);
  // Adds the processes of the other programs to the total; mpirun still gets the number of its first program.
  const TypedOption* const placing = counts.per_node ? nullptr : find_own_placing(t);
  if (placing != nullptr) {
    t.set(kDealtByMpirun, {"1", from_flag(placing->source)});
  }
  if (counts.all && (placing != nullptr || others > 0)) {
    t.set(kMpirunProcesses, *counts.all);
    counts.all->value = std::to_string(number_of(*counts.all) + others);
  }
  const auto placed =
      TRY(place_on_hosts(t, {counts.all, counts.per_node, hosts, find_hostfile(t), find_oversubscription(t)}));
  if (placed == Placed::OnList) {
    translate_shell(t);
    return {};
  }
  ignore_shell(t);
  if (placed == Placed::Here && !t.given.contains("stdin")) {
    t.set("stdin", {"0", default_of("mpirun")});
  }
  return {};
}

}  // namespace muster

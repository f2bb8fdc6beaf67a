// How many processes of mpirun's there are, and on which hosts.
#include "placing.hpp"

#include "mapping.hpp"
#include "meaning.hpp"

#include <muster/base/text.hpp>
#include <muster/cluster/given_hosts.hpp>
#include <muster/mode/mpi_request.hpp>

#include <algorithm>
#include <array>
#include <map>

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

/// One entry of --host: "a" is one slot, "a:4" are four; "a:*" leaves them to the host.
struct Entry {
  std::string host;
  int slots = 1;
  bool is_open = false;
};

std::optional<Entry> read_entry(const std::string& word) {
  const std::size_t bracket = word.rfind(']');
  const std::size_t colon = word.find(':', bracket == std::string::npos ? 0 : bracket);
  const bool is_bare_address = bracket == std::string::npos && colon != word.rfind(':');
  if (colon == std::string::npos || is_bare_address) {
    const bool is_host = !word.empty() && word.front() != '+';  // "+n0" is one of another list
    return is_host ? std::optional(Entry{word}) : std::nullopt;
  }
  const std::string slots = word.substr(colon + 1);
  if (slots == "*" || slots == "-1") {
    return Entry{word.substr(0, colon), 0, true};
  }
  const auto count = parse_integer(slots, 1, kMostProcesses);
  return count && colon > 0 ? std::optional(Entry{word.substr(0, colon), *count}) : std::nullopt;
}

/// All of --host, each host once, in the order in which they are named first.
struct Hosts {
  std::vector<Entry> entries;
  Source source;
};

void add_entry(std::vector<Entry>& entries, const Entry& entry) {
  const auto same = std::find_if(
      entries.begin(), entries.end(), [&](const Entry& one) { return one.host == entry.host; });
  if (same == entries.end()) {
    entries.push_back(entry);
  } else {
    same->slots += entry.slots;
    same->is_open = same->is_open || entry.is_open;
  }
}

/// False where a word is no host.
bool add_list(std::vector<Entry>& entries, const std::string& list) {
  for (const std::string& word : split(list, ',')) {
    const auto entry = read_entry(word);
    if (!entry) {
      return false;
    }
    add_entry(entries, *entry);
  }
  return true;
}

Result<Hosts> read_hosts(const Translation& t) {
  Hosts hosts;
  for (const TypedOption& typed : t.typed) {
    if (typed.name != "host") {
      continue;
    }
    hosts.source = from_flag(typed.source);
    if (!add_list(hosts.entries, typed.values.front())) {
      return wrong_value({typed.values.front(), hosts.source}, "hosts such as a,b or a:8,b:8");
    }
  }
  return hosts;
}

bool is_here(const std::string& host, const Snapshot& snapshot) {
  return host == "localhost" || host == snapshot.host_name || host.starts_with("127.") ||
         host == "[::1]" || host == "::1";
}

/// As --hosts takes them.
Text as_text(const Hosts& hosts) {
  std::vector<std::string> words;
  for (const Entry& entry : hosts.entries) {
    words.push_back(entry.is_open ? entry.host : entry.host + ":" + std::to_string(entry.slots));
  }
  return {join(words, ","), hosts.source};
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

/// The hosts that are listed get the processes when the list has been read.
void place_on_hosts(Translation& t, const Counts& counts) {
  if (counts.all) {
    t.set(kProcessesOfHosts, *counts.all);
  }
  if (counts.per_node) {
    t.set(kProcessesPerHost, *counts.per_node);
  }
  if (const auto exceeds = find_oversubscription(t)) {
    t.set(kMayOversubscribe, *exceeds);
  }
}

/// Muster runs on each of several nodes already: together they have to have so many slots.
void place_on_nodes(Translation& t, const Counts& counts) {
  if (counts.per_node) {
    t.set("nproc-per-node", *counts.per_node);
  }
  if (counts.all) {
    t.set("total-workers", *counts.all);
  }
}

/// Without a list, this machine has what is asked for.
void place_here(Translation& t, const Counts& counts) {
  const bool is_less =
      counts.all && counts.per_node && number_of(*counts.all) < number_of(*counts.per_node);
  if (counts.per_node && !is_less) {
    t.set("nproc-per-node", *counts.per_node);
  } else if (counts.all) {
    t.set("nproc-per-node", *counts.all);
  }
  if (!t.given.contains("stdin")) {
    t.set("stdin", {"0", default_of("mpirun")});
  }
}

/// A list that names this machine alone is no list of hosts to go to.
Result<> place_on_own_slots(Translation& t, const Counts& counts, const Hosts& hosts) {
  Counts here = counts;
  const Entry& own = hosts.entries.front();
  int slots = 0;
  for (const Entry& entry : hosts.entries) {
    slots += entry.slots;
  }
  if (here.all && !own.is_open && number_of(*here.all) > slots && !find_oversubscription(t)) {
    return wrong_value(*here.all,
                       "at most " + std::to_string(slots) + ", the slots of " + hosts.source.name +
                           ", or --oversubscribe");
  }
  if (!here.all && !here.per_node && !own.is_open) {
    here.all = {std::to_string(slots), hosts.source};
  }
  place_here(t, here);
  return {};
}

void ignore(Translation& t, const Text& list, const std::string& why) {
  t.line.notices.push_back("ignoring " + list.source.name + ": " + why);
}

/// True when the nodes of the job are there without a list.
bool has_nodes(const Translation& t) {
  const auto nodes = t.line.settings.find("nnodes");
  return (nodes && nodes->value != "1") || t.line.settings.has("node-rank");
}

/// Why a list of hosts says nothing here; empty: it is for us.
std::string find_starter_of(const Translation& t) {
  const auto platform = t.line.settings.find("platform");
  const auto starter = platform ? std::nullopt : find_starter(t.snapshot);
  return starter ? starter->platform + " starts muster on each node" : "";
}

/// mpirun's words for ssh go along with it.
void translate_shell(Translation& t) {
  const auto words = first_variable(t, kShellWords);
  if (words && !t.line.settings.has("remote-shell")) {
    t.set("remote-shell", {"ssh " + words->value, words->source});
  }
}

Result<> place_on_list(Translation& t,
                       const Counts& counts,
                       const Hosts& hosts,
                       const std::optional<Text>& file) {
  if (!hosts.entries.empty()) {
    t.set("hosts", as_text(hosts));
  }
  const bool is_by_variable = file && file->source.kind == SourceKind::Variable;
  if (file && hosts.entries.empty()) {
    t.set("hostfile", *file);
  } else if (file && !is_by_variable) {  // it only says which hosts could be named
    ignore(t, *file, hosts.source.name + " says which hosts are used, and their slots");
  }
  translate_shell(t);
  place_on_hosts(t, counts);
  return {};
}

/// Somebody else says who runs where.
void ignore_hosts(Translation& t,
                  const Hosts& hosts,
                  const std::optional<Text>& file,
                  const std::string& why) {
  if (!hosts.entries.empty()) {
    ignore(t, as_text(hosts), why);
  }
  if (file) {
    ignore(t, *file, why);
  }
}

/// True where hosts are named, and all of them are this machine.
bool are_here(const Hosts& hosts, const Snapshot& snapshot) {
  return !hosts.entries.empty() &&
         std::all_of(hosts.entries.begin(), hosts.entries.end(), [&](const Entry& entry) {
           return is_here(entry.host, snapshot);
         });
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
  const auto file = find_hostfile(t);
  const std::string starter = find_starter_of(t);
  if (!starter.empty() || has_nodes(t)) {
    ignore_hosts(t, *hosts, file, starter.empty() ? "each node is started by itself" : starter);
    place_on_nodes(t, *counts);
    return {};
  }
  if (are_here(*hosts, t.snapshot)) {
    return place_on_own_slots(t, *counts, *hosts);
  }
  const bool is_listed = !hosts->entries.empty() || file || t.line.settings.has("hosts") ||
                         t.line.settings.has("hostfile");
  if (!is_listed) {
    place_here(t, *counts);
    return {};
  }
  return place_on_list(t, *counts, *hosts, file);
}

}  // namespace muster

// Decides whether muster has to start the hosts of a list, and makes the settings that place processes on them.
#include "compat/host_placing.hpp"

#include "base/endpoint.hpp"
#include "base/lists.hpp"
#include "compat/stale_variables.hpp"
#include "environment/local_host.hpp"
#include "modes/mpi_request.hpp"
#include "options/syntax.hpp"
#include "platforms/request.hpp"

#include <algorithm>

namespace muster {
namespace {

using Text = Sourced<std::string>;

/// Puts an IPv6 address in brackets, because its last number would be read as a number of slots.
std::string in_brackets(const std::string& host) {
  const std::size_t name = host.rfind('@') + 1;  // 0 without a login name
  const bool is_bare = host.find(':') != std::string::npos && host.find('[') == std::string::npos;
  return is_bare ? host.substr(0, name) + "[" + host.substr(name) + "]" : host;
}

/// True for a host with or without a login name, and for one in brackets, which are read later.
bool is_host_word(const std::string& word) {
  return word.find('[') != std::string::npos || is_host_or_address(word.substr(word.rfind('@') + 1));
}

std::optional<ListedHost> read_host(const std::string& word) {
  const std::size_t bracket = word.rfind(']');
  const std::size_t colon = word.find(':', bracket == std::string::npos ? 0 : bracket);
  const bool is_bare_address = bracket == std::string::npos && colon != word.rfind(':');
  const bool has_blank = word.find_first_of(" \t\n") != std::string::npos;
  if (has_blank || word.find("://") != std::string::npos) {
    return std::nullopt;
  }
  if (colon == std::string::npos || is_bare_address) {
    const bool is_host = word.front() != '+' && is_host_word(word);  // "+n0" is a host of another list
    return is_host ? std::optional(ListedHost{in_brackets(word)}) : std::nullopt;
  }
  if (!is_host_word(word.substr(0, colon))) {
    return std::nullopt;
  }
  const std::string slots = word.substr(colon + 1);
  if (slots == "*" || slots == "-1") {
    return ListedHost{word.substr(0, colon), 0, true};
  }
  const auto count = parse_integer(slots, 0, kMostSlotsOfHost);
  return count && colon > 0 ? std::optional(ListedHost{word.substr(0, colon), *count}) : std::nullopt;
}

void add_host(HostList& list, const ListedHost& host) {
  const auto same = std::ranges::find_if(list.entries, [&](const ListedHost& one) { return one.host == host.host; });
  if (same == list.entries.end()) {
    list.entries.push_back(host);
  } else {
    same->slots += host.slots;
    same->is_open = same->is_open || host.is_open;
  }
}

HostList as_list(const GivenHosts& hosts, int silent) {
  const auto listed = [&](const GivenHost& host) {
    return ListedHost{host.login, host.slots.value_or(silent), !host.slots && silent == 0};
  };
  return {mapped(hosts.value, listed), hosts.source};
}

/// The list of hosts, as --hosts spells it.
Text as_text(const HostList& hosts) {
  const auto words = mapped(hosts.entries, [](const ListedHost& entry) {
    return entry.is_open ? entry.host : entry.host + ":" + std::to_string(entry.slots);
  });
  return {join(words, ","), hosts.source};
}

/// Sets the number of processes of this machine, if no list of hosts is used.
void place_here(Translation& t, const std::optional<Text>& all, const std::optional<Text>& here) {
  const bool is_less = all && here && number_of(*all) < number_of(*here);
  if (here && !is_less) {
    t.set("nproc-per-node", *here);
  } else if (all) {
    t.set("nproc-per-node", *all);
  }
}

void ignore(Translation& t, const Text& list, const std::string& why) {
  t.line.notices.push_back("ignoring " + list.source.name + ": " + why);
}

/// Adds a notice about a file beside a list of hosts; a variable's file only lists the possible hosts.
void ignore_file(Translation& t, const HostPlacing& placing) {
  if (placing.file && placing.file->source.kind != SourceKind::Variable) {
    ignore(t, *placing.file, placing.hosts.source.name + " says which hosts are used, and their slots");
  }
}

/// Places the processes on this machine, the only one that the list names.
Result<> place_on_own_slots(Translation& t, const HostPlacing& placing) {
  const HostList& hosts = placing.hosts;
  std::optional<Text> all = placing.all;
  const bool is_open = hosts.entries.front().is_open;
  int slots = 0;
  for (const ListedHost& entry : hosts.entries) {
    slots += entry.slots;
  }
  if (all && !is_open && number_of(*all) > slots && !placing.may_exceed) {
    return wrong_value(*all, "at most " + std::to_string(slots) + ", the slots of " + hosts.source.name +
                                 or_oversubscribe(t.line.settings));
  }
  if (!all && !placing.per_node && !is_open) {
    all = {std::to_string(slots), hosts.source};
  }
  ignore_file(t, placing);
  place_here(t, all, placing.per_node);
  return {};
}

/// The reason to ignore a list of hosts; empty if muster has to start them.
std::string find_other_starter(const Translation& t) {
  const auto starter = find_starter(t);
  if (starter) {
    return starter->platform + " starts muster on each node";
  }
  const auto nodes = t.line.settings.find("nnodes");
  const bool has_nodes = (nodes && nodes->value != "1") || t.line.settings.has("node-rank");
  return has_nodes ? "you start muster on each node" : "";
}

/// Reads the chosen hosts of the file. Empty if it cannot be read or is no hostfile.
HostList hosts_of_readable_file(const Translation& t, const Sourced<std::string>& file, const Settings& choice) {
  const auto mounted = t.snapshot.files.find(file.value);
  const auto text = mounted == t.snapshot.files.end() ? t.read_text(file.value) : std::optional(mounted->second);
  const auto listed = text ? read_chosen_hosts(t, {*text, file.source}, choice) : Result<GivenHosts>(GivenHosts());
  if (!listed) {
    return {};
  }
  HostList hosts = as_list(*listed, 0);
  hosts.text = file.value;
  return hosts;
}

}  // namespace

Settings choice_of_hosts(const std::optional<Text>& included, const std::optional<Text>& excluded) {
  Settings choice;
  if (included || excluded) {
    choice.set(excluded ? kExcludedHosts : kIncludedHosts, excluded ? *excluded : *included);
  }
  return choice;
}

Result<GivenHosts> read_chosen_hosts(const Translation& t, const Text& text, const Settings& choice) {
  auto listed = TRY(choose_hosts(TRY(read_hosts_of_file(text)), choice));
  const auto most = static_cast<int>(listed.value.size());
  const auto nodes = parse_integer(value_at(t.settings, "nnodes").value, 1, most);
  listed.value.resize(static_cast<std::size_t>(nodes.value_or(most)));
  return listed;
}

std::optional<Starter> find_starter(const Translation& t) {
  return t.line.settings.has("platform") ? std::nullopt : find_starter(t.snapshot);
}

Result<> choose_node_source(Translation& t, const HostList& listed) {
  const bool is_on_line = !listed.entries.empty() && listed.source.kind == SourceKind::Flag;
  const auto starter = is_on_line ? find_starter(t) : std::nullopt;
  if (!starter || static_cast<int>(listed.entries.size()) == starter->nodes) {
    return {};
  }
  const bool is_listed = std::ranges::any_of(
      listed.entries, [&](const ListedHost& entry) { return is_this_host(entry.host, t.snapshot); });
  if (is_listed) {
    return refuse_list({listed.text, listed.source}, *starter);
  }
  t.line.settings.set("platform", {"flags", listed.source});
  return {};
}

Result<> choose_node_source(Translation& t, const Text& file, const Settings& choice) {
  const bool is_in_question = file.source.kind == SourceKind::Flag && find_starter(t);
  return is_in_question ? choose_node_source(t, hosts_of_readable_file(t, file, choice)) : Result<>();
}

namespace {

/// Ignores the lists of hosts, with a notice, because the platform or the user places the nodes.
void ignore_hosts(Translation& t, const HostPlacing& placing, const std::string& why) {
  if (!placing.hosts.entries.empty()) {
    ignore(t, as_text(placing.hosts), why);
  }
  if (placing.file) {
    ignore(t, *placing.file, why);
  }
}

/// Sets the lists of hosts; the processes are placed when the list has been read.
void place_on_list(Translation& t, const HostPlacing& placing) {
  const HostList& hosts = placing.hosts;
  if (!hosts.entries.empty()) {
    t.set("hosts", as_text(hosts));
  }
  if (placing.file && hosts.entries.empty()) {
    t.set("hostfile", *placing.file);
  } else {
    ignore_file(t, placing);
  }
  for (const auto& [setting, value] :
       {std::pair(kProcessesOfHosts, &placing.all), std::pair(kProcessesPerHost, &placing.per_node),
        std::pair(kMayOversubscribe, &placing.may_exceed)}) {
    if (*value) {
      t.set(setting, **value);
    }
  }
}

}  // namespace

Result<> add_hosts(HostList& list, const Sourced<std::string>& text) {
  list.text += (list.text.empty() ? "" : ",") + text.value;
  for (const std::string& listed : split(text.value, ',')) {
    const std::string word(trim(listed));
    if (word.empty()) {
      continue;  // mpirun accepts a comma at the end
    }
    const auto host = read_host(word);
    if (!host) {
      return wrong_value(text, expected_of_host(word));
    }
    if (host->slots > 0 || host->is_open) {  // else the host is listed but not to be used
      add_host(list, *host);
    }
  }
  return list.entries.empty() ? wrong_value(text, "a host with a slot") : Result<>();
}

Result<HostList> hosts_of_file(const Sourced<std::string>& text, int silent) {
  return as_list(TRY(read_hosts_of_file(text)), silent);
}

Result<Placed> place_on_hosts(Translation& t, const HostPlacing& placing) {
  const bool is_in_file = placing.hosts.entries.empty() && placing.file;
  TRY(is_in_file ? choose_node_source(t, *placing.file, {}) : choose_node_source(t, placing.hosts));
  const std::string starter = find_other_starter(t);
  if (!starter.empty()) {
    ignore_hosts(t, placing, starter);
    // Sets the counts where muster runs on each of the nodes already: their slots together must suffice.
    if (placing.per_node) {
      t.set("nproc-per-node", *placing.per_node);
    }
    if (placing.all) {
      t.set("total-workers", *placing.all);
    }
    return Placed::OnNodes;
  }
  const std::vector<ListedHost>& entries = placing.hosts.entries;
  if (!entries.empty() &&
      std::ranges::all_of(entries, [&](const ListedHost& entry) { return is_this_host(entry.host, t.snapshot); })) {
    auto placed = place_on_own_slots(t, placing);
    return placed ? Result<Placed>(Placed::Here) : placed.error();
  }
  const bool is_listed =
      !entries.empty() || placing.file || t.line.settings.has("hosts") || t.line.settings.has("hostfile");
  if (!is_listed) {
    place_here(t, placing.all, placing.per_node);
    return Placed::Here;
  }
  place_on_list(t, placing);
  return Placed::OnList;
}

void set_ssh(Translation& t, const std::optional<Sourced<std::string>>& port,
             const std::optional<Sourced<std::string>>& identity) {
  if (!port && !identity) {
    return;
  }
  std::string words = "ssh";
  if (port) {
    words += " -p " + port->value;
  }
  if (identity) {
    words += " -i " + quoted_words(std::span(&identity->value, 1));
  }
  set_remote_shell(t, {words, port ? port->source : identity->source});
}

void set_remote_shell(Translation& t, Sourced<std::string> shell) {
  if (!t.line.settings.has("remote-shell")) {
    t.set("remote-shell", std::move(shell));
  }
}

// Reads the options that a platform has in variables for its way to start a job, unless the user sets them. `cluster`
// knows the variables and the mode.

namespace {

/// The way to start the job that ModelArts' variables ask for; nullptr if the user sets a mode of their own.
const RunMethod* method_of(const CommandLine& line, const Snapshot& snapshot) {
  const RunMethod* const method = find_run_method(snapshot);
  const auto mode = line.settings.find("mode");
  const bool is_left = method != nullptr && !line.settings.has("template") &&
                       (!mode || mode->value == "auto" || mode->value == method->mode);
  return is_left ? method : nullptr;
}

/// True if the mode is msrun's, by the user, the platform or a MindSpore pod.
bool is_msrun(const CommandLine& line, const RunMethod* method, const Snapshot& snapshot) {
  if (method != nullptr || line.settings.has("template")) {
    return method != nullptr && std::string_view(method->mode) == "msrun";
  }
  const auto mode = line.settings.find("mode");
  const bool is_left = !mode || mode->value == "auto";
  return is_left ? find_mindspore_pod(snapshot).has_value() : mode->value == "msrun";
}

void set_if_missing(CommandLine& line, const char* setting, const std::optional<Sourced<std::string>>& value) {
  if (value && !line.settings.has(setting)) {
    line.settings.set(setting, *value);
  }
}

/// True if MS_RANKTABLE_ENABLE asks for the platform's rank table. Fails for a value other than true and false.
Result<bool> wants_rank_table(const Snapshot& snapshot) {
  const auto wish = find_given(snapshot, "MS_RANKTABLE_ENABLE");
  const std::string word = wish ? lower_case(wish->value) : "false";
  if (word != "true" && word != "false") {
    return wrong_value(*wish, "true or false");
  }
  return word == "true";
}

/// Sets the platform's rank table for MS_RANKTABLE_ENABLE=true, unless the user names one.
Result<> set_rank_table(CommandLine& line, const Snapshot& snapshot) {
  constexpr const char* kSetting = "set:rank_table_file";
  const auto is_wanted = TRY(wants_rank_table(snapshot));
  if (line.settings.has("rank-table")) {
    return {};
  }
  const auto table = find_given(snapshot, "RANK_TABLE_FILE");
  if (is_wanted) {
    set_if_missing(line, kSetting, find_given(snapshot, "MSRUN_RANK_TABLE_FILE"));
    set_if_missing(line, kSetting, find_table_file(snapshot));
  }
  if (line.settings.has(kSetting)) {
    return {};
  }
  if (is_wanted) {
    line.notices.emplace_back(
        "starting without a rank table in spite of MS_RANKTABLE_ENABLE=true: neither "
        "MSRUN_RANK_TABLE_FILE nor RANK_TABLE_FILE names one");
  } else if (table) {
    line.notices.emplace_back("removing RANK_TABLE_FILE for the workers: MS_RANKTABLE_ENABLE=true keeps it");
  }
  return {};
}

}  // namespace

Result<> read_run_method(CommandLine& line, const Snapshot& snapshot) {
  if (requests_text(line.settings) || is_already_worker(snapshot)) {
    return {};
  }
  // Takes MY_MPI_SLOTS, the processes of a node in ModelArts' own start of MPI, unless the user sets their number.
  const auto mode = line.settings.find("mode");
  const bool is_listed = line.settings.has("hosts") || line.settings.has("hostfile");
  if (mode && mode->value == kMpiMode && !is_listed) {
    set_if_missing(line, "nproc-per-node", find_given(snapshot, "MY_MPI_SLOTS"));
  }
  const RunMethod* const method = method_of(line, snapshot);
  if (is_msrun(line, method, snapshot)) {
    TRY(set_rank_table(line, snapshot));
  }
  if (method == nullptr) {
    return {};
  }
  set_if_missing(line, "log-dir", find_given(snapshot, method->log_dir));
  if (const auto seconds = find_given(snapshot, method->cluster_time_out)) {
    set_if_missing(line, "set:cluster_time_out", seconds);
    set_if_missing(line, "gang-timeout", gang_timeout_of(*seconds));
  }
  const auto words = find_given(snapshot, method->more_options);
  return words ? read_extra_options(line, *find_compat(method->mode), *words, snapshot) : Result<>();
}

}  // namespace muster

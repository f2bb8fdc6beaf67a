// Finds variables that seem to count or list nodes, by their names and values, although no platform reader used them.
// choose_platform (platform.cpp) decides which platform is used.
#include "platforms/size_hints.hpp"

#include "base/json.hpp"
#include "base/lists.hpp"
#include "base/secrets.hpp"
#include "base/text.hpp"
#include "platforms/host_lists.hpp"
#include "platforms/task_config.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <set>
#include <span>
#include <utility>

namespace muster {
namespace {

/// Words for members of a job, as they stand in names of variables. The first three mean nodes.
constexpr auto kMembers =
    std::to_array<std::string_view>({"NODE", "HOST", "MACHINE", "RANK", "TASK", "WORKER", "TRAINER", "REPLICA",
                                     "INSTANCE", "POD", "SLICE", "PROC", "ARRAY"});
constexpr std::span<const std::string_view> kNodes = std::span(kMembers).first<3>();

constexpr auto kGroups = std::to_array<std::string_view>({"WORLD", "GROUP", "GANG", "CLUSTER", "JOB", "CROSS"});
constexpr auto kCounts = std::to_array<std::string_view>({"NUM", "N", "TOTAL", "COUNT"});
constexpr auto kRanks = std::to_array<std::string_view>({"RANK", "PROCNO"});
constexpr auto kLists =
    std::to_array<std::string_view>({"HOSTS", "HOSTNAMES", "MACHINES", "IPS", "NODELIST", "HOSTLIST"});

/// Words that end the name of a number of nodes, or of a list of nodes.
constexpr auto kPlurals = std::to_array<std::string_view>({"NODES", "HOSTS", "MACHINES", "PODS"});

/// Words in names of other numbers: within one machine, bounds, and parts of a CI system's tests.
constexpr auto kUnrelatedWords = std::to_array<std::string_view>(
    {"LOCAL", "PER", "MAX", "MIN", "GPU", "GPUS", "CPU", "CPUS", "NUMA", "LOADER", "DATALOADER", "CI"});

/// Beginnings of names whose number and index mean a database's cluster, or independent tasks.
constexpr auto kUnrelatedPrefixes = std::to_array<std::string_view>(
    {"ELASTICSEARCH_", "OPENSEARCH_", "CLOUD_RUN_", "BATCH_TASK_" /* Google's Batch */, "JOB_ARRAY_" /* IBM's */});

/// Variables that reveal a CI system. CI systems divide tests by such counters: CIRCLE_NODE_INDEX, CIRCLE_NODE_TOTAL.
constexpr auto kOfCi =
    std::to_array<std::string_view>({"CI", "CIRCLECI", "BUILDKITE", "GITLAB_CI", "GITHUB_ACTIONS", "JENKINS_URL",
                                     "TF_BUILD", "TRAVIS", "TEAMCITY_VERSION", "CODEBUILD_BUILD_ID", "DRONE"});

/// Variables that certainly hold a rank, so that the job has more nodes than their value.
constexpr auto kKnownRanks =
    std::to_array<std::string_view>({"NODE_RANK", "GROUP_RANK", "PET_NODE_RANK", "GLOBAL_RANK", "PALS_RANKID"});

/// Names of counters that may count processes, or devices, instead of nodes.
constexpr std::array<const char*, 9> kOfProcesses = {"WORLD_SIZE",      "WORKER_NUM",    "*_WORKER_NUM",
                                                     "*_WORKER_COUNT",  "*_WORLD_SIZE",  "NUM_PROCESSES",
                                                     "*_NUM_PROCESSES", "MS_WORKER_NUM", "CM_WORKER_SIZE"};

bool counts_processes(std::string_view name) {
  return std::ranges::any_of(kOfProcesses, [&](const char* pattern) { return matches_pattern(name, pattern); });
}

/// A plain loop, because every start compares every variable with every pattern.
bool names_as_counter(const Platform& platform, std::string_view name) {
  for (const char* const pattern : platform.counts) {
    if (pattern == nullptr) {
      return false;
    }
    if ((*pattern == '*' || name.starts_with(*pattern)) && matches_pattern(name, pattern)) {
      return true;
    }
  }
  return false;
}

/// The most specific platform that names this variable or file as a counter; null for bare names.
const Platform* find_owner(std::string_view name) {
  if (names_as_counter(kBare, name)) {
    return &kBare;
  }
  const auto* const at =
      first_of(platforms(), [&](const Platform* platform) { return names_as_counter(*platform, name); });
  return at == nullptr ? nullptr : *at;
}

/// The meaning that a variable seems to have, by its name.
struct Form {
  enum class Kind {
    Nothing,
    Number,
    Plural,  ///< a number of nodes only by its value: *_NODES may also be a service's list
    Index,
    List
  };
  Kind kind = Kind::Nothing;
  std::string_view member;  ///< "NODE": what the variable counts or numbers; empty: unknown, as in *_GROUP_SIZE
  std::string_view prefix;  ///< the first word of the name; for NUM_MACHINES and MACHINE_RANK it is `member`
};

/// "NODE" of NODES; empty for words that are no member.
std::string_view member_of(std::string_view word) {
  word.remove_suffix(word.ends_with('S') ? 1 : 0);
  return contains(kMembers, word) ? word : "";
}

/// The member that NUM_NODES, NNODES or NODE_COUNT counts ("NODE"), or WORLD_SIZE ("RANK"); else empty.
std::string_view counted_by(std::string_view before, std::string_view last) {
  const bool has_n = last.starts_with('N') && !member_of(last.substr(1)).empty();
  return contains(kCounts, before) ? member_of(last)
         : has_n                   ? member_of(last.substr(1))
         : contains(kCounts, last) ? member_of(before)
                                   : (last == "SIZE" && before == "WORLD" ? "RANK" : "");
}

/// True for the last words of a list: *_HOSTS, NODE_LIST, IP_LIST.
bool names_list(std::string_view before, std::string_view last) {
  return contains(kLists, last) || (last == "LIST" && (contains(kNodes, member_of(before)) || before == "IP"));
}

/// Tells the form by the last two words; nothing stands before those of a whole name.
Form form_of_ending(std::string_view before, std::string_view last, bool is_whole) {
  using enum Form::Kind;
  const std::string_view member = member_of(before);
  const std::string_view counted = counted_by(before, last);
  const bool has_owner = is_whole || !member.empty();
  if (!counted.empty() || (last == "SIZE" && (has_owner || contains(kGroups, before)))) {
    return {Number, counted.empty() ? member : counted, ""};
  }
  if (contains(kRanks, last)) {
    return {Index, member.empty() ? "RANK" : member, ""};
  }
  if (has_owner && (last == "INDEX" || last == "ID")) {
    return {Index, member, ""};
  }
  return {names_list(before, last) ? List : Nothing, member, ""};
}

/// The words between underscores; the shell's variable "_" has none. Views, because every start asks about every variable.
std::vector<std::string_view> words_of(std::string_view name) {
  std::vector<std::string_view> words;
  name.remove_prefix(name.starts_with('_') ? 1 : 0);
  for (std::size_t start = 0; start <= name.size() && !name.empty(); start += words.back().size() + 1) {
    words.push_back(name.substr(start, name.find('_', start) - start));
  }
  return words;
}

Form form_of(std::string_view name) {
  const std::vector<std::string_view> words = words_of(name);
  const bool is_innocent =
      std::ranges::any_of(words, [](std::string_view word) { return contains(kUnrelatedWords, word); }) ||
      std::ranges::any_of(kUnrelatedPrefixes, [&](std::string_view start) { return name.starts_with(start); });
  if (is_innocent || words.empty()) {
    return {};
  }
  const std::string_view first = words.front();
  const std::size_t count = words.size();
  Form form = form_of_ending(count > 1 ? words[count - 2] : "", words.back(), count == 2);
  form.kind = names_host_file(name) ? Form::Kind::List : form.kind;
  const bool is_bare = count == 1 || !member_of(first).empty() || contains(kCounts, first);
  form.prefix = is_bare && !form.member.empty() ? form.member : first;
  return form;
}

Form form_of(std::string_view name, const std::string& value) {
  Form form = form_of(name);
  const std::string_view last = name.substr(name.rfind('_') + 1);
  if (contains(kPlurals, last) && form.kind != Form::Kind::Number && parse_integer(trim(value), 0, kMostNodes)) {
    form.kind = Form::Kind::Plural;
    form.member = member_of(last);
    form.prefix = form.prefix == last ? form.member : form.prefix;
  }
  return form;
}

/// True where the name alone speaks of nodes.
bool is_of_nodes(const Form& form, std::string_view name) {
  switch (form.kind) {
    case Form::Kind::Number:
      return contains(kNodes, form.member) || form.member == "RANK";
    case Form::Kind::Index:
      return contains(kNodes, form.member) && name.ends_with("RANK");
    case Form::Kind::List:
      return name.ends_with("LIST") || names_host_file(name);
    case Form::Kind::Plural:  // may also be the replicas of a service
    case Form::Kind::Nothing:
      break;
  }
  return false;
}

/// True for the first word of a platform's own variables, such as SLURM: muster guesses nothing about these.
bool is_of_platform(std::string_view prefix) {
  const auto has_prefix = [start = std::string(prefix) + "_"](const char* name) {
    return std::string_view(name).starts_with(start);
  };
  return member_of(prefix).empty() && !contains(kGroups, prefix) &&
         std::ranges::any_of(platforms(), [&](const Platform* platform) {
           return std::ranges::any_of(names_before_null(platform->counts), has_prefix) ||
                  std::ranges::any_of(names_before_null(platform->signs.any), has_prefix);
         });
}

/// Counts the texts in a JSON document: hosts of a list, or of the lists of TF_CONFIG and CLUSTER_SPEC.
// NOLINTNEXTLINE(misc-no-recursion): the parser allows few levels
int count_texts(const json::value& value) {
  int count = 0;
  if (const json::array* const list = value.if_array()) {
    for (const json::value& entry : *list) {
      count += entry.is_string() ? 1 : count_texts(entry);
    }
  } else if (const json::object* const members = value.if_object()) {
    for (const auto& member : *members) {
      count += member.key() == "task" ? 0 : count_texts(member.value());
    }
  }
  return count;
}

/// Counts different hosts in a list with commas, semicolons or blanks, or in Slurm's short form. Numbers in it are
/// slots. A short form that cannot be expanded counts as two: more than one host, and so not a job of one node.
int count_hosts(std::string text) {
  const bool is_address = text.find(':') != std::string::npos;
  if (text.find('[') != std::string::npos && !is_address) {
    const auto list = read_slurm_list({text, {}});
    return list ? static_cast<int>(list->value.size()) : 2;
  }
  std::ranges::replace_if(
      text, [](char c) { return std::string_view("; |\t\r\n").find(c) != std::string_view::npos; }, ',');
  std::set<std::string> hosts;
  for (const std::string& entry : split(text, ',')) {
    const std::string host(trim(entry));
    if (!host.empty() && !parse_integer(host, 0, kMostNodes)) {
      hosts.insert(host);
    }
  }
  return static_cast<int>(hosts.size());
}

/// Counts the first words of lines that are no comments.
int count_lines_of_hosts(const std::string& text) {
  std::set<std::string> hosts;
  for (const std::string& line : split(text, '\n')) {
    const std::string host(trim(line.substr(0, line.find_first_of(" \t:#"))));
    if (!host.empty()) {
      hosts.insert(host);
    }
  }
  return static_cast<int>(hosts.size());
}

int number_said_by(std::string_view name, const std::string& value) {
  const std::string text(trim(value));
  if (const auto range = read_node_range({text, {}})) {
    return range->value.most;
  }
  if (form_of(name).kind == Form::Kind::Number) {
    // Reads "02", "+2" and "2.0", which muster does not accept as numbers, but which show that there are two.
    const std::size_t first = text.find_first_not_of("+0");
    const std::size_t end = text.find_first_not_of("0123456789", first);
    if (first == std::string_view::npos || end == first) {
      return 0;
    }
    return parse_integer(text.substr(first, end - first), 0, kMostNodes).value_or(kMostNodes);
  }
  boost::system::error_code error;
  const json::value document = json::parse(text, error);
  return !error && document.is_structured() ? count_texts(document) : count_hosts(text);
}

/// True if another variable confirms this counter: with the same prefix, it is an index below `number` or a list of
/// as many hosts. For a plural, an id is not enough; for a list, the index must count the same member.
bool has_partner(std::string_view name, const Form& form, int number, const Snapshot& snapshot) {
  return std::ranges::any_of(snapshot.variables, [&](const auto& variable) {
    const auto& [other, value] = variable;
    if (other == name || contains(kKnownRanks, other) || find_owner(other) != nullptr) {
      return false;
    }
    const Form partner = form_of(other);
    const bool is_plural = form.kind == Form::Kind::Plural;
    const bool is_list = form.kind == Form::Kind::List;
    const bool is_partner = partner.prefix == form.prefix && !(form.member.empty() && partner.member.empty()) &&
                            !(is_plural && partner.member.empty() && other.ends_with("ID")) &&
                            !(is_list && form.member != partner.member);
    const bool may_be_list = !is_plural && !is_list;
    return is_partner && ((partner.kind == Form::Kind::Index && parse_integer(value, 0, number)) ||
                          (partner.kind == Form::Kind::List && may_be_list && number_said_by(other, value) == number));
  });
}

/// Adds a variable that no platform names, if its name and value suggest that it counts nodes.
void add_guess(std::vector<Counter>& counters, const std::string& name, const std::string& value,
               const Snapshot& snapshot) {
  const Form form = form_of(name, value);
  const bool is_known = contains(kKnownRanks, name);
  if (!is_known && form.kind == Form::Kind::Nothing) {
    return;
  }
  Counter counter{{shortened(value), from_variable(name)}};
  if (is_known || form.kind == Form::Kind::Index) {
    counter.count = parse_integer(value, 0, kMostNodes - 1).value_or(-1) + 1;
  } else if (names_host_file(name) && !value.empty()) {
    const auto file = snapshot.files.find(value);
    counter.is_guess = file == snapshot.files.end();  // a file that cannot be read may list any number
    counter.count = counter.is_guess ? 2 : count_lines_of_hosts(file->second);
  } else if (form.kind != Form::Kind::Nothing) {
    counter.count = number_said_by(name, value);
  }
  const bool may_have_partner = form.kind != Form::Kind::Nothing && form.kind != Form::Kind::Index;
  counter.is_alone = !is_known && !(may_have_partner && has_partner(name, form, counter.count, snapshot));
  counter.counts_processes = counts_processes(name);
  if (is_known || ((is_of_nodes(form, name) || !counter.is_alone) && !is_of_platform(form.prefix))) {
    counters.push_back(std::move(counter));
  }
}

void add_counter(std::vector<Counter>& counters, const Source& source, const std::string& value,
                 const Snapshot& snapshot) {
  const Platform* const owner = find_owner(source.name);
  if (owner == nullptr) {
    if (source.kind == SourceKind::Variable) {
      add_guess(counters, source.name, value, snapshot);
    }
    return;
  }
  Counter counter{.text = {shortened(value), source}, .owner = owner};
  // A TensorFlow evaluator is not a member of the cluster in TF_CONFIG.
  const bool is_alone = source.name == "TF_CONFIG" && !are_several_tasks(snapshot);
  const auto file = snapshot.files.find(value);
  const bool is_file = file != snapshot.files.end();
  counter.count = is_alone ? 1 : number_said_by(source.name, is_file ? file->second : value);
  // As a rank of mpirun, muster is itself one of the counted processes, so they are nodes.
  counter.counts_processes = owner != &kMpirun && counts_processes(source.name);
  counters.push_back(std::move(counter));
}

std::string as_seen(const Counter& counter) {
  const std::string whose = counter.owner == nullptr ? "" : std::string(" (of ") + counter.owner->name + ")";
  const std::string& name = counter.text.source.name;
  return name + " is '" + masked(name, counter.text.value) + "'" + whose + ", but ";
}

/// The remark about a single variable whose name speaks of nodes.
std::string may_be_too_few(const Counter& counter, const PlatformFacts& facts) {
  return as_seen(counter) + "muster knows no platform that sets this variable, so this job has " +
         count_of(static_cast<std::size_t>(facts.nodes->value), "node") + "; if the job has more nodes, give --nnodes";
}

Error too_few(const Counter& counter, const PlatformFacts& facts, const Choice& choice) {
  const std::string seen = as_seen(counter);
  const int nodes = facts.nodes->value;
  if (choice.platform == nullptr) {
    return Error{
        ErrorKind::BadEnvironment,
        seen +
            "muster finds no platform that describes a job of several nodes, so each node would run its own job; "
            "give --nnodes and the options that muster then asks for, or --platform single if each node should "
            "run its own job"};
  }
  const std::string name = nodes == 1 ? "single" : choice.platform->name;
  const bool is_default = facts.nodes->source.kind == SourceKind::Default;
  return Error{ErrorKind::BadEnvironment,
               seen + "by " + facts.nodes->source.name +
                   (is_default ? "" : std::string(" (") + choice.platform->name + ")") + " the job has " +
                   count_of(static_cast<std::size_t>(nodes), "node") + "; give " +
                   (is_default ? "--nnodes " + std::to_string(counter.count) + ", or " : "") + "--nnodes " +
                   std::to_string(nodes) + " or --platform " + name + " if that is right"};
}

/// The number as written, or the list that it was counted from.
Sourced<std::string> as_written(const Sourced<int>& count, const Snapshot& snapshot) {
  const auto text = sourced_variable(snapshot, count.source.name);
  return {shortened(text ? text->value : std::to_string(count.value)), count.source};
}

/// A platform's counter that another launcher's default overrides, though the user did not ask for fewer nodes.
std::optional<Counter> find_replaced(const PlatformFacts& facts, const Choice& choice, const Snapshot& snapshot) {
  for (const UnusedValue& lost : facts.lost) {
    const bool is_default = facts.nodes->source.kind == SourceKind::Default;
    const auto count = lost.field == "nodes.count" && is_default && choice.platform != nullptr
                           ? parse_integer(lost.seen.value, 1, kMostNodes)
                           : std::nullopt;
    if (count && *count > facts.nodes->value) {
      return Counter{as_written({*count, lost.seen.source}, snapshot), *count, false, choice.platform};
    }
  }
  return std::nullopt;
}

/// Counters of platforms that are here but were not chosen, if no single variable has their value.
std::vector<Counter> counters_left_out(const Choice& choice, const Snapshot& snapshot) {
  std::vector<Counter> counters;
  for (const Platform* const platform : platforms()) {
    const bool is_left_out = choice.platform == nullptr && find_sign(*platform, snapshot);
    const auto read = is_left_out ? read_platform(*platform, snapshot) : Result<PlatformFacts>(PlatformFacts());
    if (read && read->nodes) {
      counters.push_back({as_written(*read->nodes, snapshot), read->nodes->value, false, platform});
    }
  }
  return counters;
}

}  // namespace

Counters find_counters(const Snapshot& snapshot) {
  Counters counters{snapshot, {}};
  for (const auto& [name, value] : snapshot.variables) {
    add_counter(counters.all, from_variable(name), value, snapshot);
  }
  for (const auto& [path, text] : snapshot.files) {
    add_counter(counters.all, {SourceKind::File, path}, text, snapshot);
  }
  return counters;
}

Result<std::string> check_not_alone(const PlatformFacts& facts, const Choice& choice, const JobRoles& roles, int slots,
                                    const Counters& counters) {
  const Snapshot& snapshot = counters.snapshot;
  // Task lists count all tasks, and a user may want a separate job inside a worker.
  const bool is_decided = !choice.name.empty() || is_given(facts.nodes->source) || facts.are_nodes_of_total ||
                          roles.tasks || is_already_worker(snapshot);
  if (is_decided) {
    return std::string();
  }
  if (const auto replaced = find_replaced(facts, choice, snapshot)) {
    return too_few(*replaced, facts, choice);
  }
  const int nodes = facts.nodes->value;
  std::vector<Counter> all = counters.all;
  const std::vector<Counter> left_out = counters_left_out(choice, snapshot);
  all.insert(all.end(), left_out.begin(), left_out.end());
  const bool is_ci = std::ranges::any_of(kOfCi, [&](std::string_view name) { return snapshot.has(name); });
  std::string remark;
  for (const Counter& counter : all) {
    const bool is_read = choice.platform != nullptr && names_as_counter(*choice.platform, counter.text.source.name);
    const bool is_told_better = (counter.is_guess && choice.platform != nullptr) ||
                                (is_ci && counter.owner == nullptr && !contains(kKnownRanks, counter.text.source.name));
    const bool counts_our_workers =  // all workers of the job; any other number may be one of nodes
        counter.counts_processes && nodes > 1 && counter.count == static_cast<long long>(nodes) * slots;
    if (counter.count <= nodes || counts_our_workers || is_read || is_told_better) {
      continue;
    }
    if (!counter.is_alone) {
      return too_few(counter, facts, choice);
    }
    remark = may_be_too_few(counter, facts);
  }
  return remark;
}

// Finds values about nodes that decided nothing, which explain shows below its table.

namespace {

/// Other variables to report: this process's place, and its meeting points.
constexpr std::array<const char*, 11> kBareNames = {"RANK",        "WORLD_SIZE",     "LOCAL_RANK",  "LOCAL_WORLD_SIZE",
                                                    "NODE_RANK",   "GROUP_RANK",     "MASTER_ADDR", "MASTER_IP",
                                                    "MASTER_PORT", "NPROC_PER_NODE", "TF_CONFIG"};

/// Tells why the platform that names such a variable was not used.
std::string why_not(const Platform& owner, const Choice& choice, const Snapshot& snapshot) {
  const std::string whose = std::string(owner.name) + "'s";
  if (choice.platform == &owner) {
    return whose + ", and it has something better";
  }
  if (!find_sign(owner, snapshot)) {
    return whose + ", but " + describe_signs(owner) + " is not set";
  }
  if (choice.platform == nullptr && choice.name.empty()) {
    return whose + (is_already_worker(snapshot) ? ", and speaks of the job whose worker this is"
                                                : ", and this mode asks for no list of tasks");
  }
  const std::string winner = choice.platform == nullptr ? choice.name : choice.platform->name;
  return whose + (choice.name.empty() ? ", and " + winner + " is more specific"
                                      : ", and " + choice.source.name + " says " + choice.name);
}

std::string why_not(const Sourced<std::string>& text, const Platform* owner, const Choice& choice,
                    const Snapshot& snapshot) {
  if (owner != nullptr) {
    return why_not(*owner, choice, snapshot);
  }
  const bool is_bare = contains(kBareNames, text.source.name);
  if (!is_bare) {
    return "of no platform that muster knows";
  }
  return choice.platform == nullptr ? "alone it says nothing"
                                    : std::string(choice.platform->name) + " has names of its own for what it needs";
}

/// Adds the names in a decision's source, which may join several: "VC_PS_NUM+VC_WORKER_NUM".
void add_names(std::set<std::string, std::less<>>& names, const std::string& source) {
  std::string name;
  for (const char c : source + " ") {
    const bool is_of_a_name =
        std::isalnum(static_cast<unsigned char>(c)) != 0 || std::string_view("_/.-").find(c) != std::string_view::npos;
    if (is_of_a_name) {
      name += c;
    } else {
      names.insert(std::exchange(name, ""));
    }
  }
}

}  // namespace

std::vector<UnusedValue> find_unused(const std::vector<Decision>& decisions, const std::vector<UnusedValue>& lost,
                                     const Choice& choice, const Counters& counters) {
  const Snapshot& snapshot = counters.snapshot;
  std::set<std::string, std::less<>> used;
  for (const Decision& decision : decisions) {
    add_names(used, decision.source);
  }
  for (const UnusedValue& other : lost) {
    add_names(used, other.seen.source.name);
  }
  std::vector<UnusedValue> unused;
  const auto add = [&](const Sourced<std::string>& text, const Platform* owner) {
    if (used.insert(text.source.name).second) {
      unused.push_back({"", text, why_not(text, owner, choice, snapshot)});
    }
  };
  for (const Counter& counter : counters.all) {
    add(counter.text, counter.owner);
  }
  std::ranges::stable_sort(unused, [](const UnusedValue& one, const UnusedValue& other) {
    return strverscmp(one.seen.source.name.c_str(), other.seen.source.name.c_str()) < 0;  // VC_A_2 before VC_A_10
  });
  const auto add_variable = [&](const std::string& name, const Platform* owner) {
    if (const auto text = sourced_variable(snapshot, name)) {
      add({shortened(text->value), text->source}, owner);
    }
  };
  for (const Platform* const platform : platforms()) {
    add_variable(find_sign(*platform, snapshot).value_or(""), platform);
  }
  for (const char* const name : kBareNames) {
    add_variable(name, nullptr);
  }
  return unused;
}

std::vector<UnusedValue> seen_of_nodes(const Snapshot& snapshot, const std::string& why) {
  std::vector<UnusedValue> seen = find_unused({}, {}, Choice{}, find_counters(snapshot));
  for (UnusedValue& lost : seen) {
    lost.why = why;
  }
  return seen;
}

}  // namespace muster

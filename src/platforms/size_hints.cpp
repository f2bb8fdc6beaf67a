// Finds numbers and lists of nodes that no reader used, by the names and values of variables. choose_platform
// (platform.cpp) decides which platform is used.
#include "platforms/size_hints.hpp"

#include "base/json.hpp"
#include "base/text.hpp"
#include "platforms/host_lists.hpp"
#include "platforms/task_config.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <span>
#include <utility>

namespace muster {
namespace {

/// Common names for a number of nodes, and some without a reader.
constexpr auto kNumbers = std::to_array<const char*>({"*_NNODES",
                                                      "*_NUM_NODES",
                                                      "*_WORLD_SIZE",
                                                      "*_NODE_COUNT",
                                                      "NNODES",
                                                      "NUM_NODES",
                                                      "NODE_COUNT",
                                                      "NUM_MACHINES",
                                                      "*_NUM_MACHINES",
                                                      "N_NODES",
                                                      "DMLC_NUM_WORKER",
                                                      "CROSS_SIZE",
                                                      "HOROVOD_SIZE",
                                                      "HOROVOD_CROSS_SIZE",
                                                      "NHOSTS",
                                                      "NODE_NUM",
                                                      "COBALT_JOBSIZE",
                                                      "PADDLE_TRAINERS_NUM",
                                                      "NGC_ARRAY_SIZE",
                                                      "BEAKER_REPLICA_COUNT",
                                                      "LEPTON_JOB_TOTAL_WORKERS",
                                                      "*_NUM_SLICES",
                                                      "*_NODE_NUM",
                                                      "HOST_NUM",
                                                      "*_HOST_NUM",
                                                      "HOST_COUNT",
                                                      "*_HOST_COUNT",
                                                      "NUM_HOSTS",
                                                      "*_NUM_HOSTS",
                                                      "*_NHOSTS",
                                                      "TOTAL_NODES",
                                                      "*_TOTAL_NODES",
                                                      "MACHINE_NUM",
                                                      "*_MACHINE_NUM",
                                                      "*_MACHINE_COUNT",
                                                      "*_INSTANCE_NUM",
                                                      "*_INSTANCE_COUNT",
                                                      "*_POD_NUM",
                                                      "*_TRAINER_NUM",
                                                      "*_TRAINERS_NUM",
                                                      "WORKER_NUM",
                                                      "*_WORKER_NUM",
                                                      "*_WORKER_COUNT",
                                                      "*_NODE",
                                                      "*_NPROCS"});

/// Names of group sizes: they count nodes where a variable with the same prefix is a rank.
constexpr auto kSizesOfGroups =
    std::to_array<const char*>({"*_GROUP_SIZE", "*_GANG_SIZE", "*_CLUSTER_SIZE", "*_JOB_SIZE"});

/// Words in names that look like counters or lists and are none: machine properties, sharding of test runners,
/// services.
constexpr auto kInnocentWords = std::to_array<std::string_view>(
    {"LOCAL",     "ON",       "GPU",           "GPUS",       "CPU",       "CPUS",     "CORES",      "TASKS",
     "PER",       "MSRUN",    "NUMA",          "MAX",        "MIN",       "LIMIT",    "CI",         "CIRCLE",
     "KNAPSACK",  "SERVICE",  "PORT",          "THREAD",     "THREADS",   "LOADER",   "DATALOADER", "POOL",
     "WEB",       "HTTP",     "HTTPS",         "UVICORN",    "GUNICORN",  "CELERY",   "KAFKA",      "REDIS",
     "ETCD",      "ES",       "ELASTICSEARCH", "MEMCACHED",  "CASSANDRA", "MONGO",    "MONGODB",    "ZOOKEEPER",
     "RABBITMQ",  "DB",       "DATABASE",      "POSTGRES",   "MYSQL",     "ALLOWED",  "TRUSTED",    "PROXY",
     "KNOWN",     "SSH",      "DNS",           "NAMESERVER", "LDAP",      "NFS",      "SMTP",       "CORS",
     "BUILD",     "MAKE",     "PYTEST",        "SPARK",      "JENKINS",   "MEMCACHE", "CLICKHOUSE", "OPENSEARCH",
     "SOLR",      "SCYLLA",   "NATS",          "CONSUL",     "VAULT",     "INFLUX",   "MILVUS",     "QDRANT",
     "TYPESENSE", "COUCHBASE"});

/// Names of lists.
constexpr auto kLists =
    std::to_array<const char*>({"*_HOSTS", "*_HOSTNAMES", "*_HOST_LIST", "*_NODE_LIST", "*_NODELIST", "HOST_LIST",
                                "HOSTLIST", "NODELIST", "IP_LIST", "*_IP_LIST", "*_IPS", "*_NODES", "*_MACHINE_LIST"});

/// Ranks of nodes: the job has more nodes than that.
constexpr auto kRanks = std::to_array<const char*>(
    {"NODE_RANK", "GROUP_RANK", "*_NODE_RANK", "MACHINE_RANK", "GLOBAL_RANK", "PALS_RANKID", "ALPS_APP_PE"});

/// Counting names that may count processes, or devices.
constexpr std::array<const char*, 9> kOfProcesses = {"WORLD_SIZE",      "WORKER_NUM",    "*_WORKER_NUM",
                                                     "*_WORKER_COUNT",  "*_WORLD_SIZE",  "NUM_PROCESSES",
                                                     "*_NUM_PROCESSES", "MS_WORKER_NUM", "CM_WORKER_SIZE"};

bool matches_any(std::string_view name, std::span<const char* const> patterns) {
  return std::ranges::any_of(patterns, [&](const char* pattern) {
    // Comparing the first letter skips most patterns: every variable is compared with every pattern at every start.
    return (*pattern == '*' || name.starts_with(*pattern)) && matches_pattern(name, pattern);
  });
}

bool names_as_counter(const Platform& platform, std::string_view name) {
  return matches_any(name, listed(platform.counts));
}

/// The most specific platform that names this variable or file as a counter; null for bare names.
const Platform* find_owner(std::string_view name) {
  if (names_as_counter(kBare, name)) {
    return &kBare;
  }
  const auto all = platforms();
  const auto at =
      std::ranges::find_if(all, [&](const Platform* platform) { return names_as_counter(*platform, name); });
  return at == all.end() ? nullptr : *at;
}

bool is_innocent(std::string_view name) {
  const std::vector<std::string> words = split(std::string(name), '_');
  return name == "OMPI_COMM_WORLD_NODE_RANK" ||  // among the ranks of its host
         std::ranges::any_of(words, [](const std::string& word) { return contains(kInnocentWords, word); });
}

/// True where BT_NODE_RANK or BT_INDEX, of the platform that sets BT_GROUP_SIZE, has this member's index.
bool has_rank_beside(std::string_view name, const Snapshot& snapshot) {
  const std::string start(name.substr(0, name.find('_', 1) + 1));
  const auto from = snapshot.variables.lower_bound(start);
  return std::any_of(from, snapshot.variables.end(), [&](const auto& variable) {
    return variable.first.starts_with(start) &&
           (variable.first.ends_with("RANK") || variable.first.ends_with("_INDEX"));
  });
}

bool has_shape(std::string_view name, const Snapshot& snapshot) {
  const bool has_any = matches_any(name, kNumbers) || matches_any(name, kLists) || matches_any(name, kRanks) ||
                       names_host_file(name) || (matches_any(name, kSizesOfGroups) && has_rank_beside(name, snapshot));
  return has_any && !is_innocent(name);
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

/// Counts different hosts in a list with commas, semicolons or blanks, or in Slurm's short form. Numbers between them
/// are slots. A short form that cannot be expanded counts as two.
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

/// Reads "02", "+2" and "2.0", which muster does not accept as numbers, but which show that there are two.
int count_digits(std::string_view text) {
  const std::size_t first = text.find_first_not_of("+0");
  const std::size_t end = text.find_first_not_of("0123456789", first);
  if (first == std::string_view::npos || end == first) {
    return 0;
  }
  return parse_integer(text.substr(first, end - first), 0, kMostNodes).value_or(kMostNodes);
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
  if (name.ends_with("_NODE")) {  // other variables with this ending hold a name or an address
    return parse_integer(text, 0, kMostNodes).value_or(0);
  }
  if (matches_any(name, kNumbers) || matches_any(name, kSizesOfGroups)) {
    return count_digits(text);
  }
  boost::system::error_code error;
  const json::value document = json::parse(text, error);
  return !error && document.is_structured() ? count_texts(document) : count_hosts(text);
}

void add_counter(std::vector<Counter>& counters, const Source& source, const std::string& value,
                 const Snapshot& snapshot) {
  const Platform* const owner = find_owner(source.name);
  if (owner == nullptr && !has_shape(source.name, snapshot)) {
    return;
  }
  Counter counter{{shortened(value), source}, 0, false, owner};
  // A TensorFlow evaluator is not a member of the cluster in TF_CONFIG.
  const bool is_alone = source.name == "TF_CONFIG" && !are_several_tasks(snapshot);
  const auto file = snapshot.files.find(value);
  const bool is_file = file != snapshot.files.end();
  counter.count = is_alone ? 1 : number_said_by(source.name, is_file ? file->second : value);
  if (owner == nullptr && names_host_file(source.name) && !value.empty()) {
    counter.is_guess = !is_file;  // an unreadable file may list any number
    counter.count = is_file ? count_lines_of_hosts(file->second) : 2;
  }
  if (matches_any(source.name, kRanks)) {
    counter.count = parse_integer(value, 0, kMostNodes - 1).value_or(-1) + 1;
  }
  // A rank of mpirun is a muster, not a worker that muster starts.
  counter.counts_processes = counter.owner != &kMpirun && matches_any(source.name, kOfProcesses);
  counters.push_back(std::move(counter));
}

Error too_few(const Counter& counter, const PlatformFacts& facts, const Choice& choice) {
  const std::string whose = counter.owner == nullptr ? "" : std::string(" (of ") + counter.owner->name + ")";
  const std::string seen = counter.text.source.name + " is '" + masked(counter.text.source.name, counter.text.value) +
                           "'" + whose + ", but ";
  const int nodes = facts.nodes->value;
  if (choice.platform == nullptr) {
    return Error{ErrorKind::BadEnvironment,
                 seen +
                     "no platform that muster knows describes a job of several nodes, and this one would run alone; "
                     "give --nnodes and what it then asks for, or --platform single if it is meant to"};
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

/// Counters of an excluded platform that are no single variable's value.
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

Result<> check_not_alone(const PlatformFacts& facts, const Choice& choice, const JobRoles& roles, int slots,
                         const Counters& counters) {
  const Snapshot& snapshot = counters.snapshot;
  // Task lists count all tasks, and a user may want a separate job inside a worker.
  const bool is_decided = !choice.name.empty() || is_given(facts.nodes->source) || facts.are_nodes_of_total ||
                          roles.tasks || is_already_worker(snapshot);
  if (is_decided) {
    return {};
  }
  if (const auto replaced = find_replaced(facts, choice, snapshot)) {
    return too_few(*replaced, facts, choice);
  }
  const int nodes = facts.nodes->value;
  std::vector<Counter> all = counters.all;
  const std::vector<Counter> left_out = counters_left_out(choice, snapshot);
  all.insert(all.end(), left_out.begin(), left_out.end());
  for (const Counter& counter : all) {
    const bool is_read = choice.platform != nullptr && names_as_counter(*choice.platform, counter.text.source.name);
    const bool is_told_better = counter.is_guess && choice.platform != nullptr;
    const bool counts_our_workers =  // all of them: another number may as well be one of nodes
        counter.counts_processes && nodes > 1 && counter.count == static_cast<long long>(nodes) * slots;
    if (counter.count > nodes && !counts_our_workers && !is_read && !is_told_better) {
      return too_few(counter, facts, choice);
    }
  }
  return {};
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

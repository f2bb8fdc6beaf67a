// Joins what the platform says with what flags and MUSTER_* variables say into one description,
// and refuses what cannot be true.
#include "platform.hpp"
#include "ports.hpp"

#include <muster/base/text.hpp>
#include <muster/cluster/cluster.hpp>
#include <muster/environment/accelerators.hpp>

#include <algorithm>

namespace muster {
namespace {

/// torchrun's default.
constexpr int kDefaultPort = 29'500;

constexpr const char* kDefault = "default";

/// More than any machine has, and few enough to be counted in an int for every role of a template.
constexpr long long kMostWorkers = 10'000'000;

struct Choice {
  const Platform* platform = nullptr;  ///< empty: no platform speaks, only flags and defaults
  std::string name;                    ///< what --platform asked for; empty when nobody did
  std::string source;
};

Choice detect_platform(const Snapshot& snapshot) {
  // The variables of a worker speak about the job that it is a worker of, in numbers of processes.
  if (is_already_worker(snapshot)) {
    return {nullptr, "", "default"};
  }
  for (const Platform& platform : platforms()) {
    if (const auto sign = platform.find_sign(snapshot)) {
      return {&platform, "", *sign};
    }
  }
  return {nullptr, "", "default"};
}

Result<Choice> choose_platform(const Snapshot& snapshot, const Settings& settings) {
  const auto wanted = settings.find("platform");
  if (!wanted) {
    return detect_platform(snapshot);
  }
  if (wanted->value == "flags" || wanted->value == "single") {
    return Choice{nullptr, wanted->value, wanted->source};
  }
  for (const Platform& platform : platforms()) {
    if (wanted->value != platform.name) {
      continue;
    }
    if (!platform.find_sign(snapshot)) {
      return Error{
          blame(wanted->source),
          wanted->source + " is '" + wanted->value + "', but " + platform.signs + " is not set"};
    }
    return Choice{&platform, wanted->value, wanted->source};
  }
  return wrong_value(*wanted, "one of " + join(platform_names(), ", "));
}

template <typename T>
Result<> override_field(std::optional<Sourced<T>>& field,
                        const Settings& settings,
                        std::string_view name,
                        Result<Sourced<T>> (*reader)(const Sourced<std::string>&)) {
  if (const auto setting = settings.find(name)) {
    auto value = reader(*setting);
    if (!value) {
      return value.error();
    }
    field = std::move(*value);
  }
  return {};
}

/// Flags and MUSTER_* variables replace what the platform says, field by field.
Result<> apply_settings(Findings& findings, const Settings& settings) {
  const auto nodes = settings.find("nnodes");
  if (auto read = nodes ? read_node_range(findings, *nodes) : Result<>(); !read) {
    return read;
  }
  // A job of one node has only one rank, whatever the platform calls this machine, and nothing
  // that is meant for several nodes applies to it.
  if (nodes && findings.nodes->value == 1) {
    findings.node_rank = {0, findings.nodes->source};
    findings.hosts.reset();
    findings.master_address.reset();
    findings.master_port.reset();
  }
  if (auto done = override_field(findings.node_rank, settings, "node-rank", read_node_rank);
      !done) {
    return done;
  }
  if (auto done = override_field(findings.master_address, settings, "master-addr", read_address);
      !done) {
    return done;
  }
  if (auto done = override_field(findings.master_port, settings, "master-port", read_port); !done) {
    return done;
  }
  if (const auto slots = settings.find("nproc-per-node")) {
    findings.slots = slots;
  }
  if (const auto job_id = settings.find("job-id")) {
    findings.job_id = job_id;
  }
  return {};
}

bool is_setting(std::string_view source) {
  return is_flag(source) || source.starts_with("MUSTER_");
}

/// "4" or "2:4", with its source.
Sourced<std::string> nodes_as_written(const Findings& findings) {
  const int most = findings.nodes->value;
  const int least = findings.least_nodes.value_or(most);
  return {(least < most ? std::to_string(least) + ":" : "") + std::to_string(most),
          findings.nodes->source};
}

Error missing(const std::optional<Sourced<std::string>>& known,
              std::string_view what,
              const char* flag) {
  const std::string because = known ? known->source + " is '" + known->value + "', but " : "";
  return Error{known ? blame(known->source) : ErrorKind::BadEnvironment,
               because + "nothing says " + std::string(what) + "; give " + flag};
}

std::optional<Sourced<std::string>> as_text(const std::optional<Sourced<int>>& number) {
  return number ? std::optional(Sourced<std::string>{std::to_string(number->value), number->source})
                : std::nullopt;
}

/// Checks count and rank against each other. Where a user or torchrun's variables describe the job
/// ranks may go by arrival; a platform that gives ranks and gives none to this node is broken.
Result<> check_rank(const Findings& findings, const Platform* platform) {
  const bool may_lack_rank = platform == nullptr || platform->may_lack_rank;
  if (!findings.node_rank && !may_lack_rank) {
    return missing(nodes_as_written(findings), "which of the nodes this is", "--node-rank");
  }
  if (findings.node_rank && findings.node_rank->value >= findings.nodes->value) {
    return contradiction(
        *as_text(findings.node_rank), nodes_as_written(findings), "a rank must be below its count");
  }
  return {};
}

/// Fills what one node does not need to be told, and asks for what several nodes need.
Result<> complete(Findings& findings, const Platform* platform) {
  if (!findings.nodes && !findings.node_rank && platform == nullptr) {
    findings.nodes = {1, "default"};
  }
  if (!findings.nodes) {
    return missing(as_text(findings.node_rank), "how many nodes the job has", "--nnodes");
  }
  const bool is_single = findings.nodes->value == 1;
  if (!findings.node_rank && is_single) {
    findings.node_rank = {0, findings.nodes->source};
  }
  if (auto checked = check_rank(findings, platform); !checked) {
    return checked;
  }
  // A port of our own needs no name that others know, nor one that must resolve first.
  const bool is_own_port = is_single && !findings.master_port;
  if (is_single &&
      (!findings.master_address || (is_own_port && !is_setting(findings.master_address->source)))) {
    findings.master_address = {"127.0.0.1", "default"};
  }
  if (!findings.master_address) {
    return missing(nodes_as_written(findings), "where the leader is", "--master-addr");
  }
  if (!findings.master_port && !is_single) {
    findings.master_port = {kDefaultPort, "default"};
  }
  return {};
}

/// On a node that is not the leader, "localhost" leads to itself. A user who gives that name tests
/// several agents on one machine.
Result<> check_leader_address(const Findings& findings) {
  const std::string& address = findings.master_address->value;
  const bool is_local = address == "localhost" && !is_setting(findings.master_address->source);
  if (findings.node_rank && findings.node_rank->value > 0 && is_local) {
    return contradiction(
        Sourced<std::string>{address, findings.master_address->source},
        Sourced<std::string>{std::to_string(findings.node_rank->value), findings.node_rank->source},
        "only the leader can reach itself by that name");
  }
  return {};
}

void add_hosts(Cluster& cluster, const Findings& findings) {
  const auto nodes = static_cast<std::size_t>(cluster.nodes);
  cluster.hosts.resize(nodes);
  if (findings.hosts && findings.hosts->value.size() == nodes) {
    std::copy(findings.hosts->value.begin(), findings.hosts->value.end(), cluster.hosts.begin());
  } else {
    cluster.hosts.front() = cluster.master_address;
  }
}

Result<> add_slots(Cluster& cluster, const Findings& findings, const Snapshot& snapshot) {
  const auto wanted = findings.slots.value_or(Sourced<std::string>{"auto", "default"});
  const auto slots = count_slots(wanted, snapshot);
  if (!slots) {
    return slots.error();
  }
  if (static_cast<long long>(cluster.nodes) * slots->value > kMostWorkers) {
    return contradiction(nodes_as_written(findings),
                         Sourced<std::string>{std::to_string(slots->value), slots->source},
                         "together more workers than muster can count");
  }
  cluster.slots.assign(static_cast<std::size_t>(cluster.nodes), slots->value);
  cluster.decisions.push_back({"nodes.slots", std::to_string(slots->value), slots->source});
  if (cluster.nodes > 1) {
    cluster.decisions.push_back(
        {"nodes.slots of the others", std::to_string(slots->value), "assumed equal to ours"});
  }
  return {};
}

/// Which platform speaks, and by what: a count of nodes that the user gives makes it "flags".
Decision decide_platform(const Choice& choice, const Findings& findings) {
  if (!choice.name.empty()) {
    return {"platform", choice.name, choice.source};
  }
  if (is_setting(findings.nodes->source)) {
    return {"platform", "flags", findings.nodes->source};
  }
  return {"platform", choice.platform == nullptr ? "single" : choice.platform->name, choice.source};
}

/// Count and rank of the nodes.
void add_nodes(Cluster& cluster, const Findings& findings) {
  const std::string& source = findings.nodes->source;
  cluster.nodes = findings.nodes->value;
  cluster.least_nodes = findings.least_nodes.value_or(cluster.nodes);
  cluster.has_node_rank = findings.node_rank.has_value();
  cluster.decisions.push_back({"nodes.count", std::to_string(cluster.nodes), source});
  if (cluster.least_nodes < cluster.nodes) {
    cluster.decisions.push_back({"nodes.least", std::to_string(cluster.least_nodes), source});
  }
  if (cluster.has_node_rank) {
    cluster.node_rank = NodeRank{findings.node_rank->value};
    cluster.decisions.push_back(
        {"nodes.rank", to_string(cluster.node_rank), findings.node_rank->source});
  } else {
    cluster.decisions.push_back({"nodes.rank", "by arrival", "the gang, at start"});
  }
}

/// What torchrun's options say about the job and no platform does.
Result<> add_job(Cluster& cluster,
                 const Findings& findings,
                 const Snapshot& snapshot,
                 const Settings& settings) {
  if (findings.job_id && !findings.job_id->value.empty()) {
    cluster.job_id = findings.job_id->value;
    cluster.decisions.push_back({"job_id", cluster.job_id, findings.job_id->source});
  }
  if (!findings.secret_file.empty() && cluster.nodes > 1) {
    cluster.secret_file = findings.secret_file;
    cluster.decisions.push_back({"token", "***", findings.secret_file});
  }
  const auto restarts = read_max_restarts(snapshot, settings);
  if (!restarts) {
    return restarts.error();
  }
  cluster.max_restarts = restarts->value;
  if (restarts->source != kDefault) {
    cluster.decisions.push_back(
        {"max_restarts", std::to_string(restarts->value), restarts->source});
  }
  return {};
}

Result<Cluster> to_cluster(const Choice& choice,
                           const Findings& findings,
                           const Snapshot& snapshot,
                           const Settings& settings) {
  Cluster cluster;
  cluster.decisions = {decide_platform(choice, findings)};
  cluster.platform = cluster.decisions.front().value;
  cluster.master_address = findings.master_address->value;
  add_nodes(cluster, findings);
  cluster.decisions.push_back(
      {"rendezvous.address", cluster.master_address, findings.master_address->source});
  if (auto added = add_ports(cluster, findings, settings); !added) {
    return added.error();
  }
  if (auto added = add_job(cluster, findings, snapshot, settings); !added) {
    return added.error();
  }
  add_hosts(cluster, findings);
  if (auto added = add_slots(cluster, findings, snapshot); !added) {
    return added.error();
  }
  return cluster;
}

}  // namespace

Result<Cluster> describe_cluster(const Snapshot& snapshot,
                                 const Settings& settings,
                                 const std::vector<std::string>& roles) {
  (void)roles;
  const auto choice = choose_platform(snapshot, settings);
  if (!choice) {
    return choice.error();
  }
  Findings findings;
  if (choice->platform != nullptr) {
    auto read = choice->platform->read(snapshot);
    if (!read) {
      return read.error();
    }
    findings = std::move(*read);
  }
  if (!findings.slots) {  // torchrun takes it wherever it runs, and images set it for that
    findings.slots = sourced_variable(snapshot, "PET_NPROC_PER_NODE");
  }
  if (auto applied = apply_settings(findings, settings); !applied) {
    return applied.error();
  }
  if (auto completed = complete(findings, choice->platform); !completed) {
    return completed.error();
  }
  if (choice->name == "single" && findings.nodes->value > 1) {
    return contradiction(Sourced<std::string>{choice->name, choice->source},
                         nodes_as_written(findings),
                         "a single node has no others");
  }
  if (auto checked = check_leader_address(findings); !checked) {
    return checked.error();
  }
  return to_cluster(*choice, findings, snapshot, settings);
}

Result<Sourced<int>> read_max_restarts(const Snapshot& snapshot, const Settings& settings) {
  constexpr int kMost = 1'000'000;
  auto text = settings.find("max-restarts");
  if (!text) {
    text = sourced_variable(snapshot, "PET_MAX_RESTARTS");
  }
  if (!text) {
    return Sourced<int>{0, kDefault};
  }
  const auto restarts = parse_integer(text->value, 0, kMost);
  if (!restarts) {
    return wrong_value(*text, "a number of restarts from 0 to " + std::to_string(kMost));
  }
  return Sourced<int>{*restarts, text->source};
}

bool is_already_worker(const Snapshot& snapshot) {
  const auto is_integer = [&](std::string_view name) {
    const auto value = snapshot.variable(name);
    return value && parse_integer(*value, 0, kMostNodes).has_value();
  };
  return is_integer("LOCAL_RANK") && is_integer("LOCAL_WORLD_SIZE");
}

std::vector<std::string> platform_names() {
  std::vector<std::string> names = {"flags", "single"};
  for (const Platform& platform : platforms()) {
    names.emplace_back(platform.name);
  }
  return names;
}

}  // namespace muster

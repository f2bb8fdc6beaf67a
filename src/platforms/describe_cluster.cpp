// Joins what the platform says with what flags and MUSTER_* variables say into one description,
// and refuses what cannot be true.
#include "platforms/choose_platform.hpp"
#include "platforms/complete.hpp"
#include "platforms/counters.hpp"
#include "platforms/leader_address.hpp"
#include "platforms/platform.hpp"
#include "platforms/ports.hpp"
#include "platforms/restarts.hpp"
#include "platforms/roles.hpp"
#include "platforms/share.hpp"
#include "platforms/slots.hpp"
#include "platforms/unused.hpp"

#include "base/text.hpp"
#include "base/visible.hpp"
#include "platforms/cluster.hpp"

#include <algorithm>

namespace muster {
namespace {

void add_hosts(Cluster& cluster, const PlatformFacts& facts) {
  const auto nodes = static_cast<std::size_t>(cluster.job.most_nodes);
  cluster.hosts.resize(nodes);
  if (facts.hosts && facts.hosts->value.size() == nodes) {
    std::copy(facts.hosts->value.begin(), facts.hosts->value.end(), cluster.hosts.begin());
  } else {
    cluster.hosts.front() = cluster.master_address;
  }
}

/// Which platform speaks, and by what: a count of nodes that the user gives makes it "flags".
Decision decide_platform(const Choice& choice, const PlatformFacts& facts) {
  if (!choice.name.empty()) {
    return {"platform", choice.name, choice.source.name};
  }
  if (is_given(facts.nodes->source) || facts.are_nodes_of_total) {
    return {"platform", "flags", facts.nodes->source.name};
  }
  return {"platform",
          choice.platform == nullptr ? "single" : choice.platform->name,
          choice.source.name};
}

/// In one order, whatever order each node writes them in, and each once.
std::vector<std::string> as_set(std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

/// Count and rank of the nodes.
void add_nodes(Cluster& cluster, const PlatformFacts& facts) {
  const std::string& source = facts.nodes->source.name;
  JobFacts& job = cluster.job;
  job.most_nodes = facts.nodes->value;
  job.least_nodes = facts.least_nodes.value_or(job.most_nodes);
  cluster.decisions.push_back({"nodes.count", std::to_string(job.most_nodes), source});
  if (job.least_nodes < job.most_nodes) {
    cluster.decisions.push_back({"nodes.least", std::to_string(job.least_nodes), source});
  }
  if (const auto& rank = facts.node_rank) {
    cluster.node.rank = NodeRank{rank->value};
    cluster.decisions.push_back({"nodes.rank", std::to_string(rank->value), rank->source.name});
  } else {
    cluster.decisions.push_back({"nodes.rank", "by arrival", "the gang, at start"});
  }
}

/// What the platform does by itself, for people.
void add_platform_habits(Cluster& cluster, const PlatformFacts& facts) {
  if (const auto& count = facts.restart_count) {
    cluster.platform_restarts = count->value;
    cluster.decisions.push_back(
        {"platform.restarts", std::to_string(count->value), count->source.name});
  }
  if (const auto& grace = facts.grace) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(grace->value);
    cluster.decisions.push_back(
        {"platform.grace", std::to_string(seconds.count()) + " s", grace->source.name});
  }
}

/// The name of the job is sent to the leader, which compares it with its own, and messages show it.
Result<> check_name(const Sourced<std::string>& name) {
  constexpr std::size_t kMostBytes = 255;
  constexpr std::size_t kShown = 80;
  if (name.value.size() <= kMostBytes && visible_line(name.value) == name.value) {
    return {};
  }
  return wrong_value({shortened(visible_line(name.value), kShown), name.source},
                     "at most 255 bytes of UTF-8 without control and invisible characters");
}

/// What torchrun's options say about the job and no platform does.
Result<> add_job(Cluster& cluster,
                 const PlatformFacts& facts,
                 const Snapshot& snapshot,
                 const std::optional<Sourced<int>>& restarts_given) {
  if (facts.job_id && !facts.job_id->value.empty()) {
    if (auto checked = check_name(*facts.job_id); !checked) {
      return checked;
    }
    cluster.job.job_id = facts.job_id->value;
    cluster.decisions.push_back({"job_id", cluster.job.job_id, facts.job_id->source.name});
  }
  if (!facts.secret_file.empty() && cluster.job.most_nodes > 1) {
    cluster.secret_file = facts.secret_file;
    cluster.decisions.push_back({"token", "***", facts.secret_file});
  }
  const auto restarts = find_restarts(snapshot, restarts_given);
  if (!restarts) {
    return restarts.error();
  }
  cluster.max_restarts = restarts->value;
  if (restarts->source.kind != SourceKind::Default) {
    cluster.decisions.push_back(
        {"max_restarts", std::to_string(restarts->value), restarts->source.name});
  }
  return {};
}

/// What the platform says, then the task lists, then the user: each replaces what is before it.
Result<PlatformFacts> gather(const Choice& choice,
                             const JobRoles& roles,
                             const Snapshot& snapshot,
                             const ClusterRequest& request,
                             const ModeFacts& mode) {
  PlatformFacts facts;
  if (choice.platform != nullptr) {
    auto read = choice.platform->read(snapshot);
    if (!read) {
      return read.error();
    }
    facts = std::move(*read);
  }
  if (facts.mode_of_workers != mode.name && !mode.is_users_own) {
    facts.workers.reset();
  }
  if (!facts.slots) {  // torchrun takes it wherever it runs, and images set it for that
    facts.slots = sourced_variable(snapshot, "PET_NPROC_PER_NODE");
  }
  apply_tasks(facts, roles);
  if (facts.torn_nodes) {
    return *facts.torn_nodes;
  }
  const Platform* const passed_over = find_passed_over(choice, snapshot, request, mode.roles);
  if (auto applied = passed_over != nullptr ? check_share_of(*passed_over, snapshot, request)
                                            : apply_share(facts, request);
      !applied) {
    return applied.error();
  }
  apply_request(facts, request);
  if (auto checked = check_against_tasks(facts, roles); !checked) {
    return checked.error();
  }
  return facts;
}

Result<> check(const Choice& choice, const PlatformFacts& facts) {
  if (choice.name == "single" && facts.nodes->value > 1) {
    return contradiction(Sourced<std::string>{choice.name, choice.source},
                         nodes_as_written(facts),
                         "a single node has no others");
  }
  return {};
}

/// What does not depend on the roles and slots.
Result<Cluster> start_cluster(const Choice& choice,
                              const PlatformFacts& facts,
                              const Ports& ports,
                              const Snapshot& snapshot,
                              const ClusterRequest& request) {
  auto remark = check_leader_address(facts);
  if (!remark) {
    return remark.error();
  }
  Cluster cluster;
  if (!remark->empty()) {
    cluster.notices.push_back(std::move(*remark));
  }
  if (!facts.remark.empty() && facts.nodes->value > 1) {
    cluster.notices.push_back(facts.remark);
  }
  cluster.decisions = {decide_platform(choice, facts)};
  cluster.platform = cluster.decisions.front().value;
  cluster.master_address = facts.master_address->value;
  cluster.master_address_from = facts.master_address->source.name;
  add_nodes(cluster, facts);
  cluster.decisions.push_back(
      {"rendezvous.address", cluster.master_address, facts.master_address->source.name});
  add_ports(cluster, ports);
  if (auto added = add_job(cluster, facts, snapshot, request.max_restarts); !added) {
    return added.error();
  }
  add_platform_habits(cluster, facts);
  add_hosts(cluster, facts);
  return cluster;
}

/// Ours must be over before the platform kills what is left: a fifth earlier. 0: it kills without asking.
void add_grace(Cluster& cluster, const PlatformFacts& facts, const ClusterRequest& request) {
  std::chrono::milliseconds& grace = cluster.node.grace;
  const bool is_asked = facts.grace && facts.grace->value.count() > 0;
  const auto most = is_asked ? facts.grace->value * 4 / 5 : grace;
  if (request.grace) {
    grace = *request.grace;
  } else if (most < grace) {
    grace = most;
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(grace);
    cluster.decisions.push_back(
        {"grace", std::to_string(seconds.count()) + " s", facts.grace->source.name});
  }
}

/// What was asked, and where.
struct Asked {
  const Snapshot& snapshot;
  const Counters& counters;  ///< of it
  const ClusterRequest& request;
  const ModeFacts& mode;
};

/// What was found, as one description.
Result<Cluster> join(const Choice& choice,
                     const JobRoles& roles,
                     const PlatformFacts& facts,
                     const Sourced<int>& slots,
                     const Asked& asked) {
  const auto ports = choose_ports(facts, asked.request, asked.mode);
  if (!ports) {
    return ports.error();
  }
  auto cluster = start_cluster(choice, facts, *ports, asked.snapshot, asked.request);
  if (!cluster) {
    return cluster.error();
  }
  if (auto added = add_slots(*cluster, facts, slots); !added) {
    return added.error();
  }
  if (auto crowd = describe_crowd(slots, asked.snapshot); !crowd.empty()) {
    cluster->notices.push_back(std::move(crowd));
  }
  add_share(*cluster, facts);
  if (auto checked = check_ports(*ports, roles); !checked) {
    return checked.error();
  }
  add_roles(*cluster, roles);
  cluster->lost = facts.lost;
  for (UnusedValue& unused : find_unused(cluster->decisions, facts.lost, choice, asked.counters)) {
    cluster->lost.push_back(std::move(unused));
  }
  cluster->job.mode = asked.mode.name;
  cluster->job.template_digest = asked.mode.digest;
  cluster->job.success_roles = as_set(asked.mode.success_roles);
  cluster->node.host = asked.snapshot.host_name;
  cluster->node.role_name = asked.mode.role_name;
  add_grace(*cluster, facts, asked.request);
  return cluster;
}

}  // namespace

Result<Cluster> describe_cluster(const Snapshot& snapshot,
                                 const ClusterRequest& request,
                                 const ModeFacts& mode) {
  const auto choice = choose_platform(snapshot, request, mode.roles);
  if (!choice) {
    return choice.error();
  }
  const auto job_roles = read_job_roles(*choice, snapshot, request, mode.roles);
  if (!job_roles) {
    return job_roles.error();
  }
  auto facts = gather(*choice, *job_roles, snapshot, request, mode);
  if (!facts) {
    return facts.error();
  }
  const auto slots = find_slots(*facts, snapshot);
  if (!slots) {
    return slots.error();
  }
  if (auto applied = apply_total(*facts, request.workers, *slots); !applied) {
    return applied.error();
  }
  if (auto completed = complete(*facts, *job_roles, choice->platform, request.names); !completed) {
    return completed.error();
  }
  if (auto checked = check(*choice, *facts); !checked) {
    return checked.error();
  }
  const Counters counters = find_counters(snapshot);
  if (auto checked = check_not_alone(*facts, *choice, *job_roles, slots->value, counters);
      !checked) {
    return checked.error();
  }
  return join(*choice, *job_roles, *facts, *slots, Asked{snapshot, counters, request, mode});
}

Result<Sourced<int>> read_restarts(const Sourced<std::string>& text) {
  constexpr int kMost = 1'000'000;
  const auto restarts = parse_integer(text.value, 0, kMost);
  if (!restarts) {
    return wrong_value(text, "a number of restarts from 0 to " + std::to_string(kMost));
  }
  return Sourced<int>{*restarts, text.source};
}

Result<Sourced<int>> find_restarts(const Snapshot& snapshot,
                                   const std::optional<Sourced<int>>& given) {
  const auto text = sourced_variable(snapshot, "PET_MAX_RESTARTS");
  if (given || !text) {
    return given.value_or(Sourced<int>{0, {}});
  }
  return read_restarts(*text);
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
  for (const Platform* const platform : platforms()) {
    names.emplace_back(platform->name);
  }
  return names;
}

}  // namespace muster

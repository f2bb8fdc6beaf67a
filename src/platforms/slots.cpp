// Decides the slots of this node and of the job. Other nodes are assumed to have as many as this one; the real
// numbers are known when all have met.
#include "platforms/slots.hpp"

#include "base/text.hpp"
#include "environment/accelerators.hpp"
#include "options/readers.hpp"
#include "platforms/roles.hpp"

#include <algorithm>

namespace muster {
namespace {

/// Checks that the number of all workers is nodes times slots of this node, if no source has the number per node.
Result<> check_shares(const PlatformFacts& facts, const Sourced<int>& total, const Sourced<int>& slots) {
  const long long together = static_cast<long long>(facts.nodes->value) * slots.value;
  if (slots.source.kind != SourceKind::Default || together == total.value) {
    return {};
  }
  return contradiction(as_text(total), nodes_as_written(facts),
                       "these nodes cannot have equally many workers, and nothing says how many this node has");
}

/// The platform's number of all workers, unless the user changes the slots of its nodes. Kept even if this node has
/// exactly its share, because another node may have fewer or more.
std::optional<Sourced<int>> total_of_platform(const PlatformFacts& facts, const Sourced<int>& slots) {
  const bool is_changed = is_given(slots.source) || (facts.nodes && is_given(facts.nodes->source));
  return is_changed ? std::nullopt : facts.workers;
}

/// Checks that given nodes have at least one worker each; a single node has all.
Result<> check_nodes_of_total(const PlatformFacts& facts, const Sourced<int>& total, const Sourced<int>& slots) {
  const int least = facts.least_nodes.value_or(facts.nodes->value);
  if (least > total.value - slots.value + 1) {
    return contradiction(nodes_as_written(facts), as_text(total),
                         "each node has one worker at least, and this one has " + std::to_string(slots.value));
  }
  if (facts.nodes->value == 1 && slots.value != total.value) {
    return contradiction(slots, total, "the job has one node, so both numbers must be equal");
  }
  return {};
}

/// True where the user counts several nodes, and the platform their processes.
bool are_processes_shared(const PlatformFacts& facts) {
  if (!facts.processes || !facts.nodes || !is_given(facts.nodes->source)) {
    return false;
  }
  const int nodes = facts.nodes->value;
  const bool is_range = facts.least_nodes.value_or(nodes) != nodes;
  const bool counts_nodes = !facts.are_processes && facts.processes->value == nodes;
  return nodes > 1 && !is_range && !counts_nodes;
}

}  // namespace

Result<> read_devices(PlatformFacts& facts, const std::optional<Sourced<std::string>>& text) {
  const auto devices = text ? TRY((read_sourced_number<0, 65'536, "a number of devices">(*text))) : Sourced<int>{};
  if (devices.value > 0) {
    facts.slots = as_text(devices);
  }
  return {};
}

Result<> read_devices(PlatformFacts& facts, const Snapshot& snapshot, const std::string& name) {
  return read_devices(facts, sourced_variable(snapshot, name));
}

Result<> check_all_devices(const PlatformFacts& facts, const Snapshot& snapshot, const std::string& name) {
  const auto all = TRY(read_variable(snapshot, name, read_sourced_number<0, kMostWorkers, "a number of devices">));
  if (!all || !facts.nodes || !facts.slots) {
    return {};
  }
  const auto each = parse_integer(facts.slots->value, 1, kMostWorkers);
  const auto expected = static_cast<long long>(each.value_or(0)) * facts.nodes->value;
  if (!each || expected == all->value) {
    return {};
  }
  return contradiction(as_text(*all), *facts.slots,
                       "it counts the devices of all nodes, and " + facts.nodes->source.name + " says that there are " +
                           std::to_string(facts.nodes->value));
}

Sourced<std::string> nodes_as_written(const PlatformFacts& facts) {
  const int most = facts.nodes->value;
  const int least = facts.least_nodes.value_or(most);
  if (facts.workers && facts.workers->source == facts.nodes->source) {
    return as_text(*facts.workers);
  }
  return {(least < most ? std::to_string(least) + ":" : "") + std::to_string(most), facts.nodes->source};
}

Result<Sourced<int>> find_slots(const PlatformFacts& facts, const Snapshot& snapshot) {
  if (!facts.slots && are_processes_shared(facts)) {
    const Sourced<int>& all = *facts.processes;
    const int nodes = facts.nodes->value;
    return all.value % nodes == 0
               ? Result<Sourced<int>>(Sourced<int>{all.value / nodes, all.source})
               : contradiction(all, *facts.nodes, "the processes of all nodes must be a multiple of the nodes");
  }
  auto slots = count_slots(facts.slots.value_or(Sourced<std::string>{"auto", {}}), snapshot);
  const bool is_unknown = slots && slots->source.kind == SourceKind::Default && !facts.slots;
  if (!is_unknown || !facts.workers || !facts.nodes || facts.workers->value % facts.nodes->value != 0) {
    return slots;
  }
  return Sourced<int>{facts.workers->value / facts.nodes->value, facts.workers->source};
}

std::string describe_oversubscription(const Sourced<int>& slots, const Snapshot& snapshot) {
  const int devices = count_visible_devices(snapshot);
  if (devices == 0 || slots.value <= devices || !is_given(slots.source)) {
    return {};
  }
  return slots.source.name + " is '" + std::to_string(slots.value) + "', and this node has " +
         count_of(static_cast<std::size_t>(devices), "device") + ": several workers share one, or have none";
}

Result<> apply_total(PlatformFacts& facts, const std::optional<Sourced<int>>& given, const Sourced<int>& slots) {
  const auto wanted = given ? given : total_of_platform(facts, slots);
  if (!wanted) {
    return {};
  }
  const Sourced<int>& total = *wanted;
  if (!given) {
    TRY(check_shares(facts, total, slots));
  }
  if (slots.value > total.value) {
    return contradiction(slots, total, "one node has no more workers than the job");
  }
  facts.workers = total;
  facts.is_total_given = true;
  if (facts.nodes) {
    return check_nodes_of_total(facts, total, slots);
  }
  // Sets the maximum number of nodes to the number of workers; one node if this one has all workers.
  const bool is_single = total.value == slots.value;
  facts.nodes = {is_single ? 1 : std::min(total.value, kMostNodes), total.source};
  facts.least_nodes = 1;
  facts.are_nodes_of_total = true;
  if (is_single) {
    facts.node_rank = {0, total.source};  // a single node has no other rank
  }
  return {};
}

Result<> add_slots(Cluster& cluster, const PlatformFacts& facts, const Sourced<int>& slots) {
  if (!facts.is_total_given && static_cast<long long>(cluster.job.most_nodes) * slots.value > kMostWorkers) {
    return contradiction(nodes_as_written(facts), as_text(slots), "together more workers than muster can count");
  }
  cluster.node.slots = slots.value;
  cluster.slots_from = slots.source;
  cluster.slots.assign(static_cast<std::size_t>(cluster.job.most_nodes), slots.value);
  cluster.decisions.push_back({"nodes.slots", std::to_string(slots.value), slots.source.name});
  if (cluster.job.most_nodes == 1) {
    return {};
  }
  cluster.decisions.push_back({"nodes.slots of the others", std::to_string(slots.value), "assumed equal to ours"});
  if (facts.is_total_given) {
    cluster.job.total_slots = facts.workers->value;
    cluster.decisions.push_back({"slots.total", std::to_string(facts.workers->value), facts.workers->source.name});
  }
  return {};
}

// Reads the variables of launchers that start one process for each worker, and makes each process a node.

namespace {

Result<> check_share(const PlatformFacts& facts) {
  const HostShare& share = *facts.share;
  if (share.local_rank.value >= share.local_size.value) {
    return contradiction(share.local_rank, share.local_size, "a rank must be below its count");
  }
  if (share.local_size.value > facts.nodes->value) {
    return contradiction(share.local_size, *facts.nodes, "one host has no more processes than the job");
  }
  return {};
}

/// Checks the user's numbers against these processes.
Result<> check_request(const PlatformFacts& facts, const ClusterRequest& request) {
  constexpr const char* kWhy =
      "each process that is started on a host is one worker already; leave the first out, or start one muster for each "
      "host";
  const Sourced<int>& here = facts.share->local_size;
  if (request.slots && request.slots->value != "1" && request.slots->value != "auto") {
    return contradiction(*request.slots, as_text(here), kWhy);
  }
  const bool is_same =
      !request.nodes || !facts.nodes ||
      (request.nodes->value.most == facts.nodes->value && request.nodes->value.least == facts.nodes->value);
  if (!is_same) {
    return contradiction(Sourced<int>{request.nodes->value.most, request.nodes->source}, here, kWhy);
  }
  return {};
}

}  // namespace

Result<> read_tasks(PlatformFacts& facts, const Snapshot& snapshot, const TaskVariables& names) {
  TRY(read_into(facts.nodes, snapshot, names.size, read_node_count));
  TRY(read_into(facts.node_rank, snapshot, names.rank, read_node_rank));
  const auto local_rank = TRY(read_variable(snapshot, names.local_rank, read_node_rank));
  const auto local_size = TRY(read_variable(
      snapshot, names.local_size, read_sourced_integer<1, kMostNodes, "a number of processes of at least 1">));
  for (const char* const name : {names.size, names.rank, names.local_rank, names.local_size}) {
    if (!snapshot.has(name)) {
      return Error{ErrorKind::BadEnvironment,
                   std::string(names.size) + " or other variables of its launcher are set, but " + name +
                       " is not: each process must know its rank in the job and on its host"};
    }
  }
  facts.share = HostShare{*local_rank, *local_size};
  facts.is_share_doubtful = local_size->value == 1;
  if (are_all_here(facts)) {
    facts.share->host_rank = 0;
    facts.share->hosts = 1;
  }
  return check_share(facts);
}

Result<> read_meeting_point(PlatformFacts& facts, const Snapshot& snapshot, const Sourced<std::string>& id,
                            const std::string& advice) {
  TRY(read_into(facts.master_address, snapshot, "MASTER_ADDR", read_address));
  TRY(read_into(facts.master_port, snapshot, "MASTER_PORT", read_port));
  if (!facts.master_address && are_all_here(facts)) {
    facts.master_address = {"127.0.0.1", facts.share->local_size.source};
  }
  if (!facts.master_address && facts.nodes) {
    facts.no_leader = Error{ErrorKind::BadEnvironment,
                            facts.nodes->source.name + " is '" + std::to_string(facts.nodes->value) +
                                "' on several hosts, but nothing says on which of them rank 0 is: " + advice};
  }
  const bool is_shared = !id.value.empty() && facts.nodes && facts.nodes->value > 1;
  if (is_shared && !facts.master_port) {
    facts.master_port = {port_of_job(id.value), id.source};
  }
  if (is_shared && !facts.job_id) {
    facts.job_id = id;
  }
  return {};
}

bool are_all_here(const PlatformFacts& facts) {
  return facts.share && facts.nodes && facts.share->local_size.value == facts.nodes->value;
}

Result<> apply_share(PlatformFacts& facts, const ClusterRequest& request) {
  if (!facts.share) {
    return {};
  }
  const bool is_wanted_alone = request.nodes && request.nodes->value.most == 1;
  const bool is_one_wanted = request.slots && request.slots->value == "1";
  const bool is_only_one = facts.nodes && facts.nodes->value == 1;
  if (is_wanted_alone || is_only_one || (facts.is_share_doubtful && !is_one_wanted)) {
    facts.share.reset();
    return {};
  }
  TRY(check_request(facts, request));
  if (facts.slots && facts.slots->value != "1") {
    facts.lost.push_back({"nodes.slots", *facts.slots, "each process is one worker already"});
  }
  facts.slots = {"1", facts.share->local_size.source};
  facts.workers.reset();
  return {};
}

Result<> check_against_placed_tasks(const Platform& passed_over, const Snapshot& snapshot,
                                    const ClusterRequest& request) {
  auto facts = read_platform(passed_over, snapshot);
  return facts ? apply_share(*facts, request) : Result<>();
}

Result<std::string> check_not_in_each_task(const Platform& around, const Sourced<int>& nodes, const Sourced<int>& slots,
                                           const Snapshot& snapshot) {
  const auto known = read_platform(around, snapshot);
  if (!known || !known->share || known->may_be_by_hand) {
    return std::string();
  }
  const HostShare& share = *known->share;
  const auto own = count_visible_devices(snapshot) > 0 ? share.devices : share.cores;
  if (share.local_size.value == 1 || slots.value == 1 || slots.value <= own.value_or(1)) {
    return std::string();
  }
  Error error = contradiction(is_given(slots.source) ? slots : nodes, share.local_size,
                              "each of these tasks would start a job of " + std::to_string(slots.value) +
                                  " workers; start one task for each host, or give --platform single if you want this");
  return share.local_rank.value == 0 ? Result<std::string>(std::move(error.message)) : std::move(error);
}

void add_share(Cluster& cluster, const PlatformFacts& facts) {
  cluster.share = facts.share;
  cluster.job.are_tasks = facts.share.has_value();
  if (!facts.share) {
    return;
  }
  const HostShare& share = *facts.share;
  const auto decide = [&](const char* field, const Sourced<int>& number) {
    cluster.decisions.push_back({field, std::to_string(number.value), number.source.name});
  };
  decide("host.local_rank", share.local_rank);
  decide("host.local_size", share.local_size);
}

}  // namespace muster

// Reads nodes, devices and ranks from a rank table and compares them with other sources; makes tables. Pure.
#include "rank_table/table_plan.hpp"

#include "base/lists.hpp"
#include "base/text.hpp"
#include "environment/accelerators.hpp"
#include "rank_table/generate.hpp"
#include "rank_table/local_instance.hpp"
#include "rank_table/rewrite.hpp"
#include "rank_table/topology.hpp"

#include <algorithm>
#include <utility>

namespace muster {
namespace {

using rank_table::Device;
using rank_table::Instance;
using rank_table::TableFile;

constexpr const char* kSlots = "nodes.slots";
constexpr const char* kSlotsOfOthers = "nodes.slots of the others";

Error differs(const TableFile& file, const std::string& what, int listed, const Sourced<int>& said) {
  return Error{ErrorKind::BadData, "the rank table '" + file.path + "' has " + std::to_string(listed) + " " + what +
                                       ", but " + said.source.name + " says " + std::to_string(said.value)};
}

int count_nodes(const TableFile& file) {
  const auto& instances = file.table.instances;
  return static_cast<int>(std::ranges::count_if(instances, [](const auto& one) { return !one.devices.empty(); }));
}

/// The source of a fact about the cluster, for messages.
std::string source_of(const Cluster& cluster, const std::string& field) {
  const auto at =
      std::ranges::find_if(cluster.decisions, [&](const Decision& decision) { return decision.field == field; });
  return field + (at == cluster.decisions.end() ? "" : " (" + at->source + ")");
}

/// Compares the numbers of nodes. Tasks placed by a platform are not nodes of a table, and a job that counts workers
/// does not count nodes. A table without pod names lists servers, each of which may have several nodes.
Result<> check_nodes(const Cluster& cluster, const TableFile& file) {
  const JobFacts& job = cluster.job;
  if (job.total_slots && *job.total_slots != file.table.size) {
    return differs(file, "devices", file.table.size,
                   {*job.total_slots, from_variable(source_of(cluster, "slots.total"))});
  }
  const int nodes = count_nodes(file);
  const bool is_enough = nodes >= job.least_nodes || (nodes > 0 && !rank_table::has_pod_names(file.table));
  if (cluster.share || job.total_slots || (is_enough && nodes <= job.most_nodes)) {
    return {};
  }
  Error error = differs(file, "nodes", nodes, {job.most_nodes, from_variable(source_of(cluster, "nodes.count"))});
  if (job.most_nodes == 1) {  // the number may never have been given
    error.message +=
        "; --nnodes " + std::to_string(nodes) + " takes all of them, with --node-rank and --master-addr on each";
  }
  return error;
}

std::vector<int> ids_of(const std::vector<Device>& devices) {
  return mapped(devices, &Device::id);
}

std::string describe_devices(std::vector<int> ids) {
  std::ranges::sort(ids);
  return describe_ranges(ids);
}

Error hidden(const PlanInput& input, const TableFile& file, const Instance& own) {
  const std::string list = input.job.devices                                 ? input.job.devices->source.name
                           : input.snapshot.has("ASCEND_RT_VISIBLE_DEVICES") ? "ASCEND_RT_VISIBLE_DEVICES"
                                                                             : "ASCEND_VISIBLE_DEVICES";
  return Error{ErrorKind::BadData, "the rank table '" + file.path + "' gives this node the devices " +
                                       describe_devices(ids_of(own.devices)) + ", but " + list + " leaves " +
                                       describe_devices(visible_ascend_devices(input.snapshot)) + " (CANN: EI0004)"};
}

/// Fails where device files are missing. A container may number as many devices differently.
Result<> check_files(const PlanInput& input, const TableFile& file, const std::vector<int>& ids) {
  const std::vector<int> files = files_without_ascend_devices(input.snapshot, ids);
  if (files.empty()) {
    return {};
  }
  return Error{ErrorKind::BadData, "the rank table '" + file.path + "' gives this node the devices " +
                                       describe_devices(ids) + ", but of /dev/davinci* it has " +
                                       describe_devices(files) + " (CANN: EI0004)"};
}

Error is_unspecified(const TableFile& file, const Cluster& cluster, const Instance& own) {
  return Error{ErrorKind::BadData, "the rank table '" + file.path + "' has " +
                                       count_of(static_cast<std::size_t>(count_nodes(file)), "server") + " for " +
                                       count_of(static_cast<std::size_t>(cluster.job.least_nodes), "node") +
                                       ", and nothing says which devices of '" + own.server_id +
                                       "' are this node's; ASCEND_VISIBLE_DEVICES or --devices does, or --node-rank "
                                       "together with --nproc-per-node"};
}

/// The devices of this node's ranks on a server that several pods share, if the nodes have equally many.
Result<std::vector<int>> ids_by_ranks(const Cluster& cluster, const TableFile& file, const Instance& own) {
  if (!is_stated(cluster.slots_from) || !cluster.node.rank) {
    return is_unspecified(file, cluster, own);
  }
  const int slots = cluster.node.slots;
  const int first = cluster.assumed_rank().value * slots;
  std::vector<int> ids;
  for (const Device& device : own.devices) {
    if (device.rank >= first && device.rank < first + slots) {
      ids.push_back(device.id);
    }
  }
  return static_cast<int>(ids.size()) == slots ? Result<std::vector<int>>(ids) : is_unspecified(file, cluster, own);
}

/// Device numbers of this node. A list of visible devices selects this node's part of a shared server, and must not
/// hide devices of an unshared one.
Result<std::vector<int>> own_ids(const PlanInput& input, const TableFile& file, const Instance& own) {
  const std::vector<int> visible = visible_ascend_devices(input.snapshot);
  const std::vector<int> all = ids_of(own.devices);
  std::vector<int> left = all;
  std::erase_if(left, [&](int id) { return !visible.empty() && !contains(visible, id); });
  const Cluster& cluster = input.cluster;
  if (cluster.share) {
    return left.empty() ? all : left;
  }
  const bool is_part = left.size() < all.size();
  const bool has_fewer = is_stated(cluster.slots_from) && cluster.node.slots < static_cast<int>(all.size());
  const bool shares = !rank_table::has_pod_names(file.table) &&  // several pods have this server
                      (cluster.job.total_slots ? has_fewer : count_nodes(file) < cluster.job.least_nodes);
  if (left.empty() || (is_part && !shares)) {
    return hidden(input, file, own);
  }
  const bool is_listed = !visible.empty() && (is_part || file.table.instances.size() > 1);
  return !shares || is_listed ? left : ids_by_ranks(cluster, file, own);
}

Result<> check_slots(const PlanInput& input, const TableFile& file, const Instance& own) {
  const Cluster& cluster = input.cluster;
  const auto ids = TRY(own_ids(input, file, own));
  const int devices = static_cast<int>(ids.size());
  if (!cluster.share && is_stated(cluster.slots_from) && cluster.node.slots != devices) {
    return differs(file, "devices of this node", devices, {cluster.node.slots, cluster.slots_from});
  }
  return cluster.share ? Result<>() : check_files(input, file, ids);
}

/// The names in the environment, and the index from the platform or the user.
rank_table::OwnNames names_of(const PlanInput& input, const TableFile& file) {
  const Cluster& cluster = input.cluster;
  rank_table::OwnNames names = rank_table::own_names(input.snapshot);
  if (is_stated(cluster.slots_from)) {
    names.slots = cluster.node.slots;
  }
  const int listed = count_nodes(file);
  const bool is_one_each = listed >= cluster.job.least_nodes && listed <= cluster.job.most_nodes;
  names.nodes = is_one_each ? listed : cluster.job.most_nodes;
  if (cluster.job.total_slots) {  // in that case nodes are not counted
    names.nodes = names.slots ? 0 : listed;
  }
  const bool is_alone = cluster.job.most_nodes == 1;
  if (!cluster.share && (cluster.node.rank || is_alone)) {
    names.index = Sourced<int>{cluster.assumed_rank().value, from_variable(source_of(cluster, "nodes.rank"))};
  }
  return names;
}

/// Takes the slots from the table, where they are not given.
void take_slots(Cluster& cluster, const TableFile& file, std::size_t own, int devices) {
  const auto& instances = file.table.instances;
  const bool is_in_order = instances.size() == cluster.slots.size() &&
                           devices == static_cast<int>(instances[own].devices.size()) &&
                           own == static_cast<std::size_t>(cluster.assumed_rank().value);
  cluster.node.slots = devices;
  for (std::size_t i = 0; i < cluster.slots.size(); ++i) {
    cluster.slots[i] = is_in_order ? static_cast<int>(instances[i].devices.size()) : devices;
  }
  std::erase_if(cluster.decisions, [](const Decision& decision) { return decision.field == kSlotsOfOthers; });
  for (Decision& decision : cluster.decisions) {
    if (decision.field == kSlots && !is_stated(cluster.slots_from)) {
      decision = {kSlots, std::to_string(devices), "the rank table"};
    }
  }
}

}  // namespace

Result<std::size_t> find_local_instance(const PlanInput& input, const TableFile& file) {
  TRY(check_nodes(input.cluster, file));
  auto own = TRY(rank_table::find_instance(file, names_of(input, file)));
  TRY(check_slots(input, file, file.table.instances[own]));
  return own;
}

Result<> apply_table(PlanInput& input, TableFile file) {
  const auto own = TRY(find_local_instance(input, file));
  rank_table::Changes changes;
  if (const auto& network = input.job.network) {
    auto order = TRY(rank_table::order_ring(file, network->value));
    input.cluster.decisions.push_back({"ring.hops", describe(order), network->source.name});
    changes.ranks = std::move(order.ranks);
  }
  auto devices = local_devices(input, file, own, changes.ranks);
  if (!input.cluster.share) {
    take_slots(input.cluster, file, own, static_cast<int>(devices.size()));
  }
  input.ranked = rank_table::RankedNode{file.table.size, std::move(devices),
                                        rank_table::rewrite(std::move(file.text), file.table, changes)};
  return {};
}

std::vector<Device> local_devices(const PlanInput& input, const TableFile& file, std::size_t instance,
                                  const std::vector<int>& ranks) {
  std::vector<Device> devices = rank_table::devices_of(file.table, instance, ranks);
  if (const auto ids = own_ids(input, file, file.table.instances[instance])) {
    std::erase_if(devices, [&](const Device& device) { return !contains(*ids, device.id); });
  }
  std::ranges::sort(devices, [](const Device& one, const Device& other) { return one.rank < other.rank; });
  if (input.cluster.share) {  // a task placed by the platform has one of the devices
    const auto own = static_cast<std::size_t>(input.cluster.share->local_rank.value);
    devices = own < devices.size() ? std::vector<Device>{devices[own]} : std::vector<Device>();
  }
  return devices;
}

// Makes rank tables from the devices of each node.

namespace {

using rank_table::GenerateRequest;

/// Stands in the plan for a table whose other parts are on other nodes.
constexpr const char* kKnownAtStart = "{rank_table}";

/// The device numbers of this node; a task placed by a platform has one device, by its local rank.
Result<std::vector<int>> local_devices(const PlanInput& input) {
  const auto& share = input.cluster.share;
  if (!share) {
    return rank_table::choose_device_ids(input.snapshot, input.cluster.node.slots);
  }
  const auto devices = TRY(rank_table::choose_device_ids(input.snapshot, share->local_size.value));
  return std::vector<int>{devices.at(static_cast<std::size_t>(share->local_rank.value))};
}

/// The table of a job with one node, which is complete; else a placeholder.
Result<std::string> text_before_start(const PlanInput& input, const Instance& own) {
  if (input.cluster.job.most_nodes != 1) {
    return std::string(kKnownAtStart);
  }
  Instance server = own;
  if (server.server_id.empty()) {
    server.server_id = input.snapshot.host_name;
  }
  return rank_table::write(TRY(rank_table::merge_servers({server}, {"node 0"})));
}

}  // namespace

bool makes_table(const ChosenMode& chosen, const GenerateRequest& request) {
  if (request.wanted) {
    return true;
  }
  const auto& parameters = chosen.mode.parameters;
  return !request.file.value.empty() && std::ranges::any_of(parameters, [&](const Parameter& parameter) {
    return parameter.finds_rank_table && chosen.parameters.at(parameter.name).value.empty();
  });
}

Result<> make_local_part(PlanInput& input) {
  const GenerateRequest& request = input.job.generates;
  const Source source = request.wanted.value_or(request.file.source);
  const auto& inputs = input.mode.mode.inputs;
  const auto table = std::ranges::find_if(inputs, [](const auto& one) { return one.is_rank_table; });
  if (table == inputs.end()) {
    return Error{error_kind(source),
                 source.name + " is 'generate', but the mode '" + input.mode.mode.name + "' takes no rank table"};
  }
  // Clears the parameters that name a table, so that no table from the environment is read.
  for (auto& [name, value] : input.mode.parameters) {
    if (table->file.find("{" + name + "}") != std::string::npos) {
      value = {};
    }
  }
  const auto devices = TRY(local_devices(input));
  const auto addresses =
      TRY(request.file.value.empty() ? rank_table::Addresses()
                                     : rank_table::read_addresses(request.text, request.file.value, devices));
  const std::string host = input.snapshot.variable("MA_CURRENT_HOST_IP").value_or("");
  Instance own = rank_table::make_server(host, devices, addresses);
  auto text = TRY(text_before_start(input, own));
  input.cluster.decisions.push_back({"rank_table", "generated", source.name});
  input.ranked = part_of_made_table(own, assume_placement(input.cluster), std::move(text));
  input.generated = std::move(own);
  return {};
}

rank_table::RankedNode part_of_made_table(const Instance& own, const Placement& placement, std::string text) {
  rank_table::RankedNode part{placement.slots_total, own.devices, std::move(text)};
  int rank = placement.slots_before;
  for (rank_table::Device& device : part.devices) {
    device.rank = rank++;
  }
  return part;
}

}  // namespace muster

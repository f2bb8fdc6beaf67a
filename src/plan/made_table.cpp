// Rank tables that the nodes of a job make of what each of them has. Pure.
#include "plan/launch_plan.hpp"
#include "rank_table/rewrite.hpp"

#include <algorithm>

namespace muster {
namespace {

using rank_table::GenerateRequest;
using rank_table::Instance;

/// What the plan shows where other nodes have the rest of it.
constexpr const char* kKnownAtStart = "{rank_table}";

const InputTemplate* find_table(const ModeTemplate& mode) {
  const auto at = std::find_if(mode.inputs.begin(), mode.inputs.end(), [](const auto& input) {
    return input.is_rank_table;
  });
  return at == mode.inputs.end() ? nullptr : &*at;
}

/// Whatever the surroundings name, it is not read.
void forget_table(ChosenMode& chosen, const InputTemplate& table) {
  for (auto& [name, value] : chosen.parameters) {
    if (table.file.find("{" + name + "}") != std::string::npos) {
      value = {};
    }
  }
}

/// A task that a platform has placed has one device, by its place on the host.
Result<std::vector<int>> local_devices(const PlanInput& input) {
  const auto& share = input.cluster.share;
  if (!share) {
    return rank_table::choose_device_ids(input.snapshot, input.cluster.node.slots);
  }
  auto devices = rank_table::choose_device_ids(input.snapshot, share->local_size.value);
  if (devices) {
    devices = std::vector<int>{devices->at(static_cast<std::size_t>(share->local_rank.value))};
  }
  return devices;
}

Result<rank_table::Addresses> local_addresses(const GenerateRequest& request,
                                              const std::vector<int>& devices) {
  return request.file.value.empty()
             ? rank_table::Addresses()
             : rank_table::read_addresses(request.text, request.file.value, devices);
}

/// A job of one node has the whole table.
Result<std::string> text_before_start(const PlanInput& input, const Instance& own) {
  if (input.cluster.job.most_nodes != 1) {
    return std::string(kKnownAtStart);
  }
  Instance server = own;
  if (server.server_id.empty()) {
    server.server_id = input.snapshot.host_name;
  }
  const auto table = rank_table::merge_servers({server}, {"node 0"});
  return table ? Result<std::string>(rank_table::write(*table)) : table.error();
}

}  // namespace

bool makes_table(const ChosenMode& chosen, const GenerateRequest& request) {
  if (request.wanted) {
    return true;
  }
  const auto& parameters = chosen.mode.parameters;
  return !request.file.value.empty() &&
         std::any_of(parameters.begin(), parameters.end(), [&](const Parameter& parameter) {
           return parameter.finds_rank_table && chosen.parameters.at(parameter.name).value.empty();
         });
}

Result<> make_local_part(PlanInput& input) {
  const GenerateRequest& request = input.job.generates;
  const Source source = request.wanted.value_or(request.file.source);
  const InputTemplate* const table = find_table(input.mode.mode);
  if (table == nullptr) {
    return Error{blame(source),
                 source.name + " is 'generate', but the mode '" + input.mode.mode.name +
                     "' takes no rank table"};
  }
  forget_table(input.mode, *table);
  const auto devices = local_devices(input);
  if (!devices) {
    return devices.error();
  }
  const auto addresses = local_addresses(request, *devices);
  if (!addresses) {
    return addresses.error();
  }
  const std::string host = input.snapshot.variable("MA_CURRENT_HOST_IP").value_or("");
  Instance own = rank_table::make_server(host, *devices, *addresses);
  auto text = text_before_start(input, own);
  if (!text) {
    return text.error();
  }
  input.cluster.decisions.push_back({"rank_table", "generated", source.name});
  input.ranked = part_of_made_table(own, assume_placement(input.cluster), std::move(*text));
  input.generated = std::move(own);
  return {};
}

rank_table::RankedNode part_of_made_table(const Instance& own,
                                          const Placement& placement,
                                          std::string text) {
  rank_table::RankedNode part{placement.slots_total, own.devices, std::move(text)};
  int rank = placement.slots_before;
  for (rank_table::Device& device : part.devices) {
    device.rank = rank++;
  }
  return part;
}

}  // namespace muster

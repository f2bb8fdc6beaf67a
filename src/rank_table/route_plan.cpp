// Reads ROUTE_PLAN's variables, and decides whether all nodes use the plan.
#include "rank_table/route_plan.hpp"

#include "base/encoding.hpp"
#include "base/text.hpp"
#include "options/readers.hpp"
#include "rank_table/read.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace muster::rank_table {
namespace {

constexpr int kMostPlaces = 1'000'000;

Result<> read_number(std::optional<int>& into, const Snapshot& snapshot, const std::string& name, int most) {
  const auto text = sourced_variable(snapshot, name);
  if (!text || text->value.empty()) {
    return {};
  }
  into = TRY(read_number_within(*text, 0, most, "a number"));
  return {};
}

using HostDevice = std::pair<std::string, int>;  // server_id and the device's id

/// Devices with their ranks, in the order of the table.
std::vector<std::pair<HostDevice, int>> list_devices(const Table& table) {
  std::vector<std::pair<HostDevice, int>> devices;
  for (const Instance& instance : table.instances) {
    for (const Device& device : instance.devices) {
      devices.push_back({{instance.server_id, device.id}, device.rank});
    }
  }
  return devices;
}

/// Number of devices by server, which several instances may share.
std::map<std::string, std::size_t> devices_of_servers(const Table& table) {
  std::map<std::string, std::size_t> devices;
  for (std::size_t i = 0; i < table.instances.size(); ++i) {
    const Instance& instance = table.instances[i];
    devices[instance.server_id.empty() ? "host " + std::to_string(i) : instance.server_id] += instance.devices.size();
  }
  return devices;
}

std::string node(std::size_t index) {
  return "node " + std::to_string(index);
}

bool has_plan(const RouteVote& vote) {
  return !vote.digest.empty() || vote.position;
}

/// Reports two nodes with one place, or an invalid place.
std::optional<std::string> find_wrong_place(const std::vector<RouteVote>& votes) {
  std::vector<int> holders(votes.size(), -1);
  std::vector<bool> is_taken(votes.size());
  for (std::size_t i = 0; i < votes.size(); ++i) {
    const auto place = static_cast<std::size_t>(*votes[i].position);
    const auto instance = static_cast<std::size_t>(votes[i].instance);
    if (place >= votes.size()) {
      return "RANK_AFTER_ACC of " + node(i) + " is " + std::to_string(place) + ", and there are " +
             count_of(votes.size(), "node");
    }
    if (holders[place] >= 0) {
      return "RANK_AFTER_ACC is " + std::to_string(place) + " on both " +
             node(static_cast<std::size_t>(holders[place])) + " and " + node(i);
    }
    if (instance >= votes.size() || is_taken[instance]) {
      return "the nodes are not the instances of the rank table";
    }
    holders[place] = static_cast<int>(i);
    is_taken[instance] = true;
  }
  return std::nullopt;
}

/// Checks that the node in MA_MASTER_INDEX has the first place.
std::optional<std::string> find_wrong_first(const std::vector<RouteVote>& votes) {
  for (std::size_t i = 0; i < votes.size(); ++i) {
    const auto& first = votes[i].first;
    const bool is_known = first && static_cast<std::size_t>(*first) < votes.size();
    if (first && (!is_known || votes[static_cast<std::size_t>(*first)].position != 0)) {
      return "MA_MASTER_INDEX is " + std::to_string(*first) + " on " + node(i) + ", but " +
             node(static_cast<std::size_t>(*first)) + " does not have RANK_AFTER_ACC=0";
    }
  }
  return std::nullopt;
}

/// Describes the first node that has no plan, or another one than node 0; empty: all agree.
std::optional<std::string> find_other_vote(const std::vector<RouteVote>& votes) {
  for (std::size_t i = 0; i < votes.size(); ++i) {
    if (!has_plan(votes[i])) {
      return "of " + node(i) + ": " + (votes[i].reason.empty() ? "ROUTE_PLAN is not true" : votes[i].reason);
    }
  }
  for (std::size_t i = 1; i < votes.size(); ++i) {
    if (votes[i].digest != votes[0].digest) {
      return node(i) + " has another plan than node 0";
    }
  }
  return std::nullopt;
}

}  // namespace

Result<std::optional<RouteRequest>> read_route_request(const Snapshot& snapshot) {
  const auto wish = sourced_variable(snapshot, "ROUTE_PLAN");
  const std::string word = wish ? lower_case(wish->value) : "";
  if (word.empty() || word == "false") {
    return std::optional<RouteRequest>();
  }
  if (word != "true") {
    return wrong_value(*wish, "true or false");
  }
  RouteRequest request;
  request.topology_file = snapshot.variable("TOPO_FILE_PATH").value_or("");
  if (request.topology_file.empty()) {
    request.topology_file = "/user/config/ranktable_tor.json";
  }
  constexpr int kMostSeconds = 86'400;
  std::optional<int> wait;
  TRY(read_number(wait, snapshot, "ROUTE_TOPO_WAIT_TIME", kMostSeconds));
  request.wait_seconds = wait.value_or(request.wait_seconds);
  TRY(read_number(request.position, snapshot, "RANK_AFTER_ACC", kMostPlaces));
  TRY(read_number(request.first, snapshot, "MA_MASTER_INDEX", kMostPlaces));
  return std::optional(std::move(request));
}

Result<std::vector<int>> planned_ranks(const Table& table, const Table& planned) {
  std::map<HostDevice, int> ranks;
  for (const auto& [device, rank] : list_devices(planned)) {
    ranks[device] = rank;
  }
  std::vector<int> of_table;
  for (const auto& [device, rank] : list_devices(table)) {
    const auto found = ranks.find(device);
    if (found == ranks.end()) {
      return Error{ErrorKind::BadData, "the planned table has no device " + std::to_string(device.second) +
                                           " of server '" + one_line(device.first, 100) + "'"};
    }
    of_table.push_back(found->second);
  }
  std::vector<int> sorted = of_table;
  std::ranges::sort(sorted);
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (sorted[i] != static_cast<int>(i) || planned.size != table.size) {
      return Error{ErrorKind::BadData, "the planned table has other ranks than the rank table"};
    }
  }
  return of_table;
}

std::optional<std::string> reason_against_plan(const Table& table) {
  constexpr std::size_t kLeastServers = 3;
  constexpr std::size_t kDevices = 8;  // of a whole server, or twice as many
  const auto servers = devices_of_servers(table);
  if (servers.size() < kLeastServers) {
    return "a route plan is for jobs of at least 3 servers, and this job has " + std::to_string(servers.size());
  }
  const std::size_t usual = servers.begin()->second;
  for (const auto& [server, devices] : servers) {
    if (devices != usual || devices % kDevices != 0) {
      return "a route plan is for whole servers, and of '" + one_line(server, 100) + "' the job has " +
             count_of(devices, "device");
    }
  }
  return std::nullopt;
}

std::string digest_of(const std::vector<int>& ranks) {
  std::string text;
  for (const int rank : ranks) {
    text += std::to_string(rank) + ' ';
  }
  return muster::digest_of(text);
}

RouteDecision decide_route(const std::vector<RouteVote>& votes) {
  RouteDecision decision;
  if (std::ranges::all_of(votes, [](const RouteVote& vote) { return !has_plan(vote) && vote.reason.empty(); })) {
    return decision;
  }
  auto reason = find_other_vote(votes);
  const bool is_by_place = !reason && votes[0].digest.empty();
  if (is_by_place) {
    reason = find_wrong_place(votes);
    reason = reason ? reason : find_wrong_first(votes);
  }
  decision.reason = reason.value_or("");
  decision.applies = !reason;
  if (is_by_place && decision.applies) {
    decision.positions.resize(votes.size());
    for (const RouteVote& vote : votes) {
      decision.positions[static_cast<std::size_t>(vote.instance)] = *vote.position;
    }
  }
  return decision;
}

std::vector<int> ranks_by_position(const Table& table, const std::vector<int>& positions) {
  std::vector<std::size_t> instances(positions.size());
  for (std::size_t i = 0; i < positions.size(); ++i) {
    instances[static_cast<std::size_t>(positions[i])] = i;
  }
  return ranks_in_order(table, instances);
}

}  // namespace muster::rank_table

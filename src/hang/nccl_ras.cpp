// Reads the communicators in NCCL's answer, and finds their global ranks.
#include "hang/nccl_ras.hpp"

#include "base/json.hpp"
#include "hang/json_fields.hpp"

#include <algorithm>
#include <map>

namespace muster::hang {
namespace {

constexpr int kMostRasRanks = 65'535;

int rank_at(const json::object& object, std::string_view name) {
  const std::int64_t number = number_of<std::int64_t>(object.if_contains(name), -1);
  return number < 0 || number > kMostRasRanks ? -1 : static_cast<int>(number);
}

json::object object_at(const json::object& object, std::string_view name) {
  const json::value* const value = object.if_contains(name);
  return value != nullptr && value->is_object() ? value->get_object() : json::object();
}

RasProcess process_of(const json::object& rank) {
  const std::int64_t pid = number_of<std::int64_t>(rank.if_contains("pid"), -1);
  return pid > 0 && pid <= 0x7fff'ffff ? RasProcess{line_of(rank, "host"), static_cast<pid_t>(pid)} : RasProcess();
}

std::int64_t count_launched(const json::object& counts) {
  constexpr std::int64_t kMost = std::int64_t{1} << 48U;
  std::int64_t launched = counts.empty() ? -1 : 0;
  for (const auto& type : counts) {
    const std::int64_t* const count = type.value().if_int64();
    if (count == nullptr || *count < 0 || *count > kMost || launched > kMost) {
      return -1;
    }
    launched += *count;
  }
  return launched;
}

RasCommunicator read_communicator(const json::object& object) {
  RasCommunicator read{
      line_of(object, "hash") + ":" + line_of(object, "secondary_hash"), rank_at(object, "size"), {}, {}};
  for_each_object(array_of(object, "ranks"), [&](const json::object& rank) {
    read.ranks.push_back(
        {rank_at(rank, "rank"), process_of(rank), count_launched(object_at(rank, "collective_counts"))});
  });
  for_each_object(array_of(object, "missing_ranks"), [&](const json::object& rank) {
    read.missing.push_back({.rank = rank_at(rank, "rank"), .process = process_of(rank)});
  });
  std::erase_if(read.ranks, [&](const RasRank& rank) { return rank.rank < 0 || rank.rank >= read.size; });
  std::erase_if(read.missing, [&](const RasRank& rank) { return rank.rank < 0 || rank.rank >= read.size; });
  return read;
}

/// Repairs NCCL's JSON: version 2.28 writes no comma before the "status" of a missing rank.
std::string with_commas(std::string_view text) {
  constexpr std::string_view kStatus = "\"status\"";
  std::string whole;
  std::size_t done = 0;
  for (std::size_t at = text.find(kStatus); at != std::string_view::npos; at = text.find(kStatus, at + 1)) {
    const std::size_t before = text.substr(done, at - done).find_last_not_of(" \n");
    if (before != std::string_view::npos && text[done + before] >= '0' && text[done + before] <= '9') {
      whole.append(text.substr(done, before + 1)).append(",");
      done += before + 1;
    }
  }
  return whole.append(text.substr(done));
}

}  // namespace

std::vector<RasCommunicator> parse_ras(std::string_view answer) {
  answer.remove_prefix(std::min(answer.find('{'), answer.size()));
  boost::system::error_code error;
  const json::value document = json::parse(with_commas(answer), error);
  std::vector<RasCommunicator> read;
  if (!error && document.is_object()) {
    for_each_object(array_of(document.get_object(), "communicators"),
                    [&](const json::object& object) { read.push_back(read_communicator(object)); });
  }
  return read;
}

// --- Global ranks -------------------------------------------------------------------------------

namespace {

using RanksByProcess = std::map<RasProcess, int>;

/// The global rank of each process. Empty: no communicator has all ranks, or a process has several of them.
RanksByProcess find_ranks(const std::vector<RasCommunicator>& communicators, int world_size) {
  const auto world = std::ranges::find(communicators, world_size, &RasCommunicator::size);
  RanksByProcess ranks;
  if (world == communicators.end()) {
    return ranks;
  }
  bool is_unique = true;
  const auto add = [&](const auto& rank) {
    is_unique = (rank.process.pid < 0 || ranks.emplace(rank.process, rank.rank).second) && is_unique;
  };
  std::ranges::for_each(world->ranks, add);
  std::ranges::for_each(world->missing, add);
  return is_unique ? ranks : RanksByProcess();
}

/// A communicator whose ranks have their global numbers.
struct RankedGroup {
  const RasCommunicator* communicator = nullptr;
  std::vector<int> ranks;
  std::map<int, const RasRank*> known;  ///< those whose count is known
  bool is_even = true;                  ///< no rank differs from the others
};

RankedGroup rank_group(const RasCommunicator& communicator, const RanksByProcess& by_process, int world_size) {
  RankedGroup group{&communicator, {}, {}, communicator.missing.empty()};
  const auto add = [&](const auto& rank) {
    const auto found = by_process.find(rank.process);
    const int unnamed = communicator.size == world_size && rank.process.pid < 0 ? rank.rank : -1;
    const int global = found == by_process.end() ? unnamed : found->second;
    if (global >= 0) {
      group.ranks.push_back(global);
    }
    return global;
  };
  for (const RasRank& rank : communicator.ranks) {
    const int global = add(rank);
    if (global >= 0 && rank.launched >= 0) {
      group.is_even = group.is_even && (group.known.empty() || group.known.begin()->second->launched == rank.launched);
      group.known[global] = &rank;
    }
  }
  std::ranges::for_each(communicator.missing, add);
  std::ranges::sort(group.ranks);
  group.ranks.erase(std::unique(group.ranks.begin(), group.ranks.end()), group.ranks.end());
  return group;
}

/// Leaves out ranks that are like most others.
void thin_out(std::map<int, const RasRank*>& known) {
  constexpr int kMostAlike = 256;
  std::map<std::int64_t, int> counts;
  for (const auto& [global, rank] : known) {
    ++counts[rank->launched];
  }
  const auto most = std::ranges::max_element(counts, {}, [](const auto& count) { return count.second; });
  int alike = 0;
  std::erase_if(known, [&](const auto& one) { return one.second->launched == most->first && ++alike > kMostAlike; });
}

}  // namespace

std::vector<RankProgress> to_progress(const std::vector<RasCommunicator>& communicators, int world_size) {
  std::size_t numbers_left = kMostNumbers;
  const RanksByProcess by_process = find_ranks(communicators, world_size);
  std::vector<RankedGroup> groups;
  groups.reserve(communicators.size());
  for (const RasCommunicator& communicator : communicators) {
    groups.push_back(rank_group(communicator, by_process, world_size));
  }
  std::stable_partition(groups.begin(), groups.end(), [](const RankedGroup& group) { return !group.is_even; });
  std::map<int, RankProgress> progress;
  for (RankedGroup& group : groups) {
    thin_out(group.known);
    const std::size_t numbers = group.known.size() * group.ranks.size();
    if (group.ranks.size() < 2 || numbers > numbers_left) {
      continue;
    }
    numbers_left -= numbers;
    const std::string& id = group.communicator->id;
    const std::string description = "NCCL communicator " + id.substr(0, id.find(':'));
    for (const auto& [global, rank] : group.known) {
      RankProgress& one = progress[global];
      one.rank = global;
      one.groups.push_back({"nccl " + id, description, group.ranks, rank->launched, -1, ""});
    }
  }
  return list_of(progress);
}

}  // namespace muster::hang

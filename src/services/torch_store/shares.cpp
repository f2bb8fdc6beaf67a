// By process, and then by what its connections have done: see the header.
#include "services/torch_store/shares.hpp"

#include <algorithm>
#include <map>

namespace muster::store {
namespace {

/// Of one process, the oldest first.
struct Held {
  std::vector<ClientId> all;
  std::vector<ClientId> silent;  ///< those that have asked for nothing
};

std::map<Process, Held> by_process(const std::vector<ClientMemory>& connections) {
  std::map<Process, Held> processes;
  for (const ClientMemory& one : connections) {
    Held& held = processes[one.process];
    held.all.push_back(one.client);
    if (!one.has_asked) {
      held.silent.push_back(one.client);
    }
  }
  for (auto& [process, held] : processes) {
    std::sort(held.all.begin(), held.all.end());
    std::sort(held.silent.begin(), held.silent.end());
  }
  return processes;
}

/// So many of them, with as many on each side.
std::vector<ClientId> middle_of(const std::vector<ClientId>& clients, std::size_t count) {
  const auto begin = clients.begin() + static_cast<std::ptrdiff_t>((clients.size() - count) / 2);
  return {begin, begin + static_cast<std::ptrdiff_t>(count)};
}

std::vector<ClientId> newest_of(const std::vector<ClientId>& clients, std::size_t count) {
  return {clients.end() - static_cast<std::ptrdiff_t>(count), clients.end()};
}

std::size_t half_of(const std::vector<ClientId>& clients) {
  return (clients.size() + 1) / 2;
}

}  // namespace

LargestHolder largest_holder(const std::vector<ClientMemory>& connections, std::size_t share) {
  const auto processes = by_process(connections);
  const auto largest =
      std::max_element(processes.begin(), processes.end(), [](const auto& one, const auto& other) {
        return one.second.all.size() < other.second.all.size();
      });
  if (largest == processes.end()) {
    return {};
  }
  const auto& [all, silent] = largest->second;
  LargestHolder holder{largest->first, all.size(), {}};
  if (all.size() > share) {
    const std::size_t beyond = all.size() - share;
    holder.give_way = silent.empty() ? newest_of(all, std::min(beyond, half_of(all)))
                                     : middle_of(silent, std::min(beyond, half_of(silent)));
  }
  return holder;
}

}  // namespace muster::store

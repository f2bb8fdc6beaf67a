// Clients by the keys that they wait for, see the header.
#include "services/torch_store/store_awaited_keys.hpp"
#include "services/torch_store/store.hpp"

#include <algorithm>
#include <iterator>
#include <map>

namespace muster::store {
namespace {

using Awaited = std::map<std::string, AwaitedKey>;

void note(Awaited& awaited, const std::string& key, const Process& process) {
  AwaitedKey& entry = awaited[key];
  ++entry.clients;
  if (entry.processes.size() < kMostAwaitingProcesses) {
    entry.processes.push_back(process);
  }
}

bool is_wanted_more(const AwaitedKey& one, const AwaitedKey& other) {
  return one.clients > other.clients;
}

}  // namespace

AwaitedKeys most_awaited(std::span<const WaitingClient> waiting) {
  Awaited awaited;
  AwaitedKeys most;
  for (const WaitingClient& client : waiting) {
    most.are_all = most.are_all && client.keys.size() == client.missing;
    for (const std::string& key : client.keys) {
      note(awaited, key, client.process);
    }
  }
  for (auto& [key, entry] : awaited) {
    entry.key = key.substr(0, kMostOfAwaitedKey);
    most.keys.push_back(std::move(entry));
  }
  std::stable_sort(most.keys.begin(), most.keys.end(), is_wanted_more);
  if (most.keys.size() > kMostAwaitedKeys) {
    most.keys.resize(kMostAwaitedKeys);
    most.are_all = false;
  }
  return most;
}

}  // namespace muster::store

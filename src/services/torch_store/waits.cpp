// Implements the waits of clients for keys. Each wait has a ticket, by which it is found among the waiters of a key.
#include "services/torch_store/waits.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <utility>

namespace muster::store {

// Counts the clients of each key.

namespace {

using Awaited = std::map<std::string, AwaitedKey>;

void note(Awaited& awaited, const std::string& key, const Process& process) {
  AwaitedKey& entry = awaited[key];
  ++entry.clients;
  if (entry.processes.size() < kMostAwaitingProcesses) {
    entry.processes.push_back(process);
  }
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
  std::stable_sort(most.keys.begin(), most.keys.end(),
                   [](const AwaitedKey& one, const AwaitedKey& other) { return one.clients > other.clients; });
  if (most.keys.size() > kMostAwaitedKeys) {
    most.keys.resize(kMostAwaitedKeys);
    most.are_all = false;
  }
  return most;
}

namespace {

/// Bytes that count towards the memory limit for each key that a client waits for: the waiter, and a pointer to the key.
constexpr std::size_t kCostOfPair = 24;

/// In the place of a client that has left.
constexpr ClientId kGone = std::numeric_limits<ClientId>::max();

std::size_t cost_of_key(const std::string& key) {
  return key.size() + kEntryOverhead;
}

}  // namespace

bool Waits::begin(ClientId client, const std::vector<std::string>& keys) {
  end(client);
  Wait wait{next_++, {}, 0};
  const bool all_fit =
      std::all_of(keys.begin(), keys.end(), [&](const std::string& key) { return add(wait, client, key); });
  if (!all_fit) {
    release(wait);
    return false;
  }
  waits_.emplace(client, std::move(wait));
  return true;
}

/// False: the budget is exhausted.
bool Waits::add(Wait& wait, ClientId client, const std::string& key) {
  const auto at = awaited_.find(key);
  const bool is_new = at == awaited_.end();
  if (!is_new && !at->second.waiters.empty() && at->second.waiters.back().ticket == wait.ticket) {
    return true;  // the key is listed twice
  }
  const std::size_t cost = kCostOfPair + (is_new ? cost_of_key(key) : 0);
  if (!budget_->spend(cost)) {
    return false;
  }
  auto& entry = is_new ? *awaited_.try_emplace(key).first : *at;
  entry.second.waiters.push_back({wait.ticket, client});
  ++entry.second.named;
  wait.keys.push_back(&entry);
  ++wait.missing;
  return true;
}

void Waits::end(ClientId client) {
  const auto at = waits_.find(client);
  if (at != waits_.end()) {
    release(at->second);
    waits_.erase(at);
  }
}

/// Removes the wait from all its keys.
void Waits::release(const Wait& wait) {
  for (auto* const key : wait.keys) {
    auto& waiters = key->second.waiters;
    const auto at = find(waiters, wait.ticket);
    if (at != waiters.end()) {
      leave(key->second, *at);
    }
    forget(*key);
  }
}

/// Makes the entry a gap. Removing it would move all entries behind it, each time that one of thousands leaves.
void Waits::leave(Awaited& key, Waiter& waiter) {
  waiter.client = kGone;
  if (2 * ++key.gaps > key.waiters.size()) {
    std::erase_if(key.waiters, [](const Waiter& one) { return one.client == kGone; });
    key.first = key.gaps = 0;
  }
}

/// Counts one wait fewer for the key, and removes the key after the last one.
void Waits::forget(AwaitedKeys::value_type& key) {
  const bool is_last = --key.second.named == 0;
  budget_->give_back(kCostOfPair + (is_last ? cost_of_key(key.first) : 0));
  if (is_last) {
    awaited_.erase(awaited_.find(key.first));
  }
}

std::vector<ClientId> Waits::on_changed(const std::string& key) {
  std::vector<ClientId> woken;
  const auto at = awaited_.find(key);
  if (at == awaited_.end()) {
    return woken;
  }
  const auto waiters = std::exchange(at->second.waiters, {});
  at->second.first = at->second.gaps = 0;
  woken.reserve(waiters.size());
  for (const Waiter& waiter : waiters) {
    if (waiter.client != kGone && note_key_came(waiter.client)) {
      woken.push_back(waiter.client);
    }
  }
  return woken;
}

std::optional<ClientId> Waits::on_pushed(const std::string& key) {
  const auto at = awaited_.find(key);
  if (at == awaited_.end() || at->second.waiters.empty()) {
    return std::nullopt;
  }
  Awaited& queue = at->second;
  while (queue.waiters[queue.first].client == kGone) {  // not all are gaps
    ++queue.first;
  }
  const ClientId client = queue.waiters[queue.first].client;
  leave(queue, queue.waiters[queue.first]);
  return note_key_came(client) ? std::optional(client) : std::nullopt;
}

bool Waits::note_key_came(ClientId client) {
  const auto at = waits_.find(client);
  if (--at->second.missing > 0) {
    return false;
  }
  end(client);
  return true;
}

std::vector<std::string> Waits::missing(ClientId client, std::size_t most) const {
  std::vector<std::string> keys;
  const auto at = waits_.find(client);
  if (at == waits_.end()) {
    return keys;
  }
  const Wait& wait = at->second;
  keys.reserve(std::min(most, wait.missing));
  for (auto key = wait.keys.begin(); key != wait.keys.end() && keys.size() < most; ++key) {
    auto& waiters = (*key)->second.waiters;
    if (find(waiters, wait.ticket) != waiters.end()) {
      keys.push_back((*key)->first);
    }
  }
  return keys;
}

std::size_t Waits::count_missing(ClientId client) const {
  const auto at = waits_.find(client);
  return at == waits_.end() ? 0 : at->second.missing;
}

std::vector<Waits::Waiter>::iterator Waits::find(std::vector<Waiter>& waiters, Ticket ticket) {
  const auto at = std::lower_bound(waiters.begin(), waiters.end(), ticket,
                                   [](const Waiter& waiter, Ticket wanted) { return waiter.ticket < wanted; });
  return at != waiters.end() && at->ticket == ticket && at->client != kGone ? at : waiters.end();
}

}  // namespace muster::store

#pragma once

// Which keys most clients wait for: what a report of ranks that hang has room for. Pure.

#include "services/torch_store/client.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace muster::store {

struct WaitingClient;

/// How many keys of each client are looked at, and how many are told in all.
constexpr std::size_t kMostAwaitedKeys = 8;
/// How many of those who wait for a key are told, the others are counted.
constexpr std::size_t kMostAwaitingProcesses = 1'024;
/// Bytes of a key; the rest is cut off.
constexpr std::size_t kMostOfAwaitedKey = 256;

struct AwaitedKey {
  std::string key;
  std::size_t clients = 0;         ///< that wait for it
  std::vector<Process> processes;  ///< of the first of them, in the order in which they came
};

struct AwaitedKeys {
  std::vector<AwaitedKey> keys;  ///< the one that most clients wait for first
  bool are_all = true;
};

/// `waiting`: all that wait, with `kMostAwaitedKeys` keys of each or fewer.
[[nodiscard]] AwaitedKeys most_awaited(std::span<const WaitingClient> waiting);

}  // namespace muster::store

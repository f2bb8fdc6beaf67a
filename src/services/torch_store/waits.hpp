#pragma once

// Which clients of a generation wait for which keys. Pure.

#include "services/torch_store/store.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace muster::store {

// Which keys most clients wait for: what a report of ranks that hang has room for. Pure.

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

/// A client waits for one set of keys, and for each of them until it was there once. Thousands may wait for thousands
/// of keys: a pair of client and key takes some 24 bytes, and nobody is looked for one by one. Each wait is ended before
/// this is destroyed, or the budget misses what it took.
class Waits {
 public:
  explicit Waits(Budget& budget) : budget_(&budget) {}
  Waits(const Waits&) = delete;
  Waits& operator=(const Waits&) = delete;
  ~Waits() = default;

  /// The client waits for these from now on, and for nothing else. `keys` are not there, are not empty, and may stand
  /// there twice. False: they do not fit into the budget, and it waits for nothing.
  [[nodiscard]] bool begin(ClientId client, const std::vector<std::string>& keys);
  /// It waits for nothing.
  void end(ClientId client);

  /// The key has changed: those who missed nothing else wait no more, the one that has waited longest first.
  [[nodiscard]] std::vector<ClientId> on_changed(const std::string& key);
  /// The same for the one that has waited longest only.
  [[nodiscard]] std::optional<ClientId> on_pushed(const std::string& key);

  /// What it misses still, in the order in which it asked, `most` of them.
  [[nodiscard]] std::vector<std::string> missing(ClientId client, std::size_t most) const;
  /// How many; 0: it waits for nothing.
  [[nodiscard]] std::size_t count_missing(ClientId client) const;
  /// How many clients wait.
  [[nodiscard]] std::size_t size() const { return waits_.size(); }

 private:
  /// Numbers of waits: the lower began first.
  using Ticket = std::uint64_t;
  struct Waiter {
    Ticket ticket = 0;
    ClientId client = 0;
  };
  struct Awaited {
    std::vector<Waiter> waiters;  ///< by their tickets
    std::size_t named = 0;        ///< in how many waits it stands; it stays here as long
  };
  using AwaitedKeys = std::unordered_map<std::string, Awaited>;
  struct Wait {
    Ticket ticket = 0;
    std::vector<AwaitedKeys::value_type*> keys;  ///< with those that have come
    std::size_t missing = 0;
  };

  [[nodiscard]] bool add(Wait& wait, ClientId client, const std::string& key);
  void release(const Wait& wait);
  void forget(AwaitedKeys::value_type& key);
  /// True: the client misses nothing any more.
  [[nodiscard]] bool on_came(ClientId client);
  [[nodiscard]] static std::vector<Waiter>::iterator find(std::vector<Waiter>& waiters, Ticket ticket);

  AwaitedKeys awaited_;
  std::unordered_map<ClientId, Wait> waits_;
  Ticket next_ = 0;
  Budget* budget_;
};

}  // namespace muster::store

#pragma once

// Records which clients of a generation wait for which keys, and finds the keys that most of them wait for. Pure.

#include "services/torch_store/store_values.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace muster::store {

// The keys that most clients wait for; a report about ranks that hang shows them.

/// Most keys of each client that are counted, and most keys that are reported.
constexpr std::size_t kMostAwaitedKeys = 8;
/// Most processes that are reported for a key; further ones are only counted.
constexpr std::size_t kMostAwaitingProcesses = 1'024;
/// Most bytes of a reported key; the rest is cut off.
constexpr std::size_t kMostOfAwaitedKey = 256;

struct AwaitedKey {
  std::string key;
  std::size_t clients = 0;         ///< clients that wait for the key
  std::vector<Process> processes;  ///< of the clients that came first, in this order
};

struct AwaitedKeys {
  std::vector<AwaitedKey> keys;  ///< by the number of clients, descending
  bool are_all = true;
};

/// `waiting`: all waiting clients, with at most `kMostAwaitedKeys` keys of each.
AwaitedKeys most_awaited(std::span<const WaitingClient> waiting);

/// The waits of clients for keys. A client waits for a set of keys, until each of them has had a value once.
/// Thousands may wait for thousands of keys, so each pair of client and key takes only some 24 bytes and is found
/// without a linear search. End each wait before destruction, else the budget stays charged.
class Waits {
 public:
  explicit Waits(Budget& budget) : budget_(&budget) {}
  Waits(const Waits&) = delete;
  Waits& operator=(const Waits&) = delete;
  ~Waits() = default;

  /// Starts a wait, which replaces the client's earlier one. `keys` are missing in the store, at least one, possibly
  /// with duplicates. False: they do not fit into the budget, and the client waits for nothing.
  bool begin(ClientId client, const std::vector<std::string>& keys);
  /// Ends the client's wait, if any.
  void end(ClientId client);

  /// The key has changed: ends waits that miss no other key, and returns their clients, the longest wait first.
  std::vector<ClientId> on_changed(const std::string& key);
  /// The key has got a value that only one client can take: the one that has waited for it longest. If this client
  /// misses no other key, ends its wait and returns it.
  std::optional<ClientId> on_pushed(const std::string& key);

  /// Up to `most` keys that the client still misses, in the order of its request.
  std::vector<std::string> missing(ClientId client, std::size_t most) const;
  /// Number of keys that the client still misses; 0: it waits for nothing.
  std::size_t count_missing(ClientId client) const;
  /// Number of waiting clients.
  std::size_t size() const { return waits_.size(); }

 private:
  /// Numbers of waits, in the order of their begin.
  using Ticket = std::uint64_t;
  struct Waiter {
    Ticket ticket = 0;
    ClientId client = 0;
  };
  struct Awaited {
    std::vector<Waiter>
        waiters;            ///< in the order of their tickets; clients that have left are gaps (`kGone`), at most half
    std::size_t first = 0;  ///< all entries before it are gaps
    std::size_t gaps = 0;
    std::size_t named = 0;  ///< number of waits that list the key; at 0 the entry is removed
  };
  using AwaitedKeys = std::unordered_map<std::string, Awaited>;
  struct Wait {
    Ticket ticket = 0;
    std::vector<AwaitedKeys::value_type*> keys;  ///< including keys that have come
    std::size_t missing = 0;
  };

  bool add(Wait& wait, ClientId client, const std::string& key);
  void release(const Wait& wait);
  static void leave(Awaited& key, Waiter& waiter);
  void forget(AwaitedKeys::value_type& key);
  /// True: the client misses no key any more.
  bool note_key_came(ClientId client);
  static std::vector<Waiter>::iterator find(std::vector<Waiter>& waiters, Ticket ticket);

  AwaitedKeys awaited_;
  std::unordered_map<ClientId, Wait> waits_;
  Ticket next_ = 0;
  Budget* budget_;
};

}  // namespace muster::store

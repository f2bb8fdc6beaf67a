#pragma once

// The values of the store that its parts share: its clients, its limits, and what it tells its caller.

#include "base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace muster::store {

// Identities of clients.

/// Number of a connection, never reused.
using ClientId = std::uint64_t;

/// A process, as its connections show it: clients from torch 2.5 on send their pid, in their own pid namespace.
struct Process {
  std::string address;
  std::optional<std::uint32_t> pid{};

  bool operator==(const Process&) const = default;
  // NOLINTNEXTLINE(modernize-use-nullptr): the generated code compares with a zero
  auto operator<=>(const Process&) const = default;
};

/// "10.0.0.7, pid 4711".
std::string describe(const Process& process);

// Limits of what clients may send, leave unread and store.

/// Limits in bytes, unless a field says otherwise. Torch's own server has the first three (key, value, number of
/// keys), and none of the others.
struct Limits {
  std::size_t key = std::size_t{8} << 10U;
  std::size_t value = std::size_t{8} << 20U;
  std::size_t keys = std::size_t{128} << 10U;           ///< number of keys in one request
  std::size_t request = std::size_t{64} << 20U;         ///< one request in all
  std::size_t unfinished = std::size_t{256} << 20U;     ///< incomplete requests of all clients
  std::size_t data = std::size_t{256} << 20U;           ///< all stored data, and the keys that clients wait for
  std::size_t unread = std::size_t{64} << 20U;          ///< answers that one client has not read
  std::size_t unread_of_all = std::size_t{256} << 20U;  ///< answers that all clients have not read, in memory
  /// Connections of each worker; the job has as many in addition. A process may have more while no other needs them.
  std::size_t connections_per_worker = 64;
};

// A limit in bytes that several users share.

/// Cost of a key beside its bytes and those of its value, so that many small ones are not free.
inline constexpr std::size_t kEntryOverhead = 192;

class Budget {
 public:
  explicit Budget(std::size_t most) : most_(most) {}

  /// False: too few bytes are left, and nothing is spent.
  bool spend(std::size_t bytes) {
    const bool is_there = bytes <= most_ - spent_;
    spent_ += is_there ? bytes : 0;
    return is_there;
  }
  void give_back(std::size_t bytes) { spent_ -= bytes; }

  std::size_t spent() const { return spent_; }
  std::size_t most() const { return most_; }

 private:
  std::size_t most_;
  std::size_t spent_ = 0;
};

/// Bytes to send to a client.
struct Answer {
  ClientId client = 0;
  std::string bytes;
};

/// The ranks that have called init_process_group: one entry for each rank; without a pid, one for each connection.
/// Entries of several nodes may be equal.
struct JoinedRanks {
  std::size_t generation = 0;  ///< the latest; 0 is the first
  std::vector<Process> ranks;
};

/// Number of the ranks in `JoinedRanks`.
struct InitBarrier {
  std::size_t generation = 0;
  std::size_t ranks = 0;
};

/// A client that waits for keys.
struct WaitingClient {
  ClientId client = 0;
  Process process;
  std::vector<std::string> keys;  ///< the first keys, as they are on the wire
  std::size_t missing = 0;        ///< number of all keys
};

/// Clients to close for the benefit of the others, and the reason.
struct ClosedClients {
  std::vector<ClientId> clients;
  Error why;
};

}  // namespace muster::store

#pragma once

// A server for clients of torch's TCPStore, without I/O: takes bytes and returns bytes. It owns no socket, starts
// nothing and reads no clock. docs/gang.md describes it.

#include "base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster::store {

// Identities of clients.

/// Number of a connection, never reused.
using ClientId = std::uint64_t;

/// A process, as far as its connections tell: clients from torch 2.5 on send their pid, in their own pid namespace.
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

/// Bytes, unless a field says otherwise. The limits of a key, a value and the number of keys are those of torch's own
/// server, which has none of the others.
struct Limits {
  std::size_t key = std::size_t{8} << 10U;
  std::size_t value = std::size_t{8} << 20U;
  std::size_t keys = std::size_t{128} << 10U;           ///< number of keys in one request
  std::size_t request = std::size_t{64} << 20U;         ///< one request in all
  std::size_t unfinished = std::size_t{256} << 20U;     ///< incomplete requests of all clients
  std::size_t data = std::size_t{256} << 20U;           ///< all stored data, and the keys that clients wait for
  std::size_t unread = std::size_t{64} << 20U;          ///< answers that one client has not read
  std::size_t unread_of_all = std::size_t{256} << 20U;  ///< answers that all clients have not read, in memory
  /// Number of connections; as many again are for the whole job. A process may have more while no other needs them.
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

/// The ranks that have called init_process_group: one entry each, and one per connection where there is no pid.
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

/// To be used in an event loop:
/// - Report closed connections first (`on_closed`), then new ones, then bytes: a process that has lost its
///   connections starts anew.
/// - After each of these, `next_answer` has what is to be sent. A turn of the loop may take any number of answers and
///   leave the others to the next one: a change that thousands wait for makes thousands of answers, and writing them
///   is the main cost.
/// - One piece per client is in flight. Call `on_written` when it is written, and not before: then the store counts
///   what a client leaves unread, and the caller keeps one piece of it.
/// - The caller closes refused clients and reports that by `on_closed`. Earlier answers may still be sent.
/// - After a connection, and after bytes, call `clients_to_close` and close what it names, until it names none.
class Store {
 public:
  /// For an attempt with `workers` workers, 1 or more.
  Store(std::size_t workers, const Limits& limits = {});
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  ~Store();

  /// `address` is numeric. Later clients have higher numbers.
  void on_opened(ClientId client, std::string address);
  /// Fails if the client has to be closed: the message names the client and what it sent.
  [[nodiscard]] Result<> on_bytes(ClientId client, std::string_view bytes);
  /// The client is gone or was refused. Its waits are dropped, its values stay.
  void on_closed(ClientId client);

  /// True: the client's last bytes have two meanings, and silence for a moment, such as 100 ms, tells which one it
  /// is. Only with torch before 2.2, until the dialect is settled.
  bool awaits_silence(ClientId client) const;
  /// The client has sent nothing for that moment.
  [[nodiscard]] Result<> on_silence(ClientId client);

  /// Clients that use most of a shared resource that is exhausted: connections, or the memory of incomplete requests
  /// and unread answers. Empty: none is exhausted.
  std::optional<ClosedClients> clients_to_close() const;
  /// For a caller without free descriptors: connections of the process that has most, if that is more than its share.
  std::optional<ClosedClients> most_connected_client() const;

  /// Empty: there is nothing to send now.
  std::optional<Answer> next_answer();
  /// The last answer of the client is written. Does nothing for a client that is gone.
  void on_written(ClientId client);

  /// Ranks of the latest generation.
  JoinedRanks joined_ranks() const;
  /// Their number, at no cost.
  InitBarrier init_barrier() const;
  /// All clients that wait, by number, with at most `most_keys` keys of each.
  std::vector<WaitingClient> waiting(std::size_t most_keys) const;
  std::size_t connections() const;
  /// Bytes of stored data, at most `Limits::data`.
  std::size_t bytes() const;
  /// Bytes of memory of the answers that are not sent or not read.
  std::size_t unread() const;

 private:
  class Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace muster::store

#pragma once

// A store that clients of torch's TCPStore take for theirs: bytes in, bytes out. It holds no socket, starts nothing
// and knows no clock. docs/gang.md tells what it does.

#include "base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster::store {

// Who speaks to the store.

/// One connection; no other has had the number.
using ClientId = std::uint64_t;

/// A process, as far as its connections tell: clients from torch 2.5 on say their pid, in their own pid namespace.
struct Process {
  std::string address;
  std::optional<std::uint32_t> pid{};

  bool operator==(const Process&) const = default;
  // NOLINTNEXTLINE(modernize-use-nullptr): what the compiler writes has a zero
  auto operator<=>(const Process&) const = default;
};

/// "10.0.0.7, pid 4711".
[[nodiscard]] std::string describe(const Process& process);

// How much clients of the store may send, leave unread and have kept.

/// In bytes, unless something else is said. Those of a key, a value and the number of keys are those of torch's own
/// server; it has none of the others.
struct Limits {
  std::size_t key = std::size_t{8} << 10U;
  std::size_t value = std::size_t{8} << 20U;
  std::size_t keys = std::size_t{128} << 10U;           ///< how many in one request
  std::size_t request = std::size_t{64} << 20U;         ///< one in all
  std::size_t unfinished = std::size_t{256} << 20U;     ///< requests of all clients that are not whole yet
  std::size_t data = std::size_t{256} << 20U;           ///< all that is kept, and the keys that are waited for
  std::size_t unread = std::size_t{64} << 20U;          ///< answers that one client has not read
  std::size_t unread_of_all = std::size_t{256} << 20U;  ///< what all together have not, in memory
  /// How many; as many more are let in for the whole job. A process may have more while nobody else needs them.
  std::size_t connections_per_worker = 64;
};

// A limit in bytes that several share.

/// What a key costs beside its bytes and those of its value, so that many small ones are not free.
inline constexpr std::size_t kEntryOverhead = 192;

class Budget {
 public:
  explicit Budget(std::size_t most) : most_(most) {}

  /// False: that is more than there is, and nothing is spent.
  [[nodiscard]] bool spend(std::size_t bytes) {
    const bool is_there = bytes <= most_ - spent_;
    spent_ += is_there ? bytes : 0;
    return is_there;
  }
  /// What was spent is there again.
  void give_back(std::size_t bytes) { spent_ -= bytes; }

  [[nodiscard]] std::size_t spent() const { return spent_; }
  [[nodiscard]] std::size_t most() const { return most_; }

 private:
  std::size_t most_;
  std::size_t spent_ = 0;
};

/// What a client is to be sent.
struct Answer {
  ClientId client = 0;
  std::string bytes;
};

/// The ranks that have called init_process_group: one each, and one for each connection where there is no pid. Several
/// may be of one process, on several nodes.
struct JoinedRanks {
  std::size_t generation = 0;  ///< the latest; 0 is the first
  std::vector<Process> ranks;
};

/// How many of them there are.
struct InitBarrier {
  std::size_t generation = 0;
  std::size_t ranks = 0;
};

/// A client that waits for keys.
struct WaitingClient {
  ClientId client = 0;
  Process process;
  std::vector<std::string> keys;  ///< the first of them, as they are on the wire
  std::size_t missing = 0;        ///< all of them
};

/// Clients that are to be closed for the sake of the others, and why.
struct ClosedClients {
  std::vector<ClientId> clients;
  Error why;
};

/// How to use it, in an event loop:
///
/// - Of what has happened, connections that have ended come first (`on_closed`), then new ones, then bytes: a process
///   whose connections are gone starts anew.
/// - After any of these `next_answer` has what is to be sent. A turn of the loop may take as many as it likes, and the
///   others in the next one: a change that thousands wait for makes thousands of answers, and writing is what they
///   cost.
/// - One piece of a client is on its way at a time. When it is written, and not before, `on_written` says so: so what
///   a client leaves unread is counted here, and the caller keeps one piece of it.
/// - Who is refused is closed by the caller, who says so by `on_closed`. What it was answered before may still be sent.
/// - After a connection, and after bytes, `clients_to_close` is asked as long as it names somebody, who is closed likewise.
class Store {
 public:
  /// For an attempt with so many workers, 1 or more.
  Store(std::size_t workers, const Limits& limits = {});
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  ~Store();

  /// The address is a number. Later clients have higher numbers.
  void on_opened(ClientId client, std::string address);
  /// Fails when the client is to be closed: the message says who, and what it sent.
  [[nodiscard]] Result<> on_bytes(ClientId client, std::string_view bytes);
  /// It is gone, or was refused. What it waited for is forgotten, what it has set stays.
  void on_closed(ClientId client);

  /// True: what the client sent last has two meanings, and which one it is shows when nothing follows for a moment,
  /// such as 100 ms. Only with torch before 2.2, until that has shown once.
  [[nodiscard]] bool awaits_silence(ClientId client) const;
  /// Nothing has followed.
  [[nodiscard]] Result<> on_silence(ClientId client);

  /// Of what all clients share, which are connections and the memory of what is not whole or not read, there is not
  /// enough: who takes most of it. Empty: there is.
  [[nodiscard]] std::optional<ClosedClients> clients_to_close() const;
  /// The caller has no descriptor left: some of the process that has most connections, if that is more than its share.
  [[nodiscard]] std::optional<ClosedClients> most_connected_client() const;

  /// Empty: nothing can be sent now.
  [[nodiscard]] std::optional<Answer> next_answer();
  /// The last answer of this client is written. Nothing happens for a client that is gone.
  void on_written(ClientId client);

  /// Of the latest generation.
  [[nodiscard]] JoinedRanks joined_ranks() const;
  /// Likewise, at no cost.
  [[nodiscard]] InitBarrier init_barrier() const;
  /// All clients that wait, in the order of their numbers, with at most so many keys of each.
  [[nodiscard]] std::vector<WaitingClient> waiting(std::size_t most_keys) const;
  /// How many connections there are.
  [[nodiscard]] std::size_t connections() const;
  /// What is kept, in bytes: never more than the limit of the data.
  [[nodiscard]] std::size_t bytes() const;
  /// What clients have not been sent yet, in bytes of memory.
  [[nodiscard]] std::size_t unread() const;

 private:
  class Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace muster::store

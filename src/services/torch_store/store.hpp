#pragma once

// A server for clients of torch's TCPStore, without I/O: takes bytes and returns bytes. It owns no socket, starts
// nothing and reads no clock. docs/gang.md describes it.

#include "base/result.hpp"
#include "services/torch_store/answers.hpp"
#include "services/torch_store/key_space.hpp"
#include "services/torch_store/request_reader.hpp"
#include "services/torch_store/store_values.hpp"

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster::store {

/// A server without I/O, for an event loop. The caller must do the following:
/// - Report closed connections first (`on_closed`), then new ones, then bytes: a process that has lost its
///   connections begins again.
/// - After each of these, send what `next_answer` returns. A turn of the loop may take any number of answers and
///   leave the others to the next one: a change that thousands wait for makes thousands of answers, and writing them
///   is the main cost.
/// - Call `on_written` when the piece for a client is written, and not before; a client gets its next piece then. So
///   the store counts what a client leaves unread, and the caller keeps one piece of it.
/// - Close refused clients, and report that by `on_closed`. Earlier answers may still be sent.
/// - After a connection, and after bytes, call `clients_to_close` and close what it names, until it names none.
class Store {
 public:
  /// For an attempt with `workers` workers, 1 or more.
  Store(std::size_t workers, const Limits& limits = {});
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  ~Store() = default;

  /// `address` is numeric. Later clients have higher numbers.
  void on_opened(ClientId client, std::string address);
  /// Fails if the client has to be closed: the message names the client and what it sent.
  [[nodiscard]] Result<> on_bytes(ClientId client, std::string_view bytes);
  /// The client is gone or was refused. Its waits are dropped, its values stay.
  void on_closed(ClientId client);

  /// True: the client's last bytes have two meanings, and only silence for a moment, such as 100 ms, shows which one
  /// is right. Only with torch before 2.2, until the dialect is settled.
  bool awaits_silence(ClientId client) const;
  /// The client has sent nothing for that moment.
  [[nodiscard]] Result<> on_silence(ClientId client);

  /// Clients that use most of a shared resource that is exhausted: connections, or the memory of incomplete requests
  /// and unread answers. Empty: none is exhausted.
  std::optional<ClosedClients> clients_to_close() const;
  /// For a caller without free descriptors: connections of the process that has most, if that is more than its share.
  std::optional<ClosedClients> most_connected_client() const;

  /// Empty: there is nothing to send now.
  std::optional<Answer> next_answer() { return answers_.next(); }
  /// The last answer of the client is written. Does nothing for a client that is gone.
  void on_written(ClientId client) { answers_.on_written(client); }

  /// The ranks that have arrived in the latest generation.
  JoinedRanks joined_ranks() const { return generations_.joined_ranks(); }
  /// The number of these ranks, without listing them.
  InitBarrier init_barrier() const { return generations_.init_barrier(); }
  /// All clients that wait, by number, with at most `most_keys` keys of each.
  std::vector<WaitingClient> waiting(std::size_t most_keys) const;
  std::size_t connections() const { return connections_.size(); }
  /// Bytes of stored data, at most `Limits::data`.
  std::size_t bytes() const { return data_.spent(); }
  /// Bytes of memory of the answers that are not sent or not read.
  std::size_t unread() const { return answers_.bytes(); }

 private:
  struct Connection {
    Process process;
    RequestReader reader;
    std::size_t held = 0;  ///< bytes counted in `unfinished_`
    Generation* generation = nullptr;
    std::optional<Error> refusal{};
  };

  [[nodiscard]] Result<> read(ClientId client, Connection& connection, std::string_view bytes);
  [[nodiscard]] Result<> act(ClientId client, Connection& connection, Request request);
  void count_unfinished(Connection& connection);
  ClosedClients newest() const;
  ClosedClients least_complete() const;
  ClosedClients slowest_reader() const;
  [[nodiscard]] static Result<> refuse_if_wrong(Connection& connection, Result<> done);

  Limits limits_;
  std::size_t most_connections_;
  Budget data_;
  std::size_t unfinished_ = 0;
  DialectWithoutGreeting dialect_without_greeting_;
  Generations generations_;
  Answers answers_;
  std::map<ClientId, Connection> connections_;
};

}  // namespace muster::store

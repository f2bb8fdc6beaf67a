#pragma once

// The answers that clients of the store have not read, the choice of connections to close when there are too many,
// and the actions of requests. Pure.

#include "base/result.hpp"
#include "services/torch_store/key_space.hpp"
#include "services/torch_store/request_reader.hpp"
#include "services/torch_store/store_values.hpp"

#include <cstddef>
#include <cstring>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <variant>
#include <vector>

namespace muster::store {

/// Most columns of a key in an error message.
inline constexpr std::size_t kLongestShown = 60;

/// Queues answers. A client's answers are sent in order, a piece at a time, and clients take turns. A large value is
/// not copied before its turn.
class Answers {
 public:
  /// `most_unread`: limit of the bytes that one client has not read.
  explicit Answers(std::size_t most_unread) : most_unread_(most_unread) {}

  /// Fails if the client would exceed its limit with these additional bytes. Requests are checked; the later answer
  /// to a wait, one byte, may exceed the limit.
  [[nodiscard]] Result<> may_add(ClientId client, std::size_t bytes) const;
  void add(ClientId client, std::string_view bytes);
  /// Adds the bytes of the number, in the byte order of this machine.
  template <typename Number>
  void add_number(ClientId client, Number number) {
    static_assert(std::is_integral_v<Number>);
    char bytes[sizeof number];
    std::memcpy(bytes, &number, sizeof number);
    add(client, {bytes, sizeof bytes});
  }
  /// Adds the bytes of the value, without its length.
  void add_value(ClientId client, SharedValue value);

  std::optional<Answer> next();
  void on_written(ClientId client);
  void forget(ClientId client);

  /// Bytes of all answers that clients have not read. A large value for several clients counts once; the piece
  /// of it that a client is being sent counts for each client.
  std::size_t bytes() const { return kept_ + writing_; }
  /// The client with the most unread bytes.
  struct Largest {
    ClientId client = 0;
    std::size_t bytes = 0;
  };
  Largest largest() const;

 private:
  using Part = std::variant<std::string, SharedValue>;
  struct Unsent {
    std::deque<Part> parts;
    std::size_t begin = 0;  ///< bytes of the first part that are sent
    std::size_t bytes = 0;
    std::size_t writing = 0;  ///< bytes of the piece that was handed out
  };

  Unsent& open(ClientId client, std::size_t bytes);
  std::string take_piece(Unsent& unsent);
  void release(const Part& part);

  std::size_t most_unread_;
  std::size_t kept_ = 0;                                        ///< bytes of all parts
  std::size_t writing_ = 0;                                     ///< bytes of all pieces that were handed out
  std::unordered_map<const std::string*, std::size_t> shared_;  ///< number of parts that have a value
  std::unordered_map<ClientId, Unsent> unsent_;                 ///< clients that have read everything have no entry
  /// Clients that can be handed a piece. A client that is gone may be listed, and is skipped.
  std::deque<ClientId> turns_;
};

// Chooses connections to close when none is left for others.

/// A connection, as far as the choice depends on it.
struct ClientMemory {
  ClientId client = 0;
  Process process;
  bool has_asked = false;  ///< the client has asked for a key, and not only pinged
};

/// The process with the most connections, and those of its connections that are to be closed.
struct LargestHolder {
  Process process;
  std::size_t connections = 0;  ///< 0: there are no connections
  /// Connections to close: at least one, at most as many as it has beyond its share. If some have asked for nothing, up
  /// to half of these, from the middle: the oldest may be the second connections of ranks of torch 1.13 and 2.0, which
  /// never ask, and the newest may be about to ask. Else up to half of all, the newest, because a rank's own store is
  /// its oldest. Empty: it has no more than its share.
  std::vector<ClientId> to_close;
};

/// All connections without a pid at one address count as one process. `share`: the connections that each may have.
LargestHolder largest_holder(const std::vector<ClientMemory>& connections, std::size_t share);

// Runs a client's requests about keys, and queues the answers.

/// Carries out the requests of one client in its generation.
class KeyActions {
 public:
  KeyActions(ClientId client, Generation& generation, Answers& answers)
      : client_(client), generation_(generation), answers_(answers) {}

  /// Carries out any operation but `Ping` and `WatchKey`. Fails if the client must be refused.
  [[nodiscard]] Result<> run(Request& request);

 private:
  /// If the change of the key is `done`, wakes the clients that wait for the key.
  [[nodiscard]] Result<> note_changed(const std::string& key, const Result<>& done);
  [[nodiscard]] Result<> set_all(std::vector<std::string>& keys_and_values);
  [[nodiscard]] Result<> compare_and_set(std::vector<std::string>& texts);
  [[nodiscard]] Result<> add(const std::string& key, std::int64_t amount);
  [[nodiscard]] Result<> get_all(const std::vector<std::string>& keys);
  [[nodiscard]] Result<> push(std::vector<std::string>& key_and_value);
  [[nodiscard]] Result<> pop(const std::string& key);
  [[nodiscard]] Result<> list_keys();
  [[nodiscard]] Result<> enter_barrier(const std::string& key, std::int64_t world_size);
  template <typename Number>
  [[nodiscard]] Result<> answer(Number number);
  /// Answers a value with its length; null counts as empty.
  [[nodiscard]] Result<> answer_value(SharedValue value);
  [[nodiscard]] Result<> wait_for(const std::vector<std::string>& missing);
  void wake(const std::string& key);

  ClientId client_;
  Generation& generation_;
  Answers& answers_;
};

}  // namespace muster::store

#pragma once

// What clients are to be sent, until they have been. Pure.

#include "base/result.hpp"
#include "services/torch_store/key_space.hpp"
#include "services/torch_store/request_reader.hpp"
#include "services/torch_store/store.hpp"

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

/// Columns of a key that an error message shows.
inline constexpr std::size_t kLongestShown = 60;

/// Answers of a client are sent in their order, a piece at a time; clients take turns. Large values are not copied
/// before it is their turn.
class Answers {
 public:
  /// `most_unread`: the bytes that one client may leave unread.
  explicit Answers(std::size_t most_unread) : most_unread_(most_unread) {}

  /// Fails when the client leaves too many unread with so many more. It is asked when something is requested; what
  /// comes later of it, one byte, may be over the limit.
  [[nodiscard]] Result<> may_add(ClientId client, std::size_t bytes) const;
  void add(ClientId client, std::string_view bytes);
  /// The bytes of the number, in the order of this machine.
  template <typename Number>
  void add_number(ClientId client, Number number) {
    static_assert(std::is_integral_v<Number>);
    char bytes[sizeof number];
    std::memcpy(bytes, &number, sizeof number);
    add(client, {bytes, sizeof bytes});
  }
  /// The bytes of the value, without their length.
  void add_value(ClientId client, SharedValue value);

  [[nodiscard]] std::optional<Answer> next();
  void on_written(ClientId client);
  void forget(ClientId client);

  /// What all clients together have not been sent, or not read, takes so many bytes of memory: a large value that
  /// several are sent is there once, and the piece that each has been handed.
  [[nodiscard]] std::size_t bytes() const { return kept_ + writing_; }
  /// Who leaves most unread, and how many bytes.
  struct Largest {
    ClientId client = 0;
    std::size_t bytes = 0;
  };
  [[nodiscard]] Largest largest() const;

 private:
  using Part = std::variant<std::string, SharedValue>;
  struct Unsent {
    std::deque<Part> parts;
    std::size_t begin = 0;  ///< of the first part: so much is sent
    std::size_t bytes = 0;
    std::size_t writing = 0;  ///< bytes of the piece that was handed out
  };

  [[nodiscard]] Unsent& open(ClientId client, std::size_t bytes);
  [[nodiscard]] std::string take_piece(Unsent& unsent);
  void release(const Part& part);

  std::size_t most_unread_;
  std::size_t kept_ = 0;                                        ///< bytes of all parts
  std::size_t writing_ = 0;                                     ///< bytes of all pieces that were handed out
  std::unordered_map<const std::string*, std::size_t> shared_;  ///< in how many parts a value is
  std::unordered_map<ClientId, Unsent> unsent_;                 ///< clients of whom nothing is unread have none
  /// Of whom a piece can be handed out. Who is gone may stand here and is passed over.
  std::deque<ClientId> turns_;
};

// Who gives way when there are no connections left for others. Pure.

/// A connection, as far as it counts here.
struct ClientMemory {
  ClientId client = 0;
  Process process;
  bool has_asked = false;  ///< for something, and not only said who it is
};

/// The process that has most connections.
struct LargestHolder {
  Process process;
  std::size_t connections = 0;  ///< 0: there is nobody
  /// Those of its connections that give way, at least one of those beyond its share, and not more: up to half of those
  /// that have asked for nothing, from the middle, as the oldest may be the second connections of ranks of torch 1.13
  /// and 2.0, which are silent for good, and the newest may be about to ask; where there are none, up to half of all,
  /// the newest, as a rank's own store is its oldest. None: it has no more than its share.
  std::vector<ClientId> give_way;
};

/// All without a pid at one address are one process. `share`: the connections that each may have.
[[nodiscard]] LargestHolder largest_holder(const std::vector<ClientMemory>& connections, std::size_t share);

// What a client's request about keys does, and what is answered to whom. Pure.

/// For one client in its generation; a visitor of `KeyRequest`. Fails when the client is to be refused: why.
class KeyActions {
 public:
  KeyActions(ClientId client, Generation& generation, Answers& answers)
      : client_(client), generation_(generation), answers_(answers) {}

  [[nodiscard]] Result<> operator()(request::Set& request);
  [[nodiscard]] Result<> operator()(request::CompareSet& request);
  [[nodiscard]] Result<> operator()(request::Get& request);
  [[nodiscard]] Result<> operator()(request::Add& request);
  [[nodiscard]] Result<> operator()(request::Check& request);
  [[nodiscard]] Result<> operator()(request::Wait& request);
  [[nodiscard]] Result<> operator()(request::CountKeys& request);
  [[nodiscard]] Result<> operator()(request::DeleteKey& request);
  [[nodiscard]] Result<> operator()(request::Append& request);
  [[nodiscard]] Result<> operator()(request::MultiGet& request);
  [[nodiscard]] Result<> operator()(request::MultiSet& request);
  [[nodiscard]] Result<> operator()(request::CancelWait& request);
  [[nodiscard]] Result<> operator()(request::QueuePush& request);
  [[nodiscard]] Result<> operator()(request::QueuePop& request);
  [[nodiscard]] Result<> operator()(request::QueueLength& request);
  [[nodiscard]] Result<> operator()(request::ListKeys& request);
  [[nodiscard]] Result<> operator()(request::Barrier& request);

 private:
  template <typename Number>
  [[nodiscard]] Result<> answer(Number number);
  /// With its length; null is empty.
  [[nodiscard]] Result<> answer_value(SharedValue value);
  [[nodiscard]] Result<> wait_for(const std::vector<std::string>& missing);
  void wake(const std::string& key);

  ClientId client_;
  Generation& generation_;
  Answers& answers_;
};

}  // namespace muster::store

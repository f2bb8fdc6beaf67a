#pragma once

// The bytes of one client, made requests. Pure.

#include "base/result.hpp"
#include "services/torch_store/store.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace muster::store {

// What a client asks for: one value for each operation. The greeting is none, it only says how the client speaks.

struct KeyAndValue {
  std::string key;
  std::string value;

  bool operator==(const KeyAndValue&) const = default;
};

namespace request {

struct Set : KeyAndValue {};
struct CompareSet {
  std::string key;
  std::string expected;
  std::string desired;
};
struct Get {
  std::string key;
};
struct Add {
  std::string key;
  std::int64_t amount = 0;
};
struct Check {
  std::vector<std::string> keys;
};
struct Wait {
  std::vector<std::string> keys;
};
struct CountKeys {};
struct WatchKey {
  std::string key;
};
struct DeleteKey {
  std::string key;
};
struct Append : KeyAndValue {};
struct MultiGet {
  std::vector<std::string> keys;
};
struct MultiSet {
  std::vector<KeyAndValue> pairs;
};
struct CancelWait {};
struct Ping {
  std::uint32_t nonce = 0;  ///< the client's pid, as it sees itself
};
struct QueuePush : KeyAndValue {};
struct QueuePop {
  std::string key;
};
struct QueueLength {
  std::string key;
};
struct ListKeys {};
struct Barrier {
  std::string key;
  std::int64_t world_size = 0;
};

}  // namespace request

/// What changes or reads keys, or waits for them.
using KeyRequest = std::variant<request::Set, request::CompareSet, request::Get, request::Add, request::Check,
                                request::Wait, request::CountKeys, request::DeleteKey, request::Append,
                                request::MultiGet, request::MultiSet, request::CancelWait, request::QueuePush,
                                request::QueuePop, request::QueueLength, request::ListKeys, request::Barrier>;

using Request = std::variant<request::Ping, request::WatchKey, KeyRequest>;

// What clients of torch's TCPStore can ask for, and by which number each release of torch asks for it.
//
// The numbers are those of the enumeration in torch/csrc/distributed/c10d/TCPStoreBackend.hpp (TCPStore.cpp before
// 2.1), as it is in the released wheels.

enum class Operation {
  Validate,
  Set,
  CompareSet,
  Get,
  Add,
  Check,
  Wait,
  CountKeys,
  WatchKey,
  DeleteKey,
  Append,
  MultiGet,
  MultiSet,
  CancelWait,
  Ping,
  QueuePush,
  QueuePop,
  QueueLength,
  ListKeys,
  Barrier
};

/// How a client numbers operations. No release says which it is: only those from 2.2 on greet the store.
enum class Dialect {
  Torch20,  ///< 1.13 and 2.0
  Torch21,
  Torch22  ///< 2.2 and later, which only add numbers at the end
};

/// Empty: that dialect has no such number.
[[nodiscard]] std::optional<Operation> operation_of(Dialect dialect, std::uint8_t code);

/// By which dialect the clients of a job speak that do not greet. It is settled by the first rank that says what
/// only one of the two can mean, for all: they are the same program.
class Ungreeted {
 public:
  /// Empty: not settled yet.
  [[nodiscard]] std::optional<Dialect> dialect() const { return dialect_; }
  /// The first word counts.
  void settle(Dialect dialect) { dialect_ = dialect_.value_or(dialect); }

 private:
  std::optional<Dialect> dialect_;
};

// What follows the number of an operation on the wire, and the request that is made of it.

enum class Field {
  Key,    ///< a length of 8 bytes, and so many
  Value,  ///< the same
  Nonce,  ///< 4 bytes
  Amount  ///< 8 bytes, with a sign
};

struct Layout {
  std::span<const Field> fields;
  /// 8 bytes say first how often the fields come.
  bool is_list = false;
};

/// Of the greeting nothing: it is read before there is a request.
[[nodiscard]] Layout layout_of(Operation operation);

/// What was read for the fields of the layout.
struct Contents {
  std::vector<std::string> texts;  ///< keys and values, in order
  std::uint64_t number = 0;        ///< the nonce, or the bits of the amount
};

/// `contents` are those of its layout. There is no request for the greeting.
[[nodiscard]] Request make_request(Operation operation, Contents contents);

/// Takes bytes as they come, in any pieces, and gives requests in order. No byte is looked at twice: it knows in which
/// field of which request it is, and how many bytes of that are missing. A length is compared with its limit before
/// its bytes are waited for.
///
/// After an error it is of no use: where the next request would begin is not known.
class RequestReader {
 public:
  /// Both are those of the store, and outlive it.
  RequestReader(const Limits& limits, Ungreeted& ungreeted) : limits_(&limits), ungreeted_(&ungreeted) {}

  /// Takes what it needs from the front of `bytes`. Empty: all are taken, and the request is not whole. Fails with
  /// `BadData` for what no client sends, or what is over a limit: what "it sent".
  [[nodiscard]] Result<std::optional<Request>> next(std::string_view& bytes);

  /// True: the request is whole if nothing follows for a moment, unless it is settled meanwhile what it means: 8 and a
  /// key is 1.13's DELETE_KEY, whose sender waits now, and the beginning of 2.1's APPEND.
  [[nodiscard]] bool awaits_silence() const {
    return part_ == Part::Undecided && ungreeted_dialect() != Dialect::Torch21;
  }
  /// Nothing has followed. Empty: it is not whole all the same.
  [[nodiscard]] std::optional<Request> on_silence();

  /// The client is a rank: what it settles from here on is settled for the others that do not greet. What anybody else
  /// says, which may be a stray byte, counts for its own connection only.
  void speak_for_all() { speaks_for_all_ = true; }

  /// What the request that is not whole takes in memory.
  [[nodiscard]] std::size_t held() const { return held_; }

 private:
  enum class Part {
    Start,
    Code,
    Count,
    Length,
    Text,
    Number,
    Undecided
  };

  [[nodiscard]] bool gather(std::string_view& bytes);
  void gather_text(std::string_view bytes);
  // True: the request is whole.
  [[nodiscard]] Result<bool> on_part();
  [[nodiscard]] Result<bool> on_start();
  [[nodiscard]] Result<bool> on_code();
  [[nodiscard]] Result<bool> on_count();
  [[nodiscard]] Result<bool> on_length();
  [[nodiscard]] Result<bool> on_text();
  [[nodiscard]] Result<bool> on_bytes_after_key();
  [[nodiscard]] Result<bool> next_field();
  [[nodiscard]] Result<bool> expect(Part part, std::uint64_t bytes);
  void expect_code();
  /// Empty: not settled yet.
  [[nodiscard]] std::optional<Dialect> ungreeted_dialect() const { return own_ ? own_ : ungreeted_->dialect(); }
  [[nodiscard]] std::optional<Operation> operation_of_code(std::uint8_t code);
  [[nodiscard]] Request finish();
  template <typename Number>
  [[nodiscard]] Number take();

  const Limits* limits_;
  Ungreeted* ungreeted_;
  bool has_greeted_ = false;
  bool speaks_for_all_ = false;
  std::optional<Dialect> own_;  ///< settled by what this client has said, without a greeting
  bool is_first_ = true;

  Part part_ = Part::Start;
  std::size_t wanted_ = 1;  ///< bytes of this part in all
  std::string pending_;     ///< those that are here, but for a text's

  Operation operation_ = Operation::Validate;
  std::optional<Dialect> means_;  ///< the dialect in which it is this operation, where that was not settled
  Layout layout_;
  std::uint64_t rounds_ = 0;  ///< of the fields, with the one that is read
  std::size_t field_ = 0;     ///< the next one
  Contents contents_;
  std::size_t size_ = 1;  ///< of the request, as far as it is known
  std::size_t held_ = 0;
};

}  // namespace muster::store

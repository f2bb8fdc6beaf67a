#pragma once

// Parses the bytes of one client into requests. Pure.

#include "base/result.hpp"
#include "services/torch_store/store_values.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace muster::store {

// The operations of torch's TCPStore, and their numbers in each release of torch.
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

/// Numbering of the operations, by release of torch. Clients do not name it; only those from 2.2 on greet the store.
enum class Dialect {
  Torch20,  ///< 1.13 and 2.0
  Torch21,
  Torch22  ///< 2.2 and later, which only add numbers at the end
};

/// The operation with this number; empty: the dialect has no such number.
std::optional<Operation> operation_of(Dialect dialect, std::uint8_t code);

/// The dialect of clients that send no greeting: those of torch before 2.2. All run the same program, so the first
/// rank with a request that only one of the two older dialects has settles the dialect for all of them.
class DialectWithoutGreeting {
 public:
  /// The dialect; empty: no rank has shown it yet.
  std::optional<Dialect> dialect() const { return dialect_; }
  /// Decides the dialect, unless it is decided already.
  void settle(Dialect dialect) { dialect_ = dialect_.value_or(dialect); }

 private:
  std::optional<Dialect> dialect_;
};

// Fields that follow an operation's number on the wire, and the request that they make.

enum class Field {
  Key,    ///< a length in 8 bytes, then the text
  Value,  ///< encoded as a key is
  Nonce,  ///< 4 bytes
  Amount  ///< 8 bytes, with a sign
};

struct Layout {
  std::span<const Field> fields;
  /// The fields repeat; 8 bytes before them say how often.
  bool is_list = false;
};

/// An operation with the values of its layout's fields. `Validate` is none: the greeting only tells how the client numbers
/// operations.
struct Request {
  Operation operation = Operation::Validate;
  std::vector<std::string> texts{};  ///< keys and values, in order
  std::int64_t number = 0;           ///< the amount, or the nonce: the client's pid in its own namespace
};

/// Parses bytes in any pieces into requests, in order. No byte is read twice: the reader knows the current field and
/// its missing bytes. A length is compared with its limit before its bytes are waited for.
///
/// Unusable after an error, because the begin of the next request is unknown.
class RequestReader {
 public:
  /// Both belong to the store and outlive the reader.
  RequestReader(const Limits& limits, DialectWithoutGreeting& ungreeted)
      : limits_(&limits), dialect_without_greeting_(&ungreeted) {}

  /// Takes bytes from the front of `bytes`. Empty: all are taken, and the request is incomplete. Fails with `BadData`
  /// for invalid bytes or a value over a limit; the message continues "it sent".
  [[nodiscard]] Result<std::optional<Request>> next(std::string_view& bytes);

  /// True: only silence for a moment shows that the request is complete, unless the dialect is settled meanwhile. 8
  /// and a key are 1.13's DELETE_KEY, whose sender now waits, or the beginning of 2.1's APPEND.
  bool awaits_silence() const { return part_ == Part::Undecided && ungreeted_dialect() != Dialect::Torch21; }
  /// Call when nothing has followed. Empty: the request is still incomplete.
  std::optional<Request> on_silence();

  /// Call it for the client of a rank: the dialect that its requests show then counts for all clients without a
  /// greeting. Any other client, which may have sent a stray byte, shows it only for its own connection.
  void settle_for_all() { settles_for_all_ = true; }

  /// Memory of the incomplete request, in bytes.
  std::size_t held() const { return held_; }

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

  bool gather(std::string_view& bytes);
  // True: the request is complete.
  [[nodiscard]] Result<bool> on_part();
  [[nodiscard]] Result<bool> on_start();
  [[nodiscard]] Result<bool> on_code();
  [[nodiscard]] Result<bool> on_length();
  [[nodiscard]] Result<bool> next_field();
  [[nodiscard]] Result<bool> expect(Part part, std::uint64_t bytes);
  void expect_code();
  /// Dialect of a client without a greeting; empty: not known yet.
  std::optional<Dialect> ungreeted_dialect() const { return own_ ? own_ : dialect_without_greeting_->dialect(); }
  std::optional<Operation> operation_of_code(std::uint8_t code);
  Request finish();
  template <typename Number>
  Number take();

  const Limits* limits_;
  DialectWithoutGreeting* dialect_without_greeting_;
  bool has_greeted_ = false;
  bool settles_for_all_ = false;
  std::optional<Dialect> own_;  ///< shown by this client's own requests, without a greeting
  bool is_first_ = true;

  Part part_ = Part::Start;
  std::size_t wanted_ = 1;  ///< bytes of the whole part
  std::string pending_;     ///< bytes of the part so far, except of a text

  Request request_;
  std::optional<Dialect> means_;  ///< dialect by which the operation was read, if none was settled
  Layout layout_;
  std::uint64_t rounds_ = 0;  ///< repetitions of the fields that are left, with the current one
  std::size_t field_ = 0;     ///< index of the next field
  std::size_t size_ = 1;      ///< bytes of the request, as far as known
  std::size_t held_ = 0;
};

}  // namespace muster::store

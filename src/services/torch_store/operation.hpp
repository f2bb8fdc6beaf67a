#pragma once

// What clients of torch's TCPStore can ask for, and by which number each release of torch asks for it.
//
// The numbers are those of the enumeration in torch/csrc/distributed/c10d/TCPStoreBackend.hpp (TCPStore.cpp before
// 2.1), as it is in the released wheels.

#include <cstdint>
#include <optional>

namespace muster::store {

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

}  // namespace muster::store

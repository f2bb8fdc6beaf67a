// The three tables of numbers: the place in a table is the number.
#include "services/torch_store/operation.hpp"

#include <array>
#include <span>

namespace muster::store {
namespace {

using enum Operation;

constexpr std::array kTorch20 = {
    Set, CompareSet, Get, Add, Check, Wait, CountKeys, WatchKey, DeleteKey};
constexpr std::array kTorch21 = {Set,
                                 CompareSet,
                                 Get,
                                 Add,
                                 Check,
                                 Wait,
                                 CountKeys,
                                 DeleteKey,
                                 Append,
                                 MultiGet,
                                 MultiSet,
                                 CancelWait};
// 13 since 2.5, 14 to 16 since 2.8, 17 since 2.10, 18 since 2.12.
constexpr std::array kTorch22 = {Validate,
                                 Set,
                                 CompareSet,
                                 Get,
                                 Add,
                                 Check,
                                 Wait,
                                 CountKeys,
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
                                 Barrier};

std::span<const Operation> table_of(Dialect dialect) {
  switch (dialect) {
    case Dialect::Torch20:
      return kTorch20;
    case Dialect::Torch21:
      return kTorch21;
    case Dialect::Torch22:
      break;
  }
  return kTorch22;
}

}  // namespace

std::optional<Operation> operation_of(Dialect dialect, std::uint8_t code) {
  const auto table = table_of(dialect);
  return code < table.size() ? std::optional(table[code]) : std::nullopt;
}

}  // namespace muster::store

// The numbers of operations, release by release.
#include "services/torch_store/request_reader.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

namespace muster::store {
namespace {

using enum Operation;

/// A row of the table that torch's sources make: -1 where a release has no such operation.
struct Row {
  Operation operation;
  int torch_20;
  int torch_21;
  int torch_22;
};

const std::vector<Row> kRows = {
    {Validate, -1, -1, 0},   {Set, 0, 0, 1},           {CompareSet, 1, 1, 2},
    {Get, 2, 2, 3},          {Add, 3, 3, 4},           {Check, 4, 4, 5},
    {Wait, 5, 5, 6},         {CountKeys, 6, 6, 7},     {WatchKey, 7, -1, -1},
    {DeleteKey, 8, 7, 8},    {Append, -1, 8, 9},       {MultiGet, -1, 9, 10},
    {MultiSet, -1, 10, 11},  {CancelWait, -1, 11, 12}, {Ping, -1, -1, 13},
    {QueuePush, -1, -1, 14}, {QueuePop, -1, -1, 15},   {QueueLength, -1, -1, 16},
    {ListKeys, -1, -1, 17},  {Barrier, -1, -1, 18},
};

/// The operation that has this number in the column.
std::optional<Operation> expected(int Row::*column, int code) {
  for (const Row& row : kRows) {
    if (row.*column == code) {
      return row.operation;
    }
  }
  return std::nullopt;
}

TEST(Operations, HaveTheNumbersOfTheirRelease) {
  for (int code = 0; code < 256; ++code) {
    const auto byte = static_cast<std::uint8_t>(code);
    EXPECT_EQ(operation_of(Dialect::Torch20, byte), expected(&Row::torch_20, code)) << code;
    EXPECT_EQ(operation_of(Dialect::Torch21, byte), expected(&Row::torch_21, code)) << code;
    EXPECT_EQ(operation_of(Dialect::Torch22, byte), expected(&Row::torch_22, code)) << code;
  }
}

TEST(DialectWithoutGreeting, IsSettledByTheFirstWord) {
  DialectWithoutGreeting ungreeted;
  EXPECT_FALSE(ungreeted.dialect());

  ungreeted.settle(Dialect::Torch21);
  ungreeted.settle(Dialect::Torch20);

  EXPECT_EQ(ungreeted.dialect(), Dialect::Torch21);
}

}  // namespace
}  // namespace muster::store

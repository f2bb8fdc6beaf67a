#include "hang/py_spy.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

namespace muster::hang {
namespace {

std::string recorded() {
  std::ifstream file(std::string(MUSTER_HANG_DATA) + "/py-spy-0.4.3.json");
  return {std::istreambuf_iterator<char>(file), {}};
}

const Stack kMain = {
    {"/home/me/train.py", "load_shard", 3}, {"/home/me/train.py", "step", 5}, {"/home/me/train.py", "<module>", 7}};

TEST(PySpy, HasTheMainThreadOfARecordedPython311) {
  constexpr std::uint64_t kMainThread = 7535;
  constexpr std::uint64_t kOtherThread = 7540;
  const auto stack = read_py_spy(recorded(), kMainThread);
  ASSERT_TRUE(stack);
  EXPECT_EQ(stack->front().stack, kMain);
  EXPECT_EQ(stack->size(), 2U);
  EXPECT_EQ(stack->back().id, kOtherThread);
  EXPECT_EQ(read_py_spy(recorded(), kOtherThread)->front().stack.front().function, "Thread.run");
}

TEST(PySpy, TakesTheThreadByItsNameWhereTheKernelsIdsAreOthers) {
  const auto stack = read_py_spy(recorded(), 1);
  ASSERT_TRUE(stack);
  EXPECT_EQ(stack->front().stack, kMain);
}

TEST(PySpy, GivesTheReasonForWhichThereIsNoStack) {
  const auto reason_of = [](std::string_view answer) { return read_py_spy(answer, 1).error().message; };
  EXPECT_EQ(reason_of("Error: Permission Denied\n\nStack backtrace:\n"), "py-spy: Error: Permission Denied");
  EXPECT_EQ(reason_of(""), "py-spy: no answer");
  EXPECT_EQ(reason_of("[]"), "py-spy has found no call of the main thread");
  EXPECT_EQ(reason_of(R"([{"os_thread_id": 1, "frames": [7, {}, null]}, 3])"),
            reason_of(R"([{"os_thread_id": 1, "frames": null}])"));
  EXPECT_EQ(reason_of(R"([{"os_thread_id": "1", "thread_name": "MainThread", "frames": {"name": "f"}}])"),
            "py-spy has found no call of the main thread");
}

TEST(PySpy, IsReadWithoutItsLongNamesAndImpossibleLines) {
  const auto stack = read_py_spy(R"([{"os_thread_id": 1, "frames": [{"name": "\u001b[1mf", "line": -7}]}])", 1);
  ASSERT_TRUE(stack);
  EXPECT_EQ(stack->front().stack.front().line, 0);
  EXPECT_EQ(stack->front().stack.front().function.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace muster::hang

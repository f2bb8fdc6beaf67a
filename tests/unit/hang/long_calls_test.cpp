// Looks at workers that are in uninterruptible system calls.
#include "hang/long_calls.hpp"

#include <gtest/gtest.h>

namespace muster::hang {
namespace {

using Change = LongCalls::Change;

constexpr LongCalls::Clock::time_point kCallStart{};
constexpr std::chrono::seconds kThirty{30};

TEST(LongCalls, AreNamedOnceAndSoIsTheirEnd) {
  LongCalls calls({.report = kThirty});
  EXPECT_EQ(calls.note(3, 7, kCallStart).change, Change::None);
  EXPECT_EQ(calls.note(3, 7, kCallStart + std::chrono::seconds(29)).change, Change::None);
  const LongCalls::Finding found = calls.note(3, 7, kCallStart + kThirty);
  EXPECT_EQ(found.change, Change::IsLong);
  EXPECT_EQ(found.length, kThirty);
  EXPECT_EQ(calls.note(3, 7, kCallStart + std::chrono::seconds(60)).change, Change::None);
  const LongCalls::Finding over = calls.note(3, {}, kCallStart + std::chrono::seconds(75));
  EXPECT_EQ(over.change, Change::IsOver);
  EXPECT_EQ(over.length, std::chrono::seconds(75));
  EXPECT_EQ(calls.note(3, {}, kCallStart + std::chrono::seconds(80)).change, Change::None);
}

TEST(LongCalls, AreNoneOfAWorkerThatReadsMuch) {
  LongCalls calls({.report = kThirty, .failure = std::chrono::seconds(60)});
  for (std::uint64_t i = 0; i < 10; ++i) {
    EXPECT_EQ(calls.note(0, 100 + i, kCallStart + kThirty * i).change, Change::None);
  }
}

TEST(LongCalls, EndWhereAnotherOneBegins) {
  LongCalls calls({.report = kThirty});
  (void)calls.note(0, 7, kCallStart);
  (void)calls.note(0, 7, kCallStart + kThirty);
  EXPECT_EQ(calls.note(0, 8, kCallStart + std::chrono::seconds(35)).change, Change::IsOver);
  EXPECT_EQ(calls.note(0, 8, kCallStart + std::chrono::seconds(64)).change, Change::None);
  EXPECT_EQ(calls.note(0, 8, kCallStart + std::chrono::seconds(65)).change, Change::IsLong);
}

TEST(LongCalls, FailAWorkerOnlyWithALimit) {
  LongCalls reported({.report = kThirty});
  (void)reported.note(0, 7, kCallStart);
  EXPECT_EQ(reported.note(0, 7, kCallStart + std::chrono::hours(1)).change, Change::IsLong);

  LongCalls limited({.failure = std::chrono::seconds(50)});
  (void)limited.note(0, 7, kCallStart);
  EXPECT_EQ(limited.note(0, 7, kCallStart + kThirty).change, Change::None);
  EXPECT_EQ(limited.note(0, 7, kCallStart + std::chrono::seconds(50)).change, Change::IsTooLong);
}

TEST(LongCalls, AreLookedForEvery30Seconds) {
  LongCalls calls({.report = kThirty, .failure = std::chrono::seconds(40)});
  EXPECT_EQ(calls.next_delay(kCallStart), kThirty);
  EXPECT_EQ(LongCalls({.failure = std::chrono::hours(1)}).next_delay(kCallStart), kThirty);
  EXPECT_EQ(LongCalls({.failure = std::chrono::seconds(2)}).next_delay(kCallStart), std::chrono::seconds(2));

  (void)calls.note(0, 7, kCallStart);
  EXPECT_EQ(calls.next_delay(kCallStart), kThirty);
  (void)calls.note(0, 7, kCallStart + kThirty);
  EXPECT_EQ(calls.next_delay(kCallStart + kThirty), std::chrono::seconds(5)) << "its end is said in time";
  EXPECT_EQ(calls.next_delay(kCallStart + std::chrono::seconds(37)), std::chrono::seconds(3)) << "the limit is near";
  calls.forget(0);
  EXPECT_EQ(calls.next_delay(kCallStart + kThirty), kThirty);
}

}  // namespace
}  // namespace muster::hang

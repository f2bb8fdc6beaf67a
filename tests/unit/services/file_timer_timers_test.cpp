// Requests become timers, and a time tells who has expired.
#include "services/file_timer.hpp"

#include <gtest/gtest.h>

namespace muster::file_timer {
namespace {

/// As FileTimerRequest.to_json writes it.
std::string timer_line(int pid, const std::string& scope, const std::string& expires, int signal = 9) {
  return R"({"version": 1, "pid": )" + std::to_string(pid) + R"(, "scope_id": ")" + scope +
         R"(", "expiration_time": )" + expires + R"(, "signal": )" + std::to_string(signal) + "}\n";
}

TEST(Timers, ExpireAtTheirTime) {
  Timers timers;
  EXPECT_EQ(timers.next(), std::nullopt);
  EXPECT_EQ(timers.take(timer_line(7, "late", "20") + timer_line(8, "early", "10.5")), 0U);
  EXPECT_EQ(timers.next(), 10.5);
  EXPECT_FALSE(timers.expire(10.4));
  EXPECT_EQ(timers.expire(10.5), (Timer{8, "early", 10.5, 9}));
  EXPECT_FALSE(timers.expire(10.5));
  EXPECT_EQ(timers.next(), 20);
}

TEST(Timers, AreTakenBackAndSetAnew) {
  Timers timers;
  (void)timers.take(timer_line(7, "a", "10") + timer_line(7, "b", "10"));
  EXPECT_EQ(timers.take(timer_line(7, "a", "-1", 0) + timer_line(7, "none", "-1", 0)), 0U);
  EXPECT_EQ(timers.take(timer_line(7, "b", "30")), 0U);
  EXPECT_EQ(timers.size(), 1U);
  EXPECT_EQ(timers.bytes(), 1U);
  EXPECT_FALSE(timers.expire(29));
  EXPECT_TRUE(timers.expire(30));
  EXPECT_EQ(timers.bytes(), 0U);
}

TEST(Timers, NameTheEarliestOfAProcessThatHasASignal) {
  Timers timers;
  (void)timers.take(timer_line(7, "silent", "10", 0) + timer_line(7, "second", "12", 15) +
                    timer_line(7, "third", "13") + timer_line(7, "far", "99") + timer_line(8, "silent", "11", -1));
  EXPECT_EQ(timers.expire(20), (Timer{7, "second", 12, 15}));
  EXPECT_EQ(timers.expire(20), (Timer{8, "silent", 11, -1}));
  EXPECT_EQ(timers.size(), 0U) << "all timers of a process that is told are gone";
}

TEST(Timers, ReadLinesThatComeInPieces) {
  Timers timers;
  for (const char byte : timer_line(7, "x", "1e3")) {
    EXPECT_EQ(timers.take({&byte, 1}), 0U);
  }
  EXPECT_EQ(timers.next(), 1000);
}

TEST(Timers, RefuseInvalidRequests) {
  Timers timers;
  for (const std::string line :
       {"", "{", "[]", "{}", R"({"pid": 0, "scope_id": "x", "expiration_time": 1, "signal": 9})",
        R"({"pid": -1, "scope_id": "x", "expiration_time": 1, "signal": 9})",
        R"({"pid": 4294967297, "scope_id": "x", "expiration_time": 1, "signal": 9})",
        R"({"pid": 18446744073709551615, "scope_id": "x", "expiration_time": 1, "signal": 9})",
        R"({"pid": 1.5, "scope_id": "x", "expiration_time": 1, "signal": 9})",
        R"({"pid": 7, "scope_id": "x", "expiration_time": 1, "signal": 65})",
        R"({"pid": 7, "scope_id": "x", "expiration_time": NaN, "signal": 9})",
        R"({"pid": 7, "scope_id": 3, "expiration_time": 1, "signal": 9})",
        R"({"pid": 7, "scope_id": "x", "expiration_time": "1", "signal": 9})",
        R"({"pid": 7, "scope_id": "x", "expiration_time": 1})"}) {
    EXPECT_EQ(timers.take(line + "\n"), 1U) << line;
  }
  EXPECT_EQ(timers.size(), 0U);
  EXPECT_EQ(timers.take(timer_line(7, "x", "1")), 0U) << "and go on";
}

TEST(Timers, KeepNoMoreThanTheirLimits) {
  Timers timers({.line_bytes = 200, .timers = 2, .scope_bytes = 8});
  EXPECT_EQ(timers.take(timer_line(1, std::string(200, 'x'), "1")), 1U) << "a line that is too long";
  EXPECT_EQ(timers.take(timer_line(1, "123456789", "1")), 1U) << "too many bytes of scopes";
  EXPECT_EQ(timers.take(timer_line(1, "1234", "1") + timer_line(2, "1", "1") + timer_line(3, "1", "1")), 1U);
  EXPECT_EQ(timers.size(), 2U);
  EXPECT_EQ(timers.take(timer_line(1, "1234", "5")), 0U) << "one that is there may be set anew";
}

}  // namespace
}  // namespace muster::file_timer

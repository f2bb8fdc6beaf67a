#include "base/console_time.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

namespace muster {
namespace {

using std::chrono::milliseconds;

WallTime at(std::int64_t since_epoch) {
  return WallTime(std::chrono::duration_cast<WallTime::duration>(milliseconds(since_epoch)));
}

/// Sets the time zone of this process for one test.
class Zone {
 public:
  explicit Zone(const char* name) { set(name); }
  ~Zone() {
    ::unsetenv("TZ");
    ::tzset();
  }
  Zone(const Zone&) = delete;
  Zone& operator=(const Zone&) = delete;

  static void set(const char* name) {
    ::setenv("TZ", name, 1);
    ::tzset();
  }
};

TEST(ConsoleTime, IsUtcWithItsZone) {
  EXPECT_EQ(utc_text(at(1'795'883'401'250)), "2026-11-28T16:30:01Z");
  EXPECT_EQ(utc_text_with_milliseconds(at(1'795'883'401'250)), "2026-11-28T16:30:01.250Z");
  EXPECT_EQ(utc_text_with_milliseconds(at(1'795'883'401'007)), "2026-11-28T16:30:01.007Z");
}

TEST(ConsoleTime, HasNoFractionAboveOneBeforeTheEpoch) {
  EXPECT_EQ(utc_text_with_milliseconds(at(-1)), "1969-12-31T23:59:59.999Z");
}

TEST(ConsoleTime, IsLocalWithTheOffset) {
  const Zone india("IST-5:30");
  const ConsoleClock clock{ConsoleTime::Local};
  EXPECT_EQ(clock.text(at(1'795'883'401'250)), "2026-11-28T22:00:01+05:30");
  Zone::set("EST+5");
  EXPECT_EQ(clock.text(at(1'795'883'401'250)), "2026-11-28T11:30:01-05:00");
  Zone::set("UTC0");
  EXPECT_EQ(clock.text(at(1'795'883'401'250)), "2026-11-28T16:30:01+00:00");
}

TEST(ConsoleTime, CountsFromTheStart) {
  const ConsoleClock clock{ConsoleTime::Relative, at(1'000)};
  EXPECT_EQ(clock.text(at(1'000)), "+0.000 s");
  EXPECT_EQ(clock.text(at(13'345)), "+12.345 s");
  EXPECT_EQ(clock.text(at(500)), "-0.500 s") << "the clock of the machine was set back";
}

TEST(ConsoleTime, IsEmptyWhereItIsOff) {
  EXPECT_EQ((ConsoleClock{ConsoleTime::Off}.text(at(1'000))), "");
  EXPECT_EQ((ConsoleClock{ConsoleTime::Auto}.text(at(1'000))), "");
  EXPECT_EQ(ConsoleClock{}.now(), "");
  EXPECT_TRUE((ConsoleClock{ConsoleTime::Utc}.now().ends_with("Z ")));
}

}  // namespace
}  // namespace muster

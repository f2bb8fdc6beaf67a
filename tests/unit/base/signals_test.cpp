// The names of signals, as people write them.
#include "base/signals.hpp"

#include <gtest/gtest.h>

#include <csignal>

namespace muster {
namespace {

TEST(ParseSignal, TakesNamesWithAndWithoutTheirBeginning) {
  EXPECT_EQ(parse_signal("SIGUSR1"), SIGUSR1);
  EXPECT_EQ(parse_signal("usr1"), SIGUSR1);
  EXPECT_EQ(parse_signal("SIGRTMIN+3"), SIGRTMIN + 3);
  EXPECT_EQ(parse_signal("INVALID_SIGNAL"), std::nullopt);
  EXPECT_EQ(parse_signal(""), std::nullopt);
}

TEST(ParseSignal, KnowsSecondNames) {
  EXPECT_EQ(parse_signal("SIGIO"), SIGIO);
  EXPECT_EQ(parse_signal("SIGCLD"), SIGCHLD);
  EXPECT_EQ(parse_signal("IOT"), SIGABRT);
  EXPECT_EQ(parse_signal("RTMIN"), SIGRTMIN);
  EXPECT_EQ(parse_signal("RTMAX"), SIGRTMAX);
}

}  // namespace
}  // namespace muster

// Signals that stop the job.
#include "base/signals.hpp"
#include "supervise/exit_status.hpp"

#include <gtest/gtest.h>

#include <csignal>

namespace muster {
namespace {

Result<StopSignals> signals_of(const std::string& value) {
  return StopSignals::read(Sourced<std::string>{value, from_flag("--signals-to-handle")});
}

std::string error_of(const std::string& value) {
  const auto signals = signals_of(value);
  return signals ? "no error" : signals.error().message;
}

TEST(StopSignals, AreFourByDefault) {
  const StopSignals signals = *StopSignals::read(std::nullopt);

  EXPECT_EQ(signals.all(), (std::set<int>{SIGTERM, SIGINT, SIGHUP, SIGQUIT}));
  EXPECT_EQ(signals.to_text(), "SIGTERM,SIGINT,SIGHUP,SIGQUIT");
}

TEST(StopSignals, AreTheListedOnesAndTheFourDefaults) {
  const StopSignals signals = *signals_of("SIGUSR1,SIGUSR2");

  EXPECT_EQ(signals.all(), (std::set<int>{SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2}));
  EXPECT_TRUE(signals.contains(SIGUSR2));
  EXPECT_FALSE(signals.contains(SIGALRM));
}

TEST(StopSignals, AreShownInOrderWithTheirFullNames) {
  EXPECT_EQ(signals_of("SIGUSR2,SIGUSR1")->to_text(), "SIGUSR2,SIGUSR1");
  EXPECT_EQ(signals_of("USR1, sigterm,Xcpu")->to_text(), "SIGUSR1,SIGTERM,SIGXCPU");
}

TEST(StopSignals, RefuseUnknownSignals) {
  for (const char* const value :
       {"", ",", "SIGUSR1,", "SIGFOO", "SIG", "SIGSIGTERM", "10", "SIGUSR1;SIGUSR2", "RTMIN+99"}) {
    EXPECT_EQ(error_of(value), "--signals-to-handle is '" + std::string(value) +
                                   "', expected names of signals separated by commas, such as SIGUSR1,SIGUSR2");
  }
}

TEST(StopSignals, RefuseSignalsThatCannotStopAJob) {
  for (const char* const name : {"SIGKILL", "SIGSTOP", "SIGCHLD", "SIGPIPE", "SIGTSTP", "SIGCONT", "SIGTTIN"}) {
    EXPECT_EQ(error_of("SIGTERM," + std::string(name)), "--signals-to-handle is 'SIGTERM," + std::string(name) +
                                                            "', expected signals that can ask for an end, not " + name);
  }
}

TEST(ParseSignal, ReadsEachNameThatIsWritten) {
  for (int signal = 1; signal <= SIGRTMAX; ++signal) {
    const std::string name = signal_name(signal);
    if (name.starts_with("SIG")) {
      EXPECT_EQ(parse_signal(name), signal) << name;
    }
  }
}

}  // namespace
}  // namespace muster

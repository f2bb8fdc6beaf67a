// Every way in which the kernel says that a process has ended.
#include "supervise/exit_status.hpp"

#include <gtest/gtest.h>

#include <csignal>

namespace muster {
namespace {

constexpr int kCoreBit = 0x80;
constexpr int kLastSignal = 64;

int wait_status_of_exit(int code) {
  return code << 8;
}

TEST(ExitStatus, KeepsAll256ExitCodes) {
  for (int code = 0; code < 256; ++code) {
    const ExitStatus status = ExitStatus::from_wait_status(wait_status_of_exit(code));

    EXPECT_EQ(status, ExitStatus::exited(code));
    EXPECT_EQ(status.ok(), code == 0);
    EXPECT_EQ(status.code(), code);
    EXPECT_EQ(status.signal(), std::nullopt);
    EXPECT_FALSE(status.dumped_core());
    EXPECT_EQ(status.shell_code(), code);
    EXPECT_EQ(status.describe(), "exit code " + std::to_string(code));
  }
}

TEST(ExitStatus, IsAShellsCodeForEverySignalWithAndWithoutACore) {
  for (int signal = 1; signal <= kLastSignal; ++signal) {
    for (const bool has_core : {false, true}) {
      const ExitStatus status = ExitStatus::from_wait_status(signal | (has_core ? kCoreBit : 0));

      EXPECT_EQ(status, ExitStatus::signalled(signal, has_core));
      EXPECT_FALSE(status.ok());
      EXPECT_EQ(status.code(), std::nullopt);
      EXPECT_EQ(status.signal(), signal);
      EXPECT_EQ(status.dumped_core(), has_core);
      EXPECT_EQ(status.shell_code(), 128 + signal);
      EXPECT_EQ(status.describe().ends_with(", core dumped"), has_core) << status.describe();
    }
  }
}

TEST(ExitStatus, DistinguishesASignalFromItsShellExitCode) {
  EXPECT_NE(ExitStatus::exited(139), ExitStatus::signalled(SIGSEGV));
  EXPECT_EQ(ExitStatus::exited(139).shell_code(), ExitStatus::signalled(SIGSEGV).shell_code());
}

TEST(ExitStatus, DescribesASignalByNameAndMeaning) {
  EXPECT_EQ(ExitStatus::signalled(SIGABRT).describe(), "signal SIGABRT (Aborted)");
  EXPECT_EQ(ExitStatus::signalled(SIGSEGV, true).describe(), "signal SIGSEGV (Segmentation fault), core dumped");
  EXPECT_EQ(ExitStatus::signalled(SIGKILL).describe(), "signal SIGKILL (Killed)");
  EXPECT_EQ(ExitStatus::signalled(SIGRTMIN + 3).describe(), "signal SIGRTMIN+3");
}

TEST(ExitStatus, DescribesEverySignalWithoutStuttering) {
  for (int signal = 1; signal <= kLastSignal; ++signal) {
    const std::string text = ExitStatus::signalled(signal).describe();
    EXPECT_TRUE(text.starts_with("signal ")) << text;
    EXPECT_EQ(text.find("signal signal"), std::string::npos) << text;
  }
}

TEST(SignalName, HasANameForEverySignalOfTheTable) {
  EXPECT_EQ(signal_name(SIGTERM), "SIGTERM");
  EXPECT_EQ(signal_name(SIGINT), "SIGINT");
  EXPECT_EQ(signal_name(SIGHUP), "SIGHUP");
  EXPECT_EQ(signal_name(SIGQUIT), "SIGQUIT");
  EXPECT_EQ(signal_name(SIGBUS), "SIGBUS");
  EXPECT_EQ(signal_name(SIGFPE), "SIGFPE");
  EXPECT_EQ(signal_name(SIGILL), "SIGILL");
  EXPECT_EQ(signal_name(SIGPIPE), "SIGPIPE");
  EXPECT_EQ(signal_name(SIGSYS), "SIGSYS");
  for (int signal = 1; signal < 32; ++signal) {
    EXPECT_TRUE(signal_name(signal).starts_with("SIG")) << signal;
  }
}

TEST(SignalName, CountsRealTimeSignalsFromTheFirst) {
  EXPECT_EQ(signal_name(SIGRTMIN), "SIGRTMIN+0");
  EXPECT_EQ(signal_name(SIGRTMAX), "SIGRTMIN+" + std::to_string(SIGRTMAX - SIGRTMIN));
}

TEST(SignalName, HasANumberForTheRest) {
  for (const int signal : {-1, 0, 32, 33, 65, 77, 1'000'000}) {
    EXPECT_EQ(signal_name(signal), "signal " + std::to_string(signal));
  }
}

}  // namespace
}  // namespace muster

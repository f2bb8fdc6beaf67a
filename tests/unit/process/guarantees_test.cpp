// From what a system answers to what holds there.
#include "process/guarantees.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>

namespace muster {
namespace {

Guarantee by(const std::string& call, const SystemCapabilities& answers) {
  const std::vector<Guarantee> all = guarantees(answers);
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Guarantee& guarantee) { return guarantee.by == call; });
  return found == all.end() ? Guarantee{} : *found;
}

TEST(Guarantees, HoldWhereNothingIsRefused) {
  for (const Guarantee& guarantee : guarantees({})) {
    EXPECT_EQ(guarantee.hold, Support::Whole) << guarantee.name;
    EXPECT_EQ(guarantee.because + guarantee.means + guarantee.remedy, "") << guarantee.name;
  }
  EXPECT_EQ(describe(guarantees({})), "12 of 12 guarantees hold here");
}

TEST(Guarantees, SayWhyAndWhatItMeansWhereTheyDoNotHold) {
  SystemCapabilities answers;
  answers.subreaper = EINVAL;

  const Guarantee lost = by("PR_SET_CHILD_SUBREAPER", answers);

  EXPECT_EQ(lost.hold, Support::Not);
  EXPECT_EQ(lost.warning(),
            "muster neither finds nor ends a process of the job whose parent has ended: "
            "PR_SET_CHILD_SUBREAPER: Invalid argument");
  EXPECT_EQ(lost.remedy, "Linux 3.4 or later has it; gVisor may in a later version");
}

TEST(Guarantees, AreLostWithWhatALoopLivesOn) {
  SystemCapabilities answers;
  answers.no_loop = "signalfd: Operation not permitted";

  EXPECT_EQ(by("an event loop", answers).hold, Support::Not);
  EXPECT_EQ(by("an event loop", answers).warning(), "no job starts: signalfd: Operation not permitted");
}

TEST(Guarantees, HoldInPartWhereThereIsAnotherWay) {
  SystemCapabilities answers;
  answers.pidfd_open = EPERM;

  const Guarantee order = by("pidfd_open", answers);

  EXPECT_EQ(order.hold, Support::InPart);
  EXPECT_EQ(order.because, "pidfd_open: Operation not permitted");
  EXPECT_NE(order.remedy.find("system call filter"), std::string::npos);
}

TEST(Guarantees, NameTheRightThatACallTakes) {
  SystemCapabilities answers;
  answers.bind_to_memory = EPERM;

  EXPECT_EQ(by("set_mempolicy", answers).remedy, "add CAP_SYS_NICE to the container's capabilities");
}

TEST(Guarantees, DistinguishAMissingCgroupFromAReadOnlyOne) {
  SystemCapabilities answers;
  answers.control_group = ENOENT;
  EXPECT_NE(by("cgroup.kill", answers).remedy.find("mount"), std::string::npos);

  answers.control_group = EROFS;
  EXPECT_NE(by("cgroup.kill", answers).remedy.find("Delegate"), std::string::npos);

  answers.control_group = ENOSYS;
  EXPECT_NE(by("cgroup.kill", answers).remedy.find("Linux 5.14"), std::string::npos);
}

TEST(Guarantees, AreLostWithProcAndLessWithHiddenProcesses) {
  SystemCapabilities answers;
  answers.proc = ProcView::Missing;
  EXPECT_EQ(by("/proc", answers).hold, Support::Not);
  EXPECT_EQ(by("/proc", answers).because, "/proc cannot be read");

  answers.proc = ProcView::Foreign;
  EXPECT_EQ(by("/proc", answers).hold, Support::Not);
  EXPECT_EQ(by("/proc", answers).because, "/proc is that of another pid namespace");

  answers.proc = ProcView::Hidden;
  EXPECT_EQ(by("/proc", answers).hold, Support::InPart);
}

TEST(Guarantees, AreDescribedInOneLine) {
  SystemCapabilities answers;
  answers.control_group = EROFS;
  answers.death_signal = EPERM;

  EXPECT_EQ(describe(guarantees(answers)),
            "10 of 12 guarantees hold here; in part: nothing forks faster than it is killed "
            "(cgroup.kill: Read-only file system); not: workers end with muster, however it ends "
            "(PR_SET_PDEATHSIG: Operation not permitted)");
}

}  // namespace
}  // namespace muster

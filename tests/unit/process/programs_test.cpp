// A worker's programs: through shells, and no helpers.
#include "process/programs.hpp"

#include <gtest/gtest.h>

#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <set>
#include <utility>
#include <vector>

namespace muster {
namespace {

Process seen(pid_t pid, pid_t parent, char state = 'S') {
  return {.pid = pid, .parent = parent, .state = state, .threads = 1, .name = {}};
}

constexpr pid_t kWorker = 20;

/// The pids that a signal to the worker goes to.
std::vector<pid_t> programs(const std::vector<Process>& below, const std::set<pid_t>& shells) {
  std::vector<pid_t> pids;
  for (const Process& one :
       through_shells({seen(kWorker, 10)}, below, [&](const Process& one_of) { return shells.contains(one_of.pid); })) {
    pids.push_back(one.pid);
  }
  return pids;
}

TEST(Programs, AreTheWorkerAloneIfItIsNoShell) {
  EXPECT_EQ(programs({seen(21, kWorker), seen(22, 21)}, {}), (std::vector<pid_t>{kWorker}));
}

TEST(Programs, AreAllThatAShellHasStarted) {
  EXPECT_EQ(programs({seen(21, kWorker), seen(22, kWorker), seen(30, 21)}, {kWorker}),
            (std::vector<pid_t>{kWorker, 21, 22}))
      << "30 is a helper of 21";
}

TEST(Programs, AreFoundThroughFurtherShells) {
  EXPECT_EQ(programs({seen(21, kWorker), seen(22, 21), seen(23, 22), seen(24, 23)}, {kWorker, 21, 22}),
            (std::vector<pid_t>{kWorker, 21, 22, 23}));
}

TEST(Programs, AreNotThoseOfAShellThatAProgramHasStarted) {
  EXPECT_EQ(programs({seen(21, kWorker), seen(22, 21)}, {21}), (std::vector<pid_t>{kWorker}))
      << "os.system of a trainer";
}

TEST(Programs, AreNoZombies) {
  EXPECT_EQ(programs({seen(21, kWorker, 'Z'), seen(22, kWorker)}, {kWorker}), (std::vector<pid_t>{kWorker, 22}));
}

TEST(Programs, AreNotThoseOfOthers) {
  EXPECT_EQ(programs({seen(21, 10), seen(22, 21)}, {kWorker, 21}), (std::vector<pid_t>{kWorker}));
}

// A worker that is a shell with 21, 22 and 23 below it.

std::function<bool(const Process&)> handled_by(std::set<pid_t> pids) {
  return [pids = std::move(pids)](const Process& one) { return pids.contains(one.pid); };
}

const std::vector<Process> kAll{seen(kWorker, 10), seen(21, kWorker), seen(22, kWorker), seen(23, kWorker)};

std::vector<pid_t> pids_of(const std::vector<Process>& processes) {
  std::vector<pid_t> pids;
  for (const Process& one : processes) {
    pids.push_back(one.pid);
  }
  return pids;
}

TEST(Information, IsForThoseThatSurviveIt) {
  EXPECT_EQ(pids_of(informed_programs(kAll, handled_by({21, 23}))), (std::vector<pid_t>{21, 23}));
  EXPECT_EQ(pids_of(informed_programs(kAll, handled_by({kWorker, 21}))), (std::vector<pid_t>{kWorker, 21}));
}

TEST(Information, ReachesAllWhereNobodySurvivesIt) {
  EXPECT_EQ(informed_programs(kAll, handled_by({})).size(), 4U);
}

/// A child that runs `command`, once it has executed it.
class Child {
 public:
  explicit Child(std::vector<const char*> command) : pid_(::vfork()) {
    if (pid_ == 0) {
      (void)::setpgid(0, 0);
      command.push_back(nullptr);
      ::execv(command.front(),
              const_cast<char* const*>(command.data()));  // NOLINT(cppcoreguidelines-pro-type-const-cast)
      ::_exit(127);
    }
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    (void)::kill(-pid_, SIGKILL);
    (void)::waitpid(pid_, nullptr, 0);
  }

  Process process() const { return find_process(pid_).value(); }

 private:
  pid_t pid_;
};

TEST(RunsShell, KnowsAShellByItsExecutable) {
  EXPECT_TRUE(runs_shell(Child({"/bin/sh", "-c", "sleep 600; true"}).process()));
  EXPECT_TRUE(runs_shell(Child({"/bin/bash", "-c", "sleep 600; true"}).process()));
  EXPECT_FALSE(runs_shell(Child({"/bin/sleep", "600"}).process()));
}

TEST(Survives, IsTrueForHandledAndIgnoredSignals) {
  EXPECT_FALSE(survives(::getpid(), SIGUSR2));
  for (const auto handler : {SIG_IGN, static_cast<void (*)(int)>([](int) {})}) {
    const auto before = ::signal(SIGUSR2, handler);
    EXPECT_TRUE(survives(::getpid(), SIGUSR2));
    ::signal(SIGUSR2, before);
  }
}

}  // namespace
}  // namespace muster

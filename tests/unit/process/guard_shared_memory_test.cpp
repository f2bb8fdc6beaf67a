// Shared memory of the guard and the agent: each reads back what the other one wrote.
#include "process/guard_memory.hpp"

#include <gtest/gtest.h>

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <set>
#include <thread>
#include <vector>

namespace muster {
namespace {

using std::chrono::milliseconds;

constexpr AgentHeartbeat::Instant kBeatAt{std::chrono::seconds(1'000)};

GuardSharedMemory& fresh_page() {
  return **GuardSharedMemory::make();
}

TEST(GuardSharedMemory, KnowsNothingBeforeTheFirstBeat) {
  const AgentHeartbeat heartbeat = fresh_page().heartbeat();
  EXPECT_EQ(heartbeat.beat, AgentHeartbeat::Instant());
  EXPECT_EQ(heartbeat.lease, gang::Lease{});
}

TEST(GuardSharedMemory, KeepsTheLeaseUntilItIsReleased) {
  GuardSharedMemory& page = fresh_page();
  const gang::Lease lease{milliseconds(8'000), kBeatAt + milliseconds(17'000)};
  page.renew(lease, kBeatAt);
  page.beat(kBeatAt + milliseconds(1));

  const AgentHeartbeat heartbeat = page.heartbeat();
  EXPECT_EQ(heartbeat.beat, kBeatAt + milliseconds(1));
  EXPECT_EQ(heartbeat.lease, lease);

  page.renew({}, kBeatAt + milliseconds(2));
  EXPECT_EQ(page.heartbeat().beat, kBeatAt + milliseconds(2));
  EXPECT_EQ(page.heartbeat().lease, gang::Lease{});
}

/// The guard may look while the agent writes: an old beat with a new limit is an agent that stands still. Each limit is
/// the number of its beat.
TEST(GuardSharedMemory, ShowsNoLimitWithABeatFromBeforeIt) {
  GuardSharedMemory& page = fresh_page();
  constexpr int kTimes = 100'000;  // however late one of them gets a core
  std::atomic<bool> is_over{false};
  std::thread agent([&] {
    for (int i = 1; !is_over; ++i) {
      page.renew({}, kBeatAt + milliseconds(i - 1));
      page.renew({milliseconds(i), std::nullopt}, kBeatAt + milliseconds(i));
    }
  });
  int limits = 0;
  int old_beats = 0;
  while (limits < kTimes) {
    const AgentHeartbeat heartbeat = page.heartbeat();
    if (const auto& limit = heartbeat.lease.limit) {
      ++limits;
      old_beats += heartbeat.beat < kBeatAt + *limit ? 1 : 0;
    }
  }
  is_over = true;
  agent.join();
  EXPECT_EQ(old_beats, 0);
}

TEST(GuardSharedMemory, KnowsHelperProcesses) {
  GuardSharedMemory& page = fresh_page();
  EXPECT_TRUE(page.add_helper(11));
  EXPECT_TRUE(page.add_helper(12));
  page.remove_helper(11);
  page.remove_helper(4711);  // was never there
  EXPECT_EQ(page.helpers(), std::set<pid_t>{12});
}

TEST(GuardSharedMemory, KeepsTheStopSentByTheGuard) {
  GuardSharedMemory& page = fresh_page();
  EXPECT_FALSE(page.stop_sent_by_guard());

  page.note({SIGTERM, kBeatAt, {11, 12}});

  const auto request = page.stop_sent_by_guard();
  ASSERT_TRUE(request);
  EXPECT_EQ(request->signal, SIGTERM);
  EXPECT_EQ(request->at, kBeatAt);
  EXPECT_EQ(request->had_ended, (std::set<pid_t>{11, 12}));
}

TEST(GuardSharedMemory, KeepsAllThatHadEnded) {
  GuardSharedMemory& page = fresh_page();
  StopSentByGuard request{SIGTERM, kBeatAt, {}};
  constexpr pid_t kMany = 10'000;
  for (pid_t pid = 1; pid <= kMany; ++pid) {
    request.had_ended.insert(pid);
  }

  page.note(request);

  EXPECT_EQ(page.stop_sent_by_guard()->had_ended, request.had_ended);
}

TEST(GuardSharedMemory, TakesMemoryForWhatIsUsedOnly) {
  const GuardSharedMemory& page = fresh_page();
  const auto size = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> present((sizeof page + size - 1) / size);

  ASSERT_EQ(::mincore(const_cast<GuardSharedMemory*>(&page), sizeof page, present.data()), 0);

  EXPECT_LT(std::count(present.begin(), present.end(), 1), 8);
}

TEST(GuardSharedMemory, RefusesWhomItHasNoPlaceFor) {
  GuardSharedMemory& page = fresh_page();
  pid_t pid = 1;
  while (page.add_helper(pid)) {
    ++pid;
  }
  EXPECT_EQ(page.helpers().size(), static_cast<std::size_t>(pid) - 1);
  page.remove_helper(5);
  EXPECT_TRUE(page.add_helper(pid));
}

}  // namespace
}  // namespace muster

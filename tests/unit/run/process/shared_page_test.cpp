// What one half of muster writes and the other one reads.
#include "run/process/shared_page.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <set>
#include <thread>

namespace muster {
namespace {

using std::chrono::milliseconds;

constexpr Vitals::Instant kNow{std::chrono::seconds(1'000)};

SharedPage& fresh_page() {
  return **SharedPage::make();
}

TEST(SharedPage, KnowsNothingBeforeTheFirstBeat) {
  const Vitals vitals = fresh_page().vitals();
  EXPECT_EQ(vitals.beat, Vitals::Instant());
  EXPECT_EQ(vitals.lease, gang::Lease{});
}

TEST(SharedPage, HoldsWhatIsCountedOnUntilItIsTakenBack) {
  SharedPage& page = fresh_page();
  const gang::Lease lease{milliseconds(8'000), kNow + milliseconds(17'000)};
  page.renew(lease, kNow);
  page.beat(kNow + milliseconds(1));

  const Vitals vitals = page.vitals();
  EXPECT_EQ(vitals.beat, kNow + milliseconds(1));
  EXPECT_EQ(vitals.lease, lease);

  page.renew({}, kNow + milliseconds(2));
  EXPECT_EQ(page.vitals().beat, kNow + milliseconds(2));
  EXPECT_EQ(page.vitals().lease, gang::Lease{});
}

/// The guard may look while the agent writes: an old beat with a new limit is an agent that stands still. Each limit is
/// the number of its beat.
TEST(SharedPage, ShowsNoLimitWithABeatFromBeforeIt) {
  SharedPage& page = fresh_page();
  constexpr int kTimes = 100'000;  // however late one of them gets a core
  std::atomic<bool> is_over{false};
  std::thread agent([&] {
    for (int i = 1; !is_over; ++i) {
      page.renew({}, kNow + milliseconds(i - 1));
      page.renew({milliseconds(i), std::nullopt}, kNow + milliseconds(i));
    }
  });
  int limits = 0;
  int old_beats = 0;
  while (limits < kTimes) {
    const Vitals vitals = page.vitals();
    if (const auto& limit = vitals.lease.limit) {
      ++limits;
      old_beats += vitals.beat < kNow + *limit ? 1 : 0;
    }
  }
  is_over = true;
  agent.join();
  EXPECT_EQ(old_beats, 0);
}

TEST(SharedPage, KnowsWhoIsAside) {
  SharedPage& page = fresh_page();
  EXPECT_TRUE(page.add_aside(11));
  EXPECT_TRUE(page.add_aside(12));
  page.remove_aside(11);
  page.remove_aside(4711);  // was never there
  EXPECT_EQ(page.asides(), std::set<pid_t>{12});
}

TEST(SharedPage, HoldsWhatTheGuardHasAskedForInPlaceOfTheAgent) {
  SharedPage& page = fresh_page();
  EXPECT_FALSE(page.guards_request());

  page.note({SIGTERM, kNow, {11, 12}});

  const auto request = page.guards_request();
  ASSERT_TRUE(request);
  EXPECT_EQ(request->signal, SIGTERM);
  EXPECT_EQ(request->at, kNow);
  EXPECT_EQ(request->had_ended, (std::set<pid_t>{11, 12}));
}

TEST(SharedPage, ForgetsThoseThatHadEndedBeyondItsPlaces) {
  SharedPage& page = fresh_page();
  GuardsRequest request{SIGTERM, kNow, {}};
  constexpr pid_t kMany = 10'000;
  for (pid_t pid = 1; pid <= kMany; ++pid) {
    request.had_ended.insert(pid);
  }

  page.note(request);

  const auto noted = page.guards_request()->had_ended;
  EXPECT_GE(noted.size(), 256U);
  EXPECT_LT(noted.size(), request.had_ended.size());
}

TEST(SharedPage, RefusesWhomItHasNoPlaceFor) {
  SharedPage& page = fresh_page();
  pid_t pid = 1;
  while (page.add_aside(pid)) {
    ++pid;
  }
  EXPECT_EQ(page.asides().size(), static_cast<std::size_t>(pid) - 1);
  page.remove_aside(5);
  EXPECT_TRUE(page.add_aside(pid));
}

}  // namespace
}  // namespace muster

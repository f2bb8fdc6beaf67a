// Folds events into the time of each phase.
#include "ledger/ledger.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace muster::ledger {
namespace {

Event at(double time, Kind kind, std::optional<int> rank = {}) {
  Event event{.kind = kind, .rank = rank};
  event.monotonic = time;
  return event;
}

Event attempt_at(double time, int workers, const std::string& last = "") {
  Event event = at(time, Kind::AttemptStarted);
  event.number = workers;
  event.text = last;
  return event;
}

Event end_of_worker(double time, int rank, std::uint64_t memory) {
  Event event = at(time, Kind::WorkerEnded, rank);
  event.memory_peak = memory;
  return event;
}

Ledger folded(const std::vector<Event>& events) {
  Ledger ledger;
  for (const Event& event : events) {
    (void)ledger.add(event);
  }
  return ledger;
}

TEST(Ledger, counts_all_time_until_the_ranks_have_met_as_the_start) {
  const Ledger ledger = folded({at(100, Kind::Joining), attempt_at(141, 2, "node 17"), at(142, Kind::WorkerStarted, 0),
                                at(143, Kind::WorkerStarted, 1), at(164, Kind::RanksMet),
                                end_of_worker(3'764, 0, 5 << 20U), end_of_worker(3'765, 1, std::uint64_t{3} << 30U),
                                at(3'765, Kind::AttemptOver), at(3'768, Kind::JobEnded)});
  EXPECT_EQ(ledger.closing_line(),
            "of 61 min: waited for all nodes 41 s (node 17 came last), start until all ranks met 23 s, ran 60 min, "
            "end 3 s; most memory of a worker 3.0 GiB (rank 1)");
  EXPECT_EQ(ledger.alive(), 0);
  EXPECT_TRUE(ledger.is_over());
}

TEST(Ledger, counts_from_the_failure_until_the_next_attempt_runs_as_lost) {
  const Ledger ledger =
      folded({at(0, Kind::Joining), attempt_at(0, 1), at(1, Kind::WorkerStarted, 0), at(11, Kind::WorkerEnded, 0),
              at(11, Kind::Failed), at(14, Kind::AttemptOver), attempt_at(20, 1), at(22, Kind::WorkerStarted, 0),
              at(25, Kind::RanksMet), at(31, Kind::StopSent), at(32, Kind::WorkerEnded, 0), at(32, Kind::JobEnded)});
  EXPECT_EQ(ledger.restarts(), 1);
  EXPECT_DOUBLE_EQ(ledger.seconds(Phase::Restarting, 32), 14);
  EXPECT_DOUBLE_EQ(ledger.seconds(Phase::Running, 32), 16);
  EXPECT_EQ(ledger.closing_line(), "of 32 s: start of the workers 1 s, lost to 1 restart 14 s, ran 16 s, end 1 s");
}

TEST(Ledger, adds_up_to_the_time_of_the_job) {
  const Ledger ledger =
      folded({at(5, Kind::Joining), attempt_at(7, 2), at(8, Kind::WorkerStarted, 0), at(9, Kind::Failed),
              at(9.5, Kind::AttemptOver), attempt_at(10, 0), at(12, Kind::RanksMet), at(20, Kind::JobEnded)});
  double sum = 0;
  for (std::size_t i = 0; i < kPhases; ++i) {
    sum += ledger.seconds(static_cast<Phase>(i), 1e9);
  }
  EXPECT_DOUBLE_EQ(sum, ledger.total());
  EXPECT_DOUBLE_EQ(sum, 15);
}

TEST(Ledger, counts_the_current_phase_until_now) {
  const Ledger ledger = folded({at(5, Kind::Joining)});
  EXPECT_EQ(ledger.phase(), Phase::Waiting);
  EXPECT_DOUBLE_EQ(ledger.seconds(Phase::Waiting, 65), 60);
  EXPECT_DOUBLE_EQ(ledger.seconds(Phase::Running, 65), 0);
}

TEST(Ledger, knows_a_job_that_never_started) {
  const Ledger ledger = folded({at(5, Kind::Joining), at(65, Kind::JobEnded)});
  EXPECT_EQ(ledger.closing_line(), "of 60 s: waited for the start 60 s, ran 0 s");
}

TEST(Ledger, returns_each_phase_that_ends) {
  Ledger ledger;
  EXPECT_FALSE(ledger.add(at(1, Kind::Joining)));
  const auto waiting = ledger.add(attempt_at(3, 1));
  ASSERT_TRUE(waiting);
  EXPECT_EQ(waiting->phase, Phase::Waiting);
  EXPECT_DOUBLE_EQ(waiting->end - waiting->begin, 2);
  const auto starting = ledger.add(at(4, Kind::WorkerStarted, 0));
  ASSERT_TRUE(starting);
  EXPECT_EQ(starting->phase, Phase::Starting);
  EXPECT_FALSE(ledger.add(at(5, Kind::FirstOutput, 0)));
}

}  // namespace
}  // namespace muster::ledger

// Parts of an attempt that need no process: results to report, the worker that reads standard input, early exits.
#include "agent/attempt_results.hpp"
#include "agent/worker_starter.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

/// One worker for each truth value, with these ranks from 0 on.
LaunchPlan plan_of(const std::vector<bool>& decides) {
  LaunchPlan plan;
  for (std::size_t i = 0; i < decides.size(); ++i) {
    WorkerPlan worker;
    worker.global_rank = GlobalRank{static_cast<int>(i)};
    worker.local_rank = LocalRank{static_cast<int>(i)};
    worker.decides_success = decides[i];
    plan.workers.push_back(worker);
  }
  return plan;
}

struct Bench {
  explicit Bench(const std::vector<bool>& decides) : plan(plan_of(decides)) {}

  Inherited inherited;
  std::map<std::string, std::string> variables;
  LaunchPlan plan;
  Workers workers{plan, inherited, InheritedEnvironment{variables, ""}};
  boost::asio::io_context io;
};

TEST(Successes, ReportsTheFirstRankZeroAndTheLast) {
  Bench bench({true, true, true, true});
  Successes successes(bench.io, bench.plan, bench.workers, [] {});

  EXPECT_TRUE(successes.message_for(ReportSuccess{2}));
  EXPECT_FALSE(successes.message_for(ReportSuccess{1}));
  EXPECT_EQ(successes.message_for(ReportSuccess{0})->global_rank, GlobalRank{0});
  EXPECT_TRUE(successes.message_for(ReportSuccess{3, /*is_last=*/true})->is_last);
}

TEST(Successes, ReportsEachOneWhereAllAreWanted) {
  Bench bench({true, true, true});
  bench.plan.world_size = 12;
  Successes successes(bench.io, bench.plan, bench.workers, [] {});
  successes.want_all();

  EXPECT_TRUE(successes.message_for(ReportSuccess{2}));
  EXPECT_EQ(successes.message_for(ReportSuccess{1})->world_size, 12);
}

TEST(Successes, ReportsTheFirstOfEachRole) {
  Bench bench({true, true, true, true, true});
  bench.plan.workers[2].role = "evaluator";
  bench.plan.workers[3].role = "evaluator";
  Successes successes(bench.io, bench.plan, bench.workers, [] {});

  EXPECT_TRUE(successes.message_for(ReportSuccess{1}));
  EXPECT_EQ(successes.message_for(ReportSuccess{2})->role, "evaluator");
  EXPECT_FALSE(successes.message_for(ReportSuccess{3}));
}

TEST(Successes, ReportsThatNoWorkerHereDecides) {
  Bench bench({false});
  Successes successes(bench.io, bench.plan, bench.workers, [] {});

  EXPECT_TRUE(successes.message_for(ReportSuccess{std::nullopt, /*is_last=*/true})->is_last);
}

TEST(ReaderOfInput, IsASingleWorkerOrTheChosenOne) {
  RunOptions options;
  EXPECT_EQ(reader_of_input(plan_of({true}), options), 0U);
  EXPECT_EQ(reader_of_input(plan_of({true, true}), options), std::nullopt);

  options.input_for = InputFor::All;
  EXPECT_EQ(reader_of_input(plan_of({true}), options), 0U);
  EXPECT_EQ(reader_of_input(plan_of({true, true}), options), std::nullopt);

  options.input_for = InputFor::None;
  EXPECT_EQ(reader_of_input(plan_of({true}), options), std::nullopt);

  options.input_for = InputFor::ChosenWorker;
  options.input_rank = LocalRank{1};
  EXPECT_EQ(reader_of_input(plan_of({true, true}), options), 1U);
  EXPECT_EQ(reader_of_input(plan_of({true}), options), std::nullopt) << "this node has fewer";
}

TEST(EarlyExits, AreExitsOfRolesThatServeOtherNodes) {
  Bench bench({false, false});
  bench.plan.placement.nodes = 2;
  Successes successes(bench.io, bench.plan, bench.workers, [] {});
  successes.note({1, ExitStatus::exited(0)});
  successes.note({0, ExitStatus::exited(3)});

  EXPECT_EQ(successes.take_early_exits(), (std::vector<std::size_t>{1})) << "the other one failed";
  EXPECT_TRUE(successes.take_early_exits().empty()) << "each once";
}

TEST(EarlyExits, AreNoneWhenTheDecidingRolesHaveEnded) {
  Bench bench({true, false});
  Successes successes(bench.io, bench.plan, bench.workers, [] {});
  successes.note({1, ExitStatus::exited(0)});
  successes.note({0, ExitStatus::exited(0)});

  EXPECT_TRUE(successes.take_early_exits().empty());
}

}  // namespace
}  // namespace muster

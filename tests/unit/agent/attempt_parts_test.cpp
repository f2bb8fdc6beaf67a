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

TEST(SuccessReports, ReportsTheFirstRankZeroAndTheLast) {
  const Bench bench({true, true, true, true});
  SuccessReports telling(bench.plan, bench.workers);

  EXPECT_TRUE(telling.message_for(ReportSuccess{2}));
  EXPECT_FALSE(telling.message_for(ReportSuccess{1}));
  EXPECT_EQ(telling.message_for(ReportSuccess{0})->global_rank, GlobalRank{0});
  EXPECT_TRUE(telling.message_for(ReportSuccess{3, /*is_last=*/true})->is_last);
}

TEST(SuccessReports, ReportsTheFirstOfEachRole) {
  Bench bench({true, true, true, true, true});
  bench.plan.workers[2].role = "evaluator";
  bench.plan.workers[3].role = "evaluator";
  SuccessReports telling(bench.plan, bench.workers);

  EXPECT_TRUE(telling.message_for(ReportSuccess{1}));
  EXPECT_EQ(telling.message_for(ReportSuccess{2})->role, "evaluator");
  EXPECT_FALSE(telling.message_for(ReportSuccess{3}));
}

TEST(SuccessReports, ReportsThatNoWorkerHereDecides) {
  const Bench bench({false});
  SuccessReports telling(bench.plan, bench.workers);

  EXPECT_TRUE(telling.message_for(ReportSuccess{std::nullopt, /*is_last=*/true})->is_last);
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

TEST(EarlyServerExit, AreExitsOfRolesThatServeOtherNodes) {
  Bench bench({false, false});
  bench.plan.placement.nodes = 2;
  EarlyServerExit early(bench.io, bench.plan, bench.workers, [] {});
  early.note({1, ExitStatus::exited(0)});
  early.note({0, ExitStatus::exited(3)});

  EXPECT_EQ(early.take(), (std::vector<std::size_t>{1})) << "the other one failed";
  EXPECT_TRUE(early.take().empty()) << "each once";
}

TEST(EarlyServerExit, AreNoneWhenTheDecidingRolesHaveEnded) {
  Bench bench({true, false});
  EarlyServerExit early(bench.io, bench.plan, bench.workers, [] {});
  early.note({1, ExitStatus::exited(0)});
  early.note({0, ExitStatus::exited(0)});

  EXPECT_TRUE(early.take().empty());
}

}  // namespace
}  // namespace muster

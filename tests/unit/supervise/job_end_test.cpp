// The table of ends, and the ends that are made from it.
#include "supervise/job_end.hpp"

#include <gtest/gtest.h>

#include <csignal>

namespace muster {
namespace {

TEST(EndTable, HasARowForEveryKindInItsOrder) {
  int kind = 0;
  for (const EndRow& row : end_table()) {
    EXPECT_EQ(static_cast<int>(row.kind), kind++);
    EXPECT_FALSE(row.advice.empty());
  }
  EXPECT_EQ(kind, static_cast<int>(EndKind::Unfit) + 1);
}

TEST(EndTable, FindsEveryVerdictByItsName) {
  for (const EndRow& row : end_table()) {
    EXPECT_EQ(verdict_name(row.verdict), row.name);
    EXPECT_EQ(find_verdict(row.name), row.verdict);
  }
  EXPECT_EQ(find_verdict("excellent"), std::nullopt);
}

TEST(MakeEnd, TakesVerdictAndCodeFromTheTable) {
  const JobEnd end = make_end(EndKind::Lost, "node 3 was lost");

  EXPECT_EQ(end.verdict, Verdict::Lost);
  EXPECT_EQ(end.exit_code, 69);
  EXPECT_EQ(end.reason, "node 3 was lost");
}

TEST(MakeEnd, EndsByASignalWithTheCodeOfAShell) {
  const JobEnd end = end_by_signal(SIGTERM);

  EXPECT_EQ(end.verdict, Verdict::Stopped);
  EXPECT_EQ(end.exit_code, 143);
  EXPECT_EQ(end.reason, "stopped by SIGTERM");
  EXPECT_EQ(end.stop_signal, SIGTERM);
}

TEST(MakeEnd, EndsByAFailureWithTheCodeOfTheWorker) {
  Failure failure;
  failure.exit_code = 3;

  EXPECT_EQ(end_by_failure(failure).exit_code, 3);
  EXPECT_EQ(end_by_failure(failure).reason, "worker failed");
  failure.exit_code = 0;  // it ended early, where that is forbidden
  EXPECT_EQ(end_by_failure(failure).exit_code, 1);
  failure.start_error = "no such program";
  EXPECT_EQ(end_by_failure(failure).reason, "worker not started");
}

TEST(WhyIncurable, NamesAProcessThatCannotBeKilled) {
  Failure failure;
  failure.global_rank = {3};
  failure.is_hung = true;
  EXPECT_EQ(why_incurable(failure), "");
  failure.is_unkillable = true;
  EXPECT_EQ(why_incurable(failure), "rank 3 is in an uninterruptible system call and may still hold its device");
}

TEST(Advice, LeavesWorkerCodesEqualToMustersToTheSchedulersPolicy) {
  Failure failure;
  for (const int code : {1, 3, 65, 69, 71, 75, 78, 86, 93, 126, 127}) {
    failure.exit_code = code;
    EXPECT_EQ(advice_for(end_by_failure(failure)), "apply its policy") << code;
  }
}

TEST(Advice, IsThatOfTheCodeForWhatNeverRan) {
  for (const std::string service : {"", "planned_files"}) {
    Failure failure;
    failure.service = service;
    failure.start_error = "no such thing";
    for (const auto& [code, advice] :
         std::vector<std::pair<int, std::string>>{{71, "report"},
                                                  {65, "not retry"},
                                                  {78, "not retry"},
                                                  {126, "not retry"},
                                                  {127, "not retry"},
                                                  {93, "apply its policy"}}) {  // none of these ends so
      failure.exit_code = code;
      EXPECT_EQ(advice_for(end_by_failure(failure)), advice) << code;
      EXPECT_EQ(end_by_failure(failure).exit_code, code);
    }
  }
}

TEST(Advice, IsThatOfTheVerdictWhereTheKindIsNoneOfIt) {
  JobEnd end;
  end.verdict = Verdict::Failed;
  EXPECT_EQ(advice_for(end), "apply its policy");
  end.verdict = Verdict::Lost;
  EXPECT_EQ(advice_for(end), "retry elsewhere");
}

TEST(Advice, IsThatOfTheKind) {
  EXPECT_EQ(advice_for(end_by_signal(SIGTERM)), "apply its policy");
  EXPECT_EQ(advice_for(make_end(EndKind::NoProgress, "")), "stop");
  EXPECT_EQ(advice_for(make_end(EndKind::Incomplete, "")), "requeue");
}

}  // namespace
}  // namespace muster

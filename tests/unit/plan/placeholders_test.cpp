// Filling {placeholders}; which ones a template may use is checked in modes/read_template_test.cpp.
#include "plan/launch_plan.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

std::string filled(const std::string& text) {
  return fill_placeholders(text, {{"a", "1"}, {"rank", "17"}, {"empty", ""}, {"tricky", "{a}}}{"}});
}

TEST(FillPlaceholders, ReplacesEachOne) {
  EXPECT_EQ(filled("{a}"), "1");
  EXPECT_EQ(filled("x{a}y{rank}{a}z"), "x1y171z");
  EXPECT_EQ(filled("[{empty}]"), "[]");
  EXPECT_EQ(filled(""), "");
  EXPECT_EQ(filled("plain"), "plain");
}

TEST(FillPlaceholders, MakesBracesOfDoubledOnes) {
  EXPECT_EQ(filled("{{}}"), "{}");
  EXPECT_EQ(filled("{{a}}"), "{a}");
  EXPECT_EQ(filled("{{\"rank\": {rank}}}"), "{\"rank\": 17}");
  EXPECT_EQ(filled("{{{a}}}"), "{1}");
}

TEST(FillPlaceholders, LeavesWhatItDoesNotKnowForLater) {
  EXPECT_EQ(filled("{other}"), "{other}");
  EXPECT_EQ(readable(filled("{worker_port}")), "{worker_port}");
  EXPECT_EQ(readable(filled("{run_dir}/error_{rank}.json")), "{run_dir}/error_17.json");
  EXPECT_EQ(readable(filled("{{\"port\": {worker_port}}}")), "{\"port\": {worker_port}}");
  EXPECT_EQ(readable(filled("{worker_port}{worker_port}")), "{worker_port}{worker_port}");
}

TEST(FillPlaceholders, LooksAtNoValueAgain) {
  EXPECT_EQ(filled("{tricky}"), "{a}}}{");
}

TEST(FillPlaceholders, SurvivesBracesWithoutPartners) {
  EXPECT_EQ(filled("{"), "{");
  EXPECT_EQ(filled("}"), "}");
  EXPECT_EQ(filled("{a"), "{a");
  EXPECT_EQ(filled("a}"), "a}");
  EXPECT_EQ(filled("{}"), "{}");
}

// Values that only the system knows

/// A plan with this text of a template wherever a template can put one.
LaunchPlan plan_with(const std::string& written) {
  const std::string text = fill_placeholders(written, {{"tricky", "{run_dir}"}});
  LaunchPlan plan;
  plan.files = {{text, "0640", text}};
  WorkerPlan worker;
  worker.argv = {"{worker_port}", text};
  worker.environment = {{"A", text}};
  worker.error_file = text;
  plan.workers = {worker, worker};
  return plan;
}

void expect_everywhere(const LaunchPlan& plan, const std::string& text) {
  EXPECT_EQ(plan.files[0].path, text);
  EXPECT_EQ(plan.files[0].content, text);
  for (const WorkerPlan& worker : plan.workers) {
    EXPECT_EQ(worker.argv, (std::vector<std::string>{"{worker_port}", text})) << "what the user wrote is left alone";
    EXPECT_EQ(worker.environment.at("A"), text);
    EXPECT_EQ(worker.error_file, text);
  }
}

TEST(FillLateValues, FillsThemWhereverTheTemplatePutThem) {
  LaunchPlan plan = plan_with("{run_dir}/{worker_port}:{worker_port}");
  fill_deferred(plan, {{"worker_port", "4711"}, {"run_dir", "/run/x"}});

  expect_everywhere(plan, "/run/x/4711:4711");
}

TEST(FillLateValues, LeavesOtherTextUnchanged) {
  LaunchPlan plan = plan_with("{other} {worker_port");
  fill_deferred(plan, {{"worker_port", "4711"}});

  expect_everywhere(plan, "{other} {worker_port");
}

TEST(FillLateValues, LeavesWhatOnlyLooksLikeThem) {
  LaunchPlan plan = plan_with("{{run_dir}} {{worker_port}} {tricky} {{{worker_port}}}");
  fill_deferred(plan, {{"worker_port", "4711"}, {"run_dir", "/run/x"}});

  expect_everywhere(plan, "{run_dir} {worker_port} {run_dir} {4711}");
}

TEST(FillLateValues, CanBeDoneOneValueAfterTheOther) {
  LaunchPlan plan = plan_with("{run_dir}:{worker_port}");
  fill_deferred(plan, {{"worker_port", "4711"}});
  fill_deferred(plan, {{"run_dir", "/{worker_port}"}});

  expect_everywhere(plan, "/{worker_port}:4711");
}

TEST(FillLateValues, EmptiesAWholeTextForWantOfAValue) {
  LaunchPlan plan = plan_with("{run_dir}/error.json");
  fill_deferred(plan, {{"run_dir", ""}});

  expect_everywhere(plan, "");
}

TEST(FillLateValues, LooksAtNoValueAgain) {
  LaunchPlan plan = plan_with("{run_dir}");
  fill_deferred(plan, {{"run_dir", "/{run_dir}"}});

  expect_everywhere(plan, "/{run_dir}");
}

TEST(Placeholders, LeaveAShellsVariablesAlone) {
  EXPECT_EQ(fill_known("echo ${a} {a} {b} $ {a}", {{"a", "1"}}), "echo ${a} 1 {b} $ 1");
}

}  // namespace
}  // namespace muster

// Writes events and sums in the formats of others.
#include "ledger/formats.hpp"

#include "base/json.hpp"

#include <gtest/gtest.h>

namespace muster::ledger {
namespace {

Event worker_event(Kind kind) {
  Event event{.kind = kind, .rank = 3, .number = 137, .text = "signal \"SIGKILL\"\n\xff"};
  event.memory_peak = 4'096;
  event.node = 2;
  event.attempt = 1;
  event.wall = 1'700'000'000.25;
  event.monotonic = 12.5;
  return event;
}

TEST(Formats, writes_an_event_as_a_line_of_json) {
  const std::string line = to_json_line(worker_event(Kind::WorkerEnded));
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  const json::value read = json::parse(line);
  EXPECT_EQ(read.at("event").as_string(), "worker ended");
  EXPECT_EQ(read.at("code").as_int64(), 137);
  EXPECT_EQ(read.at("rank").as_int64(), 3);
  EXPECT_EQ(read.at("node").as_int64(), 2);
  EXPECT_EQ(read.at("attempt").as_int64(), 1);
  EXPECT_EQ(read.at("memory_peak").as_int64(), 4'096);
  EXPECT_EQ(read.at("time"), "2023-11-14T22:13:20.250Z");
  EXPECT_DOUBLE_EQ(read.at("wall").as_double(), 1'700'000'000.25);
  EXPECT_DOUBLE_EQ(read.at("monotonic").as_double(), 12.5);
}

TEST(Formats, writes_a_trace_that_is_a_list) {
  Event end{.kind = Kind::JobEnded};
  end.monotonic = 20;
  const std::string text = kTraceBegin + to_trace(worker_event(Kind::WorkerStarted), Span{Phase::Starting, 10, 12.5}) +
                           to_trace(worker_event(Kind::WorkerEnded), {}) + to_trace(end, {});
  const json::array read = json::parse(text).as_array();
  ASSERT_EQ(read.size(), 7U);
  EXPECT_EQ(read[0].at("ph").as_string(), "X");
  EXPECT_EQ(read[0].at("dur").as_int64(), 2'500'000);
  EXPECT_EQ(read[1].at("args").at("name").as_string(), "rank 3");
  EXPECT_EQ(read[2].at("ph").as_string(), "B");
  EXPECT_EQ(read[2].at("tid").as_int64(), 5);
  EXPECT_EQ(read[5].at("ph").as_string(), "E");
  for (const json::value& one : read) {
    for (const char* const field : {"ph", "ts", "pid", "tid", "name"}) {
      EXPECT_TRUE(one.as_object().contains(field)) << field;
    }
  }
}

TEST(Formats, writes_metrics_with_escaped_labels) {
  Ledger ledger;
  Event joining{.kind = Kind::Joining};
  (void)ledger.add(joining);
  const std::string page =
      to_prometheus(ledger, 2, {"a\"b\\c\nd", "host", "1"}, {{3, 1.5, 7}, {4, {}, {}}}, {{"py-spy", 4}});
  EXPECT_NE(page.find("muster_questions_total{question=\"py-spy\"} 4\n"), std::string::npos);
  EXPECT_NE(page.find(R"(muster_info{job="a\"b\\c\nd",host="host",version="1"} 1)"), std::string::npos);
  EXPECT_NE(page.find("muster_phase{phase=\"waiting\"} 1\n"), std::string::npos);
  EXPECT_NE(page.find("muster_phase_seconds{phase=\"waiting\"} 2.000000\n"), std::string::npos);
  EXPECT_NE(page.find("muster_rank_output_age_seconds{rank=\"3\"} 1.500000\n"), std::string::npos);
  EXPECT_NE(page.find("muster_rank_step{rank=\"3\"} 7\n"), std::string::npos);
  EXPECT_EQ(page.find("rank=\"4\""), std::string::npos);
}

TEST(Formats, leaves_out_metrics_of_ranks_that_have_none) {
  EXPECT_EQ(to_prometheus({}, 0, {}, {}, {}).find("muster_rank_step"), std::string::npos);
}

}  // namespace
}  // namespace muster::ledger

// When a rank table is there, as HCCL would take it: pure.
#include "rank_table/table_input.hpp"

#include <gtest/gtest.h>

#include <cerrno>

namespace muster {
namespace {

Input table_input() {
  return {"rank table", "/x", "", "", true, table_judge(Snapshot())};
}

/// "here", the reason, or the exit code with the message.
std::string answer_of(const Input& input, const FileContent& found) {
  const Answer answer = judge(input, found);
  if (const auto* const error = std::get_if<Error>(&answer)) {
    return std::to_string(error->exit_code()) + " " + error->message;
  }
  const auto* const missing = std::get_if<Pending>(&answer);
  return missing == nullptr ? "here" : missing->reason;
}

TEST(TableJudge, SaysHowFarARankTableIs) {
  const Input table = table_input();
  EXPECT_EQ(answer_of(table, {"", ENOENT}), "rank table '/x': missing");
  EXPECT_EQ(answer_of(table, {""}), "rank table '/x': it is empty");
  EXPECT_EQ(answer_of(table, {R"({"status": "comp)"}), "rank table '/x': it ends in the middle (being written)");
  EXPECT_EQ(answer_of(table, {R"({"status": "initializing"})"}), "rank table '/x': initializing: it lists nothing yet");
  EXPECT_EQ(answer_of(table, {R"({"status": "unknown"})"}),
            "rank table '/x': its writer says that the state is unknown: it lists nothing yet");
}

TEST(TableJudge, RefusesARankTableThatHcclWouldRefuse) {
  const Input table = table_input();
  const std::string right =
      R"({"status":"completed","version":"1.0","server_count":"1","server_list":
[{"server_id":"a","device":[{"device_id":"0","rank_id":"0"}]}]})";
  EXPECT_EQ(answer_of(table, {right}), "here");
  std::string wrong = right;
  wrong.replace(wrong.find(R"("server_count":"1")"), 18, R"("server_count":"2")");
  EXPECT_EQ(answer_of(table, {wrong}),
            "65 the rank table '/x' is invalid: server_count is \"2\", expected 1, as many as are "
            "listed (CANN: EI0004)");
  EXPECT_EQ(answer_of(table, {"nothing"}),
            "65 rank table '/x': line 1 is no JSON (syntax error), expected a JSON object "
            "(CANN: EI0004)");
}

}  // namespace
}  // namespace muster

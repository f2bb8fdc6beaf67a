// When an input is there: pure.
#include "inputs/input_files.hpp"

#include <gtest/gtest.h>

#include <cerrno>

namespace muster {
namespace {

const Input kTable{"rank table", "/x", "status", "completed"};

/// "here", the reason, or the exit code with the message.
std::string answer_of(const Input& input, const FileContent& found) {
  const Answer answer = judge(input, found);
  if (const auto* const error = std::get_if<Error>(&answer)) {
    return std::to_string(error->exit_code()) + " " + error->message;
  }
  const auto* const missing = std::get_if<Pending>(&answer);
  return missing == nullptr ? "here" : missing->reason;
}

TEST(Judge, WaitsUntilTheFieldIsWhatItHasToBe) {
  EXPECT_EQ(answer_of(kTable, {R"({"status": "initializing"})"}), "rank table '/x': initializing");
  EXPECT_EQ(answer_of(kTable, {R"({"status": 7})"}), "rank table '/x': 7");
  EXPECT_EQ(answer_of(kTable, {R"({"status": "completed"})"}), "here");
}

TEST(Judge, TakesATableWithoutThatFieldForComplete) {
  EXPECT_EQ(answer_of(kTable, {R"({"version": "2.0"})"}), "here");
}

TEST(Judge, WaitsForTheRestOfATornFile) {
  EXPECT_EQ(answer_of(kTable, {""}), "rank table '/x': empty");
  EXPECT_EQ(answer_of(kTable, {R"({"status": "comp)"}), "rank table '/x': torn");
  EXPECT_EQ(answer_of(kTable, {R"({"status": "completed")"}), "rank table '/x': torn");
}

TEST(Judge, RefusesWhatCanNeverBecomeIt) {
  EXPECT_EQ(answer_of(kTable, {"[]"}), "65 the rank table '/x' is no JSON object");
  EXPECT_EQ(answer_of(kTable, {"", ENOTSUP}), "65 cannot read the rank table '/x': Operation not supported");
}

TEST(Judge, WaitsForMissingOrUnreadableFiles) {
  EXPECT_EQ(answer_of(kTable, {"", ENOENT}), "rank table '/x': missing");
  EXPECT_EQ(answer_of(kTable, {"", ENOTDIR}), "rank table '/x': missing");
  EXPECT_EQ(answer_of(kTable, {"", EACCES}), "rank table '/x': cannot be read: Permission denied");
  EXPECT_EQ(answer_of(kTable, {"", ESTALE}), "rank table '/x': cannot be read: Stale file handle");
}

TEST(Judge, MakesOneShortLineOfWhatOthersWrote) {
  EXPECT_EQ(answer_of(kTable, {R"({"status": "a\nmuster: all is well\u001b[2J\u0000\r\t\u007f"})"}),
            "rank table '/x': a\\nmuster: all is well\\x1b[2J\\x00\\x0d\\t\\x7f");
  const std::string reason = answer_of(kTable, {R"({"status": ")" + std::string(1'000, 'x') + R"("})"});
  EXPECT_EQ(reason, "rank table '/x': " + std::string(57, 'x') + "...");

  const Input odd{"rank table", "/x\n\x1B[31m\xFF", "status", "completed"};
  EXPECT_EQ(answer_of(odd, {"", ENOENT}), "rank table '/x\\n\\x1b[31m\\xff': missing");
  EXPECT_EQ(answer_of(odd, {"[]"}), "65 the rank table '/x\\n\\x1b[31m\\xff' is no JSON object");
  const Input far{"rank table", std::string(4'000, 'x'), "", ""};
  EXPECT_LT(answer_of(far, {"", ENOENT}).size(), 1'100U);
}

TEST(Judge, TakesAnyContentWhereNoFieldIsNamed) {
  const Input hosts{"host list", "hosts", "", ""};
  EXPECT_EQ(answer_of(hosts, {"a b\n"}), "here");
  EXPECT_EQ(answer_of(hosts, {""}), "host list 'hosts': empty");
}

TEST(Judge, LeavesARankTableToItsJudge) {
  Input table{"rank table", "/x", "status", "completed", true};
  EXPECT_EQ(answer_of(table, {R"({"status": "initializing"})"}), "here") << "nobody judges it";
  table.judge = [](const Input& input, const FileContent& found) { return Pending{name_of(input) + found.content}; };
  EXPECT_EQ(answer_of(table, {"?"}), "rank table '/x'?");
  EXPECT_EQ(answer_of(table, {"", ENOENT}), "rank table '/x': missing");
}

TEST(FindInputs, KnowsThoseWhoseParametersAreGiven) {
  ChosenMode chosen;
  chosen.mode.inputs = {{"{table}", "rank table", "status", "completed"},
                        {"/etc/{host_name}/{job_id}", "host list", "", ""}};
  Cluster cluster;
  cluster.job.job_id = "j";
  Snapshot snapshot;
  snapshot.host_name = "h";
  chosen.parameters["table"].value = "";
  ASSERT_EQ(find_inputs(chosen, cluster, snapshot).size(), 1U);
  EXPECT_EQ(find_inputs(chosen, cluster, snapshot)[0].path, "/etc/h/j");

  chosen.parameters["table"].value = "/t.json";
  ASSERT_EQ(find_inputs(chosen, cluster, snapshot).size(), 2U);
  EXPECT_EQ(find_inputs(chosen, cluster, snapshot)[0].path, "/t.json");
}

}  // namespace
}  // namespace muster

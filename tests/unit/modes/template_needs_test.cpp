// Needs of a template beside its processes: services, inputs, programs of roles.
#include "modes/read_template.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

using Texts = std::vector<std::string>;

Result<ModeTemplate> read_mode(const std::string& role, const std::string& root = "") {
  const std::string text = "mode: own\nroles:\n  - name: worker\n" + role + root;
  const auto document = parse_yaml(text, "own.yaml");
  return document ? read_template(*document, "own.yaml") : document.error();
}

std::string mode_error(const std::string& role, const std::string& root = "") {
  const auto mode = read_mode(role, root);
  EXPECT_FALSE(mode) << role << root;
  return mode ? "" : mode.error().message;
}

TEST(ReadProgram, TakesTheProgramOfARole) {
  const auto mode = read_mode("    program: [\"{python}\", \"-m\", scheduler, \"{program}\"]\n");

  ASSERT_TRUE(mode) << mode.error().message;
  EXPECT_EQ(mode->roles[0].program, (Texts{"{python}", "-m", "scheduler", "{program}"}));
  EXPECT_TRUE(runs_users_program(mode->roles[0]));
}

TEST(ReadProgram, IsTheUsersUnlessTheRoleHasOne) {
  EXPECT_TRUE(runs_users_program(read_mode("")->roles[0]));
  EXPECT_FALSE(runs_users_program(read_mode("    program: [scheduler]\n")->roles[0]));
}

TEST(ReadProgram, RefusesAnInvalidProgram) {
  const std::string expected = "own.yaml:4: /roles/0/program must be a list that begins with a program";
  EXPECT_EQ(mode_error("    program: scheduler\n"), expected);
  EXPECT_EQ(mode_error("    program: []\n"), expected);
  EXPECT_EQ(mode_error("    program: [\"\"]\n"), expected);
  EXPECT_EQ(mode_error("    program: [mpirun, \"--x={program}\"]\n"),
            "own.yaml:4: /roles/0/program/1 uses the unknown placeholder '{program}'");
}

TEST(ReadServices, TakesTheirNames) {
  EXPECT_EQ(read_mode("", "services: [worker_port, other]\n")->services, (Texts{"worker_port", "other"}));
  EXPECT_TRUE(read_mode("")->services.empty());
  EXPECT_EQ(mode_error("", "services: worker_port\n"), "own.yaml:4: /services must be a list");
}

TEST(ReadServices, AddsThePortThatATextUses) {
  for (const std::string text : {"{worker_port}", "tcp://{master_endpoint}"}) {
    EXPECT_EQ(read_mode("    environment: {A: \"" + text + "\"}\n")->services, Texts{"worker_port"});
    EXPECT_EQ(read_mode("    program: [a, \"" + text + "\"]\n")->services, Texts{"worker_port"});
    EXPECT_EQ(read_mode("", "files:\n  - {path: a, content: \"" + text + "\"}\n")->services, Texts{"worker_port"});
  }
  const auto named = read_mode("    label: \"{worker_port}\"\n", "services: [worker_port]\n");
  EXPECT_EQ(named->services, Texts{"worker_port"});
}

TEST(ReadInputs, TakesAFileAndWhatHasToBeInIt) {
  const auto mode = read_mode("",
                              "parameters: [{name: table}]\ninputs:\n"
                              "  - {file: \"{table}\", what: rank table, until: {field: status, is: completed}}\n"
                              "  - file: \"/x/{host_name}/{job_id}\"\n");

  ASSERT_TRUE(mode) << mode.error().message;
  ASSERT_EQ(mode->inputs.size(), 2U);
  EXPECT_EQ(mode->inputs[0].file, "{table}");
  EXPECT_EQ(mode->inputs[0].what, "rank table");
  EXPECT_EQ(mode->inputs[0].field, "status");
  EXPECT_EQ(mode->inputs[0].wanted, "completed");
  EXPECT_EQ(mode->inputs[1].what, "input");
  EXPECT_EQ(mode->inputs[1].field, "");
}

TEST(ReadInputs, RefusesAnInvalidInput) {
  const auto of = [](const std::string& fields) { return mode_error("", "inputs:\n  - " + fields + "\n"); };
  EXPECT_EQ(of("x"), "own.yaml:5: /inputs/0 must have a file");
  EXPECT_EQ(of("{what: x}"), "own.yaml:5: /inputs/0 needs a file");
  EXPECT_EQ(of("{path: x}"), "own.yaml:5: /inputs/0/path is unknown");
  EXPECT_EQ(of("{file: x, until: completed}"), "own.yaml:5: /inputs/0/until must have field and is");
  EXPECT_EQ(of("{file: x, until: {field: status}}"), "own.yaml:5: /inputs/0/until must have field and is");
}

TEST(ReadInputs, RefusesValuesNotKnownBeforeTheStart) {
  for (const std::string name : {"node_rank", "worker_port", "count:worker"}) {
    EXPECT_EQ(mode_error("", "inputs:\n  - {file: \"{" + name + "}\"}\n"),
              "own.yaml:5: /inputs/0/file uses {" + name + "}, which is not known yet when it is waited for");
  }
}

TEST(ReadInputs, KnowsRankTables) {
  const auto of = [](const std::string& fields) { return mode_error("", "inputs:\n  - " + fields + "\n"); };
  EXPECT_EQ(of("{file: x, is: table}"), "own.yaml:5: /inputs/0/is must be 'rank table'");
  EXPECT_EQ(of("{file: x, is: rank table, until: {field: a, is: b}}"),
            "own.yaml:5: /inputs/0 has both 'is' and 'until'");
}

}  // namespace
}  // namespace muster

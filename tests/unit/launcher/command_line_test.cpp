// What is read from argv and from MUSTER_* variables, and the completions.
#include "options.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

Result<CommandLine> line_of(std::vector<std::string> tokens,
                            std::map<std::string, std::string> variables = {}) {
  tokens.insert(tokens.begin(), "muster");
  std::vector<char*> argv;
  for (std::string& token : tokens) {
    argv.push_back(token.data());
  }
  Snapshot snapshot;
  snapshot.variables = std::move(variables);
  return read_command_line(argv, snapshot);
}

TEST(ReadCommandLine, LetsTheTokenBeAVariable) {
  const auto line = line_of({"train"}, {{"MUSTER_TOKEN", "a secret"}});

  ASSERT_TRUE(line) << line.error().message;
  EXPECT_FALSE(line->settings.has("token")) << "no setting, so that nobody shows it";
}

TEST(ReadCommandLine, HasNoFlagForTheToken) {
  for (const std::vector<std::string>& tokens :
       {std::vector<std::string>{"--token=hunter2", "train"}, {"--token", "hunter2", "train"}}) {
    const auto line = line_of(tokens);

    ASSERT_FALSE(line);
    EXPECT_EQ(line.error().message, "unknown option '--token'; did you mean '--token-file'?");
  }
}

TEST(ReadCommandLine, ReadsTheFileOfTheTokenAsAnyOption) {
  EXPECT_EQ(line_of({"train"}, {{"MUSTER_TOKEN_FILE", "f"}})->settings.find("token-file")->value,
            "f");
}

TEST(Completions, OfferTheChoicesOfAnOption) {
  EXPECT_NE(completion_script({"bash", {}})
                ->find("--on-early-exit) COMPREPLY=($(compgen -W 'wait "
                       "fail' "),
            std::string::npos);
  EXPECT_NE(completion_script({"zsh", {}})->find(":WHAT:(wait fail)'"), std::string::npos);
}

}  // namespace
}  // namespace muster

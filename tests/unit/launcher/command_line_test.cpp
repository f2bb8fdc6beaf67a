// Options read from argv and from MUSTER_* variables, and their completions.
#include "requests.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

Result<CommandLine> line_of(std::vector<std::string> tokens, std::map<std::string, std::string> variables = {}) {
  tokens.insert(tokens.begin(), "muster");
  std::vector<char*> argv;
  for (std::string& token : tokens) {
    argv.push_back(token.data());
  }
  Snapshot snapshot;
  snapshot.variables = std::move(variables);
  return read_command_line(argv, snapshot, [](const std::string& /*path*/) { return std::nullopt; });
}

TEST(ReadCommandLine, SaysThatAnOptionBehindTheProgramBelongsToIt) {
  const std::vector<std::string> said = {
      "--nproc-per-node stands after the program and belongs to it; options of muster go in front "
      "of the program"};
  for (const std::vector<std::string>& tokens :
       {std::vector<std::string>{"ok.py", "--nproc-per-node", "2", "--nnodes=2"},
        {"ok.py", "--epochs", "3", "--nproc_per_node=2"},
        {"-m", "package", "--nproc-per-node=2"}}) {
    const auto line = line_of(tokens);
    ASSERT_TRUE(line) << line.error().message;
    EXPECT_EQ(line->notices, said) << tokens.at(1);
    EXPECT_FALSE(line->settings.has("nproc-per-node"));
  }
  for (const std::vector<std::string>& tokens : {std::vector<std::string>{"--", "ok.py", "--nproc-per-node", "2"},
                                                 {"ok.py", "--help", "--verbose"},
                                                 {"ok.py", "--", "--nproc-per-node"},
                                                 {"ok.py", "nproc-per-node", "-m", "--lr"}}) {
    const auto line = line_of(tokens);
    ASSERT_TRUE(line) << line.error().message;
    EXPECT_TRUE(line->notices.empty()) << tokens.at(1);
  }
}

TEST(ReadCommandLine, KnowsWhatOtherProgramsCallAnOption) {
  for (const std::string option : {"-n", "-np", "--gpus", "--num-gpus", "-n2", "-np2", "--np=2", "--np2"}) {
    const auto line = line_of({option, "2", "ok.py"});
    ASSERT_FALSE(line);
    EXPECT_EQ(line.error().message,
              "unknown option '" + option.substr(0, option.find('=')) + "'; did you mean '--nproc-per-node'?");
  }
}

/// "mode=ps (--mode)" for what is left of the two options that say how workers are started.
std::string methods_of(const std::vector<std::string>& tokens, const std::map<std::string, std::string>& variables) {
  const auto line = line_of(tokens, variables);
  std::string methods;
  for (const std::string name : {"mode", "template"}) {
    const auto method = line ? line->settings.find(name) : std::nullopt;
    methods += method ? name + "=" + method->value + " (" + method->source.name + ")" : "";
  }
  return methods;
}

TEST(ReadCommandLine, TakesAFlagForTheModeBeforeAVariableForATemplate) {
  const std::map<std::string, std::string> file = {{"MUSTER_TEMPLATE", "t.yaml"}};
  const std::map<std::string, std::string> mode = {{"MUSTER_MODE", "jax"}};
  EXPECT_EQ(methods_of({"--mode", "ps", "ok.py"}, file), "mode=ps (--mode)");
  EXPECT_EQ(methods_of({"--template=x.yaml", "ok.py"}, mode), "template=x.yaml (--template)");
  EXPECT_EQ(methods_of({"--mode", "auto", "ok.py"}, file), "mode=auto (--mode)template=t.yaml (MUSTER_TEMPLATE)");
}

TEST(ReadCommandLine, NamesTheOptionThatACommandIsMeantFor) {
  for (const std::string word : {"help", "version"}) {
    const auto line = line_of({word});
    ASSERT_FALSE(line);
    EXPECT_EQ(line.error().message, "'" + word + "' is no command of muster; write 'muster --" + word +
                                        "', and put a program of that name after '--'");
    EXPECT_TRUE(line_of({"--", word}));
    EXPECT_TRUE(line_of({"run", word}));
  }
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
  EXPECT_EQ(line_of({"train"}, {{"MUSTER_TOKEN_FILE", "f"}})->settings.find("token-file")->value, "f");
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

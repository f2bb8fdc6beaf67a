// Commands that the lines of a shell script run.
#include "base/text.hpp"
#include "compat/spawn_calls.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

/// "2: torchrun a b".
std::string commands_of(const std::string& text) {
  std::vector<std::string> lines;
  for (const ShellCommand& command : read_shell(text)) {
    lines.push_back(std::to_string(command.line) + ": " + join(command.words, " "));
  }
  return join(lines, "\n");
}

TEST(ShellCommands, AreCutAtSeparators) {
  EXPECT_EQ(commands_of("cd a && b; c & d | e\nf"), "1: cd a\n1: b\n1: c\n1: d\n1: e\n2: f");
  EXPECT_EQ(commands_of("(a b)\n"), "1: a b");
  EXPECT_EQ(commands_of("a >x 2>&1 <y\n"), "1: a >x 2>&1 <y");
  EXPECT_EQ(commands_of("x $(a | b) `c; d` \"e; f\" 'g & h'\n").find('\n'), std::string::npos);
}

TEST(ShellCommands, HaveNoAssignmentsAndKeywordsInFront) {
  EXPECT_EQ(commands_of("A=1 B='x y' exec command a C=2\nD=3\n"), "1: a C=2");
  EXPECT_EQ(commands_of("if ! a; then b; else c; fi\n"), "1: a\n1: b\n1: c\n1: fi");
}

TEST(ShellCommands, AreJoinedByBackslashes) {
  EXPECT_EQ(commands_of("a \\\n  b \\\r\n c\nd\n"), "1: a b c\n4: d");
}

TEST(ShellCommands, LeaveOutComments) {
  EXPECT_EQ(commands_of("# torchrun \\\na#b # torchrun\n"), "2: a#b");
  EXPECT_EQ(commands_of("echo '# torchrun' \"$Z\"\nb\n"), "1: echo # torchrun $Z\n2: b");
}

TEST(ShellCommands, AreTakenFromAnyText) {
  for (const char* const text :
       {"", "\\", "'", "\"", "<<", "||", "&&&", "}", "fi", ";;", "#", "((((", "$(", "a\\", "\xff", "x='"}) {
    (void)read_shell(text);
  }
}

}  // namespace
}  // namespace muster

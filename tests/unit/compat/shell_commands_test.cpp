// Commands of a shell script, and those that it runs under a condition.
#include "base/text.hpp"
#include "compat/spawn_calls.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

/// "2: torchrun a b", with "?" for what may be left out.
std::string commands_of(const std::string& text) {
  std::vector<std::string> lines;
  for (const ShellCommand& command : read_shell(text)) {
    lines.push_back(std::to_string(command.line) + (command.is_conditional ? "? " : ": ") + join(command.words, " "));
  }
  return join(lines, "\n");
}

TEST(ShellCommands, AreCutAtSeparators) {
  EXPECT_EQ(commands_of("cd a && b; c & d | e\nf"), "1: cd a\n1: b\n1: c\n1: d\n1: e\n2: f");
  EXPECT_EQ(commands_of("(a b)\n"), "1: a b");
  EXPECT_EQ(commands_of("a >x 2>&1 <y\n"), "1: a >x 2>&1 <y");
}

TEST(ShellCommands, HaveNoAssignmentsAndWrappersInFront) {
  EXPECT_EQ(commands_of("A=1 B='x y' exec command a C=2\nD=3\n"), "1: a C=2");
}

TEST(ShellCommands, AreJoinedByBackslashes) {
  EXPECT_EQ(commands_of("a \\\n  b \\\r\n c\nd\n"), "1: a b c\n4: d");
}

TEST(ShellCommands, LeaveOutCommentsTextsAndDocuments) {
  EXPECT_EQ(commands_of("# torchrun\na#b # torchrun\n"), "2: a#b");
  EXPECT_EQ(commands_of("echo 'x\ntorchrun' \"y \\\" $Z\"\nb\n"), "1: echo x\ntorchrun y \" $Z\n3: b");
  EXPECT_EQ(commands_of("cat <<'END' >x\ntorchrun\nEND\nb <<-E\n\tx\n\tE\nc <<<x\n"), "1: cat >x\n4: b\n7: c <<<x");
}

TEST(ShellCommands, AreConditionalInsideIfCaseAndFunctions) {
  EXPECT_EQ(commands_of("if [ $N -gt 1 ]; then a; else b; fi\nc\n"), "1? [ $N -gt 1 ]\n1? a\n1? b\n2: c");
  EXPECT_EQ(commands_of("case $1 in x) a ;; esac\nb\n"), "1? $1 in x\n1? a\n2: b");
  EXPECT_EQ(commands_of("f() {\n a\n}\nb\n"), "1: f\n2? a\n4: b");
  EXPECT_EQ(commands_of("for i in 1 2; do a; done\n"), "1: for i in 1 2\n1: a");
  EXPECT_EQ(commands_of("a || b\nc\n"), "1: a\n1? b\n2: c");
}

TEST(ShellCommands, BehindAnEndAreNone) {
  EXPECT_EQ(commands_of("a\nexit\nb\n"), "1: a\n2: exit");
  EXPECT_EQ(commands_of("if x; then exit; fi\nb\n"), "1? x\n1? exit\n2? b");
  EXPECT_EQ(commands_of("if x; then exit 2; fi\nb\n"), "1? x\n1? exit 2\n2: b") << "a refusal";
  EXPECT_EQ(commands_of("x && exit 0\nb\n"), "1: x\n1: exit 0\n2? b");
}

TEST(ShellCommands, AreTakenFromAnyText) {
  for (const char* const text : {"", "\\", "'", "\"", "<<", "<< ", "<<X", "<<X\n", "||", "&&&", "}", "fi", ";;", "#",
                                 "((((", "a\\", "\xff", "x='"}) {
    (void)read_shell(text);
  }
}

}  // namespace
}  // namespace muster

// Slurm's compressed lists and tasks per node. tests/slurm compares thousands with Slurm itself.
#include "base/text.hpp"
#include "platforms/host_lists.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

std::string expanded(const std::string& text) {
  const auto hosts = read_slurm_list({text, from_variable("SLURM_STEP_NODELIST")});
  return hosts ? join(hosts->value, " ") : hosts.error().message;
}

std::string refused(const std::string& text, const std::string& expected) {
  return "SLURM_STEP_NODELIST is '" + text + "', expected " + expected;
}

TEST(SlurmLists, ExpandAsScontrolDoes) {
  EXPECT_EQ(expanded("n1"), "n1");
  EXPECT_EQ(expanded("a[1-3,07-09]"), "a1 a2 a3 a07 a08 a09");
  EXPECT_EQ(expanded("n[01-2]"), "n01 n02");
  EXPECT_EQ(expanded("n[1-03]"), "n1 n2 n3");
  EXPECT_EQ(expanded("n[099-101]"), "n099 n100 n101");
  EXPECT_EQ(expanded("n[3,1-2,2]"), "n3 n1 n2 n2");
  EXPECT_EQ(expanded("[1-3]"), "1 2 3");
  EXPECT_EQ(expanded("n1-3"), "n1-3");
  EXPECT_EQ(expanded("n[99999999999-100000000000]"), "n99999999999 n100000000000");
}

TEST(SlurmLists, WithSeveralBracketsVaryTheLastFirstThenFromTheLeft) {
  EXPECT_EQ(expanded("d[01-02]-[3-4]"), "d01-3 d01-4 d02-3 d02-4");
  EXPECT_EQ(expanded("n[1-2]x[3-4]y[5-6]"), "n1x3y5 n1x3y6 n2x3y5 n2x3y6 n1x4y5 n1x4y6 n2x4y5 n2x4y6");
}

TEST(SlurmLists, AreSeparatedByCommasAndBlanks) {
  EXPECT_EQ(expanded("n2,n1 n2"), "n2 n1 n2");
  EXPECT_EQ(expanded(",n[1-2],,m,\n"), "n1 n2 m");
}

TEST(SlurmLists, MayHaveWhatOnlyNewerOrNoSlurmWrites) {
  EXPECT_EQ(expanded("a[1-2].example.com,b"), "a1.example.com a2.example.com b");
  EXPECT_EQ(expanded("n[1[0-2],20]"), "n10 n11 n12 n20");
}

TEST(SlurmLists, AreRefusedWithTheRangeThatIsWrong) {
  const auto range = [](const std::string& text) {
    return "ranges such as 1-3 or 07 in its brackets, not '" + text + "'";
  };
  EXPECT_EQ(expanded("n[3-1]"), refused("n[3-1]", range("3-1")));
  EXPECT_EQ(expanded("n[1-]"), refused("n[1-]", range("1-")));
  EXPECT_EQ(expanded("n[]"), refused("n[]", range("")));
  EXPECT_EQ(expanded("n[1,,2]"), refused("n[1,,2]", range("")));
  EXPECT_EQ(expanded("n[ 1-2]"), refused("n[ 1-2]", range(" 1-2")));
  EXPECT_EQ(expanded("n[1-[2-3]]"), refused("n[1-[2-3]]", "numbers in its brackets, not '1-[2-3]'"));
  const std::string form = "a list of hosts such as n[1-3,07],m2";
  EXPECT_EQ(expanded("n[1-2"), refused("n[1-2", form + ", with each bracket closed"));
  EXPECT_EQ(expanded("n1]"), refused("n1]", form + ", with each bracket closed"));
  EXPECT_EQ(expanded(""), refused("", form));
  EXPECT_EQ(expanded("a/b"), refused("a/b", form));
}

TEST(SlurmLists, AreBoundedInNamesAndDepth) {
  const std::string bound = "a list of at most 1000000 hosts";
  for (const std::string text :
       {"n[0-9999999999]", "n[0-1000000]", "n[0-999][0-999][0-1]", "n[0-999999],m", "n[0-18446744073709551615]"}) {
    EXPECT_EQ(expanded(text), refused(text, bound));
  }
  std::string many = "n";
  for (int i = 0; i < 5'000; ++i) {
    many += "[0-999999]";
  }
  EXPECT_TRUE(expanded(many).ends_with(bound)) << "before all of the brackets are expanded";
  const auto most = read_slurm_list({"n[0-999999]", {}});
  EXPECT_TRUE(most && most->value.size() == 1'000'000 && most->value.back() == "n999999");
  EXPECT_TRUE(expanded(std::string(300, 'x') + "[1-2]").ends_with("names of at most 255 characters"));
  EXPECT_TRUE(
      expanded("n" + std::string(20, '[') + "1" + std::string(20, ']')).ends_with("fewer brackets within each other"));
}

std::string tasks(const std::string& text) {
  const auto numbers = read_tasks_per_node({text, from_variable("TASKS")});
  if (!numbers) {
    return numbers.error().message;
  }
  std::string line;
  for (const int number : numbers->value) {
    line += std::to_string(number) + " ";
  }
  return line;
}

TEST(TasksPerNode, AreANumberForEachNode) {
  EXPECT_EQ(tasks("4"), "4 ");
  EXPECT_EQ(tasks("2(x3),1"), "2 2 2 1 ");
  EXPECT_EQ(tasks("6(x2),2(x2)"), "6 6 2 2 ");
}

TEST(TasksPerNode, AreRefused) {
  for (const std::string text :
       {"", "0", "2(x0)", "2(x3", "2x3", "(x3)", "2(x3)1", "1,", "2(x1000001)", "1(x600000),1(x600000)", "-1"}) {
    EXPECT_EQ(tasks(text),
              "TASKS is '" + text + "', expected numbers of tasks such as 2(x3),1 of at most 1000000 nodes");
  }
}

}  // namespace
}  // namespace muster

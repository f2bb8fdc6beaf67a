// Prefixes of lines, in torchrun's template syntax.
#include "run/selection.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

Result<PrefixTemplate> template_of(const std::string& text) {
  return PrefixTemplate::read({text, from_flag("--prefix-template")});
}

std::string filled(const std::string& text) {
  return template_of(text)->fill(
      {{"role_name", "default"}, {"local_rank", "1"}, {"rank", "9"}, {"hostname", "gpu-17"}, {"pid", "4711"}});
}

TEST(PrefixTemplate, IsEmptyUnlessThereIsText) {
  EXPECT_TRUE(PrefixTemplate().is_empty());
  EXPECT_TRUE(template_of("")->is_empty());
  EXPECT_FALSE(template_of("x")->is_empty());
}

TEST(PrefixTemplate, IsFilledWithTheNamesOfTorchrun) {
  EXPECT_EQ(filled("[${role_name}${local_rank}]:"), "[default1]:");
  EXPECT_EQ(filled("${rank}@${hostname} "), "9@gpu-17 ");
  EXPECT_EQ(filled("no name"), "no name");
}

TEST(PrefixTemplate, TakesNamesWithoutBracesAsPythonDoes) {
  EXPECT_EQ(filled("$rank: "), "9: ");
  EXPECT_EQ(filled("[$rank/$pid]"), "[9/4711]");
}

TEST(PrefixTemplate, LeavesADollarSignThatBeginsNothingAlone) {
  EXPECT_EQ(filled("$$rank"), "$rank");
  EXPECT_EQ(filled("$$$rank"), "$9");
  EXPECT_EQ(filled("5 $ $5 $"), "5 $ $5 $");
}

TEST(PrefixTemplate, PutsNothingForANameWithoutAValue) {
  EXPECT_EQ(template_of("<${pid}>")->fill({}), "<>");
}

TEST(PrefixTemplate, KnowsWhichNamesItNeeds) {
  const PrefixTemplate prefix = *template_of("rank ${pid}");

  EXPECT_TRUE(prefix.needs("pid"));
  EXPECT_FALSE(prefix.needs("rank"));
}

TEST(PrefixTemplate, RefusesAnUnknownName) {
  for (const char* const text : {"${ranks}", "$ranks", "${}", "${rank", "${ rank }", "${RANK}"}) {
    const auto prefix = template_of(text);

    ASSERT_FALSE(prefix) << text;
    EXPECT_EQ(prefix.error().message, "--prefix-template is '" + std::string(text) +
                                          "', expected a text with no other names than ${role_name}, ${local_rank}, "
                                          "${rank}, ${global_rank}, ${role}, ${role_rank}, ${node_rank}, ${attempt}, "
                                          "${hostname}, ${pid}");
  }
}

TEST(PrefixTemplate, KeepsUnknownNamesUnchangedWhereTheyAreText) {
  for (const char* const text : {"${ranks}", "$ranks:", "${}", "${rank", "${ rank }", "${RANK}"}) {
    const auto prefix = PrefixTemplate::read({text, from_variable("A_VARIABLE")}, UnknownNames::Text);

    ASSERT_TRUE(prefix) << text;
    EXPECT_EQ(prefix->fill({{"rank", "9"}}), text);
  }
  const auto mixed = PrefixTemplate::read({"$$${job}/${rank}", from_variable("A_VARIABLE")}, UnknownNames::Text);
  EXPECT_EQ(mixed->fill({{"rank", "9"}}), "$${job}/9");
}

TEST(PrefixTemplate, KnowsAllItsNames) {
  for (const char* const name : {"role_name", "local_rank", "rank", "global_rank", "role", "role_rank", "node_rank",
                                 "attempt", "hostname", "pid"}) {
    EXPECT_TRUE(template_of("${" + std::string(name) + "}")->needs(name)) << name;
  }
}

}  // namespace
}  // namespace muster

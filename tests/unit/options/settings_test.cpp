// Sources of values: the last one set counts, and an error names it.
#include "options/settings.hpp"

#include "options/syntax.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(Blame, IsTheCommandLinesForAFlagOnly) {
  EXPECT_EQ(error_kind(from_flag("--nnodes")), ErrorKind::BadUsage);
  for (const Source& source : {from_option("MUSTER_NNODES"), from_variable("WORLD_SIZE"), Source()}) {
    EXPECT_EQ(error_kind(source), ErrorKind::BadEnvironment) << source.name;
  }
}

TEST(WrongValue, NamesTheSourceTheValueAndWhatWasExpected) {
  const Error error = wrong_value({"x3", from_variable("NODE_RANK")}, "a node rank such as 0 or 3");

  EXPECT_EQ(error.message, "NODE_RANK is 'x3', expected a node rank such as 0 or 3");
  EXPECT_EQ(error.kind, ErrorKind::BadEnvironment);
}

TEST(Settings, FindsWhatWasSetLast) {
  Settings settings;
  settings.set("nnodes", {"2", from_option("MUSTER_NNODES")});
  settings.set("nnodes", {"4", from_flag("--nnodes")});

  ASSERT_TRUE(settings.has("nnodes"));
  EXPECT_EQ(settings.find("nnodes")->value, "4");
  EXPECT_EQ(settings.find("nnodes")->source, from_flag("--nnodes"));
  EXPECT_FALSE(settings.has("node-rank"));
}

TEST(Words, ComeBackAsTheyWere) {
  const std::vector<std::string> words = {"--mca",       "",          "a b",          "it's",   "\"quoted\"",
                                          "back\\slash", "line\nend", "{\"k\": [1]}", "$HOME;*"};
  EXPECT_EQ(*split_words({quoted_words(words), {}}), words);
}

}  // namespace
}  // namespace muster

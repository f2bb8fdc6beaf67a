// Where a value came from, and whose fault a wrong one is.
#include <muster/options/settings.hpp>

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(Blame, IsTheCommandLinesForAFlagOnly) {
  EXPECT_EQ(blame("--nnodes"), ErrorKind::BadUsage);
  for (const std::string source : {"MUSTER_NNODES", "WORLD_SIZE", "default", "-", "n--odes", ""}) {
    EXPECT_EQ(blame(source), ErrorKind::BadEnvironment) << source;
  }
}

TEST(WrongValue, NamesTheSourceTheValueAndWhatWasExpected) {
  const Error error = wrong_value({"x3", "NODE_RANK"}, "a node rank such as 0 or 3");

  EXPECT_EQ(error.message, "NODE_RANK is 'x3', expected a node rank such as 0 or 3");
  EXPECT_EQ(error.kind, ErrorKind::BadEnvironment);
}

TEST(Settings, FindsWhatWasSetLast) {
  Settings settings;
  settings.set("nnodes", {"2", "MUSTER_NNODES"});
  settings.set("nnodes", {"4", "--nnodes"});

  ASSERT_TRUE(settings.has("nnodes"));
  EXPECT_EQ(settings.find("nnodes")->value, "4");
  EXPECT_EQ(settings.find("nnodes")->source, "--nnodes");
  EXPECT_FALSE(settings.has("node-rank"));
}

}  // namespace
}  // namespace muster

// The lists of hosts that a user gives to muster.
#include "platforms/given_hosts.hpp"

#include <gtest/gtest.h>

#include <map>

namespace muster {
namespace {

std::string describe(const Result<Sourced<std::vector<GivenHost>>>& read) {
  if (!read) {
    return read.error().message;
  }
  std::string text;
  for (const GivenHost& host : read->value) {
    text += (text.empty() ? "" : " ") + host.login + (host.login == host.host ? "" : "|" + host.host) +
            (host.slots ? "=" + std::to_string(*host.slots) : "");
  }
  return text;
}

std::string option(const std::string& text) {
  return describe(read_hosts_option({text, from_flag("--hosts")}));
}

std::string file(const std::string& text) {
  return describe(read_hosts_of_file({text, from_flag("'hosts'")}));
}

TEST(HostsOption, TakesNamesWithAndWithoutSlots) {
  EXPECT_EQ(option("a:8,b:8"), "a=8 b=8");
  EXPECT_EQ(option("a, b:2"), "a b=2");
  EXPECT_EQ(option("me@a:1,b"), "me@a|a=1 b");
  EXPECT_EQ(option("10.0.0.1:4"), "10.0.0.1=4");
}

TEST(HostsOption, TakesAddressesOfVersionSix) {
  EXPECT_EQ(option("[fd77::10]:2,[fd77::11]"), "fd77::10=2 fd77::11");
  EXPECT_EQ(option("fd77::10,me@[fd77::11]:3"), "fd77::10 me@fd77::11|fd77::11=3");
}

TEST(HostsOption, TakesSlurmsLists) {
  EXPECT_EQ(option("gpu[01-03]:8,x"), "gpu01=8 gpu02=8 gpu03=8 x");
  EXPECT_EQ(option("gpu[1,3]"), "gpu1 gpu3");
}

TEST(HostsOption, NamesTheInvalidPart) {
  for (const char* const bad :
       {"", "a:0", "a:", "a,,b", "a:x", "-oProxyCommand=x", "a;b", "a b:-1", "@", "a@", "$a", "a:8:", "a:2:3"}) {
    EXPECT_NE(option(bad).find("expected"), std::string::npos) << bad << " gives " << option(bad);
  }
  EXPECT_NE(option("a:1,b,a:2").find("'a' is listed twice"), std::string::npos);
}

std::string starter_of(std::map<std::string, std::string> variables) {
  Snapshot snapshot;
  snapshot.variables = std::move(variables);
  const auto starter = find_starter(snapshot);
  return starter ? starter->platform + " by " + starter->sign : "nobody";
}

TEST(Starter, IsUnknownWhereOtherNodesCouldNotReachTheLeader) {
  EXPECT_EQ(starter_of({{"WORLD_SIZE", "2"}, {"RANK", "0"}, {"MASTER_ADDR", "10.0.0.1"}}), "bare by RANK");
  EXPECT_EQ(starter_of({{"WORLD_SIZE", "2"}, {"RANK", "0"}, {"MASTER_ADDR", "localhost"}}), "nobody");
  EXPECT_EQ(starter_of({{"WORLD_SIZE", "2"}, {"MASTER_ADDR", "10.0.0.1"}}), "nobody");
}

TEST(HostsOption, SkipsInvisibleCharactersAroundNamesAndRefusesThemInNames) {
  EXPECT_EQ(option("\xEF\xBB\xBF"
                   "a:1,\xC2\xA0"
                   "b:2\r"),
            "a=1 b=2");
  EXPECT_NE(option("a,b\xE2\x80\x8B").find("'b\\u200b' has characters that no host name has"), std::string::npos);
}

TEST(Hostfile, SkipsInvisibleCharactersAroundNamesAndRefusesThemInNames) {
  EXPECT_EQ(file("\xEF\xBB\xBF"
                 "a slots=8\r\nb\xC2\xA0slots=4\r\n"),
            "a=8 b=4");
  EXPECT_NE(file("a\nb\xE2\x80\x8B\n").find("line 2"), std::string::npos);
}

TEST(Hostfile, TakesTheFormsOfMpiDeepspeedAndPbs) {
  EXPECT_EQ(file("# nodes\na slots=8\nb slots=4 # slow\n"), "a=8 b=4");
  EXPECT_EQ(file("a:8\nb:4\n"), "a=8 b=4");
  EXPECT_EQ(file("a\na\nb\nb\n"), "a=2 b=2");
}

TEST(Hostfile, NamesTheLine) {
  EXPECT_NE(file("a slots=8\nb slots=x\n").find("line 2"), std::string::npos);
  EXPECT_NE(file("a slots=8\na slots=8\n").find("line 2"), std::string::npos);
  EXPECT_NE(file("# nothing\n").find("expected"), std::string::npos);
}

}  // namespace
}  // namespace muster

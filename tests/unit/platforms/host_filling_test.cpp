// mpirun's processes on the slots of hosts.
#include "base/text.hpp"
#include "platforms/given_hosts.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

/// "a:2 b:1" for a list and -np; "per" and "over" as the settings of these names.
std::string filled(const std::string& hosts, const std::string& processes, const std::string& per_host = "",
                   bool may_exceed = false, bool is_by_mpirun = false) {
  Settings settings;
  settings.set("mode", {"mpirun", from_flag("mpirun")});
  if (is_by_mpirun) {
    settings.set(kDealtByMpirun, {"1", from_flag("--map-by")});
  }
  settings.set("hosts", {hosts, from_flag("-H")});
  if (!processes.empty()) {
    settings.set(kProcessesOfHosts, {processes, from_flag("-np")});
  }
  if (!per_host.empty()) {
    settings.set(kProcessesPerHost, {per_host, from_flag("-N")});
  }
  if (may_exceed) {
    settings.set(kMayOversubscribe, {"1", from_flag("--oversubscribe")});
  }
  const auto list = read_given_hosts(settings);
  if (!list) {
    return list.error().message;
  }
  std::vector<std::string> words;
  for (const GivenHost& host : list->value) {
    words.push_back(host.host + ":" + (host.slots ? std::to_string(*host.slots) : "?"));
  }
  return join(words, " ");
}

TEST(HostFilling, FillsOneHostAfterTheOther) {
  EXPECT_EQ(filled("a:2,b:2,c:2", "3"), "a:2 b:1");
  EXPECT_EQ(filled("a:2,b:2", "4"), "a:2 b:2");
  EXPECT_EQ(filled("a:2,b:2", ""), "a:2 b:2");
  EXPECT_EQ(filled("a.x.svc:2,a.y.svc:2", "4"), "a.x.svc:2 a.y.svc:2");
}

TEST(HostFilling, SharesEvenlyWithoutCounts) {
  EXPECT_EQ(filled("a,b,c", "4"), "a:2 b:1 c:1");
  EXPECT_EQ(filled("a,b,c", "2"), "a:1 b:1");
  EXPECT_EQ(filled("a,b", ""), "a:? b:?");
  EXPECT_EQ(filled("a:2,b", "2"), "-np is '2', expected a number of slots at each host of -H, or at none");
}

TEST(HostFilling, ExceedsTheSlotsOnlyOnRequest) {
  EXPECT_EQ(filled("a:2,b:2", "5"), "-np is '5', expected at most 4, the slots of -H, or --oversubscribe");
  EXPECT_EQ(filled("a:2,b:2", "7", "", true), "a:4 b:3");
}

TEST(HostFilling, NamesAnOptionOfMpirunOnlyThere) {
  Settings settings;
  settings.set("mode", {"torchrun", from_flag("torchrun")});
  settings.set("hosts", {"a:1,b:1", from_flag("-H")});
  settings.set(kProcessesOfHosts, {"3", from_flag("-np")});
  EXPECT_EQ(read_given_hosts(settings).error().message, "-np is '3', expected at most 2, the slots of -H");
}

TEST(HostFilling, LeavesItToMpirun) {
  EXPECT_EQ(filled("a:4,b:4", "4", "", false, true), "a:4 b:4");
  EXPECT_EQ(filled("a,b", "4", "", false, true), "a:4 b:4");
  EXPECT_EQ(filled("a:1,b:1", "4", "", false, true),
            "-np is '4', expected at most 2, the slots of -H, or --oversubscribe");
  EXPECT_EQ(filled("a:1,b:1", "4", "", true, true), "a:1 b:1");
}

TEST(HostFilling, CountsForEachHost) {
  EXPECT_EQ(filled("a:2,b:2", "", "1"), "a:1 b:1");
  EXPECT_EQ(filled("a,b,c", "3", "2"), "a:2 b:1");
  EXPECT_EQ(filled("a:2,b:1", "", "2"), "-N is '2', expected at most 1, the slots of 'b', or --oversubscribe");
}

}  // namespace
}  // namespace muster

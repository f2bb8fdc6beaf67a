// DeepSpeed's --include and --exclude.
#include "platforms/given_hosts.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

std::string choose(const char* setting, const std::string& value) {
  Settings settings;
  settings.set(setting, {value, from_flag("--" + std::string(setting).substr(0, 7))});
  const auto chosen = choose_hosts({{{"a", "a", 4}, {"b", "b", 2}, {"c", "c", {}}}, from_flag("'hosts'")}, settings);
  if (!chosen) {
    return chosen.error().message;
  }
  std::string text;
  for (const GivenHost& host : chosen->value) {
    text += host.host + "=" + (host.slots ? std::to_string(*host.slots) : "?") + ":";
    for (const int device : host.devices) {
      text += std::to_string(device);
    }
    text += " ";
  }
  return text;
}

TEST(HostChoice, IncludesHostsAndDevices) {
  EXPECT_EQ(choose(kIncludedHosts, "a@b:1"), "a=4: b=1:1 ");
  EXPECT_EQ(choose(kIncludedHosts, "c:2,0"), "c=2:02 ");
  EXPECT_EQ(choose(kIncludedHosts, "a:3@b@a:0, 3"), "a=2:03 b=2: ");
}

TEST(HostChoice, ExcludesHostsAndDevices) {
  EXPECT_EQ(choose(kExcludedHosts, "b"), "a=4: c=?: ");
  EXPECT_EQ(choose(kExcludedHosts, "a:0,2@b:0,1"), "a=2:13 c=?: ");
}

TEST(HostChoice, NamesTheInvalidPart) {
  for (const char* const bad : {"", "a:", "a:x", "@a", "a:4", "d"}) {
    EXPECT_NE(choose(kIncludedHosts, bad).find("--include is '"), std::string::npos) << bad;
  }
  EXPECT_NE(choose(kExcludedHosts, "a@b@c:0").find("leaves a host"), std::string::npos);
}

}  // namespace
}  // namespace muster

// Host and port, with and without brackets.
#include "base/endpoint.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(SplitEndpoint, TakesHostAndPortApart) {
  struct Row {
    const char* text;
    const char* host;
    std::optional<std::string> port;
  };
  for (const Row& row : {Row{"host", "host", std::nullopt},
                         {"host:29500", "host", "29500"},
                         {"10.0.0.1:", "10.0.0.1", ""},
                         {"[fd00::1]:29500", "fd00::1", "29500"},
                         {"[fd00::1]", "fd00::1", std::nullopt},
                         {"fd00::1", "fd00::1", std::nullopt},
                         {"::1", "::1", std::nullopt},
                         {"", "", std::nullopt},
                         {":80", "", "80"},
                         {"[", "[", std::nullopt},
                         {"]:1", "]", "1"}}) {
    const Endpoint endpoint = split_endpoint(row.text);
    EXPECT_EQ(endpoint.host, row.host) << row.text;
    EXPECT_EQ(endpoint.port, row.port) << row.text;
  }
}

TEST(JoinEndpoint, PutsBracketsAroundAnAddressOfVersion6) {
  EXPECT_EQ(join_endpoint("host", "29500"), "host:29500");
  EXPECT_EQ(join_endpoint("10.0.0.1", "1"), "10.0.0.1:1");
  EXPECT_EQ(join_endpoint("fd00::1", "29500"), "[fd00::1]:29500");
}

TEST(NumericAddress, IsOneOfVersion4Or6AndNothingElse) {
  for (const char* const text : {"10.0.0.1", "255.255.255.255", "::1", "fd00::1", "::ffff:10.0.0.1"}) {
    EXPECT_TRUE(is_numeric_address(text)) << text;
  }
  for (const std::string text : {"", "host", "10.0.0", "10.0.0.256", "10.0.0.01", " 10.0.0.1", "10.0.0.1/24", "[::1]",
                                 "fe80::1%eth0", ":::", "-1"}) {
    EXPECT_FALSE(is_numeric_address(text)) << text;
  }
  EXPECT_FALSE(is_numeric_address(std::string_view("10.0.0.1\0x", 10)));
}

TEST(WithoutBrackets, LeavesOtherTextsAlone) {
  EXPECT_EQ(without_brackets("[fd00::1]"), "fd00::1");
  for (const char* const text : {"host", "", "[", "]", "[fd00::1", "fd00::1]", "[::1]:80"}) {
    EXPECT_EQ(without_brackets(text), text);
  }
}

}  // namespace
}  // namespace muster

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

TEST(HostOrAddress, IsANameOrAnAddressWithoutPort) {
  for (const char* const text : {"host", "node-1.pool_a.svc",
                                 "b\xC3\xBC"
                                 "cher",
                                 "10.0.0.1", "::1", "fd00::1", "fe80::1%eth0", "::ffff:10.0.0.1"}) {
    EXPECT_TRUE(is_host_or_address(text)) << text;
    EXPECT_EQ(describe_host_mistake(text), "") << text;
  }
  for (const char* const text :
       {"", "-h", "a:1", "a:1:2", "[::1]", "a b", "a,b", "a/b", "u@a", "fe80::1%", "a%eth0", "\"a\"", "<A>", "$A",
        "\xE2\x80\x9C"
        "a\xE2\x80\x9D"}) {
    EXPECT_FALSE(is_host_or_address(text)) << text;
  }
}

TEST(HostMistake, NamesTheLikelyCause) {
  struct Row {
    const char* text;
    const char* mistake;
  };
  for (const Row& row : {Row{"http://a", ", not a URL"},
                         {"a b", ", without blanks"},
                         {"$MASTER_ADDR", ", and no shell has expanded this"},
                         {"`hostname`:1", ", and no shell has expanded this"},
                         {"<MASTER_IP>", ", not a placeholder"},
                         {"{{ ip }}", ", without blanks"},
                         {"%IP%", ", not a placeholder"},
                         {"'a'", ", without quotes"},
                         {"a:29500:29500", ", and this has more than one port"},
                         {"user:secret@a:29500", ""},
                         {"a:29500", ""},
                         {"fd00::1", ""},
                         {"fd00::1:29500", ""},
                         {"[fd00::1]:29500", ""}}) {
    EXPECT_EQ(describe_host_mistake(row.text), row.mistake) << row.text;
  }
}

TEST(WithoutBrackets, LeavesOtherTextsAlone) {
  EXPECT_EQ(without_brackets("[fd00::1]"), "fd00::1");
  for (const char* const text : {"host", "", "[", "]", "[fd00::1", "fd00::1]", "[::1]:80"}) {
    EXPECT_EQ(without_brackets(text), text);
  }
}

}  // namespace
}  // namespace muster

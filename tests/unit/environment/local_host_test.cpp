// Names and addresses that mean this machine, and those that do not.
#include "environment/local_host.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

Snapshot machine(const std::string& name) {
  Snapshot snapshot;
  snapshot.host_name = name;
  snapshot.addresses = std::vector<std::string>{"10.0.0.7", "fd00::7"};
  return snapshot;
}

TEST(OwnHost, HasNamesWhateverTheirCapitalsAndDomains) {
  for (const char* const name : {"gpu-17", "GPU-17", "gpu-17.site.example", "gpu-17.", "root@gpu-17"}) {
    EXPECT_TRUE(is_this_host(name, machine("gpu-17"))) << name;
    EXPECT_TRUE(is_this_host(name, machine("Gpu-17"))) << name;
  }
  EXPECT_TRUE(is_this_host("b", machine("b"))) << "no address of version 6";
  EXPECT_TRUE(is_this_host("gpu-17", machine("gpu-17.site.example")));
  EXPECT_TRUE(is_this_host("gpu-17.SITE.example", machine("gpu-17.site.example")));
  for (const char* const name : {"gpu-1", "gpu-171", "gpu-17.other.example", "17", "", "gpu"}) {
    EXPECT_FALSE(is_this_host(name, machine("gpu-17.site.example"))) << name;
  }
  EXPECT_FALSE(is_this_host("", machine("")));
}

TEST(OwnHost, HasTheAddressesOfItsInterfaces) {
  for (const char* const address :
       {"10.0.0.7", "fd00::7", "[fd00::7]", "FD00:0:0::7", "::ffff:10.0.0.7", "root@10.0.0.7"}) {
    EXPECT_TRUE(is_this_host(address, machine("gpu-17"))) << address;
  }
  for (const char* const address : {"10.0.0.8", "fd00::1:7", "10.0.0.70"}) {
    EXPECT_FALSE(is_this_host(address, machine("gpu-17"))) << address;
  }
}

TEST(OwnHost, IsLoopback) {
  for (const char* const host : {"localhost", "LOCALHOST", "127.0.0.1", "127.8.9.1", "::1", "[::1]", "0:0::1",
                                 "::ffff:127.0.0.1", "a.localhost", "ip6-loopback"}) {
    EXPECT_TRUE(is_loopback(host)) << host;
    EXPECT_TRUE(is_this_host(host, machine("gpu-17"))) << host;
  }
  for (const char* const host : {"127.evil.example", "128.0.0.1", "localhost.example", "", "::2"}) {
    EXPECT_FALSE(is_loopback(host)) << host;
  }
}

TEST(OwnHost, IsNoAddressByItsFirstLabel) {
  EXPECT_FALSE(is_same_name("10.0.0.7", "10"));
  EXPECT_FALSE(is_same_name("10.0.0.7", "10.0.0.8"));
}

}  // namespace
}  // namespace muster

// Finds the mount of a path, and tells whether that is a network file system.
#include "environment/mounts.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

constexpr const char* kMounts = R"(22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 22 0:40 / /home rw,relatime shared:2 master:3 - nfs4 server:/home rw,vers=4.2
31 30 8:2 / /home/me/local rw - xfs /dev/sdb1 rw
32 22 0:41 / /my\040disk rw - lustre 10.0.0.1@tcp:/fs rw
33 22 0:42 / /twice rw - nfs server:/twice rw
34 22 0:43 / /twice rw - tmpfs tmpfs rw
35 22 0:44 / /fuse rw - fuse.squashfuse squashfuse rw
a broken line
36 22 0:45 / /image rw - overlay overlay rw,lowerdir=/tmp/a:/my\040disk/b,upperdir=/tmp/u,workdir=/tmp/w
37 22 0:46 / /new rw - overlay overlay rw,lowerdir+=/tmp/a,lowerdir+=/home/b
38 22 0:47 / /local rw - overlay overlay rw,lowerdir=/tmp/a:/var/b,upperdir=/home/u,workdir=/home/w
)";

TEST(NetworkMounts, FindsWhatIsOnTheNetwork) {
  EXPECT_EQ(network_type_in(kMounts, "/home/me/.triton/cache/x.json"), "nfs4");
  EXPECT_EQ(network_type_in(kMounts, "/home"), "nfs4");
  EXPECT_EQ(network_type_in(kMounts, "/my disk/x"), "lustre");
}

TEST(NetworkMounts, LeavesTheRestAlone) {
  for (const char* const path : {"/tmp/x", "/home2/me", "/home/me/local/x", "/twice/x", "/fuse/x", "/", "", "home"}) {
    EXPECT_EQ(network_type_in(kMounts, path), "") << path;
  }
  EXPECT_EQ(network_type_in("", "/home"), "");
}

TEST(NetworkMounts, FindsOverlaysThatReadFromTheNetwork) {
  for (const char* const path : {"/image/lib/x.so", "/new/x", "/home/me/x", "/my disk/x"}) {
    EXPECT_TRUE(is_read_from_network(kMounts, path)) << path;
  }
  for (const char* const path : {"/local/x", "/tmp/x", "/fuse/x", "", "image"}) {
    EXPECT_FALSE(is_read_from_network(kMounts, path)) << path;
  }
}

}  // namespace
}  // namespace muster

// Digests that agents of different builds compare: they stay what they are.
#include "base/encoding.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(Digest, IsThatOfFnv1a) {
  EXPECT_EQ(digest_of(""), "cbf29ce484222325");
  EXPECT_EQ(digest_of("a"), "af63dc4c8601ec8c");
  EXPECT_EQ(digest_of("foobar"), "85944171f73967e8");
  EXPECT_EQ(digest_of("\xff").size(), 16U);
}

}  // namespace
}  // namespace muster

#include "gang/net/token.hpp"

#include <gtest/gtest.h>

namespace muster::gang {
namespace {

/// Source: RFC 4231, test case 2.
TEST(Proof, IsAnHmacWithSha256) {
  EXPECT_EQ(prove("Jefe", "what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

TEST(Proof, IsThatOfOneSecretAndOneText) {
  const std::string proof = prove("secret", "text");
  EXPECT_TRUE(is_proof(proof, "secret", "text"));
  EXPECT_FALSE(is_proof(proof, "secret", "texts"));
  EXPECT_FALSE(is_proof(proof, "secrets", "text"));
  EXPECT_FALSE(is_proof(proof.substr(1), "secret", "text"));
  EXPECT_FALSE(is_proof("", "secret", "text"));
}

}  // namespace
}  // namespace muster::gang

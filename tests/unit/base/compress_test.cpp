// Bytes in less space, and what a stranger may have packed.
#include <muster/base/compress.hpp>

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(Compress, IsReversed) {
  for (const std::string& bytes : {std::string(), std::string("x"), std::string(1'000'000, 'x')}) {
    const std::string packed = compress(bytes);
    const auto unpacked = decompress(packed, bytes.size());
    ASSERT_TRUE(unpacked) << unpacked.error().message;
    EXPECT_EQ(*unpacked, bytes);
  }
  EXPECT_LT(compress(std::string(1'000'000, 'x')).size(), 10'000U);
}

TEST(Compress, UnpacksExactlyWhatWasAnnounced) {
  const std::string packed = compress(std::string(1'000, 'x'));
  EXPECT_FALSE(decompress(packed, 999)) << "more comes out: a bomb";
  EXPECT_FALSE(decompress(packed, 1'001)) << "less comes out";
  EXPECT_FALSE(decompress(packed + "x", 1'000)) << "something follows";
  EXPECT_FALSE(decompress(packed.substr(0, packed.size() - 1), 1'000)) << "it is torn";
  EXPECT_FALSE(decompress("", 0));
  const auto wrong = decompress("no zlib", 10);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().kind, ErrorKind::BadData);
  EXPECT_EQ(wrong.error().message, "does not unpack to the 10 bytes that were announced");
}

}  // namespace
}  // namespace muster

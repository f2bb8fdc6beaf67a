// Bytes in less space, and what a stranger may have packed.
#include "base/encoding.hpp"

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

/// Output of `printf 'hello\n' | gzip -n`.
const std::string kHello("\x1f\x8b\x08\0\0\0\0\0\0\x03\xcb\x48\xcd\xc9\xc9\xe7\x02\0\x20\x30\x3a\x36\x06\0\0\0", 26);

TEST(UnpackGzip, MakesWhatWasPacked) {
  const auto unpacked = unpack_gzip(kHello, 6);
  ASSERT_TRUE(unpacked) << unpacked.error().message;
  EXPECT_EQ(*unpacked, "hello\n");
}

TEST(UnpackGzip, KnowsATornOneFromAWrongOne) {
  for (std::size_t size = 0; size < kHello.size(); ++size) {
    const auto unpacked = unpack_gzip(kHello.substr(0, size), 6);
    ASSERT_TRUE(unpacked) << size << ": " << unpacked.error().message;
    EXPECT_FALSE(*unpacked) << size;
  }
  EXPECT_FALSE(unpack_gzip("no gzip", 100));
  EXPECT_FALSE(unpack_gzip(compress("zlib's own"), 100));
  EXPECT_FALSE(unpack_gzip(kHello + "x", 100));
  const auto big = unpack_gzip(kHello, 5);
  ASSERT_FALSE(big);
  EXPECT_EQ(big.error().message, "unpacks to more than 5 bytes");
}

}  // namespace
}  // namespace muster

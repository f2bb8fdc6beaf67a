// Bytes from letters.
#include "base/encoding.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(Base64, IsDecoded) {
  EXPECT_EQ(decode_base64(""), "");
  EXPECT_EQ(decode_base64("Zg=="), "f");
  EXPECT_EQ(decode_base64("Zm8="), "fo");
  EXPECT_EQ(decode_base64("Zm9v"), "foo");
  EXPECT_EQ(decode_base64("Zm9vYmFyCg=="), "foobar\n");
  EXPECT_EQ(decode_base64("Zm9v\nYmFy\n"), "foobar");
  EXPECT_EQ(decode_base64("AP+A"), std::string("\0\xff\x80", 3));
}

TEST(Base64, AnythingElseIsNothing) {
  for (const std::string_view text : {"Z", "Zg", "Zg=", "Zg===", "Zh==", "Zm9v!", "{\"a\": 1}", "=", "Zg==Zg=="}) {
    EXPECT_FALSE(decode_base64(text)) << text;
  }
  EXPECT_FALSE(decode_base64(std::string_view("Zm9v\0Zm9v", 9)));
}

}  // namespace
}  // namespace muster

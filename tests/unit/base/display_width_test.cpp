// The width of characters on a terminal.
#include "base/display_text.hpp"

#include <gtest/gtest.h>

#include <string>

namespace muster {
namespace {

TEST(Columns, OfOrdinaryCharacters) {
  for (const std::string character : {"a", " ", "\xC3\xA9", "\xD0\xB6", "\xE2\x82\xAC"}) {
    EXPECT_EQ(display_width(character), 1) << character;
  }
}

TEST(Columns, OfATextAreThoseOfItsCharacters) {
  EXPECT_EQ(columns_of_text(""), 0U);
  EXPECT_EQ(columns_of_text("[12] "), 5U);
  EXPECT_EQ(columns_of_text("\xE5\xAE\xBD\xC3\xA9"
                            "e\xCC\x81"),
            4U);
  EXPECT_EQ(columns_of_text("\xFF\xC3"), 2U) << "no UTF-8";
}

TEST(Columns, OfCombiningAndInvisibleCharacters) {
  for (const std::string character :
       {"\xCC\x81", "\xEF\xB8\x8F", "\xE2\x83\x9D", "\xE2\x80\x8B", "\xE1\x85\xA0", "\xF3\xA0\x84\x80"}) {
    EXPECT_EQ(display_width(character), 0) << character;
  }
}

TEST(Columns, OfWideCharacters) {
  for (const std::string character : {"\xE5\xAE\xBD", "\xEF\xBC\xAD", "\xF0\x9F\x9A\x80"}) {
    EXPECT_EQ(display_width(character), 2) << character;
  }
}

TEST(Columns, OfInvalidCharacters) {
  EXPECT_EQ(display_width("\xE5\xAE"), 1);
  EXPECT_FALSE(is_blank("\xE5\xAE"));
}

TEST(Columns, OfWhichSomeAreBlank) {
  EXPECT_TRUE(is_blank("\xC2\xA0"));
  EXPECT_TRUE(is_blank("\xE3\x80\x80"));
  EXPECT_FALSE(is_blank("\xC3\xA9"));
}

}  // namespace
}  // namespace muster

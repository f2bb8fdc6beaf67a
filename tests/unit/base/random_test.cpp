// Random numbers: their forms, and that they differ.
#include "base/random.hpp"

#include <gtest/gtest.h>

#include <regex>

namespace muster {
namespace {

TEST(RandomDigits, AreOthersEachTime) {
  EXPECT_NE(*random_digits(), *random_digits());
  EXPECT_NE(*random_number(), *random_number());
}

TEST(RandomDigits, AreAsManyAsAreWanted) {
  EXPECT_EQ(random_digits()->size(), 32U);
  EXPECT_EQ(random_digits(32)->size(), 64U);
}

TEST(RandomWord, HasTheseCharacters) {
  const std::string word = *random_word("abcdefghij", 12);
  EXPECT_EQ(word.size(), 12U);
  EXPECT_EQ(word.find_first_not_of("abcdefghij"), std::string::npos);
  EXPECT_NE(word, *random_word("abcdefghij", 12));
}

TEST(RandomUuid, HasVersionAndVariant) {
  const std::regex form("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}");
  for (int i = 0; i < 100; ++i) {
    const std::string uuid = *random_uuid();
    EXPECT_TRUE(std::regex_match(uuid, form)) << uuid;
  }
}

}  // namespace
}  // namespace muster

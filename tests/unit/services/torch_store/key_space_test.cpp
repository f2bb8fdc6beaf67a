// Keys, values and queues, and what they take of the budget.
#include "services/torch_store/key_space.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace muster::store {
namespace {

constexpr std::size_t kPlenty = 1U << 20U;

std::string value_of(const KeySpace& keys, const std::string& key) {
  const SharedValue value = keys.find(key);
  return value ? *value : "(none)";
}

std::string compare(KeySpace& keys, std::string expected, std::string desired) {
  const auto done = keys.compare_and_set("/a", std::move(expected), std::move(desired));
  return *done.value().answer + (done.value().is_set ? " set" : "");
}

Result<> set_all(KeySpace& keys, std::vector<std::string> keys_and_values) {
  return keys.set_all(keys_and_values);
}

TEST(KeySpace, ComparesAndSets) {
  Budget budget(kPlenty);
  KeySpace keys(budget);
  EXPECT_EQ(compare(keys, "x", "1"), "x") << "nothing is there: what was expected comes back";
  EXPECT_FALSE(keys.has("/a"));
  EXPECT_EQ(compare(keys, "", "1"), "1 set");
  EXPECT_EQ(compare(keys, "", "2"), "1");
  EXPECT_EQ(compare(keys, "0", "2"), "1");
  EXPECT_EQ(compare(keys, "1", "2"), "2 set");
  EXPECT_EQ(value_of(keys, "/a"), "2");
}

TEST(KeySpace, CountsInDecimalDigits) {
  struct Case {
    std::string stored;
    std::int64_t amount;
    std::string total;
  };
  const std::string most = std::to_string(std::numeric_limits<std::int64_t>::max());
  const std::string least = std::to_string(std::numeric_limits<std::int64_t>::min());
  const std::vector<Case> cases = {
      {"1", 2, "3"},  {"-1", -2, "-3"}, {"0", 0, "0"},    {" \t\n7", 1, "8"}, {"+7", 1, "8"},
      {"7x", 1, "8"}, {"007", 1, "8"},  {most, 1, least}, {least, -1, most},  {"-0", 5, "5"},
  };
  for (const Case& one : cases) {
    Budget budget(kPlenty);
    KeySpace keys(budget);
    ASSERT_TRUE(keys.set("/a", one.stored));
    const auto total = keys.add("/a", one.amount);
    ASSERT_TRUE(total) << one.stored;
    EXPECT_EQ(std::to_string(*total), one.total) << one.stored;
    EXPECT_EQ(value_of(keys, "/a"), one.total) << one.stored;
  }
}

TEST(KeySpace, CountsFromNothing) {
  Budget budget(kPlenty);
  KeySpace keys(budget);
  EXPECT_EQ(keys.add("/a", 5).value(), 5);
  EXPECT_EQ(keys.add("/a", 0).value(), 5);
  EXPECT_EQ(value_of(keys, "/a"), "5");
}

TEST(KeySpace, RefusesToAddToTextThatIsNoNumber) {
  for (const char* const stored : {"", "x", "+-1", "++1", "- 1", "99999999999999999999", ".5"}) {
    Budget budget(kPlenty);
    KeySpace keys(budget);
    ASSERT_TRUE(keys.set("/a", stored));
    const auto total = keys.add("/a", 1);
    ASSERT_FALSE(total) << stored;
    EXPECT_EQ(total.error().message,
              "it counts with the key '/a', which has '" + std::string(stored) + "', expected a number");
    EXPECT_EQ(value_of(keys, "/a"), stored);
  }
}

TEST(KeySpace, AppendsAndLeavesAloneWhatIsBeingTold) {
  Budget budget(kPlenty);
  KeySpace keys(budget);
  ASSERT_TRUE(keys.append("/a", "1"));
  const SharedValue told = keys.find("/a");
  ASSERT_TRUE(keys.append("/a", "2"));
  EXPECT_EQ(*told, "1");
  EXPECT_EQ(value_of(keys, "/a"), "12");
}

TEST(KeySpace, SetsTheLastOfAKeyThatStandsThereTwice) {
  Budget budget(kPlenty);
  KeySpace keys(budget);
  ASSERT_TRUE(set_all(keys, {"/a", "1", "/b", "2", "/a", "3"}));
  EXPECT_EQ(value_of(keys, "/a"), "3");
  EXPECT_EQ(keys.size(), 2U);
}

TEST(KeySpace, KeepsQueuesApartFromValues) {
  Budget budget(kPlenty);
  KeySpace keys(budget);
  ASSERT_TRUE(keys.push("/q", "1"));
  ASSERT_TRUE(keys.push("/q", "2"));
  EXPECT_TRUE(keys.has("/q"));
  EXPECT_EQ(keys.find("/q"), nullptr);
  EXPECT_EQ(keys.size(), 0U);
  EXPECT_FALSE(keys.erase("/q"));
  EXPECT_EQ(keys.queue_size("/q"), 2U);
  EXPECT_EQ(*keys.pop("/q"), "1");
  EXPECT_EQ(*keys.pop("/q"), "2");
  EXPECT_EQ(keys.pop("/q"), nullptr);
  EXPECT_FALSE(keys.has("/q"));
}

TEST(KeySpace, GivesBackAllThatItSpent) {
  Budget budget(kPlenty);
  {
    KeySpace keys(budget);
    ASSERT_TRUE(keys.set("/a", std::string(1'000, 'x')));
    EXPECT_GE(budget.spent(), 1'002U);
    ASSERT_TRUE(keys.set("/a", "x"));
    EXPECT_LT(budget.spent(), 1'000U);
    ASSERT_TRUE(keys.append("/a", "yz"));
    ASSERT_TRUE(keys.push("/q", "1"));
    (void)keys.pop("/q");
    EXPECT_TRUE(keys.erase("/a"));
    EXPECT_FALSE(keys.erase("/a"));
    EXPECT_EQ(budget.spent(), 0U);
    ASSERT_TRUE(set_all(keys, {"/a", "1", "/a", "2"}));
    const std::size_t spent = budget.spent();
    ASSERT_TRUE(set_all(keys, {"/a", "3"}));
    EXPECT_EQ(budget.spent(), spent);
    ASSERT_TRUE(keys.push("/q", "1"));
  }
  EXPECT_EQ(budget.spent(), 0U);
}

TEST(KeySpace, RefusesWhatDoesNotFitAndChangesNothing) {
  Budget budget(1'000);
  KeySpace keys(budget);
  ASSERT_TRUE(keys.set("/a", std::string(500, 'x')));
  const std::string old = value_of(keys, "/a");
  const std::size_t spent = budget.spent();

  const auto set = keys.set("/b", std::string(500, 'x'));
  ASSERT_FALSE(set);
  EXPECT_EQ(set.error().message, "the store is full: '/b' needs 694 bytes, and of 1000 there are 306 left");
  EXPECT_FALSE(keys.set("/a", std::string(900, 'y')));
  EXPECT_FALSE(keys.append("/a", std::string(400, 'y')));
  EXPECT_FALSE(keys.push("/q", std::string(400, 'y')));
  EXPECT_FALSE(set_all(keys, {"/c", "1", "/d", "2"}));
  EXPECT_FALSE(keys.compare_and_set("/e", "", std::string(400, 'y')));

  EXPECT_EQ(value_of(keys, "/a"), old);
  EXPECT_EQ(keys.size(), 1U);
  EXPECT_FALSE(keys.has("/q"));
  EXPECT_EQ(budget.spent(), spent);
  EXPECT_TRUE(keys.set("/a", std::string(500, 'y'))) << "in place of another it fits";
}

}  // namespace
}  // namespace muster::store

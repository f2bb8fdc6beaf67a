// The rights of a process, and those of a program that it has named.
#include "process/rights.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

constexpr std::uint64_t kAllCapabilities = 0x1ff'feff'ffff;

std::map<std::string, std::string> status_of_nobody() {
  return {{"Uid", "65534\t65534\t65534\t65534"},
          {"Gid", "100\t101\t102\t103"},
          {"Groups", "20 4"},
          {"CapPrm", "0000000000003000"},
          {"NoNewPrivs", "1"},
          {"Seccomp", "2"},
          {"Seccomp_filters", "3"}};
}

Rights rights(unsigned user, std::uint64_t capabilities, std::vector<gid_t> more_groups = {}) {
  return {.users = {user, user, user, user},
          .groups = {user, user, user, user},
          .more_groups = std::move(more_groups),
          .capabilities = capabilities};
}

TEST(ParseRights, ReadsWhatTheKernelShows) {
  const auto found = parse_rights(status_of_nobody());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->users, (std::array<uid_t, 4>{65534, 65534, 65534, 65534}));
  EXPECT_EQ(found->groups, (std::array<gid_t, 4>{100, 101, 102, 103}));
  EXPECT_EQ(found->more_groups, (std::vector<gid_t>{4, 20}));
  EXPECT_EQ(found->capabilities, 0x3000U);
  EXPECT_TRUE(found->gains_none);
  EXPECT_EQ(found->filters, "2 3");
}

TEST(ParseRights, TakesNoGroupsForNone) {
  auto status = status_of_nobody();
  status["Groups"] = "";
  EXPECT_EQ(parse_rights(status)->more_groups, std::vector<gid_t>{});
}

TEST(ParseRights, RefusesWhatItDoesNotKnow) {
  for (const char* const name : {"Uid", "Gid", "CapPrm"}) {
    for (const char* const value : {"", "1 2 3", "1 2 3 x", "1 2 3 4 5", "0x1g"}) {
      auto status = status_of_nobody();
      status[name] = value;
      EXPECT_FALSE(parse_rights(status)) << name << ": " << value;
    }
  }
  EXPECT_FALSE(parse_rights({}));
}

TEST(RightsForProgram, AreOursWhereTheOtherHasThem) {
  for (const Rights& own : {rights(0, kAllCapabilities), rights(1000, 0), rights(1000, 0, {4, 20})}) {
    const auto found = rights_for_program(own, own);
    ASSERT_TRUE(found);
    EXPECT_EQ(*found, std::nullopt);
  }
  const auto found = rights_for_program(rights(1000, 0, {20}), rights(1000, 0, {4, 20}));
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, std::nullopt) << "it has more groups";
}

TEST(RightsForProgram, AreThoseOfTheOtherWhereOursAreMore) {
  Rights gains_none = rights(0, kAllCapabilities);
  gains_none.gains_none = true;
  for (const Rights& others : {rights(65534, 0), rights(0, 0), rights(0, kAllCapabilities & ~1U), gains_none}) {
    const auto found = rights_for_program(rights(0, kAllCapabilities), others);
    ASSERT_TRUE(found);
    EXPECT_EQ(*found, others);
  }
  const auto fewer_groups = rights_for_program(rights(0, kAllCapabilities, {4, 20}), rights(0, kAllCapabilities, {4}));
  ASSERT_TRUE(fewer_groups);
  EXPECT_EQ(*fewer_groups, rights(0, kAllCapabilities, {4}));
}

TEST(RightsForProgram, AreNeverMoreThanOurs) {
  constexpr std::uint64_t kOurs = kAllCapabilities & ~1U;
  const auto found = rights_for_program(rights(0, kOurs), rights(65534, kAllCapabilities));
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, rights(65534, kOurs));
}

TEST(RightsForProgram, AreNotKnownOfAProgramOfSeveralUsers) {
  for (const auto kind : {Rights::Real, Rights::Effective, Rights::Saved, Rights::ForFiles}) {
    Rights user = rights(0, kAllCapabilities);
    Rights group = rights(0, kAllCapabilities);
    user.users[kind] = 65534;
    group.groups[kind] = 65534;
    EXPECT_FALSE(rights_for_program(rights(0, kAllCapabilities), user));
    EXPECT_FALSE(rights_for_program(rights(0, kAllCapabilities), group));
  }
}

TEST(RightsForProgram, AreNotTakenWhereThatIsNotPossible) {
  Rights filtered = rights(0, kAllCapabilities);
  filtered.filters = "2 1";
  EXPECT_FALSE(rights_for_program(rights(0, kAllCapabilities), filtered));
  EXPECT_FALSE(rights_for_program(rights(1000, 0), rights(1001, 0)));
  EXPECT_FALSE(rights_for_program(rights(1000, 0), rights(0, kAllCapabilities)))
      << "more rights than ours are never taken";
  EXPECT_FALSE(rights_for_program(rights(0, 0), rights(65534, 0))) << "a root without capabilities";
}

}  // namespace
}  // namespace muster

// The leader's log of rejected connections: a few by address, many by number.
#include "gang/protocol/link_budget.hpp"

#include <gtest/gtest.h>

namespace muster::gang {
namespace {

using std::chrono::seconds;

const Instant kBegin{};

TEST(RejectedConnectionLog, LogsAnAddressOncePerReason) {
  RejectedConnectionLog refused;

  EXPECT_EQ(refused.note("10.0.0.7", "closed the connection", kBegin),
            "refused a connection from 10.0.0.7: it closed the connection");
  EXPECT_EQ(refused.note("10.0.0.7", "closed the connection", kBegin), "");
  EXPECT_EQ(refused.note("10.0.0.7", "has another token", kBegin),
            "refused a connection from 10.0.0.7: it has another token");
}

TEST(RejectedConnectionLog, NamesFiveForAReason) {
  RejectedConnectionLog refused;
  for (int i = 1; i < 5; ++i) {
    (void)refused.note(std::to_string(i), "has another token", kBegin);
  }

  EXPECT_EQ(refused.note("5", "has another token", kBegin),
            "refused a connection from 5: it has another token; further ones are counted");
  EXPECT_EQ(refused.note("6", "has another token", kBegin), "");
  EXPECT_NE(refused.note("6", "closed the connection", kBegin), "");
}

TEST(RejectedConnectionLog, SaysNoNumberWhereAFewCome) {
  RejectedConnectionLog refused;
  EXPECT_EQ(refused.next_wake(), std::nullopt);

  for (int i = 0; i < 29; ++i) {
    refused.count("10.0.0.7", kBegin + seconds(i));
  }

  EXPECT_EQ(refused.next_wake(), kBegin + seconds(30));
  EXPECT_EQ(refused.summary(kBegin + seconds(30)), "");
  EXPECT_EQ(refused.next_wake(), std::nullopt);
}

TEST(RejectedConnectionLog, SaysHowManyCameFromOneAddress) {
  RejectedConnectionLog refused;
  for (int i = 0; i < 48'211; ++i) {
    refused.count("10.0.0.7", kBegin);
  }

  EXPECT_EQ(refused.summary(kBegin + seconds(30)), "refused 48,211 connections from 1 address (10.0.0.7) in 30 s");
}

TEST(RejectedConnectionLog, NamesTheMostFrequentAddresses) {
  RejectedConnectionLog refused;
  for (int i = 0; i < 3'000; ++i) {
    refused.count(i % 3 == 0 ? std::to_string(i) : "10.0.0.7", kBegin);
  }

  EXPECT_EQ(refused.summary(kBegin + seconds(12)),
            "refused 3,000 connections from at least 1,000 addresses (2,000 of them from 10.0.0.7) "
            "in 12 s");
}

TEST(RejectedConnectionLog, LogsLessOftenWhileAFloodContinues) {
  RejectedConnectionLog refused;
  Instant now = kBegin;
  std::vector<seconds> spans;
  for (int line = 0; line < 7; ++line) {
    for (int i = 0; i < 30; ++i) {
      refused.count("10.0.0.7", now);
    }
    spans.push_back(std::chrono::duration_cast<seconds>(*refused.next_wake() - now));
    now = *refused.next_wake();
    EXPECT_NE(refused.summary(now), "");
  }
  EXPECT_EQ(spans, (std::vector<seconds>{seconds(30), seconds(60), seconds(120), seconds(240), seconds(480),
                                         seconds(600), seconds(600)}));

  EXPECT_EQ(refused.summary(now), "");
  refused.count("10.0.0.7", now);
  EXPECT_EQ(refused.next_wake(), now + seconds(30));
}

}  // namespace
}  // namespace muster::gang

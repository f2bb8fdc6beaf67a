// Connections to a worker's standard streams: joined or separate, terminals or pipes.
#include "process/spawn.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

constexpr StreamTarget kNowhere{};
constexpr StreamTarget kOut{.console = 1};
constexpr StreamTarget kError{.console = 2};
constexpr StreamTarget kTerminal{.console = 2, .is_terminal = true};

StreamTarget with(StreamFile file, StreamTarget target) {
  target.file = file;
  return target;
}

bool are_joined(const StreamTarget& out, const StreamTarget& error) {
  return choose_connection(out, error, When::Auto).is_joined;
}

TEST(OutputConnection, StreamsThatAreShownAtOnePlaceAreJoined) {
  EXPECT_TRUE(are_joined(kError, kError));
}

TEST(OutputConnection, StreamsThatAreShownAtTwoPlacesAreApart) {
  EXPECT_FALSE(are_joined(kOut, kError));
}

TEST(OutputConnection, StreamsOfWhichOneIsNotShownAreApart) {
  EXPECT_FALSE(are_joined(kNowhere, kError));
  EXPECT_FALSE(are_joined(kError, kNowhere));
}

TEST(OutputConnection, AFileOfOneStreamKeepsThemApart) {
  const StreamTarget kept = with(StreamFile::Own, kError);

  EXPECT_FALSE(are_joined(kept, kept));
  EXPECT_FALSE(are_joined(kError, kept));
}

TEST(OutputConnection, StreamsThatGoToOneFileAreJoined) {
  const StreamTarget kept = with(StreamFile::Joined, kNowhere);
  const StreamTarget shown_and_kept = with(StreamFile::Joined, kError);

  EXPECT_TRUE(are_joined(kept, kept));
  EXPECT_TRUE(are_joined(shown_and_kept, shown_and_kept));
  EXPECT_FALSE(are_joined(kept, shown_and_kept));
  EXPECT_FALSE(are_joined(with(StreamFile::Joined, kOut), shown_and_kept));
}

TEST(OutputConnection, DiscardedStreamsAreSeparate) {
  EXPECT_FALSE(are_joined(kNowhere, kNowhere)) << "only standard error is remembered for the report";
}

TEST(OutputConnection, StreamsShownOnATerminalGetATerminal) {
  const OutputConnection both = choose_connection(kTerminal, kTerminal, When::Auto);
  EXPECT_TRUE(both.is_joined && both.out_is_terminal && both.error_is_terminal);

  const OutputConnection one = choose_connection(kOut, kTerminal, When::Auto);
  EXPECT_FALSE(one.out_is_terminal);
  EXPECT_TRUE(one.error_is_terminal);
}

TEST(OutputConnection, StreamsKeptInAFileOrNotShownGetAPipe) {
  for (const StreamTarget& target : {with(StreamFile::Own, kTerminal), with(StreamFile::Joined, kTerminal), kNowhere}) {
    const OutputConnection streams = choose_connection(target, target, When::Auto);
    EXPECT_FALSE(streams.out_is_terminal || streams.error_is_terminal);
  }
}

TEST(OutputConnection, TheUserDecidesAboutTerminals) {
  const OutputConnection always = choose_connection(with(StreamFile::Own, kOut), kNowhere, When::Always);
  EXPECT_TRUE(always.out_is_terminal && always.error_is_terminal);

  const OutputConnection never = choose_connection(kTerminal, kTerminal, When::Never);
  EXPECT_FALSE(never.out_is_terminal || never.error_is_terminal);
  EXPECT_TRUE(never.is_joined);
}

}  // namespace
}  // namespace muster

// Frames of the PMIx server, in whatever pieces they arrive.
#include "services/mpi/pmix_frames.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace muster::mpi {
namespace {

std::string number(std::uint32_t number) {
  return {reinterpret_cast<const char*>(&number), sizeof number};
}

std::string text(const std::string& text) {
  return number(static_cast<std::uint32_t>(text.size())) + text;
}

std::string frame(char kind, const std::string& fields) {
  return number(static_cast<std::uint32_t>(fields.size() + 1)) + kind + fields;
}

TEST(PmixFrames, AreReadWhole) {
  const std::string said = frame('E', number(3) + text("PMIX_RANK=3") + text("A=")) +
                           frame('K', text("OpenPMIx 4.2.2")) + frame('C', number(3)) +
                           frame('A', number(3) + number(5) + text("called")) +
                           frame('F', number(7) + number(2) + number(0) + number(3) + "blob") + frame('D', number(3)) +
                           frame('X', text("no library"));

  PmixReader reader;
  const auto events = reader.feed(said);

  ASSERT_TRUE(events);
  EXPECT_EQ(*events,
            (std::vector<PmixEvent>{RankEnvironment{3, {"PMIX_RANK=3", "A="}}, PmixReady{"OpenPMIx 4.2.2"},
                                    RankConnected{3}, RankAborted{3, 5, "called"}, FenceReached{7, {0, 3}, "blob"},
                                    RankFinalized{3}, PmixRefused{"no library"}}));
}

TEST(PmixFrames, AreReadByteByByte) {
  PmixReader reader;
  std::vector<PmixEvent> all;
  for (const char byte : frame('F', number(1) + number(0) + "a part") + frame('C', number(0))) {
    const auto events = reader.feed({&byte, 1});
    ASSERT_TRUE(events);
    all.insert(all.end(), events->begin(), events->end());
  }
  EXPECT_EQ(all, (std::vector<PmixEvent>{FenceReached{1, {}, "a part"}, RankConnected{0}}));
}

TEST(PmixFrames, ThatNoServerSendsAreRefused) {
  for (const std::string& wrong :
       {frame('Z', ""), number(0), number(1U << 31U), frame('C', ""), frame('C', number(1) + "more"),
        frame('K', number(100) + "short"), frame('F', number(1) + number(9) + number(2))}) {
    EXPECT_FALSE(PmixReader().feed(wrong));
  }
}

TEST(PmixFrames, DescribeTheJob) {
  const PmixJob job{"muster-1", "/run/x", 1, {{"a", {0, 1}}, {"b", {2}}}};
  EXPECT_EQ(write_job(job), frame('J', text("muster-1") + text("/run/x") + number(1) + number(2) + text("a") +
                                           number(2) + number(0) + number(1) + text("b") + number(1) + number(2)));
}

/// As Open MPI 4.1 packs a text: its number, its size with a zero byte, and itself.
std::string packed(const std::string& text) {
  const auto size = static_cast<char>(text.size() + 1);
  return std::string("\0\0\0\1\0\0\0", 7) + size + text + '\0';
}

TEST(PmixFrames, HaveWhatMpiSaysOfARank) {
  const std::string help = packed("help-mpi.txt") + packed("invalid rank") + std::string("\0\0\0\1\1", 5) +
                           packed("MPI_ERR_RANK: invalid rank");

  const auto events = PmixReader().feed(frame('S', number(8) + number(3) + number(1) + help) +
                                        frame('S', number(9) + number(0) + number(0) + "lines\nof version 5\n"));

  ASSERT_TRUE(events);
  EXPECT_EQ(*events, (std::vector<PmixEvent>{RankMessage{8, 3, "MPI_ERR_RANK: invalid rank\n"},
                                             RankMessage{9, 0, "lines\nof version 5\n"}}));
  EXPECT_EQ(write_shown(8), frame('T', number(8)));
}

TEST(PmixFrames, SayNothingWhereMpiSaysNothingThatCanBeRead) {
  const std::string help = packed("file") + packed("topic") + std::string("\0\0\0\1\1", 5) + packed("the text");
  for (std::size_t size = 0; size < help.size() - 10; ++size) {
    EXPECT_EQ(unpack_help(help.substr(0, size)), "") << size;
  }
  EXPECT_EQ(unpack_help(packed("file") + packed("topic") + std::string("\0\0\0\1\0", 5)), "");
}

TEST(PmixFrames, AnswerAFence) {
  EXPECT_EQ(write_fenced(4, "parts"), frame('R', number(4) + number(1) + "parts"));
  EXPECT_EQ(write_fenced(4, std::nullopt), frame('R', number(4) + number(0)));
}

}  // namespace
}  // namespace muster::mpi

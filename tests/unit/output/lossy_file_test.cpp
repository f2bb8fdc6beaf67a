// A disk that has room for some bytes, and later for more.
#include "output/lossy_file.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <vector>

namespace muster {
namespace {

class LossyFileTest : public testing::Test {
 protected:
  WriteResult take(std::string_view bytes) {
    const std::size_t taken = std::min(bytes.size(), room);
    content.append(bytes.substr(0, taken));
    room -= taken;
    return {bytes.size() - taken, taken < bytes.size() ? ENOSPC : 0};
  }

  std::uint64_t lost_lines() const {
    std::uint64_t lines = 0;
    for (const FileLoss& loss : losses) {
      lines += loss.lines;
    }
    return lines;
  }

  std::size_t room = 1'000;
  std::string content;
  std::vector<FileLoss> losses;
  LossyFile file{[this](std::string_view bytes) { return take(bytes); },
                 [this](const FileLoss& loss) { losses.push_back(loss); }};
};

TEST_F(LossyFileTest, PassesEverythingWhileThereIsRoom) {
  file.write("one\ntw");
  file.write("o\n\xff\r");

  EXPECT_EQ(content, "one\ntwo\n\xff\r");
  EXPECT_TRUE(losses.empty());
}

TEST_F(LossyFileTest, LosesOnlyTheLinesThatDidNotFit) {
  room = 10;
  file.write("one\ntwo\nthree\nfour\n");
  file.write("five\n");
  room = 1'000;
  file.write("six\n");
  file.write("seven\n");

  EXPECT_EQ(content, "one\ntwo\nth\nsix\nseven\n");
  EXPECT_EQ(lost_lines(), 3U);
  ASSERT_EQ(losses.size(), 3U);
  EXPECT_EQ(losses[0].error_number, ENOSPC);
  EXPECT_EQ(losses[1].error_number, ENOSPC);
  EXPECT_EQ(losses[2].error_number, 0);
}

TEST_F(LossyFileTest, LeavesOutTheRestOfALineWhoseBeginningIsMissing) {
  room = 4;
  file.write("one\nbegin");
  room = 1'000;
  file.write(" middle");
  file.write(" end\ntwo\n");

  EXPECT_EQ(content, "one\ntwo\n");
  EXPECT_EQ(lost_lines(), 1U);
  EXPECT_EQ(losses.back().error_number, 0);
}

TEST_F(LossyFileTest, GoesOnAtTheNextStepOfABarWithoutLineEnds) {
  room = 2;
  file.write("\r10%\r20");
  room = 1'000;
  file.write("%\r30%");

  EXPECT_EQ(content, "\r1\n30%");
}

TEST_F(LossyFileTest, EndsATornLineOnceThoughTheDiskIsFullRightBehindIt) {
  room = 2;
  file.write("torn\n");
  room = 1;
  file.write("lost\n");
  room = 1'000;
  file.write("kept\n");

  EXPECT_EQ(content, "to\nkept\n");
  EXPECT_EQ(lost_lines(), 2U);
}

}  // namespace
}  // namespace muster

#include "supervise/error_moment.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace muster {
namespace {

using std::chrono::milliseconds;
using Instant = std::chrono::steady_clock::time_point;

/// A stream of one process, read piece by piece, each piece in a turn of its own.
class ReadStream {
 public:
  /// Returns the moment of the read.
  ReadMoment read(const std::string& bytes, milliseconds later = milliseconds(1)) {
    now_ += later;
    const std::uint64_t number = reads_.size() + 1;
    reads_.push_back({text_.size(), {number, number}, now_});
    text_ += bytes;
    return reads_.back().moment;
  }

  std::optional<ReadMoment> error(milliseconds ago = milliseconds(2'000)) const {
    return find_error({text_, 0, reads_}, now_ - ago);
  }

 private:
  std::string text_;
  std::vector<ReadMark> reads_;
  Instant now_ = Instant() + std::chrono::hours(1);
};

const std::string kTraceback = "Traceback (most recent call last):\n";

TEST(ErrorMoment, IsThatOfTheFirstLineOfATraceback) {
  ReadStream stream;
  (void)stream.read("step 1\n");
  const ReadMoment first = stream.read(kTraceback);
  (void)stream.read("  File \"train.py\", line 7, in <module>\n");
  (void)stream.read(
      "RuntimeError: CUDA error: device-side assert triggered\nFor debugging set CUDA_LAUNCH_BLOCKING=1\n");
  (void)stream.read("Compile with TORCH_USE_CUDA_DSA to enable device-side assertions.\n");

  EXPECT_EQ(stream.error(), first);
}

TEST(ErrorMoment, OfAProcessWithoutAnErrorIsUnknown) {
  ReadStream stream;
  EXPECT_EQ(stream.error(), std::nullopt);
  (void)stream.read("step 1\nstep 2");
  EXPECT_EQ(stream.error(), std::nullopt);
}

TEST(ErrorMoment, IsThatOfTheLastTraceback) {
  ReadStream stream;
  (void)stream.read(kTraceback + "ValueError: handled\n");
  (void)stream.read("step 1\n");
  const ReadMoment last = stream.read(kTraceback);
  (void)stream.read("AssertionError\n");

  EXPECT_EQ(stream.error(), last);
}

TEST(ErrorMoment, TheExceptionsOfOneTracebackAreOneError) {
  for (const char* const link : {"During handling of the above exception, another exception occurred:\n",
                                 "Exception ignored in: <function Loader.__del__ at 0x7f>\n"}) {
    ReadStream stream;
    const ReadMoment first = stream.read(kTraceback);
    (void)stream.read("KeyError: 'x'\n\n");
    (void)stream.read(link);
    (void)stream.read("\n" + kTraceback + "ValueError: y\n");

    EXPECT_EQ(stream.error(), first) << link;
  }
}

TEST(ErrorMoment, AnErrorInOneReadWithItsTracebackIsOne) {
  ReadStream stream;
  const ReadMoment first = stream.read("ERROR: step 3 has failed\n" + kTraceback + "ValueError: y\n");

  EXPECT_EQ(stream.error(), first);
}

TEST(ErrorMoment, AnErrorThatWasLoggedBeforeIsAnother) {
  ReadStream stream;
  (void)stream.read("ERROR: will try again\n");
  const ReadMoment last = stream.read("RuntimeError: peer is gone\n", milliseconds(1'500));

  EXPECT_EQ(stream.error(), last);
  EXPECT_EQ(stream.error(milliseconds(0)), last);
}

TEST(ErrorMoment, AnOldErrorWasSurvived) {
  ReadStream stream;
  (void)stream.read("ERROR: will try again\n");
  (void)stream.read("step 2\n", milliseconds(2'500));

  EXPECT_EQ(stream.error(), std::nullopt);
}

TEST(ErrorMoment, AProgressBarBeforeTheErrorWasReadEarlier) {
  ReadStream stream;
  (void)stream.read("\r 41%|####      | 41/100");
  (void)stream.read("\r 42%|####      | 42/100");
  const ReadMoment error = stream.read(kTraceback);

  EXPECT_EQ(stream.error(), error);
}

TEST(ErrorMoment, IsNotExactInTheMiddleOfARead) {
  for (const std::string before : {"step 1\n", "\r 42%|####      | 42/100"}) {
    ReadStream stream;
    ReadMoment error = stream.read(before + kTraceback);
    error.is_exact = false;
    EXPECT_EQ(stream.error(), error) << before;
  }
}

TEST(ErrorMoment, ReadsOfOneTurnAreOrderedByTheirBeginnings) {
  const ReadMoment early{.turn = 1, .number = 1};
  const ReadMoment late{.turn = 1, .number = 2};
  EXPECT_TRUE(was_before(early, late));
  EXPECT_FALSE(was_before(late, early));
  EXPECT_FALSE(was_before(early, early));

  const ReadMoment vague{.turn = 1, .number = 1, .is_exact = false};
  EXPECT_FALSE(was_before(vague, late)) << "its text may be younger than the beginning of its read";
  EXPECT_FALSE(was_before(late, vague));
  const ReadMoment next{.turn = 2, .number = 3, .is_exact = false};
  EXPECT_TRUE(was_before(vague, next));
}

}  // namespace
}  // namespace muster

// Bytes in, whole lines with prefixes out, however the bytes are torn.
#include "output/line_framer.hpp"

#include "base/text.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <vector>

namespace muster {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;

constexpr const char* kPrefix = "[3] ";

/// The output when `pieces` are read one after the other and the stream ends.
std::string framed(const std::vector<std::string>& pieces, const std::string& prefix = kPrefix) {
  LineFramer framer(prefix);
  std::string out;
  for (const std::string& piece : pieces) {
    framer.feed(piece, out);
  }
  framer.finish(out);
  return out;
}

TEST(LineFramer, PutsThePrefixBeforeEachLine) {
  EXPECT_EQ(framed({"one\ntwo\n"}), "[3] one\n[3] two\n");
}

TEST(LineFramer, KeepsEmptyLines) {
  EXPECT_EQ(framed({"\n\na\n\n"}), "[3] \n[3] \n[3] a\n[3] \n");
}

TEST(LineFramer, SaysNothingForNothing) {
  EXPECT_EQ(framed({}), "");
  EXPECT_EQ(framed({"", ""}), "");
}

TEST(LineFramer, WaitsForTheEndOfALine) {
  LineFramer framer(kPrefix);
  std::string out;

  framer.feed("half", out);
  EXPECT_EQ(out, "");
  framer.feed(" a line", out);
  EXPECT_EQ(out, "");
  framer.feed("\nnext", out);
  EXPECT_EQ(out, "[3] half a line\n");
}

TEST(LineFramer, EndsAPartialLastLine) {
  EXPECT_EQ(framed({"a\nlast words"}), "[3] a\n[3] last words\n");
}

TEST(LineFramer, FinishesOnlyOnce) {
  LineFramer framer(kPrefix);
  std::string out;
  framer.feed("x", out);
  framer.finish(out);
  framer.finish(out);

  EXPECT_EQ(out, "[3] x\n");
}

TEST(LineFramer, WithoutAPrefixChangesNothingButTheLastLineEnd) {
  for (const std::string& text : {"a\nb\n"s, "\r\n\r\n"s, "10%\r20%\r\n"s, "\0\xFF\x80\n"s, "\n"s}) {
    EXPECT_EQ(framed({text}, ""), text);
  }
  EXPECT_EQ(framed({"a\nb"}, ""), "a\nb\n");
}

TEST(LineFramer, PassesBytesThroughAtOnceWithoutWholeLines) {
  LineFramer framer("", /*whole_lines=*/false);
  std::string out;

  framer.feed("no end", out);
  EXPECT_EQ(out, "no end");
  framer.feed("\rbar\xFF", out);
  EXPECT_EQ(out, "no end\rbar\xFF");
  EXPECT_FALSE(framer.has_progress());
  framer.flush_progress(out);
  framer.finish(out);
  EXPECT_EQ(out, "no end\rbar\xFF");
}

TEST(LineFramer, GivesOutTheLastStateOfALineThatWasOverwritten) {
  EXPECT_EQ(framed({"10%\r20%\r30%\n"}), "[3] 30%\n");
  EXPECT_EQ(framed({"\r10%\n"}), "[3] 10%\n");
  EXPECT_EQ(framed({"10%\r20%\r"}), "[3] 20%\r\n");
  EXPECT_EQ(framed({"10%\r20%\r\n\r\n"}), "[3] 20%\r\n[3] \r\n");
}

TEST(LineFramer, TakesTheLineEndsOfOtherSystems) {
  EXPECT_EQ(framed({"one\r\ntwo\r\n"}), "[3] one\r\n[3] two\r\n");
  EXPECT_EQ(framed({"one\r\r\n"}), "[3] one\r\r\n");
  EXPECT_EQ(framed({"one\r"}), "[3] one\r\n");
}

TEST(LineFramer, LeavesBinaryBytesAlone) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) {
    all += static_cast<char>(byte);
  }
  // The line ends at byte 10, the return is byte 13.
  EXPECT_EQ(framed({all}), kPrefix + all.substr(0, 11) + kPrefix + all.substr(14) + "\n");
  EXPECT_EQ(framed({all}, ""), all + "\n");
}

const std::string& a_bit_of_everything() {
  static const std::string kText =
      "first\n\nsecond \xC3\xA9\xE2\x82\xAC\xF0\x9F\x9A\x80\r\n10%\r20%\r\r30%\n\r\r\n\r"
      "\x80\xFF\0binary\n"s +
      "last without an end \xF0\x9F";
  return kText;
}

TEST(LineFramer, GivesTheSameLinesWhereverOneReadIsTorn) {
  const std::string& text = a_bit_of_everything();
  const std::string expected = framed({text});

  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    EXPECT_EQ(framed({text.substr(0, cut), text.substr(cut)}), expected) << "torn at " << cut;
  }
}

TEST(LineFramer, GivesTheSameLinesByteByByte) {
  std::vector<std::string> bytes;
  for (const char byte : a_bit_of_everything()) {
    bytes.emplace_back(1, byte);
  }
  EXPECT_EQ(framed(bytes), framed({a_bit_of_everything()}));
}

TEST(LineFramer, GivesTheSameLinesInRandomPieces) {
  std::mt19937 random(1);
  std::string text;
  for (int i = 0; i < 200; ++i) {
    text += a_bit_of_everything();
  }
  const std::string expected = framed({text});

  for (int round = 0; round < 20; ++round) {
    std::vector<std::string> pieces;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t length = std::uniform_int_distribution<std::size_t>(1, 300)(random);
      pieces.push_back(text.substr(at, length));
      at += length;
    }
    ASSERT_EQ(framed(pieces), expected);
  }
}

TEST(LineFramer, KeepsALineOfManyMegabytesWhole) {
  const std::string line(LineFramer::kLongestLine - 1, 'x');

  EXPECT_EQ(framed({line.substr(0, 5'000'000), line.substr(5'000'000) + "\n"}), kPrefix + line + "\n");
}

/// The line that is longer than any line may be: `bytes` of `unit` after an offset.
std::string cut_line(const std::string& unit, std::size_t offset) {
  LineFramer framer(kPrefix);
  std::string out;
  std::string units = unit;
  while (units.size() <= LineFramer::kLongestLine) {
    units += units;
  }
  const std::size_t whole_units = LineFramer::kLongestLine / unit.size() + 1;
  const std::string text = std::string(offset, 'x') + units.substr(0, whole_units * unit.size());
  // In two reads, the second of which is torn inside a character.
  const std::size_t first = text.size() - 1;
  framer.feed(std::string_view(text).substr(0, first), out);
  framer.feed(std::string_view(text).substr(first), out);
  framer.feed("tail\n", out);
  return out;
}

TEST(LineFramer, CutsALongerLineButNoCharacter) {
  for (const std::string unit : {"\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x9A\x80"}) {
    for (std::size_t offset = 0; offset < unit.size(); ++offset) {
      const std::string out = cut_line(unit, offset);
      const std::size_t end = out.find('\n');
      const std::string rest = out.substr(end + 1);
      EXPECT_EQ(valid_utf8(rest), rest) << "a character was cut";
      EXPECT_TRUE(rest.starts_with(kPrefix) && rest.ends_with("tail\n")) << rest;
      EXPECT_LE(rest.size(), std::string(kPrefix).size() + 4 + std::string("tail\n").size());
    }
  }
}

TEST(LineFramer, CutsALongerLineOfBinaryBytesAnywhere) {
  std::string out;
  LineFramer framer(kPrefix);
  framer.feed(std::string(LineFramer::kLongestLine + 1, '\x80'), out);

  EXPECT_EQ(out.size(), LineFramer::kLongestLine + 1 + std::string(kPrefix).size() + 1);
}

// Progress bars

TEST(LineFramer, ShowsTheLastStepOfAWaitingProgressBarOnRequest) {
  LineFramer framer(kPrefix);
  std::string out;
  framer.feed("10%\r20%\r30", out);

  EXPECT_EQ(out, "");
  EXPECT_TRUE(framer.has_progress());
  framer.flush_progress(out);
  EXPECT_EQ(out, "[3] 20%\n");
}

TEST(LineFramer, ContinuesTheBarAfterwards) {
  LineFramer framer(kPrefix);
  std::string out;
  framer.feed("10%\r20", out);
  framer.flush_progress(out);
  out.clear();

  framer.feed("%\r30%\n", out);

  EXPECT_EQ(out, "[3] 30%\n");
}

TEST(LineFramer, HasNothingToShowOfABarThatJustStartsOrIsErased) {
  LineFramer framer(kPrefix);
  std::string out;
  framer.feed("\r10%", out);
  framer.flush_progress(out);
  framer.feed("\r    \r", out);
  framer.flush_progress(out);

  EXPECT_EQ(out, "");
}

TEST(LineFramer, HasNoProgressInAnOrdinaryLine) {
  LineFramer framer(kPrefix);
  std::string out;

  EXPECT_FALSE(framer.has_progress());
  framer.feed("10%\rdone\nhalf a line", out);
  EXPECT_FALSE(framer.has_progress());
  out.clear();
  framer.flush_progress(out);
  EXPECT_EQ(out, "");
}

TEST(LineFramer, LosesNoByteOfABarThatIsFlushedAnyTime) {
  const std::string bar = "10%\r20%\r\r30%\rdone\n";
  for (std::size_t cut = 0; cut <= bar.size(); ++cut) {
    LineFramer framer("");
    std::string out;
    framer.feed(bar.substr(0, cut), out);
    framer.flush_progress(out);
    framer.feed(bar.substr(cut), out);
    framer.finish(out);
    std::erase(out, '\n');

    EXPECT_EQ(out + '\n', bar) << "flushed after " << cut << " bytes";
  }
}

TEST(LineFramer, GivesOutOnlyTheLinesThatAFilterWants) {
  const LineFilter filter = *LineFilter::read({"loss", from_flag("--duplicate-stdout-filters")});
  LineFramer framer(kPrefix, filter);
  std::string out;

  framer.feed("step\nlo", out);
  EXPECT_EQ(out, "");
  framer.feed("ss 1\nno\n\nloss 2\rloss 3\rno", out);
  EXPECT_EQ(out, "[3] loss 1\n");
  framer.flush_progress(out);
  EXPECT_EQ(out, "[3] loss 1\n[3] loss 3\n");
  framer.finish(out);
  EXPECT_EQ(out, "[3] loss 1\n[3] loss 3\n") << "the rest is not wanted";
}

TEST(LineFramer, TakesAPrefixThatIsKnownLater) {
  LineFramer framer("");
  std::string out;

  framer.set_prefix("<4711> ");
  framer.feed("one\n", out);

  EXPECT_EQ(out, "<4711> one\n");
}

// On a terminal

TEST(LineFramer, ShowsAPromptWithoutAnEnd) {
  LineFramer framer(kPrefix);
  std::string out;
  EXPECT_FALSE(framer.has_unsettled());
  framer.feed("a\nName: ", out);
  EXPECT_EQ(out, "[3] a\n");
  EXPECT_TRUE(framer.has_prompt());

  framer.begin_row(out);
  framer.settle(out);
  framer.show_prompt(out);
  EXPECT_EQ(out, "[3] a\n[3] Name: ");
  EXPECT_FALSE(framer.has_unsettled());

  framer.feed("Eve\n", out);
  EXPECT_EQ(out, "[3] a\n[3] Name: [3] Eve\n");
}

TEST(LineFramer, HasNoUnsettledLineWhereNoneCouldBeShown) {
  std::string out;
  LineFramer bar(kPrefix);
  bar.feed("\r10%", out);
  EXPECT_FALSE(bar.has_unsettled());
  LineFramer passing("", /*whole_lines=*/false);
  passing.feed("Name: ", out);
  EXPECT_FALSE(passing.has_unsettled());
}

TEST(LineFramer, WaitsForTheEndOfALineTooLongForAPrompt) {
  LineFramer framer(kPrefix);
  std::string out;
  framer.feed(std::string(5000, 'x'), out);

  EXPECT_FALSE(framer.has_unsettled());
}

class DrawingFramer : public testing::Test {
 protected:
  DrawingFramer() { framer_.enable_rows(); }

  LineFramer framer_{kPrefix};
  std::string out_;
};

TEST_F(DrawingFramer, PassesLinesAtOnceWhileNothingIsDrawn) {
  framer_.feed("\x1b[31mred\x1b[m\r\nline\r\r\nhalf", out_);

  EXPECT_EQ(out_, "[3] \x1b[31mred\x1b[m\r\n[3] line\r\r\n");
  EXPECT_EQ(framer_.row(), "");
}

TEST_F(DrawingFramer, KeepsABarApartUntilItHasEnded) {
  framer_.feed("line\n\r10%", out_);
  EXPECT_EQ(out_, "[3] line\n");
  EXPECT_EQ(framer_.row(), "[3] 10%");
  EXPECT_FALSE(framer_.has_progress());
  framer_.feed("\r100%\n", out_);
  EXPECT_TRUE(framer_.has_unsettled());
  EXPECT_TRUE(framer_.may_settle());

  framer_.settle(out_);
  framer_.settle(out_);

  EXPECT_EQ(out_, "[3] line\n[3] 100%\n");
  EXPECT_EQ(framer_.row(), "");
}

TEST_F(DrawingFramer, KeepsABarThatComesWithItsEnd) {
  framer_.feed("\r10%\n\rpart\x1b[A", out_);

  EXPECT_EQ(out_, "");
  EXPECT_EQ(framer_.row(), "[3] part");
}

TEST_F(DrawingFramer, LeavesOutWhatWouldMoveTheCursorOrChangeTheTerminal) {
  for (const std::string control : {"\x1b[?25h", "\x1b[H", "\x1b[3A", "\x1b]0;title\a", "\x1b(0", "\x1b[", "\x1b"}) {
    LineFramer framer(kPrefix);
    framer.enable_rows();
    std::string out;
    framer.feed("li" + control, out);
    framer.feed("\n", out);
    framer.finish(out);
    EXPECT_EQ(out, "[3] li\n") << control;
  }
}

TEST_F(DrawingFramer, MakesARowOfALineWithoutItsEnd) {
  framer_.feed("Name: ", out_);
  EXPECT_EQ(framer_.row(), "");
  framer_.begin_row(out_);
  framer_.settle(out_);
  EXPECT_EQ(framer_.row(), "[3] Name: ");

  framer_.feed("Eve\nnext\n", out_);

  EXPECT_EQ(out_, "[3] Name: Eve\n[3] next\n");
  EXPECT_EQ(framer_.row(), "");
}

TEST_F(DrawingFramer, ShowsAPromptBelowABarThatHasSettled) {
  framer_.feed("\rbar\nName: ", out_);
  EXPECT_FALSE(framer_.has_prompt());
  framer_.settle(out_);
  framer_.settle(out_);
  EXPECT_TRUE(framer_.has_prompt());

  framer_.show_prompt(out_);

  EXPECT_EQ(out_, "[3] bar\n[3] Name: ");
  EXPECT_EQ(framer_.row(), "");
}

TEST(LineFramer, ShowsAnUnfinishedLineAndWhatFollowsAsTheNextOne) {
  LineFramer framer("[2] ");
  std::string out;
  framer.feed("Loading...", out);
  EXPECT_EQ(out, "");
  EXPECT_EQ(framer.quiet_before_showing(), 500ms);

  framer.show_unfinished(out);
  EXPECT_EQ(framer.quiet_before_showing(), std::nullopt);
  framer.feed(" done\nnext\n", out);

  EXPECT_EQ(out, "[2] Loading...\n[2]  done\n[2] next\n");
}

TEST(LineFramer, AddsNoEmptyLineWhereOnlyTheEndOfAShownLineFollows) {
  LineFramer framer("[2] ");
  std::string out;
  framer.feed("Ready", out);
  framer.show_unfinished(out);
  framer.feed("\r\n", out);
  framer.feed("\n", out);
  framer.feed("x", out);
  framer.show_unfinished(out);
  framer.finish(out);

  EXPECT_EQ(out, "[2] Ready\n[2] \n[2] x\n");
}

TEST(LineFramer, WaitsLongerForEachFurtherPartOfALine) {
  LineFramer framer("[2] ");
  std::string out;
  std::vector<std::chrono::milliseconds> quiet;
  for (int i = 0; i < 9; ++i) {
    framer.feed(".", out);
    quiet.push_back(framer.quiet_before_showing().value_or(0ms));
    framer.show_unfinished(out);
  }
  framer.feed("\n.", out);

  EXPECT_EQ(quiet, (std::vector<std::chrono::milliseconds>{500ms, 1s, 2s, 4s, 8s, 16s, 32s, 64s, 64s}));
  EXPECT_EQ(framer.quiet_before_showing(), 500ms);
}

TEST(LineFramer, ShowsNoUnfinishedBarNorUnfinishedBytes) {
  LineFramer bar("[2] ");
  LineFramer bytes("", /*whole_lines=*/false);
  LineFramer unprefixed("");
  LineFramer character("[2] ");
  std::string out;
  bar.feed("\r10%", out);
  bytes.feed("bytes", out);
  unprefixed.feed("line", out);
  character.feed("\xE2\x82", out);
  character.show_unfinished(out);

  EXPECT_EQ(out, "bytes");
  EXPECT_EQ(bar.quiet_before_showing(), std::nullopt);
  EXPECT_EQ(bytes.quiet_before_showing(), std::nullopt);
  EXPECT_EQ(unprefixed.quiet_before_showing(), std::nullopt);
}

}  // namespace
}  // namespace muster

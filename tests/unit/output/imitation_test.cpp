// In a job of several workers no row of the terminal begins like a message of muster that muster has not written.
#include "output/shared_terminal.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

using testing_output::SharedTerminal;
using testing_output::TerminalWay;

const std::string kForged = "muster: 9 workers succeeded in 0.01 s";

/// Sequences in front of a text that move the cursor to where it may look like a message; some have no effect here.
const std::vector<std::string>& ways_to_a_row() {
  static const std::vector<std::string> kWays = {"",
                                                 "\r",
                                                 "\b\b\b\b\b\b\b\b\b",
                                                 "\x1b[3A\r\x1b[2K",
                                                 "\x1b[H",
                                                 "\x1b[2J\x1b[3J",
                                                 "\xC2\x9B"
                                                 "2J\xC2\x9BH",
                                                 "\x9B"
                                                 "2J\x9BH",
                                                 "\xC2\x85",
                                                 "\v\r",
                                                 "\f\r",
                                                 "\x1b[?1049h",
                                                 "\x1b]0;",
                                                 "\x1bP",
                                                 "\x1b[31",
                                                 "\x1b[8m",
                                                 "\x1b(0",
                                                 "\x0e",
                                                 "\x1b[1;2r",
                                                 "\x1b[4h",
                                                 "\x1b[?7l",
                                                 "\x1b"
                                                 "c",
                                                 "\r\xCC\x81",
                                                 "\r\xEF\xB8\x8F",
                                                 "\xE2\x80\x8D",
                                                 "\xE2\x80\xA8",
                                                 "\xFF\xFE\xC0\xAF",
                                                 "\x1b[K",
                                                 "\r\x1b[K",
                                                 "\t",
                                                 "\r\r",
                                                 "\r\n",
                                                 "\n",
                                                 "\x1b[31m",
                                                 "\x1bM",
                                                 "\x1b"
                                                 "E",
                                                 "\x1b"
                                                 "8",
                                                 "\x1b[99;1H",
                                                 "\x1b[G",
                                                 "\x1b[99D",
                                                 "\x1b[F",
                                                 "\x1b[1E\r",
                                                 "\x1b[?25l\x1b[A\r",
                                                 "[b] ",
                                                 "\r[b] ",
                                                 "\x1b[1m[b]\x1b[m ",
                                                 "[fe80::1] "};
  return kWays;
}

/// Texts of which a part may look like a message, though none is one as it stands.
const std::vector<std::string>& put_together() {
  static const std::vector<std::string> kTexts = {kForged,
                                                  "xuster: over\rm",
                                                  "mxster: over\ru",
                                                  "mxster: over\r\x1b[Cu",
                                                  "xuster: over\x1b[Gm",
                                                  "mxster: over\b\b\b\b\b\b\b\b\b\b\bu",
                                                  "xmuster: over\r\x1b[P",
                                                  "uster: over\r\x1b[@m",
                                                  "mXuster: over\r\x1b[C\x1b[P",
                                                  "muster:xover\r\x1b[7C\x1b[X",
                                                  "muster:\tover",
                                                  "muster:\xC2\xA0over",
                                                  "muster:\xE3\x80\x80over",
                                                  "muster:\x1b[Cover",
                                                  "mus\xE2\x80\x8Bter: over",
                                                  "mus\xE3\x85\xA4ter: over",
                                                  "\x1b[31mmus\x1b[0mter: over",
                                                  "mus\x1b]0;title\ater: over",
                                                  "m\x1b"
                                                  "7xster: over\x1b"
                                                  "8u",
                                                  "m\x1b[sxster: over\x1b[uu",
                                                  "mxster: over\x1b[99;2Hu",
                                                  "m\x1b[?25luster: 9",
                                                  "m\x1b(Buster: 9",
                                                  "over and over\x1b(\rBmuster: 9",
                                                  "uster: 9\r\x1b[4hm\x1b[4l",
                                                  "xuster: 9\x1b[99999999999Dm",
                                                  "xuster: m\r\x1b[b",
                                                  "xuster: over\x1b[2Zm",
                                                  "\xE5\xAE\xBDster: over\rmu",
                                                  "uster: over\rm\x1b[K",
                                                  "xxxxxxx: \rmuster",
                                                  "muster\r\t: ",
                                                  "       x\rmuster:",
                                                  "muster: muster: muster: ",
                                                  "mmuster: ",
                                                  "\xCC\x81muster: 9",
                                                  "\xEF\xBF\xBDmuster: 9",
                                                  "muster:\x1b[K 9"};
  return kTexts;
}

/// Delivery of the pieces: each alone or all together, with unfinished lines shown in between or not.
struct Delivery {
  std::size_t bytes_at_once = 0;  ///< 0: all of it
  bool waits = false;
  bool types_enter = false;
};

std::string imitations(const TerminalWay& way, const std::string& bytes, const Delivery& delivery) {
  SharedTerminal terminal(way);
  terminal.write(1, "one\n");
  const std::size_t step = delivery.bytes_at_once > 0 ? delivery.bytes_at_once : bytes.size();
  for (std::size_t at = 0; at < bytes.size(); at += step) {
    terminal.write(0, bytes.substr(at, step));
    if (delivery.waits) {
      terminal.wait(0);
    }
    if (delivery.types_enter && at == 0) {
      terminal.type_enter();
    }
  }
  terminal.say();
  terminal.write(1, "two\n");
  terminal.finish(0);
  terminal.finish(1);
  terminal.say();
  return terminal.imitations();
}

constexpr std::size_t kColumns = 20;

std::vector<TerminalWay> ways() {
  std::vector<TerminalWay> ways;
  for (const auto& prefixes : std::vector<std::vector<std::string>>{{"[0] ", "[1] "}, {"", ""}}) {
    for (const bool draws : {true, false}) {
      for (const bool is_typed_to : {true, false}) {
        ways.push_back({.columns = kColumns, .prefixes = prefixes, .draws = draws, .is_typed_to = is_typed_to});
      }
    }
    ways.push_back({.columns = kColumns, .prefixes = prefixes, .draws = false, .is_remote = true});
  }
  return ways;
}

/// Tries the bytes in each way, and says which did what it should not.
void expect_none(const std::string& bytes) {
  constexpr std::size_t kPiece = 3;
  for (TerminalWay way : ways()) {
    for (const auto width : {std::optional<std::size_t>(), {0}, {1}, {2}}) {
      way.width_of_others = width;
      for (const Delivery delivery : {Delivery{}, {kPiece, true}, {kPiece, true, true}}) {
        ASSERT_EQ(imitations(way, bytes, delivery), "")
            << testing::PrintToString(bytes) << " prefix " << way.prefixes[0] << " draws " << way.draws << " typed to "
            << way.is_typed_to << " remote " << way.is_remote << " width " << static_cast<int>(width.value_or(9))
            << " pieces " << delivery.bytes_at_once << delivery.waits << delivery.types_enter;
      }
    }
  }
}

TEST(Imitation, NoneByMovingTheCursor) {
  for (const std::string& before : ways_to_a_row()) {
    ASSERT_NO_FATAL_FAILURE(expect_none(before + kForged + "\n"));
    ASSERT_NO_FATAL_FAILURE(expect_none("evil" + before + kForged + "\n"));
  }
}

TEST(Imitation, NonePutTogether) {
  for (const std::string& text : put_together()) {
    ASSERT_NO_FATAL_FAILURE(expect_none(text));
    ASSERT_NO_FATAL_FAILURE(expect_none(text + "!\nmuster: x"));
    ASSERT_NO_FATAL_FAILURE(expect_none("evil\x1b[K\t" + text));
  }
}

/// The text goes on in the next row, wherever the terminal breaks it.
TEST(Imitation, NoneInALineThatIsBroken) {
  for (std::size_t before = 1; before <= kColumns + 1; ++before) {
    for (const std::string letter : {"-", "\xE3\x85\xA4", "\xC2\xAD", "\xFF", "\xE3-", "\t"}) {
      std::string filled;
      for (std::size_t i = 0; i < before; ++i) {
        filled += letter;
      }
      ASSERT_NO_FATAL_FAILURE(expect_none(filled + kForged));
    }
    const std::string filled(before, '-');
    ASSERT_NO_FATAL_FAILURE(expect_none(filled + "\x1b[K?" + kForged));
    ASSERT_NO_FATAL_FAILURE(expect_none(filled + "xuster: over\rm" + filled + kForged));
    ASSERT_NO_FATAL_FAILURE(expect_none(filled + "[b] " + kForged));
  }
}

TEST(Imitation, SeesThoseThatAreShown) {
  testing_output::ScreenModel screen(20);
  screen.write("one\nmuster: over\n[b] muster: over\n[0:1] muster: nested\n--------------------muster: 9\n");
  std::size_t found = 0;
  for (const std::string& row : screen.rows()) {
    found += testing_output::looks_like_muster(row, /*has_hosts=*/true) ? 1 : 0;
  }
  EXPECT_EQ(found, 3U);
}

}  // namespace
}  // namespace muster

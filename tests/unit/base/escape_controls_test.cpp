// Untrusted text as it is displayed, with its control characters escaped.
#include "base/display_text.hpp"
#include "base/text.hpp"

#include <gtest/gtest.h>

#include <cstdio>

namespace muster {
namespace {

TEST(Visible, LeavesOrdinaryTextAlone) {
  const std::string text = "loss 0.25 \xC3\xA9 \xE6\xB8\xAC \xF0\x9F\x9A\x80 \xE2\x9A\xA0\xEF\xB8\x8F C:\\tmp";

  EXPECT_EQ(escape_controls(text), text);
}

TEST(Visible, KeepsLineEndsAndTabs) {
  EXPECT_EQ(escape_controls("a\n\tb"), "a\n\tb");
}

TEST(Visible, EscapesEveryOtherControlOfAscii) {
  for (int i = 0; i <= 0x7F; ++i) {
    const char c = static_cast<char>(i);
    const bool is_plain = (i >= ' ' && i < 0x7F) || c == '\n' || c == '\t';
    char escaped[8];
    std::snprintf(escaped, sizeof escaped, "\\x%02x", static_cast<unsigned>(i));

    EXPECT_EQ(escape_controls({&c, 1}), is_plain ? std::string(1, c) : escaped);
  }
}

TEST(Visible, EscapesTheControlsOfLatin1InBothForms) {
  EXPECT_EQ(escape_controls("\xC2\x80 \xC2\x85 \xC2\x9B"
                            "2J \xC2\x9F"),
            "\\u0080 \\u0085 \\u009b2J \\u009f");
  EXPECT_EQ(escape_controls("\x85 \x9B"
                            "2J"),
            "\\x85 \\x9b2J");
}

TEST(Visible, EscapesWhatTurnsTheDirection) {
  EXPECT_EQ(escape_controls("\xD8\x9C|\xE2\x80\x8E|\xE2\x80\x8F"), "\\u061c|\\u200e|\\u200f");
  EXPECT_EQ(escape_controls("\xE2\x80\xAA|\xE2\x80\xAE"), "\\u202a|\\u202e");
  EXPECT_EQ(escape_controls("\xE2\x81\xA6|\xE2\x81\xA9"), "\\u2066|\\u2069");
}

TEST(Visible, EscapesSeparatorsOfLinesAndParagraphs) {
  EXPECT_EQ(escape_controls("\xE2\x80\xA8|\xE2\x80\xA9"), "\\u2028|\\u2029");
}

TEST(Visible, EscapesWhatCannotBeSeen) {
  EXPECT_EQ(escape_controls("\xC2\xAD|\xE2\x80\x8B|\xE2\x80\x8D|\xEF\xBB\xBF"), "\\u00ad|\\u200b|\\u200d|\\ufeff");
  EXPECT_EQ(escape_controls("\xF3\xA0\x80\x81|\xF3\xA0\x81\xBF"), "\\U000e0001|\\U000e007f");
}

TEST(Visible, EscapesInvalidUtf8ByteForByte) {
  EXPECT_EQ(escape_controls("\xFF|\xC3|\xC0\xAF|\xED\xA0\x80"), "\\xff|\\xc3|\\xc0\\xaf|\\xed\\xa0\\x80");
}

TEST(Visible, EscapesOnce) {
  const std::string once = escape_controls("\x1b[31m\xFF\xE2\x80\xAE");

  EXPECT_EQ(escape_controls(once), once);
}

TEST(Visible, IsUtf8) {
  const std::string text = escape_controls("\x1b\xFF\xE2\x80\xAE\xC3\xA9");

  EXPECT_EQ(valid_utf8(text), text);
}

TEST(VisibleLine, HasNoLineEndsAndNoTabs) {
  EXPECT_EQ(visible_line("a\n\tb\r"), "a\\n\\tb\\x0d");
}

TEST(Tame, LetsColoursAndErasingInTheLinePass) {
  const std::string line = "\x1b[1;38:5:9mred\x1b[0m \x1b[K\t100%\r\xC3\xA9\xE2\x80\x8D\xFF\n";

  EXPECT_EQ(sanitize(line), line);
}

TEST(Tame, ErasesNothingBeforeTheCursor) {
  EXPECT_EQ(sanitize("\r\x1b[2K100%\x1b[0K\n"), "\r\x1b[K100%\x1b[0K\n");
  EXPECT_EQ(sanitize("100%\x1b[1K\n"), "100%\\x1b[1K\n");
}

TEST(Tame, EscapesWhatLeavesTheLine) {
  EXPECT_EQ(sanitize("\x1b[1A\x1b[2J\x1b[?1049h\x1b]0;t\a\b\v\n"),
            "\\x1b[1A\\x1b[2J\\x1b[?1049h\\x1b]0;t\\x07\\x08\\x0b\n");
  EXPECT_EQ(sanitize("\xC2\x9B"
                     "2J\x9B"
                     "2J\xC2\x85\x1b[31"),
            "\\u009b2J\\x9b2J\\u0085\\x1b[31");
}

TEST(Blanks, OfUnicodeBecomePlainOnesOrEscapes) {
  const std::string text =
      "a\xC2\xA0"
      "b\xE2\x80\x8A"
      "c\xE3\x80\x80"
      "d \xC3\xA9\xFF";
  EXPECT_EQ(with_plain_blanks(text), "a b c d \xC3\xA9\xFF");
  EXPECT_EQ(with_visible_blanks(text), "a\\u00a0b\\u200ac\\u3000d \xC3\xA9\xFF");
  EXPECT_EQ(with_plain_blanks("a b\t"), "a b\t");
}

TEST(AsciiTwins, ReplaceCharactersThatOnlyLookLikeAscii) {
  EXPECT_EQ(with_ascii_twins("–nnodes"), "-nnodes");
  EXPECT_EQ(with_ascii_twins("—\u200bn\u043ede ２"), "-node 2");
  EXPECT_EQ(with_ascii_twins("été\xFF"), "été\xFF");
}

TEST(Lookalike, IsNamedUnlessTheTextIsOfAnotherScript) {
  EXPECT_EQ(describe_lookalike("–nnodes", /*is_typed=*/false), "; its '–' is U+2013, which only looks like '-'");
  EXPECT_EQ(describe_lookalike("“2”", /*is_typed=*/false), "; its '“' is U+201C, which only looks like '\"'");
  EXPECT_EQ(describe_lookalike("\"2\"", /*is_typed=*/false),
            "; its quotes belong to the value: docker's --env-file keeps them");
  EXPECT_EQ(describe_lookalike("\"2\"", /*is_typed=*/true),
            "; its quotes belong to the value: no shell has removed them");
  for (const char* const text : {"", "2", "2\u200b", "\"", "a\"b", "été", "данные", "日本–語", "\xFF"}) {
    EXPECT_EQ(describe_lookalike(text, /*is_typed=*/false), "") << text;
  }
}

TEST(UnfilledTexts, AreVariablesOfAShellAndPlaceholders) {
  for (const char* const text : {"$GPUS", "${NPROC}", "$(nproc)", "`nproc`", "$((N + 1))"}) {
    EXPECT_EQ(describe_unfilled(text), ", and no shell has expanded this") << text;
  }
  for (const char* const text : {"$GPUS", "${NPROC}", "$(nproc --all)", "`nproc`"}) {
    EXPECT_EQ(describe_wholly_unfilled(text), ", and no shell has expanded this") << text;
  }
  for (const char* const text : {"<N>", "<number of nodes>", "{{ gpus }}", "%GPUS%"}) {
    EXPECT_EQ(describe_wholly_unfilled(text), ", not a placeholder") << text;
  }
}

TEST(UnfilledTexts, AreNoneWhereMoreStandsThere) {
  for (const char* const text :
       {"", "4", "$", "{}", "N", "N_GPUS", R"({"a": 1})", "{rank}-{host}", "${a}: ${b}", "a{b}"}) {
    EXPECT_EQ(describe_wholly_unfilled(text), "") << text;
  }
}

TEST(SpelledLikeVariables, AreCapitalsWithAnUnderscore) {
  for (const char* const text : {"YOUR_IP", "MASTER_IP_HERE", "NODE0_ADDR"}) {
    EXPECT_TRUE(is_spelled_like_variable(text)) << text;
  }
  for (const char* const text : {"", "GPU7", "master_node", "NODE-0", "Gpu_7", "10.0.0.1"}) {
    EXPECT_FALSE(is_spelled_like_variable(text)) << text;
  }
}

}  // namespace
}  // namespace muster

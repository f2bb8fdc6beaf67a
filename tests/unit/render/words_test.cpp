// Texts of the user's in a manifest: quoting, and filling line by line.
#include "render/manifest.hpp"

#include <gtest/gtest.h>

namespace muster::render {
namespace {

TEST(QuotedText, EscapesWhatAReaderOfYamlWouldTakeForSomethingElse) {
  EXPECT_EQ(quoted_text("a b: #c 'd' {e} yes"), R"("a b: #c 'd' {e} yes")");
  EXPECT_EQ(quoted_text("\"\\\n\t\r\x01\x7f"), R"("\"\\\n\t\u000d\u0001\u007f")");
  EXPECT_EQ(quoted_text("\xc2\x85\xe2\x80\xa8\xe2\x80\xa9\xef\xbb\xbf"), R"("\u0085\u2028\u2029\ufeff")");
  EXPECT_EQ(quoted_text("日本 ü 🙂"), "\"日本 ü 🙂\"");
}

TEST(QuotedArgument, KeepsADollarFromKubernetes) {
  EXPECT_EQ(quoted_argument("$(HOME) $$ $5$"), R"("$$(HOME) $$$$ $$5$$")");
}

TEST(FillLines, OmitsALineWithAnEmptyValue) {
  EXPECT_EQ(fill_lines("a: {a}\nb: {b}\n  - {c}\n", {{"a", "1"}, {"b", ""}, {"c", "x\ny"}}), "a: 1\n  - x\n  y\n");
}

TEST(FillLines, LooksAtNoValueAgain) {
  EXPECT_EQ(fill_lines("{a} ${B:-0} {}\n", {{"a", "{b} {{c}}"}, {"b", "2"}}), "{b} {{c}} ${B:-0} {}\n");
}

}  // namespace
}  // namespace muster::render

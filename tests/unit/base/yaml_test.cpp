// YAML in and out. What a template may say is in modes/read_template_test.cpp.
#include "base/yaml.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

using namespace std::string_literals;

json::value root_of(const std::string& text) {
  const auto document = parse_yaml(text, "x.yaml");
  EXPECT_TRUE(document) << document.error().message;
  return document ? document->root : json::value();
}

std::string error_of(const std::string& text) {
  const auto document = parse_yaml(text, "x.yaml");
  EXPECT_FALSE(document) << "no error for: " << text;
  if (document) {
    return "";
  }
  EXPECT_EQ(document.error().kind, ErrorKind::BadData);
  return document.error().message;
}

TEST(ParseYaml, KeepsEveryScalarAsText) {
  const json::value expected = {{"number", "08"}, {"truth", "yes"}, {"float", "1.50"}, {"text", "a b"}};

  EXPECT_EQ(root_of("number: 08\ntruth: yes\nfloat: 1.50\ntext: a b\n"), expected);
}

TEST(ParseYaml, ReadsNothingAsNull) {
  EXPECT_EQ(root_of(""), nullptr);
  EXPECT_EQ(root_of("# only a comment\n"), nullptr);
  EXPECT_EQ(root_of("a:\nb: ~\n"), (json::value{{"a", nullptr}, {"b", nullptr}}));
}

TEST(ParseYaml, KeepsTheOrderOfKeys) {
  const json::value root = root_of("z: 1\na: 2\nm: 3\n");

  std::string keys;
  for (const auto& member : root.as_object()) {
    keys += std::string(member.key());
  }
  EXPECT_EQ(keys, "zam");
}

TEST(ParseYaml, KnowsTheLineOfEachValue) {
  const auto document = parse_yaml("mode: x\nroles:\n  - name: a\n  - name: b\n    unset:\n      - V\n", "x");

  ASSERT_TRUE(document);
  EXPECT_EQ(document->lines.at("/mode"), 1);
  EXPECT_EQ(document->lines.at("/roles/0/name"), 3);
  EXPECT_EQ(document->lines.at("/roles/1/name"), 4);
  EXPECT_EQ(document->lines.at("/roles/1/unset/0"), 6);
}

TEST(ParseYaml, NamesTheFileAndTheLineOfInvalidYaml) {
  EXPECT_TRUE(error_of("a: 1\nb: [1,\n").starts_with("x.yaml:"));
  EXPECT_TRUE(error_of("a: 1\n\tb: 2\n").starts_with("x.yaml:2: "));
  EXPECT_TRUE(error_of("a: 1\nb: {c: 1\n").starts_with("x.yaml:"));
}

TEST(ParseYaml, RefusesAKeyThatOccursTwice) {
  EXPECT_EQ(error_of("a: 1\nb: 2\na: 3\n"), "x.yaml:3: the key 'a' occurs twice");
}

TEST(ParseYaml, RefusesAKeyThatIsNoText) {
  EXPECT_EQ(error_of("a: 1\n[b, c]: 2\n"), "x.yaml:2: a key must be plain text");
}

TEST(ParseYaml, RefusesAnchorsAndAliases) {
  for (const std::string text :
       {"a: &x 1\n", "a: &x 1\nb: *x\n", "a: &x [1]\n", "a: &x {b: 1}\n", "&x a: 1\n", "a: &x\n", "- &x\n- *x\n"}) {
    EXPECT_EQ(error_of(text), "x.yaml: anchors and aliases are not allowed") << text;
  }
}

TEST(ParseYaml, RefusesABombOfAliasesAtOnce) {
  std::string bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before + "," + before + "," + before + "," +
            before + "," + before + "," + before + "]\n";
  }

  EXPECT_EQ(error_of(bomb), "x.yaml: anchors and aliases are not allowed");
}

TEST(ParseYaml, TakesAmpersandsAndStarsInsideText) {
  EXPECT_EQ(root_of("a: x && y\nb: '*'\nc: \"&z\"\n"), (json::value{{"a", "x && y"}, {"b", "*"}, {"c", "&z"}}));
}

TEST(ParseYaml, RefusesASecondDocument) {
  EXPECT_EQ(error_of("a: 1\n---\nb: 2\n"), "x.yaml: more than one document");
}

TEST(ParseYaml, TakesTheMarksOfASingleDocument) {
  for (const std::string text :
       {"---\na: 1\n", "a: 1\n...\n", "---\na: 1\n...\n", "# x\n---\na: 1\n", "%YAML 1.2\n---\na: 1\n",
        "\xEF\xBB\xBF"
        "a: 1\n",
        "a: 1\n\n# end\n"}) {
    EXPECT_EQ(root_of(text), (json::value{{"a", "1"}})) << text;
  }
}

TEST(ParseYaml, RefusesTextWithEndlesslyManyDocuments) {
  for (const std::string text : {",", ",a", ",a: b\n"}) {
    EXPECT_EQ(error_of(text), "x.yaml: more than one document");
  }
}

TEST(ParseYaml, RefusesTooDeepNesting) {
  EXPECT_NE(error_of(std::string(40, '[') + std::string(40, ']')).find("nested too deeply"), std::string::npos);
  EXPECT_NE(error_of(std::string(100'000, '[')).find("x.yaml:"), std::string::npos);
}

TEST(ParseYaml, AlwaysNamesALineOfTheText) {
  for (const std::string text :
       {"a: [", "{", "\"", "a: {b: 1", "- [a, b", "%YAML 9.9\n---\n", "!", "? [", "a: !<", "|", "\x01"}) {
    const auto document = parse_yaml(text, "x.yaml");
    if (!document) {
      EXPECT_EQ(document.error().message.find("x.yaml:0"), std::string::npos) << text;
    }
  }
}

TEST(ToYaml, PrintsTextInQuotesAndTheRestPlain) {
  const json::value document = {{"text", "8"},
                                {"number", 8},
                                {"truth", true},
                                {"nothing", nullptr},
                                {"list", {"a", nullptr, 1}},
                                {"empty", json::array{}},
                                {"object", json::object{}}};

  EXPECT_EQ(to_yaml(document), R"(text: "8"
number: 8
truth: true
nothing: null
list:
  - "a"
  - null
  - 1
empty:
  []
object:
  {}
)");
}

TEST(ToYaml, WritesWhatATerminalActsUponAsEscapes) {
  const std::string value =
      "a\x1b\x7f\xC2\x9B"
      "2J\xE2\x80\xAE\xF3\xA0\x80\x81 \xC3\xA9 \xF0\x9F\x9A\x80";
  const std::string text = to_yaml(json::object{{"key", value}});

  EXPECT_EQ(text, "key: \"a\\x1b\\x7f\\x9b2J\\u202e\\U000e0001 \xC3\xA9 \xF0\x9F\x9A\x80\"\n");
  const auto again = parse_yaml(text, "text");
  ASSERT_TRUE(again);
  EXPECT_EQ(again->root.as_object().at("key"), json::value(value));
}

TEST(ToYaml, KeepsAnyKey) {
  for (const std::string key : {"null", "true", "no", "8", "", "a: b", "# c", "- d"}) {
    EXPECT_EQ(root_of(to_yaml(json::object{{key, "x"}})), (json::value{{key, "x"}})) << key;
  }
}

TEST(ToYaml, IsReadBackAsTheSameText) {
  for (const std::string& text : {"plain"s,
                                  ""s,
                                  " "s,
                                  "no"s,
                                  "null"s,
                                  "~"s,
                                  "0x10"s,
                                  "a: b"s,
                                  "line\nend"s,
                                  "tab\t"s,
                                  "quote\" and \\"s,
                                  "# no comment"s,
                                  "- no list"s,
                                  "&a *b !c"s,
                                  "\xC3\xA9\xE2\x82\xAC"s,
                                  "\xF0\x9F\x9A\x80"s,
                                  "\x01\x7F"s,
                                  "{worker_port}"s,
                                  "%"s,
                                  "@"s,
                                  "`"s,
                                  "\r\n"s}) {
    EXPECT_EQ(root_of(to_yaml(json::array{json::string(text)})), (json::array{json::string(text)}));
  }
}

}  // namespace
}  // namespace muster

// JSON over several lines, for people and `diff`.
#include "base/json.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(PrettyJson, IndentsByTwoAndEndsWithALine) {
  const json::value document = {
      {"name", "x"}, {"list", {1, 2, nullptr}}, {"inner", {{"a", true}}}, {"objects", {{{"b", 1}}}}};

  EXPECT_EQ(pretty_json(document), R"({
  "name": "x",
  "list": [1,2,null],
  "inner": {
    "a": true
  },
  "objects": [
    {
      "b": 1
    }
  ]
}
)");
}

TEST(PrettyJson, WritesWhatATerminalActsUponAsEscapes) {
  const json::value document = json::array{
      "a\x1b\x7f\xC2\x9B"
      "2J\xE2\x80\xAE\xF3\xA0\x80\x81 \xC3\xA9 \xF0\x9F\x9A\x80"};
  const std::string text = pretty_json(document);

  EXPECT_EQ(text, "[\"a\\u001b\\u007f\\u009b2J\\u202e\\udb40\\udc01 \xC3\xA9 \xF0\x9F\x9A\x80\"]\n");
  EXPECT_EQ(json::parse(text), document);
}

TEST(PrettyJson, KeepsEmptyValuesOnOneLine) {
  EXPECT_EQ(pretty_json(json::object{}), "{}\n");
  EXPECT_EQ(pretty_json(json::array{}), "[]\n");
  EXPECT_EQ(pretty_json(json::object{{"a", json::object{}}, {"b", json::array{}}}),
            "{\n  \"a\": {},\n  \"b\": []\n}\n");
}

TEST(PrettyJson, IsTheSameDocumentWhenReadAgain) {
  const json::value document = {{"quote\"", "line\nend \\ \x01 \xC3\xA9"},
                                {"numbers", {0, -1, 1.25, 18'446'744'073'709'551'615ULL}},
                                {"nested", {{{"deep", {{"er", nullptr}}}}, false}}};

  EXPECT_EQ(json::parse(pretty_json(document)), document);
}

TEST(FindRepeatedKey, LooksAtEachObjectByItself) {
  EXPECT_EQ(find_repeated_key(R"({"a": {"b": 1}, "c": [{"b": 2}, {"b": 3}]})"), std::nullopt);
  EXPECT_EQ(find_repeated_key(R"({"a": 1, "b": {"c": 1.5, "d": null, "c": "x"}})"), "c");
  EXPECT_EQ(find_repeated_key(R"({"a": true, "\u0061": -1})"), "a") << "whatever way it is written";
  EXPECT_EQ(find_repeated_key(R"({"a": [1, )"), std::nullopt) << "what is torn is not its business";
}

TEST(Json, CountsKeys) {
  EXPECT_EQ(count_keys(R"({"a": {"b": ":\\"}, "a": [{"c\":": 1}]})"), 4U);
  EXPECT_EQ(count_keys("[]"), 0U);
}

TEST(ParseObject, RefusesNumbersThatNoReaderTakesBack) {
  for (const char* const large : {"1e309", "-1e999", "1e-400, \"b\": [{\"c\": 9e400}]"}) {
    EXPECT_FALSE(parse_object(std::string("{\"a\": ") + large + "}")) << large;
  }
  const auto object = parse_object(R"({"a": 1e308, "b": [1e-400, -0.0]})");
  ASSERT_TRUE(object);
  EXPECT_TRUE(parse_object(json::serialize(*object)));
  EXPECT_FALSE(parse_object("[]"));
}

TEST(DescribeJsonMistake, NamesWhatPeopleWriteThatJsonDoesNotHave) {
  EXPECT_EQ(describe_json_mistake("{\"a\": 1} // one"), "");  // a document has ended before it
  EXPECT_EQ(describe_json_mistake("{\"a\": 1 // one\n}"), ", and JSON has no comments");
  EXPECT_EQ(describe_json_mistake("# one\n{}"), ", and JSON has no comments");
  EXPECT_EQ(describe_json_mistake("{\"a\": [1, 2, ]}"), ", and JSON has no comma before a closing bracket");
  EXPECT_EQ(describe_json_mistake("{'a': 1}"), ", and JSON has no single quotes, but double ones");
  EXPECT_EQ(describe_json_mistake("{\"a\": True}"), ", and JSON has no True, but true, false and null");
  EXPECT_EQ(describe_json_mistake("{\"a\":\xC2\xA0"
                                  "1}"),
            ", and JSON has no blanks but those of ASCII");
  EXPECT_EQ(describe_json_mistake("{\"a\": x}"), "");
  EXPECT_EQ(describe_json_mistake("{\"a\": "), "");
  EXPECT_EQ(describe_json_mistake("{}"), "");
  EXPECT_EQ(describe_json_mistake(""), "");
}

}  // namespace
}  // namespace muster

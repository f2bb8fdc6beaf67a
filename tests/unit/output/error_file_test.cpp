// Error files of workers: the known forms, and torn or unknown content.
#include "base/json.hpp"
#include "base/text.hpp"
#include "output/line_framer.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

using namespace std::string_literals;

TEST(ReadErrorFile, KnowsTheFormOfTorchsRecord) {
  EXPECT_EQ(read_error_file(R"({"message": {"message": "RuntimeError: CUDA out of memory",
                                            "extraInfo": {"py_callstack": "Traceback ...",
                                                          "timestamp": "1700000000"}}})"),
            "RuntimeError: CUDA out of memory");
}

TEST(ReadErrorFile, KnowsTheShortForm) {
  EXPECT_EQ(read_error_file(R"({"message": "no data", "errorCode": 3})"), "no data");
}

TEST(ReadErrorFile, TakesTheFirstLine) {
  EXPECT_EQ(read_error_file(R"({"message": "\n  first\nsecond\n"})"), "first");
}

TEST(ReadErrorFile, ShortensALongMessage) {
  const std::string shown = read_error_file(json::serialize(json::object{{"message", std::string(5'000, 'x')}}));

  EXPECT_EQ(shown, std::string(997, 'x') + "...");
}

TEST(ReadErrorFile, SaysNothingOfWhatItDoesNotKnow) {
  for (const std::string& content : {""s,
                                     " "s,
                                     "{"s,
                                     "{}"s,
                                     "[]"s,
                                     "null"s,
                                     "7"s,
                                     "\"text\""s,
                                     "RuntimeError: x"s,
                                     R"({"message": 7})"s,
                                     R"({"message": null})"s,
                                     R"({"message": []})"s,
                                     R"({"message": {}})"s,
                                     R"({"message": {"message": 7}})"s,
                                     R"({"message": {"message": {"message": "x"}}})"s,
                                     R"({"error": "x"})"s,
                                     R"({"message": "x")"s,
                                     R"({"message": "x"} more)"s,
                                     R"({"message": "x", "extraInfo": [1e999]})"s,
                                     "{\"message\": \"\xFF\"}"s,
                                     "\0\0\0"s,
                                     "\x80\x04\x95"s}) {
    EXPECT_EQ(read_error_file(content), "") << content;
  }
}

TEST(ReadErrorFile, SaysNothingOfATornFileWhereverItIsTorn) {
  const std::string whole = R"({"message": {"message": "RuntimeError", "extraInfo": {"a": [1, 2]}}})";
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_EQ(read_error_file(whole.substr(0, length)), "");
  }
}

TEST(ReadErrorFile, SurvivesDeepNesting) {
  const std::string deep(100'000, '[');
  EXPECT_EQ(read_error_file(deep), "");
  EXPECT_EQ(read_error_file("{\"a\":" + deep), "");
}

TEST(PassOnErrorFile, AddsTheExitCodeToALongMessage) {
  EXPECT_EQ(pass_on_error_file(R"({"message": {"message": "x", "extraInfo": {"timestamp": "1"}}, "more": [1]})", 7),
            R"({"message":{"message":"x","extraInfo":{"timestamp":"1"},"errorCode":7},"more":[1]})");
  EXPECT_EQ(pass_on_error_file(R"({"message": {"errorCode": 1}})", -9), R"({"message":{"errorCode":-9}})");
  EXPECT_EQ(pass_on_error_file(R"({"message": {}})", 0), R"({"message":{}})");
}

TEST(PassOnErrorFile, KeepsAShortFileUnchanged) {
  EXPECT_EQ(pass_on_error_file(R"({"message": "out of luck", "timestamp": 10})", 7),
            R"({"message":"out of luck","timestamp":10})");
}

TEST(PassOnErrorFile, PassesNothingElseOn) {
  for (const std::string content :
       {"", "{", "null", "[]", "{}", R"({"message": 5})", R"({"message": [1]})", R"({"a": "x"})"}) {
    EXPECT_EQ(pass_on_error_file(content, 7), "") << content;
  }
}

}  // namespace
}  // namespace muster

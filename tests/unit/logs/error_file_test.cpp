// What workers leave in their error files, and what they leave there by accident.
#include <muster/base/json.hpp>
#include <muster/base/text.hpp>
#include <muster/logs/error_file.hpp>

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
  const std::string shown =
      read_error_file(json::serialize(json::object{{"message", std::string(5'000, 'x')}}));

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
                                     "{\"message\": \"\xFF\"}"s,
                                     "\0\0\0"s,
                                     "\x80\x04\x95"s}) {
    EXPECT_EQ(read_error_file(content), "") << content;
  }
}

TEST(ReadErrorFile, SaysNothingOfATornFileWhereverItIsTorn) {
  const std::string whole =
      R"({"message": {"message": "RuntimeError", "extraInfo": {"a": [1, 2]}}})";
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_EQ(read_error_file(whole.substr(0, length)), "");
  }
}

TEST(ReadErrorFile, SurvivesDeepNesting) {
  const std::string deep(100'000, '[');
  EXPECT_EQ(read_error_file(deep), "");
  EXPECT_EQ(read_error_file("{\"a\":" + deep), "");
}

}  // namespace
}  // namespace muster

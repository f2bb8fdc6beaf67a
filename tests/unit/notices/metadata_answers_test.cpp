// The answers of each cloud, as its documentation has them, and what others may say.

#include "notices/metadata.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using Notice = std::optional<milliseconds>;

// 2017-09-18T08:20:00Z
constexpr std::chrono::system_clock::time_point kNow{1'505'722'800s};

constexpr Notice kNone;
constexpr Notice kUnreadable{-1ms};

Notice notice_of(Cloud cloud, const std::string& body, int status = 200, std::string_view own_name = "") {
  const auto read = read_cloud_notice(cloud, {status, body}, own_name, kNow);
  return read ? *read : kUnreadable;
}

std::string azure_event(const std::string& fields) {
  return R"({"DocumentIncarnation":1,"Events":[{"EventId":"a")" + fields + "}]}";
}

TEST(MetadataAnswers, ReadsTheRemainingTimeOfAws) {
  EXPECT_EQ(notice_of(Cloud::Aws, R"({"action": "terminate", "time": "2017-09-18T08:22:00Z"})"), 120s);
  EXPECT_EQ(notice_of(Cloud::Aws, R"({"action":"hibernate","time":"2017-09-18T08:19:00Z"})"), 0s);
  EXPECT_EQ(notice_of(Cloud::Aws, R"({"action":"stop","time":"9999-12-31T23:59:59Z"})"), 315'360'000s);
  EXPECT_EQ(notice_of(Cloud::Aws, "<?xml version=\"1.0\"?>", 404), kNone);
}

TEST(MetadataAnswers, TakesNothingElseOfAws) {
  for (const char* body :
       {"", "{}", "[]", "null", R"({"action":"stop"})", R"({"action":"stop","time":12})",
        R"({"action":"stop","time":"2017-09-18"})", R"({"action":"stop","time":"2017-02-30T08:22:00Z"})",
        R"({"action":"stop","time":"2017-09-18T24:22:00Z"})", R"({"action":"stop","time":"-017-09-18T08:22:00Z"})",
        R"({"time":"2017-09-18T08:22:00Z"})"}) {
    EXPECT_EQ(notice_of(Cloud::Aws, body), kUnreadable) << body;
  }
  const char* const good = R"({"action":"stop","time":"2017-09-18T08:22:00Z"})";
  EXPECT_EQ(notice_of(Cloud::Aws, good, 401), kUnreadable);
}

TEST(MetadataAnswers, ReadsTheRemainingTimeOfGcp) {
  EXPECT_EQ(notice_of(Cloud::Gcp, "TRUE\n"), 30s);
  EXPECT_EQ(notice_of(Cloud::Gcp, "FALSE"), kNone);
  EXPECT_EQ(notice_of(Cloud::Gcp, "true"), kUnreadable);
  EXPECT_EQ(notice_of(Cloud::Gcp, ""), kUnreadable);
  EXPECT_EQ(notice_of(Cloud::Gcp, "TRUE", 404), kUnreadable);
}

TEST(MetadataAnswers, ReadsTheRemainingTimeOfAzure) {
  const auto left = [](const std::string& fields) { return notice_of(Cloud::Azure, azure_event(fields)); };
  EXPECT_EQ(left(R"(,"EventType":"Preempt","NotBefore":"Mon, 18 Sep 2017 08:20:40 GMT")"), 40s);
  EXPECT_EQ(left(R"(,"EventType":"Terminate","NotBefore":"2017-09-18T08:25:00Z")"), 300s);
  EXPECT_EQ(left(R"(,"EventType":"Preempt","EventStatus":"Started","NotBefore":"")"), 30s);
  EXPECT_EQ(left(R"(,"EventType":"Preempt","NotBefore":"Mon, 18 Foo 2017 08:20:40 GMT")"), 30s);
  EXPECT_EQ(left(R"(,"EventType":"Preempt","NotBefore":"Mon, 18 Sep 99999999999 08:20:40 GMT")"), 30s);
  EXPECT_EQ(left(R"(,"EventType":"Freeze","NotBefore":"")"), kNone);
  EXPECT_EQ(left(R"(,"EventType":7)"), kNone);
  EXPECT_EQ(notice_of(Cloud::Azure, R"({"DocumentIncarnation":1,"Events":[]})"), kNone);
  EXPECT_EQ(notice_of(Cloud::Azure, R"({"Events":[1,null,[]]})"), kNone);
  EXPECT_EQ(notice_of(Cloud::Azure, R"({"Events":{}})"), kUnreadable);
  EXPECT_EQ(notice_of(Cloud::Azure, R"({"error":"Bad request"})", 400), kUnreadable);
}

TEST(MetadataAnswers, TakesTheEarliestEventOfThisMachine) {
  const std::string body = R"({"Events":[{"EventType":"Preempt","Resources":["other"],"NotBefore":""},)"
                           R"({"EventType":"Terminate","Resources":["x","Own_1"],"NotBefore":"2017-09-18T08:25:00Z"},)"
                           R"({"EventType":"Terminate","Resources":["own_1"],"NotBefore":"2017-09-18T08:24:00Z"}]})";
  EXPECT_EQ(notice_of(Cloud::Azure, body, 200, "own_1"), 240s);
  EXPECT_EQ(notice_of(Cloud::Azure, body, 200, "third"), kNone);
  EXPECT_EQ(notice_of(Cloud::Azure, body), 30s) << "who does not know its name takes all";
}

TEST(MetadataAnswers, ReadsHttpInPieces) {
  const std::string whole = "HTTP/1.1 404 Not Found\r\nContent-Length: 3\r\n\r\nabc";
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto part = read_http_answer(std::string_view(whole).substr(0, size), false);
    ASSERT_TRUE(part) << size;
    EXPECT_FALSE(*part) << size;
    EXPECT_FALSE(read_http_answer(std::string_view(whole).substr(0, size), true)) << size;
  }
  const auto answer = read_http_answer(whole, false);
  ASSERT_TRUE(answer && *answer);
  EXPECT_EQ((*answer)->status, 404);
  EXPECT_EQ((*answer)->body, "abc");
}

TEST(MetadataAnswers, ReadsBodiesOfEachForm) {
  const auto pieces =
      read_http_answer("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nTR\r\n2\r\nUE\r\n0\r\n\r\n", false);
  ASSERT_TRUE(pieces && *pieces);
  EXPECT_EQ((*pieces)->body, "TRUE");
  const std::string unmeasured = "HTTP/1.0 200 OK\r\n\r\nTRUE";
  EXPECT_FALSE(read_http_answer(unmeasured, false).value());
  const auto ended = read_http_answer(unmeasured, true);
  ASSERT_TRUE(ended && *ended);
  EXPECT_EQ((*ended)->body, "TRUE");
}

TEST(MetadataAnswers, LimitsTheSizeOfAnAnswer) {
  EXPECT_FALSE(read_http_answer("SSH-2.0-OpenSSH_9.2\r\n", false));
  EXPECT_FALSE(read_http_answer("HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n", false));
  EXPECT_FALSE(read_http_answer(std::string(kMostMetadataBytes + 1, 'x'), false));
  EXPECT_FALSE(read_http_answer("HTTP/1.1 200 OK\r\nX: " + std::string(20'000, 'x') + "\r\n\r\n", false));
}

TEST(MetadataAnswers, PutsNoLineEndIntoAHeader) {
  EXPECT_EQ(read_metadata_word({200, "AQAE==\n"}), "AQAE==");
  EXPECT_EQ(read_metadata_word({200, "a\r\nHost: b"}), std::nullopt);
  EXPECT_EQ(read_metadata_word({200, ""}), std::nullopt);
  EXPECT_EQ(read_metadata_word({403, "AQAE=="}), std::nullopt);
  EXPECT_EQ(read_metadata_word({200, std::string(2'000, 'x')}), std::nullopt);
}

TEST(MetadataAnswers, CrossesThePipe) {
  const auto reply = decode_reply(encode_reply(MetadataReply{{200, "a\nb\"\xff"}, "own"}));
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->answer.status, 200);
  EXPECT_EQ(reply->answer.body, "a\nb\"\xef\xbf\xbd");
  EXPECT_EQ(reply->own_name, "own");
  EXPECT_EQ(decode_reply(encode_reply(Error{ErrorKind::System, "why"})).error().message, "why");
  EXPECT_FALSE(decode_reply(""));
}

}  // namespace
}  // namespace muster

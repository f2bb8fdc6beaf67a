// The answers of each cloud, as its documentation has them, and what others may say.

#include "notices/metadata.hpp"

#include <gtest/gtest.h>

#include <algorithm>

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

/// The answer of these bytes, in pieces; empty: they are incomplete, or none.
std::optional<HttpAnswer> answer_of(std::string_view bytes, std::size_t piece, bool has_ended = false) {
  HttpReader reader;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size()))) {
    auto answer = reader.feed(bytes.substr(0, piece));
    if (!answer || *answer) {
      return answer ? std::move(*answer) : std::nullopt;
    }
  }
  auto last = has_ended ? reader.end() : Result<HttpAnswer>(Error{ErrorKind::Incomplete, ""});
  return last ? std::optional(std::move(*last)) : std::nullopt;
}

bool is_refused(const std::string& bytes) {
  return !HttpReader().feed(bytes);
}

TEST(MetadataAnswers, ReadsHttpInPieces) {
  const std::string whole = "HTTP/1.1 404 Not Found\r\nContent-Length: 3\r\n\r\nabc";
  for (std::size_t size = 0; size < whole.size(); ++size) {
    HttpReader reader;
    const auto part = reader.feed(whole.substr(0, size));
    ASSERT_TRUE(part) << size;
    EXPECT_FALSE(*part) << size;
    EXPECT_FALSE(reader.end()) << size;
  }
  for (std::size_t piece = 1; piece <= whole.size(); ++piece) {
    const auto answer = answer_of(whole, piece);
    ASSERT_TRUE(answer) << piece;
    EXPECT_EQ(answer->status, 404);
    EXPECT_EQ(answer->body, "abc");
  }
}

TEST(MetadataAnswers, ReadsBodiesOfEachForm) {
  const std::string chunks = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nTR\r\n2\r\nUE\r\n0\r\n\r\n";
  const std::string unmeasured = "HTTP/1.0 200 OK\r\n\r\nTRUE";
  for (const std::size_t piece : {1, 2, 3, 7, 100}) {
    EXPECT_EQ(answer_of(chunks, piece).value_or(HttpAnswer{}).body, "TRUE") << piece;
    EXPECT_FALSE(answer_of(unmeasured, piece)) << piece;
    EXPECT_EQ(answer_of(unmeasured, piece, /*has_ended=*/true).value_or(HttpAnswer{}).body, "TRUE") << piece;
  }
  EXPECT_FALSE(HttpReader().end());
}

TEST(MetadataAnswers, LimitsTheSizeOfAnAnswer) {
  EXPECT_TRUE(is_refused("SSH-2.0-OpenSSH_9.2\r\n"));
  EXPECT_TRUE(is_refused("HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n"));
  EXPECT_TRUE(is_refused(std::string(kMostMetadataBytes + 1, 'x')));
  EXPECT_TRUE(is_refused("HTTP/1.1 200 OK\r\nX: " + std::string(20'000, 'x') + "\r\n\r\n"));
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

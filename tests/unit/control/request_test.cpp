// Requests and answers of the control socket, written and read back, and what is refused.
#include "control/control.hpp"

#include <gtest/gtest.h>

namespace muster::control {
namespace {

using std::chrono::milliseconds;

std::string written_again(const Request& request) {
  const std::string line = write_request(request);
  const auto read = parse_request(std::string_view(line).substr(0, line.size() - 1));
  return read ? write_request(*read) : read.error().message;
}

std::string refusal_of(std::string_view line) {
  const auto request = parse_request(line);
  return request ? "it was read" : request.error().message;
}

TEST(ControlRequests, AreReadAsTheyWereWritten) {
  for (const Request& request : std::vector<Request>{
           HelloRequest{}, StatusRequest{}, StopRequest{}, StopRequest{milliseconds(1'500)},
           SuspendRequest{milliseconds(30'000), "rack 7"}, SuspendRequest{}, WithdrawRequest{}, SavedRequest{3},
           SavedRequest{}, StacksRequest{}, StacksRequest{AskNccl::IfSound}, StacksRequest{AskNccl::Always}}) {
    EXPECT_EQ(written_again(request), write_request(request));
  }
  EXPECT_EQ(write_request(StopRequest{milliseconds(1'500)}), "{\"control\":1,\"request\":\"stop\",\"grace\":1.5E0}\n");
}

TEST(ControlRequests, AreRefusedWithWhatWasExpected) {
  EXPECT_NE(refusal_of("").find("one object of JSON"), std::string::npos);
  EXPECT_NE(refusal_of("GET / HTTP/1.1").find("one object of JSON"), std::string::npos);
  EXPECT_NE(refusal_of("[1]").find("one object of JSON"), std::string::npos);
  EXPECT_NE(refusal_of("{}").find("\"control\":1"), std::string::npos);
  EXPECT_NE(refusal_of(R"({"control":2,"request":"status"})").find("version 2"), std::string::npos);
  EXPECT_NE(refusal_of(R"({"control":1,"request":"reboot"})").find("none of"), std::string::npos);
  EXPECT_NE(refusal_of(R"({"control":1})").find("none of"), std::string::npos);
  EXPECT_NE(refusal_of(R"({"control":1,"request":"stop","grace":-1})").find("grace"), std::string::npos);
  EXPECT_NE(refusal_of(R"({"control":1,"request":"stop","grace":"1"})").find("grace"), std::string::npos);
  EXPECT_NE(refusal_of(R"({"control":1,"request":"suspend","within":1e300})").find("within"), std::string::npos);
  EXPECT_NE(refusal_of(R"({"control":1,"request":"suspend","reason":1})").find("reason"), std::string::npos);
  EXPECT_NE(refusal_of(R"({"control":1,"request":"saved","rank":-1})").find("rank"), std::string::npos);
  EXPECT_NE(refusal_of(R"({"control":1,"request":"stacks","ask_nccl":true})").find("ask_nccl"), std::string::npos);
  const std::string deep = R"({"control":1,"request":"status","x":)" + std::string(2'000, '[');
  EXPECT_NE(refusal_of(deep).find("one object of JSON"), std::string::npos);
}

TEST(ControlRequests, TakeAReasonAsOneLine) {
  const auto request = parse_request(R"({"control":1,"request":"suspend","reason":"a\nb\u001b[31m"})");
  ASSERT_TRUE(request);
  const std::string reason = std::get<SuspendRequest>(*request).reason;
  EXPECT_EQ(reason.find('\n'), std::string::npos);
  EXPECT_EQ(reason.find('\x1b'), std::string::npos);
}

TEST(ControlAnswers, SayWhatWasRefusedAndWhy) {
  const auto done = parse_answer(R"({"control":1,"ok":true,"missing":0})");
  ASSERT_TRUE(done);
  EXPECT_EQ(done->at("missing").as_int64(), 0);
  const std::string refusal = write_refusal("the job is ending");
  const auto refused = parse_answer(std::string_view(refusal).substr(0, refusal.size() - 1));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "the job is ending");
  EXPECT_FALSE(parse_answer("rubbish"));
}

}  // namespace
}  // namespace muster::control

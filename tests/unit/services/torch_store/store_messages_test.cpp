// Messages of the store's process to the agent are read back unchanged.
#include "services/torch_store/store_process.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

std::string words(const StoreMessage& message) {
  if (const auto* const notice = std::get_if<StoreNotice>(&message)) {
    return "remark " + notice->text;
  }
  if (const auto* const end = std::get_if<StoreEnd>(&message)) {
    return "end " + end->why;
  }
  if (const auto* const awaited = std::get_if<store::AwaitedKeys>(&message)) {
    std::string text = awaited->are_all ? "awaited" : "some awaited";
    for (const store::AwaitedKey& one : awaited->keys) {
      text += "; " + one.key + " by " + std::to_string(one.clients);
      for (const store::Process& process : one.processes) {
        text += ", " + describe(process);
      }
    }
    return text;
  }
  const auto& news = std::get<StoreStatus>(message);
  std::string text = "news " + std::to_string(news.init_barrier) + " " + std::to_string(news.expected) +
                     (news.is_complete ? " complete" : "");
  for (const store::Process& process : news.arrived) {
    text += "; " + describe(process);
  }
  return text;
}

TEST(StoreMessages, ComeBackAsTheyWere) {
  const std::vector<StoreMessage> messages = {
      StoreNotice{"a \"line\"\nand \xff"},
      StoreStatus{0, 4, false, {{"10.0.0.1", 4'294'967'295U}, {"::1", std::nullopt}}},
      StoreStatus{3, 4, true, {}},
      store::AwaitedKeys{},
      store::AwaitedKeys{{{"/\xff", 3, {{"::1", 7}, {"10.0.0.1"}}}, {"/b", 1, {}}}, false},
      StoreEnd{"no memory"}};
  FrameReader reader(1'000);
  std::vector<std::string> read;
  for (const StoreMessage& message : messages) {
    reader.feed(write_message(message));
    read.push_back(words(read_message(reader.next().value().value()).value()));
  }
  EXPECT_EQ(read,
            (std::vector<std::string>{
                "remark a \"line\"\nand \xEF\xBF\xBD", "news 0 4; 10.0.0.1, pid 4294967295; ::1", "news 3 4 complete",
                "awaited", "some awaited; /\xEF\xBF\xBD by 3, ::1, pid 7, 10.0.0.1; /b by 1", "end no memory"}));
}

TEST(StoreMessages, NothingElseIsTaken) {
  for (const char* const wrong :
       {"", "[]", "{}", R"({"why": 3})", R"({"init_barrier":0,"expected":1,"is_complete":0,"arrived":[]})",
        R"({"init_barrier":0,"expected":1,"is_complete":true,"arrived":[[]]})", R"({"keys":[]})",
        R"({"keys":[{"key":"/a","clients":1}],"are_all":true})"}) {
    EXPECT_FALSE(read_message(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace muster

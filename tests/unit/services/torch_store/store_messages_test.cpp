// Messages of the store's process to the agent are read back unchanged, however they are split.
#include "services/torch_store/store_process.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

std::string words(const StoreMessage& line) {
  if (const auto* const notice = std::get_if<StoreNotice>(&line)) {
    return "remark " + notice->text;
  }
  if (const auto* const end = std::get_if<StoreEnd>(&line)) {
    return "end " + end->why;
  }
  if (const auto* const awaited = std::get_if<store::AwaitedKeys>(&line)) {
    std::string text = awaited->are_all ? "awaited" : "some awaited";
    for (const store::AwaitedKey& one : awaited->keys) {
      text += "; " + one.key + " by " + std::to_string(one.clients);
      for (const store::Process& process : one.processes) {
        text += ", " + describe(process);
      }
    }
    return text;
  }
  const auto& news = std::get<StoreStatus>(line);
  std::string text = "news " + std::to_string(news.init_barrier) + " " + std::to_string(news.expected) +
                     (news.is_complete ? " complete" : "");
  for (const store::Process& process : news.arrived) {
    text += "; " + describe(process);
  }
  return text;
}

TEST(StoreLines, ComeBackAsTheyWere) {
  const std::vector<StoreMessage> lines = {
      StoreNotice{"a \"line\"\nand \xff"},
      StoreStatus{0, 4, false, {{"10.0.0.1", 4'294'967'295U}, {"::1", std::nullopt}}},
      StoreStatus{3, 4, true, {}},
      store::AwaitedKeys{},
      store::AwaitedKeys{{{"/\xff", 3, {{"::1", 7}, {"10.0.0.1"}}}, {"/b", 1, {}}}, false},
      StoreEnd{"no memory"}};
  std::string bytes;
  for (const StoreMessage& line : lines) {
    bytes += write_line(line);
  }
  StoreMessageReader reader;
  std::vector<std::string> read;
  for (const char byte : bytes) {
    for (const StoreMessage& line : reader.feed({&byte, 1}).value()) {
      read.push_back(words(line));
    }
  }
  EXPECT_EQ(read,
            (std::vector<std::string>{
                "remark a \"line\"\nand \xEF\xBF\xBD", "news 0 4; 10.0.0.1, pid 4294967295; ::1", "news 3 4 complete",
                "awaited", "some awaited; /\xEF\xBF\xBD by 3, ::1, pid 7, 10.0.0.1; /b by 1", "end no memory"}));
}

TEST(StoreLines, NothingElseIsTaken) {
  for (const char* const wrong :
       {"\n", "[]\n", "{}\n", "{\"end\": 3}\n", "{\"meeting\":0,\"expected\":1,\"is_complete\":0,\"arrived\":[]}\n",
        "{\"meeting\":0,\"expected\":1,\"is_complete\":true,\"arrived\":[[]]}\n", "{\"awaited\":[]}\n",
        "{\"awaited\":[[\"/a\",1]],\"are_all\":true}\n"}) {
    EXPECT_FALSE(StoreMessageReader().feed(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace muster

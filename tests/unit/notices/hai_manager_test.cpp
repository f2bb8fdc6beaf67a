// Messages to the manager of a task of HAI, byte by byte: Python reads them with pickle.loads.
#include "notices/hai.hpp"

#include <gtest/gtest.h>

#include <string>

namespace muster {
namespace {

TEST(WriteHaiRequest, IsALengthAndAPickledDictionary) {
  using namespace std::string_literals;

  EXPECT_EQ(write_hai_request("go_suspend"), "      39\x80\x02}X\x06\0\0\0sourceX\x0a\0\0\0go_suspends."s);
}

TEST(DescribeTelling, ReportsWhetherTheRequestSucceeded) {
  EXPECT_EQ(describe_reply(std::nullopt), "no answer in time");
  EXPECT_EQ(describe_reply(""), "done");
  EXPECT_EQ(describe_reply("it does not answer"), "it does not answer");
}

}  // namespace
}  // namespace muster

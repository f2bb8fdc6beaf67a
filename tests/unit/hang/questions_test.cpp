// The list of --hang-ask.
#include "hang/questions.hpp"

#include <gtest/gtest.h>

namespace muster::hang {
namespace {

Result<std::set<Question>> read(const std::string& list) {
  return read_questions({list, from_flag("--hang-ask")});
}

TEST(HangQuestions, AreReadFromAList) {
  EXPECT_EQ(read("stacks,py-spy,recorder").value(), usual_questions());
  EXPECT_EQ(read("nccl").value(), std::set{Question::Nccl});
  EXPECT_EQ(read("none").value(), std::set<Question>());
  EXPECT_EQ(name_of(Question::PySpy), "py-spy");
  EXPECT_EQ(name_of(Question::Nccl), "nccl");
}

TEST(HangQuestions, AreRefusedWithThoseThatAreKnown) {
  for (const char* const list : {"", "gdb", "stacks,", "stacks,none", "stacks recorder"}) {
    const auto refused = read(list);
    ASSERT_FALSE(refused) << list;
    EXPECT_EQ(refused.error().message, "--hang-ask is '" + std::string(list) +
                                           "', expected none, or a list of stacks, py-spy, recorder and nccl");
  }
}

}  // namespace
}  // namespace muster::hang

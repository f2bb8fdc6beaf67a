// Runs each folder beside this file as one test: environment + arguments -> expected plan or error.
//
// GOLDEN_UPDATE=1 writes what is expected instead of comparing it; scripts/update-golden does that.
#include "case.hpp"

#include <gtest/gtest.h>

#include <cctype>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

namespace muster::golden {
namespace {

namespace fs = std::filesystem;

bool is_update() {
  return std::getenv("GOLDEN_UPDATE") != nullptr;
}  // NOLINT(concurrency-mt-unsafe)

/// "hai-node-1-of-2" becomes "HaiNode1Of2": dashes have a meaning in GoogleTest's filters.
std::string test_name(const std::string& folder) {
  std::string name;
  bool is_start = true;
  for (const char c : folder) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) {
      is_start = true;
      continue;
    }
    name += is_start ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    is_start = false;
  }
  return name;
}

std::string text_of(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

class GoldenCase : public testing::Test {
 public:
  explicit GoldenCase(fs::path folder) : folder_(std::move(folder)) {}

  void TestBody() override {
    fs::current_path(folder_);  // --template=template.yaml is a file of the case
    const auto given = read_case(".");
    ASSERT_TRUE(given) << given.error().message;
    const Outcome outcome = outcome_of(*given);
    if (is_update()) {
      update(outcome);
      return;
    }
    const std::string other =
        outcome.file == "expected.yaml" ? "expected-error.txt" : "expected.yaml";
    ASSERT_FALSE(fs::exists(other)) << "expected " << text_of(other) << "\nbut it is\n"
                                    << outcome.text;
    ASSERT_TRUE(fs::exists(outcome.file)) << "the case expects nothing; run scripts/update-golden";
    const std::string difference = first_difference(text_of(outcome.file), outcome.text);
    EXPECT_TRUE(difference.empty())
        << folder_.filename().string() << "/" << outcome.file << ", " << difference
        << "If this is meant, run scripts/update-golden and look at the "
           "difference.";
  }

 private:
  static void update(const Outcome& outcome) {
    fs::remove("expected.yaml");
    fs::remove("expected-error.txt");
    std::ofstream(outcome.file) << outcome.text;
  }

  fs::path folder_;
};

void register_cases() {
  std::set<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(GOLDEN_CASES)) {
    if (entry.is_directory()) {
      folders.insert(entry.path());
    }
  }
  for (const fs::path& folder : folders) {
    testing::RegisterTest("Golden",
                          test_name(folder.filename()).c_str(),
                          nullptr,
                          nullptr,
                          __FILE__,
                          __LINE__,
                          [folder]() -> testing::Test* { return new GoldenCase(folder); });
  }
}

TEST(FirstDifference, NamesTheLineAndShowsWhatIsBeforeIt) {
  EXPECT_EQ(first_difference("a\nb\nc\n", "a\nb\nc\n"), "");
  EXPECT_EQ(first_difference("a\nb\nc\n", "a\nb\nd\n"),
            "line 3\n             a\n             b\n  expected   c\n  but it is  d\n");
  EXPECT_EQ(first_difference("a\n", "a\nb\n"),
            "line 2\n             a\n  expected   \n  but it is  b\n");
}

}  // namespace
}  // namespace muster::golden

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  muster::golden::register_cases();
  return RUN_ALL_TESTS();
}

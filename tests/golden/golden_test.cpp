// Runs each case of the files beside this one as a test: what is given -> what is decided.
//
// GOLDEN_UPDATE=1 writes what is expected instead of comparing it; scripts/dev/update-golden does that.
#include "base/text.hpp"
#include "case.hpp"
#include "case_file.hpp"
#include "expectation.hpp"

#include <gtest/gtest.h>

#include <cctype>
#include <cstdlib>
#include <set>
#include <sstream>

namespace muster::golden {
namespace {

namespace fs = std::filesystem;

bool is_update() {
  return std::getenv("GOLDEN_UPDATE") != nullptr;  // NOLINT(concurrency-mt-unsafe)
}

/// "hai-node-1-of-2" becomes "HaiNode1Of2": dashes have a meaning in GoogleTest's filters.
std::string test_name(const std::string& words) {
  std::string name;
  bool is_start = true;
  for (const char c : words) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) {
      is_start = true;
      continue;
    }
    name += is_start ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    is_start = false;
  }
  return name;
}

/// The expected lines beside those that are, where they differ.
std::string difference(const std::vector<std::string>& expected, const std::vector<std::string>& found) {
  const auto lacks = [](const std::vector<std::string>& lines, const std::string& line) {
    return std::find(lines.begin(), lines.end(), line) == lines.end();
  };
  std::ostringstream text;
  for (const std::string& line : expected) {
    text << (lacks(found, line) ? "  expected   " + line + "\n" : "");
  }
  for (const std::string& line : found) {
    text << (lacks(expected, line) ? "  but it is  " + line + "\n" : "");
  }
  return text.str().empty() && expected != found ? "  other order of lines\n" : text.str();
}

class GoldenCase : public testing::Test {
 public:
  GoldenCase(fs::path file, std::string name) : file_(std::move(file)), name_(std::move(name)) {}

  void TestBody() override {
    fs::current_path(fs::path(GOLDEN_CASES) / "templates");  // --template=own.yaml is there
    const auto blocks = read_blocks(file_);
    ASSERT_TRUE(blocks) << blocks.error().message;
    const Block& block = find_block(*blocks, name_);
    const std::vector<std::string> parent =
        block.parent.empty() ? std::vector<std::string>() : lines_of(*blocks, find_block(*blocks, block.parent));
    const std::vector<std::string> found = without_those_of(parent, lines_of(*blocks, block));
    if (is_update()) {
      rewrite_expected(file_, name_, found);
      return;
    }
    EXPECT_EQ(difference(block.expected, found), "")
        << file_.filename().string() << ", " << name_
        << "\nIf this is meant, run scripts/dev/update-golden and look at the difference.";
  }

 private:
  static std::vector<std::string> lines_of(const std::vector<Block>& blocks, const Block& block) {
    const auto given = read_case(all_given(blocks, block));
    EXPECT_TRUE(given) << given.error().message;
    return given ? expectation_of(*given) : std::vector<std::string>{"! no case"};
  }

  fs::path file_;
  std::string name_;
};

void register_file(const fs::path& file) {
  const auto blocks = read_blocks(file);
  if (!blocks) {
    throw std::runtime_error(blocks.error().message);
  }
  for (const Block& block : *blocks) {
    testing::RegisterTest("Golden", test_name(file.stem().string() + "-" + block.name).c_str(), nullptr, nullptr,
                          __FILE__, __LINE__,
                          [file, name = block.name]() -> testing::Test* { return new GoldenCase(file, name); });
  }
}

void register_cases() {
  std::set<fs::path> files;
  for (const auto& entry : fs::directory_iterator(GOLDEN_CASES)) {
    if (entry.path().extension() == ".txt") {
      files.insert(entry.path());
    }
  }
  std::for_each(files.begin(), files.end(), register_file);
}

TEST(WithoutThoseOf, KeepsDifferencesAndNamesMissingKeys) {
  EXPECT_EQ(without_those_of({"> a: 1", "> b: 2", "> c: 3"}, {"> a: 1", "> b: 4"}),
            (std::vector<std::string>{"> b: 4", "> no c"}));
  EXPECT_EQ(without_those_of({"! 64 no"}, {"> a: 1"}), std::vector<std::string>{"> a: 1"});
}

}  // namespace
}  // namespace muster::golden

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  muster::golden::register_cases();
  return RUN_ALL_TESTS();
}

// Whether a report can be written, and what becomes of an older one.
#include <muster/report/report.hpp>

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace muster {
namespace {

namespace fs = std::filesystem;

class PrepareReport : public testing::Test {
 protected:
  PrepareReport() { fs::create_directory(folder_); }
  ~PrepareReport() override { fs::remove_all(folder_); }

  [[nodiscard]] std::string file(const std::string& name) const { return folder_ / name; }

  const fs::path folder_ = fs::path(testing::TempDir()) / "muster-prepare-report";
};

TEST_F(PrepareReport, LeavesNoFile) {
  EXPECT_TRUE(prepare_report({file("report.json"), {}}));
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(PrepareReport, RemovesAnOlderOne) {
  std::ofstream(file("report.json")) << "old";

  EXPECT_TRUE(prepare_report({file("report.json"), {}}));
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(PrepareReport, TakesWhatIsNoPlainFile) {
  EXPECT_TRUE(prepare_report({"/dev/null", {}}));
}

TEST_F(PrepareReport, SaysWhyThereCanBeNone) {
  const auto missing = prepare_report({file("missing/report.json"), {}});
  ASSERT_FALSE(missing);
  EXPECT_TRUE(missing.error().message.ends_with(
      "expected a file that can be written: No such file or directory"));
  const auto folder = prepare_report({folder_, {}});
  ASSERT_FALSE(folder);
  EXPECT_TRUE(
      folder.error().message.ends_with("expected a file that can be written: Is a directory"));
}

}  // namespace
}  // namespace muster

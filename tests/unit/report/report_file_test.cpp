// The file of a report: checked before the start, replaced where an older one exists, and its destination.
#include "base/file_io.hpp"
#include "base/json.hpp"
#include "outcomes.hpp"
#include "report/report.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace muster {
namespace {

namespace fs = std::filesystem;

class ReportFile : public testing::Test {
 protected:
  ReportFile() {
    std::string name = testing::TempDir() + "report_file_XXXXXX";
    folder_ = ::mkdtemp(name.data());
  }
  ~ReportFile() override { fs::remove_all(folder_); }

  std::string file(const std::string& name) const { return folder_ / name; }
  std::string content(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(file(name)).rdbuf();
    return text.str();
  }
  static std::string obstacle(const std::string& path) {
    const std::string start = "--report is '" + path + "', expected a file that can be written: ";
    const auto prepared = prepare_report({path, from_flag("--report")});
    return prepared ? "" : prepared.error().message.substr(start.size());
  }

  fs::path folder_;
};

TEST_F(ReportFile, IsNotThereBefore) {
  EXPECT_EQ(obstacle(file("report.json")), "");
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(ReportFile, IsNoOlderOne) {
  std::ofstream(file("report.json")) << "old";

  EXPECT_EQ(obstacle(file("report.json")), "");
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(ReportFile, MayBeNoPlainFile) {
  EXPECT_EQ(obstacle("/dev/null"), "");
}

TEST_F(ReportFile, IsRefusedWhereThereCanBeNone) {
  EXPECT_EQ(obstacle(file("missing/report.json")), "No such file or directory");
  EXPECT_EQ(obstacle(folder_), "Is a directory");
  EXPECT_EQ(obstacle("/dev/full"), "No space left on device");
  EXPECT_EQ(obstacle(file(std::string(250, 'x'))), "File name too long");
  if (fs::exists("/proc/self/fd")) {
    EXPECT_EQ(obstacle("/proc/report.json"), "No such file or directory");
    EXPECT_EQ(obstacle("/dev/fd/987654"), "Bad file descriptor");
  }
  fs::create_symlink("circle", file("circle"));
  EXPECT_EQ(obstacle(file("circle")), "Too many levels of symbolic links");
}

TEST_F(ReportFile, StandsWhereALinkLeadsToNothingYet) {
  fs::create_directory(file("real"));
  fs::create_symlink("real/report.json", file("link"));
  for (int i = 0; i < 2; ++i) {  // the second time, there is one
    EXPECT_EQ(obstacle(file("link")), "");
    EXPECT_TRUE(fs::is_empty(file("real")));
    ASSERT_TRUE(write_report(success(), file("link")));
    EXPECT_TRUE(fs::is_symlink(file("link")));
    EXPECT_NE(content("real/report.json"), "");
  }
}

TEST_F(ReportFile, IsAppendedToADescriptorOfOurs) {
  const UniqueFd out(::open(file("out").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  ASSERT_EQ(::write(out.get(), "before\n", 7), 7);
  fs::create_symlink("/proc/self/fd/" + std::to_string(out.get()), file("link"));
  for (const std::string& path : {"/dev/fd/" + std::to_string(out.get()), file("link")}) {
    EXPECT_EQ(obstacle(path), "");
    ASSERT_TRUE(write_report(success(), path));
  }
  ASSERT_EQ(::write(out.get(), "behind\n", 7), 7);

  const std::string document = pretty_json(to_document(success()));
  EXPECT_EQ(content("out"), "before\n" + document + document + "behind\n");
}

TEST_F(ReportFile, GoesIntoAPipeOfOurs) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const UniqueFd out(ends[0]);
  UniqueFd in(ends[1]);
  const std::string path = "/proc/self/fd/" + std::to_string(in.get());
  EXPECT_EQ(obstacle(path), "");
  EXPECT_EQ(obstacle("/dev/fd/" + std::to_string(out.get())), "Bad file descriptor");
  ASSERT_TRUE(write_report(success(), path));
  in.reset();

  std::string text(65'536, '\0');
  text.resize(static_cast<std::size_t>(::read(out.get(), text.data(), text.size())));
  EXPECT_EQ(text, pretty_json(to_document(success())));
}

}  // namespace
}  // namespace muster

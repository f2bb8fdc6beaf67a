// Files are written whole, with their permissions, and removed if they are private. Real files.
#include "fake_host.hpp"
#include "services/services.hpp"

#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <utility>

namespace muster {
namespace {

namespace fs = std::filesystem;

struct Host final : public FakeHost {
  void write_files(std::string /*what*/, HelperTask::Work work, HelperTask::Then then) override {
    auto written = hangs ? HelperTask::Answer() : work();
    if (is_killed_at_the_end) {
      written.reset();
    }
    answer = [then = std::move(then), written] { then(written); };
  }

  bool hangs = false;
  bool is_killed_at_the_end = false;  ///< the process that writes them
  std::function<void()> answer;
};

class PlannedFiles : public ::testing::Test {
 protected:
  PlannedFiles() : mask_(::umask(077)) { folder_ = ::mkdtemp(folder_.data()); }
  ~PlannedFiles() override {
    ::umask(mask_);
    fs::remove_all(folder_);
  }

  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  std::string start(std::vector<PlannedFile> files) {
    LaunchPlan plan;
    plan.files = std::move(files);
    service_->set_owner(owner_);
    const auto started = service_->start(plan);
    if (!started) {
      return started.error().message;
    }
    if (const auto answer = std::exchange(host_.answer, {})) {
      answer();
    }
    return owner_.failures.empty() ? std::string() : std::exchange(owner_.failures, {}).back();
  }
  std::string content(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(path(name)).rdbuf();
    return text.str();
  }
  int mode(const std::string& name) const { return static_cast<int>(fs::status(path(name)).permissions()); }
  long count() const { return std::distance(fs::directory_iterator(folder_), fs::directory_iterator()); }

  mode_t mask_;
  std::string folder_ = ::testing::TempDir() + "files_XXXXXX";
  Host host_;
  FakeOwner owner_;
  std::unique_ptr<Service> service_ = make_planned_files({.worker_port = {}, .run_folder = {}, .host = &host_});
};

TEST_F(PlannedFiles, HaveTheirContentAndTheirPermissionsWhateverTheUmaskIs) {
  EXPECT_EQ(start({{path("a"), "0664", "text"}, {path("b"), "0600", ""}}), "");

  EXPECT_EQ(content("a"), "text");
  EXPECT_EQ(mode("a"), 0664);
  EXPECT_EQ(mode("b"), 0600);
  EXPECT_EQ(count(), 2) << "nothing is left beside them";
}

TEST_F(PlannedFiles, ReplaceAnOlderOneAsAWhole) {
  std::ofstream(path("a")) << "an older one that is longer";
  const std::ifstream reader(path("a"));
  EXPECT_EQ(start({{path("a"), "0640", "new"}}), "");

  EXPECT_EQ(content("a"), "new");
  EXPECT_EQ(mode("a"), 0640);
  std::ostringstream old;
  old << reader.rdbuf();
  EXPECT_EQ(old.str(), "an older one that is longer") << "who had opened it reads that one";
}

TEST_F(PlannedFiles, AreWrittenWhereALinkLeads) {
  fs::create_directory(path("real"));
  std::ofstream(path("real/a")) << "old";
  fs::create_symlink("real/a", path("link"));
  EXPECT_EQ(start({{path("link"), "0640", "new"}}), "");

  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(content("real/a"), "new");
}

TEST_F(PlannedFiles, AreMadeWhereALinkLeadsToNothingYet) {
  fs::create_directory(path("real"));
  fs::create_symlink("middle", path("link"));
  fs::create_symlink("real/a", path("middle"));
  EXPECT_EQ(start({{path("link"), "0640", "new", true}}), "");

  EXPECT_TRUE(fs::is_symlink(path("link")) && fs::is_symlink(path("middle")));
  EXPECT_FALSE(fs::is_symlink(path("real/a")));
  EXPECT_EQ(content("real/a"), "new");
  service_->stop();
  EXPECT_FALSE(fs::exists(path("real/a")));
  EXPECT_TRUE(fs::is_symlink(path("link")));

  fs::create_symlink("circle", path("circle"));
  EXPECT_EQ(start({{path("circle"), "0640", "new"}}),
            "cannot write '" + path("circle") + "': Too many levels of symbolic links");
  fs::create_symlink("nosuch/a", path("lost"));
  EXPECT_EQ(start({{path("lost"), "0640", "new"}}),
            "cannot write '" + path("lost") + "': there is no folder '" + path("nosuch") + "'");
}

TEST_F(PlannedFiles, AreRemovedIfTheyArePrivateAndStillOurs) {
  EXPECT_EQ(
      start({{path("kept"), "0640", "x"}, {path("private"), "0640", "x", true}, {path("replaced"), "0640", "x", true}}),
      "");
  std::ofstream(path("other")) << "somebody else's";
  fs::rename(path("other"), path("replaced"));
  service_->stop();

  EXPECT_TRUE(fs::exists(path("kept")));
  EXPECT_FALSE(fs::exists(path("private")));
  EXPECT_EQ(content("replaced"), "somebody else's");
}

TEST_F(PlannedFiles, AreRemovedAlsoIfALaterOneCannotBeWritten) {
  EXPECT_NE(start({{path("private"), "0640", "x", true}, {path("missing/a"), "0640", "x"}}), "");
  service_->stop();

  EXPECT_EQ(count(), 0);
  EXPECT_EQ(owner_.ready, 0);
}

TEST_F(PlannedFiles, AreRemovedAfterTheirWriterTimedOut) {
  host_.is_killed_at_the_end = true;
  EXPECT_NE(start({{path("private"), "0640", "x", true}, {path("kept"), "0640", "x"}}), "");
  ASSERT_TRUE(fs::exists(path("private")));
  service_->stop();

  EXPECT_FALSE(fs::exists(path("private")));
  EXPECT_TRUE(fs::exists(path("kept")));
}

TEST_F(PlannedFiles, AreWaitedFor) {
  EXPECT_EQ(start({{path("a"), "0640", "x"}}), "");
  EXPECT_EQ(owner_.ready, 1);
}

TEST_F(PlannedFiles, NameThoseThatMayHang) {
  host_.hangs = true;
  EXPECT_EQ(start({{"/disk/a", "0640", "x"}}), "cannot write '/disk/a': its file system does not answer");
  EXPECT_EQ(start({{"/disk/a", "0640", "x"}, {"/other/b", "0640", "x"}}),
            "cannot write one of '/disk/a', '/other/b': its file system does not answer");
  EXPECT_EQ(owner_.ready, 0);
}

TEST_F(PlannedFiles, NameThePathThatCannotBeWritten) {
  const std::string missing = path("missing");
  EXPECT_EQ(start({{missing + "/a", "0640", "x"}}),
            "cannot write '" + missing + "/a': there is no folder '" + missing + "'");
  EXPECT_EQ(start({{folder_, "0640", "x"}}), "cannot write '" + folder_ + "': it is there and is no file");
}

}  // namespace
}  // namespace muster

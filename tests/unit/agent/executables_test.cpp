// Real files, looked at by a real process.
#include "agent/worker_starter.hpp"

#include <gtest/gtest.h>

#include <sys/stat.h>

#include <filesystem>
#include <fstream>

namespace muster {
namespace {

class ProgramsTest : public testing::Test {
 protected:
  ProgramsTest() {
    std::filesystem::create_directories(folder_);
    plan_.placement.nodes = 2;
  }
  ~ProgramsTest() override { std::filesystem::remove_all(folder_); }
  ProgramsTest(const ProgramsTest&) = delete;
  ProgramsTest& operator=(const ProgramsTest&) = delete;

  std::string path(const std::string& name) const { return folder_ / name; }

  void write(const std::string& name, const std::string& text, mode_t mode) const {
    std::ofstream(path(name)) << text;
    ::chmod(path(name).c_str(), mode);
  }

  WorkerPlan& add(const std::string& name) {
    plan_.workers.emplace_back().argv = {name};
    return plan_.workers.back();
  }

  void add_with_folder(const std::string& name) {
    WorkerPlan& worker = add("one");
    worker.makes_directory = true;
    worker.working_directory = path(name);
  }

  void find() {
    bool is_known = false;
    EXPECT_FALSE(programs_.find([&] { is_known = true; }));
    EXPECT_FALSE(is_known) << "in a later turn";
    io_.restart();
    while (!is_known && io_.run_one() > 0) {
    }
    EXPECT_TRUE(is_known);
  }

  std::filesystem::path folder_{std::filesystem::path(testing::TempDir()) / ("programs-" + std::to_string(::getpid()))};
  boost::asio::io_context io_;
  HelperProcesses helpers_{**GuardSharedMemory::make()};
  LaunchPlan plan_;
  std::map<std::string, std::string> variables_{{"PATH", folder_.string()}};
  Programs programs_{io_, helpers_, plan_, variables_};
};

TEST_F(ProgramsTest, AreFoundForEachWorker) {
  write("one", "#!/bin/sh\n", 0755);
  write("other\nname", "", 0755);
  add("one");
  add("other\nname");
  add(path("one"));

  find();

  EXPECT_EQ(programs_.of(0).value(), path("one"));
  EXPECT_EQ(programs_.of(1).value(), path("other\nname"));
  EXPECT_EQ(programs_.of(2).value(), path("one"));
}

TEST_F(ProgramsTest, AreMissingWithTheReason) {
  write("text", "", 0644);
  write("one", "", 0755);
  add("text");
  add("nowhere");
  add("one").script = path("nowhere.py");
  add("one");

  find();

  EXPECT_EQ(programs_.of(0).error().kind, ErrorKind::NotExecutable);
  EXPECT_EQ(programs_.of(0).error().message, "cannot run 'text': it is not executable");
  EXPECT_EQ(programs_.of(1).error().kind, ErrorKind::NotFound);
  EXPECT_EQ(programs_.of(2).error().kind, ErrorKind::NotFound);
  EXPECT_EQ(programs_.of(2).error().message, "no file '" + path("nowhere.py") + "'");
  EXPECT_TRUE(programs_.of(3));
}

TEST_F(ProgramsTest, HaveTheFolderThatTheWorkerIsToRunIn) {
  write("one", "", 0755);
  add_with_folder("folder/of/one");

  find();

  EXPECT_TRUE(programs_.of(0));
  EXPECT_TRUE(std::filesystem::is_directory(path("folder/of/one")));
}

TEST_F(ProgramsTest, CannotBeStartedWhereTheFolderCannotBeMade) {
  write("one", "", 0755);
  write("text", "", 0644);
  add_with_folder("text/below");

  find();

  EXPECT_EQ(programs_.of(0).error().kind, ErrorKind::System);
  EXPECT_EQ(programs_.of(0).error().message, "cannot make the folder '" + path("text/below") + "': Not a directory");
}

TEST_F(ProgramsTest, FollowInterpretersUpToALimit) {
  write("round", "#!" + path("round") + " -x\n", 0755);
  write("bare", "#! \t\n", 0755);
  add("round");
  add("bare");

  find();

  EXPECT_TRUE(programs_.of(0)) << "what becomes of it the kernel says";
  EXPECT_TRUE(programs_.of(1));
}

TEST_F(ProgramsTest, AreResolvedAtOnceOnASingleNode) {
  plan_.placement.nodes = 1;
  write("one", "", 0755);
  add("one");
  add("nowhere");

  EXPECT_TRUE(programs_.find([] { FAIL(); }));

  EXPECT_EQ(programs_.of(0).value(), path("one"));
  EXPECT_EQ(programs_.of(1).error().kind, ErrorKind::NotFound);
  io_.run();
}

TEST_F(ProgramsTest, AreNotReportedAfterCancel) {
  add("one");
  EXPECT_FALSE(programs_.find([] { FAIL(); }));

  programs_.cancel();

  io_.run();
}

}  // namespace
}  // namespace muster

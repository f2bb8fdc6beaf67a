// Reading a file that is waited for: real files.
#include "inputs/input_files.hpp"

#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

namespace muster {
namespace {

class LookAt : public ::testing::Test {
 protected:
  LookAt() { folder_ = ::mkdtemp(folder_.data()); }
  ~LookAt() override { std::filesystem::remove_all(folder_); }

  Input input(const std::string& name) const { return {"file", folder_ + "/" + name, "", ""}; }
  void write(const std::string& name, const std::string& content) const {
    std::ofstream(folder_ + "/" + name) << content;
  }

  std::string folder_ = ::testing::TempDir() + "look_XXXXXX";
};

TEST_F(LookAt, ReadsTheWholeFile) {
  const std::string content(100'000, 'x');
  write("a", content);

  EXPECT_EQ(read_input_file(input("a")).content, content);
  EXPECT_EQ(read_input_file(input("a")).error_number, 0);
}

TEST_F(LookAt, ReportsWhyAFileCannotBeRead) {
  write("a", "x");
  ASSERT_EQ(::mkfifo((folder_ + "/pipe").c_str(), 0600), 0);

  EXPECT_EQ(read_input_file(input("missing")).error_number, ENOENT);
  EXPECT_EQ(read_input_file(input("a/b")).error_number, ENOTDIR);
  EXPECT_EQ(read_input_file(input("")).error_number, EISDIR);
  EXPECT_EQ(read_input_file(input("pipe")).error_number, ENOTSUP);
}

TEST_F(LookAt, ChecksAllInputsAndNamesTheMissingOnes) {
  write("a", "x");
  const Answer some = poll({input("a"), input("b"), input("c")});
  ASSERT_TRUE(std::holds_alternative<Pending>(some));
  EXPECT_EQ(std::get<Pending>(some).reason, "file '" + folder_ + "/b': missing, file '" + folder_ + "/c': missing");

  write("b", "x");
  write("c", "x");
  EXPECT_TRUE(std::holds_alternative<Ready>(poll({input("a"), input("b"), input("c")})));
}

TEST_F(LookAt, FindsATableInItsFolderUnderEitherName) {
  Input table = input("");
  table.path = folder_;
  table.is_rank_table = true;
  EXPECT_EQ(read_input_file(table).error_number, ENOENT);
  EXPECT_EQ(read_input_file(table).path, folder_ + "/jobstart_hccl.json or hccl.json");
  write("hccl.json", "b");
  write("version", " 7\n");
  EXPECT_EQ(read_input_file(table).content, "b");
  EXPECT_EQ(read_input_file(table).path, folder_ + "/hccl.json");
  EXPECT_EQ(read_input_file(table).version, 7);
  write("jobstart_hccl.json", "a");
  EXPECT_EQ(read_input_file(table).content, "a");

  table.path = folder_ + "/hccl.json";
  EXPECT_EQ(read_input_file(table).content, "b");
  EXPECT_EQ(read_input_file(table).version, 7);
}

TEST_F(LookAt, KnowsWhichNameAControllerUses) {
  Input table = input("");
  table.is_rank_table = true;
  for (const std::string name : {"/user/config/jobstart_hccl.json", "/user/serverid/devindex/config/hccl.json"}) {
    table.path = name.substr(0, name.rfind('/'));
    Snapshot snapshot;
    snapshot.files[table.path + "/version"] = "1";  // so that it is a folder
    EXPECT_EQ(read_input_file(table, snapshot).path, name);
  }
}

TEST_F(LookAt, SeesThatAFileHasBeenTouched) {
  write("a", "x");
  const std::vector<Input> inputs = {input("a"), input("b")};
  const std::string before = fingerprint_of(inputs);
  EXPECT_EQ(fingerprint_of(inputs), before);
  write("a", "xy");
  EXPECT_NE(fingerprint_of(inputs), before);
  const std::string now = fingerprint_of(inputs);
  write("b", "");
  EXPECT_NE(fingerprint_of(inputs), now);
}

TEST_F(LookAt, TakesWhatTheSnapshotHas) {
  Snapshot snapshot;
  snapshot.files = {{"/no/such/hccl.json", "s"}};
  Input table{"rank table", "/no/such", "", ""};
  table.is_rank_table = true;
  EXPECT_EQ(read_input_file(table, snapshot).content, "s");
  EXPECT_EQ(read_input_file(table, snapshot).path, "/no/such/hccl.json");
  table.path = "/no/such/hccl.json";
  EXPECT_EQ(read_input_file(table, snapshot).content, "s");
}

}  // namespace
}  // namespace muster

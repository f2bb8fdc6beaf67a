// The index of a pack: what is written is read again, and nothing else is.
#include "compile_cache/pack.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace muster::compile_cache {
namespace {

const std::string kSha(64, 'a');

PackIndex index_of(const std::vector<std::string>& paths) {
  PackIndex index{"x86_64 cpu 12 gpu none", 1000, {}};
  for (const std::string& path : paths) {
    index.entries.push_back({path, 10, 0644, 1'700'000'000'000'000'000, kSha});
  }
  return index;
}

std::uint64_t file_bytes(const PackIndex& index, const std::string& text) {
  std::uint64_t bytes = kPackMark.size() + text.size() + kTrailerBytes;
  for (const PackEntry& entry : index.entries) {
    bytes += entry.size;
  }
  return bytes;
}

std::string error_of(const PackIndex& index) {
  const std::string text = write_index(index);
  const auto read = read_index(text, file_bytes(index, text));
  return read ? "" : read.error().message;
}

TEST(Pack, IsReadAsItWasWritten) {
  const PackIndex index = index_of({"inductor/ab/cab one.py", "triton/ABC/kernel.cubin"});
  const std::string text = write_index(index);

  const auto read = read_index(text, file_bytes(index, text));

  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(read->machine, index.machine);
  EXPECT_EQ(read->user, 1000U);
  ASSERT_EQ(read->entries.size(), 2U);
  EXPECT_EQ(read->entries[0].path, "inductor/ab/cab one.py");
  EXPECT_EQ(read->entries[0].mode, 0644U);
  EXPECT_EQ(read->entries[0].mtime, 1'700'000'000'000'000'000);
  EXPECT_EQ(read->entries[0].offset, kPackMark.size());
  EXPECT_EQ(read->entries[1].offset, kPackMark.size() + 10);
}

TEST(Pack, RefusesPathsThatLeadOutOfTheFolder) {
  for (const std::string& path :
       std::vector<std::string>{"/etc/passwd", "../x", "inductor/../../x", "inductor//x", "inductor/./x", "inductor/",
                                "", "inductor/a\tb", "inductor/\x7f"}) {
    EXPECT_NE(problem_of_path(path), "") << path;
    EXPECT_NE(error_of(index_of({path})), "") << path;
  }
  EXPECT_NE(problem_of_path(std::string("a\0b", 3)), "");
  EXPECT_NE(problem_of_path(std::string(4'096, 'n')), "");
  EXPECT_NE(problem_of_path("inductor/" + std::string(256, 'n')), "");
  EXPECT_EQ(problem_of_path("inductor/" + std::string(255, 'n')), "");
  EXPECT_EQ(problem_of_path("inductor/..x/.y"), "");
}

TEST(Pack, RefusesAPathThatIsThereTwice) {
  EXPECT_EQ(error_of(index_of({"inductor/a", "inductor/b", "inductor/a"})), "it has a path twice");
}

TEST(Pack, RefusesSizesThatDoNotAddUp) {
  PackIndex index = index_of({"inductor/a", "inductor/b"});
  const std::string text = write_index(index);
  const std::uint64_t bytes = file_bytes(index, text);
  EXPECT_FALSE(read_index(text, bytes - 1).has_value());
  EXPECT_FALSE(read_index(text, bytes + 1).has_value());
  EXPECT_FALSE(read_index(text + "10 644 1 " + kSha + " inductor/c\n", bytes).has_value());
  EXPECT_FALSE(read_index(text.substr(0, text.size() - 1), bytes - 1).has_value());
  index.entries[0].size = kMostEntryBytes + 1;
  EXPECT_NE(error_of(index), "");
}

TEST(Pack, RefusesLinesOfAnotherForm) {
  const std::string head = "machine m\nuser 0\nentries 1\n";
  for (const std::string& line : std::vector<std::string>{
           "x 644 1 " + kSha + " inductor/a", "10 999 1 " + kSha + " inductor/a", "10 644 z " + kSha + " inductor/a",
           "10 644 1 short inductor/a", "10 4755 1 " + kSha + " inductor/a",
           "99999999999999999999 644 1 " + kSha + " inductor/a", "-1 644 1 " + kSha + " inductor/a", "10"}) {
    const std::string text = head + line + "\n";
    EXPECT_FALSE(read_index(text, kPackMark.size() + 10 + text.size() + kTrailerBytes).has_value()) << line;
  }
  EXPECT_FALSE(read_index("", 102).has_value());
  EXPECT_FALSE(read_index("machine m\nuser 0\nentries 100001\n", 1'000).has_value());
}

TEST(Pack, TrailerTellsTheIndex) {
  const std::string text = write_trailer(300, kSha);
  ASSERT_EQ(text.size(), kTrailerBytes);
  const auto trailer = read_trailer(text, 1'000);
  ASSERT_TRUE(trailer.has_value());
  EXPECT_EQ(trailer->index_bytes, 300U);
  EXPECT_EQ(trailer->sha256, kSha);
  EXPECT_FALSE(read_trailer(text, 300).has_value());  // the index would begin before the file
  EXPECT_FALSE(read_trailer(text.substr(1), 1'000).has_value());
  EXPECT_FALSE(read_trailer(write_trailer(kMostIndexBytes + 1, kSha), kMostPackBytes).has_value());
  EXPECT_FALSE(read_trailer(std::string(kTrailerBytes, '\0'), 1'000).has_value());
}

}  // namespace
}  // namespace muster::compile_cache

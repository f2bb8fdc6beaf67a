// Rules about the files of compilers' caches: kept ones, new ones, old ones.
#include "compile_cache/cache_table.hpp"

#include <gtest/gtest.h>

#include <elf.h>

#include <cstring>
#include <string>
#include <vector>

namespace muster::compile_cache {
namespace {

constexpr std::int64_t kNow = 1'700'000'000'000'000'000;
constexpr std::int64_t kLongAgo = kNow - 60'000'000'000;

constexpr const char* kTable = R"(
skip: ["*.lock", "lock", "tmp.*"]
caches:
  - {variable: ONE_DIR, folder: one, framework: One, versions: 1, source: one.py, checked: tried, skip: ["*.bad"]}
  - {folder: headers, beside: made_USER/headers, framework: One, versions: 1, source: one.py, checked: tried}
  - {variable: BUILDS, folder: builds, framework: Two, versions: 1, source: two.py, checked: by source, whole: ["*.so"]}
)";

const CacheTable& table() {
  static const CacheTable kRead = read_table(kTable).value();
  return kRead;
}

std::vector<std::string> chosen(const std::vector<CacheFile>& found,
                                const std::unordered_set<std::string>& packed = {}) {
  std::vector<std::string> paths;
  for (const CacheFile& file : choose_new(table(), found, packed, kNow - 5'000'000'000)) {
    paths.push_back(file.path);
  }
  return paths;
}

using Paths = std::vector<std::string>;

TEST(CacheTable, BuiltinIsWhole) {
  ASSERT_FALSE(builtin_table().rows.empty());
  for (const CacheRow& row : builtin_table().rows) {
    EXPECT_NE(row.variable.empty(), row.beside.empty()) << row.folder;
    EXPECT_TRUE(problem_of_path(row.folder).empty()) << row.variable;
    EXPECT_EQ(row.folder.find('/'), std::string::npos) << row.variable;
  }
}

TEST(CacheTable, KeepsNoLocksAndNothingUnfinished) {
  EXPECT_TRUE(may_be_kept(table(), "one/ab/x.py"));
  for (const char* const path : {"one/ab/x.lock", "one/lock", "one/tmp.12/x.py", "one/x.bad", "two/x.py", "one", "one/",
                                 "", "../one/x", "one/../x"}) {
    EXPECT_FALSE(may_be_kept(table(), path)) << path;
  }
}

TEST(CacheTable, FindsPlacesBesideTheFolder) {
  EXPECT_EQ(place_of(table(), "one/ab/x.py", "me"), "one/ab/x.py");
  EXPECT_EQ(place_of(table(), "one/ab/x.py", ""), "one/ab/x.py");
  EXPECT_EQ(place_of(table(), "headers/ab/x.h", "me"), "../made_me/headers/ab/x.h");
  EXPECT_EQ(place_of(table(), "headers/ab/x.h", ""), "");
  EXPECT_EQ(place_of(table(), "elsewhere/x", "me"), "");
}

TEST(CacheTable, KnowsAHeaderThatGccHasFinished) {
  EXPECT_TRUE(is_complete_output("headers/ab/x.h.gch", "gpch+014 and more"));
  for (const char* const content : {"gpcWrite and more", "", "gpc"}) {
    EXPECT_FALSE(is_complete_output("headers/ab/x.h.gch", content)) << content;
  }
}

TEST(CacheTable, ChoosesWhatIsNewAndSettled) {
  const std::vector<CacheFile> found = {{"one/old", 1, kLongAgo},
                                        {"one/new", 1, kLongAgo + 1},
                                        {"one/packed", 1, kLongAgo},
                                        {"one/young", 1, kNow - 1'000'000},
                                        {"one/large", kMostEntryBytes + 1, kLongAgo},
                                        {"one/x.lock", 1, kLongAgo}};
  EXPECT_EQ(chosen(found, {"one/packed"}), (Paths{"one/new", "one/old"}));
}

TEST(CacheTable, KeepsABuildAsAWholeOrNotAtAll) {
  const std::vector<CacheFile> whole = {{"builds/a/a.so", 1, kLongAgo}, {"builds/a/build.ninja", 1, kLongAgo}};
  EXPECT_EQ(chosen(whole).size(), 2U);
  EXPECT_EQ(chosen({whole[1]}), Paths());                                  // no library yet
  EXPECT_EQ(chosen({whole[0], {"builds/a/lock", 0, kLongAgo}}), Paths());  // somebody builds
  EXPECT_EQ(chosen({whole[0], {"builds/a/x.o", 1, kNow - 1}}), Paths());   // a file is young
  EXPECT_EQ(chosen(whole, {"builds/a/build.ninja"}), Paths());             // a pack has the build
  EXPECT_EQ(build_of(table(), "builds/a/b/c"), "builds/a/b");
  EXPECT_EQ(build_of(table(), "builds/a"), "");
  EXPECT_EQ(build_of(table(), "one/a/b"), "");
}

PackIndex pack_of(const std::vector<CacheFile>& files) {
  PackIndex index{"m", 0, {}};
  for (const CacheFile& file : files) {
    index.entries.push_back({file.path, file.size, 0600, file.mtime, std::string(64, '0')});
  }
  return index;
}

TEST(CacheTable, DropsTheOldestEntriesWhenPacksAreMerged) {
  const PackIndex one = pack_of({{"one/a", 40, 1}, {"one/b", 40, 3}});
  const PackIndex other = pack_of({{"one/b", 40, 3}, {"one/c", 40, 2}});
  Paths paths;
  for (const PackedEntry& entry : choose_newest(table(), {&one, &other}, 100)) {
    paths.push_back(entry.entry->path);
  }
  EXPECT_EQ(paths, (Paths{"one/b", "one/c"}));
}

TEST(CacheTable, DropsABuildThatWouldLoseAFile) {
  const PackIndex one = pack_of({{"builds/a/a.so", 40, 3}, {"builds/a/a.o", 40, 1}, {"one/c", 40, 2}});
  const auto kept = choose_newest(table(), {&one}, 100);
  ASSERT_EQ(kept.size(), 1U);
  EXPECT_EQ(kept[0].entry->path, "one/c");
}

/// A program with one section header at its end.
std::string program() {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_shoff = 100;
  header.e_shnum = 1;
  header.e_shentsize = sizeof(Elf64_Shdr);
  std::string content(100 + sizeof(Elf64_Shdr), '\0');
  std::memcpy(content.data(), &header, sizeof header);
  return content;
}

TEST(CacheTable, KnowsAProgramThatLacksAPart) {
  const std::string whole = program();
  EXPECT_TRUE(is_complete_output("one/a.so", whole));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(is_complete_output("one/a.so", whole.substr(0, size))) << size;
  }
  EXPECT_FALSE(is_complete_output("one/a.so", std::string(whole.size(), '\0')));
  EXPECT_FALSE(is_complete_output("one/a.cubin", "text"));
  EXPECT_TRUE(is_complete_output("one/a.py", "text"));
}

TEST(CacheTable, RefusesATableWithoutCaches) {
  EXPECT_FALSE(read_table("skip: []").has_value());
  EXPECT_FALSE(read_table("[").has_value());
}

}  // namespace
}  // namespace muster::compile_cache

#include "standby/kept_imports.hpp"

#include <gtest/gtest.h>

#include <string>

namespace muster::standby {
namespace {

SpawnRequest request_with(const std::vector<std::string>& environment) {
  SpawnRequest request;
  request.executable = "/usr/bin/python3";
  request.environment = environment;
  return request;
}

std::string key_of(const std::vector<std::string>& environment, const std::string& folder = "/home/ann") {
  return kept_key({{"python3", "train.py"}}, request_with(environment), folder);
}

TEST(KeptImports, AreOfOneInterpreterProgramFolderAndSearchPath) {
  const std::string key = key_of({"RANK=0", "PYTHONPATH=/x", "PYTHONUTF8=1"});

  EXPECT_EQ(key, key_of({"PYTHONUTF8=1", "PYTHONPATH=/x", "RANK=1"}));
  EXPECT_NE(key, key_of({"PYTHONUTF8=1", "PYTHONPATH=/y"}));
  EXPECT_NE(key, key_of({"RANK=0", "PYTHONPATH=/x", "PYTHONUTF8=1"}, "/home/bob"));
  EXPECT_NE(key, kept_key({{"python3", "other.py"}}, request_with({"PYTHONPATH=/x", "PYTHONUTF8=1"}), "/home/ann"));
}

TEST(KeptImports, HaveAPlaceInTheUsersCacheFolder) {
  EXPECT_EQ(kept_path({{"HOME", "/home/ann"}}, kImports, "k").substr(0, 34), "/home/ann/.cache/muster/imports/af");
  EXPECT_EQ(kept_path({{"HOME", "/home/ann"}, {"XDG_CACHE_HOME", "/scratch"}}, kLibraryFiles, "k").substr(0, 22),
            "/scratch/muster/files/");
  EXPECT_EQ(kept_path({}, kImports, "k"), "");
  EXPECT_EQ(kept_path({{"HOME", "relative"}}, kImports, "k"), "");
}

TEST(KeptImports, AreReadForTheSameKeyAlone) {
  const std::string content = write_kept(kImports, "key", "7\ntorch\n+torch\n");

  EXPECT_EQ(read_kept(kImports, content, "key"), "7\ntorch\n+torch\n");
  EXPECT_EQ(read_kept(kImports, content, "kex"), "");
  EXPECT_EQ(read_kept(kLibraryFiles, content, "key"), "");
  EXPECT_EQ(read_kept(kImports, content.substr(1), "key"), "");
  EXPECT_EQ(read_kept(kImports, "", "key"), "");
}

}  // namespace
}  // namespace muster::standby

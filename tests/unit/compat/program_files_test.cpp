// Files of the working directory that a command line needs.
#include "base/text.hpp"
#include "compat/nested_launcher.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

/// The words that are paths, and "imports".
std::string found_in(const std::string& line, bool is_python_added = false) {
  const std::vector<std::string> program = split(line, ' ');
  const ProgramFiles files = find_program_files(program, is_python_added);
  std::vector<std::string> found;
  for (const std::size_t at : files.words) {
    found.push_back(program.at(at));
  }
  if (files.imports_from_here) {
    found.emplace_back("imports");
  }
  return join(found, " ");
}

TEST(ProgramFiles, AreScriptsOfPython) {
  EXPECT_EQ(found_in("python3 train.py --config conf.yaml"), "train.py");
  EXPECT_EQ(found_in("python3.11 -u -W ignore jobs/train.py -m x"), "jobs/train.py");
  EXPECT_EQ(found_in("python3 -m pdb train.py a.py"), "train.py");
  EXPECT_EQ(found_in("venv/bin/python train.py"), "venv/bin/python train.py");
  EXPECT_EQ(found_in("my-python train.py", /*is_python_added=*/true), "train.py");
  EXPECT_EQ(found_in("my-python train.py"), "");
  EXPECT_EQ(found_in("python3"), "");
  EXPECT_EQ(found_in("python3 -"), "");
}

TEST(ProgramFiles, AreScriptsOfShells) {
  EXPECT_EQ(found_in("bash -euo pipefail run.sh a.sh"), "run.sh");
  EXPECT_EQ(found_in("sh -c run.sh"), "");
  EXPECT_EQ(found_in("sh -c"), "");
}

TEST(ProgramFiles, AreProgramsUnderAPath) {
  EXPECT_EQ(found_in("./run --file ./data"), "./run");
  EXPECT_EQ(found_in("run"), "");
}

TEST(ProgramFiles, StandBehindWrappers) {
  EXPECT_EQ(found_in("timeout 5 ./run"), "./run");
  EXPECT_EQ(found_in("numactl -N 0 python3 train.py"), "train.py");
  EXPECT_EQ(found_in("uv run train.py"), "train.py");
  EXPECT_EQ(found_in("uv run -m jobs.train"), "imports");
  EXPECT_EQ(found_in("env A=1"), "");
}

/// From where on the words are arguments of what is run in the end.
std::string arguments_in(const std::string& line, bool is_python_added = false) {
  const std::vector<std::string> program = split(line, ' ');
  const auto first = find_program_files(program, is_python_added).arguments;
  return first ? join(std::span(program).subspan(*first), " ") : "unknown";
}

TEST(ProgramFiles, AreFollowedByArguments) {
  for (const std::string line :
       {"python3 train.py", "python3 -u -m package", "python3 -m pdb train.py", "/opt/venv/bin/python train.py",
        "bash -e run.sh", "/bin/bash run.sh", "./run", "timeout 5 ./run", "numactl -N 0 python3 train.py"}) {
    EXPECT_EQ(arguments_in(line + " --lr 1"), "--lr 1") << line;
    EXPECT_EQ(arguments_in(line), "") << line;
  }
  EXPECT_EQ(arguments_in("my-python -m package a", /*is_python_added=*/true), "a");
  EXPECT_EQ(arguments_in("my-wrapper python3 train.py a"), "unknown");
  EXPECT_EQ(arguments_in("/bin/sh -c run a"), "unknown");
}

TEST(ProgramFiles, AreModulesThatPythonFindsThere) {
  EXPECT_EQ(found_in("python3 -um jobs.train --x"), "imports");
  EXPECT_EQ(found_in("python3 -c print()"), "imports");
}

TEST(ReadsProgramFromInput, IsTrueForAnInterpreterWithoutScript) {
  using Words = std::vector<std::string>;
  for (const Words& words : {Words{"python3"},
                             {"python3", "-"},
                             {"python3", "-u"},
                             {"bash", "-s"},
                             {"sh"},
                             {"bash", "-s", "arg"},
                             {"sh", "-es", "--", "arg"},
                             {"bash", "-o", "pipefail", "-s", "arg"}}) {
    EXPECT_TRUE(reads_program_from_input(words)) << words.back();
  }
  for (const Words& words : {Words{"python3", "x.py"},
                             {"python3", "-m", "mod"},
                             {"python3", "-c", "1"},
                             {"python3", "-V"},
                             {"bash", "x.sh"},
                             {"bash", "-c", "x"},
                             {"bash", "x.sh", "-s"},
                             {"cat"},
                             {"cat", "-"},
                             {}}) {
    EXPECT_FALSE(reads_program_from_input(words));
  }
}

}  // namespace
}  // namespace muster

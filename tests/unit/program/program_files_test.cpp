// What a command line needs of the folder in which it is started.
#include <muster/base/text.hpp>
#include <muster/program/program_files.hpp>

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

TEST(ProgramFiles, AreModulesThatPythonFindsThere) {
  EXPECT_EQ(found_in("python3 -um jobs.train --x"), "imports");
  EXPECT_EQ(found_in("python3 -c print()"), "imports");
}

}  // namespace
}  // namespace muster

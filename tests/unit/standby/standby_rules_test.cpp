#include "standby/standby_rules.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <string>
#include <vector>

namespace muster::standby {
namespace {

using Words = std::vector<std::string>;

PythonProgram program_of(const Words& argv) {
  return find_python_program(argv).value_or(PythonProgram{});
}

TEST(PythonProgram, IsAScriptOrModuleWithoutItsArguments) {
  EXPECT_EQ(program_of({"python3", "-u", "train.py", "--lr", "1"}).words, (Words{"python3", "-u", "train.py"}));
  EXPECT_TRUE(program_of({"/opt/bin/python3.11", "-m", "mine.train", "x"}).is_module);
  EXPECT_EQ(program_of({"python3", "-X", "dev", "train.py"}).words.size(), 4U);
}

TEST(PythonProgram, IsNothingElse) {
  for (const Words& argv : {Words{"uv", "run", "train.py"},
                            {"python3", "-c", "1"},
                            {"python3"},
                            {"python3", "-"},
                            {},
                            {"python3", "-E", "a.py"},
                            {"python3", "-uI", "a.py"},
                            {"python3", "-S", "-m", "a"}}) {
    EXPECT_FALSE(find_python_program(argv)) << testing::PrintToString(argv);
  }
}

TEST(PythonProgram, HasAnOptionWhoseValueLooksLikeOthers) {
  EXPECT_TRUE(find_python_program({"python3", "-WError::EIS", "a.py"}));
}

TEST(PythonProgram, HasHarmlessWords) {
  const auto harmless = [](const Words& argv) { return harmless_words(program_of(argv)); };

  EXPECT_EQ(harmless({"python3", "-u", "train.py", "x"}), (Words{"python3", "-u", "/dev/null"}));
  EXPECT_EQ(harmless({"python3", "-m", "mine.train"}), (Words{"python3", "-m", "site"}));
  EXPECT_EQ(harmless({"python3", "-mmine.train"}), (Words{"python3", "-msite"}));
  EXPECT_EQ(harmless({"python3", "-m", "pdb", "train.py"}), (Words{"python3", "-m", "pdb", "/dev/null"}));
}

/// Behind the pid of a process and two files.
Imports imports_of(const std::string& notes) {
  return read_imports("7\n=1 2 /lib\n=3 4 /home/ann/train.py\n" + notes);
}

TEST(Imports, AreTheStepsOfTheProgramInOrder) {
  const Imports imports =
      imports_of("torch 1:3\n+torch\nutils 1:4\n*utils 1\nbroken 1:5\n-broken\nhalf 1:6\n!it starts a thread\n");

  EXPECT_EQ(imports.process, 7);
  EXPECT_EQ(imports.steps, (Words{"torch 1:3", "*utils 1"}));
  EXPECT_TRUE(imports.has_modules());
  EXPECT_EQ(imports.end, "it starts a thread");
  EXPECT_FALSE(imports_of("utils 1:4\n*utils 1\n").has_modules());
}

TEST(Imports, LeaveOutWhatIsNoModule) {
  const std::string wrong =
      "\n../x 1:1\na..b 1:1\n1a 1:1\n* 1\n-\nx\nx 2:1\nx 1:-1\nx 1:x\nx a\nx  1:1\n" + std::string(300, 'a') + " 1:1\n";

  EXPECT_EQ(imports_of(wrong + "x 1:1\n+x\nhalf 1:1").steps, Words{"x 1:1"});
  EXPECT_EQ(imports_of("x 1:1\n+x\n" + std::string("\0\0more\n", 7)).steps, Words{"x 1:1"});
}

TEST(Imports, AreNotDoneWhileAModuleLoads) {
  EXPECT_FALSE(imports_of("lib 1:1\n+lib\n").is_loading);
  EXPECT_TRUE(imports_of("lib 1:1\n+lib\nmine 1:2\ntorch 0:1\n+torch\n").is_loading);
  EXPECT_FALSE(imports_of("lib 1:1\n-lib\n").is_loading);
  EXPECT_FALSE(imports_of("mine 1:1\n*mine 1\n").is_loading);
  EXPECT_FALSE(imports_of("lib 1:1\n!it starts a process\n").is_loading);
}

TEST(Imports, NameTheFilesThatTheyDependOn) {
  const FileState state{"/a b/train.py", 12, 1'790'000'000'123'456'789};

  EXPECT_EQ(note_of(state), "=12 1790000000123456789 /a b/train.py\n");
  EXPECT_EQ(read_imports("7\n" + note_of(state)).files, std::vector<FileState>{state});
  for (const std::string wrong :
       {"=", "= ", "=1", "=1 2", "=1  /x", "=x 2 /x", "=1 2x /x", "=99999999999999999999 2 /x"}) {
    EXPECT_TRUE(read_imports("7\n" + wrong + "\n").files.empty()) << wrong;
  }
}

TEST(Imports, OfNobodyAreNone) {
  for (const std::string notes : {"", "\n", "x\n", "-3\n", "7"}) {
    EXPECT_EQ(read_imports(notes).process, -1) << notes;
  }
}

SpawnRequest request_of(const Words& environment) {
  SpawnRequest request;
  request.executable = "/usr/bin/python3";
  request.argv = {"python3", "train.py"};
  request.environment = environment;
  request.leads_session = true;
  return request;
}

TEST(OurFile, ComesBeforeTheSearchPathOfTheUser) {
  const auto variables = [](const Words& before) {
    return with_sitecustomize(request_of(before), "/run/x", "learn", 5).environment;
  };

  const std::string order = "_MUSTER_STANDBY=learn 5 " + std::to_string(::getpid());
  EXPECT_EQ(variables({"A=1"}), (Words{"A=1", "PYTHONPATH=/run/x", order}));
  EXPECT_EQ(variables({"PYTHONPATH="}), (Words{"PYTHONPATH=/run/x", order + " "}));
  EXPECT_EQ(variables({"PYTHONPATH=/a b:/c"}), (Words{"PYTHONPATH=/run/x:/a b:/c", order + " /a b:/c"}));
}

TEST(Fit, AllowsWhereTheRanksMeetToDiffer) {
  const SpawnRequest standing = request_of({"RANK=1", "MASTER_PORT=1", "MUSTER_RESTART_COUNT=0"});
  const SpawnRequest wanted =
      request_of({"RANK=1", "MASTER_PORT=2", "MUSTER_RESTART_COUNT=1", "MUSTER_LAST_VERDICT=failed"});

  EXPECT_EQ(misfit(standing, wanted), "");
  const std::string program = std::string("/usr/bin/python3\0", 17);
  const auto order_of = [&program](const std::string& variables) {
    return std::to_string(program.size() + variables.size()) + "\n" + program + variables;
  };
  EXPECT_EQ(order_message(standing, wanted),
            order_of(std::string("MASTER_PORT=2\0MUSTER_LAST_VERDICT=failed\0MUSTER_RESTART_COUNT=1\0", 64)));
  EXPECT_EQ(order_message(wanted, request_of({"RANK=1", "MASTER_PORT=2", "MUSTER_RESTART_COUNT=1"})),
            order_of(std::string("MUSTER_LAST_VERDICT\0", 20)));
}

TEST(Fit, NamesWhatDiffers) {
  const SpawnRequest standing = request_of({"RANK=1"});
  SpawnRequest wanted = standing;
  EXPECT_EQ(misfit(standing, request_of({"RANK=2"})), "RANK differs");
  EXPECT_EQ(misfit(standing, request_of({"RANK=1", "X=1"})), "X differs");
  EXPECT_EQ(misfit(standing, request_of({})), "RANK differs");

  wanted.argv.emplace_back("--resume");
  EXPECT_EQ(misfit(standing, wanted), "its arguments differ");
  wanted = standing;
  wanted.cpus = {1};
  EXPECT_EQ(misfit(standing, wanted), "its binding differs");
  wanted = standing;
  wanted.working_directory = "/x";
  EXPECT_EQ(misfit(standing, wanted), "its folder differs");
  wanted = standing;
  wanted.leads_session = false;
  EXPECT_EQ(misfit(standing, wanted), "it reads the terminal");
}

TEST(Room, KeepsATenthFree) {
  EXPECT_TRUE(has_room({30, 100}, 20));
  EXPECT_FALSE(has_room({30, 100}, 21));
  EXPECT_FALSE(has_room({30, 100}, 31));
}

TEST(Room, IsReadFromMeminfo) {
  const auto memory = read_meminfo("MemTotal:       4096 kB\nMemFree:  1 kB\nMemAvailable:   2048 kB\n");
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->total, 4096U << 10U);
  EXPECT_EQ(memory->free, 2048U << 10U);
  EXPECT_FALSE(read_meminfo("MemTotal: 4096 kB\n"));
}

}  // namespace
}  // namespace muster::standby

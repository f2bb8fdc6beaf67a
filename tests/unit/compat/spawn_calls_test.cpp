// Lines of Python scripts that start processes, and lines that only look like it.
#include "compat/spawn_calls.hpp"

#include <gtest/gtest.h>

#include <string>

namespace muster {
namespace {

/// "torch.multiprocessing.spawn nprocs=8 in line 4"; empty: nothing.
std::string calls_in(const std::string& script) {
  const auto call = find_spawn(script);
  return call ? call->callee + " " + call->count + " in line " + std::to_string(call->line) : "";
}

const std::string kImport = "import torch.multiprocessing as mp\n";

TEST(SpawnCalls, FindsTheSampleOfHai) {
  EXPECT_EQ(calls_in("import torch\nimport hfai\n\ndef main(gpu_id):\n    pass\n\n"
                     "if __name__ == '__main__':\n    ngpus = torch.cuda.device_count()\n"
                     "    hfai.multiprocessing.spawn(main, args=(), nprocs=ngpus, bind_numa=True)\n"),
            "hfai.multiprocessing.spawn nprocs=ngpus in line 9");
}

TEST(SpawnCalls, KnowsEachFormOfImport) {
  for (const char* const import :
       {"import torch.multiprocessing as mp\nmp.spawn", "import torch.multiprocessing\ntorch.multiprocessing.spawn",
        "import torch\ntorch.multiprocessing.spawn", "from torch import multiprocessing\nmultiprocessing.spawn",
        "from torch import nn, multiprocessing as mp\nmp.spawn",
        "from torch.multiprocessing import (\n  Queue,\n  spawn,\n)\nspawn",
        "import torch.multiprocessing as mp\nmp.start_processes",
        "import sys, torch.multiprocessing as mp; mp.spawn"}) {
    EXPECT_TRUE(calls_in(std::string(import) + "(main, nprocs=8)\n").starts_with("torch.")) << import;
  }
}

TEST(SpawnCalls, IgnoresOtherFunctionsOfSimilarNames) {
  for (const char* const script :
       {"import multiprocessing as mp\nmp.spawn(main, nprocs=8)\n",
        "import torch.multiprocessing\nos.spawnl(os.P_WAIT, nprocs=8)\n",
        "import torch.multiprocessing\nrespawn(main, nprocs=8)\n", "pool.spawn(main, (), 8)\n",
        "import torch.multiprocessing\ndef spawn(f, args, nprocs=8): pass\n"}) {
    EXPECT_EQ(calls_in(script), "") << script;
  }
}

TEST(SpawnCalls, LeavesAloneCommentsAndTexts) {
  EXPECT_EQ(calls_in(kImport + "# mp.spawn(main, nprocs=8)\n"), "");
  EXPECT_EQ(calls_in(kImport + "x = '#'  # mp.spawn(main, nprocs=8)\n"), "");
  EXPECT_EQ(calls_in(kImport + "'''\nIt's mp.spawn(main, nprocs=8)\n'''\n"), "");
  EXPECT_EQ(calls_in(kImport + "\"\"\"mp.spawn(main, nprocs=8)\"\"\"\n"), "");
  EXPECT_EQ(calls_in(kImport + "help = \"mp.spawn(main, nprocs=8)\"\n"), "");
  EXPECT_EQ(calls_in(kImport + "\"\"\"\ntext\n\"\"\"\nmp.spawn(main, nprocs=8)\n"),
            "torch.multiprocessing.spawn nprocs=8 in line 5");
}

TEST(SpawnCalls, LeavesAloneOtherUsesOfProcesses) {
  EXPECT_EQ(calls_in(kImport + "mp.set_start_method('spawn')\nmp.get_context('spawn')\n"
                               "loader = DataLoader(data, num_workers=8, "
                               "multiprocessing_context='spawn')\nmp.Process(target=main).start()\n"),
            "");
}

TEST(SpawnCalls, LeavesAloneOneProcess) {
  EXPECT_EQ(calls_in(kImport + "if __name__ == \"__main__\": mp.spawn(main, nprocs=1)\n"), "");
  EXPECT_EQ(calls_in(kImport + "mp.spawn(main, args=(1, 2))\n"), "") << "torch's default is 1";
}

TEST(SpawnCalls, SeesHowManyAreStarted) {
  EXPECT_EQ(calls_in(kImport + "mp.spawn(\n  main,\n  nprocs = N,\n)\n"),
            "torch.multiprocessing.spawn nprocs=N in line 2");
  EXPECT_EQ(calls_in(kImport + "mp.spawn(main, nprocs=len(os.environ['GPUS'].split(',')))\n"),
            "torch.multiprocessing.spawn nprocs=len(os.environ['GPUS'].split(',')) in line 2");
  EXPECT_EQ(calls_in("import paddle.distributed as dist\ndist.spawn(main)\n"), "paddle.distributed.spawn  in line 2")
      << "paddle takes all devices";
}

TEST(SpawnCalls, TheFirstOneCounts) {
  EXPECT_EQ(calls_in(kImport + "if x:\n    mp.spawn(a, nprocs=2)\nmp.spawn(b, nprocs=3)\n"),
            "torch.multiprocessing.spawn nprocs=2 in line 3");
}

TEST(SpawnCalls, AcceptsAScriptThatChecksForALauncher) {
  for (const char* const body : {"if 'LOCAL_RANK' in os.environ:\n    main(0)\nelse:\n    mp.spawn(main, nprocs=n)\n",
                                 "mp.spawn(main, nprocs=n)\nif x: pass\nelif os.environ.get(\"WORLD_SIZE\"): pass\n",
                                 "if dist.is_torchelastic_launched():\n    sys.exit(0)\nmp.spawn(main, nprocs=n)\n"}) {
    EXPECT_EQ(calls_in(kImport + body), "") << body;
  }
  EXPECT_NE(calls_in(kImport + "os.environ['RANK'] = '0'\nmp.spawn(main, nprocs=n)\n"), "");
}

TEST(SpawnCalls, TakesAnyText) {
  for (const char* const text : {"", "\\", "'", "\"\"\"", "((((", "))))", "if", "\xff\xfe", "a\\\nb", "mp.spawn(",
                                 "import torch.multiprocessing as mp\nmp.spawn("}) {
    (void)find_spawn(text);
  }
  (void)find_spawn(std::string(100'000, '('));
  (void)find_spawn(std::string("a\0b\n\0", 5));
}

}  // namespace
}  // namespace muster

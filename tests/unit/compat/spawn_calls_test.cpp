// Scripts that start processes themselves, and scripts that only look so.
#include "compat/spawn_calls.hpp"

#include "compat/python_source.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace muster {
namespace {

/// "certain torch.multiprocessing.spawn nprocs=8 in line 4"; empty: nothing.
std::string found_in(const std::string& script) {
  const auto call = find_spawn(script);
  if (!call) {
    return "";
  }
  return std::string(call->is_certain ? "certain " : "possible ") + call->callee + " " + call->count + " in line " +
         std::to_string(call->line);
}

const std::string kImport = "import torch.multiprocessing as mp\n";

TEST(SpawnCalls, FindsTheSampleOfHai) {
  EXPECT_EQ(found_in("import torch\nimport hfai\n\ndef main(gpu_id):\n    pass\n\n"
                     "if __name__ == '__main__':\n    ngpus = torch.cuda.device_count()\n"
                     "    hfai.multiprocessing.spawn(main, args=(), nprocs=ngpus, bind_numa=True)\n"),
            "certain hfai.multiprocessing.spawn nprocs=ngpus in line 9");
}

TEST(SpawnCalls, FollowsEachFormOfImport) {
  for (const char* const import :
       {"import torch.multiprocessing as mp\nmp.spawn", "import torch.multiprocessing\ntorch.multiprocessing.spawn",
        "from torch import multiprocessing\nmultiprocessing.spawn",
        "from torch import nn, multiprocessing as mp\nmp.spawn",
        "from torch.multiprocessing import (\n  Queue,\n  spawn,\n)\nspawn",
        "from torch.multiprocessing import spawn as go\ngo", "import torch.multiprocessing as mp\nmp.start_processes",
        "import sys, torch.multiprocessing as mp; mp.spawn"}) {
    EXPECT_TRUE(found_in(std::string(import) + "(main, nprocs=8)\n").starts_with("certain torch.")) << import;
  }
}

TEST(SpawnCalls, IgnoresOtherFunctionsOfSimilarNames) {
  for (const char* const script :
       {"import multiprocessing as mp\nmp.spawn(main, nprocs=8)\n",
        "import multiprocessing\nmultiprocessing.spawn.freeze_support()\n", "import os\nos.spawnl(os.P_WAIT, 'x')\n",
        "pool.spawn(main, (), 8)\n", "def spawn(f, args, nprocs=8): pass\n"}) {
    EXPECT_EQ(found_in(script), "") << script;
  }
}

TEST(SpawnCalls, LeavesAloneCommentsAndTexts) {
  EXPECT_EQ(found_in(kImport + "# mp.spawn(main, nprocs=8)\n"), "");
  EXPECT_EQ(found_in(kImport + "'''\nmp.spawn(main, nprocs=8)\n'''\n"), "");
  EXPECT_EQ(found_in(kImport + "help = \"mp.spawn(main, nprocs=8)\"\n"), "");
  EXPECT_EQ(found_in(kImport + "help = r'\\\\' + rb\"\"\"\nmp.spawn(main, nprocs=8)\"\"\"\n"), "");
  EXPECT_EQ(found_in(kImport + "x = f'{mp.spawn(main, nprocs=8)}'\n"), "");
}

TEST(SpawnCalls, LeavesAloneOtherUsesOfProcesses) {
  EXPECT_EQ(found_in(kImport + "mp.set_start_method('spawn')\nmp.get_context('spawn')\n"
                               "loader = DataLoader(data, num_workers=8, "
                               "multiprocessing_context='spawn')\nmp.Process(target=main).start()\n"),
            "");
}

TEST(SpawnCalls, LeavesAloneOneProcess) {
  EXPECT_EQ(found_in(kImport + "if __name__ == \"__main__\": mp.spawn(main, nprocs=1)\n"), "");
  EXPECT_EQ(found_in(kImport + "mp.spawn(main, args=(1, 2))\n"), "") << "torch's default is 1";
  EXPECT_EQ(found_in(kImport + "mp.spawn(main, (), 1)\n"), "");
  EXPECT_EQ(found_in(kImport + "N = 1\nmp.spawn(main, nprocs=N)\n"), "");
}

TEST(SpawnCalls, SeesHowManyAreStarted) {
  EXPECT_EQ(found_in(kImport + "mp.spawn(main, (), 4)\n"), "certain torch.multiprocessing.spawn nprocs=4 in line 2");
  EXPECT_EQ(found_in(kImport + "N = 1\nN = count()\nmp.spawn(\n  main,\n  nprocs=N,\n)\n"),
            "certain torch.multiprocessing.spawn nprocs=N in line 4");
  EXPECT_EQ(found_in(kImport + "mp.spawn(main, nprocs=len(os.environ['GPUS'].split(',')))\n"),
            "certain torch.multiprocessing.spawn nprocs=len(os.environ['GPUS'].split(',')) in line 2");
  EXPECT_EQ(found_in("import paddle.distributed as dist\ndist.spawn(main)\n"),
            "certain paddle.distributed.spawn  in line 2")
      << "paddle takes all devices";
}

TEST(SpawnCalls, IsSureInsideFunctionsAndLoops) {
  EXPECT_EQ(found_in(kImport + "def main():\n    with open('x'):\n        try:\n"
                               "            ctx = mp.spawn(work, nprocs=4, join=False)\n"
                               "        finally:\n            pass\n\nmain()\n"),
            "certain torch.multiprocessing.spawn nprocs=4 in line 5");
  EXPECT_EQ(found_in(kImport + "def run():\n\treturn mp.spawn(work, nprocs=4)\nsys.exit(run())\n"),
            "certain torch.multiprocessing.spawn nprocs=4 in line 3");
}

TEST(SpawnCalls, IsNotSureUnderACondition) {
  for (const char* const body :
       {"if args.multiprocessing_distributed:\n    mp.spawn(main, nprocs=n)\n",
        "if n == 1:\n    main(0)\nelse:\n    mp.spawn(main, nprocs=n)\n",
        "def run():\n    if n == 1:\n        return main(0)\n    mp.spawn(main, nprocs=n)\n",
        "if n == 1:\n    main(0)\n    sys.exit()\nmp.spawn(main, nprocs=n)\n",
        "try:\n    main(0)\nexcept RuntimeError:\n    mp.spawn(main, nprocs=n)\n",
        "mp.spawn(main, nprocs=n) if n > 1 else main(0)\n", "start = lambda: mp.spawn(main, nprocs=n)\n",
        "n > 1 and mp.spawn(main, nprocs=n)\n", "mp.spawn(main, **options)\n"}) {
    EXPECT_TRUE(found_in(kImport + body).starts_with("possible ")) << body;
  }
}

TEST(SpawnCalls, ARefusalOfTheScriptIsNoOtherWayToGo) {
  EXPECT_TRUE(found_in(kImport + "def run():\n    if n < 1:\n        raise ValueError\n"
                                 "    if not x:\n        sys.exit('no x')\n"
                                 "    mp.spawn(main, nprocs=n)\nrun()\n")
                  .starts_with("certain "));
}

TEST(SpawnCalls, FollowsTheCallsOfItsFunction) {
  const std::string start = kImport + "def start(a):\n    mp.spawn(main, nprocs=a.n)\n";
  for (const char* const body : {"if __name__ == '__main__':\n    start(a)\n",
                                 "def main():\n    x = start(a)\nif __name__ == '__main__':\n    main()\n",
                                 "def main():\n    start(a)\ntry:\n    asyncio.run(main())\nfinally:\n    pass\n",
                                 "class T:\n    def __init__(self):\n        self.go()\n    def go(self):\n        "
                                 "start(1)\n"
                                 "T()\n"}) {
    EXPECT_TRUE(found_in(start + body).starts_with("certain ")) << body;
  }
  for (const char* const body :
       {"if a.launcher == 'pytorch':\n    main(0, a)\nelse:\n    start(a)\n",
        "def main():\n    if a.x:\n        start(a)\nmain()\n", "def main():\n    start(a)\nif a.x:\n    main()\n",
        "def a():\n    b()\ndef b():\n    a()\n    start(a)\n", "a.x and start(a)\n", "other.start(a)\n",
        "def test():\n    start(a)\n", ""}) {
    EXPECT_TRUE(found_in(start + body).starts_with("possible ")) << body;
  }
  EXPECT_TRUE(found_in(start + "fire.Fire(start)\n").starts_with("certain "));
  EXPECT_EQ(found_in(start + "if 'LOCAL_RANK' in os.environ:\n    main(0)\nelse:\n    start(a)\n"), "");
}

TEST(SpawnCalls, AcceptsAScriptThatChecksForALauncher) {
  for (const char* const body : {"if 'LOCAL_RANK' in os.environ:\n    main(0)\nelse:\n    mp.spawn(main, nprocs=n)\n",
                                 "if os.environ.get(\"WORLD_SIZE\"):\n    main(0)\nelif n > 1:\n    mp.spawn(main, "
                                 "nprocs=n)\n",
                                 "started = 'RANK' in os.environ\nif not started:\n    mp.spawn(main, nprocs=n)\n",
                                 "if dist.is_torchelastic_launched():\n    main(0)\n    sys.exit(0)\nmp.spawn(main, "
                                 "nprocs=n)\n",
                                 "def run():\n    if 'LOCAL_RANK' in os.environ:\n        return main()\n"
                                 "    mp.spawn(main, nprocs=n)\n"}) {
    EXPECT_EQ(found_in(kImport + body), "") << body;
  }
}

TEST(SpawnCalls, TheFirstSureOneCounts) {
  EXPECT_EQ(found_in(kImport + "if x:\n    mp.spawn(a, nprocs=2)\nmp.spawn(b, nprocs=3)\n"
                               "mp.spawn(c, nprocs=4)\n"),
            "certain torch.multiprocessing.spawn nprocs=3 in line 4");
}

TEST(SpawnCalls, TakesAnyText) {
  for (const char* const text :
       {"", "\\", "'", "\"\"\"", "((((", "))))", "if", ":", ";;", "from", "import as", "from . import (", "\xff\xfe",
        "a\\\nb", "mp.spawn(", "import torch.multiprocessing as mp\nmp.spawn("}) {
    (void)find_spawn(text);
  }
  (void)find_spawn(std::string(100'000, '('));
  (void)find_spawn(std::string("a\0b\n\0", 5));
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (const PythonLine& line : read_python(text)) {
    std::string words = std::to_string(line.number) + "/" + std::to_string(line.indent) + ":";
    for (const PythonWord& word : line.words) {
      words += " " + std::string(word.text);
    }
    lines.push_back(words);
  }
  return lines;
}

TEST(PythonLines, AreLogicalOnes) {
  EXPECT_EQ(lines_of("a = (1,  # one\n  2)\n\n  b \\\n  c\r\n\td\n"),
            (std::vector<std::string>{"1/0: a = ( 1 , 2 )", "4/2: b c", "6/8: d"}));
  EXPECT_EQ(lines_of("x = '''a\nb''' + 'c\\'d' + f\"e\"\ny"),
            (std::vector<std::string>{"1/0: x = a\nb + c\\'d + e", "3/0: y"}));
}

}  // namespace
}  // namespace muster

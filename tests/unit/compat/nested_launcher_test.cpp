// Programs that are launchers, or spawn: what is found, and what is said about it.
#include "compat/nested_launcher.hpp"

#include "base/text.hpp"

#include <gtest/gtest.h>

#include <map>

namespace muster {
namespace {

const char* const kSpawning = "import torch.multiprocessing as mp\nmp.spawn(main, nprocs=8)\n";

/// The suggested command; empty: no nested launcher was found.
std::string instead_of(const std::vector<std::string>& program, bool is_python_added = false) {
  const std::map<std::string, std::string> files = {
      {"train.py", kSpawning},
      {"jobs/train.py", kSpawning},
      {"jobs/pre/__main__.py", kSpawning},
      {"preset.py", std::string(kSpawning) + "parser.add_argument('--init_method')\n"},
      {"run.sh", "torchrun train.py\n"},
      {"./run", "#!/usr/bin/env bash\nexec torchrun train.py\n"},
      {"./job", std::string("#!/usr/bin/env python3\n") + kSpawning},
      {"./binary",
       "\x7f"
       "ELF torchrun"},
      {"calm.py", "print()\n"}};
  const auto own =
      find_nested_launcher(program, is_python_added, [&](const std::string& path) -> std::optional<std::string> {
        const auto at = files.find(path);
        return at == files.end() ? std::nullopt : std::optional(at->second);
      });
  return own ? own->instead.line : "";
}

TEST(NestedLauncher, OfALauncherThatMusterReads) {
  EXPECT_EQ(instead_of({"torchrun", "--nproc-per-node", "8", "train.py"}),
            "muster torchrun --nproc-per-node 8 train.py");
  EXPECT_EQ(instead_of({"/opt/venv/bin/torchrun", "train.py"}), "muster torchrun train.py");
  EXPECT_EQ(instead_of({"python3", "/opt/venv/bin/torchrun", "a b"}), "muster torchrun \"a b\"");
  EXPECT_EQ(instead_of({"python", "-m", "torch.distributed.run", "--standalone", "train.py"}),
            "muster torchrun --standalone train.py");
  EXPECT_EQ(instead_of({"python3.11", "-um", "torch.distributed.launch", "train.py"}),
            "muster torch.distributed.launch train.py");
  EXPECT_EQ(instead_of({"env", "A=1", "msrun", "--worker_num=8", "train.py"}), "muster msrun --worker_num=8 train.py");
  EXPECT_EQ(instead_of({"deepspeed", "train.py", "--deepspeed"}), "muster deepspeed train.py --deepspeed");
}

TEST(NestedLauncher, OfOtherLaunchers) {
  EXPECT_EQ(instead_of({"accelerate", "launch", "--num_processes", "8", "train.py", "--lr=1"}),
            "muster accelerate launch --num_processes 8 train.py --lr=1");
  EXPECT_EQ(instead_of({"python", "-m", "accelerate.commands.launch", "train.py"}),
            "muster accelerate launch train.py");
  EXPECT_EQ(instead_of({"accelerate-launch", "-m", "train", "x.py"}), "muster accelerate launch -m train x.py");
  EXPECT_EQ(instead_of({"colossalai", "run", "--nproc_per_node", "8", "train.py"}),
            "muster colossalai run --nproc_per_node 8 train.py");
  EXPECT_EQ(instead_of({"python", "-m", "paddle.distributed.launch", "train.py"}),
            "muster paddle.distributed.launch train.py");
  EXPECT_EQ(instead_of({"horovodrun", "-np", "8", "python", "train.py"}), "muster horovodrun -np 8 python train.py");
  EXPECT_EQ(instead_of({"mpirun", "-np", "8", "python", "train.py"}), "mpirun -np 8 muster python train.py");
  EXPECT_EQ(instead_of({"mpirun", "-np", "8", "muster", "./train"}), "mpirun -np 8 muster ./train");
  EXPECT_EQ(instead_of({"srun", "-n8", "./train"}), "srun ... muster PROGRAM");
}

TEST(NestedLauncher, BehindWrappers) {
  const std::string meant = "muster torchrun a.py";
  for (const char* const line : {"timeout 5 torchrun a.py",
                                 "timeout -k 5 --signal=TERM 10m torchrun a.py",
                                 "nice -n 5 torchrun a.py",
                                 "nohup nice -5 torchrun a.py",
                                 "time -p torchrun a.py",
                                 "numactl -N 0 --membind 0 torchrun a.py",
                                 "numactl --localalloc torchrun a.py",
                                 "nsys profile -o out --trace=cuda --stats true torchrun a.py",
                                 "/usr/bin/tini -s -- torchrun a.py",
                                 "uv run torchrun a.py",
                                 "uv run --with x torchrun a.py",
                                 "poetry run torchrun a.py",
                                 "conda run -n x --no-capture-output torchrun a.py",
                                 "coverage run -m torch.distributed.run a.py",
                                 "stdbuf -oL torchrun a.py",
                                 "ionice -c2 -n 0 taskset -c 0-3 setsid -w torchrun a.py",
                                 "sudo -E -u me torchrun a.py",
                                 "strace -f -o log torchrun a.py",
                                 "perf record -g -- torchrun a.py",
                                 "gdb --args torchrun a.py",
                                 "apptainer exec --nv image.sif torchrun a.py",
                                 "pixi run -e cuda torchrun a.py",
                                 "env -u X A=1 catchsegv torchrun a.py"}) {
    EXPECT_EQ(instead_of(split(line, ' ')), meant) << line;
  }
  EXPECT_NE(instead_of({"coverage", "run", "-p", "train.py"}), "");
  EXPECT_NE(instead_of({"uv", "run", "train.py"}), "");
  EXPECT_NE(instead_of({"nice", "-n", "5", "python3", "train.py"}), "");
  for (const char* const line :
       {"timeout 5 echo torchrun a.py", "nice -n 5", "nice tool torchrun a.py", "uv pip torchrun",
        "conda run -n torchrun tool", "timeout torchrun echo", "nsys launch torchrun a.py"}) {
    EXPECT_EQ(instead_of(split(line, ' ')), "") << line;
  }
}

TEST(NestedLauncher, NotOfTheirOtherCommands) {
  EXPECT_EQ(instead_of({"accelerate", "config"}), "");
  EXPECT_EQ(instead_of({"accelerate"}), "");
  EXPECT_EQ(instead_of({"mpirun", "--version"}), "");
  EXPECT_EQ(instead_of({"torchrun", "--help"}), "");
  EXPECT_NE(instead_of({"torchrun", "train.py", "--help"}), "");
  EXPECT_EQ(instead_of({"colossalai", "check"}), "");
  EXPECT_EQ(instead_of({"echo", "torchrun"}), "");
  EXPECT_EQ(instead_of({"env"}), "");
  EXPECT_EQ(instead_of({"python3"}), "");
  EXPECT_EQ(instead_of({"python3", "-m"}), "");
  EXPECT_EQ(instead_of({}), "");
}

TEST(NestedLauncher, OfAScript) {
  EXPECT_EQ(instead_of({"python3", "train.py", "--lr", "1"}, true),
            "muster --mode once --template-arguments never train.py --lr 1");
  EXPECT_EQ(instead_of({"python", "-u", "-X", "dev", "-Wignore", "train.py"}),
            "muster --mode once --template-arguments never python -u -X dev -Wignore train.py");
  EXPECT_EQ(instead_of({"python3", "-m", "jobs.train"}),
            "muster --mode once --template-arguments never python3 -m jobs.train");
  EXPECT_EQ(instead_of({"python3", "-mjobs.pre"}), "muster --mode once --template-arguments never python3 -mjobs.pre");
  EXPECT_EQ(instead_of({"python3", "preset.py"}, true), "muster --mode once preset.py");
  EXPECT_EQ(instead_of({"python3", "-m", "cProfile", "-o", "times", "preset.py"}),
            "muster --mode once python3 -m cProfile -o times preset.py");
  EXPECT_NE(instead_of({"python3", "-c", kSpawning}), "");
  EXPECT_EQ(instead_of({"python3", "calm.py"}, true), "");
  EXPECT_EQ(instead_of({"python3", "missing.py"}, true), "");
  EXPECT_EQ(instead_of({"python3", "-", "train.py"}), "");
  EXPECT_EQ(instead_of({"bash", "train.py"}), "") << "no Python";
}

TEST(NestedLauncher, OfAFileThatTheKernelGivesToPython) {
  EXPECT_EQ(instead_of({"./job", "x"}), "muster --mode once --template-arguments never ./job x");
  EXPECT_EQ(instead_of({"./binary"}), "");
}

TEST(NestedLauncher, NotInScriptsOfAShell) {
  EXPECT_EQ(instead_of({"bash", "run.sh"}), "");
  EXPECT_EQ(instead_of({"./run"}), "");
  EXPECT_EQ(instead_of({"sh", "-c", "torchrun train.py"}), "");
}

TEST(NestedLauncher, OfToolsThatStartALauncher) {
  EXPECT_EQ(instead_of({"axolotl", "train", "a.yaml", "--lr=1"}), "muster -m axolotl.cli.train a.yaml --lr=1");
  EXPECT_EQ(instead_of({"trl", "sft", "--config", "a.yaml"}), "muster -m trl.scripts.sft --config a.yaml");
  EXPECT_EQ(instead_of({"lightning", "run", "model", "--devices", "8", "train.py", "--x"}), "muster train.py --x");
  EXPECT_EQ(instead_of({"tune", "run", "--nproc_per_node", "4", "--nnodes=1", "full_finetune", "--config", "a"}),
            "muster tune run full_finetune --config a");
  EXPECT_EQ(instead_of({"ray", "job", "submit", "--", "python3", "a.py"}), "ray job submit -- python3 a.py");
  EXPECT_EQ(instead_of({"uv", "run", "llamafactory-cli", "train", "a.yaml"}), "muster llamafactory-cli train a.yaml");
  EXPECT_EQ(instead_of({"python3", "-m", "verl.trainer.main_ppo", "a=1"}), "muster -m verl.trainer.main_ppo a=1");
}

TEST(NestedLauncher, NotOfToolsThatRunInEachWorker) {
  for (const char* const line :
       {"tune run full_finetune --config a", "axolotl preprocess a.yaml", "trl env", "llamafactory-cli chat a.yaml",
        "swift web-ui", "xtuner list-cfg", "ray start", "python3 -m axolotl.cli.train a.yaml", "lightning_train"}) {
    EXPECT_EQ(instead_of(split(line, ' ')), "") << line;
  }
}

/// The launcher's name and the names of its variables.
std::string started_once(const std::string& line) {
  const std::vector<std::string> words = split(line, ' ');
  const auto own = find_started_once(words);
  std::string text = own ? own->name : "";
  for (const LauncherVariable& one : own ? own->variables : std::span<const LauncherVariable>()) {
    text += " " + std::string(one.name);
  }
  return text;
}

TEST(StartedOnce, AreToldOfTheJobByVariables) {
  EXPECT_EQ(started_once("llamafactory-cli train a.yaml"),
            "llamafactory-cli train NNODES NODE_RANK NPROC_PER_NODE FORCE_TORCHRUN");
  EXPECT_EQ(started_once("/opt/bin/swift sft --x"), "swift sft NNODES NODE_RANK NPROC_PER_NODE");
  EXPECT_EQ(started_once("timeout 5 xtuner train a"), "xtuner train NNODES NODE_RANK NPROC_PER_NODE ADDR PORT");
  EXPECT_EQ(started_once("python3 -m verl.trainer.main_ppo"), "verl.trainer.main_ppo");
  for (const char* const line : {"torchrun a.py", "python3 train.py", "axolotl train a", "swift eval", "swift"}) {
    EXPECT_EQ(started_once(line), "") << line;
  }
}

const NestedLauncher kLauncher = {"torchrun", "", {"muster torchrun train.py"}, true};
const NestedLauncher kScript = {
    "train.py", "line 2 calls torch.multiprocessing.spawn with nprocs=8", {"muster --mode once train.py"}};

TEST(NestedLauncher, AreSaidIfTheyWouldBeStartedSeveralTimes) {
  EXPECT_EQ(check_nested_launcher(kLauncher, {8, "torchrun", false}),
            "'torchrun' starts processes itself, in each of the 8 copies on this node; for one job write "
            "'muster torchrun train.py', or --mode torchrun if you want this");
  EXPECT_EQ(
      check_nested_launcher(kScript, {8, "jax", false}),
      "'train.py' may start processes itself: line 2 calls torch.multiprocessing.spawn with nprocs=8, in each "
      "of the 8 copies on this node; for one job write 'muster --mode once train.py', or --mode jax if you want this");
}

TEST(NestedLauncher, AreStartedOnceWithoutAWord) {
  EXPECT_EQ(check_nested_launcher(kScript, {1, "once", true}), "");
}

TEST(NestedLauncher, AreStartedPerWorkerOnRequest) {
  EXPECT_EQ(check_nested_launcher(kLauncher, {8, "torchrun", true}),
            "'torchrun' starts processes itself, in each of the 8 copies on this node, as the mode 'torchrun' was "
            "asked for; for one job write 'muster torchrun train.py'");
  EXPECT_EQ(check_nested_launcher(kScript, {4, "torchrun", true}), "");
}

TEST(NestedLauncher, AreSaidIfEachPlacedTaskStartsThem) {
  EXPECT_EQ(check_nested_launcher(kScript, {1, "torchrun", false, 16, 8}),
            "'train.py' may start processes itself: line 2 calls torch.multiprocessing.spawn with nprocs=8, in each "
            "of the 8 tasks on this host; for one job write 'muster --mode once train.py', with one task on each "
            "host, or --mode torchrun if you want this");
}

/// The message about a program on two nodes with one slot each.
std::string said_on_nodes(const std::vector<std::string>& program, const LaunchContext& starts) {
  const auto own = find_nested_launcher(program, false, [](const std::string&) { return kSpawning; });
  return own ? check_nested_launcher(*own, starts) : "";
}

TEST(NestedLauncher, OfALauncherThatKnowsNoOtherNodeAreSeveralJobs) {
  const LaunchContext starts{1, "torchrun", false, 2};
  EXPECT_EQ(said_on_nodes({"torchrun", "--nnodes=1", "train.py", "--nnodes", "2"}, starts),
            "'torchrun' starts processes itself, in a job of its own on each of the 2 nodes; for one job write "
            "'muster torchrun --nnodes=1 train.py --nnodes 2', or --mode torchrun if you want this");
  EXPECT_EQ(said_on_nodes({"mpirun", "python", "train.py"}, {8, "torchrun", false, 2}),
            "'mpirun' starts processes itself, in each of the 8 copies on this node; for one job write "
            "'mpirun muster python train.py' on one node, with all hosts, or --mode torchrun if you want this");
  EXPECT_EQ(said_on_nodes({"torchrun", "train.py"}, {1, "once", true, 2}),
            "'torchrun' starts processes itself, in a job of its own on each of the 2 nodes, as the mode 'once' was "
            "asked for; for one job write 'muster torchrun train.py'");
}

TEST(NestedLauncher, OfALauncherThatKnowsTheOtherNodesAreOneJob) {
  for (const std::vector<std::string>& program : {std::vector<std::string>{"torchrun", "--nnodes", "2", "train.py"},
                                                  {"torchrun", "--nnodes=$N", "train.py"},
                                                  {"accelerate", "launch", "--num-machines", "2", "train.py"},
                                                  {"accelerate", "launch", "--num_machines=2", "train.py"},
                                                  {"deepspeed", "--no_ssh", "train.py"}}) {
    EXPECT_EQ(said_on_nodes(program, {1, "once", true, 2}), "") << program.front();
    EXPECT_EQ(said_on_nodes(program, {1, "torchrun", false, 2}), "") << program.front();
  }
}

TEST(NestedLauncher, ThatHandTheJobOnNeedNoMuster) {
  EXPECT_EQ(said_on_nodes({"ray", "job", "submit", "x"}, {8, "torchrun", false}),
            "'ray' starts processes itself, in each of the 8 copies on this node; for one job write "
            "'ray job submit x' without muster, or --mode torchrun if you want this");
}

TEST(NestedLauncher, ThatCannotBeToldOfOtherNodesAreSeveralJobs) {
  EXPECT_EQ(said_on_nodes({"vllm", "serve", "m"}, {1, "once", false, 2}),
            "'vllm' starts processes itself, in a job of its own on each of the 2 nodes; for one job write "
            "'muster vllm serve m' on one node, with --nnodes 1, or --mode once if you want this");
  EXPECT_EQ(said_on_nodes({"swift", "sft", "x"}, {1, "once", false, 2}), "");
}

TEST(NestedLauncher, OfAScriptAreOneOnEachNode) {
  EXPECT_EQ(said_on_nodes({"python3", "train.py"}, {1, "once", true, 2}), "");
  EXPECT_EQ(said_on_nodes({"python3", "train.py"}, {1, "torchrun", false, 2}), "");
}

}  // namespace
}  // namespace muster

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
      {"run.sh", "cd jobs\npython train.py --lr 1\n"},
      {"./run", "#!/usr/bin/env bash\nexec torchrun train.py \"$@\"\n"},
      {"./binary",
       "\x7f"
       "ELF torchrun"},
      {"outer.sh", "sh run.sh\n"},
      {"calm.py", "print()\n"}};
  const auto own =
      find_nested_launcher(program, is_python_added, [&](const std::string& path) -> std::optional<std::string> {
        const auto at = files.find(path);
        return at == files.end() ? std::nullopt : std::optional(at->second);
      });
  return own ? own->instead : "";
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
  EXPECT_EQ(instead_of({"sh", "-c", "cd /tmp && env A=1 nohup time torchrun a.py &"}), meant);
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
  EXPECT_EQ(instead_of({"sh", "-c", "torchrun --help >/dev/null && ./train"}), "");
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

TEST(NestedLauncher, UnderAConditionOfAShellScript) {
  const auto own = find_nested_launcher(
      {"sh", "-c", "run() {\n  torchrun train.py >log 2>&1\n}\ncase $1 in a) torchrun b.py ;; esac"}, false,
      [](const std::string& /*path*/) { return std::nullopt; });
  ASSERT_TRUE(own);
  EXPECT_FALSE(own->is_certain);
  EXPECT_EQ(own->program, "-c");
  EXPECT_EQ(own->instead, "muster torchrun train.py >log 2>&1");
}

TEST(NestedLauncher, BehindATestOfAShellScript) {
  const auto own = find_nested_launcher({"sh", "-c", "[ -z \"$RANK\" ] && exec torchrun train.py; ./train"}, false,
                                        [](const std::string& /*path*/) { return std::nullopt; });
  ASSERT_TRUE(own);
  EXPECT_FALSE(own->is_certain);
  EXPECT_EQ(instead_of({"sh", "-c", "hosts=$(srun hostname | sort); ./train $hosts"}), "");
}

TEST(NestedLauncher, OfAShellScript) {
  const std::string meant = "muster --mode once --template-arguments never python train.py --lr 1";
  EXPECT_EQ(instead_of({"bash", "run.sh"}), meant);
  EXPECT_EQ(instead_of({"/bin/bash", "-euo", "pipefail", "run.sh", "x"}), meant);
  EXPECT_EQ(instead_of({"sh", "outer.sh"}), meant);
  EXPECT_EQ(instead_of({"./run"}), "muster torchrun train.py \"$@\"");
  EXPECT_EQ(instead_of({"bash", "-lc", "cd /job && torchrun train.py"}), "muster torchrun train.py");
  EXPECT_EQ(instead_of({"./binary"}), "");
  EXPECT_EQ(instead_of({"bash"}), "");
  EXPECT_EQ(instead_of({"sh", "-c"}), "");
  EXPECT_EQ(instead_of({"sh", "-c", "echo torchrun train.py"}), "");
}

const NestedLauncher kLauncher = {"torchrun", "", true, "muster torchrun train.py"};
const NestedLauncher kScript = {"train.py", "line 2 calls torch.multiprocessing.spawn with nprocs=8", true,
                                "muster --mode once train.py"};

TEST(NestedLauncher, ThatAreCertainAreNotStartedSeveralTimes) {
  const auto launcher = check_nested_launcher(kLauncher, {8, "torchrun", false});
  ASSERT_FALSE(launcher);
  EXPECT_EQ(launcher.error().exit_code(), 64);
  EXPECT_EQ(launcher.error().message,
            "'torchrun' starts processes itself, and each of the 8 copies on this node would do so; write "
            "'muster torchrun train.py', or --mode torchrun if it is meant so");
  const auto script = check_nested_launcher(kScript, {8, "jax", false});
  ASSERT_FALSE(script);
  EXPECT_EQ(script.error().message,
            "'train.py' starts processes itself: line 2 calls torch.multiprocessing.spawn with "
            "nprocs=8, and each of the 8 copies on this node would do so; write 'muster --mode once "
            "train.py', or --mode jax if it is meant so");
}

TEST(NestedLauncher, AreStartedOnceWithoutAWord) {
  const auto judged = check_nested_launcher(kScript, {1, "once", true});
  ASSERT_TRUE(judged);
  EXPECT_EQ(*judged, "");
}

TEST(NestedLauncher, AreStartedPerWorkerOnRequest) {
  const auto judged = check_nested_launcher(kLauncher, {8, "torchrun", true});
  ASSERT_TRUE(judged);
  EXPECT_EQ(*judged,
            "'torchrun' starts processes itself, and each of the 8 copies on this node will do so, as the mode "
            "'torchrun' was asked for");
}

TEST(NestedLauncher, AreNotStartedByEachPlacedTask) {
  const auto judged = check_nested_launcher(kScript, {1, "torchrun", false, 16, false, 8});
  ASSERT_FALSE(judged);
  EXPECT_EQ(judged.error().message,
            "'train.py' starts processes itself: line 2 calls torch.multiprocessing.spawn with "
            "nprocs=8, and each of the 8 tasks on this host would do so; write 'muster --mode once "
            "train.py', with one task on each host, or --mode torchrun if it is meant so");
}

TEST(NestedLauncher, OfAShellScriptAreWrittenThere) {
  const auto own =
      find_nested_launcher({"bash", "run.sh"}, false, [](const std::string&) { return "\ntorchrun a.py\n"; });
  ASSERT_TRUE(own);
  EXPECT_EQ(check_nested_launcher(*own, {8, "torchrun", false}).error().message,
            "'run.sh' starts processes itself: line 2 runs torchrun, and each of the 8 copies on this node "
            "would do so; write 'muster torchrun a.py' there and start that without muster, or "
            "--mode torchrun if it is meant so");
}

/// The message about a program on two nodes with one slot each.
std::string said_on_nodes(const std::vector<std::string>& program, const LaunchContext& starts) {
  const auto own = find_nested_launcher(program, false, [](const std::string&) { return kSpawning; });
  const auto judged = own ? check_nested_launcher(*own, starts) : Result<std::string>(std::string());
  return judged ? *judged : "refused: " + judged.error().message;
}

TEST(NestedLauncher, OfALauncherThatKnowsNoOtherNodeAreSeveralJobs) {
  const LaunchContext starts{1, "torchrun", false, 2};
  EXPECT_EQ(said_on_nodes({"torchrun", "--nnodes=1", "train.py", "--nnodes", "2"}, starts),
            "refused: 'torchrun' starts processes itself, and each of the 2 nodes would start a job "
            "of its own; write 'muster torchrun --nnodes=1 train.py --nnodes 2', or --mode torchrun "
            "if it is meant so");
  EXPECT_EQ(said_on_nodes({"horovodrun", "-np", "8", "./train"}, starts),
            "refused: 'horovodrun' starts processes itself, and each of the 2 nodes would start a "
            "job of its own; write 'muster horovodrun -np 8 ./train', or --mode torchrun if it is "
            "meant so");
  EXPECT_EQ(said_on_nodes({"mpirun", "python", "train.py"}, {8, "torchrun", false, 2}),
            "refused: 'mpirun' starts processes itself, and each of the 8 copies on this node would do so; "
            "write 'mpirun muster python train.py' on one node, with all hosts, or --mode torchrun "
            "if it is meant so");
  EXPECT_EQ(said_on_nodes({"torchrun", "train.py"}, {1, "once", true, 2, true}),
            "'torchrun' starts processes itself, and each of the 2 nodes starts a job of its own, "
            "as the mode 'once' was asked for; for one job write 'muster torchrun train.py'");
}

TEST(NestedLauncher, OfALauncherThatKnowsTheOtherNodesAreOneJob) {
  for (const std::vector<std::string>& program : {std::vector<std::string>{"torchrun", "--nnodes", "2", "train.py"},
                                                  {"torchrun", "--nnodes=$N", "train.py"},
                                                  {"accelerate", "launch", "--num-machines", "2", "train.py"},
                                                  {"accelerate", "launch", "--num_machines=2", "train.py"},
                                                  {"deepspeed", "--no_ssh", "train.py"}}) {
    EXPECT_EQ(said_on_nodes(program, {1, "once", true, 2, true}), "") << program.front();
    EXPECT_EQ(said_on_nodes(program, {1, "torchrun", false, 2}), "") << program.front();
  }
}

TEST(NestedLauncher, OfAScriptAreWhatOnceIsFor) {
  EXPECT_EQ(said_on_nodes({"python3", "train.py"}, {1, "once", true, 2, true}), "");
  EXPECT_EQ(said_on_nodes({"python3", "train.py"}, {1, "once", false, 2, true}), "");
  EXPECT_EQ(said_on_nodes({"python3", "train.py"}, {1, "torchrun", false, 2}),
            "'train.py' starts processes itself: line 2 calls torch.multiprocessing.spawn with "
            "nprocs=8, and each of the 2 nodes does so; what is meant is probably 'muster --mode "
            "once --template-arguments never python3 train.py'");
}

TEST(NestedLauncher, ThatArePossibleAreSaid) {
  NestedLauncher possible = kScript;
  possible.is_certain = false;
  const auto judged = check_nested_launcher(possible, {4, "torchrun", false});
  ASSERT_TRUE(judged);
  EXPECT_EQ(*judged,
            "'train.py' may start processes itself: line 2 calls torch.multiprocessing.spawn with "
            "nprocs=8 under a condition; if that is true here, each of the 4 copies on this node will do so: "
            "then write "
            "'muster --mode once train.py'");
  const auto insisted = check_nested_launcher(possible, {4, "torchrun", true});
  ASSERT_TRUE(insisted);
  EXPECT_EQ(*insisted, "");
}

}  // namespace
}  // namespace muster

// torchrun's command line: what each option becomes, alone and beside others.
#include "lines.hpp"

#include <gtest/gtest.h>

#include <tuple>
#include <utility>

namespace muster {
namespace {

const std::string kAlone = "mode=torchrun (torchrun); nproc-per-node=1 (default of torchrun)";

std::string more_than_default(const std::string& options) {
  return settings_of("torchrun " + options + " train.py");
}

// Names

TEST(FrontEnds, AreChosenByTheirName) {
  EXPECT_EQ(settings_of("torchrun train.py"), kAlone);
  EXPECT_EQ(setting_of("/usr/bin/torchrun train.py", "mode"), "torchrun (torchrun)");
  EXPECT_EQ(setting_of("muster torchrun train.py", "mode"), "torchrun (muster torchrun)");
  EXPECT_EQ(setting_of("muster plan torchrun train.py", "mode"), "torchrun (muster torchrun)");
  EXPECT_EQ(setting_of("muster --report r torchrun train.py", "report"), "r (--report)");
  EXPECT_EQ(setting_of("muster torch.distributed.run train.py", "mode"), "torchrun (muster torch.distributed.run)");
  EXPECT_EQ(setting_of("msrun train.py", "mode"), "msrun (msrun)");
}

TEST(FrontEnds, AreNotChosenBehindDashesOrAsAModulesArgument) {
  EXPECT_EQ(settings_of("muster -- torchrun train.py"), "");
  EXPECT_EQ(program_of("muster -- torchrun train.py"), "torchrun train.py");
  EXPECT_EQ(program_of("muster -m package torchrun"), "torchrun");
  EXPECT_EQ(program_of("muster ./torchrun train.py"), "./torchrun train.py");
}

TEST(FrontEnds, LetEveryNameThatBeginsWithMusterBeMuster) {
  for (const std::string name : {"muster", "muster-1.2", "/opt/x/muster", "muster.old", "-muster"}) {
    EXPECT_EQ(program_of(name + " a b"), "a b") << name;
  }
}

TEST(FrontEnds, RefuseANameThatMeansNothing) {
  EXPECT_EQ(error_of("/usr/local/bin/srun -n 4 a.out"),
            "64: this program was started as 'srun', expected a name that begins with muster, or one "
            "of torchrun, torch.distributed.run, torch.distributed.launch, msrun, deepspeed, mpirun, "
            "accelerate, accelerate-launch, paddle.distributed.launch, colossalai, horovodrun");
}

// The end of the options

TEST(Torchrun, LeavesTheScriptsArgumentsAlone) {
  const std::string arguments = "train.py --nnodes 3 --d --master_port 1 -h -r 3 --help --nproc 2";
  EXPECT_EQ(program_of("torchrun --nproc-per-node 2 " + arguments), arguments);
  EXPECT_EQ(setting_of("torchrun --nproc-per-node 2 " + arguments, "nnodes"), "");
}

TEST(Torchrun, TakesOnePairOfDashesAway) {
  EXPECT_EQ(program_of("torchrun -- train.py -- --depth 20"), "train.py -- --depth 20");
  EXPECT_EQ(program_of("torchrun train.py -- --depth 20"), "train.py --depth 20");
  EXPECT_EQ(program_of("torchrun train.py -- -- a"), "train.py -- a");
  EXPECT_EQ(program_of("torchrun train.py a -- b"), "train.py a -- b");
  EXPECT_EQ(program_of("torchrun -m package.train -- --depth 20"), "--depth 20");
}

TEST(Torchrun, ReadsEachFormOfAnOption) {
  for (const std::string form :
       {"--nproc-per-node 4", "--nproc_per_node 4", "--nproc-per-node=4", "--nproc_per_node=4"}) {
    EXPECT_EQ(setting_of("torchrun " + form + " a.py", "nproc-per-node").substr(0, 2), "4 ") << form;
  }
  EXPECT_EQ(setting_of("torchrun --nproc_per_node=4 a.py", "nproc-per-node"), "4 (--nproc_per_node)");
  for (const std::string form : {"-r 0:1,11:2", "-r0:1,11:2", "-r=0:1,11:2"}) {
    EXPECT_EQ(setting_of("torchrun " + form + " a.py", "redirects"), "0:1,11:2 (--redirects)") << form;
  }
}

TEST(Torchrun, ReadsBeginningsOfOptionsAsArgparseDoes) {
  EXPECT_EQ(setting_of("torchrun --nnode=1 a.py", "nnodes"), "1 (--nnode)");
  EXPECT_EQ(setting_of("torchrun --nproc_per 2 a.py", "nproc-per-node"), "2 (--nproc_per)");
  EXPECT_EQ(setting_of("torchrun --stand a.py", "platform"), "single (--stand)");
  EXPECT_EQ(error_of("torchrun --log x a.py"),
            "64: --log may be any of --log-dir, --logs-specs, --log-line-prefix-template");
  EXPECT_EQ(program_of("torchrun a.py --nnode 2"), "a.py --nnode 2");
  EXPECT_EQ(setting_of("torchrun --report=r a.py", "report"), "r (--report)");
}

TEST(Torchrun, TakesNoOptionForAValue) {
  EXPECT_EQ(error_of("torchrun --log-dir --nnodes 2 a.py"), "64: --log-dir needs a value");
  EXPECT_EQ(error_of("torchrun --log-dir -- a.py"), "64: --log-dir needs a value");
  EXPECT_EQ(setting_of("torchrun --log-dir=--odd a.py", "log-dir"), "--odd (--log-dir)");
  EXPECT_EQ(error_of("torchrun --node-rank -1 --nnodes 2 a.py"), "no error");
  EXPECT_EQ(setting_of("torchrun --role - a.py", "set:role_name"), "- (--role)");
}

TEST(Torchrun, ReadsNumbersAsPythonDoes) {
  for (const auto& [written, meant] :
       {std::pair("02", "2"), std::pair("+2", "2"), std::pair("1_000", "1000"), std::pair("1:04", "1:4"),
        std::pair("0", "0"), std::pair("00", "0"), std::pair("-01", "-1"), std::pair("1__0", "1__0"),
        std::pair("_1", "_1"), std::pair("1_", "1_"), std::pair("two", "two")}) {
    EXPECT_EQ(setting_of("torchrun --nnodes=" + std::string(written) + " a.py", "nnodes"),
              std::string(meant) + " (--nnodes)");
  }
  EXPECT_EQ(setting_of("torchrun a.py", "nproc-per-node", {{"PET_NPROC_PER_NODE", " 4 "}}), "4 (PET_NPROC_PER_NODE)");
  EXPECT_EQ(error_of("torchrun --nproc-per-node= a.py"), "64: --nproc-per-node is '', expected a value");
  EXPECT_EQ(setting_of("torchrun a.py", "nproc-per-node", {{"PET_NPROC_PER_NODE", ""}}), "1 (default of torchrun)");
  EXPECT_EQ(error_of("torchrun --monitor-interval abc a.py"),
            "64: --monitor-interval is 'abc', expected a number of seconds");
  EXPECT_EQ(error_of("torchrun --monitor-interval 0.5 a.py"), "no error");
}

TEST(Torchrun, LetsWorkersShareStandardInput) {
  EXPECT_EQ(setting_of("torchrun a.py", "stdin"), "all (default of torchrun)");
  EXPECT_EQ(setting_of("torchrun --stdin 1 a.py", "stdin"), "1 (--stdin)");
  EXPECT_EQ(setting_of("torchrun --hosts a,b a.py", "stdin"), "") << "it does not go there";
}

TEST(Torchrun, LaysItsLogFilesOut) {
  EXPECT_EQ(setting_of("torchrun a.py", kLogLayout), "torchrun (default of torchrun)");
  EXPECT_EQ(setting_of("torchrun --log-dir /l a.py", "log-dir"), "/l (--log-dir)");
  EXPECT_EQ(setting_of("accelerate launch --log_dir /l a.py", kLogLayout), "torchrun (default of torchrun)");
  EXPECT_EQ(setting_of("muster --log-dir /l a.py", kLogLayout), "");
  const Variables own{{"MUSTER_LOG_DIR", "/own"}};
  EXPECT_EQ(setting_of("torchrun a.py", kLogLayout, own), "") << "muster's own option, its layout";
  EXPECT_EQ(setting_of("torchrun --log-dir /l a.py", kLogLayout, own), "torchrun (default of torchrun)");
}

TEST(Torchrun, TakesAnEmptyLogFolderForNone) {
  EXPECT_EQ(setting_of("torchrun --log-dir= a.py", "log-dir"), "");
  EXPECT_EQ(setting_of("torchrun a.py", "log-dir", {{"PET_LOG_DIR", ""}}), "");
}

TEST(Torchrun, WritesNoFilesIntoTheNullDevice) {
  const std::string text =
      "torchrun --log-dir /dev/null -r 3 -t 1 --local-ranks-filter 0 --duplicate-stdout-filters x "
      "a.py";
  EXPECT_EQ(setting_of(text, kLogLayout), "nothing (default of torchrun)");
  for (const char* const name : {"log-dir", "redirects", "tee", "local-ranks-filter", "duplicate-stdout-filters"}) {
    EXPECT_EQ(setting_of(text, name), "") << name;
  }
  EXPECT_EQ(setting_of(text, "prefix"), "terminal (default of torchrun)") << "as without -t";
  EXPECT_EQ(read_line(text)->notices.front(),
            "ignoring --redirects: --log-dir is /dev/null, and all goes to the console");
}

TEST(Torchrun, TakesTheGivenNumberOfRestarts) {
  EXPECT_EQ(setting_of("torchrun --max-restarts 10 a.py", "no-progress-limit"), "0 (default of torchrun)");
  EXPECT_EQ(setting_of("torchrun a.py", "store"), "agent (default of torchrun)");
  EXPECT_EQ(setting_of("torchrun --store worker a.py", "store"), "worker (--store)");
  EXPECT_EQ(setting_of("torchrun --no-progress-limit 2 a.py", "no-progress-limit"), "2 (--no-progress-limit)");
  EXPECT_EQ(setting_of("torchrun a.py", "no-progress-limit", {{"MUSTER_NO_PROGRESS_LIMIT", "2"}}),
            "2 (MUSTER_NO_PROGRESS_LIMIT)");
}

TEST(Torchrun, StartsAgainAtOnceForANodeThatComesLater) {
  EXPECT_EQ(setting_of("torchrun --nnodes 1:2 a.py", "scale-up"), "now (default of torchrun)");
  EXPECT_EQ(setting_of("torchrun --scale-up restart a.py", "scale-up"), "restart (--scale-up)");
  EXPECT_EQ(setting_of("torchrun a.py", "scale-up", {{"MUSTER_SCALE_UP", "restart"}}), "restart (MUSTER_SCALE_UP)");
}

TEST(Torchrun, SplitsEndpointsAtTheLastColon) {
  const std::string line = "torchrun --nnodes 2 --rdzv-backend c10d --rdzv-endpoint ";
  for (const auto& [written, host, port] : {std::tuple("h:7", "h", "7"), std::tuple("[fd00::1]:7", "fd00::1", "7"),
                                            std::tuple("fd00::1:6000", "fd00::1", "6000"),
                                            std::tuple("fd00::1", "fd00::1", "29400"), std::tuple("h", "h", "29400")}) {
    EXPECT_EQ(setting_of(line + written + " a.py", "master-addr"), std::string(host) + " (--rdzv-endpoint)");
    EXPECT_EQ(setting_of(line + written + " a.py", "master-port"), std::string(port) + " (--rdzv-endpoint)");
  }
  const std::string blanks = " h : 7 ";
  EXPECT_EQ(setting_of("torchrun a.py", "master-addr",
                       {{"PET_RDZV_ENDPOINT", blanks}, {"PET_RDZV_BACKEND", "c10d"}, {"PET_NNODES", "2"}}),
            "h (PET_RDZV_ENDPOINT)");
}

TEST(Torchrun, GivesWorkersThePortThatIsNamed) {
  EXPECT_EQ(setting_of("torchrun --nnodes 2 --master-addr h --master-port 6000 a.py", "worker-port"),
            "6000 (--master-port)");
  EXPECT_EQ(setting_of("torchrun --nnodes 2 --rdzv-endpoint h:6000 a.py", "worker-port"), "6000 (--rdzv-endpoint)");
  EXPECT_EQ(setting_of("torchrun --nnodes 2 --master-addr h a.py", "worker-port"), "");
  EXPECT_EQ(setting_of("torchrun --nnodes 1 --master-port 6000 a.py", "worker-port"), "");
  EXPECT_EQ(setting_of("torchrun --worker-port 7 --nnodes 2 --master-addr h --master-port 6000 a.py", "worker-port"),
            "7 (--worker-port)");
}

// Variables left behind by another launcher

TEST(Torchrun, IgnoresWhatDescribesNoNode) {
  const std::string single = "single (torchrun, which does not read ";
  for (const Variables& variables : {Variables{{"WORLD_SIZE", "2"}}, Variables{{"RANK", "0"}, {"WORLD_SIZE", "4"}},
                                     Variables{{"RANK", "x"}}, Variables{{"TF_CONFIG", "garbage"}},
                                     Variables{{"RANK", "0"}, {"WORLD_SIZE", "4"}, {"MASTER_ADDR", "localhost"}}}) {
    const std::string line = "torchrun --nproc_per_node=2 --master_port=1234 a.py";
    EXPECT_TRUE(setting_of(line, "platform", variables).starts_with(single))
        << variables.begin()->first << setting_of(line, "platform", variables);
    EXPECT_NE(notices_of(line, variables), "");
  }
  EXPECT_EQ(notices_of("torchrun a.py", {{"WORLD_SIZE", "2"}}),
            "ignoring WORLD_SIZE: torchrun does not read it, and what is there does not describe one "
            "of several nodes");
}

TEST(Torchrun, SuggestsReplacementsForEtcdAndFiles) {
  EXPECT_EQ(error_of("torchrun --nnodes 2 --rdzv-backend etcd-v2 --rdzv-endpoint e:2379 a.py"),
            "64: --rdzv-endpoint is 'e:2379', expected no etcd server, which muster does not "
            "need, but one of the nodes: --rdzv-backend c10d --rdzv-endpoint NODE:29400");
  EXPECT_EQ(error_of("torchrun --nnodes 2 --rdzv-backend c10d --rdzv-endpoint /tmp/f a.py"),
            "64: --rdzv-endpoint is '/tmp/f', expected HOST:PORT, with a name or an address as "
            "the host, not a file, which muster does not need");
}

TEST(Torchrun, IgnoresTasksOfTensorFlow) {
  const Variables tasks = {{"TF_CONFIG", R"({"cluster":{"worker":["a:1","b:2"]},"task":{"type":"worker","index":0}})"}};
  EXPECT_EQ(setting_of("torchrun --nproc_per_node=2 a.py", "platform", tasks),
            "single (torchrun, which does not read TF_CONFIG)");
  EXPECT_EQ(notices_of("torchrun --nproc_per_node=2 a.py", tasks),
            "ignoring TF_CONFIG: torchrun does not read it, and it is for TensorFlow");
}

TEST(Torchrun, BelievesVariablesThatDescribeANodeWhereTheLineDoesNot) {
  const Variables whole = {{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "10.0.0.1"}};
  EXPECT_EQ(setting_of("torchrun --nproc_per_node=2 a.py", "platform", whole), "");
  EXPECT_EQ(notices_of("torchrun --nproc_per_node=2 a.py", whole), "");

  const std::string line = "torchrun --nnodes 2 --node-rank 1 --master-addr 10.0.0.1 a.py";
  EXPECT_EQ(setting_of(line, "platform", whole), "flags (torchrun, which does not read RANK)");
  EXPECT_EQ(notices_of(line, whole), "");
  EXPECT_EQ(notices_of("torchrun --nnodes 1 a.py", whole),
            "ignoring RANK, WORLD_SIZE, MASTER_ADDR: torchrun does not read them, and the command "
            "line says which nodes there are");
  EXPECT_EQ(setting_of("torchrun --nnodes 1 a.py", "platform", whole), "single (torchrun, which does not read RANK)");
}

TEST(Torchrun, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(error_of("torchrun --nodes 1 a.py"), "64: unknown option '--nodes'; did you mean '--nnodes'?");
  EXPECT_EQ(error_of("torchrun --rdvz_backend=c10d a.py"),
            "64: unknown option '--rdvz_backend'; did you mean '--rdzv-backend'?");
  EXPECT_EQ(error_of("torchrun --reprot r a.py"), "64: unknown option '--reprot'; did you mean '--report'?");
  EXPECT_EQ(error_of("torchrun -x a.py"),
            "64: unknown option '-x'; 'muster torchrun --help' lists them, and a script that begins with a dash goes "
            "after '--'");
  EXPECT_EQ(error_of("torchrun --mode msrun a.py"),
            "64: --mode is 'msrun' but 'torchrun' starts workers by 'torchrun'; leave one of them out");
  EXPECT_EQ(error_of("torchrun --standalone=1 a.py"), "64: --standalone is a switch and takes no value");
  EXPECT_EQ(error_of("torchrun --nnodes"), "64: --nnodes needs a value");
  EXPECT_EQ(error_of("torchrun --start-method thread a.py"),
            "64: --start-method is 'thread', expected one of spawn, fork, forkserver");
  EXPECT_EQ(error_of("torchrun --rdzv-backend zeus --nnodes 2 a.py"),
            "64: --rdzv-backend is 'zeus', expected static, c10d, etcd or etcd-v2");
  EXPECT_EQ(error_of("muster --mode ps torchrun a.py"),
            "64: --mode is 'ps' but 'muster torchrun' starts workers by 'torchrun'; leave one of them "
            "out");
}

TEST(Torchrun, TakesOptionsOfMusterAsWell) {
  EXPECT_EQ(more_than_default("--report r.json --gang-timeout=60 -v"),
            "gang-timeout=60 (--gang-timeout); mode=torchrun (torchrun); nproc-per-node=1 (default of "
            "torchrun); report=r.json (--report); verbose=1 (--verbose)");
}

// Single options

TEST(Torchrun, PassesTheseOn) {
  struct Row {
    const char* option;
    const char* value;
    const char* setting;
  };
  for (const Row& row : {Row{"nnodes", "1:4", "nnodes"},
                         {"nproc-per-node", "gpu", "nproc-per-node"},
                         {"rdzv-id", "job-7", "job-id"},
                         {"max-restarts", "3", "max-restarts"},
                         {"role", "trainer", "set:role_name"},
                         {"log-dir", "logs", "log-dir"},
                         {"redirects", "3", "redirects"},
                         {"tee", "0:1,1:2", "tee"},
                         {"local-ranks-filter", "0,1", "local-ranks-filter"},
                         {"duplicate-stdout-filters", "loss,step", "duplicate-stdout-filters"},
                         {"duplicate-stderr-filters", "Error", "duplicate-stderr-filters"},
                         {"master-port", "6000", "master-port"},
                         {"numa-binding", "core-complex", "numa-binding"},
                         {"signals-to-handle", "SIGTERM,SIGUSR1", "signals-to-handle"},
                         {"shutdown-timeout", "60", "grace"},
                         {"log-line-prefix-template", "${hostname}", "prefix-template"}}) {
    const std::string name = row.option;
    EXPECT_EQ(setting_of("torchrun --" + name + " " + row.value + " a.py", row.setting),
              std::string(row.value) + " (--" + name + ")");
    EXPECT_EQ(notices_of("torchrun --" + name + " " + row.value + " a.py"), "");
  }
  EXPECT_EQ(setting_of("torchrun --virtual-local-rank a.py", "virtual-local-rank"), "1 (--virtual-local-rank)");
}

TEST(Torchrun, GivesReasonsForIgnoredOptions) {
  struct Row {
    const char* option;
    const char* notice;
  };
  for (const Row& row :
       {Row{"--monitor-interval 5",
            "ignoring --monitor-interval: muster does not poll; it sees at once that a worker ends"},
        {"--start-method fork", "ignoring --start-method: muster starts each worker as a separate program"},
        {"--event_log_handler console",
         "ignoring --event_log_handler: this option names Python code; --report FILE writes what happened"},
        {"--local-addr 10.0.0.2",
         "ignoring --local-addr: the leader sees the address from which a node connects, so no node needs to give its "
         "address"}}) {
    EXPECT_EQ(notices_of(std::string("torchrun ") + row.option + " a.py"), row.notice);
    EXPECT_EQ(more_than_default(row.option), kAlone);
  }
}

TEST(Torchrun, CountsCoresWhereAutoFindsNoAccelerator) {
  EXPECT_EQ(setting_of("torchrun --nproc-per-node auto a.py", "nproc-per-node"), "cpu (--nproc-per-node)");
  Snapshot snapshot = snapshot_of({});
  snapshot.devices.ascend = 8;
  EXPECT_EQ(read_line("torchrun --nproc-per-node auto a.py", snapshot)->settings.find("nproc-per-node")->value, "auto");
}

TEST(Torchrun, RunsTheScriptModuleOrProgram) {
  EXPECT_TRUE(read_line("torchrun train")->is_python_script);
  EXPECT_FALSE(read_line("torchrun --no-python ./train")->is_python_script);
  EXPECT_TRUE(read_line("torchrun --run-path --no-python ./train.py")->is_python_script);
  EXPECT_FALSE(read_line("torchrun --run-path --no-python ./train.py")->settings.has("no-python"));
  EXPECT_EQ(setting_of("torchrun -m package.train --lr 1", "module"), "package.train (--module)");
  EXPECT_EQ(program_of("torchrun -m package.train --lr 1"), "--lr 1");
  EXPECT_EQ(error_of("torchrun -m --no-python a"),
            "64: --module and --no-python contradict each other: a module is run by Python");
}

// The nodes of the job

TEST(Torchrun, IsOneNodeWhenItIsStandalone) {
  const std::string settings =
      "mode=torchrun (torchrun); nnodes=1 (--standalone); nproc-per-node=1 (default of torchrun); "
      "platform=single (--standalone)";
  EXPECT_EQ(more_than_default("--standalone"), settings);
  EXPECT_EQ(more_than_default("--standalone --nnodes=1"), settings);
  EXPECT_EQ(notices_of("torchrun --standalone --nnodes=1 a.py"), "");

  const std::string more =
      "--standalone --nnodes 2 --rdzv-id 7 --rdzv-backend static --rdzv-endpoint "
      "h:1 --master-addr h --master-port 2 --node-rank 1";
  EXPECT_EQ(more_than_default(more), settings);
  EXPECT_EQ(read_line("torchrun " + more + " a.py")->notices.size(), 7U);
}

TEST(Torchrun, LeavesOutMustersVariablesOfSeveralNodesWhenItIsStandalone) {
  const Variables variables = {{"MUSTER_NODE_RANK", "1"}, {"MUSTER_MASTER_PORT", "29500"}};
  EXPECT_EQ(setting_of("torchrun --standalone a.py", "node-rank", variables), "");
  EXPECT_EQ(setting_of("torchrun --standalone a.py", "master-port", variables), "");
  EXPECT_EQ(notices_of("torchrun --standalone a.py", variables),
            "ignoring MUSTER_MASTER_PORT: --standalone is one node with a free port; "
            "ignoring MUSTER_NODE_RANK: --standalone is one node with a free port");

  Variables several = variables;
  several["PET_STANDALONE"] = "1";
  several["MUSTER_NNODES"] = "2";
  EXPECT_EQ(setting_of("torchrun a.py", "node-rank", several), "1 (MUSTER_NODE_RANK)")
      << "a MUSTER_* variable is stronger than torchrun's";
}

TEST(Torchrun, HasNoOtherModeByAVariable) {
  EXPECT_EQ(error_of("muster torchrun a.py", {{"MUSTER_MODE", "ps"}}),
            "78: MUSTER_MODE is 'ps' but 'muster torchrun' starts workers by 'torchrun'; leave one "
            "of them out");
  for (const std::string mode : {"torchrun", "auto"}) {
    EXPECT_EQ(setting_of("torchrun a.py", "mode", {{"MUSTER_MODE", mode}}), "torchrun (torchrun)");
  }
  EXPECT_EQ(error_of("torchrun --help", {{"MUSTER_MODE", "ps"}}), "no error");
}

TEST(Torchrun, SaysThatAnOptionBehindTheScriptBelongsToIt) {
  const std::string said =
      "--nproc-per-node stands after the program and belongs to it; options of torchrun go in "
      "front of the program";
  for (const std::string line :
       {"torchrun a.py --nproc_per_node 2 --nnodes=2", "muster torchrun a.py -x --nproc-per-node=2",
        "torchrun -- a.py --nproc-per-node=2", "torchrun a.py -- --nproc-per-node=2",
        "torchrun a.py x -- --nproc-per-node=2", "torchrun a.py --epochs 3 -r 3 nproc-per-node"}) {
    const bool is_given = line.find("--nproc") < line.find("-- ") || line.find("-- ") > line.size();
    EXPECT_EQ(notices_of(line), is_given && line.find("--nproc") != std::string::npos ? said : "") << line;
    EXPECT_EQ(setting_of(line, "nproc-per-node"), "1 (default of torchrun)") << line;
  }
}

TEST(Torchrun, HasNoTemplateOfTheUsersOwn) {
  EXPECT_EQ(error_of("torchrun a.py", {{"MUSTER_TEMPLATE", "t.yaml"}}),
            "78: MUSTER_TEMPLATE is 't.yaml' but 'torchrun' starts workers by 'torchrun'; leave one "
            "of them out");
  EXPECT_EQ(error_of("muster --template t.yaml msrun a.py").substr(0, 16), "64: --template i");
  EXPECT_EQ(error_of("torchrun --help", {{"MUSTER_TEMPLATE", "t.yaml"}}), "no error");
}

TEST(Torchrun, MeetsAtTheMasterOrAtAStaticEndpoint) {
  const std::string start = "torchrun --nnodes 2 --node-rank 1 ";
  EXPECT_EQ(setting_of(start + "--master-addr [fd00::1] a.py", "master-addr"), "fd00::1 (--master-addr)");
  EXPECT_EQ(setting_of(start + "--master-addr fd00::1 a.py", "master-addr"), "fd00::1 (--master-addr)");
  const std::string endpoint = start + "--master-addr a --master-port 1 --rdzv-endpoint b:2 a.py";
  EXPECT_EQ(setting_of(endpoint, "master-addr"), "b (--rdzv-endpoint)");
  EXPECT_EQ(setting_of(endpoint, "master-port"), "2 (--rdzv-endpoint)");
  EXPECT_EQ(setting_of(endpoint, "node-rank"), "1 (--node-rank)");
  EXPECT_EQ(notices_of(endpoint),
            "ignoring --master-addr: --rdzv-endpoint says where the nodes meet; "
            "ignoring --master-port: --rdzv-endpoint says where the nodes meet");
  EXPECT_EQ(notices_of(start + "--master-addr a --rdzv-endpoint a:2 a.py"), "");
}

TEST(Torchrun, NamesVariablesThatAreNearlyItsOwn) {
  EXPECT_EQ(notices_of("torchrun a.py", {{"PET_NNODE", "2"}, {"PET_SHOP", "x"}, {"PET_MASTER_PORT", "1"}}),
            "ignoring PET_NNODE: torchrun knows no such variable; did you mean PET_NNODES?");
}

TEST(Torchrun, MeetsAtTheEndpointByArrival) {
  const std::string line =
      "torchrun --nnodes 2:4 --rdzv-backend c10d --rdzv-id 7 --node-rank 1 "
      "--master-addr a --master-port 1 --rdzv-endpoint ";
  EXPECT_EQ(settings_of(line + "[fd00::1]:3 t.py"),
            "job-id=7 (--rdzv-id); master-addr=fd00::1 (--rdzv-endpoint); master-port=3 "
            "(--rdzv-endpoint); mode=torchrun (torchrun); nnodes=2:4 (--nnodes); nproc-per-node=1 "
            "(default of torchrun); platform=flags (--rdzv-backend)");
  EXPECT_EQ(setting_of(line + "host t.py", "master-port"), "29400 (--rdzv-endpoint)");
  const std::string why = ": with --rdzv-backend c10d the endpoint counts, and ranks go by arrival";
  EXPECT_EQ(notices_of(line + "host t.py"),
            "ignoring --master-addr" + why + "; ignoring --master-port" + why + "; ignoring --node-rank" + why);
}

TEST(Torchrun, TakesMasterAndRankWhereC10dHasNoEndpoint) {
  EXPECT_EQ(more_than_default("--nnodes 2 --rdzv-backend c10d --master-addr a --node-rank 1"),
            "master-addr=a (--master-addr); mode=torchrun (torchrun); nnodes=2 (--nnodes); "
            "node-rank=1 (--node-rank); nproc-per-node=1 (default of torchrun)");
}

TEST(Torchrun, NeedsNoEndpointOnOneNode) {
  for (const std::string nodes : {"", "--nnodes 1 ", "--nnodes=1:1 "}) {
    const std::string line = "torchrun " + nodes + "--rdzv-backend c10d --rdzv-endpoint localhost:0 a";
    EXPECT_EQ(setting_of(line, "master-addr"), "") << nodes;
    EXPECT_EQ(setting_of(line, "master-port"), "") << nodes;
    EXPECT_EQ(setting_of(line, "platform"), "") << nodes;
  }
  EXPECT_EQ(setting_of("torchrun --rdzv-backend c10d --rdzv-endpoint localhost:0 a", "nnodes"),
            "1 (torchrun's default of --nnodes)");
  EXPECT_EQ(setting_of("torchrun --nnodes 1 --master-port 0 a", "master-port"), "");
  EXPECT_EQ(setting_of("torchrun --nnodes 2 --master-port 0 a", "master-port"), "0 (--master-port)");
}

TEST(Torchrun, LetsThePlatformCountTheNodesUnlessTheyAreDescribed) {
  EXPECT_EQ(setting_of("torchrun --nproc-per-node 8 --master-port 1 --rdzv-id 1 a", "nnodes"), "");
  for (const std::string option :
       {"--rdzv-backend static", "--rdzv-endpoint h:1", "--master-addr h", "--node-rank 0"}) {
    EXPECT_EQ(setting_of("torchrun " + option + " a", "nnodes"), "1 (torchrun's default of --nnodes)") << option;
  }
  EXPECT_EQ(setting_of("torchrun --master-addr h a", "nnodes", {{"MUSTER_NNODES", "3"}}), "3 (MUSTER_NNODES)");
}

TEST(Torchrun, ReportsNodeCountsOfThePlatform) {
  Cluster cluster;
  cluster.job.most_nodes = 2;
  cluster.decisions = {{"nodes.count", "2", "WORLD_SIZE"}};

  EXPECT_EQ(join(compat_notices(*read_line("torchrun a.py"), cluster), ""),
            "torchrun itself would run on one node: taking 2 from WORLD_SIZE");
  EXPECT_TRUE(compat_notices(*read_line("torchrun --nnodes 2 a.py"), cluster).empty());
  EXPECT_TRUE(compat_notices(*read_line("muster a.py"), cluster).empty());
}

TEST(Torchrun, NeedsNoEtcd) {
  const std::string line =
      "torchrun --nnodes 2 --node-rank 0 --master-addr a --rdzv-backend etcd-v2 "
      "--rdzv-endpoint etcd:2379 t.py";
  EXPECT_EQ(setting_of(line, "master-addr"), "a (--master-addr)");
  EXPECT_EQ(notices_of(line), "ignoring --rdzv-endpoint: it names an etcd server, and muster needs none");
}

TEST(Torchrun, RefusesAnEndpointThatIsNone) {
  for (const std::string backend : {"static", "c10d"}) {
    const std::string start = "torchrun --nnodes 2 --rdzv-backend " + backend + " --rdzv-endpoint ";
    for (const std::string text : {"bad!host:29500", ":29500", "a/b", "a%b:1"}) {
      EXPECT_EQ(error_of(start + text + " a.py"),
                "64: --rdzv-endpoint is '" + text + "', expected HOST:PORT, with a name or an address as the host");
    }
    for (const std::string text : {"a:b", "a:65536", "a:"}) {
      EXPECT_EQ(error_of(start + text + " a.py"),
                "64: --rdzv-endpoint is '" + text + "', expected HOST:PORT, with a number from 0 to 65535 as the port");
    }
    EXPECT_EQ(error_of(start + "a_b.c-d:1 a.py"), "no error");
    EXPECT_EQ(error_of(start + "[fd00::1]:1 a.py"), "no error");
  }
}

TEST(Torchrun, LeavesOutSignalsThatThereAreNot) {
  const std::string line = "torchrun --signals-to-handle SIGTERM,FOO a.py";
  EXPECT_EQ(setting_of(line, "signals-to-handle"), "SIGTERM (--signals-to-handle)");
  EXPECT_EQ(notices_of(line), "ignoring 'FOO' in --signals-to-handle: there is no such signal");
  EXPECT_EQ(settings_of("torchrun --signals-to-handle FOO a.py"), kAlone);
  EXPECT_EQ(settings_of("torchrun --signals-to-handle= a.py"), kAlone);
}

TEST(Torchrun, LetsAVariableLeaveTheStoreToAWorker) {
  const Variables unshared = {{"TORCH_DISABLE_SHARE_RDZV_TCP_STORE", "1"}};
  EXPECT_EQ(setting_of("torchrun a.py", "store", unshared), "worker (TORCH_DISABLE_SHARE_RDZV_TCP_STORE)");
  EXPECT_EQ(setting_of("torchrun --store agent a.py", "store", unshared), "agent (--store)");
  EXPECT_EQ(setting_of("torchrun a.py", "store", {{"TORCH_DISABLE_SHARE_RDZV_TCP_STORE", "0"}}),
            "agent (default of torchrun)");
}

TEST(Torchrun, IgnoresTheTimeoutOfABarrierThatThereIsNot) {
  EXPECT_EQ(notices_of("torchrun --exit_barrier_timeout 600 a.py"),
            "ignoring --exit_barrier_timeout: no node waits for the others at the end: each node reports its end in a "
            "message");
  EXPECT_EQ(settings_of("torchrun --exit-barrier-timeout=600 a.py"), kAlone);
}

// --rdzv-conf

TEST(RendezvousConf, IsUnderstoodKeyByKey) {
  const std::string start = "torchrun --nnodes 2 --rdzv-conf=";
  EXPECT_EQ(setting_of(start + "timeout=7200 a.py", "gang-timeout"), "7200 (--rdzv-conf timeout)");
  EXPECT_EQ(setting_of(start + "join_timeout=60 a.py", "gang-timeout"), "60 (--rdzv-conf join_timeout)");
  EXPECT_EQ(setting_of(start + "timeout=1,join_timeout=2 a.py", "gang-timeout"), "1 (--rdzv-conf timeout)");
  EXPECT_EQ(setting_of(start + "timeout=1,join_timeout=2 --rdzv-backend c10d a.py", "gang-timeout"),
            "2 (--rdzv-conf join_timeout)");
  EXPECT_EQ(setting_of(start + "last_call_timeout=5 a.py", "last-call"), "5 (--rdzv-conf last_call_timeout)");
  EXPECT_EQ(setting_of(start + "keep_alive_interval=10 a.py", "heartbeat-timeout"),
            "30 (--rdzv-conf keep_alive_interval)");
  EXPECT_EQ(setting_of(start + "keep_alive_interval=2,keep_alive_max_attempt=6 a.py", "heartbeat-timeout"),
            "12 (--rdzv-conf keep_alive_max_attempt)");
  EXPECT_EQ(setting_of(start + "keep_alive_interval=3600 a.py", "heartbeat-timeout").substr(0, 4), "3600");
  EXPECT_EQ(settings_of("torchrun --rdzv-conf= a.py"), kAlone);
}

TEST(RendezvousConf, NamesTheLeaderWithC10d) {
  const std::string start = "torchrun --nnodes 2 --rdzv-backend c10d --rdzv-endpoint svc:1 ";
  EXPECT_EQ(setting_of(start + "--rdzv-conf is_host=1 a.py", "lead"), "reached (--rdzv-conf is_host)");
  EXPECT_EQ(setting_of(start + "--rdzv-conf is_host=False a.py", "lead"), "never (--rdzv-conf is_host)");
  EXPECT_EQ(setting_of(start + "--node-rank 0 a.py", "lead"), "reached (--node-rank)");
  EXPECT_EQ(setting_of(start + "--node-rank 0 --rdzv-conf is_host=0 a.py", "lead"), "never (--rdzv-conf is_host)");
  EXPECT_EQ(setting_of(start + "--node-rank 1 a.py", "lead"), "");
  EXPECT_EQ(setting_of("torchrun --nnodes 2 --rdzv-conf is_host=1 a.py", "lead"), "");
  EXPECT_EQ(error_of(start + "--rdzv-conf is_host=x a.py"),
            "64: --rdzv-conf is_host is 'x', expected 1, true, 0 or false");
}

TEST(RendezvousConf, MayBeQuotedOnceTooOften) {
  EXPECT_EQ(setting_of("torchrun --nnodes 2 --rdzv-conf='timeout=5,last_call_timeout=1' a.py", "gang-timeout"),
            "5 (--rdzv-conf timeout)");
  EXPECT_EQ(setting_of("torchrun --nnodes 2 --rdzv-conf=\"timeout=5\" a.py", "gang-timeout"),
            "5 (--rdzv-conf timeout)");
  EXPECT_EQ(settings_of("torchrun --rdzv-conf='' a.py"), kAlone);
  EXPECT_EQ(error_of("torchrun --rdzv-conf='timeout a.py"),
            "64: --rdzv-conf is ''timeout', expected KEY=VALUE,KEY=VALUE such as timeout=1800");
}

TEST(RendezvousConf, NamesIgnoredKeys) {
  for (const CompatOption& key : rendezvous_keys()) {
    const std::string name = key.name;
    const std::string notice = notices_of("torchrun --rdzv-conf " + name + "=3 a.py");
    EXPECT_EQ(notice, key.support == OptionSupport::Ignored ? "ignoring " + name + " in --rdzv-conf: " + key.note : "");
  }
  EXPECT_EQ(notices_of("torchrun --rdzv-conf join_timout=3,zzz=1 a.py"),
            "ignoring join_timout in --rdzv-conf: torchrun knows no such key; did you mean "
            "join_timeout?; ignoring zzz in --rdzv-conf: torchrun knows no such key");
}

TEST(RendezvousConf, RefusesMalformedKeysAndValues) {
  for (const std::string text : {"timeout", "timeout=", "=3", "timeout=3,", "timeout=3,,is_host=1"}) {
    EXPECT_EQ(error_of("torchrun --rdzv-conf " + text + " a.py"),
              "64: --rdzv-conf is '" + text + "', expected KEY=VALUE,KEY=VALUE such as timeout=1800");
  }
  EXPECT_EQ(error_of("torchrun --rdzv-conf keep_alive_interval=x a.py"),
            "64: --rdzv-conf keep_alive_interval is 'x', expected a number from 1 to 3600");
}

// Variables

TEST(TorchrunVariables, AreWeakerThanFlagsAndMustersOwn) {
  EXPECT_EQ(setting_of("torchrun a.py", "nproc-per-node", {{"PET_NPROC_PER_NODE", "4"}}), "4 (PET_NPROC_PER_NODE)");
  EXPECT_EQ(setting_of("torchrun --nproc-per-node 2 a.py", "nproc-per-node", {{"PET_NPROC_PER_NODE", "4"}}),
            "2 (--nproc-per-node)");
  EXPECT_EQ(
      setting_of("torchrun a.py", "nproc-per-node", {{"PET_NPROC_PER_NODE", "4"}, {"MUSTER_NPROC_PER_NODE", "3"}}),
      "3 (MUSTER_NPROC_PER_NODE)");
  EXPECT_EQ(setting_of("torchrun --nproc-per-node 2 a.py", "nproc-per-node", {{"MUSTER_NPROC_PER_NODE", "3"}}),
            "2 (--nproc-per-node)");
  EXPECT_EQ(setting_of("muster a.py", "max-restarts", {{"PET_MAX_RESTARTS", "4"}}), "");
}

TEST(TorchrunVariables, AreThoseThatTorchrunReads) {
  for (const CompatOption& option : torchrun_options()) {
    std::string variable = std::string("PET_") + option.name;
    for (char& c : variable) {
      c = c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    }
    const bool is_read = settings_of("torchrun a.py", {{variable, "@"}}) != kAlone ||
                         !notices_of("torchrun a.py", {{variable, "@"}}).empty();
    EXPECT_EQ(is_read, option.may_be_variable) << variable;
  }
}

TEST(TorchrunVariables, SwitchOn) {
  for (const std::string on : {"1", "true", "True"}) {
    EXPECT_EQ(setting_of("torchrun a.py", "platform", {{"PET_STANDALONE", on}}), "single (PET_STANDALONE)");
  }
  for (const std::string off : {"0", "false", "False"}) {
    EXPECT_EQ(settings_of("torchrun a.py", {{"PET_STANDALONE", off}}), kAlone);
    EXPECT_EQ(setting_of("torchrun --standalone a.py", "platform", {{"PET_STANDALONE", off}}), "single (--standalone)");
  }
  EXPECT_EQ(error_of("torchrun a.py", {{"PET_STANDALONE", "yes"}}),
            "78: PET_STANDALONE is 'yes', expected 0, 1, true or false");
  EXPECT_EQ(setting_of("torchrun package", "module", {{"PET_MODULE", "1"}}), "package (PET_MODULE)");
}

TEST(TorchrunVariables, MixWithFlags) {
  EXPECT_EQ(settings_of("torchrun --nnodes 2 a.py", {{"PET_RDZV_BACKEND", "c10d"}, {"PET_RDZV_ENDPOINT", "h"}}),
            "master-addr=h (PET_RDZV_ENDPOINT); master-port=29400 (PET_RDZV_ENDPOINT); mode=torchrun "
            "(torchrun); nnodes=2 (--nnodes); nproc-per-node=1 (default of torchrun); platform=flags "
            "(PET_RDZV_BACKEND)");
  EXPECT_EQ(error_of("torchrun a.py", {{"PET_RDZV_CONF", "x"}}),
            "78: PET_RDZV_CONF is 'x', expected KEY=VALUE,KEY=VALUE such as timeout=1800");
}

TEST(TorchrunVariables, HaveOneWithoutTheUsualStart) {
  EXPECT_EQ(setting_of("torchrun a.py", "grace", {{"TORCH_ELASTIC_SHUTDOWN_TIMEOUT", "7"}}),
            "7 (TORCH_ELASTIC_SHUTDOWN_TIMEOUT)");
  EXPECT_EQ(
      setting_of("torchrun a.py", "grace", {{"TORCH_ELASTIC_SHUTDOWN_TIMEOUT", "7"}, {"PET_SHUTDOWN_TIMEOUT", "8"}}),
      "8 (PET_SHUTDOWN_TIMEOUT)");
}

TEST(Torchrun, TakesAFreePortOnItsOnlyNode) {
  EXPECT_EQ(setting_of("torchrun --master_port=0 a.py", "master-port"), "");
  EXPECT_EQ(setting_of("torchrun --nnodes=2 --master_port=0 a.py", "master-port"), "0 (--master_port)");
}

// torch.distributed.launch

TEST(TorchLaunch, GivesTheLocalRankToTheScript) {
  const std::vector<std::string> rank = {"--local-rank={local_rank}"};
  EXPECT_EQ(read_line("muster torch.distributed.launch a.py")->worker_arguments, rank);
  EXPECT_TRUE(read_line("muster torch.distributed.launch --use_env a.py")->worker_arguments.empty());
  EXPECT_TRUE(read_line("muster torch.distributed.run a.py")->worker_arguments.empty());
  EXPECT_EQ(error_of("muster torch.distributed.launch --no-python a"), "64: --no-python needs --use-env as well");
}

// Texts

TEST(FrontEnds, ShowInHelpWhatBecomesOfEachOption) {
  for (const CompatLauncher& compat : compat_launchers()) {
    const std::string help = compat_help(compat);
    for (const CompatOption& option : compat.options()) {
      const std::string name = (option.has_one_dash ? "-" : "--") + std::string(option.name);
      EXPECT_NE(help.find(name), std::string::npos) << name;
    }
    for (const char* const heading : {"Better, and how:", "The same:"}) {
      EXPECT_NE(help.find(heading), std::string::npos);
    }
  }
}

TEST(FrontEnds, HaveCompletions) {
  EXPECT_NE(
      compat_completion(*find_compat("torchrun"), {"bash", {}})->find("complete -o filenames -F _torchrun torchrun"),
      std::string::npos);
  EXPECT_NE(completion_script({"bash", {}})
                ->find("run plan explain check doctor token last status stacks dump stop suspend render torchrun"),
            std::string::npos);
}

}  // namespace
}  // namespace muster

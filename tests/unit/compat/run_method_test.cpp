// MA_RUN_METHOD's variables, and --set.
#include "lines.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

Variables with_torchrun(const std::string& words) {
  return {{"MA_RUN_METHOD", "torchrun"}, {"MA_EXTRA_TORCHRUN_PARAMS", words}};
}

/// The variable, and the option in it.
std::string source(const std::string& option) {
  return " (MA_EXTRA_TORCHRUN_PARAMS " + option + ")";
}

TEST(ExtraTorchrunParams, WinOverEverything) {
  Variables variables = with_torchrun("--nproc_per_node=4  --max_restarts 3");
  variables["MUSTER_MAX_RESTARTS"] = "1";
  EXPECT_EQ(settings_of("muster --nproc-per-node 2 a.py", variables),
            "max-restarts=3" + source("--max_restarts") + "; nproc-per-node=4" + source("--nproc_per_node"));
  EXPECT_EQ(setting_of("torchrun --nproc-per-node 2 a.py", "nproc-per-node", variables),
            "4" + source("--nproc_per_node"));
}

TEST(ExtraTorchrunParams, AreUnderstood) {
  EXPECT_EQ(settings_of("muster a.py", with_torchrun("--rdzv_conf=timeout=7200")),
            "gang-timeout=7200" + source("--rdzv_conf"));
  EXPECT_EQ(settings_of("muster a.py", with_torchrun("-t 3 --log_dir /l --rdzv_backend=static")),
            "log-dir=/l" + source("--log_dir") + "; tee=3" + source("--tee"));
  EXPECT_EQ(settings_of("muster a.py", with_torchrun("--master_addr=h --master_port=1")),
            "master-addr=h" + source("--master_addr") + "; master-port=1" + source("--master_port"));
  EXPECT_EQ(settings_of("muster a.py", with_torchrun("  ")), "");
  EXPECT_EQ(
      notices_of("muster a.py", with_torchrun("--monitor_interval=5")),
      "ignoring MA_EXTRA_TORCHRUN_PARAMS --monitor_interval: muster does not poll; it sees at once that a worker ends");
}

TEST(ExtraTorchrunParams, AreSplitAsAShellWould) {
  EXPECT_EQ(settings_of("muster a.py", with_torchrun("--log_dir '/a b'\t--tee\n3 --rdzv_id=\"c d\"\r\n")),
            "job-id=c d" + source("--rdzv_id") + "; log-dir=/a b" + source("--log_dir") + "; tee=3" + source("--tee"));
  EXPECT_EQ(error_of("muster a.py", with_torchrun("--log_dir \\x")),
            "78: MA_EXTRA_TORCHRUN_PARAMS is '--log_dir \\x', expected words as a shell takes them");
  EXPECT_EQ(setting_of("muster a.py", "log-dir", with_torchrun("--log_dir \"it's\"'/x\"y'\\ z")),
            "it's/x\"y z" + source("--log_dir"));
  EXPECT_EQ(setting_of("muster a.py", "log-dir", with_torchrun("--tee 3 --log_dir ''")), "");
}

TEST(ExtraTorchrunParams, CloseTheirQuotes) {
  for (const std::string words : {"--log_dir '/a", "--log_dir \"/a", "--tee 3 '", "--log_dir \"it's'"}) {
    EXPECT_EQ(error_of("muster a.py", with_torchrun(words)),
              "78: MA_EXTRA_TORCHRUN_PARAMS is '" + words +
                  "', expected words as a shell takes them, with each quote closed");
  }
  EXPECT_EQ(error_of("muster a.py", with_torchrun("--log_dir /a\\")).substr(0, 2), "78");
}

TEST(ExtraTorchrunParams, AreRefusedByName) {
  EXPECT_EQ(error_of("muster a.py", with_torchrun("--rdvz_conf=x=1")),
            "78: MA_EXTRA_TORCHRUN_PARAMS: unknown option '--rdvz_conf'; did you mean '--rdzv-conf'?");
  EXPECT_EQ(error_of("muster a.py", with_torchrun("--nnodes")), "78: MA_EXTRA_TORCHRUN_PARAMS: --nnodes needs a value");
  EXPECT_EQ(error_of("muster a.py", with_torchrun("--report r")),
            "78: MA_EXTRA_TORCHRUN_PARAMS: unknown option '--report'; 'muster torchrun --help' lists "
            "them, and a script that begins with a dash goes after '--'");
  EXPECT_EQ(error_of("muster a.py", with_torchrun("--tee 3 b.py")),
            "78: MA_EXTRA_TORCHRUN_PARAMS is '--tee 3 b.py', expected options of torchrun and no "
            "program");
  EXPECT_EQ(error_of("muster a.py", with_torchrun("--rdzv_conf=timeout")),
            "78: MA_EXTRA_TORCHRUN_PARAMS --rdzv_conf is 'timeout', expected KEY=VALUE,KEY=VALUE such as "
            "timeout=1800");
}

TEST(ExtraTorchrunParams, AreReadForTorchrunAlone) {
  EXPECT_EQ(settings_of("muster a.py", {{"MA_EXTRA_TORCHRUN_PARAMS", "--tee 3"}}), "");
  EXPECT_EQ(setting_of("muster --mode msrun a.py", "tee", with_torchrun("--tee 3")), "");
  EXPECT_EQ(setting_of("muster --template t a.py", "tee", with_torchrun("--tee 3")), "");
  for (const std::string mode : {"auto", "torchrun"}) {
    EXPECT_EQ(setting_of("muster --mode " + mode + " a.py", "tee", with_torchrun("--tee 3")), "3" + source("--tee"))
        << mode;
  }
}

TEST(ExtraTorchrunParams, AreNotForAWorkerThatStartsMuster) {
  Variables variables = with_torchrun("--nproc_per_node=2");
  variables["LOCAL_RANK"] = "0";
  variables["LOCAL_WORLD_SIZE"] = "2";
  EXPECT_EQ(settings_of("muster a.py", variables), "");
  EXPECT_EQ(setting_of("muster --nproc-per-node=4 a.py", "nproc-per-node", variables), "4 (--nproc-per-node)");
}

TEST(ExtraTorchrunParams, AreNotReadForATextThatIsWanted) {
  for (const std::string option : {"--help", "--version", "--print-man", "--print-completion=bash"}) {
    EXPECT_EQ(error_of("muster " + option, with_torchrun("--rdvz_conf")), "no error") << option;
    EXPECT_EQ(error_of("torchrun " + option, with_torchrun("--rdvz_conf")), "no error") << option;
  }
  EXPECT_EQ(error_of("muster --print-options", with_torchrun("--tee")).substr(0, 2), "64");
  EXPECT_EQ(error_of("muster torchrun --print-options", with_torchrun("--tee")), "no error");
  Variables variables = with_torchrun("--tee 3");
  variables["MUSTER_HELP"] = "0";
  EXPECT_EQ(setting_of("muster a.py", "tee", variables), "3" + source("--tee"));
}

TEST(ExtraTorchrunParams, HaveAPortThatIsFreeOnTheOnlyNode) {
  Variables variables = with_torchrun("--master_port=0");
  EXPECT_EQ(settings_of("muster a.py", variables), "");
  variables["MA_NUM_HOSTS"] = "1";
  variables["VC_TASK_INDEX"] = "0";
  EXPECT_EQ(settings_of("muster a.py", variables), "");
  EXPECT_EQ(setting_of("muster --nnodes 2 a.py", "master-port", variables), "0" + source("--master_port"));
  variables["MA_NUM_HOSTS"] = "2";
  EXPECT_EQ(settings_of("muster a.py", variables), "master-port=0" + source("--master_port"));
}

TEST(MsrunVariables, AreWeakerThanFlagsAndMustersOwn) {
  const Variables variables = {
      {"MA_RUN_METHOD", "msrun"}, {"MSRUN_LOG_DIR", "/logs"}, {"MSRUN_CLUSTER_TIME_OUT", "1200"}};
  EXPECT_EQ(settings_of("muster a.py", variables),
            "gang-timeout=1200 (MSRUN_CLUSTER_TIME_OUT); log-dir=/logs (MSRUN_LOG_DIR); "
            "set:cluster_time_out=1200 (MSRUN_CLUSTER_TIME_OUT)");
  EXPECT_EQ(setting_of("muster --log-dir mine a.py", "log-dir", variables), "mine (--log-dir)");
  EXPECT_EQ(setting_of("muster --set cluster_time_out=3 a.py", "set:cluster_time_out", variables), "3 (--set)");
  EXPECT_EQ(settings_of("muster a.py", {{"MSRUN_LOG_DIR", "/logs"}}), "");
}

TEST(MsrunVariables, MayWaitForEver) {
  const Variables variables = {{"MA_RUN_METHOD", "msrun"}, {"MSRUN_CLUSTER_TIME_OUT", "-1"}};
  EXPECT_EQ(settings_of("muster a.py", variables),
            "gang-timeout=31536000 (MSRUN_CLUSTER_TIME_OUT); set:cluster_time_out=-1 "
            "(MSRUN_CLUSTER_TIME_OUT)");
}

TEST(MsrunVariables, NameARankTableWhenItIsWanted) {
  Variables variables = {{"MA_RUN_METHOD", "msrun"}, {"RANK_TABLE_FILE", "/user/table"}};
  EXPECT_EQ(settings_of("muster a.py", variables), "");
  variables["MS_RANKTABLE_ENABLE"] = "true";
  EXPECT_EQ(settings_of("muster a.py", variables), "set:rank_table_file=/user/table (RANK_TABLE_FILE)");
  variables["MSRUN_RANK_TABLE_FILE"] = "/mine";
  EXPECT_EQ(settings_of("muster a.py", variables), "set:rank_table_file=/mine (MSRUN_RANK_TABLE_FILE)");
}

TEST(MsrunVariables, NameARankTableHoweverMsrunIsSelected) {
  const Variables variables = {{"MS_RANKTABLE_ENABLE", "true"}, {"RANK_TABLE_FILE", "/user/table"}};
  const std::string table = "/user/table (RANK_TABLE_FILE)";
  for (const std::string line : {"muster --mode msrun a.py", "msrun a.py", "muster msrun a.py"}) {
    EXPECT_EQ(setting_of(line, "set:rank_table_file", variables), table) << line;
  }
  EXPECT_EQ(setting_of("msrun --rank_table_file=/t a.py", "set:rank_table_file", variables), "/t (--rank_table_file)");
  EXPECT_EQ(setting_of("muster --mode msrun --rank-table=/t a.py", "set:rank_table_file", variables), "");
  for (const std::string line : {"muster a.py", "muster --mode msrun --template t a.py"}) {
    EXPECT_EQ(setting_of(line, "set:rank_table_file", variables), "") << line;
  }
}

TEST(MsrunVariables, WantARankTableInAnyCaseOfLetters) {
  Variables variables = {{"RANK_TABLE_FILE", "/user/table"}};
  const std::string line = "muster --mode msrun a.py";
  for (const std::string wish : {"True", "TRUE", "true"}) {
    variables["MS_RANKTABLE_ENABLE"] = wish;
    EXPECT_EQ(setting_of(line, "set:rank_table_file", variables), "/user/table (RANK_TABLE_FILE)") << wish;
  }
  for (const std::string wish : {"False", "false", ""}) {
    variables["MS_RANKTABLE_ENABLE"] = wish;
    EXPECT_EQ(setting_of(line, "set:rank_table_file", variables), "") << wish;
  }
  variables["MS_RANKTABLE_ENABLE"] = "yes";
  EXPECT_EQ(settings_of(line, variables), "MS_RANKTABLE_ENABLE is 'yes', expected true or false");
}

TEST(MsrunVariables, SayWhenAWantedRankTableIsNotNamed) {
  const Variables variables = {{"MS_RANKTABLE_ENABLE", "true"}, {"RANK_TABLE_FILE", ""}};
  const std::string without =
      "starting without a rank table in spite of MS_RANKTABLE_ENABLE=true: neither "
      "MSRUN_RANK_TABLE_FILE nor RANK_TABLE_FILE names one";
  EXPECT_EQ(notices_of("muster a.py", {{"MA_RUN_METHOD", "msrun"}, {"MS_RANKTABLE_ENABLE", "true"}}), without);
  EXPECT_EQ(notices_of("msrun --join=True a.py", variables), without);
  EXPECT_EQ(notices_of("msrun --join=True --rank_table_file=/t a.py", variables), "");
  EXPECT_EQ(notices_of("muster a.py", variables), "") << "nobody asks for msrun";
}

TEST(MsrunVariables, SayWhenARankTableIsRemoved) {
  const Variables variables = {{"RANK_TABLE_FILE", "/user/table"}};
  const std::string removed = "removing RANK_TABLE_FILE for the workers: MS_RANKTABLE_ENABLE=true keeps it";
  EXPECT_EQ(notices_of("muster --mode msrun a.py", variables), removed);
  EXPECT_EQ(notices_of("msrun --join=True a.py", variables), removed);
  EXPECT_EQ(notices_of("msrun --join=True --rank_table_file=/t a.py", variables), "");
  EXPECT_EQ(notices_of("muster --mode msrun --rank-table=/t a.py", variables), "");
  EXPECT_EQ(notices_of("muster --mode msrun --rank-table=generate a.py", variables), "");
  EXPECT_EQ(notices_of("muster a.py", variables), "");
  EXPECT_EQ(notices_of("muster --mode msrun a.py", {{"RANK_TABLE_FILE", ""}}), "");
}

TEST(Set, NamesAParameterOfTheMode) {
  EXPECT_EQ(settings_of("muster --set role_name=x --set a=b=c --set empty= a.py"),
            "set:a=b=c (--set); set:empty= (--set); set:role_name=x (--set)");
  EXPECT_EQ(settings_of("muster --set a=1 a.py", {{"MUSTER_SET", " a=2  b=3 "}}),
            "set:a=1 (--set); set:b=3 (MUSTER_SET)");
  EXPECT_EQ(setting_of("torchrun --set role_name=x a.py", "set:role_name"), "x (--set)");
  EXPECT_EQ(error_of("muster --set a a.py"), "64: --set is 'a', expected NAME=VALUE");
  EXPECT_EQ(error_of("muster --set =1 a.py"), "64: --set is '=1', expected NAME=VALUE");
  EXPECT_EQ(error_of("muster a.py", {{"MUSTER_SET", "a=1 b"}}), "78: MUSTER_SET is 'a=1 b', expected NAME=VALUE");
}

}  // namespace
}  // namespace muster

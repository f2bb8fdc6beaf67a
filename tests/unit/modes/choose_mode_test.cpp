// The choice of a template, and its source.
#include "modes/mode_template.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <fstream>

namespace muster {
namespace {

Settings with(const std::string& name, const std::string& value, const Source& source) {
  Settings settings;
  settings.set(name, {value, source});
  return settings;
}

Result<ChosenMode> choose_with(const std::string& name, const std::string& value, const Source& source) {
  return choose_mode(read_mode_request(with(name, value, source)));
}

/// A file that is gone at the end of the test.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& text)
      : path_(testing::TempDir() + "choose_mode_test." + std::to_string(::getpid()) + ".yaml") {
    std::ofstream(path_) << text;
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() { ::unlink(path_.c_str()); }

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST(ChooseMode, IsTorchrunByDefault) {
  const auto chosen = choose_mode({});

  ASSERT_TRUE(chosen);
  EXPECT_EQ(chosen->mode.name, "torchrun");
  EXPECT_EQ(chosen->source, Source());
}

TEST(ChooseMode, TakesEveryModeThatIsBuiltIn) {
  for (const std::string& name : mode_names()) {
    const auto chosen = choose_with("mode", name, from_flag("--mode"));
    ASSERT_TRUE(chosen) << chosen.error().message;
    EXPECT_EQ(chosen->mode.name, name);
    EXPECT_EQ(chosen->source, from_flag("--mode"));
  }
}

TEST(ChooseMode, AutoNamesTheSourceOfTheMode) {
  EXPECT_EQ(choose_with("mode", "auto", from_option("MUSTER_MODE"))->source, from_option("MUSTER_MODE"));
}

TEST(ChooseMode, RefusesAnUnknownMode) {
  const auto chosen = choose_with("mode", "torchrum", from_flag("--mode"));

  ASSERT_FALSE(chosen);
  EXPECT_EQ(chosen.error().kind, ErrorKind::BadUsage);
  EXPECT_EQ(chosen.error().message.substr(0, 51), "--mode is 'torchrum', expected auto or one of torch");
  EXPECT_TRUE(chosen.error().message.ends_with("; did you mean 'torchrun'?"));
  EXPECT_EQ(choose_with("mode", "", from_option("MUSTER_MODE")).error().kind, ErrorKind::BadEnvironment);
}

TEST(ChooseMode, ReadsTheUsersTemplate) {
  const TemporaryFile file("mode: own\nroles:\n  - name: worker\n");
  const auto chosen = choose_with("template", file.path(), from_flag("--template"));

  ASSERT_TRUE(chosen) << chosen.error().message;
  EXPECT_EQ(chosen->mode.name, "own");
  EXPECT_EQ(chosen->source, from_flag("--template"));
}

TEST(ChooseMode, NamesTheFileOfABadTemplate) {
  const TemporaryFile file("mode: own\nroles:\n  - nam: worker\n");
  const auto chosen = choose_with("template", file.path(), from_flag("--template"));

  ASSERT_FALSE(chosen);
  EXPECT_EQ(chosen.error().kind, ErrorKind::BadData);
  EXPECT_EQ(chosen.error().message, file.path() + ":3: /roles/0/nam is unknown; did you mean 'name'?");
}

TEST(ChooseMode, RefusesATemplateThatCannotBeRead) {
  for (const std::string path : {"/nonexistent/own.yaml", "/"}) {
    const auto chosen = choose_with("template", path, from_flag("--template"));
    ASSERT_FALSE(chosen) << path;
    EXPECT_EQ(chosen.error().kind, ErrorKind::BadData);
    EXPECT_EQ(chosen.error().message, "--template is '" + path + "', expected a template that can be read");
  }
}

TEST(ChooseMode, WantsATemplateToBeNamed) {
  const auto chosen = choose_with("template", "", from_option("MUSTER_TEMPLATE"));

  ASSERT_FALSE(chosen);
  EXPECT_EQ(chosen.error().kind, ErrorKind::BadEnvironment);
  EXPECT_EQ(chosen.error().message, "MUSTER_TEMPLATE is '', expected a file");
}

TEST(ChooseMode, RefusesAModeBesideATemplate) {
  const TemporaryFile file("mode: own\nroles:\n  - name: worker\n");
  Settings settings;
  settings.set("template", {file.path(), from_flag("--template")});
  settings.set("mode", {"ps", from_flag("--mode")});
  const auto chosen = choose_mode(read_mode_request(settings), {});

  ASSERT_FALSE(chosen);
  EXPECT_EQ(chosen.error().kind, ErrorKind::BadUsage);
  EXPECT_EQ(chosen.error().message,
            "--template is '" + file.path() +
                "' but --mode is 'ps': both say how workers are started; leave one of them out");
  settings.set("mode", {"auto", from_flag("--mode")});
  EXPECT_TRUE(choose_mode(read_mode_request(settings), {}));
}

TEST(ChooseMode, NamesTheMissingKeysOfAnEmptyTemplate) {
  const TemporaryFile file("");
  const auto chosen = choose_with("template", file.path(), from_flag("--template"));

  ASSERT_FALSE(chosen);
  EXPECT_NE(chosen.error().message.find("must have the fields mode and roles"), std::string::npos)
      << chosen.error().message;
}

// Modes detected in the environment

Sourced<std::string> detected(std::map<std::string, std::string> variables) {
  Snapshot snapshot;
  snapshot.variables = std::move(variables);
  const auto chosen = choose_mode({}, snapshot);
  return chosen ? Sourced<std::string>{chosen->mode.name, chosen->source}
                : Sourced<std::string>{chosen.error().message, {SourceKind::Default, "error"}};
}

TEST(ChooseMode, FollowsTheEnvironment) {
  struct Row {
    std::map<std::string, std::string> variables;
    std::string mode;
    std::string source;
  };
  const std::vector<Row> rows = {
      {{}, "torchrun", "default"},
      {{{"MA_RUN_METHOD", "msrun"}}, "msrun", "MA_RUN_METHOD"},
      {{{"MA_RUN_METHOD", "torchrun"}, {"TF_PS_HOSTS", "a:1"}}, "torchrun", "MA_RUN_METHOD"},
      {{{"MA_RUN_METHOD", ""}}, "torchrun", "default"},
      {{{"MA_RUN_METHOD", "Msrun"}}, "MA_RUN_METHOD is 'Msrun', expected torchrun or msrun", "error"},
      {{{"TF_PS_HOSTS", "[a:1]"}}, "ps", "TF_PS_HOSTS"},
      {{{"TF_CONFIG", R"({"cluster": {"ps": ["a:1"]}})"}}, "ps", "TF_CONFIG"},
      {{{"TF_CONFIG", R"({"cluster": {"worker": ["a:1"]}})"}}, "ps", "TF_CONFIG"},
      {{{"TF_CONFIG", R"({"cluster": {}})"}}, "torchrun", "default"},
      {{{"TF_CONFIG", "{}"}}, "torchrun", "default"},
      {{{"TF_CONFIG", R"({"cluster": )"}}, "ps", "TF_CONFIG"},  // and there it is refused
      {{{"RANK_TABLE_FILE", "/t"}}, "torchrun", "default"},
      {{{"RANK_TABLE_FILE", "/t"}, {"ASCEND_VISIBLE_DEVICES", "0-7"}},
       "ranktable",
       "RANK_TABLE_FILE and Ascend devices"},
      {{{"MA_VJ_NAME", "j"}, {"ASCEND_VISIBLE_DEVICES", "0-7"}}, "ranktable", "MA_VJ_NAME and Ascend devices"},
      {{{"MA_VJ_NAME", "j"}, {"ASCEND_VISIBLE_DEVICES", "0-7"}, {"MA_RUN_METHOD", "msrun"}}, "msrun", "MA_RUN_METHOD"},
      {{{"RANK_TABLE_FILE", "/t"}, {"ASCEND_VISIBLE_DEVICES", "0-7"}, {"RANK_ID", "1"}}, "torchrun", "RANK_ID"},
      {{{"RANK_TABLE_FILE", "/t"}, {"ASCEND_VISIBLE_DEVICES", "0-7"}, {"PET_NNODES", "2"}}, "torchrun", "PET_NNODES"},
      {{{"RANK_TABLE_FILE", "/t"},
        {"ASCEND_VISIBLE_DEVICES", "0-7"},
        {"MASTER_ADDR", "j-master-0.j"},
        {"WORLD_SIZE", "2"},
        {"RANK", "1"}},
       "torchrun",
       "MASTER_ADDR and WORLD_SIZE"},
      {{{"MA_NUM_HOSTS", "2"}, {"ASCEND_VISIBLE_DEVICES", "0-7"}, {"MASTER_ADDR", "a"}},
       "ranktable",
       "MA_NUM_HOSTS and Ascend devices"},
      {{{"RANK_TABLE_FILE", "/t"},
        {"ASCEND_VISIBLE_DEVICES", "0-7"},
        {"MS_ROLE", "MS_WORKER"},
        {"MS_WORKER_NUM", "16"},
        {"MS_LOCAL_WORKER", "8"},
        {"MS_NODE_RANK", "1"}},
       "msrun",
       "MS_ROLE and MS_LOCAL_WORKER"},
      {{{"MS_ROLE", "MS_WORKER"}, {"MS_WORKER_NUM", "16"}, {"MS_NODE_ID", "1"}}, "torchrun", "default"},
  };
  for (const Row& row : rows) {
    const auto found = detected(row.variables);
    EXPECT_EQ(found.value, row.mode);
    EXPECT_EQ(found.source.name, row.source);
  }
}

TEST(ChooseMode, GivesParametersTheirValues) {
  Settings settings = with("mode", "msrun", from_flag("--mode"));
  settings.set("set:cluster_time_out", {"-1", from_flag("--cluster_time_out")});
  const auto chosen = choose_mode(read_mode_request(settings));
  ASSERT_TRUE(chosen) << chosen.error().message;
  EXPECT_EQ(chosen->parameters.at("cluster_time_out").value, "-1");
  EXPECT_EQ(chosen->parameters.at("worker_log_name").value, "worker");
  EXPECT_EQ(chosen->parameters.at("worker_log_name").source, Source());
}

TEST(ChooseMode, RefusesParametersThatTheModeLacks) {
  Settings settings = with("mode", "jax", from_flag("--mode"));
  settings.set("set:speed", {"3", from_flag("--set")});
  EXPECT_EQ(choose_mode(read_mode_request(settings)).error().message,
            "--set gives 'speed', but the mode 'jax' has no parameters");
  settings.set("mode", {"torchrun", from_flag("--mode")});
  EXPECT_EQ(choose_mode(read_mode_request(settings)).error().message,
            "--set gives 'speed', but the mode 'torchrun' has only role_name, signals_to_handle");
  settings = with("mode", "msrun", from_flag("--mode"));
  settings.set("set:cluster_time_out", {"6m", from_flag("--set")});
  EXPECT_EQ(choose_mode(read_mode_request(settings)).error().message,
            "--set cluster_time_out is '6m', expected an integer such as 600");
}

Result<ChosenMode> choose_mpi(const Settings& settings) {
  ModeRequest request = read_mode_request(settings);
  auto mpi = read_mpi_request(settings);
  if (!mpi) {
    return mpi.error();
  }
  request.mpi = *mpi;
  return choose_mode(request);
}

TEST(ChooseMode, StartsMpiRanksByTheGivenMethod) {
  Settings settings = with("mode", "mpirun", from_flag("--mode"));
  EXPECT_EQ(choose_mpi(settings)->mode.name, "mpirun");
  settings.set("mpi-start", {"pmix", from_flag("--mpi-start")});
  EXPECT_EQ(choose_mpi(settings)->mode.name, "mpirun");
  settings.set("mpi-start", {"srun", from_flag("--mpi-start")});
  EXPECT_EQ(choose_mpi(settings).error().message, "--mpi-start is 'srun', expected auto, pmix, agent or ssh");
}

TEST(ChooseMode, KnowsWhichWaysOfMpiNeedASecret) {
  Settings settings = with("mode", "mpirun", from_flag("--mode"));
  for (const auto& [method, needs] : {std::pair{"pmix", false}, {"agent", true}, {"ssh", true}}) {
    settings.set("mpi-start", {method, from_flag("--mpi-start")});
    EXPECT_EQ(needs_token(choose_mpi(settings).value()), needs) << method;
  }
  ChosenMode by_key = choose_mpi(settings).value();
  by_key.parameters["ssh_key"].value = "/root/.ssh/id_rsa";
  EXPECT_FALSE(needs_token(by_key));
  EXPECT_FALSE(needs_token(ChosenMode()));
}

TEST(ChooseMode, SaysThatOnlyRanksOfMpiStartSo) {
  Settings settings = with("mode", "torchrun", from_flag("--mode"));
  settings.set("mpi-start", {"agent", from_flag("--mpi-start")});
  EXPECT_EQ(choose_mpi(settings).error().message,
            "--mpi-start is for ranks of MPI, but the mode is 'torchrun'; add --mode mpirun, or "
            "leave it out");
  settings.set("mpi-start", {"agent", from_option("MUSTER_MPI_START")});
  EXPECT_TRUE(choose_mpi(settings));  // an image may say it for whoever needs it
}

TEST(ChooseMode, RefusesMpirunForOptionsOfMustersOwnRanks) {
  Settings settings = with("mode", "mpirun", from_flag("--mode"));
  settings.set("fill-arguments", {"1", from_flag("--fill-arguments")});
  EXPECT_EQ(methods_of(*read_mpi_request(settings)), std::vector{MpiStart::Pmix});
  settings.set("mpi-start", {"ssh", from_flag("--mpi-start")});
  EXPECT_EQ(choose_mpi(settings).error().message,
            "--mpi-start is 'ssh', expected pmix, because --fill-arguments is for ranks that muster "
            "starts itself");
  settings.set("mpi-start", {"auto", from_flag("--mpi-start")});
  settings.set("mpirun-options", {"--tune f", from_flag("--mpirun-options")});
  EXPECT_EQ(choose_mpi(settings).error().message,
            "only mpirun understands --mpirun-options, and --fill-arguments is for ranks that muster "
            "starts itself: leave one of them out");
  settings.set("fill-arguments", {"0", from_option("MUSTER_FILL_ARGUMENTS")});
  EXPECT_TRUE(choose_mpi(settings));
}

TEST(ChooseMode, LooksAtWaysOfMpiForRanksOfMpiAlone) {
  Settings settings = with("mode", "torchrun", from_flag("--mode"));
  settings.set("fill-arguments", {"1", from_flag("--fill-arguments")});
  settings.set("mpi-start", {"ssh", from_option("MUSTER_MPI_START")});
  settings.set("mpirun-options", {"--tag-output", from_option("MUSTER_MPIRUN_OPTIONS")});
  EXPECT_TRUE(choose_mpi(settings));
}

TEST(ChooseMode, RefusesPmixForOptionsOfMpirun) {
  Settings settings = with("mode", "mpirun", from_flag("--mode"));
  settings.set("mpirun-options", {"--mca btl 'self, tcp'", from_flag("--mpirun-options")});
  const auto request = read_mpi_request(settings);
  EXPECT_EQ(request->mpirun.options, (std::vector<std::string>{"--mca", "btl", "self, tcp"}));
  EXPECT_EQ(choose_mpi(settings)->mode.roles.front().name, "mpirun");
  settings.set("mpi-start", {"pmix", from_flag("--mpi-start")});
  EXPECT_EQ(choose_mpi(settings).error().message,
            "--mpi-start is 'pmix', expected agent or ssh, because only mpirun understands --mpirun-options");
}

}  // namespace
}  // namespace muster

// The document is an interface: its fields, their order, and what it does not show.
#include "base/json.hpp"
#include "base/text.hpp"
#include "plan/plans.hpp"

namespace muster {
namespace {

std::vector<std::string> keys(const json::value& value) {
  std::vector<std::string> names;
  for (const auto& member : value.as_object()) {
    names.emplace_back(member.key());
  }
  return names;
}

json::value document_of(const std::vector<std::string>& program) {
  Cluster cluster = cluster_of({1, 1}, 1);
  cluster.hosts = {"head", std::nullopt};
  cluster.decisions = {{"nodes.count", "2", "--nnodes"}};
  ChosenMode mode = mode_of({role("worker", RoleCount::PerDevice)});
  mode.mode.files = {{"a", "0640", "b"}};
  return to_document(make_plan({cluster, mode, job_of(program), surroundings()}));
}

std::vector<std::string> shown_argv(const std::vector<std::string>& program) {
  std::vector<std::string> shown;
  const json::value document = document_of(program);
  for (const json::value& argument : document.at("processes").at(0).at("argv").as_array()) {
    shown.emplace_back(argument.as_string());
  }
  return shown;
}

TEST(PlanDocument, HasTheFieldsOfTheDesignInItsOrder) {
  using Names = std::vector<std::string>;
  const json::value document = document_of({"train"});

  EXPECT_EQ(keys(document), (Names{"muster", "platform", "mode", "nodes", "rendezvous", "world_size", "decisions",
                                   "files", "processes", "not_used"}));
  EXPECT_EQ(keys(document.at("nodes")), (Names{"count", "rank", "hosts", "slots"}));
  EXPECT_EQ(keys(document.at("rendezvous")), (Names{"address", "port"}));
  EXPECT_EQ(keys(document.at("decisions").at(0)), (Names{"field", "value", "source"}));
  EXPECT_EQ(keys(document.at("files").at(0)), (Names{"path", "mode", "content"}));
  EXPECT_EQ(keys(document.at("processes").at(0)),
            (Names{"role", "global_rank", "local_rank", "argv", "env", "unset", "cwd", "log"}));
}

TEST(PlanDocument, HasNumbersWhereNumbersAreMeant) {
  const json::value document = document_of({"train"});

  EXPECT_EQ(document.at("world_size"), 2);
  EXPECT_EQ(document.at("nodes"),
            (json::value{{"count", 2}, {"rank", 1}, {"hosts", {"head", nullptr}}, {"slots", {1, 1}}}));
  EXPECT_EQ(document.at("rendezvous"), (json::value{{"address", "head"}, {"port", 29'500}}));
  EXPECT_EQ(document.at("processes").at(0).at("global_rank"), 1);
}

TEST(PlanDocument, HasAPlaceholderForAPortThatIsChosenLater) {
  Cluster cluster = cluster_of({1}, 0);
  cluster.master_port.reset();
  const json::value document = to_document(
      make_plan({cluster, mode_of({role("worker", RoleCount::PerDevice)}), job_of({"train"}), surroundings()}));

  EXPECT_EQ(document.at("rendezvous").at("port"), "{worker_port}");
}

TEST(PlanDocument, HasNoRankWhereRanksGoByArrival) {
  Cluster cluster = cluster_of({2, 2}, 0);
  cluster.node.rank.reset();
  const json::value document = to_document(
      make_plan({cluster, mode_of({role("worker", RoleCount::PerDevice)}), job_of({"train"}), surroundings()}));

  EXPECT_EQ(document.at("nodes").at("rank"), nullptr);
  EXPECT_EQ(document.at("processes").at(1).at("global_rank"), 1) << "as if it were node 0";
}

TEST(PlanDocument, ShowsLateValuesAsTheTemplateWritesThem) {
  RoleTemplate worker = role("worker", RoleCount::PerDevice);
  worker.environment = {{"AT", "{run_dir}:{worker_port}"}};
  worker.arguments = {"--at={run_dir}"};
  ChosenMode mode = mode_of({worker});
  mode.mode.files = {{"{run_dir}/a", "0640", "{worker_port}"}};
  const json::value document = to_document(make_plan({cluster_of({1}, 0), mode, job_of({"x"}), surroundings()}));

  EXPECT_EQ(document.at("processes").at(0).at("env").at("AT"), "{run_dir}:{worker_port}");
  EXPECT_EQ(document.at("processes").at(0).at("argv").at(1), "--at={run_dir}");
  EXPECT_EQ(document.at("files").at(0).at("path"), "{run_dir}/a");
  EXPECT_EQ(document.at("files").at(0).at("content"), "{worker_port}");
}

// Secrets

TEST(PlanDocument, MasksVariablesThatAreSecret) {
  RoleTemplate worker = role("worker", RoleCount::PerDevice);
  worker.environment = {{"HF_TOKEN", "hunter2"}, {"TOKENIZERS_PARALLELISM", "false"}};
  const json::value document =
      to_document(make_plan({cluster_of({1}, 0), mode_of({worker}), job_of({"x"}), surroundings()}));

  EXPECT_EQ(document.at("processes").at(0).at("env"),
            (json::value{{"HF_TOKEN", "***"}, {"TOKENIZERS_PARALLELISM", "false"}}));
}

TEST(PlanDocument, MasksSecretsInArguments) {
  EXPECT_EQ(shown_argv({"train", "--api-token=hunter2", "--lr=1"}),
            (std::vector<std::string>{"train", "--api-token=***", "--lr=1"}));
  EXPECT_EQ(shown_argv({"train", "--password", "hunter2", "next"}),
            (std::vector<std::string>{"train", "--password", "***", "next"}));
  EXPECT_EQ(shown_argv({"env", "HF_TOKEN=hunter2", "train"}),
            (std::vector<std::string>{"env", "HF_TOKEN=***", "train"}));
  EXPECT_EQ(shown_argv({"train", "wandb.api_key=hunter2", "-access-key", "hunter2"}),
            (std::vector<std::string>{"train", "wandb.api_key=***", "-access-key", "***"}));
  EXPECT_EQ(shown_argv({"get", "https://host/file?token=hunter2"}),
            (std::vector<std::string>{"get", "https://host/file?token=***"}));
}

TEST(PlanDocument, ShowsWhatOnlyLooksLikeASecret) {
  const std::vector<std::string> argv = {"train",       "--tokenizer", "gpt2", "--max-tokens=512",
                                         "--use-token", "--lr",        "1",    "token"};
  EXPECT_EQ(shown_argv(argv), argv);
}

// Bytes

TEST(PlanDocument, IsValidUtf8WhateverBytesItIsMadeOf) {
  Snapshot snapshot = surroundings({{"MUSTER_\xFF", "\xFF"}});
  snapshot.working_directory = "/\xFF";
  Cluster cluster = cluster_of({1}, 0);
  cluster.hosts = {"h\xFF"};
  cluster.master_address = "a\xFF";
  cluster.job.job_id = "j\xFF";
  cluster.decisions = {{"f\xFF", "v\xFF", "VC_\xFF_NUM"}};
  RoleTemplate worker = role("w\xFF", RoleCount::PerDevice);
  worker.environment = {{"E\xFF", "{job_id}"}};
  const std::string text = json::serialize(
      to_document(make_plan({cluster, mode_of({worker}), job_of({"tr\xFF", "--token=\xC3"}), snapshot})));

  EXPECT_EQ(valid_utf8(text), text);
  EXPECT_NE(text.find("MUSTER_\xEF\xBF\xBD"), std::string::npos) << text;
}

}  // namespace
}  // namespace muster

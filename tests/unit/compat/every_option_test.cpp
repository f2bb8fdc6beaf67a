// No option of another launcher is dropped in silence: in each branch it is used, ignored with a sentence, or refused.
#include "compat/compat_launcher.hpp"
#include "lines.hpp"

#include <gtest/gtest.h>

#include <set>

namespace muster {
namespace {

/// A place in which a line is typed: what the environment says, and what stands in front of the option.
struct Branch {
  const char* name;
  Variables variables;
  std::map<std::string, std::string> lines;  ///< by launcher; others have none
};

const Variables kStep = {{"SLURM_JOB_ID", "7"},
                         {"SLURM_STEP_ID", "0"},
                         {"SLURM_NTASKS", "2"},
                         {"SLURM_PROCID", "1"},
                         {"SLURM_LOCALID", "0"},
                         {"SLURM_NODEID", "1"},
                         {"SLURM_NNODES", "2"},
                         {"SLURM_STEP_NUM_NODES", "2"},
                         {"SLURM_STEP_NUM_TASKS", "2"},
                         {"SLURM_TASKS_PER_NODE", "1"},
                         {"SLURM_NODELIST", "n[1-2]"},
                         {"SLURM_STEP_NODELIST", "n[1-2]"},
                         {"SLURM_STEP_TASKS_PER_NODE", "1(x2)"}};

const std::vector<Branch>& branches() {
  static const std::vector<Branch> all = {
      {"alone", {}, {}},
      {"in a step of Slurm", kStep, {}},
      {"one node",
       {},
       {{"torchrun", "--nnodes 1"},
        {"torch.distributed.launch", "--nnodes 1"},
        {"deepspeed", "--num_nodes 1"},
        {"accelerate", "--num_machines 1"},
        {"paddle.distributed.launch", "--nnodes 1"},
        {"mpirun", "-H node-a:2"},
        {"horovodrun", "-H node-a:2"}}},
      {"two nodes",
       {},
       {{"torchrun", "--nnodes 2 --node-rank 1 --master-addr n1"},
        {"torch.distributed.launch", "--nnodes 2 --node-rank 1 --master-addr n1"},
        {"msrun", "--worker_num 4 --local_worker_num 2 --node_rank 1 --master_addr n1"},
        {"deepspeed", "--no_ssh --num_nodes 2 --node_rank 1 --master_addr n1"},
        {"accelerate",
         "--num_machines 2 --num_processes 4 --machine_rank 1 --main_process_ip n1 --main_process_port 5000"},
        {"paddle.distributed.launch", "--nnodes 2 --master n1:5000 --rank 1"}}},
      {"hosts of the line",
       {},
       {{"deepspeed", "--hostfile hosts"},
        {"colossalai", "--host n1,n2"},
        {"mpirun", "-np 4 -H n1:2,n2:2"},
        {"horovodrun", "-np 4 -H n1:2,n2:2"},
        {"paddle.distributed.launch", "--ips n1,n2"}}},
      {"standalone", {}, {{"torchrun", "--standalone"}}},
      {"with the features that others belong to",
       {},
       {{"accelerate", "--use_deepspeed --mixed_precision fp8"},
        {"paddle.distributed.launch", "--ips n1,n2 --elastic_level 1"},
        {"msrun", "--sim_level 1"},
        {"horovodrun", "--autotune --timeline-filename t"}}},
      {"at an endpoint", {}, {{"torchrun", "--nnodes 2 --rdzv-backend c10d --rdzv-endpoint n1:5000"}}}};
  return all;
}

/// A value that is right for an argument of this name.
std::string value_of(const CompatOption& option) {
  if (option.choices != nullptr && *option.choices != '\0') {
    return split(option.choices, ' ').back();
  }
  const std::string argument = option.argument;
  const std::map<std::string, std::string> values = {{"N", "3"},
                                                     {"SECONDS", "40"},
                                                     {"PORT", "5001"},
                                                     {"HOST", "n9"},
                                                     {"ADDR", "n9"},
                                                     {"HOSTS", "n9"},
                                                     {"FILE", "others"},
                                                     {"HOST:PORT", "n9:5001"},
                                                     {"R", "0"},
                                                     {"DIR", "out"},
                                                     {"BOOL", "True"},
                                                     {"NAME=VALUE", "a=b"},
                                                     {"NAME[=VALUE]", "A=b"},
                                                     {"NAME VALUE", "btl self"}};
  const auto at = values.find(argument);
  return at == values.end() ? "1" : at->second;
}

std::optional<std::string> read_hosts(const std::string& path) {
  const bool is_there = path == "hosts" || path == "others";
  return is_there ? std::optional("n1 slots=2\nn2 slots=2\n" + std::string(path == "others" ? "n3 slots=2\n" : ""))
                  : std::nullopt;
}

/// All that the line means, as text.
std::string meaning_of(const std::string& text, const Variables& variables) {
  const auto line = read_line(text, snapshot_of(variables), read_hosts);
  if (!line) {
    return "error: " + line.error().message;
  }
  std::string all;
  line->settings.for_each([&](const std::string& name, const Sourced<std::string>& value) {
    all += name + "=" + value.value + " (" + value.source.name + ")\n";
  });
  for (const auto* const words : {&line->program, &line->worker_arguments, &line->notices}) {
    all += join(*words, " ") + "\n";
  }
  return all;
}

std::string typed(const CompatOption& option, bool is_one_dash) {
  const std::string name = (is_one_dash ? "-" : "--") + std::string(option.name);
  return option.argument == nullptr ? name : name + " " + value_of(option);
}

/// Words that change nothing because it is so anyway: as the option's row says, or as the branch has it already.
bool is_so_anyway(const std::string& words, const std::string& start) {
  static const std::set<std::string> anyway = {"--logs-specs default",
                                               "--logs_specs default",
                                               "--run-path",
                                               "--run_path",
                                               "--same_network",
                                               "--mpi",
                                               "--no-autotune",
                                               "--no-timeline-mark-cycles",
                                               "--no_ssh",
                                               "--node_rank 0",
                                               "--rank 0",
                                               "--nnodes 1",
                                               "--multi_gpu"};
  return anyway.contains(words) || start.find(words) != std::string::npos;
}

/// The options that the branch drops in silence.
std::set<std::string> dropped_in(const Branch& branch, const CompatLauncher& compat) {
  const auto own = branch.lines.find(compat.name);
  if (own == branch.lines.end() && !branch.lines.empty()) {
    return {};
  }
  const std::string start = "muster " + command_of(compat) + " " + (own == branch.lines.end() ? "" : own->second + " ");
  const std::string without = meaning_of(start + "train.py", branch.variables);
  EXPECT_FALSE(without.starts_with("error")) << start << ": " << without;
  std::set<std::string> dropped;
  for (const CompatOption& option : compat.options()) {
    const std::string words = typed(option, option.has_one_dash || compat.syntax == Syntax::OpenMpi);
    std::string line = start;
    line += words + " train.py";
    if (!is_so_anyway(words, start) && meaning_of(line, branch.variables) == without) {
      dropped.insert(words);
    }
  }
  return dropped;
}

class EveryOption : public testing::TestWithParam<std::string> {};

TEST_P(EveryOption, IsUsedOrNamed) {
  for (const Branch& branch : branches()) {
    EXPECT_EQ(dropped_in(branch, *find_compat(GetParam())), std::set<std::string>()) << branch.name;
  }
}

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const CompatLauncher& compat : compat_launchers()) {
    all.emplace_back(compat.name);
  }
  return all;
}

std::string test_name(const testing::TestParamInfo<std::string>& one) {
  std::string name = one.param;
  std::erase_if(name, [](char c) { return c == '.' || c == '-' || c == ' '; });
  return name;
}

INSTANTIATE_TEST_SUITE_P(Of, EveryOption, testing::ValuesIn(names()), test_name);

}  // namespace
}  // namespace muster

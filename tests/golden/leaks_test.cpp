// All golden environments together: what leaks into one of them must not turn it into another platform's
// job, and none of several nodes may end as a job of one node when its reader is switched off.
#include "base/text.hpp"
#include "case.hpp"
#include "case_file.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>

namespace muster::golden {
namespace {

namespace fs = std::filesystem;
using Variables = std::map<std::string, std::string>;

/// An environment of a platform, as it is without any option.
struct Environment {
  std::string name;
  Case given;
  LaunchPlan plan;
};

bool is_plain(const Case& given) {
  const bool has_options = std::any_of(given.snapshot.variables.begin(), given.snapshot.variables.end(),
                                       [](const auto& variable) { return variable.first.starts_with("MUSTER_"); });
  bool has_settings = false;
  given.settings.for_each([&](const auto&, const auto&) { has_settings = true; });
  return !has_options && !has_settings && given.command_line.empty();
}

std::vector<Environment> all_environments() {
  std::vector<Environment> environments;
  for (const auto& file : fs::directory_iterator(GOLDEN_CASES)) {
    const auto blocks = read_blocks(file.path());
    for (const Block& block : blocks ? *blocks : std::vector<Block>()) {
      const auto given = read_case(all_given(*blocks, block));
      const auto planned = given && is_plain(*given) ? plan_of(*given) : Result<Planned>(Error{});
      if (planned) {
        environments.push_back({file.path().stem().string() + ", " + block.name, *given, planned->plan});
      }
    }
  }
  return environments;
}

/// Variables that a shell, a batch job or a pod leaves in the environment; no other platform may be recognised by them.
const std::map<std::string, Variables>& leaks() {
  static const std::map<std::string, Variables> all = {
      {"a pod of Kubernetes",
       {{"KUBERNETES_SERVICE_HOST", "10.96.0.1"},
        {"KUBERNETES_SERVICE_PORT", "443"},
        {"KUBERNETES_PORT", "tcp://10.96.0.1:443"},
        {"HOSTNAME", "pod-0"}}},
      {"a batch shell of Slurm",
       {{"SLURM_JOB_ID", "4711"},
        {"SLURM_JOBID", "4711"},
        {"SLURM_JOB_NUM_NODES", "1"},
        {"SLURM_NNODES", "1"},
        {"SLURM_JOB_NODELIST", "gpu01"},
        {"SLURM_NODELIST", "gpu01"},
        {"SLURM_NTASKS", "1"},
        {"SLURM_TASKS_PER_NODE", "1"},
        {"SLURM_PROCID", "0"},
        {"SLURM_LOCALID", "0"},
        {"SLURM_NODEID", "0"},
        {"SLURM_GTIDS", "0"},
        {"SLURM_JOB_CPUS_PER_NODE", "8"},
        {"SLURMD_NODENAME", "gpu01"}}},
      {"an allocation of Slurm of two nodes",
       {{"SLURM_JOB_ID", "4711"},
        {"SLURM_JOB_NUM_NODES", "2"},
        {"SLURM_NNODES", "2"},
        {"SLURM_JOB_NODELIST", "gpu[01-02]"}}},
      {"an outer torchrun",
       {{"TORCHELASTIC_RUN_ID", "none"},
        {"TORCHELASTIC_RESTART_COUNT", "0"},
        {"TORCHELASTIC_MAX_RESTARTS", "0"},
        {"LOCAL_RANK", "0"},
        {"LOCAL_WORLD_SIZE", "1"},
        {"GROUP_RANK", "0"},
        {"ROLE_RANK", "0"}}},
      {"an outer mpirun of one process",
       {{"OMPI_COMM_WORLD_SIZE", "1"},
        {"OMPI_COMM_WORLD_RANK", "0"},
        {"OMPI_COMM_WORLD_LOCAL_RANK", "0"},
        {"OMPI_COMM_WORLD_LOCAL_SIZE", "1"},
        {"OMPI_UNIVERSE_SIZE", "1"}}},
      {"a cluster's defaults", {{"NODE_RANK", "0"}, {"NCCL_SOCKET_IFNAME", "eth0"}}},
      {"an image that sets torchrun's options", {{"PET_NPROC_PER_NODE", "auto"}, {"PET_MAX_RESTARTS", "3"}}},
  };
  return all;
}

/// Less specific than what may leak: there the outer one rightly describes the job, or says that this is
/// one of its workers.
bool may_change(const std::string& platform, const std::string& leak) {
  static const std::vector<std::string> kLast = {"single", "bare", "indexed-job", "slurm",
                                                 "pbs",    "lsf",  "flux",        "mpirun"};
  return leak == "an outer torchrun" || leak == "an outer mpirun of one process" ||
         std::find(kLast.begin(), kLast.end(), platform) != kLast.end();
}

TEST(Leaks, NoPlatformIsTakenForAnother) {
  int compared = 0;
  for (const Environment& environment : all_environments()) {
    for (const auto& [leak, variables] : leaks()) {
      Case given = environment.given;
      for (const auto& [name, value] : variables) {
        given.snapshot.variables.emplace(name, value);  // what the platform sets itself stays
      }
      const auto planned = plan_of(given);
      if (environment.plan.cluster.platform == "mpirun" && variables.contains("OMPI_COMM_WORLD_SIZE")) {
        continue;  // one inside the other, and which is which no variable says
      }
      if (!planned) {  // a refusal is no wrong job
        EXPECT_EQ(planned.error().exit_code(), 78) << environment.name << " in " << leak;
        continue;
      }
      ++compared;
      const std::string& platform = planned->plan.cluster.platform;
      if (platform == environment.plan.cluster.platform) {
        EXPECT_EQ(planned->plan.placement.nodes, environment.plan.placement.nodes)
            << environment.name << " in " << leak;
        EXPECT_EQ(planned->plan.placement.node_rank.value, environment.plan.placement.node_rank.value)
            << environment.name << " in " << leak;
      } else {
        EXPECT_TRUE(platform == "worker" || may_change(environment.plan.cluster.platform, leak))
            << environment.name << " in " << leak << " became " << platform;
        EXPECT_GE(planned->plan.placement.nodes, leak == "an outer torchrun" ? 1 : environment.plan.placement.nodes)
            << environment.name << " in " << leak << " became " << platform;
      }
    }
  }
  EXPECT_GT(compared, 300);
}

TEST(Leaks, NoneIsAloneWithItsReaderSwitchedOff) {
  int switched = 0;
  for (const Environment& environment : all_environments()) {
    const std::string& platform = environment.plan.cluster.platform;
    if (environment.plan.placement.nodes == 1 || platform == "worker" || platform == "flags") {
      continue;
    }
    Case given = environment.given;
    given.settings.set("platform", {"^" + platform, from_flag("--platform")});
    const auto planned = plan_of(given);
    ++switched;
    EXPECT_FALSE(planned && planned->plan.placement.nodes == 1)
        << environment.name << ", without the reader of " << platform << ", is a job of one node by "
        << planned->plan.cluster.platform;
  }
  EXPECT_GT(switched, 50);
}

}  // namespace
}  // namespace muster::golden

// What a plan tells its user at the start: the one line, and what is odd.
#include "plan/remarks.hpp"

#include "base/rank_words.hpp"
#include "base/text.hpp"
#include "platforms/cluster.hpp"

#include <algorithm>
#include <numeric>

namespace muster {
namespace {

/// The thread count that muster chose for the workers; it decides how fast they compute, so it is
/// said. Nothing when it was inherited.
std::string describe_threads(LaunchPlan& plan, const Snapshot& snapshot, const std::string& cores) {
  if (plan.workers.empty()) {
    return {};
  }
  const auto threads = plan.workers.front().environment.find("OMP_NUM_THREADS");
  if (threads == plan.workers.front().environment.end()) {
    return {};
  }
  const std::string count = readable(threads->second);
  plan.decisions.push_back({"OMP_NUM_THREADS", count, snapshot.cores.source});
  const auto& binding = plan.workers.front().binding;
  if (binding && std::to_string(binding->cpus.size()) == count) {
    return ", OMP_NUM_THREADS=" + count + " (the CPUs that each is bound to)";
  }
  return ", OMP_NUM_THREADS=" + count + " (" + cores + " / " +
         count_of(plan.workers.size(), noun_of(plan.workers)) + ")";
}

/// "node 1 of 2", "node 1 of 2 to 4"; where the rank is open, "one of 2 nodes"; of a process that the
/// platform has placed "task 9 of 16 (1 of 8 on this host)".
std::string describe_node(const LaunchPlan& plan) {
  const std::string nodes =
      (plan.least_nodes < plan.nodes ? std::to_string(plan.least_nodes) + " to " : "") +
      std::to_string(plan.nodes);
  if (plan.share) {
    return "task " + to_string(plan.node_rank) + " of " + nodes + " (" +
           std::to_string(plan.share->local_rank.value) + " of " +
           std::to_string(plan.share->local_size.value) + " on this host)";
  }
  return plan.has_node_rank ? "node " + to_string(plan.node_rank) + " of " + nodes
                            : "one of " + nodes + " nodes";
}

/// ", ranktable by RANK_TABLE_FILE and Ascend devices": a mode that the surroundings ask for.
std::string describe_mode(const ChosenMode& chosen) {
  const bool is_found = chosen.source.kind == SourceKind::Variable;
  return is_found ? ", " + chosen.mode.name + " by " + chosen.source.name : std::string();
}

/// Who starts ranks by itself has slots for them.
std::string describe_job(const LaunchPlan& plan) {
  const bool has_ranks = plan.workers.empty() || ProcessNames::of(plan.workers).has_ranks();
  const int slots = std::accumulate(plan.slots.begin(), plan.slots.end(), 0);
  return has_ranks ? ", " + std::to_string(plan.world_size) + " in the job"
                   : ", for " + count_of(static_cast<std::size_t>(slots), "rank");
}

}  // namespace

void remark_start(LaunchPlan& plan, const PlanInput& input, const std::string& cores) {
  const Snapshot& snapshot = input.snapshot;
  const std::string here =
      plan.awaits_table ? "as many workers here as the rank table says"
                        : ProcessNames::of(plan.workers).count(noun_of(plan.workers)) + " here";
  const std::string in_job = plan.awaits_table ? "" : describe_job(plan);
  const std::string others =
      plan.nodes > 1 ? ", leader " + plan.master_address + ":" + std::to_string(plan.gang_port)
                     : in_job;
  plan.notices.push_back(plan.platform + describe_mode(input.mode) + ": " + describe_node(plan) +
                         ", " + here + others +
                         (plan.awaits_table ? "" : describe_threads(plan, snapshot, cores)));
  const int devices = count_visible_devices(snapshot);
  if (plan.share && devices > 1 && devices < plan.share->local_size.value) {
    plan.notices.push_back(
        count_of(static_cast<std::size_t>(plan.share->local_size.value), "task") +
        " on this host share its " + std::to_string(devices) + " accelerators");
  }
  if (is_already_worker(snapshot)) {
    plan.notices.push_back("LOCAL_RANK is '" + snapshot.variable("LOCAL_RANK").value_or("") +
                           "': this is a worker of another launcher's already, and starts a job of "
                           "its own, as --nproc-per-node asks");
  }
}

void remark_binding(LaunchPlan& plan, const JobRequest& job) {
  if (!job.binding) {
    return;
  }
  plan.notices.insert(plan.notices.end(), job.binding->notices.begin(), job.binding->notices.end());
  for (const WorkerPlan& worker : plan.workers) {
    if (worker.binding) {
      plan.decisions.push_back({"binding[" + to_string(worker.local_rank) + "]",
                                describe_ranges(worker.binding->cpus),
                                worker.binding->how});
    }
  }
  const bool is_bound =
      std::any_of(plan.workers.begin(), plan.workers.end(), [](const WorkerPlan& worker) {
        return worker.binding.has_value();
      });
  if (!is_bound) {
    plan.notices.emplace_back(
        "no process of this node is bound to CPUs: none stands for one accelerator, or is named");
  }
}

}  // namespace muster

// Counts the file descriptors of a job: see the header.
#include "descriptors.hpp"

#include <muster/base/rank_words.hpp>
#include <muster/base/text.hpp>

#include <sys/resource.h>

#include <algorithm>
#include <string>

namespace muster {
namespace {

/// More than that many come at once only where more nodes do.
constexpr rlim_t kEnoughStrangers = 1'024;
constexpr rlim_t kLeastStrangers = 32;

/// The links of an agent that leads: to the nodes that the job cannot do without. Where it is workers
/// that are counted, so many nodes as it takes when each has as many as this one.
rlim_t links_of(const gang::GangSetup& gang) {
  const int slots = std::max(1, gang.policy.node.slots);
  const int total = gang.policy.job.total_slots.value_or(0);
  const int nodes = gang.policy.job.total_slots
                        ? std::min(gang.policy.job.most_nodes, (total + slots - 1) / slots)
                        : gang.policy.job.least_nodes;
  return gang.lead != gang::Lead::Never && nodes > 1 ? static_cast<rlim_t>(nodes) : 0;
}

/// Of this process: what muster itself uses, links, reserved ports, pipes and files.
rlim_t descriptors_of(const JobPlan& job, const RunOptions& options) {
  constexpr rlim_t kForMuster = 24;
  const rlim_t per_worker =
      options.selection.needs_files() ? 5 : 3;  // two pipes, a pidfd, two files
  const rlim_t filtered =
      (options.duplicate_out.is_empty() ? 0U : 1U) + (options.duplicate_err.is_empty() ? 0U : 1U);
  return kForMuster + links_of(job.gang) + static_cast<rlim_t>(job.ports_to_reserve) + filtered +
         per_worker * job.plan.workers.size();
}

}  // namespace

Result<> check_descriptors(const JobPlan& job, const RunOptions& options) {
  const LaunchPlan& plan = job.plan;
  const rlim_t links = links_of(job.gang);
  const auto ports = static_cast<rlim_t>(job.ports_to_reserve);
  const rlim_t needed = descriptors_of(job, options);
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= needed) {
    return {};
  }
  return Error{ErrorKind::System,
               "cannot start " + count_of(plan.workers.size(), noun_of(plan.workers)) +
                   (ports > 0 ? " with " + count_of(ports, "port") : std::string()) +
                   (links > 0 ? " and lead " + std::to_string(links) + " nodes" : std::string()) +
                   ": that takes " + std::to_string(needed) +
                   " file descriptors, and the hard limit is " + std::to_string(limit.rlim_cur) +
                   " (ulimit -Hn)"};
}

std::size_t most_strangers(const JobPlan& job, const RunOptions& options) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) {
    return kLeastStrangers;
  }
  const rlim_t wanted =
      std::max(kEnoughStrangers, 2 * static_cast<rlim_t>(job.gang.policy.job.most_nodes));
  const rlim_t needed = descriptors_of(job, options);
  const rlim_t left = limit.rlim_cur - std::min(needed, limit.rlim_cur);
  return std::clamp(std::min(left / 2, limit.rlim_cur / 4), kLeastStrangers, wanted);
}

}  // namespace muster

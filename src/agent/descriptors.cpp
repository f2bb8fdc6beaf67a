// Counts the file descriptors of a job: see the header.
#include "agent/descriptors.hpp"

#include "base/rank_words.hpp"
#include "base/text.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <string>

namespace muster {
namespace {

/// More than that many come at once only where more nodes do.
constexpr rlim_t kEnoughStrangers = 1'024;
/// With fewer an agent that comes in the middle of a flood might not be heard.
constexpr rlim_t kLeastStrangers = 32;

/// Nodes that an agent may lead. Where it is workers that are counted, so many nodes as it takes when each has
/// as many as this one.
rlim_t links_of(const gang::GangSetup& gang, int nodes) {
  const int slots = std::max(1, gang.policy.node.slots);
  const int total = gang.policy.job.total_slots.value_or(0);
  const int linked = gang.policy.job.total_slots
                         ? std::min(gang.policy.job.most_nodes, (total + slots - 1) / slots)
                         : nodes;
  return gang.lead != gang::Lead::Never && linked > 1 ? static_cast<rlim_t>(linked) : 0;
}

/// To the nodes that the job cannot do without.
rlim_t least_links(const gang::GangSetup& gang) {
  return links_of(gang, gang.policy.job.least_nodes);
}

rlim_t most_links(const gang::GangSetup& gang) {
  return links_of(gang, gang.policy.job.most_nodes);
}

/// Of this process, but for links: what muster itself uses, reserved ports, and for each worker two pipes and a
/// pidfd. Log files are open in the process that writes them, which has nothing else.
rlim_t descriptors_of(const JobPlan& job) {
  constexpr rlim_t kForMuster = 32;
  constexpr rlim_t kPerWorker = 3;
  return kForMuster + static_cast<rlim_t>(job.ports_to_reserve) +
         kPerWorker * job.plan.workers.size();
}

/// A leader that listens needs room for those who have not said yet who they are.
rlim_t descriptors_at_least(const JobPlan& job) {
  return descriptors_of(job) + least_links(job.gang) +
         (most_links(job.gang) > 0 ? kLeastStrangers : 0);
}

}  // namespace

Result<> check_descriptors(const JobPlan& job) {
  const LaunchPlan& plan = job.plan;
  const rlim_t links = least_links(job.gang);
  const auto ports = static_cast<rlim_t>(job.ports_to_reserve);
  const rlim_t needed = descriptors_at_least(job);
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

LinkCapacity room_for_links(const JobPlan& job) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) {
    return {.nodes = most_links(job.gang), .strangers = kLeastStrangers};
  }
  const auto remaining = [&limit](rlim_t taken) {
    return limit.rlim_cur - std::min(taken, limit.rlim_cur);
  };
  const rlim_t own = descriptors_of(job);
  const rlim_t wanted =
      std::max(kEnoughStrangers, 2 * static_cast<rlim_t>(job.gang.policy.job.most_nodes));
  const rlim_t strangers =
      std::clamp(std::min(remaining(own + most_links(job.gang)) / 2, limit.rlim_cur / 4),
                 kLeastStrangers,
                 wanted);
  return {.nodes = remaining(own + strangers), .strangers = strangers};
}

}  // namespace muster

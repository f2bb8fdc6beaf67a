// Invariants checked at the end of a job.
#include "gang/protocol/simulation/world.hpp"
#include "supervise/first_failure.hpp"

#include <algorithm>

namespace muster::gang::simulation {

std::string World::describe_the_living() const {
  std::string text;
  for (std::size_t i = 0; i < hosts_.size() && text.size() < 500; ++i) {
    if (hosts_[i].is_running) {
      text += (text.empty() ? "" : ", ") + name(i) + " in state " +
              std::to_string(static_cast<int>(hosts_[i].agent->state()));
    }
  }
  if (hosts_[0].leader) {
    text += "; the leader in state " + std::to_string(static_cast<int>(hosts_[0].leader->state()));
  }
  return text;
}

void World::judge() {
  if (!finding_.violations.empty()) {
    return;
  }
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    if (hosts_[i].is_running) {
      violate("nothing happens any more: " + describe_the_living());
      return;
    }
  }
  for (const std::size_t id : alive_) {
    if (!groups_[id].cannot_be_killed) {
      violate("workers are left alive on " + name(static_cast<std::size_t>(groups_[id].host)));
    }
  }
  const Host& leader = hosts_[0];
  if (!leader.end || !leader.is_running_normally) {
    return;
  }
  check_success(*leader.end);
  check_failure(*leader.end);
  for (std::size_t i = 1; i < hosts_.size(); ++i) {
    const Host& host = hosts_[i];
    if (host.is_running_normally && host.gang == generation_) {
      compare(i, host.end, *leader.end);
    }
  }
}

void World::compare(std::size_t index, const std::optional<JobEnd>& end, const JobEnd& expected) {
  const auto rank = [](const JobEnd& of) { return of.first_failure ? of.first_failure->global_rank.value : -1; };
  if (!end) {
    violate(name(index) + " reports nothing");
  } else if (end->verdict != expected.verdict || end->exit_code != expected.exit_code ||
             end->attempt != expected.attempt || end->reason != expected.reason ||
             end->also_failed != expected.also_failed || rank(*end) != rank(expected)) {
    violate(name(index) + " reports '" + words_of(*end) + ": " + end->reason + "', and the leader '" +
            words_of(expected) + ": " + expected.reason + "'");
  }
}

/// A job has succeeded if and only if all nodes of the last attempt have.
void World::check_success(const JobEnd& end) {
  int succeeded = 0;
  for (const Group& group : groups_) {
    const bool is_last = group.generation == generation_ && group.start.placement.attempt == end.attempt;
    succeeded += is_last && group.has_succeeded ? 1 : 0;
    if (is_last && end.verdict == Verdict::Succeeded && !group.has_succeeded) {
      violate("the job has succeeded, and node " + to_string(group.start.placement.node_rank) + " has not");
    }
  }
  if (end.verdict == Verdict::Succeeded && succeeded != end.gang.nodes) {
    violate("the job has succeeded, and only " + std::to_string(succeeded) + " nodes have");
  }
  if ((end.verdict == Verdict::Succeeded) != (end.exit_code == 0)) {
    violate("odd end: " + words_of(end));
  }
}

/// The first failure is the one that the leader heard of first, or a likelier one; then it is no more than
/// probable, and so it is where others may have been the first.
void World::check_failure(const JobEnd& end) {
  if (!end.first_failure || end.first_failure->is_early_exit) {
    return;
  }
  const Failure& named = *end.first_failure;
  const std::string who = "rank " + to_string(named.global_rank);
  const std::vector<Failure>& heard = failures_[{generation_, end.attempt}];
  const auto is_named = [&](const Failure& one) { return one.global_rank == named.global_rank; };
  if (std::none_of(heard.begin(), heard.end(), is_named)) {
    violate(who + " has not failed");
  } else if (!is_named(heard.front()) && (named.knows_order || classify(named) >= classify(heard.front()))) {
    violate(who + " was not the first to fail");
  }
  if (end.verdict == Verdict::Failed && end.kind == EndKind::WorkerFailed && end.exit_code != named.exit_code) {
    violate("the job ends with " + std::to_string(end.exit_code) + ", and " + who + " has not");
  }
  if (named.knows_order == (end.also_failed.count > 0)) {
    violate(who + " has been named with the wrong certainty");
  }
}

}  // namespace muster::gang::simulation

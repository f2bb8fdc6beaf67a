// Decides for the guard whether the agent still works.
#include "guard/agent_watchdog.hpp"

#include "base/file_io.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace muster {

// The watchdog: docs/processes.md has its rules, docs/gang.md the arithmetic.

namespace {

/// The earlier of two times; if one is empty, the other.
std::optional<AgentHeartbeat::Instant> earlier(std::optional<AgentHeartbeat::Instant> one,
                                               std::optional<AgentHeartbeat::Instant> other) {
  return one && other ? std::min(one, other) : std::max(one, other);
}

}  // namespace

void AgentWatchdog::on_stop_asked(Instant now, bool means_now) {
  if (asked_ && means_now) {
    kill_from_ = std::min(*kill_from_, now);
  }
  kill_from_ = kill_from_.value_or(now + grace_);
  asked_ = asked_.value_or(now);
}

AgentWatchdog::Act AgentWatchdog::check(const AgentHeartbeat& heartbeat, Instant now) {
  if (!next_poll_ || now > *next_poll_ + kLateWakeup) {
    grace_until_ = now + kSecondChance;  // this poll is late
  }
  if (heartbeat.lease.gone_by && now >= *heartbeat.lease.gone_by) {
    why_ = "has not ended processes that other nodes believe to be gone";
    return Act::KillJob;
  }
  if (const auto end = end_of_lease(heartbeat); end && now >= *end) {
    return take_over(heartbeat.beat, now);
  }
  if (kill_from_ && is_stuck(heartbeat, now)) {
    return take_over(std::max(heartbeat.beat, *asked_), now);
  }
  const bool asks = is_unheard(heartbeat) && now >= grace_until(*asked_ + kTimeToAnswer);
  has_asked_workers_ = has_asked_workers_ || asks;
  plan(heartbeat);
  return asks ? Act::AskWorkers : Act::Nothing;
}

AgentWatchdog::Act AgentWatchdog::take_over(Instant last_sign, Instant now) {
  why_ =
      "has not moved for " + std::to_string(std::chrono::round<std::chrono::seconds>(now - last_sign).count()) + " s";
  return Act::KillJob;
}

/// True if the agent did not react to a stop request, so the workers may not have got it.
bool AgentWatchdog::is_unheard(const AgentHeartbeat& heartbeat) const {
  return asked_ && heartbeat.beat <= *asked_ && !has_asked_workers_;
}

/// End of the lease. The reason of a missing beat does not matter: other nodes depend on it.
std::optional<AgentWatchdog::Instant> AgentWatchdog::end_of_lease(const AgentHeartbeat& heartbeat) const {
  return heartbeat.lease.limit ? std::optional(grace_until(heartbeat.beat + *heartbeat.lease.limit)) : std::nullopt;
}

/// Only valid after a stop request: silence counts from the last beat or the end of the grace.
AgentWatchdog::Instant AgentWatchdog::silent_since(const AgentHeartbeat& heartbeat) const {
  return std::max(heartbeat.beat, *kill_from_);
}

/// Compares two samples to see what the agent does between them.
bool AgentWatchdog::is_stuck(const AgentHeartbeat& heartbeat, Instant now) {
  const Instant since = silent_since(heartbeat);
  if (now < grace_until(since + kSilenceAtTheEnd)) {
    seen_.reset();
    return false;
  }
  if (seen_ && now < seen_->at + kSampleInterval) {
    return false;
  }
  const SampledAgent before = std::exchange(seen_, SampledAgent{now, see_()}).value_or(SampledAgent{now, {}});
  const ProcessSample& agent = seen_->agent;
  const bool is_first = before.at == now;
  const auto used = agent.cpu - before.agent.cpu;
  const bool moves = agent.waits_for_core || used.count() > 0;
  const bool is_spinning = 2 * used >= now - before.at;
  const bool is_runnable = is_first || (moves && !is_spinning);
  return !agent.may_move || !is_runnable || now >= since + kSilenceOfRunnable;
}

void AgentWatchdog::plan(const AgentHeartbeat& heartbeat) {
  next_poll_ = earlier(heartbeat.lease.gone_by, end_of_lease(heartbeat));
  if (kill_from_) {
    const Instant end = grace_until(silent_since(heartbeat) + kSilenceAtTheEnd);
    next_poll_ = earlier(next_poll_, seen_ ? seen_->at + kSampleInterval : end);
  }
  if (is_unheard(heartbeat)) {
    next_poll_ = earlier(next_poll_, grace_until(*asked_ + kTimeToAnswer));
  }
}

AgentWatchdog::Instant AgentWatchdog::grace_until(Instant moment) const {
  return std::max(moment, grace_until_);
}

}  // namespace muster

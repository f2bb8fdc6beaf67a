// The guard's judgement of the agent. docs/processes.md has the rules, docs/gang.md the arithmetic.
#include "agent_watch.hpp"

#include <algorithm>
#include <utility>

namespace muster {
namespace {

std::string whole_seconds(std::chrono::nanoseconds duration) {
  return std::to_string(std::chrono::round<std::chrono::seconds>(duration).count()) + " s";
}

/// Where there are both; else the one that there is.
std::optional<Vitals::Instant> earlier(std::optional<Vitals::Instant> one,
                                       std::optional<Vitals::Instant> other) {
  return one && other ? std::min(one, other) : std::max(one, other);
}

}  // namespace

void AgentWatch::on_stop_asked(Instant now) {
  kill_from_ = asked_ ? std::min(*kill_from_, now) : now + grace_;
  asked_ = asked_.value_or(now);
}

AgentWatch::Act AgentWatch::look(const Vitals& vitals,
                                 Instant now,
                                 const std::function<Sighting()>& see) {
  if (!next_look_ || now > *next_look_ + kHeldUp) {
    excused_until_ = now + kSecondChance;  // it could not look when it had to
  }
  if (vitals.lease.gone_by && now >= *vitals.lease.gone_by) {
    why_ = "has not ended what other nodes take for gone";
    return Act::TakeOver;
  }
  if (const auto end = end_of_lease(vitals); end && now >= *end) {
    return take_over(vitals.beat, now);
  }
  if (kill_from_ && is_stuck(vitals, now, see)) {
    return take_over(std::max(vitals.beat, *asked_), now);
  }
  const bool asks = is_unheard(vitals) && now >= excused(*asked_ + kTimeToAnswer);
  has_asked_workers_ = has_asked_workers_ || asks;
  plan(vitals);
  return asks ? Act::AskWorkers : Act::Nothing;
}

AgentWatch::Act AgentWatch::take_over(Instant last_sign, Instant now) {
  why_ = "has not moved for " + whole_seconds(now - last_sign);
  return Act::TakeOver;
}

/// The request to stop may not have reached the workers.
bool AgentWatch::is_unheard(const Vitals& vitals) const {
  return asked_ && vitals.beat <= *asked_ && !has_asked_workers_;
}

/// Other nodes count on it: why it does not beat is nothing to them.
std::optional<AgentWatch::Instant> AgentWatch::end_of_lease(const Vitals& vitals) const {
  return vitals.lease.limit ? std::optional(excused(vitals.beat + *vitals.lease.limit))
                            : std::nullopt;
}

/// Where it was asked, and the grace is over.
AgentWatch::Instant AgentWatch::silent_since(const Vitals& vitals) const {
  return std::max(vitals.beat, *kill_from_);
}

/// Two sightings tell what it does between them.
bool AgentWatch::is_stuck(const Vitals& vitals, Instant now, const std::function<Sighting()>& see) {
  const Instant since = silent_since(vitals);
  if (now < excused(since + kSilenceAtTheEnd)) {
    seen_.reset();
    return false;
  }
  if (seen_ && now < seen_->at + kBetweenSightings) {
    return false;
  }
  const Seen before = std::exchange(seen_, Seen{now, see()}).value_or(Seen{now, {}});
  const Sighting& agent = seen_->agent;
  const bool is_first = before.at == now;
  const auto used = agent.cpu - before.agent.cpu;
  const bool moves = agent.waits_for_core || used.count() > 0;
  const bool is_spinning = 2 * used >= now - before.at;
  const bool is_starved = is_first || (moves && !is_spinning);
  return !agent.may_move || !is_starved || now >= since + kSilenceOfTheStarved;
}

void AgentWatch::plan(const Vitals& vitals) {
  next_look_ = earlier(vitals.lease.gone_by, end_of_lease(vitals));
  if (kill_from_) {
    const Instant end = excused(silent_since(vitals) + kSilenceAtTheEnd);
    next_look_ = earlier(next_look_, seen_ ? seen_->at + kBetweenSightings : end);
  }
  if (is_unheard(vitals)) {
    next_look_ = earlier(next_look_, excused(*asked_ + kTimeToAnswer));
  }
}

AgentWatch::Instant AgentWatch::excused(Instant moment) const {
  return std::max(moment, excused_until_);
}

}  // namespace muster

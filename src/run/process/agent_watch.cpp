// The guard's judgement of the agent. docs/processes.md has the rules, docs/gang.md the arithmetic.
#include "agent_watch.hpp"

#include <algorithm>

namespace muster {
namespace {

std::string whole_seconds(std::chrono::nanoseconds duration) {
  return std::to_string(std::chrono::round<std::chrono::seconds>(duration).count()) + " s";
}

std::optional<AgentWatch::Instant> earlier(std::optional<AgentWatch::Instant> one,
                                           std::optional<AgentWatch::Instant> other) {
  return one && other ? std::min(one, other) : std::max(one, other);
}

}  // namespace

void AgentWatch::on_stop_asked(Instant now) {
  kill_from_ = asked_ ? std::min(*kill_from_, now) : now + grace_;
  asked_ = asked_.value_or(now);
}

AgentWatch::Act AgentWatch::look(const Vitals& vitals, Instant now) {
  if (!next_look_ || now > *next_look_ + kHeldUp) {
    excused_until_ = now + kSecondChance;  // it could not look when it had to
  }
  if (vitals.lease.gone_by && now >= *vitals.lease.gone_by) {
    why_ = "has not ended what other nodes take for gone";
    return Act::TakeOver;
  }
  if (const auto end = end_of_patience(vitals); end && now >= *end) {
    const Instant last_sign = vitals.lease.limit ? vitals.beat : std::max(vitals.beat, *asked_);
    why_ = "has not moved for " + whole_seconds(now - last_sign);
    return Act::TakeOver;
  }
  const bool asks = is_unheard(vitals) && now >= excused(*asked_ + kTimeToAnswer);
  has_asked_workers_ = has_asked_workers_ || asks;
  plan(vitals);
  return asks ? Act::AskWorkers : Act::Nothing;
}

/// The request to stop may not have reached the workers.
bool AgentWatch::is_unheard(const Vitals& vitals) const {
  return asked_ && vitals.beat <= *asked_ && !has_asked_workers_;
}

std::optional<AgentWatch::Instant> AgentWatch::end_of_patience(const Vitals& vitals) const {
  std::optional<Instant> end;
  if (vitals.lease.limit) {
    end = excused(vitals.beat + *vitals.lease.limit);
  }
  if (kill_from_) {
    end = earlier(end, excused(std::max(vitals.beat, *kill_from_) + kSilenceAtTheEnd));
  }
  return end;
}

void AgentWatch::plan(const Vitals& vitals) {
  next_look_ = earlier(vitals.lease.gone_by, end_of_patience(vitals));
  if (is_unheard(vitals)) {
    next_look_ = earlier(next_look_, excused(*asked_ + kTimeToAnswer));
  }
}

AgentWatch::Instant AgentWatch::excused(Instant moment) const {
  return std::max(moment, excused_until_);
}

}  // namespace muster

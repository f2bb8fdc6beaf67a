// Times an agent's dials to its leader, and the heartbeats between both. Pure: the participant dials.
#include "gang/protocol/leader_contact.hpp"

#include "base/text.hpp"
#include "gang/protocol/restart_decider.hpp"

#include <array>
#include <cstdio>
#include <utility>

namespace muster::gang {
namespace {

using std::chrono::ceil;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::chrono::seconds kProgressInterval{30};
/// Least time between two lines about new reasons why the leader cannot be reached.
constexpr std::chrono::seconds kReasonPause{2};
/// Limit of the reasons that one agent prints.
constexpr std::size_t kMostReasons = 8;

/// Hashes a seed, so that results differ for each agent and each dial (the finaliser of splitmix64).
std::uint64_t mixed(std::uint64_t number) {
  number += 0x9e3779b97f4a7c15U;
  number = (number ^ (number >> 30U)) * 0xbf58476d1ce4e5b9U;
  number = (number ^ (number >> 27U)) * 0x94d049bb133111ebU;
  return number ^ (number >> 31U);
}

}  // namespace

ConnectRetry::ConnectRetry(std::string leader, std::uint64_t seed, milliseconds timeout, Instant now)
    : leader_(std::move(leader)), seed_(seed), timeout_(timeout) {
  begin_again(now);
}

void ConnectRetry::begin_again(Instant now) {
  since_ = now;
  deadline_ = now + timeout_;
  next_progress_ = now + kProgressInterval;
}

void ConnectRetry::on_dial() {
  ++dials_;
  dial_at_.reset();
}

std::optional<LogLine> ConnectRetry::on_failure(const DialFailed& failed, Instant now) {
  leads_ = failed.is_own_port;
  // The pause grows, and is spread differently for each agent.
  const milliseconds pause = dial_pause(dials_);
  const auto spread = static_cast<milliseconds::rep>(mixed(seed_ ^ static_cast<std::uint64_t>(dials_)) % 1'000U);
  dial_at_ = now + pause / 2 + pause * spread / 1'000;
  const std::string before = std::exchange(last_failure_, failed.why);
  const std::string text = (leads_ ? "cannot lead the job yet: " : "cannot reach the leader yet: ") + failed.why;
  const bool is_first = told_.empty();
  const bool may_tell = is_first || (told_.size() < kMostReasons && now - told_at_ >= kReasonPause);
  if (may_tell && told_.insert(failed.why).second) {
    told_at_ = now;
    const Instant end = std::min(deadline_, failed.last_try.value_or(deadline_));
    const Instant::duration left = std::max(end - now, Instant::duration::zero());
    return LogLine{Level::Info,
                   is_first ? text + "; trying again for up to " + whole_seconds(ceil<seconds>(left)) : text};
  }
  return failed.why == before ? std::nullopt : std::optional(LogLine{Level::Debug, text});
}

Instant ConnectRetry::next_wake() const {
  const Instant wake = std::min(deadline_, next_progress_);
  return dial_at_ ? std::min(wake, *dial_at_) : wake;
}

std::optional<LogLine> ConnectRetry::progress(Instant now) {
  if (now < next_progress_) {
    return std::nullopt;
  }
  next_progress_ = now + kProgressInterval;
  return LogLine{Level::Info, (leads_ ? "waiting to lead the job at " : "waiting for the leader at ") + leader_ +
                                  " for " + whole_seconds(now - since_) + ": " +
                                  (last_failure_.empty() ? "no answer yet" : last_failure_) + "; giving up in " +
                                  whole_seconds(ceil<seconds>(deadline_ - now))};
}

std::string ConnectRetry::describe_failure(Instant now) const {
  const bool is_about_token = last_failure_.find("token") != std::string::npos;
  return (leads_ ? "could not lead the job at " : "did not reach the leader at ") + leader_ + " within " +
         whole_seconds(now - since_) + " (" + count_of(static_cast<std::size_t>(dials_), "attempt") +
         "): " + (last_failure_.empty() ? "it has not answered" : last_failure_) +
         (is_about_token ? "; compare the tokens of the nodes (--token-file, MUSTER_TOKEN)" : "");
}

std::string ConnectRetry::incarnation() const {
  return incarnation_of(mixed(seed_ + static_cast<std::uint64_t>(dials_)));
}

std::string incarnation_of(std::uint64_t number) {
  std::array<char, 17> text{};
  (void)std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(number));
  return text.data();
}

// Heartbeats and silence on the agent's side.

namespace {

using std::chrono::milliseconds;

constexpr std::chrono::seconds kJoinTimeout{30};

milliseconds milliseconds_of(double length) {
  return milliseconds(static_cast<milliseconds::rep>(length * 1'000));
}

}  // namespace

LeaderLiveness::LeaderLiveness(milliseconds heartbeat_timeout, Instant now)
    : heartbeat_timeout_(heartbeat_timeout), next_heartbeat_(now), last_heard_(now), confirmed_(now) {}

void LeaderLiveness::on_link(Instant now) {
  last_heard_ = now;
  confirmed_ = now;
  unanswered_.clear();
  next_heartbeat_ = now + heartbeat_interval();
}

void LeaderLiveness::on_admitted(double heartbeat_timeout_seconds, Instant now) {
  is_admitted_ = true;
  heartbeat_timeout_ = milliseconds_of(heartbeat_timeout_seconds);
  next_heartbeat_ = now + heartbeat_interval();
}

void LeaderLiveness::on_answer() {
  if (!unanswered_.empty()) {
    confirmed_ = unanswered_.front();
    unanswered_.pop_front();
  }
}

void LeaderLiveness::on_start(double orphan_limit_seconds) {
  orphan_limit_.reset();
  if (orphan_limit_seconds > 0) {
    orphan_limit_ = milliseconds_of(orphan_limit_seconds);
  }
}

void LeaderLiveness::heartbeat_soon(Instant now) {
  next_heartbeat_ = std::min(next_heartbeat_, now + heartbeat_interval());
}

void LeaderLiveness::hurry(Instant now) {
  next_heartbeat_ = std::min(next_heartbeat_, now + heartbeat_interval() / 4);
}

Instant LeaderLiveness::next_wake() const {
  return std::min(next_heartbeat_, last_heard_ + silence_limit());
}

bool LeaderLiveness::take_heartbeat(Instant now) {
  if (now - next_heartbeat_ > heartbeat_interval()) {  // this process was stopped: the leader's messages are unread
    last_heard_ = std::min(last_heard_ + (now - next_heartbeat_), now);
  }
  if (now < next_heartbeat_) {
    return false;
  }
  next_heartbeat_ = now + heartbeat_interval();
  unanswered_.push_back(now);
  return true;
}

Instant LeaderLiveness::must_be_gone() const {
  return orphan_limit_ ? confirmed_ + heartbeat_timeout_ + *orphan_limit_ : Instant::max();
}

std::optional<milliseconds> LeaderLiveness::time_without_leader(Instant now) const {
  if (!orphan_limit_) {
    return std::nullopt;
  }
  const auto left = std::chrono::duration_cast<milliseconds>(must_be_gone() - now);
  return std::clamp(left, milliseconds(0), *orphan_limit_);
}

std::string LeaderLiveness::silence(Instant now) const {
  return now - last_heard_ >= silence_limit() ? "was silent for " + whole_seconds(silence_limit()) : std::string();
}

std::string LeaderLiveness::describe_unanswered(Instant now) const {
  return "did not answer for " + whole_seconds(now - confirmed_);
}

/// Silence after which the leader is lost; longer before it admits the agent: it may have thousands of joins to do.
milliseconds LeaderLiveness::silence_limit() const {
  return is_admitted_ ? heartbeat_timeout_ : std::max<milliseconds>(heartbeat_timeout_, kJoinTimeout);
}

}  // namespace muster::gang

#pragma once

// Decides how long the leader waits for nodes, and when it logs the progress. Part of the leader: pure.

#include "gang/gang_config.hpp"
#include "gang/protocol/fence.hpp"

#include <chrono>
#include <optional>
#include <set>
#include <string>

namespace muster::gang {

/// Time limit of the wait for further nodes, once the job could go on with those that are here.
class LastCall {
 public:
  explicit LastCall(std::chrono::milliseconds length) : length_(length) {}

  /// Starts the time limit when the job can go on, and cancels it when it cannot. It ends at `latest`, and at once
  /// unless `is_needed`: then no further node can come.
  void note(bool can_go_on, bool is_needed, Instant now, Instant latest = Instant::max());
  void cancel() { end_.reset(); }
  std::optional<Instant> end() const { return end_; }
  bool is_over(Instant now) const { return end_ && now >= *end_; }

 private:
  std::chrono::milliseconds length_;
  std::optional<Instant> end_;
};

class RendezvousTimer {
 public:
  RendezvousTimer(const GangOptions& options, Instant now)
      : timeout_(options.timeout), last_call_(options.last_call), inputs_timeout_(options.inputs_timeout) {
    begin(now);
  }

  /// The wait for an attempt begins.
  void begin(Instant now);

  Instant since() const { return since_; }
  Instant deadline() const { return deadline_; }
  Instant next_wake() const;

  /// Records whether enough nodes are ready. If so the last call starts for the others, or ends at once if no other
  /// node is awaited; it is cancelled when too few are left.
  void note_enough(bool is_enough, bool is_last_call_needed, Instant now) {
    last_call_.note(is_enough, is_last_call_needed, now, deadline_);
  }
  bool is_last_call_over(Instant now) const { return last_call_.is_over(now); }

  /// Notes whether the nodes' values do not fit together yet, because a node's input is old.
  void note_pending(bool is_pending, Instant now);
  bool is_pending_in_vain(Instant now) const { return pending_until_ && now >= *pending_until_; }

  /// The job ends. Gives nodes that are on their way a few seconds to join and hear the reason.
  void note_end(Instant now) { end_at_ = end_at_.value_or(now + kTimeToTellWhy); }
  bool is_ending() const { return end_at_.has_value(); }
  bool is_end_due(Instant now) const { return end_at_ && now >= *end_at_; }

  /// True when a progress line is due; schedules the next one.
  bool take_progress(Instant now);
  void log_progress_at(Instant moment) { next_progress_ = moment; }

  /// True once, shortly before the deadline: the names of absent hosts are to be resolved.
  bool take_resolve(Instant now);
  void note_unresolved(std::set<std::string> hosts) { unresolved_ = std::move(hosts); }
  const std::set<std::string>& unresolved() const { return unresolved_; }

 private:
  std::chrono::milliseconds timeout_;
  LastCall last_call_;
  std::chrono::milliseconds inputs_timeout_;
  Instant since_;
  Instant deadline_;
  std::optional<Instant> pending_until_;
  std::optional<Instant> end_at_;
  Instant next_progress_;
  bool looked_up_ = false;
  std::set<std::string> unresolved_;
};

}  // namespace muster::gang

#pragma once

// How long the leader waits for nodes, and when it says so. Part of the leader: pure.

#include "gang/protocol/durations.hpp"

#include "gang/options.hpp"

#include <chrono>
#include <optional>
#include <set>
#include <string>

namespace muster::gang {

/// How long more nodes may come once it could go on with those that are here.
class DrainDeadline {
 public:
  explicit DrainDeadline(std::chrono::milliseconds length) : length_(length) {}

  /// Whether it could go on. From then on others have the last call to come, none if nobody is waited for any longer;
  /// it begins anew when it could not go on meanwhile, and ends at `latest`.
  void note(bool can_go_on, bool is_needed, Instant now, Instant latest = Instant::max());
  void cancel() { end_.reset(); }
  [[nodiscard]] std::optional<Instant> end() const { return end_; }
  [[nodiscard]] bool is_over(Instant now) const { return end_ && now >= *end_; }

 private:
  std::chrono::milliseconds length_;
  std::optional<Instant> end_;
};

class RendezvousTimer {
 public:
  RendezvousTimer(const GangOptions& options, Instant now)
      : timeout_(options.timeout),
        last_call_(options.last_call),
        inputs_timeout_(options.inputs_timeout) {
    begin(now);
  }

  /// The wait for an attempt begins.
  void begin(Instant now);

  [[nodiscard]] Instant since() const { return since_; }
  [[nodiscard]] Instant deadline() const { return deadline_; }
  [[nodiscard]] Instant next_wake() const;

  /// Whether enough nodes are here and ready to start. From then on the others have the last call to
  /// come, none if nobody is waited for any longer; it begins anew when too few are left.
  void note_enough(bool is_enough, bool is_last_call_needed, Instant now) {
    last_call_.note(is_enough, is_last_call_needed, now, deadline_);
  }
  [[nodiscard]] bool is_last_call_over(Instant now) const { return last_call_.is_over(now); }

  /// Whether what those who are here have does not fit together yet: some input of theirs is old.
  void note_pending(bool is_pending, Instant now);
  [[nodiscard]] bool is_pending_in_vain(Instant now) const {
    return pending_until_ && now >= *pending_until_;
  }

  /// The job ends, and who is on the way is to hear of it. From then on there is a moment for that.
  void note_end(Instant now) { end_at_ = end_at_.value_or(now + kTimeToTellWhy); }
  [[nodiscard]] bool is_ending() const { return end_at_.has_value(); }
  [[nodiscard]] bool is_end_due(Instant now) const { return end_at_ && now >= *end_at_; }

  /// True when it is time to say how the wait goes; then the next time is later.
  [[nodiscard]] bool take_progress(Instant now);
  void log_progress_at(Instant moment) { next_progress_ = moment; }

  /// True once, shortly before the deadline: the names of absent hosts are to be looked up.
  [[nodiscard]] bool take_resolve(Instant now);
  void note_unresolved(std::set<std::string> hosts) { unresolved_ = std::move(hosts); }
  /// Host names that do not resolve.
  [[nodiscard]] const std::set<std::string>& unresolved() const { return unresolved_; }

 private:
  std::chrono::milliseconds timeout_;
  DrainDeadline last_call_;
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

#pragma once

// Decides about the attempt on one node: what the leader is told about the workers, and when they are ended. Part of
// the participant: pure.

#include "gang/protocol/membership.hpp"

#include <chrono>
#include <optional>
#include <string>

namespace muster::gang {

class NodeAttempt {
 public:
  /// The membership outlives it.
  explicit NodeAttempt(Membership& membership) : membership_(membership) {}

  void on(const Failure& failure);
  void on(const Succeeded& worker);
  void on(const WorkersGone& gone);
  void on(const AttemptOver& over);
  void on(const StopSignal& stop);
  void on(const WorkSaved& saved);
  void on(const Hung& hung);
  void on(const GuardGone& gone);

  void take(const Stop& stop);
  void take(const Suspend& suspend);
  void take(const Hung& hung);
  void take(const Finish& finish);

  /// Takes the number of the attempt; the workers are not started yet.
  void begin(int attempt);
  /// The workers are started.
  void run(StartAttempt start);
  /// Tells the leader that no process was started. Only used after a signal of which the leader did not know.
  void skip();
  /// The leader is lost for good; `why` is a sentence about that. The workers live for `most_grace` at most; empty:
  /// for their own grace.
  void end_without_leader(const std::string& why, std::optional<std::chrono::milliseconds> most_grace);

  /// True if this agent got a signal that ends the job.
  bool is_asked_to_stop() const { return signal_here_.has_value(); }
  bool may_have_live_workers() const { return membership_.has_workers() && !are_workers_gone_; }

 private:
  void stop_workers(int signal, std::string reason, std::optional<std::chrono::milliseconds> most_grace = std::nullopt);

  Membership& membership_;
  std::optional<Failure> local_failure_;
  std::optional<int> signal_here_;       ///< signal that this agent got before the leader knew
  std::optional<int> signal_elsewhere_;  ///< signal to another agent, for which the leader ends the job
  int urgent_stops_ = 0;
  bool are_workers_gone_ = false;  ///< no process of the attempt is left, but the attempt is not over yet
};

}  // namespace muster::gang

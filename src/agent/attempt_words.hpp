#pragma once

// What an attempt tells its user while it runs. Private to run/.

#include "agent/attempt_listener.hpp"
#include "process/workers.hpp"

#include "base/rank_words.hpp"
#include "plan/launch_plan.hpp"
#include "supervise/supervisor.hpp"

#include <set>
#include <string>
#include <vector>

namespace muster {

/// Says it, and remembers what is to be said once.
class AttemptLog : public AttemptListener {
 public:
  /// All of them outlive it.
  AttemptLog(const LaunchPlan& plan,
             const Workers& workers,
             const Supervisor& supervisor,
             const RunOptions& options)
      : plan_(plan), workers_(workers), supervisor_(supervisor), options_(options) {}

  /// Workers were asked to end by an order from outside this node, whose reason was said.
  [[nodiscard]] bool has_said_order() const { return has_said_order_; }

  /// One text, "ranks 0-3"; empty: nobody is alive.
  [[nodiscard]] std::vector<std::string> describe_living() const;

  void on_started(std::size_t worker) override;
  void on_ended(const Death& death) override;
  void on_silent(std::size_t worker) override;
  void on_stopped(const Stopped& stopped) override;
  void on_early_end(std::size_t worker) override;
  void on_unneeded_failure(const ServiceFailure& failure) override;
  void on_asked_to_end(const EndRequest& request) override;
  void on_still_waiting(std::chrono::nanoseconds left) override;
  void on_overdue(std::size_t worker, const EndRequest& request) override;
  void on_left_behind(const std::vector<Process>& left) override;
  void on_not_killed(const std::vector<Process>& left) override;

 private:
  /// "rank 3 (ps 1) (pid 4711)"; without a label it is called `unlabelled`, or by its rank alone.
  [[nodiscard]] std::string describe(std::size_t worker, const std::string& unlabelled = "") const;
  [[nodiscard]] std::string describe_failure(std::size_t worker) const;
  [[nodiscard]] std::string describe_reason(const EndRequest& request) const;
  [[nodiscard]] ProcessNames living() const;
  void log_refusals();

  const LaunchPlan& plan_;
  const Workers& workers_;
  const Supervisor& supervisor_;
  const RunOptions& options_;
  bool logged_memory_refusal_ = false;
  bool logged_terminal_refusal_ = false;
  bool logged_orphans_ = false;
  bool has_said_order_ = false;
  std::set<std::size_t> logged_silent_;
};

}  // namespace muster

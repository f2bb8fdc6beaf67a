#pragma once

// Who wants to know what happens to an attempt.

#include "process/descendants.hpp"
#include "process/reaper.hpp"
#include "services/service.hpp"

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace muster {

/// The others are being asked to end.
struct EndRequest {
  int signal = 0;
  bool is_ordered = false;  ///< by somebody outside this node
  std::string order;        ///< why; empty: the report is about to say it
  std::chrono::milliseconds grace{};
};

/// Is told what happens, in the order in which it happens, and decides nothing about it. Whoever needs
/// only some of it leaves the rest alone.
class AttemptListener {
 public:
  AttemptListener() = default;
  AttemptListener(const AttemptListener&) = delete;
  AttemptListener& operator=(const AttemptListener&) = delete;
  virtual ~AttemptListener() = default;

  virtual void on_started(std::size_t /*worker*/) {}
  virtual void on_ended(const Death& /*death*/) {}
  /// Its standard output and error are closed, and it has been running on for a while.
  virtual void on_silent(std::size_t /*worker*/) {}
  /// By a debugger, or by somebody's SIGSTOP.
  virtual void on_stopped(const Stopped& /*stopped*/) {}
  /// It serves the workers, has ended with 0, and they have been running on for a while.
  virtual void on_early_end(std::size_t /*worker*/) {}

  /// A service failed when the workers needed it no more.
  virtual void on_unneeded_failure(const ServiceFailure& /*failure*/) {}
  virtual void on_asked_to_end(const EndRequest& /*request*/) {}
  /// Said from time to time while the grace runs.
  virtual void on_still_waiting(std::chrono::nanoseconds /*left*/) {}
  virtual void on_overdue(std::size_t /*worker*/, const EndRequest& /*request*/) {}
  /// All ranks have ended well, and these are still there after a moment. They are asked to end. Where mpirun has started the
  /// ranks, it may still run, and this may come again.
  virtual void on_left_behind(const std::vector<Process>& /*left*/) {}
  virtual void on_not_killed(const std::vector<Process>& /*left*/) {}
  /// Nothing is alive, and what was written has been read.
  virtual void on_over() {}
};

// The services of an attempt hear of its workers as every other listener does.

class AttemptServices : public AttemptListener {
 public:
  explicit AttemptServices(std::unique_ptr<Services> services) : services_(std::move(services)) {}

  /// One cannot go on, or could not be started. What the first one met is kept.
  std::function<void(const ServiceFailure&)> on_failure;

  /// All run: workers may start. Called later than `start`, if it is called.
  std::function<void()> on_ready;

  /// Before the first worker is started: what they add, then or until they are ready, is the last that the plan
  /// is added to. False: not all run yet, or one has failed.
  [[nodiscard]] bool start(LaunchPlan& plan) {
    services_->on_failure = std::bind_front(&AttemptServices::fail, this);
    services_->on_ready = [this] { on_ready(); };
    const auto failed = services_->start(plan);
    if (failed) {
      fail(*failed);
    }
    return !failed && services_->awaited().empty();
  }
  /// The time for that is over: the one that is waited for has failed.
  void give_up_waiting(std::chrono::seconds time) {
    if (const std::string name = services_->awaited(); !name.empty()) {
      fail({name, {ErrorKind::System, "was not ready after " + std::to_string(time.count()) + " s"}});
    }
  }
  /// To be called for each worker that has ended. True: a service knows why it has failed, also where it has ended with 0.
  [[nodiscard]] bool failed_with_exit_0(std::size_t worker, bool has_succeeded) {
    const auto fault = services_->find_failure_at_exit_0(worker, has_succeeded);
    if (fault) {
      faults_.emplace(worker, fault->message);
    }
    return fault.has_value();
  }
  void on_workers_over(bool is_success) { services_->on_workers_over(is_success); }
  void on_merged(const gang::Value& value) { services_->on_merged(value); }
  void on_started(std::size_t worker) override { services_->on_worker_started(worker); }
  void on_ended(const Death& death) override { services_->on_worker_ended(death.worker, death.status.ok()); }
  void on_over() override { services_->stop(); }

  [[nodiscard]] const std::optional<ServiceFailure>& failure() const { return failure_; }
  /// What services know of failed workers, by their place in the plan.
  [[nodiscard]] const std::map<std::size_t, std::string>& faults() const { return faults_; }

 private:
  void fail(const ServiceFailure& failure) {
    if (!failure_) {
      failure_ = failure;
    }
    on_failure(failure);
  }

  std::unique_ptr<Services> services_;
  std::optional<ServiceFailure> failure_;
  std::map<std::size_t, std::string> faults_;
};

}  // namespace muster

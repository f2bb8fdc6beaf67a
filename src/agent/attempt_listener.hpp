#pragma once

// Shared by the parts of an attempt: its input, the interface of its listeners, and the adapter for its services.

#include "agent/run.hpp"
#include "gang/events.hpp"
#include "process/descendants.hpp"
#include "process/helper_process.hpp"
#include "process/reaper.hpp"
#include "process/sidecars.hpp"
#include "services/service.hpp"

#include <boost/asio/io_context.hpp>

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace muster {

/// Input of an attempt; everything outlives it.
struct AttemptInput {
  boost::asio::io_context& io;
  const RunContext& run;
  pid_t guard = -1;
  Sidecars& sidecars;
  HelperProcesses& helpers;
  const GuardSharedMemory& page;
  const std::string& oom_counter;  ///< path of the cgroup's OOM counter; empty: none
};

/// A stop signal to the workers that still run.
struct EndRequest {
  int signal = 0;
  bool is_ordered = false;  ///< by the gang
  std::string order;        ///< its reason; empty: the report will name it
  std::chrono::milliseconds grace{};
};

/// Observes an attempt: called in the order of events, decides nothing, and must not call the attempt back at once. Each
/// function does nothing unless overridden.
class AttemptListener {
 public:
  AttemptListener() = default;
  AttemptListener(const AttemptListener&) = delete;
  AttemptListener& operator=(const AttemptListener&) = delete;
  virtual ~AttemptListener() = default;

  virtual void on_started(std::size_t /*worker*/) {}
  virtual void on_ended(const Death& /*death*/) {}
  /// The worker closed its standard output and error a while ago and still runs.
  virtual void on_silent(std::size_t /*worker*/) {}
  /// Stopped by a debugger or by a SIGSTOP of others.
  virtual void on_stopped(const Stopped& /*stopped*/) {}
  /// A worker that serves the others exited with 0 a while ago, and they still run.
  virtual void on_early_end(std::size_t /*worker*/) {}

  /// A service failed when the workers no longer needed it.
  virtual void on_unneeded_failure(const ServiceFailure& /*failure*/) {}
  virtual void on_asked_to_end(const EndRequest& /*request*/) {}
  /// Called from time to time during the grace.
  virtual void on_still_waiting(std::chrono::nanoseconds /*left*/) {}
  virtual void on_overdue(std::size_t /*worker*/, const EndRequest& /*request*/) {}
  /// All ranks have succeeded, and these processes still run after a moment. They get the stop signal. Where mpirun
  /// has started the ranks and still runs, this may be called again.
  virtual void on_orphans(const std::vector<Process>& /*left*/) {}
  virtual void on_not_killed(const std::vector<Process>& /*left*/) {}
  /// This node's first failure, as far as it is known at once.
  virtual void on_first_failure(const Failure& /*failure*/) {}
  /// A worker whose success counts exited with 0. `attempt` is not set.
  virtual void on_success(const gang::Succeeded& /*succeeded*/) {}
  /// The workers got a stop signal that we did not send: from the guard, or by Ctrl-C, which does not reach us.
  virtual void on_workers_asked(int /*signal*/) {}
  /// No process is left. `on_over` follows.
  virtual void on_gone() {}
  /// No process is left, and all output has been read. Consoles and files may not have taken it yet.
  virtual void on_over() {}
};

/// Calls the listeners of an attempt, which outlive it, in the order in which they were added.
class AttemptListeners {
 public:
  void add(AttemptListener& listener) { listeners_.push_back(&listener); }
  template <typename... Parameters, typename... Arguments>
  void notify(void (AttemptListener::*what)(Parameters...), const Arguments&... arguments) const {
    for (AttemptListener* const listener : listeners_) {
      (listener->*what)(arguments...);
    }
  }

 private:
  std::vector<AttemptListener*> listeners_;
};

/// Lets services listen to their attempt.
class AttemptServices : public AttemptListener {
 public:
  explicit AttemptServices(std::unique_ptr<Services> services) : services_(std::move(services)) {}

  /// A service failed or could not be started. `failure` keeps the first error.
  std::function<void(const ServiceFailure&)> on_failure;

  /// All services run: workers may start. Called after `start` returned false, if at all.
  std::function<void()> on_ready;

  /// To be called before the first worker: services extend the plan now, or until they are ready, as its last
  /// authors. False: not all run yet, or one has failed.
  [[nodiscard]] bool start(LaunchPlan& plan) {
    services_->on_failure = std::bind_front(&AttemptServices::fail, this);
    services_->on_ready = [this] { on_ready(); };
    const auto failed = services_->start(plan);
    if (failed) {
      fail(*failed);
    }
    return !failed && services_->awaited().empty();
  }
  /// Start timeout: fails the service that is not ready yet.
  void give_up_waiting(std::chrono::seconds time) {
    if (const std::string name = services_->awaited(); !name.empty()) {
      fail({name, {ErrorKind::System, "was not ready after " + std::to_string(time.count()) + " s"}});
    }
  }
  /// To be called for each worker that has ended. True: a service knows that it failed, even if it exited with 0.
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
  /// Services' explanations of workers' failures, by index in the plan.
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

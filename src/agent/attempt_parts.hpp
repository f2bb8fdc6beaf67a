#pragma once

// Shared by the parts of an attempt: its input, and the state of its services.

#include "agent/run.hpp"
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

/// The services of an attempt, and what is known of their failures.
class AttemptServices {
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
  void on_started(std::size_t worker) { services_->on_worker_started(worker); }
  void on_ended(const Death& death) { services_->on_worker_ended(death.worker, death.status.ok()); }
  void stop() { services_->stop(); }

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

#pragma once

// The services of an attempt hear of its workers as every other listener does. Private to run/.

#include "agent/attempt_listener.hpp"

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>

namespace muster {

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
      fail({name,
            {ErrorKind::System, "was not ready after " + std::to_string(time.count()) + " s"}});
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
  void on_ended(const Death& death) override {
    services_->on_worker_ended(death.worker, death.status.ok());
  }
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

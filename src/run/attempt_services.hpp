#pragma once

// The services of an attempt hear of its workers as every other listener does. Private to run/.

#include "attempt_listener.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <utility>

namespace muster {

class AttemptServices : public AttemptListener {
 public:
  explicit AttemptServices(std::unique_ptr<Services> services) : services_(std::move(services)) {}

  /// One cannot go on, or could not be started. What the first one met is kept.
  std::function<void(const ServiceFailure&)> on_failure;

  /// Before the first worker is started: the last time that the plan may be added to. False after a
  /// failure.
  [[nodiscard]] bool start(LaunchPlan& plan) {
    services_->on_failure = std::bind_front(&AttemptServices::fail, this);
    const auto failed = services_->start(plan);
    if (failed) {
      fail(*failed);
    }
    return !failed;
  }
  void on_started(std::size_t worker) override { services_->on_worker_started(worker); }
  void on_ended(const Death& death) override { services_->on_worker_ended(death.worker); }
  void on_over() override { services_->stop(); }

  [[nodiscard]] const std::optional<ServiceFailure>& failure() const { return failure_; }

 private:
  void fail(const ServiceFailure& failure) {
    if (!failure_) {
      failure_ = failure;
    }
    on_failure(failure);
  }

  std::unique_ptr<Services> services_;
  std::optional<ServiceFailure> failure_;
};

}  // namespace muster

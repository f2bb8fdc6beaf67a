#pragma once

// The services of an attempt hear of its workers as every other listener does. Private to run/.

#include "attempt_listener.hpp"

#include <muster/service/service.hpp>

#include <memory>
#include <utility>

namespace muster {

class AttemptServices : public AttemptListener {
 public:
  explicit AttemptServices(std::unique_ptr<Services> services) : services_(std::move(services)) {}

  [[nodiscard]] Result<> before_first_start(LaunchPlan& plan) override {
    return services_->start(plan);
  }
  void on_started(std::size_t worker) override { services_->on_worker_started(worker); }
  void on_ended(const Death& death) override { services_->on_worker_ended(death.worker); }
  void on_over() override { services_->stop(); }

 private:
  std::unique_ptr<Services> services_;
};

}  // namespace muster

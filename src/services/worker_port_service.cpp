// The service of the workers' port: each attempt has a port of its own, so that no worker of an older attempt can be met
// there. The leader reserves it and tells all nodes, whose plans have it when their services start.
#include "base/log.hpp"
#include "process/worker_port.hpp"
#include "services/services.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

namespace muster {
namespace {

class WorkerPortService final : public Service {
 public:
  explicit WorkerPortService(const ServiceInput& input) : fixed_(input.worker_port) {}

  Result<> prepare(AttemptPorts& offer) override {
    if (fixed_) {
      if (const auto checked = WorkerPort::check_is_free(*fixed_); !checked) {
        log_warning(checked.error().message);  // only a warning: a worker may bind another address
      }
      offer.worker_port = *fixed_;
      return {};
    }
    reserved_ = TRY(WorkerPort::reserve());
    offer.worker_port = reserved_->number();
    return {};
  }

  Result<std::optional<PlanAdditions>> start(const LaunchPlan& /*plan*/) override {
    return std::optional<PlanAdditions>(std::in_place);
  }

  void stop() override { reserved_.reset(); }

 private:
  std::optional<std::uint16_t> fixed_;
  std::optional<WorkerPort> reserved_;
};

}  // namespace

std::unique_ptr<Service> make_worker_port_service(const ServiceInput& input) {
  return std::make_unique<WorkerPortService>(input);
}

}  // namespace muster

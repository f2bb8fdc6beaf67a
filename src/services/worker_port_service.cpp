// Each attempt has a port of its own, so no worker of an older one can be met there. The leader
// reserves it and tells all nodes, whose plans have it when their services start.
#include "services/worker_port_service.hpp"

#include "base/log.hpp"
#include "services/worker_port.hpp"

namespace muster {
namespace {

class WorkerPortService final : public Service {
 public:
  explicit WorkerPortService(const ServiceInput& input) : fixed_(input.worker_port) {}

  Result<> prepare(AttemptPorts& offer) override {
    if (fixed_) {
      if (const auto checked = WorkerPort::check_is_free(*fixed_); !checked) {
        log_warning(
            checked.error().message);  // a worker may bind another address, and knows better
      }
      offer.worker_port = *fixed_;
      return {};
    }
    auto reserved = WorkerPort::reserve();
    if (!reserved) {
      return reserved.error();
    }
    reserved_ = std::move(*reserved);
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

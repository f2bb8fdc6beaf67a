#pragma once

// The port where the workers of an attempt meet, as a service. Private to service/.

#include "services/service.hpp"

namespace muster {

[[nodiscard]] std::unique_ptr<Service> make_worker_port_service(const ServiceInput& input);

}  // namespace muster

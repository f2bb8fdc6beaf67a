#pragma once

// The service "ssh": what mpirun needs to reach the other nodes by ssh. Private to service/.

#include "services/service.hpp"

#include <memory>

namespace muster {

[[nodiscard]] std::unique_ptr<Service> make_ssh_service(const ServiceInput& input);

}  // namespace muster

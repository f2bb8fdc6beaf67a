#pragma once

// The files that a plan names, as a service. Private to service/.

#include "services/service.hpp"

namespace muster {

[[nodiscard]] std::unique_ptr<Service> make_planned_files(const ServiceInput& input);

}  // namespace muster

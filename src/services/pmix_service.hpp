#pragma once

#include "services/service.hpp"

namespace muster {

[[nodiscard]] std::unique_ptr<Service> make_pmix_service(const ServiceInput& input);

}  // namespace muster
